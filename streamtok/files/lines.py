"""Lines, from chunks that are cut anywhere."""

from __future__ import annotations


class Lines:
    r"""Cuts chunks into lines, each without the "\n" that ends it. No more is held than the line that has not ended."""

    def __init__(self) -> None:
        self._held: list[bytes] = []

    def feed(self, chunk: bytes) -> tuple[list[bytes], list[bytes], int] | None:
        """The first line that ends in the chunk, in the pieces that it came in; the other lines that end in it; and how
        many bytes these lines have together, with what ends them. None where no line ends."""
        head, *whole = chunk.split(b"\n")
        self._held.append(head)
        if not whole:
            return None
        first, rest = self._held, whole.pop()
        self._held = [rest]
        return first, whole, sum(map(len, first)) + len(chunk) - len(head) - len(rest)

    def end(self) -> list[bytes]:
        """What stands behind the last line that ended, in the pieces that it came in; b"" are left out."""
        rest, self._held = self._held, []
        return [piece for piece in rest if piece]
