"""Where characters begin in UTF-8, and where tokens lie in text."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from .native.job import parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._protocols import Encoding, Ids, Names, Places

# Tokens whose offsets are found at once: some megabytes of memory, and Python handles signals between two blocks.
_BLOCK = 1 << 18

# Words whose tokens are remembered in one call.
_WORDS_KEPT = 1 << 16


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

    if not encoding._kind.keeps_bytes:
        return _word_offsets(encoding, data, allowed)
    names = shared_names(encoding)
    made: list[bytes] = []
    places: list[Places] = []
    for token, text, sources in _traced_parts(encoding, data, allowed):
        if token is not None:
            made.append(names[token][0] if token in names else bytes(int(encoding._token_lengths[token])))
            places.append(np.full(len(made[-1]), sources[0], np.int64))
            continue
        spans = _spans(encoding, text)
        if int((spans[:, 1] - spans[:, 0]).sum()) == len(text):
            spans = np.array([[0, len(text)]])
        made += [text[start:end] for start, end in spans.tolist()]
        places += [sources[start:end] for start, end in spans.tolist()]
    sizes = token_sizes(encoding, b"".join(made), ids)
    found: Places = np.concatenate([*places, np.zeros(1, np.int64)])[sizes.cumsum() - sizes]
    return found


def _word_offsets(encoding: Encoding, data: bytes, allowed: Names) -> Places:
    """traced_offsets() where the tokens of a piece do not have its bytes: the model says where they begin."""
    import numpy as np

    starts_of = functools.lru_cache(_WORDS_KEPT)(functools.partial(_token_starts, encoding))
    places: list[Places] = [np.zeros(0, np.int64)]
    for token, text, sources in _traced_parts(encoding, data, allowed):
        if token is not None:
            places.append(sources[:1])
            continue
        spans = _spans(encoding, text).tolist()
        places.append(sources[[start + at for start, end in spans for at in starts_of(text[start:end])]])
    return np.concatenate(places)


def _token_starts(encoding: Encoding, word: bytes) -> list[int]:
    """Where the tokens of a word begin in it."""
    known: list[int] | None = encoding._vocab.token_starts(word)
    if known is not None:
        return known
    ids = encoding._encode_single_piece(word)
    sizes = [len(encoding._vocab.token_bytes(token)) for token in ids]
    starts: list[int] = encoding._kind.starts(ids, sizes, encoding._vocab.own, word)
    return starts


def _spans(encoding: Encoding, text: bytes) -> Places:
    """Where the pieces of a text lie, a row each."""
    import numpy as np

    return np.frombuffer(encoding._coder.piece_spans(text), np.int64).reshape(-1, 2)


def _traced_parts(encoding: Encoding, data: bytes, allowed: Names) -> Iterator[tuple[int | None, bytes, Places]]:
    """(id, b"", characters) of a name, (None, text, characters) of what lies between two, as it is normalized: for each
    byte the number of the character in the given text that it comes from; for a name that of the first."""
    import numpy as np

    # A token may begin at the end of the text.
    character: Places = np.cumsum((np.frombuffer(data + b" ", np.uint8) & 0xC0) != 0x80) - 1
    late = allowed.late if allowed is not None else None
    normalizer = encoding._normalizer
    behind = normalizer.behind if normalizer is not None else None
    for start, end, token in parts(allowed, data) if allowed is not None else [(0, len(data), None)]:
        if token is not None:
            yield token, b"", character[start : start + 1]
            continue
        text, sources = data[start:end], np.arange(start, end)
        if normalizer is not None and normalizer.splits:
            yield from ((None, made, character[at]) for made, at in _divided(normalizer, text, sources, start > 0))
            continue
        if normalizer is not None:
            text, again = normalizer.trace(text.decode(), 0 if start else None)
            sources = sources[np.array(again.tolist(), np.int64)]
        for first, last, name in parts(late, text) if late is not None else [(0, len(text), None)]:
            if name is not None:
                yield name, b"", character[sources[first : first + 1]]
                continue
            part = text[first:last], sources[first:last]
            made_of = [part] if behind is None else _divided(behind, *part, start > 0 or first > 0)
            yield from ((None, made, character[at]) for made, at in made_of)


def _divided(
    normalizer: Any, text: bytes, places: Places, later: bool = False, begun: int | None = None
) -> Iterator[tuple[bytes, Places]]:
    """What a normalizer, and those behind it, make of a text whose bytes come from `places`, with the places of that;
    for each piece by itself, where it splits. later: a name stands in front of the text. begun: as Normalizer.trace()
    has it."""
    import numpy as np

    begun = 0 if later else begun
    if not normalizer.splits:
        made, again = normalizer.trace(text.decode(), begun)
        yield made, places[np.array(again.tolist(), np.int64)]
        return
    for piece, of_piece, first in normalizer.pieces(text.decode(), begun):
        yield from _divided(normalizer.behind, piece.encode(), places[of_piece], begun=first)


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
