"""From files to a Model."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import VocabularyError, short_file_names
from ..load import read_file
from ..native.gate import is_utf8
from ..native.listing import ListError, Listing, list_spans
from .description import Pairs, Ranks
from .field import Field, text_of
from .folder import read_folder
from .gguf import FORMS, is_gguf, read_gguf
from .gguf_head import read_head
from .model import Model, check_added, parts_of, renumbered
from .rank_file import is_rank_file, read_rank_file
from .rank_json import is_rank_json, read_rank_json
from .sentencepiece import is_sentencepiece, read_sentencepiece
from .sources import RANK_FILES
from .tekken import is_tekken, read_tekken
from .tokens import Tokens
from .world import is_world, read_world


@short_file_names
def read_model(path: str | os.PathLike[str], normalizer: str | None = None) -> Model | Ranks:
    """The model of a file, or the ranks, of a file that holds these.

    Args:
        path: a tokenizer.json; a folder that holds one, or a tekken.json, or vocab.json and merges.txt, or one of these
            two; a tekken.json; a .model of SentencePiece; a GGUF file; a file of ranks with its JSON; RWKV's World
            vocabulary.
        normalizer: a form of Unicode, for a GGUF file, which says none.

    Raises:
        ValueError: another normalizer.
        VocabularyError: a file that is damaged, or says what is not supported; the message names the place in it.
        OSError: the file cannot be read.
    """
    source = os.fspath(path)
    if os.path.basename(source) in ("vocab.json", "merges.txt"):
        source = os.path.dirname(source) or os.curdir
    if os.path.isdir(source):
        tekken = os.path.join(source, "tekken.json")
        if os.path.isfile(os.path.join(source, "tokenizer.json")) or not os.path.isfile(tekken):
            tekken = _ranks_of(source)
            if not tekken:
                return read_folder(source, read_tokenizer_json)
        source = tekken
    data = read_head(source) or read_file(source)
    if normalizer is not None:
        if normalizer not in FORMS:
            raise ValueError(f"normalizer={normalizer!r} is unknown; {', '.join(FORMS)} are known")
        if not is_gguf(data):
            raise VocabularyError(
                "normalizer= is for a .gguf file; this one says itself how text is normalized", source
            )
        return read_gguf(data, source, read_tokenizer_json, normalizer)
    for is_kind, read in _READERS:
        if is_kind(data):
            return read(data, source)
    return read_tokenizer_json(data, source, is_told=True)


def _ranks_of(folder: str) -> str:
    """The file of ranks of a folder that has none of the files that read_folder() takes first; "": there is none."""
    if any(os.path.isfile(os.path.join(folder, name)) for name in ("tokenizer.json", "vocab.json", "vocab.txt")):
        return ""
    paths = (os.path.join(folder, name) for name in RANK_FILES)
    return next((path for path in paths if os.path.isfile(path) and is_rank_file(_beginning(path))), "")


def _beginning(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(4096)


_READERS: tuple[tuple[Callable[[bytes], bool], Callable[[bytes, str], Model | Ranks]], ...] = (
    (is_sentencepiece, read_sentencepiece),
    (is_rank_file, read_rank_file),
    (is_world, read_world),
    (is_tekken, read_tekken),
    (is_rank_json, read_rank_json),
    (is_gguf, lambda data, path: read_gguf(data, path, read_tokenizer_json)),
)
"""The kinds of files: what looks like one, and what reads it. What looks like none is read as a tokenizer.json."""


def read_hf(tokenizer: Any) -> Model:
    """The model of a tokenizers.Tokenizer, or of a fast tokenizer of transformers. TypeError for anything else."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if not hasattr(backend or tokenizer, "to_str"):
        raise TypeError(
            f"a {type(tokenizer).__name__} is no tokenizers.Tokenizer and no fast tokenizer of transformers: "
            "load it with use_fast=True, or give from_file the path of its tokenizer.json"
        )
    text = (backend or tokenizer).to_str()
    name = str(getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__)
    return read_tokenizer_json(text.encode(), name, None if backend is None else _without_settings)


def _without_settings(record: Any) -> None:
    """Takes out what the last call of transformers has left there, and each call sets anew."""
    if isinstance(record, dict):
        record.update(truncation=None, padding=None)


def read_tokenizer_json(
    data: bytes, path: str, amend: Callable[[Any], None] | None = None, is_told: bool = False
) -> Model:
    """The model of the bytes of a tokenizer.json. path: for errors. amend: changes the record, without its lists.
    is_told: where ids of added tokens are not those of the file, UserWarning says so; else VocabularyError."""
    if not is_utf8(data):
        text_of(data, path)  # says where
    vocab, merges, rest = _cut(data, path)
    whole = Field.parse(rest, path)
    if amend is not None:
        amend(whole.value)
    parts = parts_of(whole)
    for name, span in (("vocab", vocab), ("merges", merges))[: 1 + parts.model.has_merges]:
        if not span[1]:
            raise whole.member("model").member(name).refused("the list has been lost, or this is another kind of file")
    prefix = len(parts.model.prefix) if isinstance(parts.model, Pairs) else 0
    tokens = _tokens(data, vocab, merges, path, {token.content for token in parts.added}, prefix)
    if bool(tokens.listing.scores) != parts.model.has_scores:
        wanted = "an array of tokens with scores" if parts.model.has_scores else "an object of tokens with ids"
        raise whole.member("model").member("vocab").refused(f"{wanted} is needed for a model of this type")
    if is_told and (added := renumbered(parts.added, tokens.find, len(tokens.ids), path)) != parts.added:
        parts = replace(parts, added=added)
        for entry, token in zip(whole.value["added_tokens"], added):
            entry["id"] = token.id
    check_added(parts.added, tokens.find, tokens.name_of, len(tokens.ids), path)
    model = Model(path, whole.value, *parts.model.pack(tokens, parts), parts, tokens.empty)
    parts.model.check(parts, model.added_names.decoded, tokens)
    return model


def _cut(data: bytes, path: str) -> tuple[tuple[int, int], tuple[int, int], str]:
    """The spans of the lists of tokens and merges, and the text with null in place of them."""
    try:
        vocab, merges = list_spans(data)
    except ListError as error:
        raise VocabularyError(f"byte {error.at}: {error.reason}", path) from None
    parts, at = [], 0
    for a, b in sorted((vocab, merges)):
        if b:
            parts.append(data[at:a])
            at = b
    return vocab, merges, b"null".join([*parts, data[at:]]).decode()


def _tokens(
    data: bytes, vocab: tuple[int, int], merges: tuple[int, int], path: str, added: set[str], prefix: int = 0
) -> Tokens:
    """prefix: bytes of the right token of a merge that are not in what is made."""
    place = "model.vocab"
    try:
        listing = Listing(data, *vocab)
        place = "model.merges"
        made = listing.merges(data, *merges, prefix) if merges[1] else b""
        rows = np.frombuffer(made, np.uint32).reshape(-1, 3)
    except ListError as error:
        raise VocabularyError(f"{place}, entry {error.entry}, byte {error.at}: {error.reason}", path) from None
    return Tokens(listing, rows, path, added)
