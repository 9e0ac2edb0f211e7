"""Whether a tokenizers.Tokenizer is still what it was when an engine was made of it.

A program may change it at any time: add tokens, put another post-processor in, train it anew. There is no number that
counts such changes. So all parts that are cheap to read are compared before each use, and the others when somebody may
have had hold of the tokenizer since.
"""

from __future__ import annotations

import sys
from typing import Any

_PROBES = 64
"""Tokens of the vocabulary that the model is asked to make again: a model put in place of another, or trained anew, has
others. It takes 20 to 60 us, and only where the tokenizer may have been changed."""


class Watch:
    """Remembers what a tokenizer was.

    Args:
        backend: the tokenizers.Tokenizer.
        trusts: parts that take long to read are never compared.

    Attributes:
        handed_out: somebody else was given the tokenizer since the last check.
    """

    def __init__(self, backend: Any, trusts: bool = False) -> None:
        self.backend, self._trusts = backend, trusts
        self.handed_out = True
        self._seen = False  # somebody may hold a part of it
        self._is_gone = False
        self._next = _next_id(backend)
        self._quick = self._quick_facts()
        self._pre_tokenizer = _state(backend.pre_tokenizer)
        self._rest = self._slow_facts()
        self.handed_out = False

    def holds(self, owner: dict[str, Any]) -> bool:
        """Whether the tokenizer is unchanged.

        owner: has the tokenizer that is in use now as "_tokenizer", and is the one other owner that is counted.
        """
        if not self._is_gone:
            self._is_gone = owner["_tokenizer"] is not self.backend or not self._is_same()
        return not self._is_gone

    def is_shared(self) -> bool:
        """Whether somebody else holds the tokenizer, so that all parts are compared each time."""
        return not self._trusts and _references(self) > _ALONE

    def _is_same(self) -> bool:
        if self._quick_facts() != self._quick:
            return False
        if self._trusts:
            return True
        if self.is_shared() or self.handed_out:
            self._seen, self.handed_out = True, False
            if self._slow_facts() != self._rest:
                return False
        return not self._seen or bool(_state(self.backend.pre_tokenizer) == self._pre_tokenizer)

    def _quick_facts(self) -> tuple[Any, ...]:
        """Some microseconds. A token that is added gets the next id."""
        backend = self.backend
        model = backend.model
        return (
            _state(backend.normalizer),
            _state(backend.post_processor),
            _state(backend.decoder),
            backend.get_vocab_size(False),
            backend.id_to_token(self._next),
            type(model),
            *[getattr(model, name, None) for name in _SETTINGS],
        )

    def _slow_facts(self) -> tuple[Any, ...]:
        """Microseconds to milliseconds: those of thousands of added tokens."""
        backend = self.backend
        added = backend.get_added_tokens_decoder()
        size = backend.get_vocab_size(False)
        names = [backend.id_to_token(size * i // _PROBES) for i in range(_PROBES)]
        made = [_tokenized(backend.model, name) for name in names if name]
        return list(added), list(map(repr, added.values())), names, made


_SETTINGS = (
    "dropout",
    "unk_token",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "max_input_chars_per_word",
    "fuse_unk",
    "byte_fallback",
    "ignore_merges",
)
"""What a program can set of a model in place."""


def _state(part: Any) -> Any:
    if part is None:
        return None
    try:
        return part.__getstate__()
    except Exception:  # a part written in Python has no state that can be compared, and no engine is made for it
        return type(part)


def _tokenized(model: Any, text: str) -> list[int] | None:
    try:
        return [token.id for token in model.tokenize(text)]
    except Exception:  # a word that the model has no token for
        return None


def _next_id(backend: Any) -> int:
    """The id that the next added token would get."""
    return int(max([backend.get_vocab_size(False) - 1, *backend.get_added_tokens_decoder()])) + 1


def _references(watch: Any) -> int:
    return sys.getrefcount(watch.backend)


class _Held:
    backend: object


def _alone() -> int:
    """What _references() counts where one owner holds the object beside the watch."""
    held = _Held()
    held.backend = object()
    owner = {"_tokenizer": held.backend}
    found = _references(held)
    del owner
    return found


_ALONE = _alone()
