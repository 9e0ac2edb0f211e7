"""What the kernels that take ids work on, as csrc/cuda/ids/job.h lays it out: all fields are 64-bit numbers."""

from __future__ import annotations

from .._job import struct
from .._shapes import Module

IDS_A_LANE = 8
TILE = 32 * IDS_A_LANE
"""Ids that a warp takes at a time."""

SLOT = 15
TOKEN_LONG, TOKEN_UNKNOWN = 255, 254

FLAG_BAD_ID, FLAG_OVERFLOW, FLAG_BAD_ROWS = 1, 2, 4

BLOCK_WARPS = 8
SUM_WARPS = 32

FAMILY = "none"
"""The kernels do not split, so that any family of patterns will do; one is compiled for all."""

IDS = Module(
    "streamtok.gpu.ids",
    # Blocks of 8 warps.
    {
        "count_bytes": 8,
        "write_bytes": 4,
        "row_bytes": 8,
        "hold": 8,
        "give": 8,
        "longest_row": 8,
        "pad": 8,
        "pack_rows": 8,
        "sequences": 8,
        "pack_plan": 8,
        "template": 8,
        "add_up": 1,
        "tell": 1,
    },
    {"write_bytes": 3072, "add_up": 8},  # sizeof(st_decode_memory), a number
)

REPORT = struct("total flags longest_row")
"""A st_id_report."""

SUMS = struct("numbers count capacity report host")
"""A st_sums."""

DECODE = struct(
    "ids id_bytes is_signed count lengths slots table other_ids other_slots other_count bytes tiles out out_capacity "
    "rows row_starts row_count starts report"
)
"""A st_decode."""

HOLD = struct("text row_starts row_count final before after sizes out")
"""A st_hold."""

PAD = struct(
    "ids id_bytes row_starts row_count length most keeps_end is_left pad out mask out_bytes prefix suffix prefix_size "
    "suffix_size report"
)
"""A st_pad."""

TEMPLATE = struct("ids id_bytes row_starts row_count total out prefix suffix prefix_size suffix_size")
"""A st_template."""

PACK = struct(
    "ids id_bytes doc_starts doc_count length total capacity has_end end pad out positions out_bytes tiles sequences "
    "sources"
)
"""A st_pack."""

PLANNED = struct("ids id_bytes plan count capacity end pad out positions out_bytes")
"""A st_planned."""
