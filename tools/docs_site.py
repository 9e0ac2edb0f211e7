"""Hooks of the documentation site (mkdocs.yml): pages that lie outside docs/, and links that work in both places.

A link in docs/, README.md and the other documents is written as it works in the repository. Here it is turned into the
page of the site that shows the same file. A file that is no page, as those of `exclude_docs`, is named by its path.
"""

from __future__ import annotations

import ast
import pathlib
import posixpath
import re
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Files of the repository that are pages of the site, beside docs/*.md.
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "examples/README.md": "examples/index.md",
}
RECIPES = {f"examples/{path.name}": f"examples/{path.stem}.md" for path in sorted((ROOT / "examples").glob("*.py"))}

_CODE_BLOCK = re.compile(r"^```.*?^```", re.M | re.S)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?![a-z]+:)([^)#\s]+)(#[^)\s]*)?\)")
_ENTRY = re.compile(r"^::: [\w.]+$(?!\n    options)", re.M)
_CODE = re.compile(r"(`+)(.+?)\1")


def site_uri(path: str, config: Any) -> str | None:
    """The place on the site of a file of the repository, both relative and with slashes; None where it has none."""
    if path in PAGES or path in RECIPES:
        return (PAGES | RECIPES)[path]
    uri = path.removeprefix("docs/")
    shown = uri != path and (ROOT / path).is_file() and not config.exclude_docs.match_file(uri)
    return uri if shown else None


def repository_path(uri: str) -> str:
    """The file of the repository that a page of the site shows."""
    shown = {value: key for key, value in (PAGES | RECIPES).items()}
    return shown.get(uri, f"docs/{uri}")


def recipe_page(name: str) -> str:
    """The page of a recipe: the first line of its docstring as heading, the rest of the docstring, and the script."""
    source = (ROOT / name).read_text(encoding="utf-8")
    title, _, text = (ast.get_docstring(ast.parse(source)) or "").partition("\n")
    code = source.split('"""\n', 1)[1].lstrip("\n")
    return f"# {title.rstrip('.')}\n{text}\n\n`{name}`, without its docstring:\n\n```python\n{code}```\n"


def commands() -> str:
    """What `streamtok COMMAND --help` prints, for every command."""
    from click import Context
    from click.testing import CliRunner

    from streamtok.cli.app import app

    found = []
    for name in ["", *app.list_commands(Context(app))]:
        said = CliRunner().invoke(app, [*name.split(), "--help"], prog_name="streamtok", terminal_width=100)
        if said.exit_code:
            raise PluginError(f"streamtok {name} --help failed: {said.output}")
        found.append(f"## streamtok {name}\n\n```text\n{said.output}```\n")
    return "\n".join(found)


def on_files(files: Files, config: Any) -> Files:
    """Adds what lies outside docs/."""
    for path, uri in PAGES.items():
        files.append(File.generated(config, uri, content=(ROOT / path).read_text(encoding="utf-8")))
    for path, uri in RECIPES.items():
        files.append(File.generated(config, uri, content=recipe_page(path)))
    return files


def on_config(config: Any) -> Any:
    """Adds the version to the name of the site."""
    from streamtok import __version__

    config.site_name = f"streamtok {__version__}"
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Rewrites links to pages of the site, and tables for its dialect of Markdown."""
    if "<!-- commands -->" in markdown:
        markdown = markdown.replace("<!-- commands -->", commands())
    if page.file.src_uri == "reference/encoding.md":
        markdown = _entries(markdown)
    pieces, end = [], 0
    for block in _CODE_BLOCK.finditer(markdown):
        pieces += [_for_site(markdown[end : block.start()], page.file.src_uri, config), block[0]]
        end = block.end()
    return "".join([*pieces, _for_site(markdown[end:], page.file.src_uri, config)])


def _entries(markdown: str) -> str:
    """The entries of the class, each under its job and by its last name."""
    options = "\n    options: {heading_level: 3, show_root_full_path: false}"
    return _ENTRY.sub(lambda found: found[0] + options, markdown)


def _for_site(text: str, uri: str, config: Any) -> str:
    here = posixpath.dirname(repository_path(uri))

    def link(found: re.Match[str]) -> str:
        mark, words, name, anchor = found.groups("")
        path = posixpath.normpath(posixpath.join(here, name))
        target = site_uri(path, config)
        if target is None and (mark or not (ROOT / path).exists()):
            raise PluginError(f"{repository_path(uri)} links to {path}, which is not there, or no page of the site")
        if target is None:
            if words.strip("`").endswith(name):
                return f"`{path}`"
            alone = text[found.start() - 1 : found.start()] + text[found.end() : found.end() + 1] == "()"
            return f"{words}, `{path}`" if alone else f"{words} (`{path}`)"
        return f"{mark}[{words}]({posixpath.relpath(target, posixpath.dirname(uri) or '.')}{anchor})"

    # `a \| b` in a table: GitHub needs the backslash and leaves it out; here it would be shown.
    rows = [
        _CODE.sub(lambda code: code[0].replace(r"\|", "|"), row) if row.startswith("|") else row
        for row in _LINK.sub(link, text).split("\n")
    ]
    return "\n".join(rows)
