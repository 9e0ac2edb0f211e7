"""Which tables split a text where one may not do: the stages of a pre_tokenizer, and what is done to their pieces."""

from __future__ import annotations

from ..patterns import table_of
from ..patterns.compiled import NotCompilable
from ..patterns.compose import ByteLevel, Groups, Split, Stage, byte_rules, compose
from .description import GroupedPieces, Normalizer, Pieces
from .field import Field

Splitting = tuple[tuple[Normalizer, ...], tuple[Stage, ...]]


def _refusal(stages: tuple[Stage, ...]) -> ValueError | None:
    """Why stages have no table; None where they have one, or split nothing."""
    try:
        byte_rules(stages)
        if table_of(stages) is None:
            compose(stages)
    except ValueError as error:
        return error
    return None


def pieces_of(field: Field, stages: tuple[Stage, ...]) -> tuple[Pieces, ...]:
    """Stages whose pieces something is done to. VocabularyError: they have no table."""
    if (error := _refusal(stages)) is not None:
        raise field.refused(f"text cannot be split so: {error}") from None
    return (Pieces(stages),) if table_of(stages) is not None else ()


_MOST_TRIES = 8
"""Places where stages are divided into two tables, which are tried from the last one on: each takes a fifth of a second
at most."""


def divided(field: Field, made: tuple[Normalizer, ...], stages: tuple[Stage, ...]) -> Splitting:
    """The same stages, or, where one table would need too much, two groups of which the second splits each piece of the
    first. VocabularyError: neither will do."""
    counted = [at for at, stage in enumerate(stages) if isinstance(stage, Groups)]
    if counted:
        return _with_groups(field, made, stages, counted[0])
    error = _refusal(stages)
    if error is None:
        return made, stages
    levels = [at for at, stage in enumerate(stages) if isinstance(stage, ByteLevel)]
    most = min([len(stages) - 1, *levels])
    if isinstance(error, NotCompilable) and not any(isinstance(step, Pieces) for step in made):
        for at in range(most, max(0, most - _MOST_TRIES), -1):
            if _refusal(stages[:at]) is _refusal(stages[at:]) is None and table_of(stages[:at]) is not None:
                return (*made, Pieces(stages[:at])), stages[at:]
    raise field.refused(f"text cannot be split so: {error}") from None


def _with_groups(field: Field, made: tuple[Normalizer, ...], stages: tuple[Stage, ...], at: int) -> Splitting:
    """Stages of which that with number `at` counts characters: those up to it, and those behind it."""
    groups = stages[at]
    assert isinstance(groups, Groups)
    error = _refusal((*stages[:at], Split(groups.pattern))) or _refusal(stages[at + 1 :])
    if error is not None:
        raise field.refused(f"text cannot be split so: {error}") from None
    if any(isinstance(step, Pieces) for step in made):
        raise field.refused(
            "characters that are in groups by how many there are, and a blank or a mark in front of each "
            "piece: not supported"
        )
    return (*made, GroupedPieces(stages[:at], groups)), stages[at + 1 :]
