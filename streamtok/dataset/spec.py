"""What a dataset is made of: sources, vocabulary, options, folder; from Python, TOML or JSON, checked strictly."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from ..errors import shortened, shown
from ..files import Options
from ..files.named import files_named
from ..files.remote import is_url

_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}
_SIZE = re.compile(r"(\d+)\s*([A-Za-z]*)")


class SpecError(ValueError):
    """A spec that cannot be used; the message names the key, what stands there, and what to write instead."""


@dataclass(frozen=True)
class Spec:
    """What a dataset is made of.

    Attributes:
        sources: paths and patterns (*, ?, [...] and ** for folders) of files, and URLs that fsspec opens; relative ones
            start at `base`.
        output: the folder that the dataset is written to; a relative one starts at `base`.
        encoding: the name of a bundled encoding, or the path of a vocabulary: a tokenizer.json, the folder of a model,
            or what `streamtok train` wrote. A relative path starts at `base`.
        format: of the shards, as for encode_file.
        dtype: of the ids, as for encode_file.
        index: keep where documents end, beside formats that do not tell it; stats, sample and merge need it.
        shard_bytes: of a source, about so many go into a shard; an int, or a str such as "256MB".
        documents: what documents are, as for encode_file; None goes by the name of each source.
        key: the key of JSON lines that holds the text.
        column: the column of parquet and Arrow files that holds it; None for the name in `key`.
        nulls: what a null in it is: "error"; "skip", no document; "empty", an empty one.
        carry: columns, or keys of JSON objects, whose values go with the documents, as for encode_file.
        append_eot: put the end-of-text token behind each document.
        add_special_tokens: put the ids of the model's template around each document.
        allowed_special: names of special tokens that become their ids where the text spells them, or "all".
        disallowed_special: names that are refused, or "all".
        errors: what to do with bytes that are not UTF-8: "strict", "replace" or "ignore".
        base: the folder that relative names start at; that of the file which a spec was read from.

    Raises:
        SpecError: a value that cannot be used.
    """

    sources: tuple[str, ...]
    output: str
    encoding: str = "o200k_base"
    format: str = "bin"
    dtype: str = "auto"
    index: bool = True
    shard_bytes: int = 256 << 20
    documents: str | None = None
    key: str = "text"
    append_eot: bool = False
    add_special_tokens: bool = False
    allowed_special: tuple[str, ...] | str = ()
    disallowed_special: tuple[str, ...] | str = ()
    errors: str = "strict"
    column: str | None = None
    nulls: str = "error"
    carry: tuple[str, ...] = ()
    base: str = "."

    def __post_init__(self) -> None:
        for field in fields(self):
            check, wanted = _CHECKS[field.name]
            value = getattr(self, field.name)
            try:
                object.__setattr__(self, field.name, check(value))
            except (TypeError, ValueError):
                raise SpecError(f"{field.name} = {shown(value)} in the spec is not {wanted}") from None
        try:
            self.options()
        except ValueError as error:
            raise SpecError(f"in the spec: {error}") from None

    def options(self) -> Options:
        """What decides the ids, apart from vocabulary and sources."""
        return Options(**{field.name: getattr(self, field.name) for field in fields(Options)})

    def path_of(self, name: str) -> str:
        """Where the file of this name lies."""
        return name if is_url(name) else os.path.join(self.base, name)

    @property
    def folder(self) -> str:
        """Where the dataset is written."""
        return self.path_of(self.output)

    def source_names(self) -> list[str]:
        """The names of the sources, patterns resolved, in the order of the spec; those of a pattern are sorted. They
        are written with "/", relative to `base` where the spec has them so.

        Raises SpecError for a pattern that fits no file and a file that is named twice, FileNotFoundError.
        """
        found: dict[str, str] = {}
        for pattern in self.sources:
            for name in self._matches(pattern):
                if name in found:
                    raise SpecError(
                        f"sources = {shown(pattern)} and {shown(found[name])} in the spec both name "
                        f"{shortened(name)}: name it once"
                    )
                found[name] = pattern
        return list(found)

    def _matches(self, pattern: str) -> list[str]:
        try:
            names = files_named(pattern, self.base)
        except FileNotFoundError as error:
            reason = f"{error.strerror}, in {shortened(self.base)}"
            raise SpecError(f"sources = {shown(pattern)} in the spec: {reason}") from None
        if names == [pattern] and not is_url(pattern):
            os.stat(self.path_of(pattern))  # which names a missing file in its error
        return [name if is_url(name) else name.replace(os.sep, "/") for name in names]


# ==== Values ====


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError
    if "\0" in value:
        raise ValueError
    value.encode("utf-8", "surrogateescape")  # raises ValueError for what no name of a file can hold
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _texts(value: Any) -> tuple[str, ...]:
    values = (value,) if isinstance(value, str) else tuple(value)
    if not values:
        raise ValueError
    return tuple(map(_text, values))


def _special(value: Any) -> tuple[str, ...] | str:
    return value if value == "all" and isinstance(value, str) else _list(value)


def _list(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        raise TypeError
    return tuple(map(_text, value))


def _size(value: Any) -> int:
    if isinstance(value, str):
        found = _SIZE.fullmatch(value.strip())
        if found is None or found[2].upper() not in _UNITS:
            raise ValueError
        value = int(found[1]) * _UNITS[found[2].upper()]
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError
    return value


def _kind(value: Any) -> str | None:
    return None if value is None else _text(value)


_CHECKS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "sources": (_texts, 'a path or a list of paths and patterns, such as ["corpus/*.jsonl.zst"]'),
    "output": (_text, 'the path of a folder, such as "tokens"'),
    "encoding": (_text, 'the name of an encoding, such as "o200k_base", or the path of a vocabulary'),
    "format": (_text, 'the name of a format, such as "bin"'),
    "dtype": (_text, 'the name of a dtype, such as "auto" or "uint32"'),
    "index": (_truth, "true or false"),
    "shard_bytes": (_size, 'a number of bytes of at least 1, such as 268435456 or "256MB"'),
    "documents": (_kind, '"text", "lines" or "jsonl"'),
    "key": (_text, 'the name of a key, such as "text"'),
    "append_eot": (_truth, "true or false"),
    "add_special_tokens": (_truth, "true or false"),
    "allowed_special": (_special, 'a list of names of special tokens, or "all"'),
    "disallowed_special": (_special, 'a list of names of special tokens, or "all"'),
    "column": (_kind, "the name of a column"),
    "carry": (_list, 'a list of names of columns, such as ["url", "score:double"]'),
    "nulls": (_text, '"error", "skip" or "empty"'),
    "errors": (_text, '"strict", "replace" or "ignore"'),
    "base": (_text, "the path of a folder"),
}


# ==== Files ====


def read_spec(path: str | os.PathLike[str]) -> Spec:
    """The spec in a file: TOML, or JSON where its name ends in .json. Relative names in it start at its folder.

    Raises:
        SpecError: it is no TOML or JSON, has an unknown key or lacks one, or a value cannot be used; the message names
            the file and the key.
        OSError: it cannot be read.
        ImportError: TOML, on Python 3.10 without the package tomli.
    """
    name = os.fspath(path)
    with open(name, "rb") as file:
        data = file.read()
    try:
        values = json.loads(data) if name.endswith(".json") else _toml(data.decode())
    except (ValueError, RecursionError) as error:  # the errors of JSON, of TOML and of UTF-8 all are ValueErrors
        raise SpecError(f"{shortened(name)}: cannot be read: {error}") from None
    try:
        return _spec_of(values, os.path.dirname(os.path.abspath(name)))
    except SpecError as error:
        raise SpecError(f"{shortened(name)}: {error}") from None


def _toml(text: str) -> Any:
    for name in ("tomllib", "tomli"):  # tomllib is there from Python 3.11 on
        with contextlib.suppress(ImportError):
            return importlib.import_module(name).loads(text)
    raise ImportError(
        "Python 3.10 reads no TOML by itself: pip install tomli, or write the spec as JSON, in a .json file"
    )


def _spec_of(values: Any, base: str) -> Spec:
    if not isinstance(values, dict):
        raise SpecError(f"the spec is a {type(values).__name__}; write an object with keys")
    known = [field.name for field in fields(Spec) if field.name != "base"]
    for name in values:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            advice = f"did you mean {close[0]}?" if close else f"the keys are {', '.join(known)}"
            raise SpecError(f"{shown(name)} is no key of a spec: {advice}")
    for name in ("sources", "output"):
        if name not in values:
            raise SpecError(f"the spec has no {name}: write {name} = {_CHECKS[name][1].rpartition('such as ')[2]}")
    return Spec(**values, base=base)
