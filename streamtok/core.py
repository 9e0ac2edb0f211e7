"""class Encoding: how one is made, what it has, and its methods, which lie in the modules that do the work.

An encoding has coders, which encode and make streams (native/encode.pyx, patterns/coder.py); a decoder
(native/decode.pyx); the names of its special tokens (whole/special.py); its model (bundled/models.py); its devices.
"""

from __future__ import annotations

import warnings
from types import FunctionType

from . import _decoding, _identity, _streaming
from ._checks import check_n_vocab, check_special, id_array, normalizer_of
from .bundled.mapped import build_vocabulary, choice, open_vocabulary, packed_of
from .bundled.models import model_named
from .bundled.packed import PackedVocabulary, pack_ranks
from .chat import methods as chats
from .errors import shown
from .native.decode import Decoder
from .native.encode import ENGINES
from .native.steps import lazy
from .patterns.engine import engine_of
from .serving import methods
from .whole import batches, facts, special, texts

# typing.TYPE_CHECKING, without the import of typing, which takes as long as loading a vocabulary. The same in every
# module that `import streamtok` loads.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from typing import Any, SupportsIndex

    from ._device import Devices
    from ._protocols import NamePair, Names, Template, TextCoder
    from .model_files.model import Model
    from .native.normal import Normalizer
    from .native.vocab import Vocab

_PATTERN_SECONDS = facts.PATTERN_SECONDS


class Encoding:
    """A vocabulary, the pattern that splits text into pieces, and special tokens. Immutable; threads share it freely.

    Args:
        name: what repr() and errors call it. Encodings with different special tokens should have different names.
        pat_str: the regex that splits text. It is compiled to a table that reads each character once; blocks of 64
            bytes split faster where they know the pattern. Only what no table can express goes through the `regex`
            package, with tiktoken's Unicode tables (`pattern_engine` says which it is). None: no split, see
            without_pattern().
        mergeable_ranks: token bytes -> rank; lower ranks merge first. All 256 single bytes must be there.
        special_tokens: special token text -> id.
        explicit_n_vocab: if given, the number of tokens, special ones included, and one more than the largest id.
        engine: "fast", or "reference": a linked list and a heap without tables, the oracle of the tests. Its streams
            hold a piece until it ends, however long it is.
        pattern_seconds: seconds of processor time that a pattern that goes through `regex` may take for a million
            characters or any shorter text, in each call and each feed of a stream; longer text has proportionally more.
            A call over it raises TimeoutError. None: without a bound.
        normalizer: what is done to a text, or to each part between two special tokens, before it is split: steps in
            order, each a tuple, as ("NFC",), ("Lowercase",) or ("Replace", " ", "▁"). native/normal.pyx lists
            them; they do what those of Hugging Face's tokenizers do. None: nothing.

    Attributes:
        name: as given. It may be changed.
        max_token_value: the largest id.

    Many methods take these arguments, which mean the same in all of them:
        allowed_special: names of special tokens that become their ids where the text spells them; "all" for all. In
            streams, names may be split across chunks.
        disallowed_special: names that are refused; "all" for all that are not allowed. A name that is neither
            allowed nor refused is ordinary text, so () makes ordinary text of all that are not allowed.
        add_special_tokens: put the ids of the model's template around the ids: prefix_ids and suffix_ids.
        errors: what to do with bytes that are not UTF-8. Of text to encode: "strict" raises UnicodeDecodeError,
            "replace" and "ignore" do what bytes.decode does on the whole text. Of decoded bytes: as for bytes.decode().
        num_threads: threads to use, up to the number of cores that this process may use; None for as many as help:
            one for little work, all cores for a long text or a large batch. The ids do not depend on it.
        device: "cpu"; "cuda" or "cuda:N", a CUDA device; "auto", the GPU where it is faster. The ids do not depend on
            it. See docs/gpu.md.
        skip_special_tokens: leave out the ids of special tokens.

    Raises:
        VocabularyError: ranks that contradict themselves, a special id that is an ordinary token's too, a wrong
            explicit_n_vocab.
        ValueError: a pattern that does not compile, an unknown engine.
    """

    # Every call reads one or two of these. A slot is faster than the __dict__, which CPython 3.11 searches each time
    # once some code has asked for it: a tenth of the time of a short text.
    __slots__ = ("__dict__", "__weakref__", "_coder", "_decoder", "_default_matchers", "_plain", "_rule_decoder")

    _model: Model | None = None  # where it comes from a model's file
    _rule_decoder: Any  # a model_files.decoder_rules.RuleDecoder, where tokens are not the bytes of text; else None
    _template: Template = ((), ())
    _warns_without_pattern = True
    _pattern_seconds: float | None = _PATTERN_SECONDS
    _normalizer: Normalizer | None = None
    _chat_path: str
    _vocabulary: str  # the bundled vocabulary that it is made of, if it is
    _default_matchers: NamePair
    _plain: Names

    def __init__(
        self,
        name: str,
        *,
        pat_str: str | None,
        mergeable_ranks: dict[bytes, int] | PackedVocabulary,
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None = None,
        engine: str = "fast",
        pattern_seconds: float | None = _PATTERN_SECONDS,
        normalizer: Iterable[Iterable[Any]] | None = None,
    ):
        self._pattern_seconds, self._normalizer = pattern_seconds, normalizer_of(normalizer)
        if isinstance(mergeable_ranks, PackedVocabulary):
            self._packed = mergeable_ranks
        else:
            self._mergeable_ranks = mergeable_ranks
            self._packed = pack_ranks(mergeable_ranks)
        check_special(self._packed, special_tokens)
        vocab = build_vocabulary(self._packed, special_tokens)
        self._set_up(name, pat_str, vocab, special_tokens, explicit_n_vocab, engine)

    @classmethod
    def _bundled(
        cls, name: str, pat_str: str, vocabulary: str, special: dict[str, int], n_vocab: int | None, engine: str
    ) -> Encoding:
        """The same from the tables of a bundled vocabulary: nothing is built, and no dictionary before it is needed."""
        self = cls.__new__(cls)
        self._vocabulary = vocabulary
        self._set_up(name, pat_str, open_vocabulary(vocabulary, special), special, n_vocab, engine)
        return self

    @lazy
    def _packed(self) -> PackedVocabulary:
        return packed_of(self._vocab, self._vocabulary) if self._model is None else self._model.vocabulary

    _split, _splitter = special.split, special.splitter

    @classmethod
    def from_tiktoken(cls, encoding: Any, *, engine: str = "fast") -> Encoding:
        """The same encoding as a tiktoken.Encoding, which need not be a bundled one.

        Args:
            encoding: the tiktoken.Encoding; its name, pattern, ranks and special tokens are taken over.
            engine: as for the class.

        Raises:
            VocabularyError, ValueError: as for the class.
        """
        given = {"mergeable_ranks": encoding._mergeable_ranks, "special_tokens": encoding._special_tokens}
        return cls(encoding.name, pat_str=encoding._pat_str, **given, engine=engine)

    @classmethod
    def longest_match(
        cls,
        name: str,
        tokens: Mapping[bytes, int],
        *,
        special_tokens: dict[str, int],
        pat_str: str | None = None,
        engine: str = "fast",
    ) -> Encoding:
        """An encoding by longest match: from the left, always the longest token that the text goes on with.

        RWKV's World vocabulary is used so. docs/longest_match.md has the definition.

        Args:
            name: as for the class.
            tokens: token bytes -> id. All 256 single bytes must be there.
            special_tokens: as for the class.
            pat_str: as for the class; None: the text between two special tokens is matched as it is.
            engine: as for the class; "reference" tries each length of token.

        Raises:
            VocabularyError: an empty or too long token, a byte that is no token, an id given twice, or to a special
                token too.
            TypeError: a token is not bytes, or an id is not an int.
            ValueError: as for the class.
        """
        from .bundled.listed import pack_listed

        packed = pack_listed(tokens)
        return cls(name, pat_str=pat_str, mergeable_ranks=packed, special_tokens=special_tokens, engine=engine)

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        *,
        cache: bool = False,
        normalizer: str | None = None,
        engine: str = "fast",
        pattern_seconds: float | None = _PATTERN_SECONDS,
    ) -> Encoding:
        """The encoding of a model, from its tokenizer file. Its ids are those that Hugging Face's tokenizers gives.

        docs/models.md says which files load, and why others do not. Texts of added tokens that are not special become
        their ids in every text. Special ones go by allowed_special and disallowed_special, as for encode().

        Args:
            path: a tokenizer.json, a tekken.json, a .model of SentencePiece, a .gguf, a folder as transformers saves
                it, what compile() wrote, or another file of docs/models.md.
            cache: whether to write tables of it to the user's cache folder, where there are none. They have frequent
                words, too, and the next load takes some milliseconds. Tables that are there are used in any case,
                unless STREAMTOK_TABLES is "package"; ids do not depend on them. UserWarning, once for a folder: they
                cannot be written there.
            normalizer: "NFC", "NFD", "NFKC" or "NFKD": texts are brought to that form first. For a .gguf of BPE over
                bytes alone, which does not say whether the model's own tokenizer does that, as that of Qwen does. No
                tables are used then.
            engine: as for the class.
            pattern_seconds: as for the class.

        Raises:
            VocabularyError: a file that is damaged, or that says what is not supported; the message names the place.
            OSError: the file cannot be read, or was changed while tables of it were to be written.
            ValueError: an unknown engine, or an unknown normalizer.
        """
        from .model_files.load import load

        model, vocab, chat = load(path, cache, choice() != "package", normalizer)
        self = cls.__new__(cls)
        chats.keep(self, path, chat)
        if not isinstance(model, tuple):
            self._become(model=model, engine=engine, pattern_seconds=pattern_seconds, vocab=vocab)
        elif vocab is None:
            self.__init__(**model._asdict(), engine=engine, pattern_seconds=pattern_seconds)  # type: ignore[misc]
        else:
            self._pattern_seconds, self._packed = pattern_seconds, model.mergeable_ranks
            self._normalizer = normalizer_of(model.normalizer)
            self._set_up(model.name, model.pat_str, vocab, model.special_tokens, None, engine)
        return self

    @classmethod
    def from_hf(
        cls, tokenizer: Any, *, engine: str = "fast", pattern_seconds: float | None = _PATTERN_SECONDS
    ) -> Encoding:
        """The encoding of a tokenizer of Hugging Face's, as from_file() of its tokenizer.json.

        Args:
            tokenizer: a tokenizers.Tokenizer, or a fast tokenizer of transformers.
            engine: as for the class.
            pattern_seconds: as for the class.

        Raises:
            VocabularyError: it does what is not supported; the message names the place in its tokenizer.json.
            TypeError: another object.
            ValueError: an unknown engine.
        """
        from .model_files.read import read_hf

        self = cls.__new__(cls)._become(model=read_hf(tokenizer), engine=engine, pattern_seconds=pattern_seconds)
        self._chat_files = chats.chat_of_hf(tokenizer)
        return self

    @classmethod
    def from_pretrained(
        cls, name: str, *, revision: str | None = None, local_files_only: bool = False, cache: bool = False
    ) -> Encoding:
        """The encoding of a published model by its name on the Hugging Face Hub, as "Qwen/Qwen3-8B".

        Args:
            name: the repository, or a path. Files in the Hub's cache are taken; else the package huggingface_hub, if it
                is installed, gets those that say how text becomes ids.
            revision: a branch, a tag or a commit; None: "main". local_files_only: get nothing. cache: as from_file().

        Raises:
            FileNotFoundError: the files are not there; the message says how to get them.
            ValueError: no repository has such a name, or no revision.
        """
        from .model_files.pretrained import folder_of

        made = cls.from_file(folder_of(name, revision, local_files_only), cache=cache)
        made.name = name
        return made

    def _become(
        self,
        *,
        model: Model,
        name: str | None = None,
        engine: str = "fast",
        pattern_seconds: float | None = _PATTERN_SECONDS,
        vocab: Vocab | None = None,
        chat: tuple[dict[str, str], dict[str, str]] | None = None,
        **_: object,
    ) -> Encoding:
        if chat is not None:
            self._chat_files = chats.chat_of(*chat)
        self._model, self._template = model, model.template
        self._pattern_seconds, self._normalizer = pattern_seconds, normalizer_of(model.normalizer)
        if vocab is None:
            vocab = build_vocabulary(model.vocabulary, {}, others=model.decoded)
        self._set_up(name or model.name, model.pattern, vocab, model.special, None, engine)
        return self

    def _set_up(
        self,
        name: str,
        pat_str: str | None,
        vocab: Vocab,
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None,
        engine: str,
    ) -> None:
        self.name, self._pat_str, self._special_tokens = name, pat_str, special_tokens
        self._kind = model_named(vocab.model)
        plain = {} if self._model is None else self._model.plain
        self._added_tokens = special_tokens | plain if plain else special_tokens
        if pat_str is None and self._warns_without_pattern and self._model is None and self._kind.merges:
            warnings.warn(
                f"{shown(name)} has no pattern: texts are merged whole, and ids are not those that a model was "
                "trained on",
                stacklevel=3,
            )
        self._engine, self._vocab = engine, vocab
        self.max_token_value: int = max(vocab.highest_id, vocab.highest_other)
        check_n_vocab(vocab.count + len(special_tokens), self.max_token_value, explicit_n_vocab)
        if engine not in ENGINES:
            raise ValueError(f"unknown engine {shown(engine)}; write one of {', '.join(map(repr, ENGINES))}")
        self._special_token_values = set(special_tokens.values())
        skipped = self._special_token_values if self._model is None else self._model.added_names.skipped
        self._decoder = Decoder(vocab, skipped, id_array)
        self._rule_decoder = special.rule_decoder_of(self._model)
        self._coders: dict[str, TextCoder] = {}
        self._coder: TextCoder = self._coder_for("strict")
        self._devices: Devices | None = None  # see _device.py
        matcher = None if self._model is None else self._model.added_names.matcher
        self._names = special.SpecialNames(self.special_tokens_set, self._added_tokens, frozenset(plain), matcher)
        self._plain = self._names.find(set(), ())[0]
        self._default_matchers = self._names.find(set(), "all")
        _identity.note(self)

    def without_pattern(self) -> Encoding:
        """The same vocabulary without a split: the text between two special tokens is one piece, and merged whole.

        BlockBPE (You, 2025) tokenizes so. The ids are not those that a model was trained on, as a UserWarning
        says; docs/gpu.md shows how far they differ.
        """
        other = Encoding.__new__(Encoding)
        tokens = "_vocabulary" if "_vocabulary" in self.__dict__ else "_packed"
        setattr(other, tokens, getattr(self, tokens))
        other._normalizer = self._normalizer
        other._set_up(f"{self.name} without pattern", None, self._vocab, self._special_tokens, None, self._engine)
        return other

    def with_longest_match(self) -> Encoding:
        """The same vocabulary, pattern and special tokens, with the longest token at each place instead of merging.

        Uzan et al., "Greed is all you need" (2024), find it a good way to use vocabularies of BPE. The ids are not
        those that a model was trained on. Of a model's file normalizer, template and added tokens stay, too. Where
        longest match is the rule already, it is the encoding itself.

        Raises:
            VocabularyError: a byte is no token, as in some models' files.
        """
        return facts.with_longest_match(self, Encoding)  # type: ignore[no-any-return]

    # ==== Whole texts ====

    encode_ordinary = texts.encode_ordinary
    encode = texts.encode
    encode_to_numpy = texts.encode_to_numpy
    encode_with_offsets = texts.encode_with_offsets
    count = texts.count
    truncate = texts.truncate
    pieces = texts.pieces
    encode_ordinary_batch = batches.encode_ordinary_batch
    encode_batch = batches.encode_batch
    encode_ragged = batches.encode_ragged
    encode_padded = batches.encode_padded
    encode_arrow = batches.encode_arrow
    encode_with_unstable = texts.encode_with_unstable

    @property
    def prefix_ids(self) -> list[int]:
        """The ids that add_special_tokens=True puts in front of a text; none where the model's file names none."""
        return list(self._template[0])

    @property
    def suffix_ids(self) -> list[int]:
        """The ids that add_special_tokens=True puts behind a text; none where the model's file names none."""
        return list(self._template[1])

    @property
    def truncation(self) -> dict[str, Any] | None:
        """What a model's file says of texts that are too long, as tokenizers.Tokenizer.truncation; None: nothing.
        encode() and streams give all ids of a text all the same. encode_padded() takes it as its default."""
        return facts.setting_of_file(self, "truncation")

    @property
    def padding(self) -> dict[str, Any] | None:
        """What a model's file says of the length of rows and of pads, as tokenizers.Tokenizer.padding; None: nothing.
        encode_padded() takes it as its default; nothing else pads."""
        return facts.setting_of_file(self, "padding")

    # ==== Ids to text ====

    decode_bytes = _decoding.decode_bytes
    _bytes_of = _decoding._bytes_of
    decode = _decoding.decode
    decode_single_token_bytes = _decoding.decode_single_token_bytes
    decode_tokens_bytes = _decoding.decode_tokens_bytes
    decode_with_offsets = _decoding.decode_with_offsets
    decode_batch = _decoding.decode_batch
    decode_bytes_batch = _decoding.decode_bytes_batch
    stream_decoder = _decoding.stream_decoder

    # ==== Streams and files ====

    stream_encoder = _streaming.stream_encoder
    encode_stream = _streaming.encode_stream
    encode_stream_async = _streaming.encode_stream_async
    encode_file = _streaming.encode_file

    # ==== What servers ask ====

    session = methods.session
    batch_decoder = methods.batch_decoder
    token_table = methods.token_table
    token_strs = methods.token_strs
    first_difference = methods.first_difference
    is_canonical = methods.is_canonical
    canonical_check = methods.canonical_check
    encode_segments = methods.encode_segments
    completions = methods.completions
    encode_chat = chats.encode_chat
    render_chat = chats.render_chat
    chat_template = property(chats.chat_template_of)
    _chat_kept, _chat_files = property(chats.kept), lazy(chats.made_chat_files)

    _token_lengths = lazy(facts.token_lengths)
    _token_table = lazy(methods.made_token_table)
    _tokens_by_bytes = lazy(methods.made_tokens_by_bytes)

    # ==== Facts ====

    encode_single_token = facts.encode_single_token
    token_byte_values = facts.token_byte_values
    is_special_token = facts.is_special_token
    get_vocab = facts.get_vocab
    _encode_single_piece = facts._encode_single_piece
    _encode_by_merging = facts._encode_by_merging
    _encode_only_native_bpe = facts._encode_only_native_bpe
    _encode_bytes = facts._encode_bytes
    _sorted_tokens = lazy(facts.sorted_tokens)

    @property
    def pattern_engine(self) -> str:
        """What splits by the pattern: "blocks", which read 64 bytes at a time; "table", a compiled pattern, which reads
        each character once; "regex", the `regex` package, for a pattern that no table can express, which is far slower;
        or "none" without a pattern.
        """
        return engine_of(self._split)

    @property
    def eot_token(self) -> int:
        """The id of <|endoftext|>. KeyError: the encoding has no such token."""
        return self._special_tokens["<|endoftext|>"]

    @lazy
    def special_tokens_set(self) -> set[str]:
        """The texts of the special tokens."""
        return set(self._special_tokens.keys())

    @property
    def n_vocab(self) -> int:
        """max_token_value + 1: the size of a table with a row for each id, unused ids included."""
        return self.max_token_value + 1

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    compile = facts.compile_to
    _matchers_for, _coder_for, _extras = special.matchers_for, special.coder_for, facts.extras
    _mergeable_ranks = lazy(facts.mergeable_ranks)

    # ==== Identity, pickles and copies: _identity.py ====

    @lazy
    def fingerprint(self) -> str:
        """sha256, in hex, of all that decides the ids: tokens, ranks or merges, pattern, special tokens, normalizer."""
        return _identity.fingerprint_of(self)

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        return _identity.reduced(self) if _identity.is_ours(self) else super().__reduce_ex__(protocol)

    def __deepcopy__(self, memo: dict[int, object]) -> Encoding:
        return self.__copy__()

    __copy__ = _identity.copied
    __getstate__ = _identity.state_of
    __setstate__ = _identity.take_state


for _name, _method in list(vars(Encoding).items()):
    while isinstance(_method, FunctionType):  # messages and pickles name it Encoding.method, wherever it lies
        _method.__qualname__, _method.__module__ = f"Encoding.{_name}", __name__
        _method = getattr(_method, "__wrapped__", None)
