#!/usr/bin/env python3
"""Interrupts calls of every class that keeps a state, and looks at what is left of the objects.

    python tools/interrupt.py --seconds 600            by signals at random moments: so long for each group of classes
    python tools/interrupt.py --count 1000             so many interrupted calls of each row instead
    python tools/interrupt.py --bytecodes              by an exception in front of each bytecode of each call, once
    python tools/interrupt.py --only Session --seed 7  the rows whose names have this in them, with other moments

The rows are those of tests/support/interrupted_rows.py. An object has to be as before the call, or as after it, and
must not be locked. The table has the calls that were interrupted, and the objects that were broken, by class. Exit
status: 0 none was, 1 some were, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import collections
import os
import pathlib
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "support"))
os.environ.setdefault("STREAMTOK_CACHE", tempfile.mkdtemp(prefix="streamtok-interrupt-"))
os.environ.setdefault("STREAMTOK_TESTS_RUN", os.environ["STREAMTOK_CACHE"])  # the kernels, compiled

import interrupted
import interrupted_rows


def interrupt(row: interrupted.Row, arguments: argparse.Namespace, seconds: float) -> interrupted.Result:
    if arguments.bytecodes:
        return interrupted.each_bytecode(row, True)
    if arguments.count is not None:
        return interrupted.by_signals(row, arguments.count, seed=arguments.seed)
    return interrupted.by_signals(row, 10**9, seconds, arguments.seed)


def run(arguments: argparse.Namespace) -> dict[str, list[int]]:
    """Calls that were interrupted and objects that were broken, by class."""
    found: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])
    for group in interrupted_rows.GROUPS.values():
        rows = [row for row in group() if arguments.only in row.name]
        for row in rows:
            result = interrupt(row, arguments, arguments.seconds / len(rows))
            known = found[row.name.partition(":")[0]]
            known[0] += result.tried
            known[1] += len(result.broken)
            print(f"{row.name}: {result.tried} interrupted, {len(result.broken)} broken", flush=True)
            for fault in result.broken[:3]:
                print(f"{row.name}: {fault}", flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--count", type=int)
    parser.add_argument("--bytecodes", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for owner, name, value in interrupted_rows.SMALL:
        setattr(owner, name, value)
    found = run(arguments)
    width = max(map(len, found), default=0)
    for name, (tried, broken) in found.items():
        print(f"{name:{width}}  {tried:9,} interrupted  {broken:7,} broken")
    print(f"{'all':{width}}  {sum(t for t, _ in found.values()):9,} interrupted  ", end="")
    print(f"{sum(b for _, b in found.values()):7,} broken")
    return int(any(broken for _, broken in found.values()))


if __name__ == "__main__":
    sys.exit(main())
