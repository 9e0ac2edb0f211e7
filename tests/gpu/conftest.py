"""Tests that need a CUDA device; without one each file says so once, and tests/gpu_emulated alone runs the kernels.
`python -m pytest tests/gpu` runs them alone."""

from __future__ import annotations

import pathlib

import left_out
import oracle
import pytest

import streamtok
from streamtok.gpu import DeviceError, GpuEncoder

ENCODINGS = [
    "r50k_base",
    "p50k_base",
    "cl100k_base",
    "o200k_base",
    "r50k_base without pattern",
    "o200k_base without pattern",
    "r50k_base without pattern by longest match",
    "o200k_base by longest match",
]


def why_not() -> str | None:
    try:
        GpuEncoder(streamtok.get_encoding("r50k_base"))
    except DeviceError as error:
        return str(error)
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = [item for item in items if pathlib.Path(__file__).parent in item.path.parents]
    reason = why_not() if here else None
    if reason:
        left_out.leave_out(config, items, here, left_out.file_of, f"needs a CUDA device: {reason}")


@pytest.fixture(params=ENCODINGS)
def enc(request: pytest.FixtureRequest) -> streamtok.Encoding:
    return oracle.named(request.param)


@pytest.fixture(scope="session")
def encoder_of():
    """The encoder of an encoding, made once."""
    made: dict[str, GpuEncoder] = {}

    def get(enc: streamtok.Encoding) -> GpuEncoder:
        if enc.name not in made:
            made[enc.name] = GpuEncoder(enc)
        return made[enc.name]

    return get


@pytest.fixture
def cupy():
    return pytest.importorskip("cupy")
