/* place.c - see place.h.
 *
 * Series are sorted by step already, and many have the same steps. So the units of a worker and a mode are the union of
 * few lists, and a value finds its unit by its series' course through it; nothing as long as the values is sorted. */
#include "format/metrics/place.h"

#include <assay/timeline.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/heap.h"
#include "base/runs.h"
#include "base/search.h"
#include "base/vec.h"

enum { EXTRA_LEAST = 1024 };

/* The steps of a worker in a mode. */
typedef struct group {
    uint32_t worker, mode;
    ASSAY_VEC(int64_t) steps;   /* ascending */
    ASSAY_VEC(int64_t) extra;   /* in any order: not among those so far */
    const metrics_series *thin; /* the last thin one that was noted: mostly the next one has the same steps */
    uint64_t *unit;             /* [steps] where its rows go */
} group;

typedef struct packer {
    const metrics_log *log;
    assay_dict *keys; /* (worker, mode) */
    group *groups;
    size_t count, room;
    size_t *group_of; /* [series] */
    size_t *order;    /* series by tag */
    metrics_unit *units;
    size_t unit_count;
} packer;

/* Moves `at` to the first of those steps, which ascend, that is not below `step`; mostly it is the next one. */
static size_t go_on(const int64_t *steps, size_t count, size_t at, int64_t step)
{
    size_t width = 1;
    while (at + width < count && steps[at + width] < step)
        width *= 2;
    if (at < count && steps[at] >= step)
        return at;
    const size_t end = at + width < count ? at + width : count, from = at + width / 2;
    return from < end ? from + assay_lower_bound_i64(steps + from, end - from, step) : end;
}

/* Merges the steps that were met since. */
static int settle(group *g)
{
    if (g->extra.count == 0)
        return ASSAY_OK;
    assay_sort_integers(g->extra.list, g->extra.count);
    int64_t *merged = assay_alloc((g->steps.count + g->extra.count) * sizeof *merged);
    size_t a = 0, b = 0, n = 0;
    ASSAY_HAVE(merged);
    while (a < g->steps.count || b < g->extra.count) {
        const bool first = b == g->extra.count || (a < g->steps.count && g->steps.list[a] < g->extra.list[b]);
        const int64_t step = first ? g->steps.list[a++] : g->extra.list[b++];
        if (n == 0 || merged[n - 1] != step)
            merged[n++] = step;
    }
    free(g->steps.list);
    g->steps.list = merged;
    g->steps.room = g->steps.count + g->extra.count;
    g->steps.count = n;
    g->extra.count = 0;
    return ASSAY_OK;
}

static bool note_step(group *g, size_t *at, int64_t step)
{
    *at = go_on(g->steps.list, g->steps.count, *at, step);
    if (*at < g->steps.count && g->steps.list[*at] == step)
        return true;
    int64_t *added = ASSAY_VEC_ADD(&g->extra);
    if (added)
        *added = step;
    return added != NULL;
}

static bool have_same_steps(const metrics_series *a, const metrics_series *b)
{
    bool same = a->steps.count == b->steps.count;
    for (size_t i = 0; same && i < a->steps.count; i++) {
        const metrics_steps *x = &a->steps.list[i], *y = &b->steps.list[i];
        same = x->first == y->first && x->stride == y->stride && x->count == y->count;
    }
    return same;
}

static int note_steps(group *g, const metrics_series *s)
{
    size_t at = 0;
    bool good = true;
    if (s->thin && g->thin && have_same_steps(s, g->thin))
        return ASSAY_OK;
    g->thin = s->thin ? s : g->thin;
    for (size_t k = 0; good && k < s->count && !s->thin; k++)
        good = note_step(g, &at, s->values[k].step);
    for (size_t i = 0; i < s->steps.count; i++)
        for (uint64_t k = 0; good && k < s->steps.list[i].count; k++)
            good = note_step(g, &at, s->steps.list[i].first + (int64_t)k * s->steps.list[i].stride);
    ASSAY_HAVE(good);
    return g->extra.count > EXTRA_LEAST && g->extra.count > g->steps.count ? settle(g) : ASSAY_OK;
}

static int find_groups(packer *p)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < p->log->count && status == ASSAY_OK; i++) {
        const metrics_series *s = &p->log->series[i];
        const uint32_t key[2] = {s->worker, s->mode};
        if (s->count == 0)
            continue;
        const uint32_t number = assay_dict_add(p->keys, (const char *)key, sizeof key);
        if (number == ASSAY_NO_ID)
            return ASSAY_ENOMEM;
        if (number == p->count) {
            group *made = assay_vec_add(&p->groups, &p->count, &p->room, sizeof *made);
            ASSAY_HAVE(made);
            *made = (group){.worker = s->worker, .mode = s->mode};
        }
        p->group_of[i] = number;
        status = note_steps(&p->groups[number], s);
    }
    for (size_t g = 0; g < p->count && status == ASSAY_OK; g++)
        status = settle(&p->groups[g]);
    return status;
}

ASSAY_ORDER_BY(by_unit, metrics_unit, step, worker, mode)

/* Calls for each value of each series, by tag, with the place of its unit's counter. */
typedef void value_visit(void *context, const metrics_series *s, size_t k, uint64_t *unit);

static void visit_values(packer *p, value_visit *visit, void *context)
{
    for (size_t i = 0; i < p->log->count; i++) {
        const metrics_series *s = &p->log->series[p->order[i]];
        group *g = s->count ? &p->groups[p->group_of[p->order[i]]] : NULL;
        for (size_t k = 0, at = 0; k < s->count; k++) {
            at = go_on(g->steps.list, g->steps.count, at, s->values[k].step);
            visit(context, s, k, &g->unit[at]);
        }
    }
}

static void count_row(void *context, const metrics_series *s, size_t k, uint64_t *unit)
{
    (void)context;
    (void)s;
    (void)k;
    ++*unit;
}

/* Units in order, and for each step of a group where its rows begin. */
static int make_units(packer *p)
{
    size_t all = 0, made = 0;
    for (size_t g = 0; g < p->count; g++) {
        all += p->groups[g].steps.count;
        p->groups[g].unit = assay_alloc_zeroed(p->groups[g].steps.count, sizeof *p->groups[g].unit);
        ASSAY_HAVE(p->groups[g].unit);
    }
    p->units = assay_alloc_zeroed(all, sizeof *p->units);
    ASSAY_HAVE(p->units);
    assay_heap_want_large(p->units, all * sizeof *p->units);
    visit_values(p, count_row, NULL);
    for (size_t g = 0; g < p->count; g++)
        for (size_t k = 0; k < p->groups[g].steps.count; k++)
            p->units[made++] = (metrics_unit){.step = p->groups[g].steps.list[k],
                                              .worker = p->groups[g].worker,
                                              .mode = p->groups[g].mode,
                                              .count = p->groups[g].unit[k],
                                              .slot = &p->groups[g].unit[k]};
    p->unit_count = made;
    assay_sort_runs(p->units, made, sizeof *p->units, by_unit);
    uint64_t next = 0;
    for (size_t i = 0; i < made; i++) {
        p->units[i].first = *p->units[i].slot = next;
        next += p->units[i].count;
    }
    return ASSAY_OK;
}

static int by_tag(const void *a, const void *b, void *context)
{
    const metrics_series *series = context, *x = &series[*(const size_t *)a], *y = &series[*(const size_t *)b];
    int order = ASSAY_ORDER(x->vectors, y->vectors);
    order = order ? order : ASSAY_ORDER(x->tag, y->tag);
    return order ? order : ASSAY_ORDER(x, y);
}

static void put_names(const assay_dict *names, assay_buf *out)
{
    assay_put_u32(out, assay_dict_count(names));
    for (uint32_t i = 0; i < assay_dict_count(names); i++) {
        size_t length = 0;
        const char *name = assay_dict_name(names, i, &length);
        assay_put_u32(out, (uint32_t)length);
        assay_put_bytes(out, name, length);
    }
}

static void put_head(const packer *p, const char *path, assay_buf *out)
{
    const metrics_log *log = p->log;
    put_names(log->workers, out);
    put_names(log->tags, out);
    assay_put_text(out, path);
    put_names(log->files, out);
    assay_put_u64(out, log->vector_count);
    for (size_t i = 0; i < log->vector_count; i++) {
        assay_put_u32(out, log->vectors[i].file);
        assay_put_u64(out, log->vectors[i].at);
        assay_put_u64(out, log->vectors[i].size);
    }
    assay_put_u64(out, p->unit_count);
    if (assay_buf_reserve(out, p->unit_count * METRICS_UNIT_BYTES) != ASSAY_OK)
        return;
    for (size_t i = 0; i < p->unit_count; i++, out->size += METRICS_UNIT_BYTES)
        metrics_put_unit(out->data + out->size, &p->units[i]);
}

static void put_row(void *context, const metrics_series *s, size_t k, uint64_t *unit)
{
    uint8_t *at = (uint8_t *)context + (*unit)++ * METRICS_ROW_BYTES;
    const uint32_t tag = s->tag | (s->vectors ? METRICS_VECTOR_BIT : 0);
    metrics_put_word(at, tag);
    metrics_put_long(at + 4, s->values[k].vector);
}

int metrics_pack_place(const metrics_log *log, const char *path, metrics_units *out, assay_buf *bytes)
{
    packer p = {.log = log, .keys = assay_dict_new()};
    size_t rows = 0;
    *out = (metrics_units){0};
    p.group_of = assay_alloc_zeroed(log->count, sizeof *p.group_of);
    p.order = assay_alloc_zeroed(log->count, sizeof *p.order);
    int status = p.keys && p.group_of && p.order ? find_groups(&p) : ASSAY_ENOMEM;
    for (size_t i = 0; i < log->count && status == ASSAY_OK; i++) {
        p.order[i] = i;
        rows += log->series[i].count;
    }
    if (status == ASSAY_OK && log->count > 1)
        qsort_r(p.order, log->count, sizeof *p.order, by_tag, log->series);
    ASSAY_THEN(status, make_units(&p));
    if (status == ASSAY_OK) {
        put_head(&p, path, bytes);
        status = assay_buf_status(bytes);
    }
    ASSAY_THEN(status, assay_buf_reserve(bytes, rows * METRICS_ROW_BYTES));
    if (status == ASSAY_OK) {
        visit_values(&p, put_row, bytes->data + bytes->size);
        bytes->size += rows * METRICS_ROW_BYTES;
        *out = (metrics_units){p.units, p.unit_count};
    } else {
        free(p.units);
    }
    for (size_t g = 0; g < p.count; g++) {
        free(p.groups[g].steps.list);
        free(p.groups[g].extra.list);
        free(p.groups[g].unit);
    }
    free(p.groups);
    free(p.group_of);
    free(p.order);
    if (p.keys)
        assay_dict_free(p.keys);
    return status;
}
