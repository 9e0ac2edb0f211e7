"""streamtok vectors: the ids of a model on texts that are fixed."""

from __future__ import annotations

from .options import ENCODING, Given, takes
from .outputs import check_output, check_sources, open_output


@takes("output", *ENCODING)
def command(given: Given) -> None:
    """Write the ids of an encoding on fixed texts.

    The file is JSON. verify-vectors compares another version of a model or of this package with it,
    and so may a program that uses another library: docs/vectors.md has the format.
    """
    from ..vectors import dumps, make

    if given.output != "-":
        check_output(given.output)
        check_sources([given.output], [], given.vocab)
    with open_output(given.output) as write:
        write(dumps(make(given.load())).encode())
