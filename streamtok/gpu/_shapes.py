"""What needs no GPU: the source of the kernels, how to compile it, and the shared memory that they take."""

from __future__ import annotations

import dataclasses
import importlib.resources

from ._job import BLOCK, SHORT_STRETCH


@dataclasses.dataclass(frozen=True)
class Module:
    """Kernels that are compiled together.

    package: where their kernels.cu is. resident: kernels whose blocks come around again, and how many of their blocks a
    multiprocessor holds. warp_memory, block_memory: bytes of shared memory a warp, and a block. together: kernels whose
    blocks wait for each other. own: definitions that the source is compiled with.
    """

    package: str
    resident: dict[str, int]
    warp_memory: dict[str, int]
    block_memory: dict[str, int] = dataclasses.field(default_factory=dict)
    together: tuple[str, ...] = ()
    own: tuple[str, ...] = ()

    def source(self) -> str:
        """The kernels as one file, as the build wrote it."""
        return importlib.resources.files(self.package).joinpath("kernels.cu").read_text()

    def shared_memory(self, kernel: str, block: int) -> int:
        """Bytes of shared memory of a block of so many threads."""
        return self.warp_memory.get(kernel, 0) * (block // 32) + self.block_memory.get(kernel, 0)

    def definitions(self, family: str) -> tuple[str, ...]:
        """What the source is compiled with for a family of split patterns: one of patterns.KERNELS."""
        return (f"-DST_FAMILY=ST_SPLIT_{family.upper()}", *self.own)

    def options(self, family: str) -> tuple[str, ...]:
        """Options of NVRTC for the same."""
        return (*self.definitions(family), "--std=c++17", "-lineinfo")


LONG_TEXTS = Module(
    "streamtok.gpu",
    # Blocks of 8 warps (cuts, lookup) and 4 (the others), by their shared memory.
    {"cuts": 8, "lookup": 5, "again": 8, "merge": 8},
    # sizeof(st_cut_memory), st_lookup_memory, st_again_memory, st_merge_memory
    {"cuts": 3232, "lookup": 4688, "again": 4608, "merge": 4096},
)

SHORT_TEXTS = Module(
    "streamtok.gpu",
    {"short": 2},
    {"short": 4688},  # the largest of those, because it is all of these stages
    together=("short",),
    own=("-DST_SHORT_TEXTS", f"-DST_STRETCH_BLOCKS={SHORT_STRETCH // BLOCK}"),
)

ENCODING = LONG_TEXTS, SHORT_TEXTS
"""The modules of encoding."""

LANE_BYTES = 128
"""Bytes that a lane walks: ST_LANE_BYTES."""

LONGEST_MATCH = (
    Module(
        "streamtok.gpu.longest",
        {"walk": 5, "bounded": 4, "mend": 4, "map": 4},
        # sizeof(st_walk_memory), and sizeof(st_bounded_memory)
        {"walk": 4736, "bounded": 5768, "mend": 5768, "map": 5768},
    ),
)
"""The module of longest match, which has kernels that find starts of its own."""


def module_of(modules: tuple[Module, ...], kernel: str) -> Module:
    """Of a device's modules the one with the kernel: the first has those that none names."""
    return next((module for module in modules if kernel in module.resident), modules[0])
