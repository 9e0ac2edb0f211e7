"""The formats of an output, a module each: what encode_file writes at the end of a run, and what reads it."""

from __future__ import annotations

import importlib
import os
from typing import Any

from ...errors import shortened, shown
from ..suffixes import IDS_FORMATS
from . import llmc
from .base import STORED, Facts, Format, RowFormat
from .reading import Tokenized
from .shards import read_index

__all__ = ["STORED", "Facts", "Format", "RowFormat", "Tokenized", "format_named", "open_documents"]

# Each is in the module of its name.
_CLASSES = {
    "bin": "Bin",
    "npy": "Npy",
    "nanogpt": "NanoGpt",
    "llmc": "LlmC",
    "megatron": "Megatron",
    "datatrove": "DataTrove",
    "dolma": "Dolma",
    "mds": "Mds",
    "litdata": "LitData",
    "parquet": "Parquet",
    "arrow": "Arrow",
}


def format_named(name: str) -> Format:
    """The format with this name. Raises ValueError for an unknown one."""
    if name not in _CLASSES:
        known = ", ".join(map(repr, IDS_FORMATS))
        raise ValueError(f"format={shown(name)} is unknown: write one of {known}")
    made: Format = getattr(_module(name), _CLASSES[name])()
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
    format = _format_of(name) if format is None else format
    if format not in _CLASSES:
        format_named(format)
    opened: Tokenized = _module(format).read(name, dtype)
    return opened


def _format_of(path: str) -> str:
    """The format of a file or folder by its name, and by the files beside it."""
    suffix = os.path.splitext(path)[1].lower()
    if os.path.isdir(path):
        return "litdata" if _is_litdata(path) else "mds"
    if suffix in (".parquet", ".arrow"):
        return suffix[1:]
    if suffix == ".npy":
        return "dolma" if os.path.exists(os.path.splitext(path)[0] + ".csv.gz") else "npy"
    if os.path.isfile(path) and llmc.is_one(path):
        return "llmc"
    if os.path.exists(f"{path}.index"):
        return "datatrove"
    if suffix == ".bin" and os.path.exists(os.path.splitext(path)[0] + ".idx"):
        return "megatron"
    if os.path.exists(f"{path}.ends"):
        return "bin"
    raise ValueError(f"{shortened(path)}: neither its name nor a file beside it tells its format: write format=")


def _is_litdata(folder: str) -> bool:
    return "chunks" in read_index(folder)


def _module(name: str) -> Any:
    return importlib.import_module(f"{__name__}.{name}")
