"""Bytes that no text has, in tokens of vocabularies whose pieces the core writes anew (csrc/models/symbols.h)."""

ENDING, UNKNOWN, BEGINNING, BYTE = b"\xff", b"\xfe", b"\xfd", b"\xfc"
