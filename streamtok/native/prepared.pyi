from typing import Literal

from .matcher import Matcher
from .normal import Normalizer
from .text import _Text

def prepared(
    source: _Text, normalizer: Normalizer, allowed: Matcher | None, disallowed: Matcher | None, again: bool = False
) -> tuple[bytes, bytes] | Literal[True] | None: ...
