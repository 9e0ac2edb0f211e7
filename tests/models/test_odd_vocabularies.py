"""Older files: without tokens of bytes that no text has, with a token of no text, with steps behind ByteLevel."""

from __future__ import annotations

import copy
import functools
import json
import pickle
import random

import nasty
import pytest
from small_models import LLAMA3, Both, added, record, refusal, split_by, texts
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from streamtok import Encoding, VocabularyError
from streamtok.gpu._fits import family_or_reason
from streamtok.train import save

LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
NEVER = bytes([0xC0, 0xC1, *range(0xF5, 0x100)])
LETTERS = "¹²³¼½¾§¶·«»ñòùüóéß йжабвгмнолп 中文 1234567 v2.10 x²y³ а1б22в333 ǲȲ²1 12²34 !ò?«a»"


def without(made, *letters: str):
    """The same vocabulary without these tokens, the ids of the others close together."""
    rest = [name for name in made["model"]["vocab"] if name not in letters]
    made["model"]["vocab"] = {name: number for number, name in enumerate(rest)}
    return made


def letter(byte: int) -> str:
    return next(c for c, value in zip(*_alphabet()) if value == byte)


@functools.cache
def _alphabet() -> tuple[list[str], list[int]]:
    shown = [byte for byte in range(256) if chr(byte).isprintable() and byte != 32]
    rest = [byte for byte in range(256) if byte not in shown]
    return [*map(chr, shown), *(chr(256 + i) for i in range(len(rest)))], shown + rest


def test_bytes_that_no_text_has_need_no_tokens(tmp_path, monkeypatch):
    made = without(record(pre_tokenizer=split_by(LLAMA3)), *map(letter, NEVER))
    both = Both.of(tmp_path, added(made, "<x>", special=True))
    both.check(texts(1, 300, "<x>"))
    enc = both.enc
    size = len(made["model"]["vocab"])
    assert enc.n_vocab == size + 1 and len(enc.token_byte_values()) == size and enc._vocab.count == size
    with pytest.raises(KeyError):
        enc.encode_single_token(b"\xff")
    with pytest.raises(KeyError):
        enc.decode([max(enc._packed.ranks)])
    for call in (enc._encode_single_piece, enc._encode_by_merging):
        with pytest.raises(ValueError, match="no token of this vocabulary"):
            call(b"a\xff")
    saved = json.loads((save(enc, tmp_path / "saved.json"), (tmp_path / "saved.json").read_text())[1])
    assert saved["model"]["vocab"] == made["model"]["vocab"]
    other = Both(tmp_path / "saved.json")
    other.check(texts(2, 50, "<x>"))
    again = pickle.loads(pickle.dumps(enc))
    assert again.n_vocab == size + 1 and again.encode("hello über") == enc.encode("hello über")
    assert family_or_reason(enc)[0] == "llama3"


def test_text_with_a_byte_that_is_no_token_is_an_error(tmp_path):
    """The reference leaves such characters out, and merges what is beside them."""
    made = without(record(pre_tokenizer=split_by(LLAMA3)), *map(letter, [0x03, 0x0B, 0xF2, 0xFF]))
    both = Both.of(tmp_path, made)
    enc = both.enc
    assert both.lacking == {0x03, 0x0B, 0xF2, 0xFF}
    both.check(texts(5, 200, "\x03"))
    for text in ("\x03", "hello \x03 there", "a\x0b", "\U000a0000" * 50, "a" * 100_000 + "\x03"):
        calls = enc.encode, enc.encode_ordinary, enc.count, enc.encode_with_offsets, enc.encode_to_numpy
        for call in (*calls, lambda text: enc.encode_batch(["a" * 300_000, text], num_threads=2)):
            with pytest.raises(ValueError, match="no token of this vocabulary"):
                call(text)
    stream = enc.stream_encoder()
    ids = stream.feed("hello there, ").tolist()
    with pytest.raises(ValueError, match="no token of this vocabulary"):
        stream.feed("how are \x03 you? ")
    ids += stream.feed("how are you?").tolist() + stream.flush().tolist()
    assert ids == enc.encode("hello there, how are you?")  # the failing chunk left nothing behind
    assert family_or_reason(enc)[0] == "llama3"  # a device leaves such a text to the core, which has the error


def test_common_bytes_may_be_missing(tmp_path):
    """Where no token is in their place they are left out, and what stands beside them merges."""
    made = without(record(), "a")
    made["model"]["merges"] = [pair for pair in made["model"]["merges"] if "a" not in pair]
    both = Both.of(tmp_path, made)
    both.check([*texts(3, 100, "a", "ha ha"), "tahe", "hae"])
    assert both.enc.encode("ahe") == both.enc.encode("he")


def test_a_model_whose_type_is_left_out(tmp_path):
    """Old files do so; what members a model has tells its type."""
    made = record()
    del made["model"]["type"]
    Both.of(tmp_path, made).check(texts(3, 50))
    tok = Tokenizer(models.WordPiece(vocab={"[UNK]": 0, "a": 1, "##b": 2, "b": 3}, unk_token="[UNK]"))
    tok.pre_tokenizer, tok.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    made = json.loads(tok.to_str())
    del made["model"]["type"]
    Both.of(tmp_path, made).check(["ab b ab!", "abb x"])
    del made["model"]["max_input_chars_per_word"]
    assert "'continuing_subword_prefix' is no setting" in refusal(tmp_path, made)
    del made["model"]["continuing_subword_prefix"]  # then it is of type WordLevel
    Both.of(tmp_path, made | {"decoder": None}).check(["ab b ab!", "abb a"])
    pieces = {"unk_id": 0, "vocab": [["a", 0.0], ["b", -1.0]]}
    Both.of(tmp_path, {**made, "model": pieces, "decoder": None, "added_tokens": []}).check(["ab", "b ba"])


@pytest.mark.parametrize("characters", [False, True])
def test_a_token_of_no_text_is_decoded_only(tmp_path, characters):
    if characters:
        names = [f"<0x{byte:02X}>" for byte in range(256)] + ["a", "b", "ab", ""]
        made = record(model_vocab={name: i for i, name in enumerate(names)}, model_merges=[["a", "b"]])
        made |= {"pre_tokenizer": None, "decoder": {"type": "ByteFallback"}}
        made["model"] |= {"byte_fallback": True, "unk_token": None}
    else:
        made = record()
        made["model"]["vocab"][""] = len(made["model"]["vocab"])
    number = made["model"]["vocab"][""]
    both = Both.of(tmp_path, added(made, "<x>"))
    both.check(["", "ab", "a<x>b", "abba"] if characters else texts(4, 50, "<x>"))
    save(both.enc, tmp_path / "saved.json")
    for enc in (both.enc, pickle.loads(pickle.dumps(both.enc)), Encoding.from_file(tmp_path / "saved.json")):
        for ids in ([number], [number] * 3, [5, number, 6], [number, 256], [256, number]):
            assert enc.decode(ids) == both.reference.decode(ids, skip_special_tokens=False)
            stream = enc.stream_decoder()
            assert stream.feed(ids) + stream.flush() == enc.decode(ids)
        assert enc.decode_single_token_bytes(number) == b""


# ==== Steps behind ByteLevel ====


@functools.cache
def trained() -> str:
    """A model whose merges join the bytes of all these characters, whatever their letters are."""
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tok.decoder = decoders.ByteLevel()
    words = [
        *LETTERS.split(),
        *(" " + word for word in LETTERS.split()),
        "a1",
        "1a",
        "²1",
        "1²",
        "òa",
        "aò",
        "в1",
        "!!",
    ]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=700, initial_alphabet=alphabet, show_progress=False, min_frequency=1)
    tok.train_from_iterator(words * 3, trainer)
    return str(tok.to_str())


def step(pattern: str, behavior: str = "Isolated", invert: bool = False, kind: str = "Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


BEHAVIORS = "Isolated", "Contiguous", "MergedWithPrevious", "MergedWithNext"
PUNCTUATION = {"type": "Punctuation", "behavior": "Contiguous"}
FALCON = [PUNCTUATION, LEVEL, {"type": "Digits", "individual_digits": False}, step("[0-9][0-9][0-9]")]


@pytest.mark.parametrize(
    "steps",
    [
        FALCON,
        [LEVEL, {"type": "Digits", "individual_digits": True}],
        [LEVEL, step("[0-9]{2}"), {"type": "Digits", "individual_digits": False}],
        [LEVEL, {"type": "Digits", "individual_digits": False}, step("a1|12+")],
        [LEVEL, {"type": "Digits", "individual_digits": True}, *({**PUNCTUATION, "behavior": b} for b in BEHAVIORS)],
        [LEVEL, step(r"\p{Lu}+", "Contiguous")],
        [LEVEL, step(r"[Ã²a]", "MergedWithPrevious", True), step("Ġ", "MergedWithNext", kind="String")],
        *([{**LEVEL, "use_regex": False}, step(r"[\p{N}Ð½a]", b, i)] for b in BEHAVIORS for i in (False, True)),
    ],
)  # fmt: skip
def test_steps_behind_byte_level(tmp_path, steps):
    made = json.loads(trained())
    made["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}
    both = Both.of(tmp_path, added(made, "<x>"))
    rng = random.Random(7)
    both.check(
        [LETTERS, *nasty.random_strings(rng, 150, 14, [*LETTERS, "<x>", "1", "a", " ", "!", "\n", "😀", "ò", "в"])]
    )
    save(both.enc, tmp_path / "saved.json")
    Both(tmp_path / "saved.json").check([LETTERS])


def test_a_step_behind_byte_level_goes_with_ignore_merges(tmp_path):
    made = json.loads(trained())
    made["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": FALCON}
    made["model"]["ignore_merges"] = True
    for name in ("qzq", "Ġqzq", "12", "3qz"):  # tokens that no merge makes
        made["model"]["vocab"].setdefault(name, len(made["model"]["vocab"]))
    both = Both.of(tmp_path, made)
    both.check([*texts(9, 400, "qzq", " qzq", "12", "123qz", "3qz"), "qzq 12 3qz", " qzq", "1234567"])


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("normalizer", [None, {"type": "Lowercase"}])
def test_an_added_token_that_does_not_count_is_a_piece_that_is_taken_whole(tmp_path, normalizer, special):
    """With ignore_merges, of tokens that no merge makes: beside a word, in a name there, made by a normalizer."""
    made = record(normalizer=normalizer, model_ignore_merges=True)
    for name in ("qzq", "<q>", "_qzq", " zqz"):
        made["model"]["vocab"][name.replace(" ", "Ġ")] = len(made["model"]["vocab"])
    alone = added(copy.deepcopy(made), "qzq", "a <q>", single_word=True, special=special)
    for one in (added(alone, "<q>", special=special), added(made, "qzq", "<q>", special=special)):
        both = Both.of(tmp_path, one)
        both.check(
            ["_qzq", "qzq", "QZQ", "aqzq", "qzqa", "a <q>", "a <q>b", "xa <q>", "<Q>", "<q>", " zqz", "a\nqzq\nqzqa"]
        )


def test_a_special_token_stays_text_where_the_caller_says_so(tmp_path):
    made = record(model_ignore_merges=True)
    made["model"]["vocab"]["<q>"] = len(made["model"]["vocab"])
    enc = Both.of(tmp_path, added(made, "<q>", special=True)).enc
    name = made["model"]["vocab"]["<q>"]
    assert enc.encode("<q>", allowed_special="all") == [name]
    assert name not in enc.encode("<q>", disallowed_special=())


FUSE, LETTERED = {"type": "Fuse"}, {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}
BLANKS = {"type": "Replace", "pattern": {"String": "Ġ"}, "content": " "}


@pytest.mark.parametrize("steps", [None, [], [FUSE], [LETTERED, FUSE], [BLANKS, FUSE], [BLANKS, LETTERED]])
def test_bytes_in_letters_become_text_as_the_decoder_says(tmp_path, steps):
    """Without a ByteLevel the letters stay; without any decoder there are blanks between them."""
    decoder = None if steps is None else {"type": "Sequence", "decoders": steps}
    made = record(decoder=decoder)
    for token in ("东", "<unused>", ""):
        made["model"]["vocab"][token] = len(made["model"]["vocab"])
    made = added(added(made, "<s>", "éé", special=True), "<x>", "Ġa b")
    both = Both.of(tmp_path, made)
    both.check(texts(8, 60, "<x>", "éé", "Ġ"))
    find = both.reference.token_to_id
    some = [find(token) for token in ("Ġ", "Ã", "©", "éé", "<x>", "<s>", "Ġa b", "东", "<unused>", "", "e")]
    both.check_rows([token for token in some if token is not None])
    ids, places = both.enc.encode_with_offsets("a é <x>b")
    assert places.tolist() == [start for start, _ in both.reference.encode("a é <x>b").offsets]
    again = pickle.loads(pickle.dumps(both.enc))
    save(both.enc, tmp_path / "again.json")
    for other in (again, Encoding.from_file(tmp_path / "again.json")):
        assert other.decode(ids) == both.enc.decode(ids)


@pytest.mark.parametrize("changes", [{}, {"decoder": None}])
def test_an_added_token_with_the_id_of_another_is_refused(tmp_path, changes):
    made = record(**changes)
    number = len(made["model"]["vocab"])
    made["model"]["vocab"]["Ġqqq"] = number + 1
    base = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    made["added_tokens"] = [{"id": number + 1, "content": "<x>", **base}]
    assert "is that of 'Ġqqq' in the vocabulary, too" in refusal(tmp_path, made)


def test_ids_of_new_added_tokens_follow_on_the_number_of_tokens(tmp_path):
    """Also behind an added token of the vocabulary with a higher id, where ids have gaps."""
    made = record()
    size = len(made["model"]["vocab"])
    made["model"]["vocab"]["Ġqqq"] = size + 9
    base = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    names = {"Ġqqq": size + 9, "<x>": size + 1, "<y>": size + 2}
    made["added_tokens"] = [{"id": number, "content": name, **base} for name, number in names.items()]
    Both.of(tmp_path, made).check(["<x><y>", "Ġqqq<y>", " qqq"])


@pytest.mark.filterwarnings("ignore:.*tokenizers gives it:UserWarning")
def test_ids_of_random_added_tokens_are_those_of_the_reference(tmp_path):
    """Some are in the vocabulary, one perhaps with a higher id than there are tokens, behind new ones or in front."""
    rng, loaded = random.Random(7), 0
    for _ in range(60):
        made = record()
        vocab = made["model"]["vocab"]
        gap = rng.choice([0, 0, 1, 7])
        vocab["qqq"] = len(vocab) + gap
        known = rng.sample(sorted(name for name in vocab if name.isascii()), 2)
        names = rng.sample(["qqq", "<x>", "<y>", "<z>", *known], rng.randrange(1, 6))
        made = added(made, *dict.fromkeys(names), special=True)
        for token in made["added_tokens"]:
            token["id"] = rng.randrange(600)
        try:
            both = Both.of(tmp_path, made)
        except VocabularyError as error:
            assert gap and "whose ids have gaps" in str(error)
            continue
        loaded += 1
        assert both.enc.get_vocab() == both.reference.get_vocab(with_added_tokens=True), names
    assert loaded > 30


def test_a_prepend_of_no_text_is_refused(tmp_path):
    assert "a Prepend of no text" in refusal(tmp_path, record(normalizer={"type": "Prepend", "prepend": ""}))
