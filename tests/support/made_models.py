"""The models that the tests of model files run with: those of STREAMTOK_MODELS, or small ones of each kind that are
made here, with vocabularies of this package's trainer, or for models of characters and WordPiece of tokenizers'."""

from __future__ import annotations

import functools
import json
import os
import pathlib
from typing import Any

import oracle
import pytest

from streamtok.patterns.compose import ByteLevel, Digits, Split
from streamtok.patterns.rows import ROWS
from streamtok.train import save, train

GIVEN = bool(os.environ.get("STREAMTOK_MODELS"))
FOLDER = pathlib.Path(os.environ.get("STREAMTOK_MODELS") or pathlib.Path(os.environ["STREAMTOK_TESTS_RUN"], "models"))


@functools.cache
def text() -> str:
    return "".join(oracle.corpus(name)[:150_000] for name in ("english", "code", "multilingual"))


@functools.cache
def _trained() -> str:
    path = FOLDER.with_name("trained.json")
    save(train(iter(text().splitlines(keepends=True)), 3000, pattern="cl100k"), path)
    return path.read_text("utf-8")


def stages_of(row: str) -> list[Any]:
    """The stages of a row of patterns, as files of models spell them."""
    found = (ByteLevel(),) if row == "r50k" else ROWS[row]
    if isinstance(found, tuple):
        return list(found)
    assert "++" not in found, "possessive for tiktoken's engine alone"
    return [Split(found), ByteLevel(use_regex=False)]


def pre_tokenizer_of(row: str) -> dict[str, Any]:
    def one(stage: Any) -> dict[str, Any]:
        if isinstance(stage, Split):
            return {"type": "Split", "pattern": {"Regex": stage.pattern}, "behavior": "Isolated", "invert": False}
        if isinstance(stage, Digits):
            return {"type": "Digits", "individual_digits": stage.individual_digits}
        return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": stage.use_regex}

    stages = stages_of(row)
    if not isinstance(stages[-1], ByteLevel):
        stages.append(ByteLevel(use_regex=False))
    return {"type": "Sequence", "pretokenizers": list(map(one, stages))}


def of_bytes(row: str, **changes: Any) -> dict[str, Any]:
    from small_models import added

    made: dict[str, Any] = json.loads(_trained())
    made |= {"pre_tokenizer": pre_tokenizer_of(row), "normalizer": None, "post_processor": None, **changes}
    made["model"].pop("ignore_merges", None)
    made["added_tokens"] = []
    return added(added(made, "<|begin|>", "<|end|>", special=True), "<|tool|>", "\n\n\n")


def llama3() -> dict[str, Any]:
    from small_models import TEXT_STEP

    made = of_bytes("llama3")
    made["model"]["ignore_merges"] = True
    begin = next(token["id"] for token in made["added_tokens"] if token["content"] == "<|begin|>")
    known = {"<|begin|>": {"id": "<|begin|>", "ids": [begin], "tokens": ["<|begin|>"]}}
    first = {"SpecialToken": {"id": "<|begin|>", "type_id": 0}}
    return made | {"post_processor": template([first, TEXT_STEP], known)}


def template(single: list[Any], known: dict[str, Any]) -> dict[str, Any]:
    return {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": known}


def characters(**changes: Any) -> dict[str, Any]:
    """As SentencePiece's BPE with bytes in place of characters that are no tokens."""
    from tokenizers import Tokenizer, models, normalizers, trainers

    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    tok = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tok.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tok.pre_tokenizer = None
    words = [word for line in text().splitlines() for word in line.split(" ")]
    trainer = trainers.BpeTrainer(vocab_size=3000, special_tokens=names, limit_alphabet=900, show_progress=False)
    tok.train_from_iterator(words, trainer)
    made: dict[str, Any] = json.loads(tok.to_str())
    made["added_tokens"] = [token for token in made["added_tokens"] if token["id"] < 3]
    undo = [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}]
    undo += [{"type": kind} for kind in ("ByteFallback", "Fuse")]
    made["decoder"] = {
        "type": "Sequence",
        "decoders": [*undo, {"type": "Strip", "content": " ", "start": 1, "stop": 0}],
    }
    return made | changes


def gemma() -> dict[str, Any]:
    """Without a blank in front."""
    from small_models import BOS, EOS, TEXT_STEP, added

    made = characters(normalizer={"type": "Replace", "pattern": {"String": " "}, "content": "▁"})
    made["decoder"]["decoders"].pop()
    known = {name: {"id": name, "ids": [i], "tokens": [name]} for i, name in enumerate(("<unk>", "<s>", "</s>"))}
    return added(made, "<start>", "\n\n") | {"post_processor": template([BOS, TEXT_STEP, EOS], known)}


def wordpiece() -> dict[str, Any]:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tok = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tok.normalizer, tok.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=3000, special_tokens=names, limit_alphabet=900, show_progress=False)
    tok.train_from_iterator(text().splitlines(), trainer)
    tok.decoder, tok.post_processor = decoders.WordPiece(), processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made: dict[str, Any] = json.loads(tok.to_str())
    return made


MADE = {
    "bytes_r50k": lambda: of_bytes("r50k"),
    "bytes_llama3": llama3,
    "bytes_qwen2": lambda: of_bytes("qwen2", normalizer={"type": "NFC"}),
    "bytes_deepseek_v3": lambda: of_bytes("deepseek_v3"),
    "characters": characters,
    "characters_gemma": gemma,
    "wordpiece": wordpiece,
}


def files(*kinds: str) -> list[pathlib.Path]:
    """All tokenizer.json of STREAMTOK_MODELS, or of the models that are made; kinds: of these, as names begin."""
    if GIVEN:
        return sorted(path for form in ("*/", "*/models/") for path in FOLDER.glob(f"{form}tokenizer.json"))
    return [FOLDER / name / "tokenizer.json" for name in MADE if name.startswith(kinds or "")]


def name_of(path: pathlib.Path) -> str:
    return path.relative_to(FOLDER).parts[0]


def ready(path: pathlib.Path) -> pathlib.Path:
    """The same path, with its file: a model is made when a test first asks for it."""
    pytest.importorskip("tokenizers", reason="Hugging Face's tokenizers is not installed")
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(MADE[name_of(path)](), ensure_ascii=False), encoding="utf-8")
        partial.replace(path)
    return path
