"""Many texts decoded at once: each as Encoding.decode has it, up to the first stop string."""

from __future__ import annotations

import pickle
import random

import nasty
import numpy as np
import oracle
import pytest

SLOTS = 17


def texts(rng: random.Random, count: int) -> list[list[int]]:
    """Ids of nasty strings, special tokens and tokens that are no UTF-8 among them."""
    enc = oracle.ours("o200k_base")
    broken = [token for token in range(0, 4000) if "\ufffd" in enc.decode([token])]
    rows = []
    for text in nasty.random_strings(rng, count, 30):
        ids = enc.encode(text, disallowed_special=())
        for _ in range(rng.choice((0, 0, 1, 3))):
            ids.insert(rng.randint(0, len(ids)), rng.choice([*broken, *enc._special_token_values]))
        rows.append(ids)
    return rows


def stopped_text(text: str, stops: list[str]) -> tuple[str, str | None]:
    """The text up to the stop string that ends first, the longest of those that end there; and that string."""
    for end in range(1, len(text) + 1):
        found = [stop for stop in stops if text.endswith(stop, 0, end)]
        if found:
            longest = max(found, key=len)
            return text[: end - len(longest)], longest
    return text, None


def random_stops(rng: random.Random, text: str) -> list[str]:
    """Strings that lie in the text or nearly do, and that overlap."""
    stops = []
    for _ in range(rng.randint(1, 5)):
        at = rng.randrange(len(text) + 1)
        stop = text[at : at + rng.randint(1, 6)] + rng.choice(("", "", "", "x", "\ufffd"))
        stops.append(stop or "a")
    return stops


class Run:
    """Texts that go through the slots of a decoder in random steps, with what came out so far."""

    def __init__(self, decoder, rng: random.Random) -> None:
        self.decoder, self.rng = decoder, rng
        self.rows: dict[int, list[int]] = {}
        self.out: dict[int, str] = {}
        self.stops: dict[int, list[str]] = {}

    def begin(self, slot: int, ids: list[int], stops: list[str]) -> None:
        self.rows[slot], self.out[slot], self.stops[slot] = list(ids), "", stops
        self.decoder.reset(slot, stops)

    def step(self) -> None:
        """A few ids for some of the slots, in one of the ways to give them."""
        rng = self.rng
        chosen = rng.sample(sorted(self.rows), rng.randint(1, len(self.rows)))
        taken = []
        for slot in chosen:
            size, row = rng.randint(0, 3), self.rows[slot]
            taken.append(row[:size])
            del row[:size]
        way = rng.randrange(4)
        if way == 0:
            ids, counts = [token for row in taken for token in row], [len(row) for row in taken]
        else:
            width = max(1, max(map(len, taken)))
            ids, counts = [row + [-1] * (width - len(row)) for row in taken], None
        if way >= 2:
            ids = np.array(ids, np.int64 if way == 2 else np.int32).reshape(len(chosen), -1)
        for slot, text in zip(chosen, self.decoder.feed(np.array(chosen) if way == 3 else chosen, ids, counts)):
            self.out[slot] += text

    def check(self, decode) -> None:
        for slot in self.rows:
            text = self.out[slot] + self.decoder.flush(slot)
            assert (text, self.decoder.stop_of(slot)) == stopped_text(decode[slot], self.stops[slot])


@pytest.mark.parametrize("errors", ["replace", "ignore"])
@pytest.mark.parametrize("skip", [False, True])
def test_random_steps(errors, skip):
    enc, rng = oracle.ours("o200k_base"), random.Random(f"{errors} {skip}")
    decoder = enc.batch_decoder(SLOTS, errors=errors, skip_special_tokens=skip)
    for _ in range(40 if oracle.PROFILE == "default" else 2000):
        run = Run(decoder, rng)
        whole = {}
        for slot, ids in enumerate(texts(rng, SLOTS)):
            whole[slot] = enc.decode(ids, errors, skip_special_tokens=skip)
            run.begin(slot, ids, random_stops(rng, whole[slot]) if rng.random() < 0.7 else [])
        while any(run.rows.values()):
            run.step()
            if rng.random() < 0.1:  # a slot goes on in another decoder
                slot = rng.randrange(SLOTS)
                state = pickle.loads(pickle.dumps(decoder.getstate(slot)))
                decoder.feed([slot], [enc.encode("other")[0]])
                decoder.reset(slot)
                decoder.setstate(slot, state)
        run.check(whole)


def test_text_leaves_as_soon_as_it_can():
    enc = oracle.ours("cl100k_base")
    decoder = enc.batch_decoder(1)
    decoder.reset(0, stop=["abcd", "bcx"])
    ids = [enc.encode_single_token(letter) for letter in "zabcbcy"]
    assert [decoder.feed([0], [token])[0] for token in ids] == ["z", "", "", "", "abc", "", "bcy"]
    assert decoder.stopped == []
    ids = [enc.encode_single_token(letter) for letter in "abcxyz"]
    assert [decoder.feed([0], [token])[0] for token in ids] == ["", "", "", "a", "", ""]
    assert decoder.stop_of(0) == "bcx"
    assert decoder.pending(0) == 0


def test_nothing_is_held_behind_a_stop_string_or_the_end():
    """A stop string that begins a longer one ends the text at once. What waits for more comes with the end, once."""
    enc = oracle.ours("cl100k_base")
    decoder = enc.batch_decoder(2)
    ids = {letter: enc.encode_single_token(letter) for letter in "xabc"}
    decoder.reset(0, stop=["ab", "abc"])
    assert [decoder.feed([0], [ids[letter]])[0] for letter in "xab"] == ["x", "", ""]
    assert (decoder.stop_of(0), decoder.pending(0), decoder.flush(0)) == ("ab", 0, "")
    decoder.reset(1, stop=["abc"])
    fresh = decoder.getstate(1)
    assert decoder.feed([1], [[ids["a"], ids["b"]]]) == [""]
    assert decoder.pending(1) > 0
    assert decoder.flush(1) == "ab"
    assert (decoder.pending(1), decoder.getstate(1)) == (0, fresh)


def test_stopped_names_the_slots_of_the_last_call():
    enc = oracle.ours("cl100k_base")
    decoder = enc.batch_decoder(3)
    for slot in range(3):
        decoder.reset(slot, stop="b")
    a, b = enc.encode("a") + enc.encode("b")
    decoder.feed([2, 0, 1], [b, a, b])
    assert decoder.stopped == [2, 1]
    decoder.feed([2, 0, 1], [b, a, b])
    assert decoder.stopped == []
    decoder.reset(2)
    assert decoder.feed([2], [b]) == ["b"]


def test_long_unfinished_text_costs_each_id_once():
    """A text that stays incomplete for long: bytes that continue no character, and the beginning of a stop string."""
    enc = oracle.ours("cl100k_base")
    decoder = enc.batch_decoder(1)
    decoder.reset(0, stop="a" * 60_000)
    token = enc.encode_single_token("a")
    counts = []
    for _ in range(2):
        assert decoder.feed([0], [[token] * 25_000]) == [""]
        counts.append(decoder.pending(0))
    assert counts == [25_000, 50_000]
    assert decoder.feed([0], [[token] * 10_000]) == [""]
    assert decoder.stop_of(0) == "a" * 60_000


def test_a_model_that_spells_its_tokens_itself(tmp_path):
    """Tokens of bytes, and a blank in front that decoding takes away."""
    pytest.importorskip("tokenizers", reason="Hugging Face's tokenizers is not installed")
    from tokenizers import Tokenizer, decoders, models, normalizers

    vocab = {
        "<unk>": 0,
        **{f"<0x{byte:02X}>": 1 + byte for byte in range(256)},
        "▁": 257,
        "a": 258,
        "b": 259,
        "▁a": 260,
    }
    made = Tokenizer(models.BPE(vocab, [("▁", "a")], unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    path = tmp_path / "tokenizer.json"
    path.write_text(made.to_str(), encoding="utf-8")
    from streamtok import Encoding

    enc, rng = Encoding.from_file(path), random.Random(5)
    decoder = enc.batch_decoder(SLOTS)
    for _ in range(20):
        run, whole = Run(decoder, rng), {}
        for slot in range(SLOTS):
            ids = enc.encode("".join(rng.choice("ab ée中") for _ in range(12)))
            whole[slot] = enc.decode(ids)
            run.begin(slot, ids, random_stops(rng, whole[slot]) if rng.random() < 0.7 else [])
        while any(run.rows.values()):
            run.step()
        run.check(whole)


def test_ids_without_a_sign_are_taken_where_they_fit():
    decoder = oracle.ours("r50k_base").batch_decoder(2)
    slots = np.arange(2, dtype=np.uint64)
    assert decoder.feed(slots, np.array([31373, 995], np.uint64)) == ["hello", " world"]
    with pytest.raises(OverflowError, match="do not fit in 64 bits with a sign"):
        decoder.feed(slots, np.array([1, 2**63], np.uint64))
