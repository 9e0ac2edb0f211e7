from .text import _Data

BEST_FIT_LENGTH: int

class Ragged:
    count: int
    def __init__(self, ids: _Data, starts: _Data) -> None: ...

def pad(
    texts: Ragged,
    prefix: _Data,
    suffix: _Data,
    length: int,
    most: int,
    keeps_end: bool,
    is_left: bool,
    value: int,
    width: int,
    out: _Data,
    mask: _Data,
    first: int,
    last: int,
) -> None: ...

class Plan:
    count: int
    length: int
    def __init__(self, documents: Ragged, has_end: bool, length: int, is_best_fit: bool) -> None: ...
    @property
    def total(self) -> int: ...
    def places(self, places: _Data, numbers: _Data) -> None: ...
    def write(self, eot: int, value: int, width: int, out: _Data, positions: _Data, first: int, last: int) -> None: ...
