"""Trained vocabularies on the disk, in the three forms that other programs read, and back again."""

from __future__ import annotations

import hashlib
import json
import os

from .. import disk
from ..core import Encoding
from ..disk.outputs import check_apart
from ..errors import VocabularyError, short_file_names, shortened, shown
from ..files.suffixes import vocabulary_form
from ..load import dump_tiktoken_bpe, load_tiktoken_bpe
from ..model_files.model import Model
from ..model_files.write import tokenizer_config, tokenizer_json
from . import huggingface
from .encoding import TrainedEncoding
from .textfiles import Json, write_text

_FORMAT = "streamtok vocabulary"
_VERSION = 1
_IN_FOLDER = "vocab.json", "merges.txt", "tokenizer.json", "tokenizer_config.json", "training.json"


@short_file_names
def save(encoding: Encoding, path: str | os.PathLike[str]) -> None:
    """Write an encoding's vocabulary: `load` reads it back.

    NAME.tiktoken is the file of ranks that tiktoken reads, and NAME.tiktoken.json beside it holds what that has no
    place for: the pattern, the special tokens, how it was trained, a hash of the first. NAME.json is Hugging Face's
    tokenizer.json. Any other path is a folder, made if it is missing, that transformers loads: vocab.json and
    merges.txt as GPT-2 had them, tokenizer.json, tokenizer_config.json, and the same JSON as training.json.

    An encoding of a model's file (Encoding.from_file) is written as a tokenizer.json, or as a folder with one that
    transformers loads. Encoding.from_file reads them back.

    Each file appears whole or not at all.

    Args:
        encoding: any Encoding, a bundled one too.
        path: NAME.tiktoken, NAME.json, or a folder.

    Raises:
        OSError: a file cannot be written.
        ValueError: a vocabulary that Hugging Face's files cannot hold, with tokens that no merge of two others makes;
            a path with the suffix of another known format, as .bin or .txt, which is no folder; a path that would write
            over a text that the encoding was trained on.
    """
    target = os.fspath(path)
    if not encoding._kind.in_files or not (encoding._model is None or encoding._model.parts.model.in_files):
        title = encoding._kind.title if not encoding._kind.in_files else "SentencePiece's rules"
        raise ValueError(f"{shown(encoding.name)} is of {title}, which none of these files can say: keep its tokens")
    if encoding._model is not None:
        _save_model(encoding._model, target)
        return
    check_apart(files_of(target), getattr(encoding, "_sources", ()))
    form = vocabulary_form(target)
    if form == "tiktoken":
        dump_tiktoken_bpe(encoding._mergeable_ranks, target)
        write_text(f"{target}.json", _facts(encoding, _sha256(target)))
    elif form == "json":
        write_text(target, huggingface.tokenizer_json(encoding))
    else:
        os.makedirs(target, exist_ok=True)
        vocab, merges = huggingface.vocab_and_merges(encoding)
        write_text(os.path.join(target, "vocab.json"), vocab)
        write_text(os.path.join(target, "merges.txt"), merges)
        write_text(os.path.join(target, "tokenizer.json"), huggingface.tokenizer_json(encoding))
        write_text(os.path.join(target, "tokenizer_config.json"), huggingface.tokenizer_config(encoding))
        write_text(os.path.join(target, "training.json"), _facts(encoding, _sha256(os.path.join(target, "vocab.json"))))
    disk.sync_directory(target)


def _save_model(model: Model, target: str) -> None:
    form = vocabulary_form(target)
    if form == "tiktoken":
        raise ValueError(f"{shortened(target)}: a .tiktoken file has no place for a model's merges: write NAME.json")
    if form == "json":
        write_text(target, tokenizer_json(model))
    else:
        os.makedirs(target, exist_ok=True)
        write_text(os.path.join(target, "tokenizer.json"), tokenizer_json(model))
        write_text(os.path.join(target, "tokenizer_config.json"), tokenizer_config(model))
    disk.sync_directory(target)


@short_file_names
def files_of(path: str | os.PathLike[str]) -> list[str]:
    """The files that save() writes."""
    target = os.fspath(path)
    form = vocabulary_form(target)
    if form != "folder":
        return [target] if form == "json" else [target, f"{target}.json"]
    return [os.path.join(target, name) for name in _IN_FOLDER]


def load(path: str | os.PathLike[str]) -> TrainedEncoding:
    """The encoding that `save` wrote to this path.

    Args:
        path: as for save(). A tokenizer.json may also be one of Hugging Face's own, if Encoding.from_file loads it.

    Raises:
        VocabularyError: a file is damaged or contradicts the others; the message has path and line, or place.
        OSError: a file cannot be read.
    """
    source = os.fspath(path)
    if source.lower().endswith(".tiktoken"):
        facts = _read_facts(f"{source}.json")
        return _make(facts, load_tiktoken_bpe(source), source)
    if source.lower().endswith(".json"):
        return huggingface.read_tokenizer_json(source)
    facts = _read_facts(os.path.join(source, "training.json"))
    vocab = os.path.join(source, "vocab.json")
    ranks = huggingface.read_vocab_and_merges(vocab, os.path.join(source, "merges.txt"), facts.special_tokens())
    return _make(facts, ranks, vocab)


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def _facts(encoding: Encoding, sha256: str) -> str:
    record = {
        "format": _FORMAT,
        "version": _VERSION,
        "name": encoding.name,
        "pattern": encoding._pat_str,
        "special_tokens": encoding._special_tokens,
        "n_vocab": encoding.n_vocab,
        "tokens": len(encoding._mergeable_ranks) + len(encoding._special_tokens),
        "sha256": sha256,
        "training": getattr(encoding, "training", {}),
    }
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"


class _Facts(Json):
    def special_tokens(self) -> dict[str, int]:
        tokens: dict[str, int] = self.field("special_tokens", dict)
        for name, token in tokens.items():
            if type(token) is not int:
                raise self.refused(f"the id of {shown(name)} is {shown(token)}; ids are integers", name)
        return tokens

    def pattern(self) -> str | None:
        pattern: str | None = None
        if self.record.get("pattern", "") is not None:
            pattern = self.field("pattern", str)
        return pattern


def _read_facts(path: str) -> _Facts:
    facts = _Facts.read(path)
    if facts.field("format", str) != _FORMAT or facts.field("version", int) != _VERSION:
        raise facts.refused(f"this is no {_FORMAT} of version {_VERSION}", "format")
    return facts


def _make(facts: _Facts, ranks: dict[bytes, int], path: str) -> TrainedEncoding:
    """The encoding, once the file of tokens is the one that these facts were written for."""
    sha256 = facts.field("sha256", str)
    if _sha256(path) != sha256:
        raise VocabularyError(
            f"its sha256 is not the {shortened(sha256)} that {shortened(facts.path)} names: "
            "one of the two is damaged, or another's",
            path,
            1,
        )
    special = facts.special_tokens()
    try:
        made = TrainedEncoding(
            facts.field("name", str),
            pat_str=facts.pattern(),
            mergeable_ranks=ranks,
            special_tokens=special,
            training=facts.field("training", dict),
        )
    except VocabularyError as error:
        raise error if error.path is not None else facts.refused(error.reason, "special_tokens") from None
    except ValueError as error:
        raise facts.refused(str(error), "pattern") from None
    # Ids may have gaps, and one id two names: these are not always the same number.
    for name, found in (("n_vocab", made.n_vocab), ("tokens", len(ranks) + len(special))):
        if facts.field(name, int) != found:
            raise facts.refused(f"{name!r} is {shown(facts.field(name, int))}, and it is {found} by the tokens", name)
    return made
