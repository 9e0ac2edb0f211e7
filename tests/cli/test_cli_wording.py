"""Messages of the command name its options, not the arguments of Python functions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import oracle
import pytest

click = pytest.importorskip("click")
pytest.importorskip("rich")

from streamtok.cli import wording  # noqa: E402
from streamtok.cli.app import app  # noqa: E402
from streamtok.cli.wording import describe, spoken  # noqa: E402

PACKAGE = oracle.PROJECT / "streamtok"

# An argument as messages name it: errors='replace', resume=True, key=. Not ==, <=, or a word behind a dot.
ARGUMENT = re.compile(r"(?<![\w.{<>=!-])([a-z][a-z0-9_]*)=(?![=\w-]*=)")

# Arguments that no command passes on, so no message of the command is about them.
NOT_PASSED = {
    *("chunk_size", "disallowed_special", "slots", "memory_limit", "sizes", "use_fast"),
    *("bytes", "how", "joined", "lanes", "length", "rows", "side", "truncate"),
    *(
        "anchor",
        "charset",
        "class",
        "fill",
        "height",
        "role",
        "sandbox",
        "srcdoc",
        "title",
        "width",
        "x",
        "y",
    ),  # of HTML
    *("batch_size", "drop_last", "epoch", "in_order", "overlap", "persistent_workers", "rank", "world_size"),
    "cache",  # of Encoding.from_file: the command keeps no tables of models
    "normalizer",  # of Encoding.from_file
    "row_groups",  # of TableSource
    *("chat_template", "mask", "revision", "eos_token_id"),  # of calls that no command makes
    *("cache_bytes", "max_bytes", "salt"),  # of caches of prompts
    *("b", "d"),  # in texts of golden vectors
    *("shard_bytes", "workers"),  # the command checks its --workers itself, and a spec its shard_bytes
}


def command(name: str) -> click.Command:
    found: click.Command | None = app
    for part in name.split():  # "vocabulary extend"
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), part)
    assert found is not None
    return found


def names_of(group: click.Group) -> Iterator[str]:
    """The names of all commands, those in groups behind the name of the group."""
    for name in group.list_commands(click.Context(group)):
        found = group.get_command(click.Context(group), name)
        inner = names_of(found) if isinstance(found, click.Group) else ()
        yield from (name, *(f"{name} {each}" for each in inner))


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """All strings of a module that are not documentation, with a value in the place of each {expression}."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {id(value) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for value in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            values = (str(each.value) if isinstance(each, ast.Constant) else "'x'" for each in node.values)
            yield node.lineno, "".join(values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose | parts:
            yield node.lineno, node.value


def messages(sought: re.Pattern[str] = ARGUMENT) -> list[tuple[str, str, set[str]]]:
    """(place, message, the argument that it names), of the whole library except the command itself."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if "cli" in path.parts or path.name == "unicode_ranges.py":
            continue
        for line, text in texts(ast.parse(path.read_text(encoding="utf-8"))):
            names = set(sought.findall(text))
            if names and "\n" not in text:  # else the documentation of a compiled class
                found.append((f"{path.relative_to(PACKAGE)}:{line}", text, names))
    return found


def arguments(name: str) -> set[str]:
    """What the options of a command are in Python."""
    return set(wording._options(command(name)))


def test_every_message_of_the_library_is_spoken_in_options():
    commands = [*names_of(app)]
    found = messages()
    assert len(found) > 30
    wrong = []
    for place, text, names in found:
        users = [name for name in commands if names & arguments(name)]
        if not users and not names <= NOT_PASSED:
            wrong.append(f"{place}: no command has an option for {names}")
        for name in users:
            left = set(ARGUMENT.findall(spoken(text, command(name)))) & arguments(name)
            if left:
                wrong.append(f"{place}: {name} says {spoken(text, command(name))!r}")
    assert not wrong


CALL = re.compile(r"(?<![\w.\\'])([A-Za-z_]+)\((?:\w*|\w+=\.\.\.)\)")

# Advice for callers of functions that the command does not call, or not in that way.
NOT_ADVISED = {
    *("decode", "decode_batch", "decode_bytes", "getstate", "split", "stream_encoder"),
    *("patch", "token_strs", "train", "truncate"),
}


def test_no_message_advises_to_call_a_function():
    advised = set()
    for place, text, calls in messages(CALL):
        advised |= calls
        said = spoken(f"what was seen; {text}", command("train"))  # some texts are only the end of a message
        assert calls <= NOT_ADVISED or not CALL.search(said), place
    assert {"iter", "GpuEncoder"} <= advised and NOT_ADVISED <= advised


def test_what_is_not_passed_is_no_option():
    assert not NOT_PASSED & {each for name in app.list_commands(click.Context(app)) for each in arguments(name)}


@pytest.mark.parametrize(
    ("name", "message", "said"),
    [
        ("encode", "run again with resume=True", "run again with --resume"),
        ("encode", "start over with resume=False", "start over without --resume"),
        ("encode", "because option append_eot was False", "because --append-eot was False"),
        ("encode", "append_eot=True, but there is none: leave append_eot out", None),
        ("encode", "(in a.txt; errors='replace' puts U+FFFD there)", "(in a.txt; --errors replace puts U+FFFD there)"),
        ("encode", "num_threads=0", "--threads 0"),
        ("encode", "dst='a b' is a directory", "--output 'a b' is a directory"),
        ("encode", "name one with key=", "name one with --key"),
        ("encode", "its keys are ['format=', 'errors']", "its keys are ['format=', 'errors']"),
        ("encode", "the writer's 'a errors=5' with key=5", "the writer's 'a errors=5' with --key 5"),
        ("encode", "a/key=5: x.key=5, key==b, monkey=5", "a/key=5: x.key=5, key==b, monkey=5"),
        ("decode", "errors='replace' puts", "errors='replace' puts"),  # decode has no such option
        ("train", "special_tokens[1], 'a', is there twice", "--special 2, 'a', is there twice"),
        ("train", "pat_str has a '('", "--pattern has a '('"),
        ("train", "gone; to train on texts pass iter(texts)", "gone"),
        ("train", "to train on texts pass iter(texts); as a path: gone", "as a path: gone"),
        (
            "encode",
            "no memory (5): give it back, or go on with GpuEncoder(memory_limit=...)",
            "no memory (5): give it back",
        ),
        ("train", "min_frequency=-1 is below 0", "--min-frequency -1 is below 0"),
        ("train", "ties='pat_str' of option ties", "--ties pat_str of --ties"),
    ],
)
def test_how_an_argument_is_spoken(name, message, said):
    if said is None:
        said = message.replace("append_eot=True", "--append-eot").replace("append_eot", "--append-eot")
    assert spoken(message, command(name)) == said


def test_a_file_keeps_its_name():
    with click.Context(command("encode")):
        assert describe(OSError(5, "go on with resume=True", "key='a'")) == "key='a': go on with --resume"
        assert describe(KeyError("no key='a' here")) == "no --key a here"
        assert describe(ValueError("two\nlines")) == "two lines"
