"""Help, completion and start-up of the command, and its page in docs/, which has to name every command and option."""

from __future__ import annotations

import os
import re
import subprocess
import textwrap

import oracle
import pytest
from cli_runs import COMMAND, ENVIRONMENT, run
from fresh import fresh_modules

import streamtok

click = pytest.importorskip("click")
pytest.importorskip("rich")

from streamtok.cli.app import app  # noqa: E402
from streamtok.cli.options import RULE  # noqa: E402

COMMANDS = app.list_commands(click.Context(app))
PAGE = (oracle.PROJECT / "docs" / "command.md").read_text(encoding="utf-8")


def completed(*words):
    """What the shell is offered for the last of the words."""
    variables = {"_STREAMTOK_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(["streamtok", *words])}
    environment = {**ENVIRONMENT, **variables, "COMP_CWORD": str(len(words))}
    done = subprocess.run(COMMAND, env=environment, capture_output=True, text=True)
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_shell_completes_names():
    assert completed("count", "-e", "o200k") == ["o200k_base", "o200k_harmony"]
    assert completed("bench", "in.txt", "-e", "") == completed("tables", "") == streamtok.list_encoding_names()
    assert {"gpt-4o", "gpt-4"} <= set(completed("encode", "-m", "gpt-4"))
    assert completed("enc") == ["encode", "encodings"] and completed("inspect", "--col") == ["--color"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_documented_as_it_is(shell):
    assert f"_STREAMTOK_COMPLETE={shell}_source streamtok" in PAGE
    environment = {**os.environ, "_STREAMTOK_COMPLETE": f"{shell}_source"}
    if shell != "bash":  # for bash, click starts one to check its version
        result = click.testing.CliRunner().invoke(app, [], env=environment, prog_name="streamtok")
        assert result.exit_code == 0 and "_streamtok_completion" in result.output


def test_every_file_argument_is_completed_as_a_file():
    kinds = {"FILE", "OUT", "FOLDER", "FILE|TEXT", "FILE|ID"}
    for name in COMMANDS:
        command = app.get_command(click.Context(app), name)
        for parameter in command.params:
            if (parameter.metavar or "").strip("[].") in kinds:
                items = parameter.shell_complete(click.Context(command), "x")
                assert [item.type for item in items] == ["file"], (name, parameter.name)


def test_help_and_page_have_all_commands_and_the_rule():
    shown = run("--help").stdout
    for name in COMMANDS:
        assert re.search(rf"^  {name} ", shown, re.M) and f"| `{name}" in PAGE, name
    assert "..." not in shown.partition("Commands:")[2]  # no summary is cut off
    for name in ("encode", "count", "truncate", "inspect"):
        assert " ".join(RULE.split()) in " ".join(run(name, "--help").stdout.split())
    assert "Exit status: 0 done, 1 an error, 2 wrong usage" in " ".join(shown.split())
    for status in (0, 1, 2, 130, 141):
        assert f"\n| {status} | " in PAGE


def test_examples_of_the_readme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (oracle.PROJECT / "README.md").read_text(encoding="utf-8")
    assert re.search(r'^streamtok encode "hello world" +# 24912 2375$', page, re.M)
    assert run("encode", "hello world").stdout == "24912 2375\n"


def test_help_loads_nothing_slow():
    code = """
        import sys
        from streamtok.cli import main

        sys.argv, sys.stdout = ["streamtok", "--help"], open(os.devnull, "w")
        try:
            main()
        except SystemExit:
            sys.stdout = sys.__stdout__
    """
    assert fresh_modules(f"import os\n{textwrap.dedent(code)}") == {"click"}


def test_a_device_that_is_missing_is_one_line(tmp_path, monkeypatch):
    from streamtok.gpu import _select

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_select, "has_cupy", lambda: False)
    monkeypatch.setattr(_select, "_warned", set())
    monkeypatch.setattr(streamtok.get_encoding("gpt2"), "_devices", None)
    (tmp_path / "in.txt").write_text("some text")
    said = run("encode", "-e", "gpt2", "--device", "auto", "in.txt", "-o", "out.bin").stderr
    assert said.startswith("streamtok: --device auto encodes on the CPU, with the same ids: CuPy is not installed: ")
    assert len(said.splitlines()) == 1 and (tmp_path / "out.bin").stat().st_size == 4
