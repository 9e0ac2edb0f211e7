"""The formats of an output, a module each: what encode_file writes at the end of a run, and what reads it.

A module has Writer, a class of Format; is_one(path), whether a file or folder is of this format, by its name, its bytes
and what lies beside it; and read(path, dtype), its documents. suffixes.FORMATS has a row for each.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from ...errors import shortened, shown
from ..suffixes import FORMATS
from .base import STORED, Facts, Format, RowFormat
from .reading import Tokenized

__all__ = ["STORED", "Facts", "Format", "RowFormat", "Tokenized", "format_named", "open_documents"]


def format_named(name: str) -> Format:
    """The format with this name. Raises ValueError for an unknown one."""
    made: Format = _module(name).Writer()
    return made


def open_documents(path: str | os.PathLike[str], format: str | None = None, dtype: str | None = None) -> Tokenized:
    """Open what encode_file, or the program whose format it is, has written.

    Args:
        path: the file or folder, as `dst` of encode_file.
        format: its name, as for encode_file; None goes by the suffix and by the files beside it.
        dtype: of the ids, "uint16" or "uint32", where the format does not tell it and the ends cannot.

    Returns:
        The documents: `len()`, `[i]`, `ends`.

    Raises:
        OSError: a file cannot be read.
        ValueError: it is not of this format, or a length in it is not true.
        ImportError: the format needs a package that is missing.
    """
    name = os.fspath(path)
    opened: Tokenized = _module(_format_of(name) if format is None else format).read(name, dtype)
    return opened


def _format_of(path: str) -> str:
    for name in reversed(FORMATS):  # those that tell more come last
        if _module(name).is_one(path):
            return name
    raise ValueError(f"{shortened(path)}: neither its name nor a file beside it tells its format: write format=")


def _module(name: str) -> Any:
    if name not in FORMATS:
        raise ValueError(f"format={shown(name)} is unknown: write one of {', '.join(map(repr, FORMATS))}")
    return importlib.import_module(f"{__name__}.{name}")
