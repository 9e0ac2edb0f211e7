"""dolma: what its own writer gives for the same documents, and names of documents that are carried."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import json
import pathlib
import random
import sys
import types

import numpy as np
import pytest
from test_formats import _enc, _here  # noqa: F401

from streamtok.files import encode_file
from streamtok.files.formats import open_documents


@pytest.fixture(name="writer")
def _writer(monkeypatch: pytest.MonkeyPatch):
    """dolma's MemmapWriter. Its module is imported without the rest of the package, which needs releases of other
    packages that do not go with those of these tests: pip install --no-deps dolma, and msgspec, smart-open, wrapt."""
    found = importlib.util.find_spec("dolma")
    if found is None or not found.submodule_search_locations:
        pytest.skip("dolma is not installed")
    for name in ("dolma", "dolma.core", "dolma.tokenizer"):
        package = types.ModuleType(name)
        package.__path__ = [str(pathlib.Path(found.submodule_search_locations[0], *name.split(".")[1:]))]
        monkeypatch.setitem(sys.modules, name, package)
    return pytest.importorskip("dolma.tokenizer.memmap_writer", exc_type=ImportError)


def write_sources() -> dict[str, list[str]]:
    """Two files of JSON lines; dolma leaves out empty documents, so there are none."""
    rng = random.Random(8)
    sources = {'a,"b.jsonl': ["one", "naïve 🤗", "words " * 900], "c.jsonl": ["x " * rng.randrange(1, 50)] * 400}
    for name, texts in sources.items():
        lines = [json.dumps({"id": f'{name[0]},"{i}ü', "text": text}) for i, text in enumerate(texts)]
        pathlib.Path(name).write_text("\n".join(lines))
    return sources


@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
@pytest.mark.parametrize("carried", [False, True])
def test_dolmas_own_writer(enc, here, writer, dtype, carried):
    if carried:
        pytest.importorskip("pyarrow")
    sources = write_sources()
    encode_file(enc, list(sources), "o.npy", format="dolma", dtype=dtype, append_eot=True, carry=["id"] * carried)
    made = importlib.import_module("dolma.tokenizer.data_types").TokenizerOutput.from_tokens
    with writer.MemmapWriter("theirs", np.dtype(dtype), max_tokens=1 << 20) as theirs:
        for name, texts in sources.items():
            digest = hashlib.sha256(name.encode()).hexdigest()
            for number, text in enumerate(texts, 1):
                known = f'{name[0]},"{number - 1}ü' if carried else f"{digest}-{number}"
                ids = [*enc.encode_ordinary(text), enc.eot_token]
                assert theirs.write(made(id=known, src=name, loc=number, tokens=ids))
    assert pathlib.Path("o.npy").read_bytes() == pathlib.Path("theirs.npy").read_bytes()
    tables = [gzip.decompress(pathlib.Path(name).read_bytes()) for name in ("o.csv.gz", "theirs.csv.gz")]
    assert tables[0] == tables[1]


def test_names_that_are_carried_are_read_and_joined(enc, here):
    pytest.importorskip("pyarrow")
    from streamtok.dataset import Spec, build, merge, sample

    sources = write_sources()
    with open("c.jsonl", "a") as file:
        file.write('\n{"text": "without a name"}')
    wanted = [f'{name[0]},"{i}ü' for name, texts in sources.items() for i in range(len(texts))]
    encode_file(enc, list(sources), "o.npy", format="dolma", carry=["id"])
    found = open_documents("o.npy").columns()["id"].to_pylist()
    assert found == [*wanted, hashlib.sha256(b"c.jsonl").hexdigest() + "-401"]
    build(Spec(tuple(sources), "out", "r50k_base", "dolma", shard_bytes=5000, carry=("id",)), workers=1)
    merge("out", "merged.npy", format="dolma")
    assert open_documents("merged.npy").columns()["id"].to_pylist()[:-1] == wanted
    assert all(place.carried["id"] in found for place in sample("out", 9))
    for carry in (["text"], ["id", "text"]):
        with pytest.raises(ValueError, match="format='dolma' has a place for one passthrough column, 'id'"):
            encode_file(enc, "c.jsonl", "x.npy", format="dolma", carry=carry)
