"""The look-alike of tokenizers.Tokenizer beside the original: encodings, decoding, settings, changes."""

from __future__ import annotations

import copy
import json
import pickle
import random

import oracle
import pytest
from kinds_of_tokenizers import CHANGES, KINDS, NAMES, llama3
from tokenizers import AddedToken, decoders, normalizers
from tokenizers import Tokenizer as Original
from twins import FIELDS, outcome, random_inputs

from streamtok.integrations import inputs, places
from streamtok.integrations.tokenizers import DecodeStream, Tokenizer


@pytest.fixture(autouse=True)
def all_lengths(monkeypatch):
    monkeypatch.setattr(inputs, "SHORT", 0)


COUNT = {"default": 60, "ci": 600, "long": 6000}[oracle.PROFILE]


def both(made):
    text = json.dumps(made)
    return Tokenizer.from_str(text), Original.from_str(text)


def facts(found):
    """Of an Encoding, or of what was raised."""
    if isinstance(found, tuple):
        return found
    made = [getattr(found, name) for name in FIELDS] + [len(found), found.n_sequences, len(found.overflowing)]
    return made + [found.char_to_token(2), found.token_to_chars(0), found.word_to_tokens(0)]


@pytest.mark.parametrize("kind", KINDS)
def test_random_calls(kind):
    ours, theirs = both(KINDS[kind]())
    rng = random.Random(3)
    for _ in range(COUNT):
        if rng.random() < 0.2:
            side = rng.choice(("left", "right"))
            padding = {"direction": side, "pad_id": 3, "length": rng.choice((None, 9, 20)), "pad_token": "<pad>"}
            cut = {"max_length": rng.choice((1, 4, 8)), "stride": rng.choice((0, 0, 1)), "direction": side}
            for tok in (ours, theirs):
                tok.enable_padding(**padding) if padding["length"] else tok.no_padding()
                tok.enable_truncation(**cut) if cut["max_length"] > 1 else tok.no_truncation()
            assert (ours.padding, ours.truncation) == (theirs.padding, theirs.truncation)
        arguments, split = random_inputs(rng, NAMES)
        options = {"is_pretokenized": bool(split), "add_special_tokens": rng.random() < 0.7}
        method = rng.choice(("encode_batch", "encode_batch", "encode_batch_fast", "encode"))
        if method != "encode":
            arguments = (list(zip(*arguments)) if len(arguments) == 2 else arguments[0],)
        wanted = outcome(getattr(theirs, method), *arguments, **options)
        found = outcome(getattr(ours, method), *arguments, **options)
        if isinstance(wanted, list):
            assert [each.ids for each in found] == [each.ids for each in wanted]
            assert list(map(facts, found)) == list(map(facts, wanted)), (arguments, options)
            rows = [each.ids for each in wanted]
            assert ours.decode_batch(rows) == theirs.decode_batch(rows)
        else:
            assert facts(found) == facts(wanted), (arguments, options)
    served = ours.reasons
    assert served.pop("") > 2 * sum(served.values()), served


def test_the_rest_is_that_of_the_original(tmp_path):
    ours, theirs = both(llama3())
    ours.save(str(tmp_path / "ours.json"))
    for tok in (ours, theirs):
        tok.normalizer = normalizers.Lowercase()
        tok.post_processor = None
        assert tok.add_tokens([AddedToken("ell", lstrip=True)]) == 1 and tok.add_special_tokens(["<new>"]) == 1
    for call in (
        lambda tok: tok.get_vocab(),
        lambda tok: tok.get_vocab_size(with_added_tokens=False),
        lambda tok: sorted(tok.get_added_tokens_decoder()),
        lambda tok: (tok.token_to_id("<x>"), tok.token_to_id("?!"), tok.id_to_token(3)),
        lambda tok: tok.num_special_tokens_to_add(True),
        lambda tok: tok.to_str(),
        lambda tok: tok.encode("HELLO <new> h ell").ids,
        lambda tok: outcome(tok.decode, [1, 99999999]),
        lambda tok: outcome(tok.encode, 5),
        lambda tok: outcome(tok.nothing),
    ):
        assert outcome(call, ours) == outcome(call, theirs)
    assert Tokenizer.from_file(str(tmp_path / "ours.json")).encode("hello").ids == both(llama3())[1].encode("hello").ids


@pytest.mark.filterwarnings("ignore:.*is not supported:UserWarning")
@pytest.mark.parametrize("name", ["add_tokens of the backend", "normalizer", "a part of it in place", "another model"])
def test_changes(name):
    ours, theirs = both(llama3())
    text = "hello Hello <x> Größe cello"
    for tok in (ours, theirs):
        before = tok.encode(text)

        class Owner:
            backend_tokenizer = tok

        CHANGES[name](Owner, tok, tok.pre_tokenizer)
        assert before.ids == theirs.from_str(json.dumps(llama3())).encode(text).ids
    assert facts(ours.encode(text)) == facts(theirs.encode(text))
    assert ours.reasons[""] == 2 or name == "a part of it in place"  # that one is not supported


def test_arguments_of_other_types():
    ours, theirs = both(llama3())
    batches = (["hello", "x"], None, "ab", ("a", "b"), [5], iter("a"))
    given = {
        "encode": ("hello there", None, 5, ["a"]),
        "encode_batch": batches,
        "encode_batch_fast": batches,
        "decode": ([66, 67], None, "ab", 5, [True], [1.0], [-1], [1 << 40], (66,)),
        "decode_batch": ([[66], [67]], None, [5], [None], ([66],), [[66], "x"]),
    }
    for method, values in given.items():
        names = ("skip_special_tokens",) if "decode" in method else ("add_special_tokens", "is_pretokenized")
        for options in ({}, *({name: value} for name in names for value in (None, 0, 1, "x"))):
            for value in values:
                found, wanted = (outcome(getattr(tok, method), value, **options) for tok in (ours, theirs))
                found, wanted = map(ids_of, (found, wanted))
                assert found == wanted, (method, value, options)


def ids_of(found):
    if isinstance(found, list):
        return [getattr(each, "ids", each) for each in found]
    return getattr(found, "ids", found)


def test_what_is_not_supported_is_said_once():
    made = llama3()
    made["model"]["dropout"] = 0.5
    ours = both(made)[0]
    with pytest.warns(UserWarning, match=r"not supported: model\.dropout") as warned:
        assert ours.decode(ours.encode("hello").ids) == "hello"
    assert len(warned) == 1
    ours.normalizer = normalizers.Lowercase()
    copy.deepcopy(ours).encode("hello")  # no second time


def test_encodings_that_change_and_travel():
    ours, theirs = both(llama3())
    for made in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)):
        assert made.encode("hello <x>").ids == theirs.encode("hello <x>").ids and made.reasons == {"": 1}
    found, wanted = ours.encode("hello there you"), theirs.encode("hello there you")
    found.ids.append(5)
    for each in (found, wanted):
        each.truncate(4)
        each.pad(6, pad_id=9)
    assert facts(found) == facts(wanted) and facts(pickle.loads(pickle.dumps(found))) == facts(wanted)
    with pytest.raises(ValueError, match="num_threads"):
        Tokenizer(theirs, num_threads=0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_of_ids(kind):
    ours, theirs = both(KINDS[kind]())
    rng = random.Random(4)
    for skip in (False, True):
        text = "Größe 東京 😀 <x> hello <s>" * 3
        ids = theirs.encode(text).ids
        ids[5:9] = [rng.randrange(250) for _ in range(4)]
        prompt = ids[: rng.randrange(3)]
        streams = DecodeStream(prompt, skip), decoders.DecodeStream(ids=prompt, skip_special_tokens=skip)
        for token in [*ids, ids[3:7], *ids[:4]]:
            found = [outcome(stream.step, tok, token) for stream, tok in zip(streams, (ours, theirs))]
            assert found[0] == found[1] or (found[0][0] is Exception and found[1][1].startswith(found[0][1][:26]))
            if isinstance(found[0], tuple):
                break


def test_copies_of_a_stream_go_their_own_ways():
    ours, theirs = both(llama3())
    ids = theirs.encode("Größe 東京 😀 hello").ids
    for kind, tok in ((DecodeStream, ours), (decoders.DecodeStream, theirs)):
        stream = kind(ids[:2])
        stream.step(tok, ids[2])
        found = []
        for make in (copy.copy, copy.deepcopy):
            twin = make(stream)
            first = [twin.step(tok, token) for token in ids[3:6]]
            found.append((first, [make(twin).step(tok, token) for token in (ids[6], ids[6])]))
        rest = [stream.step(tok, token) for token in ids[3:6]]
        assert [each[0] for each in found] == [rest, rest]
        assert all(each[1][0] == each[1][1] for each in found)


def test_the_text_of_a_tokenizer():
    """str() is shorter than repr() where there are many tokens."""
    ours, theirs = both(llama3())
    assert (str(ours), repr(ours)) == (str(theirs), repr(theirs)) and str(ours) != repr(ours)


def test_a_post_processor_that_trims_stands_in_front_of_others():
    trims = {"type": "ByteLevel", "trim_offsets": True, "add_prefix_space": True}
    assert places._trimming({"type": "Sequence", "processors": [trims, {"type": "TemplateProcessing"}]}) == [True]
    with pytest.raises(ValueError, match="trims places of tokens that another one has put there"):
        places._trimming({"type": "Sequence", "processors": [{"type": "TemplateProcessing"}, trims]})
