"""Which tables split a text where one may not do: the stages of a pre_tokenizer, and what is done to their pieces."""

from __future__ import annotations

from ..patterns import table_of
from ..patterns.compiled import NotCompilable
from ..patterns.compose import ByteLevel, Groups, Split, Stage, UnicodeScripts, byte_rules, compose
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


_MOST_TRIES = 8
"""Places where stages are divided between two tables, which are tried from the last one on: each takes a fifth of a
second at most."""


def pieces_of(field: Field, stages: tuple[Stage, ...]) -> tuple[Normalizer, ...]:
    """Stages whose pieces something is done to. VocabularyError: they have no tables."""
    made, last = divided(field, (), stages)
    return (*made, Pieces(last)) if table_of(last) is not None else made


def divided(field: Field, made: tuple[Normalizer, ...], stages: tuple[Stage, ...]) -> Splitting:
    """The same stages, or, where one table would need too much, several groups of which each splits the pieces of the
    one in front. VocabularyError: none will do."""
    try:
        groups, last = _tables(stages)
    except ValueError as error:
        raise field.refused(f"text cannot be split so: {error}") from None
    return (*made, *groups), last


def _tables(stages: tuple[Stage, ...]) -> tuple[list[Pieces], tuple[Stage, ...]]:
    """Groups of stages that have tables, and the last one. ValueError: there are none, and why."""
    counted = next((at for at, stage in enumerate(stages) if isinstance(stage, Groups)), None)
    if counted is not None:
        return _with_groups(stages, counted)
    byte_rules(stages)
    splitting = [at for at, stage in enumerate(stages) if not isinstance(stage, ByteLevel) or stage.use_regex]
    scripts = [at for at in splitting if isinstance(stages[at], UnicodeScripts)]
    if scripts and len(splitting) > 1:  # it tells so many characters apart that its table is large by itself
        at = scripts[0] if scripts[0] > splitting[0] else splitting[1]
        return _apart(stages, at)
    error = _refusal(stages)
    if error is None:
        return [], stages
    levels = [at for at, stage in enumerate(stages) if isinstance(stage, ByteLevel)]
    most = min([len(stages) - 1, *levels])
    for at in range(most, max(0, most - _MOST_TRIES) if isinstance(error, NotCompilable) else most, -1):
        if _refusal(stages[:at]) is None and table_of(stages[:at]) is not None:
            return _apart(stages, at)
    raise error


def _apart(stages: tuple[Stage, ...], at: int) -> tuple[list[Pieces], tuple[Stage, ...]]:
    """The groups of the first `at` stages, and those of the others."""
    before, last = _tables(stages[:at])
    behind, rest = _tables(stages[at:])
    return [*before, Pieces(last), *behind], rest


def _with_groups(stages: tuple[Stage, ...], at: int) -> tuple[list[Pieces], tuple[Stage, ...]]:
    """Stages of which that with number `at` counts characters: those up to it, and those behind it."""
    groups = stages[at]
    assert isinstance(groups, Groups)
    error = _refusal((*stages[:at], Split(groups.pattern)))
    if error is not None:
        raise error
    behind, rest = _tables(stages[at + 1 :])
    return [GroupedPieces(stages[:at], groups), *behind], rest
