"""The side N of the dense pair grid: 256 to 4096, cold and warm, by encoding and corpus.

Cold is the first stretch of text in a new process, loading not counted: a large grid costs page faults there. Warm is
fresh text in the same process. The sides take turns, a process each, and are compared with the default side turn by
turn: the table shows time over the default's; below 1 is faster. ST_DENSE_DEFAULT in csrc/pairs/pair_table.h is
chosen by it.
"""

from __future__ import annotations

import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from common import ENCODINGS, MB, ROOT, check_ids, corpora, fresh_slices, main, markdown, pin

from streamtok.bundled.mapped import load_packed
from streamtok.native import encode
from streamtok.native.vocab import Vocab
from streamtok.patterns import family_of
from streamtok.registry import ENCODING_CONSTRUCTORS

SIDES = (256, 512, 1024, 2048, 4096)


def default_side() -> int:
    """The side that the core takes by default."""
    header = (ROOT / "csrc" / "pairs" / "pair_table.h").read_text()
    found = re.search(r"#define ST_DENSE_DEFAULT (\d+)", header)
    assert found, "csrc/pairs/pair_table.h does not define ST_DENSE_DEFAULT"
    return int(found[1])


def worker(encoding: str, side: int, paths: list[str]) -> None:
    """Encodes files in a new process; prints the seconds of each as JSON and leaves the ids beside them."""
    import numpy as np

    pin()
    packed = load_packed(encoding)
    vocab = Vocab(packed.blob, packed.lengths, None, packed.splits, {}, dense_side=side)
    family = family_of(ENCODING_CONSTRUCTORS[encoding].pat_str)  # type: ignore[attr-defined]
    coder = encode.Coder(vocab, family)
    texts = [pathlib.Path(path).read_bytes().decode() for path in paths]
    seconds, results = [], []
    for text in texts:
        start = time.process_time()
        results.append(coder.encode_array(text, None, None))
        seconds.append(time.process_time() - start)
    for path, ids in zip(paths, results):
        np.save(f"{path}.npy", ids)
    print(json.dumps(seconds))


def one_turn(encoding: str, side: int, paths: list[str]) -> list[float]:
    command = [sys.executable, __file__, "--worker", encoding, str(side), *paths]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def one_case(encoding: str, corpus: str, full: bool) -> dict[str, Any]:
    import numpy as np

    slices = fresh_slices(corpus, 3 if full else 2, 2 * MB)
    turns, sides = (9 if full else 1), sorted({*SIDES, default_side()})
    seconds: dict[int, list[list[float]]] = {side: [] for side in sides}
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{folder}/{i}" for i in range(len(slices))]
        for path, piece in zip(paths, slices):
            pathlib.Path(path).write_bytes(piece.data)
        for turn in range(turns):
            for i in range(len(sides)):
                side = sides[(turn + i) % len(sides)]
                seconds[side].append(one_turn(encoding, side, paths))
                for path, piece in zip(paths, slices):
                    check_ids(np.load(f"{path}.npy"), piece.expected(encoding), f"grid of {side}, {encoding}")
    return {"encoding": encoding, "corpus": corpus, "sides": relative(seconds, [len(p.data) for p in slices])}


def relative(seconds: dict[int, list[list[float]]], sizes: list[int]) -> dict[str, dict[str, float]]:
    """Medians by side: MB/s, and time over the default side's in the same turn."""
    base, answer = seconds[default_side()], {}
    for side, turns in seconds.items():
        warm = [sum(turn[1:]) for turn in turns]
        answer[str(side)] = {
            "cold_mb_s": statistics.median(sizes[0] / MB / turn[0] for turn in turns),
            "warm_mb_s": statistics.median(sum(sizes[1:]) / MB / spent for spent in warm),
            "cold_ratio": statistics.median(own[0] / ref[0] for own, ref in zip(turns, base)),
            "warm_ratio": statistics.median(own / sum(ref[1:]) for own, ref in zip(warm, base)),
        }
    return answer


def measure(full: bool) -> dict[str, Any]:
    rows = [one_case(encoding, corpus, full) for corpus in corpora() for encoding in ENCODINGS]
    return {"default": default_side(), "rows": rows, "mean": mean(rows)}


def mean(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Geometric means of the ratios over all rows."""
    sides = rows[0]["sides"]
    kinds = ("cold_ratio", "warm_ratio")
    return {
        side: {kind: statistics.geometric_mean(row["sides"][side][kind] for row in rows) for kind in kinds}
        for side in sides
    }


def table(result: dict[str, Any]) -> str:
    sides = list(result["mean"])
    head = ["corpus", "encoding", *(f"N={side}" for side in sides)]

    def cells(figures: dict[str, dict[str, float]]) -> list[str]:
        return [f"{figures[side]['cold_ratio']:.2f} / {figures[side]['warm_ratio']:.2f}" for side in sides]

    rows = [[row["corpus"], row["encoding"], *cells(row["sides"])] for row in result["rows"]]
    rows.append(["mean", "", *cells(result["mean"])])
    return f"Cold / warm time over that of N={result['default']}.\n\n" + markdown(head, rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
    else:
        main(measure, table)
