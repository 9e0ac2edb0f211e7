"""What the kernels of training work on, as csrc/cuda/train/job.h lays it out: all fields are 64-bit numbers."""

from __future__ import annotations

from ...gpu._job import struct
from ...gpu._shapes import Module

STRETCH = 1024
"""Bytes of text that a warp counts at a time."""

LONGEST = 1024
"""Bytes of the longest piece that the device counts; longer ones are the host's."""

KEY_BYTES = 15
FREE = 2**64 - 1
BORDER = 2**32 - 1
INSIDE = 2**32 - 2
LAST = 1 << 31
HEAVY = 1 << 31
MOST_BYTES = 1 << 17

STOP_WORK, STOP_DONE, STOP_PAIRS, STOP_BYTES = range(4)

TRAINING = Module(
    "streamtok.train.gpu",
    {"count": 4, "learn": 1},
    {"count": 3104},  # sizeof(st_count_memory)
    {"learn": 8464},  # sizeof(st_lead_memory)
    together=("learn",),
)


_TABLE = "keys counts short_mask hashes wheres long_counts long_mask bytes".split()

COUNTED = struct("shorts longs short_bytes long_bytes pieces next huge")
"""A st_counted."""

COUNTING = struct(
    " ".join(_TABLE) + " short_limit long_limit byte_limit text starts blocks stretches flags huge huge_room counted"
)
"""A st_counting; the fields of its table come first, and so they do in the next two."""

GROWING = struct(" ".join([f"from_{name}" for name in _TABLE] + [f"to_{name}" for name in _TABLE]))
"""A st_growing."""

PLACING = struct(" ".join(_TABLE) + " row weights heavy alphabet top")
"""A st_placing."""

ROW_TOP = struct("places heavy")
"""A st_row_top."""

WIDENING = struct("source places ends counts ranges row weights heavy lengths")
"""A st_widening."""

PAIR = struct("key count start n")
"""A st_pair."""

SIDE = struct("sum n place unused")
"""A st_side."""

SIDES = 4

STAGES = "choice search front call note note_all settle settle_all list list_all".split()
"""What the first thread is at (st_stage): alone, and with all blocks."""

LEARNED = struct(
    "tokens least last_count stale list_top pair_count byte_top front_count front_least front_filled made "
    f"seen:{SIDES} chosen command stop merges work arrived searches fronts together "
    f"cycles:{len(STAGES)}"
)
"""A st_learned."""

LEARNING = struct(
    "row weights heavy places lengths prefixes starts bytes byte_room merged wanted max_token_bytes floor by_bytes "
    "pairs pair_mask pair_limit lists list_room sketch sketch_bits front front_wish histogram "
    "sides seen alone most_merges most_work learned"
)
"""A st_learning."""

BUCKETS = 1024
