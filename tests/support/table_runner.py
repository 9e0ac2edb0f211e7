"""Runs the table of a compiled pattern, slowly: one character at a time, as the definition of the table reads."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from streamtok.patterns import compiled as t


class TableRunner:
    """Ends of pieces in characters, and which of the pieces are dropped."""

    def __init__(self, table: t.CompiledPattern) -> None:
        table.check()
        self.table = table
        self.index = struct.unpack(f"<{t.BLOCKS}H", table.class_index)
        self.entries = struct.unpack(f"<{table.states * table.classes}I", table.entries)
        self.ops = struct.unpack(f"<{len(table.ops) // 2}H", table.ops)
        self.reset()

    def reset(self) -> None:
        self.state = self.here = 0
        self.back = 0
        self.marks = [0] * t.MOST_MARKS
        self.ends: list[tuple[int, bool]] = []

    def class_of(self, character: str) -> int:
        code = ord(character)
        return self.table.class_blocks[self.index[code >> 7] * t.BLOCK + (code & 127)]

    def feed(self, text: str) -> None:
        for character in text:
            self._step(self.class_of(character))
            self.back = self.here
            self.here += 1

    def finish(self) -> list[tuple[int, bool]]:
        """(end, dropped) of all pieces."""
        self._step(0)
        ends = self.ends
        assert self.state == 0
        assert [end for end, _ in ends] == sorted({end for end, _ in ends}) and 0 not in dict(ends), ends
        assert (ends[-1][0] if ends else 0) == self.here
        self.reset()
        return ends

    def _step(self, number: int) -> None:
        entry = self.entries[self.state * self.table.classes + number]
        if entry & t.SLOW:
            self._op(entry >> t.OP_SHIFT & 0xFFF)
        else:
            dropped = bool(entry & t.DROPPED)
            if entry & t.EMIT_BACK:
                self.ends.append((self.back, dropped))
            if entry & t.EMIT:
                self.ends.append((self.here, dropped))
        self.state = entry & 0xFFFF

    def _op(self, at: int) -> None:
        dropped = False
        while (word := self.ops[at]) >> 8 != t.OP_END:
            code, a, b = word >> 8, word & 15, word >> 4 & 15
            if code in (t.OP_EMIT_MARK, t.OP_EMIT_BACK, t.OP_EMIT_HERE):
                place = {t.OP_EMIT_MARK: self.marks[a], t.OP_EMIT_BACK: self.back}.get(code, self.here)
                self.ends.append((place, dropped))
                dropped = False
            elif code == t.OP_MOVE:
                self.marks[a] = self.marks[b]
            elif code == t.OP_MARK_HERE:
                self.marks[a] = self.here
            elif code == t.OP_MARK_BACK:
                self.marks[a] = self.back
            else:
                dropped = True
            at += 1

    def split(self, text: str, cuts: Iterable[int] = ()) -> list[tuple[int, bool]]:
        """The same from the text as a whole; `cuts` only say where a feed ends."""
        at = 0
        for cut in [*cuts, len(text)]:
            self.feed(text[at:cut])
            at = cut
        return self.finish()
