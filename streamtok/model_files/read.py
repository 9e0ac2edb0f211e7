"""From files to a Model."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ..bundled.merged import MergedVocabulary
from ..errors import VocabularyError, short_file_names, shown
from ..load import read_file
from ..native.gate import is_utf8
from ..native.listing import ListError, Listing, list_spans
from ..native.merges import SILENT
from ..patterns.compose import byte_rules
from .field import Field
from .folder import read_folder
from .model import Model, check_added, parts_of
from .parts import AddedToken, Parts
from .rank_file import is_rank_file, read_rank_file
from .sentencepiece import is_sentencepiece, read_sentencepiece
from .tekken import is_tekken, read_tekken
from .tokens import Tokens
from .world import is_world, read_world


@short_file_names()
def read_model(path: str | os.PathLike[str]) -> Model | dict[str, Any]:
    """The model of a file; of a tekken.json, or of a file of ranks, the arguments that class Encoding takes.

    Args:
        path: a tokenizer.json; a folder that holds one, or a tekken.json, or vocab.json and merges.txt, or one of these
            two; a tekken.json; a .model of SentencePiece; a file of ranks with its JSON; RWKV's World vocabulary.

    Raises:
        VocabularyError: a file that is damaged, or says what is not supported; the message names the place in it.
        OSError: the file cannot be read.
    """
    source = os.fspath(path)
    if os.path.basename(source) in ("vocab.json", "merges.txt"):
        source = os.path.dirname(source) or os.curdir
    if os.path.isdir(source):
        tekken = os.path.join(source, "tekken.json")
        if os.path.isfile(os.path.join(source, "tokenizer.json")) or not os.path.isfile(tekken):
            return read_folder(source, read_tokenizer_json)
        source = tekken
    data = read_file(source)
    if is_sentencepiece(data):
        return read_sentencepiece(data, source)
    if is_rank_file(data):
        return read_rank_file(data, source)
    if is_world(data):
        return read_world(data, source)
    if is_tekken(data):
        _check_utf8(data, source)
        return {"name": source, **read_tekken(data, source)}
    return read_tokenizer_json(data, source)


_IN_FOLDER = (
    "tokenizer.json",
    "tekken.json",
    "vocab.json",
    "merges.txt",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
)


def sources_of(path: str) -> dict[str, str]:
    """Every file that read_model() looks at, also those that are not there: a name that does not depend on the folder
    -> the path. What it returns depends on their content, and on whether they are there, alone."""
    if os.path.basename(path) in ("vocab.json", "merges.txt"):
        path = os.path.dirname(path) or os.curdir
    if os.path.isdir(path):
        return {name: os.path.join(path, name) for name in _IN_FOLDER}
    return {"": path, ".json": f"{path}.json"}


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


def read_tokenizer_json(data: bytes, path: str, amend: Callable[[Any], None] | None = None) -> Model:
    """The model of the bytes of a tokenizer.json. path: for errors. amend: changes the record, without its lists."""
    _check_utf8(data, path)
    vocab, merges, rest = _cut(data, path)
    whole = Field.parse(rest, path)
    if amend is not None:
        amend(whole.value)
    parts = parts_of(whole)
    for name, span in (("vocab", vocab), ("merges", merges))[: 2 if parts.words is None else 1]:
        if not span[1]:
            raise whole.member("model").member(name).refused("the list has been lost, or this is another kind of file")
    tokens = _tokens(data, vocab, merges, path, {token.content for token in parts.added})
    check_added(parts.added, tokens.find, tokens.name_of, len(tokens.ids), path)
    if parts.words is not None:
        return Model(path, whole.value, tokens.pack_words(parts.words), (), parts, tokens.empty)
    if not parts.by_bytes:
        packed, of_bytes = tokens.pack_characters()
        return Model(path, whole.value, packed, of_bytes, parts, tokens.empty)
    packed = tokens.pack(parts.ignore_merges, _apart(parts), byte_rules(parts.stages))
    _check_names(parts.added, packed, tokens)
    return _checked_names(Model(path, whole.value, packed, tokens.raw, parts, tokens.empty), tokens)


def _apart(parts: Parts) -> set[str]:
    """The added tokens that no piece becomes by itself. Where a piece that is a token is taken whole, those are the
    special ones whose text is found wherever it stands: it is in no piece unless the caller wants it as text."""
    if not parts.ignore_merges:
        return {token.content for token in parts.added}
    if any(token.single_word for token in parts.added):  # one that does not count hides the others inside it, too
        return set()
    return {token.content for token in parts.added if token.special and (token.normalized or not parts.normalizers)}


def _checked_names(model: Model, tokens: Tokens) -> Model:
    """The model, unless a name of it decodes to another text than the token of that id."""
    for i, token in enumerate(model.parts.added):
        if model.added_names.decoded(token) != token.content and tokens.find(token.content) is not None:
            raise tokens.refused(
                f"added_tokens[{i}]",
                f"the normalizer changes {shown(token.content)}, which is a token of the vocabulary, too: what its id "
                'decodes to is not certain; write "normalized": false',
            )
    return model


def _check_utf8(data: bytes, path: str) -> None:
    if is_utf8(data):
        return
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise VocabularyError(f"byte {error.start} is not UTF-8: {error.reason}", path) from None


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


def _tokens(data: bytes, vocab: tuple[int, int], merges: tuple[int, int], path: str, added: set[str]) -> Tokens:
    place = "model.vocab"
    try:
        listing = Listing(data, *vocab)
        place = "model.merges"
        made = listing.merges(data, *merges) if merges[1] else b""
        rows = np.frombuffer(made, np.uint32).reshape(-1, 3)
    except ListError as error:
        raise VocabularyError(f"{place}, entry {error.entry}, byte {error.at}: {error.reason}", path) from None
    return Tokens(listing, rows, path, added)


def _check_names(added: tuple[AddedToken, ...], packed: MergedVocabulary, tokens: Tokens) -> None:
    """Raises VocabularyError where an added token is an ordinary one, too, and stands for other bytes then."""
    if all(token.content.isascii() or tokens.find(token.content) is None for token in added):
        return
    assert packed.splits is not None
    ids = {token for token, half in zip(packed.ranks, packed.splits) if half != SILENT}
    for i, token in enumerate(added):
        if token.id in ids and not token.content.isascii():
            raise tokens.refused(
                f"added_tokens[{i}]",
                "it is a token of the vocabulary, too, and its letters stand for other bytes there",
            )
