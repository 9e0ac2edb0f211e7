"""streamtok decode: ids in, text out."""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from ..disk.outputs import files_of
from ..errors import shortened, shown
from ..files.suffixes import IDS_FORMATS, ids_format_to_read
from .options import ENCODING, Given, file_names, looks_like_path, option, takes
from .outputs import check_sources, ids_dtype, open_input, open_output, usage

if TYPE_CHECKING:
    from ..core import Encoding
    from ..model_files.decoder_rules import Begun

_OPENED = frozenset(IDS_FORMATS) - {"bin", "npy", "nanogpt"}  # by readers that take a path
_CHUNK = 64 << 10  # bytes read at a time
_LONGEST_NUMBER = 20  # digits; no id is as long, so more are no number list
_ID_CHARACTERS = set("0123456789[],; \t\r\n")
_SEPARATORS = bytes.maketrans(b"[],;", b"    ")


@takes(
    click.argument("arguments", nargs=-1, metavar="[FILE|ID]...", shell_complete=file_names),
    "output",
    option(
        "--format",
        type=click.Choice(["text", *IDS_FORMATS]),
        help="What FILE holds.  [default: by its suffix, text on standard input]",
    ),
    option(
        "--dtype",
        type=click.Choice(["auto", "uint16", "uint32"]),
        default="auto",
        show_default=True,
        help="Of bin ids; auto is what encode writes.",
    ),
    *ENCODING,
)
def command(given: Given) -> None:
    """Turn token ids back into text.

    The ids are in FILEs (standard input without, or for '-'), or are the arguments themselves: one of digits is an ID,
    unless a file has that name. A FILE is what encode wrote, or integers separated by white space or commas. The bytes
    written are those that were encoded.
    """
    from ..model_files.decoder_rules import Begun, last_bytes

    arguments = given.arguments or ("-",)
    if given.output != "-":
        check_sources(files_of(os.path.realpath(given.output)), arguments, given.vocab)
    encoding = given.load()
    sources = [_Source(each) for each in arguments]
    with contextlib.ExitStack() as opened:
        streams = [opened.enter_context(source.open()) for source in sources]
        formats = [source.format(given.format, stream) for stream, source in zip(streams, sources)]
        arrays = [
            source.documents(each) if each in _OPENED else _ids(stream, each, encoding, given.dtype)
            for source, stream, each in zip(sources, streams, formats)
        ]
        if not given.names_encoding():
            _say_guess([name for name, each in zip(arguments, formats) if each != "text"], encoding.name)
        write = opened.enter_context(open_output(given.output))
        position, place = 0, Begun()
        for ids in itertools.chain.from_iterable(arrays):
            text, place = bytes_of(encoding, place, ids, position)
            write(text)
            position += len(ids)
        write(last_bytes(encoding, place))


def _say_guess(names: list[str], encoding: str) -> None:
    """Says of files of ids by which encoding they are read: nothing in them says it."""
    if names:
        which = shortened(names[0]) + (f" and {len(names) - 1} more do" if len(names) > 1 else " does")
        said = f"{which} not name the encoding of its ids: read as {encoding}; -e names another"
        click.echo(f"streamtok: {said}", err=True)


class _Source:
    """An argument: a file of ids, standard input, or ids. Raises FileNotFoundError for a missing file, ValueError for
    what is neither a file nor an id."""

    def __init__(self, argument: str) -> None:
        self._argument = argument
        self._is_ids = argument != "-" and not os.path.lexists(argument)
        if self._is_ids and not (argument and set(argument) <= _ID_CHARACTERS):
            if looks_like_path(argument):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argument)
            raise ValueError(f"{shown(argument)} is no token id, and there is no file of that name")

    def open(self) -> contextlib.AbstractContextManager[BinaryIO]:
        if self._is_ids or os.path.isdir(self._argument):  # of a folder its files are opened later
            return io.BytesIO(self._argument.encode())
        return open_input(self._argument)

    def documents(self, format: str) -> Iterator[Any]:
        """The ids in a file of this format, document by document."""
        from ..files.formats import open_documents

        if not os.path.exists(self._argument):
            raise click.UsageError(f"--format {format} is for files: {shown(self._argument)} is none")
        return iter(open_documents(self._argument, format))

    def format(self, given: str | None, stream: Any) -> str:
        """Of the ids in the stream. given: --format, which is about files. Without it the suffix of a file decides, as
        for encode; what comes through standard input, a pipe or a device is text, as encode writes it there."""
        if self._is_ids:
            return "text"
        if given is not None:
            return given
        if self._argument == "-" or not os.path.isfile(self._argument):
            return "text"
        with usage():
            format = ids_format_to_read(self._argument)
        if format == "bin" and not self._argument.lower().endswith(".bin"):
            self._check_binary(stream.peek(1))
        return format

    def _check_binary(self, begin: bytes) -> None:
        """Raise UsageError for numbers in text, where nothing but an unknown suffix says that ids are binary: as binary
        ids they could be those of another text."""
        if begin and set(begin.decode("latin-1")) <= _ID_CHARACTERS:
            raise click.UsageError(
                f"{shown(self._argument)} has no suffix that names its format, and begins as ids in text do: write "
                "--format text, or --format bin if they are binary"
            )


def bytes_of(encoding: Encoding, place: Begun, ids: Any, position: int) -> tuple[bytes, Begun]:
    """bytes_behind() of ids that stand behind `position` others. Raises ValueError naming the id that the encoding
    lacks."""
    from ..model_files.decoder_rules import bytes_behind

    try:
        return bytes_behind(encoding, place, ids)
    except (KeyError, OverflowError, ValueError):
        for index, token in enumerate(ids.tolist()):
            try:
                encoding.decode_single_token_bytes(token)
            except (KeyError, OverflowError, ValueError):
                raise ValueError(
                    f"id {token} at position {position + index} is no token of {encoding.name}: "
                    "name the encoding that made the ids with -e, or their --format and --dtype"
                ) from None
        raise


def _ids(stream: BinaryIO, format: str, encoding: Encoding, dtype: str) -> Iterator[Any]:
    """The ids in the stream, array by array."""
    if format == "text":
        return _text_ids(stream)
    if format == "npy":
        return _binary_ids(stream, *_read_npy_header(stream))
    return _binary_ids(stream, ids_dtype(encoding, dtype), None)


def _binary_ids(stream: BinaryIO, dtype: Any, count: int | None) -> Iterator[Any]:
    """`count` ids of `dtype`, None for as many as there are."""
    import numpy as np

    rest, done = b"", 0
    while block := stream.read(_CHUNK):
        block = rest + block
        whole = len(block) - len(block) % dtype.itemsize
        rest = block[whole:]
        ids = np.frombuffer(block[:whole], dtype=dtype)
        done += len(ids)
        yield ids
    if rest:
        raise ValueError(
            f"the ids end inside a number: {len(rest)} bytes are left of {dtype.itemsize}; "
            "the file is cut off, or --dtype is another"
        )
    if count is not None and done != count:
        raise ValueError(f"the header promises {count} ids and {done} are there: the file is cut off")


def _read_npy_header(stream: BinaryIO) -> tuple[Any, int]:
    from ..files.formats.npy import read_header

    shape, dtype = read_header(stream)
    if len(shape) != 1 or dtype.kind not in "ui":
        raise ValueError(f"the .npy file holds {dtype} of shape {shape}: one row of integers is needed")
    return dtype, shape[0]


def _text_ids(stream: BinaryIO) -> Iterator[Any]:
    """Integers in text; white space, commas and brackets separate them."""
    rest = b""
    while block := getattr(stream, "read1", stream.read)(_CHUNK):
        block = (rest + block).translate(_SEPARATORS)
        end = max(block.rfind(b" "), block.rfind(b"\n"), block.rfind(b"\t"), block.rfind(b"\r")) + 1
        block, rest = block[:end], block[end:]
        if len(rest) > _LONGEST_NUMBER:
            raise _not_an_id(rest)
        if block:
            yield _to_array(block.split())
    yield _to_array(rest.split())


def _to_array(words: list[bytes]) -> Any:
    import numpy as np

    for word in words:
        if not word.isdigit() or len(word) > _LONGEST_NUMBER or int(word) > 0xFFFFFFFF:
            raise _not_an_id(word)
    return np.array([int(word) for word in words], dtype=np.uint32)


def _not_an_id(word: bytes) -> ValueError:
    seen = word[:_LONGEST_NUMBER].decode("utf-8", "replace")
    return ValueError(
        f"{shown(seen)} is no token id: text ids are integers separated by white space or commas; "
        "for binary ids add --format bin or npy"
    )
