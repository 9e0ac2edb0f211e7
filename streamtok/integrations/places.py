"""Where tokens begin and end in text, as tokenizers has it: pairs of characters."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from .._offsets import token_sizes

if TYPE_CHECKING:
    from .._protocols import Ids, Places
    from ..core import Encoding


class Trim:
    """What a post-processor cuts off from the places of tokens: their white space.

    Args:
        backend: the tokenizers.Tokenizer.
        encoding: the same as an Encoding.
    """

    def __init__(self, backend: Any, encoding: Encoding) -> None:
        state = json.loads(backend.post_processor.__getstate__()) if backend.post_processor else {}
        steps = _trimming(state)
        self._keeps_first = bool(steps) and steps[0]
        self._tables: tuple[Places, Places] | None = None
        if steps:
            names = [backend.id_to_token(token) or "" for token in range(encoding.max_token_value + 1)]
            blank = "\u0120"  # GPT-2's letter for a blank
            sizes = np.array([len(name) for name in names], np.int64)
            self._tables = (
                sizes - np.array([len(name.lstrip(_WHITE + blank)) for name in names], np.int64),
                sizes - np.array([len(name.rstrip(_WHITE + blank)) for name in names], np.int64),
            )

    def apply(self, ids: Ids, starts: Places, ends: Places, firsts: Places) -> None:
        """Changes starts and ends in place. firsts: indexes of tokens that begin a text."""
        if self._tables is None:
            return
        left, right = self._tables[0][ids], self._tables[1][ids]
        if self._keeps_first:
            is_first = starts == 0
            is_first[firsts] = True
            left[is_first & (left == 1)] = 0  # one blank may be what was put in front; of several none is
        np.minimum(starts + left, ends, out=starts)
        cut = np.where(ends >= right, np.maximum(ends - right, starts), ends)
        ends[:] = np.where(right > 0, cut, ends)


_WHITE = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""Unicode's White_Space."""


def _trimming(state: dict[str, Any]) -> list[bool]:
    """add_prefix_space of the step of a post-processor that trims. ValueError: another step is in front of it."""
    if state.get("type") == "Sequence":
        found = [_trimming(step) for step in state["processors"]]
        if any(found[1:]):
            raise ValueError("a post-processor trims places of tokens that another one has put there")
        return found[0] if found else []
    if state.get("type") in ("ByteLevel", "RobertaProcessing") and state.get("trim_offsets"):
        return [bool(state.get("add_prefix_space"))]
    return []


def spans_of(encoding: Encoding, data: bytes, ids: Ids, indptr: Places) -> tuple[Places, Places] | None:
    """(starts, ends) in characters, of tokens whose bytes are those of the texts; None where they are not.

    Args:
        encoding: one of bytes, whose text is not normalized.
        data: UTF-8 of all texts, joined.
        ids: of all texts, in turn.
        indptr: the ids of text i are ids[indptr[i]:indptr[i + 1]].
    """
    sizes = token_sizes(encoding, data, ids)
    if int(sizes.sum()) != len(data) or (len(ids) and not sizes.all()):
        return None
    stops = sizes.cumsum()
    begun = np.cumsum((np.frombuffer(data, np.uint8) & 0xC0) != 0x80)  # characters begun, with that of each byte
    starts, ends = begun[stops - sizes] - 1, begun[stops - 1]
    counts = np.diff(indptr)
    filled = counts > 0
    base = np.zeros(len(counts), np.int64)
    base[filled] = starts[indptr[:-1][filled]]
    shift = np.repeat(base, counts)
    return starts - shift, ends - shift
