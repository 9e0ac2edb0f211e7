"""Training beside other trainers: the same text, two threads, one run, and merges compared before anything is timed.

    python benchmarks/train/bench_train.py                    what is installed of gigatoken, rustbpe, tokenizers
    python benchmarks/train/bench_train.py --full --json FILE  all texts, more rounds

Each trainer gets the text in memory, in the form that suits it best: gigatoken one bytes object, rustbpe and
tokenizers strings of about 64 KB, cut where no piece is cut. All of them take turns, and the best of the rounds
counts. streamtok's time is that of train(): text in, an Encoding that encodes out.

gigatoken always splits by GPT-2's pattern. Its merges are compared with those of ours by that pattern.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import pathlib
import sys
from collections.abc import Callable
from typing import Any

os.environ.setdefault("RAYON_NUM_THREADS", "2")  # of the three others

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import common

from streamtok.native import job
from streamtok.train import train
from streamtok.train.huggingface import _SPELLED, _bytes_of, merges_of
from streamtok.train.options import PATTERNS

THREADS = 2
SIZES = (5000, 32_000)


class Text:
    """A text as bytes, and as strings cut where no piece is cut."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        cuts = [0, *job.cuts(data, 1 << 16, None, None), len(data)]
        self.parts = [data[a:b].decode() for a, b in itertools.pairwise(cuts)]


def ours(text: Text, size: int, **options: Any) -> Any:
    return train(text.data, size, threads=THREADS, **options)


def our_merges(text: Text, size: int, **options: Any) -> list[tuple[bytes, bytes]]:
    return merges_of(ours(text, size, ties="huggingface", **options)._mergeable_ranks)


def gigatoken(text: Text, size: int) -> Any:
    import gigatoken

    return gigatoken.train_bpe(text.data, size, [])


def check_gigatoken(text: Text, size: int, result: Any) -> bool:
    return [tuple(pair) for pair in result[1]] == our_merges(text, size, pattern="r50k")


def rustbpe(text: Text, size: int) -> Any:
    import rustbpe

    tokenizer = rustbpe.Tokenizer()
    tokenizer.train_from_iterator(iter(text.parts), size, pattern=PATTERNS["cl100k"])
    return tokenizer


def check_rustbpe(text: Text, size: int, result: Any) -> bool:
    ranks = {bytes(token): rank for token, rank in result.get_mergeable_ranks()}
    return merges_of(ranks) == our_merges(text, size, initial_alphabet=bytes(range(256)))


def tokenizers(text: Text, size: int) -> Any:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    split = pre_tokenizers.Split(Regex(_SPELLED[PATTERNS["cl100k"]]), "isolated")
    tokenizer = Tokenizer(models.BPE())
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, level])
    trainer = trainers.BpeTrainer(
        vocab_size=size, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(text.parts, trainer)
    return tokenizer


def check_tokenizers(text: Text, size: int, result: Any) -> bool:
    import json

    pairs = json.loads(result.to_str())["model"]["merges"]
    pairs = [pair.split(" ") if isinstance(pair, str) else pair for pair in pairs]
    return [(_bytes_of(left), _bytes_of(right)) for left, right in pairs] == our_merges(text, size)


OTHERS: dict[str, tuple[Callable[[Text, int], Any], Callable[[Text, int, Any], bool]]] = {
    "gigatoken": (gigatoken, check_gigatoken),
    "rustbpe": (rustbpe, check_rustbpe),
    "tokenizers": (tokenizers, check_tokenizers),
}


def measure_one(name: str, size: int, rounds: int) -> dict[str, Any]:
    text = Text(common.corpus(name))
    installed = [other for other in OTHERS if importlib.util.find_spec(other)]
    equal = {other: OTHERS[other][1](text, size, OTHERS[other][0](text, size)) for other in installed}
    ours(text, size)  # what is imported on first use
    contenders: dict[str, Callable[[Any], Any]] = {"streamtok": lambda _: ours(text, size)}
    for other in installed:
        contenders[other] = lambda _, run=OTHERS[other][0]: run(text, size)
    seconds = common.take_turns(contenders, range(rounds), lambda *_: None, common.wall_seconds)
    return {
        "text": name,
        "bytes": len(text.data),
        "vocab_size": size,
        "equal_merges": equal,
        "seconds": {contender: min(times) for contender, times in seconds.items()},
        "all_seconds": seconds,
    }


def measure(full: bool) -> list[dict[str, Any]]:
    jobs = [("english", size) for size in SIZES] + [("code", SIZES[1]), ("multilingual", SIZES[1])]
    jobs = [job for job in jobs if job[0] in common.corpora()]
    return [measure_one(name, size, 5 if full else 2) for name, size in jobs]


def table(rows: list[dict[str, Any]]) -> str:
    names = ["streamtok", *OTHERS]
    lines = []
    for row in rows:
        seconds = row["seconds"]
        cells = []
        for name in names:
            mark = "" if row["equal_merges"].get(name, True) else " (other merges)"
            cells.append(f"{seconds[name]:.2f}{mark}" if name in seconds else "-")
        fastest = min((seconds[name] for name in OTHERS if name in seconds), default=float("nan"))
        lines.append([row["text"], f"{row['vocab_size']:,}", *cells, f"{fastest / seconds['streamtok']:.1f}x"])
    return common.markdown(["text", "tokens", *(f"{name}, s" for name in names), "over the fastest"], lines)


if __name__ == "__main__":
    sys.stdout.flush()
    common.main(measure, table, pinned=False)
