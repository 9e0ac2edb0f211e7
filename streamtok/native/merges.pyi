FIRST_FRAGMENT: int
SILENT: int
KINDS: dict[str, int]

def ordered(
    blob: bytes,
    lengths: bytes,
    ids: bytes,
    kinds: bytes,
    left: bytes,
    right: bytes,
    made: bytes,
    whole: bool,
) -> tuple[bytes, bytes, bytes, bytes]: ...
