/* read.c - the values of a recording: to the caller's buffer, as they were saved or widened, and figures of them. */
#include <inttypes.h>
#include <string.h>

#include "recording/place.h"
#include "recording/recording.h"
#include "tensor/convert.h"
#include "tensor/stats.h"

enum { CHUNK = 1024 /* elements widened at a time */ };

/* What a caller asks for: a tensor at one of its rows. The recording's lock is held while it is read: readers have
 * one record open. */
typedef struct cell {
    assay_recording *r;
    uint32_t tensor;
    size_t row;
} cell;

/* Its record of a kind, in memory or open in the reader, which has room for one: the next that is opened takes its
 * place. */
typedef struct opened {
    const uint8_t *kept; /* NULL: it is open in the reader */
    const recording_item *item;
    assay_recorded_head head;
} opened;

/* Fails with where a message is about: the trial, the tensor, the step and the worker. */
static int fail_unsaved(const assay_recording *r, uint32_t tensor, const assay_part *part, const char *what,
                        assay_error *err)
{
    return assay_fail(err, ASSAY_ENOTFOUND, "%s: %s of tensor \"%.200s\" was not saved at step %" PRId64 " by %s",
                      assay_recording_location(r), what, assay_recording_tensor(r, tensor, NULL), part->step,
                      assay_recording_worker(r, part->worker));
}

static int open_kind(const cell *c, int kind, opened *out, assay_error *err)
{
    assay_recording *r = c->r;
    const recording_item *items;
    size_t count;
    ASSAY_TRY(recording_row(r, c->tensor, c->row, &items, &count, err));
    out->item = recording_item_of(items, count, kind);
    if (!out->item)
        return fail_unsaved(r, c->tensor, items->part,
                            kind == ASSAY_RAW ? "the value" : assay_recording_kind_name(kind), err);
    out->kept = recording_kept_find(&r->kept, &r->reader, out->item->part, out->item->entry, &out->head);
    if (out->kept)
        return ASSAY_OK;
    assay_record record;
    int status = assay_trial_record(&r->reader, out->item->part, out->item->entry, &record, err);
    if (status == ASSAY_OK)
        recording_head_of(&record, &out->head);
    return status;
}

/* Gets the next content of an open record, of which `done` elements were taken; *size is 0 at the end. */
static int next_piece(assay_recording *r, const opened *o, uint64_t done, const uint8_t **piece, size_t *size,
                      assay_error *err)
{
    if (!o->kept)
        return assay_reader_content(r->reader.records, 0, piece, size, err);
    *piece = o->kept; /* all of it in one piece */
    *size = done == 0 ? (size_t)o->head.bytes : 0;
    return ASSAY_OK;
}

/* The buffer has room for all elements: read_value() has looked. */
static int widen(assay_recording *r, const opened *o, assay_read_as as, void *buffer, assay_error *err)
{
    const assay_recorded_head *head = &o->head;
    const size_t element = assay_dtype_size(head->dtype);
    const uint8_t *piece;
    size_t size;
    uint64_t done = 0;
    double chunk[CHUNK];
    int status;
    while ((status = next_piece(r, o, done, &piece, &size, err)) == ASSAY_OK && size > 0) {
        for (size_t left = size / element, n; left > 0; left -= n, piece += n * element, done += n) {
            n = left < CHUNK ? left : CHUNK;
            if (as == ASSAY_AS_FLOAT64) {
                assay_to_double(head->dtype, piece, n, (double *)buffer + done);
                continue;
            }
            assay_to_double(head->dtype, piece, n, chunk);
            for (size_t i = 0; i < n; i++)
                ((float *)buffer)[done + i] = (float)chunk[i];
        }
    }
    return status;
}

static bool is_as_saved(int dtype, assay_read_as as)
{
    return as == ASSAY_AS_SAVED || (as == ASSAY_AS_FLOAT32 && dtype == ASSAY_FLOAT32) ||
           (as == ASSAY_AS_FLOAT64 && dtype == ASSAY_FLOAT64);
}

/* Reads a value. *head is set where the value is there, also where there is too little room for it, so that callers
 * can come again with more. */
static int read_value(const cell *c, assay_read_as as, void *buffer, size_t room, assay_recorded_head *head,
                      assay_error *err)
{
    assay_recording *r = c->r;
    opened o = {0};
    ASSAY_TRY(open_kind(c, ASSAY_RAW, &o, err));
    *head = o.head;
    if (head->dtype == ASSAY_STRING)
        return assay_fail(err, ASSAY_EUNSUPPORTED, "%s: tensor \"%.200s\" has strings, not numbers",
                          assay_recording_location(r), assay_recording_tensor(r, c->tensor, NULL));
    const size_t wide = as == ASSAY_AS_FLOAT32 ? sizeof(float) : sizeof(double);
    const bool fits = as == ASSAY_AS_SAVED ? head->bytes <= room : head->elements <= room / wide;
    if (!fits)
        return assay_fail(err, ASSAY_EBUDGET, "%s: the value of \"%.200s\" takes more than %zu bytes",
                          assay_recording_location(r), assay_recording_tensor(r, c->tensor, NULL), room);
    if (!is_as_saved(head->dtype, as))
        return widen(r, &o, as, buffer, err);
    if (!o.kept)
        return recording_pull(r->reader.records, buffer, head->bytes, err);
    if (head->bytes > 0)
        memcpy(buffer, o.kept, (size_t)head->bytes);
    return ASSAY_OK;
}

int assay_recording_read(assay_recording *r, uint32_t tensor, size_t row, assay_read_as as, void *buffer, size_t room,
                         assay_recorded_head *head, assay_error *err)
{
    assay_recorded_head unwanted;
    if (as < ASSAY_AS_SAVED || as > ASSAY_AS_FLOAT64)
        return assay_fail(err, ASSAY_EUSAGE, "%d is not a way to read a value", (int)as);
    head = head ? head : &unwanted;
    *head = (assay_recorded_head){0}; /* a reader whose memory does not suffice never comes to fill it */
    pthread_mutex_lock(&r->lock);
    int status = read_value(&(cell){r, tensor, row}, as, buffer, room, head, err);
    pthread_mutex_unlock(&r->lock);
    return status;
}

static bool is_alike(const assay_recorded_head *a, const assay_recorded_head *b)
{
    return a->dtype == b->dtype && a->dims == b->dims &&
           memcmp(a->shape, b->shape, (size_t)a->dims * sizeof *a->shape) == 0;
}

/* Reads a value for each row. A value takes its place before it is known whether it is like the first one; one that
 * is not is overwritten, or behind what counts. */
int assay_recording_read_rows(assay_recording *r, uint32_t tensor, const uint64_t *rows, size_t count, assay_read_as as,
                              void *buffer, size_t room, assay_recorded_head *head, size_t *done, assay_error *err)
{
    assay_recorded_head first = {0}, next = {0};
    *done = 0;
    if (count == 0)
        return ASSAY_OK;
    int status = assay_recording_read(r, tensor, (size_t)rows[0], as, buffer, room, &first, err);
    if (head && (status == ASSAY_OK || status == ASSAY_EBUDGET))
        *head = first;
    ASSAY_TRY(status);
    const size_t width = as == ASSAY_AS_SAVED     ? assay_dtype_size(first.dtype)
                         : as == ASSAY_AS_FLOAT32 ? sizeof(float)
                                                  : sizeof(double);
    const size_t size = (size_t)first.elements * width;
    pthread_mutex_lock(&r->lock);
    for (*done = 1; *done < count && (*done + 1) * size <= room; (*done)++) {
        uint8_t *to = (uint8_t *)buffer + *done * size;
        if (read_value(&(cell){r, tensor, (size_t)rows[*done]}, as, to, size, &next, NULL) != ASSAY_OK ||
            !is_alike(&next, &first))
            break;
    }
    pthread_mutex_unlock(&r->lock);
    return ASSAY_OK;
}

/* A tensor of which only the shape was saved has a head too, with dtype -1. */
static int read_head(assay_recording *r, uint32_t tensor, size_t row, assay_recorded_head *head, assay_error *err)
{
    const recording_item *items;
    size_t count;
    opened o = {0};
    ASSAY_TRY(recording_row(r, tensor, row, &items, &count, err));
    if (recording_item_of(items, count, ASSAY_RAW)) {
        ASSAY_TRY(open_kind(&(cell){r, tensor, row}, ASSAY_RAW, &o, err));
        *head = o.head;
        return ASSAY_OK;
    }
    const assay_shape_entry *shape = recording_shape(r, tensor, items);
    if (!shape)
        return fail_unsaved(r, tensor, items->part, "the shape", err);
    *head = (assay_recorded_head){.dtype = -1, .dims = (int32_t)shape->dims, .elements = 1};
    for (uint32_t d = 0; d < shape->dims; d++) {
        head->shape[d] = shape->dim[d];
        head->elements *= shape->dim[d] > 0 ? (uint64_t)shape->dim[d] : 0;
    }
    return ASSAY_OK;
}

int assay_recording_head(assay_recording *r, uint32_t tensor, size_t row, assay_recorded_head *head, assay_error *err)
{
    pthread_mutex_lock(&r->lock);
    int status = read_head(r, tensor, row, head, err);
    pthread_mutex_unlock(&r->lock);
    return status;
}

static int read_strings(const cell *c, char *buffer, size_t room, uint64_t *ends, size_t ends_room, assay_error *err)
{
    assay_recording *r = c->r;
    opened o = {0};
    size_t end = 0;
    ASSAY_TRY(open_kind(c, ASSAY_RAW, &o, err));
    const assay_recorded_head head = o.head;
    if (head.dtype != ASSAY_STRING)
        return assay_fail(err, ASSAY_EUNSUPPORTED, "%s: tensor \"%.200s\" has numbers, not strings",
                          assay_recording_location(r), assay_recording_tensor(r, c->tensor, NULL));
    if (head.elements > ends_room || head.bytes > room)
        return assay_fail(err, ASSAY_EBUDGET, "%s: \"%.200s\" has %" PRIu64 " strings of %" PRIu64 " bytes",
                          assay_recording_location(r), assay_recording_tensor(r, c->tensor, NULL), head.elements,
                          head.bytes);
    /* The lengths were checked against the head when the record was opened. */
    for (uint64_t i = 0; i < head.elements; i++) {
        size_t length;
        const char *text = assay_reader_string(r->reader.records, i, &length);
        if (length > 0)
            memcpy(buffer + end, text, length);
        ends[i] = end += length;
    }
    return ASSAY_OK;
}

int assay_recording_read_strings(assay_recording *r, uint32_t tensor, size_t row, char *buffer, size_t room,
                                 uint64_t *ends, size_t ends_room, assay_error *err)
{
    pthread_mutex_lock(&r->lock);
    int status = read_strings(&(cell){r, tensor, row}, buffer, room, ends, ends_room, err);
    pthread_mutex_unlock(&r->lock);
    return status;
}

static int read_reduction(const cell *c, int kind, double *value, assay_error *err)
{
    opened o = {0};
    if (kind <= ASSAY_RAW || !assay_recording_kind_name(kind)[0])
        return assay_fail(err, ASSAY_EUSAGE, "%d is not a kind of reduction", kind);
    int status = open_kind(c, kind, &o, err);
    if (status != ASSAY_OK || !o.kept)
        return status == ASSAY_OK ? assay_reader_number(c->r->reader.records, value, err) : status;
    if (o.head.elements != 1)
        return assay_fail(err, ASSAY_EFORMAT, "a saved reduction must be one number");
    assay_to_double(o.head.dtype, o.kept, 1, value);
    return ASSAY_OK;
}

int assay_recording_reduction(assay_recording *r, uint32_t tensor, size_t row, int kind, double *value,
                              assay_error *err)
{
    pthread_mutex_lock(&r->lock);
    int status = read_reduction(&(cell){r, tensor, row}, kind, value, err);
    pthread_mutex_unlock(&r->lock);
    return status;
}

const char *assay_recording_kind_name(int kind)
{
    static const char *const names[ASSAY_KINDS] = {[ASSAY_RAW] = "raw",
                                                   [ASSAY_DIGEST] = "digest",
#define KIND_NAMES(name, text) [ASSAY_##name] = text, [ASSAY_ABS + ASSAY_##name] = "abs_" text,
                                                   ASSAY_REDUCTION_LIST(KIND_NAMES)
#undef KIND_NAMES
    };
    return kind >= 0 && kind < ASSAY_KINDS && names[kind] ? names[kind] : "";
}

int assay_recording_kind(const char *name)
{
    for (int kind = 0; kind < ASSAY_KINDS; kind++)
        if (name[0] && strcmp(assay_recording_kind_name(kind), name) == 0)
            return kind;
    return -1;
}

/* Called with a record open, whose content is read to its end. */
int recording_measure(assay_trial_reader *reader, int dtype, assay_stats *stats, assay_error *err)
{
    assay_stats_acc acc;
    const uint8_t *piece;
    size_t size, element = assay_dtype_size(dtype);
    int status = assay_stats_init(&acc, dtype);
    if (status != ASSAY_OK)
        return assay_fail(err, status, "elements of dtype %s have no statistics", assay_dtype_name(dtype));
    while ((status = assay_reader_content(reader->records, 0, &piece, &size, err)) == ASSAY_OK && size > 0)
        assay_stats_feed(&acc, piece, size / element);
    assay_stats_finish(&acc, stats);
    return status;
}

static int read_stats(const cell *c, assay_stats *stats, assay_error *err)
{
    opened o = {0};
    int status = open_kind(c, ASSAY_RAW, &o, err);
    if (status != ASSAY_OK || !o.kept)
        return status == ASSAY_OK ? recording_measure(&c->r->reader, o.head.dtype, stats, err) : status;
    assay_stats_acc acc;
    status = assay_stats_init(&acc, o.head.dtype);
    if (status != ASSAY_OK)
        return assay_fail(err, status, "elements of dtype %s have no statistics", assay_dtype_name(o.head.dtype));
    assay_stats_feed(&acc, o.kept, o.head.elements);
    assay_stats_finish(&acc, stats);
    return ASSAY_OK;
}

int assay_recording_stats(assay_recording *r, uint32_t tensor, size_t row, assay_stats *stats, assay_error *err)
{
    pthread_mutex_lock(&r->lock);
    int status = read_stats(&(cell){r, tensor, row}, stats, err);
    pthread_mutex_unlock(&r->lock);
    return status;
}

/* Where a value lies, for who maps it. */
typedef struct stretch {
    char *path; /* `room` bytes */
    size_t room;
    uint64_t *offset;
} stretch;

static int find_place(const cell *c, bool lasting, const stretch *out, assay_recorded_head *head, assay_error *err)
{
    assay_recording *r = c->r;
    const recording_item *items;
    size_t count;
    assay_record record;
    ASSAY_TRY(recording_row(r, c->tensor, c->row, &items, &count, err));
    const recording_item *item = recording_item_of(items, count, ASSAY_RAW);
    if (!item)
        return fail_unsaved(r, c->tensor, items->part, "the value", err);
    if (r->reader.records) /* the first record of all is read as it comes */
        assay_reader_want_heads_only(r->reader.records, true);
    int status = assay_trial_record(&r->reader, item->part, item->entry, &record, err);
    if (r->reader.records)
        assay_reader_want_heads_only(r->reader.records, false);
    ASSAY_TRY(status);
    if (!recording_place(&r->reader, &record, lasting, out->path, out->room, out->offset))
        return assay_fail(err, ASSAY_EUNSUPPORTED, "%s: the value of \"%.200s\" is not one stretch of a file here",
                          assay_recording_location(r), assay_recording_tensor(r, c->tensor, NULL));
    recording_head_of(&record, head);
    return ASSAY_OK;
}

int assay_recording_place(assay_recording *r, uint32_t tensor, size_t row, bool lasting, char *path, size_t room,
                          uint64_t *offset, assay_recorded_head *head, assay_error *err)
{
    pthread_mutex_lock(&r->lock);
    int status = find_place(&(cell){r, tensor, row}, lasting, &(stretch){path, room, offset}, head, err);
    pthread_mutex_unlock(&r->lock);
    return status;
}

/* From now on; what is kept already stays. */
void assay_recording_keep(assay_recording *r, size_t bytes)
{
    pthread_mutex_lock(&r->lock);
    r->kept.most = bytes;
    pthread_mutex_unlock(&r->lock);
}
