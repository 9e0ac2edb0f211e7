"""What an encoding says of its tokens and of itself, and the private names of tiktoken that programs use."""

from __future__ import annotations

from ..errors import QUOTED, shown
from ..native.steps import lazy
from ..patterns.engine import engine_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..bundled.packed import PackedVocabulary
    from ..native.vocab import Vocab
    from ..patterns import Split
    from ..protocols import Encoding, TextCoder


class Facts:
    """The part of class Encoding (core.py) that encodes no text."""

    max_token_value: int
    _added_tokens: dict[str, int]
    _coder: TextCoder
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
