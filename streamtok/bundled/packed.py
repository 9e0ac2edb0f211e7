"""A vocabulary as arrays: the form that the core reads, made from a bundled file or from a dictionary.

The bundled files (`vocab/*.stv`, written by tools/pack_vocab.py) are little-endian and hold, in this order:

    header   64 bytes   magic, version, counts, CRC-32, sha256 of the rank file it was made from (see _HEADER)
    gaps     8 a gap    uint32 pairs (index, skipped): from token `index` on, ranks are `skipped` higher
    lengths  1 a token  bytes of the token
    splits   1 a token  bytes of its left half, see PackedVocabulary.splits
    blob                token bytes, in the order of their ranks

The tables (mapped.py) are made of them and hold all of this. So a wheel has the tables alone, and what is built for
another kind of machine these files alone. There is one gap in all four (p50k_base has no token 50256), so ranks cost
nothing.
"""

from __future__ import annotations

import operator
import os
import struct
import sys
import zlib
from array import array
from collections.abc import Iterable, Mapping
from itertools import accumulate

from ..errors import VocabularyError, shown
from . import pins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import numpy as np

OWN_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "vocab")
"""Where the files of the bundled vocabularies lie in a build from source."""


def _folder() -> str:
    """Where they lie: in this package, or in that of the distribution streamtok-vocab (pins.py)."""
    if os.path.exists(os.path.join(OWN_FOLDER, "words.stw")):
        return OWN_FOLDER
    from importlib.util import find_spec

    spec = find_spec("streamtok_vocab")
    return spec.submodule_search_locations[0] if spec and spec.submodule_search_locations else OWN_FOLDER


FOLDER = _folder()
"""Where the files of the bundled vocabularies lie."""

PUBLISHED = {
    "r50k_base": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    "p50k_base": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
"""The bundled vocabularies, and the sha256 of OpenAI's rank file of each."""

# What a vocabulary may hold. o200k_base has 2e5 tokens, the largest published ones 1e6. Tables are indexed
# by rank, so the highest rank alone decides their size: four times the entries leaves room for any gaps.
MAX_ENTRIES = 1 << 20
MAX_RANK = (1 << 22) - 1
MAX_TOKEN_BYTES = (1 << 16) - 1
MAX_FILE_BYTES = 64 << 20

_HEADER = struct.Struct("<8sII III 32s 4x")  # magic, version, crc, tokens, gaps, blob bytes, sha256
_MAGIC = b"streamtk"
_VERSION = 1
CRC_AT = slice(12, 16)  # the CRC covers header and payload, with these four bytes left out


class PackedVocabulary:
    """Tokens in the order of their ranks. Sequences have one entry a token, and are never written to.

    No numpy here, and no NamedTuple, which takes 2 ms to make: a bundled vocabulary loads in less.

    Attributes:
        blob: token bytes, joined.
        lengths: bytes of each token: a byte each where that is enough, else an array of uint32.
        ranks: ascending; an array of uint32 where some rank is skipped.
        splits: as lengths: bytes of the left one of the two tokens whose merge makes this token; 0 for a single byte,
            and for a token that merging its own bytes does not give. None where nobody has worked it out.
        sha256: of the rank file that it was made from, in hex; None for a dictionary.
    """

    __slots__ = ("blob", "lengths", "ranks", "sha256", "splits")

    is_ranked = True
    """Whether tokens merge in the order of `ranks`, and `splits` follow from it."""

    model: str = "bpe"
    """The name of its model (models.py)."""

    rest: Any = None
    """What the model has besides tokens."""

    def __init__(
        self,
        blob: bytes,
        lengths: bytes | array[int],
        ranks: range | array[int],
        splits: bytes | array[int] | None,
        sha256: str | None,
    ) -> None:
        self.blob, self.lengths, self.ranks, self.splits, self.sha256 = blob, lengths, ranks, splits, sha256

    def tokens(self) -> list[bytes]:
        """The bytes of each token, by rank."""
        ends = list(accumulate(self.lengths))
        blob = self.blob
        return [blob[start:end] for start, end in zip([0, *ends], ends)]

    def to_dict(self) -> dict[bytes, int]:
        """{token bytes: rank}, by rank."""
        return dict(zip(self.tokens(), self.ranks))


def read_packed(name: str) -> PackedVocabulary:
    """The bundled vocabulary of that name, from its .stv file.

    Raises:
        VocabularyError: the file is missing, or its bytes are not the ones that were packed.
    """
    path = os.path.join(FOLDER, f"{name}.stv")
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_FILE_BYTES)
    except FileNotFoundError:
        if name not in PUBLISHED:
            raise VocabularyError("there is no such bundled vocabulary", path) from None
        raise VocabularyError(f"the file of this bundled vocabulary is missing; {pins.WANTED}", path) from None
    return unpack(data, path)


def unpack(data: bytes, path: str | None = None) -> PackedVocabulary:
    """The vocabulary in the bytes of an .stv file. path: for the message of a VocabularyError."""
    if data[: len(_MAGIC)] != _MAGIC or len(data) < _HEADER.size:
        raise VocabularyError("this is not a packed vocabulary of streamtok; install streamtok anew", path)
    _, version, crc, count, gap_count, blob_bytes, sha256 = _HEADER.unpack_from(data)
    if version != _VERSION:
        raise VocabularyError(f"format version {version}, this streamtok reads {_VERSION}; install it anew", path)
    at_lengths = _HEADER.size + 8 * gap_count
    at_blob = at_lengths + 2 * count
    if len(data) != at_blob + blob_bytes or crc != checksum(data):
        raise VocabularyError("the file is damaged (its size or CRC-32 is wrong); install streamtok anew", path)
    gaps = list(struct.iter_unpack("<II", data[_HEADER.size : at_lengths]))
    lengths, splits = data[at_lengths : at_lengths + count], data[at_lengths + count : at_blob]
    if sum(lengths) != blob_bytes:
        raise VocabularyError("the lengths of its tokens contradict each other; install streamtok anew", path)
    return PackedVocabulary(data[at_blob:], lengths, _ranks(count, gaps), splits, sha256.hex())


def _ranks(count: int, gaps: list[tuple[int, int]]) -> range | array[int]:
    """0, 1, 2, ..., with `skipped` left out in front of the token at each `index`."""
    if not gaps:
        return range(count)
    ranks, start, first = array("I"), 0, 0
    for index, skipped in [*gaps, (count, 0)]:
        ranks.extend(range(first, first + index - start))
        first += index - start + skipped
        start = index
    return ranks


def pack_to_bytes(packed: PackedVocabulary) -> bytes:
    """The bytes of an .stv file. Needs splits, a sha256, and tokens of at most 255 bytes."""
    if not isinstance(packed.splits, bytes) or packed.sha256 is None or max(packed.lengths) > 255:
        raise ValueError("only a vocabulary with splits, a sha256 and tokens of at most 255 bytes has a file form")
    before = [-1, *packed.ranks]
    gaps = b"".join(
        struct.pack("<II", index, rank - previous - 1)
        for index, (previous, rank) in enumerate(zip(before, packed.ranks))
        if rank - previous > 1
    )
    payload = b"".join((gaps, bytes(packed.lengths), packed.splits, packed.blob))
    digest = bytes.fromhex(packed.sha256)
    header = bytearray(_HEADER.pack(_MAGIC, _VERSION, 0, len(packed.ranks), len(gaps) // 8, len(packed.blob), digest))
    header[CRC_AT] = struct.pack("<I", checksum(header + payload))
    return bytes(header + payload)


def to_little_endian(numbers: Iterable[int]) -> bytes:
    """Numbers as uint32, the same bytes on every machine: for hashes, pickles and files that go from one to another."""
    made = array("I", numbers if isinstance(numbers, array) else list(numbers))  # of bytes it would take four for one
    if sys.byteorder == "big":
        made.byteswap()
    return made.tobytes()


def from_little_endian(data: bytes) -> array[int]:
    """The numbers that to_little_endian() gave these bytes for."""
    made = array("I")
    made.frombytes(data)
    if sys.byteorder == "big":
        made.byteswap()
    return made


def checksum(data: bytes | bytearray) -> int:
    """CRC-32 of a whole file, of a vocabulary or of words, but for the four bytes CRC_AT that hold it."""
    view = memoryview(data)
    return zlib.crc32(view[CRC_AT.stop :], zlib.crc32(view[: CRC_AT.start]))


def pack_ranks(mergeable_ranks: Mapping[bytes, int], number: str = "rank") -> PackedVocabulary:
    """A user's {token bytes: rank} as arrays, sorted by rank; splits and sha256 are None.

    number: what errors call a rank.

    Raises:
        TypeError: not a mapping, a key is not bytes, or a rank is not an int (a bool is none).
        VocabularyError: an empty or too long token, a rank below 0, above MAX_RANK or given twice, a byte
            that is no token by itself, more than MAX_ENTRIES entries.
    """
    if not isinstance(mergeable_ranks, Mapping):
        raise TypeError(
            f"the vocabulary is of type {type(mergeable_ranks).__name__}; give a dict of token bytes to {number}"
        )
    import numpy as np

    tokens = list(mergeable_ranks)
    check_tokens(tokens)
    ranks = _rank_array(list(mergeable_ranks.values()), tokens, number)
    if (ranks[1:] <= ranks[:-1]).any():
        order = np.argsort(ranks, kind="stable")
        ranks, tokens = ranks[order], [tokens[i] for i in order.tolist()]
        (twice,) = np.nonzero(ranks[1:] == ranks[:-1])
        if len(twice):
            first, second = tokens[twice[0]], tokens[twice[0] + 1]
            rank = ranks[twice[0]]
            raise VocabularyError(f"{shown(first)} and {shown(second)} both have {number} {rank}; give each its own")
    return PackedVocabulary(b"".join(tokens), array("I", map(len, tokens)), array("I", ranks.tolist()), None, None)


def check_tokens(tokens: list[Any]) -> None:
    """Raises TypeError or VocabularyError unless these can be the tokens of a vocabulary."""
    if len(tokens) > MAX_ENTRIES:
        raise VocabularyError(f"{len(tokens)} entries, more than the {MAX_ENTRIES} that are accepted")
    for kind in set(map(type, tokens)):
        if not issubclass(kind, bytes):
            odd = next(token for token in tokens if type(token) is kind)
            raise TypeError(f"the token {shown(odd)} is of type {kind.__name__}; write it as bytes, a str as .encode()")
    if not all(tokens):
        raise VocabularyError("an empty token, which no text could ever hold; leave it out")
    longest = max(tokens, key=len, default=b"")
    if len(longest) > MAX_TOKEN_BYTES:
        raise VocabularyError(f"{shown(longest)} has {len(longest)} bytes, more than {MAX_TOKEN_BYTES}; leave it out")
    if sum(map(len, tokens)) > MAX_FILE_BYTES:
        raise VocabularyError(f"the tokens have more than {MAX_FILE_BYTES} bytes together; leave out the longest")
    check_single_bytes(tokens)


def check_single_bytes(tokens: Any, path: str | None = None) -> None:
    """Raises VocabularyError unless each of the 256 bytes is a token: without one, some text has no encoding."""
    singles = {token[0] for token in tokens if len(token) == 1}
    missing = [value for value in range(256) if value not in singles]
    if missing:
        raise VocabularyError(
            f"{len(missing)} of the 256 single bytes are no tokens, the first is {bytes(missing[:1])!r}; "
            "text that holds it could not be encoded: add a token for each byte",
            path,
        )


def _rank_array(values: list[Any], tokens: list[bytes], number: str) -> np.ndarray:
    """The ranks as int64, each of them in 0..MAX_RANK."""
    for kind in set(map(type, values)) - {int}:
        odd = next(i for i, value in enumerate(values) if type(value) is kind)
        if kind is bool or not hasattr(kind, "__index__"):
            raise TypeError(
                f"the {number} of {shown(tokens[odd])} is {shown(values[odd])}, a {kind.__name__}; give an int"
            )
    values = list(map(operator.index, values))
    for extreme in (min(values), max(values)):
        if not 0 <= extreme <= MAX_RANK:
            token = tokens[values.index(extreme)]
            raise VocabularyError(
                f"the {number} of {shown(token)} is {shown(extreme)}; {number}s go from 0 to {MAX_RANK}"
            )
    import numpy as np

    return np.array(values, np.int64)
