"""Makes X_data.h of each X_tables.npz of csrc/: the builds of the package and of the C library call it."""

from __future__ import annotations

import pathlib


def write_numbers(tables: pathlib.Path) -> None:
    """Makes X_data.h of X_tables.npz. The file that includes it defines ST_NUMBERS(type, name, count) in front."""
    import numpy

    text = ["/* Made by the build. */\n"]
    with numpy.load(tables) as arrays:
        for name, array in arrays.items():
            text.append(f"ST_NUMBERS({array.dtype.name}_t, {name}, {array.size}) = {{\n")
            items = [f"{number:#x}u" if array.dtype.kind == "u" else str(number) for number in array.tolist()]
            text += [",".join(items[at : at + 20]) + ",\n" for at in range(0, len(items), 20)] + ["};\n"]
    made = tables.with_name(tables.name.replace("_tables.npz", "_data.h"))
    if not made.exists() or made.read_text() != "".join(text):
        made.write_text("".join(text))


def write_all(csrc: pathlib.Path) -> None:
    for tables in sorted(csrc.rglob("*_tables.npz")):
        write_numbers(tables)


if __name__ == "__main__":
    write_all(pathlib.Path(__file__).resolve().parent.parent / "csrc")
