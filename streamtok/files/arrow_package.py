"""pyarrow, which reads and writes tables. It is imported when the first table or passthrough column asks for it."""

from __future__ import annotations

from typing import Any


def pyarrow() -> Any:
    """The package, with pyarrow.compute. Raises ImportError that says what to install."""
    try:
        import pyarrow
        import pyarrow.compute
    except ImportError as error:
        raise _missing(error) from None
    return pyarrow


def parquet() -> Any:
    """pyarrow.parquet. Raises ImportError as pyarrow() does."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise _missing(error) from None
    return pyarrow.parquet


def _missing(error: ImportError) -> ImportError:
    return ImportError(
        "parquet and Arrow files, and passthrough columns, need the pyarrow package: "
        f"pip install 'streamtok[arrow]' ({error})"
    )
