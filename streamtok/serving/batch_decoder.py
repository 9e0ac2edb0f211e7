"""Thousands of texts decoded at once, a few ids each in a call."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Any

import numpy as np

from .._checks import as_numpy
from ..errors import shown
from ..native.decoders import CoreDecoders
from ..native.rule_decoder import RuleDecoderStream
from ..native.steps import at_once
from .stop_strings import StopStrings, stop_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from .._protocols import Encoding
    from ..native.rule_decoder import Place

ERRORS = ("replace", "ignore")
MOST_SLOTS = 1 << 24
MATCHERS_KEPT = 64
INT64_MAX = (1 << 63) - 1
_VERSION = 1


class BatchDecoder:
    """Decodes many texts as their ids come, each in a slot of its own; returns whole characters only.

    The joined results of a slot equal Encoding.decode of all its ids, up to the first stop string. What begins a
    character or a stop string waits for the next ids of its slot. Each id is looked at once, however long a text stays
    incomplete. Made by Encoding.batch_decoder.

    >>> decoder = enc.batch_decoder(1024)
    >>> decoder.reset(3, stop=["\\n\\n", "User:"])
    >>> texts = decoder.feed([3, 7], [24912, 2375])
    >>> decoder.stopped
    []

    A call that raises leaves all slots as they were. A decoder serves one thread at a time; on a Python without the GIL
    calls wait for each other.

    Args:
        encoding: the Encoding whose ids are decoded.
        slots: the number of texts, at least 1.
        errors: "replace" or "ignore", as for bytes.decode().
        skip_special_tokens: leave out the ids of special tokens.

    Raises:
        ValueError: the number of slots is below 1, or another value of `errors`.
    """

    def __init__(
        self, encoding: Encoding, slots: int, *, errors: str = "replace", skip_special_tokens: bool = False
    ) -> None:
        if not 1 <= slots <= MOST_SLOTS:
            raise ValueError(f"slots is {shown(slots)}: write a number from 1 to {MOST_SLOTS}")
        if errors not in ERRORS:
            raise ValueError(f"errors is {shown(errors)}: a batch decoder takes 'replace' and 'ignore'")
        self.encoding = encoding
        self.errors = errors
        self.skip_special_tokens = skip_special_tokens
        self._core = CoreDecoders(encoding._decoder, slots, errors == "replace", skip_special_tokens)
        self._stops: dict[int, StopStrings | None] = {}
        self._known: dict[tuple[str, ...], StopStrings] = {}
        self._by_rules: RuleDecoderStream | None = None
        if encoding._rule_decoder is not None:
            self._by_rules = RuleDecoderStream(encoding._rule_decoder, encoding._decoder, errors, skip_special_tokens)
        self._places: dict[int, Place] = {}  # where a text stands that an id of a model of characters has come of

    def __len__(self) -> int:
        return self._core.count

    def __repr__(self) -> str:
        return f"<BatchDecoder of {self.encoding.name!r}, {len(self)} slots>"

    def feed(self, slots: Any, ids: Any, counts: Any = None) -> list[str]:
        """The text that the next ids of each slot complete, in the order of `slots`; "" where there is none, and behind
        a stop string.

        Args:
            slots: n numbers of slots: a list, or an array or tensor of integers. One may come several times.
            ids: the ids, -1 for none: one for each slot; or an array of shape (n, k), k for each; or, with `counts`,
                those of all slots, one behind the other.
            counts: how many ids each slot has.

        Raises:
            IndexError: there is no such slot.
            KeyError: an unknown id.
            ValueError: numbers of slots, counts and ids that do not fit together.
            TypeError: other things than integers.
        """
        where, tokens, each = _numbers(slots, "slots"), _numbers(ids, "ids"), 1
        if isinstance(tokens, np.ndarray) and tokens.ndim == 2:
            each, tokens = tokens.shape[1], tokens.reshape(-1)
        sizes = None if counts is None else _numbers(counts, "counts")
        if self._by_rules is None:
            return self._core.feed(where, tokens, sizes, each)
        where, tokens = _copied(where), _copied(tokens)
        sizes = [each] * len(where) if sizes is None else _copied(sizes)
        self._core.check(where, tokens, sizes, each)
        return self._feed_by_rules(self._by_rules, where, tokens, sizes)

    def _feed_by_rules(
        self, by_rules: RuleDecoderStream, where: list[int], tokens: list[int], sizes: list[int]
    ) -> list[str]:
        texts: list[bytes] = []
        places: dict[int, Place] = {}
        at = 0
        for slot, size in zip(where, sizes, strict=True):
            ids = [int(token) for token in tokens[at : at + size] if token != -1]
            at += size
            place = places[slot] if slot in places else self._place(slot, by_rules)
            text, places[slot] = by_rules.step(place, ids)
            texts.append(text.encode())
        made: list[str]
        made, _ = at_once((self._core.pass_texts, where, texts, False), (self._places.update, places))
        return made

    def _place(self, slot: int, by_rules: RuleDecoderStream) -> Place:
        """Where the text of a slot stands."""
        return self._places.get(slot) or by_rules.begin()

    @property
    def stopped(self) -> list[int]:
        """The slots whose text ended at a stop string in the last feed() or flush(), in its order."""
        return self._core.stopped

    def reset(self, slot: int, stop: str | Iterable[str] = ()) -> None:
        """Begins another text in a slot.

        Args:
            slot: its number.
            stop: a string, or up to 256, that end the text: it is returned up to the first of them, and no further.
                The one that ends first counts; of several that end at one place, the longest.

        Raises:
            IndexError: there is no such slot.
            TypeError, ValueError: a stop string that is no str, or is empty, or holds a lone surrogate; too many.
        """
        stops = self._stop_strings(stop_names(stop))
        at_once(
            (self._core.reset, slot, None if stops is None else stops.matcher),
            (self._stops.__setitem__, slot, stops),
            (self._places.pop, slot, None),
        )

    def _stop_strings(self, names: tuple[str, ...]) -> StopStrings | None:
        if not names:
            return None
        found = self._known.get(names)
        if found is None:
            found = StopStrings.of(names)
            if len(self._known) >= MATCHERS_KEPT:
                self._known.clear()
            self._known[names] = found
        return found

    def stop_of(self, slot: int) -> str | None:
        """The stop string that ended the text of a slot; None if none did. IndexError: there is no such slot."""
        number = self._core.stop_of(slot)
        stops = self._stops.get(slot)
        return None if number is None or stops is None else stops.names[number]

    def flush(self, slot: int) -> str:
        """Ends the text of a slot and returns what is left of it: a character that is not whole is handled as `errors`
        says, and what may have begun a stop string is text. reset() begins another text. IndexError: there is no such
        slot."""
        if self._by_rules is None:
            return self._core.flush(slot)
        rest = self._by_rules.rest(self._place(slot, self._by_rules)).encode()
        made: list[str]
        made, _ = at_once((self._core.pass_texts, [slot], [rest], True), (self._places.pop, slot, None))
        return made[0]

    def pending(self, slot: int) -> int:
        """Bytes of text that wait in a slot: of a character, and of what may begin a stop string."""
        partial, held, _ = self._core.getstate(slot)
        by_rules = 0 if self._by_rules is None else self._by_rules.pending_at(self._place(slot, self._by_rules))
        return len(partial) + len(held) + by_rules

    def getstate(self, slot: int) -> tuple[Any, ...]:
        """The state of a slot, for setstate() of a decoder of the same encoding and options. It can be pickled."""
        stops = self._stops.get(slot)
        by_rules = None if self._by_rules is None else self._by_rules.state_of(self._place(slot, self._by_rules))
        return (_VERSION, () if stops is None else stops.given, *self._core.getstate(slot), by_rules)

    def setstate(self, slot: int, state: tuple[Any, ...]) -> None:
        """Brings a slot to a state that getstate() gave.

        Raises:
            IndexError: there is no such slot.
            ValueError: no decoder can have had this state. The slot is then as it was.
        """
        try:
            self._set(slot, state)
        except (TypeError, ValueError):
            raise ValueError("no batch decoder of this encoding can have had this state") from None

    def _set(self, slot: int, state: tuple[Any, ...]) -> None:
        version, names, partial, held, stop, by_rules = state
        if version != _VERSION or (by_rules is None) != (self._by_rules is None):
            raise ValueError
        if codecs.getincrementaldecoder("utf-8")("strict").decode(partial):
            raise ValueError
        stops = self._stop_strings(stop_names(names))
        if stop is not None and not 0 <= stop < (0 if stops is None else len(stops.names)):
            raise ValueError
        place = None if self._by_rules is None else self._by_rules.place_of(by_rules)
        at_once(
            (self._core.setstate, slot, None if stops is None else stops.matcher, partial, held, stop),
            (self._stops.__setitem__, slot, stops),
            (self._places.__setitem__, slot, place),
        )


def _numbers(values: Any, what: str) -> Any:
    """A list or tuple as it is; an array as one of int64."""
    if type(values) is list or type(values) is tuple:
        return _rows(values) if values and isinstance(values[0], (list, tuple)) else values
    array = as_numpy(values, what)
    if array is None:
        return list(values)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"{what} are integers, got an array of {array.dtype}")
    if array.dtype == np.uint64 and array.size and int(array.max()) > INT64_MAX:
        raise OverflowError(f"{what} do not fit in 64 bits with a sign")
    if array.ndim > 2 or (array.ndim != 1 and what != "ids"):
        raise ValueError(f"{what} are one row, got an array of shape {array.shape}")
    return np.ascontiguousarray(array, np.int64)


def _copied(row: Any) -> list[int]:
    """Numbers that nobody else can change."""
    return row.tolist() if isinstance(row, np.ndarray) else list(row)


def _rows(values: Sequence[Sequence[int]]) -> npt.NDArray[np.int64]:
    if len({len(row) for row in values}) > 1:
        raise ValueError("the rows of ids have different lengths: fill them up with -1, or give counts")
    return np.array(values, np.int64)
