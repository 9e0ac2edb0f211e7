"""From files to a Model."""

from __future__ import annotations

import os

import numpy as np

from ..bundled.merges import MergedVocabulary
from ..errors import VocabularyError, short_file_names
from ..load import read_file
from ..native.listing import ListError, Listing, list_spans, model_span
from ..native.merges import SILENT
from .field import Field
from .model import Model, check_added, parts_of
from .parts import AddedToken
from .tokens import Tokens


@short_file_names()
def read_model(path: str | os.PathLike[str]) -> Model:
    """The model of a file.

    Args:
        path: a tokenizer.json.

    Raises:
        VocabularyError: a file that is damaged, or says what is not supported; the message names the place in it.
        OSError: the file cannot be read.
    """
    source = os.fspath(path)
    return read_tokenizer_json(read_file(source), source)


def read_tokenizer_json(data: bytes, path: str) -> Model:
    """The model of the bytes of a tokenizer.json. path: for errors."""
    try:
        data.decode() if not data.isascii() else None
    except UnicodeDecodeError as error:
        raise VocabularyError(f"byte {error.start} is not UTF-8: {error.reason}", path) from None
    vocab, merges, rest = _cut(data, path)
    whole = Field.parse(rest, path)
    parts = parts_of(whole)
    for name, span in (("vocab", vocab), ("merges", merges)):
        if not span[1]:
            raise whole.member("model").member(name).refused("the list has been lost, or this is another kind of file")
    tokens = _tokens(data, vocab, merges, path)
    check_added(parts.added, tokens.find, len(tokens.ids), path)
    packed = tokens.pack(parts.ignore_merges, {token.content for token in parts.added})
    _check_names(parts.added, packed, tokens)
    return Model(path, whole.value, packed)


def _cut(data: bytes, path: str) -> tuple[tuple[int, int], tuple[int, int], str]:
    """The spans of the lists of tokens and merges, and the text with null in place of them."""
    try:
        start, end = model_span(data)
        vocab, merges = list_spans(data, start) if end and data[start : start + 1] == b"{" else ((0, 0), (0, 0))
    except ListError as error:
        raise VocabularyError(f"byte {error.at}: {error.reason}", path) from None
    parts, at = [], 0
    for a, b in sorted((vocab, merges)):
        if b:
            parts.append(data[at:a])
            at = b
    return vocab, merges, b"null".join([*parts, data[at:]]).decode()


def _tokens(data: bytes, vocab: tuple[int, int], merges: tuple[int, int], path: str) -> Tokens:
    place = "model.vocab"
    try:
        listing = Listing(data, *vocab)
        place = "model.merges"
        rows = np.frombuffer(listing.merges(data, *merges), np.uint32).reshape(-1, 3)
    except ListError as error:
        raise VocabularyError(f"{place}, entry {error.entry}, byte {error.at}: {error.reason}", path) from None
    return Tokens(listing, rows, path)


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
