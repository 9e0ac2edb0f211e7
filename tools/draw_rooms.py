"""Draws the folders of csrc/ (docs/rooms.svg) and of streamtok/ (docs/rooms_python.svg), with an arrow from each to
those that it uses.

    python tools/draw_rooms.py             writes the pictures
    python tools/draw_rooms.py --check     fails if the code has other arrows than the pictures

The arrows are the code's own includes, cimports and imports. An arrow that others imply is not drawn, nor are those to
`base` and to the modules in streamtok/ itself, which nearly every room has, nor those from streamtok/ to csrc/. The
pictures list all of them in a comment.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import pathlib
import re
import sys
from collections.abc import Iterator
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURES = {"csrc": ROOT / "docs" / "rooms.svg", "streamtok": ROOT / "docs" / "rooms_python.svg"}

# What lives in a room, in few words; docs/design.md says more.
CAPTIONS = {
    "base": "compilers, machines, memory, one character",
    "checksum": "CRC-32",
    "text": "UTF-8, chunks",
    "normal": "normal forms",
    "split": "text to pieces",
    "pairs": "pair table",
    "listing": "lists of model files",
    "rows": "padded, packed",
    "special": "special tokens",
    "vocab": "tokens, decoding",
    "cut": "exact cuts",
    "longest": "longest match",
    "unigram": "scores",
    "decoders": "texts by slots",
    "train": "counts, merges",
    "merge": "words, windows",
    "cuda": "text to pieces",
    "cuda/encode": "kernels",
    "cuda/ids": "ids to bytes, rows",
    "cuda/longest": "longest match",
    "cuda/train": "kernels",
    "endless": "pieces of any length",
    "image": "all tables as one",
    "lookup": "pieces to ids",
    "models": "what the models are",
    "tiers": "for each processor",
    "stream": "feed, state",
    "threads": "cut texts, jobs",
    "compiled": "a model as one file",
    "api": "the C library",
    "csrc": "the core in C, of which native, train and gpu use rooms",
    "streamtok": "Encoding, streams, registry, errors",
    "streamtok/native": "Cython",
    "streamtok/disk": "files that last",
    "streamtok/bundled": "shipped tables",
    "streamtok/patterns": "patterns of one's own",
    "streamtok/serving": "what servers ask",
    "streamtok/chat": "conversations",
    "streamtok/vectors": "golden vectors",
    "streamtok/arrow": "columns of text",
    "streamtok/files": "encode_file",
    "streamtok/whole": "whole texts",
    "streamtok/_rows": "rows for models",
    "streamtok/view": "a page of tokens",
    "streamtok/model_files": "tokenizer.json",
    "streamtok/gpu": "CUDA devices",
    "streamtok/train": "training",
    "streamtok/dataset": "shards, manifests",
    "streamtok/ray": "many machines",
    "streamtok/cli": "the command",
    "streamtok/integrations": "in other libraries",
}

# Nearly every room uses these: arrows to them would hide the others. They are bars below and above a picture.
EVERYWHERE = ("base", "streamtok")
BARS = {"csrc": ("", "base"), "streamtok": ("streamtok", "csrc")}

Arrows = set[tuple[str, str]]


# ==== The code ====


def c_arrows() -> Arrows:
    """Rooms of csrc/: (user, used), by #include."""
    found = set()
    for path in (ROOT / "csrc").rglob("*"):
        if path.suffix in (".c", ".h", ".cu"):
            user = path.parent.relative_to(ROOT / "csrc").as_posix()
            for header in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(encoding="utf-8"), re.M):
                if "/" in header:  # not streamtok.h, which lies in no room
                    found.add((user, header.rpartition("/")[0]))
    return {(user, used) for user, used in found if user != used}


def python_room(module: str) -> str:
    """The folder of streamtok.files.run is streamtok/files; deeper ones belong to it."""
    parts = module.split(".")
    is_folder = len(parts) > 1 and ROOT.joinpath("streamtok", parts[1]).is_dir()
    return f"streamtok/{parts[1]}" if is_folder else "streamtok"


def imports_of(path: pathlib.Path) -> Iterator[str]:
    """Modules that a file of Python or Cython imports, at its top or inside functions, by their full names."""
    package = path.parent.relative_to(ROOT).parts
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                above = package[: len(package) - node.level + 1] if node.level else ()
                base = ".".join([*above, *([node.module] if node.module else [])])
                yield from (f"{base}.{alias.name}" for alias in node.names)
    else:
        for dots, name in re.findall(r"^\s*from\s+(\.+)([\w.]*)\s+c?import", text, re.M):
            yield ".".join([*package[: len(package) - len(dots) + 1], *([name] if name else [])])


def python_arrows() -> Arrows:
    """Folders of streamtok/: (user, used), by import and cimport, and the rooms of csrc/ that Cython declares."""
    found = set()
    for path in (path for suffix in ("py", "pyx", "pxd") for path in (ROOT / "streamtok").rglob(f"*.{suffix}")):
        user = python_room(".".join(path.relative_to(ROOT).with_suffix("").parts))
        found |= {(user, python_room(name)) for name in imports_of(path) if name.split(".")[0] == "streamtok"}
        declared = re.findall(r'extern from "([^"]+)/[^"/]+"', path.read_text(encoding="utf-8"))
        found |= {(user, room) for room in declared if (ROOT / "csrc" / room).is_dir()}
    return {(user, used) for user, used in found if user != used}


def kernel_arrows() -> Arrows:
    """(folder of streamtok/, room of kernels that the build puts into it), as setup.py says."""
    text = (ROOT / "setup.py").read_text(encoding="utf-8")
    pairs = re.findall(r'\("([\w/]+)", "(cuda/\w+)/\w+\.cu"\)', text)
    return {(f"streamtok/{package.split('/')[0]}", room) for package, room in pairs}


def arrows() -> Arrows:
    return c_arrows() | python_arrows() | kernel_arrows()


# ==== The order ====


def rooms(edges: Arrows) -> set[str]:
    return {room for edge in edges for room in edge}


def uses(edges: Arrows) -> dict[str, list[str]]:
    """Room -> those that it uses, sorted; a room that uses none has an empty list."""
    return {room: sorted(b for a, b in edges if a == room) for room in sorted(rooms(edges))}


def levels(edges: Arrows) -> dict[str, int]:
    """Room -> 1 more than the highest level of the rooms that it uses. ValueError: rooms use each other in a cycle."""
    below, known = uses(edges), dict[str, int]()

    def level(room: str, above: tuple[str, ...]) -> int:
        if room in above:
            raise ValueError(f"these use each other: {' -> '.join([*above[above.index(room) :], room])}")
        if room not in known:
            known[room] = 1 + max((level(other, (*above, room)) for other in below[room]), default=-1)
        return known[room]

    for room in below:
        level(room, ())
    return known


def rows(edges: Arrows) -> dict[str, int]:
    """Room -> its row, above those of all that it uses, with at most MOST rooms in a row."""
    below, level, found = uses(edges), levels(edges), dict[str, int]()
    for room in sorted(below, key=lambda room: (level[room], room)):
        row = 1 + max((found[other] for other in below[room]), default=-1)
        while list(found.values()).count(row) >= MOST:
            row += 1
        found[room] = row
    return found


def not_implied(edges: Arrows) -> Arrows:
    """The arrows that no path over other rooms implies."""
    below = uses(edges)

    def reached(room: str) -> set[str]:
        return {room}.union(*(reached(other) for other in below[room]))

    return {(a, b) for a, b in edges if not any(b in reached(other) for other in below[a] if other != b)}


# ==== The picture ====

WIDTH, HEIGHT = 128, 40  # of a box
GAP, STEP = 12, 78  # between boxes, and from row to row
LANE = 9  # kept free for an arrow that passes a row
MOST = 6  # boxes in a row, so that a picture is as wide as a page
MARGIN = 16
ORDERING, SETTLING = 40, 20  # how often all rows move: more changes nothing
NARROWER = 0.7  # all places at the end, as far as boxes have room

# Colours that show on white and on black.
INK = "#7d8590"
COLOURS = {"csrc": "#2f81f7", "cuda": "#009e73", "streamtok": "#d55e00"}

# The end of an arrow.
TIP = (
    '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="3" refY="4" orient="auto">'
    f'<path d="M0 1L6 4L0 7z" fill="{INK}"/></marker></defs>'
)

# A room, or the place where an arrow (user, used) passes a row.
Spot = str | tuple[str, str, int]


def half(spot: Spot) -> float:
    return (WIDTH + GAP) / 2 if isinstance(spot, str) else LANE / 2


def chains(edges: Arrows, level: dict[str, int]) -> list[list[Spot]]:
    """Each arrow as the spots that it goes through, one a row, from the top."""
    found: list[list[Spot]] = []
    for a, b in sorted(edges):
        found.append([a, *((a, b, row) for row in range(level[a] - 1, level[b], -1)), b])
    return found


def spread(row: list[Spot], wished: dict[Spot, float]) -> dict[Spot, float]:
    """Positions in a row, in its order, with the least distances kept, and close to the wanted ones."""
    left, right = dict[Spot, float](), dict[Spot, float]()
    for i, spot in enumerate(row):
        nearest = left[row[i - 1]] + half(row[i - 1]) + half(spot) if i else wished[spot]
        left[spot] = max(wished[spot], nearest)
    for i in range(len(row) - 1, -1, -1):
        spot = row[i]
        nearest = right[row[i + 1]] - half(row[i + 1]) - half(spot) if i + 1 < len(row) else wished[spot]
        right[spot] = min(wished[spot], nearest)
    return {spot: (left[spot] + right[spot]) / 2 for spot in row}


def placed(lines: list[list[Spot]], level: dict[str, int]) -> dict[Spot, float]:
    """The middle of each spot. Row by row, downwards and upwards, each spot moves to the mean of those that it is
    joined to. The first passes also choose the order in each row; later ones keep it and shorten the lines."""
    joined: dict[Spot, list[Spot]] = {room: [] for room in level}
    for line in lines:
        for a, b in itertools.pairwise(line):
            joined.setdefault(a, []).append(b)
            joined.setdefault(b, []).append(a)
    row_of = {spot: level[spot] if isinstance(spot, str) else spot[2] for spot in joined}
    rows = [sorted((spot for spot in joined if row_of[spot] == n), key=str) for n in range(max(level.values()) + 1)]
    at: dict[Spot, float] = {}
    for row in rows:
        at.update(spread(row, dict.fromkeys(row, 0.0)))
    for turn in range(ORDERING + SETTLING):
        upwards = turn % 2 == 0
        for row in rows if upwards else reversed(rows):
            wished = {}
            for spot in row:
                towards = [s for s in joined[spot] if turn >= ORDERING or (row_of[s] < row_of[spot]) == upwards]
                wished[spot] = sum(at[s] for s in towards or row) / len(towards or row)
            if turn < ORDERING:
                row.sort(key=wished.__getitem__)
            at.update(spread(row, wished))
    for row in rows:
        at.update(spread(row, {spot: at[spot] * NARROWER for spot in row}))
    return at


def text(x: float, y: float, words: str, size: int, colour: str) -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{colour}" text-anchor="middle">{escape(words)}</text>'
    )


def box(x: float, y: float, width: float, room: str) -> str:
    """A room, its middle at (x, y)."""
    kind = room.split("/")[0]
    colour = COLOURS.get(kind, COLOURS["csrc"])
    name = room.removeprefix("streamtok/")
    frame = f'<rect x="{x - width / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{width:.0f}" height="{HEIGHT}" rx="5"'
    look = f'fill="{colour}" fill-opacity="0.12" stroke="{colour}"'
    lines = [text(x, y - 3, name, 14, colour), text(x, y + 12, CAPTIONS[room], 11, INK)]
    return "\n".join([f"{frame} {look}/>", *lines])


def curve(points: list[tuple[float, float]]) -> str:
    """A line downwards through the points, with an arrow at its end."""
    (x, y), *others = points
    path = f"M{x:.0f} {y:.0f}"
    for x1, y1 in others:
        path += f" C{x:.0f} {(y + y1) / 2:.0f} {x1:.0f} {(y + y1) / 2:.0f} {x1:.0f} {y1:.0f}"
        x, y = x1, y1
    return f'<path d="{path}" fill="none" stroke="{INK}" marker-end="url(#tip)"/>'


def comment(edges: Arrows) -> str:
    """All arrows, a line for each room."""
    lines = [f"{room}: {' '.join(used)}" for room, used in uses(edges).items() if used]
    return "<!-- arrows\n" + "\n".join(lines) + "\n-->"


def side(edges: Arrows, name: str) -> Arrows:
    """The arrows of the rooms of csrc/, or of those of streamtok/."""
    return {(a, b) for a, b in edges if (a.split("/")[0] == "streamtok") == (name == "streamtok")}


def picture(everything: Arrows, name: str) -> str:
    missing = rooms(everything) - CAPTIONS.keys()
    if missing:
        raise ValueError(f"CAPTIONS says nothing of {', '.join(sorted(missing))}")
    edges = side(everything, name)
    inside = {a for a, _ in edges} | ({b for _, b in edges} if name == "csrc" else set())
    drawn = {(a, b) for a, b in edges if not {a, b} & set(EVERYWHERE) and b in inside}
    alone = inside - rooms(drawn) - set(EVERYWHERE)
    level = rows(drawn) | dict.fromkeys(alone, 0)
    lines = chains(not_implied(drawn), level)
    at = placed(lines, level)
    left = min(x - half(spot) for spot, x in at.items()) - MARGIN
    width = max(x + half(spot) for spot, x in at.items()) + MARGIN - left
    top = max(level.values()) + bool(BARS[name][0])  # the row of the modules in streamtok/ itself

    def y(row: float) -> float:
        return MARGIN + HEIGHT / 2 + (top - row) * STEP

    def ends(spot: Spot, row: int, first: bool, last: bool) -> tuple[float, float]:
        return at[spot] - left, y(row) + (HEIGHT / 2 if first else -HEIGHT / 2 - 5 if last else 0)

    bars = zip((top, -1), BARS[name])
    body = [box(width / 2, y(row), width - 2 * MARGIN, room) for row, room in bars if room]
    body += [box(at[room] - left, y(row), WIDTH, room) for room, row in level.items()]
    for line in lines:
        spots = [(spot, level[spot] if isinstance(spot, str) else spot[2]) for spot in line]
        body.append(curve([ends(spot, row, spot == line[0], spot == line[-1]) for spot, row in spots]))
    height = y(-1) + HEIGHT / 2 + MARGIN
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">'
    return "\n".join([head, comment(edges), TIP, *body, "</svg>", ""])


def main() -> int:
    parser = argparse.ArgumentParser(description="Draw docs/rooms*.svg from the code's includes and imports.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the arrows have changed")
    check, edges = parser.parse_args().check, arrows()
    for name, path in PICTURES.items():
        if not check:
            path.write_text(picture(edges, name), encoding="utf-8")
        elif comment(side(edges, name)) not in path.read_text(encoding="utf-8"):
            print(f"the code has other arrows than {path.name}: run tools/draw_rooms.py", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
