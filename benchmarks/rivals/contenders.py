"""Who is measured: streamtok's ways to encode, and how each rival is called: its fastest call that returns the ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FEED_BYTES = 4096

# Texts to ids: arrays, lists or buffers of integers that, joined, are the ids of the texts in turn.
Encode = Callable[[list[Any]], list[Any]]


@dataclass(frozen=True)
class Vocabulary:
    """What a rival is made from. It is given to the rival's process as JSON."""

    name: str
    rank_file: str  # a .tiktoken file whose name is that of the encoding
    pat_str: str
    special_tokens: dict[str, int]


@dataclass(frozen=True)
class Contender:
    """`load(vocabulary, threads)` makes what encodes; threads is None for one text by one call."""

    load: Callable[[Vocabulary, int | None], Encode]
    module: str
    package: str
    takes_bytes: bool = False  # else str


@dataclass(frozen=True)
class Entry:
    """One row of the result: a contender, and how it is called."""

    name: str
    threads: int | None = None  # None: one text, one call; else a batch on that many

    @property
    def is_ours(self) -> bool:
        return self.name in OURS

    @property
    def library(self) -> str:
        """The library that it belongs to."""
        return "streamtok" if self.is_ours else self.name

    @property
    def mode(self) -> str:
        """How it is called, in words."""
        if self.threads is not None:
            return f"batch, {self.threads} thread{'s' if self.threads != 1 else ''}"
        return f"stream, {FEED_BYTES >> 10} KB" if self.name == FED else "one-shot"


# ---- streamtok ----


def _one_shot(vocabulary: Vocabulary, threads: int | None) -> Encode:
    import streamtok

    encoding = streamtok.get_encoding(vocabulary.name)
    if threads is None:
        return lambda texts: [encoding.encode_to_numpy(text, disallowed_special=()) for text in texts]
    return lambda texts: [encoding.encode_ragged(texts, num_threads=threads, disallowed_special=())[0]]


def _fed(vocabulary: Vocabulary, threads: int | None) -> Encode:
    import streamtok

    encoding = streamtok.get_encoding(vocabulary.name)

    def encode(texts: list[bytes]) -> list[Any]:
        stream = encoding.stream_encoder(disallowed_special=(), copy=True)
        parts = []
        for text in texts:
            view = memoryview(text)
            parts += [stream.feed(view[at : at + FEED_BYTES]) for at in range(0, len(view), FEED_BYTES)]
            parts.append(stream.flush())
        return parts

    return encode


def _reference(vocabulary: Vocabulary, threads: int | None) -> Encode:
    import streamtok

    encoding = streamtok.Encoding(
        vocabulary.name,
        pat_str=vocabulary.pat_str,
        mergeable_ranks=streamtok.load.load_tiktoken_bpe(vocabulary.rank_file),
        special_tokens=vocabulary.special_tokens,
        engine="reference",
    )
    return lambda texts: [encoding.encode_to_numpy(text, disallowed_special=()) for text in texts]


# ---- rivals ----


def _tiktoken(vocabulary: Vocabulary, threads: int | None) -> Encode:
    import tiktoken

    from streamtok.load import load_tiktoken_bpe

    # Not tiktoken.get_encoding, which downloads.
    encoding = tiktoken.Encoding(
        vocabulary.name,
        pat_str=vocabulary.pat_str,
        mergeable_ranks=load_tiktoken_bpe(vocabulary.rank_file),
        special_tokens=vocabulary.special_tokens,
    )
    if threads is None:
        return lambda texts: [encoding.encode_to_numpy(text, disallowed_special=()) for text in texts]
    return lambda texts: encoding.encode_ordinary_batch(texts, num_threads=threads)


def _gigatoken(vocabulary: Vocabulary, threads: int | None) -> Encode:
    import gigatoken

    tokenizer = gigatoken.Tokenizer.from_tiktoken(vocabulary.rank_file)
    if threads is None:
        return lambda texts: [tokenizer.encode(text) for text in texts]
    return lambda texts: [row.to_numpy() for row in tokenizer.encode_batch(texts, parallel=threads > 1)]


def _tokenizer_json(name: str) -> str:
    """The vocabulary in Hugging Face's form, a letter for each byte, as in the files of GPT-2."""
    import json

    from streamtok.bundled.gpt2_files import LETTERS
    from streamtok.bundled.mapped import load_packed

    letters = {value: letter for letter, value in LETTERS.items()}
    packed = load_packed(name)
    tokens = ["".join(letters[byte] for byte in token) for token in packed.tokens()]
    splits = zip(tokens, packed.splits or b"")
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {
        "type": "BPE",
        "vocab": dict(zip(tokens, packed.ranks)),
        "merges": [[token[:split], token[split:]] for token, split in splits if split],
        "ignore_merges": False,
    }
    parts = {"version": "1.0", "added_tokens": [], "pre_tokenizer": level, "decoder": level, "model": model}
    return json.dumps(parts)


def _fastokens(vocabulary: Vocabulary, threads: int | None) -> Encode:
    import fastokens

    if vocabulary.name == "r50k_base":  # only here it has a fast path for this pattern
        tokenizer = fastokens.Tokenizer.from_json_str(_tokenizer_json(vocabulary.name))
    else:
        tokenizer = fastokens.Tokenizer.from_tiktoken(vocabulary.rank_file, encoding=vocabulary.name)
    return lambda texts: [memoryview(tokenizer.encode_batch_flat(texts)[0]).cast("I")]


def _quicktok(vocabulary: Vocabulary, threads: int | None) -> Encode:
    import quicktok

    tokenizer = quicktok.get_encoding(vocabulary.name)
    return lambda texts: [tokenizer.encode_batch(texts, threads or 1)[0]]


def _splintr(vocabulary: Vocabulary, threads: int | None) -> Encode:
    import splintr

    if vocabulary.name in ("gpt2", "r50k_base"):
        tokenizer = splintr.Tokenizer(vocabulary.rank_file, splintr.GPT2_PATTERN)
    else:
        tokenizer = splintr.Tokenizer.from_pretrained(vocabulary.name)
    if threads is None:
        return lambda texts: [memoryview(tokenizer.encode_flat(text)).cast("I") for text in texts]
    return lambda texts: [memoryview(tokenizer.encode_batch_flat(texts)[0]).cast("I")]


FED = "streamtok stream"
REFERENCE = "streamtok reference"
OURS = {
    "streamtok": Contender(_one_shot, "streamtok", "streamtok"),
    FED: Contender(_fed, "streamtok", "streamtok", takes_bytes=True),
    REFERENCE: Contender(_reference, "streamtok", "streamtok"),
}
# For libraries whose calls take no number of threads, the environment of the process sets it: see timing.py.
RIVALS = {
    "tiktoken": Contender(_tiktoken, "tiktoken", "tiktoken"),
    "gigatoken": Contender(_gigatoken, "gigatoken", "gigatoken", takes_bytes=True),
    "fastokens": Contender(_fastokens, "fastokens", "fastokens"),
    "quicktok": Contender(_quicktok, "quicktok", "quicktok-v1"),
    "splintr": Contender(_splintr, "splintr", "splintr-rs"),
}


def contender(name: str) -> Contender:
    """The contender of that name, ours or a rival."""
    return OURS[name] if name in OURS else RIVALS[name]
