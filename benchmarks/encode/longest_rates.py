"""Rates of longest match on one core, beside the fastest exact peers.

    python benchmarks/encode/longest_rates.py --corpus FOLDER --world FILE --wordpiece tokenizer.json [--peers]

FOLDER holds the files english, code and multilingual; FILE is RWKV's vocabulary. Three tables in Markdown. The first
two have MB/s: one call on text that was encoded before, the first call of all, and `feed` of 4 KB as a share of one
call; with --peers pyrwkv-tokenizer (World) and Hugging Face's tokenizers (WordPiece), whose ids are compared before
they are timed. The third has hard texts, made here, in ns a byte at 1, 2 and 4 MB; their ids are compared with the
definition.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import random
import timeit
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

os.environ.setdefault("STREAMTOK_TABLES", "package")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("RAYON_NUM_THREADS", "1")

from streamtok import Encoding

CORPORA = "english", "code", "multilingual"
CHUNK = 4096
DOCUMENT = 10_000  # characters of a text that a peer gets: all are faster with short ones
PEER_TEXT = 1_000_000  # characters
BYTES = {bytes([value]): value for value in range(256)}

Encode = Callable[[list[str]], list[list[int]]]


def best(call: Callable[[], Any], times: int = 7) -> float:
    """Seconds of the fastest call."""
    return min(timeit.repeat(call, number=1, repeat=times))


def fed(encoding: Encoding, data: bytes) -> list[Any]:
    """The ids of each chunk."""
    stream = encoding.stream_encoder(disallowed_special=())
    parts = [stream.feed(data[at : at + CHUNK]).copy() for at in range(0, len(data), CHUNK)]
    return [*parts, stream.flush()]


def feed_all(encoding: Encoding, data: bytes) -> None:
    stream = encoding.stream_encoder(disallowed_special=())
    for at in range(0, len(data), CHUNK):
        stream.feed(data[at : at + CHUNK])
    stream.flush()


def pyrwkv() -> Encode:
    import pyrwkv_tokenizer

    world = pyrwkv_tokenizer.RWKVTokenizer()
    return lambda texts: [list(world.encode(text)) for text in texts]


def hugging_face(path: pathlib.Path) -> Encode:
    from tokenizers import Tokenizer

    model = Tokenizer.from_file(str(path))
    return lambda texts: [each.ids for each in model.encode_batch_fast(texts, add_special_tokens=False)]


def rates(make: Callable[[], Encoding], texts: dict[str, str], peer: Encode | None) -> Iterator[str]:
    yield "| text | one call | the first call | `feed` of 4 KB, share | peer | times as fast |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for kind, text in texts.items():
        yield f"| {kind} | {rates_of(make(), text, peer)} |"


def rates_of(encoding: Encoding, text: str, peer: Encode | None) -> str:
    data = text.encode()

    def call() -> Any:
        return encoding.encode_to_numpy(data, disallowed_special=())

    first = best(call, 1)
    if not np.array_equal(np.concatenate(fed(encoding, data)), call()):
        raise SystemExit("the stream's ids are others")
    seconds = best(call)
    share = seconds / best(lambda: feed_all(encoding, data))
    ours = f"{len(data) / seconds / 1e6:.0f} | {len(data) / first / 1e6:.0f} | {share:.2f}"
    return f"{ours} | {beside(encoding, text, peer, len(data) / seconds)}"


def beside(encoding: Encoding, text: str, peer: Encode | None, rate: float) -> str:
    """The peer's rate, and how many times it `rate` is. rate: bytes a second."""
    if peer is None:
        return "|"
    part = text[:PEER_TEXT]
    documents = [part[at : at + DOCUMENT] for at in range(0, len(part), DOCUMENT)]
    if [encoding.encode(each, disallowed_special=()) for each in documents] != peer(documents):
        raise SystemExit("the peer's ids are others")
    found = len(part.encode()) / best(lambda: peer(documents), 3)
    return f"{found / 1e6:.1f} | {rate / found:.1f}"


def hard_texts() -> Iterator[tuple[str, dict[bytes, int], Callable[[int], bytes]]]:
    """(what it is, tokens, the text of n bytes)"""
    rng = random.Random(1)

    def numbered(tokens: list[bytes]) -> dict[bytes, int]:
        return BYTES | {token: 256 + i for i, token in enumerate(dict.fromkeys(tokens)) if len(token) > 1}

    yield "a^n over all a^k up to 300", numbered([b"a" * k for k in range(2, 301)]), lambda n: b"a" * n
    powers = [b"a" * (1 << k) for k in range(1, 10)] + [b"a" * 3000 + b"c", b"aab"]
    yield "a^n over powers of two and a^3000 c", numbered(powers), lambda n: b"a" * n
    letters = [bytes(rng.choices(b"ab", k=rng.randint(10, 14))) for _ in range(60_000)]
    yield "random a, b over 60,000 of 10 to 14", numbered(letters), lambda n: bytes(rng.choices(b"ab", k=n))
    long = [bytes(rng.choices(b"abcdefgh", k=rng.randint(2, 30))) + b"z" for _ in range(60_000)]
    starts = numbered(long), lambda n: b"".join(rng.choice(long)[:-1] for _ in range(n // 16))
    yield "beginnings of 60,000 random tokens", *starts


def of_hard_texts() -> Iterator[str]:
    yield "| text | ns a byte at 1, 2 and 4 MB |\n| --- | ---: |"
    for name, tokens, make in hard_texts():
        fast, reference = (
            Encoding.longest_match("hard", tokens, special_tokens={}, engine=engine) for engine in ("fast", "reference")
        )
        some = make(200_000)
        if not np.array_equal(fast.encode_to_numpy(some), reference.encode_to_numpy(some)):
            raise SystemExit(f"{name}: the ids are not those of the definition")
        long = [make(size) for size in (1 << 20, 1 << 21, 1 << 22)]
        found = [best(partial(fast.count, text), 4) / len(text) * 1e9 for text in long]
        yield f"| {name} | {', '.join(f'{each:.1f}' for each in found)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=pathlib.Path, required=True)
    parser.add_argument("--world", type=pathlib.Path, required=True)
    parser.add_argument("--wordpiece", type=pathlib.Path, required=True)
    parser.add_argument("--peers", action="store_true")
    options = parser.parse_args()
    texts = {kind: (options.corpus / kind).read_bytes().decode(errors="ignore") for kind in CORPORA}
    tables = {
        "World": rates(lambda: Encoding.from_file(options.world), texts, pyrwkv() if options.peers else None),
        "WordPiece": rates(
            lambda: Encoding.from_file(options.wordpiece),
            texts,
            hugging_face(options.wordpiece) if options.peers else None,
        ),
        "Hard texts": of_hard_texts(),
    }
    for name, lines in tables.items():
        print(f"{name}\n")
        for line in lines:
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
