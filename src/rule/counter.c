/* counter.c - counts how often each pair of integers occurred.
 *
 * New pairs are appended unsorted after the sorted ones. They are sorted and merged when the room is full or someone
 * reads: an addition costs O(log n) on average, even with many different pairs. */
#include "base/search.h"
#include "rule/common_state.h"

#include <stdlib.h>

#include "base/fault.h"

/* Invariant: list[0..settled) is sorted by (a, b) without equal pairs; what lies behind was added since, in any
 * order. */
typedef struct entry {
    int64_t a, b;
    uint64_t count;
} entry;

typedef struct entries { /* behind a pointer, so that looking at a const counter may settle it */
    entry *list;
    size_t count, settled, room;
} entries;

struct assay_counter {
    entries *of;
};

assay_counter *assay_counter_new(void)
{
    assay_counter *counter = assay_alloc_zeroed(1, sizeof *counter);
    if (counter && !(counter->of = assay_alloc_zeroed(1, sizeof *counter->of))) {
        free(counter);
        return NULL;
    }
    return counter;
}

void assay_counter_free(assay_counter *counter)
{
    if (!counter)
        return;
    free(counter->of->list);
    free(counter->of);
    free(counter);
}

ASSAY_ORDER_BY(compare, entry, a, b)

static void settle(entries *of)
{
    /* Merging sums equal pairs, so the list gets shorter as often as pairs repeat. */
    if (of->settled == of->count)
        return;
    qsort(of->list, of->count, sizeof *of->list, compare);
    size_t kept = 0;
    for (size_t i = 1; i < of->count; i++) {
        if (compare(&of->list[kept], &of->list[i]) == 0)
            of->list[kept].count += of->list[i].count;
        else
            of->list[++kept] = of->list[i];
    }
    of->count = of->settled = kept + 1;
}

/* The entry of a pair among those that are settled; NULL where there is none. */
static entry *find_settled(const entries *of, int64_t a, int64_t b)
{
    const entry wanted = {.a = a, .b = b};
    size_t low = 0;
    ASSAY_SEARCH(low, of->settled, compare(&of->list[low], &wanted) < 0);
    return low < of->settled && compare(&of->list[low], &wanted) == 0 ? &of->list[low] : NULL;
}

int assay_counter_add(assay_counter *counter, int64_t a, int64_t b, uint64_t count)
{
    entries *of = counter->of;
    entry *found = find_settled(of, a, b);
    if (count == 0)
        return ASSAY_OK;
    if (found) {
        found->count += count;
        return ASSAY_OK;
    }
    if (of->count == of->room) {
        settle(of);
        /* Growing only where merging has freed less than a quarter, else each few additions would sort again. */
        if (of->count >= of->room - of->room / 4) { /* little was gained */
            size_t room = of->room ? of->room * 2 : 64;
            entry *list = assay_realloc_array(of->list, room, sizeof *list);
            ASSAY_HAVE(list);
            of->list = list;
            of->room = room;
        }
    }
    of->list[of->count++] = (entry){.a = a, .b = b, .count = count};
    return ASSAY_OK;
}

uint64_t assay_counter_size(const assay_counter *counter)
{
    settle(counter->of);
    return counter->of->count;
}

/* Unsettled entries only make the count larger, so most checks need no sorting. */
bool assay_counter_fits(const assay_counter *counter, uint64_t bytes)
{
    const uint64_t most = bytes / sizeof(entry);
    return counter->of->count <= most || assay_counter_size(counter) <= most; /* sorting them may take a while */
}

void assay_counter_get(const assay_counter *counter, uint64_t i, int64_t *a, int64_t *b, uint64_t *count)
{
    settle(counter->of);
    const entry *e = &counter->of->list[i];
    *a = e->a;
    *b = e->b;
    *count = e->count;
}

/* Reading `later` may sort it: that changes its order in memory and nothing else. */
int assay_counter_join(assay_counter *earlier, const assay_counter *later)
{
    settle(later->of);
    int status = ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && i < later->of->count; i++) {
        const entry *e = &later->of->list[i];
        status = assay_counter_add(earlier, e->a, e->b, e->count);
    }
    return status;
}

void assay_counter_pack(const assay_counter *counter, assay_buf *out)
{
    settle(counter->of);
    assay_put_u64(out, counter->of->count);
    for (size_t i = 0; i < counter->of->count; i++) {
        assay_put_i64(out, counter->of->list[i].a);
        assay_put_i64(out, counter->of->list[i].b);
        assay_put_u64(out, counter->of->list[i].count);
    }
}

static int unpack_entries(assay_cursor *in, entries *of)
{
    uint64_t count = assay_get_count(in, sizeof(entry));
    if (in->failed)
        return ASSAY_EFORMAT;
    of->list = count ? assay_realloc_array(NULL, count, sizeof *of->list) : NULL;
    if (count && !of->list)
        return ASSAY_ENOMEM;
    of->room = count;
    for (; of->count < count; of->count++) {
        entry *e = &of->list[of->count];
        e->a = assay_get_i64(in);
        e->b = assay_get_i64(in);
        e->count = assay_get_u64(in);
        /* Sorted without equals, as packing has them: anything else is damage. */
        if (e->count == 0 || (of->count && compare(e - 1, e) >= 0))
            return ASSAY_EFORMAT;
    }
    of->settled = of->count;
    return in->failed ? ASSAY_EFORMAT : ASSAY_OK;
}

int assay_counter_unpack(assay_cursor *in, assay_counter **out, assay_error *err)
{
    assay_counter *counter = assay_counter_new();
    int status = counter ? unpack_entries(in, counter->of) : ASSAY_ENOMEM;
    if (status) {
        assay_counter_free(counter);
        return assay_fail(err, status, status == ASSAY_ENOMEM ? "out of memory" : "damaged counts in a packed state");
    }
    *out = counter;
    return ASSAY_OK;
}
