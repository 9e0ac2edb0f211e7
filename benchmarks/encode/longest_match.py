"""Longest match beside merging: the same vocabularies used both ways, on real text.

    python benchmarks/encode/longest_match.py --corpus FOLDER [--documents 200] [--bytes 2000] [--size 32000]

FOLDER holds the files english, code and multilingual. Two tables in Markdown. The first has each bundled vocabulary:
documents whose ids are the same both ways, tokens more or fewer, the Levenshtein similarity of the two sequences of ids
(alike.py), and MB/s of one thread on text that was encoded before. The second has a vocabulary that is trained here by
BPE, on the first half of all three files, and then used on the second half. Ids are decoded again before anything is
timed.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import sys
import time
from collections.abc import Callable, Iterator

import streamtok
from streamtok.train import train

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from alike import compared

CORPORA = "english", "code", "multilingual"
VOCABULARIES = "r50k_base", "p50k_base", "cl100k_base", "o200k_base"


def documents_of(text: str, count: int, size: int) -> list[str]:
    rng = random.Random(count)
    data = text.encode()
    starts = [rng.randrange(max(1, len(data) - size)) for _ in range(count)]
    return [data[start : start + size].decode(errors="ignore") for start in starts]


def best(call: Callable[[], object], times: int = 5) -> float:
    """Seconds of the fastest call; the first one is not timed."""
    call()
    found = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def rate(encoding: streamtok.Encoding, text: str) -> float:
    data = text.encode()
    if encoding.decode_bytes(encoding.encode_to_numpy(data, disallowed_special=())) != data:
        raise SystemExit(f"{encoding.name}: the ids are not those of the text")
    return len(data) / best(lambda: encoding.encode_to_numpy(data, disallowed_special=())) / 1e6


def of_bundled(texts: dict[str, str], options: argparse.Namespace) -> Iterator[str]:
    yield "| text | documents alike | tokens | similarity | least | MB/s merged, matched |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for name in VOCABULARIES:
        merged = streamtok.get_encoding(name)
        matched = merged.with_longest_match()
        for kind, text in texts.items():
            found = compared(
                merged.encode_ordinary, matched.encode_ordinary, documents_of(text, options.documents, options.bytes)
            )
            yield (
                f"| {name}, {kind} | {found['same']:.1%} | {found['more']:+.2%} | {found['similarity']:.4f} | "
                f"{found['least']:.4f} | {rate(merged, text):.0f}, {rate(matched, text):.0f} |"
            )


def of_trained(texts: dict[str, str], options: argparse.Namespace) -> Iterator[str]:
    halves = {kind: (text[: len(text) // 2], text[len(text) // 2 :]) for kind, text in texts.items()}
    merged = train(iter([first for first, _ in halves.values()]), vocab_size=options.size)
    matched = merged.with_longest_match()
    yield "| text | bytes a token merged, matched | similarity | MB/s merged, matched |\n| --- | ---: | ---: | ---: |"
    for kind, (_, text) in halves.items():
        size = len(text.encode())
        found = compared(
            merged.encode_ordinary, matched.encode_ordinary, documents_of(text, options.documents, options.bytes)
        )
        tokens = [size / len(each.encode_to_numpy(text, disallowed_special=())) for each in (merged, matched)]
        rates = [rate(each, text) for each in (merged, matched)]
        both = f"{tokens[0]:.3f}, {tokens[1]:.3f} | {found['similarity']:.4f}"
        yield f"| {kind} | {both} | {rates[0]:.0f}, {rates[1]:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=pathlib.Path, required=True)
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--bytes", type=int, default=2000)
    parser.add_argument("--size", type=int, default=32_000, help="tokens of the vocabulary that is trained")
    options = parser.parse_args()
    texts = {kind: (options.corpus / kind).read_bytes().decode(errors="ignore") for kind in CORPORA}
    for line in [*of_bundled(texts, options), "", *of_trained(texts, options)]:
        print(line, flush=True)


if __name__ == "__main__":
    main()
