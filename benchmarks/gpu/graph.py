"""The time of the device alone for a text: the launches of one call are recorded and replayed as a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np
import shared

PLAYS = 50


class _Caught:
    """Notes what is launched on a device while it lasts, with the job as it was then."""

    def __init__(self, device: Any) -> None:
        self._device, self.launches = device, []

    def __enter__(self) -> list[tuple[str, Any, int, int]]:
        launch = self._device.launch

        def caught(kernel: str, job: Any, grid: int, block: int) -> None:
            self.launches.append((kernel, np.array(job), grid, block))
            launch(kernel, job, grid, block)

        self._device.launch = caught
        return self.launches

    def __exit__(self, *error: object) -> None:
        del self._device.launch


def microseconds(encoder: Any, text: Any, want: Any, what: str) -> float:
    """For `text`, memory of the device, to its ids there: device events around many plays of the graph.

    The buffers that the launches point to are the encoder's, and stay; the ids of the call are kept here and are
    written again by each play, which is how they are checked. Raises whatever CUDA refuses to capture.
    """
    device = encoder._device
    with _Caught(device) as launches:
        ids = encoder.encode(text, **shared.OPTIONS)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.get_current_stream().synchronize()
    ids.fill(0)
    cupy.cuda.get_current_stream().synchronize()
    if int(launches[-1][1]["out"]) != int(device.pointer(ids)):
        raise ValueError("a piece of it is one for the CPU, so that its ids were put together outside the launches")
    with stream:
        stream.begin_capture()
        for launch in launches:
            device.launch(*launch)
        graph = stream.end_capture()
        graph.launch(stream)
        stream.synchronize()
        shared.check(ids, want, what)
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record(stream)
        for _ in range(PLAYS):
            graph.launch(stream)
        end.record(stream)
        end.synchronize()
    return float(cupy.cuda.get_elapsed_time(start, end)) * 1e3 / PLAYS


def median_of(encoder: Any, texts: list[Any], wants: list[Any], what: str, say: Callable[[str], None]) -> float | None:
    """Microseconds over some texts; None, and notes, where there are none."""
    times = []
    for text, want in zip(texts, wants):
        try:
            times.append(microseconds(encoder, text, want, what))
        except shared.IdsDiffer:
            raise
        except Exception as error:
            say(f"{what}: one text cannot be played from a graph: {type(error).__name__}: {str(error)[:200]}")
    return float(np.median(times)) if times else None
