"""The name by which pickles find what makes an encoding again: it stays, wherever that lies."""

from ._identity import _by_name as _by_name
from ._identity import _revived as _revived
