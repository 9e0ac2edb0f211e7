"""Puts the data into the wheel: tables that the streamtok in the folder above writes, and its lists of words."""

from __future__ import annotations

import pathlib
import runpy
import shutil
import subprocess
import sys

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.errors import ExecError

ABOVE = pathlib.Path(__file__).resolve().parent.parent
PINS = runpy.run_path(str(ABOVE / "streamtok" / "bundled" / "pins.py"))
WRITE = "import sys; from streamtok.bundled import mapped; mapped.write_tables(sys.argv[1])"


class BuildData(build_py):
    def run(self) -> None:
        super().run()
        folder = pathlib.Path(self.build_lib, "streamtok_vocab").resolve()
        shutil.copyfile(ABOVE / "streamtok" / "vocab" / "words.stw", folder / "words.stw")
        subprocess.run([sys.executable, "-c", WRITE, folder], check=True, cwd=ABOVE)
        for name, pinned in PINS["SUMS"].items():
            made = (folder / f"{name}.tables").read_bytes()[:16].hex()
            if made != pinned:
                raise ExecError(
                    f"{name}.tables begins with {made}, and streamtok/bundled/pins.py has {pinned}: renew it"
                )


class BuildWheel(bdist_wheel):
    def egg2dist(self, egginfo_path: str, distinfo_path: str) -> None:
        super().egg2dist(egginfo_path, distinfo_path)
        tools = runpy.run_path(str(ABOVE / "tools" / "sbom.py"))
        tools["write"](distinfo_path, tools["sbom"]("streamtok-vocab", PINS["VERSION"], [], False, True))


setup(
    version=PINS["VERSION"],
    packages=["streamtok_vocab"],
    cmdclass={"build_py": BuildData, "bdist_wheel": BuildWheel},
)
