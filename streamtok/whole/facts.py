"""What an encoding says of its tokens and of itself, and the private names of tiktoken that programs use."""

from __future__ import annotations

from ..errors import QUOTED, shown
from ..native.steps import lazy
from ..patterns.engine import engine_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..bundled.packed import PackedVocabulary
    from ..native.vocab import Vocab
    from ..patterns import Split
    from ..protocols import Encoding, TextCoder


def _copied(settings: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if settings is None else dict(settings)


class Facts:
    """The part of class Encoding (core.py) that encodes no text."""

    max_token_value: int
    _added_tokens: dict[str, int]
    _coder: TextCoder
    _model: Any
    _packed: PackedVocabulary
    _special_token_values: set[int]
    _special_tokens: dict[str, int]
    _split: Split | None
    _vocab: Vocab

    @property
    def pattern_engine(self) -> str:
        """What splits by the pattern: "blocks", which read 64 bytes at a time; "table", a compiled pattern, which reads
        each character once; "regex", the `regex` package, for a pattern that no table can express, which is far slower;
        or "none" without a pattern.
        """
        return engine_of(self._split)

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
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

    def token_byte_values(self) -> list[bytes]:
        """The bytes of all ordinary tokens, in lexicographic order."""
        return list(self._sorted_tokens)

    @lazy
    def _sorted_tokens(self) -> list[bytes]:
        return sorted(self._packed.tokens() if self._packed.is_ranked else self._packed.to_dict())

    @property
    def eot_token(self) -> int:
        """The id of <|endoftext|>. KeyError: the encoding has no such token."""
        return self._special_tokens["<|endoftext|>"]

    @lazy
    def special_tokens_set(self) -> set[str]:
        """The texts of the special tokens."""
        return set(self._special_tokens.keys())

    def is_special_token(self, token: int) -> bool:
        """Whether this is the id of a special token. AssertionError, as in tiktoken: it is no int."""
        if not isinstance(token, int):
            raise AssertionError(f"a token is an int, got {type(token).__name__}")  # tiktoken's type of error
        return token in self._special_token_values

    @property
    def n_vocab(self) -> int:
        """max_token_value + 1: the size of a table with a row for each id, unused ids included."""
        return self.max_token_value + 1

    def get_vocab(self) -> dict[str, int]:
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

    @property
    def truncation(self) -> dict[str, Any] | None:
        """What a model's file says of texts that are too long, as tokenizers.Tokenizer.truncation; None: nothing.

        encode() and streams give all ids of a text all the same. encode_padded() takes it as its default.

        >>> enc.truncation
        {'max_length': 512, 'stride': 0, 'strategy': 'longest_first', 'direction': 'right'}
        """
        return None if self._model is None else _copied(self._model.parts.truncation)

    @property
    def padding(self) -> dict[str, Any] | None:
        """What a model's file says of the length of rows and of pads, as tokenizers.Tokenizer.padding; None: nothing.

        encode_padded() takes it as its default; nothing else pads.
        """
        return None if self._model is None else _copied(self._model.parts.padding)

    # ==== Private names of tiktoken ====

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        """The ids of bytes taken as one piece: no split, no special tokens."""
        data = text_or_bytes.encode("utf-8") if isinstance(text_or_bytes, str) else bytes(text_or_bytes)
        return self._coder.encode_piece(data)

    def _encode_by_merging(self, data: bytes) -> list[int]:
        """The ids of bytes by merging alone: not even a token is looked up as a whole."""
        return self._vocab.merge(data)

    def _encode_only_native_bpe(self: Encoding, text: str) -> list[int]:
        return self.encode_ordinary(text)

    def _encode_bytes(self: Encoding, text: bytes) -> list[int]:
        from .unstable import encode_bytes

        return encode_bytes(self, text)
