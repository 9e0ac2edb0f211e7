"""train.bin and val.bin as nanoGPT reads them: GPT-2's ids as uint16, one behind the other, memory-mapped.

    python examples/nanogpt_files.py [FILE] [FOLDER]

The first nine tenths of FILE are for training, the rest for validation; FOLDER (default: a temporary one) gets the two
files. encode_file writes them in bounded memory, and a file appears whole or not at all. batch() draws what one step of
training needs: from a file of any size it reads only those places.
"""

import pathlib
import sys
import tempfile

import numpy as np

import streamtok

SAMPLE = "To be read by nanoGPT: ids of 16 bits, one behind the other, and nothing else.\n" * 500


def write(data: bytes, folder: pathlib.Path) -> tuple[int, int]:
    """Writes both files; returns how many ids they hold."""
    encoding = streamtok.get_encoding("gpt2")
    cut = data.rfind(b"\n", 0, len(data) * 9 // 10) + 1  # between two lines
    counts = []
    for name, part in (("train", data[:cut]), ("val", data[cut:])):
        source = folder / f"{name}.txt"
        source.write_bytes(part)
        counts.append(encoding.encode_file(source, folder / f"{name}.bin", dtype="uint16").ids)
        source.unlink()
    return counts[0], counts[1]


def batch(path: pathlib.Path, count: int, size: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(x, y), int64 of shape (count, size): stretches at random places, and the ids one place further on."""
    ids = np.memmap(path, dtype="<u2", mode="r")
    places = random.integers(0, len(ids) - size, count)[:, None] + np.arange(size)
    return ids[places].astype(np.int64), ids[places + 1].astype(np.int64)


def main() -> None:
    data = pathlib.Path(sys.argv[1]).read_bytes() if len(sys.argv) > 1 else SAMPLE.encode()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else temporary)
        train, val = write(data, folder)
        x, y = batch(folder / "train.bin", count=4, size=64, random=np.random.default_rng(0))
    print(f"train.bin: {train:,} ids, val.bin: {val:,} ids; a batch: x {x.shape}, y {y.shape}")


if __name__ == "__main__":
    main()
