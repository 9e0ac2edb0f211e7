"""Which encoding a model uses, as in tiktoken."""

import pytest

import streamtok
from streamtok import model


def test_models_and_prefixes():
    assert model.encoding_name_for_model("gpt-4o") == "o200k_base"
    assert model.encoding_name_for_model("gpt-4o-2024-05-13") == "o200k_base"
    assert model.encoding_name_for_model("gpt-4-0314") == "cl100k_base"
    assert model.encoding_name_for_model("gpt-3.5-turbo-FAKE") == "cl100k_base"
    assert model.encoding_name_for_model("ft:gpt-4o-mini:org") == "o200k_base"
    assert model.encoding_name_for_model("ft:gpt-4:org") == "cl100k_base"
    assert model.encoding_name_for_model("gpt-oss-120b") == "o200k_harmony"
    assert model.encoding_name_for_model("text-davinci-edit-001") == "p50k_edit"
    assert model.encoding_name_for_model("gpt2") == "gpt2"


def test_every_model_has_an_encoding():
    names = set(streamtok.list_encoding_names())
    assert set(model.MODEL_TO_ENCODING.values()) | set(model.MODEL_PREFIX_TO_ENCODING.values()) <= names


def test_encoding_for_model():
    assert model.encoding_for_model("davinci") is streamtok.get_encoding("r50k_base")
    assert streamtok.encoding_for_model("gpt2").name == "gpt2"


@pytest.mark.parametrize("call", [model.encoding_name_for_model, model.encoding_for_model])
def test_unknown_model(call):
    with pytest.raises(KeyError, match="Could not automatically map gpt-x to a tokeniser"):
        call("gpt-x")


def test_tables_are_those_of_tiktoken():
    theirs = pytest.importorskip("tiktoken.model", reason="tiktoken is the oracle here")
    assert model.MODEL_TO_ENCODING == theirs.MODEL_TO_ENCODING
    # As lists: the order of the prefixes decides.
    assert list(model.MODEL_PREFIX_TO_ENCODING.items()) == list(theirs.MODEL_PREFIX_TO_ENCODING.items())
    with pytest.raises(KeyError) as caught:
        theirs.encoding_name_for_model("gpt-x")
    with pytest.raises(KeyError) as ours:
        model.encoding_name_for_model("gpt-x")
    assert ours.value.args[0] == caught.value.args[0].replace("tiktoken", "streamtok")
