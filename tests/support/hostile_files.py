"""Small files of models that ask for much memory or time: a seeded generator. No file has more than 1 MB."""

from __future__ import annotations

import base64
import json
import random
import struct
from typing import Any

import hostile_patterns

from streamtok.bundled.gpt2_files import LETTERS

MOST = 1 << 20
"""Bytes of a file."""

_LETTER_OF = {byte: letter for letter, byte in LETTERS.items()}
_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
_SIZES = [1, 10, 300, 3000, 20_000, 200_000, 900_000]
_REGEXES = [r"\s+", r"[a-z]", r"\p{L}+", "."]
_BERT = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
_IDS = [-1, 2**22 - 1, 2**22, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64, 10**400, 1.0, None, True]


def _bytes_model() -> dict[str, Any]:
    """A tokenizer.json of bytes."""
    vocab = {_LETTER_OF[byte]: byte for byte in range(256)}
    return _whole({"type": "BPE", "vocab": vocab, "merges": []}, _LEVEL, _LEVEL)


def _characters() -> dict[str, Any]:
    """One of characters."""
    vocab = {f"<0x{byte:02X}>": byte for byte in range(256)} | {"a": 256, "\u2581": 257}
    return _whole({"type": "BPE", "byte_fallback": True, "vocab": vocab, "merges": []}, None, {"type": "ByteFallback"})


def _words() -> dict[str, Any]:
    vocab = {"[UNK]": 0, "a": 1, "##a": 2}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "vocab": vocab}
    return _whole(
        model | {"max_input_chars_per_word": 100},
        {"type": "BertPreTokenizer"},
        {"type": "WordPiece", "prefix": "##", "cleanup": True},
    )


def _whole(model: Any, pre: Any, decoder: Any) -> dict[str, Any]:
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": pre, "post_processor": None, "decoder": decoder, "model": model,
    }  # fmt: skip


def _any(rng: random.Random) -> dict[str, Any]:
    return rng.choice([_bytes_model, _characters, _words])()


def _text(rng: random.Random, n: int) -> str:
    """A long text: of one character, of a period, of any."""
    kind = rng.randrange(4)
    if kind == 0:
        return rng.choice("aé中\u0301 ") * n
    if kind == 1:
        return ("ab" * n)[:n]
    if kind == 2:
        return "a" * (n - 1) + "b"
    return "".join(chr(rng.choice([0x61, 0x4E00, 0x300]) + rng.randrange(26)) for _ in range(n))


def _added(made: dict[str, Any], contents: list[str], rng: random.Random, ids: list[Any] | None = None) -> None:
    flags = {name: rng.random() < 0.3 for name in _FLAGS}
    first = len(made["model"]["vocab"])
    for i, content in enumerate(dict.fromkeys(contents)):
        token = {"id": ids[i] if ids else first + i, "content": content, **flags}
        if rng.random() < 0.1:
            token["normalized"] = not token["normalized"]
        made["added_tokens"].append(token)


def _size(rng: random.Random) -> int:
    return rng.choice(_SIZES)


# ==== Kinds of files ====


def _normalizer_step(rng: random.Random) -> dict[str, Any]:
    much = rng.choice([2, 4, 30, 1000, 60_000])
    some = rng.choice(["a", " ", "\u0301", "é", "\u2581", "aa"])
    return rng.choice(
        [
            {"type": "Replace", "pattern": {"String": some}, "content": some * much},
            {"type": "Replace", "pattern": {"String": "a" * much}, "content": rng.choice(["", "a", "b" * much])},
            {"type": "Replace", "pattern": {"Regex": rng.choice(_REGEXES)}, "content": some * much},
            {"type": "Prepend", "prepend": some * much},
            {"type": rng.choice(["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents"])},
            {"type": "Strip", "strip_left": True, "strip_right": True},
            _BERT,
        ]
    )  # fmt: skip


def normalizers(rng: random.Random) -> dict[str, Any]:
    """Steps that make a text longer, again and again."""
    made = _any(rng)
    steps = [_normalizer_step(rng) for _ in range(rng.choice([1, 2, 4, 16, 17, 64, 200]))]
    if rng.random() < 0.5:
        steps = [steps[0]] * len(steps)
    made["normalizer"] = {"type": "Sequence", "normalizers": steps}
    if rng.random() < 0.6:
        _added(made, [_text(rng, rng.choice([1, 3, 300, 20_000])) for _ in range(rng.choice([1, 2, 30]))], rng)
        for token in made["added_tokens"]:
            token["normalized"] = True
    return made


def templates(rng: random.Random) -> dict[str, Any]:
    """Ids that a template repeats."""
    made = _any(rng)
    count = rng.choice([1, 100, 10_000, 40_000])
    repeats = rng.choice([1, 100, 10_000])
    step = {"SpecialToken": {"id": "a", "type_id": 0}}
    ids = [rng.randrange(3) for _ in range(count)]
    made["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [step] * repeats + [{"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [],
        "special_tokens": {"a": {"id": "a", "ids": ids, "tokens": ["a"] * len(ids)}},
    }
    return made


def added(rng: random.Random) -> dict[str, Any]:
    """Added tokens: many, long, one within the other."""
    made = _any(rng)
    count = rng.choice([1, 30, 1000, 9000, 70_000])
    size = max(rng.choice([1, 10, 400_000, 900_000 // count]), 1)
    kind = rng.randrange(4)
    if kind == 0:
        contents = [_text(rng, min(size, 900_000)) + str(i) for i in range(count)]
    elif kind == 1:  # each begins the next
        contents = ["a" * n for n in range(1, 1200)]
    elif kind == 2:  # each ends the next
        contents = ["b" * n + "a" for n in range(1, 1200)]
    else:
        contents = [chr(0x4E00 + i % 20_000) + chr(0x61 + i // 20_000) for i in range(count)]
    total = 0
    kept = []
    for content in contents:
        total += len(content.encode()) + 120
        if total > MOST - 20_000:
            break
        kept.append(content)
    _added(made, kept, rng, [rng.choice(_IDS) for _ in kept] if rng.random() < 0.1 else None)
    return made


def vocabularies(rng: random.Random) -> dict[str, Any]:
    """Huge tokens, huge and sparse ids."""
    made = _any(rng)
    vocab = made["model"]["vocab"]
    kind = rng.randrange(4)
    if kind == 0:
        vocab[_text(rng, _size(rng))] = len(vocab)
    elif kind == 1:
        vocab["bb"] = rng.choice(_IDS)
    elif kind == 2:
        for i in range(rng.choice([10, 1000, 30_000])):
            vocab[f"t{i}"] = i * rng.choice([1, 100, 139, 5000]) + 256
    else:
        for i in range(rng.choice([10, 1000, 50_000])):
            vocab[chr(0x4E00 + i % 20_000) + chr(0x61 + i // 20_000)] = len(vocab)
    return made


def merges(rng: random.Random) -> dict[str, Any]:
    """Chains of merges, each token twice as long as the one before, or longer by one."""
    made = _bytes_model()
    vocab, found = made["model"]["vocab"], made["model"]["merges"]
    kind = rng.randrange(3)
    if kind == 0:
        token = "a"
        for _ in range(rng.choice([5, 12, 16, 17, 18])):
            found.append([token, token])
            token += token
            vocab[token] = len(vocab)
    elif kind == 1:
        for n in range(2, rng.choice([50, 700, 1200])):
            vocab["a" * n] = len(vocab)
            found.append(["a" * (n - 1), "a"])
    else:  # all ways to cut
        for n in range(2, rng.choice([50, 150])):
            vocab["a" * n] = len(vocab)
            found += [["a" * k, "a" * (n - k)] for k in range(1, n)]
    return made


def nested(rng: random.Random) -> str:
    """Arrays in arrays, objects in objects, at any place."""
    made = json.dumps(_any(rng) | {"hole": 0})
    depth = rng.choice([10, 500, 990, 1010, 10_000, 250_000])
    kind = rng.randrange(5)
    if kind == 0:
        hole = "[" * depth + "]" * depth
    elif kind == 1:
        hole = '{"a":' * min(depth, 100_000) + "0" + "}" * min(depth, 100_000)
    elif kind == 2:
        hole = "[" * depth
    elif kind == 3:
        hole = '{"type":"Sequence","normalizers":[' * min(depth, 20_000) + "]}" * min(depth, 20_000)
    else:
        hole = rng.choice(
            ["1" * depth, "1e" + "9" * depth, "[" + "1," * depth + "1]", '"' + "\\u0061" * min(depth, 150_000) + '"']
        )
    name = rng.choice(
        ["normalizer", "pre_tokenizer", "post_processor", "decoder", "model", "added_tokens", "hole", "version"]
    )
    return made.replace('"hole": 0', '"version": 1' if name == "version" else '"hole": 0').replace(
        f'"{name}": ', f'"{name}": {hole}, "more": ', 1
    )


def patterns(rng: random.Random) -> dict[str, Any]:
    """Steps that split by patterns that are long to compile."""
    made = _any(rng)
    steps: list[Any] = []
    for _ in range(rng.choice([1, 1, 2, 8, 32])):
        step = {"type": "Split", "behavior": rng.choice(["Isolated", "Removed", "MergedWithNext", "Contiguous"])}
        steps.append(step | {"pattern": {"Regex": hostile_patterns.pattern(rng)}, "invert": rng.random() < 0.3})
    steps.insert(rng.choice([0, len(steps)]), _LEVEL)
    made["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps if rng.random() < 0.7 else steps[:-1]}
    if rng.random() < 0.3:
        regex = hostile_patterns.pattern(rng)
        made["normalizer"] = {"type": "Replace", "pattern": {"Regex": regex}, "content": "a" * rng.choice([0, 1, 9999])}
    return made


def decoders(rng: random.Random) -> dict[str, Any]:
    """Decoders that make a text longer."""
    made = rng.choice([_characters, _words])()
    much = rng.choice([4, 1000, 200_000])
    step = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * much}
    steps = [step] * rng.choice([1, 2, 4, 64])
    made["decoder"] = {"type": "Sequence", "decoders": [*steps, {"type": "ByteFallback"}, {"type": "Fuse"}]}
    if made["model"]["type"] == "WordPiece":
        made["decoder"] = {"type": "WordPiece", "prefix": "#" * much, "cleanup": True}
    return made


def ranks(rng: random.Random) -> bytes:
    """A file of ranks with large ranks, long tokens, and an odd JSON beside it, which follows behind a NUL."""
    lines = [base64.b64encode(bytes([byte])) + b" %d" % byte for byte in range(256)]
    kind = rng.randrange(4)
    if kind == 0:
        lines.append(b"YWE= %d" % abs(int(rng.choice([i for i in _IDS if type(i) is int]))))
    elif kind == 1:
        lines.append(base64.b64encode(b"a" * rng.choice([60_000, 65_535, 65_536, 700_000])) + b" 256")
    elif kind == 2:
        lines += [base64.b64encode(b"t%d" % i) + b" %d" % (256 + i * 97) for i in range(30_000)]
    else:
        lines.append(base64.b64encode(b"aa") + b" " + b"1" * 500_000)
    return b"\n".join(lines) + b"\n"


def tekken(rng: random.Random) -> dict[str, Any]:
    size = rng.choice([256, 300, 2**22, 2**31 - 1, 2**31])
    reserved = rng.choice([0, 10, 1000, 2**22, 2**31 - 1])
    vocab = [{"rank": i, "token_bytes": base64.b64encode(bytes([i])).decode(), "token_str": None} for i in range(256)]
    if rng.random() < 0.5:
        size = 256 + reserved
    if rng.random() < 0.3:
        vocab.append({"rank": 256, "token_bytes": base64.b64encode(b"a" * rng.choice([65_536, 500_000])).decode()})
    pattern = hostile_patterns.pattern(rng) if rng.random() < 0.6 else r"\p{L}+|[\s\S]"
    if rng.random() < 0.1:
        pattern = pattern * (900_000 // (4 * len(pattern)))
    special = [{"token_str": "<s>" * rng.choice([1, 100_000]), "rank": rng.choice([0, max(reserved - 1, 0)])}]
    config = {"pattern": pattern, "default_vocab_size": size, "default_num_special_tokens": reserved}
    return {"config": config | {"num_vocab_tokens": 256, "version": "v3"}, "vocab": vocab, "special_tokens": special}


def sentencepiece(rng: random.Random) -> bytes:
    """A .model with lengths that lie, with pieces that are long, of one score, all cuts of each other."""

    def field(number: int, wire: int, value: bytes, lie: int | None = None) -> bytes:
        return varint(number << 3 | wire) + (varint(len(value) if lie is None else lie) if wire == 2 else b"") + value

    def varint(n: int) -> bytes:
        out = bytearray()
        while n > 127:
            out.append(n & 127 | 128)
            n >>= 7
        return bytes([*out, n])

    def piece(text: str, score: float, kind: int = 1) -> bytes:
        inner = field(1, 2, text.encode()) + field(2, 5, struct.pack("<f", score)) + field(3, 0, varint(kind))
        return field(1, 2, inner, rng.choice([2**31, 2**63]) if rng.random() < 0.00002 else None)

    out = piece("<unk>", 0, 2) + b"".join(piece(f"<0x{byte:02X}>", 0, 6) for byte in range(256))
    kind = rng.randrange(5)
    if kind == 0:
        out += piece(_text(rng, _size(rng)), -1)
    elif kind == 1:
        out += b"".join(piece("a" * n, -n if rng.random() < 0.999 else 0) for n in range(1, 1200))
    elif kind == 2:
        letters = [chr(0x4E00 + i) for i in range(rng.choice([10, 20_000]))]
        out += b"".join(
            piece(letter * rng.choice([1, 2]), rng.choice([-1, -float(i)])) for i, letter in enumerate(letters)
        )
    elif kind == 3:
        out += piece("a", -1) + field(1, 2, b"abc", rng.choice([2**20, 2**31, 2**63]))
    else:
        out += b"".join(piece("a" * 60_000 + chr(98 + i), -float(i + 1)) for i in range(15))
    rules = field(3, 0, b"\x02") + field(35, 0, b"\x01")
    normal = field(1, 2, b"identity") + field(4, 0, b"\x00")
    return out + field(2, 2, rules) + field(3, 2, normal, rng.choice([None, None, None, 2**40]))


def world(rng: random.Random) -> bytes:
    lines = [b"%d %a 1" % (byte + 1, bytes([byte])) for byte in range(256)]
    kind = rng.randrange(5)
    if kind == 0:
        lines.append(b"300 '%b' %d" % (b"a" * rng.choice([65_535, 65_536, 900_000]), 65_535))
    elif kind == 1:
        lines.append(b"%d 'aa' 2" % rng.choice([2**22 - 1, 2**31, 9_999_999_999]))
    elif kind == 2:
        lines += [b"%d '%b' %d" % (300 + n, b"a" * n, n) for n in range(2, 1200)]
    elif kind == 3:
        lines += [b"%d '%b%d' %d" % (300 + n, b"a" * 50_000, n, 50_001) for n in range(2, 10)]
    else:
        lines += [
            b"%d '%b' 3" % (300 + i * 30, chr(0x4E00 + i).encode()) for i in range(rng.choice([100, 20_000, 30_000]))
        ]
    return b"\n".join(lines) + b"\n"


KINDS = [
    normalizers,
    templates,
    added,
    vocabularies,
    merges,
    nested,
    patterns,
    decoders,
    ranks,
    tekken,
    sentencepiece,
    world,
]


def hostile_file(rng: random.Random) -> tuple[str, bytes]:
    """(kind, the bytes of a file)."""
    while True:
        make: Any = rng.choice(KINDS)
        made = make(rng)
        data = (
            made if isinstance(made, bytes) else made.encode() if isinstance(made, str) else json.dumps(made).encode()
        )
        if len(data) <= MOST:
            return make.__name__, data
