"""Vocabularies whose tokens have scores: the model Unigram (csrc/unigram/rule.h)."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import VocabularyError
from ..native.listing import read_real
from ..native.merges import SILENT
from ..native.model import MOST_SCORED_BYTES, unigram_rule, unigram_scores
from .listed import ListedVocabulary
from .merged import check_sizes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

UNKNOWN_BELOW = 10.0
"""How much less an unknown character scores than the token with the least score."""


class Scored(NamedTuple):
    """Tokens with scores, in the order of their ids, and the rules.

    texts: in UTF-8, joined. lengths, ids, scores: of each; one without text is left out. silent: whether no text
    becomes it. unknown: the place of the unknown token. unknown_score: of an unknown character. of_bytes: the places of
    the tokens of the 256 bytes, -1 for none. single: sums are those of SentencePiece. fallback: unknown characters
    become tokens of bytes.
    """

    texts: bytes
    lengths: npt.NDArray[np.int64]
    ids: npt.NDArray[np.uint32]
    scores: npt.NDArray[np.float64]
    silent: npt.NDArray[np.bool_]
    unknown: int
    unknown_score: float
    of_bytes: Sequence[int]
    single: bool
    fallback: bool


def pack_scored(tokens: Scored, model: str = "") -> ListedVocabulary:
    """The vocabulary of these tokens. model: another one that keeps the same as Unigram (csrc/models/sentence_pairs.c).
    VocabularyError: they are too long, or a score is not finite."""
    import numpy as np

    if len(tokens.texts) > MOST_SCORED_BYTES:
        raise VocabularyError(f"the tokens have more than {MOST_SCORED_BYTES} bytes together; leave out the longest")
    if not np.isfinite(tokens.scores).all():
        raise VocabularyError("a score is no finite number")
    kept = np.nonzero(tokens.lengths)[0]
    places = np.cumsum(tokens.lengths > 0) - 1  # those without text are no tokens of the core
    lengths = array("I", tokens.lengths[kept].tolist())
    check_sizes(tokens.texts, lengths)
    of_bytes = [int(places[place]) if place >= 0 else -1 for place in tokens.of_bytes]
    own = unigram_rule(
        int(places[tokens.unknown]),
        tokens.unknown_score,
        tokens.single,
        tokens.fallback,
        of_bytes,
        tokens.scores[kept].tobytes(),
    )
    ids, model = array("I", tokens.ids[kept].tolist()), model or ("sentencepiece" if tokens.single else "unigram")
    splits = array("I", np.where(tokens.silent[kept], SILENT, 0).tolist())
    return ListedVocabulary(tokens.texts, lengths, ids, splits, model, own)


def scores_of(own: bytes) -> array[float]:
    """The scores of a vocabulary's tokens, in their order."""
    return array("d", unigram_scores(own))


def scored_text(tokens: Iterable[tuple[str, float]]) -> str:
    """Tokens and scores as the JSON of a Unigram's vocab."""
    pairs = (f"[{json.dumps(text, ensure_ascii=False)}, {score_text(score)}]" for text, score in tokens)
    return f"[{', '.join(pairs)}]"


def score_text(score: float) -> str:
    """A number as JSON that serde_json reads as this one (csrc/listing/json.h)."""
    text = repr(score)
    if read_real(text.encode()) == score:
        return text
    tens = 16 - math.frexp(score)[1] * 3 // 10
    for power in range(max(tens - 4, 0), tens + 12):
        digits = abs(score) * 10.0**power
        for near in (digits, math.nextafter(digits, 0.0), math.nextafter(digits, math.inf)):
            text = f"{'-' if score < 0 else ''}{int(near)}e-{power}"
            if read_real(text.encode()) == score:
                return text
    return repr(score)  # never seen
