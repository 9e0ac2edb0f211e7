"""What a new interpreter has loaded: for tests of how light an import or a command is."""

from __future__ import annotations

import subprocess
import sys
import textwrap

# What only some calls need, and some installations lack.
NOT_AT_IMPORT = ("cupy", "regex", "tiktoken", "numpy", "click", "rich", "backports", "asyncio", "concurrent.futures")


def fresh_modules(code: str) -> set[str]:
    """Which of NOT_AT_IMPORT a new interpreter has loaded after the code."""
    script = textwrap.dedent(code) + f"\nimport sys\nprint(*[name for name in {NOT_AT_IMPORT} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())
