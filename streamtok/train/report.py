"""How well a trained vocabulary compresses text that it was not trained on, as it grows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..core import Encoding
from ..errors import shown
from .encoding import TrainedEncoding
from .inputs import How, Place, open_inputs
from .options import core_splitter

_POINTS = 12  # sizes by default


class Point(NamedTuple):
    """How a text is compressed by the vocabulary as it was at one size.

    Attributes:
        n_vocab: number of ordinary tokens that the vocabulary was cut to.
        tokens: number of tokens that it makes of the text.
        bytes: of the text.
    """

    n_vocab: int
    tokens: int
    bytes: int

    @property
    def bytes_per_token(self) -> float:
        """bytes / tokens; 0.0 where there are no tokens."""
        return self.bytes / self.tokens if self.tokens else 0.0


def report(
    encoding: Encoding,
    held_out: Any,
    *,
    sizes: Iterable[int] | None = None,
    key: str = "text",
    column: str | None = None,
    nulls: str = "error",
) -> list[Point]:
    """Count the tokens of held-out text with the vocabulary as it was at several sizes of its growth. Special tokens
    are plain text.

    Args:
        encoding: what train() or load() returned.
        held_out: what train() takes for sources; read once, in bounded memory.
        sizes: numbers of ordinary tokens, 256 being the bytes alone; by default a dozen, each about the same factor
            above the one before.
        key: the key of JSON lines that holds the text.
        column: the column of tables, or the extension of an archive's members, as for train().
        nulls: what a null in a table is, as for train().

    Raises:
        ValueError: a size that the vocabulary does not have, or no text.
        OSError: a file cannot be read.
    """
    ordered = sorted(encoding._mergeable_ranks.items(), key=lambda item: item[1])
    sizes = _spread(len(ordered)) if sizes is None else sorted(set(sizes))
    if not sizes or sizes[0] < 256 or sizes[-1] > len(ordered):
        raise ValueError(
            f"sizes={shown(list(sizes))} leave the range of this vocabulary: write numbers from 256 to {len(ordered)}"
        )
    cut = [
        TrainedEncoding(
            f"{encoding.name}, {size}",
            pat_str=encoding._pat_str,
            mergeable_ranks=dict(ordered[:size]),
            special_tokens={},
        )
        for size in sizes
    ]
    tokens, total = [0] * len(cut), 0
    how = How(key=key, cuts=core_splitter(encoding._pat_str), column=column, nulls=nulls)
    for text in texts_in(open_inputs(held_out), how):
        total += len(text.encode() if isinstance(text, str) else text)
        for i, smaller in enumerate(cut):
            tokens[i] += smaller.count(text)
    if not total:
        raise ValueError("there is no held-out text to count the tokens of")
    return [Point(size, count, total) for size, count in zip(sizes, tokens)]


def texts_in(inputs: Iterable[Any], how: How) -> Iterator[Any]:
    """Those of all inputs."""
    for index, each in enumerate(inputs):
        yield from texts_of(each, index, how)


def texts_of(each: Any, index: int, how: How) -> Iterable[Any]:
    """Texts that may be encoded independently; a text that must not be cut is joined again."""
    held: list[bytes] = []
    for stretch, _ in each.stretches(index, Place(index), how):
        if how.cuts:
            yield from stretch.texts
        elif stretch.ends and not held:
            yield from stretch.texts
        else:
            held += stretch.texts
            if stretch.ends:
                yield b"".join(held)
                held = []


def _spread(most: int) -> list[int]:
    """Sizes from the bytes alone to the whole vocabulary."""
    factor = (most / 256) ** (1 / (_POINTS - 1))
    return sorted({min(round(256 * factor**i), most) for i in range(_POINTS - 1)} | {most})


def draw(points: list[Point], path: str | os.PathLike[str]) -> None:
    """Draw bytes per token over the size of the vocabulary, with matplotlib (the extra `plot`).

    Args:
        points: what report() returned.
        path: of the picture; its suffix says which kind (.svg, .png, .pdf).

    Raises:
        ImportError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("drawing needs matplotlib: pip install matplotlib") from None
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axis = figure.subplots()
    axis.plot([each.n_vocab for each in points], [each.bytes_per_token for each in points], color="#1a5fb4", marker="o")
    axis.set_xscale("log", base=2)
    axis.set_xlabel("tokens in the vocabulary")
    axis.set_ylabel("bytes per token, held-out text")
    axis.grid(alpha=0.3)
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(os.fspath(path))
