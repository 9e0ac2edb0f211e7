"""What is known of the kernels without a GPU: their source, how to compile it, and the shared memory that they take."""

from __future__ import annotations

import importlib.resources

from ._job import BLOCK, SHORT_STRETCH

_FAMILIES = {"r50k": "ST_SPLIT_R50K", "cl100k": "ST_SPLIT_CL100K", "o200k": "ST_SPLIT_O200K", "none": "ST_SPLIT_NONE"}

WARP_MEMORY = {"cuts": 3232, "lookup": 4144, "again": 4608, "merge": 4096, "short": 4608}
"""Bytes of shared memory a warp: sizeof(st_cut_memory), st_lookup_memory, st_again_memory, st_merge_memory; the largest
of them where all stages are one kernel."""


def source() -> str:
    """The kernels as one file, as the build wrote it."""
    return importlib.resources.files(__package__).joinpath("kernels.cu").read_text()


def definitions(family: str, is_short: bool) -> tuple[str, ...]:
    """What the source is compiled with for a family of split patterns ("r50k", "cl100k", "o200k"), or for "none": the
    kernels for long texts, or the one for short texts."""
    own = ("-DST_SHORT_TEXTS", f"-DST_STRETCH_BLOCKS={SHORT_STRETCH // BLOCK}") if is_short else ()
    return (f"-DST_FAMILY={_FAMILIES[family]}", *own)


def compile_options(family: str, is_short: bool = False) -> tuple[str, ...]:
    """Options of NVRTC for the same."""
    return (*definitions(family, is_short), "--std=c++17", "-lineinfo")
