"""Text on the device to ids on the device, for every row of patterns: the rate beside that of cl100k_base.

    python benchmarks/gpu/rows.py --corpus FOLDER [--gb 1] [--patterns llama3 qwen2 ...] [--models FOLDER]

The first rows have the vocabulary of cl100k_base behind the pattern of the row, so that they differ in the split alone.
With --models the files of models below a folder follow (NAME/tokenizer.json, NAME/models/tokenizer.json), by what their
vocabularies and patterns take; a normalizer, which the CPU runs, is left out. Measured as resident.py does.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import resident
import shared

import streamtok
from streamtok.native.encode import Coder
from streamtok.patterns.engine import kernels_of, splitter_of
from streamtok.patterns.rows import ROWS

BASE = "cl100k"

TABLES = {
    "table: words": r"\w+|\s+|[^\w\s]",
    "table: llama3, two digits": str(ROWS["llama3"]).replace("{1,3}", "{1,2}"),
}
"""Patterns that are no rows, so that the table alone splits."""


def subjects(options: Any) -> Iterator[tuple[str, streamtok.Encoding]]:
    """(name, encoding) of the rows, then of the models."""
    ranks = streamtok.get_encoding("cl100k_base")._mergeable_ranks
    known = ROWS | TABLES
    for row in dict.fromkeys([BASE, *options.patterns]):
        yield row, streamtok.Encoding(row, pat_str=known[row], mergeable_ranks=ranks, special_tokens={})  # type: ignore[arg-type]
    if not options.models:
        return
    for name in ("cl100k_base", "o200k_base"):
        yield name, streamtok.get_encoding(name)
    folder = pathlib.Path(options.models)
    for path in sorted({*folder.glob("*/tokenizer.json"), *folder.glob("*/models/tokenizer.json")}):
        try:
            made = streamtok.Encoding.from_file(path)
        except streamtok.VocabularyError:
            continue
        if not made._vocab.fragments and kernels_of(made._split):
            yield f"{path.relative_to(folder).parts[0]} ({kernels_of(made._split)})", made


def rows(options: Any) -> Iterator[shared.Row]:
    first: dict[str, float] = {}
    for name, encoding in subjects(options):
        engine, device = resident.engine_of(encoding)
        coder = Coder(encoding._vocab, splitter_of(encoding._split))
        for corpus in options.corpora:
            data = shared.text_of(options.corpus, corpus)
            want = coder.encode_array(data, None, None)
            shared.check(engine.encode(resident.on_device(data, 0), np.uint32)[0], want, f"{name}, {corpus}")
            text = resident.on_device(data, int(options.gb * 1e9))
            total, stages = resident.measure(engine, device, text, "uint32")
            rate = text.size / total / 1e6
            yield {
                "encoding": name,
                "corpus": corpus,
                "gb_s": round(rate, 2),
                "ratio": round(rate / first.setdefault(corpus, rate), 3),
                "bytes_a_token": round(len(data) / len(want), 3),
                "stages": {kernel: round(spent / text.size * 1e9, 3) for kernel, spent in stages.items()},
            }
        del engine, device


def table(found: list[shared.Row]) -> str:
    stages = shared.names_in(found, "stages")
    cells = [
        [f"{row['encoding']}, {row['corpus']}", row["gb_s"], row["ratio"], row["bytes_a_token"]]
        + [row["stages"].get(name, "") for name in stages]
        for row in found
    ]
    return shared.markdown(
        ["on the device; ms of stages for a GB", "GB/s", "of cl100k", "bytes a token", *stages], cells
    )


if __name__ == "__main__":
    shared.main(__doc__, rows, table, brief={"gb": 0.5}, gb=1.0, patterns=[*ROWS, *TABLES], models="")
