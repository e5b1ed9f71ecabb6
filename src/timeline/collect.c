/* collect.c - see collect.h: names, samples, and the reading of a file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "timeline/internal.h"

/* ---- rows ---- */

void *rows_reserve(rows *r, size_t more, size_t size)
{
    if (r->count + more > r->room) {
        size_t room = r->room ? r->room : 16;
        while (room < r->count + more)
            room *= 2;
        void *list = assay_realloc_array(r->list, room, size);
        if (!list)
            return NULL;
        r->list = list;
        r->room = room;
    }
    return (uint8_t *)r->list + r->count * size;
}

void *rows_add(rows *r, size_t size)
{
    void *row = rows_reserve(r, 1, size);
    if (row) {
        memset(row, 0, size);
        r->count++;
    }
    return row;
}

/* ---- what is wanted ---- */

/* Edges are few: two for each rule that has times of its own. They stay sorted, each once. */
static int add_edge(assay_timeline_want *want, int64_t at)
{
    size_t i = 0;
    while (i < want->edges && want->edge[i] < at)
        i++;
    if (at == ASSAY_NO_TIME || (i < want->edges && want->edge[i] == at))
        return ASSAY_OK;
    int64_t *grown = assay_realloc_array(want->edge, want->edges + 1, sizeof *grown);
    ASSAY_HAVE(grown);
    memmove(grown + i + 1, grown + i, (want->edges - i) * sizeof *grown);
    grown[i] = at;
    want->edge = grown;
    want->edges++;
    return ASSAY_OK;
}

int assay_timeline_want_add(assay_timeline_want *want, int64_t scan, int64_t from, int64_t to)
{
    for (int64_t rest = scan; rest != 0;) { /* the greatest common divisor */
        const int64_t next = want->cell_size % rest;
        want->cell_size = rest;
        rest = next;
    }
    const int status = add_edge(want, from);
    return status == ASSAY_OK ? add_edge(want, to) : status;
}

void assay_timeline_want_release(assay_timeline_want *want)
{
    free(want->edge);
    *want = (assay_timeline_want){0};
}

/* ---- the collector ---- */

assay_collector *assay_collector_new(const assay_timeline_want *want, bool exact)
{
    assay_collector *c = assay_alloc_zeroed(1, sizeof *c);
    if (!c)
        return NULL;
    c->want = want;
    c->exact = exact;
    c->last_source = c->last_class = ASSAY_NO_ID;
    assay_dict **const dicts[] = {&c->texts,  &c->units,  &c->keys,        &c->worker_keys,
                                  &c->totals, &c->stacks, &c->source_keys, &c->class_keys};
    for (size_t i = 0; i < sizeof dicts / sizeof *dicts; i++)
        if (!(*dicts[i] = assay_dict_new())) {
            assay_collector_free(c);
            return NULL;
        }
    return c;
}

void assay_collector_free(assay_collector *c)
{
    if (!c)
        return;
    for (uint32_t i = 0; i < c->series.count; i++)
        free(series_at(c, i)->samples.list);
    for (uint32_t i = 0; i < c->worker.count; i++)
        free(worker_at(c, i)->events);
    rows *const lists[] = {&c->unit,   &c->series, &c->worker,       &c->total, &c->step,
                           &c->loader, &c->source, &c->loader_start, &c->half,  &c->problem,
                           &c->cell,   &c->open,   &c->head,         &c->class, &c->odd};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        free(lists[i]->list);
    assay_dict *const dicts[] = {c->texts,  c->units,  c->keys,        c->worker_keys,
                                 c->totals, c->stacks, c->source_keys, c->class_keys};
    for (size_t i = 0; i < sizeof dicts / sizeof *dicts; i++)
        assay_dict_free(dicts[i]);
    free(c);
}

uint64_t assay_collector_bytes_read(const assay_collector *c)
{
    return c->bytes;
}

uint32_t collector_text(assay_collector *c, const char *bytes, size_t length)
{
    return assay_dict_add(c->texts, bytes ? bytes : "", length);
}

/* Finds the number of a key of these parts in a dictionary; a new one gets a row of zeros. ASSAY_NO_ID without memory. */
static uint32_t number_of(assay_dict *dict, rows *list, size_t size, uint8_t metric, uint32_t node, uint32_t name)
{
    char key[9];
    key[0] = (char)metric;
    memcpy(key + 1, &node, sizeof node);
    memcpy(key + 5, &name, sizeof name);
    const uint32_t id = assay_dict_add(dict, key, sizeof key);
    if (id == ASSAY_NO_ID || (id == list->count && !rows_add(list, size)))
        return ASSAY_NO_ID;
    return id;
}

uint32_t collector_series(assay_collector *c, uint8_t metric, uint32_t node, uint32_t name)
{
    const size_t before = c->series.count;
    const uint32_t id = number_of(c->keys, &c->series, sizeof(series), metric, node, name);
    if (id != ASSAY_NO_ID && id == before)
        *series_at(c, id) = (series){.node = node, .name = name, .metric = metric, .last = ASSAY_NO_TIME};
    return id;
}

/* Tells whether the units of a metric are added up while they are read. Rules look at each GPU. */
static bool is_folded(const assay_collector *c, uint8_t metric)
{
    return !c->exact && metric != ASSAY_METRIC_GPU && metric != ASSAY_METRIC_GPU_MEMORY;
}

uint32_t collector_unit(assay_collector *c, uint8_t metric, uint32_t node, uint32_t name)
{
    const size_t before = c->unit.count;
    const uint32_t id = number_of(c->units, &c->unit, sizeof(unit), metric, node, name);
    if (id == ASSAY_NO_ID || id != before)
        return id;
    const uint32_t own = is_folded(c, metric) ? collector_text(c, "", 0) : name;
    const uint32_t to = own == ASSAY_NO_ID ? own : collector_series(c, metric, node, own);
    if (to == ASSAY_NO_ID)
        return to;
    *unit_at(c, id) = (unit){.node = node, .name = name, .series = to, .metric = metric, .last = ASSAY_NO_TIME};
    return id;
}

/* ---- samples ---- */

/* The key of a source: lengths of node and name, node, name, dimension. */
enum { LENGTHS = 2 * sizeof(uint32_t), KEY_ROOM = 512 };

static bool is_source(const assay_collector *c, uint32_t id, const assay_event_sample *s)
{
    size_t size = 0;
    uint32_t lengths[2];
    const char *key = assay_dict_name(c->source_keys, id, &size);
    memcpy(lengths, key, sizeof lengths);
    if (size != LENGTHS + s->node.length + s->unit.length + s->metric.length || lengths[0] != s->node.length ||
        lengths[1] != s->unit.length)
        return false;
    key += LENGTHS;
    return memcmp(key, s->node.bytes, s->node.length) == 0 &&
           (s->unit.length == 0 || memcmp(key + s->node.length, s->unit.bytes, s->unit.length) == 0) &&
           memcmp(key + s->node.length + s->unit.length, s->metric.bytes, s->metric.length) == 0;
}

/* Makes the name of a metric that no rule knows: dimension and name. */
static uint32_t other_name(assay_collector *c, const assay_event_sample *s)
{
    char name[KEY_ROOM];
    const bool both = s->metric.length > 0 && s->unit.length > 0;
    const int length = snprintf(name, sizeof name, "%.*s%s%.*s", (int)s->metric.length, s->metric.bytes,
                                both ? " " : "", (int)s->unit.length, s->unit.length ? s->unit.bytes : "");
    return collector_text(c, name, (size_t)length);
}

/* Finds the unit, or the series of a metric that no rule knows. 0 or ASSAY_ENOMEM. */
static int describe(assay_collector *c, const assay_event_sample *s, sample_source *new)
{
    const uint8_t metric = collector_metric(s);
    const bool other = metric == ASSAY_METRIC_OTHER;
    const uint32_t node = collector_text(c, s->node.bytes, s->node.length);
    const uint32_t name = other ? other_name(c, s) : collector_text(c, s->unit.bytes, s->unit.length);
    *new = (sample_source){.unit = ASSAY_NO_ID, .series = ASSAY_NO_ID, .next = ASSAY_NO_ID};
    if (node == ASSAY_NO_ID || name == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    if (other)
        new->series = collector_series(c, metric, node, name);
    else
        new->unit = collector_unit(c, metric, node, name);
    return new->unit == ASSAY_NO_ID &&new->series == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
}

static uint32_t add_source(assay_collector *c, const assay_event_sample *s)
{
    const uint32_t lengths[2] = {(uint32_t)s->node.length, (uint32_t)s->unit.length};
    const size_t size = LENGTHS + s->node.length + s->unit.length + s->metric.length;
    char room[KEY_ROOM], *key = size <= sizeof room ? room : assay_alloc(size), *at = key;
    if (!key)
        return ASSAY_NO_ID;
    memcpy(at, lengths, sizeof lengths);
    at += sizeof lengths;
    memcpy(at, s->node.bytes, s->node.length);
    at += s->node.length;
    if (s->unit.length > 0)
        memcpy(at, s->unit.bytes, s->unit.length);
    memcpy(at + s->unit.length, s->metric.bytes, s->metric.length);
    const uint32_t id = assay_dict_add(c->source_keys, key, size);
    if (key != room)
        free(key);
    if (id == ASSAY_NO_ID || id < c->source.count)
        return id;
    sample_source new;
    sample_source *row = describe(c, s, &new) == ASSAY_OK ? rows_add(&c->source, sizeof *row) : NULL;
    if (!row)
        return ASSAY_NO_ID;
    *row = new;
    return id;
}

/* Finds where a sample comes from. Sources follow each other in the same order at each instant: the one that came
 * next the last time is tried first. NULL without memory. */
static const sample_source *find_source(assay_collector *c, const assay_event_sample *s)
{
    sample_source *list = c->source.list;
    if (c->last_source != ASSAY_NO_ID) {
        const uint32_t guess = list[c->last_source].next;
        if (guess != ASSAY_NO_ID && is_source(c, guess, s)) {
            c->last_source = guess;
            return &list[guess];
        }
    }
    const uint32_t id = add_source(c, s);
    if (id == ASSAY_NO_ID)
        return NULL;
    list = c->source.list;
    if (c->last_source != ASSAY_NO_ID)
        list[c->last_source].next = id;
    c->last_source = id;
    return &list[id];
}

/* Notes what no machine does, unless the file has had such. 0 or ASSAY_ENOMEM. */
static int note_odd(assay_collector *c, int kind, const unit *u, uint64_t line, int64_t value)
{
    if (c->file_is_odd[kind])
        return ASSAY_OK;
    assay_timeline_oddity *row = rows_add(&c->odd, sizeof *row);
    ASSAY_HAVE(row);
    *row = (assay_timeline_oddity){.file = c->file_number,
                                   .kind = (uint32_t)kind,
                                   .node = u->node,
                                   .unit = u->name,
                                   .metric = u->metric,
                                   .line = line,
                                   .value = value};
    c->file_is_odd[kind] = true;
    return ASSAY_OK;
}

/* Checks whether a sample is what no machine does. Counters of the system may be off by a little. 0 or ASSAY_ENOMEM. */
static int check_sample(assay_collector *c, const unit *u, const assay_event_sample *s)
{
    static const int64_t most = 110 * INT64_C(1000000), least = -10 * INT64_C(1000000);
    int status = ASSAY_OK;
    if (u->metric != ASSAY_METRIC_NETWORK && (s->millionths > most || s->millionths < least))
        status = note_odd(c, ASSAY_ODD_PERCENT, u, s->line, s->millionths);
    if (status == ASSAY_OK && s->time < u->last) /* ASSAY_NO_TIME is before all times */
        status = note_odd(c, ASSAY_ODD_CLOCK, u, s->line, u->last - s->time);
    return status;
}

static int add_sample(assay_collector *c, unit *u, const assay_event_sample *s)
{
    if (check_sample(c, u, s) != ASSAY_OK)
        return ASSAY_ENOMEM;
    series *to = series_at(c, u->series);
    const bool same_file = to->samples.count > 0 && to->file == c->file_number;
    assay_sample *last = same_file ? (assay_sample *)to->samples.list + to->samples.count - 1 : NULL;
    const bool again = same_file && u->last != ASSAY_NO_TIME && s->time <= u->last;
    c->used++;
    /* Units were added up as they came, so a sample that is out of order cannot be put in its place: all files are
     * read again, exactly. */
    if (!c->exact && (again || (same_file && s->time < to->last))) {
        c->again = true;
        return ASSAY_OK;
    }
    u->last = s->time;
    if (last && is_folded(c, u->metric) && to->last == s->time) {
        last->units++;
        last->extreme = extreme_of(u->metric, last->extreme, s->millionths);
        last->sum = assay_add_clipped(last->sum, s->millionths);
        return ASSAY_OK;
    }
    assay_sample *row = rows_add(&to->samples, sizeof *row);
    ASSAY_HAVE(row);
    *row = (assay_sample){
        .time = s->time, .sum = s->millionths, .extreme = s->millionths, .units = 1, .file = c->file_number};
    if (c->exact)
        row->units = (uint32_t)to->samples.count; /* of two at one time the first counts */
    to->last = s->time;
    to->file = c->file_number;
    return ASSAY_OK;
}

/* Keeps a metric that no rule knows as it comes. */
static int add_other(assay_collector *c, uint32_t id, const assay_event_sample *s)
{
    assay_sample *row = rows_add(&series_at(c, id)->samples, sizeof *row);
    ASSAY_HAVE(row);
    *row = (assay_sample){
        .time = s->time, .sum = s->millionths, .extreme = s->millionths, .units = 1, .file = c->file_number};
    c->other_samples++;
    return ASSAY_OK;
}

static int take_sample(void *context, const assay_event_sample *s)
{
    assay_collector *c = context;
    if (s->metric.length + s->unit.length + 2 > KEY_ROOM && collector_metric(s) == ASSAY_METRIC_OTHER) {
        c->other_samples++; /* no metric has such a name: it is counted alone */
        return ASSAY_OK;
    }
    const sample_source *source = find_source(c, s);
    ASSAY_HAVE(source);
    return source->unit == ASSAY_NO_ID ? add_other(c, source->series, s) : add_sample(c, unit_at(c, source->unit), s);
}

/* ---- files ---- */

static int take_span(void *context, const assay_event_span *span)
{
    return collector_take_span(context, span);
}

static void take_other(void *context)
{
    ((assay_collector *)context)->other_events++;
}

/* Of a file with many damaged lines the first are named, and all are counted. */
static int take_problem(void *context, assay_event_problem kind, uint64_t line, const char *text)
{
    assay_collector *c = context;
    c->problems_total++;
    if (c->file_problems++ >= ASSAY_EVENTS_PROBLEMS_A_FILE)
        return ASSAY_OK;
    assay_timeline_problem *row = rows_add(&c->problem, sizeof *row);
    ASSAY_HAVE(row);
    *row = (assay_timeline_problem){
        .file = c->file_number, .kind = kind, .line = line, .text = collector_text(c, text, strlen(text))};
    return row->text == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
}

int assay_collector_read(assay_collector *c, assay_store *store, const assay_event_file *file, uint32_t number,
                         assay_error *err)
{
    const assay_event_sink sink = {
        .context = c, .sample = take_sample, .span = take_span, .other = take_other, .problem = take_problem};
    c->file_number = number;
    c->file_kind = file->kind;
    c->file_problems = 0;
    memset(c->file_is_odd, 0, sizeof c->file_is_odd);
    for (uint32_t i = 0; i < c->unit.count; i++) /* each file has an order of its own */
        unit_at(c, i)->last = ASSAY_NO_TIME;
    c->files += file->kind == ASSAY_EVENTS_SYSTEM;
    c->timelines += file->kind != ASSAY_EVENTS_SYSTEM && !file->unfinished;
    int status = ASSAY_OK;
    if (file->kind != ASSAY_EVENTS_SYSTEM && !file->unfinished)
        status = collector_begin_spans(c, file);
    ASSAY_THEN(status, assay_events_read(store, file, &sink, &c->bytes, err));
    if (status == ASSAY_OK && file->kind != ASSAY_EVENTS_SYSTEM && !file->unfinished)
        status = collector_end_spans(c);
    if (status == ASSAY_ENOMEM && err && !err->text[0])
        assay_fail(err, status, "%s: out of memory while it is read", file->path);
    return status;
}
