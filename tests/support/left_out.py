"""Tests that cannot run here are collected once for each function or file, not once for each of their cases; and of a
test with many cases a run of all tests draws some."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable

import pytest


def leave_out(
    config: pytest.Config,
    items: list[pytest.Item],
    chosen: Iterable[pytest.Item],
    key: Callable[[pytest.Item], Hashable],
    reason: str,
) -> None:
    """Of the chosen items of one key the first is skipped, with their number as a reason; the others are deselected."""
    dropped: dict[pytest.Item, None] = {}
    for first, *others in _grouped(chosen, key):
        number = f" ({1 + len(others)} tests)" if others else ""
        first.add_marker(pytest.mark.skip(reason=reason + number))
        dropped.update(dict.fromkeys(others))
    if dropped:
        items[:] = [item for item in items if item not in dropped]
        config.hook.pytest_deselected(items=list(dropped))


def _grouped(items: Iterable[pytest.Item], key: Callable[[pytest.Item], Hashable]) -> Iterable[list[pytest.Item]]:
    groups: dict[Hashable, list[pytest.Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups.values()


CASES = 2
"""Of each function of tests that a run of all tests draws: 2,450 of the 7,200 cases of November 2026."""


def draw(config: pytest.Config, items: list[pytest.Item], seed: str) -> None:
    """Keep CASES of each function, by the seed: the same in each process, others in the next run."""

    def place(item: pytest.Item) -> bytes:
        return hashlib.sha256(f"{seed} {item.nodeid}".encode()).digest()

    kept = {item for group in _grouped(items, function_of) for item in sorted(group, key=place)[:CASES]}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def function_of(item: pytest.Item) -> Hashable:
    return item.path, getattr(item, "originalname", item.name)


def file_of(item: pytest.Item) -> Hashable:
    return item.path
