"""Files of ids as one long row: its ids, and the documents in it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import shortened
from ..files.formats import Tokenized, open_documents
from ..native.checksum import digest

Array = np.ndarray[Any, np.dtype[Any]]


class Tokens:
    """Files opened with files.open_documents, their documents one behind the other. It is pickled as their paths."""

    def __init__(self, paths: Sequence[str], format: str | None, dtype: str | None) -> None:
        self._how = list(paths), format, dtype
        self._open()

    def _open(self) -> None:
        paths, format, dtype = self._how
        self._files: list[Tokenized] = [open_documents(path, format, dtype) for path in paths]
        # As plain arrays: to cut a piece out of a numpy.memmap takes several times as long.
        self._ids = [None if each.ids is None else np.asarray(each.ids) for each in self._files]
        self._ends = [np.asarray(each.ends) for each in self._files]
        counts = [int(each.ends[-1]) if len(each) else 0 for each in self._files]
        self._starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.array(counts, np.int64))])
        sizes = np.array([len(each) for each in self._files], np.int64)
        self._first_documents = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        self.ids, self.documents = int(self._starts[-1]), int(self._first_documents[-1])
        self.digest = digest(np.concatenate([self._starts, self._first_documents]))

    def __getstate__(self) -> dict[str, Any]:
        return {"_how": self._how, "digest": self.digest}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._how = state["_how"]
        self._open()
        if self.digest != state["digest"]:
            raise ValueError(
                f"{shortened(self._how[0][0])} or a file beside it has changed since it was opened: begin anew"
            )

    def read(self, begin: int, end: int) -> Array:
        """The ids begin .. end - 1 of all files."""
        parts = [self._part(file, first, last) for file, first, last in self._parts(begin, end)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _parts(self, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
        """(file, first, last): the stretches of files that make up a stretch of all."""
        file = int(np.searchsorted(self._starts, begin, "right")) - 1
        while begin < end:
            start, behind = int(self._starts[file]), int(self._starts[file + 1])
            if begin < behind:
                yield file, begin - start, min(end, behind) - start
            begin, file = max(begin, min(end, behind)), file + 1

    def _part(self, file: int, first: int, last: int) -> Array:
        ids, ends, opened = self._ids[file], self._ends[file], self._files[file]
        if ids is not None:
            return ids[first:last]
        low = int(np.searchsorted(ends, np.uint64(first), "right"))  # a format that has no row of all ids
        high = int(np.searchsorted(ends, np.uint64(last), "left"))
        start = int(ends[low - 1]) if low else 0
        return np.concatenate([opened[i] for i in range(low, high + 1)])[first - start : last - start]

    def borders(self, begin: int, end: int) -> Array:
        """Where documents begin behind `begin` and in front of `end`, counted from `begin`."""
        found = [np.zeros(0, np.int64)]
        for file, first, last in self._parts(begin, end):
            ends, start = self._ends[file], int(self._starts[file])
            low, high = (np.searchsorted(ends, np.uint64(at), "right") for at in (first, last))
            found.append(np.asarray(ends[low:high]).astype(np.int64) + start - begin)
        borders = np.unique(np.concatenate(found))
        return borders[borders < end - begin]

    def document(self, number: int) -> Array:
        """The ids of one document."""
        file = int(np.searchsorted(self._first_documents, number, "right")) - 1
        return self._files[file][number - int(self._first_documents[file])]


def names_of(paths: Any) -> list[str]:
    """Paths as a list of str. Raises ValueError for none, TypeError for what is no path."""
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not given:
        raise ValueError("paths are empty: give the files of ids")
    return [os.fspath(path) for path in given]
