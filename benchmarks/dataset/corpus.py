"""Makes a corpus of any size from a small one: files of JSON lines (.jsonl, .jsonl.zst) and Parquet.

    python benchmarks/dataset/corpus.py FOLDER --text english.txt.xz code.txt.xz --bytes 2000000000 --files 64

The text is repeated until there is enough of it. In each repetition another share of the words is altered: of the
different words with five letters or more, one in eight (chosen by a random generator with the number of the repetition
as its seed) has two letters inside exchanged wherever it occurs. So the text grows in words as it grows in size, and a
tokenizer that remembers words gains less than from plain repetition. Documents are paragraphs, joined to 2 KB or more.
"""

from __future__ import annotations

import argparse
import json
import lzma
import pathlib
import random
import re
from collections.abc import Iterator
from typing import Any

_WORD = re.compile(r"[^\W\d_]{5,}")
_DOCUMENT = 2048
"""Characters that a document has at least."""


def read(path: pathlib.Path) -> str:
    """The text of a file, unpacked where it ends in .xz."""
    data = path.read_bytes()
    return (lzma.decompress(data) if path.suffix == ".xz" else data).decode()


def altered(text: str, seed: int) -> str:
    """The text of one repetition; that of seed 0 is the text itself."""
    if not seed:
        return text
    generator = random.Random(seed)
    exchanged = {
        word: _exchange(word, generator) for word in sorted(set(_WORD.findall(text))) if generator.random() < 1 / 8
    }
    return _WORD.sub(lambda found: exchanged.get(found[0], found[0]), text)


def _exchange(word: str, generator: random.Random) -> str:
    at = generator.randrange(1, len(word) - 2)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def documents(text: str) -> Iterator[str]:
    """The text as documents."""
    held: list[str] = []
    size = 0
    for paragraph in text.split("\n\n"):
        held.append(paragraph)
        size += len(paragraph)
        if size >= _DOCUMENT:
            yield "\n\n".join(held)
            held, size = [], 0
    if held:
        yield "\n\n".join(held)


def parts(texts: list[str], total: int, files: int) -> Iterator[list[str]]:
    """The documents of each file: together `total` bytes of text or a little more."""
    share, held, size, made, seed = total // files, [], 0, 0, 0
    while True:
        for text in texts:
            for document in documents(altered(text, seed)):
                held.append(document)
                size += len(document.encode())
                if size >= share:
                    yield held
                    held, size, made = [], 0, made + 1
                    if made == files:
                        return
        seed += 1


def write(folder: pathlib.Path, texts: list[str], total: int, files: int, kinds: list[str]) -> None:
    """Write the corpus: part-00000.jsonl.zst and so on, one file of each kind for each part."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, rows in enumerate(parts(texts, total, files)):
        for kind in kinds:
            _WRITERS[kind](folder / f"part-{number:05}.{kind}", rows)


def _lines(rows: list[str]) -> bytes:
    return "".join(f"{json.dumps({'id': i, 'text': row}, ensure_ascii=False)}\n" for i, row in enumerate(rows)).encode()


def _write_jsonl(path: pathlib.Path, rows: list[str]) -> None:
    path.write_bytes(_lines(rows))


def _write_zst(path: pathlib.Path, rows: list[str]) -> None:
    from backports import zstd

    path.write_bytes(zstd.compress(_lines(rows), level=3))


def _write_parquet(path: pathlib.Path, rows: list[str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"id": pa.array(range(len(rows))), "text": pa.array(rows, pa.string())})
    pq.write_table(table, path, compression="zstd", row_group_size=4096)


_WRITERS: dict[str, Any] = {"jsonl": _write_jsonl, "jsonl.zst": _write_zst, "parquet": _write_parquet}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--text", nargs="+", type=pathlib.Path, required=True)
    parser.add_argument("--bytes", type=int, default=2_000_000_000)
    parser.add_argument("--files", type=int, default=64)
    parser.add_argument("--kinds", nargs="+", choices=list(_WRITERS), default=["jsonl.zst", "parquet"])
    chosen = parser.parse_args()
    write(chosen.folder, [read(path) for path in chosen.text], chosen.bytes, chosen.files, chosen.kinds)


if __name__ == "__main__":
    main()
