# Texts that are normalized on the host, for a device that splits and merges.
from libc.stdint cimport uint8_t

from .normal cimport Normalizer


# Whether a text is UTF-8, of which Python vouches where it is trusted, and the normalizer leaves it as it is.
cdef bint is_kept(Normalizer normalizer, const uint8_t *data, size_t n, bint trusted) noexcept
