"""Which encodings a device can take, and why not the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ..native.cells import trie_cells
from ..patterns.engine import kernels_of
from ._shapes import ENCODING, LONGEST_MATCH, Module
from ._word_pieces import why_not

if TYPE_CHECKING:
    from .._protocols import Encoding


class _Made(NamedTuple):
    """Kernels for a model: their modules, and why they do not take a vocabulary, "" if they do."""

    modules: tuple[Module, ...]
    refuses: Callable[[Encoding], str] = lambda encoding: ""
    family: Callable[[Encoding], str | None] = lambda encoding: kernels_of(encoding._split)


def _has_too_many_cells(encoding: Encoding) -> str:
    if trie_cells(encoding._vocab) is None:
        return "a vocabulary of longest match with too many beginnings of tokens for the kernels"
    return ""


_MADE_FOR = {
    "merging": _Made(ENCODING),
    "longest": _Made(LONGEST_MATCH, _has_too_many_cells),
    "wordpiece": _Made(ENCODING, why_not, lambda encoding: "table"),
}


def family_or_reason(encoding: Encoding) -> tuple[str | None, str]:
    """(family of kernels, ""), or (None, why there are none): what the encoding has, for a sentence about it."""
    kernels = encoding._kind.kernels
    if kernels is None:
        return None, encoding._kind.why_no_kernels
    if reason := _MADE_FOR[kernels].refuses(encoding):
        return None, reason
    if encoding._model is not None and encoding._model.added_names.has_rules:
        return None, "added tokens with lstrip, rstrip, single_word or normalized, which only the CPU finds"
    if encoding._normalizer is not None and encoding._normalizer.behind is not None:
        return None, "patterns in turn that have no one table, or pieces that a blank is put in front of"
    family = _MADE_FOR[kernels].family(encoding)
    return family, "" if family else "a pattern that has no table, or leaves text out, for which there are no kernels"


def modules_for(encoding: Encoding) -> tuple[Module, ...]:
    """The kernels for an encoding that has a family."""
    assert encoding._kind.kernels is not None
    return _MADE_FOR[encoding._kind.kernels].modules
