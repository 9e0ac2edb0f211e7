"""What the tests compare with: tiktoken built from the bundled ranks, a small BPE of our own, random cuts, real text.

tiktoken needs no network here: its Encoding is made from the same ranks that streamtok bundles, and
tests/vocab/test_load.py holds those against the sha256 that tiktoken expects.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import os
import pathlib
import random
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import streamtok
from streamtok.patterns import CL100K, O200K, R50K

NAMES = ("gpt2", "r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony")
FAMILIES = ("r50k_base", "cl100k_base", "o200k_base")  # one encoding for each way to split
PATTERNS = {"r50k_base": R50K, "cl100k_base": CL100K, "o200k_base": O200K}

PROFILE = os.environ.get("STREAMTOK_PROFILE", "default")
LONG = PROFILE == "long"
RANDOM_STRINGS = {"default": 2_000, "ci": 20_000, "long": 1_000_000}[PROFILE]

PROJECT = pathlib.Path(__file__).resolve().parents[2]
SHARED = PROJECT.parent / "shared"
"""Corpora and executable specifications, where they are present."""


class Pair(NamedTuple):
    """One encoding twice."""

    name: str
    ours: streamtok.Encoding
    theirs: Any


@functools.cache
def ours(name: str, engine: str = "fast") -> streamtok.Encoding:
    bundled = streamtok.get_encoding(name)
    if engine == "fast":
        return bundled
    return streamtok.Encoding._bundled(
        name, bundled._pat_str, bundled._vocabulary, bundled._special_tokens, None, engine=engine
    )


@functools.cache
def without_pattern(name: str, engine: str = "fast") -> streamtok.Encoding:
    with pytest.warns(UserWarning, match="has no pattern: .* ids are not those that a model was trained on"):
        return ours(name, engine).without_pattern()


def named(name: str) -> streamtok.Encoding:
    """A bundled encoding, or "NAME without pattern", which is also what such an encoding calls itself. Behind both "by
    longest match" may follow."""
    if name.endswith(" by longest match"):
        return by_longest_match(name.removesuffix(" by longest match"))
    return without_pattern(name.split()[0]) if name.endswith(" without pattern") else ours(name)


@functools.cache
def by_longest_match(name: str) -> streamtok.Encoding:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return named(name).with_longest_match()


@functools.cache
def theirs(name: str) -> Any:
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is the oracle here")
    bundled = streamtok.get_encoding(name)
    return tiktoken.Encoding(
        name,
        pat_str=bundled._pat_str,
        mergeable_ranks=bundled._mergeable_ranks,
        special_tokens=bundled._special_tokens,
    )


def pair(name: str) -> Pair:
    return Pair(name, ours(name), theirs(name))


# ==== Damaged vocabularies: no trainer makes such ones, so they lack properties that trained ones have ====

DAMAGED = ("dropped", "permuted", "small permuted")


@functools.cache
def damaged_ranks(kind: str) -> dict[bytes, int]:
    """r50k with 30 % of the tokens dropped, so that others become unreachable ("dropped"); the same, or the first 3,000
    tokens, with ranks permuted too."""
    rng = random.Random(kind)
    ranks = ours("r50k_base")._mergeable_ranks
    if kind == "small permuted":
        tokens = [token for token, rank in ranks.items() if rank < 3000]
    else:
        tokens = [token for token in ranks if len(token) == 1 or rng.random() < 0.7]
    numbers = [ranks[token] for token in tokens]
    if kind != "dropped":
        rng.shuffle(numbers)
    return dict(zip(tokens, numbers))


@functools.cache
def damaged_pair(kind: str, pattern: str = "cl100k_base") -> Pair:
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is the oracle here")
    arguments = {"pat_str": PATTERNS[pattern], "mergeable_ranks": damaged_ranks(kind), "special_tokens": {}}
    return Pair(kind, streamtok.Encoding(kind, **arguments), tiktoken.Encoding(kind, **arguments))


# ==== The definition of BPE, quadratic ====


def merge(piece: bytes, ranks: dict[bytes, int]) -> list[int]:
    """Replace the leftmost pair of the smallest rank until no pair is a token."""
    parts = [piece[i : i + 1] for i in range(len(piece))]
    while True:
        neighbours = enumerate(itertools.pairwise(parts))
        best = min(((ranks[a + b], i) for i, (a, b) in neighbours if a + b in ranks), default=None)
        if best is None:
            return [ranks[part] for part in parts]
        at = best[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


def encode_piece(piece: bytes, ranks: dict[bytes, int]) -> list[int]:
    """tiktoken's rule: a piece that is a token is that token, any other is merged."""
    return [ranks[piece]] if piece in ranks else merge(piece, ranks)


# ==== Streaming ====


def random_cuts(rng: random.Random, data: Any, sizes: tuple[int, ...] = (0, 1, 1, 2, 3, 7, 50)) -> Iterator[Any]:
    """The data, str or bytes, in chunks of random lengths; bytes are cut inside characters too."""
    at = 0
    while at < len(data):
        size = rng.choice(sizes)
        yield data[at : at + size]
        at += size


def streamed(stream: Any, chunks: Iterable[Any]) -> list[int]:
    """The ids of all feeds and of the flush."""
    ids: list[int] = []
    for chunk in chunks:
        ids += stream.feed(chunk).tolist()
    return ids + stream.flush().tolist()


def assert_same(got: Any, want: Any, enc: Any, what: str = "") -> None:
    """Equal ids, or a message that shows the first difference; pytest's own takes too long with a million ids."""
    got, want = np.asarray(got), np.asarray(want)
    if np.array_equal(got, want):
        return
    n = min(len(got), len(want))
    differ = np.nonzero(got[:n] != want[:n])[0]
    at = int(differ[0]) if len(differ) else n
    before = enc.decode_bytes(want[max(0, at - 8) : at].tolist())
    parts = [enc.decode_tokens_bytes(ids[at : at + 8].tolist()) for ids in (got, want)]
    pytest.fail(f"{what} ids {at} differ, behind {before!r}: got {parts[0]}, expected {parts[1]}")


# ==== Real text that every Python has ====


@functools.cache
def topics() -> str:
    """700 KB of English: the topics of help()."""
    module = pytest.importorskip("pydoc_data.topics", reason="this Python comes without pydoc_data")
    return "\n".join(module.topics.values())


@functools.cache
def stdlib_sources(size: int = 1_500_000) -> str:
    """Python code: the standard library's own."""
    folder = pathlib.Path(os.__file__).parent
    parts: list[str] = []
    for path in sorted(folder.glob("*.py")):
        parts.append(path.read_text("utf-8", errors="replace"))
        size -= len(parts[-1])
        if size < 0:
            break
    return "".join(parts)


# ==== ../shared, and what stands for it ====


def shared_module(*parts: str) -> Any:
    """A script of ../shared as a module, for tests with the marker `shared`."""
    import sys

    path = SHARED.joinpath(*parts)
    pytest.importorskip("regex")
    pytest.importorskip("tiktoken")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # they import each other
    if path.stem in sys.modules:
        return sys.modules[path.stem]
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@functools.cache
def corpus(name: str) -> str:
    """A corpus of ../shared, else a text that is made here. name: english, code, multilingual or scripts/LANGUAGE."""
    import lzma

    import made_texts

    path = SHARED / "corpus" / f"{name}.txt.xz"
    if path.exists():
        return lzma.open(path).read().decode()
    if name == "english":
        return made_texts.shuffled(topics())
    if name == "code":
        return stdlib_sources(made_texts.SIZE)
    return made_texts.multilingual() if name == "multilingual" else made_texts.of_script(name.split("/")[1], 250_000)


# ==== Kinds of characters, asked of tiktoken's own regex engine ====

KINDS = {
    "U": r"[\p{Lu}\p{Lt}]",
    "l": r"\p{Ll}",
    "x": r"[\p{Lm}\p{Lo}]",
    "M": r"\p{M}",
    "N": r"\p{N}",
    "R": r"[\r\n]",
    "S": r"[^\S\r\n]",
}


@functools.cache
def kinds() -> dict[str, str]:
    """The kind of every character that is not "O". A pattern that does not match a character drops it from the ids."""
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is the oracle here")
    singles = {bytes([value]): value for value in range(256)}
    every = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000))))
    found: dict[str, str] = {}
    for kind, pattern in KINDS.items():
        probe = tiktoken.Encoding("probe", pat_str=pattern, mergeable_ranks=singles, special_tokens={})
        matched = probe.encode_to_numpy(every, disallowed_special=()).astype(np.uint8).tobytes().decode()
        found.update(dict.fromkeys(matched, kind))
    return found
