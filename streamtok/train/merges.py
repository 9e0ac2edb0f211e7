"""The merges of an encoding as a table, from which training goes on, and encodings with other tokens made of one."""

from __future__ import annotations

import copy
import json
from array import array
from collections.abc import Iterable, Iterator
from itertools import accumulate, compress
from typing import Any, NamedTuple

import numpy as np

from .._batch import encode_ragged
from ..bundled.gpt2_files import in_letters
from ..core import Encoding
from ..errors import shown
from ..model_files.read import read_tokenizer_json
from ..native.checksum import crc32
from ..native.encode import Coder
from ..native.merges import FIRST_FRAGMENT, SILENT
from ..native.trainer import packed, unpacked
from ..patterns.compose import byte_rules
from .encoding import TrainedEncoding

_ROWS = 1 << 14  # records that become tokens at a time


class Merged(NamedTuple):
    """A token, its id, and the two that its merge joins: None for a byte, and for one that no merge makes."""

    token: bytes
    id: int
    parts: tuple[bytes, bytes] | None


class MergeTable:
    """The tokens of an encoding of byte-level BPE, in the order of their merges.

    Attributes:
        made: the 256 bytes, and the tokens that merges make: text becomes these.
        others: ids of further tokens, which no merge makes: a piece may be one as a whole, or nothing is.

    Raises ValueError for an encoding of another model, and for one that lacks bytes.
    """

    def __init__(self, encoding: Encoding) -> None:
        _check(encoding)
        blob, *arrays = encoding._vocab.to_merged()
        lengths, ids, halves = (array("I", data) for data in arrays)
        self.made: list[Merged] = []
        self.others: dict[int, bytes] = {}
        for end, length, token, half in zip(accumulate(lengths), lengths, ids, halves):
            data = blob[end - length : end]
            if half == SILENT or (length > 1 and not half):
                self.others[token] = data
                continue
            self.made.append(Merged(data, token, (data[:half], data[half:]) if half else None))
        lost = sum(each.id >= FIRST_FRAGMENT for each in self.made)
        if lost:
            raise ValueError(
                f"{shown(encoding.name)} has no tokens for {lost} bytes: merges of these could not be told"
            )


def _check(encoding: Encoding) -> None:
    model = encoding._model
    if encoding._kind.name != "bpe" or not (model is None or model.parts.model.by_bytes):
        raise ValueError(
            f"{shown(encoding.name)} is of {encoding._kind.title}, not of BPE over bytes: its tokens are not learned "
            "by these merges; train a vocabulary anew"
        )
    if model is not None and byte_rules(model.stages or ()):
        raise ValueError(
            f"{shown(encoding.name)} splits text behind its ByteLevel: going on from that is not supported"
        )


class Base:
    """What a Trainer goes on from: the tokens of a table by their numbers in the Trainer, and text in these.

    Attributes:
        alphabet: the 256 bytes in the order of their numbers.
        pairs: of each further token the two that it is merged of, left << 32 | right.
        count: tokens in all.
        max_words: as Trainer.limit_words() has it; None: any.
        sample: the share of distinct pieces that are read, and the seed that chooses them.
    """

    def __init__(
        self, encoding: Encoding, table: MergeTable, max_words: int | None = None, sample: tuple[float, int] = (1.0, 0)
    ) -> None:
        singles = [each for each in table.made if each.parts is None]
        merged = _parts_first([each for each in table.made if each.parts is not None])
        self.alphabet = b"".join(each.token for each in singles)
        numbers = {each.token: number for number, each in enumerate((*singles, *merged))}
        pairs = [numbers[left] << 32 | numbers[right] for _, _, (left, right) in merged]  # type: ignore[misc]
        self.pairs = np.array(pairs, np.uint64)
        self.count, self.max_words = len(numbers), max_words
        self._number_of = np.zeros(encoding.max_token_value + 1, np.uint32)
        self._number_of[[each.id for each in singles] + [each.id for each in merged]] = np.arange(self.count)
        self._coder = Coder(encoding._vocab, "none")
        share, self._seed = sample
        self._below = round(share * (1 << 32))  # of CRC-32
        self.facts: dict[str, Any] = {"fingerprint": encoding.fingerprint, "max_words": max_words}
        if share < 1:
            self.facts |= {"sample": share, "seed": self._seed}

    def give_to(self, trainer: Any) -> None:
        """Begin a Trainer with these tokens."""
        trainer.give(self.pairs)
        if self.max_words is not None:
            trainer.limit_words(self.max_words)

    def in_tokens(self, blocks: Iterable[bytes], threads: int, least: int) -> Iterator[bytes]:
        """Records of pieces as records of their tokens, without pieces of less than `least` tokens."""
        for block in blocks:
            at = 0
            while at < len(block):
                pieces, counts, at = self._sampled(*unpacked(block, at, _ROWS))
                ids, starts = encode_ragged(self._coder, pieces, None, None, threads)
                yield packed(self._number_of[ids], starts[1:], counts, least)

    def _sampled(self, pieces: list[bytes], counts: bytes, at: int) -> tuple[list[bytes], bytes, int]:
        """The pieces that are read, and their counts. Which they are does not depend on how the work is divided."""
        if self._below >> 32:
            return pieces, counts, at
        salt = crc32(self._seed.to_bytes(8, "little"))
        keeps = np.array([crc32(piece, salt) < self._below for piece in pieces], bool)
        return list(compress(pieces, keeps)), np.frombuffer(counts, np.uint64)[keeps].tobytes(), at


def _parts_first(merged: list[Merged]) -> list[Merged]:
    """The same in an order in which each token stands behind its parts, as in nearly all files already."""
    waiting = {each.token: each for each in merged}
    ordered: list[Merged] = []
    for each in merged:
        stack = [each]
        while stack:
            behind = [waiting[part] for part in stack[-1].parts or () if part in waiting]
            if behind:
                stack += behind
            elif waiting.pop((last := stack.pop()).token, None):
                ordered.append(last)
    return ordered


def with_tokens(
    encoding: Encoding,
    others: dict[int, bytes],
    made: list[Merged],
    *,
    name: str | None,
    training: dict[str, Any],
    pat_str: Any = ...,
    new_ids: dict[int, int] | None = None,
    special_tokens: dict[str, int] | None = None,
) -> TrainedEncoding:
    """The same encoding with other tokens.

    Args:
        others: by old id, its tokens that no merge makes.
        made: the 256 bytes, and the tokens that merges make, in their order.
        pat_str: another pattern, for an encoding that is not of a model's file.
        new_ids: what its old ids become; one that is not there is dropped. None: they stay. Those of `made` are new
            already.
        special_tokens: further ones, for an encoding that is not of a model's file.
    """
    now = (
        {token: token for token in others}
        if new_ids is None
        else {token: new_ids[token] for token in others if token in new_ids}
    )
    if encoding._model is not None:
        record = _record_with(encoding, made, now, new_ids)
        model = read_tokenizer_json(json.dumps(record, ensure_ascii=False).encode(), encoding.name)
        result = TrainedEncoding.__new__(TrainedEncoding)
        result.training = training
        result._become(model=model, name=name or encoding.name, engine=encoding._engine)
        result._chat_files = encoding._chat_files
        return result
    ranks = {others[old]: token for old, token in now.items()} | {each.token: each.id for each in made}
    special = encoding._special_tokens | (special_tokens or {})
    return TrainedEncoding(
        name or encoding.name,
        pat_str=encoding._pat_str if pat_str is ... else pat_str,
        mergeable_ranks=dict(sorted(ranks.items(), key=lambda item: item[1])),
        special_tokens={
            text: token if new_ids is None else new_ids.get(token, token) for text, token in special.items()
        },
        training=training,
    )


# ---- models of files ----


def _record_with(
    encoding: Encoding, made: list[Merged], others: dict[int, int], new_ids: dict[int, int] | None
) -> dict[str, Any]:
    """The tokenizer.json of a model's encoding, with other tokens. Added tokens are entries of its vocabulary, so that
    their ids do not depend on how many there are."""
    model = encoding._model
    assert model is not None
    record: dict[str, Any] = copy.deepcopy(model.record)
    before = {text: token for token, text, _ in model.listed()}
    added = {token.content: token.id for token in model.parts.added}
    vocab = {text: others[token] for text, token in before.items() if token in others}
    for each in made:
        text = in_letters(each.token)
        if added.get(text, each.id) != each.id and text not in before:
            raise ValueError(f"a new token is written as the added token {shown(text)} is: rename that")
        vocab[text] = each.id
    vocab |= {text: token if new_ids is None else new_ids[token] for text, token in added.items()}
    record["model"]["vocab"] = dict(sorted(vocab.items(), key=lambda item: item[1]))
    record["model"]["merges"] = [[*map(in_letters, each.parts)] for each in made if each.parts is not None]
    if new_ids is not None:
        _renumber(record, new_ids)
    return record


def _renumber(record: dict[str, Any], new_ids: dict[int, int]) -> None:
    for token in record["added_tokens"] or ():
        token["id"] = new_ids[token["id"]]
    _renumber_template(record["post_processor"], new_ids)
    if record["padding"]:
        record["padding"]["pad_id"] = new_ids.get(record["padding"]["pad_id"], record["padding"]["pad_id"])


def _renumber_template(step: Any, new_ids: dict[int, int]) -> None:
    """The ids in a post_processor, as Hugging Face's kinds of it have them."""
    if not step:
        return
    for inner in step.get("processors", ()):
        _renumber_template(inner, new_ids)
    for special in (step.get("special_tokens") or {}).values():
        special["ids"] = [new_ids[token] for token in special["ids"]]
    for end in ("sep", "cls"):
        if end in step:
            step[end][1] = new_ids[step[end][1]]
