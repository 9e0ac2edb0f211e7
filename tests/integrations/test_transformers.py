"""Patched tokenizers of transformers beside their twins: random calls, and what may change behind the patch.

STREAMTOK_MODELS names a folder with files of models, which are compared as well (test_real_models.py)."""

from __future__ import annotations

import copy
import json
import logging
import os
import pathlib
import pickle
import threading

import oracle
import pytest

transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'streamtok[transformers]'"
)
pytest.importorskip("torch", reason="torch is not installed: pip install 'streamtok[transformers]'")

from small_models import LLAMA3, added, record, split_by  # noqa: E402
from tokenizers import AddedToken, decoders, normalizers, pre_tokenizers, processors  # noqa: E402
from twins import assert_same, assert_same_encodings, check_calls, outcome  # noqa: E402

from streamtok.integrations import inputs  # noqa: E402
from streamtok.integrations.transformers import engine, patch, reasons, refresh, unpatch  # noqa: E402

COUNT = {"default": 120, "ci": 600, "long": 6000}[oracle.PROFILE]
FOLDER = os.environ.get("STREAMTOK_MODELS", "")
FOLDERS = sorted(
    path.parent for form in ("*/", "*/models/") for path in pathlib.Path(FOLDER).glob(f"{form}tokenizer.json")
)
NAMES = ["<s>", "</s>", "<x>", "<y>", "<pad>"]


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setattr(inputs, "SHORT", 0)
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


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


def load(folder, made, **options):
    """A new tokenizer of transformers."""
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(made, ensure_ascii=False), encoding="utf-8")
    options = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "model_max_length": 40, **options}
    return transformers.PreTrainedTokenizerFast(tokenizer_file=str(path), **options)


@pytest.mark.parametrize("kind", KINDS)
def test_random_calls(kind, tmp_path):
    made = KINDS[kind]()
    patched, twin = patch(load(tmp_path, made)), load(tmp_path, made)
    check_calls(patched, twin, NAMES, 1, COUNT)
    found = reasons(patched)
    assert found.pop("") > 2 * sum(found.values()), found


@pytest.mark.skipif(not FOLDERS, reason="STREAMTOK_MODELS names no folder with files of models")
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: str(path.relative_to(FOLDER).parts[0]))
def test_models(folder):
    def load_one():
        try:
            return transformers.AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False)
        except Exception:
            return transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))

    try:
        patched, twin = load_one(), load_one()
    except Exception as error:
        pytest.skip(f"transformers does not load it: {error}")
    if not isinstance(patched, transformers.PreTrainedTokenizerFast):
        pytest.skip("transformers has no fast tokenizer of it")
    if not twin.pad_token:
        patched.pad_token = twin.pad_token = twin.convert_ids_to_tokens(7)
    patched.model_max_length = twin.model_max_length = 500  # padding to 131,072 takes long to compare
    patch(patched)
    check_calls(patched, twin, list(twin.get_added_vocab())[-12:], 2, COUNT)
    assert patched.convert_ids_to_tokens([5, 9]) == twin.convert_ids_to_tokens([5, 9])
    if twin.chat_template:
        chat = [{"role": "user", "content": "Größe?\n<s> 12345"}, {"role": "assistant", "content": "hello there"}]
        for options in ({}, {"return_tensors": "np"}, {"return_dict": False}, {"tokenize": False}):
            wanted = outcome(twin.apply_chat_template, chat, **options)
            assert_same(outcome(patched.apply_chat_template, chat, **options), wanted, options)


def test_long_and_many_texts(tmp_path):
    made = llama3()
    patched, twin = patch(load(tmp_path, made)), load(tmp_path, made)
    long = "hello Größe 東京 <x>\n don't 1234567 " * 2000
    for batch in ([long, "", "a"], ["hello " * (i % 7) for i in range(1000)], [" " * 5000, "a" * 5000]):
        assert_same(patched(batch), twin(batch), "long")
        wanted = twin(batch, padding=True, truncation=True, max_length=16, return_tensors="pt")
        assert_same(patched(batch, padding=True, truncation=True, max_length=16, return_tensors="pt"), wanted, "cut")
    assert set(reasons(patched)) == {""}


# ==== What changes behind the patch ====


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


@pytest.mark.parametrize("name", CHANGES)
def test_changes_behind_the_patch(name, tmp_path):
    made = llama3()
    patched, twin = patch(load(tmp_path, made)), load(tmp_path, made)
    texts = ["hello Hello <x> Größe", " hello.  <x>ab </s> cello"]
    late = patched(texts)
    before = twin(texts)
    assert_same(late, before, name)
    for tok in (patched, twin):
        backend = tok.backend_tokenizer
        part = backend.pre_tokenizer
        CHANGES[name](tok, backend, part)
    for options in ({}, {"padding": True, "return_tensors": "np"}, {"add_special_tokens": False}):
        assert_same(patched(texts, **options), twin(texts, **options), name)
        assert_same(patched.decode(before["input_ids"]), twin.decode(before["input_ids"]), name)
    assert len(patched) == len(twin)
    assert_same_encodings(late, before, name)  # made now, as they were


def test_changes_while_the_backend_is_held(tmp_path):
    """Somebody has had it since before the patch."""
    tok, twin = load(tmp_path, llama3()), load(tmp_path, llama3())
    held = tok._tokenizer
    patch(tok)
    for names in (["ell"], ["Gr"], [AddedToken("Gr", rstrip=True)]):
        assert_same(tok("hello Größe Gr  a"), twin("hello Größe Gr  a"), names)
        held.add_tokens(names)
        twin._tokenizer.add_tokens(names)
        assert_same(tok("hello Größe Gr  a"), twin("hello Größe Gr  a"), names)


def test_the_engine_is_kept_while_nothing_changes(tmp_path):
    tok = patch(load(tmp_path, llama3()))
    first = engine(tok)
    for _ in range(3):
        tok("hello", return_tensors="np")
        len(tok), tok.pad_token_id, tok.convert_ids_to_tokens([1]), tok.backend_tokenizer.id_to_token(3)
        assert engine(tok) is first
    refresh(tok)
    assert engine(tok) is not first


def test_copies_pickles_and_saved_ones(tmp_path):
    tok, twin = patch(load(tmp_path, llama3()), num_threads=1), load(tmp_path, llama3())
    text = "hello <x> Größe"
    late = tok([text])
    others = [copy.deepcopy(tok), copy.copy(tok), pickle.loads(pickle.dumps(tok))]
    for other in others:
        assert type(other).__name__ == "TokenizersBackend" and reasons(other) == {}
        assert_same(other(text), twin(text), "copy")
        assert reasons(other) == {"": 1}
    changed = copy.deepcopy(twin)
    for other in (changed, others[0], others[2]):  # not the one that shares its backend
        other.add_tokens(["ell"])
        assert_same(other(text), changed(text), "changed")
    assert_same(tok(text), twin(text), "the first one")
    for made in (pickle.loads(pickle.dumps(late)), copy.deepcopy(late)):
        assert made.data == late.data and made.encodings[0].tokens == twin(text).tokens()
    tok.save_pretrained(tmp_path / "ours")
    twin.save_pretrained(tmp_path / "theirs")
    for path in (tmp_path / "theirs").iterdir():
        assert path.read_text("utf-8") == (tmp_path / "ours" / path.name).read_text("utf-8")
    unpatch(tok)
    assert type(tok) is type(twin) and vars(tok).keys() == vars(twin).keys()
    assert_same(tok(text), twin(text), "unpatched")
    with pytest.raises(TypeError, match="call patch"):
        reasons(tok)


def test_classes_with_methods_of_their_own(tmp_path):
    class Shouts(transformers.PreTrainedTokenizerFast):
        def _encode_plus(self, text, *arguments, **options):
            return super()._encode_plus(text.upper(), *arguments, **options)

        def _decode(self, *arguments, **options):
            return super()._decode(*arguments, **options).swapcase()

    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(llama3()), encoding="utf-8")
    tok, twin = (Shouts(tokenizer_file=str(path)) for _ in range(2))
    patch(tok)
    assert_same(tok("hello"), twin("hello"), "its own")
    assert reasons(tok) == {"another method encodes in a way of its own": 1}
    assert tok.decode(tok("hello")["input_ids"]) == twin.decode(twin("hello")["input_ids"])
    assert reasons(tok)[""] == 1


def test_a_short_text_is_left_to_the_original(tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "SHORT", 128)
    tok, twin = patch(load(tmp_path, llama3())), load(tmp_path, llama3())
    for text in ("hello", "hello " * 30, ["hello"], ["hello"] * 9):
        assert_same(tok(text), twin(text), text)
    assert reasons(tok) == {"one short text, which takes as long here": 2, "": 2}


def test_classes_derived_from_a_patched_one(tmp_path):
    """Servers make such ones, which keep lists of special tokens, or take tokenizers from a pool."""
    tok, twin = patch(load(tmp_path, llama3()), trusts=True), load(tmp_path, llama3())

    class Derived(type(tok)):
        def get_vocab(self):
            return {}

        def __reduce__(self):
            return patch, (tok,)

    other = copy.copy(tok)
    other.__class__ = Derived
    text = "hello <x> Größe"
    for made in (other, pickle.loads(pickle.dumps(other)), copy.copy(other)):
        assert_same(made(text), twin(text), text)
        assert made.decode([1, 2, 3]) == twin.decode([1, 2, 3])
    stream = decoders.DecodeStream(skip_special_tokens=True)
    assert other.get_vocab() == {} and stream.step(other._tokenizer, 65)
    for each in (other, twin):
        each.add_tokens(["ell"])
    assert_same(other(text), twin(text), "trusts, and changed by a method")


def test_what_is_not_supported_is_done_by_the_original(tmp_path):
    made = llama3()
    made["model"]["dropout"] = 0.5
    tok = patch(load(tmp_path, made))
    assert len(tok("hello")["input_ids"]) and tok.decode(tok("a")["input_ids"]) == "<s>a"
    assert engine(tok) is None
    ((reason, count),) = reasons(tok).items()
    assert "model.dropout" in reason and count == 3
    with pytest.raises(TypeError, match="no fast tokenizer"):
        patch("gpt2")
    with pytest.raises(ValueError, match="num_threads"):
        patch(tok, num_threads=0)


def test_threads_with_settings_of_their_own(tmp_path):
    """Settings of a call lie in the backend, which all threads share."""
    tok, twin = patch(load(tmp_path, llama3())), load(tmp_path, llama3())
    text = ["hello <x> Größe " * 9, "a"]
    calls = [
        {"padding": True, "return_tensors": "np"},
        {"truncation": True, "max_length": 5},
        {"padding": "max_length", "max_length": 60, "return_overflowing_tokens": True},
        {},
    ]
    wanted = [twin(text, **call) for call in calls]
    wrong = []

    def work(i):
        for _ in range(60):
            found = tok(text, **calls[i])
            if found.data.keys() != wanted[i].data.keys() or found.encodings[0].ids != wanted[i].encodings[0].ids:
                wrong.append(i)
            if list(map(list, found["input_ids"])) != list(map(list, wanted[i]["input_ids"])):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_encodes(tmp_path):
    tok = patch(load(tmp_path, llama3()))
    batch = ["hello Größe " * 3000] * 8
    wanted = tok(batch)["input_ids"]
    child = os.fork()
    if child == 0:
        os._exit(0 if tok(batch)["input_ids"] == wanted and tok("a", return_overflowing_tokens=True) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
