"""The core as a whole: which instructions it uses, how much memory it asked for. This module's file holds all others."""

from libc.stdint cimport int64_t

from .csrc.base cimport st_alloc_counts, st_alloc_fail_after, st_alloc_read, st_tier_name


def tier() -> str:
    """Which instructions the inner loops use: "portable", "neon", "avx2" or "avx512"."""
    return st_tier_name().decode()


# ---- for tests and benchmarks ----

def allocation_counts() -> tuple[int, int, int]:
    """(allocations so far, bytes asked for, blocks alive) of the C core."""
    cdef st_alloc_counts counts = st_alloc_read()
    return counts.calls, counts.bytes, counts.live


def fail_allocations_after(int64_t n):
    """Lets the next n allocations of the C core succeed and all later ones fail; a negative n ends that."""
    st_alloc_fail_after(n)
