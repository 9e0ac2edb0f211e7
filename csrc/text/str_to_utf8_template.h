/* str_to_utf8_template.h - st_code_points (str_to_utf8.h) for the tier of the file that includes it (base/vector.h). ST_LANES code
 * points are spread to four bytes each, and the bytes that count are pressed together; four vectors of ASCII lose their zeros at
 * once. What differs from tier to tier is defined in front:
 *
 *     points_load(from, width)           ST_LANES code points of `width` bytes each
 *     points_load_some(from, count, width)
 *                                        fewer of them, zeros behind
 *     points_press(bytes, two, three, four, to)
 *                                       writes the bytes that count, and returns where they end. `bytes` holds four of each code
 *                                        point, zeros behind those that count, a zero counts as one byte
 *     points_narrow(c, width, to)        writes one byte each of the ASCII_POINTS numbers in c[0..width)
 *     POINTS_ASCII_APART                 1 where a vector of ASCII is narrowed by itself, which takes a branch: of sixteen code
 *                                        points it pays, of eight it made text of many scripts a fifth slower. Then
 *     points_narrow_one(c, to)           writes one byte each of ST_LANES numbers */
#include "text/str_to_utf8.h"

#define ASCII_POINTS (4 * ST_LANES) /* code points that are narrowed together where all are ASCII: `width` vectors */

/* Six bits of the code points from bit number `from` on, as a continuation byte in the byte number `to` of each lane. */
ST_FORCE_INLINE st_lanes continuation(st_lanes c, int from, int to)
{
    const st_lanes bits = st_lanes_and(st_lanes_right(c, from), st_lanes_all(0x3F));
    return st_lanes_left(st_lanes_or(bits, st_lanes_all(0x80)), 8 * to);
}

ST_FORCE_INLINE st_lanes lead(st_lanes c, int from, uint32_t mark)
{
    return st_lanes_or(st_lanes_right(c, from), st_lanes_all(mark));
}

/* Masks of the code points with so many bytes or more. */
typedef struct point_sizes {
    st_where two, three, four;
} point_sizes;

static inline point_sizes sizes_of(st_lanes c)
{
    return (point_sizes){st_lanes_over(c, 0x7F), st_lanes_over(c, 0x7FF), st_lanes_over(c, 0xFFFF)};
}

/* The bytes of each, the first lowest, zeros behind them. */
static inline st_lanes spread(st_lanes c, const point_sizes *s)
{
    const st_lanes two = st_lanes_or(lead(c, 6, 0xC0), continuation(c, 0, 1));
    const st_lanes three = st_lanes_or(st_lanes_or(lead(c, 12, 0xE0), continuation(c, 6, 1)), continuation(c, 0, 2));
    const st_lanes bytes = st_lanes_pick(s->three, three, st_lanes_pick(s->two, two, c));
    if (!st_where_any(s->four)) /* nearly always */
        return bytes;
    const st_lanes last = st_lanes_or(continuation(c, 6, 2), continuation(c, 0, 3));
    const st_lanes four = st_lanes_or(st_lanes_or(lead(c, 18, 0xF0), continuation(c, 12, 1)), last);
    return st_lanes_pick(s->four, four, bytes);
}

/* Writes ST_LANES code points and returns where their bytes end; *wrong: some yes from then on where one is a surrogate. */
ST_FORCE_INLINE uint8_t *put_all(st_lanes c, uint8_t *to, st_where *wrong)
{
    const point_sizes s = sizes_of(c);
#if POINTS_ASCII_APART
    if (!st_where_any(s.two)) {
        points_narrow_one(c, to);
        return to + ST_LANES;
    }
#endif
    *wrong = st_where_or(*wrong, st_lanes_same(st_lanes_and(c, st_lanes_all(0xFFFFF800)), st_lanes_all(0xD800)));
    return points_press(spread(c, &s), s.two, s.three, s.four, to);
}

/* The same with up to ST_LANES of `width` bytes each. */
ST_FORCE_INLINE uint8_t *take(const uint8_t *from, size_t count, unsigned width, uint8_t *to, st_where *wrong)
{
    if (count == ST_LANES)
        return put_all(points_load(from, width), to, wrong);
    return put_all(points_load_some(from, count, width), to, wrong) - (ST_LANES - count); /* what is not there was a zero */
}

/* The next ASCII_POINTS characters, if all are ASCII: most of a text is, where one character beyond it has widened all. */
ST_FORCE_INLINE int take_ascii(const uint8_t *from, unsigned width, uint8_t *to)
{
    st_lanes c[4], any = st_lanes_all(0);
    for (unsigned i = 0; i < width; i++) {
        c[i] = st_lanes_load(from + ASCII_POINTS * i);
        any = st_lanes_or(any, c[i]);
    }
    if (st_lanes_meet(any, st_lanes_all(width == 1 ? 0x80808080 : width == 2 ? 0xFF80FF80 : 0xFFFFFF80)))
        return 0;
    points_narrow(c, width, to);
    return 1;
}

ST_FORCE_INLINE size_t convert(const uint8_t *from, size_t n, unsigned width, uint8_t *to)
{
    uint8_t *const first = to;
    st_where wrong = st_lanes_over(st_lanes_all(0), 0); /* none */
    for (size_t i = 0; i < n;) {
        if (n - i >= ASCII_POINTS && take_ascii(from + i * width, width, to)) {
            i += ASCII_POINTS;
            to += ASCII_POINTS;
            continue;
        }
        const size_t end = n - i < ASCII_POINTS ? n : i + ASCII_POINTS;
        for (; i < end; i += ST_LANES)
            to = take(from + i * width, end - i < ST_LANES ? end - i : ST_LANES, width, to, &wrong);
    }
    return st_where_any(wrong) ? ST_NOT_CONVERTED : (size_t)(to - first);
}

/* Compiled anew for each width. */
static size_t ST_OF_TIER(st_code_points)(const void *characters, size_t n, unsigned width, uint8_t *to)
{
    switch (width) {
    case 1:
        return convert(characters, n, 1, to);
    case 2:
        return convert(characters, n, 2, to);
    default:
        return convert(characters, n, 4, to);
    }
}
