"""When the command colours what it prints. One meaning of --color for all commands that do."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import click


def color_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --color; `is_coloured` and `console` take its value."""
    option = click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="auto: on a terminal, unless NO_COLOR is set or TERM is dumb.",
    )
    return option(command)


def is_coloured(choice: str) -> bool:
    """Whether standard output is coloured."""
    if choice != "auto":
        return choice == "always"
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") in ("dumb", "unknown")
    return sys.stdout.isatty() and not is_plain


def console(choice: str) -> Any:
    """rich's Console for standard output, which colours as is_coloured() says."""
    from rich.console import Console

    coloured = is_coloured(choice)
    system: Any = "standard" if choice == "always" else "auto" if coloured else None
    return Console(highlight=False, force_terminal=coloured, color_system=system, no_color=not coloured)
