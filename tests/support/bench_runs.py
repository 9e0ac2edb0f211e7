"""What the tests of `streamtok bench` and of benchmarks/rivals share: the folder with their sample, and texts."""

import pytest
from english import ENGLISH

pytest.importorskip("click")

from streamtok.cli import sample

NASTY = "naïve café ☕ 日本語 👩‍👩‍👧 \t <|endoftext|> 12345\r\n 'll\n".encode() * 50


@pytest.fixture(autouse=True, name="here")
def _here(here, monkeypatch):
    """A folder with a small sample, in which the test runs."""
    (here / "in.txt").write_bytes(ENGLISH[:20_000])
    monkeypatch.setattr(sample, "_SMALLEST_SLICE", 4_000)  # quick; the figures do not matter here
    return here
