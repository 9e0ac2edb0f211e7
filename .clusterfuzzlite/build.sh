#!/bin/bash -eu
# The compilers, their flags and the engine are in variables that tools/fuzz.py reads.
python3 tools/fuzz.py --build "$OUT"
