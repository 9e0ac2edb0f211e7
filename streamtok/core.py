"""class Encoding: tiktoken's interface over the core, and what tiktoken lacks."""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet

from . import batch
from . import device as devices
from .bundled.mapped import build_vocabulary, open_vocabulary
from .bundled.packed import PackedVocabulary, load_packed, pack_ranks
from .checks import check_allowed, check_n_vocab, check_special, checked, checked_all, checked_text, index_named
from .decoding import Decoding
from .errors import QUOTED, shown
from .identity import Identified
from .native.encode import ENGINES, ERRORS, Coder
from .native.text import to_utf8
from .native.vocab import Matcher
from .patterns import family_of
from .streaming import Streaming

# As typing's, here and wherever an import of the package comes by: importing it takes as long as loading a vocabulary.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, TypeVar

    import numpy as np
    import numpy.typing as npt

    from .streaming import _AllowedSpecial, _DisallowedSpecial

    _Text = TypeVar("_Text", str, bytes)

# Matchers kept for the sets of special tokens a program uses. Few programs use more than two.
_MATCHERS_KEPT = 64

# Bytes of their names, all together: matchers take up to 33 times as much (csrc/special/names.h). A larger set is kept
# alone.
_MATCHER_BYTES_KEPT = 4 << 20

# As custom.SECONDS, which is not imported before there is such a pattern.
_PATTERN_SECONDS = 30.0


class Encoding(Identified, Decoding, Streaming):
    """A vocabulary, the pattern that splits text into pieces, and special tokens. Immutable; threads share it freely.

    Args:
        name: what repr() and errors call it. Encodings with different special tokens should have different names.
        pat_str: the regex that splits text. The patterns of OpenAI's encodings are recognised and split by hand-written
            scanners; any other goes through the `regex` package with tiktoken's Unicode tables. None: no split, see
            without_pattern().
        mergeable_ranks: token bytes -> rank; lower ranks merge first. All 256 single bytes must be there.
        special_tokens: special token text -> id.
        explicit_n_vocab: if given, the number of tokens, special ones included, and one more than the largest id.
        engine: "fast", or "reference": a linked list and a heap without tables, the oracle of the tests.
        pattern_seconds: processor time that a pattern of one's own may take for a million characters or any shorter
            text, in each call and each feed of a stream; more text has as many times more. A call over it raises
            TimeoutError. None: without a bound.

    Raises:
        VocabularyError: ranks that contradict themselves, a special id that is an ordinary token's too, a wrong
            explicit_n_vocab.
        ValueError: a pattern that does not compile, an unknown engine.
    """

    # What every call asks for is found at once in a slot; a __dict__ that somebody has asked for is searched each time.
    # That is a tenth of the time of a short text.
    __slots__ = ("_coder", "_default_matchers")

    def __init__(
        self,
        name: str,
        *,
        pat_str: str | None,
        mergeable_ranks: dict[bytes, int],
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None = None,
        engine: str = "fast",
        pattern_seconds: float | None = _PATTERN_SECONDS,
    ):
        self._pattern_seconds = pattern_seconds
        self._mergeable_ranks = mergeable_ranks
        self._packed = pack_ranks(mergeable_ranks)
        check_special(self._packed, special_tokens)
        vocab = build_vocabulary(self._packed, special_tokens)
        self._set_up(name, pat_str, vocab, special_tokens, explicit_n_vocab, engine)

    @classmethod
    def _bundled(
        cls,
        name: str,
        pat_str: str,
        vocabulary: str,
        special: dict[str, int],
        n_vocab: int | None,
        engine: str = "fast",
    ) -> Encoding:
        """The same from the tables of a bundled vocabulary: nothing is built, and no dictionary until somebody asks."""
        self = cls.__new__(cls)
        self._vocabulary = vocabulary
        self._set_up(name, pat_str, open_vocabulary(vocabulary, special), special, n_vocab, engine)
        return self

    _vocabulary: str  # the bundled vocabulary that it is made of, if it is

    @functools.cached_property
    def _packed(self) -> PackedVocabulary:
        return load_packed(self._vocabulary)

    @classmethod
    def from_tiktoken(cls, encoding: Any, *, engine: str = "fast") -> Encoding:
        """The same encoding as a tiktoken.Encoding, which need not be a bundled one."""
        return cls(
            encoding.name,
            pat_str=encoding._pat_str,
            mergeable_ranks=encoding._mergeable_ranks,
            special_tokens=encoding._special_tokens,
            engine=engine,
        )

    _warns_without_pattern = True
    _pattern_seconds: float | None = _PATTERN_SECONDS

    def _set_up(
        self,
        name: str,
        pat_str: str | None,
        vocab: Any,
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None,
        engine: str,
    ) -> None:
        self.name, self._pat_str, self._special_tokens = name, pat_str, special_tokens
        if pat_str is None and self._warns_without_pattern:
            warnings.warn(
                f"{shown(name)} has no pattern: texts are merged whole, and ids are not those that a model was "
                "trained on",
                stacklevel=3,
            )
        self._engine, self._vocab = engine, vocab
        self.max_token_value: int = max(vocab.highest_id, max(special_tokens.values(), default=0))
        check_n_vocab(vocab.count + len(special_tokens), self.max_token_value, explicit_n_vocab)
        if engine not in ENGINES:
            raise ValueError(f"unknown engine {shown(engine)}; write one of {', '.join(map(repr, ENGINES))}")
        self._special_token_values = set(special_tokens.values())
        self._coders: dict[str, Any] = {}
        self._coder: Any = self._coder_for("strict")
        self._devices: Any = None  # see device.py
        self._matchers: dict[Any, tuple[Any, Any]] = {}
        self._default_matchers = self._find_matchers(set(), "all")
        self._note()

    def _coder_for(self, errors: str) -> Any:
        """What encodes whole texts with one error mode: the C core, with or without `regex` before it."""
        if errors not in self._coders:
            if errors not in ERRORS:
                raise ValueError(f"unknown errors={shown(errors)}; write one of {', '.join(map(repr, ERRORS))}")
            family = family_of(self._pat_str)
            if family is not None:
                self._coders[errors] = Coder(self._vocab, family, self._engine, errors)
            else:
                from .patterns.coder import PatternCoder

                assert self._pat_str is not None  # that has a family
                self._coders[errors] = PatternCoder(
                    self._vocab, self._pat_str, self._engine, errors, self._pattern_seconds
                )
        return self._coders[errors]

    def _extras(self) -> dict[str, Any]:
        return {} if self._pattern_seconds == _PATTERN_SECONDS else {"pattern_seconds": self._pattern_seconds}

    def without_pattern(self) -> Encoding:
        """The same vocabulary without a split: a text is one piece, merged whole, special tokens apart.

        It is how BlockBPE (You, 2025) tokenizes. The ids are not those that a model was trained on, as a UserWarning
        says: docs/gpu.md has how far they differ.
        """
        other = Encoding.__new__(Encoding)
        if "_vocabulary" in self.__dict__:
            other._vocabulary = self._vocabulary
        else:
            other._packed = self._packed
        name = f"{self.name} without pattern"
        other._set_up(name, None, self._vocab, self._special_tokens, None, self._engine)
        return other

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    # ==== Special tokens ====

    def _find_matchers(self, allowed: _AllowedSpecial, disallowed: _DisallowedSpecial) -> tuple[Any, Any]:
        """Matchers of the allowed and the disallowed names; None where there are none."""
        if allowed == "all":
            allowed = self.special_tokens_set
        check_allowed(allowed, disallowed)
        if disallowed == "all":
            disallowed = self.special_tokens_set - allowed
        key = frozenset(allowed), frozenset(disallowed)
        found: tuple[Any, Any] | None = self._matchers.get(key)  # once: another thread may clear them meanwhile
        if found is None:
            for name in key[0] | key[1]:
                if not isinstance(name, str):
                    raise TypeError(f"special tokens are given by name, as str; got {shown(name)}")
            known = [name for name in self._special_tokens if name in key[0]]
            ids = [self._special_tokens[name] for name in known]
            found = (
                Matcher(known, ids) if known else None,
                Matcher(sorted(key[1])) if key[1] else None,
            )
            size = sum(each.size for pair in (*self._matchers.values(), found) for each in pair if each is not None)
            if len(self._matchers) >= _MATCHERS_KEPT or size > _MATCHER_BYTES_KEPT:
                self._matchers.clear()
            self._matchers[key] = found
        return found

    def _matchers_for(self, allowed: _AllowedSpecial, disallowed: _DisallowedSpecial) -> tuple[Any, Any]:
        if not allowed and disallowed == "all":
            return self._default_matchers
        if not allowed and not disallowed:
            return None, None
        return self._find_matchers(allowed, disallowed)

    # ==== Encoding ====

    def encode_ordinary(self, text: str) -> list[int]:
        """Encodes a string, taking the text of special tokens for ordinary text.

        >>> enc.encode_ordinary("hello world")
        [24912, 2375]
        """
        return self._coder.encode(text, None, None)  # type: ignore[no-any-return]

    def encode(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = set(),
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> list[int]:
        """Encodes a string into ids.

        Text that spells a special token can trick a model when it comes from outside, so by default it is refused.
        `allowed_special` names those to encode as special tokens ("all" for all), `disallowed_special` those to refuse
        ("all": all that are not allowed; (): none, they are then ordinary text).

        >>> enc.encode("hello world")
        [24912, 2375]
        >>> enc.encode("<|endoftext|>", allowed_special="all")
        [199999]

        Raises ValueError when the text holds a disallowed special token. Surrogates that make a pair become its
        character, lone ones U+FFFD.
        """
        allowed, disallowed = self._default_matchers  # no call for them: it would be a fifth of a short text's time
        if allowed_special or disallowed_special != "all":
            allowed, disallowed = self._matchers_for(allowed_special, disallowed_special)
        return self._coder.encode(text, allowed, disallowed)  # type: ignore[no-any-return]

    def encode_to_numpy(
        self,
        text: str | bytes | bytearray | memoryview,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = set(),
        disallowed_special: Literal["all"] | Collection[str] = "all",
        errors: str = "strict",
        num_threads: int = 1,
        device: str = "cpu",
        dtype: npt.DTypeLike | None = None,
        out: npt.ArrayLike | None = None,
    ) -> npt.NDArray[np.uint32]:
        """Encodes a string, or a buffer of UTF-8 bytes, into a read-only uint32 array, as tiktoken's is. See encode().

        dtype: "uint16", "uint32", "int32" or "int64", for a writable array of that; uint32 and int32 take no
        copy. out: an array of one of these, or a tensor in the CPU's memory, that the ids are written to; the
        part that they took is returned. It is as it was where the call raises.

        A text of 512 KB or more is shared out among num_threads threads, up to the number of cores; the ids do not
        depend on it, nor on the device: "cpu", "cuda", "cuda:N", or "auto", the GPU where it is faster (docs/gpu.md).

        Raises ValueError where `out` is too small, and, before any work, where the encoding has larger ids than the
        dtype holds. Raises UnicodeDecodeError for bytes that are not UTF-8, unless errors is "replace" or "ignore", and
        streamtok.gpu.DeviceError where a device asked for by name cannot be used.
        """
        allowed, disallowed = self._default_matchers  # as in encode()
        if allowed_special or disallowed_special != "all":
            allowed, disallowed = self._matchers_for(allowed_special, disallowed_special)
        if dtype is not None or out is not None:
            from .arrays import Wanted

            wanted, both = Wanted(self, dtype, out), (allowed, disallowed)
            if device != "cpu":
                return wanted.take(devices.encode_array(self, device, text, both, errors, num_threads))
            return wanted.take(batch.encode_array(self._coder_for(errors), text, *both, num_threads))
        if device != "cpu":
            return devices.encode_array(self, device, text, (allowed, disallowed), errors, num_threads)  # type: ignore[no-any-return]
        if num_threads == 1 and errors == "strict":
            return self._coder.encode_array(text, allowed, disallowed)  # type: ignore[no-any-return]
        return batch.encode_array(self._coder_for(errors), text, allowed, disallowed, num_threads)

    def encode_with_offsets(
        self,
        text: str,
        *,
        allowed_special: _AllowedSpecial = set(),  # noqa: B006
        disallowed_special: _DisallowedSpecial = "all",
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """(ids, offsets): offsets[i] is the index in `text` of the first character that holds bytes of token i.

        Lone surrogates count as one character, pairs of them as one, too: the text is the one that encode() sees.
        """
        from .offsets import character_offsets, token_sizes

        data = to_utf8(checked(text))
        ids = self.encode_to_numpy(data, allowed_special=allowed_special, disallowed_special=disallowed_special)
        return ids, character_offsets(data, token_sizes(self, data, ids))

    @functools.cached_property
    def _token_lengths(self) -> npt.NDArray[np.int64]:
        """Bytes of each token, by id; 0 where there is none."""
        import numpy as np

        lengths = np.zeros(self.max_token_value + 1, np.int64)
        lengths[np.asarray(self._packed.ranks)] = np.fromiter(self._packed.lengths, np.int64)
        for name, token in self._special_tokens.items():
            lengths[token] = len(name.encode())
        return lengths

    def count(
        self,
        text: str | bytes | bytearray | memoryview,
        *,
        allowed_special: _AllowedSpecial = set(),  # noqa: B006
        disallowed_special: _DisallowedSpecial = "all",
        errors: str = "strict",
        num_threads: int = 1,
    ) -> int:
        """Number of ids that encode() would return. No list is built, and memory does not grow with the text.
        num_threads: as in encode_to_numpy()."""
        allowed, disallowed = self._matchers_for(allowed_special, disallowed_special)
        return batch.count(self._coder_for(errors), text, allowed, disallowed, num_threads)

    def truncate(
        self,
        text: _Text,
        n: int,
        *,
        allowed_special: _AllowedSpecial = set(),  # noqa: B006
        disallowed_special: _DisallowedSpecial = "all",
    ) -> _Text:
        """The longest beginning of `text`, a str or UTF-8 bytes, that encodes to at most n ids and ends between two
        characters: text[:k] with the largest such k. Reads little more of the text than it returns.

        One exception: where a stream has to hold back more than 1,024 bytes, as in blanks without end behind a line
        break (docs/streaming.md), it is a beginning that has at most n ids, and with its next character more.

        A pair of surrogates is one character; lone ones are returned as they are. Of a buffer other than bytes the
        beginning is bytes.

        Raises ValueError for a negative n, and for a disallowed special token in what was read; UnicodeDecodeError for
        bytes that are not UTF-8 there.
        """
        from .truncation import truncate

        options = {"allowed_special": allowed_special, "disallowed_special": disallowed_special}
        return truncate(self, checked_text(text), operator.index(n), options)  # type: ignore[no-any-return]

    def encode_ordinary_batch(self, text: list[str], *, num_threads: int = 8) -> list[list[int]]:
        """Encodes a list of strings on several threads, taking the text of special tokens for ordinary text."""
        return batch.encode_lists(self._coder, checked_all(text), None, None, num_threads)

    def encode_batch(
        self,
        text: list[str],
        *,
        num_threads: int = 8,
        allowed_special: Literal["all"] | AbstractSet[str] = set(),
        disallowed_special: Literal["all"] | Collection[str] = "all",
        device: str = "cpu",
    ) -> list[list[int]]:
        """Encodes a list of strings on several threads; a long string among short ones is shared out, too. See encode()
        for the special tokens, encode_to_numpy() for the device."""
        allowed, disallowed = self._matchers_for(allowed_special, disallowed_special)
        if device != "cpu":
            return devices.encode_lists(self, device, checked_all(text), (allowed, disallowed), num_threads)
        return batch.encode_lists(self._coder, checked_all(text), allowed, disallowed, num_threads)

    def encode_ragged(
        self,
        texts: Iterable[str | bytes],
        *,
        num_threads: int = 8,
        allowed_special: _AllowedSpecial = set(),  # noqa: B006
        disallowed_special: _DisallowedSpecial = "all",
        errors: str = "strict",
        device: str = "cpu",
        dtype: npt.DTypeLike | None = None,
        out: npt.ArrayLike | None = None,
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """(ids, indptr): the ids of all texts in one uint32 array, those of text i at ids[indptr[i]:indptr[i + 1]];
        indptr is int64, of length len(texts) + 1. A TypeError or UnicodeDecodeError names the index of its text.
        device, dtype, out: as in encode_to_numpy(); dtype and out are those of ids."""
        matchers = self._matchers_for(allowed_special, disallowed_special)
        wanted = None
        if dtype is not None or out is not None:
            from .arrays import Wanted

            wanted = Wanted(self, dtype, out)
        with index_named(list(texts)) as several:
            if device != "cpu":
                ids, indptr = devices.encode_ragged(self, device, several, matchers, errors, num_threads)
            else:
                ids, indptr = batch.encode_ragged(self._coder_for(errors), several, *matchers, num_threads)
        return ids if wanted is None else wanted.take(ids), indptr

    def encode_with_unstable(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = set(),
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> tuple[list[int], list[list[int]]]:
        """(stable ids, completions): the ids that stay whatever follows, by tiktoken's approximate rule, and the token
        sequences that the rest of the text could turn into. tiktoken calls this interface unstable itself; for ids that
        provably stay, use stream_encoder().
        """
        from .unstable import encode_with_unstable

        allowed, disallowed = self._matchers_for(allowed_special, disallowed_special)
        return encode_with_unstable(self, checked(text), allowed, disallowed)

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """The id of text that is a single token, special tokens included. Raises KeyError if it is none."""
        data = text_or_bytes.encode("utf-8") if isinstance(text_or_bytes, str) else text_or_bytes
        token = self._vocab.find(data)
        if token is None:
            try:
                return self._special_tokens[data.decode()]
            except (KeyError, UnicodeDecodeError):
                raise KeyError(data if len(data) <= QUOTED else shown(data)) from None
        return token  # type: ignore[no-any-return]

    # ==== Facts ====

    def token_byte_values(self) -> list[bytes]:
        """The bytes of all ordinary tokens, in lexicographic order."""
        return list(self._sorted_tokens)

    @functools.cached_property
    def _sorted_tokens(self) -> list[bytes]:
        return sorted(self._packed.tokens())

    @property
    def eot_token(self) -> int:
        """The id of <|endoftext|>. Raises KeyError if the encoding has none."""
        return self._special_tokens["<|endoftext|>"]

    @functools.cached_property
    def special_tokens_set(self) -> set[str]:
        """The texts of the special tokens."""
        return set(self._special_tokens.keys())

    def is_special_token(self, token: int) -> bool:
        """Is this the id of a special token?"""
        if not isinstance(token, int):
            raise AssertionError(f"a token is an int, got {type(token).__name__}")  # tiktoken's type of error
        return token in self._special_token_values

    @property
    def n_vocab(self) -> int:
        """max_token_value + 1."""
        return self.max_token_value + 1

    # ==== Private: what programs written for tiktoken reach for ====

    @functools.cached_property
    def _mergeable_ranks(self) -> dict[bytes, int]:
        return self._packed.to_dict()

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        """The ids of bytes taken as one piece: no split, no special tokens."""
        data = text_or_bytes.encode("utf-8") if isinstance(text_or_bytes, str) else bytes(text_or_bytes)
        return self._coder.encode_piece(data)  # type: ignore[no-any-return]

    def _encode_by_merging(self, data: bytes) -> list[int]:
        """The ids of bytes by merging alone: not even a token is looked up as a whole."""
        return self._vocab.merge(data)  # type: ignore[no-any-return]

    def _encode_only_native_bpe(self, text: str) -> list[int]:
        return self.encode_ordinary(text)

    def _encode_bytes(self, text: bytes) -> list[int]:
        from .unstable import encode_bytes

        return encode_bytes(self, text)
