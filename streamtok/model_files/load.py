"""From a path to what an encoding is made of: a compiled model, tables, or the files of a model."""

from __future__ import annotations

import os

from ..errors import VocabularyError, short_file_names
from .kept import MAGIC, Found, KeptModel, open_tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..native.vocab import Vocab
    from .description import Ranks
    from .model import Model

    # A Model, or what stands for it, or Ranks; the core's Vocab of its tables, None where there are none; and the chat
    # templates, with the texts of the tokens that they name, None where the files of the model have them.
    _Loaded = tuple[Model | Ranks, Vocab | None, tuple[dict[str, str], dict[str, str]] | None]


def is_compiled(path: str) -> bool:
    """Whether the file begins as compiled models do. Raises OSError."""
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


@short_file_names
def load(path: str | os.PathLike[str], is_kept: bool, is_used: bool, normalizer: str | None = None) -> _Loaded:
    """A model, from tables where there are some. is_kept: whether to write them where there are none; UserWarning,
    once for each folder: it cannot be written. is_used: whether to look for them. normalizer: as for read_model(); with
    one there are no tables.

    Raises:
        VocabularyError, OSError: as read_model(); OSError: a file was changed while tables were to be written.
    """
    name = os.fspath(path)
    if os.path.isfile(name) and is_compiled(name):
        return _compiled(name, normalizer)
    made: tuple[Any, Vocab | None] | None = open_tables(path, _opened) if is_used and normalizer is None else None
    if made is None:
        from . import cached

        model, is_written = cached.load(path, is_kept, is_used, normalizer)
        made = (open_tables(path, _opened) if is_written else None) or (model, None)
    return (*made, None)


def _compiled(name: str, normalizer: str | None) -> _Loaded:
    from .compiled import open_compiled

    if normalizer is not None:
        raise VocabularyError("normalizer= is for a .gguf file; this one says itself how text is normalized", name)
    return open_compiled(name)


def _opened(found: Found) -> tuple[Any, Vocab]:
    return (KeptModel(found, _whole) if found.about.get("kept") else _whole(found)), found.vocab


def _whole(found: Found) -> Model | Ranks:
    from .cached import model_of

    return model_of(found)
