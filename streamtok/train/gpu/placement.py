"""Where a run counts and learns: the CPU, or a CUDA device, which gives the same merges."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ...errors import warn_user
from ...patterns.engine import kernels_of

if TYPE_CHECKING:
    from ...gpu._device import CudaDevice
    from ...native.trainer import Trainer
    from ...patterns import Split
    from ..counting import Counting
    from ..options import Options

AUTO_BYTES = 512 << 20
"""Bytes of text from which device="auto" takes a device. With less text, 16 cores are done before CuPy is imported and
the device is."""

_ANY_FAMILY = "r50k"  # kernels are compiled for a family; those of learning are the same in all


class Placement:
    """The device of a run, None where it is the CPU's. name: "cpu", "cuda", "cuda:N" or "auto"."""

    def __init__(self, name: str, pat_str: Split | None) -> None:
        self.name = name
        self.device: CudaDevice | None = None
        self._family = None if pat_str is None else kernels_of(pat_str)

    def choose(self, sizes: list[int | None], max_memory: int | None) -> None:
        """Opens the device, or decides against one. sizes: of the sources, None where one cannot be read twice: a run
        whose device fails under "auto" begins anew. Raises streamtok.gpu.DeviceError."""
        if self.name == "cpu":
            return
        if self.name == "auto":
            known = [size for size in sizes if size is not None]
            small = len(known) < len(sizes) or sum(known) < AUTO_BYTES
            if small or self._family is None or max_memory is not None:
                return
        self.device = _open(self._family or _ANY_FAMILY, "cuda" if self.name == "auto" else self.name)

    def gives_way(self, error: BaseException) -> bool:
        """Is this an error of the device, under "auto"? Then the CPU takes its place, and a warning says why."""
        if self.name != "auto":
            return False
        from ...gpu import DeviceError

        if not isinstance(error, DeviceError):
            return False
        self.name, self.device = "cpu", None
        text = f"device='auto' trains on the CPU, with the same merges: {error}"
        warn_user(text, RuntimeWarning)
        return True

    def counting(self, host: Counting) -> Any:
        """What counts: the device beside `host`, a Counting, where it has the kernels for the pattern."""
        if self.device is None or self._family is None:
            return host
        from .count import DeviceCounting

        return DeviceCounting(self.device, host)

    def learner(self, pieces: Any, trainer: Trainer, rest: Any, wanted: int, options: Options, text_bytes: int) -> Any:
        """What goes on from the trainer's tokens. pieces: DevicePieces, and `rest` a Trainer with those that the host
        counted, or None; else all pieces are in the trainer."""
        from .learn import DeviceLearner
        from .row import row_of_pieces, row_of_trainer

        assert self.device is not None  # who asks has looked
        if pieces is None:
            row = row_of_trainer(self.device, trainer)
        else:
            row = row_of_pieces(self.device, pieces, rest, options.alphabet)
            pieces.drop()
        return DeviceLearner(row, trainer, wanted, options, text_bytes)


def _open(family: str, name: str) -> Any:
    from ...gpu import _open as opening
    from ...gpu.encoder import ordinal_of
    from .jobs import TRAINING

    ordinal = ordinal_of(name)
    return ExplainedDevice(opening.open_device(family, ordinal, (TRAINING,)), f"cuda:{ordinal}")


class ExplainedDevice:
    """A device that turns its failures into DeviceErrors that say what to do."""

    def __init__(self, device: CudaDevice, name: str) -> None:
        self._device, self._name = device, name

    def __getattr__(self, name: str) -> Any:
        from ...gpu._errors import explained

        member = getattr(self._device, name)
        if not callable(member):
            return member

        @functools.wraps(member)
        def call(*arguments: Any) -> Any:
            with explained(self._name, "train on less text, or write device='cpu'"):
                return member(*arguments)

        return call
