"""streamtok beside other tokenizers, each in a process of its own, after a check of the ids. peers.py runs it."""

from __future__ import annotations

import os
import tempfile
from importlib.util import find_spec
from typing import Any

from streamtok.cli.sample import Sample

from .contenders import FED, REFERENCE, RIVALS, Entry, Vocabulary


def is_installed(rival: str) -> bool:
    try:
        return find_spec(RIVALS[rival].module) is not None
    except ValueError:  # a module without a spec: put in sys.modules by hand
        return True


def measure(sample: Sample, encoding: Any, against: list[str], threads: list[int]) -> dict[str, Any]:
    """Check the ids, with tiktoken's or, where that is not installed, those of the reference engine; then time.

    Every row gets a process of its own, and they take turns: cold is the first call in it (three processes), warm are
    five later ones, each with text that was not there before.

    Raises ValueError where ids of ours differ; nothing was timed then.
    """
    from .gate import Gate
    from .report import describe_machine, report
    from .timing import time_entries

    ours = [Entry("streamtok"), Entry(FED), *(Entry("streamtok", n) for n in threads)]
    rivals = [Entry(name, n) for name in against for n in (None, *threads)]
    with tempfile.TemporaryDirectory() as folder:
        vocabulary = write_vocabulary(encoding, folder)
        gate = Gate(sample, vocabulary, "tiktoken" if is_installed("tiktoken") else REFERENCE)
        gate.check(ours + rivals)
        path = os.path.join(folder, "sample")
        with open(path, "wb") as out:
            out.write(sample.data)
        timings = time_entries(gate, [entry for entry in ours + rivals if entry not in gate.refused], path)
    return report(gate, timings, describe_machine(against))


def write_vocabulary(encoding: Any, folder: str) -> Vocabulary:
    """What rivals are made from; their loaders go by the name of the file."""
    path = os.path.join(folder, f"{encoding.name}.tiktoken")
    from streamtok.load import dump_tiktoken_bpe

    dump_tiktoken_bpe(encoding._mergeable_ranks, path)
    return Vocabulary(encoding.name, path, encoding._pat_str, encoding._special_tokens)
