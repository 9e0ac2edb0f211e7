"""Encoding.from_file: small files made with Hugging Face's tokenizers give its ids; what is not certain is refused."""

from __future__ import annotations

import copy
import json
import pickle
import random
import subprocess
import sys
from itertools import pairwise

import pytest
from small_models import BOS, EOS, LLAMA3, TEXT_STEP, Both, added, record, refusal, template, texts

from streamtok import Encoding, VocabularyError

LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def split(pattern: str, behavior: str = "Isolated", invert: bool = False) -> dict[str, object]:
    step = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}
    return {"type": "Sequence", "pretokenizers": [step, LEVEL]}


def steps(*parts: object) -> dict[str, object]:
    return {"type": "Sequence", "pretokenizers": list(parts)}


# ==== What loads ====


@pytest.mark.parametrize(
    "pre",
    [
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False},  # as files were before use_regex
        LEVEL,
        split(LLAMA3),
        split(LLAMA3, "Removed", True),
        split(LLAMA3, "Isolated", True),
        split(r"\p{L}+|\s+", "Removed", True),
        {"type": "Sequence", "pretokenizers": [{"type": "Sequence", "pretokenizers": []}, split(LLAMA3)]},
        split(r"\p{L}+|\d"),  # what it does not match are pieces, too
        split(r"\p{L}+|\d", "Removed"),
        split(r"[\s.]", "MergedWithPrevious"),
        split(r"[\s.]", "MergedWithNext"),
        split(r"\w", "Contiguous"),
        split(r"\p{N}{1,3}+"),  # Oniguruma's: any number of them
        steps({"type": "Digits", "individual_digits": True}, {**LEVEL, "use_regex": True}),
        steps({"type": "Digits", "individual_digits": False}, {"type": "Punctuation", "behavior": "Contiguous"}, LEVEL),
        steps({"type": "Whitespace"}, LEVEL),
        steps({"type": "WhitespaceSplit"}, {"type": "Punctuation", "behavior": "Isolated"}, LEVEL),
        steps({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithNext", "invert": False}, LEVEL),
        steps(split(r"\p{N}{1,3}")["pretokenizers"][0], split(r"[a-e]+")["pretokenizers"][0], split(LLAMA3)),
    ],
)
def test_splits(tmp_path, pre):
    Both.of(tmp_path, record(pre_tokenizer=pre)).check(texts(1, 300))


def test_merges_as_strings(tmp_path):
    made = record()
    made["model"]["merges"] = [" ".join(merge) for merge in made["model"]["merges"]]
    Both.of(tmp_path, made).check(texts(2, 100))


def every_split(made):
    """The same tokens with a merge for each way to cut a token in two, in the order of ids, as some files have them."""
    vocab = made["model"]["vocab"]
    merges = [
        [token[:i], token[i:]]
        for token in sorted(vocab, key=vocab.get)
        for i in range(1, len(token))
        if token[:i] in vocab and token[i:] in vocab
    ]
    assert len(merges) > len(made["model"]["merges"])
    made["model"]["merges"] = merges
    return made


def test_a_merge_for_each_way_to_cut_a_token(tmp_path):
    Both.of(tmp_path, every_split(record(model_ignore_merges=True))).check(texts(3, 300))
    Both.of(tmp_path, every_split(record())).check(texts(4, 300))


@pytest.mark.parametrize("seed", range(4))
def test_merges_in_any_order(tmp_path, seed):
    made, rng = record(model_ignore_merges=seed == 3), random.Random(seed)
    if seed % 2:
        every_split(made)
    rng.shuffle(made["model"]["merges"])
    made["model"]["merges"] += rng.sample(made["model"]["merges"], 9)
    Both.of(tmp_path, made).check(texts(seed, 300))


@pytest.mark.parametrize("ignore", [False, True])
def test_tokens_that_no_merge_makes(tmp_path, ignore):
    """With ignore_merges they are found as whole pieces, else never."""
    made = record(model_ignore_merges=ignore)
    vocab = made["model"]["vocab"]
    for token in ("Ġqqq", "zzxz", "东", "<unused>", "ĠĠxqĠ"):
        vocab[token] = len(vocab)
    both = Both.of(tmp_path, made)
    both.check(["qqq qqq", " qqq", "zzxz", "zzxz1", "东", "a <unused>", *texts(5, 200, " qqq", "zzxz", "<unused>")])
    for token in ("Ġqqq", "zzxz", "东", "<unused>"):
        assert both.enc.decode([vocab[token]]) == both.reference.decode([vocab[token]])


def test_byte_fallback_means_nothing_where_text_begins_as_bytes(tmp_path):
    Both.of(tmp_path, record(model_byte_fallback=True, model_unk_token="a")).check(texts(6, 100))


def test_ids_with_gaps(tmp_path):
    made = record()
    made["model"]["vocab"] = {token: 3 * number for token, number in made["model"]["vocab"].items()}
    Both.of(tmp_path, made).check(texts(6, 100))


def test_ids_that_start_with_long_tokens(tmp_path):
    """Single bytes may have any ids: they do not merge."""
    made = record()
    size = len(made["model"]["vocab"])
    vocab = {token: (number - 256) % size for token, number in made["model"]["vocab"].items()}
    made["model"]["vocab"] = vocab
    Both.of(tmp_path, made).check(texts(7, 100))


# ==== Added tokens ====


def test_added_tokens(tmp_path):
    made = added(record(), "<s>", "</s>", "<|im_start|>", special=True)
    made = added(made, "<think>", "<thinking>", " b", "1 1", "<|im", "éé", "中中")
    made = added(made, "hello", "the")  # that of the first is new, that of the second in the vocabulary, perhaps
    names = [token["content"] for token in made["added_tokens"]]
    both = Both.of(tmp_path, made)
    both.check(texts(8, 1500, *names))
    both.check(["<s>", "<s><s>", "a<think>", "<thinkin", "<thinking>g", "x<|im_start|>y<|im_star", "éé", "caféé"])
    assert both.enc.special_tokens_set == {"<s>", "</s>", "<|im_start|>"}


def test_plain_added_tokens_are_found_whatever_is_allowed(tmp_path):
    both = Both.of(tmp_path, added(added(record(), "<s>", special=True), "<x>"))
    enc, (special, plain) = both.enc, (both.reference.token_to_id(name) for name in ("<s>", "<x>"))
    for ids in (
        enc.encode("a<x>b"),
        enc.encode("a<x>b", disallowed_special=()),
        enc.encode_ordinary("a<x>b"),
        enc.encode_ordinary_batch(["a<x>b"])[0],
        enc.encode("a<x>b", allowed_special={"<s>"}, disallowed_special=()),
        enc.encode_to_numpy(b"a<x>b").tolist(),
        [int(token) for part in enc.encode_stream(["a<", "x>", "b"]) for token in part],
    ):
        assert plain in ids and len(ids) == 3
    with pytest.raises(ValueError, match="disallowed special token '<s>'"):
        enc.encode("<x><s>")
    assert special not in enc.encode("<s>", disallowed_special=())
    assert enc.encode_single_token("<x>") == plain and not enc.is_special_token(plain)
    assert enc.decode([special, plain], skip_special_tokens=True) == "<x>"
    assert enc.decode_bytes([special, plain]) == b"<s><x>"
    ids, places = enc.encode_with_offsets("é<x>b")
    assert places.tolist()[-2:] == [1, 4] and plain in ids


def test_the_kinds_normalized_and_not_without_a_normalizer(tmp_path):
    made = added(added(record(), "<a>", "<ab>"), "<n>", "<an", normalized=True)
    Both.of(tmp_path, made).check(texts(9, 500, "<a>", "<an", "<n>", "<ab>"))
    made = added(added(record(), "cd"), "abc", normalized=True)  # the second is looked for behind the first
    Both.of(tmp_path, made).check(texts(10, 500, "abc", "cd", "abcd", "ab"))


def test_ids_of_added_tokens_are_those_of_the_reference(tmp_path):
    made = added(record(), "<x>", "<y>", "<z>", special=True)
    for token, other in zip(made["added_tokens"], (1, 9000, 2)):
        token["id"] = other
    with pytest.warns(UserWarning, match=r"'<x>' has id 1 there, and tokenizers gives it 420, .*\(3 tokens are so\)"):
        both = Both.of(tmp_path, made)
    both.check(texts(3, 100, "<x>", "<y>", "<z>"))
    assert pickle.loads(pickle.dumps(both.enc)).encode("<z>", allowed_special="all") == [422]
    assert both.enc.get_vocab() == both.reference.get_vocab(with_added_tokens=True)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"content": ""}, "empty"),
        ({"content": "\ud800"}, "surrogate"),
        ({"special": 1}, "true or false"),
        ({"id": -1}, "no id"),
        ({"id": True}, "whole number"),
        ({"flavour": "new"}, "no setting"),
        ({"single_word": 1}, "true or false"),
    ],
)
def test_added_tokens_that_are_refused(tmp_path, change, says):
    made = added(record(), "<x>")
    made["added_tokens"][0] |= change
    text = json.dumps(made)
    assert says in refusal(tmp_path, text) and "added_tokens[0]" in refusal(tmp_path, text)


def test_an_added_token_that_is_spelled_as_a_letter_is_refused(tmp_path):
    """To the reference it is the token of the vocabulary with the same letters, which stands for another byte."""
    assert "letters stand for other bytes" in refusal(tmp_path, added(record(), "é"))


def test_an_added_token_twice_is_refused(tmp_path):
    made = added(record(), "<x>")
    made["added_tokens"] *= 2
    assert "there twice" in refusal(tmp_path, made)


# ==== The template of a template ====

ENDS = {"sep": ["</s>", 6], "cls": ["<s>", 5]}


@pytest.mark.parametrize(
    ("post", "prefix", "suffix"),
    [
        (None, [], []),
        ({"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False}, [], []),
        (template(BOS, TEXT_STEP), [5], []),
        (template(BOS, BOS, TEXT_STEP, EOS), [5, 5], [6]),
        ({"type": "Sequence", "processors": [template(BOS, TEXT_STEP, EOS), LEVEL]}, [5], [6]),
        ({"type": "Sequence", "processors": [LEVEL, {**ENDS, "type": "BertProcessing"}]}, [5], [6]),
        ({**ENDS, "type": "BertProcessing"}, [5], [6]),
        ({**ENDS, "type": "RobertaProcessing", "trim_offsets": True, "add_prefix_space": False}, [5], [6]),
    ],
)
def test_templates(tmp_path, post, prefix, suffix):
    both = Both.of(tmp_path, record(post_processor=post))
    enc, rng = both.enc, random.Random(1)
    assert (enc.prefix_ids, enc.suffix_ids) == (prefix, suffix)
    for text in texts(10, 30, "<s>"):
        ids = both.reference.encode(text).ids
        options = {"allowed_special": "all", "add_special_tokens": True}
        assert enc.encode(text, **options) == ids
        assert enc.encode_to_numpy(text, **options).tolist() == ids
        assert enc.encode_to_numpy(text, dtype="int64", **options).tolist() == ids
        assert enc.count(text, **options) == len(ids)
        found, places = enc.encode_with_offsets(text, **options)
        assert found.tolist() == ids and len(places) == len(ids) and (places[1:] >= places[:-1]).all()
        stream, cut = enc.stream_encoder(**options), rng.randrange(len(text) + 1)
        first = stream.feed(text[:cut]).tolist()
        for each in (pickle.loads(pickle.dumps(stream)), copy.copy(stream), stream):
            rest = each.feed(text[cut:]).tolist()
            assert first + rest + each.flush().tolist() == ids
            assert each.feed("").tolist() == prefix  # the next text
    many = texts(11, 20)
    rows = [both.reference.encode(text).ids for text in many]
    assert enc.encode_batch(many, add_special_tokens=True) == rows
    ids, indptr = enc.encode_ragged(many, add_special_tokens=True)
    assert [ids[a:b].tolist() for a, b in pairwise(indptr)] == rows


def test_an_encoding_without_a_model_has_no_template():
    from streamtok import get_encoding

    enc = get_encoding("r50k_base")
    assert (enc.prefix_ids, enc.suffix_ids) == ([], [])
    assert enc.encode("a b", add_special_tokens=True) == enc.encode("a b")


@pytest.mark.parametrize(
    ("post", "says"),
    [
        (template(BOS), "holds that text once"),
        (template(TEXT_STEP, TEXT_STEP), "holds that text once"),
        (template(TEXT_STEP, {"SpecialToken": {"id": "<pad>", "type_id": 0}}), "not among the special_tokens"),
        ({"type": "TemplateProcessing", "pair": [], "special_tokens": {}}, "there is no 'single'"),
        ({"type": "Novel"}, "not supported"),
        (
            {"type": "Sequence", "processors": [template(BOS, TEXT_STEP), template(EOS, TEXT_STEP)]},
            "several post-processors",
        ),
    ],
)
def test_templates_that_are_refused(tmp_path, post, says):
    assert says in refusal(tmp_path, record(post_processor=post))


# ==== What is refused ====


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model_type": "Unigram"}, "model.dropout"),
        ({"model_type": "WordLevel"}, "model.dropout"),
        ({"model_dropout": 0.1}, "model.dropout"),
        ({"model_end_of_word_suffix": "中"}, "model.end_of_word_suffix"),
        ({"model_continuing_subword_prefix": "é"}, "model.continuing_subword_prefix"),
        ({"model_novel": 1}, "model.novel"),
        ({"novel": 1}, "novel"),
        ({"version": "2.0"}, "version"),
        ({"normalizer": {"type": "Novel"}}, "normalizer: the normalizer 'Novel'"),
        ({"pre_tokenizer": split(r"(a")}, "cannot be split so"),
        ({"pre_tokenizer": split(r"(a+)b\1")}, "cannot be split so"),
        ({"pre_tokenizer": {**LEVEL, "novel": 1}}, "pre_tokenizer.novel"),
        ({"pre_tokenizer": steps({"type": "Novel"}, LEVEL)}, "Novel"),
        ({"pre_tokenizer": split(LLAMA3, "Novel")}, "pretokenizers[0].behavior"),
        ({"decoder": {"type": "Novel"}}, "decoder: the decoder 'Novel'"),
    ],
)
def test_settings_that_are_refused(tmp_path, changes, says):
    assert says in refusal(tmp_path, record(**changes))


def test_lists_that_are_refused(tmp_path):
    def changed(change):
        made = record()
        change(made["model"]["vocab"], made["model"]["merges"])
        return refusal(tmp_path, made)

    assert "both have id" in changed(lambda vocab, merges: vocab.update(zzz=5))
    assert "no whole number" in changed(lambda vocab, merges: vocab.update(zzz=-1))
    assert "no whole number" in changed(lambda vocab, merges: vocab.update(zzz=1.5))
    assert "no whole number" in changed(lambda vocab, merges: vocab.update(zzz=1 << 31))
    assert "ids go from 0" in changed(lambda vocab, merges: vocab.update(zzz=1 << 30))
    assert "model.merges, entry 3" in changed(lambda vocab, merges: merges.__setitem__(3, ["q", "zz"]))
    assert "model.merges, entry 3" in changed(lambda vocab, merges: merges.__setitem__(3, ["q"]))
    assert "model.merges, entry 3" in changed(lambda vocab, merges: merges.__setitem__(3, "a b c"))


LEVELLED = '{"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true}, '
KEYED = LEVELLED + '"model": {"type": "BPE", "vocab": {"KEY": 1}, "merges": [["x", "y"]]}}'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "object"),
        ("{", "key"),
        ("[]", "object"),
        ("{}", "no 'model'"),
        ("null", "object"),
        ('{"model": 3}', "an object is needed"),
        (LEVELLED + '"model": {"type": "BPE"}}', "no 'vocab'"),
        (LEVELLED + '"model": {"type": "BPE", "vocab": {}}}', "no 'merges'"),
        (LEVELLED + '"model": {"type": "BPE", "vocab": {}, "merges": []}}', "no tokens"),
        (LEVELLED + '"model": {"type": "BPE", "vocab": {"a": 1, "a": 2}, "merges": []}}', "there twice"),
        (LEVELLED + '"model": {"type": "BPE", "vocab": {"a": 1}, "vocab": {}, "merges": []}}', "there twice"),
        *((KEYED.replace("KEY", key), "surrogate") for key in (r"\ud800", r"\udbff\ue000", r"\udc00\udc00", r"\udfff")),
        *((KEYED.replace("KEY", key), "what is no token") for key in (r"\ud7ff", r"\ue000", r"\uDBFF\uDFFF")),
        (LEVELLED + '"model": {"type": "BPE", "vocab": {"a": 1}, "merges": []}} x', "JSON"),
        ('{"version": "1.0", "version": "1.0", "model": {}}', "there twice"),
        ('{"version": ' + "[" * 100_000 + "]" * 100_000 + ', "model": {}}', "nested too deeply"),
        ('{"version": ' + "9" * 5000 + ', "model": {}}', "5000 digits"),
        ('{"version": NaN, "model": {}}', "NaN"),
    ],
)
def test_damaged_files(tmp_path, text, says):
    assert says in refusal(tmp_path, text)


def test_bytes_that_are_not_utf8(tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(json.dumps(record(), ensure_ascii=False).encode().replace(b"Word", b"W\xffrd", 1) + b"\xff")
    with pytest.raises(VocabularyError, match="not UTF-8"):
        Encoding.from_file(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        Encoding.from_file(tmp_path / "none.json")


def test_random_damage(tmp_path):
    """Bytes changed, lost and doubled, and cut files: VocabularyError, or an encoding that works."""
    made = added(record(300, pre_tokenizer=split(LLAMA3), post_processor=template(BOS, TEXT_STEP)), "<x>", special=True)
    whole, rng = json.dumps(made, ensure_ascii=False).encode(), random.Random(12)
    path = tmp_path / "tokenizer.json"
    marks = b'"{}[],:0\\\xc4\x00 '
    loaded = 0
    for _ in range(1500):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(data))
            kind = rng.random()
            if kind < 0.4:
                data[at] = rng.choice(marks)
            elif kind < 0.6:
                data[at] = rng.randrange(256)
            elif kind < 0.8:
                del data[at : at + rng.choice([1, 1, 2, 50])]
            elif kind < 0.95:
                data[at:at] = data[at : at + rng.choice([1, 5, 50])]
            else:
                del data[at:]
        path.write_bytes(data)
        try:
            enc = Encoding.from_file(path)
        except VocabularyError as error:
            assert error.path == str(path)
        else:
            enc.decode(enc.encode("hello <x> 12345", disallowed_special=(), add_special_tokens=True))
            loaded += 1
    assert 0 < loaded < 750


# ==== Normalizers ====

NORMALIZERS = [
    {"type": "NFC"},
    {"type": "NFKC"},
    {"type": "Lowercase"},
    {"type": "Prepend", "prepend": "_"},
    {"type": "Strip", "strip_left": True, "strip_right": False},
    {"type": "Replace", "pattern": {"String": "ll"}, "content": "L"},
    {"type": "Sequence", "normalizers": []},
    {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]},
]


@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_normalizers(tmp_path, normalizer):
    made = added(record(normalizer=normalizer, pre_tokenizer=split(LLAMA3)), "<s>", special=True)
    marks = ("e\u0301", "\u1100\u1161\u11a8", "ﬁ", "Å", "\u0323\u0307", "ll", "  ")
    both = Both.of(tmp_path, added(made, "<x>", " <X>"))
    both.check(texts(30, 300, *marks, "<x>", "<s>", " <X>"))
    ids, places = both.enc.encode_with_offsets("ae\u0301b")
    assert len(ids) == len(places) and pickle.loads(pickle.dumps(both.enc)) is both.enc


@pytest.mark.parametrize(
    ("normalizer", "says"),
    [
        ({"type": "Replace", "pattern": {"Regex": "a*|bc"}, "content": "b"}, "normalizer.pattern"),
        ({"type": "Replace", "pattern": {"String": ""}, "content": "b"}, "normalizer.pattern"),
        ({"type": "NFC", "novel": 1}, "normalizer.novel"),
        ({"type": "Strip", "strip_left": True}, "no 'strip_right'"),
        ({"type": "Precompiled", "precompiled_charsmap": "?"}, "precompiled_charsmap: it is no compiled map"),
    ],
)
def test_normalizers_that_are_refused(tmp_path, normalizer, says):
    assert says in refusal(tmp_path, record(normalizer=normalizer))


# ==== Identity ====


def test_pickles_and_copies(tmp_path):
    both = Both.of(tmp_path, added(added(record(), "<s>", special=True), "<x>"))
    enc = both.enc
    assert pickle.loads(pickle.dumps(enc)) is enc
    other = copy.copy(enc)
    other.name = "other"
    assert other.encode("a<x>") == enc.encode("a<x>") and other.fingerprint == enc.fingerprint
    (tmp_path / "pickle").write_bytes(pickle.dumps(enc))
    code = (
        "import pickle; enc = pickle.load(open('pickle', 'rb'));"
        "print(enc.encode('a<x><s> hello', allowed_special='all'), enc.fingerprint)"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout.split("] ") == [
        str(enc.encode("a<x><s> hello", allowed_special="all"))[:-1], enc.fingerprint + "\n"
    ]  # fmt: skip


def test_fingerprints_tell_what_decides_ids(tmp_path):
    makers = [
        record(),
        added(record(), "<x>"),
        added(record(), "<x>", special=True),
        record(model_ignore_merges=True),
        record(post_processor=template(BOS, TEXT_STEP)),
    ]
    found = {Both.of(tmp_path, made).enc.fingerprint for made in makers}
    assert len(found) == len(makers)


def test_a_subclass_can_be_loaded_copied_and_pickled(tmp_path):
    Both.of(tmp_path, record())
    enc = Mine.from_file(tmp_path / "tokenizer.json")
    assert isinstance(enc, Mine) and type(copy.copy(enc)) is Mine
    assert pickle.loads(pickle.dumps(enc)).encode("hello") == enc.encode("hello")


class Mine(Encoding):
    pass


def test_offsets_where_text_is_in_no_piece(tmp_path):
    both = Both.of(tmp_path, added(record(pre_tokenizer=split(r"\s+|b", "Removed")), "<x>"))
    for text in ("a  béc\n<x> d", "  ", "bbb<x>", "éé b é"):
        expected = both.reference.encode(text, add_special_tokens=False)
        ids, places = both.enc.encode_with_offsets(text)
        assert (ids.tolist(), places.tolist()) == (expected.ids, [start for start, _ in expected.offsets])
