"""The check of the ids: nothing is timed before it passes."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import streamtok
from streamtok.cli.sample import Sample, difference, documents, joined

from .contenders import REFERENCE, Encode, Entry, Vocabulary, contender

Ids = np.ndarray[Any, np.dtype[np.uint32]]


class Digest(NamedTuple):
    """A digest of ids, in a few bytes."""

    number: int
    crc: int


def digest(ids: Ids) -> Digest:
    return Digest(len(ids), zlib.crc32(np.ascontiguousarray(ids).data))


def texts_for(entry: Entry, data: bytes) -> list[Any]:
    """One slice, in the form in which the entry takes it."""
    texts = [data] if entry.threads is None else documents(data)
    return list(texts) if contender(entry.name).takes_bytes else [text.decode() for text in texts]


@dataclass
class Gate:
    """The right ids of a sample, and the contenders that give others."""

    sample: Sample
    vocabulary: Vocabulary
    oracle: str  # "tiktoken", or our reference engine where that is not installed
    refused: dict[Entry, str] = field(default_factory=dict)  # rivals that are not timed, and why
    _digests: dict[bool, list[Digest]] = field(default_factory=dict)  # by whether the slices go as batches

    def check(self, entries: list[Entry]) -> None:
        """Compare all ids of all entries with the oracle's.

        Raises ValueError with the first difference of ours; a rival that differs or fails is put in `refused`.
        """
        oracle = contender(self.oracle).load(self.vocabulary, None)
        for is_batch in sorted({entry.threads is not None for entry in entries}):
            expected = self._right_ids(oracle, is_batch)
            self._digests[is_batch] = [digest(ids) for ids in expected]
            for entry in entries:
                if (entry.threads is not None) == is_batch and entry != Entry(self.oracle):
                    self._compare(entry, expected)

    def expected(self, entry: Entry) -> list[Digest]:
        """The digests of the right ids, one for each slice."""
        return self._digests[entry.threads is not None]

    @property
    def compared(self) -> int:
        """Ids that were compared, over all slices."""
        return sum(right.number for right in self._digests[False])

    def count(self) -> int:
        """Ids of the file's text in one piece, as `streamtok count` has them: slices are cut where the text is not, and
        a small text is there several times."""
        return self._encoding.count(self.sample.data[: self.sample.file_bytes], disallowed_special=())

    @property
    def _encoding(self) -> streamtok.Encoding:
        return streamtok.get_encoding(self.vocabulary.name)

    def _right_ids(self, oracle: Encode, is_batch: bool) -> list[Ids]:
        form = Entry(self.oracle, 1 if is_batch else None)
        return [joined(oracle(texts_for(form, self.sample.data[a:b]))) for a, b in self.sample.slices]

    def _compare(self, entry: Entry, expected: list[Ids]) -> None:
        try:
            encode = contender(entry.name).load(self.vocabulary, entry.threads)
            for (a, b), right in zip(self.sample.slices, expected):
                ids = joined(encode(texts_for(entry, self.sample.data[a:b])))
                if differs := difference(ids, right, self._encoding, self.sample, a):
                    place, given, wanted = differs
                    who = f"{entry.library} ({entry.mode})"
                    raise _Different(f"{place}: {who} gives {given}, {self.oracle_name} {wanted}")
        except _Different as error:
            if entry.is_ours:
                raise ValueError(f"{error}; nothing was timed") from None
            self.refused[entry] = str(error)
        except Exception as error:
            if entry.is_ours:
                raise
            self.refused[entry] = f"failed: {type(error).__name__}: {error}"

    @property
    def oracle_name(self) -> str:
        """The name of the oracle, in words."""
        return "streamtok's reference engine" if self.oracle == REFERENCE else self.oracle


class _Different(Exception):
    """The message says where."""
