"""Patched tokenizers of transformers beside their twins: random calls, and what may change behind the patch.

The files of models that STREAMTOK_MODELS names, or small ones, are compared as well (test_real_models.py)."""

from __future__ import annotations

import contextlib
import copy
import json
import logging
import os
import pickle
import threading

import oracle
import pytest

transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'streamtok[transformers]'"
)
pytest.importorskip("torch", reason="torch is not installed: pip install 'streamtok[transformers]'")

import made_models  # noqa: E402
import tokenizers  # noqa: E402
from kinds_of_tokenizers import CHANGES, KINDS, NAMES, llama3  # noqa: E402
from small_models import added  # noqa: E402
from tokenizers import AddedToken, decoders  # noqa: E402
from twins import assert_same, assert_same_encodings, check_calls, outcome  # noqa: E402

from streamtok.integrations import inputs  # noqa: E402
from streamtok.integrations.transformers import engine, patch, reasons, refresh, unpatch  # noqa: E402

COUNT = {"default": 60, "ci": 600, "long": 6000}[oracle.PROFILE]
FOUR = transformers.__version__.startswith("4.")


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setattr(inputs, "SHORT", 0)
    monkeypatch.setattr(inputs, "SINGLE", 0)
    monkeypatch.setattr(inputs, "FEW", 0)
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


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


@pytest.mark.parametrize("path", made_models.files(), ids=made_models.name_of)
def test_models(path):
    folder = made_models.ready(path).parent

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


@pytest.mark.filterwarnings("ignore:.*is not supported:UserWarning")
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
        assert_same(patched.batch_decode(before["input_ids"]), twin.batch_decode(before["input_ids"]), name)
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
        assert type(other).__name__ == type(twin).__name__ and reasons(other) == {}
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
    """They encode. What they call of transformers' own is served in transformers 4, where many classes only check
    something."""

    class Shouts(transformers.PreTrainedTokenizerFast):
        def _encode_plus(self, text, *arguments, **options):
            return super()._encode_plus(text.upper(), *arguments, **options)

        def _decode(self, *arguments, **options):
            return super()._decode(*arguments, **options).swapcase()

    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(llama3()), encoding="utf-8")
    tok, twin = (Shouts(tokenizer_file=str(path)) for _ in range(2))
    with contextlib.nullcontext() if FOUR else pytest.warns(UserWarning, match="Shouts encodes in a way of its own"):
        patch(tok)
    assert_same(tok("hello"), twin("hello"), "its own")
    assert reasons(tok) == {"" if FOUR else "another method encodes in a way of its own": 1}
    assert tok.decode(tok("hello")["input_ids"]) == twin.decode(twin("hello")["input_ids"])
    assert reasons(tok)[""] == 1 + 2 * FOUR


def test_classes_that_check_something_and_call_the_next(tmp_path):
    """As those of GPT-2, Whisper and others do in transformers 4."""

    def check(options):
        if options.get("is_split_into_words"):
            raise ValueError("no words")

    class Checks(transformers.PreTrainedTokenizerFast):
        if FOUR:

            def _batch_encode_plus(self, *arguments, **options):
                check(options)
                return super()._batch_encode_plus(*arguments, **options)

            def _encode_plus(self, *arguments, **options):
                check(options)
                return super()._encode_plus(*arguments, **options)

    def make():
        return Checks(tokenizer_file=str(path), pad_token="<pad>")

    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(llama3()), encoding="utf-8")
    patched, twin = patch(make()), make()
    check_calls(patched, twin, NAMES, 3, COUNT)
    assert type(patched).__name__ == "Checks" and reasons(patched)[""] > COUNT
    assert_same(copy.deepcopy(patched)("hello"), twin("hello"), "a copy")


def test_arguments_of_other_types(tmp_path):
    patched, twin = patch(load(tmp_path, llama3())), load(tmp_path, llama3())
    for options in (
        *({name: value} for name in ("add_special_tokens", "is_split_into_words") for value in (None, 1, 0, "x")),
        {"stride": None},
        {"max_length": "x", "truncation": True},
        {"return_tensors": "x"},
        {"padding": 7},
    ):
        for given in ("hello there", ["hello", "there"], None, 5, [5], [["a", "b"], ["c"]], [("a", "b"), ("c", "d")]):
            assert_same(outcome(patched, given, **options), outcome(twin, given, **options), (given, options))
    for options in ({"skip_special_tokens": value} for value in (None, 1, "x")):
        for ids in ([66, 67], 66, [[66], [67]], None, "x", (66,), [True], [1.5], [-1], [1 << 40]):
            for name in ("decode", "batch_decode"):
                found, wanted = (outcome(getattr(tok, name), ids, **options) for tok in (patched, twin))
                assert_same(found, wanted, (name, ids, options))


def test_added_tokens_that_the_normalizer_changes(tmp_path):
    """tokenizers writes them as they are made by it since 0.23, as they were given before."""
    made = added(llama3() | {"normalizer": {"type": "Lowercase"}}, "<BIG>", "<Ä>", normalized=True)
    patched, twin = patch(load(tmp_path, made)), load(tmp_path, made)
    for text in ("a <BIG> b", "<big><Ä>", "none"):
        ids = twin(text)["input_ids"]
        assert_same(patched(text)["input_ids"], ids, text)
        for skip in (False, True):
            assert patched.decode(ids, skip_special_tokens=skip) == twin.decode(ids, skip_special_tokens=skip)
    old = twin.decode(twin("<BIG>")["input_ids"], skip_special_tokens=True) == "<BIG>"
    assert reasons(patched) == ({"": 3 + 2, OTHERWISE: 4} if old else {"": 3 + 6})


OTHERWISE = "added tokens with normalized, which this version of tokenizers writes as given"


@pytest.mark.parametrize("version", ["4.56.2", "4.9.0.dev0", "3.5.1"])
def test_an_old_version_is_refused(version, tmp_path, monkeypatch):
    tok = load(tmp_path, llama3())
    monkeypatch.setattr(transformers, "__version__", version)
    with pytest.raises(ImportError, match=rf"transformers {version} calls its .*pip install 'transformers>=4\.57'"):
        patch(tok)
    assert type(tok) is transformers.PreTrainedTokenizerFast


def test_an_old_version_of_tokenizers_is_not_served(tmp_path, monkeypatch):
    monkeypatch.setattr(tokenizers, "__version__", "0.21.4")
    with pytest.warns(UserWarning, match=r"tokenizers 0\.21\.4 is older than 0\.22: pip install"):
        tok = patch(load(tmp_path, llama3()))
    assert_same(tok("hello"), load(tmp_path, llama3())("hello"), "")
    assert engine(tok) is None


@pytest.mark.parametrize("kind", KINDS)
def test_random_calls_with_single_texts(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "SHORT", 12)
    monkeypatch.setattr(inputs, "SINGLE", 128)
    made = KINDS[kind]()
    patched, twin = patch(load(tmp_path, made)), load(tmp_path, made)
    check_calls(patched, twin, NAMES, 3, COUNT)
    for text in ("hello", "hello <x> Größe", "\ud800a", "", "hello " * 20):
        for options in (
            {},
            {"add_special_tokens": False},
            {"return_token_type_ids": True, "return_attention_mask": False},
        ):
            assert_same(outcome(patched, text, **options), outcome(twin, text, **options), (text, options))
        assert_same(outcome(patched.encode, text), outcome(twin.encode, text), text)
        assert patched("hello").encodings[0].tokens == twin("hello").encodings[0].tokens


def test_a_short_text_that_is_padded_or_cut_is_left_to_the_original(tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "SHORT", 128)
    monkeypatch.setattr(inputs, "SINGLE", 128)
    tok, twin = patch(load(tmp_path, llama3())), load(tmp_path, llama3())
    cut = {"truncation": True, "max_length": 3}
    for text, options in (("hello", {}), ("hello " * 30, {}), (["hello"], {}), ("hello there", cut), ("hello", {})):
        assert_same(tok(text, **options), twin(text, **options), text)
    short = "one short text, which takes as long here"
    assert reasons(tok) == ({short: 2, "": 3} if FOUR else {short: 3, "": 2})  # the last call undoes the cut


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
    with pytest.warns(UserWarning, match=r"not supported: model\.dropout: .*; the original does all") as warned:
        tok = patch(load(tmp_path, made))
    assert len(warned) == 1 and warned[0].filename == __file__
    copy.deepcopy(tok)("hello"), pickle.loads(pickle.dumps(tok))("hello")  # they say it no second time
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


def test_texts_that_begin_alike_are_encoded_once(tmp_path):
    made = llama3()
    tok, twin = patch(load(tmp_path, made), cache_bytes=1 << 24), load(tmp_path, made)
    other, revived = copy.deepcopy(tok), pickle.loads(pickle.dumps(tok))
    text = "hello Größe 東京 <x>\n don't 1234567 " * 400
    for each in (tok, other, revived):
        for end in ("", " and more", "<x>"):
            for options in ({}, {"add_special_tokens": False}, {"truncation": True, "max_length": 30}):
                assert_same(each(text + end, **options), twin(text + end, **options), options)
    cache, apart = (each.__dict__["_streamtok"].prefixes._cache for each in (tok, revived))
    assert other.__dict__["_streamtok"].prefixes._cache is cache is not apart
    assert (cache.stats().hits, cache.stats().misses, apart.stats().misses) == (17, 1, 1)
    for each in (tok, twin):
        each.add_tokens(["ell"])
    assert_same(tok(text), twin(text), "a new token")
    assert tok.__dict__["_streamtok"].prefixes._cache.stats().misses == 1
    with pytest.raises(ValueError, match="cache_bytes=-1 is negative"):
        patch(tok, cache_bytes=-1)


def test_few_ids_are_left_to_the_original(tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "FEW", 12)
    tok, twin = patch(load(tmp_path, llama3())), load(tmp_path, llama3())
    ids = twin("hello <x> Größe" * 9)["input_ids"]
    for few in ([], ids[:11], ids[:12], ids):
        assert_same(tok.decode(few, skip_special_tokens=True), twin.decode(few, skip_special_tokens=True), few)
    for rows in ([ids[:3]] * 4, [ids[:3], ids]):
        assert_same(tok.batch_decode(rows), twin.batch_decode(rows), rows)
    assert reasons(tok)["few ids, which take as long here"] == (7 if FOUR else 3)
