"""What _encode_plus of a fast tokenizer of transformers returns, made with an Engine."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from transformers import BatchEncoding

from .engine import Unserved
from .inputs import check_inputs, encode
from .late import Settings
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


def _columns(tokenizer: Any, engine: Engine, rows: Rows, as_arrays: bool, **wanted: Any) -> dict[str, Any]:
    names = tokenizer.model_input_names
    types, attention = wanted.get("return_token_type_ids"), wanted.get("return_attention_mask")
    data = {"input_ids": rows.ids(as_arrays)}
    if "token_type_ids" in names if types is None else types:
        data["token_type_ids"] = rows.type_ids(as_arrays)
    if "attention_mask" in names if attention is None else attention:
        data["attention_mask"] = rows.attention_mask(as_arrays)
    if wanted.get("return_special_tokens_mask"):
        data["special_tokens_mask"] = rows.special_tokens_mask(as_arrays)
    if wanted.get("return_offsets_mapping"):
        data["offset_mapping"] = rows.offsets(as_arrays, engine.trim)
    if wanted.get("return_length"):
        data["length"] = rows.lengths(as_arrays)
    return data
