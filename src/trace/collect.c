/* collect.c - a collector of trace files: reads them one after the other, and is joined with those of other ranks. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "trace/internal.h"

assay_trace_collector *assay_trace_collector_new(void)
{
    assay_trace_collector *c = assay_alloc_zeroed(1, sizeof *c);
    if (!c)
        return NULL;
    c->texts = assay_dict_new();
    c->calls = assay_dict_new();
    assay_buf_init(&c->key, SIZE_MAX);
    assay_buf_init(&c->why, SIZE_MAX);
    if (c->texts && c->calls)
        return c;
    assay_trace_collector_free(c);
    return NULL;
}

void assay_trace_collector_free(assay_trace_collector *c)
{
    if (!c)
        return;
    trace_file_release(&c->now);
    assay_dict_free(c->texts);
    assay_dict_free(c->calls);
    free(c->call.list);
    free(c->file.list);
    free(c->step.list);
    free(c->kernel.list);
    free(c->sum.list);
    free(c->problem.list);
    free(c->name_class.list);
    assay_buf_release(&c->key);
    assay_buf_release(&c->why);
    free(c);
}

int assay_trace_collector_read(assay_trace_collector *c, assay_store *store, const assay_event_file *file,
                               uint32_t number, assay_error *err)
{
    assay_event_sink sink = trace_file_sink;
    int status = trace_file_begin(c, number);
    sink.context = c;
    ASSAY_THEN(status, assay_events_read(store, file, &sink, &c->bytes, err));
    ASSAY_THEN(status, trace_file_end(c, file));
    trace_file_release(&c->now);
    return status == ASSAY_ENOMEM && err && !err->text[0]
               ? assay_fail(err, status, "%s: out of memory while it is read", file->path)
               : status;
}

uint64_t assay_trace_collector_bytes_read(const assay_trace_collector *c)
{
    return c->bytes;
}

/* ---- from rank to rank: rows as they lie in memory, all ranks run the same program ---- */

static void put_rows(assay_buf *out, const void *list, size_t count, size_t size)
{
    assay_put_u64(out, count);
    assay_put_bytes(out, list, count * size);
}
#define PUT_ROWS(out, v) put_rows(out, (v)->list, (v)->count, sizeof *(v)->list)

int assay_trace_collector_pack(const assay_trace_collector *c, assay_buf *out)
{
    assay_put_u64(out, c->bytes);
    assay_dict_pack(c->texts, out);
    PUT_ROWS(out, &c->call);
    PUT_ROWS(out, &c->file);
    PUT_ROWS(out, &c->step);
    PUT_ROWS(out, &c->kernel);
    PUT_ROWS(out, &c->sum);
    PUT_ROWS(out, &c->problem);
    return assay_buf_status(out);
}

typedef struct joining {
    assay_cursor *in;
    uint32_t *text, *call; /* the earlier collector's numbers by the later one's */
    uint64_t texts, calls;
    int status;
} joining;

static bool is_sound(joining *j)
{
    if (j->status == ASSAY_OK && j->in->failed)
        j->status = ASSAY_EINTERNAL;
    return j->status == ASSAY_OK;
}

static void map(joining *j, const uint32_t *numbers, uint64_t count, uint32_t *number)
{
    if (*number == ASSAY_NO_ID)
        return;
    if (*number < count)
        *number = numbers[*number];
    else
        j->status = j->status == ASSAY_OK ? ASSAY_EINTERNAL : j->status;
}

static void join_texts(joining *j, assay_dict *to)
{
    j->texts = assay_get_count(j->in, 4);
    j->text = is_sound(j) ? assay_alloc((j->texts + 1) * sizeof *j->text) : NULL;
    if (is_sound(j) && !j->text)
        j->status = ASSAY_ENOMEM;
    for (uint64_t i = 0; i < j->texts && is_sound(j); i++) {
        size_t length = 0;
        const char *name = assay_get_text(j->in, &length);
        j->text[i] = is_sound(j) ? assay_dict_add(to, name, length) : ASSAY_NO_ID;
        if (j->text[i] == ASSAY_NO_ID)
            j->status = j->status == ASSAY_OK ? ASSAY_ENOMEM : j->status;
    }
}

/* Appends packed rows to a list of `size` bytes each; returns the number of the first. */
static size_t join_rows(joining *j, void *list, size_t *count, size_t *room, size_t size)
{
    const uint64_t more = assay_get_count(j->in, size);
    const uint8_t *bytes = is_sound(j) ? assay_get_bytes(j->in, (size_t)more * size) : NULL;
    const size_t first = *count;
    if (!is_sound(j) || more == 0)
        return first;
    if (!assay_vec_reserve(list, room, assay_vec_sum(first, (size_t)more), size)) {
        j->status = ASSAY_ENOMEM;
        return first;
    }
    memcpy(*(char **)list + first * size, bytes, (size_t)more * size);
    *count += (size_t)more;
    return first;
}
#define JOIN_ROWS(j, v) join_rows(j, &(v)->list, &(v)->count, &(v)->room, sizeof *(v)->list)

static void join_calls(joining *j, assay_trace_collector *c)
{
    ASSAY_VEC(call_row) later = {0};
    JOIN_ROWS(j, &later);
    j->calls = later.count;
    j->call = assay_alloc((later.count + 1) * sizeof *j->call);
    if (!j->call)
        j->status = j->status == ASSAY_OK ? ASSAY_ENOMEM : j->status;
    for (size_t i = 0; i < later.count && is_sound(j); i++) {
        call_row *row = &later.list[i];
        map(j, j->text, j->texts, &row->description);
        map(j, j->text, j->texts, &row->operation);
        map(j, j->text, j->texts, &row->dtype);
        j->call[i] = trace_add_call(c, row);
        if (j->call[i] == ASSAY_NO_ID)
            j->status = ASSAY_ENOMEM;
    }
    free(later.list);
}

int assay_trace_collector_join(assay_trace_collector *c, assay_cursor *later, assay_error *err)
{
    joining j = {.in = later};
    c->bytes += assay_get_u64(later);
    join_texts(&j, c->texts);
    if (is_sound(&j))
        join_calls(&j, c);
    for (size_t i = is_sound(&j) ? JOIN_ROWS(&j, &c->file) : c->file.count; i < c->file.count; i++)
        for (uint32_t g = 0; g < c->file.list[i].alone.gaps && g < ASSAY_TRACE_GAPS; g++)
            map(&j, j.text, j.texts, &c->file.list[i].alone.gap[g].name);
    if (is_sound(&j))
        JOIN_ROWS(&j, &c->step);
    for (size_t i = is_sound(&j) ? JOIN_ROWS(&j, &c->kernel) : c->kernel.count; i < c->kernel.count; i++) {
        map(&j, j.text, j.texts, &c->kernel.list[i].group);
        map(&j, j.call, j.calls, &c->kernel.list[i].call);
    }
    for (size_t i = is_sound(&j) ? JOIN_ROWS(&j, &c->sum) : c->sum.count; i < c->sum.count; i++)
        map(&j, j.text, j.texts, &c->sum.list[i].name);
    for (size_t i = is_sound(&j) ? JOIN_ROWS(&j, &c->problem) : c->problem.count; i < c->problem.count; i++)
        map(&j, j.text, j.texts, &c->problem.list[i].text);
    is_sound(&j);
    free(j.text);
    free(j.call);
    return j.status == ASSAY_OK ? ASSAY_OK : assay_fail(err, j.status, "what a rank collected of traces is damaged");
}
