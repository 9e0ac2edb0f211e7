#!/usr/bin/env python3
"""A long comparison of random model files with Hugging Face's tokenizers, which can be stopped and continues.

    python tools/model_campaign.py run FOLDER --files 100K --jobs 8
    python tools/model_campaign.py report FOLDER              totals as tables of Markdown, and why files are refused
    python tools/model_campaign.py one --seed 1 --file 4711   one file again; a difference is made small and printed

FOLDER holds the ledger (a line of JSON for each UNIT files) and, of each file that differed, the smallest one found
that still does, with its text. A file and its texts are a function of the seed and the file's number
(random_models.py). Of each file that streamtok loads, ids are compared (whole, as streams cut at random places and
saved in between, as a batch on threads, with the template, as a row of encode_padded) and places, and the text of
ids, random ones too (whole, as streams, as a batch); and where ids differ from those of their text must not depend on
the parts that they come in. A file that tokenizers refuses may load or not; one that does not load has to be refused
with VocabularyError. Texts on which tokenizers fails are left out.

Exit status: 0 no difference, 1 some difference or a worker that died, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import collections
import copy
import json
import os
import pathlib
import random
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import campaign
import random_models
from random_models import Record

import streamtok

UNIT = 50
TEXTS = 12
ROWS = 8


class Difference(Exception):
    """What one call gave, and what was wanted."""

    def __init__(self, way: str, given: Any, got: Any, want: Any) -> None:
        super().__init__(way)
        self.facts = {"way": way, "given": given, "got": got, "want": want}


class Subject:
    """Both tokenizers of one file. Raises VocabularyError, or whatever streamtok raises that it should not."""

    def __init__(self, record: Record, folder: pathlib.Path) -> None:
        from tokenizers import Tokenizer

        path = folder / "tokenizer.json"
        text = json.dumps(record, ensure_ascii=False)
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of ids that tokenizers does not read, either
            self.ours: Any = streamtok.Encoding.from_file(path)
        self.theirs: Any = attempt(lambda: Tokenizer.from_str(text))
        self.cutting: Any = attempt(lambda: Tokenizer.from_str(text))
        if self.theirs is not None:
            self.theirs.no_truncation()
            self.theirs.no_padding()
        record = record | {"truncation": None, "padding": None}
        self.without_post: Any = attempt(lambda: Tokenizer.from_str(json.dumps(record | {"post_processor": None})))


def attempt(call: Callable[[], Any]) -> Any:
    """What a call of tokenizers returns; None where it fails, also by a panic, which is no Exception."""
    try:
        return call()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | MemoryError):
            raise
        return None


def cut(rng: random.Random, whole: Any) -> Iterator[Any]:
    """Parts of a text or of ids, some of them empty."""
    places = sorted({0, len(whole), *(rng.randrange(len(whole) + 1) for _ in range(rng.randrange(5)))})
    return (whole[a:b] for a, b in pairwise(places))


# ==== Comparisons ====


def same(way: str, given: Any, got: Any, want: Any) -> None:
    if got != want:
        raise Difference(way, given, got, want)


def lacks_token(error: Exception) -> bool:
    """Whether a text has a byte that the vocabulary has no token for: the documented error."""
    return isinstance(error, ValueError) and "no token" in str(error)


def streamed(subject: Subject, rng: random.Random, text: Any, **options: Any) -> list[int]:
    stream, ids = subject.ours.stream_encoder(**options), []
    for part in cut(rng, text):
        ids += stream.feed(part).tolist()
        if rng.random() < 0.3:
            saved, stream = stream.getstate(), subject.ours.stream_encoder(**options)
            stream.setstate(saved)
    return ids + stream.flush().tolist()


def check_ids(subject: Subject, rng: random.Random, text: str) -> list[int] | None:
    """All ways to encode a text; the ids, or None where it has none."""
    found = attempt(lambda: subject.theirs.encode(text, add_special_tokens=False))
    if found is None:
        return None
    options: Record = {"allowed_special": "all"}
    try:
        ids = subject.ours.encode(text, **options)
    except ValueError as error:
        if lacks_token(error):
            return None
        raise
    same("encode", text, ids, found.ids)
    same("stream of str", text, streamed(subject, rng, text, **options), ids)
    same("stream of bytes", text, streamed(subject, rng, text.encode(), **options), ids)
    same("threads", text, subject.ours.encode_to_numpy(text.encode(), num_threads=2, **options).tolist(), ids)
    same("count", text, subject.ours.count(text, **options), len(ids))
    framed = attempt(lambda: subject.theirs.encode(text).ids)
    if framed is not None:
        same("template", text, subject.ours.encode(text, add_special_tokens=True, **options), framed)
    row = attempt(lambda: subject.cutting.encode(text).ids)
    if row is not None:
        made, _ = subject.ours.encode_padded([text], add_special_tokens=True, **options)
        same("row", text, made.tolist(), [row])
    check_places(subject, text, ids)
    return ids


def check_places(subject: Subject, text: str, ids: list[int]) -> None:
    found = attempt(lambda: subject.without_post.encode(text, add_special_tokens=False))
    if found is None:
        return
    got, places = subject.ours.encode_with_offsets(text, allowed_special="all")
    same("offsets, ids", text, got.tolist(), ids)
    same("offsets", text, places.tolist(), [start for start, _ in found.offsets])


def check_text(subject: Subject, rng: random.Random, row: list[int]) -> None:
    """All ways to decode ids."""
    ours = subject.ours
    for skip in (False, True):
        want = attempt(lambda skip=skip: subject.theirs.decode(row, skip_special_tokens=skip))
        if want is None:
            continue
        same(f"decode, skip={skip}", row, ours.decode(row, skip_special_tokens=skip), want)
        stream, parts = ours.stream_decoder(skip_special_tokens=skip), []
        for part in cut(rng, row):
            parts.append(stream.feed(part))
            if rng.random() < 0.2:
                stream = copy.copy(stream)
        same(f"stream of ids, skip={skip}", row, "".join(parts) + stream.flush(), want)
        got = ours.decode_batch([row, row[:1]], num_threads=2, skip_special_tokens=skip)
        same(f"batch of ids, skip={skip}", row, got[0], want)


def first_difference(subject: Subject, parts: list[list[int]]) -> int | str | None:
    """Where ids differ from those of their text, which come in parts; or that their text has no ids."""
    check = subject.ours.canonical_check()
    try:
        if len(parts) == 1:
            return subject.ours.first_difference(parts[0])
        for part in parts:
            check.feed(part)
        return check.finish()
    except ValueError as error:
        if lacks_token(error):
            return "no token"
        raise


def known_ids(subject: Subject) -> list[int]:
    """Ids that both know."""
    size = subject.theirs.get_vocab_size(with_added_tokens=True)
    known = [token for token in range(2 * size + 2) if subject.theirs.id_to_token(token) is not None]
    return known


def check_all(subject: Subject, rng: random.Random, texts: list[str]) -> None:
    rows: list[list[int]] = []
    kept: list[str] = []
    for text in texts:
        ids = check_ids(subject, rng, text)
        if ids is not None:
            rows.append(ids)
            kept.append(text)
    options: Record = {"allowed_special": "all"}
    same("batch", kept, subject.ours.encode_batch(kept, num_threads=2, **options), rows)
    same("get_vocab", None, subject.ours.get_vocab(), subject.theirs.get_vocab(with_added_tokens=True))
    known = known_ids(subject)
    common = known[-40:] + [token for row in rows for token in row]
    for _ in range(ROWS if known else 0):
        rows.append([rng.choice(common if rng.random() < 0.8 else known) for _ in range(rng.randrange(12))])
    for row in rows:
        check_text(subject, rng, row)
        got, want = (first_difference(subject, parts) for parts in (list(cut(rng, row)), [row]))
        if "no token" not in (got, want):  # in parts it may be known in front of what has no ids
            same("where ids differ", row, got, want)


def outcome(record: Record, texts: list[str], seed: str, folder: pathlib.Path) -> dict[str, Any]:
    """What becomes of a file: "refused", "alone" (tokenizers refuses it), "same" or "differs", with what that was."""
    try:
        subject = Subject(record, folder)
    except streamtok.VocabularyError as error:
        return {"is": "refused", "why": error.reason}
    except Exception as error:
        return {"is": "differs", "way": f"from_file raises {type(error).__name__}", "got": str(error)}
    if subject.theirs is None:
        return {"is": "alone"}
    try:
        check_all(subject, random.Random(seed), texts)
    except Difference as difference:
        return {"is": "differs", **difference.facts}
    except Exception as error:
        return {"is": "differs", "way": f"{type(error).__name__} in a call", "got": str(error)}
    return {"is": "same"}


# ==== A small file that still differs ====


def smaller(record: Record) -> Iterator[Record]:
    """The record with one thing less."""
    for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder", "truncation", "padding"):
        if record.get(name) is not None:
            yield record | {name: None}
        for key in ("normalizers", "pretokenizers", "processors", "decoders"):
            steps = (record.get(name) or {}).get(key, ())
            for i in range(len(steps)):
                yield record | {name: {**record[name], key: [*steps[:i], *steps[i + 1 :]]}}
    added = record.get("added_tokens") or []
    for i in range(len(added)):
        yield record | {"added_tokens": [*added[:i], *added[i + 1 :]]}
        for flag in ("single_word", "lstrip", "rstrip", "normalized", "special"):
            if added[i].get(flag):
                yield record | {"added_tokens": [*added[:i], added[i] | {flag: False}, *added[i + 1 :]]}
    model = record["model"]
    for name in ("ignore_merges", "fuse_unk", "unk_token"):
        if model.get(name) and model.get("type") == "BPE":
            yield record | {"model": model | {name: False if model[name] is True else None}}
    merges = model.get("merges") or []
    for i in reversed(range(len(merges))):
        yield record | {"model": model | {"merges": [*merges[:i], *merges[i + 1 :]]}}
    vocab = model["vocab"]
    for token in list(vocab)[::-1] if isinstance(vocab, dict) else []:
        if len(token) > 1 and not token.startswith("<0x") and vocab[token] == max(vocab.values()):
            yield record | {"model": model | {"vocab": {name: i for name, i in vocab.items() if name != token}}}


def shrunk(record: Record, texts: list[str], seed: str, folder: pathlib.Path, seconds: float = 20) -> dict[str, Any]:
    """The smallest record and texts found that differ in the same way."""
    until = time.monotonic() + seconds
    found = outcome(record, texts, seed, folder)
    way = found.get("way")

    def still(record: Record, texts: list[str]) -> bool:
        return time.monotonic() < until and outcome(record, texts, seed, folder).get("way") == way

    texts = next(([text] for text in texts if still(record, [text])), texts)
    went_on = True
    while went_on:
        less = next((each for each in smaller(record) if still(each, texts)), None)
        went_on = less is not None and time.monotonic() < until
        record = record if less is None else less
    for i in reversed(range(len(texts[0]) if len(texts) == 1 else 0)):
        less_text = texts[0][:i] + texts[0][i + 1 :]
        texts = [less_text] if still(record, [less_text]) else texts
    return {"found": outcome(record, texts, seed, folder), "texts": texts, "file": record}


# ==== Units ====


def drawn(seed: int, number: int) -> tuple[Record, list[str], str]:
    rng = random.Random(f"{seed} {number}")
    record = random_models.random_file(rng)
    return record, random_models.random_texts(rng, record, TEXTS), f"{seed} {number} checks"


def short(reason: str) -> str:
    """A reason without what differs from file to file, to be counted."""
    return re.sub(r"'(?:[^'\\]|\\.)*'|\"[^\"]*\"|<0x..>|\d+", "*", reason.split(": ", 1)[-1])[:100]


class Worker:
    """Does the units whose numbers come in, a line each, and answers each with a line of JSON."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments

    def run(self) -> None:
        sys.stderr.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # a panic of tokenizers is written there
        for line in sys.stdin:
            print(json.dumps(self.unit(int(line.split()[1]))), flush=True)

    def unit(self, unit: int) -> dict[str, Any]:
        began = time.monotonic()
        counts = collections.Counter[str]()
        reasons = collections.Counter[str]()
        differing = []
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for number in range(unit * UNIT, (unit + 1) * UNIT):
                record, texts, checks = drawn(self.arguments.seed, number)
                found = outcome(record, texts, checks, folder)
                counts[found["is"]] += 1
                if found["is"] == "refused":
                    reasons[short(found["why"])] += 1
                if found["is"] == "differs":
                    differing.append(f"{number}: {found['way']}")
                    small = shrunk(record, texts, checks, folder)
                    keep = self.arguments.folder / f"differs-{self.arguments.seed}-{number}.json"
                    keep.write_text(json.dumps(small, ensure_ascii=False), encoding="utf-8", errors="surrogatepass")
        row = {"kind": "files", "unit": unit, "tier": self.arguments.tier, "counts": counts, "reasons": reasons}
        row |= {"differs": differing} if differing else {}
        return row | {"seconds": round(time.monotonic() - began, 2)}


class Driver(campaign.Driver):
    """The same for units of files."""

    script = __file__
    kinds = ("files",)

    def count(self, row: dict[str, Any]) -> None:
        self.totals.update(row["counts"])

    def next_unit(self) -> tuple[str, int] | None:
        with self.lock:
            kind, unit = next(self.units)
            is_over = unit * UNIT >= self.arguments.files or time.monotonic() >= self.until
            return None if is_over else (kind, unit)


# ==== Report, arguments ====


def report(folders: list[pathlib.Path]) -> int:
    rows = [row for folder in folders for row in campaign.Ledger(folder).rows]
    groups: dict[tuple[Any, ...], collections.Counter[str]] = collections.defaultdict(collections.Counter)
    reasons = collections.Counter[str]()
    for row in rows:
        groups[row["state"], row["processor"], row["seed"]].update(row["counts"])
        reasons.update(row["reasons"])
    names = ("same", "differs", "refused", "alone")
    lines = [
        [*group, f"{counts.total():,}", *(f"{counts[name]:,}" for name in names)] for group, counts in groups.items()
    ]
    print(campaign.table(["state", "processor", "seed", "files", *names], lines), end="\n\n")
    print(campaign.table(["refused", "files"], [[reason, count] for reason, count in reasons.most_common(60)]))
    return int(any("differs" in row for row in rows))


def one(arguments: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as name:
        record, texts, checks = drawn(arguments.seed, arguments.file)
        found = outcome(record, texts, checks, pathlib.Path(name))
        if found["is"] != "differs":
            print(found)
            return 0
        small = shrunk(record, texts, checks, pathlib.Path(name))
        print(json.dumps(small["file"], ensure_ascii=False), small["texts"], small["found"], sep="\n")
        return 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, dest="command")
    run = commands.add_parser("run", help="compare until all files are done or time is up")
    run.add_argument("--files", type=campaign.amount, default=100_000, help="goal, as 100K")
    run.add_argument("--seconds", type=float, default=1e9)
    run.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    work = commands.add_parser("work", help="a worker, which `run` starts")
    work.add_argument("--tier", required=True)
    for command in (run, work):
        command.add_argument("folder", type=pathlib.Path)
    single = commands.add_parser("one", help="one file again")
    single.add_argument("--file", type=int, required=True)
    for command in (run, work, single):
        command.add_argument("--seed", type=int, default=1)
    shown = commands.add_parser("report", help="totals as tables of Markdown")
    shown.add_argument("folders", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    if arguments.command == "report":
        return report(arguments.folders)
    if arguments.command == "one":
        return one(arguments)
    if arguments.command == "work":
        Worker(arguments).run()
        return 0
    arguments.folder.mkdir(parents=True, exist_ok=True)
    arguments.devices = []
    return Driver(arguments).run()


if __name__ == "__main__":
    sys.exit(main())
