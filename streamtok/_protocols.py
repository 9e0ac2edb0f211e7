"""What the modules of the package ask of each other, as types: a text, an array on a device, a coder, a stream.

Only type checkers read this file: nothing imports it when a program runs. So it may name class Encoding, which lies
above: a module that takes an encoding, and that class Encoding uses, has its type from here.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable

    from .core import Encoding as Encoding
    from .native.matcher import Matcher
    from .native.text import _Data, _Text
    from .serving.prefix_cache import PrefixCache as PrefixCache

# ==== Values ====

Data: TypeAlias = "_Data"
"""Bytes: a C-contiguous buffer."""

Text: TypeAlias = "_Text"
"""A text to encode: a str, or a C-contiguous buffer of UTF-8 bytes."""

SomeText = TypeVar("SomeText", bound="Text")

Ids: TypeAlias = npt.NDArray[np.uint32]
"""Ids of tokens, in one dimension."""

Places: TypeAlias = npt.NDArray[np.int64]
"""Sizes, counts or places."""

TokenIds: TypeAlias = Iterable[int] | npt.NDArray[np.integer[Any]]
"""Ids that a caller gives."""

TokenRows: TypeAlias = Iterable[TokenIds] | npt.NDArray[np.integer[Any]]

AllowedSpecial: TypeAlias = Literal["all"] | AbstractSet[str]
DisallowedSpecial: TypeAlias = Literal["all"] | Collection[str]

Names: TypeAlias = "Matcher | None"
"""The names of special tokens that are looked for in a text; None: of none."""

NamePair: TypeAlias = "tuple[Matcher | None, Matcher | None]"
"""Those that are allowed, and those that are disallowed."""


Template: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""Ids that are put in front of a text, and behind it."""


class Readable(Protocol):
    """An open binary stream. What else it can do (seek, tell, say its file) is found out by asking."""

    def read(self, n: int, /) -> bytes: ...


Path: TypeAlias = str | os.PathLike[str]


class MadeSource(Protocol):
    """A source that a class of streamtok.files stands for, as RangeSource."""

    name: str

    def fingerprint(self) -> dict[str, Any] | None: ...


Source: TypeAlias = Path | Readable | MadeSource
"""Where text comes from."""


class StreamOptions(TypedDict, total=False):
    """The arguments of Encoding.stream_encoder."""

    allowed_special: AllowedSpecial
    disallowed_special: DisallowedSpecial
    errors: str
    copy: bool
    device: str
    add_special_tokens: bool


# ==== Devices ====

HostArray: TypeAlias = npt.NDArray[Any]
"""An array in host memory; the docstring names the dtype."""

Record: TypeAlias = npt.NDArray[np.void]
"""A struct of C, as a numpy array without dimensions: what a launch works on."""


class DeviceMemory(Protocol):
    """Where an array lies: cupy.cuda.MemoryPointer."""

    @property
    def ptr(self) -> int: ...

    def copy_from_host_async(self, memory: int, size: int, /) -> None: ...

    def copy_to_host_async(self, memory: int, size: int, /) -> None: ...


class DeviceArray(Protocol):
    """An array of one dimension in the memory of a device: as much of cupy.ndarray as streamtok.gpu uses."""

    @property
    def data(self) -> DeviceMemory: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def ndim(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def nbytes(self) -> int: ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: slice, /) -> DeviceArray: ...

    def __setitem__(self, index: object, value: object, /) -> None: ...

    def __add__(self, n: int, /) -> DeviceArray: ...

    def view(self, dtype: npt.DTypeLike, /) -> DeviceArray: ...

    def astype(self, dtype: npt.DTypeLike, /) -> DeviceArray: ...

    def reshape(self, *shape: int) -> DeviceArray: ...

    def fill(self, value: int, /) -> None: ...


# ==== Coders and streams ====


class ArrayCoder(Protocol):
    """What encodes whole texts into arrays: native.encode.Coder, patterns.coder.PatternCoder, and a device's."""

    def encode_array(self, source: Text, allowed: Names, disallowed: Names, /) -> Ids: ...

    def encode_many(
        self, sources: list[SomeText], allowed: Names, disallowed: Names, /
    ) -> tuple[Ids, list[int] | Places]:
        """(ids of all texts, where those of each begin, and their number)."""


class TextCoder(ArrayCoder, Protocol):
    """One way to encode whole texts with a vocabulary: native.encode.Coder and patterns.coder.PatternCoder."""

    @property
    def has_cuts(self) -> bool:
        """Are there places where both sides of a text encode independently?"""

    def encode(self, source: str, allowed: Names, disallowed: Names, /) -> list[int]: ...

    def encode_array(
        self,
        source: Text,
        allowed: Names,
        disallowed: Names,
        longer: Callable[..., Ids] | None = None,  # what encodes a long text instead
        /,
    ) -> Ids: ...

    def count(
        self, source: Text, allowed: Names, disallowed: Names, longer: Callable[..., int] | None = None, /
    ) -> int: ...

    def encode_piece(self, piece: bytes, /) -> list[int]: ...

    def piece_spans(self, source: Text, /) -> bytes:
        """Where the pieces lie in the UTF-8: two int64 each."""

    def split(self, source: Text, /) -> list[int]:
        """Ends of the pieces, in bytes of UTF-8."""

    def stream(self, allowed: Names, disallowed: Names, copies: bool, /) -> Stream: ...


class Stream(Protocol):
    """What a StreamEncoder runs on: native.encode.CoreStream, patterns.coder.PatternStream and gpu.stream.GpuStream."""

    def feed(self, chunk: Text, /) -> Ids: ...

    def flush(self) -> Ids: ...

    @property
    def pending(self) -> int: ...

    @property
    def offset(self) -> int: ...

    def reset(self) -> None: ...

    def pass_over(self, n: int, /) -> None:
        """Counts n bytes of text as fed, where nothing is pending."""

    def copy(self) -> Stream: ...

    def save(self) -> bytes: ...

    def load(self, state: bytes, /) -> bool:
        """Whether it is a state that a stream can have had."""
