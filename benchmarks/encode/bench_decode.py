"""Ids back to text: whole sequences, and one id at a time as a model gives them."""

from __future__ import annotations

import codecs
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from common import (
    ENCODINGS,
    MB,
    Slice,
    corpora,
    fresh_encoding,
    fresh_slices,
    main,
    markdown,
    oracle,
    ratio,
    speeds,
    take_turns,
)


class Ids:
    """The ids of a slice, in both forms in which programs have them."""

    def __init__(self, piece: Slice, encoding: str) -> None:
        self.piece = piece
        self.array = piece.expected(encoding)
        self.list = self.array.tolist()


def tiktoken_one_by_one(encoding: str) -> Callable[[Ids], str]:
    """What a program with tiktoken writes to print whole characters only."""
    bytes_of = oracle(encoding).decode_single_token_bytes

    def run(ids: Ids) -> str:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        return "".join([decoder.decode(bytes_of(token)) for token in ids.list]) + decoder.decode(b"", True)

    return run


def ours_one_by_one(encoding: str) -> Callable[[Ids], str]:
    enc = fresh_encoding(encoding)

    def run(ids: Ids) -> str:
        decoder = enc.stream_decoder()
        return "".join([decoder.feed((token,)) for token in ids.list]) + decoder.flush()

    return run


FORMS: dict[str, dict[str, Callable[[str], Callable[[Ids], str]]]] = {
    "list": {
        "tiktoken": lambda encoding: lambda ids: oracle(encoding).decode(ids.list),
        "streamtok": lambda encoding: (lambda enc: lambda ids: enc.decode(ids.list))(fresh_encoding(encoding)),
    },
    # tiktoken reads an array as it reads any sequence.
    "array": {
        "tiktoken": lambda encoding: lambda ids: oracle(encoding).decode(ids.array),
        "streamtok": lambda encoding: (lambda enc: lambda ids: enc.decode(ids.array))(fresh_encoding(encoding)),
    },
    "one by one": {"tiktoken": tiktoken_one_by_one, "streamtok": ours_one_by_one},
}


def check(name: str, ids: Ids, text: str) -> None:
    if text != ids.piece.text:
        raise SystemExit(f"{name}: the decoded text is not the one that was encoded")


def one_case(corpus: str, encoding: str, form: str, slices: list[Slice]) -> dict[str, Any]:
    contenders = {name: make(encoding) for name, make in FORMS[form].items()}
    jobs = [Ids(piece, encoding) for piece in slices]
    seconds = take_turns(contenders, jobs, check)
    sizes = [len(piece.data) for piece in slices]
    speed = {name: speeds(spent, sizes) for name, spent in seconds.items()}
    facts = {"corpus": corpus, "encoding": encoding, "form": form}
    return {**facts, "speed": speed, "ratio": ratio(seconds["tiktoken"], seconds["streamtok"])}


def measure(full: bool) -> list[dict[str, Any]]:
    rows = []
    for corpus in corpora():
        slices = fresh_slices(corpus, *((4, MB) if full else (3, MB // 4)))
        rows += [one_case(corpus, encoding, form, slices) for encoding in ENCODINGS for form in FORMS]
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    head = ["corpus", "encoding", *(f"{form} {what}" for form in FORMS for what in ("MB/s", "ratio"))]
    lines: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        cells = [f"{row['speed']['streamtok']['warm']:.0f}", f"{row['ratio']:.1f}x"]
        lines.setdefault((row["corpus"], row["encoding"]), []).extend(cells)
    return markdown(head, [[*key, *cells] for key, cells in lines.items()])


@pytest.mark.parametrize("library", ["tiktoken", "streamtok"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("encoding", ENCODINGS)
def bench_decode(benchmark: Any, encoding: str, form: str, library: str) -> None:
    decode = FORMS[form][library](encoding)
    jobs = [Ids(piece, encoding) for piece in fresh_slices("english", 6, MB // 4)]
    check(library, jobs[0], decode(jobs[0]))
    left = iter(jobs[1:])
    benchmark.group = f"decode {form}, {encoding}, {len(jobs[0].piece.data)} bytes"
    benchmark.pedantic(decode, setup=lambda: ((next(left),), {}), rounds=5, iterations=1)


if __name__ == "__main__":
    main(measure, table)
