"""Texts of one unit repeated, mostly one endless piece, one-shot and streamed, at n, 2n and 4n bytes.

Linear time shows as a ratio near 2 a doubling; bounded memory as `pending`, the most bytes that the stream held back.
--full adds 10 and 100 MB. At 1 MB the ids are compared with tiktoken's (or, where it refuses the text, the reference
engine's), at every size those of one-shot with those streamed. "First" is a new Encoding's first text: it builds the
automaton of long pieces.
"""

from __future__ import annotations

import base64
import pathlib
import random
import sys
from typing import Any

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from common import ENCODINGS, MB, check_ids, cpu_seconds, fresh_encoding, main, markdown, oracle

import streamtok

CHUNK = 64 << 10
DOUBLINGS = (MB, 2 * MB, 4 * MB)
LONG = (10 * MB, 100 * MB)

REPEATED = {"a": "a", "space": " ", "newline": "\n", "digit": "7", "=": "=", "Chinese": "中", "emoji": "😀"}
REPEATED["CR LF"] = "\r\n"
UNITS = [*REPEATED, "letters", "base64"]


def text_of(unit: str, size: int) -> bytes:
    """About `size` bytes: the unit repeated, or random letters without a break."""
    if unit in REPEATED:
        one = REPEATED[unit].encode()
        return one * (size // len(one))
    noise = random.Random(unit).randbytes(size)
    if unit == "base64":
        return base64.b64encode(noise)[:size]
    return noise.translate(bytes(ord("a") + byte % 26 for byte in range(256)))


def stream_through(enc: streamtok.Encoding, data: bytes) -> tuple[np.ndarray, int]:
    """(ids, most bytes pending after a feed)."""
    stream = enc.stream_encoder(disallowed_special=())
    view, taken, n, pending = memoryview(data), np.empty(len(data), np.uint32), 0, 0
    for at in range(0, len(data), CHUNK):
        ids = stream.feed(view[at : at + CHUNK])
        taken[n : n + len(ids)] = ids
        n += len(ids)
        del ids
        pending = max(pending, stream.pending)
    ids = stream.flush()
    taken[n : n + len(ids)] = ids
    return taken[: n + len(ids)], pending


def one_size(enc: streamtok.Encoding, data: bytes) -> dict[str, float]:
    one_shot, ids = cpu_seconds(lambda: enc.encode_to_numpy(data, disallowed_special=()))
    streamed, (again, pending) = cpu_seconds(stream_through, enc, data)
    check_ids(again, ids, f"streamed and one-shot, {enc.name}")
    return {"size": len(data), "one_shot": one_shot, "streamed": streamed, "pending": pending}


def expected_ids(name: str, data: bytes) -> np.ndarray:
    """tiktoken's ids; its regex gives up on a megabyte of spaces in o200k_base, then the reference engine's."""
    try:
        return oracle(name).encode_to_numpy(data.decode(), disallowed_special=())
    except ValueError:
        enc = streamtok.get_encoding(name)
        special = enc._special_tokens
        slow = streamtok.Encoding._bundled(name, enc._pat_str, enc._vocabulary, special, None, engine="reference")
        return slow.encode_to_numpy(data)


def one_unit(encoding: str, unit: str, full: bool) -> dict[str, Any]:
    enc, sizes = fresh_encoding(encoding), []
    data = text_of(unit, DOUBLINGS[0])
    first, ids = cpu_seconds(lambda: enc.encode_to_numpy(data, disallowed_special=()))
    first_streamed, (again, _) = cpu_seconds(stream_through, fresh_encoding(encoding), data)
    expected = expected_ids(encoding, data)
    check_ids(ids, expected, f"{unit}, {encoding}")
    check_ids(again, expected, f"{unit} streamed, {encoding}")
    stream_through(enc, data)  # one-shot may not have built what streaming needs
    for size in DOUBLINGS + (LONG if full else ()):
        data = text_of(unit, size)
        turns = [one_size(enc, data) for _ in range(3 if full and size in DOUBLINGS else 1)]
        sizes.append({key: min(turn[key] for turn in turns) for key in turns[0]})
    return {"encoding": encoding, "unit": unit, "first": [first, first_streamed], "sizes": sizes}


def measure(full: bool) -> list[dict[str, Any]]:
    return [one_unit(encoding, unit, full) for encoding in ENCODINGS for unit in UNITS]


def per_doubling(sizes: list[dict[str, float]], kind: str) -> float:
    """The ratio of times of n and 4n bytes, as one doubling."""
    return float((sizes[2][kind] / sizes[0][kind]) ** 0.5)


def table(rows: list[dict[str, Any]]) -> str:
    long = len(rows[0]["sizes"]) > len(DOUBLINGS)
    head = ["unit", "encoding", "first 1 MB", "1 MB", "a doubling"]
    head += ["first streamed", "1 MB streamed", "a doubling", "pending"]
    head += ["10 MB streamed", "100 MB streamed"] if long else []

    def cells(row: dict[str, Any]) -> list[str]:
        sizes = row["sizes"]
        out = [row["unit"], row["encoding"]]
        for first, kind in zip(row["first"], ("one_shot", "streamed")):
            out += [f"{first:.3f} s", f"{sizes[0][kind]:.3f} s", f"{per_doubling(sizes, kind):.2f}x"]
        out.append(f"{max(size['pending'] for size in sizes)} B")
        return out + [f"{size['streamed']:.2f} s" for size in sizes[len(DOUBLINGS) :]]

    return markdown(head, map(cells, rows))


if __name__ == "__main__":
    main(measure, table)
