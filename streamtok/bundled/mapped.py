"""The tables of the bundled vocabularies: prebuilt, and mapped or copied into memory when one is opened.

A file of tables holds what csrc/image/image.h describes: tokens, pairs, cuts, and frequent words with their ids.
`vocab/*.tables`, which the build of the package writes, hold as many words as a wheel has room for, in the compact form
of csrc/image/compact.h: a third of the bytes, of which each process makes the image in its own memory. Files in the
user's cache folder, made once a machine, hold all words (builder.py), as they are used: nothing is computed at load. A
file that this process could change is copied, and what is checked is the copy: whoever cuts a mapped file kills the
processes that read it, and whoever writes to it changes their ids. One that the administrator alone can change is
mapped, and all processes share it. Ids do not depend on which of them is used. Where there is none, as after a build
for another kind of machine, the tables are built in memory from the .stv file, without the frequent words: the same
ids, later and slower.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
import zlib
from array import array

from .. import disk
from .._version import __version__
from ..disk import cache_folder
from ..errors import VocabularyError, shown
from ..native.vocab import IMAGE_VERSION, Vocab
from . import pins
from .models import model_named
from .packed import FOLDER, OWN_FOLDER, PUBLISHED, PackedVocabulary, read_packed
from .words import FIRST, HEADER_BYTES, WHEEL, WORDS_FILE, read_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._protocols import Data

WORDS = {
    "r50k_base": ("r50k", WHEEL),
    "p50k_base": ("r50k", FIRST),
    "cl100k_base": ("cl100k", WHEEL),
    "o200k_base": ("o200k", WHEEL),
}
"""Bundled vocabulary -> the list of frequent words that was split by its pattern, and the least level of those that
its tables in a wheel hold."""

HEAD_BYTES = 256
"""In front of the image in a cached file: what it was made from. A multiple of 64, as the image must lie."""

_PINNED = 16
"""First bytes of a file of tables that pins.py has."""

_MADV_POPULATE_READ = 22
"""A number of Linux's; Python has no name for it."""

os_mmap = mmap.mmap
"""Looked up when it is used, as the names of disk.py: a test replaces it."""


CHOICES = ("found", "package")


def choice() -> str:
    """What STREAMTOK_TABLES asks for: "found", also where it is not set (the cached tables, where somebody built them),
    or "package" (the package's alone). Raises ValueError for other values."""
    wanted = os.environ.get("STREAMTOK_TABLES") or CHOICES[0]
    if wanted not in CHOICES:
        known = ", ".join(map(repr, CHOICES))
        raise ValueError(f"STREAMTOK_TABLES={shown(wanted)} is unknown: write one of {known}, or unset the variable")
    return wanted


def open_vocabulary(name: str, special_tokens: dict[str, int]) -> Vocab:
    """The core's Vocab of a bundled vocabulary; its `path` is the file that it lies in, None for memory.

    Raises:
        VocabularyError: the package's file is damaged, or was made by another version or for another kind of machine.
        ValueError: STREAMTOK_TABLES has a value that it cannot have.
    """
    vocab = None if choice() == "package" else open_cached(name, special_tokens)
    return open_packaged(name, special_tokens) if vocab is None else vocab


# ==== The package's ====


def open_packaged(name: str, special_tokens: dict[str, int]) -> Vocab:
    """open_vocabulary() without the user's file."""
    vocab = _open_tables(name, special_tokens)
    return build_vocabulary(read_packed(name), special_tokens) if vocab is None else vocab


def _open_tables(name: str, special_tokens: dict[str, int]) -> Vocab | None:
    """The Vocab of the tables in the package; None where there are none."""
    path = _in_package(f"{name}.tables")
    try:
        with disk.open_plain(path) as file:
            image = bring(file)
    except FileNotFoundError:
        return None
    except ValueError:  # an empty file cannot be mapped
        raise VocabularyError("the file is empty; install streamtok anew", path) from None
    if FOLDER != OWN_FOLDER and image[:_PINNED].hex() != pins.SUMS[name]:
        raise VocabularyError(f"the tables are none of this version of streamtok; {pins.WANTED}", path)
    try:
        return over(image, special_tokens, path)
    except VocabularyError as error:
        raise VocabularyError(f"{error}; install streamtok anew", path) from None


def load_packed(name: str) -> PackedVocabulary:
    """The bundled vocabulary of that name, r50k_base, p50k_base, cl100k_base or o200k_base, as arrays.

    Raises:
        VocabularyError: the package is damaged, or there is no such vocabulary.
    """
    vocab = _open_tables(name, {})
    return read_packed(name) if vocab is None else packed_of(vocab, name)


def packed_of(vocab: Vocab, name: str) -> PackedVocabulary:
    """The same of a Vocab that open_vocabulary() opened."""
    blob, lengths, ids, splits = vocab.to_packed()
    ranks = range(len(lengths)) if ids is None else array("I", ids)
    return PackedVocabulary(blob, lengths, ranks, splits, PUBLISHED[name])


def _in_package(file: str) -> str:
    return os.path.join(FOLDER, file)


def bring(file: disk.File) -> mmap.mmap:
    """All of the file, copied into memory of this process. Raises ValueError for an empty file."""
    return _map(file) if disk.is_fixed(file) else _copy(file)


def _map(file: disk.File) -> mmap.mmap:
    """Bring all pages into memory: the checksum reads them all, and one call is cheaper than a page fault for each.

    What the system reads from the disk for it lies in large pages, where its file system has them (ext4 since Linux
    6.16, xfs): the processor finds them faster, and processes share them as they do small ones.
    """
    with disk.named(file.path):
        if not hasattr(mmap, "MADV_HUGEPAGE"):
            return os_mmap(file.fd, 0, access=mmap.ACCESS_READ)
        image = os_mmap(file.fd, 0, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)
    with contextlib.suppress(OSError):  # a kernel without large pages refuses the advice
        image.madvise(mmap.MADV_HUGEPAGE)
    with contextlib.suppress(OSError):  # a kernel before 5.14 refuses this: then each page is read at its first use
        image.madvise(_MADV_POPULATE_READ)
    return image


def _copy(file: disk.File) -> mmap.mmap:
    """Memory of this process, in large pages where the system has them: these are filled faster than small ones, too.
    Forked processes share it. If the file was cut since it was opened, zeros stand here, and the checksum fails."""
    size = file.size()
    if not size:
        raise ValueError("the file is empty")
    with disk.named(file.path):
        if hasattr(mmap, "MAP_ANONYMOUS"):  # by default the memory would be shared, like pages of a file
            image = os_mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        else:
            image = os_mmap(-1, size)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):
            image.madvise(mmap.MADV_HUGEPAGE)
    with memoryview(image) as room:
        at = 0
        while at < size and (count := file.read_into(room[at:])):
            at += count
    return image


def over(
    image: Data,
    special_tokens: dict[str, int],
    path: str,
    others: dict[int, bytes] | None = None,
    deep: bool = False,
) -> Vocab:
    """The Vocab of an image, which lies in the file of that path. VocabularyError: it is none. others: as for
    build_vocabulary(). deep: look at all of it, as at a file that may be from anybody."""
    vocab = Vocab(None, None, None, None, special_tokens, image=image, others=others, deep=deep)
    vocab.path = path
    return vocab


def build_vocabulary(
    packed: PackedVocabulary,
    special_tokens: dict[str, int],
    words: tuple[bytes, bytes] | None = None,
    others: dict[int, bytes] | None = None,
) -> Vocab:
    """The core's Vocab of any vocabulary, built in memory. words: joined, and a byte of length each. others: further
    ids to decode, with their bytes."""
    ranks = None if isinstance(packed.ranks, range) else packed.ranks
    vocab = Vocab(
        packed.blob,
        packed.lengths,
        ranks,
        packed.splits,
        special_tokens,
        words=words,
        any_order=not packed.is_ranked,
        model=packed.model,
        own=model_named(packed.model).own(packed.rest),
        others=others,
    )
    vocab.cuts(b"")  # builds the tables of cuts now, and not in the first call: they take half as long as it
    return vocab


def write_tables(folder: str) -> None:
    """Writes the tables of all bundled vocabularies for a wheel into the folder, each whole or not at all."""
    for name, (family, least) in WORDS.items():
        vocab = build_vocabulary(read_packed(name), {}, read_words(family, least))
        write_file(os.path.join(folder, f"{name}.tables"), b"", vocab, compact=True)


def write_file(path: str, head: bytes, vocab: Vocab, compact: bool = False) -> None:
    """Writes the head, a multiple of 64 bytes, and the image behind it, whole or not at all. compact: in a third of the
    bytes; it is made anew in the memory of each process then."""

    def write(file: disk.File) -> None:
        file.write(head)
        vocab.write_image(file.write, compact=compact)

    disk.replace(path, write, mode=0o644)


# ==== The user's ====


def cached_file(name: str) -> str:
    """Where the tables of a bundled vocabulary with all words belong. Raises OSError where there is no such place."""
    return path_of(name, _head(name))


def tables_folder() -> str:
    """The folder of all such tables, which need not be there. Raises OSError where there is no such place."""
    return os.path.join(cache_folder.folder(), "tables")


def path_of(name: str, head: bytes) -> str:
    """Of the tables of that name and head."""
    return os.path.join(tables_folder(), f"{name}-{zlib.crc32(head):08x}.tables")


def head_of(facts: str) -> bytes:
    """What tables depend on: the version, these facts, and the header, with its checksum, of the words."""
    with open(WORDS_FILE, "rb") as file:
        return (f"streamtok {__version__} {facts}\n".encode() + file.read(HEADER_BYTES)).ljust(HEAD_BYTES, b"\0")


def _head(name: str) -> bytes:
    return head_of(f"{IMAGE_VERSION} {sys.byteorder} {name} {PUBLISHED[name]}")


def open_cached(name: str, special_tokens: dict[str, int]) -> Vocab | None:
    """The Vocab of the user's file; None where there is none that can be used. A damaged one is removed. Tables are
    trusted like code: those that another user made or can change are passed over."""
    try:
        head = _head(name)
        path = path_of(name, head)
        with disk.open_read(path, steady=True) as file:
            image = memoryview(bring(file))
        if image[: len(head)] == head:
            vocab = over(image[len(head) :], special_tokens, path)
            cache_folder.note_use(path)
            return vocab
    except OSError:
        return None
    except ValueError:  # empty, or VocabularyError: the checksum is wrong
        pass
    cache_folder.remove(path)
    return None


def is_cached(vocab: Vocab) -> bool:
    """Whether a Vocab comes from the user's file."""
    return vocab.path is not None and os.path.dirname(vocab.path) != os.path.dirname(_in_package(""))


def build_all_words(name: str) -> Vocab:
    """The Vocab of a bundled vocabulary with all its words, in memory. Raises VocabularyError where the package is
    damaged."""
    return build_vocabulary(load_packed(name), {}, read_words(WORDS[name][0]))


def write_cached(name: str, vocab: Vocab) -> None:
    """Writes what build_all_words() made to its place in the cache folder. Raises OSError where that fails."""
    head = _head(name)
    path = path_of(name, head)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write_file(path, head, vocab)
