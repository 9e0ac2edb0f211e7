"""Which characters of a rendered conversation a caller gave, and which the template wrote.

The conversation is rendered a second time with marks around the texts: characters that occur nowhere else. Without them
the second text must be the first one, and each mark must stand with its partner; else the template did not take the
texts as they are, and a coarser way to mark is tried, or an error is raised. Nothing is guessed.

Marks stand inside of the white space at the ends of a text, so that a template may trim. Where it divides texts, as at
"</think>", the parts have marks of their own.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ..errors import ChatTemplateError
from .inputs import KEY, Inputs, Place
from .quick import Begun
from .template import Template

_RANGES = (range(0xE000, 0xF900), range(0xF0000, 0xFFFFE), range(0x100000, 0x10FFFE))
"""Characters for private use, which marks are taken from."""

_WORD = re.compile(r"[\w.\-]{0,256}\Z")
"""What a template may compare, as the name of a tool."""

_DEPTH = 4
"""Strings of JSON, one in the other, in which what stands between two parts of a text is looked for."""

_UNMARKED = frozenset(("role", "type"))

_IDS, _NAMES = frozenset(("id", "tool_call_id")), frozenset(("id", "tool_call_id", "name"))


class Level(NamedTuple):
    """How texts are marked.

    words: fields of messages whose words a template may compare, so that these are not marked; None: words outside of
    messages are, too. parts: texts are divided at strings of the template. ends: a part without text has marks, too.
    """

    words: frozenset[str] | None
    parts: bool
    ends: bool


LEVELS = (
    Level(None, False, False),
    Level(_IDS, False, False),
    Level(_IDS, True, True),
    Level(_IDS, True, False),
    Level(_NAMES, False, False),
    Level(_NAMES, True, True),
    Level(_NAMES, True, False),
)


class Leaf(NamedTuple):
    """A text that a caller gave: where it stands."""

    place: Place
    text: str


class _Piece(NamedTuple):
    """A part of a leaf: the text between its core and the cores beside it, or the ends of the leaf."""

    leaf: int
    before: str
    behind: str
    is_first: bool
    is_last: bool


class Region(NamedTuple):
    """Characters of the rendered text that come from a leaf, up to white space at its ends; first, last: pieces."""

    start: int
    end: int
    leaf: int
    first: int
    last: int


class Traced(NamedTuple):
    """Where everything lies in a rendered text.

    regions: in the order of the text. blocks: (start, end) of each {% generation %} block. has_names: whether names of
    functions are among the regions.
    """

    regions: list[Region]
    leaves: list[Leaf]
    blocks: list[tuple[int, int]]
    has_names: bool


Render = Callable[[Inputs, "tuple[str, str] | None"], str]
"""Renders inputs, with the marks of blocks."""


def trace(
    text: str,
    inputs: Inputs,
    template: Template,
    render: Render,
    known: Begun,
    constants: Iterable[str],
    exact: bool,
) -> Traced:
    """Where the texts of the inputs lie in their rendered text.

    Args:
        known: the names of special tokens.
        constants: texts besides the inputs that may be rendered.
        exact: white space at the ends of texts is wanted, too.

    Raises:
        ChatTemplateError: they cannot be traced.
    """
    used = "".join((text, template.source, *constants))
    error = ChatTemplateError(
        "it changes texts of the messages in a way that cannot be traced back to them, so which special tokens are the "
        'template\'s own is not certain: with allowed_special="all" all of them count, and there are no spans'
    )
    last = template.level
    for number in (last, *(number for number in range(len(LEVELS)) if number != last)):
        marker = _Marker(LEVELS[number], template, known)
        inputs.changed(marker.collect)
        marker.choose(used)
        marked = _rendered(render, inputs.changed(marker.mark), marker)
        found = None if marked is None else marker.read(marked, text)
        if found is None:
            continue
        template.level = number
        if exact and marker.misses:
            error = _unclear()
            continue
        if not exact or not any(marker.lead(region) or marker.trail(region) for region in found.regions):
            return found
        bare = inputs.changed(functools.partial(marker.mark, bare=True))
        try:
            return _widened(found, text, _rendered(render, bare, marker), marker)
        except ChatTemplateError as unclear:
            error = unclear
    raise error


def _rendered(render: Render, inputs: Inputs, marker: _Marker) -> str | None:
    try:
        return render(inputs, marker.blocks)
    except (ChatTemplateError, ValueError):
        return None  # the template asks what the marks change


class _Marker:
    def __init__(self, level: Level, template: Template, known: Begun) -> None:
        self.level, self.is_clean = level, known.is_clean
        self.leaves: list[Leaf] = []
        self.pieces: list[_Piece] = []
        self.misses = False
        self._known: dict[Place, tuple[list[str], int]] = {}  # the text in turns of gap and core; its first piece
        strings = sorted((each for each in template.strings if not each.isspace() and len(each) > 1), key=len)
        parts = [re.escape(each) for each in strings[::-1] if level.ends or known.is_apart(each)] if level.parts else []
        self._parts = re.compile(f"({'|'.join(parts)})") if parts else None
        self._characters: Sequence[str] = ()
        self.blocks: tuple[str, str] | None = None

    def _is_marked(self, place: Place, text: str) -> bool:
        if place[-1] is KEY:
            return not self.is_clean(text)
        if not text.strip() or (place[0] == "messages" and len(place) > 2 and place[-1] in _UNMARKED):
            return False
        words = self.level.words
        if words is None or (place[0] == "messages" and (place[-1] not in words or "arguments" in place)):
            return True
        return not _WORD.match(text) or not self.is_clean(text)

    def collect(self, place: Place, text: str) -> str:
        if self._is_marked(place, text):
            split = self._split(text)
            cores = len(split) // 2
            if not cores:
                self.misses = True  # a string that the template divides texts at, and no more
                return text
            self._known[place] = split, len(self.pieces)
            self.leaves.append(Leaf(place, text))
            leaf = len(self.leaves) - 1
            for i in range(cores):
                self.pieces.append(_Piece(leaf, split[2 * i], split[2 * i + 2], i == 0, i == cores - 1))
        return text

    def _split(self, text: str) -> list[str]:
        """The text in turns: a gap, a core, ..., a gap."""
        found = [""]
        parts = [text] if self._parts is None else self._parts.split(text)
        for i, part in enumerate(parts):
            core = part.strip()
            # With `ends` a part without text is marked, too: a gap holds one string that the template divides at, and
            # no name of a special token between two of them is taken for the template's.
            if i % 2 or (not core and not (self.level.ends and len(parts) > 1)):
                found[-1] += part
                continue
            at = part.index(core) if core else len(part) * (i == 0)
            found[-1] += part[:at]
            found += [core, part[at + len(core) :]]
        if len(found) > 1 or (self.level.parts and not self.level.ends):
            return found
        core = text.strip()  # a string of the template alone
        at = text.index(core)
        return [text[:at], core, text[at + len(core) :]]

    def choose(self, used: str) -> None:
        """Takes characters for the marks that do not occur."""
        known = set() if used.isascii() else set(used)
        for leaf in self.leaves:
            if not leaf.text.isascii():
                known.update(leaf.text)
        count = 2 * len(self.pieces) + 2
        free = (chr(code) for codes in _RANGES for code in codes if chr(code) not in known)
        self._characters = [character for character, _ in zip(free, range(count))]
        if len(self._characters) < count:
            raise ChatTemplateError(f"the conversation has {len(self.pieces)} texts, more than can be traced")
        first, last = self._characters[0], self._characters[-1]
        is_range = ord(last) - ord(first) == count - 1
        self._pattern = re.compile(f"[{first}-{last}]" if is_range else f"[{''.join(self._characters)}]")
        self.blocks = self._characters[-2], last

    def mark(self, place: Place, text: str, bare: bool = False) -> str:
        """The text with marks. bare: without white space beside them."""
        if place not in self._known:
            return text
        split, piece = self._known[place]
        marks = self._characters
        gaps = split[::2] if not bare else _bared(split[::2])
        found = [gaps[0]]
        for core, gap in zip(split[1::2], gaps[1:]):
            found += [marks[2 * piece], core, marks[2 * piece + 1], gap]
            piece += 1
        rest = text[len("".join(split)) :]  # a tag behind the text, while it is continued
        return "".join(found) + rest

    def read(self, marked: str, text: str, bare: bool = False) -> Traced | None:
        """None: without its marks the text is another one, or the marks do not stand in pairs. bare: as for mark()."""
        cut = self.cut(marked)
        if cut is None or "".join(part for part, _ in cut) != text:
            return None
        regions: list[Region] = []
        blocks: list[tuple[int, int]] = []
        begun: list[int] = []
        at = start = 0
        for part, number in cut:
            at += len(part)
            if number == 2 * len(self.pieces):
                begun.append(at)
            elif number == 2 * len(self.pieces) + 1:
                if not begun:
                    return None
                blocks.append((begun.pop(), at))
            elif number % 2 == 0:
                start = at
            elif number > 0:
                piece = number // 2
                self._add(regions, Region(start, at, self.pieces[piece].leaf, piece, piece), text, bare)
        regions = [region for region in regions if region.start < region.end]
        return Traced(regions, self.leaves, sorted(blocks), self.level.words is not _NAMES)

    def _add(self, regions: list[Region], region: Region, text: str, bare: bool) -> None:
        """Adds a region, or makes the one before longer: with the text between them it stands there as it was given."""
        before = regions[-1] if regions else None
        facts = self.pieces[region.first]
        if before is not None and before.leaf == facts.leaf and before.last == region.first - 1:
            given = facts.before.strip() if bare else facts.before
            if text[before.end : region.start] in _written(given, _DEPTH):  # what its caller gave there
                regions[-1] = before._replace(end=region.end, last=region.last)
                return
        regions.append(region)

    def lead(self, region: Region) -> str:
        """The text in front of a region in its leaf: white space; at the beginning of the leaf all that is there."""
        piece = self.pieces[region.first]
        return piece.before if piece.is_first else piece.before[len(piece.before.rstrip()) :]

    def trail(self, region: Region) -> str:
        piece = self.pieces[region.last]
        return piece.behind if piece.is_last else piece.behind[: len(piece.behind) - len(piece.behind.lstrip())]

    def cut(self, marked: str) -> list[tuple[str, int]] | None:
        """The text in front of each mark, with the number of the mark; -1 behind the last. None: some mark has no
        partner behind it."""
        numbers = dict(zip(self._characters, range(len(self._characters))))
        found: list[tuple[str, int]] = []
        at, opened = 0, -1
        for match in self._pattern.finditer(marked):
            number = numbers[match[0]]
            found.append((marked[at : match.start()], number))
            at = match.end()
            if number >= 2 * len(self.pieces):
                continue
            if (number % 2 == 0) != (opened < 0) or (opened >= 0 and number != opened + 1):
                return None
            opened = number if number % 2 == 0 else -1
        found.append((marked[at:], -1))
        return found if opened < 0 else None


def _widened(found: Traced, text: str, bare: str | None, marker: _Marker) -> Traced:
    """The regions with the white space at the ends of their texts, as far as the template has left it there. bare: the
    marked text that it renders where that white space is missing."""
    cut = None if bare is None else marker.cut(bare)
    plain = "".join(part for part, _ in cut or ())
    other = None if cut is None else marker.read(bare or "", plain, True)
    if other is None or [each[2:] for each in other.regions] != [each[2:] for each in found.regions]:
        raise _unclear()
    regions = list(found.regions)
    for i in range(len(regions) + 1):
        left, right = (regions[i - 1] if i else None), (found.regions[i] if i < len(regions) else None)
        trail = "" if left is None else marker.trail(left)
        lead = "" if right is None else marker.lead(right)
        if not trail and not lead:
            continue
        gap = text[left.end if left else 0 : right.start if right else len(text)]
        less = plain[other.regions[i - 1].end if i else 0 : other.regions[i].start if right else len(plain)]
        more, fewer = _ends_kept(gap, less, trail, lead)
        if left is not None:
            regions[i - 1] = left._replace(end=left.end + more)
        if right is not None:
            regions[i] = right._replace(start=right.start - fewer)
    return found._replace(regions=regions)


def _ends_kept(gap: str, less: str, trail: str, lead: str) -> tuple[int, int]:
    """_kept(), where `trail` and `lead` may have a string that the template divides texts at: then they stand there as
    they were given, or only the white space beside the core counts."""
    more = fewer = 0
    if trail.strip():
        if gap.startswith(trail) and less.startswith(trail.lstrip()):
            more, gap, less, trail = len(trail), gap[len(trail) :], less[len(trail.lstrip()) :], ""
        trail = _blank(trail)
    if lead.strip():
        if gap.endswith(lead) and less.endswith(lead.rstrip()):
            fewer, gap, less = len(lead), gap[: -len(lead)], less[: len(less) - len(lead.rstrip())]
            lead = ""
        lead = _blank(lead[::-1])[::-1]
    kept = _kept(gap, less, trail, lead)
    return more + kept[0], fewer + kept[1]


def _written(text: str, depth: int) -> Iterator[str]:
    """A text as it is, in JSON, in a string of JSON that is in JSON ..., so many times."""
    yield text
    for _ in range(depth):
        yield json.dumps(text, ensure_ascii=False)[1:-1]
        text = json.dumps(text)[1:-1]
        yield text


def _blank(text: str) -> str:
    """The white space that a text begins with."""
    return text[: len(text) - len(text.lstrip())]


def _bared(gaps: list[str]) -> list[str]:
    """Gaps of a leaf without the white space beside its cores."""
    return [gaps[0].rstrip(), *(gap.strip() for gap in gaps[1:-1]), gaps[-1].lstrip()]


def _kept(gap: str, less: str, trail: str, lead: str) -> tuple[int, int]:
    """How much of `trail` begins a gap, and of `lead` ends it, where without both it is `less`."""
    extra = len(gap) - len(less)
    ends = {trail[:n] for n in range(len(trail) + 1)}.union(_written(trail, 1))
    fits = {
        (len(end), extra - len(end))
        for end in ends
        if 0 <= extra - len(end) <= len(gap)
        and gap == end + less + (rest := gap[len(gap) - (extra - len(end)) :])
        and (lead.endswith(rest) or rest in _written(lead, 1))
    }
    if len(fits) != 1:
        raise _unclear()
    return fits.pop()


def _unclear() -> ChatTemplateError:
    return ChatTemplateError(
        "whether white space beside texts of the messages, and strings that it divides them at, are theirs or the "
        "template's is not certain: where spans or a mask are wanted, give texts without white space at their ends"
    )
