"""encode_shard: a part of a source into finished files, as a function of its inputs alone."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import disk
from .._named import load_encoding
from ..disk.outputs import files_of
from ..files.documents import Documents
from ..files.encode import file_run, passthrough_of
from ..files.formats import format_named
from ..files.journal import ResumeError
from ..files.passthrough import Passthrough, PassthroughWriter
from ..files.ranges import RangeSource
from ..files.run import EncodedFile
from ..files.sources import AnySource
from ..files.suffixes import FORMATS
from ..files.tables import TableSource
from . import manifest as manifests
from .manifest import SHARD_SUFFIX, Manifest
from .plan import Range
from .reading import miscounted
from .spec import Spec

if TYPE_CHECKING:
    from ..core import Encoding

__all__ = ["check_source", "encode_shard", "options_of", "remove_shard"]

_CHUNK = 1 << 22  # bytes of text that are read at a time: what unpacks them finds its tables in the cache again
_POINTS = 64 << 20  # bytes of text between points to resume from


def encode_shard(
    source: str | Sequence[str],
    range: Range | None,
    destination: str | os.PathLike[str],
    spec: Spec,
    *,
    encoding: Encoding | None = None,
    num_threads: int | None = None,
    device: str = "cpu",
) -> Manifest:
    """Encode a part of a source, or several sources, into the folder `destination`: its files, and beside them a
    manifest.

    The files are named by a hash of sources, range, vocabulary and options, and depend on these alone. A shard that is
    finished is not made again. The manifest is written last, so a shard is there whole or not at all; a call that was
    interrupted is repeated, and goes on where the other stood.

    Args:
        source: the name of a file; a relative one starts at `spec.base`. Several are read in their order.
        range: the part of it, as plan() gives it; None for all of it, and with several.
        destination: the folder.
        spec: vocabulary and options; its sources and output do not count.
        encoding: the encoding that `spec` names, if it is at hand.
        num_threads: how many threads encode, as for encode_file. The files do not depend on it.
        device: "cpu", "cuda", "cuda:N" or "auto", as for encode_file. The files do not depend on it.

    Raises:
        BlockingIOError: another process is writing this shard.
        OSError: the source cannot be read, or the files cannot be written.
        ValueError: text or options that are refused.
    """
    encoding = load_encoding(spec.encoding, spec.base) if encoding is None else encoding
    names = [source] if isinstance(source, str) else list(source)
    folder, origins = os.fspath(destination), [_source_of(spec, each, range) for each in names]
    seen = [_seen(each, origin) for each, origin in zip(names, origins)]
    facts = [{name: value for name, value in each.items() if name != "mtime_ns"} for each in seen]
    inputs: dict[str, Any] = {
        "source": facts[0],
        "range": None if range is None else list(range),
        "fingerprint": encoding.fingerprint,
        "options": options_of(spec, encoding, origins),
        **({"joined": facts} if len(facts) > 1 else {}),
    }
    name = manifests.name_of(inputs)
    finished = _finished(folder, name, seen, inputs)
    if finished is not None:
        return finished
    remove_shard(folder, name)  # what is damaged, or of a source that was changed since
    target = os.path.join(os.path.realpath(folder), _name_of_ids(name, spec))
    result, counts = _run(encoding, origins, target, spec, num_threads, device)
    made = Manifest(
        name=name,
        source=seen[0],
        range=range,
        encoding=encoding.name,
        fingerprint=encoding.fingerprint,
        options=inputs["options"],
        documents=result.documents,
        ids=result.ids,
        bytes=result.bytes,
        files=tuple(
            manifests.facts_of_file(folder, each) for each in _files_of(folder, name, _name_of_ids(name, spec))
        ),
        joined=tuple({**each, "documents": count} for each, count in zip(seen, counts)) if len(seen) > 1 else (),
    )
    manifests.write(os.path.join(folder, name + SHARD_SUFFIX), made.as_json())
    return made


def check_source(name: str, spec: Spec, encoding: Encoding) -> None:
    """Raise what encode_shard() raises for this source alone; nothing is written."""
    origin, options = _source_of(spec, name, None), spec.options()
    _seen(name, origin)
    passthrough = passthrough_of(options, [origin])
    documents = Documents(encoding, lambda *_: None, options)
    if passthrough is not None:
        documents.passthrough = PassthroughWriter(passthrough, lambda *_: None)
    documents.begin(origin)
    documents.encode_source(origin, _CHUNK)


def _seen(name: str, origin: AnySource) -> dict[str, Any]:
    """What a manifest says of a source. Raises ValueError for one that cannot be read twice."""
    seen = origin.fingerprint()
    if seen is None:
        raise ValueError(
            f"{origin.name} is a pipe, a device or a stream, which cannot be read twice: put the text into a file"
        )
    return {"name": name, **{fact: seen[fact] for fact in ("size", "sha256", "mtime_ns")}}


def options_of(spec: Spec, encoding: Encoding, sources: Sequence[AnySource] = ()) -> dict[str, Any]:
    """What decides the content of shards, apart from sources and vocabulary. sources: with the kinds of their
    documents."""
    record = spec.options().as_json(list(sources))
    if not sources:
        record["documents"], record["key"] = spec.documents, spec.key
    format = format_named(spec.format)
    dtype = format.choose_dtype(encoding, spec.dtype)
    if spec.carry:
        names = [column.name for column in spec.options().columns]
        format.check_passthrough(Passthrough(names, [None] * len(names)))
    return {"format": format.name, "dtype": dtype, "index": spec.index and format.can_index, **record}


def _source_of(spec: Spec, name: str, range: Range | None) -> AnySource:
    path: Any = spec.path_of(name)
    if range is not None:
        borders = range.begin, range.end
        path = RangeSource(path, *borders) if range.unit == "bytes" else TableSource(path, row_groups=borders)
    return spec.options().sources_of(path)[0]


def _finished(folder: str, name: str, seen: list[dict[str, Any]], inputs: dict[str, Any]) -> Manifest | None:
    """The manifest of a shard that is there already; None where it is not, or not of the sources as they are now, or
    does not say what its files hold."""
    try:
        found = manifests.read_shard(os.path.join(folder, name + SHARD_SUFFIX))
    except FileNotFoundError:
        return None
    except ValueError:  # damaged: the shard is made anew
        return None
    known = [{fact: each.get(fact) for fact in seen[0]} for each in found.joined or (found.source,)]
    range = None if found.range is None else list(found.range)
    says = {"range": range, "fingerprint": found.fingerprint, "options": found.options}
    if found.name != name or known != seen or any(inputs[each] != value for each, value in says.items()):
        return None
    if any(manifests.difference(folder, each, is_hashed=False) for each in found.files):
        return None
    return found if found.is_sealed or not miscounted(folder, found.options, manifests.entry_of(found)) else None


def _run(
    encoding: Encoding, sources: list[AnySource], target: str, spec: Spec, num_threads: int | None, device: str
) -> tuple[EncodedFile, list[int]]:
    """The run of encode_file; and how many documents are of each source."""

    def run(resume: bool) -> tuple[EncodedFile, list[int]]:
        whole = file_run(
            encoding,
            sources,
            target,
            format_named(spec.format),
            spec.dtype,
            spec.index,
            spec.options(),
            _CHUNK,
            _POINTS,
            num_threads,
            device,
            is_shard=True,
        )
        return whole.run(resume), whole.documents_of_sources()

    try:
        return run(True)
    except ResumeError:  # what another release left, or of a source that was changed since
        return run(False)


def remove_shard(folder: str, name: str) -> None:
    """Remove the manifest and the finished files of a shard, if there are any."""
    disk.remove(os.path.join(folder, name + SHARD_SUFFIX))
    for each in _files_of(folder, name):
        disk.remove(os.path.join(folder, each))
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.rmdir(os.path.join(folder, name))


def _name_of_ids(name: str, spec: Spec) -> str:
    """The file or folder with the ids of a shard."""
    return name + FORMATS[spec.format]


def _files_of(folder: str, name: str, first: str = "") -> list[str]:
    """The finished files of a shard, as paths in the folder; `first` in front of all others."""
    names = [each for each in os.listdir(folder) if each.startswith(f"{name}.") and not each.endswith(SHARD_SUFFIX)]
    unfinished = {suffix for each in [name, *names] for suffix in files_of(each)[1:]}
    inside = os.path.join(folder, name)
    if os.path.isdir(inside):
        names += [os.path.join(name, each) for each in os.listdir(inside)]
    return sorted(set(names) - unfinished, key=lambda each: (each != first, each))
