"""What stands for a tokenizers.Tokenizer: an Encoding, and what the post-processor puts around texts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _batch
from ..core import Encoding
from ..errors import VocabularyError
from ..native.steps import lazy
from .places import Trim, spans_of
from .watch import Watch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._protocols import Ids, Places
    from ..serving.prefix_cache import PrefixCache


_CACHED_FROM = 8192
"""Characters of a single text from which it is looked for among earlier ones."""


class Unserved(Exception):
    """A call that the original has to do. Its text is the reason."""


class Part(NamedTuple):
    """A stretch of a row of ids. token: the id of a special one; None: the ids of text number `text`."""

    token: int | None
    text: int
    type_id: int
    special: int


class Layout(NamedTuple):
    """A row of ids as the post-processor makes it. added: special tokens in it; texts: as Encoding.n_sequences says."""

    parts: tuple[Part, ...]
    added: int
    texts: int


class Texts(NamedTuple):
    """The ids of texts, those of text i at ids[starts[i]:starts[i] + counts[i]]; offsets: (starts, ends) of ids."""

    ids: Ids
    starts: Places
    counts: Places
    offsets: tuple[Places, Places] | None

    def part(self, first: int, last: int) -> Texts:
        """Texts first to last."""
        return self._replace(starts=self.starts[first:last], counts=self.counts[first:last])

    def joined(self, sizes: list[int]) -> Texts:
        """Several texts at a time as one, sizes[i] of them as text i."""
        ends = np.concatenate([np.zeros(1, np.int64), self.counts.cumsum()])
        borders = ends[np.cumsum([0, *sizes])]
        return self._replace(starts=borders[:-1], counts=np.diff(borders))


class Engine:
    """An Encoding that gives the ids of a tokenizers.Tokenizer as it is now.

    Args:
        watch: of the tokenizers.Tokenizer; the one reference to it, because references are counted.
        name: for errors.

    Raises:
        Unserved: it is one that is not supported.
    """

    def __init__(self, watch: Watch, name: str) -> None:
        self.watch, backend = watch, watch.backend
        _check_version()
        try:
            self.encoding = Encoding.from_hf(SimpleNamespace(backend_tokenizer=backend, name_or_path=name))
        except VocabularyError as error:
            raise Unserved(f"the tokenizer is not supported: {error.reason}") from None
        except Exception as error:  # a part written in Python is not written to JSON
            raise Unserved(f"the tokenizer cannot be read: {error}") from None
        self.allowed = self.encoding._matchers_for("all", ())[0]
        self.has_decoder = backend.decoder is not None
        self.cache: PrefixCache | None = None
        self._written_otherwise = _written_otherwise(backend)
        self._layouts: dict[tuple[bool, bool], Layout] = {}

    def layout(self, is_pair: bool, add_special_tokens: bool) -> Layout:
        """What the post-processor makes of one text or of two."""
        key = is_pair, add_special_tokens
        if key not in self._layouts:
            self._layouts[key] = _layout(self.watch.backend.post_processor, *key)
        return self._layouts[key]

    def encode(self, texts: list[str], num_threads: int | None, with_offsets: bool) -> Texts:
        """The ids of each text, without what the post-processor adds. Unserved: a text that the original refuses."""
        data: Sequence[str | bytes] = texts
        if with_offsets or not all(map(str.isascii, texts)):
            try:
                data = list(map(str.encode, texts))
            except UnicodeEncodeError:
                raise Unserved("a text has half a surrogate pair") from None
        if self.cache is not None and not with_offsets and len(texts) == 1 and len(texts[0]) >= _CACHED_FROM:
            ids = self.cache.encode_to_numpy(data[0], allowed_special="all", disallowed_special=())
            return Texts(ids, np.zeros(1, np.int64), np.array([len(ids)]), None)
        try:
            ids, indptr = _batch.encode_ragged(self.encoding._coder, list(data), self.allowed, None, num_threads)
        except (ValueError, LookupError) as error:
            raise Unserved(f"a text cannot be encoded: {error}") from None
        offsets = self._offsets(texts, data, ids, indptr) if with_offsets else None
        return Texts(ids, indptr[:-1], np.diff(indptr), offsets)

    def encode_single(self, text: str) -> list[int]:
        """As encode(), of one text, as a list."""
        try:
            if not text.isascii():
                text.encode()
            return self.encoding._coder.encode(text, self.allowed, None)
        except (ValueError, LookupError) as error:  # UnicodeEncodeError, too
            raise Unserved(f"a text cannot be encoded: {error}") from None

    def _offsets(self, texts: list[str], data: Sequence[Any], ids: Ids, indptr: Places) -> tuple[Places, Places]:
        encoding = self.encoding
        if encoding._rule_decoder is not None or (self.allowed is not None and self.allowed.has_rules):
            raise Unserved("offsets of a model of characters, or with added tokens that take white space")
        if not all(map(self._is_normal, texts)):
            raise Unserved("offsets of a text that the normalizer changes")
        found = spans_of(encoding, b"".join(data), ids, indptr)
        if found is None:
            raise Unserved("offsets of a text of which the pre-tokenizer drops some")
        return found

    def _is_normal(self, text: str) -> bool:
        normalizer = self.encoding._normalizer
        return normalizer is None or (self._only_forms and text.isascii()) or normalizer.normalize(text) == text

    @lazy
    def _only_forms(self) -> bool:
        """Whether the normalizer leaves ASCII as it is."""
        normalizer = self.encoding._normalizer
        return normalizer is not None and all(step in _FORMS for step in normalizer.steps)

    def original(self, owner: dict[str, Any]) -> Any:
        """The tokenizers.Tokenizer as it was when this was made of it. owner: as for Watch.holds()."""
        return self.watch.backend if self.watch.holds(owner) else self._written

    @lazy
    def _written(self) -> Any:
        from tokenizers import Tokenizer

        from ..model_files.write import tokenizer_json

        assert self.encoding._model is not None
        return Tokenizer.from_str(tokenizer_json(self.encoding._model))

    @lazy
    def trim(self) -> Trim:
        try:
            return Trim(self.watch.backend, self.encoding)
        except ValueError as error:
            raise Unserved(str(error)) from None

    @property
    def decodes_all(self) -> bool:
        """Whether decode() serves all ids that there are."""
        return self.has_decoder and not self._written_otherwise

    def decode(self, ids: Any, skip_special_tokens: bool) -> str:
        """The text of ids. Unserved: ids of which only the original knows what to do."""
        if not self.has_decoder:
            raise Unserved("there is no decoder")
        if type(skip_special_tokens) is not bool:
            raise Unserved("skip_special_tokens of another type than bool")
        try:
            if self._written_otherwise and not self._written_otherwise.isdisjoint(ids):
                raise Unserved("added tokens with normalized, which this version of tokenizers writes as given")
            return self.encoding.decode(ids, skip_special_tokens=skip_special_tokens)
        except (LookupError, OverflowError, TypeError, ValueError):
            raise Unserved("ids that are unknown, or no ids") from None


_FORMS = {("NFC",), ("NFD",), ("NFKC",), ("NFKD",)}


def _check_version() -> None:
    """Unserved: a version of tokenizers that nothing here was compared with."""
    import tokenizers

    if tuple(map(int, tokenizers.__version__.split(".")[:2])) < (0, 22):
        raise Unserved(f"tokenizers {tokenizers.__version__} is older than 0.22: pip install 'tokenizers>=0.22'")


def _writes_normalized() -> bool:
    """Whether tokenizers writes an added token as the normalizer makes it: since 0.23."""
    from tokenizers import AddedToken, Tokenizer, models, normalizers

    probe = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    probe.normalizer = normalizers.Lowercase()
    probe.add_tokens([AddedToken("B", normalized=True)])
    return bool(probe.decode([1]) == "b")


def _written_otherwise(backend: Any) -> frozenset[int]:
    """The ids of added tokens that this version of tokenizers decodes to another text than an Encoding."""
    normalizer = backend.normalizer
    if normalizer is None or _writes_normalized():
        return frozenset()
    added = backend.get_added_tokens_decoder().items()
    return frozenset(
        id for id, token in added if token.normalized and normalizer.normalize_str(token.content) != token.content
    )


def _layout(processor: Any, is_pair: bool, add_special_tokens: bool) -> Layout:
    """Found out with texts of one token each."""
    from tokenizers import Tokenizer, models

    probe = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    if processor is not None:
        probe.post_processor = processor
    made = probe.encode("a", "a" if is_pair else None, add_special_tokens=add_special_tokens)
    parts = [
        Part(token if text is None else None, text or 0, type_id, special)
        for token, text, type_id, special in zip(made.ids, made.sequence_ids, made.type_ids, made.special_tokens_mask)
    ]
    if sorted(part.text for part in parts if part.token is None) != [0, 1][: 1 + is_pair]:
        raise Unserved("the post-processor leaves out a text, or repeats one")
    return Layout(tuple(parts), len(parts) - 1 - is_pair, made.n_sequences)
