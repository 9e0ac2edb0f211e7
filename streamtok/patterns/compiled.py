"""The table that a pattern compiles to: a machine that splits text into pieces and reads each character once.

The characters fall into classes; an entry of the table says, for a state and the class of the next character, which
state comes next and where pieces end. An end may lie before this character ("here"), before the one in front of it
("back"), or at a mark, a register that holds an offset. The next state alone decides what happens later, so that a text
may be cut anywhere, and what is kept between two parts is the state, the marks and the offset of the last character.
"""

from __future__ import annotations

from typing import NamedTuple

from .published import TABLE_VERSION

MOST_CLASSES = 256
MOST_STATES = 4096
MOST_MARKS = 8
MOST_EMITS = MOST_MARKS + 2
"""Ends that one step gives at most: one at each mark, the last character and this one."""

EMIT, EMIT_BACK, SLOW, DROPPED = 1 << 31, 1 << 30, 1 << 29, 1 << 28
OP_SHIFT = 16
OP_END, OP_EMIT_MARK, OP_EMIT_BACK, OP_EMIT_HERE, OP_MOVE, OP_MARK_HERE, OP_MARK_BACK, OP_DROPPED = range(8)
BLOCK = 128
"""Code points to a block of the map of classes."""
BLOCKS = 0x110000 // BLOCK


class NotCompilable(ValueError):
    """The pattern has no table; the message says which construct is the reason."""


class CompiledPattern(NamedTuple):
    """A pattern as a table. All multi-byte numbers are little-endian.

    classes: the number of classes of characters; class 0 is the end of the text.
    class_index, class_blocks: the class of code point c is class_blocks[class_index[c >> 7] * 128 + (c & 127)], where
        class_index holds uint16 and class_blocks uint8.
    states: the number of states; in state 0 nothing is open.
    entries: uint32 [states][classes]. Bits 0 to 15: the next state. Bit 31: a piece ends here. Bit 30: one ends back.
        Bit 28: the piece that ends is dropped. Bit 29: the op whose number stands in bits 16 to 27 says all that.
    ops: uint16; the op with number k begins at ops[k]. High byte: what to do; low byte: the marks (bits 0 to 3: a, bits
        4 to 7: b). 0 end of the op, 1 a piece ends at mark a, 2 back, 3 here, 4 a = b, 5 a = here, 6 a = back,
        7 the next end is that of a dropped piece.
    drops: whether some pieces are dropped.
    """

    classes: int
    class_index: bytes
    class_blocks: bytes
    states: int
    entries: bytes
    ops: bytes
    drops: bool
    table_version: int = TABLE_VERSION

    def digest(self) -> str:
        """A checksum of the whole table, 24 hexadecimal digits."""
        from ..native.checksum import digest

        parts = [part if isinstance(part, bytes) else b"%d" % part for part in self]
        return digest(b"".join(b"%d:%b" % (len(part), part) for part in parts))

    def check(self) -> None:
        """Raises ValueError where the table is not one that a machine may run."""
        import struct

        if self.table_version != TABLE_VERSION:
            raise ValueError(f"this table has version {self.table_version}; version {TABLE_VERSION} is supported")
        sizes = [
            (2 <= self.classes <= MOST_CLASSES, "number of classes"),
            (1 <= self.states <= MOST_STATES, "number of states"),
            (len(self.class_index) == 2 * BLOCKS, "index of classes"),
            (len(self.class_blocks) % BLOCK == 0 and len(self.class_blocks) > 0, "blocks of classes"),
            (len(self.entries) == 4 * self.states * self.classes, "number of entries"),
            (len(self.ops) % 2 == 0 and 2 <= len(self.ops) <= 2 * 4096, "list of ops"),
        ]
        for right, what in sizes:
            if not right:
                raise ValueError(f"the table of a pattern is damaged: its {what} is wrong")
        blocks = len(self.class_blocks) // BLOCK
        if max(struct.unpack(f"<{BLOCKS}H", self.class_index)) >= blocks:
            raise ValueError("the table of a pattern is damaged: its index names a block that is not there")
        if max(self.class_blocks) >= self.classes or min(self.class_blocks) < 1:
            raise ValueError("the table of a pattern is damaged: a block names a class that is not there")
        ops = struct.unpack(f"<{len(self.ops) // 2}H", self.ops)
        for at, entry in enumerate(struct.unpack(f"<{self.states * self.classes}I", self.entries)):
            _check_entry(entry, at % self.classes, self.states, ops)


def _check_entry(entry: int, of_class: int, states: int, ops: tuple[int, ...]) -> None:
    if entry & 0xFFFF >= states or (of_class == 0 and entry & 0xFFFF):
        raise ValueError("the table of a pattern is damaged: an entry leads to a state that is not there")
    if not entry & SLOW:
        return
    at, ends = entry >> OP_SHIFT & 0xFFF, 0
    while True:
        if at >= len(ops):
            raise ValueError("the table of a pattern is damaged: an op has no end")
        code, a, b = ops[at] >> 8, ops[at] & 15, ops[at] >> 4 & 15
        if code == OP_END:
            return
        ends += code in (OP_EMIT_MARK, OP_EMIT_BACK, OP_EMIT_HERE)
        marks = code in (OP_EMIT_MARK, OP_MOVE, OP_MARK_HERE, OP_MARK_BACK)
        if code > OP_DROPPED or (marks and a >= MOST_MARKS) or (code == OP_MOVE and b >= MOST_MARKS):
            raise ValueError("the table of a pattern is damaged: an op is not one")
        if ends > MOST_EMITS:
            raise ValueError("the table of a pattern is damaged: an op ends too many pieces")
        at += 1
