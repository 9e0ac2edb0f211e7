"""The documentation site: it builds without a warning, and its reference holds every public name."""

from __future__ import annotations

import html
import importlib
import importlib.util
import inspect
import os
import pathlib
import re
import subprocess
import sys
import types

import oracle
import pytest

import streamtok
from streamtok import gpu

# Modules whose public names are meant for users.
MODULES = ("", ".dataset", ".files", ".gpu", ".load", ".model", ".patterns", ".registry", ".tables", ".train")
PACKAGES = ("mkdocs", "material", "mkdocstrings", "mkdocstrings_handlers.python", "pymdownx", "click")


def is_missing(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is None
    except ModuleNotFoundError:
        return True


MISSING = [package for package in PACKAGES if is_missing(package)]
pytestmark = pytest.mark.skipif(
    bool(MISSING), reason=f"not installed: {', '.join(MISSING)}; pip install 'streamtok[docs]'"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=oracle.PROJECT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0 and "WARNING" not in done.stdout, done.stdout
    return folder


@pytest.fixture(scope="module")
def documented(site) -> set[str]:
    """The names that have an entry in the reference."""
    pages = (path.read_text(encoding="utf-8") for path in (site / "reference").glob("*.html"))
    return {html.unescape(name) for page in pages for name in re.findall(r'id="(streamtok[\w.]*)"', page)}


def public_names(module: types.ModuleType) -> list[str]:
    """The public names of a module: __all__, or what the module defines or re-exports."""
    listed = getattr(module, "__all__", None)
    if listed is not None:  # load re-exports some that are documented in the room of the bundled vocabularies
        homes = {name: getattr(getattr(module, name), "__module__", "") for name in listed}
        return [name for name in listed if not homes[name].startswith("streamtok.bundled")]
    source = pathlib.Path(module.__file__).read_text(encoding="utf-8")
    handed_on = set(re.findall(r"import (\w+) as \1\b", source))
    here = {name for name in vars(module) if getattr(vars(module)[name], "__module__", None) == module.__name__}
    constants = set(re.findall(r"^([A-Z]\w*)\b.* = ", source, re.M)) - {"TYPE_CHECKING"}
    return sorted(name for name in handed_on | here | constants if not name.startswith("_"))


def members(kind: type) -> list[str]:
    """Public methods, properties and the like, those of our base classes too, unless these have an entry themselves."""
    known = {streamtok.Encoding, gpu.DeviceError} - {kind}
    ours = [base for base in kind.__mro__ if base.__module__.startswith("streamtok")]
    ours = [base for base in ours if not any(issubclass(other, base) for other in known & set(kind.__mro__))]
    names = {name for base in ours for name, value in vars(base).items() if is_documentable(value)}
    fields = set(getattr(kind, "_fields", ()))  # of a NamedTuple; its docstring lists them
    return sorted(name for name in names - fields if not name.startswith("_"))


def is_documentable(value: object) -> bool:
    return inspect.isroutine(value) or inspect.isdatadescriptor(value) or hasattr(value, "attrname")


@pytest.mark.parametrize("suffix", MODULES, ids=lambda suffix: f"streamtok{suffix}")
def test_every_public_name_is_in_the_reference(documented, suffix):
    module = importlib.import_module(f"streamtok{suffix}")
    missing = []
    for name in public_names(module):
        known = {entry for entry in documented if entry.rpartition(".")[2] == name}
        value = getattr(module, name)
        entries = known & {f"{module.__name__}.{name}", f"streamtok.{name}"} or {
            entry for entry in known if resolve(entry) is value
        }
        missing += [] if entries else [f"{module.__name__}.{name}"]
        if inspect.isclass(value) and entries:
            entry = min(entries)
            missing += [f"{entry}.{each}" for each in members(value) if f"{entry}.{each}" not in documented]
    assert missing == []


def resolve(entry: str) -> object:
    """What a name in the reference stands for."""
    module, _, name = entry.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError:
        return None  # a member of a class


def documents() -> dict[str, pathlib.Path]:
    """The documents of docs/ that are pages; the others are read in the repository."""
    text = (oracle.PROJECT / "mkdocs.yml").read_text(encoding="utf-8")
    excluded = re.findall(r"^  (\S+)$", text.partition("exclude_docs: |\n")[2].partition("not_in_nav")[0], re.M)
    root = oracle.PROJECT / "docs"
    assert excluded and all((root / name).exists() for name in excluded)
    found = {path.relative_to(root).as_posix(): path for path in root.rglob("*.md")}
    return {name: path for name, path in found.items() if not name.startswith(tuple(excluded))}


def test_every_document_and_recipe_is_a_page(site):
    pages = {path.relative_to(site).with_suffix("").as_posix() for path in site.rglob("*.html")}
    recipes = {f"examples/{path.stem}" for path in (oracle.PROJECT / "examples").glob("*.py")}
    assert {name.removesuffix(".md") for name in documents()} | recipes <= pages


def test_the_site_is_short():
    """README, the guides, and the reference without what docstrings give: rationale belongs to docs/internals."""
    pages = [oracle.PROJECT / "README.md", *documents().values()]
    assert sum(len(path.read_text(encoding="utf-8").split()) for path in pages) <= 30_500


def test_examples_are_blocks_of_code(site):
    """Python's prompt in a paragraph would be a quotation in a quotation in a quotation."""
    for path in (site / "reference").glob("*.html"):
        page = path.read_text(encoding="utf-8")
        assert "<blockquote>" not in page, path
    assert 'class="gp"' in (site / "reference" / "encoding.html").read_text(encoding="utf-8")


def test_every_command_is_in_the_reference(site):
    page = (site / "reference" / "command.html").read_text(encoding="utf-8")
    for name in (
        "encode",
        "decode",
        "count",
        "truncate",
        "inspect",
        "view",
        "encodings",
        "train",
        "bench",
        "tables",
        "info",
    ):
        assert f'id="streamtok-{name}"' in page and f"Usage: streamtok {name} [OPTIONS]" in page


def test_no_page_asks_another_server_for_anything(site):
    for path in site.rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        assert re.findall(r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="https?://', page) == [], path
