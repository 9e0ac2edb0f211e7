from typing import TypeVar, final

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

from .encode import Coder
from .lists import Lists
from .matcher import Matcher
from .pattern import Pattern
from .text import _Data, _Text
from .texts import Texts

_SomeText = TypeVar("_SomeText", bound=_Text)

@final
class Held: ...

@final
class Job:
    def __new__(
        cls,
        coder: Coder,
        texts: list[_SomeText] | Texts,
        allowed: Matcher | None,
        disallowed: Matcher | None,
        threads: int,
        least: int,
        counts_only: bool = False,
    ) -> Self: ...
    @property
    def share_count(self) -> int: ...
    @property
    def moved(self) -> int: ...
    def work(self, helpers: int = 0) -> None: ...
    def has_surrogates(self) -> bool: ...
    def count(self) -> int: ...
    def array(self, counts: _Data | None = None) -> npt.NDArray[np.uint32]: ...
    def lists(self) -> Lists: ...

def cuts(
    data: _Data,
    size: int,
    allowed: Matcher | None,
    disallowed: Matcher | None,
    by: Coder | Pattern | str | None,
    loose: bool = False,
) -> list[int]: ...
def has_loose_cuts(coder: Coder) -> bool: ...
def certain_part(coder: Coder, ids: npt.NDArray[np.uint32], text: _Data) -> tuple[int, int] | None: ...
def parts(names: Matcher, text: bytes) -> list[tuple[int, int, int | None]]: ...
