"""The harnesses of tests/fuzz: how they are compiled with sanitizers, and run: for fuzz.py and sanitize.py."""

from __future__ import annotations

import argparse
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, NoReturn

ROOT = pathlib.Path(__file__).resolve().parent.parent
FUZZ = ROOT / "tests" / "fuzz"
VOCABULARIES = [ROOT / "streamtok" / "vocab" / f"{name}.stv" for name in ("cl100k_base", "o200k_base")]

HARNESSES = (
    "feed",
    "state",
    "special_tokens",
    "cutter",
    "decode",
    "merge",
    "vocab",
    "lists",
    "listing",
    "image",
    "words",
    "train",
    "job",
    "split",
    "normal",
    "table",
    "rows",
    "checksum",
    "longest",
)
SHARED = ["support", "texts", "vocabularies", "tables"]
STREAMS = ["subject", "odds"]  # of feed and state alone

# Half of the time to compile would go into functions that are inlined for each family of patterns. Once is enough here.
INLINES = "-DST_COMPILER_INLINES"
FLAGS = ["-std=c11", "-O1", "-g1", "-fno-omit-frame-pointer", "-Wall", "-Wextra", INLINES, "-Icsrc", "-Itests/fuzz"]
# A hot table so small that its entries evict each other all the time, few texts that count as short, names looked for
# in many places of a text at once although it is short, and what the cutter holds completed by few bytes at a time.
CROWDED = ["-DST_HOT_BITS=5", "-DST_SHORT_TEXT=40", "-DST_SPECIAL_FEW=4", "-DST_CUTTER_BRIDGE=2", "-DST_CUTTER_SHORT=8"]
FATAL = "-fno-sanitize-recover=all"
UNAVAILABLE = 77  # exit status of the tools where no compiler can do what they need


class Build(NamedTuple):
    """One way to compile. `compiling` goes to every source, `linking` to the program; with `driver`, inputs come from
    tests/fuzz/driver.c, else from libFuzzer."""

    name: str
    compiling: list[str]
    linking: list[str]
    driver: bool = True


MEMORY = Build("address,undefined", ["-fsanitize=address,undefined", FATAL, *CROWDED], ["-fsanitize=address,undefined"])
THREADS = Build("thread", ["-fsanitize=thread"], ["-fsanitize=thread"])
LIBFUZZER = Build(
    "libFuzzer,address,undefined",
    ["-fsanitize=fuzzer-no-link,address,undefined", FATAL, *CROWDED],
    ["-fsanitize=fuzzer,address,undefined"],
    driver=False,
)


def of_engine() -> tuple[str, Build]:
    """(compiler, Build) as an engine's variables have them: CC, CFLAGS, CXX, CXXFLAGS, LIB_FUZZING_ENGINE, as
    ClusterFuzzLite and OSS-Fuzz set them."""
    get = os.environ.get
    linking = [*shlex.split(get("CXXFLAGS", "")), *shlex.split(get("LIB_FUZZING_ENGINE", "-fsanitize=fuzzer"))]
    return get("CC", "clang"), Build("engine", [*shlex.split(get("CFLAGS", "")), *CROWDED], linking, driver=False)


def arguments(doc: str, seconds: float, others: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The arguments of both tools. doc: the tool's docstring. seconds: the default time for each harness. others: names
    that stand where one of a harness may."""
    known = [*HARNESSES, *others]

    def harness(name: str) -> str:
        if name not in known:
            raise argparse.ArgumentTypeError(f"there is no harness {name!r}; there are {', '.join(known)}")
        return name

    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("harness", nargs="*", type=harness, help="which; all, if none is named")
    parser.add_argument("--seconds", type=float, default=seconds, help=f"time for each harness (default: {seconds:g})")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cc", help="compiler to use")
    return parser


def exit_with(main: Callable[[], int]) -> NoReturn:
    """Runs a tool; its exit status is that of the process."""
    try:
        sys.exit(main())
    except CannotBuild as error:
        sys.exit(f"the core or the harnesses do not compile:\n{error}")


class CannotBuild(Exception):
    """A compiler failed; what it said is the message."""


def compilers(named: str | None, build: Build) -> list[str]:
    """The named compiler, or the first GCC and the first clang that are installed; for libFuzzer clang alone."""
    # Debian and its derivatives may install clang only under a name with its version.
    usual = ["cc", "gcc", "clang", *(f"clang-{version}" for version in range(25, 12, -1))]
    installed = [name for name in ([named] if named else usual) if shutil.which(name)]
    clangs = [name for name in installed if is_clang(name)]
    others = [name for name in installed if name not in clangs]
    return installed if named else [*(others[:1] if build.driver else []), *clangs[:1]]


def is_clang(name: str) -> bool:
    """`cc`, and `gcc` on macOS, may be a clang."""
    return "clang" in subprocess.run([name, "--version"], capture_output=True, text=True).stdout


def works(cc: str, build: Build, folder: pathlib.Path) -> bool:
    """Whether it can build and run a program with these sanitizers, whose libraries are separate packages."""
    entry = "int main(void)" if build.driver else "int LLVMFuzzerTestOneInput(void)"
    (folder / "probe.c").write_text(f"{entry} {{ return 0; }}\n")
    built = subprocess.run([cc, *build.linking, "probe.c", "-o", "probe"], cwd=folder, capture_output=True)
    if built.returncode:
        return False
    arguments = [] if build.driver else ["-runs=1"]
    return subprocess.run([folder / "probe", *arguments], capture_output=True).returncode == 0


def run_compiler(command: list[str]) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise CannotBuild(done.stderr)


def compile_sources(cc: str, build: Build, sources: Sequence[pathlib.Path], folder: pathlib.Path) -> list[str]:
    """The object of each source in the folder; what is there is not compiled again."""
    targets = [str(folder / f"{source.stem}.o") for source in sources]

    def compile_one(source: pathlib.Path, target: str) -> None:
        if not os.path.exists(target):
            run_compiler([cc, *FLAGS, *build.compiling, "-c", str(source), "-o", target])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, sources, targets))
    return targets


def compile_program(cc: str, build: Build, source: pathlib.Path, program: pathlib.Path, folder: pathlib.Path) -> None:
    """A program of one source and the core, whose objects stay in the folder."""
    objects = compile_sources(cc, build, sorted(ROOT.glob("csrc/**/*.c")), folder)
    own = compile_sources(cc, build, [source], folder)
    run_compiler([cc, *build.linking, *own, *objects, "-pthread", "-o", str(program)])


def compile_all(
    cc: str, build: Build, harnesses: list[str], folder: pathlib.Path, core: Sequence[str] = ()
) -> dict[str, pathlib.Path]:
    """Harness -> its program. Each source is compiled once. core: the objects of csrc/, where they are there."""
    objects = core or compile_sources(cc, build, sorted(ROOT.glob("csrc/**/*.c")), folder)
    helpers = [*SHARED, *(["driver"] if build.driver else [])]
    own = [*helpers, *STREAMS, *(f"fuzz_{name}" for name in harnesses)]
    linker = os.environ.get("CXX", cc) if build.name == "engine" else cc
    made = dict(zip(own, compile_sources(cc, build, [FUZZ / f"{name}.c" for name in own], folder)))

    def link(name: str) -> None:
        parts = [f"fuzz_{name}", *(STREAMS if name in ("feed", "state") else []), *helpers]
        target = str(folder / f"fuzz_{name}")
        run_compiler([linker, *build.linking, *(made[part] for part in parts), *objects, "-pthread", "-o", target])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(link, harnesses))
    return {name: folder / f"fuzz_{name}" for name in harnesses}


def execute(program: pathlib.Path, arguments: list[str]) -> tuple[int, str]:
    """Exit status and output, both streams together."""
    # After abort() the driver can keep the input. After the sanitizer's own exit it could not.
    options = {"UBSAN_OPTIONS": "print_stacktrace=1:abort_on_error=1", "TSAN_OPTIONS": "halt_on_error=1"}
    files = ":".join(map(str, VOCABULARIES))
    environment = dict(os.environ, STREAMTOK_FUZZ_VOCAB=files, **options)

    def run(*prefix: str) -> tuple[int, str]:
        command = [*prefix, str(program), *arguments]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout.decode(errors="replace").strip()

    status, output = run()
    # Older ThreadSanitizers cannot place their shadow memory where the kernel randomizes addresses widely.
    if status and "unexpected memory mapping" in output and shutil.which("setarch"):
        status, output = run("setarch", "-R")
    # Leaks are looked for with ptrace, which a container may forbid. The harnesses count blocks themselves as well.
    if status and "LeakSanitizer has encountered a fatal error" in output:
        environment["ASAN_OPTIONS"] = "detect_leaks=0"
        status, output = run()
    return status, output
