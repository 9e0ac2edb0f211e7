"""Calls that are interrupted anywhere: an object is then as before the call, or as after it, and never locked."""

from __future__ import annotations

import interrupted
import interrupted_rows
import oracle
import pytest

# Event loops that a row leaves open, and what is raised where Python drops it.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")

SIGNALS = {"default": 8, "ci": 100, "long": 2_000}[oracle.PROFILE]  # of each row

SLOW = ("files", "threads", "training", "devices")


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """A short text has all that a long one has."""
    for owner, name, value in interrupted_rows.SMALL:
        monkeypatch.setattr(owner, name, value)


def told(broken: list[str], row: interrupted.Row) -> str:
    return f"{row.name}: {len(broken)} broken objects\n" + "\n".join(broken[:5])


@pytest.mark.parametrize("group", interrupted_rows.GROUPS)
def test_an_exception_at_any_bytecode(group):
    for row in interrupted_rows.GROUPS[group]():
        result = interrupted.each_bytecode(row, oracle.LONG)
        assert not result.broken, told(result.broken, row)
        assert result.tried or not result.points, row.name


@pytest.mark.skipif(not interrupted.has_signals, reason="this system has no timer that signals a process")
@pytest.mark.parametrize("group", interrupted_rows.GROUPS)
def test_a_signal_at_any_time(group):
    for row in interrupted_rows.GROUPS[group]():
        result = interrupted.by_signals(row, SIGNALS if group not in SLOW else SIGNALS // 3)
        assert not result.broken, told(result.broken, row)
