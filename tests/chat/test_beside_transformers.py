"""Conversations beside transformers: texts and ids of apply_chat_template, masks of {% generation %} blocks, and which
special tokens it leaves where it is told to take those of texts for text.

Models are small ones that are made here, with the templates of made_chats.py, and those of STREAMTOK_MODELS that have a
chat template of their own."""

from __future__ import annotations

import json
import logging
import os
import random

import oracle
import pytest

pytest.importorskip("jinja2", reason="jinja2 is not installed: pip install 'streamtok[chat]'")
transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'streamtok[transformers]'"
)

import made_models  # noqa: E402
from made_chats import TEMPLATES, conversation, tools  # noqa: E402

import streamtok  # noqa: E402
from streamtok.errors import ChatTemplateError  # noqa: E402

COUNT = {"default": 40, "ci": 400, "long": 2_000}[oracle.PROFILE]
KINDS = ("bytes_llama3", "bytes_qwen2", "bytes_deepseek_v3", "characters_gemma")
NAMES = ("<|start|>", "<|message|>", "<|call|>")
SANITIZES = hasattr(transformers.PreTrainedTokenizerBase, "_mark_chat_inputs")


@pytest.fixture(autouse=True)
def quiet():
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


def made(kind: str, folder):
    """(Encoding, tokenizer) of a folder with a made model."""
    record = made_models.MADE[kind]()
    known = {token["content"] for token in record["added_tokens"]}
    for name in (*NAMES, "<|end|>"):
        if name not in known:
            number = max([*record["model"]["vocab"].values(), *(token["id"] for token in record["added_tokens"])]) + 1
            flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
            record["added_tokens"].append({"id": number, "content": name, **flags, "special": True})
    (folder / "tokenizer.json").write_text(json.dumps(record), "utf-8")
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|start|>", "eos_token": "<|end|>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    return streamtok.Encoding.from_file(folder), transformers.PreTrainedTokenizerFast.from_pretrained(str(folder))


def compare(enc, theirs, source: str | None, seed: str) -> int:
    """How many conversations were compared."""
    done = 0
    for i in range(COUNT):
        draw = random.Random(f"{seed} {i}")
        evil = draw.choice((0.0, 0.0, 0.2))
        messages, given = conversation(draw, evil), tools(draw, evil) if draw.random() < 0.3 else None
        how = {"tools": given, "add_generation_prompt": draw.random() < 0.5, "chat_template": source}
        if draw.random() < 0.1 and not how["add_generation_prompt"]:
            how["continue_final_message"] = True
        try:
            text = theirs.apply_chat_template(messages, tokenize=False, **how)
        except Exception:
            with pytest.raises((ChatTemplateError, ValueError)):
                enc.encode_chat(messages, **how)
            continue
        ids = list(theirs.apply_chat_template(messages, return_dict=False, **how))
        everything = enc.encode_chat(messages, allowed_special="all", **how)
        assert everything.text == text and everything.tolist() == ids, (messages, how)
        check_safe(enc, theirs, messages, how, evil, ids)
        done += 1
    return done


def check_safe(enc, theirs, messages, how, evil, ids) -> None:
    try:
        safe = enc.encode_chat(messages, **how)
    except ChatTemplateError:
        assert evil, messages
        return
    if not evil:
        assert safe.tolist() == ids, (messages, how)
    elif SANITIZES and not how.get("continue_final_message"):
        cut = theirs.apply_chat_template(messages, return_dict=False, sanitize_control_tokens=True, **how)
        special = set(enc._special_tokens.values())
        assert [token for token in safe.tolist() if token in special] == [token for token in cut if token in special]


@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_those_of_transformers(kind, tmp_path):
    enc, theirs = made(kind, tmp_path)
    assert dict(enc._chat_files.named) == theirs.special_tokens_map
    for name, (source, _) in TEMPLATES.items():
        assert compare(enc, theirs, source, f"{kind} {name}") > COUNT // 2


@pytest.mark.parametrize("kind", KINDS)
def test_masks_of_blocks_are_those_of_transformers(kind, tmp_path):
    enc, theirs = made(kind, tmp_path)
    source = TEMPLATES["blocks"][0]
    for i in range(COUNT):
        messages = conversation(random.Random(f"{kind} {i}"))
        found = theirs.apply_chat_template(
            messages, chat_template=source, return_assistant_tokens_mask=True, return_dict=True
        )
        mine = enc.encode_chat(messages, chat_template=source, mask="assistant")
        assert mine.mask.astype(int).tolist() == found["assistant_masks"], messages


def test_published_templates():
    """Of the models that STREAMTOK_MODELS names."""
    folders = [path.parent for path in made_models.files()] if made_models.GIVEN else []
    done = 0
    for folder in folders:
        enc = streamtok.Encoding.from_file(folder)
        if enc.chat_template is None:
            continue
        try:
            theirs = transformers.AutoTokenizer.from_pretrained(str(folder))
        except Exception:  # it wants code of its own
            continue
        done += compare(enc, theirs, None, folder.name) > 0
    if not done:
        pytest.skip("STREAMTOK_MODELS names no folder with a model that has a chat template")


def test_a_tokenizer_of_transformers_brings_its_template(tmp_path):
    _, theirs = made("bytes_llama3", tmp_path)
    theirs.chat_template = "{{ eos_token }}{{ messages[0].content }}"
    enc = streamtok.Encoding.from_hf(theirs)
    assert enc.chat_template == theirs.chat_template
    assert enc.render_chat([{"role": "user", "content": "Hi"}]) == "<|end|>Hi"


def test_reasoning_has_the_names_that_templates_read(tmp_path):
    enc, theirs = made("bytes_llama3", tmp_path)
    source = "{% for m in messages %}{{ m.reasoning_content }}{{ m.thinking }}{{ m.tool_calls is defined }}{% endfor %}"
    for name in ("reasoning_content", "thinking", "reasoning"):
        messages = [{"role": "assistant", "content": "", name: "so", "tool_calls": None}]
        try:
            want = theirs.apply_chat_template(messages, tokenize=False, chat_template=source)
        except Exception:
            want = ""
        if want != "sosoFalse":
            pytest.skip("this version of transformers gives messages to templates in another way")
        assert enc.render_chat(messages, chat_template=source) == want
