"""Models whose texts get a mark in place of each blank: a device has their tokens with blanks instead, so that most
texts are encoded as they are.

    text               normalizer             tokens                 ids
    a blank and a mark  every blank a mark     with marks              those of the model
    the same            every mark a blank     with blanks             the same

Nothing that the normalizer makes has a blank, so the tokens with blanks are spelled by no other text. A text that
holds marks itself, as few do, is one that is not in its form (_repair.py). What the normalizer puts in front of a text
becomes a blank in front of it, which the text gets when it is laid out (csrc/cuda/pack.cu).
"""

from __future__ import annotations

import dataclasses
import weakref
from array import array
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from ..native import job
from ..native.encode import Coder
from ..native.merges import SILENT
from ..native.normal import Normalizer
from ..native.vocab import Vocab
from ..patterns.engine import splitter_of

if TYPE_CHECKING:
    from .._protocols import Encoding, NamePair

_LONGEST_RUN = 64
"""Characters of the longest name that is left in a text."""


@dataclasses.dataclass(frozen=True)
class Respelled:
    """blank, mark: UTF-8 of both. front: what stands in front of a text: a blank, or nothing. normalizer: what is
    still done to texts. vocab: the tokens with blanks. coder: encodes and cuts texts without marks."""

    blank: bytes
    mark: bytes
    front: bytes
    normalizer: Normalizer
    vocab: Vocab
    coder: Coder

    def cuts(self, data: Any, size: int, matchers: NamePair) -> list[int]:
        """As job.cuts(), of a text that may hold marks."""
        around, text = len(self.mark), np.frombuffer(data, np.uint8)
        found = job.cuts(data, size, *matchers, self.coder)
        return [at for at in found if self.mark not in text[max(0, at - around) : at + around].tobytes()]

    def left_in_text(self, names: list[str], ids: list[int], others: list[str]) -> Fewer | None:
        """What is sought in place of the allowed names, which have these ids; None: themselves. others: disallowed
        names."""
        if self.front or self.blank.decode() in "".join(names):
            return None  # what stands behind a name would get a front
        return _fewer(self.vocab, names, ids, others)


def marks_of(encoding: Encoding) -> tuple[str, str, str] | None:
    """(blank, mark, what comes in front of a text) where all that the normalizer does is to put the mark in place of
    each blank, and the text is merged as a whole; else None."""
    normalizer, vocab = encoding._normalizer, encoding._vocab
    if normalizer is None or encoding._pat_str is not None or encoding._kind.kernels != "merging" or vocab.unreachable:
        return None
    *fronts, last = normalizer.steps
    if last[0] != "Replace" or len(last[1]) != 1 or len(last[2]) != 1 or not last[1].isascii() or last[2].isascii():
        return None
    front = fronts[0][1].replace(last[1], last[2]) if len(fronts) == 1 and fronts[0][0] == "Prepend" else ""
    if front not in ("", last[2]) or bool(front) != bool(fronts) or vocab.find(last[2].encode()) is None:
        return None
    return last[1], last[2], front


_made: weakref.WeakKeyDictionary[Encoding, Respelled | None] = weakref.WeakKeyDictionary()


def respelled(encoding: Encoding) -> Respelled | None:
    """An encoding as a device has it; None: with the tokens and the normalizer that it has."""
    if encoding not in _made:
        _made[encoding] = _respelled(encoding)
    return _made[encoding]


def _respelled(encoding: Encoding) -> Respelled | None:
    found = marks_of(encoding)
    if found is None:
        return None
    blank, mark, front = (each.encode() for each in found)
    vocab = _vocab_with(encoding._vocab, blank, mark)
    ranges = ((ord(found[1]), ord(found[1])),)
    coder = Coder(vocab, splitter_of(None), encoding._engine, "strict", None)
    normalizer = Normalizer([("ReplaceClass", ranges, found[0], False)])
    return Respelled(blank, mark, front and blank, normalizer, vocab, coder)


def _vocab_with(vocab: Vocab, blank: bytes, mark: bytes) -> Vocab:
    """The same tokens with blanks in place of marks. Those that have a blank go: no text becomes one of them."""
    blob, *numbers = vocab.to_merged()
    lengths, ids, splits = (array("I", data) for data in numbers)
    tokens, new_ids, new_splits = [], array("I"), array("I")
    for end, size, own, split in zip(accumulate(lengths), lengths, ids, splits, strict=True):
        token = blob[end - size : end]
        if blank in token:
            continue
        if mark in token:
            left = 0 if split in (0, SILENT) or token == mark else len(token[:split].replace(mark, blank))
            split, token = SILENT if split == SILENT else left, token.replace(mark, blank)
        tokens.append(token)
        new_ids.append(own)
        new_splits.append(split)
    made = Vocab(b"".join(tokens), array("I", map(len, tokens)), new_ids, new_splits, {}, any_order=True)
    made.cuts(b"")
    return made


@dataclasses.dataclass(frozen=True)
class Fewer:
    """What is sought in place of allowed names of which some stay in the text. lengths: bytes that a name takes."""

    names: list[str]
    ids: list[int]
    lengths: list[int]


def _fewer(vocab: Vocab, names: list[str], ids: list[int], others: list[str]) -> Fewer | None:
    """Names that stay in a text because merging gives their ids there: the runs of an ASCII character up to some
    length, where no other name has it, and each token that has it is such a run. So the ids of a run depend on nothing
    beside it. A longer run is found by the longest name and one character more, and begins with that name."""
    id_of = dict(zip(names, ids, strict=True))
    longest = {
        character: size
        for character, size in _runs_alone(names, others).items()
        if _stands_alone(vocab, character.encode())
        and all(vocab.merge(character.encode() * n) == [id_of[character * n]] for n in range(1, size + 1))
    }
    if not longest:
        return None
    made = Fewer([], [], [])
    for name in names:
        if name[0] not in longest:
            made.names.append(name)
            made.ids.append(id_of[name])
            made.lengths.append(len(name.encode()))
    for character, size in longest.items():
        made.names.append(character * (size + 1))
        made.ids.append(id_of[character * size])
        made.lengths.append(size)
    return made


def _runs_alone(names: list[str], others: list[str]) -> dict[str, int]:
    """ASCII characters whose runs, from one character to so many, are names, and which no other name has."""
    sizes: dict[str, set[int]] = {}
    for name in names:
        if name.isascii() and name == name[0] * len(name):
            sizes.setdefault(name[0], set()).add(len(name))
    return {
        character: len(of)
        for character, of in sizes.items()
        if of == set(range(1, len(of) + 1))
        and len(of) <= _LONGEST_RUN
        and sum(character in name for name in names) == len(of)
        and not any(character in name for name in others)
    }


def _stands_alone(vocab: Vocab, character: bytes) -> bool:
    """Whether each token that has the character consists of it."""
    blob, lengths, _, _ = vocab.to_merged()
    sizes = np.frombuffer(lengths, np.uint32).astype(np.int64)
    counts = np.add.reduceat(np.frombuffer(blob, np.uint8) == character[0], np.cumsum(sizes) - sizes, dtype=np.int64)
    return not bool(((counts > 0) & (counts < sizes)).any())
