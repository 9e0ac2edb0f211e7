"""Builds the compiled modules; everything else is in pyproject.toml.

csrc/ and all Cython modules become one file, that of the module streamtok.native.library. The sources are found, not
listed: a new one is picked up by the next build.
"""

from __future__ import annotations

import multiprocessing
import os
import pathlib
import platform
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor

from setuptools import Distribution, Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.errors import ExecError

# No -march=native: a wheel runs on other machines than the one that built it. The core finds the processor's features
# when it runs.
FLAGS = {
    "msvc": ["/O2", "/std:c11", "/utf-8"],
    # Where functions begin decides a tenth of a call of 10 bytes: 32 was best of 16, 32 and 64 (docs/experiments.md).
    # Python's own flags ask for debugging information, which is more than half of what the modules take in a wheel.
    # Threads may have stacks of 128 KB, as musl gives them, so no frame takes more than an eighth of that.
    "unix": ["-std=c11", "-O3", "-fvisibility=hidden", "-falign-functions=32", "-g0", "-Wframe-larger-than=16384"],
}
# Where Cython's C is. It calls the core, and a call takes as long with -O1, which compiles in half the time.
GLUE = "build/"
QUICK = {"-O3": "-O1", "/O2": "/O1"}
# The modules that loop over ids: with -O1 they take a tenth longer, with -O2 a batch of lists a thirtieth.
LOOPS = ("decode", "ids", "lists", "texts")
# Functions are as plain as those of C modules, with their signatures as text, and classes are not prepared for pickles:
# all that would be a third of the C that has to be compiled.
DIRECTIVES = {
    "language_level": 3,
    "freethreading_compatible": True,
    "binding": False,
    "annotation_typing": False,  # annotations are those of the stubs
    "embedsignature": True,
    "embedsignature.format": "clinic",
    "auto_pickle": False,
    "optimize.unpack_method_calls": False,
    "emit_code_comments": False,
}


def found(folder: str, *patterns: str) -> list[str]:
    """The files below a folder, sorted, relative to this one as setuptools wants them."""
    return sorted(path.as_posix() for pattern in patterns for path in pathlib.Path(folder).rglob(pattern))


if pathlib.Path("tools/stubs.py").exists():  # missing where there is nothing to compile, too
    runpy.run_path("tools/data_headers.py")["write_all"](pathlib.Path("csrc"))
    runpy.run_path("tools/stubs.py")["write"](pathlib.Path("streamtok/native"))

# The rest is of the C library (CMakeLists.txt).
C_SOURCES = [source for source in found("csrc", "*.c") if not source.startswith(("csrc/api/", "csrc/compiled/"))]
C_HEADERS = found("csrc", "*.h")
CYTHON_SOURCES = found("streamtok", "*.pyx")


INCLUDE = re.compile(r'#include "([^"]+)"\n')


def one_file(name: str) -> str:
    """The file of that name in csrc/ with all that it includes, for a compiler that sees no files."""
    done: set[str] = set()

    def text_of(name: str) -> str:
        if name in done:
            return ""
        done.add(name)
        return INCLUDE.sub(lambda include: text_of(include[1]), pathlib.Path("csrc", name).read_text())

    return text_of(name)


# Names of processors in the platform tags of systems whose programs a machine runs itself.
RUNS = {
    "x86_64": ("x86_64", "amd64", "universal2", "i686", "win32"),
    "arm64": ("arm64", "aarch64", "universal2"),
}
SAME = {"amd64": "x86_64", "aarch64": "arm64"}


def is_cross_build(tag: str, machine: str | None = None) -> bool:
    """Whether this is a build for another kind of machine: STREAMTOK_CROSS_BUILD=1 is set, or the platform tag names
    another one, as "macosx-11.0-arm64" on an Intel Mac."""
    if os.environ.get("STREAMTOK_CROSS_BUILD", "0") != "0":
        return True
    name = (machine or platform.machine()).lower()
    return not any(part in tag for part in RUNS.get(SAME.get(name, name), (name,)))


# Microsoft's compiler has no pragma that enables instructions, so the name of a file tells which ones it uses. All
# other files are for every machine.
INSTRUCTIONS = {"avx2": "/arch:AVX2", "avx512": "/arch:AVX512", "pclmul": "/arch:AVX2"}


def is_quick() -> bool:
    """STREAMTOK_QUICK_BUILD=1: the compiler optimizes little. For tests of what a build makes, not of speed."""
    return os.environ.get("STREAMTOK_QUICK_BUILD", "0") != "0"


def is_apart() -> bool:
    """STREAMTOK_DATA=apart: a wheel of code alone, which asks for the data as a wheel of its own (vocabularies/)."""
    return os.environ.get("STREAMTOK_DATA", "inside") == "apart"


def requirements() -> list[str]:
    """The packages that the library needs when it runs."""
    data = runpy.run_path("streamtok/bundled/pins.py")["VERSION"]
    return ["numpy>=1.23", "regex>=2022.1.18", *([f"streamtok-vocab=={data}"] if is_apart() else [])]


def flags(source: str, compiler: str, tag: str) -> list[str]:
    """The compiler's flags for a source, a type of compiler, and a platform tag."""
    plain = FLAGS["msvc" if compiler == "msvc" else "unix"]
    if is_quick():
        plain = [{"-O3": "-O1", "/O2": "/Od"}.get(flag, flag) for flag in plain]
    elif source.startswith(GLUE):
        plain = plain if pathlib.Path(source).stem in LOOPS else [QUICK.get(flag, flag) for flag in plain]
    if compiler != "msvc" or "amd64" not in tag:
        return plain
    own = INSTRUCTIONS.get(pathlib.Path(source).stem.rpartition("_")[2])
    return [*plain, own] if own else plain


# The kernels of a package, as one file.
KERNELS = {
    "gpu": "cuda/encode/encode.cu",
    "gpu/ids": "cuda/ids/ids.cu",
    "gpu/longest": "cuda/longest/longest.cu",
    "train/gpu": "cuda/train/train.cu",
}


class BuildLibrary(build_ext):
    def build_extension(self, extension: Extension) -> None:
        extension.extra_objects = self.objects(extension)
        extension.sources, extension.depends = [], extension.extra_objects
        super().build_extension(extension)

    def objects(self, extension: Extension) -> list[str]:
        """The object of each source. An object older than its source, a header or this file is compiled again."""
        compiler, time = self.compiler, os.path.getmtime
        shared = max(map(time, [*extension.depends, "setup.py"]))

        def compiled(source: str) -> str:
            (made,) = compiler.object_filenames([source], output_dir=self.build_temp)
            if self.force or not os.path.exists(made) or time(made) <= max(shared, time(source)):
                compiler.compile(
                    [source],
                    output_dir=self.build_temp,
                    macros=extension.define_macros,
                    include_dirs=extension.include_dirs,
                    extra_postargs=flags(source, compiler.compiler_type, self.plat_name),
                )
            return made

        def takes_longer(source: str) -> tuple[bool, int]:
            return "/tiers/" in source, os.path.getsize(source)

        longest_first = sorted(extension.sources, key=takes_longer, reverse=True)
        # The class that runs Microsoft's compiler cannot be used by several threads.
        with ThreadPoolExecutor(os.cpu_count() if compiler.compiler_type == "unix" else 1) as pool:
            made = dict(zip(longest_first, pool.map(compiled, longest_first)))
        return [made[source] for source in extension.sources]

    def finalize_options(self) -> None:
        super().finalize_options()
        if self.editable_mode:  # setuptools would remove the objects, and the next build would compile them all again
            usual = Distribution().get_command_obj("build")
            usual.ensure_finalized()
            self.build_temp = usual.build_temp
        if is_quick():  # its objects are not those of any other build
            self.build_temp += "-quick"

    def run(self) -> None:
        root = pathlib.Path("." if self.inplace else self.build_lib)
        self.remove_old(root)
        super().run()
        for package, name in KERNELS.items():
            (root / "streamtok" / package / "kernels.cu").write_text(one_file(name))
        if not self.inplace and is_apart():
            shutil.rmtree(root / "streamtok" / "vocab", ignore_errors=True)
            return
        self.write_tables(root)
        if not self.inplace:
            self.remove_packed(root)

    def remove_old(self, root: pathlib.Path) -> None:
        """Removes modules of an earlier build. Python would find them before those in the library, and a wheel would
        contain them."""
        for file in (root / "streamtok").rglob(f"*{sysconfig.get_config_var('EXT_SUFFIX')}"):
            if not file.name.startswith("library."):
                file.unlink()

    def write_tables(self, root: pathlib.Path) -> None:
        """The tables that bundled/mapped.py maps, made by the modules just built. A build for another kind of machine
        cannot run them, and the package works without tables. Any other build whose modules do not run fails."""
        code = "from streamtok.bundled import mapped; mapped.write_tables('streamtok/vocab')"
        command = [sys.executable, "-c", code]
        try:  # in the build's folder, because Python looks for modules in the current folder first
            subprocess.run(command, check=True, cwd=root)
        except (OSError, subprocess.CalledProcessError) as error:
            if not is_cross_build(self.plat_name):
                raise ExecError(
                    f"the modules just built could not write the package's tables ({error}; see above). "
                    "If this is a build for another kind of machine, set STREAMTOK_CROSS_BUILD=1"
                ) from None
            self.warn(f"no prebuilt tables, vocabularies will load more slowly: {error}")

    def remove_packed(self, root: pathlib.Path) -> None:
        """Leaves out of a wheel each vocabulary whose tables are there: they hold all of it."""
        for tables in (root / "streamtok" / "vocab").glob("*.tables"):
            tables.with_suffix(".stv").unlink(missing_ok=True)


class BuildWheel(bdist_wheel):
    def egg2dist(self, egginfo_path: str, distinfo_path: str) -> None:
        super().egg2dist(egginfo_path, distinfo_path)
        tools = runpy.run_path("tools/sbom.py")
        document = tools["sbom"]("streamtok", tools["version"](), requirements(), True, not is_apart())
        tools["write"](distinfo_path, document)


def translators() -> int:
    """How many processes may run Cython. Where a process is not a fork, each of them would run this file again."""
    if sys.platform != "linux":
        return 0
    multiprocessing.set_start_method("fork", force=True)
    return os.cpu_count() or 0


def library() -> list[Extension]:
    """One extension of all compiled sources; none if they are missing, as while an sdist is made."""
    if not CYTHON_SOURCES:
        return []
    import numpy
    from Cython.Build import cythonize

    modules = [Extension(source.removesuffix(".pyx").replace("/", "."), [source]) for source in CYTHON_SOURCES]
    # One extension for each module here, because Cython gives all sources of one extension the same name. build_dir
    # keeps the generated C out of the package, and so out of the wheel.
    made = [GLUE + source.removesuffix(".pyx") + ".c" for source in CYTHON_SOURCES]
    written = [os.path.getmtime(path) for path in made if os.path.exists(path)]
    options = {"build_dir": GLUE, "compiler_directives": DIRECTIVES, "nthreads": translators()}
    # Cython does not look at whether the directives changed.
    modules = cythonize(modules, force=min(written, default=0) < os.path.getmtime("setup.py"), **options)
    return [
        Extension(
            "streamtok.native.library",
            [source for module in modules for source in module.sources] + C_SOURCES,
            include_dirs=["csrc", numpy.get_include()],
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
            depends=C_HEADERS,
        )
    ]


setup(
    ext_modules=library(),
    cmdclass={"build_ext": BuildLibrary, "bdist_wheel": BuildWheel},
    install_requires=requirements(),
)
