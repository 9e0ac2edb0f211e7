"""One-shot encoding of whole texts beside tiktoken: encode_to_numpy and encode, by encoding and corpus."""

from __future__ import annotations

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
    check_ids,
    corpora,
    fresh_encoding,
    fresh_slices,
    main,
    markdown,
    oracle,
    ratio,
    speeds,
    take_turns,
    time_fresh,
)


def ours_array(encoding: str) -> Callable[[Slice], Any]:
    encode = fresh_encoding(encoding).encode_to_numpy
    return lambda piece: encode(piece.text, disallowed_special=())


def ours_list(encoding: str) -> Callable[[Slice], Any]:
    encode = fresh_encoding(encoding).encode_ordinary
    return lambda piece: encode(piece.text)


def tiktoken_array(encoding: str) -> Callable[[Slice], Any]:
    encode = oracle(encoding).encode_to_numpy
    return lambda piece: encode(piece.text, disallowed_special=())


def tiktoken_list(encoding: str) -> Callable[[Slice], Any]:
    encode = oracle(encoding).encode_ordinary
    return lambda piece: encode(piece.text)


FORMS = {
    "array": {"tiktoken": tiktoken_array, "streamtok": ours_array},
    "list": {"tiktoken": tiktoken_list, "streamtok": ours_list},
}


def measure(full: bool) -> list[dict[str, Any]]:
    """A row for each encoding and corpus. The first slice is the first text that a new Encoding sees."""
    rows = []
    for corpus in corpora():
        slices = fresh_slices(corpus, *((4, 3 * MB) if full else (3, MB // 2)))
        for encoding in ENCODINGS:
            row: dict[str, Any] = {"corpus": corpus, "encoding": encoding}
            for form in FORMS:
                row[form] = one_form(form, encoding, slices)
            rows.append(row)
    return rows


def one_form(form: str, encoding: str, slices: list[Slice]) -> dict[str, Any]:
    contenders = {name: make(encoding) for name, make in FORMS[form].items()}

    def check(name: str, piece: Slice, ids: Any) -> None:
        check_ids(ids, piece.expected(encoding), f"{name} {form}, {encoding}")

    seconds = take_turns(contenders, slices, check)
    sizes = [len(piece.data) for piece in slices]
    answer: dict[str, Any] = {name: speeds(spent, sizes) for name, spent in seconds.items()}
    answer["ratio"] = ratio(seconds["tiktoken"], seconds["streamtok"])
    return answer


def table(rows: list[dict[str, Any]]) -> str:
    head = ["corpus", "encoding", "tiktoken", "streamtok", "cold", "ratio", "tiktoken list", "streamtok list", "ratio"]

    def cells(row: dict[str, Any]) -> list[str]:
        array, in_list = row["array"], row["list"]
        ours = array["streamtok"]
        return [
            row["corpus"],
            row["encoding"],
            f"{array['tiktoken']['warm']:.1f}",
            f"{ours['warm']:.1f}",
            f"{ours['cold']:.1f}",
            f"{array['ratio']:.1f}x",
            f"{in_list['tiktoken']['warm']:.1f}",
            f"{in_list['streamtok']['warm']:.1f}",
            f"{in_list['ratio']:.1f}x",
        ]

    return markdown(head, map(cells, rows))


@pytest.mark.parametrize("library", ["tiktoken", "streamtok"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("corpus", corpora())
@pytest.mark.parametrize("encoding", ENCODINGS)
def bench_one_shot(benchmark: Any, encoding: str, corpus: str, form: str, library: str) -> None:
    encode, slices = FORMS[form][library](encoding), fresh_slices(corpus, 6, MB // 2)
    check_ids(encode(slices[0]), slices[0].expected(encoding), library)
    benchmark.group = f"one-shot {form}, {encoding}, {corpus}, {len(slices[0].data)} bytes"
    time_fresh(benchmark, encode, slices)


if __name__ == "__main__":
    main(measure, table)
