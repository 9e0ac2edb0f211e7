"""Training from tables, archives, ranges and URLs: the merges are those of the same texts in memory."""

from __future__ import annotations

import gzip
import io
import json
import pathlib
import random
import tarfile

import pytest
from english import ENGLISH

from streamtok.files import RangeSource, TableSource, TarSource
from streamtok.train import inputs, report, train

TEXTS = [line for line in ENGLISH[:120_000].decode().replace(". ", ".\n").split("\n") if line] + [
    "",
    "naïve 🤗 日本語 " * 30,
]


@pytest.fixture(name="merges")
def _merges(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    return ranks(iter(TEXTS))


def ranks(sources, **options):
    made = train(sources, 900, **options)
    assert made.training["documents"] == len(TEXTS)
    return made._mergeable_ranks


def write_tables(**columns):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    made = pa.table({"n": range(len(TEXTS)), "text": TEXTS, **columns})
    pq.write_table(made, "a.parquet", row_group_size=70)
    with pa.OSFile("a.arrow", "wb") as sink, pa.ipc.new_file(sink, made.schema) as writer:
        writer.write_table(made, max_chunksize=50)


def test_columns_of_tables(merges, monkeypatch):
    write_tables(body=[text.encode() for text in TEXTS], gaps=[text or None for text in TEXTS])
    for source in ("a.parquet", "a.arrow", TableSource("a.parquet"), ["a.*ow"]):
        monkeypatch.setattr(inputs, "CHUNK", random.Random(str(source)).choice((1000, 1 << 20)))
        assert ranks(source, threads=2) == merges
    assert ranks("a.arrow", column="body", threads=1) == merges
    assert ranks("a.parquet", column="gaps", nulls="empty") == merges
    assert train("a.parquet", 900, column="gaps", nulls="skip").training["documents"] == len(TEXTS) - 1
    with pytest.raises(ValueError, match=r"a\.parquet, row group \d+, row \d+: the text is null; nulls='skip'"):
        train("a.parquet", 900, column="gaps")
    with pytest.raises(ValueError, match=r"a\.parquet: no columns are called 'x'"):
        train("a.parquet", 900, column="x")
    with pytest.raises(ValueError, match="nulls='all' is unknown"):
        train("a.parquet", 900, nulls="all")
    made = train("a.parquet", 300)
    assert report(made, "a.parquet", column="body") == report(made, iter(TEXTS))


def test_a_stopped_run_goes_on_at_its_row(merges, monkeypatch):
    write_tables()
    monkeypatch.setattr(inputs, "CHUNK", 3000)
    monkeypatch.setattr("streamtok.train.run.CHECKPOINT_SECONDS", 0.0)
    seen = []

    def stop(at):
        seen.append(at.text_bytes)
        if len(seen) % 9 == 0 and len(seen) < 40:
            raise KeyboardInterrupt

    for _ in range(9):
        try:
            found = ranks(["a.parquet"], checkpoint="kept", progress=stop, threads=2)
            break
        except KeyboardInterrupt:
            pass
    assert found == merges and len(seen) > 30 and seen[9] > seen[0] + 3000


def test_members_of_archives(merges):
    for suffix, pack in ((".tar", bytes), (".tar.gz", gzip.compress)):
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w") as archive:
            for i, text in enumerate(TEXTS):
                for name, data in ((f"{i}.txt", text), (f"{i}.json", json.dumps({"body": text}))):
                    info = tarfile.TarInfo(name)
                    info.size = len(data.encode())
                    archive.addfile(info, io.BytesIO(data.encode()))
        pathlib.Path(f"a{suffix}").write_bytes(pack(made.getvalue()))
        assert ranks(f"a{suffix}", threads=2) == ranks([TarSource(f"a{suffix}")], threads=1) == merges
        assert ranks(f"a{suffix}", column="json", key="body") == merges
    with pytest.raises(ValueError, match=r"a\.tar, member 0\.json: the object has no 'text'"):
        train("a.tar", 900, column="json")


def test_ranges_and_urls(merges):
    lines = "".join(json.dumps({"body": text}) + "\n" for text in TEXTS).encode()
    pathlib.Path("a.jsonl").write_bytes(lines)
    parts = [RangeSource("a.jsonl", 0, 30_000), RangeSource("a.jsonl", 30_000, 30_001), RangeSource("a.jsonl", 30_001)]
    assert ranks(parts, key="body") == merges
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.pipe("/a.jsonl.gz", gzip.compress(lines))
    assert ranks("memory://a.jsonl.gz", key="body", threads=2) == merges
    write_tables()
    memory.pipe("/a.parquet", pathlib.Path("a.parquet").read_bytes())
    assert ranks("memory://a.parquet") == merges
    with pytest.raises(FileNotFoundError, match="none"):
        train("memory://none.parquet", 900)
