"""Passthrough columns: the other values of a row or of a JSON object, written beside its ids in formats with columns.

Of tables they keep their Arrow types. Of JSON the type is what the caller states, or what all values have in common,
which is known at the end: until then `<dst>.partial.passthrough` holds the values as they came.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import shortened, shown
from .arrow_package import pyarrow

if TYPE_CHECKING:
    from .sources import AnySource

_STATED = ("string", "int64", "double", "bool", "json")

# What a JSON value is: bits, so that what a column holds is a number.
NULL, BOOL, INT, LONG, FLOAT, STRING, OTHER = (1 << bit for bit in range(7))
_EXACT = 1 << 53  # a double holds integers up to here: INT; those up to 64 bits are LONG
_WHOLE = 1 << 63


class Column(NamedTuple):
    """A column to carry. stated: the type that its values in JSON have, None for what they have in common."""

    name: str
    stated: str | None


def columns_of(carry: Iterable[str]) -> tuple[Column, ...]:
    """The columns of `carry`, "NAME" or "NAME:TYPE" each. Raises TypeError or ValueError for what is none."""
    if isinstance(carry, (str, bytes)):
        raise TypeError(f"carry={shown(carry)} is one string: write a list of names")
    columns = []
    for each in carry:
        if not isinstance(each, str) or not each:
            raise TypeError(f"carry has {shown(each)}: the name of a column is a str, and not empty")
        name, _, stated = each.rpartition(":")
        columns.append(Column(name, stated) if name and stated in _STATED else Column(each, None))
    names = [column.name for column in columns]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"carry has the column {shown(name)} twice: leave one out")
    return tuple(columns)


class Passthrough:
    """The columns that a run carries.

    Attributes:
        names: of the columns.
        types: Arrow types; None where values of JSON tell it at the end.
    """

    def __init__(self, names: Sequence[str], types: Sequence[Any], texts: Sequence[bool] | None = None) -> None:
        """texts: which of them hold values of JSON as JSON text."""
        self.names, self.types = list(names), list(types)
        self.texts = [False] * len(self.names) if texts is None else list(texts)

    @classmethod
    def of(cls, columns: Sequence[Column], sources: Iterable[tuple[AnySource, str]]) -> Passthrough:
        """The columns of these sources and the kinds of their documents; tables are opened for their schemas.

        Raises ValueError for a source without columns, a table that lacks one, and one whose type is another than that
        of the table before it; OSError.
        """
        pa = pyarrow()
        stated = {"string": pa.string(), "int64": pa.int64(), "double": pa.float64(), "bool": pa.bool_()}
        types = [pa.string() if each.stated == "json" else stated.get(each.stated or "") for each in columns]
        made = cls([each.name for each in columns], types, [each.stated == "json" for each in columns])
        first: dict[int, str] = {}  # the table that told the type
        for source, kind in sources:
            if kind in ("text", "lines"):
                raise ValueError(
                    f"{shortened(source.name)} has no columns to carry, because its documents are {kind!r}: leave "
                    "carry out, or read it with documents='jsonl'"
                )
            for at, found in enumerate(source.types_of(made.names)):
                if made.texts[at]:
                    raise ValueError(
                        f"carry states ':json' for {shown(made.names[at])}, and {shortened(source.name)} is a table, "
                        f"where it is {found}: leave ':json' out"
                    )
                if made.types[at] is None:
                    made.types[at], first[at] = found, source.name
                elif columns[at].stated is None and made.types[at] != found:
                    raise ValueError(
                        f"column {shown(made.names[at])} is {made.types[at]} in {shortened(first[at])} and {found} in "
                        f"{shortened(source.name)}: encode them apart, or state a type, as {made.names[at]}:string"
                    )
        return made

    @property
    def is_open(self) -> bool:
        """Whether values tell a type at the end."""
        return None in self.types

    def fitted(self, batch: Any) -> Any:
        """The columns of a table's record batch in the types of the run.

        Raises ValueError for a value that has no place in its type.
        """
        pa = pyarrow()
        arrays = []
        for name, wanted in zip(self.names, self.types):
            array = batch.column(batch.schema.get_field_index(name))
            try:
                arrays.append(array if array.type == wanted else array.cast(wanted))
            except pa.ArrowException as error:
                reason = shortened(" ".join(str(error).split()))
                raise ValueError(f"column {shown(name)} is no {wanted}: {reason}") from None
        return pa.record_batch(arrays, names=self.names)

    def of_objects(self, objects: Sequence[Any]) -> tuple[Any, tuple[int, ...]]:
        """The values of JSON objects as a record batch, and which kinds of values the columns have that are open.

        A key that an object lacks, and what is no object, is null. Raises ValueError for a value of another type.
        """
        pa = pyarrow()
        arrays, kinds = [], []
        for name, wanted, is_text in zip(self.names, self.types, self.texts):
            values = [each.get(name) if isinstance(each, dict) else None for each in objects]
            kind = _kinds(values)
            if is_text:
                arrays.append(pa.array([None if each is None else _json(each) for each in values], pa.string()))
            elif wanted is None:
                arrays.append(_stored(name, values, kind))
            else:
                _check_kind(name, values, kind, wanted)
                arrays.append(_array(name, values, wanted))
            kinds.append(kind if wanted is None else 0)
        return pa.record_batch(arrays, names=self.names), tuple(kinds)

    def settled(self, kinds: Sequence[int]) -> list[Any]:
        """The types at the end. kinds: those of all values of the columns that are open."""
        return [_type_of(kind) if known is None else known for known, kind in zip(self.types, kinds)]


class PassthroughWriter:
    """Takes the values of documents, and passes them on as record batches: emit(batch, kinds)."""

    def __init__(self, passthrough: Passthrough, emit: Callable[[Any, tuple[int, ...]], object]) -> None:
        self.passthrough, self._emit = passthrough, emit

    def rows(self, batch: Any) -> None:
        """Rows of a table."""
        self._emit(self.passthrough.fitted(batch), (0,) * len(self.passthrough.names))

    def objects(self, objects: Sequence[Any]) -> None:
        """Objects of JSON. Raises ValueError for a value that is refused: first_refused() says whose."""
        if objects:
            self._emit(*self.passthrough.of_objects(objects))

    def first_refused(self, objects: Sequence[Any]) -> int:
        """Which of objects that were refused is the first."""
        for at, each in enumerate(objects):
            try:
                self.passthrough.of_objects([each])
            except ValueError:
                return at
        return 0


# ==== Types of tables ====


def plain_type(kind: Any) -> Any:
    """The type in which a column of this type is carried: itself, but that of its values for a dictionary and for runs,
    the plain one for a view, and that of the storage for an extension. Raises ValueError where it has none."""
    pa = pyarrow()
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    kind = {"string_view": pa.string(), "binary_view": pa.binary()}.get(str(kind), kind)
    _check_plain(kind)
    return kind


def _check_plain(kind: Any) -> None:
    pa = pyarrow()
    for at in range(kind.num_fields):
        _check_plain(kind.field(at).type)
    types = pa.types
    nested = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if nested or types.is_struct(kind) or types.is_map(kind):
        return
    if isinstance(kind, pa.BaseExtensionType) or kind.num_fields or re.match("dictionary|run_end|.*_view", str(kind)):
        raise ValueError(f"a column of type {shortened(str(kind))} cannot be carried")


def plain(array: Any) -> Any:
    """An array in the type that plain_type() says."""
    pa = pyarrow()
    wanted = plain_type(array.type)
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if pa.types.is_run_end_encoded(array.type):
        array = pa.compute.run_end_decode(array)
    return array if array.type == wanted else array.cast(wanted)


# ==== Values of JSON ====


def _kinds(values: Sequence[Any]) -> int:
    """What these values are, as bits."""
    found = 0
    for kind in set(map(type, values)):
        if kind is int:
            whole = [each for each in values if type(each) is int]
            least, most = min(whole), max(whole)
            if -_EXACT <= least and most <= _EXACT:
                found |= INT
            else:
                found |= LONG if -_WHOLE <= least and most < _WHOLE else OTHER
                found |= INT if any(-_EXACT <= each <= _EXACT for each in whole) else 0
                found |= LONG if any(abs(each) > _EXACT and -_WHOLE <= each < _WHOLE for each in whole) else 0
        else:
            found |= _KIND_OF.get(kind, OTHER)
    return found


_KIND_OF = {type(None): NULL, bool: BOOL, float: FLOAT, str: STRING}


def _type_of(kind: int) -> Any:
    """The type of all values of these kinds: the one that holds each of them exactly; JSON text where there is none."""
    pa = pyarrow()
    rest = kind & ~NULL
    if not rest:
        return pa.null()
    if rest == BOOL:
        return pa.bool_()
    if not rest & ~(INT | LONG):
        return pa.int64()
    if not rest & ~(INT | FLOAT):
        return pa.float64()
    return pa.string()


def joined_type(one: Any, other: Any) -> Any:
    """The type of a column that is of these types in two files, None where there is none: null goes with all, and
    integers with doubles if doubles hold them, which a cast finds out. one: None for nothing so far."""
    pa = pyarrow()
    if one is None or one == other or pa.types.is_null(one):
        return other
    if pa.types.is_null(other):
        return one
    return pa.float64() if {str(one), str(other)} == {"int64", "double"} else None


def _is_text(kind: int) -> bool:
    """Whether values of these kinds are a column of JSON text."""
    rest = kind & ~NULL
    return str(_type_of(kind)) == "string" and rest != STRING


def _is_mixed(kind: int) -> bool:
    """The same until all values are known: a number that may have to become text again stays as it is spelled."""
    return _is_text(kind) or (bool(kind & FLOAT) and bool(kind & INT))


def _stored(name: str, values: list[Any], kind: int) -> Any:
    """Values of an open column, so that converted() can make any type of them that is settled later."""
    pa = pyarrow()
    if _is_mixed(kind):
        return pa.array([None if each is None else _json(each) for each in values], pa.string())
    return _array(name, values, _type_of(kind))


def converted(array: Any, kind: int, wanted: Any, wanted_kind: int) -> Any:
    """What _stored() gave for values of these kinds, in the type of all: that of `wanted_kind`."""
    pa = pyarrow()
    if kind & ~NULL == 0:
        return pa.nulls(len(array), wanted)
    if _is_mixed(kind):
        if str(wanted) != "double":
            return array
        return pa.array([None if each is None else float(json.loads(each)) for each in array.to_pylist()], wanted)
    if _is_text(wanted_kind):
        return pa.array([None if each is None else _json(each) for each in array.to_pylist()], wanted)
    return array if array.type == wanted else array.cast(wanted)


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return json.dumps(value, separators=(",", ":"))
    return text


def _array(name: str, values: list[Any], wanted: Any) -> Any:
    pa = pyarrow()
    try:
        return pa.array(values, wanted)
    except UnicodeEncodeError:
        raise ValueError(
            f"the value of {shown(name)} holds half of a surrogate pair, which is no text: carry it as JSON, "
            f"'{name}:json'"
        ) from None
    except (pa.ArrowException, OverflowError) as error:
        raise ValueError(
            f"the value of {shown(name)} is no {wanted}: {shortened(' '.join(str(error).split()))}"
        ) from None


def _check_kind(name: str, values: Sequence[Any], kind: int, wanted: Any) -> None:
    types = pyarrow().types
    fits = NULL
    if types.is_integer(wanted):
        fits |= INT | LONG
    elif types.is_float64(wanted):
        fits |= INT | FLOAT
    elif types.is_boolean(wanted):
        fits |= BOOL
    elif types.is_string(wanted) or types.is_large_string(wanted):
        fits |= STRING
    if kind & ~fits:
        value = next(each for each in values if _kinds([each]) & ~fits)
        raise ValueError(
            f"the value of {shown(name)} is {shown(value)}, and the column is of type {wanted}: state another type "
            f"for it, as '{name}:json'"
        )
