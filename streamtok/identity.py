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
from .native.steps import holding, lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, SupportsIndex

    from .native.decode import Decoder
    from .native.normal import Normalizer
    from .protocols import NamePair, Names, StreamOptions, TextCoder

# Set by registry.py, on a higher level: the encodings that it has made, how it makes one, and the names of the bundled.
_registered: Mapping[str, Identified] = {}
_resolve_registered: Callable[[str], Identified] | None = None
_bundled_names: frozenset[str] = frozenset()

_lock = _thread.RLock()
_known: WeakValueDictionary[str, Identified] = WeakValueDictionary()  # identity -> the encoding
_unasked: WeakSet[Identified] = WeakSet()  # encodings whose identity has not been computed yet


def _renew_lock() -> None:
    global _lock
    _lock = _thread.RLock()  # it may have been held by a thread that the child does not have


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


class Identified:
    """The identity of an encoding; class Encoding (core.py) adds what it does."""

    name: str
    _pat_str: str | None
    _special_tokens: dict[str, int]
    _engine: str
    _normalizer: Normalizer | None
    _coder: TextCoder
    _default_matchers: NamePair
    _decoder: Decoder
    _plain: Names
    _model: Any  # a model_files.Model, where it comes from a model's file
    _packed: PackedVocabulary
    _kind: Any  # a bundled.models.Model
    _mergeable_ranks: dict[bytes, int]

    @lazy
    def fingerprint(self) -> str:
        """sha256, in hex, of all that decides the ids: tokens, ranks or merges, pattern, special tokens, normalizer."""
        import hashlib

        digest = hashlib.sha256(b"\0" if self._pat_str is None else self._pat_str.encode())
        lengths, ranks = map(to_little_endian, (self._packed.lengths, self._packed.ranks))
        parts = [lengths, ranks, self._packed.blob]
        if not self._kind.merges:
            parts.append(self._kind.mark(self._packed.rest))
        elif not self._packed.is_ranked:  # then ranks are ids, and say nothing of merging
            parts.append(to_little_endian(self._packed.splits or ()))
        for part in parts:
            digest.update(hashlib.sha256(part).digest())
        for name, token in sorted(self._special_tokens.items()):
            digest.update(b"%d %b\n" % (token, name.encode()))
        if self._model is not None:
            digest.update(self._model.facts)
        if self._normalizer is not None:
            digest.update(repr(self._normalizer.steps).encode())
        return digest.hexdigest()

    def _options_fingerprint(self, options: StreamOptions) -> bytes:
        """sha256 of the encoding and of a stream's options: whose state a saved state is."""
        import hashlib

        sets = (options["allowed_special"], options["disallowed_special"])
        names = ["all" if names == "all" else sorted(names) for names in sets]
        facts = [self.fingerprint, self._engine, str(names), options["errors"]]
        if "device" in options:  # its streams have states of another kind
            facts.append(options["device"].partition(":")[0])
        if options.get("add_special_tokens"):
            facts.append("add_special_tokens")
        return hashlib.sha256(" ".join(facts).encode()).digest()

    def _extras(self) -> dict[str, object]:
        """Arguments that the constructor of a subclass in this package takes besides those of Encoding."""
        return {}

    @property
    def _identity(self) -> str:
        """Two encodings with the same identity are of the same class and have the same facts. Programs may change the
        name, so the identity is not stored."""
        return repr((type(self).__name__, self.name, self._engine, self._extras(), self.fingerprint))

    @property
    def _is_ours(self) -> bool:
        """Whether the class is one of this package. A user's subclass may have more state."""
        return type(self).__module__.partition(".")[0] == __name__.partition(".")[0]

    def _become(self, *, model: Any, **facts: Any) -> None:
        """Makes an encoding of the model of a file; core.py does."""
        raise NotImplementedError

    def _note(self) -> None:
        """Called at the end of every constructor."""
        if self._is_ours:
            holding(_lock, _unasked.add, self)

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        if not self._is_ours:
            return super().__reduce_ex__(protocol)
        if self._is_registered():
            return _by_name, (self.name,)
        identity = self._identity
        holding(_lock, _learn, identity, self)
        if self._model is not None:
            return _revived, (
                identity,
                type(self),
                {"name": self.name, "engine": self._engine} | self._extras(),
                self._model,
            )
        facts: dict[str, object] = {"name": self.name, "pat_str": self._pat_str, "special_tokens": self._special_tokens}
        facts |= {"engine": self._engine} | self._extras()
        if "_vocabulary" in self.__dict__:
            return _revived, (identity, type(self), facts, self.__dict__["_vocabulary"])
        packed = self._packed
        tokens: list[Any] = [packed.blob, to_little_endian(packed.lengths), to_little_endian(packed.ranks)]
        if not packed.is_ranked:
            tokens.append(to_little_endian(packed.splits or ()))
        if not self._kind.merges:
            tokens += [packed.model, packed.rest]
        return _revived, (identity, type(self), facts, tuple(tokens))

    def _is_registered(self) -> bool:
        registered = _registered.get(self.name)
        if registered is not None and self.__dict__ is registered.__dict__:
            return True
        if self.name not in _bundled_names or self._extras() or self._engine != "fast" or _resolve_registered is None:
            return False
        return bool(_resolve_registered(self.name).fingerprint == self.fingerprint)

    def __copy__(self) -> Identified:
        """Another object with the same tables, which may be given another name; of a registered encoding itself."""
        if self._is_ours and self._is_registered():
            return self
        other = type(self).__new__(type(self))
        if self._is_ours:
            other._share(self)
            other.__dict__ = dict(other.__dict__)
        else:
            other.__setstate__(self.__getstate__())
        return other

    def __deepcopy__(self, memo: dict[int, object]) -> Identified:
        return self.__copy__()

    def __getstate__(self) -> object:
        """tiktoken's, for programs that call it, and for subclasses."""
        if self is _registered.get(self.name):
            return self.name
        if self._model is not None:
            return {"name": self.name, "model": self._model, "engine": self._engine, **self._extras()}
        return {
            "name": self.name,
            "pat_str": self._pat_str,
            "mergeable_ranks": self._mergeable_ranks if self._packed.is_ranked else self._packed,
            "special_tokens": self._special_tokens,
            "engine": self._engine,
            **self._extras(),
        }

    def __setstate__(self, value: object) -> None:
        if not isinstance(value, str):
            options: Any = value
            if "model" in options:
                self._become(**options)
            else:
                self.__init__(**options)  # type: ignore[misc]
            return
        self._share(_by_name(value))

    def _share(self, other: Identified) -> None:
        self.__dict__ = other.__dict__
        self._coder, self._decoder = other._coder, other._decoder
        self._default_matchers, self._plain = other._default_matchers, other._plain


def _by_name(name: str) -> Identified:
    assert _resolve_registered is not None  # the registry is imported with the package
    return _resolve_registered(name)


def _revived(identity: str, kind: Any, facts: dict[str, Any], tokens: Any) -> Identified:
    """The encoding of a pickle: the process's own, or a new one from the name of its vocabulary, from its tokens, or
    from the model of a file."""
    return holding(_lock, _revived_once, identity, kind, facts, tokens)


def _revived_once(identity: str, kind: Any, facts: dict[str, Any], tokens: Any) -> Identified:
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
    if made._identity != identity:
        raise ValueError("the pickled encoding is damaged: its tokens are not those that it was made of")
    _known[identity] = made
    _unasked.discard(made)
    found: Identified = made
    return found


def _learn(identity: str, encoding: Identified) -> None:
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


def _find(identity: str, name: str) -> Identified | None:
    """The encoding of this process with that identity, or None."""
    found = _known.get(identity)
    if found is None:
        for each in [each for each in _unasked if each.name == name]:  # computing it takes some milliseconds
            _learn(each._identity, each)
        found = _known.get(identity)
    return found if found is not None and found._identity == identity else None
