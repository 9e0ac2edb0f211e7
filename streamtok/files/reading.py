"""What readers hand documents to, whatever becomes of them: how far a source is read, and what takes its texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import located_utf8_error, shortened

if TYPE_CHECKING:
    from .._protocols import SomeText
    from ..native.texts import Texts
    from .passthrough import PassthroughWriter
    from .sources import AnySource

Chunk = bytes | memoryview
Explain = Callable[[], object]


class Reading:
    """How far the source that is being read is, and what takes its documents: whole ones in batches, others in parts.

    Attributes:
        name, kind, nulls, place_of, begins_file: of the source, as AnySource has them.
        key: of JSON lines, that holds the text.
        errors: what to do with bytes that are not UTF-8.
        part: bytes of a text that are taken at once.
        offset: bytes of the source that were taken.
        line: lines, rows or members of it that ended before that.
        is_open: whether a document has begun and not ended.
        documents: ended, over all sources.
        text_bytes: taken, over all sources.
        passthrough: takes the passthrough columns; None where there are none.
        takes_parts: whether a text may be cut into parts that are taken independently of each other.
        begins_at_cut: whether what is read first encodes independently of what is in front of it.
    """

    name: str
    kind: str
    nulls: str
    place_of: Callable[[int], str]
    begins_file: bool
    key: str
    errors: str
    part: int
    offset = line = documents = text_bytes = 0
    is_open = False
    passthrough: PassthroughWriter | None = None
    takes_parts = False
    begins_at_cut = True

    def stand(self, source: AnySource, kind: str, offset: int = 0, line: int = 0) -> None:
        """Stand in a source whose documents are of this kind, where an earlier run stood if there was one."""
        self.name, self.kind, self.offset, self.line = source.label, kind, offset, line
        self.place_of, self.nulls, self.begins_file = source.place_of, source.nulls, source.begins_file

    def take(self, n: int) -> None:
        """Count `n` bytes of the source as done: a resumed run does not read them again."""
        self.offset += n
        self.text_bytes += n

    def located(self, error: ValueError) -> ValueError:
        """The error, with the source and the line that it is raised for."""
        where = shortened(self.name) if self.kind == "text" else self.place_of(self.line)
        if isinstance(error, UnicodeDecodeError):
            return located_utf8_error(error, f"in {where}")
        return ValueError(f"{where}: {error}")

    # ---- whole documents ----

    def encode_batch(self, texts: list[SomeText] | Texts, lines: Iterable[int]) -> None:
        """Take whole documents; `lines` are their line numbers."""
        raise NotImplementedError

    def pass_objects(self, records: Sequence[Any], numbers: Sequence[int]) -> None:
        """Pass on the passthrough columns of these objects, which are at these lines."""

    # ---- documents in parts ----

    def feed_part(self, part: str | Chunk) -> None:
        """Take more of the document."""
        raise NotImplementedError

    def flush(self) -> None:
        """What was fed encodes independently of what follows."""
        raise NotImplementedError

    def close_document(self) -> None:
        """The document that was fed ends."""
        raise NotImplementedError

    # ---- parts between cuts ----

    def cuts(self, data: Chunk) -> list[int]:
        """Where the text may be cut, about self.part apart."""
        raise NotImplementedError

    def encode_part(self, part: Any, explain: Explain) -> None:
        """Take a part whose two sides encode independently; explain() raises the error that all of the text has."""
        raise NotImplementedError

    def encode_certain(self, data: Chunk, explain: Explain) -> int:
        """Take what is certain of a text without a cut; returns how many bytes that are, 0 where it has to be fed."""
        return 0

    def enter_stream(self, offset: int) -> None:
        """All text up to `offset` was taken, and what follows is fed."""

    def explain(self, chunks: Iterable[Chunk], final: bool = False) -> Explain:
        """What raises the error that these chunks have when they are fed, which begin at self.offset."""
        return lambda: None

    def count_document(self) -> None:
        """The document ends, of which all parts were taken."""
        raise NotImplementedError
