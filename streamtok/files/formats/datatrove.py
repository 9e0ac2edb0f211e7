"""datatrove: ids in `<dst>` (usually NAME.ds), the ends of documents in `<dst>.index`, and `<dst>.metadata`: the name
of the encoding and the bytes an id, how many ids, and that count for people."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .base import STORED, Facts, Format, write_ends
from .reading import Tokenized, ends_in, flat, no_file

if TYPE_CHECKING:
    from ...disk import File


class Writer(Format):
    """See the module."""

    name = "datatrove"
    wants_ends = True

    def sides(self, target: str) -> list[str]:
        return [f"{target}.index", f"{target}.metadata"]

    def write_side(self, index: int, file: File, facts: Facts) -> None:
        if index == 0:
            write_ends(file, facts)
            return
        size = STORED[facts.dtype].itemsize
        file.write(f"{facts.encoding}|{size}\n{facts.ids}\n{for_people(facts.ids)}".encode())


def for_people(count: int) -> str:
    """The count with three digits, as `1.23 MT` for 1,234,567 tokens: what datatrove writes by humanize.metric. At most
    2**64."""
    power = len(str(count)) - 1
    if round(count / 10 ** (power // 3 * 3), 2 - power % 3) >= 10 ** (power % 3 + 1):
        power += 1  # 999,999 is 1.00 M
    value, prefix = count / 10 ** (power // 3 * 3), " kMGTPE"[power // 3].strip()
    return f"{value:.{2 - power % 3}f} {prefix}T"


def is_one(path: str) -> bool:
    """Whether the index is beside it."""
    return os.path.exists(f"{path}.index")


def read(path: str, dtype: str | None) -> Tokenized:
    """Ids, with the dtype that the metadata tell, and the ends in the index."""
    metadata = f"{path}.metadata"
    if dtype is None and os.path.exists(metadata):
        with open(metadata, encoding="utf-8", errors="replace") as file:
            size = file.readline(1 << 16).rstrip("\n").rpartition("|")[2]
        dtype = {"2": "uint16", "4": "uint32"}.get(size)
        if dtype is None:
            raise no_file(
                metadata, "metadata of datatrove", f"the first line ends in {size[:20]!r} and not in |2 or |4"
            )
    return flat(path, "datatrove", dtype, 0, None, ends_in(f"{path}.index"))
