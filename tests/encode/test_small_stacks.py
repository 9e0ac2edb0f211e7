"""Calls on threads with small stacks: musl gives 128 KB, and a program has frames of its own in it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import faulthandler, random, sys, threading
faulthandler.enable()
import numpy as np
import streamtok
from streamtok import _batch as batch
from streamtok.native.normal import Normalizer
from streamtok.train import train

if streamtok.info()["simd"] != sys.argv[1]:
    sys.exit("this machine does not run " + sys.argv[1])
batch.cores = lambda: 4
rng = random.Random(1)
words = " ".join("".join(rng.choices("abcdefghij\\u00e9", k=rng.randint(1, 14))) for _ in range(20_000))
wide = "".join(rng.choices("abc \\u0416\\u4e2d\\u6587\\U0001f600", k=70_000))
texts = [words, wide, "ab" * 100_000, "\\u4e2d" * 40_000, " " * 50_000, "a<|endoftext|>b", ""]
results = {}


def encodings():
    tokens = {bytes([value]): value for value in range(256)}
    for token in (b"ab", b"abc", b"cd", b" a", b"aa", b"\\xc3\\xa9", b"\\xe4\\xb8", b"  ", b"    "):
        tokens[token] = len(tokens)
    special = {"<|endoftext|>": 1000}
    yield streamtok.get_encoding("cl100k_base")
    yield streamtok.get_encoding("o200k_base")
    yield streamtok.Encoding("new", pat_str=r"\\w+|\\s+|[^\\w\\s]+", mergeable_ranks=tokens, special_tokens=special)
    yield streamtok.Encoding.longest_match("longest", tokens, special_tokens=special)
    yield train(iter(["low lower lowest new newer newest " * 50, words[:20_000]]), 400)


def of_encoding(enc):
    made = [enc.encode(text, allowed_special="all", disallowed_special=()) for text in texts]
    yield made
    yield enc.encode_batch(texts, disallowed_special=(), num_threads=3)
    yield enc.encode_ragged(texts, disallowed_special=(), num_threads=1)[0].tolist()
    yield [enc.count(text, disallowed_special=()) for text in texts]
    stream = enc.stream_encoder(disallowed_special=())
    yield [stream.feed(part).tolist() for text in texts for part in (text[:700], text[700:])], stream.flush().tolist()
    yield [enc.decode(ids) for ids in made], enc.decode_batch(made)
    yield enc.encode_with_offsets(words[:500])


def work(name):
    found = [list(of_encoding(enc)) for enc in encodings()]
    for steps in ([("NFKC",), ("Lowercase",)], [("NFD",), ("StripAccents",)]):
        found.append([Normalizer(steps).normalize(text) for text in texts])
    found.append([part.tolist() for part in streamtok.pack([[1, 2, 3]] * 5_000, 64)[:1]])
    results[name] = found


def run(name, size):
    threading.stack_size(size)
    thread = threading.Thread(target=work, args=(name,))
    thread.start()
    thread.join()
    assert name in results


run("small", 96 << 10)
run("large", 8 << 20)
assert str(results["small"]) == str(results["large"])
"""


@pytest.mark.parametrize("tier", ["portable", "neon", "avx2", "avx512"])
def test_threads_with_small_stacks(tier):
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, tier],
        env=os.environ | {"STREAMTOK_TIER": tier},
        capture_output=True,
        text=True,
        timeout=300,
    )
    if "does not run" in run.stderr:
        pytest.skip(run.stderr)
    assert run.returncode == 0, (run.returncode, run.stderr[-3000:])
