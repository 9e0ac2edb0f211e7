"""Token ids and counts as columns of a Polars frame.

    pip install polars
    python examples/polars_column.py [FILE]

encode_ragged() encodes all texts of a column on several threads, and returns their ids in one array, with the place
where each text begins. That is how Arrow, and so Polars, stores a column of lists. FILE is read as one text a line.
"""

import pathlib
import sys

import numpy as np
import polars as pl

import streamtok

SAMPLE = ["a text in each row", "", "naïve 你好 🤗", "<|endoftext|> is ordinary text here"] * 50


def with_tokens(frame: pl.DataFrame, column: str, encoding: streamtok.Encoding) -> pl.DataFrame:
    """The frame with two more columns: `ids`, lists of uint32, and `tokens`, their lengths. A null counts as ""."""
    texts = frame[column].fill_null("").to_list()
    ids, indptr = encoding.encode_ragged(texts, disallowed_special=())
    lists = pl.Series("ids", np.split(ids, indptr[1:-1]), dtype=pl.List(pl.UInt32))
    return frame.with_columns(lists, pl.Series("tokens", np.diff(indptr)))


def main() -> None:
    texts = pathlib.Path(sys.argv[1]).read_text("utf-8").splitlines() if len(sys.argv) > 1 else SAMPLE
    frame = with_tokens(pl.DataFrame({"text": texts}), "text", streamtok.get_encoding("o200k_base"))
    print(frame.head())
    print(f"{frame['tokens'].sum():,} tokens in {len(frame):,} rows")


if __name__ == "__main__":
    main()
