"""Inputs as encode_batch of a tokenizers.Tokenizer takes them, and the rows that become of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .engine import Unserved
from .late import LateEncodings, Settings
from .rows import Rows, padding_of, truncated

if TYPE_CHECKING:
    from collections.abc import Callable

    from .engine import Engine, Texts
    from .state import State


SHORT = 256
"""Characters of a single text: encoding fewer takes as long in the original, where the work around it counts most."""

SINGLE = 8192
"""Characters of a single text: of fewer, lists are made at once where only these are asked for. As many are looked for
in the cache, if there is one (engine.py)."""

FEW = 12
"""Ids of a row: decoding fewer takes as long in the original."""

FEW_IDS = "few ids, which take as long here"
ONE_SHORT = "one short text, which takes as long here"


def check_inputs(inputs: list[Any], is_pair: bool, is_split: bool) -> None:
    """Unserved: they are not all of one kind: str; lists of str, if is_split; pairs of these, if is_pair."""
    fits = _is_words if is_split else _is_text
    for each in inputs:
        found = type(each) in (list, tuple) and len(each) == 2 and all(map(fits, each)) if is_pair else fits(each)
        if not found:
            raise Unserved("texts that are not all str, or lists of str")


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_words(value: Any) -> bool:
    return type(value) is list and all(map(_is_text, value))


def texts_of(
    engine: Engine, num_threads: int | None, inputs: list[Any], is_pair: bool, is_split: bool, with_offsets: bool
) -> list[Texts]:
    """The ids of the first texts, and of the second ones of pairs."""
    columns = [list(column) for column in zip(*inputs)] if is_pair else [inputs]
    whole = [each for column in columns for each in column]
    if is_split:
        words = [word for each in whole for word in each]
        texts = engine.encode(words, num_threads, with_offsets).joined(list(map(len, whole)))
    else:
        texts = engine.encode(whole, num_threads, with_offsets)
    n = len(inputs)
    return [texts.part(at, at + n) for at in range(0, len(whole), n)]


class Encoded(NamedTuple):
    """What became of inputs. texts: as Encoding.n_sequences says; late: the encodings of tokenizers."""

    engine: Engine
    rows: Rows
    late: LateEncodings
    texts: int


def encode(
    state: State,
    owner: dict[str, Any],
    inputs: list[Any],
    is_pair: bool,
    is_split: bool,
    adds: bool,
    settings: Callable[[], Settings],
    with_offsets: bool = False,
    method: str = "encode_batch",
) -> Encoded:
    """Encodes inputs that check_inputs() has passed. Unserved: the original has to do it.

    Args:
        owner: as for Watch.holds().
        adds: whether the post-processor adds special tokens.
        settings: what reads those of the tokenizer for this call.
        method: the one of tokenizers.Tokenizer that gives these encodings.
    """
    if len(inputs) == 1 and type(inputs[0]) is str and len(inputs[0]) < SHORT:
        raise Unserved(ONE_SHORT)
    engine = state.engine(owner)
    layout = engine.layout(is_pair, adds)
    texts = texts_of(engine, state.num_threads, inputs, is_pair, is_split, with_offsets)
    found = settings()
    rows = Rows(truncated(texts, found.truncation, layout), layout, padding_of(found.padding))
    options = {"is_pretokenized": is_split, "add_special_tokens": adds}
    return Encoded(engine, rows, LateEncodings(engine, owner, inputs, found, options, method), layout.texts)
