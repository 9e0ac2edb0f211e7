"""The tables of the bundled vocabularies: prebuilt with the package, mapped into memory when one is opened.

`vocab/*.tables` holds what csrc/image.h describes: tokens, pairs, cuts, and frequent words with their ids. All
processes share one copy of a mapped file, and nothing is computed at load. The build writes the files (write_tables).
Where there is none, as after a build for another kind of machine, the tables are built in memory from the .stv file,
without the frequent words: the same ids, later and slower.
"""

from __future__ import annotations

import mmap
import os
from typing import Any

from . import _vocab
from ._packed import PackedVocabulary, load_packed
from .errors import VocabularyError

WORDS = {
    "r50k_base": ("r50k", 200_000),
    "p50k_base": ("r50k", 100_000),
    "cl100k_base": ("cl100k", 200_000),
    "o200k_base": ("o200k", 120_000),
}
"""Bundled vocabulary -> the list of frequent words that was split by its pattern, and how many of them to take: with
its tokens they fill a table of 16 MB (p50k_base has few users), and all files a wheel of less than 30 MB."""


def open_vocabulary(name: str, special_tokens: dict[str, int]) -> Any:
    """The core's Vocab of a bundled vocabulary.

    Raises:
        VocabularyError: its file is damaged, or was made by another version or for another kind of machine.
    """
    path = os.path.join(os.path.dirname(__file__), "vocab", f"{name}.tables")
    try:
        with open(path, "rb") as file:
            image = _map(file.fileno())
    except FileNotFoundError:
        return build_vocabulary(load_packed(name), special_tokens)
    except ValueError:  # an empty file cannot be mapped
        raise VocabularyError("the file is empty; install streamtok anew", path) from None
    try:
        return _vocab.Vocab(None, None, None, None, special_tokens, image=image)
    except VocabularyError as error:
        raise VocabularyError(f"{error}; install streamtok anew", path) from None


def _map(file: int) -> mmap.mmap:
    # All of it is read at once by the checksum: one call that maps every page is cheaper than a fault for each.
    populate = getattr(mmap, "MAP_POPULATE", None)
    if populate is None:
        return mmap.mmap(file, 0, access=mmap.ACCESS_READ)
    return mmap.mmap(file, 0, flags=mmap.MAP_SHARED | populate, prot=mmap.PROT_READ)


def build_vocabulary(
    packed: PackedVocabulary, special_tokens: dict[str, int], words: tuple[bytes, bytes] | None = None
) -> Any:
    """The core's Vocab of any vocabulary, built in memory. words: joined, and a byte of length each."""
    ranks = None if isinstance(packed.ranks, range) else packed.ranks
    return _vocab.Vocab(packed.blob, packed.lengths, ranks, packed.splits, special_tokens, words=words)


def read_words(path: str, most: int) -> tuple[bytes, bytes]:
    """(words joined, a byte of length each): the first ones of a file that tools/pack_words.py wrote."""
    import lzma

    with lzma.open(path) as file:
        count = int.from_bytes(file.read(4), "little")
        lengths = file.read(count)
        joined = file.read()
    if len(lengths) != count or sum(lengths) != len(joined):
        raise ValueError(
            f"{path} is no list of words that tools/pack_words.py wrote: its lengths contradict each other"
        )
    lengths = lengths[:most]
    return joined[: sum(lengths)], lengths


def write_tables(words: str, folder: str) -> None:
    """Writes the tables of all bundled vocabularies into the folder, each whole or not at all."""
    for name, (family, most) in WORDS.items():
        vocab = build_vocabulary(load_packed(name), {}, read_words(os.path.join(words, f"{family}.xz"), most))
        path = os.path.join(folder, f"{name}.tables")
        with open(f"{path}.partial", "wb") as file:
            file.write(vocab.to_image())
        os.replace(f"{path}.partial", path)
