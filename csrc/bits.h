/* Bit positions, by one instruction where the compiler has a word for it. */
#ifndef ST_BITS_H
#define ST_BITS_H

/* Number of the lowest bit that is set; bits != 0. */
static inline unsigned st_lowest_bit(unsigned bits)
{
#if defined(__GNUC__) || defined(__clang__)
    return (unsigned)__builtin_ctz(bits);
#else
    unsigned at = 0;
    while (!(bits >> at & 1))
        at++;
    return at;
#endif
}

#endif
