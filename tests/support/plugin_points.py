"""The entry points for servers as pyproject.toml has them."""

from __future__ import annotations

import oracle


def entry_points() -> dict[str, str]:
    """group -> "name = module:function", of pyproject.toml: the package need not be installed anew for a test."""
    found, group = {}, ""
    for line in (oracle.PROJECT / "pyproject.toml").read_text("utf-8").splitlines():
        if line.startswith("["):
            group = line.partition('entry-points."')[2].rstrip('"]')
        elif group and line:
            found[group] = line.replace('"', "")
    return found
