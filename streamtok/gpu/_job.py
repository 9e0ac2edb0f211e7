"""What a launch works on, as csrc/cuda/job.h lays it out: all fields are 64-bit numbers, pointers among them."""

from __future__ import annotations

from typing import Any

import numpy as np

SHORT_CLASSES, CLASSES = 5, 9
LONGEST = 512
STRETCH, SHORT_STRETCH = 1024, 128
BLOCK = 64
TILE = 256
GAPS = 4

FLAG_LISTS, FLAG_UTF8, FLAG_FULL, FLAG_WORD, FLAG_GAP, FLAG_WORK, FLAG_FORM = 1, 2, 4, 8, 16, 32, 64
LONGEST_GAP = 1 << 18

_FIELDS = f"""
first first_shift entries piece_shift piece_mask more pairs pair_mask dense dense_side byte_tokens ids
token_bytes token_starts long_tokens long_mask filter cuts characters ordered identity dfa
kinds most unknown prefix prefix_size
learned learned_capacity learned_count
source source_size text size blocks marks
segment_blocks starts atoms unsynced high hard gaps
first_stretch stretches slots spans tokens row_slots deferred deferred_capacities:2 lists list_starts:{CLASSES + 1}
huge_starts huge_ends huge_tokens huge_capacity
tile_starts offsets out out_capacity id_bytes rows row_starts row_count
names name_count name_firsts:4 found found_capacity trusted
form form_firsts changes low_changes:2 map doubts doubts_capacity
cells longest_token bounded known fronts stretch_entries stretch_exits heads is_head check maps group_maps group_entries
counts report
"""


def struct(fields: str) -> np.dtype:
    """A struct of 64-bit numbers; "name:3" are three of them."""
    named = (field.partition(":") for field in fields.split())
    return np.dtype([(name, "<u8", (int(count),)) if count else (name, "<u8") for name, _, count in named])


JOB = struct(_FIELDS)
"""A st_job."""

NAME_SET = struct("nodes depth place name inner first edges:3 before")
"""A st_name_set."""

PACKING = struct("source starts sizes blocks passages count text marks map front")
"""A st_packing."""

SPLICING = struct("sources places parts size text")
"""A st_splicing."""

PASSAGE_ID = 1 << 63
"""Added to an id in place of a passage's size."""

PASSAGE_FRONT = 1 << 63
"""Added to where a passage begins that gets a byte in front: ST_PASSAGE_FRONT."""


def place_in(record: np.dtype[Any], field: str) -> int:
    """Bytes of a record before one of its fields."""
    assert record.fields is not None
    return int(record.fields[field][1])


COUNTS = np.dtype(
    [("tokens", "<u8"), ("flags", "<u4"), ("hard", "<u4"), ("gaps", "<u4"), ("huge", "<u4"), ("next", "<u4")]
    + [
        ("deferred", "<u4", (2,)),
        ("lists", "<u4", (CLASSES,)),
        ("specials", "<u4"),
        ("doubts", "<u4"),
        ("heads", "<u4", (3,)),
        ("learned", "<u4"),
        ("arrived", "<u4"),
        ("done", "<u4"),
    ],
    align=True,
)
"""A st_counts."""
