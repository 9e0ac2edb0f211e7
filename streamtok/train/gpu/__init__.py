"""Training on a CUDA device: the same merges as on the CPU. Importing it imports neither CuPy nor CUDA."""
