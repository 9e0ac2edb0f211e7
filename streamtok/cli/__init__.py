"""The command `streamtok`: encode, decode, count, inspect, train, bench, tables, info. Needs the extra "cli"."""

from __future__ import annotations

import sys
from importlib.util import find_spec


def main() -> None:
    """Run the command with the arguments of this process, and exit with its status."""
    missing = [name for name in ("click", "rich") if find_spec(name) is None]
    if missing:
        print(f'streamtok: the command needs {" and ".join(missing)}: pip install "streamtok[cli]"', file=sys.stderr)
        sys.exit(1)
    try:
        from .app import app

        app(prog_name="streamtok")
    except KeyboardInterrupt:  # while modules were loaded; the commands answer it themselves
        sys.exit(130)
