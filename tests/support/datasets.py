"""What the tests of datasets share: small corpora, specs for them, and what lies in a folder."""

from __future__ import annotations

import gzip
import hashlib
import json
import pathlib
import random

from english import ENGLISH

from streamtok.dataset import Spec

WORDS = ENGLISH.decode().split()


def documents(count: int, seed: int = 0) -> list[str]:
    """Texts of 1 to 200 words, some empty."""
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(0, 200))) for _ in range(count)]


def lines(texts: list[str]) -> bytes:
    """The texts as JSON lines."""
    return "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()


def make_corpus(folder: pathlib.Path, files: int = 6, texts: int = 120) -> pathlib.Path:
    """Files a-0.jsonl, a-1.jsonl.gz, ...: every second one is compressed."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        data = lines(documents(texts, number))
        if number % 2:
            (folder / f"a-{number}.jsonl.gz").write_bytes(gzip.compress(data, 1, mtime=0))
        else:
            (folder / f"a-{number}.jsonl").write_bytes(data)
    return folder


def make_spec(base: pathlib.Path, output: str = "out", **changes: object) -> Spec:
    """A spec for make_corpus(base / "corpus")."""
    values: dict[str, object] = {
        "sources": ("corpus/*",),
        "output": output,
        "encoding": "r50k_base",
        "append_eot": True,
        "shard_bytes": 20_000,
        "base": str(base),
        **changes,
    }
    return Spec(**values)  # type: ignore[arg-type]


def contents(folder: str | pathlib.Path) -> dict[str, str]:
    """Hashes of all files below a folder."""
    root = pathlib.Path(folder)
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
