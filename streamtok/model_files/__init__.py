"""Files of models: read strictly, and turned into what an Encoding is made of."""

from .model import Model
from .read import read_hf, read_model

__all__ = ["Model", "read_hf", "read_model"]
