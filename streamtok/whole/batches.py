"""Many texts: the methods of class Encoding that take a batch of texts, or a column of them, in one call."""

from __future__ import annotations

from collections.abc import Iterable

from .. import _batch
from .. import _device as devices
from .._checks import checked_all
from ..errors import raise_of_row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt

    from .._protocols import AllowedSpecial, DisallowedSpecial, Encoding, Ids, Places, SomeText
    from ..arrow import ListArray


def encode_ordinary_batch(
    self: Encoding, text: list[str], *, num_threads: int | None = 8, device: str = "cpu"
) -> list[list[int]]:
    """Encodes a list of strings on several threads, taking the text of special tokens for ordinary text.

    Args:
        text: a list of str; one list of ids is returned for each.

    Raises:
        TypeError: an item is no str; the message has its index.
        ValueError: num_threads is below 1.
        streamtok.gpu.DeviceError: a device asked for by name cannot be used.
    """
    if device != "cpu":
        return self.encode_batch(text, num_threads=num_threads, disallowed_special=(), device=device)
    try:
        return _batch.encode_lists(self._coder, checked_all(text), self._plain, None, num_threads)
    except Exception as error:
        raise_of_row(error, "text", noted=True)


def encode_batch(
    self: Encoding,
    text: list[str],
    *,
    num_threads: int | None = 8,
    allowed_special: AllowedSpecial = set(),  # noqa: B006
    disallowed_special: DisallowedSpecial = "all",
    add_special_tokens: bool = False,
    device: str = "cpu",
) -> list[list[int]]:
    """Encodes a list of strings on several threads. A long string among short ones is shared out as well.

    Args:
        text: a list of str; one list of ids is returned for each.

    Raises:
        ValueError: a string holds a disallowed special token; num_threads is below 1.
        TypeError: an item is no str; the message has its index.
        streamtok.gpu.DeviceError: a device asked for by name cannot be used.
    """
    allowed, disallowed = self._matchers_for(allowed_special, disallowed_special)
    try:
        if device != "cpu":
            rows = devices.encode_lists(self, device, checked_all(text), (allowed, disallowed), num_threads)
        else:
            rows = _batch.encode_lists(self._coder, checked_all(text), allowed, disallowed, num_threads)
    except Exception as error:
        raise_of_row(error, "text", noted=True)
    return [[*self._template[0], *row, *self._template[1]] for row in rows] if add_special_tokens else rows


def encode_ragged(
    self: Encoding,
    texts: Iterable[SomeText],
    *,
    num_threads: int | None = None,
    allowed_special: AllowedSpecial = set(),  # noqa: B006
    disallowed_special: DisallowedSpecial = "all",
    add_special_tokens: bool = False,
    errors: str = "strict",
    device: str = "cpu",
    dtype: npt.DTypeLike | None = None,
    out: npt.ArrayLike | None = None,
) -> tuple[Ids, Places]:
    """(ids, indptr): the ids of all texts in one array, those of text i at ids[indptr[i]:indptr[i + 1]]. indptr is
    int64, of length len(texts) + 1.

    Args:
        texts: an iterable of str or of UTF-8 bytes.
        dtype: of ids, as for encode_to_numpy().
        out: for ids, as for encode_to_numpy().

    Raises:
        ValueError: a text holds a disallowed special token; `out` has too little room.
        TypeError: an item is neither str nor a buffer; the message has its index.
        UnicodeDecodeError: bytes that are not UTF-8, with errors="strict"; the message has the index of the text.
        streamtok.gpu.DeviceError: a device asked for by name cannot be used.
    """
    matchers = self._matchers_for(allowed_special, disallowed_special)
    wanted = None
    if dtype is not None or out is not None:
        from .._arrays import Wanted

        wanted = Wanted(self, dtype, out)
    several = list(texts)
    try:
        if device != "cpu":
            ids, indptr = devices.encode_many(self, device, several, matchers, errors, num_threads)
        else:
            ids, indptr = _batch.encode_ragged(self._coder_for(errors), several, *matchers, num_threads)
    except Exception as error:
        raise_of_row(error, "text")
    if add_special_tokens:
        from .._arrays import rows_in_template

        ids, indptr = rows_in_template(ids, indptr, self._template)
    return ids if wanted is None else wanted.take(ids), indptr


def encode_padded(
    self: Encoding,
    texts: Iterable[SomeText],
    *,
    length: int | None = None,
    side: str | None = None,
    pad_id: int | None = None,
    dtype: npt.DTypeLike = "int64",
    truncate: str | None = None,
    max_length: int | None = None,
    pad_to_multiple_of: int | None = None,
    num_threads: int | None = None,
    allowed_special: AllowedSpecial = set(),  # noqa: B006
    disallowed_special: DisallowedSpecial = "all",
    add_special_tokens: bool = False,
    errors: str = "strict",
    device: str = "cpu",
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """(ids, mask) of many texts in rows of one length, arrays of shape (texts, length). No list of ids is made.

    >>> ids, mask = enc.encode_padded(["a longer text", "short"], pad_id=0)
    >>> ids.tolist(), mask.tolist()
    ([[64, 7373, 2201], [12821, 0, 0]], [[1, 1, 1], [1, 0, 0]])
    >>> torch.from_numpy(ids)  # no copy

    Args:
        texts: an iterable of str or of UTF-8 bytes.
        length: ids of a row. None: as many as the longest text has.
        side: where the pads stand, "right" or "left". None: as the model's file says, or at the right.
        pad_id: the id that stands where a text has none. None: that of the model's file, or 0.
        dtype: of ids and mask: "uint16", "int16", "uint32", "int32", "int64" or "uint64". The mask is 1 for each id
            of a text, 0 for each pad.
        truncate: which ids of a text that has too many are left out, those at its "right" or at its "left" end. The
            ids of add_special_tokens are never left out. None: as the model's file says, or at the right.
        max_length: without a length: the most ids of a text that are taken, those of add_special_tokens included.
        pad_to_multiple_of: without a length: the length of a row is rounded up to a multiple of it. Where none of
            length, max_length and pad_to_multiple_of is given, rows are as the model's file says, if it does
            (`truncation` and `padding` of an Encoding); with a fixed length there, longer where a text has more.
        device: as for encode_to_numpy(). The rows are made on the CPU; streamtok.gpu.GpuEncoder makes them on the
            device and leaves them there.

    Raises:
        ValueError: a length below 1, or given beside max_length or pad_to_multiple_of; an unknown side or dtype; a
            dtype that does not hold all ids; rows with no room for the ids of add_special_tokens; a text holds a
            disallowed special token.
        TypeError: an item is neither str nor a buffer; the message has its index.
        UnicodeDecodeError: bytes that are not UTF-8, with errors="strict"; the message has the index of the text.
        streamtok.gpu.DeviceError: a device asked for by name cannot be used.
    """
    from .._rows.padding import padded
    from .._rows.shape import shape_for

    shape = shape_for(self, length, dtype, pad_id, side, truncate, max_length, pad_to_multiple_of)
    ids, starts = self.encode_ragged(
        texts,
        num_threads=num_threads,
        allowed_special=allowed_special,
        disallowed_special=disallowed_special,
        errors=errors,
        device=device,
    )
    return padded(ids, starts, self._template if add_special_tokens else ((), ()), shape, num_threads)


def encode_arrow(
    self: Encoding,
    data: Any,
    *,
    column: str | None = None,
    num_threads: int | None = None,
    allowed_special: AllowedSpecial = set(),  # noqa: B006
    disallowed_special: DisallowedSpecial = "all",
    add_special_tokens: bool = False,
    errors: str = "strict",
    device: str = "cpu",
) -> ListArray:
    """The ids of a column of text that lies in Arrow's memory. It is read there: no text is copied on the CPU, and
    none becomes a Python object. To a device it goes straight from there.

    >>> pyarrow.array(enc.encode_arrow(pyarrow.array(["hello world", None])))  # [[24912, 2375], null]

    Args:
        data: an object with Arrow's PyCapsule interface (__arrow_c_array__ or __arrow_c_stream__): an array, a
            chunked array, a record batch or a table of pyarrow, a series or a data frame of polars or pandas. The
            column is of type string, large_string, string_view, binary, large_binary or binary_view, or a
            dictionary of these. A null stays one.
        column: the column of a record batch, a table or a data frame.
        add_special_tokens: as for encode(); around each row that is not null.

    Returns:
        streamtok.arrow.ListArray: an Arrow array of type list<uint32>, as many rows as the column has.

    Raises:
        streamtok.arrow.ColumnError: a ValueError. There is no such column, it holds no text, or the array
            contradicts itself.
        ValueError: a text holds a disallowed special token.
        TypeError: `data` has no Arrow interface.
        UnicodeDecodeError: bytes that are not UTF-8, with errors="strict"; the message has the number of the row.
        streamtok.gpu.DeviceError: a device asked for by name cannot be used.
    """
    from ..arrow import encode_arrow

    return encode_arrow(
        self, data, column, num_threads, allowed_special, disallowed_special, add_special_tokens, errors, device
    )
