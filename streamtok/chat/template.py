"""A chat template: compiled once, rendered with bounds, and with errors that name its line."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import jinja2
from jinja2 import nodes

from ..errors import ChatTemplateError
from .environment import BLOCKS, MOST_CHARACTERS, ChatEnvironment, LimitError

if TYPE_CHECKING:
    from types import TracebackType

_COMPILED = 64
"""Templates that are kept."""

MOST_SOURCE = 1 << 20
"""Characters of a template: published ones have 20,000 at most."""

_AS_GIVEN = frozenset(
    ("trim", "tojson", "length", "count", "string", "items", "default", "d", "list", "join", "selectattr")
    + ("rejectattr", "select", "reject", "map", "dictsort", "int", "float", "safe", "sort")
)
"""Filters that leave texts as they are, but for white space at their ends."""

_PARTED = frozenset(("split", "rsplit", "partition", "rpartition", "removeprefix", "removesuffix"))
_STRIPPED = frozenset(("strip", "lstrip", "rstrip"))
_ASKED = frozenset(("startswith", "endswith", "get", "items", "keys", "values", "append", "join", "index", "count"))


class Template:
    """Made by template_of().

    Attributes:
        source: the text of the template.
        constants: texts that it holds: what it writes, and its strings.
        has_blocks: whether it has {% generation %} blocks.
        cuts: texts that it divides others at; None: it does what is not known to leave texts whole.
        level: how its texts are marked, as far as is known (marks.py); a hint that any thread may write.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.level = 0
        try:
            tree = _environment.parse(source)
            self._read(tree)
            self._template = _environment.from_string(tree)  # which may change the tree
        except jinja2.TemplateSyntaxError as error:
            raise ChatTemplateError(f"the syntax is wrong: {error.message}", error.lineno) from None
        except RecursionError:
            raise ChatTemplateError("its blocks or brackets are nested too deeply") from None

    def _read(self, tree: nodes.Template) -> None:
        written = {node.data for node in tree.find_all(nodes.TemplateData)}
        strings = {node.value for node in tree.find_all(nodes.Const) if isinstance(node.value, str)}
        self.constants = tuple(sorted((written | strings) - {""}))
        self.strings = tuple(sorted(strings - {""}))
        self.has_blocks = "endgeneration" in self.source and any(
            isinstance(node.call.node, nodes.ExtensionAttribute) for node in tree.find_all(nodes.CallBlock)
        )
        self.cuts = _cuts(tree)

    def render(self, variables: dict[str, Any], marks: tuple[str, str] | None = None) -> str:
        """The text. marks: put around each {% generation %} block. ChatTemplateError: the template raised one, or what
        it makes is too much."""
        if marks is not None:
            variables = {**variables, BLOCKS: marks}
        _environment.begin()
        made: list[str] = []
        try:
            context = self._template.new_context(variables)
            size = 0
            for part in self._template.root_render_func(context):
                made.append(part)
                size += len(part)
                if size > MOST_CHARACTERS:
                    raise LimitError(f"the rendered text has more than {MOST_CHARACTERS} characters")
            return "".join(made)
        except Exception as error:
            raise ChatTemplateError(_reason(error), self._line(error.__traceback__)) from error

    def _line(self, place: TracebackType | None) -> int | None:
        """The line of the template that an error comes from."""
        line, code = None, self._template.root_render_func.__code__.co_filename
        while place is not None:
            if place.tb_frame.f_code.co_filename == code:
                line = self._template.get_corresponding_lineno(place.tb_lineno)
            place = place.tb_next
        return line


def _reason(error: Exception) -> str:
    if isinstance(error, jinja2.TemplateError) and type(error) is jinja2.TemplateError:
        return f"the template refuses this conversation: {error}"
    if isinstance(error, LimitError):
        return str(error)
    if isinstance(error, RecursionError):
        return "its macros call each other without an end"
    return f"{type(error).__name__}: {error}"


def _cuts(tree: nodes.Template) -> tuple[str, ...] | None:
    """Template.cuts."""
    found: set[str] = set()
    node: Any
    for node in tree.find_all(nodes.Filter):
        if node.name not in _AS_GIVEN:
            return None
    for node in tree.find_all(nodes.Call):
        if not isinstance(node.node, nodes.Getattr) or node.node.attr in _ASKED:
            continue
        name = node.node.attr
        given = [each.value for each in node.args if isinstance(each, nodes.Const) and isinstance(each.value, str)]
        if name in _PARTED and given:
            found.update(given)
        elif name not in _STRIPPED or len(given) < len(node.args) or not all(text.isspace() for text in given):
            return None
    for node in tree.find_all(nodes.Getitem):
        of = getattr(node.node, "name", "")
        if isinstance(node.arg, nodes.Slice) and "messages" not in of and "tools" not in of:
            return None  # a part of a text, perhaps, cut anywhere
    return tuple(sorted(found))


_environment = ChatEnvironment()


@functools.lru_cache(_COMPILED)
def template_of(source: str) -> Template:
    """The compiled template. ChatTemplateError: its syntax is wrong."""
    if len(source) > MOST_SOURCE:
        raise ChatTemplateError(f"it has {len(source)} characters; at most {MOST_SOURCE} are allowed")
    return Template(source)
