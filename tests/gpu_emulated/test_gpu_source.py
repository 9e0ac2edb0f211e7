"""The host's constants agree with the kernels' source, and NVRTC compiles it for every architecture."""

from __future__ import annotations

import re
import shutil

import numpy as np
import oracle
import pytest
from emulated import library

from streamtok.gpu import _job
from streamtok.gpu._shapes import LONG_TEXTS, LONGEST_MATCH, SHORT_TEXTS
from streamtok.gpu.ids import jobs as id_jobs
from streamtok.gpu.ids.jobs import IDS
from streamtok.native.vocab import Vocab
from streamtok.patterns import KERNELS
from streamtok.train.gpu import jobs
from streamtok.train.gpu.jobs import TRAINING

CUDA = oracle.PROJECT / "csrc" / "cuda"

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU")


def struct_fields(name: str) -> list[str]:
    files = ("job.h", "pack.cu", "splice.cu", "train/job.h", "ids/job.h")
    source = "".join((CUDA / file).read_text() for file in files)
    body = re.sub(r"/\*.*?\*/", "", source, flags=re.S)
    found = re.search(rf"typedef struct {name} \{{(.*?)\}} {name};", body, re.S)
    names = re.findall(r"(\w+)(?:\[\w+(?: \+ 1)?\])?[,;]", found[1])
    return names


def constants(file: str) -> dict[str, int]:
    """The numbers that a header of csrc/ gives names to, by #define and in its enums."""
    text = re.sub(r"/\*.*?\*/", "", (CUDA.parent / file).read_text(), flags=re.S)
    found = dict(re.findall(r"^#define (ST_\w+) (.+?) *$", text, re.M))
    for body in re.findall(r"enum \w+ \{(.*?)\}", text, re.S):
        found |= {name.strip(): str(i) for i, name in enumerate(body.split(","))}
    numbers = {}
    for name, value in found.items():
        plain = re.sub(r"\(uint64_t\)|(?<=[\dA-F])u\b", "", value).replace("UINT64_MAX", hex(2**64 - 1))
        if re.fullmatch(r"\(?(0x[\dA-Fa-f]+|\d+)( << \d+)?\)?", plain):
            numbers[name] = eval(plain)
    return numbers


def array_sizes(dtype: np.dtype) -> dict[str, int]:
    """How many numbers each field of a struct holds that is an array."""
    return {name: dtype[name].shape[0] for name in dtype.names if dtype[name].shape}


@pytest.mark.parametrize(
    ("struct", "dtype"),
    [
        ("st_job", _job.JOB),
        ("st_counts", _job.COUNTS),
        ("st_packing", _job.PACKING),
        ("st_splicing", _job.SPLICING),
        ("st_name_set", _job.NAME_SET),
    ],
)
def test_structs_are_those_of_the_source(struct, dtype):
    assert list(dtype.names) == struct_fields(struct)


@pytest.mark.parametrize(
    "name", ["counted", "row_top", "widening", "learning", "learned", "pair", "side", "counting", "placing", "growing"]
)
def test_structs_of_training_are_those_of_the_source(name):
    table, fields = struct_fields("st_piece_table"), struct_fields(f"st_{name}")
    if name == "growing":
        fields = [f"{side}_{field}" for side in fields for field in table]
    elif fields[0] == "table":
        fields[:1] = table
    assert list(getattr(jobs, name.upper()).names) == fields


@pytest.mark.parametrize("name", ["id_report", "sums", "decode", "hold", "pad", "pack", "planned", "template"])
def test_structs_of_ids_are_those_of_the_source(name):
    assert list(getattr(id_jobs, name.removeprefix("id_").upper()).names) == struct_fields(f"st_{name}")


def test_constants_are_those_of_the_source():
    job = constants("cuda/job.h")
    names = (
        "CLASSES",
        "SHORT_CLASSES",
        "LONGEST",
        "TILE",
        "GAPS",
        "FLAG_LISTS",
        "FLAG_UTF8",
        "FLAG_FULL",
        "FLAG_WORD",
        "FLAG_GAP",
        "FLAG_WORK",
        "FLAG_FORM",
        "LONGEST_GAP",
    )
    assert {name: getattr(_job, name) for name in names} == {name: job[f"ST_{name}"] for name in names}
    assert _job.STRETCH == 64 * job["ST_STRETCH_BLOCKS"]
    assert array_sizes(_job.COUNTS) == {"deferred": 2, "lists": job["ST_CLASSES"], "heads": 3}
    assert array_sizes(_job.JOB) == {
        "deferred_capacities": 2,
        "list_starts": job["ST_CLASSES"] + 1,
        "name_firsts": 4,
        "low_changes": 2,
    }


def test_constants_of_training_are_those_of_the_source():
    source = constants("cuda/train/job.h")
    names = ("FREE", "LAST", "HEAVY", "BORDER", "INSIDE", "MOST_BYTES", "SIDES")
    names += ("STOP_WORK", "STOP_DONE", "STOP_PAIRS", "STOP_BYTES")
    assert {name: getattr(jobs, name) for name in names} == {name: source[f"ST_{name}"] for name in names}
    assert jobs.LONGEST == source["ST_TRAIN_LONGEST"]
    assert array_sizes(jobs.LEARNED) == {"seen": source["ST_SIDES"], "cycles": len(jobs.STAGES)}


def test_constants_of_ids_are_those_of_the_source():
    source = constants("cuda/ids/job.h") | constants("cuda/ids/numbers.cu")
    names = ("IDS_A_LANE", "TOKEN_LONG", "TOKEN_UNKNOWN", "FLAG_BAD_ID", "FLAG_OVERFLOW", "FLAG_BAD_ROWS", "SUM_WARPS")
    assert {name: getattr(id_jobs, name) for name in names} == {name: source[f"ST_{name}"] for name in names}
    assert id_jobs.SLOT == source["ST_DECODE_SLOT"]


def test_sections_of_an_image_are_those_of_the_source():
    """native/vocab.pyx names them in the order of the header."""
    sections = {name: i for name, i in constants("image/image.h").items() if name.startswith("ST_IMAGE_")}
    del sections["ST_IMAGE_VERSION"]
    count = sections.pop("ST_IMAGE_SECTIONS")
    _, _, places = Vocab.image_header(oracle.ours("r50k_base")._vocab.to_image())
    assert [f"ST_IMAGE_{name.upper()}" for name in places] == sorted(sections, key=sections.get)
    assert len(places) == count


@needs_compiler
def test_sizes_of_training_are_those_of_the_source():
    names = "counting counted growing placing row_top widening learning learned pair side".split()
    structs = [getattr(jobs, name.upper()).itemsize for name in names]
    sizes = [library("cl100k", (), "run_train").sizes(i) for i in range(12)]
    assert sizes == [*structs, TRAINING.warp_memory["count"], TRAINING.block_memory["learn"]]


@needs_compiler
def test_sizes_of_ids_are_those_of_the_source():
    names = ("REPORT", "SUMS", "DECODE", "HOLD", "PAD", "PACK", "PLANNED", "TEMPLATE")
    structs = [getattr(id_jobs, name).itemsize for name in names]
    sizes = [library("none", (), "run_ids").sizes(i) for i in range(10)]
    assert sizes == [*structs, IDS.warp_memory["write_bytes"], id_jobs.SUM_WARPS * IDS.warp_memory["add_up"]]


@needs_compiler
def test_sizes_are_those_of_the_source():
    structs = [_job.JOB.itemsize, _job.COUNTS.itemsize, _job.PACKING.itemsize]
    sizes = [library("r50k").sizes(i) for i in range(7)]
    assert sizes == structs + [LONG_TEXTS.warp_memory[name] for name in ("cuts", "lookup", "again", "merge")]


long = pytest.mark.long


# A compilation takes up to a minute, half of it as far as PTX (compute_75 and the like). Families differ in their
# constants only.
@pytest.mark.parametrize(
    ("module", "family", "architecture"),
    [
        (LONG_TEXTS, "none", "sm_75"),
        (LONG_TEXTS, "o200k", "compute_100"),
        (SHORT_TEXTS, "none", "compute_80"),
        (*LONGEST_MATCH, "none", "compute_75"),
        (TRAINING, "none", "sm_75"),
        (IDS, "none", "sm_75"),
        *(pytest.param(LONG_TEXTS, "o200k", name, marks=long) for name in ("sm_75", "sm_90", "sm_100")),
        pytest.param(LONG_TEXTS, "r50k", "sm_75", marks=long),
        pytest.param(LONG_TEXTS, "cl100k", "sm_100", marks=long),
        pytest.param(LONG_TEXTS, "none", "sm_80", marks=long),
        pytest.param(SHORT_TEXTS, "o200k", "sm_80", marks=long),
        pytest.param(*LONGEST_MATCH, "none", "sm_75", marks=long),
        pytest.param(*LONGEST_MATCH, "none", "sm_90", marks=long),
        pytest.param(*LONGEST_MATCH, "o200k", "sm_100", marks=long),
        pytest.param(TRAINING, "cl100k", "sm_75", marks=long),
    ],
)
def test_nvrtc_compiles_the_kernels(module, family, architecture):
    assert_compiles(module.source(), family, architecture, module)


def one_file(name: str, done: set[str]) -> str:
    """A file of csrc/ with all that it includes."""
    if name in done:
        return ""
    done.add(name)
    return re.sub(r'#include "([^"]+)"\n', lambda found: one_file(found[1], done), (CUDA.parent / name).read_text())


@pytest.mark.parametrize(
    "family",
    [
        family if family in ("deepseek_v3", "table") else pytest.param(family, marks=long)
        for family in KERNELS
        if family not in ("o200k", "cl100k", "none")
    ],
)
def test_nvrtc_compiles_the_split_of_every_family(family):
    """The stages behind the split are the same for all."""
    assert_compiles(one_file("cuda/starts.cu", set()), family, "sm_75" if oracle.LONG else "compute_75", LONG_TEXTS)


def assert_compiles(source, family, architecture, module):
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="needs the wheels cuda-bindings and nvidia-cuda-nvrtc")
    ok = nvrtc.nvrtcResult.NVRTC_SUCCESS
    status, program = nvrtc.nvrtcCreateProgram(source.encode(), b"kernels.cu", 0, [], [])
    assert status == ok
    options = [option.encode() for option in (f"--gpu-architecture={architecture}", *module.options(family))]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if status != ok:
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = b" " * size
        nvrtc.nvrtcGetProgramLog(program, log)
        pytest.fail(log.decode())
    status, size = (nvrtc.nvrtcGetCUBINSize if "sm_" in architecture else nvrtc.nvrtcGetPTXSize)(program)
    assert status == ok
    assert size > 10_000
