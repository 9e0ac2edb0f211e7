"""Learning a vocabulary from text: exact, deterministic, in bounded memory, and an Encoding at the end.

    from streamtok.train import train, save, load

    enc = train("corpus/*.txt.zst", 32_000, pattern="o200k", special_tokens=["<|endoftext|>"])
    enc.encode("it encodes and streams at once")
    save(enc, "mine.tiktoken")          # and mine.tiktoken.json: the pattern, the special tokens, how it was trained
    enc = load("mine.tiktoken")

Nothing in the package imports this one; `import streamtok` does not load it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .._batch import threads_for
from .._device import check_device
from ..errors import short_file_names
from ..files.journal import ResumeError
from .encoding import TrainedEncoding
from .fertility import SourceFacts, report_sources
from .growing import SUPERWORDS, extend, superwords
from .options import check_memory, check_size, make_options
from .page import report_page
from .parity import Parity, run_of
from .pruning import Pruned, merge, prune
from .report import Point, draw, report
from .run import Progress, make_encoding
from .saving import load, save

__all__ = [
    "SUPERWORDS",
    "Parity",
    "Point",
    "Progress",
    "Pruned",
    "ResumeError",
    "SourceFacts",
    "TrainedEncoding",
    "draw",
    "extend",
    "load",
    "merge",
    "prune",
    "report",
    "report_page",
    "report_sources",
    "save",
    "superwords",
    "train",
]


@short_file_names
def train(
    sources: Any,
    vocab_size: int,
    *,
    pattern: str | None = "cl100k",
    special_tokens: Iterable[str] = (),
    min_frequency: int = 0,
    ties: str = "lexicographic",
    device: str = "cpu",
    threads: int | None = None,
    max_memory: int | None = None,
    max_token_length: int | None = None,
    initial_alphabet: bytes | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], object] | None = None,
    documents: str | None = None,
    key: str = "text",
    errors: str = "strict",
    name: str = "trained",
    column: str | None = None,
    nulls: str = "error",
    weights: Mapping[str, float] | None = None,
    temperature: float | None = None,
    parity: Parity | bool = False,
) -> TrainedEncoding:
    """Learn a byte-level BPE vocabulary (Sennrich et al. 2016, over bytes as GPT-2 has it) and return its Encoding.

    The merges are those of counting all pairs anew after each merge: the pair that stands most often in the pieces of
    the text is merged next, wherever it stands. They do not depend on threads, max_memory, or on interruptions.

    Args:
        sources: a path, a glob, an open binary file, or a list of these; `bytes`, one text; any other iterable, texts
            as str or bytes (for a list of texts write iter(texts)). .gz, .xz and .zst are decompressed; of parquet and
            Arrow files a column is read, of tar archives the members with an extension, and URLs are opened with
            fsspec, as by encode_file. Nothing is merged across the end of a text. A dict gives names to sources, as
            {"de": "de/*.txt", "sw": [...]}, for weights, parity and report_sources().
        vocab_size: tokens in all: the 256 bytes, the merges and the special tokens. Fewer, with a warning, where the
            text has no more merges.
        pattern: how text splits: "cl100k", "o200k", "r50k", a regex, or None for pieces that are whole texts.
        special_tokens: texts that are cut out of the text, and that no token is learned from.
        min_frequency: a pair seen less often is not merged.
        ties: which of the pairs seen equally often goes first. "lexicographic": the greatest, compared by the bytes of
            its left token and then of its right one, so (b"t", b"h") before (b"i", b"n") before (b"h", b"e").
            "huggingface": the one with the smallest ids, left then right, as Hugging Face's BpeTrainer has it; the ids
            are its own, too.
        device: "cpu"; "cuda" or "cuda:N", a CUDA device, through CuPy; "auto": the first one where there is so much
            text that it is done sooner there. The merges are the same.
        threads: that count pieces, as many as there are cores by default.
        max_memory: bytes that the process may take. Pieces are then written to the disk as they are counted.
        max_token_length: bytes of the longest token. With ties="huggingface" as there: shorter than this, or 2.
        initial_alphabet: the 256 bytes in the order of their ids. By default that of their values; with
            ties="huggingface" that of the letters which stand for them there.
        checkpoint: a folder to go on from after Ctrl-C or a crash: the same call again. A finished one goes on to more
            merges when vocab_size is greater.
        progress: called with a Progress every few tens of milliseconds.
        documents: "text": a file is a text. "lines": each line is. "jsonl": the string at `key` of the object on each
            line. None: "jsonl" for .jsonl and .ndjson, "text" for others.
        errors: "strict", "replace" or "ignore": what to do with bytes that are not UTF-8.
        name: the encoding's.
        column: the column of tables, or the extension of an archive's members, as for encode_file.
        nulls: what a null in a table is, as for encode_file.
        weights: how often each piece of a source counts, by the name of the source or, without names, of the file,
            where * ? and [ match as in globs: {"sw": 3, "de": 0.5}. Others count once. min_frequency goes by weighted
            counts.
        temperature: a name with n bytes in its files weighs n ** (1 / temperature) altogether; 1 changes nothing, and
            with greater ones small sources weigh more. Weights come on top.
        parity: parity-aware BPE over the names of sources, see Parity; True: Parity(). On the CPU, with all pairs in
            memory: not with max_memory, checkpoint, weights or temperature.

    Raises:
        ValueError: arguments that are refused, sources without text, max_memory too small for the distinct pieces.
        UnicodeDecodeError: bytes that are not UTF-8, naming the file and the byte.
        OSError: a file that cannot be read. All are looked at before the work begins.
        ResumeError: the checkpoint is of another run. VocabularyError: it is damaged.
        streamtok.gpu.DeviceError: a device that was named is not there, or failed. Under "auto" the CPU takes its
            place, and a RuntimeWarning says why.
        KeyboardInterrupt: Ctrl-C; its message says how to go on.
    """
    check_device(device)
    check_memory(max_memory)
    options = make_options(
        pattern=pattern,
        special_tokens=special_tokens,
        min_frequency=min_frequency,
        ties=ties,
        max_token_length=max_token_length,
        initial_alphabet=initial_alphabet,
        documents=documents,
        key=key,
        errors=errors,
        column=column,
        nulls=nulls,
    )
    check_size(vocab_size, len(options.special_tokens))
    count = threads_for(1 << 16 if threads is None else threads)
    run = run_of(
        sources,
        vocab_size - len(options.special_tokens),
        options,
        count,
        progress,
        parity,
        max_memory=max_memory,
        checkpoint=checkpoint,
        weights=weights,
        temperature=temperature,
        device=device,
    )
    trainer, facts = run.run()
    made = make_encoding(trainer, options, vocab_size, name, facts)
    made._sources = tuple((each.name, each.where()) for each in run.inputs if isinstance(each.where(), str))
    return made
