"""Published models by their names: from the cache of the Hub's own library (huggingface_hub), or by that library.

The layout of the cache is documented: https://huggingface.co/docs/huggingface_hub/guides/manage-cache
"""

from __future__ import annotations

import errno
import os
import re

from ..errors import shown

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_FILES = ["tokenizer*", "*.model", "vocab*", "merges.txt", "special_tokens_map.json", "added_tokens.json"]
_FILES += ["tekken.json", "*.tiktoken", "config.json", "chat_template*", "additional_chat_templates/*"]
"""What of a repository says how text becomes ids, as patterns of huggingface_hub."""


def is_repository(name: str) -> bool:
    """Whether the Hub can have a repository of this name."""
    return _REPOSITORY.fullmatch(name) is not None and ".." not in name and "--" not in name


def cached_folder(name: str, revision: str | None = None) -> str:
    """The folder of a repository's files in the Hub's cache.

    Raises FileNotFoundError where it has none, which says how to get them.
    """
    root = _cache()
    repository = os.path.join(root, "models--" + name.replace("/", "--"))
    commit = revision if revision and _COMMIT.fullmatch(revision) else _commit_of(repository, revision or "main")
    folder = os.path.join(repository, "snapshots", commit or "none")
    if commit is None or not os.path.isdir(folder):
        reason = f"there is no such file, and no such model in {root}: `hf download {name}` gets it"
        raise FileNotFoundError(errno.ENOENT, reason, name)
    return folder


def _cache() -> str:
    """The folder of the Hub's cache, by the variables that its library reads."""
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if os.environ.get(variable):
            return os.path.expanduser(os.environ[variable])
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache")
    home = os.environ.get("HF_HOME") or os.path.join(base, "huggingface")
    return os.path.join(os.path.expanduser(home), "hub")


def _commit_of(repository: str, revision: str) -> str | None:
    """What a branch or a tag was when it was downloaded."""
    if not re.fullmatch(r"\w[\w./-]*", revision) or ".." in revision:
        raise ValueError(f"revision={shown(revision)}: write the name of a branch or a tag, or a commit of 40 digits")
    try:
        with open(os.path.join(repository, "refs", revision), encoding="ascii", errors="replace") as file:
            found = file.read(64).strip()
    except OSError:
        return None
    return found if _COMMIT.fullmatch(found) else None


def folder_of(name: str, revision: str | None = None, local_files_only: bool = False) -> str:
    """A path, or the folder of a repository's files, which are downloaded if need be.

    Raises as Encoding.from_pretrained().
    """
    if os.path.exists(name):
        return name
    if not is_repository(name):
        raise ValueError(f"{shown(name)} is neither a path that is there nor the name of a repository")
    try:
        return cached_folder(name, revision)
    except FileNotFoundError as missing:
        if local_files_only:
            raise
        try:
            import huggingface_hub
        except ImportError as error:
            raise missing from error
    folder: str = huggingface_hub.snapshot_download(name, revision=revision, allow_patterns=_FILES)
    return folder
