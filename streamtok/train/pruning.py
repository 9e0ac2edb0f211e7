"""Encodings with fewer tokens, and with those of two."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._version import __version__
from ..bundled.packed import MAX_ENTRIES
from ..core import Encoding
from ..errors import short_file_names, shown
from .encoding import TrainedEncoding
from .inputs import How
from .merges import Merged, MergeTable, with_tokens
from .options import core_splitter
from .report import texts_in
from .sources import open_named

if TYPE_CHECKING:
    from numpy.typing import NDArray

_AT_ONCE = 256  # texts that are encoded in one call


class Pruned(NamedTuple):
    """What prune() returns.

    Attributes:
        encoding: the one with fewer tokens.
        new_ids: int64, by old id: what it has become, -1 where there is none. The rows of an embedding that stay are
            old[new_ids >= 0], and that of an old id is the row new_ids[id].
    """

    encoding: TrainedEncoding
    new_ids: NDArray[np.int64]


@short_file_names
def prune(
    encoding: Encoding,
    sources: Any,
    left: int,
    *,
    dense: bool = False,
    documents: str | None = None,
    key: str = "text",
    errors: str = "strict",
    name: str | None = None,
    column: str | None = None,
    nulls: str = "error",
) -> Pruned:
    """Take out the tokens that texts use least, so that `left` tokens are left.

    Only a leaf goes: a token that no other one is merged of. Of the leaves the one that stands least often in the texts
    goes first, and of those that stand there equally often the one with the greatest id. From then on its uses count
    for the two tokens that it was merged of, and these may be leaves. A token that no merge makes, which only a whole
    piece can be, is a leaf, too. The 256 bytes and special tokens stay, and so does the order of the merges.

    Args:
        encoding: as for extend().
        sources: texts as for train(). Special tokens are plain text there.
        left: how many tokens are to be left, the 256 bytes and special and added tokens among them.
        dense: number the tokens that are left from 0 on, in the order of their ids. Otherwise ids stay.
        documents, key, errors, column, nulls: as for train().
        name: of the encoding that is returned; the name of the first by default.

    Raises:
        ValueError: an encoding of another model; `left` is less than what always stays, or more than there is.
        UnicodeDecodeError, OSError: as train().
    """
    table = MergeTable(encoding)
    _check_left(encoding, table, left)
    how = How(documents, key, errors, cuts=core_splitter(encoding._split), column=column, nulls=nulls)
    uses = _uses(encoding, open_named(sources)[0], how)
    total = len(_ids_of(encoding, table))
    gone = _leaves(encoding, table, uses, total - left)
    kept = sorted(_ids_of(encoding, table) - gone)
    new = dict(zip(kept, range(len(kept)) if dense else kept))
    made = [Merged(each.token, new[each.id], each.parts) for each in table.made if each.id in new]
    new_ids = np.full(encoding.max_token_value + 1, -1, np.int64)
    new_ids[list(new)] = list(new.values())
    facts = {"streamtok": __version__, "pruned_from": {"name": encoding.name, "tokens": total, "dense": dense}}
    return Pruned(with_tokens(encoding, table.others, made, name=name, training=facts, new_ids=new), new_ids)


def _ids_of(encoding: Encoding, table: MergeTable) -> set[int]:
    return {each.id for each in table.made} | set(table.others) | set(encoding._added_tokens.values())


def _check_left(encoding: Encoding, table: MergeTable, left: int) -> None:
    if isinstance(left, bool) or not isinstance(left, int):
        raise TypeError(f"left is of type {type(left).__name__}: write an int")
    added, total = len(set(encoding._added_tokens.values())), len(_ids_of(encoding, table))
    if left < 256 + added:
        raise ValueError(
            f"left={shown(left)} is below {256 + added}: the 256 bytes and {added} added tokens always stay"
        )
    if left > total:
        raise ValueError(f"left={shown(left)}: {shown(encoding.name)} has {total} tokens: nothing is to be taken out")


def _uses(encoding: Encoding, inputs: Iterable[Any], how: How) -> Counter[int]:
    """How often each id stands in the texts."""
    counts = np.zeros(encoding.max_token_value + 1, np.int64)
    batch: list[Any] = []

    def count() -> None:
        ids, _ = encoding.encode_ragged(batch, disallowed_special=(), errors=how.errors)
        counts[:] += np.bincount(ids, minlength=len(counts))
        batch.clear()

    for text in texts_in(inputs, how):
        batch.append(text)
        if len(batch) == _AT_ONCE:
            count()
    count()
    (used,) = np.nonzero(counts)
    return Counter(dict(zip(used.tolist(), counts[used].tolist())))


def _leaves(encoding: Encoding, table: MergeTable, uses: Counter[int], number: int) -> set[int]:
    """The ids of so many tokens that go."""
    added = set(encoding._added_tokens.values())
    ids = {each.token: each.id for each in table.made}
    parts = {each.id: (ids[each.parts[0]], ids[each.parts[1]]) for each in table.made if each.parts is not None}
    needed = Counter(part for pair in parts.values() for part in pair)
    leaves = [(uses[token], -token) for token in parts if not needed[token] and token not in added]
    leaves += [(uses[token], -token) for token in table.others if token not in added]
    heapq.heapify(leaves)
    gone: set[int] = set()
    while len(gone) < number:
        count, token = heapq.heappop(leaves)
        if count != uses[-token]:  # it has more by now
            heapq.heappush(leaves, (uses[-token], token))
            continue
        gone.add(-token)
        for part in parts.get(-token, ()):
            uses[part] += count
            needed[part] -= 1
            if not needed[part] and part in parts and part not in added:
                heapq.heappush(leaves, (uses[part], -part))
    return gone


# ---- two encodings ----


def merge(first: Encoding, second: Encoding, *, name: str | None = None) -> TrainedEncoding:
    """The tokens of both: the ids of the first stay, and the other tokens of the second get the ids behind them, in the
    order of their merges; special tokens come last.

    A token of the second is merged of the two that the merges before make of its bytes. Where these leave more than
    two, those in between are new tokens, too, from left to right: so the bytes of each token of both become this token.

    Args:
        first: as for extend().
        second: another one, with the same pattern.
        name: of the encoding that is returned; the name of the first by default.

    Raises:
        ValueError: an encoding of another model; patterns or normalizers that differ; a special token of one that is an
            ordinary one of the other; more tokens than a vocabulary may have.
    """
    table, other = MergeTable(first), MergeTable(second)
    if first._split != second._split or repr(first._normalizer) != repr(second._normalizer):
        raise ValueError(
            f"{shown(first.name)} and {shown(second.name)} split or normalize texts in different ways, so that "
            "tokens of one would lie across pieces of the other: train both with one pattern"
        )
    special = _further_names(first, second, table, other)
    made, between = _joined(table, other, first.max_token_value + 1)
    after = max(each.id for each in made) if len(made) > len(table.made) else first.max_token_value
    names = {text: after + 1 + i for i, text in enumerate(special)}
    if len(made) + len(table.others) > MAX_ENTRIES:
        raise ValueError(
            f"together they have {len(made)} tokens, more than the {MAX_ENTRIES} that a vocabulary may have"
        )
    facts = {"streamtok": __version__, "merged_of": [first.name, second.name], "between": between}
    return with_tokens(first, table.others, made, name=name, training=facts, special_tokens=names)


def _further_names(first: Encoding, second: Encoding, table: MergeTable, other: MergeTable) -> list[str]:
    """The special tokens of the second alone."""
    for encoding, ordinary in ((first, other), (second, table)):
        known = {each.token for each in ordinary.made}
        for text in encoding._added_tokens:
            if text.encode() in known:
                raise ValueError(
                    f"{shown(text)} is a special token of {shown(encoding.name)} alone: rename one of the two"
                )
    names = [text for text in second._added_tokens if text not in first._added_tokens]
    if names and first._model is not None:
        raise ValueError(
            f"{shown(names[0])} is an added token of {shown(second.name)} alone, and {shown(first.name)} is of a "
            "model's file: add it there first"
        )
    return names


def _joined(table: MergeTable, other: MergeTable, free: int) -> tuple[list[Merged], int]:
    """The tokens of both, and how many are those of neither."""
    made = list(table.made)
    pieces = _Pieces(table)
    for each in other.made:
        parts = pieces.of(each.token)
        whole, *rest = parts
        for part in rest:
            pair = whole, part
            whole += part
            made.append(Merged(whole, free, pair))
            pieces.add(pair)
            free += 1
    tokens = {each.token for each in (*table.made, *other.made)}
    return made, sum(each.token not in tokens for each in made)


class _Pieces:
    """Bytes as tokens, by merges that grow."""

    def __init__(self, table: MergeTable) -> None:
        self._ranks = {each.parts: rank for rank, each in enumerate(table.made) if each.parts is not None}
        self._next = len(table.made)

    def add(self, pair: tuple[bytes, bytes]) -> None:
        self._ranks[pair] = self._next
        self._next += 1

    def of(self, data: bytes) -> list[bytes]:
        parts = [data[i : i + 1] for i in range(len(data))]
        while len(parts) > 1:
            ranks = [self._ranks.get(pair, self._next) for pair in pairwise(parts)]
            best = min(ranks)
            if best == self._next:
                break
            at = ranks.index(best)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        return parts
