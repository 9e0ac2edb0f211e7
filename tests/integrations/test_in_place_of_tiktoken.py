"""This package under the name of tiktoken: what programs that import it get, and that it goes again."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import oracle
import pytest

BEGIN = "from streamtok.integrations import tiktoken as ours\nimport streamtok, sys\nours.install()\n"


def run(code: str, *more: str) -> str:
    """What a program in a process of its own prints."""
    done = subprocess.run([sys.executable, "-c", code, *more], cwd=oracle.PROJECT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_gives_this_package_until_it_is_taken_back():
    code = """
ours.install()
import tiktoken, tiktoken.load
from tiktoken import Encoding, encoding_for_model, get_encoding
from tiktoken.core import Encoding as again
from tiktoken.load import load_tiktoken_bpe
from tiktoken.model import MODEL_TO_ENCODING, encoding_name_for_model
from tiktoken.registry import list_encoding_names
assert Encoding is again is streamtok.Encoding and tiktoken.encoding_name_for_model("gpt-4o") == "o200k_base"
assert get_encoding("cl100k_base") is streamtok.get_encoding("cl100k_base") is encoding_for_model("gpt-4")
assert isinstance(tiktoken.__version__, str) and "cl100k_base" in list_encoding_names()
try:
    import tiktoken._educational
except ModuleNotFoundError as error:
    assert error.name == "tiktoken._educational"
else:
    raise AssertionError
ours.uninstall()
ours.uninstall()
assert not [name for name in sys.modules if name.partition(".")[0] == "tiktoken"]
print(get_encoding("cl100k_base").encode("hello world"))
"""
    assert run(BEGIN + code) == "[15339, 1917]\n"


def test_what_was_there_comes_back():
    pytest.importorskip("tiktoken")
    code = """
import tiktoken, tiktoken.load
theirs, parts = tiktoken, {name for name in sys.modules if name.startswith("tiktoken")}
from streamtok.integrations import tiktoken as ours
ours.install()
import tiktoken
assert tiktoken is not theirs and tiktoken.Encoding.__module__ == "streamtok.core"
ours.uninstall()
import tiktoken
assert tiktoken is theirs and {name for name in sys.modules if name.startswith("tiktoken")} == parts
"""
    run("import sys\n" + code)


CLIENTS = {
    "ttok": (
        "from click.testing import CliRunner\nfrom ttok.cli import cli\n"
        "print(CliRunner().invoke(cli, ['hello world']).output.strip(), "
        "CliRunner().invoke(cli, ['hello world', '--encode']).output.strip())"
    ),
    "langchain_text_splitters": (
        "from langchain_text_splitters import TokenTextSplitter\n"
        "print(TokenTextSplitter(encoding_name='cl100k_base', chunk_size=1, chunk_overlap=0).split_text('hello world'))"
    ),
    "llama_index.core": (
        "from llama_index.core.utils import get_tokenizer\nprint(len(get_tokenizer()('hello world')))"
    ),
    "litellm": "import litellm\nprint(litellm.token_counter(model='gpt-4', text='hello world'))",
}
SAID = {
    "ttok": "2 24912 2375",
    "langchain_text_splitters": "['hello', ' world']",
    "llama_index.core": "2",
    "litellm": "2",
}


@pytest.mark.parametrize("name", CLIENTS)
def test_clients(name):
    if importlib.util.find_spec(name.partition(".")[0]) is None:
        pytest.skip(f"{name} is not installed")
    code = f"{BEGIN}{CLIENTS[name]}\nimport tiktoken\nassert tiktoken.Encoding is streamtok.Encoding"
    assert run(code).strip().splitlines()[-1] == SAID[name]
