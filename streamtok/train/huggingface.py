"""Vocabularies as Hugging Face's tokenizers has them: tokenizer.json, and vocab.json with merges.txt.

A token is written in letters, one a byte, as GPT-2 did it. The patterns of OpenAI's encodings need another spelling
for the regex engine there, Oniguruma: `{1,3}+` is a repetition of a repetition to it, and `$` is true before each line
break.
"""

from __future__ import annotations

import json
from array import array
from itertools import accumulate
from typing import Any

from .. import patterns
from ..bundled.gpt2_files import LETTERS, in_letters
from ..core import Encoding
from ..errors import VocabularyError, shown
from ..model_files.description import Template
from ..model_files.model import Model
from ..model_files.read import read_model
from ..model_files.write import config_of
from ..native.merges import SILENT
from ..patterns.compose import ByteLevel, Split, Stage
from .encoding import TrainedEncoding
from .textfiles import Json, read_text

_SPELLED = {
    patterns.R50K: patterns.R50K.replace("$", r"\z"),
    patterns.CL100K: patterns.CL100K.replace("{1,3}+", "{1,3}").replace("$", r"\z"),
    patterns.O200K: patterns.O200K,
}
_MEANT = {spelled: pattern for pattern, spelled in _SPELLED.items()}
_HEADING = "#version: 0.2"
_OTHER = "another pattern"
_FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}


def merges_of(encoding: Encoding) -> list[tuple[bytes, bytes]]:
    """The two tokens that each longer token is merged of, in the order of ranks.

    Raises ValueError for a token that no merge of two others makes.
    """
    blob, *arrays = encoding._vocab.to_merged()
    lengths, _, splits = (array("I", data) for data in arrays)
    merges = []
    for end, length, half in zip(accumulate(lengths), lengths, splits):
        if half:
            merges.append((blob[end - length : end - length + half], blob[end - length + half : end]))
        elif length > 1:
            token = shown(blob[end - length : end])
            raise ValueError(f"the token {token} is no merge of two others: no program that merges can make it")
    return merges


# ---- writing ----


def tokenizer_json(encoding: Encoding) -> str:
    """The text of a tokenizer.json that gives the same ids: one entry of the vocabulary, one merge a line."""
    added = [{"id": token, "content": name, **_FLAGS} for name, token in _special(encoding)]
    parts = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": _pre_tokenizer(encoding._pat_str),
        "post_processor": None,
        "decoder": _byte_level(),
    }
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
    }
    head = ",\n".join(f"  {_quoted(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in parts.items())
    body = ",\n".join(f"    {_quoted(name)}: {json.dumps(value)}" for name, value in model.items())
    merges = ",\n".join(
        f"      [{_quoted(in_letters(left))}, {_quoted(in_letters(right))}]" for left, right in merges_of(encoding)
    )
    vocab = _vocab_lines(encoding, "      ")
    lists = f'    "vocab": {{\n{vocab}\n    }},\n    "merges": [\n{merges}\n    ]'
    return f'{{\n{head},\n  "model": {{\n{body},\n{lists}\n  }}\n}}\n'


def tokenizer_config(encoding: Encoding) -> str:
    """The text of a tokenizer_config.json beside it, with which transformers loads the folder."""
    return config_of({str(token): {"content": name, **_FLAGS} for name, token in _special(encoding)})


def _special(encoding: Encoding) -> list[tuple[str, int]]:
    return sorted(encoding._special_tokens.items(), key=lambda item: item[1])


def vocab_and_merges(encoding: Encoding) -> tuple[str, str]:
    """The texts of vocab.json and merges.txt; special tokens are in the first."""
    merges = [f"{in_letters(left)} {in_letters(right)}" for left, right in merges_of(encoding)]
    return f"{{\n{_vocab_lines(encoding, '')}\n}}\n", "\n".join([_HEADING, *merges, ""])


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _vocab_lines(encoding: Encoding, indent: str) -> str:
    entries = [(rank, in_letters(token)) for token, rank in encoding._mergeable_ranks.items()]
    taken = {text for _, text in entries}
    for name, token in encoding._special_tokens.items():
        if name in taken:
            raise ValueError(f"the special token {shown(name)} is spelled as an ordinary token in letters: rename it")
        entries.append((token, name))
    return ",\n".join(f"{indent}{_quoted(text)}: {token}" for token, text in sorted(entries))


def _byte_level() -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def _pre_tokenizer(pat_str: str | None) -> dict[str, Any]:
    if pat_str is None:
        return _byte_level()
    # Text that a pattern does not match is in no piece. The three known patterns match everything; others may not.
    known = pat_str in _SPELLED
    split = {
        "type": "Split",
        "pattern": {"Regex": _SPELLED.get(pat_str, pat_str)},
        "behavior": "Isolated" if known else "Removed",
        "invert": not known,
    }
    return {"type": "Sequence", "pretokenizers": [split, _byte_level()]}


# ---- reading ----


def read_tokenizer_json(path: str) -> TrainedEncoding:
    """The encoding of a tokenizer.json: that of its ranks and its pattern where it says what tokenizer_json() writes,
    and any other as Encoding.from_file() loads it.

    Raises VocabularyError for a damaged file, and for one that does not load.
    """
    model = read_model(path)
    if isinstance(model, Model) and _is_plain(model):
        ids = model.vocabulary.to_dict()
        try:
            made = TrainedEncoding(
                path, pat_str=_pattern_of(model.parts.stages), mergeable_ranks=ids, special_tokens=model.special
            )
        except ValueError:  # ids that are no ranks, a pattern that means nothing to tiktoken
            made = None
        if made is not None and _merges_alike(made, model):
            return made
    loaded = TrainedEncoding.from_file(path)
    assert isinstance(loaded, TrainedEncoding)
    loaded.training = {}
    return loaded


def _merges_alike(made: Encoding, model: Model) -> bool:
    """Whether the tokens merge as those of the model do: in the same order, and of the same parts."""
    packed = model.vocabulary
    assert packed.splits is not None
    ids, splits = (array("I", data) for data in made._vocab.to_merged()[2:])
    wanted = [pair for pair in zip(packed.ranks, packed.splits) if pair[1] != SILENT]
    return [*zip(ids, splits)] == wanted


def _is_plain(model: Model) -> bool:
    """Whether nothing but ranks, special tokens and a pattern decides ids."""
    parts = model.parts
    names = all(token.is_plain and token.special and not token.normalized for token in parts.added)
    return (
        not parts.normalizers
        and not parts.model.ignore_merges
        and names
        and parts.template == Template()
        and parts.model.by_bytes
        and parts.decoder_rules is None
        and _pattern_of(parts.stages) is not _OTHER
    )


def _pattern_of(stages: tuple[Stage, ...]) -> str | None:
    """The pattern that _pre_tokenizer() writes so; _OTHER: there is none."""
    if stages == (ByteLevel(True, False),):
        return patterns.R50K
    if stages == (ByteLevel(False, False),):
        return None
    if len(stages) == 2 and isinstance(stages[0], Split) and stages[1] == ByteLevel(False, False):
        split = stages[0]
        known = _MEANT.get(split.pattern)
        if not split.literal and (split.behavior, split.invert) == ("Removed", True):
            return known or split.pattern
        if not split.literal and (split.behavior, split.invert) == ("Isolated", False) and known:
            return known
    return _OTHER


def read_vocab_and_merges(vocab: str, merges: str, special: dict[str, int]) -> dict[bytes, int]:
    """{token bytes: rank} of the two files. Raises VocabularyError where one is damaged, or they disagree."""
    ranks = _ranks(Json.read(vocab), special)
    lines = read_text(merges).split("\n")
    if lines[0] != _HEADING or lines[-1]:
        reason = f"the first line is not {_HEADING!r}" if lines[0] != _HEADING else "the last line is cut off"
        raise VocabularyError(reason, merges, 1 if lines[0] != _HEADING else len(lines))
    pairs = []
    for number, line in enumerate(lines[1:-1], 2):
        halves = line.split(" ")
        if len(halves) != 2 or not all(halves) or not LETTERS.keys() >= set("".join(halves)):
            raise VocabularyError(f"{shown(line)} is no merge: two tokens with a blank between", merges, number)
        pairs.append((_bytes_of(halves[0]), _bytes_of(halves[1])))
    numbers = {pair: number for number, pair in enumerate(pairs, 2)}
    _check_merges(pairs, ranks, lambda reason, near: VocabularyError(reason, merges, numbers.get(near, len(lines) - 1)))
    return ranks


def _bytes_of(letters: str) -> bytes:
    return bytes(map(LETTERS.__getitem__, letters))


def _ranks(file: Json, special: dict[str, int]) -> dict[bytes, int]:
    ranks = {}
    for name, token in file.record.items():
        if type(token) is not int:
            raise file.refused(f"the id of {shown(name)} is {shown(token)}; ids are integers", name)
        if name in special:
            if special[name] != token:
                reason = (
                    f"the special token {shown(name)} has id {shown(token)} here and {shown(special[name])} elsewhere"
                )
                raise file.refused(reason, name)
            continue
        if not name or not LETTERS.keys() >= set(name):
            raise file.refused(f"{shown(name)} is no token in letters, and no special token", name)
        ranks[_bytes_of(name)] = token
    return ranks


def _check_merges(merges: list[tuple[bytes, bytes]], ranks: dict[bytes, int], refused: Any) -> None:
    """The merges have to be those that the ids of the vocabulary stand for, in their order."""
    last = -1
    for left, right in merges:
        near = (left, right)
        rank = ranks.get(left + right)
        if rank is None or left not in ranks or right not in ranks:
            raise refused(f"the merge of {shown(left)} and {shown(right)} is not in the vocabulary", near)
        if rank <= last:
            raise refused(f"the merge that makes {shown(left + right)} comes later than its id", near)
        last = rank
    longer = sum(len(token) > 1 for token in ranks)
    if longer != len(merges):
        raise refused(f"there are {len(merges)} merges and {longer} tokens of more than a byte: some were lost", ())
