"""Texts encoded into rows of one length: the part of class Encoding that gives what a model takes."""

from __future__ import annotations

from collections.abc import Iterable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt

    from ..protocols import AllowedSpecial, DisallowedSpecial, Encoding, SomeText


class PaddedTexts:
    """What encodes into padded rows; WholeTexts takes it over."""

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
        num_threads: int | None = 8,
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
            num_threads: threads to use, up to the number of cores; None for as many as there are.
            allowed_special: as for encode().
            disallowed_special: as for encode().
            add_special_tokens: as for encode().
            errors: as for encode_to_numpy().
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
        from ..rows.padding import padded
        from ..rows.shape import shape_for

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
