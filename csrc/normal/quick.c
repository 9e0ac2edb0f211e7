#include "normal/quick.h"

#include "base/tier.h"
#include "base/load.h"

#define HIGH_BITS UINT64_C(0x8080808080808080)

int st_normal_fits(st_form form, const uint8_t *text, size_t at)
{
    unsigned size;
    const uint32_t front = at ? st_utf8_decode(text + at - st_utf8_size_before(text, at), &size) : ST_NO_CHAR;
    return st_char_fits(form, st_utf8_decode(text + at, &size), front);
}

size_t st_normal_quick_from(st_form form, const uint8_t *text, size_t at, size_t n)
{
    unsigned size;
    while (at < n) {
        if (text[at] < 0x80) {
            at++;
            while (at + 8 <= n && !(st_load64(text + at) & HIGH_BITS))
                at += 8;
            continue;
        }
        const uint32_t point = st_utf8_decode(text + at, &size);
        const uint64_t *masks = st_normal_masks + st_normal_row(point) * ST_MASKS;
        if ((masks[form] | masks[ST_MASK_MARKS]) >> (point & 63) & 1 && !st_normal_fits(form, text, at))
            return at;
        at += size;
    }
    return n;
}

size_t st_normal_quick(st_form form, const uint8_t *text, size_t n)
{
    return st_tier()->normal_quick ? st_tier()->normal_quick(form, text, n) : st_normal_quick_from(form, text, 0, n);
}
