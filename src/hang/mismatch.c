/* mismatch.c - ranks that call different things under one number of a group. */
#include <stdlib.h>

#include "base/search.h"
#include "hang/internal.h"

typedef struct shown { /* what one rank calls */
    uint32_t rank, key;
    const hang_signature *signature;
} shown;

ASSAY_ORDER_BY(by_key, shown, key, rank)

/* Names the ranks outside of the largest class; all, where two are equally large. 0: all are alike. */
static uint32_t name_minority(shown *list, uint32_t count, uint32_t *named)
{
    uint32_t largest = 0, from = 0, n = 0;
    bool twice = false;
    qsort(list, count, sizeof *list, by_key);
    if (list[0].key == list[count - 1].key)
        return 0;
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && list[end].key == list[i].key; end++) {
        }
        twice = end - i == largest || (twice && end - i < largest);
        if (end - i > largest) {
            largest = end - i;
            from = i;
        }
    }
    for (uint32_t i = 0; i < count; i++)
        if (twice || i < from || i >= from + largest)
            named[n++] = list[i].rank;
    qsort(named, n, sizeof *named, assay_order_u32);
    return n;
}

/* Sizes come from files, so sums may overflow. */
static int64_t add_saturated(int64_t a, int64_t b)
{
    int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Tells of an exchange between all whether more goes in than comes out. */
static bool totals_differ(const shown *list, uint32_t count)
{
    int64_t put_in = 0, got = 0;
    for (uint32_t i = 0; i < count; i++) {
        const hang_signature *s = list[i].signature;
        if (!s->all_to_all || s->put_in < 0 || s->got < 0)
            return false;
        put_in = add_saturated(put_in, s->put_in);
        got = add_saturated(got, s->got);
    }
    return put_in != got;
}

/* Names, then types, then sizes: the first that differs is told of, since what follows differs as a consequence. Both
 * *kind and `named` are of that. */
uint32_t hang_compare(const hang_world *w, uint32_t group, int64_t number, const char **kind, uint32_t *named,
                      uint32_t *shown_by)
{
    static const char *const kinds[] = {"operation", "dtype", "size"};
    const hang_group *g = &w->group[group];
    shown *list = hang_take((hang_world *)w, g->members, sizeof *list);
    uint32_t count = 0, found = 0;
    *kind = NULL;
    *shown_by = 0;
    for (uint32_t m = g->member; list && m < g->member + g->members; m++) {
        const assay_flight_item *item = hang_item(&w->member[m], number);
        if (!item || item->open || w->rank[w->member[m].rank].known == HANG_OLDER)
            continue;
        const hang_signature *s = hang_signature_of(w, &w->member[m], item);
        if (s->compared)
            list[count++] = (shown){w->member[m].rank, 0, s};
    }
    *shown_by = count;
    for (int k = 0; k < 3 && count >= 2 && found == 0; k++) {
        for (uint32_t i = 0; i < count; i++)
            list[i].key = k == 0   ? list[i].signature->names
                          : k == 1 ? list[i].signature->types
                                   : list[i].signature->sizes;
        found = name_minority(list, count, named);
        *kind = found ? kinds[k] : NULL;
    }
    if (found == 0 && count >= 2 && count == g->members && totals_differ(list, count)) {
        *kind = "total";
        for (uint32_t i = 0; i < count; i++)
            named[found++] = list[i].rank;
        qsort(named, found, sizeof *named, assay_order_u32);
    }
    return found;
}
