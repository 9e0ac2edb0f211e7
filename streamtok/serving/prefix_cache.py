"""A cache of the ids of beginnings of texts, for requests that repeat what earlier ones began with.

A text is cut into blocks of 4 KB. Behind each lies a mark: the state of a stream, from which encoding goes on exactly,
whatever follows. The blocks are a tree (native/prefixes.pyx), and a text goes down in it as long as it is the same,
byte for byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .._checks import checked
from .._offsets import border_before
from .._stream import in_template
from ..errors import shown
from ..native.gate import utf8_of
from ..native.ids import joined, listed
from ..native.prefixes import Block, PrefixTree
from . import marks

if TYPE_CHECKING:
    from typing import Any

    from .._protocols import AllowedSpecial, DisallowedSpecial, Encoding, Ids, Text


class CacheStats(NamedTuple):
    """What a PrefixCache did and holds.

    Attributes:
        hits: texts of which a beginning was there.
        misses: other texts. Those shorter than a block, 4 KB, are not looked for, and in neither number.
        bytes_saved: bytes of UTF-8 that were not encoded again.
        entries: blocks that are held.
        bytes: memory that they take.
    """

    hits: int
    misses: int
    bytes_saved: int
    entries: int
    bytes: int


class PrefixCache:
    """Encodes texts, and keeps the ids of their beginnings for those that follow.

    The ids are those of Encoding.encode of the whole text, always: what was kept is used up to a place where the state
    of a stream is known, and the rest is encoded from there. Texts are compared byte for byte, so no two texts are
    mistaken for each other. Threads, and tasks of asyncio, share a cache; a process that forks has its own from there.

    >>> cache = streamtok.PrefixCache(enc, max_bytes=1 << 28)
    >>> ids = cache.encode(system_prompt + conversation, allowed_special="all")

    A pickle of a cache, and a copy, is an empty cache with the same settings.

    Args:
        encoding: the Encoding.
        max_bytes: memory that it may hold; the ends of texts that were not used for the longest time go first. A text
            takes about 2.2 times its bytes.
        salt: str or bytes. Texts share beginnings with those of the same salt alone: the time that a text takes tells
            nobody what was asked for with another one. encode(salt=) may give each tenant one.

    Raises:
        ValueError: max_bytes is negative.
        TypeError: max_bytes is no int; salt is neither str nor bytes.
    """

    def __init__(self, encoding: Encoding, *, max_bytes: int = 1 << 28, salt: str | bytes = b"") -> None:
        if not isinstance(max_bytes, int):
            raise TypeError(f"max_bytes={shown(max_bytes)} is of type {type(max_bytes).__name__}; write an int")
        if max_bytes < 0:
            raise ValueError(f"max_bytes={shown(max_bytes)} is negative: write how many bytes the cache may hold")
        self.encoding, self.max_bytes = encoding, max_bytes
        self._salt = _bytes_of_salt(salt)
        self._tree = PrefixTree(max_bytes, marks.STEP)

    def __repr__(self) -> str:
        return f"<PrefixCache of {self.encoding.name!r}, {self._tree.size} of {self.max_bytes} bytes>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.encoding, self.max_bytes, self._salt)

    def encode(
        self,
        text: str,
        *,
        allowed_special: AllowedSpecial = frozenset(),
        disallowed_special: DisallowedSpecial = "all",
        add_special_tokens: bool = False,
        salt: str | bytes | None = None,
    ) -> list[int]:
        """Encodes a string into a list of ids, as Encoding.encode.

        Args:
            text: a str.
            allowed_special: as for Encoding.encode.
            disallowed_special: as for Encoding.encode.
            add_special_tokens: as for Encoding.encode.
            salt: as for the class; None: that of the cache.

        Raises:
            ValueError: the text holds a disallowed special token.
            TypeError: `text` is no str; salt is neither str nor bytes.
        """
        enc = self.encoding
        is_short = len(checked(text)) < marks.STEP // 4 or (len(text) < marks.STEP and text.isascii())
        if is_short and salt is None:  # too short for a block
            return enc.encode(text, allowed_special, disallowed_special, add_special_tokens)
        ids = self._ids(text, allowed_special, disallowed_special, salt)
        return listed(enc._vocab, in_template(ids, enc._template) if add_special_tokens else ids)

    def encode_to_numpy(
        self,
        text: Text,
        *,
        allowed_special: AllowedSpecial = frozenset(),
        disallowed_special: DisallowedSpecial = "all",
        add_special_tokens: bool = False,
        salt: str | bytes | None = None,
    ) -> Ids:
        """The same as a read-only uint32 array.

        Args:
            text: a str, or any C-contiguous buffer of UTF-8 bytes.
            allowed_special: as for Encoding.encode.
            disallowed_special: as for Encoding.encode.
            add_special_tokens: as for Encoding.encode.
            salt: as for the class; None: that of the cache.

        Raises:
            ValueError: the text holds a disallowed special token.
            UnicodeDecodeError: bytes that are not UTF-8.
            TypeError: `text` is neither str nor a buffer; salt is neither str nor bytes.
        """
        ids = self._ids(text, allowed_special, disallowed_special, salt)
        return in_template(ids, self.encoding._template) if add_special_tokens else ids

    def stats(self) -> CacheStats:
        """What the cache did since it was made, and holds now."""
        tree = self._tree
        return CacheStats(tree.hits, tree.misses, tree.saved, tree.blocks, tree.size)

    def clear(self) -> None:
        """Forgets all texts. What stats() has counted stays."""
        self._tree.clear()

    def _ids(self, text: Text, allowed: AllowedSpecial, disallowed: DisallowedSpecial, salt: str | bytes | None) -> Ids:
        enc, names = self.encoding, self.encoding._matchers_for(allowed, disallowed)
        salt = self._salt if salt is None else _bytes_of_salt(salt)
        data = utf8_of(text)
        if len(data) < marks.STEP:
            return enc._coder.encode_array(data, *names)
        key = (salt, *names)
        block, parts = self._tree.find(key, data)
        stream = enc._coder.stream(*names, False)
        if block is not None and block.at:
            stream = marks.stream_at(stream, block.state, block.at)
        at = 0 if block is None else block.at
        run = _Run(stream, at, 0, at)
        most = border_before(data, min(at + self.max_bytes, len(data)))  # what is behind has no room
        try:
            run.feed(data[at:most])
            run.made.append(run.take(data[most:])[0])
            last = stream.flush()
        except ValueError:
            return enc._coder.encode_array(data, *names)  # raises it, without the words on a stream
        if run.marks:
            self._tree.add(key, block, _blocks(data, at, run))
        return joined([*parts, *run.made, last])


class _Run(marks.Run):
    """What a stream gives lies in its own memory, and is copied once."""

    def take(self, part: memoryview) -> tuple[bytes, int]:
        ids = self.stream.feed(part)
        return ids.tobytes(), len(ids)


def _blocks(data: memoryview, at: int, run: marks.Run) -> list[Block]:
    """What a run has made behind a place, up to where marks are missing."""
    made = []
    for mark, ids in zip(run.marks, run.made):
        if mark.at - at >= 2 * marks.STEP:
            break
        made.append(Block(data[at : mark.at].tobytes(), ids, mark.state, mark.at))
        at = mark.at
    return made


def _bytes_of_salt(salt: str | bytes) -> bytes:
    if isinstance(salt, str):
        return salt.encode("utf-8", "surrogatepass")
    if not isinstance(salt, bytes):
        raise TypeError(f"salt={shown(salt)} is of type {type(salt).__name__}; write a str or bytes")
    return salt


def _restore(encoding: Encoding, max_bytes: int, salt: bytes) -> PrefixCache:
    return PrefixCache(encoding, max_bytes=max_bytes, salt=salt)
