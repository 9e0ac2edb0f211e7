"""A run of all tests draws some cases of each test: the same ones in each of its processes, others in the next run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import left_out


class Item(NamedTuple):
    path: str
    name: str
    originalname: str
    nodeid: str


def drawn(seed: str, sizes: dict[str, int]) -> tuple[list[str], list[str]]:
    """(the names of the cases that are drawn, those that pytest is told of as deselected)"""
    told: list[Item] = []
    cases = [(name, f"test_x.py::{name}[{case}]") for name, size in sizes.items() for case in range(size)]
    items = [Item("test_x.py", name, name, node) for name, node in cases]
    config = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=lambda items: told.extend(items)))
    left_out.draw(config, items, seed)
    return [item.nodeid for item in items], [item.nodeid for item in told]


def test_a_seed_draws_the_same_cases_and_tells_of_the_rest():
    names, told = drawn("1", {"test_a": 30, "test_b": 2})
    assert (names, told) == drawn("1", {"test_a": 30, "test_b": 2})
    assert len(names) == left_out.CASES + 2
    assert {"test_x.py::test_b[0]", "test_x.py::test_b[1]"} <= set(names)
    assert not set(names) & set(told) and len(names) + len(told) == 32


def test_each_case_is_drawn_by_some_seed():
    seen = {name for seed in range(100) for name in drawn(str(seed), {"test_a": 30})[0]}
    assert len(seen) == 30
