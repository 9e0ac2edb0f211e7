from typing import final

from .encode import Coder
from .matcher import Matcher
from .text import _Data

@final
class Part:
    count: int
    crc: int
    def __init__(self) -> None: ...
    def encode(
        self, coder: Coder, text: _Data, allowed: Matcher | None, disallowed: Matcher | None, itemsize: int
    ) -> None: ...
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
