"""What names of special tokens cost: nanoseconds a byte above the same text without names, by sets of names.

    python benchmarks/encode/bench_special_tokens.py [--size BYTES]

Most sets are made to be slow: names begin everywhere in the text, and none or hardly any is complete. The last two are
ordinary ones. Times are the least of several, of this process's own CPU.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable

import streamtok
from streamtok.native import matcher


def least(call: Callable[[], object], times: int = 5) -> float:
    best = float("inf")
    for _ in range(times):
        begin = time.process_time()
        call()
        best = min(best, time.process_time() - begin)
    return best


def random_names(rng: random.Random, letters: str, size: int) -> tuple[list[str], str]:
    """(20,000 names, text of the same letters)."""
    names = ["".join(rng.choices(letters, k=rng.randint(5, 40))) + "\x01" for _ in range(20_000)]
    return names, "".join(rng.choices(letters, k=size))


def sets(size: int) -> dict[str, tuple[list[str], str]]:
    """name -> (names of special tokens, text)."""
    rng = random.Random(1)
    ab = "".join(rng.choices("ab", k=size))
    lines = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz    \n<", k=size))
    reserved = [f"<|reserved_{i}|>" for i in range(1000)]
    return {
        "a^4000 b": (["a" * 4000 + "b"], "a" * size),
        "a^60000 b": (["a" * 60_000 + "b"], "a" * size),
        "a^k b, k < 1000": (["a" * k + "b" for k in range(1, 1000)], "a" * size),
        "a^k b, k < 1000, b now and then": (
            ["a" * k + "c" for k in range(1, 1000)],
            ("a" * 700 + "b") * (size // 701),
        ),
        "(ab)^2000 c": (["ab" * 2000 + "c"], "ab" * (size // 2)),
        "1000 random names of a and b, then c": (
            ["".join(rng.choices("ab", k=rng.randint(5, 40))) + "c" for _ in range(1000)],
            ab,
        ),
        "20,000 random names of a and b, then c": (
            ["".join(rng.choices("ab", k=rng.randint(5, 40))) + "c" for _ in range(20_000)],
            ab,
        ),
        "20,000 random names of 94 letters": random_names(rng, "".join(map(chr, range(33, 127))), size),
        "20,000 random names of 200 characters": random_names(rng, "".join(map(chr, range(0x100, 0x1C8))), size // 2),
        "all bytes begin names": ([chr(c) + "\x01" for c in range(32, 127)], lines),
        "<|endoftext|> and other": (["<|endoftext|>", "<|fim|>"], lines),
        "1000 reserved": (reserved, lines),
    }


def encoding(names: list[str]) -> streamtok.Encoding:
    base = streamtok.get_encoding("cl100k_base")
    special = {name: 200_000 + i for i, name in enumerate(names)}
    return streamtok.Encoding(
        "names", pat_str=base._pat_str, mergeable_ranks=base._mergeable_ranks, special_tokens=special
    )


def feed_all(enc: streamtok.Encoding, chunks: list[bytes], **options: object) -> None:
    stream = enc.stream_encoder(**options)  # type: ignore[arg-type]
    for chunk in chunks:
        stream.feed(chunk)
    stream.flush()


def report(what: str, names: list[str], data: bytes) -> None:
    enc, few = encoding(names), data[: len(data) // 8]
    bites = [few[at : at + 16] for at in range(0, len(few), 16)]
    plain = least(lambda: enc.count(data, disallowed_special=()))
    allowed = least(lambda: enc.count(data, allowed_special="all")) - plain
    refused = least(lambda: enc.count(data)) - plain
    fed = least(lambda: feed_all(enc, bites, allowed_special="all"))
    fed -= least(lambda: feed_all(enc, bites, disallowed_special=()))
    build = least(lambda: matcher.Matcher(names))
    ns = [1e9 * seconds / size for seconds, size in ((allowed, len(data)), (refused, len(data)), (fed, len(few)))]
    print(f"{what:40} {ns[0]:9.2f} {ns[1]:10.2f} {ns[2]:9.2f} {1000 * build:9.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1_000_000)
    size = parser.parse_args().size
    print(f"{'names':40} {'allowed':>9} {'disallowed':>10} {'feed 16':>9} {'build ms':>9}")
    for what, (names, text) in sets(size).items():
        report(what, names, text.encode())


if __name__ == "__main__":
    main()
