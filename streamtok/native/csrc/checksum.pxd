from libc.stdint cimport uint8_t, uint32_t, uint64_t


cdef extern from "checksum/crc32.h" nogil:
    enum:
        ST_CRC32_REST
    size_t st_crc32_fold(const uint8_t *data, size_t n, uint32_t before, uint8_t *rest)
    uint32_t st_crc32_joined(uint32_t first, uint32_t second, uint64_t n)


cdef extern from "checksum/sum64.h" nogil:
    uint64_t st_sum64(const uint8_t *data, size_t n)
