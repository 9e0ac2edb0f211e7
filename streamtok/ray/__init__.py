"""Datasets on a Ray cluster (the extra `ray`): build() makes the shards of a spec on all nodes; EncodeBatches is a
function for Ray Data's map_batches."""

from __future__ import annotations

from .batches import EncodeBatches
from .cluster import build

__all__ = ["EncodeBatches", "build"]
