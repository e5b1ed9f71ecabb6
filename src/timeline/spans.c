/* spans.c - what programs did: steps, loaders, operators and phases, and beginnings that end elsewhere.
 *
 * A beginning and an end of the same stack in one file are paired at once. What is left over of a file, ends before
 * beginnings, is kept and paired in the order of the files once all are there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "timeline/internal.h"

/* A whole span. */
typedef struct span {
    assay_text name, phase;
    assay_text process_name; /* of a whole span; else `process` has the text's number */
    uint32_t worker, file, process;
    uint8_t kind;
    int pin_memory;
    int64_t start, duration, step, num_workers;
} span;

/* ---- workers ---- */

uint32_t collector_worker(assay_collector *c, uint32_t name, uint32_t node)
{
    const size_t before = c->worker.count;
    const uint32_t id = assay_dict_add(c->worker_keys, (const char *)&name, sizeof name);
    if (id == ASSAY_NO_ID || id != before)
        return id;
    worker *w = rows_add(&c->worker, sizeof *w);
    uint64_t *events = assay_alloc_zeroed(c->want->edges + 1, sizeof *events);
    if (!w || !events) {
        free(events);
        c->worker.count = before;
        return ASSAY_NO_ID;
    }
    *w = (worker){.name = name, .node = node, .first = INT64_MAX, .last = INT64_MIN, .events = events};
    return id;
}

/* PID-algo-N is algo-N-PID on node algo-N; another is a worker of its own name, whose node is known when all nodes are.
 */
const char *assay_timeline_worker_name(const char *source, char room[ASSAY_TIMELINE_NAME_ROOM])
{
    const char *node = NULL;
    for (const char *at = strstr(source, "-algo"); at; at = strstr(at + 1, "-algo"))
        node = at + 1;
    const int length = node
                           ? snprintf(room, ASSAY_TIMELINE_NAME_ROOM, "%s-%.*s", node, (int)(node - source - 1), source)
                           : snprintf(room, ASSAY_TIMELINE_NAME_ROOM, "%s", source);
    if (length >= ASSAY_TIMELINE_NAME_ROOM)
        room[0] = '\0';
    return node;
}

static uint32_t worker_of(assay_collector *c, const char *source)
{
    char name[ASSAY_TIMELINE_NAME_ROOM];
    const char *node = assay_timeline_worker_name(source, name);
    const uint32_t node_id = node ? collector_text(c, node, strlen(node)) : ASSAY_NO_ID;
    if ((node && node_id == ASSAY_NO_ID) || !name[0])
        return ASSAY_NO_ID;
    const uint32_t text = collector_text(c, name, strlen(name));
    return text == ASSAY_NO_ID ? text : collector_worker(c, text, node_id);
}

/* ---- what a span is ---- */

static int take_step(assay_collector *c, const span *s, uint32_t mode)
{
    assay_time_step *row = rows_add(&c->step, sizeof *row);
    ASSAY_HAVE(row);
    *row = (assay_time_step){s->start, s->duration, s->step, s->worker, mode};
    return ASSAY_OK;
}

static int take_loader(assay_collector *c, const span *s)
{
    assay_loader_event *row = rows_add(&c->loader, sizeof *row);
    ASSAY_HAVE(row);
    *row = (assay_loader_event){s->start, s->duration, s->worker, s->process};
    if (s->process_name.bytes)
        row->process = collector_text(c, s->process_name.bytes, s->process_name.length);
    return s->process_name.bytes && row->process == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
}

static int take_loader_start(assay_collector *c, const span *s)
{
    loader_start *row = rows_add(&c->loader_start, sizeof *row);
    ASSAY_HAVE(row);
    *row = (loader_start){{s->start, s->num_workers, s->worker, s->pin_memory}, s->file};
    return ASSAY_OK;
}

/* ---- when ---- */

void collector_sort_cells(assay_collector *c)
{
    int64_t *list = c->cell.list;
    size_t kept = 0;
    if (c->cell.count > 1)
        qsort(list, c->cell.count, sizeof *list, assay_order_i64);
    for (size_t i = 0; i < c->cell.count; i++)
        if (kept == 0 || list[kept - 1] != list[i])
            list[kept++] = list[i];
    c->cell.count = c->cells_sorted = kept;
}

static int64_t divided_down(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int note_cell(assay_collector *c, int64_t start)
{
    if (start >= c->cell_start && start < c->cell_end)
        return ASSAY_OK;
    const int64_t cell = divided_down(start, c->want->cell_size);
    if (c->cell.count >= 1024 && c->cell.count >= 2 * c->cells_sorted)
        collector_sort_cells(c);
    int64_t *row = rows_add(&c->cell, sizeof *row);
    ASSAY_HAVE(row);
    *row = cell;
    c->cell_start = cell * c->want->cell_size;
    c->cell_end = c->cell_start + c->want->cell_size;
    return ASSAY_OK;
}

static void note_time(const assay_collector *c, worker *w, const span *s)
{
    size_t low = 0;
    ASSAY_SEARCH(low, c->want->edges, c->want->edge[low] <= s->start);
    w->events[low]++;
    w->first = s->start < w->first ? s->start : w->first;
    w->last = s->start + s->duration > w->last ? s->start + s->duration : w->last;
}

static int add_span(assay_collector *c, const span *s)
{
    const span_class *class = collector_class(c, s->kind, s->phase, s->name);
    ASSAY_HAVE(class);
    note_time(c, worker_at(c, s->worker), s);
    c->by_kind[s->kind]++;
    for (int i = 0; i < class->totals; i++) {
        total *sum = (total *)c->total.list + class->total[i];
        sum->time = assay_add_clipped(sum->time, s->duration);
    }
    int status = note_cell(c, s->start);
    if (status == ASSAY_OK && class->mode != ASSAY_NO_ID)
        status = take_step(c, s, class->mode);
    if (status == ASSAY_OK && class->loads)
        status = take_loader(c, s);
    if (status == ASSAY_OK && class->sets_up)
        status = take_loader_start(c, s);
    return status;
}

/* ---- halves ---- */

static uint32_t text_or_none(assay_collector *c, assay_text text, int *status)
{
    if (!text.bytes)
        return ASSAY_NO_PROCESS;
    const uint32_t id = collector_text(c, text.bytes, text.length);
    *status = id == ASSAY_NO_ID ? ASSAY_ENOMEM : *status;
    return id;
}

static int add_pair(assay_collector *c, const span_half *begin, const span_half *end)
{
    span s = {.worker = begin->worker, .file = begin->file, .kind = begin->kind, .start = begin->time};
    if (end->time < begin->time)
        return ASSAY_OK;
    s.duration = end->time - begin->time;
    s.step = end->has_step ? end->step : begin->step;
    s.process = end->process != ASSAY_NO_PROCESS ? end->process : begin->process;
    s.pin_memory = end->pin_memory != ASSAY_ARGUMENT_NONE ? end->pin_memory : begin->pin_memory;
    s.num_workers = end->num_workers != ASSAY_ARGUMENT_NONE ? end->num_workers : begin->num_workers;
    /* The texts move when others are added. */
    size_t name = 0, phase = 0;
    const char *text = assay_dict_name(c->texts, begin->name, &name);
    char *copy = assay_copy_bytes_as_text(text, name);
    text = assay_dict_name(c->texts, begin->phase, &phase);
    char *row = assay_copy_bytes_as_text(text, phase);
    int status = ASSAY_ENOMEM;
    if (copy && row) {
        s.name = (assay_text){copy, name};
        s.phase = (assay_text){row, phase};
        status = add_span(c, &s);
    }
    free(copy);
    free(row);
    return status;
}

static int make_half(assay_collector *c, const assay_event_span *from, span_half *half)
{
    enum { KEY_ROOM = 2048, ROW_MOST = 512 };
    char key[KEY_ROOM];
    int status = ASSAY_OK;
    const char *name = assay_dict_name(c->texts, worker_at(c, c->file_worker)->name, NULL);
    *half = (span_half){.file = c->file_number,
                        .worker = c->file_worker,
                        .ends = from->part == ASSAY_SPAN_END,
                        .kind = c->file_kind,
                        .has_step = from->has_step,
                        .pin_memory = (int8_t)from->pin_memory,
                        .time = from->time,
                        .step = from->step,
                        .num_workers = from->num_workers};
    const int length = snprintf(key, sizeof key, "%u %s/%.*s", c->file_kind, name,
                                (int)(from->row.length < ROW_MOST ? from->row.length : ROW_MOST), from->row.bytes);
    half->stack = assay_dict_add(c->stacks, key, (size_t)length);
    half->process = text_or_none(c, from->process, &status);
    half->name = text_or_none(c, from->name, &status);
    half->phase = text_or_none(c, from->phase, &status);
    while (status == ASSAY_OK && half->stack != ASSAY_NO_ID && c->head.count <= half->stack)
        if (!rows_add(&c->head, sizeof(uint32_t)))
            status = ASSAY_ENOMEM;
    return half->stack == ASSAY_NO_ID ? ASSAY_ENOMEM : status;
}

static int keep_half(assay_collector *c, const span_half *half)
{
    span_half *row = rows_add(&c->half, sizeof *row);
    ASSAY_HAVE(row);
    *row = *half;
    row->order = (uint32_t)c->half.count;
    return ASSAY_OK;
}

static int take_half(assay_collector *c, const assay_event_span *from)
{
    span_half half;
    ASSAY_TRY(make_half(c, from, &half));
    uint32_t *head = (uint32_t *)c->head.list + half.stack;
    if (!half.ends) {
        open_half *row = rows_add(&c->open, sizeof *row);
        ASSAY_HAVE(row);
        *row = (open_half){half, *head, false};
        *head = (uint32_t)c->open.count;
        return ASSAY_OK;
    }
    if (*head == 0)
        return keep_half(c, &half);
    open_half *begin = (open_half *)c->open.list + *head - 1;
    begin->closed = true;
    *head = begin->outer;
    const span_half inner = begin->half;
    while (c->open.count > 0 && ((open_half *)c->open.list)[c->open.count - 1].closed)
        c->open.count--; /* so that memory follows how deep they are, not how many */
    return add_pair(c, &inner, &half);
}

int collector_begin_spans(assay_collector *c, const assay_event_file *file)
{
    c->file_worker = worker_of(c, file->source);
    c->open.count = 0;
    if (c->head.count > 0)
        memset(c->head.list, 0, c->head.count * sizeof(uint32_t));
    return c->file_worker == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
}

int collector_end_spans(assay_collector *c)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < c->open.count && status == ASSAY_OK; i++)
        if (!((open_half *)c->open.list)[i].closed)
            status = keep_half(c, &((open_half *)c->open.list)[i].half);
    c->open.count = 0;
    return status;
}

int collector_take_span(assay_collector *c, const assay_event_span *from)
{
    if (from->part != ASSAY_SPAN_WHOLE)
        return take_half(c, from);
    const span s = {.name = from->name,
                    .phase = from->phase,
                    .worker = c->file_worker,
                    .file = c->file_number,
                    .process_name = from->process,
                    .process = ASSAY_NO_PROCESS,
                    .kind = c->file_kind,
                    .pin_memory = from->pin_memory,
                    .start = from->time,
                    .duration = from->duration,
                    .step = from->step,
                    .num_workers = from->num_workers};
    return add_span(c, &s);
}

ASSAY_ORDER_BY(compare_halves, span_half, stack, file, order)

int collector_pair_halves(assay_collector *c, uint64_t *unmatched)
{
    span_half *list = c->half.list;
    size_t depth = 0; /* the list's beginning holds the open ones of the stack under way */
    int status = ASSAY_OK;
    if (c->half.count > 1)
        qsort(list, c->half.count, sizeof *list, compare_halves);
    for (size_t i = 0; i < c->half.count && status == ASSAY_OK; i++) {
        const span_half half = list[i];
        if (depth > 0 && list[depth - 1].stack != half.stack) {
            *unmatched += depth;
            depth = 0;
        }
        if (!half.ends)
            list[depth++] = half;
        else if (depth > 0)
            status = add_pair(c, &list[--depth], &half);
        else
            ++*unmatched;
    }
    *unmatched += depth;
    c->half.count = 0;
    return status;
}
