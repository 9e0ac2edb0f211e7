"""This package in the place of tiktoken, for a process.

>>> from streamtok.integrations import tiktoken
>>> tiktoken.install()
>>> import litellm  # or what else imports tiktoken

Programs that have imported tiktoken before keep it.
"""

from __future__ import annotations

import sys
from types import ModuleType

from .. import core, load, model, registry

__all__ = ["install", "uninstall"]

_VERSION = "0.14.0"  # whose interface this is
_PARTS = {"core": core, "load": load, "model": model, "registry": registry}

_before: dict[str, ModuleType] | None = None
"""The modules of tiktoken that were there before install(); None: it is not installed."""


def install() -> None:
    """Has `import tiktoken` give this package. Called again it does nothing."""
    global _before
    if _before is not None:
        return
    found = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "tiktoken"}
    top = ModuleType("tiktoken", "streamtok, in the place of tiktoken.")
    parts = core.Encoding, model.encoding_for_model, model.encoding_name_for_model
    for each in (*parts, registry.get_encoding, registry.list_encoding_names):
        setattr(top, each.__name__, each)
    top.__dict__.update(__path__=[], __version__=_VERSION, **_PARTS)
    _before = found
    for name in found:
        del sys.modules[name]
    sys.modules["tiktoken"] = top
    sys.modules.update({f"tiktoken.{name}": part for name, part in _PARTS.items()})


def uninstall() -> None:
    """Takes that back: what was there before install() is there again. Programs keep what they imported meanwhile."""
    global _before
    if _before is None:
        return
    for name in [name for name in sys.modules if name.partition(".")[0] == "tiktoken"]:
        del sys.modules[name]
    sys.modules.update(_before)
    _before = None
