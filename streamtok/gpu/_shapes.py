"""What is known of the kernels without a GPU: their source, how to compile it, and the shared memory that they take."""

from __future__ import annotations

import dataclasses
import importlib.resources

_FAMILIES = {"r50k": "ST_SPLIT_R50K", "cl100k": "ST_SPLIT_CL100K", "o200k": "ST_SPLIT_O200K"}


@dataclasses.dataclass(frozen=True)
class Module:
    """Kernels that are compiled together.

    package: where their kernels.cu is. warp_memory: bytes of shared memory a warp. block_memory: a block. resident:
    blocks that a multiprocessor holds. together: those whose blocks wait for each other.
    """

    package: str
    warp_memory: dict[str, int]
    resident: dict[str, int]
    together: tuple[str, ...]
    block_memory: dict[str, int] = dataclasses.field(default_factory=dict)

    def source(self) -> str:
        """The kernels as one file, as the build wrote it."""
        return importlib.resources.files(self.package).joinpath("kernels.cu").read_text()

    def shared_memory(self, kernel: str, block: int) -> int:
        """Bytes of shared memory of a block of so many threads."""
        return self.warp_memory.get(kernel, 0) * (block // 32) + self.block_memory.get(kernel, 0)


ENCODING = Module(
    "streamtok.gpu",
    # sizeof(st_cut_memory), st_lookup_memory, st_again_memory, st_merge_memory; the largest where all are one kernel
    {"cuts": 3232, "lookup": 4144, "again": 4608, "merge": 4096, "whole": 4608},
    # blocks of 8 warps (cuts, lookup) and 4 (the others), by their shared memory
    {"cuts": 8, "lookup": 6, "again": 8, "merge": 8, "whole": 1},
    ("whole",),
)


def compile_options(family: str) -> tuple[str, ...]:
    """Options of NVRTC for the kernels of a family of split patterns ("r50k", "cl100k", "o200k")."""
    return (f"-DST_FAMILY={_FAMILIES[family]}", "--std=c++17", "-lineinfo")
