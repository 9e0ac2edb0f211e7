"""The C core and what of Python must be as fast: Cython modules over csrc/. Nothing here decides; callers do."""
