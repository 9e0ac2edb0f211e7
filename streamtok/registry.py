"""Encodings by name: the seven that are bundled, and those of plugins written for tiktoken.

A plugin is a module in the namespace package `tiktoken_ext` with a dictionary ENCODING_CONSTRUCTORS. Plugins
are looked for only when a name is asked for that is not bundled, or when the names are listed; tiktoken's own
module there, openai_public, is left alone.
"""

from __future__ import annotations

import _thread
import os
from collections.abc import Callable

from . import _identity
from ._version import __version__
from .core import Encoding
from .errors import shortened
from .load import load_packed
from .native.steps import at_once, holding
from .patterns import CL100K, O200K, R50K

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ENCODINGS: dict[str, Encoding] = {}
"""The encodings made so far. One is made at most once, and the same object is handed out ever after."""


class _Bundled:
    """The recipe of a bundled encoding; called, it gives the keyword arguments of Encoding, as a plugin's does.

    special_tokens: makes them, once the encoding is asked for: o200k_harmony has more than a thousand.
    """

    def __init__(
        self,
        name: str,
        vocabulary: str,
        pat_str: str,
        special_tokens: Callable[[], dict[str, int]],
        n_vocab: int | None = None,
    ) -> None:
        self.name, self.vocabulary, self.pat_str = name, vocabulary, pat_str
        self.special_tokens, self.n_vocab = special_tokens, n_vocab

    def __call__(self) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "name": self.name,
            "pat_str": self.pat_str,
            "mergeable_ranks": load_packed(self.vocabulary).to_dict(),
            "special_tokens": self.special_tokens(),
        }
        if self.n_vocab is not None:
            arguments["explicit_n_vocab"] = self.n_vocab
        return arguments

    def build(self) -> Encoding:
        """The encoding itself, from the bundled tables: no dictionary is made on the way."""
        return Encoding._bundled(self.name, self.pat_str, self.vocabulary, self.special_tokens(), self.n_vocab, "fast")


def _fill_in_the_middle(first: int) -> dict[str, int]:
    return {f"<|fim_{part}|>": first + i for i, part in enumerate(("prefix", "middle", "suffix"))}


def _gpt2() -> dict[str, int]:
    return {"<|endoftext|>": 50256}


def _p50k_edit() -> dict[str, int]:
    return _gpt2() | _fill_in_the_middle(50281)


def _cl100k() -> dict[str, int]:
    return {"<|endoftext|>": 100257} | _fill_in_the_middle(100258) | {"<|endofprompt|>": 100276}


def _o200k() -> dict[str, int]:
    return {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}


def _harmony() -> dict[str, int]:
    named = {
        "<|startoftext|>": 199998,
        "<|return|>": 200002,
        "<|constrain|>": 200003,
        "<|channel|>": 200005,
        "<|start|>": 200006,
        "<|end|>": 200007,
        "<|message|>": 200008,
        "<|call|>": 200012,
    }
    # Every id above the ordinary ones has a name, up to 201087. 200018 has two: it stays o200k's <|endofprompt|>.
    free = set(range(200000, 201088)) - set(named.values())
    return _o200k() | named | {f"<|reserved_{token}|>": token for token in sorted(free)}


_RECIPES = (
    _Bundled("gpt2", "r50k_base", R50K, _gpt2, 50257),
    _Bundled("r50k_base", "r50k_base", R50K, _gpt2, 50257),
    _Bundled("p50k_base", "p50k_base", R50K, _gpt2, 50281),
    _Bundled("p50k_edit", "p50k_base", R50K, _p50k_edit),
    _Bundled("cl100k_base", "cl100k_base", CL100K, _cl100k),
    _Bundled("o200k_base", "o200k_base", O200K, _o200k),
    _Bundled("o200k_harmony", "o200k_base", O200K, _harmony),
)

ENCODING_CONSTRUCTORS: dict[str, Callable[[], dict[str, Any]]] = {recipe.name: recipe for recipe in _RECIPES}
"""Name -> function that gives the keyword arguments of Encoding. Plugins' are added once they are looked for."""

_lock = _thread.RLock()


def _renew_lock() -> None:
    global _lock
    _lock = _thread.RLock()  # it may have been held by a thread that the child does not have


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)

_plugins: list[str] | None = None  # names of the plugin modules; None until they are looked for


def get_encoding(encoding_name: str) -> Encoding:
    """The encoding of that name, made on first use and shared from then on. Safe to call from any thread.

    >>> get_encoding("o200k_base").encode("hello world")
    [24912, 2375]

    Args:
        encoding_name: one of list_encoding_names().

    Raises:
        ValueError: not a string, or a name that neither this package nor a plugin knows.
    """
    if not isinstance(encoding_name, str):
        raise ValueError(f"Expected a string in get_encoding, got {type(encoding_name)}")
    known = ENCODINGS.get(encoding_name)
    if known is not None:
        return known
    return holding(_lock, _made_once, encoding_name)


def _made_once(name: str) -> Encoding:
    if name not in ENCODINGS:
        ENCODINGS[name] = _make(name)
    return ENCODINGS[name]


def list_encoding_names() -> list[str]:
    """The names that get_encoding knows: the seven bundled ones, then those of plugins.

    Raises:
        ValueError: a plugin is broken, or has a name that another one has. The error of its import where it cannot be
            imported.
    """
    holding(_lock, _find_plugins)
    return list(ENCODING_CONSTRUCTORS)


def _make(name: str) -> Encoding:
    if name not in ENCODING_CONSTRUCTORS:
        plugins = _find_plugins()
        if name not in ENCODING_CONSTRUCTORS:
            raise ValueError(
                f"Unknown encoding {shortened(name)}.\n"
                f"Plugins found: {plugins}\n"
                f"streamtok version: {__version__} (are you on latest?)"
            )
    constructor = ENCODING_CONSTRUCTORS[name]
    return constructor.build() if isinstance(constructor, _Bundled) else Encoding(**constructor())


def _find_plugins() -> list[str]:
    """Adds the plugins' constructors to the table, once, and returns the names of their modules."""
    global _plugins
    if _plugins is not None:
        return _plugins
    import importlib
    import pkgutil

    try:
        namespace = importlib.import_module("tiktoken_ext")
    except ModuleNotFoundError as error:
        if error.name != "tiktoken_ext":
            raise  # the package exists, and something that it imports does not
        _plugins = []
        return _plugins
    modules = [module.name for module in pkgutil.iter_modules(namespace.__path__, "tiktoken_ext.")]
    modules = [name for name in modules if name != "tiktoken_ext.openai_public"]
    found: dict[str, Callable[[], dict[str, Any]]] = {}
    for module in modules:
        constructors = getattr(importlib.import_module(module), "ENCODING_CONSTRUCTORS", None)
        if constructors is None:
            raise ValueError(f"tiktoken plugin {module} does not define ENCODING_CONSTRUCTORS")
        for name in constructors:
            if name in found or name in ENCODING_CONSTRUCTORS:
                raise ValueError(f"Duplicate encoding name {shortened(name)} in tiktoken plugin {module}")
        found.update(constructors)
    # Only when all plugins are good: a plugin that failed is reported again by the next call.
    at_once((ENCODING_CONSTRUCTORS.update, found), (globals().__setitem__, "_plugins", modules))
    return modules


# An encoding that came from here is pickled as its name. identity is on a lower level and cannot import this
# module, so it gets here what it needs.
_identity._registered = ENCODINGS
_identity._resolve_registered = get_encoding
_identity._bundled_names = frozenset(ENCODING_CONSTRUCTORS)
