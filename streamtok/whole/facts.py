"""Methods of class Encoding: what it says of its tokens, and the private names of tiktoken that programs use."""

from __future__ import annotations

from ..errors import QUOTED, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

    from .._protocols import Encoding, Places


def encode_single_token(self: Encoding, text_or_bytes: str | bytes) -> int:
    """The id of a text that is a single token, special tokens included.

    Args:
        text_or_bytes: the text, or the bytes, of the token.

    Raises:
        KeyError: it is no token.
    """
    data = text_or_bytes.encode("utf-8") if isinstance(text_or_bytes, str) else text_or_bytes
    token = self._vocab.find(data)
    if token is None:
        try:
            return self._added_tokens[data.decode()]
        except (KeyError, UnicodeDecodeError):
            raise KeyError(data if len(data) <= QUOTED else shown(data)) from None
    return token


def token_byte_values(self: Encoding) -> list[bytes]:
    """The bytes of all ordinary tokens, in lexicographic order."""
    return list(self._sorted_tokens)


def is_special_token(self: Encoding, token: int) -> bool:
    """Whether this is the id of a special token. AssertionError, as in tiktoken: it is no int."""
    if not isinstance(token, int):
        raise AssertionError(f"a token is an int, got {type(token).__name__}")  # tiktoken's type of error
    return token in self._special_token_values


def get_vocab(self: Encoding) -> dict[str, int]:
    """All tokens with their ids, by the names that get_vocab() of tokenizers and transformers gives them.

    A model's file has the names. Where it writes bytes in GPT-2's letters, and for encodings that come from no such
    file, a name has one letter for each byte: " a" is "Ġa". Special and added tokens are named by their texts. For
    tokens as bytes see token_table().

    >>> enc.get_vocab()["Ġworld"]
    2375
    """
    model = self._model
    if model is not None:
        added = {token.content: token.id for token in model.parts.added}
        ids = set(added.values())
        return {name.decode(): token for token, name in model.names().items() if token not in ids} | added
    from ..bundled.gpt2_files import in_letters

    return {in_letters(data): token for data, token in self._packed.to_dict().items()} | self._special_tokens


def with_longest_match(encoding: Encoding, kind: Any) -> Any:
    """Encoding.with_longest_match(). kind: the class Encoding."""
    name = f"{encoding.name} by longest match"
    packed = encoding._kind.by_longest_match(encoding._packed)
    if packed is encoding._packed:
        return encoding
    if encoding._model is not None:
        model = encoding._model.with_vocabulary(packed)
        return kind.__new__(kind)._become(model=model, name=name, engine=encoding._engine)
    given = {"mergeable_ranks": packed, "special_tokens": encoding._special_tokens, "engine": encoding._engine}
    return kind(name, pat_str=encoding._pat_str, **given, **kind._extras(encoding))


def compile_to(self: Encoding, path: str | os.PathLike[str], *, words: bool = True) -> None:
    """Writes the encoding as one file, whole or not at all, that from_file() opens in some milliseconds, and that
    programs in C and other languages open (docs/c_api.md): tables, pattern, special tokens, normalizer, decoder,
    template.

    Args:
        path: the file to write; its name should end in .stm.
        words: whether its tables have frequent words, too, which makes encoding some percent faster, and the file some
            megabytes longer. Ids do not depend on it.

    Raises:
        VocabularyError: the encoding is one that only this package can use: its pattern goes through the package
            regex, or its model was added by this program.
        OSError: the file cannot be written.
    """
    from ..model_files.compiled import compile_encoding

    compile_encoding(self, path, words)


def setting_of_file(encoding: Encoding, name: str) -> dict[str, Any] | None:
    """A copy of "truncation" or "padding" of a model's file; None where it has none."""
    found = None if encoding._model is None else getattr(encoding._model.parts, name)
    return None if found is None else dict(found)


def _encode_single_piece(self: Encoding, text_or_bytes: str | bytes) -> list[int]:
    """The ids of bytes taken as one piece: no split, no special tokens."""
    data = text_or_bytes.encode("utf-8") if isinstance(text_or_bytes, str) else bytes(text_or_bytes)
    return self._coder.encode_piece(data)


def _encode_by_merging(self: Encoding, data: bytes) -> list[int]:
    """The ids of bytes by merging alone: not even a token is looked up as a whole."""
    return self._vocab.merge(data)


def _encode_only_native_bpe(self: Encoding, text: str) -> list[int]:
    return self.encode_ordinary(text)


def _encode_bytes(self: Encoding, text: bytes) -> list[int]:
    from .unstable import encode_bytes

    return encode_bytes(self, text)


def mergeable_ranks(self: Encoding) -> dict[bytes, int]:
    return self._packed.to_dict()


def sorted_tokens(self: Encoding) -> list[bytes]:
    return sorted(self._packed.tokens() if self._packed.is_ranked else self._packed.to_dict())


def token_lengths(self: Encoding) -> Places:
    """Bytes of each token, by id; 0 where there is none."""
    import numpy as np

    lengths = np.zeros(self.max_token_value + 1, np.int64)
    ids = np.asarray(self._packed.ranks)
    seen = ids <= self.max_token_value  # others are none that a caller sees (bundled/characters.py)
    lengths[ids[seen]] = np.fromiter(self._packed.lengths, np.int64)[seen]
    for name, token in self._added_tokens.items():
        lengths[token] = len(name.encode())
    return lengths


# As SECONDS of patterns/splitter.py, which is not imported before there is such a pattern.
PATTERN_SECONDS = 30.0


def extras(self: Encoding) -> dict[str, Any]:
    """Arguments that the constructor takes besides those that every encoding has: for pickles. A subclass in this
    package may have others."""
    found: dict[str, Any] = {}
    if self._pattern_seconds != PATTERN_SECONDS:
        found["pattern_seconds"] = self._pattern_seconds
    if self._normalizer is not None:
        found["normalizer"] = self._normalizer.steps
    if any(settings := (self.truncation, self.padding)):  # the identity has them, ids do not
        found["rows"] = settings
    if self._model is not None and self._chat_kept is not None:
        found["chat"] = self._chat_kept
    return found
