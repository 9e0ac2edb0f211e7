"""Files of text into files of ids: `encode_file`, which Encoding.encode_file calls, and what comes with it.

The names are taken from encode.py when somebody asks for one: the readers of sources and of file names, which others
import from this room, need not load numpy and all that writes.
"""

from __future__ import annotations

__all__ = [
    "Earlier",
    "EncodedFile",
    "Options",
    "Progress",
    "RangeSource",
    "ResumeError",
    "SourceError",
    "TableSource",
    "TarSource",
    "choose_dtype",
    "encode_file",
    "encode_sources",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .encode import (
        Earlier,
        EncodedFile,
        Options,
        Progress,
        RangeSource,
        ResumeError,
        SourceError,
        TableSource,
        TarSource,
        choose_dtype,
        encode_file,
        encode_sources,
    )
else:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from . import encode

        found = globals()[name] = getattr(encode, name)
        return found
