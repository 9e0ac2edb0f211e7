"""The C core and what of Python must be as fast: Cython modules over csrc/. Nothing here decides; callers do.

One file holds all of these modules and one copy of the core: the file of the module `library`."""

import sys

try:
    from . import library
except ImportError as _error:
    import importlib.machinery
    import os

    _here = os.path.dirname(os.path.abspath(__file__))
    if any(os.path.exists(os.path.join(_here, f"library{end}")) for end in importlib.machinery.EXTENSION_SUFFIXES):
        raise
    raise ImportError(
        f"streamtok's sources in {os.path.dirname(_here)} are not built for this Python, and stand in front of an"
        " installed package: run Python in another folder, or build them with `pip install -e .` in theirs"
    ) from _error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from typing import Any

MODULES = (
    "arrow",
    "buffers",
    "call_pool",
    "cells",
    "checksum",
    "decode",
    "decoders",
    "encode",
    "gate",
    "ids",
    "interrupt",
    "job",
    "launch",
    "listing",
    "lists",
    "matcher",
    "memory",
    "merges",
    "model",
    "normal",
    "part",
    "pattern",
    "prefixes",
    "prepared",
    "rows",
    "rule_decoder",
    "steps",
    "text",
    "texts",
    "trainer",
    "vocab",
    "words",
    "workers",
)
"""What the file holds besides `library`."""


class ModuleFinder:
    """Says where these modules are. By itself Python looks for a module in a file with the module's name only; once it
    knows the file, it calls the function in it that has the module's name, PyInit_text for `text`."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> "ModuleSpec | None":
        package, _, module = name.rpartition(".")
        if package != __name__ or module not in MODULES:
            return None
        file: Any = library.__spec__  # importlib.machinery has these classes, too, but takes time to import
        spec: ModuleSpec = type(file)(name, type(file.loader)(name, file.origin), origin=file.origin)
        spec.has_location = True
        return spec


sys.meta_path.append(ModuleFinder)
