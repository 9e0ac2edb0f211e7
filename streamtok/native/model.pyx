"""The models that a vocabulary may have (csrc/vocab/model.h), by their names."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.ref cimport Py_INCREF
from libc.stdint cimport uint32_t
from libc.string cimport memcpy, memset

from .csrc.longest cimport ST_MOST_PREFIX, st_wordpiece
from .csrc.models cimport st_model_add, st_model_at, st_model_named
from .csrc.unigram cimport *
from .csrc.vocab cimport *
from ..errors import VocabularyError

CAPSULE: str = "streamtok.st_model"
_FACTS = {
    "merges": ST_MODEL_MERGES,
    "has_bytes": ST_MODEL_HAS_BYTES,
    "has_cuts": ST_MODEL_HAS_CUTS,
    "joins": ST_MODEL_JOINS,
    "keeps_bytes": ST_MODEL_KEEPS_BYTES,
    "keeps_tokens": ST_MODEL_KEEPS_TOKENS,
}


cdef const st_model *model_of(str name) except NULL:
    """The model of that name. VocabularyError: there is none."""
    cdef bytes encoded = name.encode()
    cdef const st_model *model = st_model_named(PyBytes_AS_STRING(encoded))
    if model == NULL:
        raise VocabularyError(f"there is no model {name!r}; there are {', '.join(known())}")
    return model


def known() -> list[str]:
    """The names of all models, in a list."""
    cdef size_t i = 0
    names = []
    while st_model_at(i) != NULL:
        names.append(st_model_at(i).name.decode())
        i += 1
    return names


def facts(str name not None) -> frozenset[str]:
    """What holds of a model, a frozenset of names: see csrc/vocab/model.h."""
    cdef unsigned bits = model_of(name).facts
    return frozenset(fact for fact, bit in _FACTS.items() if bits & <unsigned>bit)


def add(capsule: object) -> str:
    """Adds a model from outside: a capsule named CAPSULE of an st_model, which then stays for good.

    Returns its name. ValueError: it is no such capsule, there is a model of that name, or there are too many."""
    cdef const st_model *model = <const st_model *>PyCapsule_GetPointer(capsule, "streamtok.st_model")
    if not st_model_add(model):
        raise ValueError(f"the model {model.name.decode()!r} is there already, or there are too many")
    Py_INCREF(capsule)
    return model.name.decode()


def word_rule(uint32_t unknown, uint32_t most, bytes prefix not None) -> bytes:
    """What a vocabulary of WordPiece has of its own: the index of the unknown token, most characters of a word, and what
    a token begins with that goes on in a word."""
    cdef st_wordpiece rule
    if <size_t>len(prefix) > ST_MOST_PREFIX:
        raise ValueError(f"a prefix has at most {ST_MOST_PREFIX} bytes, not {len(prefix)}")
    memset(&rule, 0, sizeof(rule))
    rule.unknown, rule.most, rule.prefix_size = unknown, most, <uint32_t>len(prefix)
    memcpy(rule.prefix, <const char *>prefix, len(prefix))
    return PyBytes_FromStringAndSize(<const char *>&rule, sizeof(rule))


def word_rule_of(bytes own not None) -> tuple[int, int, bytes]:
    """The arguments of word_rule() that made these bytes."""
    cdef const st_wordpiece *rule = <const st_wordpiece *>PyBytes_AS_STRING(own)
    return rule.unknown, rule.most, rule.prefix[:rule.prefix_size]


MOST_SCORED_BYTES: int = ST_UNIGRAM_MOST_BYTES
"""Bytes that the tokens of a Unigram vocabulary may have, all together."""


def unigram_rule(
    uint32_t unknown, double unknown_score, bint single, bint fallback, byte_tokens: Iterable[int], bytes scores not None,
) -> bytes:
    """What a vocabulary of Unigram has of its own: the index of the unknown token, and the score of an unknown character; whether
    sums are those of SentencePiece, in single precision; whether unknown characters become tokens of bytes, the 256 indices of these,
    -1 for none; and the scores of all tokens by index, as doubles."""
    cdef bytes made = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>(ST_UNIGRAM_HEAD + <size_t>len(scores)))
    cdef st_unigram *rule = <st_unigram *>PyBytes_AS_STRING(made)
    memset(rule, 0, ST_UNIGRAM_HEAD)
    rule.unknown_score, rule.unknown = unknown_score, unknown
    rule.flags = (ST_UNIGRAM_SINGLE if single else 0) | (ST_UNIGRAM_FALLBACK if fallback else 0)
    for i, token in enumerate(byte_tokens):
        rule.bytes[<unsigned char>i] = ST_NONE if token < 0 else token
    memcpy(PyBytes_AS_STRING(made) + ST_UNIGRAM_HEAD, PyBytes_AS_STRING(scores), len(scores))
    return made


def unigram_scores(bytes own not None) -> bytes:
    """The scores of the tokens in what unigram_rule() has made, as bytes of doubles."""
    return own[ST_UNIGRAM_HEAD:]
