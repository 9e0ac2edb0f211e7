"""A tokenizers.Tokenizer with this package's engine: the same methods, the same results.

>>> from streamtok.integrations.tokenizers import Tokenizer
>>> tokenizer = Tokenizer.from_file("tokenizer.json")
>>> tokenizer.encode("hello world").ids

The package tokenizers does what is not served, and all that neither encodes nor decodes. docs/integrations.md says what
is served.
"""

from __future__ import annotations

import functools
from typing import Any

import tokenizers

from .engine import Unserved
from .inputs import check_inputs, check_length, texts_of
from .late import LateEncodings, Settings, backend_lock
from .rows import Rows, padding_of, truncated
from .state import State

__all__ = ["DecodeStream", "Encoding", "Tokenizer"]


class Tokenizer:
    """As tokenizers.Tokenizer. What is not named here is an attribute of that one.

    Args:
        tokenizer: a tokenizers.Tokenizer, which this one shares, or a model, as tokenizers.Tokenizer takes it.
        num_threads: threads of this package for a batch, up to the number of cores; None for as many as there are.
    """

    def __init__(self, tokenizer: Any, *, num_threads: int | None = 8) -> None:
        if num_threads is not None and num_threads < 1:
            raise ValueError("num_threads must be greater than 0")
        found = tokenizer if isinstance(tokenizer, tokenizers.Tokenizer) else tokenizers.Tokenizer(tokenizer)
        self.__dict__["_tokenizer"] = found
        self.__dict__["_state"] = State(num_threads)

    @classmethod
    def from_file(cls, path: str) -> Tokenizer:
        """Of a tokenizer.json."""
        return cls(tokenizers.Tokenizer.from_file(path))

    @classmethod
    def from_str(cls, json: str) -> Tokenizer:
        """Of the text of a tokenizer.json."""
        return cls(tokenizers.Tokenizer.from_str(json))

    @classmethod
    def from_buffer(cls, buffer: bytes) -> Tokenizer:
        """Of the bytes of a tokenizer.json."""
        return cls(tokenizers.Tokenizer.from_buffer(buffer))

    @classmethod
    def from_pretrained(cls, identifier: str, *arguments: Any, **options: Any) -> Tokenizer:
        """Of a model's name, as tokenizers.Tokenizer.from_pretrained."""
        return cls(tokenizers.Tokenizer.from_pretrained(identifier, *arguments, **options))

    @property
    def reasons(self) -> dict[str, int]:
        """How many calls tokenizers has done, by the reason why; "" counts the calls that were served."""
        return dict(self._state.counts)

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Any:
        """An Encoding of a text or of two."""
        inputs = [sequence if pair is None else (sequence, pair)]
        found = self._encoded(inputs, pair is not None, is_pretokenized, add_special_tokens)
        if found is not None:
            return found[0]
        with backend_lock():
            return self._tokenizer.encode(sequence, pair, is_pretokenized, add_special_tokens)

    def encode_batch(self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True) -> list[Any]:
        """An Encoding of each text, or of each pair of texts."""
        return self._encode_batch("encode_batch", input, is_pretokenized, add_special_tokens)

    def encode_batch_fast(
        self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Any]:
        """encode_batch() without offsets: they are all (0, 0)."""
        return self._encode_batch("encode_batch_fast", input, is_pretokenized, add_special_tokens)

    def _encode_batch(self, method: str, input: Any, is_pretokenized: bool, add_special_tokens: bool) -> list[Any]:
        found = None
        if isinstance(input, (list, tuple)):
            is_pair = bool(input) and not is_pretokenized and type(input[0]) in (list, tuple)
            found = self._encoded(list(input), is_pair, is_pretokenized, add_special_tokens, method)
        if found is not None:
            return found
        with backend_lock():
            made: list[Any] = getattr(self._tokenizer, method)(input, is_pretokenized, add_special_tokens)
            return made

    def _encoded(
        self, inputs: list[Any], is_pair: bool, is_split: bool, adds: bool, method: str = "encode_batch"
    ) -> list[Any] | None:
        owner, state = self.__dict__, self._state
        try:
            if not inputs or type(is_split) is not bool or type(adds) is not bool:
                raise Unserved("no texts, or arguments of other types")
            if is_pair and method == "encode_batch_fast":  # has other token types
                raise Unserved("encode_batch_fast of pairs")
            check_inputs(inputs, is_pair, is_split)
            check_length(inputs)
            engine = state.engine(owner)
            layout = engine.layout(is_pair, adds)
            with backend_lock():
                settings = Settings.of(owner["_tokenizer"])
            if settings.encode_special_tokens:
                raise Unserved("encode_special_tokens")
            texts = texts_of(engine, state.num_threads, inputs, is_pair, is_split, False)
            rows = Rows(truncated(texts, settings.truncation, layout), layout, padding_of(settings.padding))
        except Unserved as error:
            state.counts[str(error)] += 1
            return None
        state.counts[""] += 1
        options = {"is_pretokenized": is_split, "add_special_tokens": adds}
        batch = _Batch(rows, LateEncodings(engine, owner, inputs, settings, options, method), layout.texts)
        return [Encoding(batch, i) for i in range(len(inputs))]

    def decode(self, ids: Any, skip_special_tokens: bool = True) -> str:
        """The text of ids."""
        text: str
        try:
            text = self._state.engine(self.__dict__).decode(ids, skip_special_tokens)
        except Unserved as error:
            self._state.counts[str(error)] += 1
            text = self._tokenizer.decode(ids, skip_special_tokens)
        else:
            self._state.counts[""] += 1
        return text

    def decode_batch(self, sequences: Any, skip_special_tokens: bool = True) -> list[str]:
        """The texts of several rows of ids."""
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    def __getattr__(self, name: str) -> Any:
        if name not in _READERS:
            self._state.hand_out()
        return getattr(self.__dict__["_tokenizer"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._state.hand_out()
        setattr(self.__dict__["_tokenizer"], name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return _revived, (self.__dict__["_tokenizer"], self._state)

    def __repr__(self) -> str:
        return repr(self.__dict__["_tokenizer"])


def _revived(tokenizer: Any, state: State) -> Tokenizer:
    return Tokenizer(tokenizer, num_threads=state.num_threads)


_READERS = frozenset(
    ("enable_padding", "enable_truncation", "encode_special_tokens", "get_added_tokens_decoder", "get_vocab")
    + ("get_vocab_size", "id_to_token", "no_padding", "no_truncation", "num_special_tokens_to_add", "padding", "save")
    + ("to_str", "token_to_id", "truncation")
)
"""What neither changes ids nor hands out a part."""


class _Batch:
    """What the encodings of a batch are made of."""

    def __init__(self, rows: Rows, late: LateEncodings, texts: int) -> None:
        self.rows, self.late, self.texts = rows, late, texts

    @functools.cached_property
    def ids(self) -> list[list[int]]:
        return self.rows.ids(False)  # type: ignore[no-any-return]

    @functools.cached_property
    def type_ids(self) -> list[list[int]]:
        return self.rows.type_ids(False)  # type: ignore[no-any-return]

    @functools.cached_property
    def attention_mask(self) -> list[list[int]]:
        return self.rows.attention_mask(False)  # type: ignore[no-any-return]

    @functools.cached_property
    def special_tokens_mask(self) -> list[list[int]]:
        return self.rows.special_tokens_mask(False)  # type: ignore[no-any-return]


class Encoding:
    """As tokenizers.Encoding. What is not named here, that one has, which is made at the first use."""

    __slots__ = ("_batch", "_index", "_own")

    def __init__(self, batch: _Batch, index: int) -> None:
        self._batch, self._index, self._own = batch, index, None

    def _listed(self, name: str) -> list[int]:
        found = getattr(self._batch, name)[self._index] if self._own is None else getattr(self._own, name)
        return list(found)

    @property
    def ids(self) -> list[int]:
        return self._listed("ids")

    @property
    def type_ids(self) -> list[int]:
        return self._listed("type_ids")

    @property
    def attention_mask(self) -> list[int]:
        return self._listed("attention_mask")

    @property
    def special_tokens_mask(self) -> list[int]:
        return self._listed("special_tokens_mask")

    @property
    def n_sequences(self) -> int:
        return self._batch.texts

    def __len__(self) -> int:
        return int(self._batch.rows.widths[self._index]) if self._own is None else len(self._own)

    def _changed(self) -> Any:
        """The one of tokenizers, which counts from now on: methods as pad() change it."""
        if self._own is None:
            self._own = self._batch.late[self._index]
        return self._own

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._changed(), name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _same, (self._changed(),)

    def __repr__(self) -> str:
        return repr(self._changed())


def _same(encoding: Any) -> Any:
    return encoding


_INVALID = "Invalid prefix encountered"


class DecodeStream:
    """As tokenizers.decoders.DecodeStream, for this Tokenizer or any that has decode(ids, skip_special_tokens).

    Args:
        ids: those in front of the first one, as of a prompt.
        skip_special_tokens: as for Tokenizer.decode().
    """

    def __init__(self, ids: Any = None, skip_special_tokens: bool = False) -> None:
        self._ids: list[int] = list(ids or ())
        self._skips = skip_special_tokens
        self._prefix, self._start = "", 0

    def step(self, tokenizer: Any, id: Any) -> str | None:
        """The text that an id, or a list of them, completes; None: none yet. Exception: the text of the ids before has
        become another one."""
        if not self._prefix and self._ids:
            text = tokenizer.decode(self._ids, self._skips)
            if not text.endswith("\ufffd"):
                self._prefix, self._start = text, len(self._ids)
        self._ids += [id] if isinstance(id, int) else id
        text = tokenizer.decode(self._ids, self._skips)
        if len(text.encode()) <= len(self._prefix.encode()) or text.endswith("\ufffd"):
            return None
        if not text.startswith(self._prefix):
            raise Exception(f"{_INVALID} while decoding stream: expected {self._prefix!r}, got {text!r}")
        made = text[len(self._prefix) :]
        start, self._ids = len(self._ids) - self._start, self._ids[self._start :]
        self._prefix, self._start = tokenizer.decode(self._ids, self._skips), start
        return str(made)
