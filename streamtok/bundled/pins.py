"""The data of the bundled vocabularies as a distribution of its own, streamtok-vocab: wheels of streamtok on a package
index hold code alone and ask for one version of it. A build from source has the data inside (setup.py)."""

VERSION = "9.0.0"
"""Of streamtok-vocab: a change of a file below is a new one. The first number is the version of images
(csrc/image/image.h)."""

SUMS = {
    "r50k_base": "73636f6d706163742160a76b493467d6",
    "p50k_base": "73636f6d7061637442b35277379cb734",
    "cl100k_base": "73636f6d706163746cc835ca30820355",
    "o200k_base": "73636f6d70616374cde8b97575e3d5e7",
}
"""Checksums of its tables, as they stand in the first 16 bytes of each file."""

WANTED = f"pip install streamtok-vocab=={VERSION}, or install streamtok anew"
"""What to do where they are missing, or others."""
