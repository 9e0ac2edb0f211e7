"""Text of any size into shards of ids: a plan, a pure function for each shard, and a manifest of the whole.

A spec (spec.py) names sources, vocabulary, options and a folder. plan.py cuts the sources into shards; shard.py turns
one into finished files and a manifest; build.py does all of them on this machine, streamtok.ray on many. The manifest
of the dataset is the same for any number of workers and any order of the shards.
"""

from __future__ import annotations

from .build import Build, BuildProgress, build
from .manifest import DatasetManifest, FileFacts, Manifest, read_dataset
from .merge import Merged, merge
from .plan import Range, Shard, plan
from .sample import Place, sample
from .shard import encode_shard
from .spec import Spec, SpecError, read_spec
from .stats import DatasetStats, plot_stats, stats
from .verify import verify

__all__ = [
    "Build",
    "BuildProgress",
    "DatasetManifest",
    "DatasetStats",
    "FileFacts",
    "Manifest",
    "Merged",
    "Place",
    "Range",
    "Shard",
    "Spec",
    "SpecError",
    "build",
    "encode_shard",
    "merge",
    "plan",
    "plot_stats",
    "read_dataset",
    "read_spec",
    "sample",
    "stats",
    "verify",
]
