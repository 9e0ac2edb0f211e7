"""Random tokenizer.json files, small ones with all parts that such a file can have, and random texts for them."""

from __future__ import annotations

import random
from typing import Any

Record = dict[str, Any]

_SEEN = (*range(33, 127), *range(161, 173), *range(174, 256))
_UNSEEN = [byte for byte in range(256) if byte not in _SEEN]
LETTERS = {byte: chr(byte) for byte in _SEEN} | {byte: chr(256 + i) for i, byte in enumerate(_UNSEEN)}
"""GPT-2's letters, by byte."""

PIECES = (
    *("a", "b", "c", "ab", "B", "A", " ", " ", "  ", "\n", "\t", "_", "#", "##", "<", ">", "1", "23", ".", "'s", "-"),
    *("é", "e\u0301", "\u0301", "\u0327", "中", "文", "ﬁ", "▁", "▁▁", "Ġ", "Ã©", "\x00", "\x7f", "\u200d", "\ufffd"),
    *("😀", "<0x41>", "<0xC3>", "İ", "ß", "Σ", "가", "\u1100\u1161", "\u3000", "\u00a0", "٣", "²", "\u0344", "!", ","),
    *(" n't", " 's", "[U]", "<unk>", "x", "xy", "aa"),
)
MARKS = ("▁", "▁", "▁", "_", " ", "a", "é", "Ġ")


def pick(rng: random.Random, *choices: Any) -> Any:
    return rng.choice(choices)


def some(rng: random.Random, pieces: Any = PIECES, most: int = 3) -> str:
    """A short text that is not empty."""
    return "".join(rng.choice(pieces) for _ in range(rng.choice((1, 1, 1, 2, most))))


def sequence(rng: random.Random, name: str, steps: list[Record]) -> Record | None:
    """The steps as a part of a file has them."""
    if not steps:
        return pick(rng, None, None, {"type": "Sequence", name: []})
    if len(steps) == 1 and rng.random() < 0.7:
        return steps[0]
    if len(steps) > 2 and rng.random() < 0.1:
        return {"type": "Sequence", name: [steps[0], {"type": "Sequence", name: steps[1:]}]}
    return {"type": "Sequence", name: steps}


# ==== What is done to a text before it is split ====


REPLACED = (
    *(r"\s+", r"\s", "[ab]", "a+", "x", r"\p{L}", r"\p{Mn}+", "[^a]", "xy", r"\n", " ", "[a\u0301]+"),
    *("a|b", "(?i)a", " {2,}", "^a", "ab|a+b?", r"\s+(?!\S)|'s", r"(?<=a)b|\b1", r"a{2,3}|[^\w\s]+$", r"\n\s*|x.y"),
    *("", "a*", r"(a)\1"),  # which are refused
)


def normalizer(rng: random.Random) -> Record:
    kind = rng.randrange(17)
    if kind == 14:
        return {"type": pick(rng, "Nmt", "ByteLevel")}
    if kind < 5:
        return {"type": ("NFC", "NFD", "NFKC", "NFKD", "Lowercase")[kind]}
    if kind == 5:
        return {"type": "StripAccents"}
    if kind in (6, 7):
        return {"type": "Strip", "strip_left": rng.random() < 0.7, "strip_right": rng.random() < 0.5}
    if kind == 8:
        return {"type": "Prepend", "prepend": pick(rng, "▁", " ", "a", "x", "é", "ab")}
    if kind == 9:
        flags = {name: rng.random() < 0.5 for name in ("clean_text", "handle_chinese_chars", "lowercase")}
        return {"type": "BertNormalizer", **flags, "strip_accents": pick(rng, None, True, False)}
    content = pick(rng, "", "▁", "_", " ", "a", "xy", "é", "bb", some(rng))
    if kind in (10, 15, 16):
        return {"type": "Replace", "pattern": {"Regex": rng.choice(REPLACED)}, "content": content}
    text = pick(rng, " ", " ", "▁", "a", "xy", "aa", "é", "\u0301", some(rng), some(rng))
    return {"type": "Replace", "pattern": {"String": text}, "content": content}


def metaspace(rng: random.Random) -> Record:
    made: Record = {"type": "Metaspace", "replacement": rng.choice(MARKS)}
    if rng.random() < 0.9:
        made["prepend_scheme"] = pick(rng, "always", "first", "first", "never")
    if rng.random() < 0.9:
        made["split"] = rng.random() < 0.5
    if rng.random() < 0.05:
        made["add_prefix_space"] = rng.random() < 0.5
    return made


def byte_level(rng: random.Random) -> Record:
    made = {"type": "ByteLevel", "add_prefix_space": rng.random() < 0.2, "trim_offsets": rng.random() < 0.5}
    return made | ({"use_regex": rng.random() < 0.5} if rng.random() < 0.9 else {})


BEHAVIORS = ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous")
REGEXES = (
    *(
        r"\s+",
        r"\p{L}+",
        r"\p{N}{1,3}",
        r" ?\p{L}+| ?[^\s\p{L}]+|\s+",
        r"\s+(?!\S)|\s+",
        "'s|a",
        "a|ab",
        "[ab]+",
        "(?i)A",
    ),
    r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    *(".", r"(a)\1", ""),
)


def split(rng: random.Random) -> Record:
    kind = rng.randrange(9)
    if kind == 8:
        fixed = {"type": "FixedLength", "length": rng.choice((1, 2, 3, 9))}
        return pick(rng, fixed, {"type": "CharDelimiterSplit", "delimiter": pick(rng, "-", " ", "a", "é", "#")})
    if kind < 4:
        literal = pick(rng, " ", "a", "ab", "▁", "é", "\n", some(rng))
        pattern = {"Regex": rng.choice(REGEXES)} if rng.random() < 0.6 else {"String": literal}
        return {"type": "Split", "pattern": pattern, "behavior": rng.choice(BEHAVIORS), "invert": rng.random() < 0.3}
    if kind == 4:
        return {"type": "Digits", "individual_digits": rng.random() < 0.5}
    if kind == 5:
        return {"type": "Punctuation", "behavior": rng.choice(BEHAVIORS)}
    return {"type": pick(rng, *["Whitespace", "WhitespaceSplit", "BertPreTokenizer"] * 3, "UnicodeScripts")}


def pre_tokenizer(rng: random.Random, kind: str) -> Record | None:
    splits = [split(rng) for _ in range(pick(rng, 0, 0, 0, 0, 1, 1, 1, 2, 2, 6))]
    if kind == "bytes":
        splits.insert(len(splits) if rng.random() < 0.9 else 0, byte_level(rng))
    elif rng.random() < (0.5 if kind == "characters" else 0.15):
        splits.insert(0 if rng.random() < 0.7 else len(splits), metaspace(rng))
    elif kind == "words" and rng.random() < 0.6:
        splits = [{"type": "BertPreTokenizer"}]
    while rng.random() < 0.07:  # what seldom stands there
        splits.insert(rng.randrange(len(splits) + 1), pick(rng, metaspace, metaspace, byte_level)(rng))
    return sequence(rng, "pretokenizers", splits)


# ==== Decoders, post-processors ====


def decoder_step(rng: random.Random) -> Record:
    kind = rng.randrange(10)
    if kind < 2:
        return {"type": ("ByteFallback", "Fuse")[kind]}
    if kind < 4:
        character, stop = pick(rng, " ", " ", "a", "\ufffd"), pick(rng, 0, 0, 0, 1)
        return {"type": "Strip", "content": character, "start": rng.randrange(3), "stop": stop}
    if kind < 6:
        pattern = {"String": pick(rng, "▁", "▁", "a", "##", some(rng))}
        if rng.random() < 0.2:
            pattern = {"Regex": rng.choice(REPLACED)}
        return {"type": "Replace", "pattern": pattern, "content": pick(rng, " ", "", "b", "▁")}
    if kind == 6:
        return metaspace(rng)
    if kind == 7:
        return {"type": "WordPiece", "prefix": pick(rng, "##", "", "a"), "cleanup": rng.random() < 0.5}
    if kind == 8:
        return alone(rng)
    return byte_level(rng)


def alone(rng: random.Random) -> Record:
    """A decoder that stands by itself."""
    if rng.random() < 0.5:
        return {"type": "BPEDecoder", "suffix": pick(rng, "</w>", "</w>", "##", "a")}
    if rng.random() < 0.5:
        return {"type": "WordPiece", "prefix": pick(rng, "##", "", "a"), "cleanup": rng.random() < 0.5}
    pad, blank = pick(rng, "<unk>", "a", "", "b"), pick(rng, "_", "|", "a", " ")
    return {"type": "CTC", "pad_token": pad, "word_delimiter_token": blank, "cleanup": rng.random() < 0.7}


def decoder(rng: random.Random, kind: str) -> Record | None:
    if rng.random() < 0.1:
        return None
    if rng.random() < 0.15:
        return alone(rng)
    if rng.random() < 0.15 and (kind != "words" or rng.random() < 0.1):
        return sequence(rng, "decoders", [decoder_step(rng) for _ in range(rng.randrange(4))])
    if kind == "bytes":
        last: Record = {"type": "Fuse"}
        return sequence(rng, "decoders", pick(rng, [byte_level(rng)], [byte_level(rng), last], [last]))
    if kind == "words":
        return {"type": "WordPiece", "prefix": pick(rng, "##", "##", "", "@"), "cleanup": rng.random() < 0.5}
    steps: list[Record] = []
    if rng.random() < 0.6:
        steps.append(
            {"type": "Replace", "pattern": {"String": pick(rng, "▁", "▁", "a")}, "content": pick(rng, " ", " ", "")}
        )
    if rng.random() < 0.3:
        steps.append(metaspace(rng))
    steps += [{"type": "ByteFallback"}] * (rng.random() < 0.8) + [{"type": "Fuse"}] * (rng.random() < 0.8)
    if rng.random() < 0.2:  # as in ChatGLM's files
        steps = [{"type": "ByteFallback"}, metaspace(rng) if rng.random() < 0.6 else decoder_step(rng)]
    if rng.random() < 0.1:
        text = pick(rng, "▁", "a", "ab")
        steps += [{"type": "Fuse"}, {"type": "Replace", "pattern": {"String": text}, "content": pick(rng, " ", "")}]
    if rng.random() < 0.5:
        steps.append({"type": "Strip", "content": " ", "start": pick(rng, 0, 1, 2), "stop": 0})
    return sequence(rng, "decoders", steps)


def post_processor(rng: random.Random, vocab: dict[str, int]) -> Record | None:
    kind = rng.randrange(10)
    tokens = [rng.choice(list(vocab)) for _ in range(2)]
    if kind < 5:
        return None
    if kind == 5:
        return byte_level(rng)
    if kind == 6:
        ends: Record = {name: [token, vocab[token]] for name, token in zip(("sep", "cls"), tokens)}
        return pick(
            rng,
            {"type": "BertProcessing", **ends},
            {
                "type": "RobertaProcessing",
                "trim_offsets": rng.random() < 0.5,
                "add_prefix_space": rng.random() < 0.5,
                **ends,
            },
        )
    steps: list[Record] = [{"SpecialToken": {"id": token, "type_id": 0}} for token in tokens[: rng.randrange(3)]]
    steps.insert(rng.randrange(len(steps) + 1), {"Sequence": {"id": "A", "type_id": 0}})
    listed = {token: {"id": token, "ids": [vocab[token]], "tokens": [token]} for token in tokens}
    pair = [{"Sequence": {"id": name, "type_id": 0}} for name in "AB"]
    made = {"type": "TemplateProcessing", "single": steps, "pair": pair, "special_tokens": listed}
    return {"type": "Sequence", "processors": [byte_level(rng), made]} if kind == 9 else made


# ==== Models ====


def merged(rng: random.Random, vocab: dict[str, int], begun: list[str], count: int) -> list[Any]:
    """Merges of tokens that are there; what they make becomes a token."""
    tokens, merges = list(begun), []
    for _ in range(count):
        left, right = rng.choice(tokens), rng.choice(tokens)
        if (left, right) in merges or len(left + right) > 8:
            continue
        merges.append((left, right))
        if left + right not in vocab:
            vocab[left + right] = len(vocab)
        tokens += [left + right] * 2
    if rng.random() < 0.15:
        rng.shuffle(merges)
    if rng.random() < 0.1:
        return [f"{left} {right}" for left, right in merges if " " not in left + right]
    return [list(pair) for pair in merges]


def renumbered(rng: random.Random, vocab: dict[str, int]) -> dict[str, int]:
    """The tokens with other ids, which mostly have no gaps."""
    if rng.random() < 0.7:
        return vocab
    ids = list(range(len(vocab))) if rng.random() < 0.7 else rng.sample(range(2 * len(vocab)), len(vocab))
    rng.shuffle(ids)
    return dict(zip(vocab, ids))


def bpe(
    rng: random.Random,
    vocab: dict[str, int],
    merges: list[Any],
    by_bytes: bool,
    prefix: str | None = None,
    suffix: str | None = None,
    has_bytes: bool = True,
) -> Record:
    unknown = pick(rng, None, None, *["<unk>"] * 4, "a", "[none]") if not by_bytes or rng.random() < 0.3 else None
    unknown = unknown if unknown in vocab or rng.random() < 0.1 else None
    return {
        "type": "BPE",
        "dropout": pick(rng, *[None] * 60, 0.0, 0.1),
        "unk_token": unknown,
        "continuing_subword_prefix": prefix if rng.random() < 0.98 else pick(rng, "", "##"),
        "end_of_word_suffix": suffix if rng.random() < 0.98 else pick(rng, "", "</w>"),
        "fuse_unk": rng.random() < 0.4,
        "byte_fallback": rng.random() < (0.1 if by_bytes or suffix or prefix else 0.95 if has_bytes else 0.05),
        "ignore_merges": rng.random() < (0.4 if by_bytes else 0.2),
        "vocab": vocab,
        "merges": merges,
    }


def byte_model(rng: random.Random) -> Record:
    letters = list(LETTERS.values())
    if rng.random() < 0.1:  # some that texts seldom have
        letters = [
            LETTERS[byte] for byte in range(256) if byte > 0x1F and byte not in (0x7F, 0xC0, 0xC1) and byte < 0xF5
        ]
    elif rng.random() < 0.2:  # a small one that was trained
        letters = [LETTERS[byte] for byte in dict.fromkeys((" abcAxy1._#\n" + rng.choice(("", "é中"))).encode())]
    vocab = {token: i for i, token in enumerate((*(("<unk>",) if rng.random() < 0.3 else ()), *letters))}
    if rng.random() < 0.2:
        return affixed(rng, vocab, letters, True)
    common = [LETTERS[byte] for byte in b" aabcAxy1._#\n"] + [LETTERS[byte] for byte in "é中▁".encode()]
    common = [letter for letter in common if letter in vocab]
    merges = merged(rng, vocab, common, rng.randrange(25))
    for _ in range(pick(rng, 0, 0, 1, 3)):  # tokens that no merge makes
        text = some(rng)
        vocab.setdefault(text if rng.random() < 0.3 else "".join(LETTERS[byte] for byte in text.encode()), len(vocab))
    return bpe(rng, renumbered(rng, vocab), merges, True)


SUFFIXES = ("</w>", "</w>", "##", "_")


PREFIXES = ("##", "##", "#", "_", "a", "é")


def affixed(rng: random.Random, vocab: dict[str, int], units: list[str], by_bytes: bool) -> Record:
    """A model whose tokens at the ends of words, or at their beginnings, are other ones."""
    suffix = rng.choice(SUFFIXES) if rng.random() < 0.7 else ""
    prefix = rng.choice(PREFIXES) if not suffix or rng.random() < 0.3 else ""
    for name in (pre + unit + end for unit in units for pre in {"", prefix} for end in {"", suffix}):
        if rng.random() < 0.9:
            vocab.setdefault(name, len(vocab))
    common = [unit for unit in units if unit in "aabcx▁é中<>Ġ#"] or units or [""]
    inside = [prefix + unit for unit in common]
    begun, ends = [*common], [unit + suffix for unit in inside]
    merges: list[list[str]] = []
    for _ in range(rng.randrange(30)):
        left, right = rng.choice(rng.choice((begun, inside))), rng.choice(rng.choice((inside, ends)))
        made = left + right[len(prefix) :]
        if not {left, right} <= vocab.keys() or [left, right] in merges or len(made) > 12:
            continue
        merges.append([left, right])
        vocab.setdefault(made, len(vocab))
        if not (suffix and right.endswith(suffix)):
            (inside if prefix and left.startswith(prefix) else begun).append(made)
        elif prefix and left.startswith(prefix):
            ends.append(made)
    if not suffix and not prefix:
        merges = []
    if rng.random() < 0.3:
        rng.shuffle(merges)
    return bpe(rng, renumbered(rng, vocab), merges, by_bytes, prefix or None, suffix or None, False)


def character_model(rng: random.Random) -> Record:
    special = ["<unk>", "<s>", "</s>"][: rng.randrange(4)]
    has_bytes = rng.random() < 0.5
    of_bytes = [f"<0x{byte:02X}>" for byte in range(256 * has_bytes)]
    characters = [c for c in dict.fromkeys("".join(PIECES)) if rng.random() < 0.5]
    if rng.random() < 0.3:
        share = pick(rng, 0.98, 0.9, 0.5)
        of_bytes = [name for name in of_bytes if rng.random() < share]
    vocab = {token: i for i, token in enumerate(dict.fromkeys((*special, *of_bytes, *characters)))}
    if not has_bytes and rng.random() < 0.5:
        return affixed(rng, vocab, characters, False)
    common = [c for c in characters if c in " aabcx▁é中<>"] or characters
    merges = merged(rng, vocab, common, rng.randrange(25)) if common else []
    for _ in range(pick(rng, 0, 0, 1, 3)):
        vocab.setdefault(some(rng), len(vocab))
    return bpe(rng, renumbered(rng, vocab), merges, False, has_bytes=has_bytes)


def word_model(rng: random.Random) -> Record:
    prefix = pick(rng, "##", "##", "##", "", "@", "é", "#")
    names = {pick(rng, "[U]", "[U]", "a", "##a")}
    for _ in range(rng.randrange(40)):
        piece = some(rng, most=5).replace(" ", "") or "a"
        names.add(prefix + piece if rng.random() < 0.5 else piece)
    unknown = rng.choice(sorted(names)) if rng.random() < 0.1 else next(iter(sorted(names & {"[U]", "a", "##a"})))
    vocab = {token: i for i, token in enumerate(sorted(names, key=lambda _: rng.random()))}
    most = pick(rng, 1, 2, 3, 4, 100)
    return {
        "type": "WordPiece",
        "unk_token": unknown if rng.random() < 0.98 else "[none]",
        "continuing_subword_prefix": prefix,
        "max_input_chars_per_word": most,
        "vocab": renumbered(rng, vocab),
    }


def level_model(rng: random.Random) -> Record:
    """WordLevel."""
    names = {"[U]", *(some(rng, most=5) for _ in range(rng.randrange(40)))}
    vocab = {token: i for i, token in enumerate(sorted(names, key=lambda _: rng.random()))}
    unknown = "[U]" if rng.random() < 0.9 else pick(rng, "[none]", *vocab)
    return {"type": "WordLevel", "vocab": renumbered(rng, vocab), "unk_token": unknown}


def other_model(rng: random.Random) -> Record:
    return {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]], "byte_fallback": False}


# ==== Files ====


def added_tokens(rng: random.Random, vocab: dict[str, int]) -> list[Record]:
    found: dict[str, Record] = {}
    free = len(vocab)
    odds = {flag: rng.choice((0.0, 0.0, 0.3)) for flag in ("single_word", "lstrip", "rstrip")}
    odds |= {"normalized": rng.choice((0.0, 0.3, 1.0)), "special": rng.choice((0.0, 0.5, 1.0))}
    for _ in range(pick(rng, 0, 0, 1, 2, 4)):
        content = (
            rng.choice(list(vocab)[-30:] + list(vocab)[:4])
            if rng.random() < 0.4
            else some(rng, (*PIECES, "<s>", "<x>"))
        )
        if content in found or (not content.isascii() and content in vocab and rng.random() < 0.8):  # often refused
            continue
        number = vocab.get(content, free)
        free += content not in vocab
        flags = {flag: rng.random() < share for flag, share in odds.items()}
        found[content] = {"id": number, "content": content, **flags}
    made = list(found.values())
    if made and rng.random() < 0.01:
        rng.choice(made)["id"] += 1
    return made


def damaged(rng: random.Random, record: Record) -> Record:
    """The same with one value that is wrong or not there."""
    at: Any = record
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = rng.choice(keys)
        if isinstance(at[key], dict | list) and at[key] and rng.random() < 0.7:
            at = at[key]
            continue
        if rng.random() < 0.5:
            del at[key]
        else:
            at[key] = pick(rng, None, True, 0, -1, 1.5, "", "x", [], {}, 1 << 40)
        return record


def rows(rng: random.Random) -> Record:
    """Settings of rows, which most files do not have."""
    made: Record = {"truncation": None, "padding": None}
    sides = ("Left", "Right")
    if rng.random() < 0.15:
        strategy = pick(rng, "LongestFirst", "LongestFirst", "OnlyFirst", "OnlySecond")
        made["truncation"] = {"direction": pick(rng, *sides), "max_length": pick(rng, 4, 5, 9, 100)}
        made["truncation"] |= {"strategy": strategy, "stride": 0}
    if rng.random() < 0.15:
        made["padding"] = {"strategy": pick(rng, "BatchLongest", {"Fixed": rng.randrange(12)})}
        made["padding"] |= {"direction": pick(rng, *sides), "pad_to_multiple_of": pick(rng, None, 0, 4)}
        made["padding"] |= {"pad_id": rng.randrange(9), "pad_type_id": 0, "pad_token": "[PAD]"}
    return made


def random_file(rng: random.Random) -> Record:
    """A tokenizer.json."""
    kind = rng.choices(("bytes", "characters", "words", "levels", "others"), (38, 34, 20, 7, 1))[0]
    makers = {"bytes": byte_model, "characters": character_model, "words": word_model}
    makers |= {"levels": level_model, "others": other_model}
    model = makers[kind](rng)
    vocab = model["vocab"] if isinstance(model["vocab"], dict) else {"a": 1}
    record = {
        "version": "1.0",
        **rows(rng),
        "added_tokens": added_tokens(rng, vocab),
        "normalizer": sequence(rng, "normalizers", [normalizer(rng) for _ in range(pick(rng, 0, 0, 1, 1, 2, 3))]),
        "pre_tokenizer": pre_tokenizer(rng, kind),
        "post_processor": post_processor(rng, vocab),
        "decoder": decoder(rng, kind),
        "model": model,
    }
    return damaged(rng, record) if rng.random() < 0.02 else record


def random_texts(rng: random.Random, record: Record, count: int) -> list[str]:
    """Texts of the pieces above, of tokens and of added ones."""
    listed = record["added_tokens"] if isinstance(record.get("added_tokens"), list) else []
    named = [token.get("content") for token in listed if isinstance(token, dict)]
    if isinstance(record.get("model"), dict) and isinstance(record["model"].get("vocab"), dict):
        named += list(record["model"]["vocab"])[-20:]
    named = [text for text in named if isinstance(text, str)]
    pieces = rng.sample(PIECES, rng.choice((4, 12, len(PIECES)))) + [" ", "a"]
    alphabet = pieces + rng.choices(named, k=len(pieces)) if named else pieces
    return ["".join(rng.choices(alphabet, k=rng.choice((1, 2, 3, 4, 6, 12)))) for _ in range(count)]
