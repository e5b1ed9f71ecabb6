/* pack.c - carries what a rank has collected to another, and joins it behind what is there: numbers of names, units and
 * so on are those of the earlier collector. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "timeline/internal.h"

static void put_rows(const rows *r, size_t size, assay_buf *out)
{
    assay_put_u64(out, r->count);
    assay_put_bytes(out, r->list, r->count * size);
}

int assay_collector_pack(const assay_collector *c, assay_buf *out)
{
    const uint64_t counts[] = {c->other_samples, c->other_events, c->problems_total, c->bytes,
                               c->used,          c->files,        c->timelines,      c->again};
    assay_put_bytes(out, counts, sizeof counts);
    assay_put_bytes(out, c->by_kind, sizeof c->by_kind);
    assay_dict_pack(c->texts, out);
    put_rows(&c->unit, sizeof(unit), out);
    assay_put_u64(out, c->series.count);
    for (uint32_t i = 0; i < c->series.count; i++) {
        const series *s = series_at(c, i);
        assay_put_u8(out, s->metric);
        assay_put_u32(out, s->node);
        assay_put_u32(out, s->name);
        put_rows(&s->samples, sizeof(assay_sample), out);
    }
    assay_put_u64(out, c->worker.count);
    for (uint32_t i = 0; i < c->worker.count; i++) {
        const worker *w = worker_at(c, i);
        assay_put_u32(out, w->name);
        assay_put_u32(out, w->node);
        assay_put_i64(out, w->first);
        assay_put_i64(out, w->last);
        assay_put_bytes(out, w->events, (c->want->edges + 1) * sizeof *w->events);
    }
    assay_dict_pack(c->totals, out);
    put_rows(&c->total, sizeof(total), out);
    assay_dict_pack(c->stacks, out);
    put_rows(&c->step, sizeof(assay_time_step), out);
    put_rows(&c->loader, sizeof(assay_loader_event), out);
    put_rows(&c->loader_start, sizeof(loader_start), out);
    put_rows(&c->half, sizeof(span_half), out);
    put_rows(&c->problem, sizeof(assay_timeline_problem), out);
    put_rows(&c->odd, sizeof(assay_timeline_oddity), out);
    put_rows(&c->cell, sizeof(int64_t), out);
    return assay_buf_status(out);
}

/* ---- joining ---- */

typedef struct joining {
    assay_collector *c;
    assay_cursor *in;
    uint32_t *text, *worker, *stack; /* the earlier collector's numbers by the later one's */
    uint64_t texts, workers, stacks;
    int status; /* ASSAY_OK, ASSAY_ENOMEM, ASSAY_EINTERNAL */
} joining;

/* Bytes come from a rank of the same run, so damage is a fault of ours. */
static bool is_sound(joining *j)
{
    if (j->status == ASSAY_OK && j->in->failed)
        j->status = ASSAY_EINTERNAL;
    return j->status == ASSAY_OK;
}

/* Finds the number that a later one stands for. */
static uint32_t mapped(joining *j, const uint32_t *map, uint64_t count, uint32_t number)
{
    if (number < count)
        return map[number];
    j->status = j->status == ASSAY_OK ? ASSAY_EINTERNAL : j->status;
    return 0;
}

static uint32_t text_of(joining *j, uint32_t number)
{
    return mapped(j, j->text, j->texts, number);
}

static uint32_t text_or_none(joining *j, uint32_t number)
{
    return number == ASSAY_NO_ID ? number : text_of(j, number);
}

/* Takes the names of a dictionary over into another: their new numbers in *map, which the caller frees. */
static void join_dict(joining *j, assay_dict *to, uint32_t **map, uint64_t *count)
{
    *count = assay_get_count(j->in, 4);
    *map = is_sound(j) ? assay_alloc((*count + 1) * sizeof **map) : NULL;
    if (is_sound(j) && !*map)
        j->status = ASSAY_ENOMEM;
    for (uint64_t i = 0; i < *count && is_sound(j); i++) {
        size_t length = 0;
        const char *name = assay_get_text(j->in, &length);
        if (!is_sound(j))
            return;
        (*map)[i] = assay_dict_add(to, name, length);
        if ((*map)[i] == ASSAY_NO_ID)
            j->status = ASSAY_ENOMEM;
    }
}

/* Appends packed rows; *first is the first of them. Returns how many there are. */
static uint64_t join_rows(joining *j, rows *to, size_t size, void **first)
{
    const uint64_t count = assay_get_count(j->in, size);
    const uint8_t *bytes = is_sound(j) ? assay_get_bytes(j->in, (size_t)count * size) : NULL;
    if (!is_sound(j) || count == 0)
        return 0;
    *first = rows_reserve(to, (size_t)count, size);
    if (!*first) {
        j->status = ASSAY_ENOMEM;
        return 0;
    }
    memcpy(*first, bytes, (size_t)count * size);
    to->count += (size_t)count;
    return count;
}

static void join_units(joining *j)
{
    rows later = {0};
    void *first = NULL;
    const uint64_t count = join_rows(j, &later, sizeof(unit), &first);
    for (uint64_t i = 0; i < count && is_sound(j); i++) {
        const unit *u = (const unit *)first + i;
        const uint32_t node = text_of(j, u->node), name = text_of(j, u->name);
        if (u->metric >= ASSAY_METRICS)
            j->status = ASSAY_EINTERNAL;
        if (is_sound(j) && collector_unit(j->c, u->metric, node, name) == ASSAY_NO_ID)
            j->status = ASSAY_ENOMEM;
    }
    free(later.list);
}

static void join_series(joining *j)
{
    const uint64_t count = assay_get_count(j->in, 1 + 4 + 4 + 8);
    for (uint64_t i = 0; i < count && is_sound(j); i++) {
        const uint8_t metric = assay_get_u8(j->in);
        const uint32_t node = text_of(j, assay_get_u32(j->in)), name = text_of(j, assay_get_u32(j->in));
        void *first = NULL;
        if (metric > ASSAY_METRIC_OTHER || !is_sound(j)) {
            j->status = j->status == ASSAY_OK ? ASSAY_EINTERNAL : j->status;
            return;
        }
        const uint32_t id = collector_series(j->c, metric, node, name);
        if (id == ASSAY_NO_ID)
            j->status = ASSAY_ENOMEM;
        else
            join_rows(j, &series_at(j->c, id)->samples, sizeof(assay_sample), &first);
    }
}

static void join_workers(joining *j)
{
    const size_t edges = j->c->want->edges;
    j->workers = assay_get_count(j->in, 4 + 4 + 8 + 8);
    j->worker = is_sound(j) ? assay_alloc((j->workers + 1) * sizeof *j->worker) : NULL;
    if (is_sound(j) && !j->worker)
        j->status = ASSAY_ENOMEM;
    for (uint64_t i = 0; i < j->workers && is_sound(j); i++) {
        const uint32_t name = text_of(j, assay_get_u32(j->in)), node = text_or_none(j, assay_get_u32(j->in));
        const int64_t first = assay_get_i64(j->in), last = assay_get_i64(j->in);
        const uint8_t *events = assay_get_bytes(j->in, (edges + 1) * sizeof(uint64_t));
        if (!is_sound(j))
            return;
        j->worker[i] = collector_worker(j->c, name, node);
        if (j->worker[i] == ASSAY_NO_ID) {
            j->status = ASSAY_ENOMEM;
            return;
        }
        worker *w = worker_at(j->c, j->worker[i]);
        w->first = first < w->first ? first : w->first;
        w->last = last > w->last ? last : w->last;
        for (size_t e = 0; e <= edges; e++) {
            uint64_t more = 0;
            memcpy(&more, events + e * sizeof more, sizeof more);
            w->events[e] += more;
        }
    }
}

static void join_totals(joining *j)
{
    assay_dict *later = assay_dict_new();
    uint32_t *map = NULL;
    uint64_t count = 0;
    rows list = {0};
    void *first = NULL;
    if (!later)
        j->status = ASSAY_ENOMEM;
    else
        join_dict(j, later, &map, &count);
    if (is_sound(j) && join_rows(j, &list, sizeof(total), &first) != count)
        j->status = j->status == ASSAY_OK ? ASSAY_EINTERNAL : j->status;
    for (uint32_t i = 0; i < count && is_sound(j); i++) {
        size_t length = 0;
        const char *key = assay_dict_name(later, i, &length);
        const uint32_t id = length > 0 ? collector_total(j->c, key[0], key + 1, length - 1) : ASSAY_NO_ID;
        if (id == ASSAY_NO_ID) {
            j->status = length > 0 ? ASSAY_ENOMEM : ASSAY_EINTERNAL;
            break;
        }
        total *sum = (total *)j->c->total.list + id;
        sum->time = assay_add_clipped(sum->time, ((const total *)first)[i].time);
    }
    free(map);
    free(list.list);
    assay_dict_free(later);
}

static void join_spans(joining *j)
{
    assay_collector *c = j->c;
    void *first = NULL;
    uint64_t count = join_rows(j, &c->step, sizeof(assay_time_step), &first);
    for (assay_time_step *s = first; count-- > 0 && is_sound(j); s++) {
        s->worker = mapped(j, j->worker, j->workers, s->worker);
        s->mode = text_of(j, s->mode);
    }
    count = is_sound(j) ? join_rows(j, &c->loader, sizeof(assay_loader_event), &first) : 0;
    for (assay_loader_event *l = first; count-- > 0 && is_sound(j); l++) {
        l->worker = mapped(j, j->worker, j->workers, l->worker);
        l->process = text_or_none(j, l->process);
    }
    count = is_sound(j) ? join_rows(j, &c->loader_start, sizeof(loader_start), &first) : 0;
    for (loader_start *l = first; count-- > 0 && is_sound(j); l++)
        l->start.worker = mapped(j, j->worker, j->workers, l->start.worker);
    count = is_sound(j) ? join_rows(j, &c->half, sizeof(span_half), &first) : 0;
    for (span_half *h = first; count-- > 0 && is_sound(j); h++) {
        h->stack = mapped(j, j->stack, j->stacks, h->stack);
        h->worker = mapped(j, j->worker, j->workers, h->worker);
        h->name = text_of(j, h->name);
        h->phase = text_or_none(j, h->phase);
        h->process = text_or_none(j, h->process);
    }
    count = is_sound(j) ? join_rows(j, &c->problem, sizeof(assay_timeline_problem), &first) : 0;
    for (assay_timeline_problem *p = first; count-- > 0 && is_sound(j); p++)
        p->text = text_of(j, p->text);
    count = is_sound(j) ? join_rows(j, &c->odd, sizeof(assay_timeline_oddity), &first) : 0;
    for (assay_timeline_oddity *o = first; count-- > 0 && is_sound(j); o++) {
        o->node = text_of(j, o->node);
        o->unit = text_of(j, o->unit);
        j->status = is_sound(j) && o->kind >= ASSAY_ODDITIES ? ASSAY_EINTERNAL : j->status;
    }
    if (is_sound(j))
        join_rows(j, &c->cell, sizeof(int64_t), &first);
}

/* The order is that of assay_collector_pack(); texts come first, since all others name them. */
int assay_collector_join(assay_collector *earlier, assay_cursor *later, assay_error *err)
{
    uint64_t counts[8];
    joining j = {.c = earlier, .in = later};
    const uint8_t *bytes = assay_get_bytes(later, sizeof counts);
    const uint8_t *kinds = assay_get_bytes(later, sizeof earlier->by_kind);
    if (is_sound(&j)) {
        memcpy(counts, bytes, sizeof counts);
        earlier->other_samples += counts[0];
        earlier->other_events += counts[1];
        earlier->problems_total += counts[2];
        earlier->bytes += counts[3];
        earlier->used += counts[4];
        earlier->files += counts[5];
        earlier->timelines += counts[6];
        earlier->again = earlier->again || counts[7];
        for (int i = 0; i < ASSAY_EVENT_KINDS; i++) {
            uint64_t more = 0;
            memcpy(&more, kinds + (size_t)i * sizeof more, sizeof more);
            earlier->by_kind[i] += more;
        }
        join_dict(&j, earlier->texts, &j.text, &j.texts);
    }
    void (*const parts[])(joining *) = {join_units, join_series, join_workers, join_totals};
    for (size_t i = 0; i < sizeof parts / sizeof *parts && is_sound(&j); i++)
        parts[i](&j);
    if (is_sound(&j))
        join_dict(&j, earlier->stacks, &j.stack, &j.stacks);
    if (is_sound(&j))
        join_spans(&j);
    is_sound(&j);
    free(j.text);
    free(j.worker);
    free(j.stack);
    if (j.status == ASSAY_ENOMEM)
        assay_fail(err, j.status, "out of memory while events of several ranks were joined");
    else if (j.status != ASSAY_OK)
        assay_fail(err, j.status, "the events of a rank were damaged on their way to another rank");
    return j.status;
}
