"""A function for Ray Data's map_batches: a column of text into a column of ids, as Arrow has them."""

from __future__ import annotations

from typing import Any

from .._named import load_encoding


class EncodeBatches:
    """Adds a column of ids, list<uint32>, to batches of Arrow tables.

        dataset.map_batches(
            EncodeBatches, batch_format="pyarrow", concurrency=4, fn_constructor_kwargs={"encoding": "o200k_base"}
        )

    Args:
        encoding: the name of an encoding, or the path of a vocabulary.
        column: of the text. A null stays a null.
        output: the name of the column of ids; one of that name is replaced.
        keep: whether the column of text stays.
        options: for Encoding.encode_arrow; one thread encodes unless they say more.
    """

    def __init__(
        self,
        encoding: str = "o200k_base",
        column: str = "text",
        output: str = "input_ids",
        keep: bool = False,
        **options: Any,
    ) -> None:
        self._encoding = load_encoding(encoding, ".")
        self._column, self._output, self._keep, self._options = column, output, keep, {"num_threads": 1, **options}

    def __call__(self, batch: Any) -> Any:
        """The Arrow table with its ids. Raises as Encoding.encode_arrow does."""
        import pyarrow

        ids = pyarrow.array(self._encoding.encode_arrow(batch, column=self._column, **self._options))
        if not self._keep:
            batch = batch.drop_columns([self._column])
        if self._output in batch.column_names:
            batch = batch.drop_columns([self._output])
        return batch.append_column(self._output, ids)
