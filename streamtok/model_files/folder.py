"""Folders of models: which file counts, and what the others say about added tokens, as transformers reads them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ..errors import VocabularyError, shown
from ..load import read_file
from .field import Field, text_of
from .folder_sentences import (
    FAIRSEQ,
    ends_of,
    llama_decoder,
    llama_marks,
    optional_ends,
    read_sentences,
    template_of,
)
from .folder_tokens import Named, content_of, decoder_of, flag_of, json_of, named_in
from .model import Model
from .records import split_step
from .sources import SENTENCE_FILES

Reader = Callable[[bytes, str, Callable[[Any], None]], Model]
"""Makes a Model of the bytes of a tokenizer.json; the path is for errors, the function changes the record first."""

_P4 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
_END = "<|endoftext|>"

_CLIP = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


class _Pairs(NamedTuple):
    """What a class of transformers makes of vocab.json and merges.txt.

    normalizer, pre_tokenizer: parts of a tokenizer.json. named: its tokens where the files name no others. ends: the
    places of the tokens in front of a text and behind it. model: more settings. blank: whether add_prefix_space counts;
    None: nor is it compared with a tokenizer.json.
    """

    normalizer: Any
    pre_tokenizer: dict[str, Any]
    named: dict[str, str]
    ends: tuple[str, str] | None = None
    model: Mapping[str, Any] = MappingProxyType({})
    blank: bool | None = True


_WITH_REGEX = {**_LEVEL, "use_regex": True}
_GPT2 = _Pairs(None, _WITH_REGEX, {"bos_token": _END, "eos_token": _END, "unk_token": _END})
_ROBERTA = _Pairs(None, _WITH_REGEX, FAIRSEQ, ("cls_token", "sep_token"))
_DEBERTA = {
    "bos_token": "[CLS]",
    "eos_token": "[SEP]",
    "unk_token": "[UNK]",
    "pad_token": "[PAD]",
    "mask_token": "[MASK]",
    "sep_token": "[SEP]",
    "cls_token": "[CLS]",
}
CLASSES = {
    "GPT2Tokenizer": _GPT2,
    "CodeGenTokenizer": _GPT2,
    "GPTNeoXTokenizer": _GPT2._replace(normalizer={"type": "NFC"}, named={**_GPT2.named, "pad_token": "<|padding|>"}),
    "Qwen2Tokenizer": _Pairs(
        {"type": "NFC"},
        {"type": "Sequence", "pretokenizers": [split_step(_P4), {**_LEVEL, "use_regex": False}]},
        {"eos_token": _END, "pad_token": _END, "unk_token": _END},
        blank=False,
    ),
    **dict.fromkeys(
        ("RobertaTokenizer", "BartTokenizer", "LongformerTokenizer", "LEDTokenizer", "MvpTokenizer"), _ROBERTA
    ),
    "DebertaTokenizer": _ROBERTA._replace(named=_DEBERTA),
    "CLIPTokenizer": _Pairs(
        {
            "type": "Sequence",
            "normalizers": [
                {"type": "NFC"},
                {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
                {"type": "Lowercase"},
            ],
        },
        {"type": "Sequence", "pretokenizers": [split_step(_CLIP, "Removed", True), _WITH_REGEX]},
        {"bos_token": "<|startoftext|>", "eos_token": _END, "unk_token": _END, "pad_token": _END},
        ("bos_token", "eos_token"),
        {"end_of_word_suffix": "</w>"},
        blank=None,
    ),
}


def read_folder(folder: str, read: Reader) -> Model:
    """The model of a folder. VocabularyError, OSError."""
    source = os.path.join(folder, "tokenizer.json")
    if os.path.isfile(source):
        beside = list(_beside(folder))

        def amend(record: Any) -> None:
            for field in beside:
                _amend(record, field)
            _rebuild(record, folder)

        model = read(read_file(source), source, amend)
        for field in beside:
            _check_named(field, model)
            _check_blank(field, model)
        return model
    if os.path.isfile(os.path.join(folder, "vocab.json")) and os.path.isfile(os.path.join(folder, "merges.txt")):
        return _read_pair(folder, read)
    if os.path.isfile(os.path.join(folder, "vocab.txt")):
        return _read_words(folder, read)
    if any(os.path.isfile(os.path.join(folder, name)) for name in SENTENCE_FILES):
        return read_sentences(folder, read, _class_of)
    raise VocabularyError(
        "this folder has no tokenizer.json, nor vocab.json with merges.txt, nor vocab.txt, nor "
        f"{', '.join(SENTENCE_FILES)}; how text is split stands in no other file of a model, so save the tokenizer "
        "anew with transformers, or give a file",
        folder,
    )


# ==== What stands beside a tokenizer.json ====


def _beside(folder: str) -> Iterator[Field]:
    for name in ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"):
        field = json_of(folder, name)
        if field is not None:
            field.object()
            yield field if name != "added_tokens.json" else _as_decoder(field)


def _as_decoder(field: Field) -> Field:
    """added_tokens.json, {text: id}, as a tokenizer_config.json has such tokens."""
    entries = {str(field.member(name).number()): name for name in field.value}
    return Field({"added_tokens.json": entries}, field.path)


def _amend(record: Any, config: Field) -> None:
    """Puts the added tokens of a tokenizer_config.json into the record of the tokenizer.json: their flags count."""
    listed = record.setdefault("added_tokens", []) if isinstance(record, dict) else None
    if not isinstance(listed, list):
        return
    known = {entry.get("content"): entry for entry in listed if isinstance(entry, dict)}
    for token in decoder_of(config):
        content = token["content"]
        if content not in known:
            listed.append(token)
        elif known[content].get("id") != token["id"]:
            raise config.member("added_tokens_decoder").refused(
                f"{shown(content)} has id {token['id']} here and {known[content].get('id')} in the tokenizer.json"
            )
        else:
            known[content].update(token)
    for number, content in config.value.get("added_tokens.json", {}).items():
        if content not in known or known[content].get("id") != int(number):
            raise config.refused(f"{shown(content)} with id {number} is no added token of the tokenizer.json")


_AS_THE_FILE = frozenset(
    (
        "EvollaModel arctic aria beam bigbird_pegasus camembertv2-base canary chatlm cohere_asr ernie4_5 "
        "ernie4_5_moe flex_olmo fuyu glm glm4 glm4_moe glm4_moe_lite glm4v glm4v_moe glm_image glmasr got_ocr2 "
        "gpt_bigcode gradium_phonon_tts granite granitemoe granitemoehybrid granitemoeshared h2ovl_chat "
        "hyperclovax hyperclovax_vision_v2 hyperclovax_vlm internlm2 internlm3 iquestcoder jamba kimi_k25 "
        "kimi_linear kosmos-2 llava llava_next mimo_v2_flash minicpm3 minicpm_ocr minicpmv minicpmv4_6 minicpmv4_7 "
        "minimax_m2 ministral ministral3 mistral mistral3 mistral_large4 mixtral modernbert modernbert-decoder "
        "molmo molmo2 nemo_speechlm nemotron nvfp4 nystromformer olmo2 olmo3 olmo_hybrid opencua openvla "
        "paddleocr_vl pegasus_x persimmon phi3 phi3_v phimoe pix2struct pixtral pocket_tts qwen2 qwen3_5 "
        "qwen3_5_moe qwen3_5_moe_text qwen4_exp siglip2 smolvlm stablelm step3_vl umt5 vipllava voxtral "
        "voxtral_realtime xlm-roberta-xl "
    ).split()
)
"""model_type of a config.json with which transformers 5.23 takes a tokenizer.json as it is, whatever class is named."""


def _rebuild(record: Any, folder: str) -> None:
    """Puts parts in the place of those of a tokenizer.json that Llama's class does not read, unless it is of bytes."""
    config, general = json_of(folder, "tokenizer_config.json"), json_of(folder, "config.json")
    kind = general.member("model_type").text() if general is not None and general.has("model_type") else ""
    if config is None or _class_of(config) != "LlamaTokenizer" or kind in _AS_THE_FILE:
        return
    parts = {name: record.get(name) if isinstance(record, dict) else None for name in ("pre_tokenizer", "model")}
    if '"ByteLevel"' in json.dumps(parts["pre_tokenizer"]) or not isinstance(parts["model"], dict):
        return
    (marks,) = llama_marks(config)
    decoder = llama_decoder(marks["prepend_scheme"] != "never")
    known = {token.get("content") for token in record.get("added_tokens") or [] if isinstance(token, dict)}
    for place, text in {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}.items():
        if not config.has(place) and place not in config.value and text not in known:
            raise config.refused(
                f"there is no {place}, and LlamaTokenizer would add {shown(text)}: name the model's own"
            )
    record.update(normalizer=None, pre_tokenizer=marks, decoder=decoder)
    parts["model"].update(unk_token=None, fuse_unk=True, byte_fallback=True, ignore_merges=False, dropout=None)


def _check_named(config: Field, model: Model) -> None:
    """Raises VocabularyError where a file names a token that is no added one: transformers would add it."""
    known = {token.content for token in model.parts.added}
    for place, entry in named_in(config).items():
        content = content_of(entry)
        if content and content not in known:
            raise config.refused(
                f"{place}: {shown(content)} is no added token of the tokenizer.json, and transformers would add it: "
                "save the tokenizer anew with transformers"
            )


def _class_of(config: Field) -> str:
    return config.member("tokenizer_class").text().removesuffix("Fast") if config.has("tokenizer_class") else ""


def _check_blank(config: Field, model: Model) -> None:
    """Raises VocabularyError where a class of transformers puts a blank in front of texts, and the tokenizer.json does
    not, or the other way round."""
    made = CLASSES.get(_class_of(config))
    if made is None or made.blank is None or not config.has("add_prefix_space"):
        return
    if config.member("add_prefix_space").flag() != (model.parts.behind > 0):
        raise config.member("add_prefix_space").refused(
            "the tokenizer.json says something else, and transformers would take this: save the tokenizer anew with it"
        )


# ==== vocab.json and merges.txt ====


def _read_pair(folder: str, read: Reader) -> Model:
    """The model of vocab.json and merges.txt. The class that tokenizer_config.json names says how text is split."""
    config, vocab = json_of(folder, "tokenizer_config.json"), json_of(folder, "vocab.json")
    assert vocab is not None
    if config is None or not _class_of(config):
        raise VocabularyError(
            "vocab.json and merges.txt do not say how text is split, which tokenizer_config.json does by its "
            'tokenizer_class: for GPT-2\'s way write {"tokenizer_class": "GPT2Tokenizer"} there',
            folder,
        )
    if _class_of(config) not in CLASSES:
        raise config.member("tokenizer_class").refused(
            f"what {shown(_class_of(config))} makes of vocab.json and merges.txt is not known here, as it is of "
            f"{', '.join(CLASSES)}; save the tokenizer with its tokenizer.json"
        )
    made = CLASSES[_class_of(config)]
    pre_tokenizer = made.pre_tokenizer
    if flag_of(config, "add_prefix_space", False):
        if not made.blank:
            raise config.member("add_prefix_space").refused("this class does not put a blank in front of texts")
        pre_tokenizer = {**pre_tokenizer, "add_prefix_space": True}
    named, found = Named(folder, config, made.named), vocab.object()
    added = named.added(found.get, len(found))
    ids = {token["content"]: token["id"] for token in added}
    model = {"type": "BPE", "unk_token": named.text("unk_token") if made.model else None, **made.model}
    record = {
        "version": "1.0",
        "added_tokens": added,
        "normalizer": made.normalizer,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": template_of(_around(config, named, made), ids, config),
        "decoder": _WITH_REGEX,
        "model": {**model, "vocab": found, "merges": _merges(os.path.join(folder, "merges.txt"))},
    }
    return read(json.dumps(record, ensure_ascii=False).encode(), folder, lambda record: None)


def _around(config: Field, named: Named, made: _Pairs) -> tuple[list[str], list[str]]:
    """The tokens in front of a text and behind it."""
    if made.ends is not None:
        return ends_of(named, [made.ends[0]], [made.ends[1]])
    return optional_ends(config, named)


def _merges(path: str) -> list[str]:
    lines = text_of(read_file(path), path).split("\n")
    heading = lines[0].startswith("#version")
    if lines[-1]:
        raise VocabularyError("the last line is cut off: it has no line break", path, len(lines))
    for number, line in enumerate(lines[heading:-1], 1 + heading):
        if line.count(" ") != 1 or line != line.strip():
            raise VocabularyError(f"{shown(line)} is no merge: two tokens with a blank between", path, number)
    return lines[heading:-1]


# ==== vocab.txt ====

OF_WORDS = ("BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer")
_WORD_TOKENS = {
    "unk_token": "[UNK]",
    "sep_token": "[SEP]",
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "mask_token": "[MASK]",
}


def _read_words(folder: str, read: Reader) -> Model:
    """The model of a vocab.txt, a line a token, as the class that tokenizer_config.json names makes it."""
    path = os.path.join(folder, "vocab.txt")
    config = json_of(folder, "tokenizer_config.json")
    if config is None or _class_of(config) not in OF_WORDS:
        raise VocabularyError(
            f"vocab.txt does not say how text is split, which tokenizer_config.json does by its tokenizer_class: "
            f"{', '.join(OF_WORDS)} are known here",
            folder,
        )
    lines = text_of(read_file(path), path).split("\n")
    lines = lines if lines[-1] else lines[:-1]
    vocab: dict[str, int] = {}
    for number, line in enumerate(lines):
        token = line.removesuffix("\r")
        if token in vocab:
            raise VocabularyError(f"{shown(token)} is in line {vocab[token] + 1}, too", path, number + 1)
        vocab[token] = number
    named = Named(folder, config, _WORD_TOKENS)
    tokens = {name: named.text(name) or "" for name in _WORD_TOKENS}
    lower, parts, strips = (
        config.member(name).flag() if config.has(name) else default
        for name, default in (("do_lower_case", True), ("tokenize_chinese_chars", True), ("strip_accents", None))
    )
    ends = {}
    for name, place in (("sep", "sep_token"), ("cls", "cls_token")):
        if tokens[place] not in vocab:
            raise VocabularyError(f"{shown(tokens[place])}, the {place}, is no token", path)
        ends[name] = [tokens[place], vocab[tokens[place]]]
    record = {
        "version": "1.0",
        "added_tokens": named.added(vocab.get, len(vocab)),
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": parts,
            "strip_accents": strips,
            "lowercase": lower,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", **ends},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": tokens["unk_token"],
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": vocab,
        },
    }
    return read(json.dumps(record, ensure_ascii=False).encode(), folder, lambda record: None)
