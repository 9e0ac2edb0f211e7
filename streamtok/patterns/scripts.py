"""Text by the scripts of its characters, as UnicodeScripts of tokenizers has it."""

from __future__ import annotations

from .char_sets import script_runs
from .levels import HERE, Machine, Step
from .partition import END, SURROGATES, Partition


def script_machine() -> tuple[Machine, Partition]:
    """A piece is what is of one script, and the blanks and unassigned characters behind it; those in front of all
    others are dropped. Class 1 has these, class 1 + n the script with number n."""
    runs = [(start, 1 + number) for start, number in script_runs() if start not in SURROGATES]
    scripts = 1 + max(number for _, number in runs)
    any_of = 1
    rows = []
    for open_ in range(scripts):  # 0: nothing, any_of: characters that go with each script
        cut = ((HERE, open_ == any_of),) if open_ else ()
        row = [Step(END, cut, ())]
        for number in range(1, scripts):
            stays = number == open_ or (open_ and number == any_of)
            row.append(Step(open_ if stays else number, () if stays else cut, ()))
        rows.append(row)
    return rows, Partition(scripts, runs, {})
