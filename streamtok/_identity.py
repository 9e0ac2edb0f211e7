"""The identity of an encoding: its fingerprint, and how it is pickled and copied.

An encoding that the registry made is pickled as its name, one of a bundled vocabulary as its recipe, any other with its
tokens. Unpickling gives the object that the process has for such an encoding, if it has one: an encoding is immutable,
and a second one would take memory and be pickled with all its tokens.
"""

from __future__ import annotations

import _thread
import os
from collections.abc import Callable, Mapping
from weakref import WeakSet, WeakValueDictionary

from .bundled.packed import PackedVocabulary, from_little_endian, to_little_endian
from .native.steps import holding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._protocols import Encoding, StreamOptions

# Set by registry.py, on a higher level: the encodings that it has made, how it makes one, and the names of the bundled.
_registered: Mapping[str, Encoding] = {}
_resolve_registered: Callable[[str], Encoding] | None = None
_bundled_names: frozenset[str] = frozenset()

_lock = _thread.RLock()
_known: WeakValueDictionary[str, Encoding] = WeakValueDictionary()  # identity -> the encoding
_unasked: WeakSet[Encoding] = WeakSet()  # encodings whose identity has not been computed yet


def _renew_lock() -> None:
    global _lock
    _lock = _thread.RLock()  # it may have been held by a thread that the child does not have


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def is_ours(encoding: Encoding) -> bool:
    """Whether its class is one of this package. A user's subclass may have more state."""
    return type(encoding).__module__.partition(".")[0] == __name__.partition(".")[0]


def note(encoding: Encoding) -> None:
    """Called at the end of every constructor."""
    if is_ours(encoding):
        holding(_lock, _unasked.add, encoding)


def fingerprint_of(encoding: Encoding) -> str:
    """See Encoding.fingerprint."""
    import hashlib

    digest = hashlib.sha256(b"\0" if encoding._pat_str is None else encoding._pat_str.encode())
    packed, model = encoding._packed, encoding._model
    parts = [*map(to_little_endian, (packed.lengths, packed.ranks)), packed.blob]
    if not encoding._kind.merges:
        parts.append(encoding._kind.mark(packed.rest))
    elif not packed.is_ranked:  # then ranks are ids, and say nothing of merging
        parts.append(to_little_endian(packed.splits or ()))
        if packed.rest is not None:
            parts.append(encoding._kind.own(packed.rest) or b"")
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    for name, token in sorted(encoding._special_tokens.items()):
        digest.update(b"%d %b\n" % (token, name.encode()))
    if model is not None:
        digest.update(model.facts)
    if encoding._normalizer is not None:
        digest.update(repr(encoding._normalizer.steps).encode())
    return digest.hexdigest()


def stream_fingerprint(encoding: Encoding, options: StreamOptions) -> bytes:
    """sha256 of the encoding and of a stream's options: whose state a saved state is."""
    import hashlib

    sets = (options["allowed_special"], options["disallowed_special"])
    names = ["all" if names == "all" else sorted(names) for names in sets]
    facts = [encoding.fingerprint, encoding._engine, str(names), options["errors"]]
    if "device" in options:  # its streams have states of another kind
        facts.append(options["device"].partition(":")[0])
    if options.get("add_special_tokens"):
        facts.append("add_special_tokens")
    return hashlib.sha256(" ".join(facts).encode()).digest()


def _identity(encoding: Encoding) -> str:
    """Two encodings with the same identity are of the same class and have the same facts. Programs may change the name,
    so the identity is not stored."""
    facts = (type(encoding).__name__, encoding.name, encoding._engine, encoding._extras(), encoding.fingerprint)
    return repr(facts)


def _is_registered(encoding: Encoding) -> bool:
    registered = _registered.get(encoding.name)
    if registered is not None and encoding.__dict__ is registered.__dict__:
        return True
    if encoding.name not in _bundled_names or encoding._extras() or encoding._engine != "fast":
        return False
    return _resolve_registered is not None and _resolve_registered(encoding.name).fingerprint == encoding.fingerprint


def reduced(encoding: Encoding) -> tuple[Any, ...]:
    """What an encoding of ours is pickled as."""
    if _is_registered(encoding):
        return _by_name, (encoding.name,)
    identity = _identity(encoding)
    holding(_lock, _learn, identity, encoding)
    facts: dict[str, object] = {"name": encoding.name, "engine": encoding._engine} | encoding._extras()
    tokens: Any = encoding._model
    if tokens is None:
        facts |= {"pat_str": encoding._pat_str, "special_tokens": encoding._special_tokens}
        tokens = encoding.__dict__.get("_vocabulary") or _pickled(encoding._packed, encoding._kind.merges)
    return _revived, (identity, type(encoding), facts, tokens)


def _pickled(packed: PackedVocabulary, merges: bool) -> tuple[Any, ...]:
    tokens: list[Any] = [packed.blob, to_little_endian(packed.lengths), to_little_endian(packed.ranks)]
    if not packed.is_ranked:
        tokens.append(to_little_endian(packed.splits or ()))
    if not merges:
        tokens += [packed.model, packed.rest]
    return tuple(tokens)


def copied(encoding: Encoding) -> Encoding:
    """Another object with the same tables, which may be given another name; of a registered encoding itself."""
    if is_ours(encoding) and _is_registered(encoding):
        return encoding
    other = type(encoding).__new__(type(encoding))
    if is_ours(encoding):
        _share(other, encoding)
        other.__dict__ = dict(other.__dict__)
    else:
        other.__setstate__(encoding.__getstate__())
    return other


def state_of(encoding: Encoding) -> object:
    """What tiktoken's __getstate__() gives, for programs that call it, and for subclasses."""
    if encoding is _registered.get(encoding.name):
        return encoding.name
    facts = {"name": encoding.name, "engine": encoding._engine, **encoding._extras()}
    if encoding._model is not None:
        return facts | {"model": encoding._model}
    return facts | {
        "pat_str": encoding._pat_str,
        "mergeable_ranks": encoding._mergeable_ranks if encoding._packed.is_ranked else encoding._packed,
        "special_tokens": encoding._special_tokens,
    }


def take_state(encoding: Encoding, value: object) -> None:
    """What __setstate__() does."""
    if isinstance(value, str):
        _share(encoding, _by_name(value))
        return
    options: Any = value
    if "model" in options:
        encoding._become(**options)
    else:
        encoding.__init__(**options)  # type: ignore[misc]


def _share(encoding: Encoding, other: Encoding) -> None:
    encoding.__dict__ = other.__dict__
    encoding._coder, encoding._decoder = other._coder, other._decoder
    encoding._default_matchers, encoding._plain = other._default_matchers, other._plain
    encoding._rule_decoder = other._rule_decoder


def _by_name(name: str) -> Encoding:
    assert _resolve_registered is not None  # the registry is imported with the package
    return _resolve_registered(name)


def _revived(identity: str, kind: Any, facts: dict[str, Any], tokens: Any) -> Encoding:
    """The encoding of a pickle: the process's own, or a new one from the name of its vocabulary, from its tokens, or
    from the model of a file."""
    return holding(_lock, _revived_once, identity, kind, facts, tokens)


def _revived_once(identity: str, kind: Any, facts: dict[str, Any], tokens: Any) -> Encoding:
    known, made = _find(identity, facts["name"]), None
    if known is not None:
        return known
    if isinstance(tokens, str):
        facts = facts | {"special": facts["special_tokens"], "vocabulary": tokens, "n_vocab": None}
        made = kind._bundled(**{key: value for key, value in facts.items() if key != "special_tokens"})
    elif not isinstance(tokens, tuple):
        made = kind.__new__(kind)
        made._become(model=tokens, **facts)
    else:
        made = kind(mergeable_ranks=_unpickled(*tokens), **facts)
    if _identity(made) != identity:
        raise ValueError("the pickled encoding is damaged: its tokens are not those that it was made of")
    _known[identity] = made
    _unasked.discard(made)
    found: Encoding = made
    return found


def _learn(identity: str, encoding: Encoding) -> None:
    _known.setdefault(identity, encoding)
    _unasked.discard(encoding)  # behind it: an exception between the two leaves one that is asked again


def _unpickled(
    blob: bytes, lengths: bytes, ranks: bytes, splits: bytes | None = None, model: str | None = None, rest: Any = None
) -> dict[bytes, int] | PackedVocabulary:
    """The tokens in a pickle, as the constructor takes them."""
    arrays = from_little_endian(lengths), from_little_endian(ranks)
    if splits is None:
        return PackedVocabulary(blob, *arrays, None, None).to_dict()
    if model is not None:
        from .bundled.listed import ListedVocabulary

        return ListedVocabulary(blob, *arrays, from_little_endian(splits) or None, model, rest)
    from .bundled.merged import MergedVocabulary

    return MergedVocabulary(blob, *arrays, from_little_endian(splits), None)


def _find(identity: str, name: str) -> Encoding | None:
    """The encoding of this process with that identity, or None."""
    found = _known.get(identity)
    if found is None:
        for each in [each for each in _unasked if each.name == name]:  # computing it takes some milliseconds
            _learn(_identity(each), each)
        found = _known.get(identity)
    return found if found is not None and _identity(found) == identity else None


_by_name.__module__ = _revived.__module__ = f"{__package__}.identity"  # where pickles find them
