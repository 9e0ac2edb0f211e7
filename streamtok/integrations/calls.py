"""What _encode_plus of a fast tokenizer of transformers returns, made with an Engine."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from transformers import BatchEncoding
from transformers.tokenization_utils_base import PaddingStrategy, TruncationStrategy

from . import inputs as limits
from .engine import Unserved
from .inputs import ONE_SHORT, check_inputs, encode
from .late import LateEncodings, Settings
from .state import reading

if TYPE_CHECKING:
    from .engine import Engine
    from .rows import Rows
    from .state import State


def encoded(
    tokenizer: Any,
    state: State,
    text: Any,
    text_pair: Any = None,
    add_special_tokens: bool = True,
    padding_strategy: Any = None,
    truncation_strategy: Any = None,
    max_length: int | None = None,
    stride: int = 0,
    is_split_into_words: bool = False,
    pad_to_multiple_of: int | None = None,
    padding_side: str | None = None,
    return_tensors: Any = None,
    verbose: bool = True,
    **wanted: Any,
) -> BatchEncoding:
    """The arguments are those of the original. Unserved: the original has to do it."""
    if wanted.get("sanitize_control_tokens") or wanted.get("return_overflowing_tokens"):
        raise Unserved("return_overflowing_tokens or sanitize_control_tokens")
    splits = wanted.get("split_special_tokens")
    if tokenizer.split_special_tokens if splits is None else splits:
        raise Unserved("split_special_tokens")
    if type(add_special_tokens) is not bool or type(is_split_into_words) is not bool:
        raise Unserved("add_special_tokens or is_split_into_words of another type than bool")
    tensors = _tensors(return_tensors)
    if padding_strategy is None or truncation_strategy is None:
        raise Unserved("no strategies of padding and truncation")
    inputs, is_batched, is_pair = _inputs(text, text_pair, is_split_into_words)
    owner = tokenizer.__dict__

    def set_up() -> Settings:
        tokenizer.set_truncation_and_padding(
            padding_strategy=padding_strategy,
            truncation_strategy=truncation_strategy,
            max_length=max_length,
            stride=stride,
            pad_to_multiple_of=pad_to_multiple_of,
            padding_side=padding_side,
        )
        backend = owner["_tokenizer"]
        if backend.encode_special_tokens:
            backend.encode_special_tokens = False
        return Settings.of(backend)

    offsets = bool(wanted.get("return_offsets_mapping"))
    settings = partial(reading, set_up, locked=True)
    made = encode(state, owner, inputs, is_pair, is_split_into_words, add_special_tokens, settings, offsets)
    rows = made.rows
    if tensors is not None and not rows.width:
        raise Unserved("tensors of rows of different lengths, or of none")
    data = _columns(tokenizer, made.engine, rows, tensors is not None, **wanted)
    if max_length is None and verbose:
        for n in rows.widths[rows.widths > tokenizer.model_max_length].tolist():
            tokenizer._eventual_warn_about_too_long_sequence(range(n), max_length, verbose)
    if tensors is not None:
        data = {name: tensors(column) for name, column in data.items()}
    elif not is_batched:
        data = {name: column[0] if isinstance(column[0], list) else column for name, column in data.items()}
    return BatchEncoding(data, made.late, n_sequences=made.texts)


def single(
    tokenizer: Any,
    state: State,
    text: str,
    is_batch: bool,
    add_special_tokens: bool = True,
    padding_strategy: Any = None,
    truncation_strategy: Any = None,
    return_tensors: Any = None,
    **wanted: Any,
) -> BatchEncoding:
    """One text that is not long, whose cost is the work around it: lists alone, without padding, truncation, offsets.

    is_batch: whether the columns are of a batch of one. Unserved: `encoded`, or the original, has to do it.
    """
    is_plain = padding_strategy is _NO_PADDING and truncation_strategy is _NO_TRUNCATION and return_tensors is None
    if not is_plain or tokenizer.split_special_tokens or type(add_special_tokens) is not bool:
        raise Unserved(ONE_SHORT)
    for name in _MORE:
        if wanted.get(name):
            raise Unserved(ONE_SHORT)
    owner = tokenizer.__dict__
    # The engine counts references to the backend, so none is held before.
    engine = state.quick_engine(owner) if len(text) < limits.SHORT else state.engine(owner)
    backend = owner["_tokenizer"]
    if backend.truncation or backend.padding or backend.encode_special_tokens:
        raise Unserved(ONE_SHORT)
    layout, found = engine.layout(False, add_special_tokens), engine.encode_single(text)
    ids: list[int] = []
    types: list[int] = []
    for part in layout.parts:
        ids += found if part.token is None else (part.token,)
        types += [part.type_id] * (len(ids) - len(types))
    data: dict[str, Any] = {"input_ids": ids}
    if _is_wanted(tokenizer, "token_type_ids", wanted):
        data["token_type_ids"] = types
    if _is_wanted(tokenizer, "attention_mask", wanted):
        data["attention_mask"] = [1] * len(ids)
    if is_batch:
        data = {name: [column] for name, column in data.items()}
    elif len(ids) > tokenizer.model_max_length and wanted.get("verbose", True):
        tokenizer._eventual_warn_about_too_long_sequence(ids, wanted.get("max_length"), True)
    options = {"is_pretokenized": False, "add_special_tokens": add_special_tokens}
    late = LateEncodings(engine, owner, [text], _AS_IT_IS, options)
    return BatchEncoding(data, late, n_sequences=layout.texts)


_AS_IT_IS = Settings(None, None, False)
_NO_PADDING, _NO_TRUNCATION = PaddingStrategy.DO_NOT_PAD, TruncationStrategy.DO_NOT_TRUNCATE

_MORE = (
    "is_split_into_words",
    "return_length",
    "return_offsets_mapping",
    "return_overflowing_tokens",
    "return_special_tokens_mask",
    "sanitize_control_tokens",
    "split_special_tokens",
)
"""Options with which a text is no simple one."""


def _tensors(kind: Any) -> Any:
    """What makes a tensor of an array; None for lists."""
    kind = getattr(kind, "value", kind)
    if kind is None:
        return None
    if kind == "np":
        return lambda array: array
    if kind != "pt":
        raise Unserved("tensors of another kind than pt and np")
    try:
        import torch
    except ImportError:
        raise Unserved("torch is not installed") from None
    return torch.from_numpy


def _inputs(text: Any, pair: Any, is_split: bool) -> tuple[list[Any], bool, bool]:
    """(what encode_batch of the backend takes, whether it is a batch, whether of pairs)."""
    if is_split:
        is_batched = isinstance(text, (list, tuple)) and bool(text) and isinstance(text[0], (list, tuple))
    else:
        is_batched = isinstance(text, (list, tuple))
    if not is_batched:
        inputs: list[Any] = [(text, pair)] if pair else [text]
        is_pair = bool(pair)
    elif pair is None:
        inputs = list(text)
        is_pair = bool(inputs) and _is_pair(inputs[0], is_split)
    else:
        if isinstance(pair, str) or len(text) != len(pair):
            raise Unserved("a batch of pairs of another length")
        inputs, is_pair = list(zip(text, pair)), True
    if not inputs:
        raise Unserved("no texts")
    check_inputs(inputs, is_pair, is_split)
    return inputs, is_batched, is_pair


def _is_pair(value: Any, is_split: bool) -> bool:
    """Whether the first input of a batch is two texts; check_inputs() looks at all."""
    if is_split:
        return type(value) is tuple and bool(value) and type(value[0]) in (list, tuple)
    return type(value) in (list, tuple)


def _is_wanted(tokenizer: Any, name: str, wanted: dict[str, Any]) -> Any:
    """Whether a column is asked for, by its option or by the model."""
    asked = wanted.get(f"return_{name}")
    return name in tokenizer.model_input_names if asked is None else asked


def _columns(tokenizer: Any, engine: Engine, rows: Rows, as_arrays: bool, **wanted: Any) -> dict[str, Any]:
    data = {"input_ids": rows.ids(as_arrays)}
    if _is_wanted(tokenizer, "token_type_ids", wanted):
        data["token_type_ids"] = rows.type_ids(as_arrays)
    if _is_wanted(tokenizer, "attention_mask", wanted):
        data["attention_mask"] = rows.attention_mask(as_arrays)
    if wanted.get("return_special_tokens_mask"):
        data["special_tokens_mask"] = rows.special_tokens_mask(as_arrays)
    if wanted.get("return_offsets_mapping"):
        data["offset_mapping"] = rows.offsets(as_arrays, engine.trim)
    if wanted.get("return_length"):
        data["length"] = rows.lengths(as_arrays)
    return data
