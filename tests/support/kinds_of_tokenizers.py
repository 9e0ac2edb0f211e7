"""Small tokenizer.json files with the kinds of post-processors that there are, and what a program changes in one."""

from __future__ import annotations

import copy
import json

from small_models import LLAMA3, added, record, split_by
from tokenizers import AddedToken, normalizers, pre_tokenizers, processors

NAMES = ["<s>", "</s>", "<x>", "<y>", "<pad>"]


def template(made, single="<s>:0 $A:0", pair="<s>:0 $A:0 </s>:0 $B:1 </s>:1"):
    ids = {token["content"]: token["id"] for token in made["added_tokens"]}
    step = processors.TemplateProcessing(
        single=single, pair=pair, special_tokens=[(n, ids[n]) for n in ("<s>", "</s>")]
    )
    return json.loads(step.__getstate__())


def trimming(adds: bool = False):
    return {"type": "ByteLevel", "add_prefix_space": adds, "trim_offsets": True, "use_regex": True}


def of_bytes(**changes):
    return added(added(record(700, **changes), "<s>", "</s>", "<pad>", special=True), "<x>", "<y>", "\n\n\n")


def llama3():
    made = of_bytes(pre_tokenizer=split_by(LLAMA3))
    made["post_processor"] = {"type": "Sequence", "processors": [trimming(), template(made)]}
    return made


def roberta():
    made = of_bytes()
    ids = {token["content"]: token["id"] for token in made["added_tokens"]}
    made["pre_tokenizer"]["add_prefix_space"] = True
    ends = {"sep": ["</s>", ids["</s>"]], "cls": ["<s>", ids["<s>"]]}
    made["post_processor"] = {"type": "RobertaProcessing", **ends, "trim_offsets": True, "add_prefix_space": True}
    return made


def normalized():
    made = of_bytes(normalizer={"type": "NFC"})
    made["post_processor"] = trimming(True)
    return added(made, "<left>", lstrip=True, rstrip=True)


def characters():
    """As SentencePiece has it."""
    words = [
        "▁",
        "a",
        "b",
        "▁a",
        "▁b",
        "ab",
        "▁ab",
        "l",
        "e",
        "o",
        "h",
        "he",
        "ll",
        "hell",
        "hello",
        "▁hello",
        "d",
        "中",
    ]
    vocab = {name: i for i, name in enumerate([*(f"<0x{byte:02X}>" for byte in range(256)), *words])}
    merges = [["▁", "a"], ["▁", "b"], ["a", "b"], ["▁a", "b"], ["h", "e"], ["l", "l"], ["he", "ll"], ["hell", "o"]]
    merges.append(["▁", "hello"])
    made = record(300)
    model = {"vocab": vocab, "merges": merges, "byte_fallback": True, "fuse_unk": True, "unk_token": None}
    steps = [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]
    undo = [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        *({"type": kind} for kind in ("ByteFallback", "Fuse")),
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ]
    made.update(pre_tokenizer=None, normalizer={"type": "Sequence", "normalizers": steps})
    made["decoder"] = {"type": "Sequence", "decoders": undo}
    made["model"] = {**made["model"], **model}
    added(added(made, "<s>", "</s>", "<pad>", special=True), "<x>", "<y>")
    made["post_processor"] = template(made, "<s>:0 $A:0 </s>:0")
    return made


KINDS = {"llama3": llama3, "roberta": roberta, "normalized": normalized, "characters": characters, "bare": of_bytes}


def changes():
    """Name -> what a program does to a tokenizer, through it, or through what it had from it before."""

    def through_backend(tok, backend, part):
        tok.backend_tokenizer.add_tokens(["hello"])

    def held_backend(tok, backend, part):
        backend.add_tokens([AddedToken("<x>", lstrip=True)])

    def known_word(tok, backend, part):
        tok.add_tokens([AddedToken("ell", single_word=False, normalized=False)])

    def replaced(tok, backend, part):
        other = copy.deepcopy(tok.backend_tokenizer)
        other.normalizer = normalizers.Lowercase()
        tok._tokenizer = other

    def part_in_place(tok, backend, part):
        part[1].add_prefix_space = True

    return {
        "add_tokens": lambda tok, backend, part: tok.add_tokens(["ello", "Größe"]),
        "add_special_tokens": lambda tok, backend, part: tok.add_special_tokens({"mask_token": "o"}),
        "a word that is a token": known_word,
        "add_tokens of the backend": through_backend,
        "other flags": held_backend,
        "normalizer": lambda tok, backend, part: setattr(backend, "normalizer", normalizers.Lowercase()),
        "pre_tokenizer": lambda tok, backend, part: setattr(backend, "pre_tokenizer", pre_tokenizers.ByteLevel(True)),
        "a part of it in place": part_in_place,
        "post_processor": lambda tok, backend, part: setattr(tok._tokenizer, "post_processor", None),
        "add_eos_token": lambda tok, backend, part: setattr(tok, "add_eos_token", True),
        "dropout": lambda tok, backend, part: setattr(backend.model, "dropout", 1.0),
        "another model": lambda tok, backend, part: setattr(backend, "model", type(backend.model)(*shifted(backend))),
        "another backend": replaced,
        "padding of the backend": lambda tok, backend, part: backend.enable_padding(length=30),
        "truncation of the backend": lambda tok, backend, part: backend.enable_truncation(2),
        "padding_side": lambda tok, backend, part: setattr(tok, "padding_side", "left"),
        "model_input_names": lambda tok, backend, part: setattr(tok, "model_input_names", ["input_ids"]),
    }


def shifted(backend):
    """Tokens and merges of a model without the last 200 merges, and as many tokens as before."""
    model = json.loads(backend.to_str())["model"]
    return model["vocab"], [tuple(merge) for merge in model["merges"][:-200]]


CHANGES = changes()
