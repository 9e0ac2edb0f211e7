"""What the documents of sources are, and how they are encoded: the options of encode_file that decide the ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import shown
from .passthrough import Column, columns_of
from .remote import file_at
from .sources import AnySource, PathSource, make_sources
from .suffixes import documents_of
from .tables import SUFFIXES as TABLES
from .tables import TableSource
from .tars import SUFFIXES as TARS
from .tars import TarSource

if TYPE_CHECKING:
    from .._protocols import AllowedSpecial, DisallowedSpecial, Source

KINDS = ("text", "lines", "jsonl")
"""Those that a caller may ask for. Sources of the other kinds say so themselves."""


def check_kind(documents: str | None, errors: str) -> None:
    """Raises ValueError for an unknown kind of documents (None: by the suffix of each source), or of errors."""
    if documents is not None and documents not in KINDS:
        known = ", ".join(map(repr, KINDS))
        raise ValueError(f"documents={shown(documents)} is unknown: write one of {known}, or None")
    if errors not in ("strict", "replace", "ignore"):
        raise ValueError(f"errors={shown(errors)} is unknown: write 'strict', 'replace' or 'ignore'")


class Device(NamedTuple):
    """The device that makes ids, and how many bytes of text it takes at once."""

    name: str
    chunk: int


@dataclass(frozen=True)
class Options:
    """What decides the ids of an output, apart from the encoding and the sources; see encode_file() for the meanings.

    Attributes:
        documents: "text", "lines", "jsonl", or None to go by the suffix of each source.
        key: the key of JSON lines that holds the text.
        append_eot: put the end-of-text token behind each document.
        allowed_special: names of special tokens to encode as such, or "all".
        disallowed_special: names to refuse, or "all".
        errors: "strict", "replace" or "ignore".
        add_special_tokens: put the ids of the model's template around each document.
        column: the column of tables that holds the text; None for the name in `key`.
        nulls: what a null in it is, "error", "skip" or "empty".
        carry: passthrough columns, "NAME" or "NAME:TYPE" each.

    Raises:
        ValueError: an unknown value for `documents`, `errors` or `nulls`, names that are one str.
    """

    documents: str | None = None
    key: str = "text"
    append_eot: bool = False
    allowed_special: AllowedSpecial = frozenset()
    disallowed_special: DisallowedSpecial = frozenset()
    errors: str = "strict"
    add_special_tokens: bool = False
    column: str | None = None
    nulls: str = "error"
    carry: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_kind(self.documents, self.errors)
        object.__setattr__(self, "carry", self.carry if isinstance(self.carry, str) else tuple(self.carry))
        columns_of(self.carry)
        if self.nulls not in ("error", "skip", "empty"):
            raise ValueError(f"nulls={shown(self.nulls)} is unknown: write 'error', 'skip' or 'empty'")
        for name in ("allowed_special", "disallowed_special"):
            value = getattr(self, name)
            if isinstance(value, str) and value != "all":
                raise ValueError(f"{name}={shown(value)} is one string: write a set of names, or 'all'")
            object.__setattr__(self, name, value if value == "all" else frozenset(value))

    @property
    def columns(self) -> tuple[Column, ...]:
        """What `carry` says."""
        return columns_of(self.carry)

    def kind_of(self, source: AnySource) -> str:
        """What the documents of the source are. Raises ValueError for what it cannot have."""
        return source.checked_kind(documents_of(source.name) if self.documents is None else self.documents)

    def as_json(self, sources: list[AnySource]) -> dict[str, Any]:
        """These options as a journal keeps them, with the kind of documents of each of these sources."""
        kinds = [self.kind_of(source) for source in sources]
        record: dict[str, Any] = {name: getattr(self, name) for name in ("append_eot", "errors")}
        record["documents"] = kinds[0] if len(set(kinds)) == 1 else kinds
        for name in ("allowed_special", "disallowed_special"):
            names = getattr(self, name)
            record[name] = names if names == "all" else sorted(names)
        if self.add_special_tokens:
            record["add_special_tokens"] = True
        if "table" in kinds:
            record |= {"column": self.column or self.key, "nulls": self.nulls}
        if "tar" in kinds:
            record["column"] = [self.column, self.key]
        if self.carry:
            record["carry"] = list(self.carry)
        return {**record, "key": self.key if "jsonl" in kinds else None}

    def sources_of(self, src: Source | Sequence[Source]) -> list[AnySource]:
        """The sources that `src` names, as make_sources() has them, and tables by their suffixes."""
        sources = [by_name(source) for source in make_sources(src)]
        names = tuple(column.name for column in self.columns)
        for source in sources:
            source.adopt(self.column, self.key, self.nulls)
            source.carry = names
        return sources


def by_name(source: AnySource) -> AnySource:
    """The source, as what its path says that it is: a table, or a file of another machine."""
    if type(source) is not PathSource:
        return source
    file = file_at(source.path)
    if file.suffix in TABLES:
        return TableSource(source.path)
    return TarSource(source.path) if file.path.lower().endswith(TARS) else file
