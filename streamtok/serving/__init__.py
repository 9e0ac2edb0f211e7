"""What programs that serve models ask of an encoding: texts that grow, many decoders at once, all tokens as a table,
checks of ids."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .micro_batcher import MicroBatcher as MicroBatcher


def __getattr__(name: str) -> Any:
    """MicroBatcher, with asyncio, is imported when it is asked for."""
    if name != "MicroBatcher":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .micro_batcher import MicroBatcher

    return MicroBatcher
