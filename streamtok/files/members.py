"""Compressed files (.gz, .xz, .zst), member by member up to their last byte.

A file is one text when it is members (gzip's word; xz says streams, zstd frames) one behind the other, with the padding
that the format's own tool accepts. Anything else is an error: a reader that stops where the first member ends would
pass a part of the text off as the whole.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .._protocols import Readable

# Bytes read from the file at once, which a decompressor is given at once: damage is reported to lie in one of these
# pieces. Pieces of 16 KB take 1.2 times as long on 16 threads, which wait for Python's lock between them; larger ones
# gain nothing.
_PIECE = 64 << 10
_LEAST = 64 << 10  # bytes of text asked for at once: less would cost more calls than it saves memory


class DamagedError(Exception):
    """A compressed file is not what its suffix says up to its end. offset: bytes of the file read without fault."""

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(f"the compressed data cannot be read past its byte {offset}: {reason}")


class _Format(NamedTuple):
    """How the files of a suffix are read. first, next: make the decompressor of the first member and of later ones,
    with the methods of lzma.LZMADecompressor. magic: how later members begin. padding: zero bytes behind a member come
    in so many, 0 for none at all. goes_on: a member may follow the padding."""

    name: str
    magic: bytes
    first: Callable[[], Any]
    next: Callable[[], Any]
    errors: tuple[type[Exception], ...]
    padding: int
    goes_on: bool


class Members:
    """The text of the compressed file `raw`: read(n) gives it, DamagedError where there is none.

    Raises ImportError when nothing here reads such files.
    """

    def __init__(self, raw: Readable, suffix: str) -> None:
        self._raw = raw
        self._format = _FORMATS[suffix]()
        self._member: Any = None
        self._begin = 0  # where the member begins
        self._given = 0  # bytes of the file that are passed over or given to members
        self._last = 0  # where the piece begins that was given last
        self._packed = b""  # read, neither passed over nor given
        self._text = memoryview(b"")  # unpacked, not yet asked for
        self._is_first = True
        self._may_go_on = False  # whether another member may follow: not at the beginning, and not behind a .lzma file

    def read(self, n: int) -> bytes:
        """`n` bytes, less at the end of the text only."""
        parts: list[bytes] = []
        while n and (part := self.some(n)):
            parts.append(part)
            n -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def some(self, n: int) -> bytes:
        """Some of the next `n` bytes; none at the end of the text only."""
        if not self._text:
            text = self._next_text(max(n, _LEAST))
            if len(text) <= n:
                return text
            self._text = memoryview(text)
        part, self._text = self._text[:n], self._text[n:]
        return bytes(part)

    def _next_text(self, most: int) -> bytes:
        """As _unpack, of whichever member comes next; none at the end of the text only."""
        text = b""
        while not text and (self._member is not None or self._next_member()):
            text = self._unpack(most)
        return text

    def _fill(self) -> bool:
        """Read bytes of the file if none are buffered; False at its end."""
        if not self._packed:
            self._packed = self._raw.read(_PIECE)
        return bool(self._packed)

    def _next_member(self) -> bool:
        """Begin on the member that comes next; False at the end of the file."""
        form = self._format
        zeros = self._pass_zeros() if self._may_go_on and form.padding else 0
        if zeros and zeros % form.padding:
            raise self._damaged(f"{form.name} pads with multiples of {form.padding} zero bytes, not {zeros}")
        if not self._fill():
            if self._is_first:
                raise self._damaged(f"the file is empty; a {form.name} file of an empty text is not")
            return False
        if zeros and not form.goes_on:
            raise self._damaged(f"behind zero bytes, where a {form.name} file may only end, it goes on")
        begins_one = form.magic.startswith(self._packed[: len(form.magic)])
        if not self._is_first and not (begins_one and self._may_go_on):
            raise self._damaged(f"what follows there is no {form.name} member: cut it off, or mend it")
        self._may_go_on = begins_one
        self._begin = self._given
        self._member = form.first() if self._is_first else form.next()
        self._is_first = False
        return True

    def _pass_zeros(self) -> int:
        """Pass over the zero bytes that come next; how many they were."""
        before = self._given
        while self._fill():
            rest = self._packed.lstrip(b"\0")
            self._given += len(self._packed) - len(rest)
            self._packed = rest
            if rest:
                break
        return self._given - before

    def _unpack(self, most: int) -> bytes:
        """Text of the member, of about `most` bytes at most; it may be none yet."""
        member, piece = self._member, b""
        if member.needs_input:
            if not self._fill():
                raise self._damaged(f"the file ends inside {self._where()}: it is cut off")
            piece, self._packed = self._packed, b""
            self._last = self._given
            self._given += len(piece)
        try:
            text: bytes = member.decompress(piece, most)
        except self._format.errors as error:
            raise DamagedError(self._last, f"{error}, in {self._where()}") from None
        if member.eof:
            unused = member.unused_data
            self._given -= len(unused)
            self._packed = unused + self._packed
            self._member = None
        return text

    def _damaged(self, reason: str) -> DamagedError:
        return DamagedError(self._given, reason)

    def _where(self) -> str:
        return f"the {self._format.name} member that begins at byte {self._begin}"


# ==== The formats ====


def _gzip() -> _Format:
    module: Any = zlib
    with contextlib.suppress(ImportError):  # it unpacks twice as fast, and takes and refuses the same bytes
        from zlib_ng import zlib_ng as module

    def make() -> _GzipMember:
        return _GzipMember(module)

    return _Format("gzip", b"\x1f\x8b", make, make, (module.error,), 1, False)


class _GzipMember:
    """A gzip member, through decompressobj, with the methods of lzma.LZMADecompressor."""

    def __init__(self, module: Any) -> None:
        self._object = module.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self._is_full = False  # the last call gave all it was asked for: there may be more

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Text of the member, max_length bytes at most; it may be none yet."""
        text: bytes = self._object.decompress(self._object.unconsumed_tail + data, max_length)
        self._is_full = len(text) == max_length
        return text

    @property
    def needs_input(self) -> bool:
        """Whether all bytes that were given are unpacked."""
        return not self._is_full and not self._object.unconsumed_tail

    @property
    def eof(self) -> bool:
        """Whether the member has ended."""
        return bool(self._object.eof)

    @property
    def unused_data(self) -> bytes:
        """What was given and lies behind the end of the member."""
        return bytes(self._object.unused_data)


def _xz() -> _Format:
    import lzma  # slow to import, and missing from some builds of Python

    # What the tool reads under this name may be of the older .lzma format, too, with nothing behind it.
    later = lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ)  # noqa: E731
    return _Format("xz", b"\xfd7zXZ\0", lzma.LZMADecompressor, later, (lzma.LZMAError, EOFError), 4, True)


def _zst() -> _Format:
    """By Python 3.14's own module where there is one, else by backports.zstd, which is that module."""
    try:
        from compression.zstd import ZstdDecompressor, ZstdError  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        try:
            from backports.zstd import ZstdDecompressor, ZstdError
        except ImportError:
            raise ImportError(
                "reading .zst files needs the package backports.zstd (or Python 3.14): pip install backports.zstd"
            ) from None
    return _Format("zstd", b"", ZstdDecompressor, ZstdDecompressor, (ZstdError,), 0, False)


_FORMATS: dict[str, Callable[[], _Format]] = {".gz": _gzip, ".xz": _xz, ".zst": _zst}

SUFFIXES = tuple(_FORMATS)
"""What the names of compressed files end in."""
