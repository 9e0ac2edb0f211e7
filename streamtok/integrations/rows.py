"""Rows of ids for a model: cut to a length, in a template, padded; as lists or as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .engine import Layout, Texts, Unserved

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from .._protocols import Places
    from .places import Trim

Settings = dict[str, Any]
"""What tokenizers.Tokenizer.truncation and .padding return."""


def truncated(texts: list[Texts], truncation: Settings | None, layout: Layout) -> list[Texts]:
    """The texts cut as the original does; one or two of them a row. Unserved: it raises, or knows more."""
    if truncation is None:
        return texts
    most = truncation["max_length"] - layout.added
    total = np.sum([each.counts for each in texts], 0)
    if not (total > most).any():
        return texts
    strategy = truncation["strategy"]
    if most <= 0 or truncation["stride"] >= most or not (strategy == "longest_first" or len(texts) == 1):
        raise Unserved("truncation to nothing, or of one text of a pair")
    if strategy == "only_second":
        raise Unserved("truncation of a second text that is not there")
    if len(texts) == 1:
        counts = [np.minimum(total, most)]
    else:
        counts = _longest_first(texts[0].counts, texts[1].counts, most)
        if truncation["stride"] and any((count <= truncation["stride"]).any() for count in counts):
            raise Unserved("truncation to less than the stride")
    right = truncation["direction"].lower() == "right"
    return [
        each._replace(starts=each.starts if right else each.starts + each.counts - count, counts=count)
        for each, count in zip(texts, counts)
    ]


def _longest_first(first: Places, second: Places, most: int) -> list[Places]:
    """How much of both is kept."""
    short, long = np.minimum(first, second), np.maximum(first, second)
    long = np.where(short > most, short, np.maximum(short, most - short))
    over = short + long > most
    short, long = np.where(over, most // 2, short), np.where(over, most // 2 + most % 2, long)
    cut = first + second > most
    swap = first > second
    kept = np.where(swap, long, short), np.where(swap, short, long)
    return [np.where(cut, kept[0], first), np.where(cut, kept[1], second)]


class Padding(NamedTuple):
    """Of a row: `length` ids; None: as many as the longest of the batch."""

    length: int | None
    left: bool
    token: int
    type_id: int
    multiple: int


def padding_of(settings: Settings | None) -> Padding | None:
    if settings is None:
        return None
    multiple = settings["pad_to_multiple_of"] or 0
    left = settings["direction"].lower() == "left"
    return Padding(settings["length"], left, settings["pad_id"], settings["pad_type_id"], multiple)


class Rows:
    """The rows of a batch.

    Args:
        texts: the ids of the texts, one or two Texts.
        layout: what stands in a row.
        padding: None: rows are not padded.

    Attributes:
        counts: ids of each row, without padding.
        widths: with it.
    """

    def __init__(self, texts: list[Texts], layout: Layout, padding: Padding | None) -> None:
        self._texts, self._layout = texts, layout
        self.counts = np.sum([each.counts for each in texts], 0) + layout.added
        self.widths = self.counts
        self._left = padding is not None and padding.left
        self._token, self._type_id = (0, 0) if padding is None else (padding.token, padding.type_id)
        if padding is not None:
            width = int(self.counts.max()) if padding.length is None else padding.length
            if padding.multiple > 0 and width % padding.multiple:
                width += padding.multiple - width % padding.multiple
            self.widths = np.maximum(self.counts, width)

    @property
    def width(self) -> int | None:
        """That of all rows; None where they differ."""
        width = int(self.widths[0])
        return width if (self.widths == width).all() else None

    def ids(self, as_arrays: bool) -> Any:
        """The ids of each row: int64 of shape (rows, width), or lists."""
        joined = self._joined([each.ids for each in self._texts], [part.token for part in self._layout.parts])
        return self._finished(joined, self._token, as_arrays)

    def type_ids(self, as_arrays: bool) -> Any:
        return self._numbers([part.type_id for part in self._layout.parts], self._type_id, as_arrays)

    def special_tokens_mask(self, as_arrays: bool) -> Any:
        return self._numbers([part.special for part in self._layout.parts], 1, as_arrays)

    def attention_mask(self, as_arrays: bool) -> Any:
        return self._numbers([1], 0, as_arrays)

    def offsets(self, as_arrays: bool, trim: Trim) -> Any:
        """Where each token begins and ends: int64 of shape (rows, width, 2), or lists of pairs."""
        whole = [_trimmed(texts, trim) for texts in self._texts]
        starts, ends = (self._joined([each[side] for each in whole], [0] * len(self._layout.parts)) for side in (0, 1))
        if as_arrays:
            return np.stack([self._finished(side, 0, True) for side in (starts, ends)], -1)
        return self._lists(list(zip(starts.tolist(), ends.tolist())), (0, 0))

    def lengths(self, as_arrays: bool) -> Any:
        return self.widths.copy() if as_arrays else self.widths.tolist()

    def _joined(self, beside: list[Any], of_special: list[Any]) -> Any:
        """What all rows hold in turn, without padding: of each text what stands beside its ids, of a special token a
        number."""
        parts = self._layout.parts
        if len(parts) == 1 and len(beside[0]) == self._texts[0].counts.sum():
            return beside[0]
        once = [slice(1)] * len(self.counts)
        values = [
            beside[part.text] if part.token is None else np.array([number], np.int64)
            for part, number in zip(parts, of_special)
        ]
        spans = [_spans(self._texts[part.text]) if part.token is None else once for part in parts]
        return np.concatenate([value[span] for row in zip(*spans) for value, span in zip(values, row)], dtype=np.int64)

    def _numbers(self, numbers: list[int], pad: int, as_arrays: bool) -> Any:
        """A number for all ids of a part."""
        if len(set(numbers)) > 1:
            each = np.stack(
                [
                    self._texts[part.text].counts if part.token is None else np.ones_like(self.counts)
                    for part in self._layout.parts
                ],
                -1,
            )
            return self._finished(np.repeat(np.tile(numbers, len(each)), each.ravel()), pad, as_arrays)
        if as_arrays:
            inside = self._inside()
            if (numbers[0], pad) == (1, 0):
                return inside.astype(np.int64)
            return np.where(inside, np.int64(numbers[0]), np.int64(pad))
        return [self._padded([numbers[0]] * n, pad, width) for n, width in self._sizes()]

    def _finished(self, joined: Any, pad: int, as_arrays: bool) -> Any:
        if not as_arrays:
            return self._lists(joined.tolist(), pad)
        if (self.counts == self.widths).all():
            return joined.astype(np.int64).reshape(len(self.counts), -1)
        made = np.full((len(self.counts), int(self.widths[0])), pad, np.int64)
        made[self._inside()] = joined
        return made

    def _inside(self) -> npt.NDArray[np.bool_]:
        """Where ids are, of rows of one width, and not padding."""
        places = np.arange(int(self.widths[0]))
        if self._left:
            return np.asarray(places >= (self.widths - self.counts)[:, None])
        return np.asarray(places < self.counts[:, None])

    def _lists(self, joined: list[Any], pad: Any) -> list[list[Any]]:
        made, at = [], 0
        for n, width in self._sizes():
            made.append(self._padded(joined[at : at + n], pad, width))
            at += n
        return made

    def _sizes(self) -> Iterator[tuple[int, int]]:
        return zip(self.counts.tolist(), self.widths.tolist())

    def _padded(self, row: list[Any], pad: Any, width: int) -> list[Any]:
        if len(row) == width:
            return row
        more = [pad] * (width - len(row))
        return more + row if self._left else row + more


def _spans(texts: Texts) -> list[slice]:
    return list(map(slice, texts.starts.tolist(), (texts.starts + texts.counts).tolist()))


def _trimmed(texts: Texts, trim: Trim) -> tuple[Places, Places]:
    """The offsets of texts as they are after the post-processor."""
    assert texts.offsets is not None
    starts, ends = (side.copy() for side in texts.offsets)
    firsts = texts.starts[texts.counts > 0]
    trim.apply(texts.ids, starts, ends, firsts)
    return starts, ends
