"""Whole texts: the methods of class Encoding that take a text in one call."""

from __future__ import annotations

import functools
import operator

from .. import _batch
from .. import _device as devices
from .._checks import checked, checked_text
from .._stream import in_template
from ..native.text import to_utf8

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    import numpy.typing as npt

    from .._protocols import AllowedSpecial, DisallowedSpecial, Encoding, Ids, Places, Text
    from .pieces import Pieces

    _Method = TypeVar("_Method", bound=Callable[..., Any])
    _StrOrBytes = TypeVar("_StrOrBytes", str, bytes)

_on_threads, _count_on_threads = _batch.encode_array, _batch.count


def _with_few_keywords(encode_to_numpy: _Method) -> _Method:
    """The method, faster where a call gives no keyword, or disallowed_special alone. Python looks up the default of
    each keyword that is left out: eight of them take as long as a tenth of a short text."""

    @functools.wraps(encode_to_numpy)
    def encode(self: Encoding, text: Text, *, disallowed_special: DisallowedSpecial = "all", **others: Any) -> Ids:
        if not others:
            if disallowed_special == "all":
                allowed, disallowed = self._default_matchers
                return self._coder.encode_array(text, allowed, disallowed, _on_threads)
            if not disallowed_special:
                return self._coder.encode_array(text, self._plain, None, _on_threads)
        ids: Ids = encode_to_numpy(self, text, disallowed_special=disallowed_special, **others)
        return ids

    return encode  # type: ignore[return-value]


def encode_ordinary(self: Encoding, text: str) -> list[int]:
    """Encodes a string, taking the text of special tokens for ordinary text.

    >>> enc.encode_ordinary("hello world")
    [24912, 2375]

    Raises:
        TypeError: `text` is no str.
    """
    return self._coder.encode(text, self._plain, None)


def encode(
    self: Encoding,
    text: str,
    # Given by keyword, though nothing says "*": Python looks up the default of each argument that must be, and copies
    # those of the others all at once, which saves a tenth of a short text's time. Their order is not promised.
    allowed_special: AllowedSpecial = set(),  # noqa: B006
    disallowed_special: DisallowedSpecial = "all",
    add_special_tokens: bool = False,
    device: str = "cpu",
) -> list[int]:
    """Encodes a string into ids.

    Text from outside that spells a special token can trick a model, so by default it is refused.

    >>> enc.encode("hello world")
    [24912, 2375]
    >>> enc.encode("<|endoftext|>", allowed_special="all")
    [199999]

    Args:
        text: a str. Surrogates that make a pair become its character, lone ones U+FFFD.
        allowed_special: names of special tokens that become their ids where the text spells them; "all" for all.
        disallowed_special: names that are refused; "all" for all that are not allowed. A name that is neither
            allowed nor refused is ordinary text, so () makes ordinary text of all that are not allowed.
        add_special_tokens: put the ids of the model's template around the ids: prefix_ids and suffix_ids.
        device: "cpu"; "cuda" or "cuda:N", a CUDA device; "auto", the GPU where it is faster. The ids do not depend
            on it.

    Raises:
        ValueError: the text holds a disallowed special token.
        TypeError: `text` is no str, or the names are not given as a set.
        streamtok.gpu.DeviceError: a device asked for by name cannot be used.
    """
    allowed, disallowed = self._default_matchers  # no call for them: it would be a fifth of a short text's time
    if allowed_special or disallowed_special != "all":
        plain = not allowed_special and not disallowed_special  # as in _matchers_for(), which would be another call
        allowed, disallowed = (self._plain, None) if plain else self._matchers_for(allowed_special, disallowed_special)
    if device != "cpu":
        ids = devices.encode_array(self, device, checked(text), (allowed, disallowed), "strict", None)
        made: list[int] = (in_template(ids, self._template) if add_special_tokens else ids).tolist()
        return made
    if add_special_tokens:
        return [*self._template[0], *self._coder.encode(text, allowed, disallowed), *self._template[1]]
    return self._coder.encode(text, allowed, disallowed)


@_with_few_keywords
def encode_to_numpy(
    self: Encoding,
    text: Text,
    *,
    allowed_special: AllowedSpecial = set(),  # noqa: B006
    disallowed_special: DisallowedSpecial = "all",
    add_special_tokens: bool = False,
    errors: str = "strict",
    num_threads: int | None = None,
    device: str = "cpu",
    dtype: npt.DTypeLike | None = None,
    out: npt.ArrayLike | None = None,
) -> Ids:
    """Encodes a string, or a buffer of UTF-8 bytes, into an array of ids, of shape (number of ids,).

    Args:
        text: a str, or any C-contiguous buffer of UTF-8 bytes.
        errors: what to do with bytes that are not UTF-8: "strict" raises UnicodeDecodeError, "replace" and "ignore"
            do what bytes.decode does.
        device: "cpu"; "cuda" or "cuda:N", a CUDA device; "auto", the GPU where it is faster. The ids do not depend
            on it. See docs/gpu.md.
        dtype: "uint16", "uint32", "int32" or "int64", for a writable array of that dtype; uint32 and int32 take no
            copy. None: a read-only uint32 array, as tiktoken returns.
        out: an array of one of these dtypes, or a tensor in the CPU's memory, that the ids are written to; the part
            that they took is returned. Where the call raises it is unchanged.

    Raises:
        ValueError: a disallowed special token; `out` has too little room; before any work, the encoding has larger
            ids than the dtype holds.
        UnicodeDecodeError: bytes that are not UTF-8, with errors="strict".
        TypeError: `text` is neither str nor a buffer; `out` is no array in the CPU's memory.
        streamtok.gpu.DeviceError: a device asked for by name cannot be used.
    """
    allowed, disallowed = self._default_matchers  # as in encode()
    if allowed_special or disallowed_special != "all":
        allowed, disallowed = self._matchers_for(allowed_special, disallowed_special)
    wanted = None
    if dtype is not None or out is not None:
        from .._arrays import Wanted

        wanted = Wanted(self, dtype, out)
    if device != "cpu" and (device != "auto" or not isinstance(text, (str, bytes)) or len(text) > devices.LITTLE):
        ids = devices.encode_array(self, device, text, (allowed, disallowed), errors, num_threads)
    elif num_threads is None or num_threads == 1:
        coder = self._coder if errors == "strict" else self._coder_for(errors)
        ids = coder.encode_array(text, allowed, disallowed, None if num_threads else _on_threads)
    else:
        ids = _batch.encode_array(self._coder_for(errors), text, allowed, disallowed, num_threads)
    if add_special_tokens:
        ids = in_template(ids, self._template)
    return ids if wanted is None else wanted.take(ids)


def encode_with_offsets(
    self: Encoding,
    text: str,
    *,
    allowed_special: AllowedSpecial = set(),  # noqa: B006
    disallowed_special: DisallowedSpecial = "all",
    add_special_tokens: bool = False,
    device: str = "cpu",
) -> tuple[Ids, Places]:
    """(ids, offsets), arrays of uint32 and int64 of the same length: offsets[i] is the index in `text` of the first
    character that holds bytes of token i.

    The ids of add_special_tokens lie at the beginning and at the end of the text.

    A pair of surrogates counts as one character, and so does a lone one: the text is the one that encode() sees.

    Args:
        text: a str.
        device: as for encode(). The offsets are made on the CPU.

    Raises:
        ValueError: the text holds a disallowed special token.
        TypeError: `text` is no str.
        streamtok.gpu.DeviceError: a device asked for by name cannot be used.
    """
    from .._offsets import character_count, character_offsets, plain_sizes, traced_offsets

    data = to_utf8(checked(text))
    ids = self.encode_to_numpy(
        data, allowed_special=allowed_special, disallowed_special=disallowed_special, device=device
    )
    allowed = self._matchers_for(allowed_special, disallowed_special)[0]
    sizes = plain_sizes(self, data, ids, allowed)
    places = traced_offsets(self, data, ids, allowed) if sizes is None else character_offsets(data, sizes)
    if add_special_tokens:
        import numpy as np

        prefix, suffix = self._template
        ids = in_template(ids, self._template)
        end = np.full(len(suffix), character_count(data), np.int64)
        places = np.concatenate([np.zeros(len(prefix), np.int64), places, end])
    return ids, places


def count(
    self: Encoding,
    text: Text,
    *,
    allowed_special: AllowedSpecial = set(),  # noqa: B006
    disallowed_special: DisallowedSpecial = "all",
    add_special_tokens: bool = False,
    errors: str = "strict",
    num_threads: int | None = None,
) -> int:
    """Number of ids that encode() would return. No list is built, and memory does not grow with the text.

    Args:
        text: a str, or any C-contiguous buffer of UTF-8 bytes.

    Raises:
        ValueError: the text holds a disallowed special token.
        UnicodeDecodeError: bytes that are not UTF-8, with errors="strict".
    """
    allowed, disallowed = self._matchers_for(allowed_special, disallowed_special)
    coder = self._coder if errors == "strict" else self._coder_for(errors)
    if num_threads is None:
        count = coder.count(text, allowed, disallowed, _count_on_threads)
    else:
        count = _batch.count(coder, text, allowed, disallowed, num_threads)
    return count + sum(map(len, self._template)) if add_special_tokens else count


def truncate(
    self: Encoding,
    text: _StrOrBytes,
    n: int,
    *,
    allowed_special: AllowedSpecial = set(),  # noqa: B006
    disallowed_special: DisallowedSpecial = "all",
) -> _StrOrBytes:
    """The longest beginning of `text` that encodes to at most n ids and ends between two characters: text[:k] with
    the largest such k. It reads little more of the text than it returns.

    There is one exception. Where a stream has to hold back more than 1,024 bytes, as in a long run of blanks behind
    a line break (docs/streaming.md), the result has at most n ids, and with the next character more than n; a
    longer beginning that has at most n ids again may exist.

    Args:
        text: a str, or any C-contiguous buffer of UTF-8 bytes. A pair of surrogates is one character; lone ones are
            returned as they are. Of a buffer other than bytes the beginning is bytes.
        n: number of ids, 0 or more.

    Raises:
        ValueError: n is negative; what was read holds a disallowed special token.
        UnicodeDecodeError: what was read is not UTF-8.
    """
    from .truncation import truncate

    return truncate(self, checked_text(text), operator.index(n), allowed_special, disallowed_special)


def pieces(self: Encoding, text: _StrOrBytes) -> Pieces[_StrOrBytes]:
    """The pieces into which the pattern splits a text, before anything is merged; each is then encoded by itself.

    >>> list(enc.pieces("hello world"))
    ['hello', ' world']
    >>> enc.pieces("hello world").offsets.tolist()
    [[0, 5], [5, 11]]

    Args:
        text: a str, or any C-contiguous buffer of UTF-8 bytes. The text of special tokens is ordinary text here.
            Lone surrogates become U+FFFD, as in encode().

    Returns:
        Pieces: an iterator of their texts, str of a str and bytes of a buffer, and `offsets`, an int64 array of
        shape (number of pieces, 2): where each begins and ends in the UTF-8, in bytes. Text that the pattern does
        not match is in no piece. Without a pattern a text is one piece. Where the encoding has a normalizer, both
        are those of the normalized text.

    Raises:
        UnicodeDecodeError: bytes that are not UTF-8.
        TypeError: `text` is neither.
    """
    from .pieces import pieces_of

    return pieces_of(self, checked_text(text))


def encode_with_unstable(
    self: Encoding,
    text: str,
    *,
    allowed_special: AllowedSpecial = set(),  # noqa: B006
    disallowed_special: DisallowedSpecial = "all",
) -> tuple[list[int], list[list[int]]]:
    """(stable ids, completions): the ids that stay whatever follows, by tiktoken's approximate rule, and the
    sequences of ids that the rest of the text could become. tiktoken itself calls this interface unstable; for ids
    that provably stay use stream_encoder().

    Args:
        text: a str.

    Raises:
        ValueError: the text holds a disallowed special token.
        TypeError: `text` is no str.
    """
    from .unstable import encode_with_unstable

    allowed, disallowed = self._matchers_for(allowed_special, disallowed_special)
    return encode_with_unstable(self, checked(text), allowed, disallowed)
