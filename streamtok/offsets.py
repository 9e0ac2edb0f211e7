"""Where tokens lie in text: character offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .native.job import parts

if TYPE_CHECKING:
    from .protocols import Encoding, Ids, Names, Places

# Tokens whose offsets are found at once: some megabytes of memory, and Python handles signals between two blocks.
_BLOCK = 1 << 18


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
    """character_offsets() of the ids of a text that is normalized, or whose names take text beside them: places are
    those of the characters in the given text that the first bytes of the tokens come from; of a name, where what it
    takes begins. data: UTF-8 of the given text."""
    import numpy as np

    character = np.cumsum((np.frombuffer(data, np.uint8) & 0xC0) != 0x80) - 1
    late = allowed.late if allowed is not None else None
    made: list[bytes] = []
    places: list[Places] = []

    def put_name(token: int, place: int) -> None:
        size = int(encoding._token_lengths[token])
        made.append(bytes(size))
        places.append(np.full(size, character[place], np.int64))

    for start, end, token in parts(allowed, data) if allowed is not None else [(0, len(data), None)]:
        if token is not None:
            put_name(token, start)
            continue
        text, sources = _traced(encoding, data, start, end)
        for first, last, name in parts(late, text) if late is not None else [(0, len(text), None)]:
            if name is not None:
                put_name(name, int(sources[first]))
            else:
                made.append(text[first:last])
                places.append(character[sources[first:last]])
    sizes = token_sizes(encoding, b"".join(made), ids)
    found: Places = np.concatenate([*places, np.zeros(1, np.int64)])[sizes.cumsum() - sizes]
    return found


def _traced(encoding: Encoding, data: bytes, start: int, end: int) -> tuple[bytes, Places]:
    """data[start:end] as it is normalized, and for each byte where the character begins that it comes from."""
    import numpy as np

    if encoding._normalizer is None:
        return data[start:end], np.arange(start, end)
    text, sources = encoding._normalizer.trace(data[start:end].decode(), start > 0)
    return text, np.array(sources.tolist(), np.int64) + start


def token_offsets(tokens: list[bytes]) -> tuple[str, list[int]]:
    """(text, offsets) of tokens' bytes; UnicodeDecodeError if they are not UTF-8."""
    offsets, begun = [], 0
    for token in tokens:
        inside = bool(token) and 0x80 <= token[0] < 0xC0  # the token continues a character that another one began
        offsets.append(max(0, begun - inside))
        begun += sum(not 0x80 <= byte < 0xC0 for byte in token)
    return b"".join(tokens).decode("utf-8", errors="strict"), offsets


def _shared_names(encoding: Encoding) -> dict[int, list[bytes]]:
    """Names of the ids that have several, as one of o200k_harmony has."""
    if len(set(encoding._added_tokens.values())) == len(encoding._added_tokens):
        return {}
    names: dict[int, list[bytes]] = {}
    for name, token in encoding._added_tokens.items():
        names.setdefault(token, []).append(name.encode())
    return {token: several for token, several in names.items() if len(several) > 1}


def token_sizes(encoding: Encoding, data: bytes, ids: Ids) -> Places:
    """Bytes of `data` that each token stands for. Where an id has two names, the text says which of them it was."""
    import numpy as np

    sizes = np.empty(len(ids), np.int64)
    for first in range(0, len(ids), _BLOCK):
        sizes[first : first + _BLOCK] = encoding._token_lengths[ids[first : first + _BLOCK]]
    names = _shared_names(encoding)
    if not names:
        return sizes
    shift = 0
    ends = sizes.cumsum()
    for i in range(len(ids)):
        token = int(ids[i])
        if token in names:
            start = int(ends[i] - sizes[i]) + shift
            size = max(len(name) for name in names[token] if data.startswith(name, start))
            shift += size - int(sizes[i])
            sizes[i] = size
    return sizes
