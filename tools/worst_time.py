#!/usr/bin/env python3
"""Searches for texts that take much time a byte to encode: at random, and by climbing from the worst found.

    python tools/worst_time.py --jobs 16                       40,000 texts, some minutes
    python tools/worst_time.py --inputs 2000 --json out.json   a short run
    python tools/worst_time.py --repeat 'o200k_base' '{"units": ["61"], ...}'    measures one text again

Each text is encoded whole, and as a stream of 16-byte chunks, in the three families, without a pattern, and by tables:
of two patterns with longer groups of digits, which no blocks know. A figure is CPU time of the thread a byte, the best
of several texts of one recipe (worst_texts.py), so that no cache has seen them.
The worst are measured again at n, 2n and 4n bytes, and their ids are compared with tiktoken's, or, where there is no
tiktoken or no pattern, with the reference engine's. What seems beyond a limit is measured once more, 20 times: another
program can only make a figure larger. Exit status: 0 all within the limits and linear, 1 not, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import pathlib
import random
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from worst_texts import Chooser, Recipe, is_broken, make

import streamtok
from streamtok.native.library import tier

FAMILIES = ("r50k_base", "cl100k_base", "o200k_base")
ENCODINGS = (*FAMILIES, "o200k_base without pattern", "o200k_base by a table", "cl100k_base by a table")
WAYS = ("whole", "16-byte chunks")
LIMITS = {"whole": 150.0, "16-byte chunks": 450.0}  # ns a byte
CHUNK = 16
SIZES = (2048, 4096, 8192, 8192, 8192, 16384, 32768)  # of a text in the search
CONFIRMED = 65536  # n of the last measurements
CHECKED = 8192  # bytes whose ids are compared: the references are slow
STEEPEST = 1.5  # a text is not linear if a byte takes this many times as long at 4n as at n
TOP = 10
UNIT = 250  # texts of one job


# ==== One encoding ====


class Subject:
    """An encoding, warmed up, so that what is built once for a vocabulary does not count."""

    def __init__(self, name: str) -> None:
        bundled = streamtok.get_encoding(name.split()[0])
        self.plain = name.endswith("pattern")
        self.encoding = (
            without_pattern(bundled) if self.plain else by_table(bundled) if name.endswith("table") else bundled
        )
        self.tokens = bundled.token_byte_values()
        self.bundled = bundled
        for text in (b"ab" * 5000, "中文".encode() * 2000, b" \n" * 3000):
            self.measure("whole", text, "strict")
            self.measure("16-byte chunks", text, "strict")

    def measure(self, way: str, text: bytes, errors: str) -> float:
        """Seconds that one call takes."""
        if way == "whole":
            start = time.thread_time()
            self.encoding.encode_to_numpy(text, errors=errors, disallowed_special=())
            return time.thread_time() - start
        chunks = [text[at : at + CHUNK] for at in range(0, len(text), CHUNK)]
        stream = self.encoding.stream_encoder(errors=errors, disallowed_special=())
        feed = stream.feed
        start = time.thread_time()
        for chunk in chunks:
            feed(chunk)
        stream.flush()
        return time.thread_time() - start

    def nanoseconds(self, way: str, recipe: Recipe, n: int, repeats: int, fresh: int = 0) -> float:
        """Nanoseconds a byte: the best of so many texts."""
        errors = "replace" if is_broken(recipe) else "strict"
        texts = [make(recipe, n, fresh + i) for i in range(repeats)]
        return min(self.measure(way, text, errors) / max(1, len(text)) for text in texts) * 1e9

    # ---- ids ----

    def ids(self, way: str, text: bytes, errors: str) -> Any:
        if way == "whole":
            return self.encoding.encode_to_numpy(text, errors=errors, disallowed_special=())
        stream = self.encoding.stream_encoder(errors=errors, disallowed_special=())
        parts = [stream.feed(text[at : at + CHUNK]).copy() for at in range(0, len(text), CHUNK)]
        return np.concatenate([*parts, stream.flush()])

    @functools.cached_property
    def oracle(self) -> tuple[str, Any]:
        arguments = {
            "pat_str": (self.bundled if self.plain else self.encoding)._pat_str,
            "mergeable_ranks": self.bundled._mergeable_ranks,
            "special_tokens": self.bundled._special_tokens,
        }
        if not self.plain:
            try:
                import tiktoken
            except ImportError:
                pass
            else:
                encoding = tiktoken.Encoding("oracle", **arguments)
                return "tiktoken", lambda text: encoding.encode(text, disallowed_special=())
        reference = streamtok.Encoding("oracle", engine="reference", **arguments)
        if self.plain:
            reference = without_pattern(reference)
        return "the reference engine", lambda text: reference.encode(text, disallowed_special=())

    def differs(self, recipe: Recipe) -> str | None:
        """The way that gives other ids than the oracle, or None."""
        errors = "replace" if is_broken(recipe) else "strict"
        text = make(recipe, CHECKED)
        name, encode = self.oracle
        expected = encode(text.decode(errors=errors))
        for way in WAYS:
            if self.ids(way, text, errors).tolist() != expected:
                return f"{way}: other ids than {name}"
        return None


def without_pattern(encoding: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return encoding.without_pattern()


def by_table(encoding: Any) -> Any:
    pat_str = encoding._pat_str.replace("{1,3}", "{1,4}")
    ranks, special = encoding._mergeable_ranks, encoding._special_tokens
    made = streamtok.Encoding("by a table", pat_str=pat_str, mergeable_ranks=ranks, special_tokens=special)
    assert made.pattern_engine == "table"
    return made


@functools.cache
def subject(name: str) -> Subject:
    return Subject(name)


# ==== The search ====


@dataclasses.dataclass(frozen=True)
class Job:
    encoding: str
    seed: int
    inputs: int
    climbing: tuple[Recipe, ...]  # empty: at random


@dataclasses.dataclass(frozen=True)
class Found:
    """A text, and the time that a byte of it takes."""

    encoding: str
    way: str
    recipe: Recipe
    size: int
    ns: float


def best_of(found: list[Found], count: int) -> list[Found]:
    """The worst texts of each encoding and way, each recipe once."""
    kept = []
    for key in sorted({(f.encoding, f.way) for f in found}):
        unique = {f.recipe: f for f in sorted(found, key=lambda f: f.ns) if (f.encoding, f.way) == key}
        kept += sorted(unique.values(), key=lambda f: -f.ns)[:count]
    return kept


def search(job: Job) -> list[Found]:
    """Measures so many texts. A text near the worst of its way is measured more often before it counts."""
    here = subject(job.encoding)
    chooser = Chooser(here.tokens, job.seed)
    rng = random.Random(job.seed)
    worst = dict.fromkeys(WAYS, 0.0)
    found: list[Found] = []
    for _ in range(job.inputs):
        recipe = chooser.changed(rng.choice(job.climbing)) if job.climbing else chooser.new()
        size = rng.choice(SIZES)
        for way in WAYS:
            ns = here.nanoseconds(way, recipe, size, 1)
            if ns > 0.6 * worst[way]:
                ns = min(ns, here.nanoseconds(way, recipe, size, 4, fresh=1))
            if ns > 0.6 * worst[way]:
                found.append(Found(job.encoding, way, recipe, size, ns))
            worst[way] = max(worst[way], ns)
    return best_of(found, TOP)


def run_jobs(pool: ProcessPoolExecutor | None, jobs: list[Job], until: float) -> tuple[list[Found], int]:
    """What the jobs found, and in how many texts. After `until` no further job begins."""
    results, inputs = [], 0
    width = 64 if pool else 1
    for at in range(0, len(jobs), width):
        if time.monotonic() > until:
            break
        batch = jobs[at : at + width]
        results += [found for part in (pool.map if pool else map)(search, batch) for found in part]
        inputs += sum(job.inputs for job in batch)
        print(f"{inputs:,} texts; worst so far: {worst_line(results)}", file=sys.stderr, flush=True)
    return results, inputs


def worst_line(found: list[Found]) -> str:
    """The worst of each way, to show progress."""
    worst = {f.way: f for f in sorted(found, key=lambda f: f.ns)}.values()
    return "; ".join(f"{f.way} {f.ns:.0f} ns, {f.size} bytes, {f.encoding}, {f.recipe.to_json()[:200]}" for f in worst)


def run_search(options: argparse.Namespace) -> tuple[list[Found], int]:
    """Half of the texts are random, then four rounds each climb from the worst ones."""
    until = time.monotonic() + options.seconds
    jobs_each = max(1, options.inputs // (2 * UNIT * len(options.encodings)))
    pool = ProcessPoolExecutor(options.jobs) if options.jobs > 1 else None
    try:
        plan = [(i, name) for i in range(jobs_each) for name in options.encodings]
        unit = min(UNIT, max(1, options.inputs // (2 * len(options.encodings))))
        seed = options.seed * 1_000_000
        found, inputs = run_jobs(pool, [Job(name, seed + k, unit, ()) for k, (_, name) in enumerate(plan)], until)
        for climb in range(1, 5):
            found = best_of(found, TOP)
            jobs = []
            for k, (_, name) in enumerate(plan):
                top = tuple(f.recipe for f in found if f.encoding == name)
                jobs.append(Job(name, seed + climb * 100_000 + k, unit // 4 + 1, top))
            more, count = run_jobs(pool, jobs, until)
            found += more
            inputs += count
        return best_of(found, TOP), inputs
    finally:
        if pool:
            pool.shutdown()


# ==== The last measurements ====


def confirm(found: Found) -> dict[str, Any]:
    row = measured(found, 5)
    return measured(found, 20) if verdict(row) else row


def measured(found: Found, repeats: int) -> dict[str, Any]:
    here = subject(found.encoding)
    ns = {n: here.nanoseconds(found.way, found.recipe, n, repeats) for n in (CONFIRMED, 2 * CONFIRMED, 4 * CONFIRMED)}
    short = here.nanoseconds(found.way, found.recipe, found.size, repeats)
    steep = ns[4 * CONFIRMED] / ns[CONFIRMED]
    return {
        "encoding": found.encoding,
        "way": found.way,
        "ns": round(max(short, *ns.values()), 1),
        "bytes": {str(found.size): round(short, 1)} | {str(n): round(value, 1) for n, value in ns.items()},
        "4n over n": round(steep, 2),
        "differs": here.differs(found.recipe),
        "recipe": dataclasses.asdict(found.recipe),
    }


def verdict(row: dict[str, Any]) -> str:
    faults = []
    if row["ns"] > LIMITS[row["way"]]:
        faults.append(f"over {LIMITS[row['way']]:.0f} ns")
    if row["4n over n"] > STEEPEST:
        faults.append("not linear")
    if row["differs"]:
        faults.append(row["differs"])
    return "; ".join(faults)


def report(rows: list[dict[str, Any]], count: int) -> bool:
    """Prints the worst of each way; True if nothing is wrong."""
    for way in WAYS:
        ranked = sorted((row for row in rows if row["way"] == way), key=lambda row: -row["ns"])[:count]
        print(f"\n{way}: ns a byte (limit {LIMITS[way]:.0f}), at n bytes, encoding, recipe")
        for row in ranked:
            at = ", ".join(f"{n}: {ns:.0f}" for n, ns in row["bytes"].items())
            recipe = json.dumps(row["recipe"])
            shown = recipe if len(recipe) < 400 else recipe[:400] + " ... (whole in --json)"
            print(f"{row['ns']:8.1f}  {at}  {row['encoding']}  {shown}  {verdict(row)}")
    wrong = [row for row in rows if verdict(row)]
    print(f"\n{len(wrong)} of {len(rows)} of the worst texts are beyond a limit, not linear, or have other ids")
    return not wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=40_000, help="texts to try (default: 40,000)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end the search after so long")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--encodings", nargs="+", choices=ENCODINGS, default=list(ENCODINGS))
    parser.add_argument("--json", type=pathlib.Path, help="file for all that is printed, recipes whole")
    parser.add_argument("--repeat", nargs=2, metavar=("ENCODING", "RECIPE"), help="measure one recipe")
    options = parser.parse_args()
    if options.repeat:
        name, recipe = options.repeat[0], Recipe.from_json(options.repeat[1])
        rows = [confirm(Found(name, way, recipe, SIZES[2], 0.0)) for way in WAYS]
        return 0 if report(rows, 1) else 1
    start = time.monotonic()
    found, inputs = run_search(options)
    rows = [confirm(f) for f in found]
    good = report(rows, TOP)
    print(f"{inputs:,} texts, each whole and in chunks, in {time.monotonic() - start:.0f} s; seed {options.seed}")
    if options.json:
        facts = {"inputs": inputs, "seed": options.seed, "streamtok": streamtok.__version__, "tier": tier()}
        options.json.write_text(json.dumps(facts | {"limits": LIMITS, "rows": rows}, indent=1) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
