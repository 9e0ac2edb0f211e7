"""Stand-ins for packages that are not installed, so that parts of a server can be imported."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types
from typing import Any


class _Kind(type):
    """A class that has each attribute, and that may be called, subscripted, derived from and used as a decorator."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        if len(arguments) == 1 and not options and callable(arguments[0]):
            return arguments[0]
        return cls if cls is Anything else super().__call__()

    def __getitem__(cls, item: Any) -> Any:
        return cls

    def __or__(cls, other: Any) -> Any:
        return cls

    __ror__ = __or__

    def __iter__(cls) -> Any:
        return iter(())


class Anything(metaclass=_Kind):
    def __init_subclass__(cls, **options: Any) -> None:
        pass

    @classmethod
    def __get_pydantic_core_schema__(cls, *arguments: Any) -> dict[str, str]:
        return {"type": "any"}


class _Module(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names: set[str]) -> None:
        self.names = names

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.partition(".")[0] not in self.names:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> Any:
        return _Module(spec.name)

    def exec_module(self, module: Any) -> None:
        pass


def reach(server: str, names: str) -> None:
    """Makes a server's package importable, with stand-ins for those of these packages that are missing. What asks
    whether a package is there, as transformers does, is imported before."""
    import torch
    import transformers

    for name in ("AutoTokenizer", "PreTrainedTokenizerFast", "AutoProcessor", "AutoConfig"):
        getattr(transformers, name)
    torch.compile = lambda function=None, **_: (lambda each: each) if function is None else function
    if importlib.util.find_spec(server) is None:
        sys.path.insert(0, os.path.join(os.environ["STREAMTOK_SERVERS"], server))
    sys.meta_path.append(_Finder({name for name in names.split() if importlib.util.find_spec(name) is None}))
