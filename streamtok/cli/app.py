"""The group of commands: loads each one when it is called, and turns what goes wrong into one line and a status.

Exit status: 0 done, 1 an error (or `count --max` exceeded), 2 wrong usage, 130 Ctrl-C, 141 nobody reads the output.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import click

from .._device import is_device_error
from .._version import __version__
from . import streams
from .wording import describe, spoken

_COMMANDS = (
    *("encode", "decode", "count", "truncate", "inspect", "view", "encodings"),
    *("dataset", "train", "vocabulary", "bench", "tables", "compile", "info", "vectors", "verify-vectors"),
)


class App(click.Group):
    """A group whose commands live in the modules of the same names."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command: click.Command = import_module(f".{name.replace('-', '_')}", __package__).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Summaries whole, in two lines where they are long; click cuts them."""
        found = ((name, self.get_command(ctx, name)) for name in _COMMANDS)
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(200)) for name, each in found if each is not None])

    def main(self, *args: Any, **extra: Any) -> Any:
        streams.open_missing()
        with warnings.catch_warnings():
            for kind in (UserWarning, RuntimeWarning):  # also for a second call in one process
                warnings.simplefilter("always", kind)
            warnings.showwarning = _say_warning
            try:
                return super().main(*args, **extra)
            except OSError as error:  # a completion script that cannot be written; answered() has all else
                click.echo(f"streamtok: {describe(error)}", err=True)
                streams.silence_stdout()
                sys.exit(1)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["streamtok.args"] = list(args)  # for the command that resumes
        with answered(ctx):  # --help may meet a full disk
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        streams.any_text_is_printable()
        with answered(ctx):
            result = super().invoke(ctx)
            sys.stdout.flush()  # here, where a full disk can still be reported
            return result


class Group(click.Group):
    """A command that has commands: messages name the options of theirs."""

    def invoke(self, ctx: click.Context) -> object:
        with answered(ctx):
            return super().invoke(ctx)


@contextlib.contextmanager
def answered(ctx: click.Context) -> Iterator[None]:
    """What goes wrong inside becomes one line and a status."""
    try:
        yield
    except BrokenPipeError:
        streams.silence_stdout()
        ctx.exit(141)
    except KeyboardInterrupt:
        click.echo("streamtok: stopped", err=True)
        ctx.exit(130)
    except (OSError, ValueError, KeyError, ImportError, MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not is_device_error(error):  # such as click's own
            raise
        click.echo(f"streamtok: {describe(error)}", err=True)
        if isinstance(error, OSError):
            streams.silence_stdout()
        ctx.exit(1)


def _say_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    click.echo(f"streamtok: {spoken(' '.join(str(message).split()))}", err=True)


_EPILOG = "Exit status: 0 done, 1 an error, 2 wrong usage, 130 Ctrl-C, 141 nobody reads the output."


@click.command(
    cls=App, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="streamtok")
def app() -> None:
    """Exact, streaming tokenizer: the ids of tiktoken, from text of any size, in constant memory."""
