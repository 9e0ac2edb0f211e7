"""Other tokenizers that use a GPU, where they are at hand, beside ours on the same card; from and to the host.

    python benchmarks/gpu/on_the_card.py --corpus FOLDER --model tokenizer.json --merges merges.txt --program FILE

- toktier (PyPI): with the tokenizer.json of a model for which it has tables, named by --family. Its engine in Rust with
  its prebuilt kernels is asked for itself, without its sessions and its choice of a backend. It gives lists.
- GPUTOK (gputok_binding.cu of venugopalkadamba/gpu-tokenizer, built as the module gputok_gpu): with GPT-2's merges.txt.
- MultiBlockBPE (SPARTACUS5329/MultiBlockBPE): its program, run in the folder that has its assets. It gives the time of
  its kernel alone, without its lexer on the host and the copies.

Every call of a way gets another stretch of the text. Milliseconds, medians, and the share of our tokens that a rival
has, too: 1 is the same ids. BlockBPE (You, ES-FoMo 2025) has published no code; blockbpe.py runs its grid.
"""

from __future__ import annotations

import hashlib
import pathlib
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import rivals
import shared

import streamtok

SIZES = [1 << 10, 1 << 14, 1 << 17, 1 << 20, 1 << 22]
BATCHES = ["64x1024", "1024x2048"]
STRETCHES = 8
"""Texts of each size: a way gets them in turn."""

BLOCK = "128"
"""Bytes of MultiBlockBPE's blocks: the best of its own results."""

Ways = dict[str, Callable[[Any], Any]]


# ---- toktier ----


def toktier_of(path: pathlib.Path, family: str, cache: pathlib.Path) -> dict[str, tuple[Callable[[str], Any], Any]]:
    """Name -> (a text to its ids, a list of texts to theirs)."""
    import cupy
    from toktier import _native
    from toktier.engine.gpu.handles import VerifiedHandle
    from toktier.engine.gpu.native import prepare_native_prebuilt_gpu

    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    handle = VerifiedHandle(family, path.parent, digest, {path.name: digest})
    reference = _native.ReferenceEngine(str(path))
    made = prepare_native_prebuilt_gpu(
        artifact=handle,
        family=family,
        cache_dir=cache,
        device_ordinal=0,
        architecture=f"sm_{cupy.cuda.Device(0).compute_capability}",
        reference=reference,
    )
    runtime = _native.NativeRuntime(["gpu", "hf"], [0, 0], reference, None, made.engine, False, bytes(32), 64, False)
    return {"toktier, lists": (lambda text: runtime.encode(text, None, False), runtime.encode_batch)}


# ---- GPUTOK ----


def gputok_of(merges: str) -> tuple[Callable[[str], Any], Any]:
    import gputok_gpu

    theirs = gputok_gpu.GpuTokenizer(merges, 2048, 50)
    return lambda text: theirs.tokenize_batch([text])[0][0], lambda texts: theirs.tokenize_batch(texts)[0]


def as_gpt2(encoding: Any, ids: Any) -> Any:
    """GPUTOK's ids as GPT-2 has them: its first 256 are bytes by their values."""
    numbers = np.array([encoding.encode_single_token(bytes([byte])) for byte in range(256)], np.int64)
    ids = np.asarray(ids, np.int64)
    return np.where(ids < 256, numbers[np.minimum(ids, 255)], ids)


# ---- a table ----


def tokens_of(encoding: Any, ids: Any) -> Any:
    """(place, id) of each token, as one number."""
    sizes = np.array([len(token) for token in encoding.decode_tokens_bytes(ids)], np.int64)
    return (np.cumsum(sizes) - sizes) << 20 | np.asarray(ids, np.int64)


def share_of(encoding: Any, got: Any, want: Any) -> float:
    """How many of the wanted tokens are there, of all that are wanted; 0 where the ids are of another text."""
    if np.array_equal(got, want):
        return 1.0
    if encoding.decode_bytes(got) != encoding.decode_bytes(want):
        return 0.0
    return round(len(np.intersect1d(tokens_of(encoding, got), tokens_of(encoding, want))) / len(want), 4)


def texts_of(data: bytes, options: Any) -> Iterator[tuple[str, list[Any]]]:
    """(name, texts or batches of texts of that size)."""
    for size in options.sizes:
        yield shared.in_units(size), [text.decode() for text in shared.documents_of(data, STRETCHES, size)]
    for batch in options.batches:
        count, size = map(int, batch.split("x"))
        texts = [text.decode() for text in shared.documents_of(data, STRETCHES * count, size)]
        yield batch, [texts[k::STRETCHES] for k in range(STRETCHES)]


def ours(encoding: Any, is_batch: bool) -> Ways:
    """Names of ways to what they call."""
    if is_batch:
        return {
            "lists": lambda texts: encoding.encode_batch(texts, device="cuda", **shared.OPTIONS),
            "arrays": lambda texts: encoding.encode_ragged(texts, device="cuda", **shared.OPTIONS),
        }
    return {
        "lists": lambda text: encoding.encode_to_numpy(text, device="cuda", **shared.OPTIONS).tolist(),
        "arrays": lambda text: encoding.encode_to_numpy(text, device="cuda", **shared.OPTIONS),
    }


def flat(result: Any, is_batch: bool) -> Any:
    """The ids of all texts in a row."""
    if isinstance(result, tuple):
        return result[0]
    return rivals.joined(result) if is_batch else np.asarray(result)


def measured(encoding: Any, theirs: dict[str, Any], corpus: str, data: bytes, options: Any, map_ids: Any) -> Any:
    """A row for each size of text: ours and each of theirs."""
    for name, texts in texts_of(data, options):
        is_batch = isinstance(texts[0], list)
        ways = ours(encoding, is_batch) | {way: pair[is_batch] for way, pair in theirs.items()}
        first = texts[0]
        want = flat((encoding.encode_ragged if is_batch else encoding.encode_to_numpy)(first, **shared.OPTIONS), False)
        label = encoding.name if encoding.name in streamtok.list_encoding_names() else options.family
        row: shared.Row = {"encoding": label, "corpus": corpus, "text": name, "ms": {}, "share": {}}
        for way, call in ways.items():
            try:
                got = flat(call(first), is_batch)
                if way in theirs:
                    row["share"][way] = share_of(encoding, map_ids(got), want)
                else:
                    shared.check(got, want, f"{corpus}, {name}, {way}")
                row["ms"][way] = round(1e3 * shared.median_over(call, texts, 24, options.budget), 3)
            except shared.IdsDiffer:
                raise
            except Exception as error:  # a rival that fails must not cost the other figures
                rivals.say(f"{way}, {corpus}, {name}: {type(error).__name__}: {str(error)[:200]}")
        yield row


def multiblock(encoding: Any, program: pathlib.Path, corpus: str, data: bytes) -> shared.Row:
    """MultiBlockBPE over 3 MB, a process."""
    text = shared.stretch(data, 0, 3 << 20)
    with tempfile.NamedTemporaryFile(suffix=".txt") as file:
        file.write(text)
        file.flush()
        command = [str(program.resolve()), file.name, "stdout", "SEQ", BLOCK]
        said = subprocess.run(command, cwd=program.parent, stdout=subprocess.PIPE, text=True, check=True).stdout
    lines = [line.split() for line in said.splitlines() if re.fullmatch(r"[\d ]+", line)]
    ids = np.array([int(number) for line in lines for number in line], np.int64)
    spent = float(re.search(r"Time taken: ([\d.e+-]+) ms", said)[1])  # type: ignore[index]
    share = share_of(encoding, ids, encoding.encode_to_numpy(text, **shared.OPTIONS))
    row: shared.Row = {"encoding": encoding.name, "corpus": corpus, "text": "3 MB, kernel alone", "ms": {}}
    return row | {"ms": {"MultiBlockBPE": round(spent, 3)}, "share": {"MultiBlockBPE": share}}


def rows(options: Any) -> Iterator[shared.Row]:
    with tempfile.TemporaryDirectory() as cache:
        for encoding, theirs, map_ids in _contenders(options, pathlib.Path(cache)):
            for corpus in options.corpora:
                data = shared.text_of(options.corpus, corpus)
                yield from measured(encoding, theirs, corpus, data, options, map_ids)
    if options.program:
        for corpus in options.corpora:
            data = shared.text_of(options.corpus, corpus)
            yield multiblock(streamtok.get_encoding("r50k_base"), pathlib.Path(options.program), corpus, data)


def _contenders(options: Any, cache: pathlib.Path) -> Iterator[tuple[Any, dict[str, Any], Any]]:
    """(our encoding, ways of others with the same vocabulary, their ids as ours)."""
    if options.model:
        path = pathlib.Path(options.model)
        yield streamtok.Encoding.from_file(path), toktier_of(path, options.family, cache), lambda ids: ids
    if options.merges:
        encoding = streamtok.get_encoding("r50k_base")
        yield encoding, {"GPUTOK": gputok_of(options.merges)}, lambda ids: as_gpt2(encoding, ids)


def table(found: list[shared.Row]) -> str:
    names = shared.names_in(found, "ms")
    cells = []
    for row in found:
        shares = {
            name: f" ({share:.1%})" if share else " (another text)" for name, share in row["share"].items() if share < 1
        }
        times = [f"{row['ms'][name]}{shares.get(name, '')}" if name in row["ms"] else "" for name in names]
        cells.append([f"{row['encoding']}, {row['corpus']}, {row['text']}", *times])
    return shared.markdown(["milliseconds (share of the right tokens)", *names], cells)


if __name__ == "__main__":
    names: dict[str, Any] = {"model": "", "family": "qwen3_8b", "merges": "", "program": ""}
    given = names | {"corpora": ["english", "multilingual"], "sizes": SIZES, "batches": BATCHES, "budget": 0.3}
    shared.main(__doc__, rows, table, **given)
