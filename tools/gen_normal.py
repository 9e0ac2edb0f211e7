#!/usr/bin/env python
"""Writes csrc/normal/normal_tables.h and .npz: normal forms and lower case, as Hugging Face's tokenizers has them.

All is asked of tokenizers itself, character by character and pair by pair: Python's own tables are those of another
version of Unicode. Only the order of the combining classes shows, so a class is named by its rank. Hangul syllables are
left out: their rule is in csrc/normal/chars.h.
"""

import importlib.metadata
import pathlib
import sys
from collections.abc import Callable, Iterable, Iterator

import generated
from tokenizers import normalizers

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "csrc" / "normal"
CODE_POINTS = 0x110000
SURROGATES = range(0xD800, 0xE000)
POINTS = [point for point in range(CODE_POINTS) if point not in SURROGATES]
FORMS = ("NFC", "NFD", "NFKC", "NFKD")

# Hangul.
SYLLABLES, LEADS = range(0xAC00, 0xD7A4), range(0x1100, 0x1113)
VOWELS, TRAILS = range(0x1161, 0x1176), range(0x11A8, 0x11C3)

# Marks of the lowest and of the highest class: any mark of a class between them changes places with one of the two.
LOWEST, HIGHEST = "\u0334", "\u0345"

# Bits of an entry of st_normal_values; csrc/normal/chars.h reads them.
FIRST, SECOND, DECOMPOSES = 1 << 6, 1 << 7, 1 << 15
MOST_CLASSES = 63
JOINS_ONLY = 0x1FFFFF
PAIR_SLOTS = 2048
PAIR_FACTOR = 0x9E3779B97F4A7C15


def hangul(first: int, second: int) -> int | None:
    if first in LEADS and second in VOWELS:
        return SYLLABLES[0] + ((first - LEADS[0]) * len(VOWELS) + second - VOWELS[0]) * 28
    if first in SYLLABLES and (first - SYLLABLES[0]) % 28 == 0 and second in TRAILS:
        return first + 1 + second - TRAILS[0]
    return None


def changes(function: Callable[[str], str]) -> dict[int, str]:
    """What the function makes of each character that it changes."""
    return {point: made for point in POINTS if (made := function(chr(point))) != chr(point)}


def bert(**chosen: bool) -> Callable[[str], str]:
    """A BertNormalizer that does nothing else."""
    steps = dict.fromkeys(("clean_text", "handle_chinese_chars", "strip_accents", "lowercase"), False)
    normalize: Callable[[str], str] = normalizers.BertNormalizer(**steps | chosen).normalize_str
    return normalize


class Probe:
    """What tokenizers does to characters, alone and in pairs."""

    def __init__(self) -> None:
        self.form: dict[str, Callable[[str], str]] = {
            name: getattr(normalizers, name)().normalize_str for name in FORMS
        }
        self.changed = {name: changes(self.form[name]) for name in FORMS}
        self.lower = changes(normalizers.Lowercase().normalize_str)
        self.accents = set(changes(normalizers.StripAccents().normalize_str))
        self.nonspacing = {point for point, made in changes(bert(strip_accents=True)).items() if not made}
        self.nonspacing -= self.changed["NFD"].keys()
        self.cleaned = {point for point, made in changes(bert(clean_text=True)).items() if not made}
        self.classes = dict(self._classes())
        self.pairs = dict(self._pairs())
        self.joins = self._joins()
        self.firsts = {first for first, _ in self.joins} | set(LEADS)
        self.seconds = {second for _, second in self.joins} | set(VOWELS) | set(TRAILS)

    def _swaps(self, first: str, second: str) -> bool:
        """Whether the two marks change places."""
        return first != second and self.form["NFD"](first + second) == second + first

    def _classes(self) -> Iterator[tuple[int, int]]:
        """(mark, rank of its class): two marks are of one class if neither order changes."""
        whole = [chr(point) for point in POINTS if point not in self.changed["NFD"]]
        ranks: list[list[str]] = []
        for mark in (c for c in whole if self._swaps(c, LOWEST) or self._swaps(HIGHEST, c)):
            low, high = 0, len(ranks)
            while low < high:
                middle = (low + high) // 2
                low, high = (middle + 1, high) if self._swaps(mark, ranks[middle][0]) else (low, middle)
            if low < len(ranks) and not self._swaps(ranks[low][0], mark):
                ranks[low].append(mark)
            else:
                ranks.insert(low, [mark])
        assert 0 < len(ranks) <= MOST_CLASSES
        for rank, marks in enumerate(ranks, 1):
            yield from ((ord(mark), rank) for mark in marks)

    def _pairs(self) -> Iterator[tuple[tuple[int, int], int]]:
        """((first, second), what they compose to), without Hangul."""
        nfc, nfd = self.form["NFC"], self.form["NFD"]
        for point in self.changed["NFD"].keys() - self.changed["NFC"].keys() - set(SYLLABLES):
            made = nfd(chr(point))
            first = nfc(made[:-1])
            assert len(first) == 1 and nfc(first + made[-1]) == chr(point), hex(point)
            yield (ord(first), ord(made[-1])), point

    def _joins(self) -> dict[tuple[int, int], int]:
        """The pairs, and those of a starter whose first ends a sequence that composes with it."""
        found = dict(self.pairs)
        for first, second in self.pairs:
            last = ord(self.form["NFD"](chr(first))[-1])
            if last != first and not self.classes.get(second):
                assert not self.classes.get(last), "a starter composes across a mark"
                found.setdefault((last, second), JOINS_ONLY)
        return found

    def suspects(self, form: str) -> set[int]:
        """Characters that the form changes, or that may change what stands in front, or be moved. Without plain
        marks, which only have to be in order."""
        composes, whole = form.endswith("C"), self.form["NFKD" if "K" in form else "NFD"]
        seconds = self.seconds if composes else set()
        found = self.changed[form].keys() | seconds
        for point in self.changed["NFKD"].keys() - found:
            first = ord(whole(chr(point))[0])
            if first in seconds or first in self.classes:
                found.add(point)
        return found

    def check_pairs(self) -> None:
        """There are no other pairs: each character that may be second is tried behind every starter, where no mark of a
        higher class stands between them."""
        nfc, nfd = self.form["NFC"], self.form["NFD"]
        gone = self.changed["NFC"].keys() | self.classes.keys() | self.seconds | {10}
        last = {chr(point): self.classes.get(ord(nfd(chr(point))[-1]), 0) for point in POINTS if point not in gone}
        for second in sorted(self.seconds):
            own = self.classes.get(second, 0)
            whole = [c for c, rank in last.items() if not own or rank <= own]
            made = nfc("".join(c + chr(second) + "\n" for c in whole)).split("\n")[:-1]
            for c, got in zip(whole, made, strict=True):
                pair = self.pairs.get((ord(c), second)) or hangul(ord(c), second)
                assert got == (chr(pair) if pair else c + chr(second)), (c, hex(second))


class Records:
    """What characters decompose to: bytes of the canonical form, then of the other if it is another."""

    def __init__(self) -> None:
        self.places: dict[bytes, int] = {}
        self.data = b""

    def place(self, canonical: str, other: str) -> int:
        a, b = canonical.encode(), other.encode() if other != canonical else b""
        record = bytes([len(a)]) + a + bytes([len(b)]) + b
        if record not in self.places:
            self.places[record] = len(self.data) // 2
            self.data += record + b"\0" * (len(record) & 1)
        return self.places[record]


def values(probe: Probe) -> tuple[list[int], bytes]:
    """The entry of each code point, and the records."""
    records = Records()
    found = [0] * CODE_POINTS
    for point in POINTS:
        if point in SYLLABLES:
            continue
        if point in probe.changed["NFKD"]:
            canonical = probe.changed["NFD"].get(point, "")
            found[point] = DECOMPOSES | records.place(canonical, probe.changed["NFKD"][point])
        else:
            found[point] = (
                probe.classes.get(point, 0) | FIRST * (point in probe.firsts) | SECOND * (point in probe.seconds)
            )
    whole = (probe.classes.keys() | probe.seconds) & probe.changed["NFKD"].keys()
    assert not whole and probe.changed["NFD"].keys() <= probe.changed["NFKD"].keys() and len(records.data) < 1 << 16
    return found, records.data


def pair_slot(first: int, second: int) -> int:
    return ((first << 21 | second) * PAIR_FACTOR & (1 << 64) - 1) >> 53


def pair_table(joins: dict[tuple[int, int], int]) -> list[int]:
    """Open addressing: each entry is first, second and made, 21 bits each; 0 = none."""
    table = [0] * PAIR_SLOTS
    for (first, second), made in sorted(joins.items()):
        slot = pair_slot(first, second)
        while table[slot]:
            slot = (slot + 1) % PAIR_SLOTS
        table[slot] = first << 42 | second << 21 | made
    return table


def mask(points: Iterable[int], row: int) -> int:
    return sum(1 << (point & 63) for point in range(row * 64, row * 64 + 64) if point in points)


class Stages:
    """Three stages: 4,096 code points, rows of 64, entries. Equal rows are stored once."""

    def __init__(self, rows: list[tuple[int, ...]]) -> None:
        numbers: dict[tuple[int, ...], int] = {}
        row_of = [numbers.setdefault(row, len(numbers)) for row in rows]
        tops: dict[tuple[int, ...], int] = {}
        self.top = [tops.setdefault(tuple(row_of[i : i + 64]), len(tops)) for i in range(0, len(row_of), 64)]
        self.middle = [row for top in tops for row in top]
        self.rows = list(numbers)


def lower_stages(lower: dict[int, str]) -> tuple[Stages, list[int], list[tuple[int, int, int]]]:
    """The number of each code point's distance to its lower case, the distances, and the characters that become two."""
    two = [(point, ord(made[0]), ord(made[1])) for point, made in lower.items() if len(made) > 1]
    assert all(len(made) <= 2 for made in lower.values())
    distances = sorted({0, *(ord(made) - point for point, made in lower.items() if len(made) == 1)}, key=abs)
    number = {distance: i for i, distance in enumerate(distances)}
    entries = [0] * CODE_POINTS
    for point, made in lower.items():
        entries[point] = number[ord(made) - point] if len(made) == 1 else len(distances)
    rows = [tuple(entries[row : row + 64]) for row in range(0, CODE_POINTS, 64)]
    assert len(two) == 1 and len(distances) < 256
    return Stages(rows), distances, two


# Classes of first bytes of characters of three or four bytes: one bit each. Bit 0 is that of characters of two bytes.
LEAD_CLASSES = (
    "\xe0",
    "\xe1",
    "\xe2",
    "\xe3",
    "\xea\xeb\xec\xed",
    "\xef",
    "\xe4\xe5\xe6\xe7\xe8\xe9\xee\xf0\xf1\xf2\xf3\xf4",
)


def lead_filter(points: set[int]) -> bytes:
    """Two tables of 64 bytes. The entries for the first and for the second byte of a character, by their low six bits,
    have a bit in common if it may be one of the points."""
    first, second = bytearray(64), bytearray([1]) * 64
    for data in (chr(point).encode() for point in points):
        bit = 1 << next((i for i, leads in enumerate(LEAD_CLASSES, 1) if chr(data[0]) in leads), 0)
        first[data[0] & 63] |= bit
        second[data[1] & 63] |= bit
    return bytes(first + second)


def tables(probe: Probe) -> tuple[list[tuple[str, generated.Arrays]], list[str]]:
    """Groups of tables, each with its comment, and the constants."""
    entries, records = values(probe)
    kinds = [probe.suspects(form) for form in FORMS] + [
        set(probe.classes),
        probe.accents,
        probe.nonspacing,
        probe.cleaned,
    ]
    rows = [
        (*entries[row * 64 : row * 64 + 64], *(mask(kind, row) for kind in kinds)) for row in range(CODE_POINTS // 64)
    ]
    stages = Stages(rows)
    lower, distances, ((special, one, two),) = lower_stages(probe.lower)
    filters = b"".join(lead_filter(kind | set(probe.classes)) for kind in kinds[: len(FORMS)])
    masks = [word for row in stages.rows for word in row[64:]]
    constants = [
        f"#define ST_NORMAL_PAIR_FACTOR UINT64_C({PAIR_FACTOR:#x})",
        f"#define ST_LOWER_TWO {len(distances)} /* U+{special:04X} */",
        f"#define ST_LOWER_TWO_FIRST {one:#x}",
        f"#define ST_LOWER_TWO_SECOND {two:#x}",
    ]
    numbers = generated.numbers
    return [
        (
            "The row of a code point: st_normal_middle[st_normal_top[point >> 12] * 64 + (point >> 6 & 63)].",
            {"st_normal_top": numbers("uint8", stages.top), "st_normal_middle": numbers("uint16", stages.middle)},
        ),
        (
            "Entry number (point & 63) of the row.",
            {"st_normal_values": numbers("uint16", (value for row in stages.rows for value in row[:64]))},
        ),
        (
            f"For each row {len(kinds)} masks: what {', '.join(FORMS)} may change, marks, accents, nonspacing marks,"
            " what clean_text\n * removes.",
            {"st_normal_masks": numbers("uint64", masks)},
        ),
        (
            "For each form 64 entries for the first byte of a character, and 64 for the second, by their low six\n"
            " * bits. Where the two have no bit in common, the character is neither in the form's mask nor a mark.",
            {"st_normal_filters": numbers("uint8", filters)},
        ),
        ("What characters decompose to.", {"st_normal_records": numbers("uint8", records)}),
        (
            "Pairs that compose: first, second, made, 21 bits each.",
            {"st_normal_pairs": numbers("uint64", pair_table(probe.joins))},
        ),
        (
            "Lower case: stages as above, to the number of a distance.",
            {
                "st_lower_top": numbers("uint8", lower.top),
                "st_lower_middle": numbers("uint8", lower.middle),
                "st_lower_rows": numbers("uint8", (value for row in lower.rows for value in row)),
                "st_lower_distances": numbers("int32", distances),
            },
        ),
    ], constants


def declared(comment: str, arrays: generated.Arrays) -> str:
    lines = [f"extern const {array.dtype.name}_t {name}[{array.size}];" for name, array in arrays.items()]
    return "\n".join([f"/* {comment} */", *lines])


def files() -> dict[pathlib.Path, generated.Content]:
    """The header, and the numbers that normal_tables.c includes."""
    groups, constants = tables(Probe())
    arrays = {name: array for _, group in groups for name, array in group.items()}
    constant = "\n".join(constants)
    declarations = "\n\n".join(declared(comment, group) for comment, group in groups)
    version = importlib.metadata.version("tokenizers")
    header = f"""/* Generated by tools/gen_normal.py from tokenizers {version}. Do not edit: run the tool again.
 *
 * chars.h reads these tables. The numbers are in normal_tables.npz, of which the build makes normal_data.h. They lie in
 * normal_tables.c, or, with ST_NORMAL_NUMBERS, in the file that includes this one: a kernel has no others.
 * Checksum {generated.checksum(arrays)}. */
#ifndef ST_NORMAL_NORMAL_TABLES_H
#define ST_NORMAL_NORMAL_TABLES_H

#include "base/portable.h"

{constant}

#ifdef ST_NORMAL_NUMBERS
#define ST_NUMBERS(type, name, count) ST_TABLE type name[count]
#include "normal/normal_data.h"
#undef ST_NUMBERS
#else

{declarations}

#endif

#endif
"""
    return {FOLDER / "normal_tables.h": header, FOLDER / "normal_tables.npz": arrays}


def main() -> int:
    parser = generated.arguments("Write csrc/normal/normal_tables.* from the normalizers of tokenizers.")
    parser.add_argument("--pairs", action="store_true", help="only check that no other pairs compose: some minutes")
    options = parser.parse_args()
    if options.pairs:
        Probe().check_pairs()
        return 0
    return generated.write_or_check(files(), options.check)


if __name__ == "__main__":
    sys.exit(main())
