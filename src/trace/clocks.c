/* clocks.c - how far ranks' clocks are apart: members of a symmetric operation end it together. */
#include <stdlib.h>

#include "base/fault.h"
#include "base/search.h"
#include "trace/side.h"

typedef struct edge { /* how far the clock of `to` is ahead of that of `from` */
    uint32_t from, to;
    int64_t ahead;
} edge;

ASSAY_ORDER_BY(compare_edges, edge, from, to, ahead)

static int order_of_from(const void *item, const void *key)
{
    return ASSAY_ORDER(((const edge *)item)->from, *(const uint32_t *)key);
}

typedef ASSAY_VEC(edge) edges;

/* Every difference of ends that an operation shows, the lowest member's from the others'. */
static int collect_differences(const side *s, edges *out)
{
    for (size_t i = 0; i < s->operation.count; i++) {
        const operation *o = &s->operation.list[i];
        const member *m = &s->member.list[o->first];
        for (uint32_t k = 1; k < o->members && o->matched && o->symmetric; k++) {
            edge *to = ASSAY_VEC_ADD(out);
            ASSAY_HAVE(to);
            *to = (edge){m[0].rank, m[k].rank, m[k].end - m[0].end};
        }
    }
    return ASSAY_OK;
}

/* The lower median for each pair, in both directions. */
static int keep_medians(edges *all)
{
    size_t kept = 0;
    if (all->count > 1)
        qsort(all->list, all->count, sizeof *all->list, compare_edges);
    for (size_t from = 0, to; from < all->count; from = to) {
        const edge *first = &all->list[from];
        for (to = from + 1; to < all->count && all->list[to].from == first->from && all->list[to].to == first->to;)
            to++;
        all->list[kept++] = all->list[from + (to - from - 1) / 2];
    }
    all->count = kept;
    for (size_t i = 0; i < kept; i++) {
        edge *back = ASSAY_VEC_ADD(all);
        ASSAY_HAVE(back);
        *back = (edge){all->list[i].to, all->list[i].from, -all->list[i].ahead};
    }
    if (all->count > 1)
        qsort(all->list, all->count, sizeof *all->list, compare_edges);
    return ASSAY_OK;
}

int trace_find_clocks(side *s)
{
    const size_t ranks = s->rank.count;
    edges all = {0};
    uint32_t *queue = assay_alloc((ranks + 1) * sizeof *queue);
    bool *known = assay_alloc_zeroed(ranks + 1, sizeof *known);
    int status = queue && known ? collect_differences(s, &all) : ASSAY_ENOMEM;
    ASSAY_THEN(status, keep_medians(&all));
    for (uint32_t root = 0; root < ranks && status == ASSAY_OK; root++) {
        size_t next = 0, end = 0;
        if (known[root])
            continue;
        known[root] = true; /* a part of its own: its clock is the measure there */
        queue[end++] = root;
        while (next < end) {
            const uint32_t at = queue[next++];
            size_t i = assay_lower_bound(all.list, all.count, sizeof *all.list, &at, order_of_from);
            for (; i < all.count && all.list[i].from == at; i++) {
                const uint32_t to = all.list[i].to;
                if (known[to])
                    continue;
                known[to] = true;
                s->data->clock[to] = s->data->clock[at] + all.list[i].ahead;
                queue[end++] = to;
            }
        }
    }
    free(all.list);
    free(queue);
    free(known);
    return status;
}
