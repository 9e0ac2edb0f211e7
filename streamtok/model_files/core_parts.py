"""What a compiled model tells the core besides its vocabulary, in bytes that csrc/compiled/ reads: what splits texts,
the names that are sought, the normalizer, what tokens decode to, the ids around a text.

All of it is numbers of 32 bits, the lowest byte first, and bytes with their number in front. csrc/compiled/compiled.h
has the order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..bundled.packed import to_little_endian
from ..native.matcher import ALONE
from ..native.normal import packed_table
from ..patterns import FAMILIES, char_sets, table_of
from ..patterns.engine import splitter_of
from .decoder_rules import RuleDecoder
from .model import Model

SPECIAL, LATE = 16, 32
"""Flags of a name, beside those of native/matcher.pyx: it is a special token; it is sought in normalized text."""

RUNS, ONCE, OPENS, ENDED = 1, 2, 4, 8
"""Flags of a decoder: see csrc/decoders/rules.h."""

_NONE, _TEXT, _BYTE = range(3)
_NO_ID = 0xFFFFFFFF


class Out:
    """Numbers and bytes, one behind the other."""

    def __init__(self) -> None:
        self.data = bytearray()

    def numbers(self, *values: int) -> Out:
        for value in values:
            self.data += value.to_bytes(4, "little")
        return self

    def row(self, values: Iterable[int]) -> Out:
        """Numbers with how many they are in front."""
        made = list(values)
        return self.numbers(len(made), *made)

    def apart(self, data: bytes) -> Out:
        self.numbers(len(data))
        self.data += data
        return self


def core_parts(encoding: Any) -> bytes:
    """The parts of an Encoding for which the core splits. encoding: as core.py makes it."""
    out = Out().apart(encoding.name.encode(errors="replace"))
    _put_pattern(out, encoding)
    _put_names(out, encoding)
    normalizer = encoding._normalizer
    out.data += bytes(4) if normalizer is None else (1).to_bytes(4, "little") + normalizer.packed()
    _put_decoded(out, encoding)
    out.row(encoding.prefix_ids).row(encoding.suffix_ids)
    _put_rules(out, encoding._rule_decoder)
    return bytes(out.data)


def _put_pattern(out: Out, encoding: Any) -> None:
    splitter = splitter_of(encoding._split)
    assert splitter is not None
    out.apart(splitter.family.encode())
    known = splitter.family in (*FAMILIES, "none")
    out.data += packed_table(None if known else table_of(encoding._split))


def _put_names(out: Out, encoding: Any) -> None:
    model: Model | None = encoding._model
    special = encoding.special_tokens_set
    out.numbers(len(encoding._added_tokens))
    is_alone = False
    for name, token in encoding._added_tokens.items():
        flags, sought = SPECIAL * (name in special), name
        if model is not None:
            known = model.added_names.sought(name)
            flags += known.flags + LATE * known.is_late
            sought, is_alone = known.text, is_alone or bool(known.flags & ALONE)
        out.numbers(token, flags).apart(name.encode()).apart(b"" if sought == name else sought.encode())
    out.row(point for pair in char_sets.perl("w") for point in pair) if is_alone else out.row(())


def _put_decoded(out: Out, encoding: Any) -> None:
    vocab = encoding._vocab
    others = sorted(set(vocab.other_ids()))
    out.numbers(len(others))
    for token in others:
        out.numbers(token).apart(vocab.token_bytes(token))
    out.row(sorted(encoding._decoder.special_ids()))
    by_bytes = encoding._model is None or encoding._model.parts.model.by_bytes
    out.row(() if by_bytes else (_NO_ID if token < 0 else token for token in encoding._model.raw))


# ==== Decoders ====


def _put_rules(out: Out, decoder: RuleDecoder | None) -> None:
    if decoder is None:
        out.numbers(0)
        return
    rules = decoder.rules
    flags = RUNS * rules.has_bytes + ONCE * (rules.once is not None) + OPENS * decoder.opens + ENDED * bool(rules.ended)
    character, most = rules.cut
    out.numbers(1, flags, most).apart(character.encode())
    out.numbers(len(decoder.late))
    for each in decoder.late:
        for part in each:
            out.apart(part)
    (later, kinds), (first, first_kinds) = decoder.tables
    other = [i for i in range(len(later)) if (later[i], kinds[i]) != (first[i], first_kinds[i])]
    _put_table(out, list(range(len(later))), later, kinds)
    _put_table(out, other, first, first_kinds)
    tails = decoder.tails if rules.ended and rules.once is None else []
    out.numbers(sum(map(any, tails)))
    for token, (going_on, last) in enumerate(tails):
        if going_on or last:
            out.numbers(token).apart(going_on).apart(last)


def _put_table(out: Out, ids: list[int], table: list[bytes | None], kinds: bytes) -> None:
    """The ids, the size of the bytes of each, the kind of each; then the bytes."""
    found = [table[token] for token in ids]
    out.apart(to_little_endian(ids)).apart(to_little_endian([0 if each is None else len(each) for each in found]))
    out.apart(bytes(_NONE if text is None else _BYTE if kinds[i] else _TEXT for i, text in zip(ids, found)))
    out.apart(b"".join(each or b"" for each in found))
