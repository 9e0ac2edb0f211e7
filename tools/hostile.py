"""Loads small files and patterns that ask for much memory or time (tests/support/hostile_files.py), each in a process
of its own, and names those beyond the bounds: 2 s of processor time, 256 MB, an error that is none of those documented.

    python tools/hostile.py --seeds 0 400             # files; --patterns: patterns of Encoding(pat_str=...)
    python tools/hostile.py --seeds 0 400 --kinds normalizers added

POSIX only: it forks. The memory of a process is that of this one, about 50 MB, and what the file adds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pathlib
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable

sys.path[:0] = [str(pathlib.Path(__file__).parents[1] / "tests" / "support"), str(pathlib.Path(__file__).parents[1])]
import hostile_files  # noqa: E402
import hostile_patterns  # noqa: E402

from streamtok import Encoding  # noqa: E402
from streamtok.patterns.compose import ByteLevel, Split, compose  # noqa: E402

SECONDS, MEGABYTES = 2.0, 256
_LIMIT = 60  # seconds and, in the next line, bytes at which a process is ended
_MOST = 8 << 30
_RANKS = {bytes([byte]): byte for byte in range(256)}


def measured(call: Callable[[], object]) -> tuple[float, float, str]:
    """Seconds of processor time, megabytes at most, and how it ended: "ok" or the error."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_AS, (_MOST, _MOST))
        resource.setrlimit(resource.RLIMIT_CPU, (_LIMIT, _LIMIT))
        began = time.process_time()
        try:
            call()
            said = "ok"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"[:300]
        os.write(writing, json.dumps([time.process_time() - began, said]).encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        told = pipe.read()
    _, status, used = os.wait4(child, 0)
    seconds, said = json.loads(told) if told else (used.ru_utime + used.ru_stime, f"ended by {status}")
    return seconds, used.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10), said


def load(path: str) -> None:
    """What a program does first with a file: a few calls of each kind."""
    enc = Encoding.from_file(path)
    enc.encode("a" * 100, disallowed_special=())
    enc.encode("hello wörld ", add_special_tokens=True, disallowed_special=())
    enc.decode(enc.encode("aaaaa", disallowed_special=()))


def file_case(seed: int, folder: str) -> tuple[str, Callable[[], object]]:
    """(its kind, what loads it)."""
    rng = random.Random(f"files {seed}")
    kind, data = hostile_files.hostile_file(rng)
    path = pathlib.Path(folder, "tokenizer.json")
    path.write_bytes(data)
    if kind == "ranks":
        pattern = hostile_patterns.pattern(rng) if rng.random() < 0.5 else r"\p{L}+|[\s\S]"
        special = {"<s>": rng.choice([300, 2**22, 2**31 - 1, 2**31])}
        about = {
            "format": "streamtok vocabulary",
            "version": 1,
            "name": "x",
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        path.with_name("tokenizer.json.json").write_text(
            json.dumps({**about, "pattern": pattern, "special_tokens": special})
        )
    return f"{kind} ({len(data)} bytes)", lambda: load(str(path))


def pattern_cases(seed: int) -> list[tuple[str, Callable[[], object]]]:
    pattern = hostile_patterns.pattern(random.Random(seed))
    return [
        (
            f"tiktoken {pattern[:60]!r}",
            lambda: Encoding("x", pat_str=pattern, mergeable_ranks=_RANKS, special_tokens={}),
        ),
        (f"oniguruma {pattern[:60]!r}", lambda: compose((Split(pattern), ByteLevel(False)))),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 100), metavar=("FIRST", "BEYOND"))
    parser.add_argument("--patterns", action="store_true")
    parser.add_argument("--kinds", nargs="*", default=[])
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given = parser.parse_args()
    if given.kinds:
        hostile_files.KINDS[:] = [kind for kind in hostile_files.KINDS if kind.__name__ in given.kinds]
    compose((Split(r"\p{L}+"),))  # the tables of characters are read once
    worst, faults = (0.0, 0.0), 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(*given.seeds):
            for what, call in pattern_cases(seed) if given.patterns else [file_case(seed, folder)]:
                seconds, megabytes, said = measured(call)
                worst = max(worst[0], seconds), max(worst[1], megabytes)
                known = said == "ok" or said.startswith(
                    ("VocabularyError", "ValueError", "NotCompilable", "TooManyEnds")
                )
                if seconds > given.seconds or megabytes > MEGABYTES or not known:
                    faults += 1
                    print(f"seed {seed}: {seconds:.2f} s, {megabytes:.0f} MB, {what}: {said}", flush=True)
    print(f"{faults} faults; at most {worst[0]:.2f} s and {worst[1]:.0f} MB")
    return faults > 0


if __name__ == "__main__":
    sys.exit(main())
