"""Datasets on a Ray cluster (the extra `ray`): build() makes the shards of a spec on all nodes."""

from __future__ import annotations

from .cluster import build

__all__ = ["build"]
