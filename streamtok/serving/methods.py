"""The methods of class Encoding that servers use."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from .._protocols import AllowedSpecial, DisallowedSpecial, Encoding, Text, TokenIds
    from .batch_decoder import BatchDecoder
    from .canonical import CanonicalCheck
    from .completions import Completions, TokensByBytes
    from .segments import EncodedSegments
    from .session import Session
    from .token_table import TokenTable


def session(
    self: Encoding,
    text: Text = "",
    *,
    allowed_special: AllowedSpecial = frozenset(),
    disallowed_special: DisallowedSpecial = "all",
    max_bytes: int | None = None,
) -> Session:
    """A text that grows and changes, with its ids: only what is new is encoded. Session has the arguments."""
    from .session import Session

    return Session(
        self,
        text,
        allowed_special=allowed_special,
        disallowed_special=disallowed_special,
        max_bytes=max_bytes,
    )


def batch_decoder(
    self: Encoding, slots: int, *, errors: str = "replace", skip_special_tokens: bool = False
) -> BatchDecoder:
    """Decoders for many texts at once: one call takes the new ids of all of them.

    Args:
        slots: how many texts there are at a time, at least 1.
        errors: "replace" puts U+FFFD in the place of bytes that are not UTF-8, "ignore" leaves them out.
        skip_special_tokens: leave out the ids of special tokens.

    Raises:
        ValueError: slots is below 1, or another value of `errors`.
    """
    from .batch_decoder import BatchDecoder

    return BatchDecoder(self, slots, errors=errors, skip_special_tokens=skip_special_tokens)


def token_table(self: Encoding) -> TokenTable:
    """The bytes, the text and the kind of every id, as arrays; made at the first call and kept. See TokenTable."""
    return self._token_table


def token_strs(self: Encoding, ids: Any) -> Any:
    """The text of each id by itself: a str for one id, a list for a row, lists in lists for more dimensions.

    >>> enc.token_strs([[24912, 2375], [198, 220]])
    [['hello', ' world'], ['\\n', ' ']]

    A token that holds a part of a character has U+FFFD in its place.

    Args:
        ids: an int, a list of ints, lists in lists, or an array or tensor of integers of any number of dimensions.

    Raises:
        KeyError: an unknown id.
        OverflowError: an id below 0 or beyond 32 bits.
        TypeError: other things than integers.
    """
    from .token_table import token_strs

    return token_strs(self._token_table, ids)


def first_difference(
    self: Encoding, ids: Sequence[int] | TokenIds, *, allowed_special: AllowedSpecial = "all"
) -> int | None:
    """Where ids are not what their own text encodes to: the index of the first id that encoding the text of all of
    them would not give; None if there is none. If encoding gives more ids than there are, it is their number.

    The text has U+FFFD in the place of bytes that are no UTF-8, as Encoding.decode gives it.

    Args:
        ids: as for decode().
        allowed_special: special tokens that the text may name. With "all" their ids stand for themselves, and ids
            of ordinary tokens that spell one are a difference.

    Raises:
        KeyError: an unknown id, unless the ids far in front of it differ already; other ids are refused as by
            decode().
    """
    from .canonical import first_difference

    return first_difference(self, ids, allowed_special)


def is_canonical(self: Encoding, ids: Sequence[int] | TokenIds, *, allowed_special: AllowedSpecial = "all") -> bool:
    """Whether encoding the text of these ids gives the same ids. The arguments are those of first_difference()."""
    from .canonical import first_difference

    return first_difference(self, ids, allowed_special) is None


def canonical_check(self: Encoding, *, allowed_special: AllowedSpecial = "all") -> CanonicalCheck:
    """first_difference() for ids that come in parts. See CanonicalCheck."""
    from .canonical import CanonicalCheck

    return CanonicalCheck(self, allowed_special)


def encode_segments(
    self: Encoding, segments: Iterable[tuple[Text, AllowedSpecial]], *, joined: bool = True
) -> EncodedSegments:
    """Encodes a text that is given in segments, each with the special tokens that it may name.

    >>> prompt = [("<|user|>", "all"), (question, set()), ("<|end|>", "all")]
    >>> ids, starts = enc.encode_segments(prompt)

    A name of a special token counts where every segment that holds bytes of it allows it: so none arises where the
    end of one segment meets the beginning of another one that does not allow it. Leftmost names come first, of
    those at one place the longest that counts. All other text is ordinary text; no name is refused.

    Args:
        segments: pairs of a text (a str, or a buffer of UTF-8) and the names of special tokens that are allowed in
            it: a set, or "all". Where segments of bytes are joined, a character may lie in two of them.
        joined: True: the ids of the joined text, in which words and characters may lie across segments; a single
            segment then has the ids of encode(). False: the ids of each segment by itself.

    Raises:
        TypeError: a segment is no pair of text and names.
        ValueError: joined, segments that allow different names, and an encoding whose names take text beside them.
        UnicodeDecodeError: bytes that are not UTF-8.
    """
    from .segments import encode_segments

    return encode_segments(self, segments, joined)


def completions(self: Encoding, ids: Sequence[int] | TokenIds = (), text: Text = "") -> Completions:
    """Where generation has to begin so that the end of a prompt does not decide what its next word is (token
    healing), and which tokens may come first. See Completions.

    >>> found = enc.completions(text="The link is http:")
    >>> enc.decode(found.ids), found.prefix
    ('The link is http', b':')

    Args:
        ids: the prompt; text may follow it.
        text: a str, or a buffer of UTF-8 that may end inside a character. It is ordinary text.

    Raises:
        KeyError: an unknown id; other ids are refused as by decode().
        ValueError: the ids of this encoding do not spell its text: blanks are written as another character, say.
        UnicodeDecodeError: `text` is not UTF-8.
    """
    from .completions import complete

    return complete(self, self._tokens_by_bytes, ids, text)


def made_token_table(self: Encoding) -> TokenTable:
    from .token_table import TokenTable

    return TokenTable.of(self)


def made_tokens_by_bytes(self: Encoding) -> TokensByBytes:
    from .completions import TokensByBytes

    return TokensByBytes.of(self._token_table)
