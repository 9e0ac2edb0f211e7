from .matcher import Matcher
from .normal import Normalizer
from .text import _Data, _Text

def prepared(
    source: _Text, normalizer: Normalizer, allowed: Matcher | None, disallowed: Matcher | None
) -> tuple[bytes, bytes] | None: ...
def changed(
    room: _Data, starts: _Data, sizes: _Data, normalizer: Normalizer, trusted: bool, first: int, last: int
) -> list[int] | None: ...
def has_names(text: bytes, allowed: Matcher | None, disallowed: Matcher | None) -> bool: ...
