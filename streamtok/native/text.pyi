from typing import TypeAlias, final

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer, Self

# A C-contiguous buffer. numpy's stubs call an array one only from Python 3.12 on.
_Data: TypeAlias = Buffer | npt.NDArray[np.generic]

# A text: a str, or a buffer of UTF-8 bytes.
_Text: TypeAlias = str | _Data

FAULTS: dict[int, str]

@final
class Items: ...

@final
class Numbers: ...

@final
class OwnMemory:
    def __new__(cls, memory: _Data) -> Self: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class Utf8Copy:
    def __bytes__(self) -> bytes: ...

def mend_surrogates(text: str) -> str: ...
def join_surrogate(high: str | None, chunk: _Text, final: bool) -> tuple[_Text, str | None]: ...
def to_utf8(text: _Text) -> bytes: ...
def from_utf8(data: bytes, errors: str, end: int | None = None) -> str: ...
def join(parts: list[str]) -> str: ...
