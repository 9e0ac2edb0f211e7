"""Other tokenizers with our vocabularies, where they are installed: tiktoken, gigatoken, Hugging Face's tokenizers.

None of them is given a vocabulary's name to fetch: each is built from the ranks that streamtok bundles. A rival is
timed only once its ids have been compared with ours; one that is missing, fails or gives other ids is named on stderr.
"""

from __future__ import annotations

import functools
import json
import pathlib
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import shared

MODULES = {"tiktoken": "tiktoken", "gigatoken": "gigatoken", "tokenizers": "tokenizers"}


def say(note: str) -> None:
    print(f"note: {note}", file=sys.stderr, flush=True)


@functools.cache
def _is_installed(name: str) -> bool:
    if find_spec(MODULES[name]) is None:
        say(f"{name} is not installed; no figures of it")
        return False
    return True


def made(name: str, encoding: Any, make: Callable[[Any], Callable[[Any], Any]], sample: Any, want: Any) -> Any:
    """make(encoding), once it gave the wanted ids of the sample; None where it is not there or gave others."""
    if not _is_installed(name):
        return None
    try:
        encode = make(encoding)
        shared.check(encode(sample), want, f"{name}, {encoding.name}")
    except Exception as error:  # a rival that fails must not cost the other figures
        say(f"{name} is not timed with {encoding.name}: {type(error).__name__}: {str(error)[:200]}")
        return None
    return encode


@functools.lru_cache(maxsize=1)
def tiktoken_of(encoding: Any) -> Any:
    """tiktoken's encoding of the same vocabulary."""
    import tiktoken

    return tiktoken.Encoding(
        encoding.name,
        pat_str=encoding._pat_str,
        mergeable_ranks=encoding._mergeable_ranks,
        special_tokens=encoding._special_tokens,
    )


@functools.lru_cache(maxsize=1)
def gigatoken_of(encoding: Any) -> Any:
    import gigatoken

    from streamtok.load import dump_tiktoken_bpe

    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder, f"{encoding.name}.tiktoken"))  # its loader goes by the file's name
        dump_tiktoken_bpe(encoding._mergeable_ranks, path)
        return gigatoken.Tokenizer.from_tiktoken(path)


@functools.lru_cache(maxsize=1)
def hugging_face_of(encoding: Any) -> Any:
    """A fast tokenizer of Hugging Face: the split by our pattern, then byte-level BPE with the merges of our tokens."""
    from tokenizers import Tokenizer

    from streamtok.bundled.gpt2_files import LETTERS
    from streamtok.bundled.mapped import load_packed

    letters = {value: letter for letter, value in LETTERS.items()}
    packed = load_packed(encoding.name)
    tokens = ["".join(letters[byte] for byte in token) for token in packed.tokens()]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    # Oniguruma takes "{1,3}+" for a repeated group, and "$" for the end of a line.
    pattern = encoding._pat_str.replace("{1,3}+", "{1,3}").replace("$", r"\z")
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    splits = zip(tokens, packed.splits or b"")
    model = {
        "type": "BPE",
        "vocab": dict(zip(tokens, packed.ranks)),
        "merges": [[token[:at], token[at:]] for token, at in splits if at],
        "ignore_merges": True,  # a piece that is a token is that token, as in tiktoken
    }
    parts = {"version": "1.0", "added_tokens": [], "decoder": level, "model": model}
    parts["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, level]}
    return Tokenizer.from_str(json.dumps(parts))


def tiktoken_array(encoding: Any) -> Callable[[str], Any]:
    theirs = tiktoken_of(encoding)
    return lambda text: theirs.encode_to_numpy(text, **shared.OPTIONS)


def tiktoken_list(encoding: Any) -> Callable[[str], Any]:
    return tiktoken_of(encoding).encode_ordinary  # type: ignore[no-any-return]


def gigatoken_one(encoding: Any) -> Callable[[bytes], Any]:
    return gigatoken_of(encoding).encode  # type: ignore[no-any-return]


def hugging_face_one(encoding: Any) -> Callable[[str], Any]:
    theirs = hugging_face_of(encoding)
    return lambda text: theirs.encode(text, add_special_tokens=False).ids


def joined(rows: Any) -> Any:
    """The ids of a batch as one array."""
    return np.concatenate([np.asarray(row) for row in rows])


def tiktoken_batch(encoding: Any, threads: int) -> Callable[[list[str]], Any]:
    theirs = tiktoken_of(encoding)
    return lambda texts: theirs.encode_ordinary_batch(texts, num_threads=threads)


def hugging_face_batch(encoding: Any) -> Callable[[list[str]], Any]:
    """On as many threads as it takes by itself, all of them."""
    theirs = hugging_face_of(encoding)
    return lambda texts: theirs.encode_batch_fast(texts, add_special_tokens=False)
