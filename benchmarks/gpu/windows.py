"""The tables of GPUTOK (arXiv 2603.02597): windows of 256 to 131,072 tokens of a book, and a batch of documents.

    python benchmarks/gpu/windows.py --corpus FOLDER [--book english.txt] [--encodings o200k_base]

Host bytes to host ids through Python, medians over 16 windows (fewer of the long ones), beside tiktoken and, where it
is installed, Hugging Face's tokenizers with the same vocabulary. "share of allocation" is the part of the time that
goes into taking memory from the driver: the pool's growth during the measured calls, which is none in a steady state.
Then: 1,024 documents of 2 KB, and the whole book, as one call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import common
import cupy

import streamtok
from streamtok.gpu import GpuPipeline

OPTIONS: dict[str, Any] = {"disallowed_special": ()}
WINDOWS = [256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072]


def hugging_face(name: str) -> Callable[[str], Any] | None:
    """A fast tokenizer of Hugging Face for GPT-2, from its cache; None where it is not there."""
    if name not in ("r50k_base", "gpt2"):
        return None
    try:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_pretrained("gpt2")
    except Exception:
        return None
    return lambda text: tokenizer.encode(text).ids


def measure(encoding: Any, book: bytes) -> list[list[str]]:
    pipeline, theirs, face = GpuPipeline(encoding), common.tiktoken_of(encoding), hugging_face(encoding.name)
    pool, rows = cupy.get_default_memory_pool(), []
    for tokens in WINDOWS:
        if tokens * 3 > len(book):
            break
        texts = common.windows_of(encoding, book, tokens)
        for text in texts:
            want = encoding.encode_to_numpy(text, **OPTIONS)
            common.check(pipeline.encode(text, **OPTIONS), want, f"{encoding.name} {tokens}")
        before = pool.total_bytes()
        ours = common.median_ms(lambda text: pipeline.encode(text, **OPTIONS), texts)
        grown = pool.total_bytes() - before
        row = [f"{tokens:,}", f"{ours:.3f} ms", f"{tokens / ours / 1e3:.1f}", "0 %" if not grown else f"{grown} B"]
        strings = [text.decode() for text in texts]
        for other in (theirs and (lambda text: theirs.encode_ordinary(text)), face):
            other_ms = common.median_ms(other, strings) if other else None
            row += [f"{other_ms:.3f} ms", f"{other_ms / ours:.1f}x"] if other_ms else ["", ""]
        rows.append(row)
        print(*row, flush=True)
    return rows


def batches(encoding: Any, book: bytes) -> None:
    """1,024 documents of 2 KB, and the book in one call."""
    pipeline, theirs = GpuPipeline(encoding), common.tiktoken_of(encoding)
    documents = [common.stretch(book, i * 2048 % (len(book) - 2048), 2048) for i in range(1024)]
    want, starts = encoding.encode_ragged(documents, **OPTIONS)
    ids, indptr = pipeline.encode_batch(documents, **OPTIONS)
    common.check(ids, want, "documents")
    common.check(indptr, starts, "row starts")
    ours = common.median_seconds(lambda: pipeline.encode_batch(documents, **OPTIONS), repeats=20) * 1e3
    line = f"{encoding.name}: 1,024 documents of 2 KB {ours:.3f} ms"
    if theirs is not None:
        strings = [text.decode() for text in documents]
        line += f", tiktoken {common.median_seconds(lambda: theirs.encode_ordinary_batch(strings), 3) * 1e3:.1f} ms"
    print(line)
    common.check(pipeline.encode(book, **OPTIONS), encoding.encode_to_numpy(book, **OPTIONS), "book")
    whole = common.median_seconds(lambda: pipeline.encode(book, **OPTIONS), repeats=20) * 1e3
    print(f"{encoding.name}: the book, {len(book):,} bytes, {whole:.3f} ms, {len(book) / whole / 1e6:.1f} GB/s")


def main() -> None:
    options = common.arguments(__doc__, book="english.txt")
    print(common.machine())
    book = (options.corpus / options.book).read_bytes()
    for name in options.encodings:
        encoding = streamtok.get_encoding(name)
        rows = measure(encoding, book)
        head = ["tokens", "GPU", "Mtok/s", "share of allocation", "tiktoken", "speed-up", "tokenizers", "speed-up"]
        print(f"\n{name}\n{common.table(head, rows)}\n")
        batches(encoding, book)


if __name__ == "__main__":
    main()
