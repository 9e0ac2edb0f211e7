"""The errors of devices. Their messages say what was seen and what to do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class DeviceError(RuntimeError):
    """The device cannot be used: no driver, an old one, no such device, kernels that do not compile, a lost device.

    Args:
        message: what was seen, and what to do about it.
        lasting: the device cannot be used again in this process; kept as an attribute.
    """

    def __init__(self, message: str, lasting: bool = True) -> None:
        super().__init__(message)
        self.lasting = lasting


class DeviceMemoryError(DeviceError, MemoryError):
    """The device has too little memory that is free, or memory_limit is too small."""

    def __init__(self, message: str) -> None:
        super().__init__(message, lasting=False)


class Unusable(Exception):
    """The device gave no usable result; the message says why. The caller encodes the text otherwise."""


class NotNormal(Unusable):
    """The text may not be in its normal form: the host has to look, or to normalize it."""


class NotForDevice(Exception):
    """The CPU has to take this text: it has the exact error, or can encode it. The device works."""


_ENCODE_LESS = "encode in smaller slices with GpuEncoder(memory_limit=...)"


@contextlib.contextmanager
def explained(what: str, advice: str = _ENCODE_LESS) -> Iterator[None]:
    """Turns what CuPy raises into a DeviceError. what: the device, as the message names it; advice: what else helps
    where memory is short."""
    try:
        yield
    except DeviceError:
        raise
    except MemoryError as error:  # also that of an allocator that the program gave to CuPy
        raise DeviceMemoryError(
            f"{what} has too little free memory ({error}): give memory back that other programs or arrays hold, "
            f"or {advice}"
        ) from error
    except Exception as error:
        if not _is_of_cupy(error):
            raise
        if "compil" in type(error).__name__.lower():
            last = str(error).strip().splitlines()[:1] or [""]
            raise DeviceError(
                f"the kernels did not compile for {what} ({type(error).__name__}: {last[0]}): "
                "install a CuPy that matches the driver, streamtok[cuda12] or streamtok[cuda13]"
            ) from error
        raise DeviceError(f"{what} failed ({error}): restart the program; it may work there again") from error


def _is_of_cupy(error: BaseException) -> bool:
    return any(kind.__module__.split(".")[0] in ("cupy", "cupy_backends") for kind in type(error).__mro__)
