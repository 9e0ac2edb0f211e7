"""The arguments that say what rows look like, checked: for the CPU and for devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import shown
from ..native.rows import BEST_FIT_LENGTH

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._protocols import Encoding

HOW = "concatenate", "best-fit"

DTYPES = "uint16", "int16", "uint32", "int32", "int64", "uint64"

MOST_PLACES = 2**31 - 1
"""Places of sequences are int32, as attention kernels take them."""


class Shape(NamedTuple):
    """Checked arguments. length: ids of a row; None: as many as the longest has, at most `most`, rounded up to a
    multiple of `multiple`, and then at least `least`. is_left: pads stand in front. keeps_end: of a text that is too
    long the last ids stay. cuts_none: such a text is an error."""

    length: int | None
    dtype: np.dtype
    pad: int
    is_left: bool = False
    end: int | None = None
    keeps_end: bool = False
    most: int | None = None
    multiple: int = 1
    least: int = 0
    cuts_none: bool = False

    def ids_kept(self, longest: int) -> int:
        """The most ids of a text that a row takes; longest: of all texts."""
        most = self.length if self.length is not None else self.most
        if self.cuts_none and most is not None and longest > most:
            raise ValueError(
                f"a text has {longest} ids, more than {most}, and the model's file cuts the second one of two texts "
                "alone: give max_length"
            )
        return longest if most is None else min(longest, most)

    def row_length(self, longest: int) -> int:
        """Ids and pads of a row."""
        if self.length is not None:
            return self.length
        return max(self.least, -(-self.ids_kept(longest) // self.multiple) * self.multiple)


def shape_of(
    length: int | None,
    dtype: npt.DTypeLike,
    pad: int,
    highest: int | None,
    side: str = "right",
    end: int | None = None,
    truncate: str = "right",
    max_length: int | None = None,
    multiple: int | None = None,
) -> Shape:
    """Raises ValueError for an argument that cannot be meant. highest: the largest id that the encoding has; None: the
    ids are looked at later."""
    check_count("length", length, "how many ids a row has")
    check_count("max_length", max_length, "how many ids of a text are kept")
    check_count("pad_to_multiple_of", multiple, "what the length of a row is a multiple of")
    for name, value in (("max_length", max_length), ("pad_to_multiple_of", multiple)):
        if length is not None and value is not None:
            raise ValueError(f"{name}={shown(value)} and length={length}: every row has that length; give one of them")
    if side not in ("right", "left"):
        raise ValueError(f"side={shown(side)}: pads stand at the 'right' or at the 'left'")
    if truncate not in ("right", "left"):
        raise ValueError(f"truncate={shown(truncate)}: a text loses ids at the 'right' or at the 'left'")
    found = _dtype(dtype)
    limits = np.iinfo(found)
    if highest is not None and highest > limits.max:
        raise ValueError(
            f"dtype={shown(found.name)} holds ids up to {limits.max}, and this encoding has ids up to {highest}"
        )
    for name, value in (("pad_id", pad), ("eot", 0 if end is None else end)):
        if not isinstance(value, int) or not limits.min <= value <= limits.max:
            span = f"an int from {limits.min} to {limits.max}"
            raise ValueError(f"{name}={shown(value)} does not fit {found.name}: write {span}")
    if length is not None and length - 1 > limits.max:
        raise ValueError(f"positions up to {length - 1} do not fit {found.name}: write a wider dtype")
    return Shape(length, found, pad, side == "left", end, truncate == "left", max_length, multiple or 1)


def shape_for(
    encoding: Encoding,
    length: int | None,
    dtype: npt.DTypeLike,
    pad: int | None,
    side: str | None,
    truncate: str | None,
    max_length: int | None,
    multiple: int | None,
) -> Shape:
    """The same for texts of an encoding, whose model's file says what was not given."""
    cuts, pads = encoding.truncation or {}, encoding.padding or {}
    least, cuts_none = 0, False
    if length is max_length is multiple is None:
        max_length, multiple = cuts.get("max_length"), pads.get("pad_to_multiple_of") or None
        cuts_none = cuts.get("strategy") == "only_second"
        if pads.get("length") is not None:
            least, multiple = -(-pads["length"] // (multiple or 1)) * (multiple or 1), None
    side = side if side is not None else pads.get("direction", "right")
    truncate = truncate if truncate is not None else cuts.get("direction", "right")
    pad = pad if pad is not None else pads.get("pad_id", 0)
    # A file may ask for rows without ids.
    most = None if max_length == 0 and cuts.get("max_length") == 0 else max_length
    made = shape_of(length, dtype, pad, encoding.max_token_value, side, None, truncate, most, multiple)
    return made._replace(least=least, cuts_none=cuts_none, most=max_length)


def check_count(name: str, value: int | None, what: str) -> None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise ValueError(f"{name}={shown(value)}: write {what}, 1 or more")


def _dtype(dtype: npt.DTypeLike) -> np.dtype:
    try:
        found = np.dtype(dtype)
    except Exception:  # also whatever a foreign object raises when numpy inspects it
        found = np.dtype(np.void)
    if found.name not in DTYPES or not found.isnative:
        raise ValueError(f"dtype={shown(dtype)}: write one of {', '.join(map(repr, DTYPES))}")
    return found


def check_room(room: int) -> None:
    if room > MOST_PLACES:
        raise ValueError(f"{room} ids in one batch: places of sequences are 32-bit numbers, so pack fewer documents")


def check_template(kept: int, around: int) -> None:
    """kept: the most ids of a row. around: those that are never left out."""
    if kept < around:
        raise ValueError(
            f"rows of {shown(kept)} ids have no room for the {around} ids of add_special_tokens: make them longer"
        )


def check_packing(how: str, length: int) -> None:
    """Raises ValueError for an unknown way to pack, and for a length that it cannot have."""
    if how not in HOW:
        raise ValueError(f"how={shown(how)} is unknown: write {' or '.join(map(repr, HOW))}")
    if length is None:
        raise ValueError("length=None: write how many ids a row has, 1 or more")
    if how == "best-fit" and isinstance(length, int) and length > BEST_FIT_LENGTH:
        raise ValueError(
            f"length={length}: best-fit makes rows of {BEST_FIT_LENGTH} ids at most; "
            "write how='concatenate' for longer ones"
        )
