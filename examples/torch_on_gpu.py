"""Text to a torch tensor on the GPU: encoded there, never copied back.

    pip install torch "streamtok[cuda12]"         # or cuda13, whichever fits the driver
    python examples/torch_on_gpu.py [FILE]

GpuEncoder encodes with CUDA kernels and leaves the ids in the device's memory as a CuPy array. torch.from_dlpack makes
a tensor over that memory. The ids are those of the CPU. Without a GPU the script says what is missing, and exits with
status 1; to run the same program with and without one, write encoding.encode_to_numpy(text, device="auto").
"""

import pathlib
import sys

import streamtok

SAMPLE = "The text goes to the device once, and the ids stay there. 🤗\n" * 1000


def ids_on_device(text: str, encoding: streamtok.Encoding) -> "torch.Tensor":  # noqa: F821
    """The ids as an int32 tensor on the first CUDA device. Raises streamtok.gpu.DeviceError where there is none."""
    import torch

    from streamtok.gpu import GpuEncoder

    ids = GpuEncoder(encoding, ids="int32").encode(text)  # int32: torch knows few operations on uint32
    return torch.from_dlpack(ids)


def main() -> None:
    from streamtok.gpu import DeviceError

    text = pathlib.Path(sys.argv[1]).read_text("utf-8") if len(sys.argv) > 1 else SAMPLE
    try:
        ids = ids_on_device(text, streamtok.get_encoding("o200k_base"))
    except (DeviceError, ImportError) as error:
        sys.exit(f"this recipe needs an NVIDIA GPU, CuPy and torch: {error}")
    print(f"{len(ids):,} ids on {ids.device}, dtype {ids.dtype}; the largest is {ids.max().item()}")


if __name__ == "__main__":
    main()
