"""Encoding a large file goes on where a crash stopped it.

    python examples/resume_after_crash.py [FILE]

While encode_file works, the ids lie in OUT.partial, and OUT.journal says up to which byte of the text they are good.
OUT itself appears when all is done. After a crash, a power cut or Ctrl-C the same call with resume=True goes on from
the last point in the journal. Here a process encodes FILE, or a sample, and ends itself half-way without any cleaning
up; a second run finishes the work. The file is the same, byte for byte, as that of a run that was never stopped.
"""

import multiprocessing
import os
import pathlib
import sys
import tempfile

import streamtok
from streamtok.files import EncodedFile, Progress

SAMPLE = "A line of a corpus that takes hours to encode. 🤗\n" * 20_000


def encode(source: pathlib.Path, target: pathlib.Path, crash_at: int | None = None) -> EncodedFile:
    """Encodes, and goes on with what an earlier run has left. The process ends at byte `crash_at` of the text."""

    def progress(state: Progress) -> None:
        if crash_at is not None and state.bytes_read >= crash_at:
            os._exit(1)  # at once, as after a kill -9: nothing is closed or flushed

    encoding = streamtok.get_encoding("o200k_base")
    # The defaults, 1 MB and 64 MB, suit large files. The sample has one megabyte, so a point is kept every 64 KB.
    small = {"chunk_size": 1 << 14, "journal_bytes": 1 << 16}
    return encoding.encode_file(source, target, resume=True, progress=progress, **small)


def crash_and_resume(source: pathlib.Path, target: pathlib.Path) -> EncodedFile:
    first = multiprocessing.get_context("spawn").Process(
        target=encode, args=(source, target, source.stat().st_size // 2)
    )
    first.start()
    first.join()
    assert first.exitcode == 1 and not target.exists()
    return encode(source, target)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(folder, "sample.txt")
        if len(sys.argv) < 2:
            source.write_text(SAMPLE, encoding="utf-8")
        done = crash_and_resume(source, pathlib.Path(folder, "ids.bin"))
    went_on = 0 if done.earlier is None else done.earlier.offset  # 0 where FILE is too small for a point
    print(f"{done.ids:,} ids; the second run went on at byte {went_on:,} of {done.bytes:,}")


if __name__ == "__main__":
    main()
