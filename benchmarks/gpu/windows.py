"""The tables of GPUTOK (arXiv 2603.02597): windows of 256 to 131,072 tokens of a book, a batch of documents, the book.

    python benchmarks/gpu/windows.py --corpus FOLDER [--book english.txt] [--encodings o200k_base]

Host bytes to host ids through Python, medians over 16 windows (fewer of the long ones), beside tiktoken and Hugging
Face's tokenizers with the same vocabulary where they are installed and give the same ids. "Allocation" is what a steady
call asks CuPy for: requests that the pool answers and bytes that the driver had to give, and the share of the time that
goes into both. Then 1,024 documents of 2 KB as one call, and the whole book as one call, and as one batch of its
windows of 2,048 tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import rivals
import shared

from streamtok.gpu import GpuPipeline

WINDOWS = [256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072]
DOCUMENTS, DOCUMENT_BYTES = 1024, 2048
BOOK_WINDOW = 2048
MOST = 32  # calls that are timed


def ms(seconds: float) -> float:
    return round(seconds * 1e3, 4)


def one_text_rivals(encoding: Any, sample: bytes) -> dict[str, Callable[[str], Any]]:
    want, text = encoding.encode_to_numpy(sample, **shared.OPTIONS), sample.decode()
    found = {
        "tiktoken": rivals.made("tiktoken", encoding, rivals.tiktoken_list, text, want),
        "tokenizers": rivals.made("tokenizers", encoding, rivals.hugging_face_one, text, want),
    }
    return {name: call for name, call in found.items() if call}


def window_row(encoding: Any, pipeline: Any, others: Any, texts: list[bytes], budget: float) -> shared.Row:
    def call(text: bytes) -> Any:
        return pipeline.encode(text, **shared.OPTIONS)

    for text in texts:
        want = encoding.encode_to_numpy(text, **shared.OPTIONS)
        shared.check(call(text), want, f"{encoding.name}, window of {len(want)} tokens")
    row: shared.Row = {"ms": {"GPU": ms(shared.median_over(call, texts, MOST, budget))}}
    row["allocation"] = shared.allocations_of(call, texts)
    strings = [text.decode() for text in texts]
    for name, other in others.items():
        row["ms"][name] = ms(shared.median_over(other, strings, MOST, budget, warm=1))
    return row


def batch_row(encoding: Any, pipeline: Any, texts: list[bytes], what: str, budget: float) -> shared.Row:
    """Many texts as one call; rivals on the threads that they take by themselves, tiktoken on eight."""
    want, starts = encoding.encode_ragged(texts, num_threads=shared.cores(), **shared.OPTIONS)
    ids, indptr = pipeline.encode_batch(texts, **shared.OPTIONS)
    shared.check(ids, want, what)
    shared.check(indptr, starts, f"row starts of {what}")

    def call(_: object) -> Any:
        return pipeline.encode_batch(texts, **shared.OPTIONS)

    row: shared.Row = {"ms": {"GPU": ms(shared.median_over(call, [None], 20, budget))}}
    row["allocation"] = shared.allocations_of(call, [None] * 3)
    strings = [text.decode() for text in texts]
    for name, make in (
        ("tiktoken", lambda encoding: rivals.tiktoken_batch(encoding, 8)),
        ("tokenizers", rivals.hugging_face_batch),
    ):
        other = rivals.made(name, encoding, lambda encoding, make=make: _as_ids(make(encoding)), strings, want)
        if other:
            timed = make(encoding)
            row["ms"][name] = ms(shared.median_over(lambda _, timed=timed: timed(strings), [None], 5, budget, warm=0))
    return row


def _as_ids(call: Callable[[list[str]], Any]) -> Callable[[list[str]], Any]:
    """The ids of a batch in one array, whether rows are lists or Encodings."""
    return lambda texts: rivals.joined([getattr(row, "ids", row) for row in call(texts)])


def rows(options: Any) -> Iterator[shared.Row]:
    book = (options.corpus / options.book).read_bytes()
    for name in options.encodings:
        encoding = shared.streamtok.get_encoding(name)
        pipeline, others = GpuPipeline(encoding), one_text_rivals(encoding, shared.stretch(book, 0, 50_000))
        for tokens in options.windows:
            texts = shared.windows_of(encoding, book, tokens)
            if tokens * 3 <= len(book):
                found = window_row(encoding, pipeline, others, texts, options.budget)
                yield {"encoding": name, "what": f"{tokens:,} tokens", "tokens": tokens, **found}
        texts = shared.documents_of(book, DOCUMENTS, DOCUMENT_BYTES)
        what = f"{DOCUMENTS:,} documents of {shared.in_units(DOCUMENT_BYTES)}"
        yield {"encoding": name, "what": what, **batch_row(encoding, pipeline, texts, what, options.budget)}
        size = int(BOOK_WINDOW * len(book) / encoding.count(book, **shared.OPTIONS))
        texts = shared.documents_of(book, max(1, len(book) // size), size)
        what = f"the book as {len(texts):,} windows of {BOOK_WINDOW:,} tokens"
        yield {"encoding": name, "what": what, **batch_row(encoding, pipeline, texts, what, options.budget)}
        what = f"the book, {len(book):,} bytes"
        yield {"encoding": name, "what": what, **window_row(encoding, pipeline, {}, [book], options.budget)}


def allocation(row: shared.Row) -> str:
    found = row["allocation"]
    return f"{found['share']:.1%}, {found['pool'] + found['pinned']:g} of the pool, {found['driver']} B"


def table(found: list[shared.Row]) -> str:
    cells = []
    for row in found:
        ours = row["ms"]["GPU"]
        rate = f"{row['tokens'] / ours / 1e3:.1f}" if "tokens" in row else ""
        cell = [f"{row['encoding']}, {row['what']}", ours, rate, allocation(row)]
        for name in ("tiktoken", "tokenizers"):
            theirs = row["ms"].get(name)
            cell += [shared.cell(theirs, ".3f"), f"{theirs / ours:.1f}x" if theirs else ""]
        cells.append(cell)
    head = ["milliseconds", "GPU", "Mtok/s", "allocation", "tiktoken", "speed-up", "tokenizers", "speed-up"]
    return shared.markdown(head, cells)


if __name__ == "__main__":
    brief = {"windows": [256, 4096, 131_072], "encodings": ["r50k_base", "o200k_base"], "budget": 0.3}
    shared.main(__doc__, rows, table, brief=brief, windows=WINDOWS, book="english.txt", budget=2.0)
