"""Going on with the vocabulary of an encoding: further tokens from text, by its own pattern or across words."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from .._batch import threads_for
from ..bundled.packed import MAX_ENTRIES
from ..core import Encoding
from ..errors import short_file_names, shown, warn_user
from .encoding import TrainedEncoding
from .inputs import How, open_inputs
from .merges import Base, Merged, MergeTable, with_tokens
from .options import check_memory, make_options
from .parity import Parity, run_of
from .report import texts_in
from .run import Progress

SUPERWORDS = r"\p{N}{1,3}|[^\p{N}\r\n]+|[\r\n]+"
"""How text is split where tokens may hold several words: at the ends of lines, and numbers by three digits."""


@short_file_names
def extend(
    encoding: Encoding,
    sources: Any,
    added: int,
    *,
    min_frequency: int = 0,
    ties: str = "lexicographic",
    threads: int | None = None,
    max_memory: int | None = None,
    max_token_length: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], object] | None = None,
    documents: str | None = None,
    key: str = "text",
    errors: str = "strict",
    name: str | None = None,
    column: str | None = None,
    nulls: str = "error",
    weights: Mapping[str, float] | None = None,
    temperature: float | None = None,
    parity: Parity | bool = False,
) -> TrainedEncoding:
    """Learn further tokens for an encoding: the ids of before stay, and so do the merges, in front of the new ones.

    Text is split by the encoding's pattern and encoded with its tokens; from there on pairs are merged as train() does
    it. New tokens get the ids behind the greatest one in use, that of a special token too.

    Args:
        encoding: of BPE over bytes: a trained or a bundled one, or one of a model's file (Encoding.from_file).
        sources: as for train(). Special and added tokens of the encoding are cut out of the text.
        added: how many tokens are to be learned. Fewer, with a warning, where the text has no more merges.
        name: of the encoding that is returned; the name of the first by default.
        min_frequency, ties, threads, max_memory, max_token_length, checkpoint, progress, documents, key, errors,
            column, nulls, weights, temperature, parity: as for train(). With ties="huggingface" the order of merges
            stands for that of ids. A vocabulary of train() that is extended with parity is the hybrid form of that.

    Returns:
        The encoding with all tokens, for save().

    Raises:
        ValueError: an encoding of another model; arguments that are refused, as by train().
        UnicodeDecodeError, OSError, ResumeError, VocabularyError, KeyboardInterrupt: as train().
    """
    given = {"min_frequency": min_frequency, "ties": ties, "max_token_length": max_token_length}
    given |= {"documents": documents, "key": key, "errors": errors, "column": column, "nulls": nulls}
    given |= {"weights": weights, "temperature": temperature, "parity": parity}
    run = _Growth(encoding, sources, added, given, threads, max_memory, checkpoint, progress)
    return run.result(name)


@short_file_names
def superwords(
    encoding: Encoding,
    sources: Any,
    added: int,
    *,
    pattern: str | None = SUPERWORDS,
    max_words: int | None = 4,
    sample: float = 1.0,
    seed: int = 0,
    min_frequency: int = 0,
    ties: str = "lexicographic",
    threads: int | None = None,
    max_memory: int | None = None,
    max_token_length: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], object] | None = None,
    documents: str | None = None,
    key: str = "text",
    errors: str = "strict",
    name: str | None = None,
    column: str | None = None,
    nulls: str = "error",
    weights: Mapping[str, float] | None = None,
    temperature: float | None = None,
) -> TrainedEncoding:
    """The second stage of SuperBPE (Liu et al. 2025): further tokens that may hold several words.

    As extend(), with another pattern, which the encoding that is returned has, too. Text is encoded with the tokens of
    the first stage by this pattern, and merging goes on from there.

    Args:
        encoding: what train() returned, with as many tokens as the first stage is to have.
        sources: as for train(), most often those of the first stage.
        added: how many tokens are to be learned.
        pattern: what splits text from now on. By default lines, and numbers of up to three digits. Shorter pieces, as
            sentences, stand more often in a text and take less memory. None: texts are not split.
        max_words: words that a new token may have, those that it has only parts of too; None: any number. Words are
            runs of bytes that are no ASCII white space.
        sample: the share of distinct pieces that are learned from, chosen by their CRC-32 and `seed`, where all of them
            do not fit in memory. The saved vocabulary says it.
        seed: from 0 to 2**64 - 1.
        name, min_frequency, ties, threads, max_memory, max_token_length, checkpoint, progress, documents, key, errors,
            column, nulls, weights, temperature: as for extend().

    Raises:
        ValueError: as extend(); an encoding of a model's file, whose pattern stays as it is.
        UnicodeDecodeError, OSError, ResumeError, VocabularyError, KeyboardInterrupt: as train().
    """
    if encoding._model is not None:
        raise ValueError(
            f"{shown(encoding.name)} is of a model's file, whose pattern stays: begin with what train() gives"
        )
    if max_words is not None and max_words < 1:
        raise ValueError(f"max_words={shown(max_words)}: a token has at least 1 word; None means any number")
    if not 0 < sample <= 1:
        raise ValueError(f"sample={shown(sample)}: write the share of pieces to learn from, above 0 and up to 1")
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"seed={shown(seed)}: write a number from 0 to 2**64 - 1")
    given = {"min_frequency": min_frequency, "ties": ties, "max_token_length": max_token_length}
    given |= {"documents": documents, "key": key, "errors": errors, "column": column, "nulls": nulls}
    given |= {"weights": weights, "temperature": temperature, "parity": False}
    stage = pattern, max_words, (sample, seed)
    run = _Growth(encoding, sources, added, given, threads, max_memory, checkpoint, progress, *stage)
    return run.result(name)


class _Growth:
    """A Run from the tokens of an encoding. pattern: another one than the encoding's."""

    def __init__(
        self,
        encoding: Encoding,
        sources: Any,
        added: int,
        given: dict[str, Any],
        threads: int | None,
        max_memory: int | None,
        checkpoint: Any,
        progress: Any,
        pattern: Any = ...,
        max_words: int | None = None,
        sample: tuple[float, int] = (1.0, 0),
    ) -> None:
        check_memory(max_memory)
        self.encoding, self.pattern, self.added = encoding, pattern, added
        self.table = MergeTable(encoding)
        _check_added(encoding, self.table, added)
        parity = given.pop("parity")
        weighing = {name: given.pop(name) for name in ("weights", "temperature")}
        options = make_options(
            pattern=None if pattern is ... else pattern, special_tokens=(), initial_alphabet=None, **given
        )
        base = Base(encoding, self.table, max_words, sample)
        names = tuple(encoding._added_tokens)
        options = replace(options, special_tokens=names, alphabet=base.alphabet)
        if pattern is ...:
            options = replace(options, pat_str=encoding._split)
        if encoding._normalizer is not None:
            if checkpoint is not None:
                raise ValueError(
                    f"{shown(encoding.name)} normalizes texts, and a run does not go on inside one: "
                    "leave out checkpoint="
                )
            if isinstance(sources, Mapping):
                sources = {name: _normalized(encoding, each, given) for name, each in sources.items()}
            else:
                sources = _normalized(encoding, sources, given)
        count = threads_for(1 << 16 if threads is None else threads)
        kept = {"max_memory": max_memory, "checkpoint": checkpoint, "base": base}
        self.run = run_of(sources, base.count + added, options, count, progress, parity, **kept, **weighing)

    def result(self, name: str | None) -> TrainedEncoding:
        trainer, facts = self.run.run()
        first = self.encoding.max_token_value + 1
        news = range(trainer.given, trainer.count)
        if len(news) < self.added:
            warn_user(f"the text has no more than {len(news)} merges: so many tokens are new, not {self.added}")
        known = {data: token for token, data in self.table.others.items()} if self.encoding._model is not None else {}
        made = list(self.table.made)
        for number in news:
            left, right = map(trainer.token, trainer.merge(number))
            made.append(Merged(left + right, known.get(left + right, first), (left, right)))
            first += left + right not in known
        facts["grown_from"] = {"name": self.encoding.name, "tokens": len(self.table.made), **self.run.base_facts}
        return with_tokens(self.encoding, self.table.others, made, name=name, training=facts, pat_str=self.pattern)


def _check_added(encoding: Encoding, table: MergeTable, added: int) -> None:
    if isinstance(added, bool) or not isinstance(added, int):
        raise TypeError(f"added is of type {type(added).__name__}: write an int")
    if added < 1:
        raise ValueError(f"added={shown(added)}: write how many tokens are to be learned, 1 or more")
    most = MAX_ENTRIES - len(table.made) - len(table.others)
    if added > most:
        raise ValueError(f"added={shown(added)} is above {most}, the most that {shown(encoding.name)} has room for")


def _normalized(encoding: Encoding, sources: Any, given: dict[str, Any]) -> Iterator[str]:
    """Whole texts, normalized as the encoding does it."""
    how = How(given["documents"], given["key"], given["errors"], column=given["column"], nulls=given["nulls"])
    texts = texts_in(open_inputs(sources), how)
    normalize = encoding._normalizer.normalize  # type: ignore[union-attr]

    return (normalize(text if isinstance(text, str) else str(text, "utf-8", how.errors)) for text in texts)
