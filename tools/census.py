#!/usr/bin/env python3
"""Which tokenizer files of a folder load, and whether they give the ids of the library that they come from.

    python tools/census.py FOLDER [--corpus TEXT ...] [--strings 300] [--jobs 2] [--json OUT]

Nothing is fetched. Each file below FOLDER that looks like one of a tokenizer is taken once, whatever its name (by the
SHA-256 of its content): tokenizer.json and other JSON with a "model", SentencePiece's .model, .gguf, tekken.json, rank
files, vocab.txt. It is loaded and compared in a process of its own, for at most --seconds.

tokenizer.json is compared with Hugging Face's tokenizers: ids whole, as streams that are cut at random places and saved
in between, as batches on threads, with the template; places; the text of ids (the checks of model_campaign.py). A
.model is compared with sentencepiece: ids whole, as streams and on threads, and the text of ids. Texts are random
strings, with the model's added tokens in them, and slices of the files of --corpus. Other kinds have no reference here;
their verdict is "loads".

The table has a row for each file: its kind, the verdict, and the reason or the first difference. Verdicts: same;
differs; loads, with nothing to compare; refused; both, if that library refuses it, too; failed, if it took too long,
the process died, or the error is none that is documented. Totals follow, by kind. Where transformers is installed, its
map of model types to classes follows: how many types a class stands for, and whether folders with the files of its slow
tokenizer load, without a tokenizer.json. Exit status: 0 nothing differed or failed, 1 something did, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import pathlib
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import model_campaign
from model_campaign import Difference, attempt, check_all, same, streamed

import streamtok
from streamtok.model_files import folder, folder_sentences
from streamtok.model_files.pieces import TYPES
from streamtok.model_files.wire import Message

SLICE = 20_000  # characters of a corpus that are one text
SLICES = 8  # of each corpus
NAMES = 12  # added tokens that stand in random strings
ALPHABET = [
    *("a", "b", "E", "the", "ing", "Hello", "7", "2024", " ", "  ", "\n", "\t", ".", ",", "'s", "-", "_", "▁", "#"),
    *("é", "e\u0301", "ß", "İ", "ﬁ", "½", "中", "文", "日本", "あ", "ア", "한", "ไทย", "ע", "م", "न"),
    *("\u0301", "\u200d", "\u3000", "\xa0", "\u2028", "😀", "👩‍🚀", "\U0001f1e9", "\x00", "\x7f", "\ufffd"),
]
ENDS = (".json", ".model", ".spm", ".gguf", ".tiktoken", ".txt")
WORST = ("differs", "failed")


# ==== What there is ====


def kind_of(path: pathlib.Path) -> str | None:
    """The kind of a file, as a row of the table names it; None: it is none of a tokenizer."""
    if path.suffix in (".model", ".spm"):
        return "sentencepiece " + (attempt(lambda: type_of_model(path)) or "?")
    if path.suffix in (".gguf", ".tiktoken"):
        return path.suffix[1:]
    if path.name == "vocab.txt":
        return "vocab.txt"
    if path.suffix != ".json" or path.stat().st_size < 2048:
        return None
    record = attempt(lambda: json.loads(path.read_bytes()))
    if not isinstance(record, dict):
        return None
    if isinstance(record.get("model"), dict) and "vocab" in record["model"]:
        return "tokenizer.json " + str(record["model"].get("type") or "without a type")
    if "bpe_ranks" in record:
        return "ranks in JSON"
    return "tekken.json" if "vocab" in record and "config" in record else None


def type_of_model(path: pathlib.Path) -> str:
    """Of a SentencePiece model, as its trainer_spec says."""
    whole, kind = Message(path.read_bytes(), str(path)), 1
    for value in whole.fields():
        if value.number == 2:
            spec = whole.message(value)
            kind = next((spec.whole(each) for each in spec.fields() if each.number == 3), kind)
    return TYPES.get(kind, str(kind))


def files(folder: pathlib.Path) -> Iterator[tuple[pathlib.Path, str]]:
    """Each file of a tokenizer once, with its kind."""
    seen: set[bytes] = set()
    for path in sorted(folder.rglob("*")):
        if path.suffix not in ENDS or not path.is_file() or (kind := kind_of(path)) is None:
            continue
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest() if sys.version_info >= (3, 11) else file.read()
        if digest not in seen:
            seen.add(digest)
            yield path, kind


# ==== One file ====


def texts_of(names: Sequence[str], corpora: Sequence[str], strings: int, rng: random.Random) -> list[str]:
    chosen = rng.sample(list(names), min(NAMES, len(names)))
    made = ["".join(rng.choices([*ALPHABET, *chosen], k=rng.randrange(16))) for _ in range(strings)]
    for corpus in corpora:
        text = pathlib.Path(corpus).read_text(encoding="utf-8", errors="ignore")
        step = max(1, len(text) // SLICES)
        made += [text[at : at + SLICE] for at in range(0, len(text), step)]
    return made


class JsonFile(model_campaign.Subject):
    """Both tokenizers of a tokenizer.json."""

    def __init__(self, path: pathlib.Path) -> None:
        from tokenizers import Tokenizer

        text = path.read_text(encoding="utf-8")
        self.ours = streamtok.Encoding.from_file(path)
        self.theirs, self.cutting = (attempt(lambda: Tokenizer.from_str(text)) for _ in range(2))
        if self.theirs is not None:
            self.theirs.no_truncation()
            self.theirs.no_padding()
        plain = json.loads(text) | {"truncation": None, "padding": None, "post_processor": None}
        self.without_post = attempt(lambda: Tokenizer.from_str(json.dumps(plain)))


def compare_json(path: pathlib.Path, corpora: Sequence[str], strings: int) -> dict[str, str]:
    subject, rng = JsonFile(path), random.Random(str(path))
    if subject.theirs is None:
        return {"verdict": "loads", "reason": "tokenizers refuses it"}
    names = [token["content"] for token in json.loads(path.read_bytes()).get("added_tokens") or []]
    check_all(subject, rng, texts_of(names, corpora, strings, rng))
    return {"verdict": "same", "reason": ""}


def compare_sentencepiece(path: pathlib.Path, corpora: Sequence[str], strings: int) -> dict[str, str]:
    import sentencepiece

    ours, rng = streamtok.Encoding.from_file(path), random.Random(str(path))
    theirs: Any = attempt(lambda: sentencepiece.SentencePieceProcessor(model_file=str(path)))
    if theirs is None:
        return {"verdict": "loads", "reason": "sentencepiece refuses it"}
    subject: Any = type("Pair", (), {"ours": ours})
    for text in texts_of((), corpora, strings, rng):
        if "\x00" in text:
            continue  # sentencepiece reads such a text to its end, other programs that use it do not
        want = theirs.encode(text)
        same("encode", text, ours.encode(text, disallowed_special=()), want)
        same("stream", text, streamed(subject, rng, text, disallowed_special=()), want)
        numpy = ours.encode_to_numpy(text.encode(), num_threads=2, disallowed_special=())
        same("threads", text, numpy.tolist(), want)
        same("decode", want, ours.decode(want), theirs.decode(want))
    return {"verdict": "same", "reason": ""}


def is_refused_there(path: pathlib.Path, kind: str) -> bool:
    """Whether the library that a kind of file comes from refuses a file, too."""
    if kind.startswith("tokenizer.json"):
        from tokenizers import Tokenizer

        return attempt(lambda: Tokenizer.from_file(str(path))) is None
    if kind.startswith("sentencepiece"):
        import sentencepiece

        return attempt(lambda: sentencepiece.SentencePieceProcessor(model_file=str(path))) is None
    return False


def one(path: pathlib.Path, kind: str, corpora: Sequence[str], strings: int) -> dict[str, str]:
    """The verdict on a file and its reason."""
    try:
        if kind.startswith("tokenizer.json"):
            return compare_json(path, corpora, strings)
        if kind.startswith("sentencepiece"):
            return compare_sentencepiece(path, corpora, strings)
        streamtok.Encoding.from_file(path)
        return {"verdict": "loads", "reason": "there is no reference for this kind here"}
    except streamtok.VocabularyError as error:
        return {"verdict": "both" if is_refused_there(path, kind) else "refused", "reason": str(error.reason)}
    except Difference as found:
        return {"verdict": "differs", "reason": json.dumps(found.facts)[:600]}
    except Exception as error:
        return {"verdict": "failed", "reason": f"{type(error).__name__}: {error}"[:600]}


# ==== All files ====


def alone(path: pathlib.Path, kind: str, options: argparse.Namespace) -> dict[str, str]:
    """The same in a process of its own, which may die or take too long."""
    command = [sys.executable, __file__, str(path), "--kind", kind, "--strings", str(options.strings)]
    command += [part for corpus in options.corpus for part in ("--corpus", corpus)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.seconds)
        found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        found = {"verdict": "failed", "reason": f"it took more than {options.seconds} s"}
    except (IndexError, ValueError):
        found = {"verdict": "failed", "reason": f"status {done.returncode}: {done.stderr[-300:]}"}
    print(f"{found['verdict']:8} {path}: {found['reason'][:200]}", file=sys.stderr, flush=True)
    return {"file": str(path), "kind": kind, **found}


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def tables(rows: Sequence[dict[str, str]]) -> str:
    """What was found, as Markdown."""
    lines = ["| file | kind | verdict | reason |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(cell(row[key]) for key in ('file', 'kind', 'verdict', 'reason'))} |" for row in rows]
    verdicts = sorted({row["verdict"] for row in rows})
    lines += ["", f"| kind | files | {' | '.join(verdicts)} |", f"|---|--:|{'--:|' * len(verdicts)}"]
    for kind in sorted({row["kind"] for row in rows}):
        counts = collections.Counter(row["verdict"] for row in rows if row["kind"] == kind)
        lines.append(f"| {kind} | {counts.total()} | {' | '.join(str(counts[each]) for each in verdicts)} |")
    return "\n".join(lines)


# ==== The map of transformers ====

BACKENDS = ("TokenizersBackend", "MistralCommonBackend")
"""Classes that take a tokenizer.json, or a tekken.json, as it is."""


def weights(classes: Mapping[str, str | None]) -> list[tuple[str, int, str]]:
    """(class, how many model types it stands for, what loads besides its tokenizer.json), the most first.

    classes: model types -> classes."""
    counts = collections.Counter(name.removesuffix("Fast") for name in classes.values() if name)
    rows = []
    for name, count in counts.most_common():
        found = "the file decides" if name in BACKENDS else SLOW.get(name, "nothing else")
        rows.append((name, count, found))
    return rows


SLOW = dict.fromkeys(folder.CLASSES, "vocab.json, merges.txt") | dict.fromkeys(folder.OF_WORDS, "vocab.txt")
SLOW |= {name: kind.file for name, kind in folder_sentences.KINDS.items()}


def table_of_weights() -> str:
    """The map of the transformers that is installed, as Markdown; "" where none is."""
    try:
        from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES
    except ImportError:
        return ""
    rows = weights(TOKENIZER_MAPPING_NAMES)
    lines = ["", "| class of transformers | model types | loads, besides a tokenizer.json |", "|---|--:|---|"]
    lines += [f"| {name} | {count} | {found} |" for name, count, found in rows]
    total, slow = sum(row[1] for row in rows), sum(row[1] for row in rows if row[0] in SLOW)
    files = sum(row[1] for row in rows if row[0] in BACKENDS)
    lines.append(f"| {len(rows)} classes | {total} | {slow} by slow files, {files} by the file that is there |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--corpus", action="append", default=[], help="a file of UTF-8; may be repeated")
    parser.add_argument("--strings", type=int, default=300, help="random strings for each file")
    parser.add_argument("--seconds", type=int, default=300, help="for each file")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path, help="the rows, as JSON")
    parser.add_argument("--kind", help=argparse.SUPPRESS)  # FOLDER is one file
    options = parser.parse_args()
    if options.kind:
        print(json.dumps(one(options.folder, options.kind, options.corpus, options.strings)))
        return 0
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is no folder")
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(lambda found: alone(*found, options), files(options.folder)))
    print(tables(rows))
    print(table_of_weights())
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return int(any(row["verdict"] in WORST for row in rows))


if __name__ == "__main__":
    sys.exit(main())
