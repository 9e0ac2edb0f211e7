"""Which encoding a model uses. The names are those of tiktoken 0.14."""

from __future__ import annotations

from .errors import shortened
from .registry import get_encoding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .core import Encoding


def _table(**models_of: str) -> dict[str, str]:
    """{model: encoding} from encoding="model model ..."; the order of the keywords is the order of search."""
    return {model: name for name, models in models_of.items() for model in models.split()}


# Tried in this order, the first that fits wins: "ft:gpt-4o" has to stand before "ft:gpt-4", which starts it.
MODEL_PREFIX_TO_ENCODING: dict[str, str] = {
    "o1-": "o200k_base",
    "o3-": "o200k_base",
    "o4-mini-": "o200k_base",
    "gpt-5": "o200k_base",
    "gpt-4.5-": "o200k_base",
    "gpt-4.1-": "o200k_base",
    "chatgpt-4o-": "o200k_base",
    "gpt-4o-": "o200k_base",
    "gpt-4-": "cl100k_base",
    "gpt-3.5-turbo-": "cl100k_base",
    "gpt-35-turbo-": "cl100k_base",  # Azure writes the name without its dot
    "gpt-oss-": "o200k_harmony",
    "ft:gpt-4o": "o200k_base",
    "ft:gpt-4": "cl100k_base",
    "ft:gpt-3.5-turbo": "cl100k_base",
    "ft:davinci-002": "cl100k_base",
    "ft:babbage-002": "cl100k_base",
}
"""Beginning of a model's name -> name of its encoding."""

MODEL_TO_ENCODING: dict[str, str] = _table(
    o200k_base="o1 o3 o4-mini gpt-5 gpt-4.1 gpt-4o",
    cl100k_base="""
        gpt-4 gpt-3.5-turbo gpt-3.5 gpt-35-turbo davinci-002 babbage-002
        text-embedding-ada-002 text-embedding-3-small text-embedding-3-large""",
    p50k_base="""
        text-davinci-003 text-davinci-002 code-davinci-002 code-davinci-001
        code-cushman-002 code-cushman-001 davinci-codex cushman-codex""",
    p50k_edit="text-davinci-edit-001 code-davinci-edit-001",
    r50k_base="""
        text-davinci-001 text-curie-001 text-babbage-001 text-ada-001 davinci curie babbage ada
        text-similarity-davinci-001 text-similarity-curie-001
        text-similarity-babbage-001 text-similarity-ada-001
        text-search-davinci-doc-001 text-search-curie-doc-001
        text-search-babbage-doc-001 text-search-ada-doc-001
        code-search-babbage-code-001 code-search-ada-code-001""",
    gpt2="gpt2 gpt-2",
)
"""Model -> name of its encoding."""


def encoding_name_for_model(model_name: str) -> str:
    """The name of the encoding that a model uses: "gpt-4o" -> "o200k_base".

    A model that is not in the table is looked up by the known prefixes, so that a dated release
    ("gpt-4o-2024-05-13") needs no new version of this package; a made-up one with a known prefix passes too.

    Args:
        model_name: the name of a model of OpenAI's.

    Raises:
        KeyError: neither the name nor a prefix of it is known.
    """
    if model_name in MODEL_TO_ENCODING:
        return MODEL_TO_ENCODING[model_name]
    for prefix, name in MODEL_PREFIX_TO_ENCODING.items():
        if model_name.startswith(prefix):
            return name
    raise KeyError(
        f"Could not automatically map {shortened(model_name)} to a tokeniser. "
        "Please use `streamtok.get_encoding` to explicitly get the tokeniser you expect."
    )


def encoding_for_model(model_name: str) -> Encoding:
    """The encoding that a model uses.

    Args:
        model_name: as for encoding_name_for_model().

    Raises:
        KeyError: neither the name nor a prefix of it is known.
    """
    return get_encoding(encoding_name_for_model(model_name))
