"""`import streamtok as tiktoken` runs existing programs: names, signatures, defaults and behaviour are compared."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
import re
import types

import oracle
import pytest

import streamtok
from streamtok.native.steps import lazy

tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is what is compared with")


def public_functions(module: types.ModuleType) -> dict:
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }


def assert_accepts_the_same(mine, other, name: str) -> None:
    """Every parameter of theirs is there, with the same name, kind, order and default; more have defaults. What goes by
    keyword there may go by position here, too."""
    ours, theirs = inspect.signature(mine).parameters, inspect.signature(other).parameters
    shared = [parameter for parameter in ours.values() if parameter.name in theirs]
    assert [p.name for p in shared] == list(theirs), name
    for parameter, expected in zip(shared, theirs.values()):
        assert parameter.kind in (expected.kind, expected.POSITIONAL_OR_KEYWORD), f"{name}({parameter.name})"
        assert parameter.default == expected.default, f"{name}({parameter.name})"
    for extra in ours.keys() - theirs.keys():
        assert ours[extra].default is not inspect.Parameter.empty, f"{name}({extra})"
        is_behind = list(ours).index(extra) >= len(theirs)
        assert is_behind or ours[extra].kind == inspect.Parameter.KEYWORD_ONLY, f"{name}({extra})"


def test_every_public_name_of_the_module_is_here():
    names = public_functions(tiktoken)
    assert {"Encoding", "get_encoding", "encoding_for_model", "list_encoding_names"} <= names.keys()
    for name, value in names.items():
        assert hasattr(streamtok, name), name
        if inspect.isfunction(value):
            assert_accepts_the_same(getattr(streamtok, name), value, name)
        assert inspect.isclass(value) == inspect.isclass(getattr(streamtok, name))


@pytest.mark.parametrize("module", ["core", "load", "model", "registry"])
def test_public_functions_of_the_submodules_are_here(module):
    import importlib

    theirs = importlib.import_module(f"tiktoken.{module}")
    mine = importlib.import_module(f"streamtok.{module}")
    for name, value in public_functions(theirs).items():
        if inspect.isfunction(value) and value.__module__ == theirs.__name__:
            if name == "raise_disallowed_special_token":  # internal to their core
                continue
            assert hasattr(mine, name), name
            assert_accepts_the_same(getattr(mine, name), value, name)


def members() -> list[str]:
    return sorted(name for name in vars(tiktoken.Encoding) if not name.startswith("__") or name == "__init__")


@pytest.mark.parametrize("name", members())
def test_every_member_of_encoding_is_here(name):
    mine, other = inspect.getattr_static(streamtok.Encoding, name), inspect.getattr_static(tiktoken.Encoding, name)
    if isinstance(other, (property, functools.cached_property)):
        assert isinstance(mine, (property, lazy))
        return
    assert type(mine) is type(other)
    assert_accepts_the_same(mine, other, name)


def test_members_have_docstrings_where_theirs_have():
    for name in members():
        other = inspect.getattr_static(tiktoken.Encoding, name)
        if not name.startswith("_") and other.__doc__:
            assert inspect.getattr_static(streamtok.Encoding, name).__doc__, name


@functools.cache
def aliases() -> dict[str, str]:
    """Name of a type -> what it stands for, as the source says."""
    sources = [oracle.PROJECT / "streamtok" / name for name in ("_protocols.py", "native/text.pyi")]
    found = (re.findall(r"^(\w+)(?:: TypeAlias)? = (.+)$", path.read_text("utf-8"), re.M) for path in sources)
    return {name: meaning for each in found for name, meaning in each}


def spelled_out(annotation: str) -> str:
    """The annotation with each alias replaced by what it stands for; an alias may stand for another."""
    for _ in range(3):
        annotation = re.sub(r"\w+", lambda word: aliases().get(word[0], word[0]), annotation)
    return annotation


def test_annotations_name_the_same_types():
    """A type checker accepts for ours what it accepts for theirs."""
    for name in members():
        other = inspect.getattr_static(tiktoken.Encoding, name)
        if name.startswith("_") or not inspect.isfunction(other):
            continue
        mine = inspect.signature(inspect.getattr_static(streamtok.Encoding, name))
        for parameter in inspect.signature(other).parameters.values():
            if parameter.annotation is not inspect.Parameter.empty:
                got = spelled_out(mine.parameters[parameter.name].annotation)
                assert parameter.annotation.split("[")[0] in got, name
        assert spelled_out(mine.return_annotation) == inspect.signature(other).return_annotation, name


def test_attributes_of_an_encoding(pair):
    _, ours, theirs = pair
    for name in vars(theirs):
        if name != "_core_bpe":
            assert getattr(ours, name) == getattr(theirs, name), name
    assert repr(ours) == repr(theirs)
    assert ours.special_tokens_set is ours.special_tokens_set


def test_attributes_that_programs_set_are_settable(tiny):
    enc = copy.copy(tiny)
    enc.name = "renamed"
    assert repr(enc) == "<Encoding 'renamed'>" and tiny.name == "tiny"
    with pytest.raises(AttributeError):
        enc.n_vocab = 5
    with pytest.raises(AttributeError):
        enc.eot_token = 5


# ==== Copying and pickling ====


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_registered_encoding_is_pickled_as_its_name(protocol):
    enc = streamtok.get_encoding("cl100k_base")
    data = pickle.dumps(enc, protocol)
    assert len(data) < 200
    assert pickle.loads(data) is enc  # where tiktoken makes another object that shares its __dict__


def test_other_encoding_is_pickled_whole(tiny):
    theirs = tiktoken.Encoding(
        "tiny", pat_str=tiny._pat_str, mergeable_ranks=tiny._mergeable_ranks, special_tokens=tiny._special_tokens
    )
    state, other = tiny.__getstate__(), theirs.__getstate__()
    assert {key: state[key] for key in other} == other
    assert pickle.loads(pickle.dumps(tiny)) is tiny  # this process knows it
    from_tiktoken = streamtok.Encoding.__new__(streamtok.Encoding)
    from_tiktoken.__setstate__(other)  # a state from tiktoken
    assert from_tiktoken.encode("abc abc") == tiny.encode("abc abc")


@pytest.mark.parametrize("twin_of", [copy.copy, copy.deepcopy])
def test_copies_encode_the_same(tiny, twin_of):
    for enc in (tiny, streamtok.get_encoding("r50k_base")):
        twin = twin_of(enc)
        assert twin.name == enc.name and twin.encode_ordinary("abc 中") == enc.encode_ordinary("abc 中")
        assert twin.special_tokens_set == enc.special_tokens_set and twin.n_vocab == enc.n_vocab


def test_engine_survives_pickling(tiny):
    enc = streamtok.Encoding(
        "other", pat_str=tiny._pat_str, mergeable_ranks=tiny._mergeable_ranks, special_tokens={}, engine="reference"
    )
    assert pickle.loads(pickle.dumps(enc))._engine == "reference"


def test_name_that_is_registered_but_another_encoding_is_pickled_whole(tiny):
    enc = streamtok.Encoding(
        "cl100k_base", pat_str=tiny._pat_str, mergeable_ranks=tiny._mergeable_ranks, special_tokens={}
    )
    assert pickle.loads(pickle.dumps(enc)).n_vocab == enc.n_vocab < 1000


# ==== Functions ====


def test_models_get_tiktokens_encodings():
    for model, name in tiktoken.model.MODEL_TO_ENCODING.items():
        assert streamtok.encoding_name_for_model(model) == name == tiktoken.encoding_name_for_model(model)
    for prefix, name in tiktoken.model.MODEL_PREFIX_TO_ENCODING.items():
        assert streamtok.encoding_name_for_model(prefix + "some-day") == name
    assert streamtok.encoding_for_model("gpt-4o") is streamtok.get_encoding("o200k_base")
    for module in (streamtok, tiktoken):
        with pytest.raises(KeyError):
            module.encoding_name_for_model("no such model")


def test_program_written_for_tiktoken_runs():
    """The examples of tiktoken's README and docstrings."""
    enc = streamtok.get_encoding("gpt2")
    assert enc.encode("hello world") == [31373, 995]
    assert enc.encode("<|endoftext|>", allowed_special={"<|endoftext|>"}) == [50256]
    assert enc.encode("<|endoftext|>", allowed_special="all") == [50256]
    assert enc.encode("<|endoftext|>", disallowed_special=()) == [27, 91, 437, 1659, 5239, 91, 29]
    assert enc.encode_ordinary_batch(["hello world", "goodbye world"]) == [[31373, 995], [11274, 16390, 995]]
    assert enc.encode_single_token("hello") == 31373
    assert enc.decode_bytes([31373, 995]) == b"hello world"
    assert enc.decode_tokens_bytes([31373, 995]) == [b"hello", b" world"]
    assert enc.decode_with_offsets([31373, 995]) == ("hello world", [0, 5])
    assert enc._encode_single_piece("helloqqqq") == [31373, 38227, 38227]
    assert enc.n_vocab == 50257 and enc.eot_token == 50256


def test_extending_an_encoding_as_tiktokens_readme_shows():
    """Through the private attributes that it tells to use."""
    base = streamtok.get_encoding("cl100k_base")
    enc = streamtok.Encoding(
        name="cl100k_im",
        pat_str=base._pat_str,
        mergeable_ranks=base._mergeable_ranks,
        special_tokens={**base._special_tokens, "<|im_start|>": 100264, "<|im_end|>": 100265},
    )
    ids = enc.encode("<|im_start|>hello<|im_end|>", allowed_special="all")
    assert ids == [100264, *base.encode("hello"), 100265]


def test_encode_bytes_is_tiktokens(family):
    """Encoding._encode_bytes, private in tiktoken, for bytes that are not UTF-8."""
    import random

    import nasty

    _, ours, theirs = family
    rng = random.Random(3)
    for data in [b"", b"abc", "中文".encode()[:-1], b" \xff", *nasty.random_bytes(rng, 600)]:
        assert ours._encode_bytes(data) == theirs._encode_bytes(data), data


def test_oracle_has_the_ranks_that_tiktoken_would_download():
    """sha256 of the rank files, as tiktoken's own constructors state them."""
    import base64
    import hashlib

    source = inspect.getsource(pytest.importorskip("tiktoken_ext.openai_public"))
    for name in ("r50k_base", "p50k_base", "cl100k_base", "o200k_base"):
        ranks = oracle.ours(name)._mergeable_ranks
        lines = b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items())
        assert hashlib.sha256(lines).hexdigest() in source, name
