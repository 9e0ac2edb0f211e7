"""streamtok: an exact, streaming, byte-level BPE tokenizer. Text goes in cut anywhere; the ids are tiktoken's."""

from __future__ import annotations

from ._info import info as info
from ._rows import pack as pack
from ._stream import StreamDecoder as StreamDecoder
from ._stream import StreamEncoder as StreamEncoder
from ._version import __version__ as __version__
from .core import Encoding as Encoding
from .errors import VocabularyError as VocabularyError
from .model import encoding_for_model as encoding_for_model
from .model import encoding_name_for_model as encoding_name_for_model
from .registry import get_encoding as get_encoding
from .registry import list_encoding_names as list_encoding_names
from .view import view_html as view_html

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .serving.prefix_cache import PrefixCache as PrefixCache


def __getattr__(name: str) -> Any:
    """PrefixCache, with what Python takes a while to import, is imported when it is asked for."""
    if name != "PrefixCache":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .serving.prefix_cache import PrefixCache

    globals()[name] = PrefixCache
    return PrefixCache
