"""Folders with a .model of SentencePiece and no tokenizer.json: what classes of transformers make of one.

A class lays the pieces out in an order of its own, with tokens in front and behind, and says itself how text is
normalized and split: it does not read the rules of the .model, but its map of characters. So such a folder has other
ids than the .model alone.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ..bundled.packed import MAX_ENTRIES
from ..bundled.scored import scored_text
from ..errors import VocabularyError, shown
from ..load import read_file
from .field import Field
from .folder_tokens import Named, Token, flag_of, json_of
from .model import Model
from .pieces import CONTROL, MARK, UNKNOWN, USER, Piece
from .records import metaspace, record_text
from .sentencepiece import read_messages

Scored = tuple[str, float]
Ends = tuple[list[str], list[str]]


class _Kind(NamedTuple):
    """A class of transformers.

    file: the name of its .model. tokens: places -> texts that it has where no file names others. layout: pieces as the
    class orders them. normalizers, pre_tokenizers: steps of a tokenizer.json, of the configuration and of the map of
    characters. ends: the tokens around a text. unknown: the id of the unknown token, -1: where it stands.
    flags: of tokens in a place. extras: tokens that the class adds. pairs: whether it is BPE. by_bytes: and characters
    that are no pieces become those of bytes.
    """

    file: str
    tokens: dict[str, str]
    layout: Callable[[list[Scored], Named, Field], list[Scored]]
    normalizers: Callable[[Field, dict[str, Any] | None], list[dict[str, Any]]]
    pre_tokenizers: Callable[[Field], list[dict[str, Any]]]
    ends: Callable[[Field, Named], Ends]
    unknown: int = -1
    flags: Mapping[str, dict[str, bool]] = MappingProxyType({})
    extras: Callable[[Field], list[str]] = lambda config: []
    pairs: bool = False
    by_bytes: bool = False


def _text(named: Named, place: str) -> str:
    return named.text(place) or ""


# ==== What stands around a text ====


def ends_of(named: Named, front: Sequence[str], behind: Sequence[str]) -> Ends:
    """The tokens of some places."""
    return [_text(named, place) for place in front], [_text(named, place) for place in behind]


def optional_ends(config: Field, named: Named) -> Ends:
    """What add_bos_token and add_eos_token say."""
    begun = flag_of(config, "add_bos_token", False) and named.text("bos_token")
    ended = flag_of(config, "add_eos_token", False) and named.text("eos_token")
    return [_text(named, "bos_token")] * bool(begun), [_text(named, "eos_token")] * bool(ended)


def template_of(ends: Ends, ids: dict[str, int], config: Field) -> dict[str, Any] | None:
    """The post_processor that puts tokens around a text. VocabularyError: one of them is no token."""
    listed = {}
    for token in (*ends[0], *ends[1]):
        if token not in ids:
            raise config.refused(
                f"{shown(token)} stands beside each text, and is no token: name it in added_tokens_decoder, or in "
                "extra_special_tokens"
            )
        listed[token] = {"id": token, "ids": [ids[token]], "tokens": [token]}
    steps: list[dict[str, Any]] = [{"SpecialToken": {"id": token, "type_id": 0}} for token in ends[0]]
    steps += [{"Sequence": {"id": "A", "type_id": 0}}]
    steps += [{"SpecialToken": {"id": token, "type_id": 0}} for token in ends[1]]
    return {"type": "TemplateProcessing", "single": steps, "pair": [], "special_tokens": listed} if listed else None


def _around(*places: str) -> Callable[[Field, Named], Ends]:
    """Places in front of the text, "text", and those behind it."""
    at = places.index("text")
    return lambda config, named: ends_of(named, places[:at], places[at + 1 :])


def _language(config: Field, default: str) -> str:
    return config.member("src_lang").text() if config.has("src_lang") else default


def _ends_with_language(config: Field, named: Named) -> Ends:
    return [], [_text(named, "eos_token"), _language(config, "en_XX")]


def _begins_with_language(config: Field, named: Named) -> Ends:
    return [_language(config, "en_XX")], [_text(named, "eos_token")]


def _nllb_ends(config: Field, named: Named) -> Ends:
    language, end = _language(config, "eng_Latn"), _text(named, "eos_token")
    return ([], [end, language]) if flag_of(config, "legacy_behaviour", False) else ([language], [end])


# ==== The order of tokens ====

_LANGUAGES = (
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM ne_NP nl_XX "
    "ro_RO ru_RU si_LK tr_TR vi_VN zh_CN"
).split()
_LATER_LANGUAGES = (
    "af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF pt_XX sv_SE sw_KE ta_IN "
    "te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI"
).split()


def _as_it_is(pieces: list[Scored], named: Named, config: Field) -> list[Scored]:
    return pieces


def _sentinels(config: Field) -> list[str]:
    """T5's: <extra_id_0> is the last one."""
    count = config.member("extra_ids").number() if config.has("extra_ids") else 100
    if count > MAX_ENTRIES:
        raise config.member("extra_ids").refused(f"{count} tokens; at most {MAX_ENTRIES} are supported")
    return [f"<extra_id_{i}>" for i in reversed(range(count))]


def _with_sentinels(pieces: list[Scored], named: Named, config: Field) -> list[Scored]:
    return pieces + [(text, 0.0) for text in _sentinels(config)]


def _fairseq(*languages: str) -> Callable[[list[Scored], Named, Field], list[Scored]]:
    """Four tokens in the place of three, so that pieces move by one; languages and <mask> behind."""

    def made(pieces: list[Scored], named: Named, config: Field) -> list[Scored]:
        front = [_text(named, place) for place in ("bos_token", "pad_token", "eos_token", "unk_token")]
        behind = [*languages, _text(named, "mask_token")]
        return [(text, 0.0) for text in front] + pieces[3:] + [(text, 0.0) for text in behind]

    return made


def _camembert(pieces: list[Scored], named: Named, config: Field) -> list[Scored]:
    pad, unknown = _text(named, "pad_token"), _text(named, "unk_token")
    front = [("<s>NOTUSED", 0.0), (pad, 0.0), ("</s>NOTUSED", 0.0), (unknown, 0.0), ("<unk>NOTUSED", -100.0)]
    return [*front, *pieces[1:], (_text(named, "mask_token"), 0.0)]


def _nllb(pieces: list[Scored], named: Named, config: Field) -> list[Scored]:
    front = [_text(named, place) for place in ("bos_token", "pad_token", "eos_token", "unk_token")]
    return [(text, 0.0) for text in dict.fromkeys([*front, *(text for text, _ in pieces)])]


# ==== What is done to text ====


def _replace(pattern: dict[str, str], content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def _map_alone(config: Field, charsmap: dict[str, Any] | None) -> list[dict[str, Any]]:
    return [] if charsmap is None else [charsmap]


def _nothing(config: Field, charsmap: dict[str, Any] | None) -> list[dict[str, Any]]:
    return []


def _map_and_blanks(config: Field, charsmap: dict[str, Any] | None) -> list[dict[str, Any]]:
    return [*_map_alone(config, charsmap), _replace({"Regex": " {2,}"}, " ")]


def _nllb_map(config: Field, charsmap: dict[str, Any] | None) -> list[dict[str, Any]]:
    return [] if charsmap is None else _map_and_blanks(config, charsmap)


def _albert(config: Field, charsmap: dict[str, Any] | None) -> list[dict[str, Any]]:
    return _quotes(charsmap, flag_of(config, "keep_accents", False), flag_of(config, "do_lower_case", True))


def _xlnet(config: Field, charsmap: dict[str, Any] | None) -> list[dict[str, Any]]:
    return _quotes(charsmap, False, flag_of(config, "do_lower_case", False))


def _quotes(charsmap: dict[str, Any] | None, keeps: bool, lower: bool) -> list[dict[str, Any]]:
    steps = [_replace({"String": "``"}, '"'), _replace({"String": "''"}, '"')]
    steps += [] if keeps else [{"type": "NFKD"}, {"type": "StripAccents"}]
    return steps + [{"type": "Lowercase"}] * lower + ([] if charsmap is None else [charsmap])


def _deberta(config: Field, charsmap: dict[str, Any] | None) -> list[dict[str, Any]]:
    return [
        *[{"type": "Lowercase"}] * flag_of(config, "do_lower_case", False),
        _replace({"Regex": r"\s{2,}"}, " "),  # transformers has both in one: what one of them leaves, the other takes
        _replace({"Regex": r"[\n\r\t]"}, " "),
        {"type": "NFC"},
        {"type": "Strip", "strip_left": False, "strip_right": True},
    ]


def _words(config: Field) -> list[dict[str, Any]]:
    return [{"type": "WhitespaceSplit"}, metaspace(MARK, "always")]


def _words_or_not(config: Field) -> list[dict[str, Any]]:
    scheme = "always" if flag_of(config, "add_prefix_space", True) else "never"
    return [{"type": "WhitespaceSplit"}, metaspace(MARK, scheme)]


def _marks(config: Field) -> list[dict[str, Any]]:
    return [metaspace(MARK, "always")]


def _deberta_marks(config: Field) -> list[dict[str, Any]]:
    points = [{"type": "Punctuation", "behavior": "Isolated"}] * flag_of(config, "split_by_punct", False)
    return [*points, metaspace(MARK, "always" if flag_of(config, "add_prefix_space", True) else "first")]


def llama_marks(config: Field) -> list[dict[str, Any]]:
    """What Llama's class does with blanks; split is not needed: a text is one piece."""
    scheme = "always" if flag_of(config, "legacy", False) else "first"
    return [metaspace(MARK, scheme if flag_of(config, "add_prefix_space", True) else "never", False)]


# ==== The classes ====

_BASIC = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
FAIRSEQ = {**_BASIC, "sep_token": "</s>", "pad_token": "<pad>", "cls_token": "<s>", "mask_token": "<mask>"}
_BRACKETS = {"bos_token": "[CLS]", "eos_token": "[SEP]", "sep_token": "[SEP]", "cls_token": "[CLS]"}
_ALBERT = {**_BRACKETS, "unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "[MASK]"}
_DEBERTA = {**_ALBERT, "unk_token": "[UNK]", "pad_token": "[PAD]"}
_XLNET = {**_BASIC, "sep_token": "<sep>", "pad_token": "<pad>", "cls_token": "<cls>", "mask_token": "<mask>"}
_T5 = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
_MASKED = {"mask_token": {"lstrip": True}}
_BERT = _around("cls_token", "text", "sep_token")
_ROBERTA = _around("bos_token", "text", "eos_token")
_PIECES, _FAIRSEQ_PIECES = "spiece.model", "sentencepiece.bpe.model"
_XLMR = _Kind(_FAIRSEQ_PIECES, FAIRSEQ, _fairseq(), _map_alone, _words_or_not, _ROBERTA, 3)
_ALL_LANGUAGES = _LANGUAGES + _LATER_LANGUAGES
KINDS = {
    "T5Tokenizer": _Kind(
        _PIECES, _T5, _with_sentinels, _map_alone, _words, _around("text", "eos_token"), 2, extras=_sentinels
    ),
    "AlbertTokenizer": _Kind(_PIECES, _ALBERT, _as_it_is, _albert, _words_or_not, _BERT, 1),
    "XLNetTokenizer": _Kind(
        _PIECES, _XLNET, _as_it_is, _xlnet, _words, _around("text", "sep_token", "cls_token"), -1, _MASKED
    ),
    "DebertaV2Tokenizer": _Kind("spm.model", _DEBERTA, _as_it_is, _deberta, _deberta_marks, _BERT),
    "XLMRobertaTokenizer": _XLMR,
    "CamembertTokenizer": _XLMR._replace(layout=_camembert, unknown=-1, flags=_MASKED),
    "MBartTokenizer": _XLMR._replace(
        layout=_fairseq(*_LANGUAGES),
        normalizers=_nothing,
        pre_tokenizers=_words,
        ends=_ends_with_language,
        flags=_MASKED,
        extras=lambda config: _LANGUAGES,
    ),
    "MBart50Tokenizer": _XLMR._replace(
        layout=_fairseq(*_ALL_LANGUAGES),
        normalizers=_map_and_blanks,
        pre_tokenizers=_marks,
        ends=_begins_with_language,
        flags=_MASKED,
        extras=lambda config: _ALL_LANGUAGES,
    ),
    "NllbTokenizer": _XLMR._replace(
        layout=_nllb,
        normalizers=_nllb_map,
        pre_tokenizers=_marks,
        ends=_nllb_ends,
        flags={"mask_token": {"lstrip": True, "normalized": True}},
        pairs=True,
    ),
    "LlamaTokenizer": _Kind(
        "tokenizer.model", _BASIC, _as_it_is, _nothing, llama_marks, optional_ends, pairs=True, by_bytes=True
    ),
}

_Read = Callable[[bytes, str, Callable[[Any], None]], Model]


def read_sentences(folder: str, read: _Read, class_of: Callable[[Field], str]) -> Model:
    """The model of a folder with a .model, as the class that tokenizer_config.json names makes it. VocabularyError."""
    config = json_of(folder, "tokenizer_config.json")
    name = "" if config is None else class_of(config)
    if config is None or name not in KINDS:
        raise VocabularyError(
            f"what {shown(name) if name else 'the class'} of transformers makes of a .model is not known here, as it "
            f"is of the tokenizer_class {', '.join(KINDS)} in tokenizer_config.json; give the .model itself for the "
            "ids of SentencePiece",
            folder,
        )
    kind = KINDS[name]
    path = os.path.join(folder, kind.file)
    if not os.path.isfile(path):
        raise VocabularyError(f"{name} reads {kind.file}, which is not there", folder)
    pieces, rules = read_messages(read_file(path), path)
    named = Named(folder, config, kind.tokens, kind.flags, _extras(kind, pieces, config))
    tokens = kind.layout([(piece.text, piece.score) for piece in pieces], named, config)
    ids = {text: i for i, (text, _) in enumerate(tokens)}
    added = named.added(ids.get, len(tokens))
    charsmap = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(rules.charsmap).decode()}
    marks = kind.pre_tokenizers(config)
    record: dict[str, Any] = {
        "version": "1.0",
        "added_tokens": added,
        "normalizer": {
            "type": "Sequence",
            "normalizers": kind.normalizers(config, charsmap if rules.charsmap else None),
        },
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": marks},
        "post_processor": template_of(
            kind.ends(config, named), {token["content"]: token["id"] for token in added}, config
        ),
        "decoder": llama_decoder(marks[-1]["prepend_scheme"] != "never") if kind.by_bytes else marks[-1],
    }
    record["model"] = (_pairs if kind.pairs else _scored)(kind, tokens, pieces, named)
    return read(record_text(record).encode(), path, lambda record: None)


def _extras(kind: _Kind, pieces: list[Piece], config: Field) -> list[Token]:
    """Control symbols and user-defined ones are added tokens."""
    found = [(piece.text, piece.kind == CONTROL) for piece in pieces if piece.kind in (CONTROL, USER)]
    found += [(text, True) for text in kind.extras(config)]
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return [{"content": text, **flags, "special": is_special} for text, is_special in found]


def llama_decoder(strips: bool) -> dict[str, Any]:
    """What Llama's class does with ids. strips: a blank stands in front of texts."""
    steps = [_replace({"String": MARK}, " "), {"type": "ByteFallback"}, {"type": "Fuse"}]
    steps += [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] * strips
    return {"type": "Sequence", "decoders": steps}


def _scored(kind: _Kind, tokens: list[Scored], pieces: list[Piece], named: Named) -> dict[str, Any]:
    """The model of scores."""
    unknown = kind.unknown
    if unknown < 0:
        known = [i for i, (text, _) in enumerate(tokens) if text == named.text("unk_token")]
        known += [i for i, piece in enumerate(pieces) if piece.kind == UNKNOWN]
        unknown = known[0] if known else 0
    return {"type": "Unigram", "unk_id": unknown, "byte_fallback": False, "vocab": scored_text(tokens)}


def _pairs(kind: _Kind, tokens: list[Scored], pieces: list[Piece], named: Named) -> dict[str, Any]:
    """The model of merges: each way to cut a piece into two, in the order of the pieces."""
    places = {piece.text: i for i, piece in enumerate(pieces)}
    merges = [
        (made, at, len(text) - at, text[:at], text[at:])
        for text, made in places.items()
        for at in range(1, len(text))
        if text[:at] in places and text[at:] in places
    ]
    return {
        "type": "BPE",
        "unk_token": None if kind.by_bytes else named.text("unk_token"),
        "fuse_unk": True,
        "byte_fallback": kind.by_bytes,
        "vocab": {text: i for i, (text, _) in enumerate(tokens)},
        "merges": [[left, right] for *_, left, right in sorted(merges)],
    }
