"""The public interface: messages name what users call, and the map of docs/reference has every name."""

from __future__ import annotations

import asyncio
import inspect
import re
import sys
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


# What these do not know is a variable of the template.
@pytest.mark.parametrize("name", sorted({*PUBLIC} - {"Encoding.encode_chat", "Encoding.render_chat"}))
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


DEFAULTS = {
    "add_special_tokens": {False}, "device": {"cpu"}, "disallowed_special": {"all"}, "num_threads": {None, 8},
    "errors": {"strict"},
}  # fmt: skip
"""What each public method takes these for where they are not given."""


@pytest.mark.parametrize("name", PUBLIC)
def test_defaults_stay_as_they_are(name):
    kind, _, method = name.partition(".")
    parameters = inspect.signature(getattr(getattr(streamtok, kind), method)).parameters
    given = {key: each.default for key, each in parameters.items() if each.default is not each.empty}
    wanted = {**DEFAULTS, "errors": {"replace" if "decode" in method else "strict"}}
    assert all(given[key] in values for key, values in wanted.items() if key in given)
    if "ids" in parameters and "allowed_special" in given:  # ids are of special tokens, too
        assert given["allowed_special"] == "all"
    assert inspect.signature(train.train).parameters["name"].default == "trained"


GOOD = {
    "ids": [1], "tokens": [1], "batch": [[1]], "token": 1, "text": "a", "texts": ["a"], "chunks": ["a"], "n": 1,
    "slots": 1, "segments": [("a", "all")], "text_or_bytes": "a", "name": "x", "special_tokens": {}, "chunk": "a",
}  # fmt: skip
LISTS = ("encode_batch", "encode_ordinary_batch")


def subject(kind):
    enc = oracle.ours("r50k_base")
    return {"Encoding": enc, "StreamEncoder": enc.stream_encoder(), "StreamDecoder": enc.stream_decoder()}[kind]


def internal_names() -> set[str]:
    """The classes of the package that its interface does not name."""
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == "streamtok"]
    kinds = {
        kind.__name__
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and kind.__module__.partition(".")[0] == "streamtok"
    }
    return {kind for kind in kinds if not re.search(rf"\b{kind}\b", MAP)}


def whole(made):
    """What a call gives, to its end."""
    if inspect.isasyncgen(made):

        async def all_of_it():
            return [each async for each in made]

        return asyncio.run(all_of_it())
    return list(made) if inspect.isgenerator(made) else made


@pytest.mark.parametrize("name", [*PUBLIC, "StreamEncoder.feed", "StreamDecoder.feed"])
def test_messages_name_no_internal_class(name, tmp_path):
    """Of wrong keywords, of wrong types in each place, and of too many arguments."""
    kind, _, method = name.partition(".")
    call = getattr(subject(kind), method)
    parameters = inspect.signature(call).parameters.values() if method != "feed" else ()
    files = {"src": tmp_path / "in.txt", "dst": tmp_path / "out"}
    files["src"].write_text("a")
    needed = [each for each in parameters if each.default is each.empty and each.name not in ("args", "options")]
    good = {each.name: {**GOOD, **files}.get(each.name) for each in needed} if needed else {}
    if method in LISTS:
        good["text"] = ["a"]
    wrong = [((object(),) * 9, {}), ((object(),), {}), ((), {**good, "typo": 1})]
    wrong += [((), {**good, each.name: object()}) for each in parameters]
    for arguments, options in wrong:
        try:
            whole(call(*arguments, **options))
        except Exception as error:
            assert not isinstance(error, NameError)
            told = set(re.findall(r"(?<!tokenizers\.)\b\w+", str(error))) & internal_names()
            assert not told, (options, str(error))


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


def test_info_has_what_a_report_of_a_fault_needs():
    found = streamtok.info()
    assert {"streamtok", "python", "platform", "machine", "simd", "tables", "cuda", "numpy"} <= set(found)
    assert found["python"] == sys.version.split()[0] and found["streamtok"] == streamtok.__version__
