"""What the host believes of the kernels' source, and that NVRTC compiles it for every architecture."""

from __future__ import annotations

import re
import shutil

import oracle
import pytest
from emulated import library

from streamtok.gpu import _job

CUDA = oracle.PROJECT / "csrc" / "cuda"

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU")


def struct_fields(name: str) -> list[str]:
    body = re.sub(r"/\*.*?\*/", "", (CUDA / "job.h").read_text() + (CUDA / "pack.cu").read_text(), flags=re.S)
    found = re.search(rf"typedef struct {name} \{{(.*?)\}} {name};", body, re.S)
    names = re.findall(r"(\w+)(?:\[\w+(?: \+ 1)?\])?[,;]", found[1])
    return names


@pytest.mark.parametrize(
    ("struct", "dtype"), [("st_job", _job.JOB), ("st_counts", _job.COUNTS), ("st_packing", _job.PACKING)]
)
def test_structs_are_those_of_the_source(struct, dtype):
    assert list(dtype.names) == struct_fields(struct)


@needs_compiler
def test_sizes_are_those_of_the_source():
    from streamtok.gpu._shapes import LONG_TEXTS

    structs = [_job.JOB.itemsize, _job.COUNTS.itemsize, _job.PACKING.itemsize]
    sizes = [library("r50k").sizes(i) for i in range(7)]
    assert sizes == structs + [LONG_TEXTS.warp_memory[name] for name in ("cuts", "lookup", "again", "merge")]


# A compilation takes five seconds, and the families differ in their constants only.
@pytest.mark.parametrize(
    ("family", "architecture"),
    [*(("o200k", number) for number in (75, 80, 90, 100)), ("r50k", 75), ("cl100k", 100), ("none", 80)],
)
def test_nvrtc_compiles_the_kernels(family, architecture):
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="needs the wheels cuda-bindings and nvidia-cuda-nvrtc")
    from streamtok.gpu._shapes import LONG_TEXTS

    ok = nvrtc.nvrtcResult.NVRTC_SUCCESS
    status, program = nvrtc.nvrtcCreateProgram(LONG_TEXTS.source().encode(), b"kernels.cu", 0, [], [])
    assert status == ok
    options = [option.encode() for option in (f"--gpu-architecture=sm_{architecture}", *LONG_TEXTS.options(family))]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if status != ok:
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = b" " * size
        nvrtc.nvrtcGetProgramLog(program, log)
        pytest.fail(log.decode())
    status, size = nvrtc.nvrtcGetCUBINSize(program)
    assert status == ok
    assert size > 10_000
