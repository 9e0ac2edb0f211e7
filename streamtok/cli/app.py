"""The group of commands: loads each one when it is called, and turns what goes wrong into one line and a status.

Exit status: 0 done, 1 an error (or `count --max` exceeded), 2 wrong usage, 130 Ctrl-C, 141 nobody reads the output.
"""

from __future__ import annotations

import io
import os
import sys
from importlib import import_module

import click

from .._version import __version__
from ..device import is_device_error

_COMMANDS = ("encode", "decode", "count", "inspect", "train", "bench", "tables", "info")


class App(click.Group):
    """A group whose commands live in the modules of the same names."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command: click.Command = import_module(f".{name}", __package__).command
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["streamtok.args"] = list(args)  # for the command that resumes
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        if isinstance(sys.stdout, io.TextIOWrapper):  # names and texts need not be in the terminal's character set
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # here, where a full disk can still be reported
            return result
        except BrokenPipeError:
            _silence_stdout()
            ctx.exit(141)
        except KeyboardInterrupt:
            click.echo("streamtok: stopped", err=True)
            ctx.exit(130)
        except (OSError, ValueError, KeyError, ImportError, MemoryError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and not is_device_error(error):  # such as click's own
                raise
            click.echo(f"streamtok: {describe(error)}", err=True)
            if isinstance(error, OSError):
                _silence_stdout()
            ctx.exit(1)


def _silence_stdout() -> None:
    """Send what is still buffered nowhere: Python would report a second failure when it flushes at exit."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    except (OSError, ValueError):
        pass  # standard output is no file, as in a test


def describe(error: BaseException) -> str:
    """The error in one line, the file first."""
    if isinstance(error, OSError) and error.strerror:
        place = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        return f"{place}{error.strerror}"
    if isinstance(error, MemoryError) and not isinstance(error, RuntimeError):  # a device's says more
        return "out of memory"
    if isinstance(error, KeyError) and error.args:
        return str(error.args[0])
    return " ".join(str(error).split())


@click.command(cls=App, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="streamtok")
def app() -> None:
    """Exact, streaming tokenizer: the ids of tiktoken, from text of any size, in constant memory."""
