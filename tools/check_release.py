#!/usr/bin/env python3
"""Checks a tag before a release: it is "v" and the version of the package, and CHANGELOG.md has a section for it.

    python tools/check_release.py v0.1.0

Exit status: 0 yes; 1 no, and why.
"""

from __future__ import annotations

import pathlib
import re
import sys

import sbom

ROOT = pathlib.Path(__file__).resolve().parent.parent


def objection(tag: str, version: str, changes: str) -> str | None:
    """Why the tag may not be released; None: it may."""
    if tag != f"v{version}":
        return f"the tag is {tag!r}, and streamtok/_version.py says {version}: the tag of that is 'v{version}'"
    if not re.search(rf"^## {re.escape(version)}( |$)", changes, re.M):
        return f"CHANGELOG.md has no section '## {version}'"
    return None


def main() -> int:
    if len(sys.argv) != 2:
        sys.exit("usage: check_release.py TAG")
    reason = objection(sys.argv[1], sbom.version(), (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    print(reason or f"{sys.argv[1]} may be released")
    return 1 if reason else 0


if __name__ == "__main__":
    sys.exit(main())
