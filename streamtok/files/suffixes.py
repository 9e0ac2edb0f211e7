"""What the suffix of a file's name says: one rule for the library and the command, for reading and for writing.

docs/files.md has the same table for users.
"""

from __future__ import annotations

import os

from ..errors import shown
from .members import SUFFIXES as PACKED

FORMATS = {
    "bin": ".bin",
    "npy": ".npy",
    "nanogpt": ".bin",
    "megatron": ".bin",
    "datatrove": ".ds",
    "llmc": ".bin",
    "dolma": ".npy",
    "mds": "",
    "litdata": "",
    "parquet": ".parquet",
    "arrow": ".arrow",
}
"""The formats of an output, by the name of their module in files/formats/, and the suffix of their files; "" of a
folder. A format whose files look like those of another, and tell more, stands behind it."""

IDS_FORMATS = tuple(FORMATS)

_JSON_LINES = frozenset((".jsonl", ".ndjson"))

# Ids can be read from these as integers in text, but the file that encode_file writes is none of them.
_TEXT = frozenset(
    ".txt .text .md .rst .tex .log .json .jsonl .ndjson .csv .tsv .html .htm .xml .svg .yaml .yml .toml .ini "
    ".srt".split()
)

# Suffixes of an output that name its format.
_OWN = {suffix: name for name, suffix in FORMATS.items() if suffix == f".{name}"}

# Known formats that are none of an output.
_OTHER = frozenset(PACKED) | frozenset(
    ".bz2 .lzma .lz4 .br .zip .7z .rar .tar .tgz .txz .tzst .feather .orc .avro .npz .pt .pth .ckpt "
    ".safetensors .gguf .onnx .h5 .hdf5 .pkl .pickle .sqlite .db .pdf .docx .xlsx .epub .png .jpg .jpeg .gif".split()
)


def documents_of(name: str) -> str:
    """What the documents of a source are when nothing else is said: "jsonl" for .jsonl and .ndjson, also with .gz, .xz
    or .zst behind, else "text", the whole source."""
    stem, suffix = os.path.splitext(name.lower())
    suffix = os.path.splitext(stem)[1] if suffix in PACKED else suffix
    return "jsonl" if suffix in _JSON_LINES else "text"


_NO_TEXT = (_OTHER - frozenset(PACKED)) | frozenset(".bin .npy .ds .idx .o .so .pyc .exe .dll".split())


def holds_text(name: str) -> bool:
    """Whether nothing in the suffix says that the file holds something else than text."""
    return _suffix(name) not in _NO_TEXT


def ids_format_to_write(name: str, usual: str = "bin") -> str:
    """The format of a file of ids to be written: that of its suffix (.bin, .npy, .parquet, .arrow), `usual` without
    one, with an unknown one, and where its files have this suffix, too.

    Raises ValueError for the suffix of another known format, which the file would not have.
    """
    suffix = _suffix(name)
    if suffix in _TEXT or suffix in _OTHER:
        raise ValueError(
            f"dst={shown(name)} ends in {suffix}, and what is written is binary ids: name a .bin or .npy file, "
            "or write format='bin' or format='npy' to have them under this name"
        )
    return usual if FORMATS.get(usual) == suffix else _OWN.get(suffix, usual)


def vocabulary_form(name: str) -> str:
    """The form of a vocabulary to be written: "tiktoken" and "json" for these suffixes, else "folder".

    Raises ValueError for the suffix of another known format, unless there is a folder of that name.
    """
    suffix = _suffix(name)
    if suffix in (".tiktoken", ".json"):
        return suffix[1:]
    if (suffix in _TEXT or suffix in _OTHER or suffix in _OWN) and not os.path.isdir(name):
        raise ValueError(f"{shown(name)} ends in {suffix}, and a vocabulary is NAME.tiktoken, NAME.json or a folder")
    return "folder"


def ids_format_to_read(name: str) -> str:
    """The same for a file of ids to be read; "text" for the suffixes of text.

    Raises ValueError for the suffix of another known format, which holds no ids that can be read here.
    """
    suffix = _suffix(name)
    if suffix in _OTHER:
        unpack = ", unpacked" if suffix in PACKED else ""
        raise ValueError(
            f"{shown(name)} ends in {suffix}, which names no file of ids: give a .bin, .npy or .txt file{unpack}, "
            "or write format='bin', format='npy' or format='text' where the name misleads"
        )
    if suffix in _TEXT:
        return "text"
    return _OWN.get(suffix, "bin")


def _suffix(name: str) -> str:
    return os.path.splitext(name)[1].lower()
