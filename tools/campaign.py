#!/usr/bin/env python3
"""A long comparison with tiktoken, which can be stopped at any moment and continues where it stopped.

    python tools/campaign.py run FOLDER --corpus corpus/*.txt.xz --seconds 3600
    python tools/campaign.py run FOLDER --devices cuda:0       half of the workers use the GPU as well
    python tools/campaign.py report FOLDER                     totals as tables of Markdown

FOLDER holds the ledger (a line of JSON for each unit that is done), the unpacked corpora, and the texts of units that
differed. A unit's text is a function of the seed and the unit's number. Each text is encoded once by tiktoken and
several times here: one-shot from str and bytes, by threads, as streams of bytes and of str cut at random places, as a
batch, and with --devices on the GPU; it is counted and decoded, too. A worker is a process with one tier of the C core.

Exit status: 0 no difference, 1 some difference or a worker that died, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import os
import pathlib
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import campaign_texts
import numpy as np

import streamtok

NAMES = ("gpt2", "r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony")
ROOT = pathlib.Path(__file__).resolve().parent.parent


# ==== One unit, in a worker ====


class Difference(Exception):
    """A way of encoding gave other ids than tiktoken. facts: where they begin to differ, and some of both."""

    def __init__(self, way: str, got: Any = (), want: Any = ()) -> None:
        super().__init__(way)
        got, want = np.atleast_1d(got), np.atleast_1d(want)
        both = min(len(got), len(want))
        differ = np.flatnonzero(got[:both] != want[:both])
        at = int(differ[0]) if len(differ) else both
        self.facts = {"at": at, "sizes": [len(got), len(want)]}
        self.facts |= {"got": got[at : at + 8].tolist(), "want": want[at : at + 8].tolist()}


class Subject:
    """An encoding, and tiktoken's made of the same ranks."""

    def __init__(self, name: str) -> None:
        import tiktoken

        self.ours = streamtok.get_encoding(name)
        parts = {
            "pat_str": self.ours._pat_str,
            "mergeable_ranks": self.ours._mergeable_ranks,
            "special_tokens": self.ours._special_tokens,
        }
        self.theirs = tiktoken.Encoding(name, **parts)
        self.names = sorted(self.ours.special_tokens_set)[:8]


def check(way: str, got: Any, want: Any) -> None:
    if not np.array_equal(got, want):
        raise Difference(way, got, want)


def joined(parts: list[Any]) -> Any:
    return np.concatenate(parts) if parts else np.zeros(0, np.uint32)


def streamed(stream: Any, text: Any, rng: np.random.Generator) -> Any:
    parts = [stream.feed(text[a:b]).copy() for a, b in campaign_texts.cuts(rng, len(text))]
    return joined([*parts, stream.flush().copy()])


def check_text(subject: Subject, text: str, rng: np.random.Generator, device: str | None) -> int:
    """Every way to encode one text; the number of its ids."""
    ours = subject.ours
    special: Any = "all" if rng.random() < 0.5 else set()
    options: dict[str, Any] = {"allowed_special": special, "disallowed_special": ()}
    want = subject.theirs.encode_to_numpy(text, **options)
    data = text.encode()
    check("one-shot, str", ours.encode_to_numpy(text, **options), want)
    check("threads, bytes", ours.encode_to_numpy(data, num_threads=2, **options), want)
    check("stream, bytes", streamed(ours.stream_encoder(**options), data, rng), want)
    check("stream, str", streamed(ours.stream_encoder(**options), text, rng), want)
    check("count", ours.count(data, **options), len(want))
    check("decode", np.frombuffer(ours.decode_bytes(want), np.uint8), np.frombuffer(data, np.uint8))
    if device:
        check("GPU, one-shot", ours.encode_to_numpy(text, device=device, **options), want)
        check("GPU, stream", streamed(ours.stream_encoder(device=device, **options), data, rng), want)
    return len(want)


def check_strings(subject: Subject, strings: list[str], rng: np.random.Generator, device: str | None) -> int:
    """Every way to encode many short strings; the number of their ids."""
    ours, theirs = subject.ours, subject.theirs
    if rng.random() < 0.25:
        options: dict[str, Any] = {"allowed_special": "all", "disallowed_special": ()}
        want = [theirs.encode(text, **options) for text in strings]
    else:
        options = {"disallowed_special": ()}
        want = [theirs.encode_ordinary(text) for text in strings]
    if ours.encode_batch(strings, num_threads=1, **options) != want:
        raise Difference("batch of lists")
    flat = np.fromiter(itertools.chain.from_iterable(want), np.uint32)
    check("ragged", ours.encode_ragged(strings, num_threads=2, **options)[0], flat)
    stream = ours.stream_encoder(**options)
    for text, ids in zip(strings[::8], want[::8]):
        middle = len(text) // 2
        got = stream.feed(text[:middle]).tolist() + stream.feed(text[middle:]).tolist() + stream.flush().tolist()
        if got != ids:
            raise Difference("stream, str", got, ids)
    if device:
        check("GPU, ragged", ours.encode_ragged(strings, device=device, **options)[0], flat)
    return len(flat)


class Worker:
    """Does the units whose numbers come in, a line each, and answers each with a line of JSON."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.corpora = campaign_texts.Corpora(arguments.folder / "corpora")
        self.subjects: dict[str, Subject] = {}

    def run(self) -> None:
        for line in sys.stdin:
            kind, number = line.split()
            print(json.dumps(self.unit(kind, int(number))), flush=True)

    def unit(self, kind: str, number: int) -> dict[str, Any]:
        began = time.monotonic()
        rng = campaign_texts.generator(self.arguments.seed, number)
        name = str(rng.choice(NAMES))
        if name not in self.subjects:
            self.subjects[name] = Subject(name)
        subject = self.subjects[name]
        row = {"kind": kind, "unit": number, "encoding": name, "tier": self.arguments.tier}
        row["device"] = self.arguments.device
        texts = self._texts(kind, rng, subject)
        row["strings"] = len(texts)
        row["bytes"] = len("".join(texts).encode("utf-8", "surrogatepass"))
        try:
            row["ids"] = self._checked(kind, subject, texts, rng)
        except Difference as difference:
            row |= {"differs": str(difference), "difference": difference.facts}
            keep = self.arguments.folder / f"differs-{kind}-{number}.txt"
            keep.write_text("\n".join(texts), encoding="utf-8", errors="surrogatepass")
        return row | {"seconds": round(time.monotonic() - began, 2)}

    def _texts(self, kind: str, rng: np.random.Generator, subject: Subject) -> list[str]:
        if kind == "text":
            return [self.corpora.text(rng, subject.names)]
        return campaign_texts.strings(rng, subject.names)

    def _checked(self, kind: str, subject: Subject, texts: list[str], rng: np.random.Generator) -> int:
        device = self.arguments.device
        if kind == "text":
            return check_text(subject, texts[0], rng, device)
        return check_strings(subject, texts, rng, device)


# ==== The driver ====


def tiers() -> list[str]:
    """The tiers of the C core that this machine can run, by asking a process for each."""
    code = "import streamtok; print(streamtok.info()['simd'])"
    found = []
    for tier in ("avx512", "avx2", "neon", "portable"):
        environment = os.environ | {"STREAMTOK_TIER": tier}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        if done.stdout.strip() == tier:
            found.append(tier)
    return found


def state() -> str:
    """The commit that is tested, with + where files differ from it. Outside of a checkout STREAMTOK_STATE names it."""
    if "STREAMTOK_STATE" in os.environ:
        return os.environ["STREAMTOK_STATE"]
    command = ["git", "describe", "--always", "--dirty=+", "--abbrev=12"]
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return streamtok.__version__


def processor() -> str:
    """The processor's name, and how many of its cores this process may use."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores"


class Ledger:
    """What is done: a line for each unit, appended when it ends. A line that a crash cut off is dropped."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.path = folder / "ledger.jsonl"
        self._lock = threading.Lock()
        text = self.path.read_text() if self.path.exists() else ""
        whole, _, rest = text.rpartition("\n")
        self.rows: list[dict[str, Any]] = [json.loads(line) for line in whole.splitlines()]
        if rest:
            print(f"{self.path}: the last line is cut off; its unit is done again", file=sys.stderr)
            os.truncate(self.path, len((whole + "\n").encode()) if whole else 0)

    def done(self) -> set[tuple[str, int]]:
        return {(row["kind"], row["unit"]) for row in self.rows}

    def add(self, row: dict[str, Any]) -> None:
        with self._lock:
            self.rows.append(row)
            with self.path.open("a") as file:
                file.write(json.dumps(row) + "\n")


def plan(kinds: Sequence[str], done: set[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """Units in their order, the kinds in turns: texts have even numbers and strings odd ones."""
    for number in range(1 << 40):
        kind = kinds[number % len(kinds)]
        if (kind, number) not in done:
            yield kind, number


class Driver:
    script = __file__  # what a worker runs
    kinds: tuple[str, ...] = ("text", "strings")

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.ledger = Ledger(arguments.folder)
        self.units = plan(self.kinds, self.ledger.done())
        self.totals = collections.Counter[str]()
        for row in self.ledger.rows:
            self.count(row)
        self.lock = threading.Lock()
        self.until = time.monotonic() + arguments.seconds
        self.facts = {"state": state(), "processor": processor(), "seed": arguments.seed}
        self.failures = 0

    def count(self, row: dict[str, Any]) -> None:
        self.totals["bytes of text" if row["kind"] == "text" else "strings"] += (
            row["bytes"] if row["kind"] == "text" else row["strings"]
        )

    def next_unit(self) -> tuple[str, int] | None:
        """The next unit of a kind whose goal is not reached; None when there is nothing left to do, or no time."""
        with self.lock:
            while time.monotonic() < self.until:
                texts_left = self.totals["bytes of text"] < self.arguments.bytes
                strings_left = self.totals["strings"] < self.arguments.strings
                if not texts_left and not strings_left:
                    return None
                kind, number = next(self.units)
                if texts_left if kind == "text" else strings_left:
                    return kind, number
        return None

    def serve(self, tier: str, device: str | None) -> None:
        """One worker, as long as there are units."""
        options = [f"--seed={self.arguments.seed}", f"--tier={tier}", *([f"--device={device}"] if device else [])]
        command = [sys.executable, self.script, "work", str(self.arguments.folder), *options]
        environment = os.environ | {"STREAMTOK_TIER": tier}
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
        ) as worker:
            assert worker.stdin and worker.stdout
            while unit := self.next_unit():
                print(*unit, file=worker.stdin, flush=True)
                answer = worker.stdout.readline()
                if not answer:
                    self.fail(f"the worker of {tier} died in unit {unit[1]} ({unit[0]})")
                    return
                self.take(json.loads(answer))
            worker.stdin.close()

    def take(self, row: dict[str, Any]) -> None:
        self.ledger.add(row | self.facts)
        with self.lock:
            self.count(row)
        if "differs" in row:
            self.fail(f"unit {row['unit']} ({row['kind']}, {row.get('encoding')}, {row['tier']}): {row['differs']}")

    def fail(self, message: str) -> None:
        print(f"DIFFERS: {message}", file=sys.stderr, flush=True)
        with self.lock:
            self.failures += 1

    def run(self) -> int:
        kinds = tiers()
        threads = []
        for number in range(self.arguments.jobs):
            devices = self.arguments.devices
            device = devices[number // 2 % len(devices)] if devices and number % 2 else None
            worker = (kinds[number // 2 % len(kinds)], device)
            threads.append(threading.Thread(target=self.serve, args=worker))
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            print("stopping: the units under way are finished", file=sys.stderr)
            self.until = 0
            for thread in threads:
                thread.join()
        print(dict(self.totals), "differences:", self.failures)
        return 1 if self.failures else 0


# ==== Report ====


def table(heading: list[str], rows: list[list[Any]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def totals_by(rows: list[dict[str, Any]], *keys: str) -> str:
    groups: dict[tuple[Any, ...], collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for row in rows:
        group = groups[tuple(row.get(key) or "none" for key in keys)]
        group["GB"] += row["bytes"] if row["kind"] == "text" else 0
        group["strings"] += row["strings"] if row["kind"] == "strings" else 0
        group["ids"] += row.get("ids", 0)
        group["differences"] += "differs" in row
    lines = [
        [*group, f"{sums['GB'] / 1e9:.2f}", f"{sums['strings']:,}", f"{sums['ids']:,}", sums["differences"]]
        for group, sums in sorted(groups.items())
    ]
    return table([*keys, "GB of text", "strings", "ids", "differing units"], lines)


def report(arguments: argparse.Namespace) -> int:
    rows = [row for folder in arguments.folders for row in Ledger(folder).rows]
    for keys in (("state", "processor", "seed"), ("encoding",), ("tier", "device")):
        print(totals_by(rows, *keys), end="\n\n")
    return int(any("differs" in row for row in rows))


# ==== Arguments ====


def amount(text: str) -> int:
    """A number with an optional K, M or G behind it."""
    units = {"K": 10**3, "M": 10**6, "G": 10**9}
    return int(float(text[:-1]) * units[text[-1]]) if text[-1:] in units else int(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, dest="command")
    run = commands.add_parser("run", help="compare until the goals are reached or time is up")
    run.add_argument("--corpus", nargs="*", default=[], help="texts, plain or .xz; without: Python's own sources")
    run.add_argument("--seconds", type=float, default=3600)
    run.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    run.add_argument("--bytes", type=amount, default=amount("100G"), help="goal for texts, as 100G")
    run.add_argument("--strings", type=amount, default=amount("1G"), help="goal for strings, as 1G")
    work = commands.add_parser("work", help="a worker, which `run` starts")
    work.add_argument("--tier", required=True)
    run.add_argument("--devices", nargs="*", default=[], help="CUDA devices, for every second worker, as cuda:0")
    work.add_argument("--device", help="a CUDA device that encodes as well")
    for command in (run, work):
        command.add_argument("folder", type=pathlib.Path)
        command.add_argument("--seed", type=int, default=1)
    shown = commands.add_parser("report", help="totals as tables of Markdown")
    shown.add_argument("folders", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    if arguments.command == "report":
        return report(arguments)
    if arguments.command == "work":
        Worker(arguments).run()
        return 0
    arguments.folder.mkdir(parents=True, exist_ok=True)
    campaign_texts.unpack(arguments.corpus or campaign_texts.texts_of_python(), arguments.folder / "corpora")
    return Driver(arguments).run()


if __name__ == "__main__":
    sys.exit(main())
