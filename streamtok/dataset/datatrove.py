"""A step of a datatrove pipeline that makes the shards of a spec: datatrove hands its ranks out, locally, on Slurm or
on Ray. Needs the package datatrove."""

from __future__ import annotations

import os
from typing import Any

from datatrove.pipeline.base import PipelineStep

from .._named import load_encoding
from .build import check_identity, identity_of, work
from .plan import plan
from .spec import Spec

__all__ = ["BuildShards"]


class BuildShards(PipelineStep):
    """Each rank makes its share of the shards: those whose number in the plan is the rank, modulo the number of ranks.

        LocalPipelineExecutor([BuildShards(read_spec("spec.toml"))], tasks=64, workers=8).run()

    Shards that are finished are not made again. When all ranks are done, `streamtok dataset build SPEC`, or
    streamtok.dataset.build(spec), finds the shards and writes the manifest.

    Args:
        spec: what the dataset is made of; sources and folder have the same paths for all ranks.

    Raises:
        As streamtok.dataset.build; ValueError at the end where a source of this rank could not be encoded.
    """

    name = "streamtok shards"
    type = "TOKENIZER"

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.spec = spec

    def run(self, data: Any = None, rank: int = 0, world_size: int = 1) -> None:
        """Make the shards of one rank. data: of earlier steps, is not used."""
        spec, encoding = self.spec, load_encoding(self.spec.encoding, self.spec.base)
        os.makedirs(spec.folder, exist_ok=True)
        check_identity(spec, identity_of(spec, encoding))
        shards = plan(spec.source_names(), spec.shard_bytes, base=spec.base, documents=spec.documents)
        failed = []
        for shard in shards[rank::world_size]:
            with self.track_time():
                outcome = work(spec, shard, encoding=encoding)
            failed += [f"{source}: {error}" for source, error in outcome.failures_of(shard)]
            if outcome.manifest is None:
                continue
            self.stat_update("shards")
            self.stat_update("documents", value=outcome.manifest.documents)
            self.stat_update("tokens", value=outcome.manifest.ids)
        if failed:
            raise ValueError(f"{len(failed)} sources of this rank were not encoded: {'; '.join(failed)}")
