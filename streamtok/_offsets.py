"""Where characters begin in UTF-8, and where tokens lie in text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .native.job import trace

if TYPE_CHECKING:
    from ._protocols import Encoding, Ids, Names, Places

# Tokens whose offsets are found at once: some megabytes of memory, and Python handles signals between two blocks.
_BLOCK = 1 << 18


def is_border(text: str | bytes | bytearray | memoryview, at: int) -> bool:
    """Whether a place is between two characters of UTF-8, or of a str and not inside a pair of surrogates."""
    if not 0 < at < len(text):
        return True
    if isinstance(text, str):
        return not "\ud800" <= text[at - 1] < "\udc00" <= text[at] < "\ue000"  # of a pair, high and low
    return not 0x80 <= text[at] < 0xC0


def border_from(text: str | bytes | bytearray | memoryview, at: int) -> int:
    """The first border at or behind a place; the place itself where bytes are not UTF-8 and have none near. Whoever
    reads them raises the error."""
    if is_border(text, at):
        return at
    return next((each for each in range(at + 1, at + 4) if is_border(text, each)), at)


def border_before(text: str | bytes | bytearray | memoryview, at: int) -> int:
    """The last border at or in front of a place; the place itself where bytes are not UTF-8 and have none near."""
    return next((each for each in range(at, max(at - 4, -1), -1) if is_border(text, each)), at)


def character_offsets(data: bytes, lengths: Places) -> Places:
    """Index of the first character that holds bytes of each token.

    data: UTF-8; lengths: bytes of each token in turn, together len(data).
    """
    import numpy as np

    offsets = np.empty(len(lengths), np.int64)
    at = begun = 0  # bytes and characters of the blocks before
    for first in range(0, len(lengths), _BLOCK):
        ends = np.cumsum(lengths[first : first + _BLOCK])
        is_start = (np.frombuffer(data, np.uint8, ends[-1], at) & 0xC0) != 0x80
        started = np.cumsum(is_start)  # characters begun, with that of each byte
        begins = ends - lengths[first : first + _BLOCK]
        offsets[first : first + _BLOCK] = begun + started[begins] - 1
        at, begun = at + int(ends[-1]), begun + int(started[-1])
    return offsets


def character_count(data: bytes) -> int:
    """Characters of UTF-8."""
    import numpy as np

    return int(np.count_nonzero((np.frombuffer(data, np.uint8) & 0xC0) != 0x80))


def traced_offsets(encoding: Encoding, data: bytes, ids: Ids, allowed: Names) -> Places:
    """character_offsets() of the ids of a text that is normalized, of which the pattern drops some, whose model does
    not keep its bytes, or whose names take text beside them: places are those of the characters in the given text
    that the first bytes of the tokens come from; of a name, where what it takes begins. data: UTF-8 of the given
    text."""
    import numpy as np

    several = {token: names[0] for token, names in shared_names(encoding).items()}
    named = several, encoding._token_lengths
    made, found = trace(encoding._vocab, encoding._normalizer, encoding._coder, data, allowed, *named)
    places: Places = np.append(np.frombuffer(found, np.uintp).astype(np.int64), len(data))
    if encoding._kind.keeps_bytes:
        sizes = token_sizes(encoding, made, ids)
        places = places[sizes.cumsum() - sizes]
    else:
        places = places[:-1]
    # A token may begin at the end of the text.
    starts = (np.frombuffer(data + b" ", np.uint8) & 0xC0) != 0x80
    offsets: Places = (np.cumsum(starts) - 1)[places]
    return offsets


def token_offsets(tokens: list[bytes]) -> tuple[str, list[int]]:
    """(text, offsets) of tokens' bytes; UnicodeDecodeError if they are not UTF-8."""
    offsets, begun = [], 0
    for token in tokens:
        inside = bool(token) and 0x80 <= token[0] < 0xC0  # the token continues a character that another one began
        offsets.append(max(0, begun - inside))
        begun += sum(not 0x80 <= byte < 0xC0 for byte in token)
    return b"".join(tokens).decode("utf-8", errors="strict"), offsets


def shared_names(encoding: Encoding) -> dict[int, list[bytes]]:
    """Names of the ids that have several, as one of o200k_harmony has. An added token may be that of a byte, too."""
    of_bytes = () if encoding._model is None or encoding._model.parts.model.by_bytes else encoding._model.raw
    if not of_bytes and len(set(encoding._added_tokens.values())) == len(encoding._added_tokens):
        return {}
    names: dict[int, list[bytes]] = {}
    for name, token in encoding._added_tokens.items():
        names.setdefault(token, []).append(name.encode())
    for byte, token in enumerate(of_bytes):
        if token in names:
            names[token].append(bytes([byte]))
    return {token: several for token, several in names.items() if len(several) > 1}


def token_sizes(encoding: Encoding, data: bytes | bytearray, ids: Ids) -> Places:
    """Bytes of `data` that each token stands for. Where an id has two names, the text says which of them it was: 0
    where it stands elsewhere, behind text that is in no piece."""
    import numpy as np

    sizes = np.empty(len(ids), np.int64)
    for first in range(0, len(ids), _BLOCK):
        sizes[first : first + _BLOCK] = encoding._token_lengths[ids[first : first + _BLOCK]]
    names = shared_names(encoding)
    if not names:
        return sizes
    shift = 0
    ends = sizes.cumsum()
    for i in range(len(ids)):
        token = int(ids[i])
        if token in names:
            start = int(ends[i] - sizes[i]) + shift
            size = max((len(name) for name in names[token] if data.startswith(name, start)), default=0)
            shift += size - int(sizes[i])
            sizes[i] = size
    return sizes


def plain_sizes(encoding: Encoding, data: bytes | bytearray, ids: Ids, allowed: Names) -> Places | None:
    """token_sizes() of the ids of a text; None where their bytes are not the text: after a normalizer, say. Then
    traced_offsets() finds the places."""
    is_plain = encoding._normalizer is None and encoding._kind.keeps_bytes
    if not is_plain or (allowed is not None and allowed.has_rules):
        return None
    sizes = token_sizes(encoding, data, ids)
    return sizes if sizes.sum() == len(data) else None  # or some text is in no piece
