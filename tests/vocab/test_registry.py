"""Encodings by name: the seven, their special tokens, and tiktoken's plugins."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

import streamtok
from streamtok import load, registry

NAMES = ["gpt2", "r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony"]


def run(code, *path):
    """What a fresh interpreter prints, with these folders in front of its path."""
    code = f"import sys\nsys.path[:0] = {[str(folder) for folder in path]!r}\n{textwrap.dedent(code)}"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_names_in_tiktokens_order():
    assert streamtok.list_encoding_names()[:7] == NAMES
    theirs = pytest.importorskip("tiktoken", reason="tiktoken is the oracle here")
    assert theirs.list_encoding_names()[:7] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_bundled_encoding(name):
    enc = streamtok.get_encoding(name)
    assert enc.name == name and streamtok.get_encoding(name) is enc
    assert registry.ENCODINGS[name] is enc
    arguments = registry.ENCODING_CONSTRUCTORS[name]()
    assert enc.special_tokens_set == set(arguments["special_tokens"])
    assert enc.n_vocab == max([*arguments["mergeable_ranks"].values(), *arguments["special_tokens"].values()]) + 1
    assert enc.decode(enc.encode("hello world")) == "hello world"


@pytest.mark.parametrize("name", NAMES)
def test_constructor_gives_tiktokens_arguments(name, monkeypatch):
    """tiktoken's constructors; the one function that would download returns our bundled ranks instead."""
    public = pytest.importorskip("tiktoken_ext.openai_public", reason="tiktoken is the oracle here")
    monkeypatch.setattr(public, "load_tiktoken_bpe", load.load_tiktoken_bpe)
    gpt2 = load.load_packed("r50k_base").to_dict()
    monkeypatch.setattr(public, "data_gym_to_mergeable_bpe_ranks", lambda **_: gpt2)
    assert registry.ENCODING_CONSTRUCTORS[name]() == public.ENCODING_CONSTRUCTORS[name]()


def test_constructor_builds_the_same_encoding():
    enc = streamtok.Encoding(**registry.ENCODING_CONSTRUCTORS["p50k_base"]())
    bundled = streamtok.get_encoding("p50k_base")
    text = "Hello,\n   world \u00e9\u4e2d 12345"
    assert enc.encode(text) == bundled.encode(text) and enc.n_vocab == bundled.n_vocab


def test_constructors_table_can_be_added_to(monkeypatch):
    toy = {"name": "toy", "pat_str": streamtok.patterns.R50K, "special_tokens": {"<x>": 256}}
    toy["mergeable_ranks"] = {bytes([value]): value for value in range(256)}
    monkeypatch.setitem(registry.ENCODING_CONSTRUCTORS, "toy", lambda: toy)
    try:
        assert streamtok.get_encoding("toy").encode("ab") == [97, 98]
        assert "toy" in streamtok.list_encoding_names()
    finally:
        registry.ENCODINGS.pop("toy", None)


@pytest.mark.parametrize("name", [None, 3, b"gpt2"])
def test_name_that_is_no_string(name):
    with pytest.raises(ValueError, match="Expected a string in get_encoding, got <class"):
        streamtok.get_encoding(name)


def test_unknown_name():
    with pytest.raises(ValueError) as caught:
        streamtok.get_encoding("o300k_base")
    lines = str(caught.value).split("\n")
    assert lines[0] == "Unknown encoding o300k_base." and lines[1].startswith("Plugins found: [")
    assert lines[2] == f"streamtok version: {streamtok.__version__} (are you on latest?)"


def test_threads_get_one_object(monkeypatch):
    monkeypatch.delitem(registry.ENCODINGS, "gpt2", raising=False)
    start, got = threading.Barrier(16), []

    def ask():
        start.wait()
        got.append(streamtok.get_encoding("gpt2"))

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 16 and len(set(map(id, got))) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_forked_while_a_thread_makes_an_encoding(monkeypatch):
    """The thread holds the lock, and the child does not have the thread."""
    inside, forked = threading.Event(), threading.Event()

    def slow():
        inside.set()
        assert forked.wait(30)
        return registry._RECIPES[0]()

    monkeypatch.setitem(registry.ENCODING_CONSTRUCTORS, "slow", slow)
    monkeypatch.delitem(registry.ENCODINGS, "slow", raising=False)
    thread = threading.Thread(target=streamtok.get_encoding, args=("slow",))
    thread.start()
    assert inside.wait(30)
    child = os.fork()
    if not child:
        signal.alarm(20)
        streamtok.list_encoding_names()
        os._exit(0)
    forked.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert registry.ENCODINGS.pop("slow").name == "gpt2"


def test_registered_encoding_is_pickled_as_its_name():
    enc = streamtok.get_encoding("gpt2")
    data = pickle.dumps(enc)
    assert len(data) < 200 and pickle.loads(data) is enc


# ==== Plugins ====

PLUGIN = """
def toy():
    ranks = {bytes([value]): value for value in range(256)}
    pattern = r"'s|'t|'re|'ve|'m|'ll|'d| ?[\\p{L}]+| ?[\\p{N}]+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
    return {"name": "toy", "pat_str": pattern, "mergeable_ranks": ranks, "special_tokens": {"<x>": 256}}
ENCODING_CONSTRUCTORS = {"toy": toy}
"""


@pytest.fixture
def plugins(tmp_path):
    """A function that writes a module of tiktoken_ext, and returns the folder to put on the path."""

    def write(text, name="mine"):
        (tmp_path / "tiktoken_ext").mkdir(exist_ok=True)
        (tmp_path / "tiktoken_ext" / f"{name}.py").write_text(text)
        return tmp_path

    return write


def test_plugin_is_found_when_it_is_asked_for(plugins):
    printed = run(
        """
        import streamtok
        streamtok.get_encoding("r50k_base")
        print(any(name.startswith("tiktoken") for name in sys.modules))
        print(streamtok.get_encoding("toy").encode("a<x>", allowed_special="all"))
        print(streamtok.list_encoding_names()[7:], "tiktoken" in sys.modules)
        """,
        plugins(PLUGIN),
    )
    assert printed == ["False", "[97,", "256]", "['toy']", "False"]


def test_plugin_without_constructors_is_reported_each_time(plugins):
    code = """
        import streamtok
        for call in (streamtok.list_encoding_names, lambda: streamtok.get_encoding("toy")) * 2:
            try:
                call()
            except ValueError as error:
                print(str(error).replace(" ", "_"))
        print(streamtok.get_encoding("gpt2").name)
        """
    message = "tiktoken_plugin_tiktoken_ext.mine_does_not_define_ENCODING_CONSTRUCTORS"
    assert run(code, plugins("x = 1")) == [message] * 4 + ["gpt2"]


def test_plugin_that_takes_a_bundled_name_is_refused(plugins):
    code = """
        import streamtok
        try:
            streamtok.list_encoding_names()
        except ValueError as error:
            print(str(error).replace(" ", "_"))
        """
    path = plugins(PLUGIN.replace('{"toy": toy}', '{"gpt2": toy}'))
    assert run(code, path) == ["Duplicate_encoding_name_gpt2_in_tiktoken_plugin_tiktoken_ext.mine"]


def outcome(package, *calls):
    """Code that prints what each call of tiktoken or streamtok gives, a line each, blanks as underlines."""
    lines = [f"import {package} as face", "def show(value): print(str(value).replace(' ', '_').replace(chr(10), '/'))"]
    for call in calls:
        lines += [
            "try:",
            f"    show({call})",
            "except Exception as error:",
            "    show(f'{type(error).__name__}: {error}')",
        ]
    return "\n".join(lines)


CALLS = (
    "sorted(face.list_encoding_names())",
    "face.get_encoding('toy').encode('a<x> b c', allowed_special='all')",
    "face.get_encoding('toy').n_vocab",
    "face.get_encoding('second').encode('it is so')",
    "face.get_encoding('toy') is face.get_encoding('toy')",
    "face.get_encoding('third').name",
)
SECOND = PLUGIN.replace('"toy"', '"second"')


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"mine": PLUGIN},
        {"mine": PLUGIN, "other": SECOND},
        {"mine": PLUGIN, "other": PLUGIN},
        {"mine": PLUGIN, "other": "x = 1"},
        {"mine": PLUGIN, "other": "import no_such_module"},
        {"mine": PLUGIN.replace('{"toy": toy}', '{"toy": lambda: {"nonsense": 1}}')},
        {"mine": PLUGIN.replace('"special_tokens": {"<x>": 256}', '"special_tokens": {}, "explicit_n_vocab": 5')},
    ],
    ids=["none", "one", "two", "the same name", "no constructors", "broken import", "nonsense", "refused arguments"],
)
def test_plugins_are_found_as_tiktoken_finds_them(plugins, tmp_path, files):
    pytest.importorskip("tiktoken", reason="tiktoken is the oracle here")
    for name, text in files.items():
        plugins(text, name)
    mine, theirs = (run(outcome(package, *CALLS), tmp_path) for package in ("streamtok", "tiktoken"))
    assert len(mine) == len(theirs) == len(CALLS)
    for own, other, call in zip(mine, theirs, CALLS):
        if other.startswith("ValueError:_Unknown_encoding"):  # the message continues with names and versions
            assert own.split("/")[0] == other.split("/")[0]
        elif "nonsense" in other or "explicit" in other or "AssertionError" in other:
            assert own.partition(":")[0] in ("TypeError", "VocabularyError"), call
        else:
            assert own == other, call


def test_plugins_of_several_folders_are_one_namespace(plugins, tmp_path):
    plugins(PLUGIN)
    other = tmp_path / "elsewhere" / "tiktoken_ext"
    other.mkdir(parents=True)
    (other / "more.py").write_text(SECOND)
    code = "import streamtok; print(*sorted(streamtok.list_encoding_names())[-2:])"
    assert run(code, tmp_path, tmp_path / "elsewhere") == ["second", "toy"]


def test_encoding_of_a_plugin_is_pickled_by_name(plugins):
    code = """
        import pickle, streamtok
        enc = streamtok.get_encoding("toy")
        data = pickle.dumps(enc.stream_encoder())
        print(len(data) < 400, pickle.loads(data).encoding is enc, pickle.dumps(enc).hex())
        """
    folder = plugins(PLUGIN)
    small, same, data = run(code, folder)
    assert small == same == "True"
    code = f"import pickle; enc = pickle.loads(bytes.fromhex({data!r})); print(enc.name, enc.encode('ab'))"
    assert run(code, folder) == ["toy", "[97,", "98]"]


def test_namespace_package_that_cannot_be_imported_is_reported(tmp_path):
    """A package whose __init__.py imports a missing module is an error, not a package without plugins."""
    (tmp_path / "tiktoken_ext").mkdir()
    (tmp_path / "tiktoken_ext" / "__init__.py").write_text("import no_such_module")
    assert run(outcome("streamtok", "face.get_encoding('toy')", "face.get_encoding('gpt2').name"), tmp_path) == [
        "ModuleNotFoundError:_No_module_named_'no_such_module'",
        "gpt2",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_get_vocab_has_each_id_by_its_name_in_letters(name):
    enc = streamtok.get_encoding(name)
    ordinary = {token: enc.encode_single_token(token) for token in enc.token_byte_values()}
    assert_named_in_letters(enc, ordinary)


def test_get_vocab_of_longest_match():
    tokens = {bytes([byte]): 300 - byte for byte in range(256)} | {b"ab": 400, "é".encode(): 401, b"\xff\xfe": 402}
    assert_named_in_letters(streamtok.Encoding.longest_match("test", tokens, special_tokens={"<s>": 500}), tokens)


def assert_named_in_letters(enc, ordinary):
    """GPT-2's letters: a byte that prints is itself, others are the code points from 256 on."""
    printing = [*range(33, 127), *range(161, 173), *range(174, 256)]
    byte_of = {chr(byte): byte for byte in printing}
    byte_of |= {chr(256 + i): byte for i, byte in enumerate(byte for byte in range(256) if byte not in printing)}
    names = enc.get_vocab()
    special = {text: names.pop(text) for text in enc.special_tokens_set}
    assert special == enc._special_tokens
    assert {bytes(map(byte_of.__getitem__, name)): token for name, token in names.items()} == ordinary
