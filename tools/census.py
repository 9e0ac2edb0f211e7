#!/usr/bin/env python3
"""Which files of a folder load, and whether they give what the reference gives: a table of Markdown.

    python tools/census.py FOLDER [--texts TEXT...] [--strings 300] [--seed 1] [--json OUT]

Nothing is fetched. Every tokenizer.json, .model, .gguf, tekken.json and file of ranks under FOLDER is loaded, two with
the same content once. A tokenizer.json is compared with `tokenizers`, a .model with `sentencepiece`, where these are
installed: ids of random strings and of slices of the texts, whole and as streams, places, and decoded text. Verdicts:

    same       no difference          differs    the first one is said
    loads      nothing to compare with           refused    the reason is said
    both       the reference refuses it, too     alone      the reference refuses it, and streamtok does not

Exit status: 0 no difference, 1 some file differs or an error is no VocabularyError, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import pathlib
import random
import sys
from typing import Any

import campaign
import random_models

import streamtok
from streamtok.model_files.gguf_head import MAGIC

LEAST = 2048
"""Bytes of a file that counts."""

SUFFIXES = (".json", ".model", ".gguf", ".tiktoken", ".txt")


def found(folder: pathlib.Path) -> list[tuple[pathlib.Path, int]]:
    """Files by content, the first of each, and how many have it."""
    by_content: dict[str, list[pathlib.Path]] = collections.defaultdict(list)
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in SUFFIXES and path.stat().st_size >= LEAST and is_model(path):
            with open(path, "rb") as file:
                by_content[hashlib.file_digest(file, "sha256").hexdigest()].append(path)
    return [(paths[0], len(paths)) for paths in by_content.values()]


def is_model(path: pathlib.Path) -> bool:
    """Whether it looks like a file of a tokenizer."""
    with open(path, "rb") as file:
        head = file.read(LEAST)
    if path.suffix == ".json":
        return path.name in ("tokenizer.json", "tekken.json") or b'"added_tokens"' in head
    return path.suffix != ".gguf" or head.startswith(MAGIC)


def kind_of(path: pathlib.Path) -> str:
    if path.suffix != ".json":
        return path.suffix[1:]
    try:
        model = json.loads(path.read_bytes()).get("model")
    except (ValueError, AttributeError):
        return "json"
    return f"json {model.get('type', '?')}" if isinstance(model, dict) else "json"


# ==== References ====


class OfTokenizers:
    def __init__(self, path: pathlib.Path) -> None:
        from tokenizers import Tokenizer

        self._all = Tokenizer.from_file(str(path))
        self._all.no_truncation()
        self._all.no_padding()

    def encode(self, text: str) -> tuple[list[int], list[int]]:
        made = self._all.encode(text, add_special_tokens=False)
        return made.ids, [start for start, _ in made.offsets]

    def decode(self, ids: list[int]) -> str | None:
        text: str = self._all.decode(ids, skip_special_tokens=False)
        return text


class OfSentencePiece:
    def __init__(self, path: pathlib.Path) -> None:
        from sentencepiece import SentencePieceProcessor

        self._all = SentencePieceProcessor(model_file=str(path))

    def encode(self, text: str) -> tuple[list[int], None]:
        return self._all.encode(text), None

    def decode(self, ids: list[int]) -> None:
        return None  # control symbols and damaged bytes are decoded as tokenizers does it


REFERENCES: dict[str, Any] = {".json": OfTokenizers, ".model": OfSentencePiece}


def reference_of(path: pathlib.Path) -> tuple[Any, str]:
    """(a reference, why there is none)"""
    kind = REFERENCES.get(path.suffix) if path.name != "tekken.json" else None
    if kind is None:
        return None, ""
    try:
        return kind(path), ""
    except ImportError:
        return None, ""
    except BaseException as error:  # a panic of tokenizers is no Exception
        if isinstance(error, KeyboardInterrupt | MemoryError):
            raise
        return None, str(error) or type(error).__name__


# ==== Comparing ====


def difference(enc: Any, reference: Any, texts: list[str], rng: random.Random) -> str:
    """What differs first; "" where nothing does."""
    for text in texts:
        try:
            want, starts = reference.encode(text)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | MemoryError):
                raise
            continue
        said = f" of {text[:40]!r}"
        try:
            ids, places = enc.encode_with_offsets(text, allowed_special="all")
        except ValueError as error:
            if "no token" in str(error):  # documented: a byte without a token
                continue
            raise
        if ids.tolist() != want:
            return f"ids{said}"
        if streamed(enc, text, rng) != want:
            return f"ids of a stream{said}"
        if starts is not None and enc.has_places and places.tolist() != starts:
            return f"places{said}"
        decoded = reference.decode(want)
        if decoded is not None and enc.decode(want) != decoded:
            return f"decoded text{said}"
    return ""


def streamed(enc: Any, text: str, rng: random.Random) -> list[int]:
    stream, ids, at = enc.stream_encoder(allowed_special="all"), [], 0
    while at < len(text):
        size = rng.choice((1, 3, 20, 500))
        ids += stream.feed(text[at : at + size]).tolist()
        at += size
    return ids + stream.flush().tolist()


class Loaded:
    """An encoding, and whether places are compared: a post-processor that trims them moves those of tokenizers."""

    def __init__(self, path: pathlib.Path) -> None:
        self._enc = streamtok.Encoding.from_file(path)
        self.has_places = path.suffix == ".json" and b'"trim_offsets": true' not in path.read_bytes()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._enc, name)


def verdict(path: pathlib.Path, texts: list[str], strings: int, seed: int) -> tuple[str, str]:
    """(verdict, reason)"""
    rng = random.Random(f"{seed} {path.name}")
    reference, why = reference_of(path)
    try:
        enc = Loaded(path)
    except streamtok.VocabularyError as error:
        return ("both", why) if why else ("refused", error.reason)
    except Exception as error:
        return "differs", f"from_file raises {type(error).__name__}: {error}"
    if why:
        return "alone", why
    if reference is None:
        return "loads", ""
    record = {"model": {"vocab": enc.get_vocab()}, "added_tokens": []}
    said = difference(enc, reference, texts + random_models.random_texts(rng, record, strings), rng)
    return ("differs", said) if said else ("same", "")


def slices(paths: list[pathlib.Path]) -> list[str]:
    """Parts of texts, a few thousand characters each, of 200,000 at most of each text."""
    found = []
    for path in paths:
        text = path.read_text("utf-8")[:200_000]
        found += [text[at : at + 4000] for at in range(0, len(text), 4000)]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--texts", type=pathlib.Path, nargs="*", default=[], help="files of UTF-8")
    parser.add_argument("--strings", type=int, default=300, help="random strings a file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, help="where to write the rows")
    arguments = parser.parse_args()
    texts, rows = slices(arguments.texts), []
    for path, count in found(arguments.folder):
        name = str(path.relative_to(arguments.folder))
        rows.append([name, kind_of(path), count, *verdict(path, texts, arguments.strings, arguments.seed)])
        print(*rows[-1][3:4], name, rows[-1][4][:100], file=sys.stderr, flush=True)
    totals: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for _, kind, _, what, _ in rows:
        totals[kind][what] += 1
    verdicts = ("same", "loads", "alone", "refused", "both", "differs")
    lines = [[kind, *(counts[each] for each in verdicts)] for kind, counts in sorted(totals.items())]
    print(campaign.table(["kind", *verdicts], lines), end="\n\n")
    cells = [[*row[:4], row[4].replace("|", "\\|").replace("\n", " ")[:160]] for row in rows]
    print(campaign.table(["file", "kind", "copies", "verdict", "reason"], cells))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, ensure_ascii=False, indent=1))
    return int(any(row[3] == "differs" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
