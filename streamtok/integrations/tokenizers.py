"""A tokenizers.Tokenizer with this package's engine: the same methods, the same results.

>>> from streamtok.integrations.tokenizers import Tokenizer
>>> tokenizer = Tokenizer.from_file("tokenizer.json")
>>> tokenizer.encode("hello world").ids

The package tokenizers does what is not served, and all that neither encodes nor decodes. docs/integrations.md says what
is served.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import tokenizers

from ..native.steps import holding
from .engine import Unserved
from .inputs import Encoded, check_inputs, encode
from .late import Settings, backend_lock
from .state import State

__all__ = ["DecodeStream", "Encoding", "Tokenizer"]


class Tokenizer:
    """As tokenizers.Tokenizer. What is not named here is an attribute of that one.

    Args:
        tokenizer: a tokenizers.Tokenizer, which this one shares, or a model, as tokenizers.Tokenizer takes it.
        num_threads: threads of this package for a batch, up to the number of cores; None for as many as help.
    """

    _state: State
    _tokenizer: Any

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
        arguments = sequence, pair, is_pretokenized, add_special_tokens
        return self._state.served(
            lambda: self._encoded(inputs, pair is not None, is_pretokenized, add_special_tokens)[0],
            lambda: holding(backend_lock(), self._tokenizer.encode, *arguments),
        )

    def encode_batch(self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True) -> list[Any]:
        """An Encoding of each text, or of each pair of texts."""
        return self._encode_batch("encode_batch", input, is_pretokenized, add_special_tokens)

    def encode_batch_fast(
        self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Any]:
        """encode_batch() without offsets: they are all (0, 0)."""
        return self._encode_batch("encode_batch_fast", input, is_pretokenized, add_special_tokens)

    def _encode_batch(self, method: str, input: Any, is_pretokenized: bool, add_special_tokens: bool) -> list[Any]:
        call = getattr(self._tokenizer, method)
        original: Any = partial(holding, backend_lock(), call, input, is_pretokenized, add_special_tokens)
        if not isinstance(input, (list, tuple)):
            return original()  # type: ignore[no-any-return]
        is_pair = bool(input) and not is_pretokenized and type(input[0]) in (list, tuple)
        serve = partial(self._encoded, list(input), is_pair, is_pretokenized, add_special_tokens, method)
        return self._state.served(serve, original)

    def _encoded(
        self, inputs: list[Any], is_pair: bool, is_split: bool, adds: bool, method: str = "encode_batch"
    ) -> list[Any]:
        """Encodings of this package. Unserved: tokenizers has to do it."""
        if not inputs or type(is_split) is not bool or type(adds) is not bool:
            raise Unserved("no texts, or arguments of other types")
        if is_pair and method == "encode_batch_fast":  # has other token types
            raise Unserved("encode_batch_fast of pairs")
        check_inputs(inputs, is_pair, is_split)
        batch = _Batch(
            encode(self._state, self.__dict__, inputs, is_pair, is_split, adds, self._settings, False, method)
        )
        return [Encoding(batch, i) for i in range(len(inputs))]

    def _settings(self) -> Settings:
        settings: Settings = holding(backend_lock(), Settings.of, self.__dict__["_tokenizer"])
        if settings.encode_special_tokens:
            raise Unserved("encode_special_tokens")
        return settings

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

        def serve() -> list[str]:
            if type(sequences) not in (list, tuple):
                raise Unserved("rows of ids that are no list")
            engine = self._state.engine(self.__dict__)
            return [engine.decode(ids, skip_special_tokens) for ids in sequences]

        return self._state.served(serve, lambda: list(self._tokenizer.decode_batch(sequences, skip_special_tokens)))

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

    def __str__(self) -> str:
        return str(self.__dict__["_tokenizer"])


def _revived(tokenizer: Any, state: State) -> Tokenizer:
    made = Tokenizer(tokenizer, num_threads=state.num_threads)
    made.__dict__["_state"] = state.anew()
    return made


_READERS = frozenset(
    ("enable_padding", "enable_truncation", "encode_special_tokens", "get_added_tokens_decoder", "get_vocab")
    + ("get_vocab_size", "id_to_token", "no_padding", "no_truncation", "num_special_tokens_to_add", "padding", "save")
    + ("to_str", "token_to_id", "truncation")
)
"""What neither changes ids nor hands out a part."""


class _Batch:
    """What the encodings of a batch are made of: lists of numbers when somebody asks for them."""

    def __init__(self, encoded: Encoded) -> None:
        self.encoded = encoded
        self._made: dict[str, list[list[int]]] = {}

    def listed(self, name: str) -> list[list[int]]:
        """What the method of Rows of this name gives."""
        if name not in self._made:
            self._made[name] = getattr(self.encoded.rows, name)(False)
        return self._made[name]


class Encoding:
    """As tokenizers.Encoding. What is not named here, that one has, which is made at the first use."""

    __slots__ = ("_batch", "_index", "_own")

    def __init__(self, batch: _Batch, index: int) -> None:
        self._batch, self._index, self._own = batch, index, None

    def _listed(self, name: str) -> list[int]:
        found = self._batch.listed(name)[self._index] if self._own is None else getattr(self._own, name)
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
        return self._batch.encoded.texts

    def __len__(self) -> int:
        return int(self._batch.encoded.rows.widths[self._index]) if self._own is None else len(self._own)

    def _changed(self) -> Any:
        """The one of tokenizers, which counts from now on: methods as pad() change it."""
        if self._own is None:
            self._own = self._batch.encoded.late[self._index]
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
        self._skips = skip_special_tokens
        # ids, their text in front, how many have it
        self._now: tuple[tuple[int, ...], str, int] = (tuple(ids or ()), "", 0)

    def step(self, tokenizer: Any, id: Any) -> str | None:
        """The text that an id, or a list of them, completes; None: none yet. Exception: the text of the ids before has
        become another one."""
        ids, prefix, start = self._now
        if not prefix and ids:
            text = self._text(tokenizer, ids)
            if not text.endswith("\ufffd"):
                prefix, start = text, len(ids)
        ids += (id,) if isinstance(id, int) else tuple(id)
        text = self._text(tokenizer, ids)
        if len(text.encode()) <= len(prefix.encode()) or text.endswith("\ufffd"):
            self._now = ids, prefix, start
            return None
        if not text.startswith(prefix):
            self._now = ids, prefix, start
            raise Exception(f"{_INVALID} while decoding stream: expected {prefix!r}, got {text!r}")
        rest = ids[start:]
        self._now = rest, self._text(tokenizer, rest), len(ids) - start
        return text[len(prefix) :]

    def _text(self, tokenizer: Any, ids: tuple[int, ...]) -> str:
        return str(tokenizer.decode(list(ids), self._skips))
