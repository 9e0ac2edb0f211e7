"""Encoding on CUDA devices through CuPy. Importing it imports neither CuPy nor CUDA; making a GpuEncoder does."""

from ._errors import DeviceError as DeviceError
from ._errors import DeviceMemoryError as DeviceMemoryError
from ._select import calibrate as calibrate
from .decode_pipeline import GpuDecodePipeline as GpuDecodePipeline
from .decoder import GpuDecoder as GpuDecoder
from .decoder import GpuStreamDecoder as GpuStreamDecoder
from .encoder import GpuEncoder as GpuEncoder
from .encoder import Timing as Timing
from .pipeline import GpuPipeline as GpuPipeline
