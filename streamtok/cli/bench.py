"""streamtok bench: how fast a file is encoded here, beside tiktoken where that is installed.

A time counts only where the ids of that very call were right.
"""

from __future__ import annotations

import gc
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import click

from .options import Given, encoding_names, file_names, json_option, load_encoding, option, source_of, takes
from .sample import Sample, difference, documents, joined, read_sample

FEED_BYTES = 4096

# The text of a slice to arrays or lists of ids that, joined, are the ids of the text.
Encode = Callable[[bytes], list[Any]]


@dataclass
class Row:
    """One way to encode, and the seconds of each slice."""

    library: str
    mode: str
    encode: Encode
    batch: bool = False  # the documents of the slice, each a text
    seconds: list[float] = field(default_factory=list)


@takes(
    click.argument("file", metavar="FILE", shell_complete=file_names),
    option(
        "-e",
        "--encoding",
        metavar="NAME",
        default="o200k_base",
        show_default=True,
        shell_complete=encoding_names,
        help="Encoding by name.",
    ),
    option("--threads", metavar="N", type=click.IntRange(1, 1024), help="Also time batches on so many threads."),
    json_option("A JSON object with all figures."),
)
def command(given: Given) -> None:
    """Measure how fast FILE is encoded, beside tiktoken.

    '-' is standard input. The ids of every call are compared with tiktoken's, or with those of the reference engine
    where tiktoken is not installed. If one differs, no time is shown. At most the first 24 MiB of FILE are used, in
    six slices: "first" is the first call of this process, "warm" the median of five later ones, each with text that
    was not there before. .gz, .xz and .zst files are decompressed.
    """
    chosen = load_encoding(given.encoding)
    sample = read_sample("standard input" if given.file == "-" else given.file, source_of(given.file))
    figures = measure(sample, chosen, given.threads)
    click.echo(json.dumps(figures) if given.as_json else as_text(figures))


def measure(sample: Sample, encoding: Any, threads: int | None) -> dict[str, Any]:
    """The figures that --json prints. Raises ValueError where ids of ours differ."""
    import numpy  # noqa: F401 - so that the first call need not

    from .._version import __version__

    oracle, theirs = _oracle(encoding)
    ways = rows(encoding, theirs, threads)
    for turn, (a, b) in enumerate(sample.slices):
        wanted: dict[bool, Any] = {}
        for way in ways[turn % len(ways) :] + ways[: turn % len(ways)]:  # another one first each time
            ids = _timed(way, sample.data[a:b])
            if way.batch not in wanted:
                parts = documents(sample.data[a:b]) if way.batch else [sample.data[a:b]]
                wanted[way.batch] = joined([ids for part in parts for ids in oracle(part)])
            _compare(way, ids, wanted[way.batch], sample, a, encoding)
    text = sample.data[: sample.file_bytes]
    return {
        "file": sample.name,
        "encoding": encoding.name,
        "bytes": sample.file_bytes,
        "is_whole_file": sample.is_whole,
        "repeats": sample.repeats,
        "ids": encoding.count(text, disallowed_special=()),
        "slices": len(sample.slices),
        "checked_against": "tiktoken" if theirs else "streamtok's reference engine",
        "streamtok": __version__,
        "rows": [_figures(way, ways, sample) for way in ways],
    }


def rows(encoding: Any, theirs: Any, threads: int | None) -> list[Row]:
    """Ways to encode; theirs is tiktoken's encoding, or None."""

    def stream(text: bytes) -> list[Any]:
        feeder, view = encoding.stream_encoder(disallowed_special=(), copy=True), memoryview(text)
        parts = [feeder.feed(view[at : at + FEED_BYTES]) for at in range(0, len(view), FEED_BYTES)]
        return [*parts, feeder.flush()]

    found = [Row("streamtok", "one-shot", _one_shot(encoding))]
    if theirs:
        found.append(Row("tiktoken", "one-shot", _one_shot(theirs)))
    found.append(Row("streamtok", f"stream, {FEED_BYTES >> 10} KB", stream))
    if threads:
        mode = f"batch, {threads} thread{'s' if threads != 1 else ''}"
        options: dict[str, Any] = {"num_threads": threads, "disallowed_special": ()}
        ours = Row("streamtok", mode, lambda text: [encoding.encode_ragged(_texts(text), **options)[0]], True)
        found.append(ours)
        if theirs:
            found.append(Row("tiktoken", mode, lambda text: theirs.encode_batch(_texts(text), **options), True))
    return found


def _one_shot(encoding: Any) -> Encode:
    return lambda text: [encoding.encode_to_numpy(text.decode(), disallowed_special=())]


def _texts(text: bytes) -> list[str]:
    return [part.decode() for part in documents(text)]


def _oracle(encoding: Any) -> tuple[Encode, Any]:
    """Who knows the right ids, and tiktoken's encoding or None. Not tiktoken.get_encoding, which downloads."""
    parts: dict[str, Any] = {
        "pat_str": encoding._pat_str,
        "mergeable_ranks": encoding._mergeable_ranks if encoding._kind.merges else encoding._packed,
        "special_tokens": encoding._special_tokens,
    }
    from ..core import Encoding

    if not encoding._kind.merges:
        return _one_shot(Encoding(encoding.name, **parts, engine="reference")), None
    try:
        import tiktoken
    except ImportError:
        return _one_shot(Encoding(encoding.name, **parts, engine="reference")), None
    theirs = tiktoken.Encoding(encoding.name, **parts)
    return _one_shot(theirs), theirs


def _timed(way: Row, text: bytes) -> Any:
    gc.collect()
    gc.disable()
    start = time.perf_counter()
    parts = way.encode(text)
    way.seconds.append(time.perf_counter() - start)
    gc.enable()
    return joined(parts)


def _compare(way: Row, ids: Any, right: Any, sample: Sample, begin: int, encoding: Any) -> None:
    differs = difference(ids, right, encoding, sample, begin)
    if differs:
        place, given, wanted = differs
        raise ValueError(f"{place}: {way.library} ({way.mode}) gives {given}, right is {wanted}; no time is shown")


def _figures(way: Row, ways: list[Row], sample: Sample) -> dict[str, Any]:
    speeds = [(b - a) / 1e6 / seconds for (a, b), seconds in zip(sample.slices, way.seconds)]
    rival = next((one for one in ways if (one.library, one.mode) == ("tiktoken", way.mode)), None)
    ratios = [b / a for a, b in zip(way.seconds[1:], rival.seconds[1:])] if rival and rival is not way else None
    return {
        "library": way.library,
        "mode": way.mode,
        "first_mb_per_s": speeds[0] if way.mode == "one-shot" else None,  # others find memory that these have read
        "warm_mb_per_s": statistics.median(speeds[1:]),
        "all_warm": speeds[1:],
        "times_as_fast_as_tiktoken": statistics.median(ratios) if ratios else None,
    }


def as_text(figures: dict[str, Any]) -> str:
    part = "" if figures["is_whole_file"] else "the first "
    lines = [
        f"{figures['file']}: {part}{figures['bytes']:,} bytes, {figures['encoding']}; {figures['ids']:,} ids. "
        f"The ids of all {figures['slices']} slices are those of {figures['checked_against']}. "
        f"streamtok {figures['streamtok']}",
        "",
        f"{'':12}{'':20}{'first MB/s':>12}{'warm MB/s':>12}{'/ tiktoken':>12}",
    ]
    for row in figures["rows"]:
        first, ratio = row["first_mb_per_s"], row["times_as_fast_as_tiktoken"]
        cells = (f"{first:.1f}" if first else "", f"{row['warm_mb_per_s']:.1f}", f"{ratio:.2f}x" if ratio else "")
        lines.append(f"{row['library']:12}{row['mode']:20}" + "".join(f"{cell:>12}" for cell in cells).rstrip())
    lines += ["", "MB of UTF-8 a second, wall time. first: the first call; warm: the median of five later ones."]
    if figures["repeats"] > 1:
        lines.append(
            f"The file is too small: its text was repeated {figures['repeats']} times, so that warm figures are of "
            "text seen before, and flatter every cache."
        )
    return "\n".join(lines)
