"""Frequent words of the bundled vocabularies, packed: vocab/words.stw, which tools/pack_words.py writes.

A family of vocabularies, those whose pattern splits alike, has a level for each word: REST, WHEEL for those that the
tables in a wheel hold, FIRST for the most frequent of these, 0 for a word that is not of the family. The file is
little-endian:

    header   64 bytes   magic, version, CRC-32, counts, sizes of the streams (see _HEADER)
    streams             each compressed by xz, a byte a word but for the third:
                        bytes shared with the word before, bytes of the rest, the rests joined, levels

Words are sorted; the levels of family number i are the bits 2 i and 2 i + 1.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from itertools import accumulate

from ..errors import VocabularyError
from ..native.words import read_word_list
from .packed import CRC_AT, FOLDER, checksum

FAMILIES = "r50k", "cl100k", "o200k"
REST, WHEEL, FIRST = 1, 2, 3

_HEADER = struct.Struct("<8s8I 24x")  # magic, version, crc, words, bytes of the rests, bytes of each stream
_MAGIC = b"stwords\0"
_VERSION = 1

HEADER_BYTES = _HEADER.size
WORDS_FILE = os.path.join(FOLDER, "words.stw")


def read_words(family: str, least: int = REST, path: str = WORDS_FILE) -> tuple[bytes, bytes]:
    """(words joined, a byte of length each) of a family, those of the highest level first.

    Raises:
        VocabularyError: the file is missing, or its bytes are not the ones that were packed.
    """
    return unpack(_read(path), family, least, path)


def read_all_words(path: str = WORDS_FILE) -> tuple[bytes, bytes]:
    """The same of all families, down to the words of a wheel, each once: for patterns that belong to none. Those with
    the highest levels in all families together come first.

    Raises:
        VocabularyError: as read_words().
    """
    streams = _streams(_read(path), path)
    levels: dict[bytes, int] = {}
    for family in FAMILIES:
        for least in (FIRST, WHEEL):
            joined, lengths = _chosen(streams, family, least, path)
            ends = list(accumulate(lengths))
            for start, end in zip([0, *ends], ends):
                levels[joined[start:end]] = levels.get(joined[start:end], 0) + 1
    words = sorted(levels, key=levels.__getitem__, reverse=True)
    return b"".join(words), bytes(map(len, words))


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise VocabularyError("there is no list of words; install streamtok anew", path) from None


def unpack(data: bytes, family: str, least: int = REST, path: str | None = None) -> tuple[bytes, bytes]:
    """read_words() from the bytes of the file. path: for the message of a VocabularyError."""
    return _chosen(_streams(data, path), family, least, path)


def _streams(data: bytes, path: str | None) -> list[bytes]:
    """The four streams of the file, unpacked."""
    import lzma

    if data[: len(_MAGIC)] != _MAGIC or len(data) < _HEADER.size:
        raise VocabularyError("this is not a list of words of streamtok; install streamtok anew", path)
    _, version, crc, count, rest_bytes, *sizes = _HEADER.unpack_from(data)
    if version != _VERSION:
        raise VocabularyError(f"format version {version}, this streamtok reads {_VERSION}; install it anew", path)
    if len(data) != _HEADER.size + sum(sizes) or crc != checksum(data):
        raise VocabularyError("the file is damaged (its size or CRC-32 is wrong); install streamtok anew", path)
    streams, at = [], _HEADER.size
    for size in sizes:
        try:
            streams.append(lzma.decompress(data[at : at + size], lzma.FORMAT_XZ))
        except lzma.LZMAError as error:
            raise VocabularyError(f"the file is damaged ({error}); install streamtok anew", path) from None
        at += size
    if [len(stream) for stream in streams] != [count, count, rest_bytes, count]:
        raise VocabularyError("its streams are of other lengths than it says; install streamtok anew", path)
    return streams


def _chosen(streams: list[bytes], family: str, least: int, path: str | None) -> tuple[bytes, bytes]:
    try:
        return read_word_list(*streams, shift=2 * FAMILIES.index(family), least=least)
    except VocabularyError as error:
        raise VocabularyError(f"{error}; install streamtok anew", path) from None


def pack(levels: Mapping[bytes, Sequence[int]]) -> bytes:
    """The bytes of the file. levels: of each word, one a family."""
    shared, rest_lengths, rests, joined_levels, before = bytearray(), bytearray(), bytearray(), bytearray(), b""
    for word in sorted(levels):
        same = next((i for i, (a, b) in enumerate(zip(before, word)) if a != b), min(len(before), len(word)))
        shared.append(same)
        rest_lengths.append(len(word) - same)
        rests += word[same:]
        joined_levels.append(sum(level << 2 * i for i, level in enumerate(levels[word])))
        before = word
    streams = [_compress(bytes(stream)) for stream in (shared, rest_lengths, rests, joined_levels)]
    header = bytearray(_HEADER.pack(_MAGIC, _VERSION, 0, len(levels), len(rests), *map(len, streams)))
    header[CRC_AT] = struct.pack("<I", checksum(header + b"".join(streams)))
    return bytes(header) + b"".join(streams)


def _compress(stream: bytes) -> bytes:
    import lzma

    return lzma.compress(stream, check=lzma.CHECK_NONE, preset=9 | lzma.PRESET_EXTREME)
