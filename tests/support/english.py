"""English that every Python has."""

import pathlib
import pydoc_data.topics

ENGLISH = pathlib.Path(pydoc_data.topics.__file__).read_bytes()
"""700 KB: the file with the topics of help()."""
