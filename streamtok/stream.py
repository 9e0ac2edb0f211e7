"""The name by which pickles find what makes a stream again: it stays, wherever that lies."""

from ._stream import StreamDecoder as StreamDecoder
from ._stream import StreamEncoder as StreamEncoder
from ._stream import _restore as _restore
from ._stream import _restore_decoder as _restore_decoder
