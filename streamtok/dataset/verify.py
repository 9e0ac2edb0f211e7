"""Whether the files of a dataset are those that its manifest says."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..disk.outputs import files_of
from ..errors import shown
from . import manifest as manifests
from .build import OWN_FILES, identity_problems
from .manifest import SHARD_SUFFIX, DatasetManifest, read_dataset
from .reading import miscounted

__all__ = ["verify"]


def verify(folder: str | os.PathLike[str], *, is_quick: bool = False) -> list[str]:
    """What is wrong with the dataset in a folder, one line each; an empty list where nothing is.

    Every file is read, and its sha256 compared with the manifest; documents and ids are counted again. Sources that
    failed, unfinished files and files of shards that the manifest does not have are named, too.

    Args:
        folder: of the dataset.
        is_quick: compare sizes alone.

    Raises:
        FileNotFoundError: no build has ended here.
        ValueError: the manifest is damaged.
    """
    name = os.fspath(folder)
    return list(_problems(name, read_dataset(name), is_quick))


def _problems(folder: str, dataset: DatasetManifest, is_quick: bool) -> Iterator[str]:
    for each in dataset.failed:
        yield f"{each['source']} was not encoded: {each['error']}"
    for name in ("documents", "ids", "bytes"):
        if getattr(dataset, name) != sum(shard[name] for shard in dataset.shards):
            yield f"the manifest has {getattr(dataset, name)} {name}, which is not the sum of its shards"
    known = set(OWN_FILES)
    yield from identity_problems(folder, dataset)
    for shard, files in dataset.files():
        own = shard["name"] + SHARD_SUFFIX
        known |= {own, *(facts.name.split("/")[0] for facts in files)}
        for facts in files:
            if problem := manifests.difference(folder, facts, is_hashed=not is_quick):
                yield problem
        try:
            found = manifests.read_shard(os.path.join(folder, own))
        except (OSError, ValueError) as error:
            yield f"{shown(own)} cannot be read: {error}"
            continue
        is_of_it = (found.encoding, found.fingerprint) == (dataset.encoding, dataset.fingerprint)
        if not is_of_it or manifests.entry_of(found) != shard:
            yield f"{shown(own)} is not the manifest of the shard of that name"
        elif not is_quick and (problem := miscounted(folder, dataset.options, shard)):
            yield problem
    yield from _strangers(folder, known)


def _strangers(folder: str, known: set[str]) -> Iterator[str]:
    """Files in the folder that belong to no shard: another program might take them for some."""
    unfinished = {each for name in known for each in files_of(name)[1:]}
    for name in sorted(os.listdir(folder)):
        if name in unfinished:
            yield f"{shown(name)} is unfinished: another build may be writing it"
        elif name not in known:
            yield f"{shown(name)} belongs to no shard of the manifest"
