"""Tests that cannot run here are collected once for each function or file, not once for each of their cases."""

from __future__ import annotations

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
    groups: dict[Hashable, list[pytest.Item]] = {}
    for item in chosen:
        groups.setdefault(key(item), []).append(item)
    dropped: dict[pytest.Item, None] = {}
    for first, *others in groups.values():
        number = f" ({1 + len(others)} tests)" if others else ""
        first.add_marker(pytest.mark.skip(reason=reason + number))
        dropped.update(dict.fromkeys(others))
    if dropped:
        items[:] = [item for item in items if item not in dropped]
        config.hook.pytest_deselected(items=list(dropped))


def function_of(item: pytest.Item) -> Hashable:
    return item.path, getattr(item, "originalname", item.name)


def file_of(item: pytest.Item) -> Hashable:
    return item.path
