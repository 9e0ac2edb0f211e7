"""The public interface: messages name what users call, and the map of docs/reference has every name."""

from __future__ import annotations

import inspect
import re
import types

import oracle
import pytest

import streamtok
from streamtok import dataset, files, train

MAP = (oracle.PROJECT / "docs" / "reference" / "interface.md").read_text(encoding="utf-8")
CLASSES = (streamtok.Encoding, streamtok.StreamEncoder, streamtok.StreamDecoder)
PUBLIC = [
    f"{kind.__name__}.{name}"
    for kind in CLASSES
    for name, value in vars(kind).items()
    if not name.startswith("_") and isinstance(value, (types.FunctionType, classmethod))
]


@pytest.mark.parametrize("name", PUBLIC)
def test_unknown_keyword_is_an_error_that_names_the_method(name):
    """Where a method hands its keywords on, it is the public function that takes them."""
    kind, _, method = name.partition(".")
    function = getattr(getattr(streamtok, kind), method)
    positional = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)
    needed = [each for each in inspect.signature(function).parameters.values() if each.kind in positional]
    arguments = [None for each in needed if each.default is each.empty]
    with pytest.raises(
        TypeError, match=rf"^({re.escape(name)}|{method})\(\) got an unexpected keyword argument 'typo'"
    ):
        function(*arguments, typo=1)


def names_of(part: str) -> set[str]:
    """The names in a section of the map."""
    return set(re.findall(r"`([\w.]+)`", MAP.partition(f"## {part}\n\n")[2].partition("\n## ")[0]))


def test_the_map_has_every_public_name():
    promised, provisional = names_of("Promised"), names_of("Provisional")
    assert not promised & provisional
    source = (oracle.PROJECT / "streamtok" / "__init__.py").read_text(encoding="utf-8")
    public = set(re.findall(r"import (\w+) as \1", source)) | set(
        re.findall(r"^from \.\w+ import (\w+) as", source, re.M)
    )
    for kind in CLASSES:
        public |= {f"{kind.__name__}.{name}" for name in dir(kind) if not name.startswith("_")}
    for module in (dataset, files, train):
        public |= {f"{module.__name__.partition('.')[2]}.{name}" for name in module.__all__}
    assert promised | provisional == public
