#!/usr/bin/env python3
"""The cases beside llama.cpp's vocabularies, ggml-vocab-NAME.gguf: texts (.inp), and Hugging Face's ids of them (.out).

    python tools/llama_cases.py FOLDER

FOLDER is `models` of llama.cpp's repository, or of the source distribution of llama-cpp-python, as
`pip download --no-binary :all: llama-cpp-python` fetches it (vendor/llama.cpp/models). Nothing is fetched here. Each
vocabulary is loaded and its texts are encoded whole, and as streams cut behind each byte. A row for each file: cases,
how many agree, or why the file is refused. Exit status: 0 all agree, 1 some do not, 2 there is no such file.
"""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Iterator

from streamtok import Encoding, VocabularyError

BETWEEN = "\n__ggml_vocab_test__\n"


def cases(path: pathlib.Path) -> Iterator[tuple[str, list[int]]]:
    """The texts of a vocabulary and their ids. Where one of the files ends early, those that both have."""
    texts = pathlib.Path(f"{path}.inp").read_bytes().decode().split(BETWEEN)
    lines = pathlib.Path(f"{path}.out").read_text().split("\n")
    for text, line in zip(texts, lines):
        yield text, [int(token) for token in line.split()]


def streamed(encoding: Encoding, text: str) -> list[int]:
    stream = encoding.stream_encoder(allowed_special="all")
    made = [token for byte in text.encode() for token in stream.feed(bytes([byte])).tolist()]
    return made + stream.flush().tolist()


def check(path: pathlib.Path) -> tuple[int, int, str]:
    """(cases, how many agree, the first that does not, or why the file is refused)"""
    found = list(cases(path))
    try:
        encoding = Encoding.from_file(path)
    except VocabularyError as error:
        return len(found), 0, str(error.reason)
    said, agreed = "", 0
    for text, ids in found:
        is_same = encoding.encode(text, allowed_special="all") == ids == streamed(encoding, text)
        agreed += is_same
        said = said or ("" if is_same else f"first other: {text!a:.80}")
    return len(found), agreed, said


def vocabularies(folder: pathlib.Path) -> list[pathlib.Path]:
    """Those that have cases."""
    paths = sorted(folder.glob("ggml-vocab-*.gguf"))
    return [path for path in paths if all(pathlib.Path(f"{path}{end}").is_file() for end in (".inp", ".out"))]


def main() -> int:
    if len(sys.argv) != 2 or not (paths := vocabularies(pathlib.Path(sys.argv[1]))):
        print(__doc__, file=sys.stderr)
        return 2
    total = same = 0
    print("| file | cases | agree | |\n|---|--:|--:|---|")
    for path in paths:
        count, agreed, said = check(path)
        total, same = total + count, same + agreed
        print(f"| {path.stem.removeprefix('ggml-vocab-')} | {count} | {agreed} | {said} |", flush=True)
    print(f"| all | {total} | {same} | |")
    return int(same < total)


if __name__ == "__main__":
    sys.exit(main())
