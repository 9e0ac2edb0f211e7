"""What a compiled model tells the core besides its vocabulary, in bytes that csrc/compiled/ reads: what splits texts,
the names that are sought, the normalizer, what tokens decode to, the ids around a text.

All of it is numbers of 32 bits, the lowest byte first, and bytes with their number in front. csrc/compiled/compiled.h
has the order.
"""

from __future__ import annotations

from typing import Any

from ..native.matcher import ALONE
from ..native.normal import packed_table
from ..patterns import FAMILIES, char_sets, table_of
from ..patterns.engine import splitter_of
from .decoder_rules import Out
from .model import Model

SPECIAL, LATE = 16, 32
"""Flags of a name, beside those of native/matcher.pyx: it is a special token; it is sought in normalized text."""

_NO_ID = 0xFFFFFFFF


def core_parts(encoding: Any) -> bytes:
    """The parts of an Encoding for which the core splits. encoding: as core.py makes it."""
    out = Out().apart(encoding.name.encode(errors="replace"))
    _put_pattern(out, encoding)
    _put_names(out, encoding)
    normalizer = encoding._normalizer
    out.data += bytes(4) if normalizer is None else (1).to_bytes(4, "little") + normalizer.packed()
    _put_decoded(out, encoding)
    out.row(encoding.prefix_ids).row(encoding.suffix_ids)
    rules = encoding._rule_decoder
    out.data += bytes(4) if rules is None else (1).to_bytes(4, "little") + rules.packed()
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
