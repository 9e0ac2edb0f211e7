from typing import Any, final

from typing_extensions import Self

from .normal import Normalizer
from .text import _Data

@final
class Driver:
    def __new__(cls, push: int, pop: int, launch: int, query: int) -> Self: ...

@final
class Current:
    def __new__(cls, runtime: Any, ordinal: int, stream: Any = None) -> Self: ...
    def __enter__(self) -> None: ...
    def __exit__(self, kind: object, error: object, at: object) -> None: ...

@final
class Launch:
    def __new__(
        cls,
        driver: Driver,
        context: int,
        kernel: int,
        threads: int,
        memory: int,
        argument: int,
        done: int,
    ) -> Self: ...
    def run(self, stream: int, blocks: int) -> tuple[int, bool]: ...

@final
class TextLaunch:
    def __new__(
        cls,
        launch: Launch,
        numbers: _Data,
        places: tuple[int, ...],
        report: _Data,
        tokens_at: int,
        doubts: tuple[int, int, int],
        crowded: int,
        room: _Data,
        normalizer: Normalizer | None,
        blocks: int,
        block_bytes: int,
        stretch: int,
        stream: int,
    ) -> Self: ...
    def run(self, text: Any, out: int, out_room: int) -> tuple[int, bool] | None: ...
    def tokens(self) -> int: ...
