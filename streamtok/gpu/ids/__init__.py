"""What a device does with ids: decoding, and rows for models. Importing it imports neither CuPy nor CUDA."""
