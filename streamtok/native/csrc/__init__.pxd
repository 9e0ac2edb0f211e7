# The C headers restated, a file for each room of csrc/, as far as the Cython modules use them. No logic here.
