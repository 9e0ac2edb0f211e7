"""Dependencies go one way: csrc <- Cython <- Python. No file includes, cimports or imports what lies above it.

Files do not depend on each other in a cycle either."""

from __future__ import annotations

import ast
import functools
import pathlib
import re
import subprocess
import sys

import oracle
import pytest
from fresh import fresh_modules

ROOT = oracle.PROJECT

# The rooms of csrc/ from the bottom to the top. A file may include files of the rooms on lines above its room's own,
# and those of its own room if they make no cycle. Rooms on one line do not include each other. A new room has to get
# its place in the list.
C_ROOMS = """
base
checksum text split pairs listing rows
normal special vocab
cut train longest unigram decoders
merge cuda
endless image cuda/encode cuda/train cuda/ids cuda/longest
lookup models compiled
stream tiers
threads
api
"""

PUBLIC = "streamtok.h"
"""The header of the C library: the one file that lies in csrc/ itself, and includes none of ours."""

# Rooms that no other room may include, and the rooms that they may include: training and the GPU's kernels do not use
# the engine of the vocabulary.
C_APART = {"train": "base text split special", "cuda": "base split normal special vocab cut longest rows"}

# Rooms (folders) and the modules that lie directly in streamtok/, from the bottom to the top: each may use those on
# lines above its own. Files of one room must not make a cycle.
PYTHON_LAYERS = """
_version errors
native
_protocols
disk
bundled
_batch _checks _identity load
_arrays _stream identity patterns _offsets _rows
gpu model_files stream
_device
_decoding arrow
files
_streaming whole serving chat
core
registry
model tables train view vectors
_named
dataset
ray
_info
__init__
cli integrations
__main__
"""

MOST_AT_THE_TOP = 23
"""Files that lie directly in streamtok/: what users import, what no room has a place for, and two names in pickles."""


def levels(layers: str) -> dict[str, int]:
    return {name: level for level, line in enumerate(layers.strip().splitlines()) for name in line.split()}


def cycle(edges: dict[str, set[str]]) -> list[str]:
    """One cycle of the graph, or an empty list."""
    done: set[str] = set()
    path: list[str] = []

    def visit(node: str) -> list[str]:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done:
            return []
        path.append(node)
        for other in sorted(edges.get(node, ())):
            if found := visit(other):
                return found
        path.pop()
        done.add(node)
        return []

    return next((found for node in sorted(edges) if (found := visit(node))), [])


def test_a_cycle_is_found():
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) == ["a", "b", "c", "a"]
    assert cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


# ==== C ====


def c_files() -> list[pathlib.Path]:
    """The files that a C or CUDA compiler reads."""
    found = sorted((ROOT / "csrc").rglob("*"))
    return [path for path in found if path.suffix in (".c", ".h", ".cu") and path != ROOT / "csrc" / PUBLIC]


def c_name(path: pathlib.Path) -> str:
    """csrc/cuda/job.h is "cuda/job.h"."""
    return path.relative_to(ROOT / "csrc").as_posix()


def c_room(name: str) -> str:
    """cuda/train/job.h lies in "cuda/train"."""
    return name.rpartition("/")[0]


@functools.cache
def includes() -> list[tuple[str, str]]:
    """(file, header of ours that it includes), for every file below csrc/."""
    found = [
        (c_name(path), name)
        for path in c_files()
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.M)
        if name != PUBLIC
    ]
    assert len(found) > 200
    return found


def test_every_c_file_lies_in_a_room():
    assert {c_room(c_name(path)) for path in c_files()} == levels(C_ROOMS).keys(), "give the room a place in C_ROOMS"
    assert [path.name for path in (ROOT / "csrc").iterdir() if path.is_file()] == [PUBLIC]
    assert '#include "' not in (ROOT / "csrc" / PUBLIC).read_text()


def test_the_map_tells_the_levels():
    text = (ROOT / "docs" / "design.md").read_text()
    rows = re.findall(r"^\| (\d) \| (`.*?) \|", text.partition("## Rooms of csrc/")[2].partition("\n## ")[0], re.M)
    told = {room: int(level) for level, rooms in rows for room in re.findall(r"`([\w/]+)`", rooms)}
    assert told == levels(C_ROOMS)


def test_every_include_names_the_room():
    """A name is relative to csrc/, also inside a room, so it means the same file everywhere."""
    assert not [f"{name} includes {header}" for name, header in includes() if not (ROOT / "csrc" / header).is_file()]


def test_no_two_c_files_share_a_name():
    """Archivers and debuggers show a file without its folder."""
    names = [path.name for path in c_files() if path.suffix == ".c"]
    assert len(names) == len(set(names))


def test_includes_point_down():
    level = levels(C_ROOMS)
    wrong = [
        f"{name} includes {header}"
        for name, header in includes()
        if c_room(name) != c_room(header) and level[c_room(header)] >= level[c_room(name)]
    ]
    assert not wrong


def test_training_and_kernels_stand_apart():
    for name, header in includes():
        user, used = c_room(name).split("/")[0], c_room(header).split("/")[0]
        if user in C_APART:
            assert used in (user, *C_APART[user].split()), f"{name} includes {header}"
        else:
            assert used not in C_APART, f"{name} includes {header}"


def test_includes_make_no_cycle():
    edges: dict[str, set[str]] = {}
    for name, header in includes():
        user, used = name.rpartition(".")[0], header.rpartition(".")[0]
        if user != used:  # a .c file and its header are one
            edges.setdefault(user, set()).add(used)
    assert not cycle(edges)


def test_c_knows_no_python():
    for path in c_files():
        assert not re.search(r"#\s*include\s*[<\"](Python|numpy)", path.read_text()), path


def test_rules_that_a_cuda_compiler_reads_need_no_library():
    """The kernels, with all that they include."""
    known, todo = set(), ["cuda/encode/encode.cu", "cuda/train/train.cu", "cuda/ids/ids.cu", "cuda/longest/longest.cu"]
    while todo:
        name = todo.pop()
        known.add(name)
        todo += [header for user, header in includes() if user == name and header not in known]
    assert {"split/dfa_steps.h", "split/unicode_tables.h"} < known
    for name in known:
        system = re.findall(r"#\s*include\s*<([^>]+)>", (ROOT / "csrc" / name).read_text())
        # The last two stand behind guards; tests/gpu_emulated/test_gpu_kernels.py compiles the kernels without any.
        assert set(system) <= {"stdint.h", "stddef.h", "string.h", "intrin.h"}, name


# ==== Cython and Python ====


def package_files() -> list[pathlib.Path]:
    return [path for path in sorted((ROOT / "streamtok").rglob("*.py")) if "__pycache__" not in path.parts]


def cython_files() -> list[pathlib.Path]:
    return [path for suffix in ("pyx", "pxd") for path in sorted((ROOT / "streamtok").rglob(f"*.{suffix}"))]


def module_of(path: pathlib.Path) -> str:
    """streamtok.core for streamtok/core.py; a package by its own name."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class Imports(ast.NodeVisitor):
    """Modules of ours that a file imports: at its top, inside functions, and for type checkers alone."""

    def __init__(self, path: pathlib.Path) -> None:
        self.package = module_of(path) if path.stem == "__init__" else module_of(path).rpartition(".")[0]
        self.found: set[str] = set()
        self.other: set[str] = set()

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add(alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        if node.level:
            parts = self.package.split(".")
            base = ".".join([*parts[: len(parts) - node.level + 1], *([base] if base else [])])
        for alias in node.names:
            self._add(f"{base}.{alias.name}" if exists(f"{base}.{alias.name}") else base)

    def _add(self, name: str) -> None:
        (self.found if name.split(".")[0] == "streamtok" else self.other).add(name)


@functools.cache
def exists(module: str) -> bool:
    path = ROOT.joinpath(*module.split("."))
    return module.startswith("streamtok.") and (
        any(path.with_suffix(suffix).exists() for suffix in (".py", ".pyx")) or (path / "__init__.py").exists()
    )


@functools.cache
def python_edges() -> dict[str, set[str]]:
    edges: dict[str, set[str]] = {}
    for path in package_files():
        imports = Imports(path)
        imports.visit(ast.parse(path.read_text()))
        edges[module_of(path)] = imports.found - {module_of(path)}
    edges["streamtok._protocols"].clear()  # nothing imports it when a program runs, so it may name what lies above it
    for path in cython_files():
        package = module_of(path).split(".")[:-1]
        names = re.findall(r"^\s*from\s+\.(\.?)([\w.]+)\s+c?import", path.read_text(), re.M)
        found = {".".join([*package[: len(package) - len(up)], name]) for up, name in names}
        edges.setdefault(module_of(path), set()).update(found - {module_of(path)})
    assert len(edges) > 20 and edges["streamtok._offsets"] == {"streamtok.native.job", "streamtok._protocols"}
    return edges


def layer_name(module: str) -> str:
    parts = module.split(".")
    return "__init__" if len(parts) == 1 else parts[1]


def test_every_module_has_a_room_or_a_place_at_the_top():
    assert {layer_name(module) for module in python_edges()} == levels(PYTHON_LAYERS).keys()


def test_imports_point_down():
    level = levels(PYTHON_LAYERS)
    wrong = [
        f"{module} imports {other}"
        for module, others in python_edges().items()
        for other in others
        if layer_name(other) != layer_name(module) and level[layer_name(other)] >= level[layer_name(module)]
    ]
    assert not wrong


def test_few_files_lie_at_the_top_and_cython_in_its_room():
    top = [path.name for path in (ROOT / "streamtok").iterdir() if path.suffix in (".py", ".pyi", ".pyx", ".pxd")]
    assert len(top) <= MOST_AT_THE_TOP, "a new module belongs to a room"
    native = ROOT / "streamtok" / "native"
    assert {path.parent for path in cython_files()} == {native, native / "csrc"}


def test_imports_make_no_cycle():
    """Imports inside functions count, and so do those for type checkers."""
    assert not cycle(python_edges())


def test_cython_declares_c_in_one_place_and_python_nowhere():
    """What is cimported is a .pxd of ours or Cython's own; native/csrc/ROOM.pxd alone restates a room's headers."""
    files = {path for path in cython_files() if path.suffix == ".pxd"}
    for path in cython_files():
        text = path.read_text()
        names = {a or b for a, b in re.findall(r"^\s*(?:from\s+(\S+)\s+cimport|cimport\s+(\S+))", text, re.M)}
        own = {path.parent / (name[1:].replace(".", "/") + ".pxd") for name in names if name.startswith(".")}
        assert own <= files, path
        assert {name.split(".")[0] for name in names if not name.startswith(".")} <= {"cpython", "libc", "cython"}, path
        restated = set(re.findall(r'extern from "([^"]+)"', text)) - {"Python.h"}
        headers = {c_name(file) for file in (ROOT / "csrc" / path.stem).glob("*.h")}
        assert restated <= (headers if path.parent.name == "csrc" else set()), path


def test_nothing_imports_the_gpu_or_the_command_line():
    """_device.py and training alone ask for the GPU, where somebody named one."""
    for module, others in python_edges().items():
        for leaf, doors in (
            ("gpu", ("_device", "train")),
            ("train", ("cli", "dataset", "_named")),
            ("cli", ("__main__",)),
        ):
            if layer_name(module) not in (leaf, *doors):
                assert not {other for other in others if layer_name(other) == leaf}, module


def test_core_modules_import_no_optional_package_at_their_top():
    for path in package_files():
        tree = ast.parse(path.read_text())
        tree.body = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
        imports = Imports(path)
        imports.visit(tree)
        names = {name.split(".")[0] for name in imports.other}
        assert not names & {"tiktoken", "cupy"}, path
        if layer_name(module_of(path)) != "integrations":
            assert "torch" not in names, path
        if layer_name(module_of(path)) not in ("cli", "patterns"):
            assert not names & {"regex", "click", "rich"}, path


def test_import_and_loading_and_lists_load_no_other_package():
    assert not fresh_modules("import streamtok") & {"cupy", "regex", "tiktoken", "numpy", "click", "rich", "asyncio"}
    code = "import streamtok; enc = streamtok.get_encoding('o200k_base'); assert enc.decode(enc.encode('ab')) == 'ab'"
    assert not fresh_modules(code) & {"cupy", "regex", "tiktoken", "numpy"}


def test_import_and_loading_load_nothing_slow_of_the_standard_library():
    """Each of these takes a millisecond or more. Without `site`, which may load some by itself."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import streamtok; streamtok.get_encoding('o200k_base')"
    script = f"{code}\nprint(*{{'typing', 'threading', 're', 'lzma', 'hashlib'}} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout.split()) == (0, []), run.stdout + run.stderr


def test_arrays_load_numpy_alone():
    code = "import streamtok; streamtok.get_encoding('r50k_base').stream_encoder().feed('a b')"
    assert fresh_modules(code) & {"cupy", "regex", "tiktoken", "numpy"} == {"numpy"}


# ==== Sizes ====

GENERATED = {"unicode_data.h", "normal_data.h", "cluster_data.h", "unicode_ranges.py", "kernels.cu"}
SOURCES = ("*.py", "*.pyx", "*.pxd", "*.pyi", "*.c", "*.h", "*.cu", "*.cuh")


def our_files() -> list[pathlib.Path]:
    folders = [ROOT / name for name in ("csrc", "streamtok", "tests", "tools", "benchmarks", "docs")]
    found = [path for folder in folders for pattern in SOURCES for path in folder.rglob(pattern)]
    return sorted({*found, ROOT / "setup.py"} - {path for path in found if "__pycache__" in path.parts})


def test_no_file_is_over_500_lines():
    sizes = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in our_files()}
    long = {name: n for name, n in sizes.items() if n > 500 and pathlib.Path(name).name not in GENERATED}
    assert not long


@pytest.mark.parametrize("folder", ["streamtok", "tools", "tests"])
def test_no_function_is_over_the_length_to_read_at_once(folder):
    """60 lines without the docstring. The rule is about 40; the limit leaves room for a table."""
    long = []
    for path in (path for path in our_files() if path.suffix == ".py" and folder in path.relative_to(ROOT).parts[:1]):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
                if lines > 60:
                    long.append(f"{path.relative_to(ROOT)}: {node.name} has {lines} lines")
    assert not long
