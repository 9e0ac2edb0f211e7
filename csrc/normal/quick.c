#include "normal/quick.h"

#include "base/tier.h"
#include "base/load.h"

#define HIGH_BITS UINT64_C(0x8080808080808080)

int st_normal_fits(st_form form, const uint8_t *text, size_t at)
{
    unsigned size;
    const uint32_t point = st_utf8_decode(text + at, &size);
    const unsigned entry = st_normal_entry(point);
    const int may_change = st_normal_in(point, form);
    if (may_change && (entry & ST_ENTRY_DECOMPOSES || !(entry & (ST_ENTRY_CLASS | ST_ENTRY_SECOND))))
        return 0;
    if (!at)
        return 1;
    const uint8_t *before = text + at - st_utf8_size_before(text, at);
    const uint32_t front = st_utf8_decode(before, &size);
    if (!may_change) /* a plain mark: it has to be in order */
        return st_class_of_entry(st_normal_entry(front)) <= (entry & ST_ENTRY_CLASS);
    if (!(entry & ST_ENTRY_CLASS))
        return st_starts_run(form, text + at, before);
    int joins = 1;
    if (!(st_normal_entry(front) & (ST_ENTRY_CLASS | ST_ENTRY_DECOMPOSES)))
        st_compose_or_join(front, point, &joins);
    return !joins;
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
