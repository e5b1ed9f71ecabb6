/* clocks.c - how far clocks of ranks are apart, by collectives that end on all of their ranks together.
 *
 * A rank notes when it saw that a collective had completed; its watchdog looks every 100 ms or so. One that each waits for
 * all others in ends everywhere within a moment: the median of the differences over several of them is what clocks differ
 * by. From the first rank on, groups lead from rank to rank. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/hash.h"
#include "base/search.h"
#include "base/vec.h"
#include "hang/hang.h"

enum { LEAST = 3 /* collectives of two ranks, or nothing is said */ };
static const double SPREAD = 0.5; /* seconds by which the middle half of the differences may lie apart */

typedef struct member { /* of a group: a row that has it */
    uint64_t group;     /* a hash of its name and its ranks */
    uint32_t row, at;   /* at: into the row's groups */
} member;

typedef struct clocks {
    const assay_flight_row *row;
    ASSAY_VEC(member) member; /* by group, then by row */
    ASSAY_VEC(double) apart;  /* room for differences */
    assay_hang_clock *clock;  /* by row */
} clocks;

ASSAY_ORDER_BY(order_members, member, group, row)

/* Ranks may give different groups one name, so their members count as well. */
static uint64_t key_of(const assay_flight_group *g)
{
    const uint64_t parts[] = {assay_hash_bytes(g->name, strlen(g->name)),
                              assay_hash_bytes(g->run, g->runs * sizeof *g->run)};
    return assay_hash_bytes(parts, sizeof parts);
}

/* Tells whether it ends on no rank before all have come. Who sends to others only may be done before they are. */
static bool ends_together(const assay_flight_row *row, const assay_flight_item *i)
{
    const char *name =
        i->signature < row->signatures && row->signature[i->signature].name ? row->signature[i->signature].name : "";
    return i->completed > 0 && !i->open && (strstr(name, "all_") || strstr(name, "reduce_scatter"));
}

/* Sets how far a clock is ahead of another one's, which is known. False without memory. Differences that lie too far
 * apart say nothing, and the clock stays unknown. */
static bool compare(clocks *c, const member *known, const member *other)
{
    const assay_flight_row *a = &c->row[known->row], *b = &c->row[other->row];
    const assay_flight_group *g = &a->group[known->at], *h = &b->group[other->at];
    c->apart.count = 0;
    for (uint32_t i = 0, k = 0; i < g->items && k < h->items;) {
        const assay_flight_item *x = &g->item[i], *y = &h->item[k];
        double *apart = NULL;
        if (x->number == y->number && ends_together(a, x) && ends_together(b, y)) {
            apart = ASSAY_VEC_ADD(&c->apart);
            if (!apart)
                return false;
            *apart = ((double)y->completed - (double)x->completed) / 1e9;
        }
        const int64_t next = x->number < y->number ? x->number : y->number;
        i += x->number == next;
        k += y->number == next;
    }
    const size_t n = c->apart.count;
    if (n < LEAST)
        return true;
    qsort(c->apart.list, n, sizeof *c->apart.list, assay_order_f64);
    if (c->apart.list[n - 1 - n / 4] - c->apart.list[n / 4] <= SPREAD)
        c->clock[other->row] = (assay_hang_clock){
            .rank = b->rank, .ahead = c->clock[known->row].ahead + c->apart.list[n / 2], .collectives = (uint32_t)n};
    return true;
}

/* Groups with fewer items than LEAST can tell nothing. */
static bool list_members(clocks *c, size_t rows)
{
    for (size_t r = 0; r < rows; r++)
        for (uint32_t g = 0; g < c->row[r].groups; g++) {
            member *added = c->row[r].group[g].items < LEAST ? NULL : ASSAY_VEC_ADD(&c->member);
            if (!added && c->row[r].group[g].items >= LEAST)
                return false;
            if (added)
                *added = (member){key_of(&c->row[r].group[g]), (uint32_t)r, g};
        }
    if (c->member.count > 1)
        qsort(c->member.list, c->member.count, sizeof *c->member.list, order_members);
    return true;
}

/* Goes through groups until none tells of another rank. *more: one did. False without memory. */
static bool pass(clocks *c, bool *more)
{
    *more = false;
    for (size_t from = 0, end = 0; from < c->member.count; from = end) {
        const member *known = NULL;
        for (end = from; end < c->member.count && c->member.list[end].group == c->member.list[from].group; end++)
            if (!known && !isnan(c->clock[c->member.list[end].row].ahead))
                known = &c->member.list[end];
        for (size_t i = from; known && i < end; i++) {
            const member *other = &c->member.list[i];
            if (!isnan(c->clock[other->row].ahead))
                continue;
            if (!compare(c, known, other))
                return false;
            *more = *more || !isnan(c->clock[other->row].ahead);
        }
    }
    return true;
}

/* Clocks are against that of the first row; ranks that no group leads to are left out. One clock alone says nothing,
 * so the list is empty then. */
int assay_hang_clocks(const assay_flight_row *row, size_t rows, assay_hang_clock **out, size_t *count)
{
    enum { PASSES_MOST = 16 }; /* dimensions of a training are fewer */
    clocks c = {.row = row, .clock = assay_alloc(rows * sizeof(assay_hang_clock))};
    bool made = c.clock != NULL, more = rows > 1;
    *out = NULL;
    *count = 0;
    for (size_t i = 0; i < rows && made; i++)
        c.clock[i] = (assay_hang_clock){.rank = row[i].rank, .ahead = i == 0 ? 0 : NAN};
    made = made && (rows < 2 || list_members(&c, rows));
    for (int i = 0; i < PASSES_MOST && more && made; i++)
        made = pass(&c, &more);
    for (size_t i = 0; i < rows && made; i++)
        if (!isnan(c.clock[i].ahead))
            c.clock[(*count)++] = c.clock[i];
    free(c.member.list);
    free(c.apart.list);
    if (!made || *count < 2) {
        free(c.clock);
        *count = 0;
        return made ? ASSAY_OK : ASSAY_ENOMEM;
    }
    *out = c.clock;
    return ASSAY_OK;
}
