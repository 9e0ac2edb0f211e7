from typing import Any, final

from typing_extensions import Self

from .text import _Data
from .texts import Texts

class ColumnError(ValueError): ...

@final
class Chunk: ...

@final
class Schema: ...

@final
class Rows:
    def __new__(cls, kind: str) -> Self: ...

@final
class Column:
    texts: Texts
    nulls: bytes | None
    rows: int
    null_count: int
    def __new__(cls, schema: Any, array: Any, name: str | None) -> Self: ...

NAMES: dict[str, str]

def lists_schema(large: bool) -> Any: ...
def lists_array(ids: _Data, offsets: _Data, large: bool, nulls: bytes | None, null_count: int) -> Any: ...
