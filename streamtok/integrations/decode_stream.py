"""tokenizers.decoders.DecodeStream for the backends of patched tokenizers: each id is decoded once.

Servers look the class up where it lies, so one of another name can stand there. For other tokenizers it hands all on.
"""

from __future__ import annotations

import weakref
from typing import Any

import tokenizers

from .engine import Unserved
from .state import State

_served: dict[int, tuple[weakref.ref[Any], State]] = {}
"""id of a backend -> the tokenizer that owns it, and its state."""


def serve(tokenizer: Any, state: State) -> None:
    """From now on a DecodeStream of this tokenizer's backend is one of this package."""
    decoders: Any = tokenizers.decoders
    if decoders.DecodeStream is not DecodeStream:
        DecodeStream.original = decoders.DecodeStream
        decoders.DecodeStream = DecodeStream
    backend = id(tokenizer.__dict__["_tokenizer"])
    _served[backend] = weakref.ref(tokenizer), state
    weakref.finalize(tokenizer, _served.pop, backend, None)


class DecodeStream:
    """As tokenizers.decoders.DecodeStream, which it is for all but models of bytes. These have two differences, where
    its text is not that of its ids: behind a prompt that ends inside a character it gives what follows the
    prompt, and not the prompt again; and a character that cannot become whole is U+FFFD at once.

    Args:
        ids: those in front of the first one, as of a prompt.
        skip_special_tokens: as for Tokenizer.decode().
    """

    original: Any = None

    def __init__(self, ids: Any = None, skip_special_tokens: bool = False) -> None:
        self._before, self._skips = ids, skip_special_tokens
        self._feed: Any = None
        self._theirs: Any = None

    def step(self, tokenizer: Any, id: Any) -> str | None:
        """The text that an id, or a list of them, completes; None: none yet."""
        feed = self._feed
        if feed is None:
            if self._theirs is not None or not self._begun(tokenizer):
                return self._theirs.step(tokenizer, id)  # type: ignore[no-any-return]
            feed = self._feed
        try:
            return feed(id) or None
        except KeyError:  # an id without a token has no text
            return _known(feed, id) or None

    def _begun(self, tokenizer: Any) -> bool:
        try:
            encoding = _encoding_of(tokenizer)
        except Unserved:
            self._theirs = DecodeStream.original(ids=self._before, skip_special_tokens=self._skips)
            return False
        feed = encoding.stream_decoder(skip_special_tokens=self._skips).feed
        before = list(self._before or ())
        try:
            feed(before)
        except KeyError:
            _known(feed, before)
        self._feed, self._before = feed, None
        return True


def _encoding_of(backend: Any) -> Any:
    """Unserved: nobody serves this backend, or the original decodes."""
    owner, state = _served.get(id(backend), (None, None))
    tokenizer = None if owner is None else owner()
    if tokenizer is None or state is None or tokenizer.__dict__.get("_tokenizer") is not backend:
        raise Unserved("")
    engine = state.engine(tokenizer.__dict__)
    if not engine.decodes_all or engine.encoding._rule_decoder is not None:
        raise Unserved("")  # of tokens that are no bytes of text a stream may wait, and servers call no flush()
    return engine.encoding


def _known(feed: Any, ids: Any) -> str:
    text = ""
    for each in [ids] if isinstance(ids, int) else ids:
        try:
            text += feed(each)
        except KeyError:
            pass
    return text
