/* alike.c - see alike.h. A small table, by a record's place and size, of patterns: the bytes before and behind the
 * content. What the walk of a record comes to depends on these bytes and their places alone, so a record with the
 * same ones has the same parts. Three numbers may differ: wall time and step, which are the first fields of the Event,
 * and the mode's step, whose digits the walk has told. */
#include "format/tfrecord/alike.h"

#include <string.h>

#include "base/fault.h"

enum {
    PATTERNS = 128, /* a power of two */
    HEAD_MOST = 448,
    TAIL_MOST = 96,
    DIMS_MOST = 6,
    TIME = 9, /* bytes of the Event's first field: its key and a double */
    TIME_KEY = 1 << 3 | ASSAY_WIRE_FIXED64,
    STEP_KEY = 2 << 3 | ASSAY_WIRE_VARINT
};

typedef struct pattern {
    uint64_t size;               /* of the payload; 0: no pattern */
    uint32_t first;              /* the place behind the step */
    uint32_t head, tail;         /* bytes before and behind the content */
    uint32_t digits, digits_end; /* in the tail: the mode's step; equal: it is not said */
    uint32_t tag_at, tag_end, node_at, node_end, tensor_at, tensor_end; /* places in the payload; no node: equal */
    uint64_t dtype;
    int mode, dims;
    int64_t shape[DIMS_MOST];
    uint8_t bytes[HEAD_MOST + TAIL_MOST]; /* head, then tail */
} pattern;

typedef struct assay_alike {
    pattern patterns[PATTERNS];
    unsigned turn; /* which of its two places a record takes when both are taken */
} assay_alike;

/* Where the step's varint ends that begins the payload's second field; 0 when the payload does not begin like that. */
static size_t read_time_and_step(const uint8_t *bytes, size_t size, double *time, int64_t *step)
{
    uint64_t value = 0;
    if (size <= TIME + 1 || bytes[0] != TIME_KEY || bytes[TIME] != STEP_KEY)
        return 0;
    size_t used = assay_varint(bytes + TIME + 1, size - TIME - 1, &value);
    memcpy(time, bytes + 1, sizeof *time); /* little-endian, as all machines are that this is built for */
    memcpy(step, &value, sizeof *step);
    return used > 0 ? TIME + 1 + used : 0;
}

/* The number of the digits; -1 when one of them is none. */
static int64_t number_of(const uint8_t *digits, size_t count)
{
    int64_t number = 0;
    for (size_t i = 0; i < count; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return -1;
        number = number * 10 + (digits[i] - '0');
    }
    return number;
}

/* Fills `parts` and `record` from the pattern if the payload, `size` bytes at file offset `at`, is like it. */
static bool is_like(const pattern *p, const uint8_t *bytes, uint64_t size, uint64_t at, assay_record_parts *parts,
                    assay_record *record)
{
    double time = 0;
    int64_t step = 0, mode_step = -1;
    if (p->size != size || read_time_and_step(bytes, (size_t)size, &time, &step) != p->first ||
        memcmp(bytes + p->first, p->bytes + p->first, p->head - p->first) != 0)
        return false;
    const uint8_t *tail = bytes + size - p->tail, *known = p->bytes + p->head;
    if (memcmp(tail, known, p->digits) != 0 ||
        memcmp(tail + p->digits_end, known + p->digits_end, p->tail - p->digits_end) != 0)
        return false;
    if (p->digits < p->digits_end && (mode_step = number_of(tail + p->digits, p->digits_end - p->digits)) < 0)
        return false;
    parts->tag_at = at + p->tag_at;
    parts->tag_end = at + p->tag_end;
    parts->node_at = at + p->node_at;
    parts->node_end = at + p->node_end;
    parts->tensor_at = at + p->tensor_at;
    parts->tensor_end = at + p->tensor_end;
    parts->content_at = at + p->head;
    parts->content_end = at + size - p->tail;
    parts->has_tensor = true;
    parts->has_simple = parts->unknown_rank = false;
    parts->simple = 0;
    parts->dtype = p->dtype;
    parts->dims = p->dims;
    for (int d = 0; d < p->dims; d++)
        parts->shape[d] = p->shape[d];
    record->wall_time = time;
    record->step = step;
    record->mode = p->mode;
    record->mode_step = mode_step;
    return true;
}

/* Remembers a record that was walked, unless it has something that a pattern has no place for. */
static void remember(pattern *p, const uint8_t *bytes, uint64_t size, uint64_t at, const assay_record_parts *parts,
                     const assay_record *record)
{
    double time = 0;
    int64_t step = 0;
    const uint64_t head = parts->content_at - at, tail = at + size - parts->content_end;
    const size_t first = read_time_and_step(bytes, (size_t)size, &time, &step);
    p->size = 0;
    if (!parts->has_tensor || parts->has_simple || parts->unknown_rank || parts->dims > DIMS_MOST ||
        parts->content_at == parts->content_end || head > HEAD_MOST || tail > TAIL_MOST || parts->tag_at < at ||
        parts->tag_end > parts->content_at || parts->node_end > parts->content_at)
        return;
    /* What is said twice counts where it is said last. */
    if (first == 0 || parts->time_end != at + TIME || parts->step_end != at + first)
        return;
    *p = (pattern){.first = (uint32_t)first, .head = (uint32_t)head, .tail = (uint32_t)tail};
    if (record->mode_step >= 0) {
        if (parts->mode_step_at < parts->content_end)
            return;
        p->digits = (uint32_t)(parts->mode_step_at - parts->content_end);
        p->digits_end = (uint32_t)(parts->mode_step_end - parts->content_end);
    }
    p->tag_at = (uint32_t)(parts->tag_at - at);
    p->tag_end = (uint32_t)(parts->tag_end - at);
    const bool node = parts->node_at < parts->node_end;
    p->node_at = node ? (uint32_t)(parts->node_at - at) : 0;
    p->node_end = node ? (uint32_t)(parts->node_end - at) : 0;
    p->tensor_at = (uint32_t)(parts->tensor_at - at);
    p->tensor_end = (uint32_t)(parts->tensor_end - at);
    p->dtype = parts->dtype;
    p->mode = record->mode;
    p->dims = parts->dims;
    for (int d = 0; d < p->dims; d++)
        p->shape[d] = parts->shape[d];
    memcpy(p->bytes, bytes, head);
    memcpy(p->bytes + head, bytes + size - tail, tail);
    p->size = size;
}

/* The two places of a record in the table. */
static pattern *place_of(assay_alike *alike, uint64_t at, uint64_t size, unsigned which)
{
    const uint64_t mixed = (at ^ size << 40) * UINT64_C(0x9e3779b97f4a7c15);
    return &alike->patterns[(mixed >> 57 ^ which) % PATTERNS];
}

int assay_alike_walk(void **kept, assay_view *view, uint64_t at, uint64_t end, assay_record_parts *parts,
                     assay_record *record, assay_error *err)
{
    const uint64_t size = end - at;
    if (size == 0 || at < view->window_at || view->window_at + view->window_size < end)
        return assay_record_walk(view, at, end, parts, record, err);
    const uint8_t *bytes = view->window + (at - view->window_at);
    assay_alike *alike = *kept ? *kept : (*kept = assay_alloc_zeroed(1, sizeof *alike));
    for (unsigned which = 0; alike && which < 2; which++)
        if (is_like(place_of(alike, at, size, which), bytes, size, at, parts, record))
            return ASSAY_OK;
    int status = assay_record_walk(view, at, end, parts, record, err);
    if (!alike || status != ASSAY_OK)
        return status;
    const bool taken = place_of(alike, at, size, 0)->size > 0;
    alike->turn += taken;
    remember(place_of(alike, at, size, taken && alike->turn % 2), bytes, size, at, parts, record);
    return ASSAY_OK;
}
