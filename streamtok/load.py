"""Vocabularies from files: tiktoken's loading functions, on local files, and stricter.

Nothing here opens a connection. A URL is accepted where tiktoken's own programs name one: for a file whose
contents are bundled, or one that lies in tiktoken's cache folder.

A file is read line by line and refused at the first line that is wrong, so that no file, however broken or
large, takes long or more memory than the largest vocabulary that is accepted.
"""

from __future__ import annotations

import binascii
import os
import stat
from collections.abc import Iterable, Iterator

from . import disk
from .bundled.mapped import load_packed
from .bundled.packed import (
    MAX_ENTRIES,
    MAX_FILE_BYTES,
    MAX_RANK,
    MAX_TOKEN_BYTES,
    PUBLISHED,
    PackedVocabulary,
    check_single_bytes,
    pack_ranks,
)
from .errors import VocabularyError, short_file_names, shortened, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, NoReturn

__all__ = [
    "PackedVocabulary",
    "check_hash",
    "data_gym_to_mergeable_bpe_ranks",
    "dump_tiktoken_bpe",
    "load_packed",
    "load_tiktoken_bpe",
    "pack_ranks",
    "read_file",
    "read_file_cached",
]

_Path = str | os.PathLike[str]
_PUBLIC = "https://openaipublic.blob.core.windows.net/encodings/"
BUNDLED_URLS = {f"{_PUBLIC}{name}.tiktoken": name for name in PUBLISHED}
"""URL of a rank file -> its name for load_packed()."""

# Base64 writes 3 bytes as 4 characters; the rest of the line is a rank and white space.
_MAX_LINE = MAX_TOKEN_BYTES * 4 // 3 + 64


@short_file_names
def read_file(blobpath: _Path) -> bytes:
    """The bytes of a local file, or of the rank file at a URL if that one is bundled.

    Args:
        blobpath: a path, or one of the URLs of OpenAI's rank files.

    Raises:
        ValueError: any other URL: this package downloads nothing.
        VocabularyError: not a regular file, or larger than MAX_FILE_BYTES.
        OSError: the file cannot be read.
    """
    path = os.fspath(blobpath)
    if "://" not in path:
        with open_regular(path) as file:
            return file.read()
    if path in BUNDLED_URLS:
        packed = load_packed(BUNDLED_URLS[path])
        return b"".join(_lines(zip(packed.tokens(), packed.ranks)))
    raise ValueError(
        f"{shortened(path)} is not bundled with streamtok, and streamtok downloads nothing: download the file "
        "yourself, and give the path of your copy instead of the URL"
    )


def read_file_cached(blobpath: _Path, expected_hash: str | None = None) -> bytes:
    """read_file, then a check of the sha256 (hex) if one is given.

    A URL that is not bundled is looked for where tiktoken keeps its downloads: the folder that
    TIKTOKEN_CACHE_DIR (or DATA_GYM_CACHE_DIR) names. Nothing is ever written there.

    Args:
        blobpath: a path or a URL.
        expected_hash: sha256 in hex; None: not checked.

    Raises:
        VocabularyError: another sha256, or as for read_file().
        ValueError: a URL that is neither bundled nor cached.
        OSError: the file cannot be read.
    """
    data = read_file(_cached(blobpath))
    if expected_hash and not check_hash(data, expected_hash):
        _refuse_hash(blobpath, expected_hash)
    return data


def check_hash(data: bytes, expected_hash: str) -> bool:
    """Whether the sha256 of the data, in hex, is the expected one."""
    import hashlib  # the import takes longer than a hash, and most programs never check one

    return hashlib.sha256(data).hexdigest() == expected_hash


@short_file_names
def load_tiktoken_bpe(tiktoken_bpe_file: _Path, expected_hash: str | None = None) -> dict[bytes, int]:
    """{token bytes: rank} of a rank file: a line a token, `base64(token bytes) rank`.

    Args:
        tiktoken_bpe_file: path, or the URL of a bundled or cached file (see read_file_cached).
        expected_hash: sha256 of the file in hex, checked before anything is parsed.

    Raises:
        VocabularyError: with path and line. Bad base64, an empty or too long token, a rank that is no number
            from 0 to MAX_RANK, a token or rank that came before, a last line cut off, a single byte without
            a token, too many lines, another sha256, not a file.
        ValueError: a URL that is neither bundled nor cached.
        OSError: the file cannot be read.
    """
    path = _cached(tiktoken_bpe_file)
    if path in BUNDLED_URLS:
        packed = load_packed(BUNDLED_URLS[path])
        if expected_hash and packed.sha256 != expected_hash:
            _refuse_hash(path, expected_hash)
        return packed.to_dict()
    if "://" in path:
        read_file(path)  # raises the error that says what to do
    with open_regular(path) as file:
        if expected_hash:
            # Read, checked and dropped: parsing then goes line by line, so that text and table are never both held.
            if not check_hash(file.read(), expected_hash):
                _refuse_hash(path, expected_hash)
            file.seek(0)
        return parse_ranks(file, path)


@short_file_names
def dump_tiktoken_bpe(bpe_ranks: dict[bytes, int], tiktoken_bpe_file: _Path) -> None:
    """Writes {token bytes: rank} as a rank file, by rank; load_tiktoken_bpe reads it back.

    The file appears whole or not at all: it is written beside its place and renamed.

    Args:
        bpe_ranks: {token bytes: rank}.
        tiktoken_bpe_file: the path to write.

    Raises:
        OSError: the file cannot be written.
    """
    lines = _lines(sorted(bpe_ranks.items(), key=lambda item: item[1]))
    disk.replace(os.fspath(tiktoken_bpe_file), lambda file: file.write(b"".join(lines)))


def data_gym_to_mergeable_bpe_ranks(
    vocab_bpe_file: _Path,
    encoder_json_file: _Path,
    vocab_bpe_hash: str | None = None,
    encoder_json_hash: str | None = None,
    clobber_one_byte_tokens: bool = False,
) -> dict[bytes, int]:
    """{token bytes: rank} of the two files of the GPT-2 release, vocab.bpe and encoder.json.

    Args:
        vocab_bpe_file: a merge a line below one line of heading, in the order of their ranks.
        encoder_json_file: {token: rank}, which has to agree with the merges.
        vocab_bpe_hash: sha256 of the first file, in hex; None: not checked.
        encoder_json_hash: sha256 of the second file, in hex; None: not checked.
        clobber_one_byte_tokens: take the ranks of the single bytes from encoder_json_file.

    Raises:
        VocabularyError: one of the files is broken, or they disagree.
    """
    from .bundled import gpt2_files

    vocab, encoder = os.fspath(vocab_bpe_file), os.fspath(encoder_json_file)
    merges = gpt2_files.merge_ranks(read_file_cached(vocab, vocab_bpe_hash), vocab)
    listed = gpt2_files.encoder_ranks(read_file_cached(encoder, encoder_json_hash), encoder)
    if clobber_one_byte_tokens:
        merges.update((token, rank) for token, rank in listed.items() if len(token) == 1)
    if merges != listed:
        odd = next(token for token in [*merges, *listed] if merges.get(token) != listed.get(token))
        ranks = f"{shown(listed.get(odd))} here, and {merges.get(odd)} by {shortened(vocab)}"
        seen = f"the token {shown(odd)} has rank {ranks}"
        raise VocabularyError(f"{seen}; give the two files of one release", encoder)
    return merges


def open_regular(path: str) -> IO[bytes]:
    """The file, open for reading, after the checks that need no reading."""
    status = os.stat(path)
    # Before open(): that would hang on a named pipe, and a device may never end.
    if not stat.S_ISREG(status.st_mode):
        kind = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise VocabularyError(f"this is {kind}; give the path of a vocabulary file", path)
    if status.st_size > MAX_FILE_BYTES:
        raise VocabularyError(f"{status.st_size} bytes; a vocabulary file has at most {MAX_FILE_BYTES}", path)
    return open(path, "rb")


def _cached(blobpath: _Path) -> str:
    """The path of a URL's copy in tiktoken's cache folder if there is one, else what was given."""
    path = os.fspath(blobpath)
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if "://" not in path or path in BUNDLED_URLS or not folder:
        return path
    import hashlib

    copy = os.path.join(folder, hashlib.sha1(path.encode(), usedforsecurity=False).hexdigest())
    return copy if os.path.isfile(copy) else path


def _refuse_hash(path: _Path, expected: str) -> NoReturn:
    raise VocabularyError(
        f"the sha256 is not the expected {shortened(expected)}: the file is damaged, or another one", path
    )


def _lines(ranks: Iterable[tuple[bytes, int]]) -> Iterator[bytes]:
    for token, rank in ranks:
        yield b"%b %d\n" % (binascii.b2a_base64(token, newline=False), rank)


def parse_ranks(file: IO[bytes], path: str) -> dict[bytes, int]:
    """load_tiktoken_bpe's loop over lines."""
    ranks: dict[bytes, int] = {}
    seen = bytearray(MAX_RANK + 1)  # 4 MB, where a set of ranks could take a hundred
    highest = -1
    for number, line in enumerate(iter(lambda: file.readline(_MAX_LINE), b""), 1):
        fields = line.split()
        if not fields and number <= MAX_ENTRIES:
            continue
        reason = _line_fault(line, fields, number, highest)
        if reason:
            raise VocabularyError(reason, path, number)
        token, rank = binascii.a2b_base64(fields[0]), int(fields[1])
        if seen[rank]:
            other = next(token for token, value in ranks.items() if value == rank)
            raise VocabularyError(f"rank {rank} already belongs to {shown(other)}; give each its own", path, number)
        if token in ranks:
            raise VocabularyError(f"{shown(token)} already has rank {ranks[token]}; leave one out", path, number)
        ranks[token] = rank
        seen[rank] = 1
        highest = max(highest, rank)
    check_single_bytes(ranks, path)
    return ranks


def _line_fault(line: bytes, fields: list[bytes], number: int, highest: int) -> str | None:
    """Why a line of a rank file is refused, or None. highest: the highest rank above it."""
    if number > MAX_ENTRIES:
        return f"more than {MAX_ENTRIES} lines, the most that a vocabulary may have"
    if len(fields) != 2:
        if len(line) == _MAX_LINE:
            return f"the line has more than {_MAX_LINE} bytes; a token has at most {MAX_TOKEN_BYTES}"
        end = "" if line.endswith(b"\n") else ", and the file ends here: it may be cut off"
        return f"{shown(line)} is not the base64 of a token, a space, and its rank{end}"
    text, rank = fields
    try:
        token = binascii.a2b_base64(text)
    except binascii.Error as error:
        return f"{shown(text)} is not base64: {error}"
    if binascii.b2a_base64(token, newline=False) != text:  # a2b_base64 skips what it does not know
        return f"{shown(text)} is not base64: it has other characters, or bits behind the end"
    if not 1 <= len(token) <= MAX_TOKEN_BYTES:
        return f"a token of {len(token)} bytes; a token has 1 to {MAX_TOKEN_BYTES}"
    if not rank.isdigit() or len(rank) > 20 or int(rank) > MAX_RANK:
        return f"the rank {shown(rank)} is not a whole number from 0 to {MAX_RANK}"
    # A number that has lost its last digits is smaller than those above it; a whole one is the largest.
    if not line.endswith(b"\n") and int(rank) <= highest:
        return f"the file ends without a newline after rank {int(rank)}: it may be cut off; if not, end the line"
    return None
