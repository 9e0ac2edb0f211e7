"""The environment that chat templates run in: Jinja's immutable sandbox with the names that transformers gives to them,
steps that are counted, and short ways for what templates do most.

Of the sandbox only attributes of plain values take a short way. It gives what the long one gives.
"""

from __future__ import annotations

import datetime
import json
import re
import threading
import time
from types import BuiltinMethodType
from typing import Any

import jinja2
import jinja2.ext
from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace, pass_context

from ..errors import shown

MOST_CHARACTERS = 1 << 26
"""Of a rendered conversation, and of a text that a template makes by repeating or padding one."""

MOST_SECONDS = 30.0
"""Of processor time of one rendering."""

_STEPS = 1 << 12
"""Steps of loops and macros between two looks at the clock."""

_MOST_BITS = 1 << 16

_OF_DICT = frozenset(dir(dict))
_OF_STR = frozenset(name for name in dir(str) if not name.startswith(("_", "format")))
_OF_LOOP = frozenset(("first", "last", "index", "index0", "revindex", "revindex0", "length", "previtem", "nextitem"))
_PADDING = frozenset(("center", "expandtabs", "ljust", "rjust", "zfill"))

BLOCKS = "generation_marks"
"""The variable of a rendering that has the two marks which stand around each {% generation %} block."""


class LimitError(Exception):
    """A rendering takes more than it may."""


class _Meter(threading.local):
    """What a thread's rendering may still take."""

    left = 0
    until = 0.0


class _Generation(jinja2.ext.Extension):
    """{% generation %} ... {% endgeneration %}: text that the model writes."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Any) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_marked"), [], [], body).set_lineno(line)

    @pass_context
    def _marked(self, context: Any, caller: Any) -> str:
        marks = context.get(BLOCKS)
        text: str = caller()
        return text if marks is None else f"{marks[0]}{text}{marks[1]}"


class _Dict:
    """`dict` of a template: what makes one, without the class."""

    def __call__(self, *items: Any, **more: Any) -> dict[Any, Any]:
        return dict(*items, **more)

    def fromkeys(self, *items: Any) -> dict[Any, Any]:
        return dict.fromkeys(*items)


class _Names(Namespace):
    """`namespace` of a template. Names that begin with an underscore are refused."""

    def __init__(*items: Any, **more: Any) -> None:
        self, rest = items[0], items[1:]
        named = dict(*rest, **more)
        for name in named:
            _check_name(name)
        Namespace.__init__(self, named)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_name(name)
        Namespace.__setitem__(self, name, value)


def _check_name(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace takes no name that begins with an underscore, as {shown(name)}")


def _raise(message: Any) -> None:
    raise jinja2.TemplateError(message)


def _now(form: str) -> str:
    return datetime.datetime.now().strftime(form)


def _json(
    value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


class ChatEnvironment(ImmutableSandboxedEnvironment):
    """One for all templates and threads."""

    intercepted_binops = frozenset(("*", "**", "%"))

    def __init__(self) -> None:
        extensions = [_Generation, "jinja2.ext.loopcontrols"]
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=extensions, cache_size=0)
        self.meter = _Meter()
        self.filters["tojson"] = _json
        center = self.filters["center"]
        self.filters["center"] = lambda text, width=80: center(text, _checked_size(width))
        self.globals.update(raise_exception=_raise, strftime_now=_now, dict=_Dict(), namespace=_Names)

    # ==== What is bounded ====

    def begin(self) -> None:
        """Of each rendering."""
        self.meter.left, self.meter.until = _STEPS, time.thread_time() + MOST_SECONDS

    @property
    def step(self) -> None:
        """Read at the beginning of each turn of a loop, and of each call of a macro."""
        meter = self.meter
        meter.left -= 1
        if meter.left < 0:
            meter.left = _STEPS
            if time.thread_time() > meter.until:
                raise LimitError(f"the template runs for more than {MOST_SECONDS:.0f} seconds of processor time")

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        each: Any
        for each in list(tree.find_all((nodes.For, nodes.Macro, nodes.CallBlock))):
            step = nodes.ExprStmt(nodes.EnvironmentAttribute("step"))
            each.body.insert(0, step.set_lineno(each.lineno))
        return tree

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "*":
            for one, other in ((left, right), (right, left)):
                if isinstance(one, (str, list, tuple)) and isinstance(other, int):
                    _checked_size(len(one) * other)
        elif operator == "**" and isinstance(left, int) and isinstance(right, int):
            if left.bit_length() * right > _MOST_BITS:
                raise LimitError(f"a number of more than {_MOST_BITS} bits")
        elif isinstance(left, str):
            _check_widths(left)
        return super().call_binop(context, operator, left, right)

    # ==== Short ways ====

    def getattr(self, obj: Any, attribute: str) -> Any:
        kind = type(obj)
        if kind is dict:
            if attribute not in _OF_DICT:
                try:
                    return obj[attribute]
                except KeyError:
                    return self.undefined(obj=obj, name=attribute)
        elif (kind is str and attribute in _OF_STR) or (kind is LoopContext and attribute in _OF_LOOP):
            return getattr(obj, attribute)
        elif kind is _Names and not attribute.startswith("_"):
            try:
                return getattr(obj, attribute)
            except AttributeError:
                pass
        return super().getattr(obj, attribute)

    def call(
        __self,
        __context: Any,
        __obj: Any,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        if type(__obj) is BuiltinMethodType:
            kwargs.pop("_loop_vars", None)
            kwargs.pop("_block_vars", None)
            if __obj.__name__ in _PADDING:
                for value in (*args, *kwargs.values()):
                    if isinstance(value, int):
                        _checked_size(value)
            return __obj(*args, **kwargs)
        return super().call(__context, __obj, *args, **kwargs)


def _checked_size(size: Any) -> Any:
    if isinstance(size, int) and size > MOST_CHARACTERS:
        raise LimitError(f"a text or list of {size} items; at most {MOST_CHARACTERS} are allowed")
    return size


_WIDE = re.compile(r"%[^a-zA-Z%]*(\*|[0-9]{8})")


def _check_widths(form: str) -> None:
    """Of a format that is applied with %."""
    if _WIDE.search(form):
        raise LimitError(f"a format with a width that is not known to be small: {shown(form)}")
