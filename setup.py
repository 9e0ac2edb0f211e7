"""The build of the compiled parts; everything else is in pyproject.toml.

csrc/ is compiled once, as the static library streamtok_core, and linked into each Cython module. The files
are found, not listed: a new one is picked up by the next build.
"""

from __future__ import annotations

import os
import pathlib
import platform
import re
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_clib import build_clib
from setuptools.command.build_ext import build_ext
from setuptools.errors import ExecError

# No -march=native: a wheel runs on machines it was not built on; what newer ones can do is found out at run time.
FLAGS = {
    "msvc": ["/O2", "/std:c11", "/utf-8"],
    # Python's own flags ask for debugging information, which is more than half of what the modules take in a wheel.
    "unix": ["-std=c11", "-O3", "-fvisibility=hidden", "-g0"],
}
DIRECTIVES = {"language_level": 3, "binding": True, "freethreading_compatible": True}


def found(folder: str, *patterns: str) -> list[str]:
    """The files below a folder, sorted, relative to this one as setuptools wants them."""
    return sorted(path.as_posix() for pattern in patterns for path in pathlib.Path(folder).rglob(pattern))


C_SOURCES = found("csrc", "*.c")
C_HEADERS = found("csrc", "*.h", "*.cu")
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


def flags(compiler: object) -> list[str]:
    """With STREAMTOK_QUICK_BUILD=1 the compiler optimizes little: for tests of what a build makes, not of speed."""
    own = FLAGS["msvc" if getattr(compiler, "compiler_type", "") == "msvc" else "unix"]
    quick = os.environ.get("STREAMTOK_QUICK_BUILD", "0") != "0"
    return [{"-O3": "-O1", "/O2": "/Od"}.get(flag, flag) if quick else flag for flag in own]


# What stands in the platform tags of systems whose programs a machine runs itself.
RUNS = {
    "x86_64": ("x86_64", "amd64", "universal2", "i686", "win32"),
    "arm64": ("arm64", "aarch64", "universal2"),
}
SAME = {"amd64": "x86_64", "aarch64": "arm64"}


def is_cross_build(tag: str, machine: str | None = None) -> bool:
    """Is this a build for another kind of machine? It says so by STREAMTOK_CROSS_BUILD=1, or its platform tag does, as
    "macosx-11.0-arm64" on an Intel Mac."""
    if os.environ.get("STREAMTOK_CROSS_BUILD", "0") != "0":
        return True
    name = (machine or platform.machine()).lower()
    return not any(part in tag for part in RUNS.get(SAME.get(name, name), (name,)))


def by_instructions(sources: list[str], tag: str) -> dict[tuple[str, ...], list[str]]:
    """Flags of Microsoft's compiler -> the files that want them. It knows no pragma that names instructions, so a file
    says by its name which it is for. The others are for every machine."""
    wanted = {"_avx2": ("/arch:AVX2",), "_avx512": ("/arch:AVX512",), "_pclmul": ("/arch:AVX2",)}
    groups: dict[tuple[str, ...], list[str]] = {}
    for source in sources:
        ending = next((end for end in wanted if source.endswith(f"{end}.c")), "") if "amd64" in tag else ""
        groups.setdefault(wanted.get(ending, ()), []).append(source)
    return groups


class BuildCore(build_clib):
    def build_with_msvc(self, name: str, info: dict) -> None:
        tag = self.get_finalized_command("build").plat_name
        objects: list[str] = []
        for own, sources in by_instructions(info["sources"], tag).items():
            options = {"output_dir": self.build_temp, "include_dirs": info["include_dirs"], "debug": self.debug}
            objects += self.compiler.compile(sources, extra_postargs=[*flags(self.compiler), *own], **options)
        self.compiler.create_static_lib(objects, name, output_dir=self.build_clib, debug=self.debug)

    def build_libraries(self, libraries: list[tuple[str, dict]]) -> None:
        for name, info in libraries:
            info["cflags"] = flags(self.compiler)
            # An archive is added to, never emptied: the object of a C file that is gone would stay, and be linked.
            archive = pathlib.Path(self.build_clib, self.compiler.library_filename(name))
            archive.unlink(missing_ok=True)
        if getattr(self.compiler, "compiler_type", "") != "msvc":
            super().build_libraries(libraries)
            return
        for name, info in libraries:
            self.build_with_msvc(name, info)


class BuildModules(build_ext):
    def build_extensions(self) -> None:
        for extension in self.extensions:
            extension.extra_compile_args = flags(self.compiler)
        super().build_extensions()

    def run(self) -> None:
        # build_ext alone would link against a core that is missing or old.
        if self.distribution.libraries:
            self.run_command("build_clib")
        super().run()
        root = pathlib.Path("." if self.inplace else self.build_lib)
        for package, name in (("gpu", "cuda/encode/encode.cu"), ("train/gpu", "cuda/train/train.cu")):
            (root / "streamtok" / package / "kernels.cu").write_text(one_file(name))
        self.write_tables(root)

    def write_tables(self, root: pathlib.Path) -> None:
        """The tables that bundled/mapped.py maps, made by the modules just built. A build for another kind of machine
        cannot run them: the package then works without. Any other build whose modules do not run is no good."""
        code = "from streamtok.bundled import mapped; mapped.write_tables('streamtok/vocab')"
        command = [sys.executable, "-c", code]
        try:  # in that folder, because Python looks for modules where it stands first
            subprocess.run(command, check=True, cwd=root)
        except (OSError, subprocess.CalledProcessError) as error:
            if not is_cross_build(self.plat_name):
                raise ExecError(
                    f"the modules just built could not write the package's tables ({error}; see above). "
                    "If this is a build for another kind of machine, set STREAMTOK_CROSS_BUILD=1"
                ) from None
            self.warn(f"no prebuilt tables, vocabularies will load more slowly: {error}")


def modules() -> list[Extension]:
    """An extension for each .pyx, depending on every C file: without that an edit there would not relink it."""
    if not CYTHON_SOURCES:
        return []
    import numpy
    from Cython.Build import cythonize

    extensions = [
        Extension(
            source.removesuffix(".pyx").replace("/", "."),
            [source],
            include_dirs=["csrc", numpy.get_include()],
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
            depends=C_SOURCES + C_HEADERS,
        )
        for source in CYTHON_SOURCES
    ]
    # build_dir keeps the generated C out of the package, and so out of the wheel.
    return cythonize(extensions, build_dir="build", compiler_directives=DIRECTIVES)


CORE = {"sources": C_SOURCES, "obj_deps": {"": C_HEADERS}, "include_dirs": ["csrc"]}

setup(
    libraries=[("streamtok_core", CORE)] if C_SOURCES else [],
    ext_modules=modules(),
    cmdclass={"build_clib": BuildCore, "build_ext": BuildModules},
)
