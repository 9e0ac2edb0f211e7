"""Fast tokenizers of transformers with this package's engine, and the same output.

>>> from streamtok.integrations.transformers import patch
>>> tokenizer = patch(AutoTokenizer.from_pretrained(name))

What is not served goes to the original; reasons(tokenizer) counts why. docs/integrations.md lists what is served.
"""

from __future__ import annotations

import contextlib
import functools
from functools import partial
from typing import Any, TypeVar

import transformers
from transformers import BatchEncoding, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from ..core import Encoding
from . import inputs
from .calls import encoded, single
from .engine import Unserved
from .prefixes import Prefixes
from .state import State, inside, reading

__all__ = ["engine", "patch", "reasons", "refresh", "serve_decode_streams", "unpatch"]

_T = TypeVar("_T")

_HIDDEN = "_streamtok"
"""The attribute of a patched tokenizer that holds its state."""

_BY_BATCHES = hasattr(PreTrainedTokenizerFast, "_batch_encode_plus")
"""Whether one text is a batch of one, as in transformers 4; later a batch is what one text is."""


def patch(tokenizer: _T, *, num_threads: int | None = 8, trusts: bool = False, cache_bytes: int = 0) -> _T:
    """Gives a tokenizer this package's engine. Every call returns what it returned before; most are faster.

    The object itself changes: it gets a class of the same name that is derived from its own. The engine is made here,
    and again when the tokenizer has changed. Copies and pickles are patched, too. UserWarning, once: the tokenizer is
    not supported, so that the original goes on with all or with some of the work.

    Args:
        tokenizer: a fast tokenizer of transformers, as AutoTokenizer makes it.
        num_threads: threads of this package for a batch, up to the number of cores; None for as many as help.
        trusts: the program promises that it changes added tokens, pre-tokenizer and model through methods of the
            tokenizer alone. Then they are not compared while somebody holds the backend, as servers do.
        cache_bytes: memory of a PrefixCache that it and its copies share; 0: none. What a single text of 8,192
            characters or more has in common with the beginning of an earlier one is not encoded again.

    Returns:
        the tokenizer.

    Raises:
        TypeError: another object, as a slow tokenizer.
        ValueError: num_threads is below 1; cache_bytes is negative.
        ImportError: transformers is older than 4.57.
    """
    _check_version()
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise TypeError(
            f"a {type(tokenizer).__name__} is no fast tokenizer of transformers: those have a tokenizer of the "
            "package tokenizers as their backend_tokenizer"
        )
    if num_threads is not None and num_threads < 1:
        raise ValueError("num_threads must be greater than 0")
    if cache_bytes < 0:
        raise ValueError(f"cache_bytes={cache_bytes} is negative: write how many bytes the cache may hold")
    if not isinstance(tokenizer, Patched):
        original: Any = type(tokenizer)
        tokenizer.__class__ = _patched_class(original)
    prefixes = Prefixes(cache_bytes) if cache_bytes else None
    state = tokenizer.__dict__[_HIDDEN] = State(num_threads, trusts, prefixes=prefixes)
    with contextlib.suppress(Unserved):
        state.engine(tokenizer.__dict__)
        if _encodes_itself(tokenizer):
            state.warn(
                f"{type(tokenizer).__name__} encodes in a way of its own, which is left to it; decoding is served"
            )
    return tokenizer


def _check_version() -> None:
    if tuple(map(int, transformers.__version__.split(".")[:2])) < (4, 57):
        raise ImportError(
            f"transformers {transformers.__version__} calls its tokenizers in ways that were not compared with: "
            "pip install 'transformers>=4.57'"
        )


def unpatch(tokenizer: _T) -> _T:
    """Undoes patch(). A tokenizer that is not patched stays as it is."""
    if isinstance(tokenizer, Patched):
        tokenizer.__class__ = tokenizer._streamtok_original
        tokenizer.__dict__.pop(_HIDDEN, None)
    return tokenizer


def reasons(tokenizer: Any) -> dict[str, int]:
    """How many calls of a patched tokenizer the original has done, by the reason why; "" counts the calls that were
    served. TypeError: it is not patched."""
    return dict(_state_of(tokenizer).counts)


def engine(tokenizer: Any) -> Encoding | None:
    """The Encoding that serves a patched tokenizer; None: the original does all. TypeError: it is not patched."""
    try:
        return _state_of(tokenizer).engine(tokenizer.__dict__).encoding
    except Unserved:
        return None


def serve_decode_streams(tokenizer: Any) -> None:
    """Has tokenizers.decoders.DecodeStream decode with this package where it gets the backend of this tokenizer, for
    programs that look the class up there, as vLLM does. TypeError: it is not patched."""
    from .decode_stream import serve

    serve(tokenizer, _state_of(tokenizer))


def refresh(tokenizer: Any) -> None:
    """Has the engine made anew at the next call. TypeError: it is not patched."""
    _state_of(tokenizer).drop()


def _state_of(tokenizer: Any) -> State:
    found = tokenizer.__dict__.get(_HIDDEN)
    if found is None:
        if not isinstance(tokenizer, Patched):
            raise TypeError(f"this {type(tokenizer).__name__} is not patched: call patch(tokenizer) first")
        found = tokenizer.__dict__[_HIDDEN] = State(8)  # made by a method of its class
    return found  # type: ignore[no-any-return]


class Patched:
    """Stands in front of a tokenizer's class."""

    _streamtok_original: Any

    @property
    def _tokenizer(self) -> Any:
        now = inside()
        if now.is_reading and now.decoding is None:
            return self.__dict__.get("_tokenizer")
        if now.decoding is not None and now.decoding[0] is self:
            return _Decodes(self, now.decoding[1])
        if not now.is_reading and _HIDDEN in self.__dict__:
            self.__dict__[_HIDDEN].hand_out()
        return self.__dict__.get("_tokenizer")

    @_tokenizer.setter
    def _tokenizer(self, backend: Any) -> None:
        self.__dict__["_tokenizer"] = backend

    def __reduce_ex__(self, protocol: Any) -> Any:
        reduced: Any = super().__reduce_ex__(protocol)
        if type(self).__reduce__ is not object.__reduce__:  # of a class that a program has derived from this one
            return reduced
        make, arguments, state, *rest = reduced
        plain = tuple(self._streamtok_original if each is type(self) else each for each in arguments)
        known = _state_of(self)
        own = {**state, _HIDDEN: known.anew()}
        return _revived, (make, plain), own, *rest

    def _add_tokens(self, *arguments: Any, **options: Any) -> Any:
        made = reading(partial(super()._add_tokens, *arguments, **options))  # type: ignore[misc]
        refresh(self)
        return made

    def tokenize(self, *arguments: Any, **options: Any) -> Any:
        return reading(partial(super().tokenize, *arguments, **options), unserved=True)  # type: ignore[misc]

    def decode(self, token_ids: Any, *arguments: Any, **options: Any) -> Any:
        if _are_few(token_ids):
            _state_of(self).counts[inputs.FEW_IDS] += 1
            return reading(partial(super().decode, token_ids, *arguments, **options), unserved=True)  # type: ignore[misc]
        if self._streamtok_original.decode is PreTrainedTokenizerBase.decode:
            try:
                decode = partial(self._decoded_rows, token_ids, *arguments, **options)
                return reading(decode, decoding=(self, True))
            except Unserved:  # the original first makes other lists of some ids
                pass
        return super().decode(token_ids, *arguments, **options)  # type: ignore[misc]

    def _decoded_rows(self, token_ids: Any, *arguments: Any, **options: Any) -> Any:
        if getattr(token_ids, "ndim", 0):
            token_ids = token_ids.tolist()
        if type(token_ids) not in (int, list):
            raise Unserved("")
        if type(token_ids) is list and token_ids and type(token_ids[0]) is list and not _BY_BATCHES:
            return [self._decode(row, *arguments, **options) for row in token_ids]
        return self._decode(token_ids, *arguments, **options)

    def _decode(self, *arguments: Any, **options: Any) -> Any:
        decode = partial(super()._decode, *arguments, **options)  # type: ignore[misc]
        if inside().unserved:
            return decode()
        now = inside().decoding
        return decode() if now is not None and now[0] is self else reading(decode, decoding=(self, False))


def _are_few(ids: Any) -> bool:
    """Whether these are a list of few ids, or lists of few ids on average."""
    if type(ids) is not list:
        return False
    if ids and type(ids[0]) is list and not _BY_BATCHES:
        return all(type(row) is list for row in ids) and sum(map(len, ids)) < inputs.FEW * len(ids)
    return len(ids) < inputs.FEW


class _Decodes:
    """The backend of a tokenizer while it decodes. strict: what is not served raises Unserved."""

    def __init__(self, tokenizer: Any, strict: bool) -> None:
        self._owner, self._strict = tokenizer.__dict__, strict
        self._state = _state_of(tokenizer)

    def decode(self, ids: Any, skip_special_tokens: bool = True) -> str:
        try:
            text = self._state.engine(self._owner).decode(ids, skip_special_tokens)
        except Unserved as error:
            if self._strict:
                raise
            self._state.counts[str(error)] += 1
            return self._owner["_tokenizer"].decode(ids, skip_special_tokens=skip_special_tokens)  # type: ignore[no-any-return]
        self._state.counts[""] += 1
        return text

    def __getattr__(self, name: str) -> Any:
        return getattr(self._owner["_tokenizer"], name)


def _differs(original: Any, *names: str) -> bool:
    return any(getattr(original, name) is not getattr(PreTrainedTokenizerFast, name) for name in names)


def _encodes_itself(tokenizer: Any) -> bool:
    names = ("_convert_encoding",) if _BY_BATCHES else ("_encode_plus", "_convert_encoding")
    return _differs(tokenizer._streamtok_original, *names)


def _served(tokenizer: Any, original: Any, text: Any, text_pair: Any, options: dict[str, Any]) -> Any:
    """A call that encodes. original: what does it where it is not served."""
    state = _state_of(tokenizer)

    def serve() -> Any:
        if inside().unserved or _encodes_itself(tokenizer):
            raise Unserved("another method encodes in a way of its own")
        return encoded(tokenizer, state, text, text_pair, **options)

    return state.served(serve, partial(reading, original, locked=True))


def _single(tokenizer: Any, original: Any, text: Any, is_batch: bool, options: dict[str, Any] | None) -> Any:
    """What becomes of a single text that is not long; None: it has to take the way of all others.

    Args:
        original: what encodes it where it is short, and no simple one.
        options: None: there are arguments without names.
    """
    if type(text) is not str or len(text) >= inputs.SINGLE:
        return None
    state = _state_of(tokenizer)
    if options is not None and not inside().unserved and not _encodes_itself(tokenizer):
        with contextlib.suppress(Unserved):
            made = single(tokenizer, state, text, is_batch, **options)
            state.counts[""] += 1
            return made
    if len(text) >= inputs.SHORT:
        return None
    state.counts[inputs.ONE_SHORT] += 1
    return reading(original, locked=True)


class _InFront(Patched):
    """Of transformers from 5 on. It encodes in front of the tokenizer's class."""

    def _encode_plus(self, text: Any, text_pair: Any = None, *arguments: Any, **options: Any) -> Any:
        above = super()._encode_plus  # type: ignore[misc]
        original = partial(above, text, text_pair, *arguments, **options)
        named = None if arguments else options
        if not text_pair and (made := _single(self, original, text, False, named)) is not None:
            return made
        if arguments:
            return reading(original, unserved=True, locked=True)
        return _served(self, original, text, text_pair, options)


class _Behind(PreTrainedTokenizerFast):  # type: ignore[misc]
    """Of transformers 4. It stands behind the tokenizer's class: those of GPT-2, Whisper and others have methods that
    check something and call the next one."""

    def _batch_encode_plus(self, batch_text_or_text_pairs: Any, *arguments: Any, **options: Any) -> Any:
        above, texts = super()._batch_encode_plus, batch_text_or_text_pairs
        original = partial(above, texts, *arguments, **options)
        named = None if arguments else options
        if len(texts) == 1 and (made := _single(self, original, texts[0], True, named)) is not None:
            return made
        if arguments or type(texts) not in (list, tuple):
            return reading(original, unserved=True, locked=True)
        options.setdefault("split_special_tokens", False)
        return _served(self, lambda: above(texts, **options), texts, None, options)

    def _encode_plus(self, text: Any, text_pair: Any = None, *arguments: Any, **options: Any) -> Any:
        if arguments:
            encode = partial(super()._encode_plus, text, text_pair, *arguments, **options)
            return reading(encode, unserved=True, locked=True)
        made = self._batch_encode_plus([(text, text_pair)] if text_pair else [text], **options)
        if options.get("return_tensors") is None and not options.get("return_overflowing_tokens"):
            columns = made.data.items()
            data = {name: column[0] if column and isinstance(column[0], list) else column for name, column in columns}
            made = BatchEncoding(data, made.encodings, n_sequences=made.n_sequences)  # without it, encodings are made
        verbose = options.get("verbose", True)
        self._eventual_warn_about_too_long_sequence(made["input_ids"], options.get("max_length"), verbose)
        return made


def _quiet(name: str) -> Any:
    """A method or property that reads the backend and hands it to nobody."""

    def get(self: Any) -> Any:
        return reading(lambda: getattr(super(Patched, self), name))

    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        return reading(lambda: getattr(super(Patched, self), name)(*arguments, **options))

    found = getattr(PreTrainedTokenizerFast, name)
    return property(get) if isinstance(found, property) else functools.wraps(found)(call)


for _name in (
    "__len__",
    "_convert_id_to_token",
    "_convert_token_to_id_with_added_voc",
    "added_tokens_decoder",
    "convert_ids_to_tokens",
    "convert_tokens_to_ids",
    "convert_tokens_to_string",
    "get_vocab",
    "num_special_tokens_to_add",
    "save_pretrained",
    "set_truncation_and_padding",
    "vocab_size",
):
    setattr(Patched, _name, _quiet(_name))


@functools.cache
def _patched_class(original: type) -> Any:
    names = {name: getattr(original, name) for name in ("__module__", "__qualname__", "__doc__")}
    bases: tuple[type, ...] = (_InFront, original)
    if _BY_BATCHES:
        bases = (Patched, _Behind) if original is PreTrainedTokenizerFast else (Patched, original, _Behind)
    return type(original.__name__, bases, {**names, "_streamtok_original": original})


def _revived(make: Any, arguments: tuple[Any, ...]) -> Any:
    tokenizer = make(*arguments)
    original: Any = type(tokenizer)
    if not issubclass(original, Patched):
        tokenizer.__class__ = _patched_class(original)
    return tokenizer
