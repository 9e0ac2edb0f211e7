"""Files of models: read strictly, and turned into what an Encoding is made of."""

from .model import Model
from .read import read_hf, read_model
from .write import tokenizer_config, tokenizer_json

__all__ = ["Model", "read_hf", "read_model", "tokenizer_config", "tokenizer_json"]
