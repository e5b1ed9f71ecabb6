/* diff.c - see diff.h. */
#include "diff/diff.h"

#include <assay/rule.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/fields.h"

/* ---- compare ---- */

/* One pair of tensors, as both are read. Where a map says that a part or the transposed tensor is meant,
 * the second one is brought into the order of the first in memory. */

/* A tensor while it is read. */
typedef struct stream {
    assay_reader *reader; /* NULL: all of it is at `piece` */
    const uint8_t *piece;
    size_t size, element;
} stream;

static int refill(stream *s, assay_error *err)
{
    if (s->size >= s->element || !s->reader)
        return ASSAY_OK;
    return assay_reader_content(s->reader, 0, &s->piece, &s->size, err);
}

/* Notes which of the trials it was that failed. */
static int noted(assay_diff_pair *p, uint32_t trial, int status)
{
    p->unread_of = status == ASSAY_OK ? 0 : trial;
    return status;
}

/* Reads both to their ends, which also verifies them. */
static int feed_all(assay_diff_reading *r, assay_diff_pair *p, stream *a, stream *b, assay_error *err)
{
    int status = ASSAY_OK;
    while (status == ASSAY_OK) {
        status = noted(p, 1, refill(a, err));
        ASSAY_THEN(status, noted(p, 2, refill(b, err)));
        if (status != ASSAY_OK || a->size == 0 || b->size == 0)
            break;
        const uint64_t of_a = a->size / a->element, of_b = b->size / b->element, n = of_a < of_b ? of_a : of_b;
        assay_differ_feed(&r->differ, a->piece, b->piece, n);
        a->piece += n * a->element;
        a->size -= n * a->element;
        b->piece += n * b->element;
        b->size -= n * b->element;
        assay_progress_add(r->progress, n * (a->element + b->element));
    }
    if (status == ASSAY_OK && (a->size > 0 || b->size > 0))
        return assay_fail(err, ASSAY_EFORMAT, "one of the tensors ends early");
    return status;
}

/* ---- parts ---- */

/* All elements of the record that is open; the caller frees them. */
static int read_whole(assay_reader *reader, const assay_record *record, size_t memory, uint8_t **out, assay_error *err)
{
    if (record->content_bytes > memory / 2)
        return assay_fail(err, ASSAY_EBUDGET,
                          "a part of it, or the transposed tensor, takes %llu bytes in memory: raise --memory",
                          2 * (unsigned long long)record->content_bytes);
    uint8_t *bytes = assay_alloc((size_t)record->content_bytes + 1);
    if (!bytes)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory for a tensor");
    assay_reader_put_at(reader, bytes);
    const uint8_t *piece = NULL;
    size_t size = 1;
    int status = ASSAY_OK;
    while (status == ASSAY_OK && size > 0)
        status = assay_reader_content(reader, 0, &piece, &size, err);
    if (status == ASSAY_OK)
        *out = bytes;
    else
        free(bytes);
    return status;
}

/* A part of a tensor: of each axis `size` places from `first` on. */
typedef struct box {
    int64_t first[ASSAY_MAX_DIMS], size[ASSAY_MAX_DIMS];
    bool transposed; /* its axes are turned round in the copy */
} box;

static uint64_t count_elements(const box *part, int dims)
{
    uint64_t count = 1;
    for (int d = 0; d < dims; d++)
        count *= (uint64_t)part->size[d];
    return count;
}

/* Copies the part out of a whole tensor, in C order. */
static void take_box(const uint8_t *from, const assay_record *record, const box *part, uint8_t *to)
{
    const int dims = record->dims;
    const size_t element = assay_dtype_size(record->dtype);
    const uint64_t count = count_elements(part, dims);
    int64_t index[ASSAY_MAX_DIMS] = {0}, stride[ASSAY_MAX_DIMS] = {0};
    for (int d = dims; d-- > 0;)
        stride[d] = d == dims - 1 ? 1 : stride[d + 1] * record->shape[d + 1];
    for (uint64_t i = 0; i < count; i++) {
        int64_t at = 0;
        for (int d = 0; d < dims; d++)
            at += (part->first[d] + index[d]) * stride[d];
        memcpy(to + i * element, from + (size_t)at * element, element);
        for (int k = 0; k < dims; k++) { /* the axis that runs fastest in the copy */
            const int d = part->transposed ? k : dims - 1 - k;
            if (++index[d] < part->size[d])
                break;
            index[d] = 0;
        }
    }
}

/* Brings the part of the second trial's record that the map means into memory. */
static int take_part(assay_diff_reading *r, const assay_record *record, const box *part, uint8_t **out,
                     assay_error *err)
{
    const size_t bytes = (size_t)count_elements(part, record->dims) * assay_dtype_size(record->dtype);
    uint8_t *whole = NULL;
    int status = read_whole(r->b.records, record, r->options->memory, &whole, err);
    if (status == ASSAY_OK && !(*out = assay_alloc(bytes + 1)))
        status = assay_fail(err, ASSAY_ENOMEM, "out of memory for a tensor");
    if (status == ASSAY_OK)
        take_box(whole, record, part, *out);
    free(whole);
    return status;
}

/* ---- the pair ---- */

static void set_shape(int64_t *to, const int64_t *shape, int dims, bool reversed)
{
    for (int d = 0; d < dims; d++)
        to[d] = shape[reversed ? dims - 1 - d : d];
}

static int compare_records(assay_diff_reading *r, assay_diff_pair *p, const assay_record *a, const assay_record *b,
                           assay_error *err)
{
    box meant = {.transposed = p->map && p->map->transposed};
    const bool part = p->map && (p->map->ranges > 0 || meant.transposed);
    memcpy(meant.size, b->shape, (size_t)b->dims * sizeof *meant.size);
    if (p->map && !assay_name_map_part(p->map, b->shape, b->dims, meant.first, meant.size))
        return assay_fail(err, ASSAY_EFORMAT, "%s does not have the part that --map means", p->name_b);
    p->dtype_a = a->dtype;
    p->dtype_b = b->dtype;
    p->dims_a = a->dims;
    p->dims_b = b->dims;
    set_shape(p->shape_a, a->shape, a->dims, false);
    set_shape(p->shape_b, meant.size, b->dims, meant.transposed);
    if (a->dims != b->dims || memcmp(p->shape_a, p->shape_b, (size_t)a->dims * sizeof *p->shape_a) != 0) {
        if (p->apart)
            return assay_fail(err, ASSAY_EFORMAT,
                              "several workers have it, and nothing says how what they have makes one tensor: give "
                              "--topology FILE (see assay topology)");
        p->state = ASSAY_DIFF_SHAPE;
        return ASSAY_OK;
    }
    uint8_t *bytes = NULL;
    int status = part ? noted(p, 2, take_part(r, b, &meant, &bytes, err)) : ASSAY_OK;
    if (status == ASSAY_OK) {
        stream of_a = {.reader = r->a.records, .element = assay_dtype_size(a->dtype)};
        stream of_b = {.reader = part ? NULL : r->b.records,
                       .piece = bytes,
                       .size = part ? (size_t)a->elements * assay_dtype_size(b->dtype) : 0,
                       .element = assay_dtype_size(b->dtype)};
        assay_differ_init(&r->differ, a->dtype, b->dtype, &r->options->tolerance);
        status = feed_all(r, p, &of_a, &of_b, err);
        assay_differ_end(&r->differ);
        p->figures = r->differ.figures;
    }
    free(bytes);
    return status;
}

static int open_both(assay_diff_reading *r, assay_diff_pair *p, assay_record *a, assay_record *b, assay_error *err)
{
    if (p->unlike)
        return assay_fail(err, ASSAY_EFORMAT,
                          "the topology says that workers have addends of it, or other data by design");
    if (!p->a.entry || !p->b.entry)
        return noted(p, p->a.entry ? 2 : 1,
                     assay_fail(err, ASSAY_EFORMAT, "%s: it is damaged or missing in this trial",
                                assay_store_location((p->a.entry ? &r->b : &r->a)->trial->store)));
    int status = noted(p, 1, assay_trial_record(&r->a, p->a.part, p->a.entry, a, err));
    ASSAY_THEN(status, noted(p, 2, assay_trial_record(&r->b, p->b.part, p->b.entry, b, err)));
    if (status == ASSAY_OK && (a->dtype == ASSAY_STRING) != (b->dtype == ASSAY_STRING))
        return assay_fail(err, ASSAY_EFORMAT, "one has texts, and the other numbers");
    return status;
}

/* Compares one pair; what is wrong with a record is in the pair. 0 or ASSAY_ENOMEM. (compare.c) */
static int assay_diff_compare(assay_diff_reading *r, assay_diff_pair *p)
{
    assay_record a, b;
    assay_error err = {""};
    int status = open_both(r, p, &a, &b, &err);
    if (status == ASSAY_OK && a.dtype != ASSAY_STRING)
        status = compare_records(r, p, &a, &b, &err);
    if (status == ASSAY_OK || status == ASSAY_ENOMEM)
        return status;
    p->state = ASSAY_DIFF_UNREAD;
    p->figures = (assay_diff_figures){0};
    p->text = assay_copy_text(err.text);
    return p->text ? ASSAY_OK : ASSAY_ENOMEM;
}

/* ---- diff ---- */

void assay_diff_release(assay_diff *d)
{
    for (size_t i = 0; i < d->pairs; i++)
        free(d->pair[i].text);
    free(d->pair);
    free(d->only_a.list);
    free(d->only_b.list);
    free(d->steps_a);
    free(d->steps_b);
    assay_trial_release(&d->a);
    assay_trial_release(&d->b);
    *d = (assay_diff){0};
}

static uint64_t weight_of(const assay_diff_pair *p)
{
    return 1 + (p->a.entry ? p->a.entry->length : 0) + (p->b.entry ? p->b.entry->length : 0);
}

/* ---- between ranks ---- */

#define FIGURE(member) ASSAY_FIELD(assay_diff_pair, figures.member)
/* What comparing a pair comes to. */
static const assay_field pair_fields[] = {ASSAY_FIELD_MOST(assay_diff_pair, state, ASSAY_DIFF_UNREAD),
                                          ASSAY_FIELD_MOST(assay_diff_pair, unread_of, 2),
                                          ASSAY_FIELD(assay_diff_pair, dtype_a),
                                          ASSAY_FIELD(assay_diff_pair, dtype_b),
                                          ASSAY_FIELD_COUNTED(assay_diff_pair, shape_a, dims_a),
                                          ASSAY_FIELD_COUNTED(assay_diff_pair, shape_b, dims_b),
                                          FIGURE(elements),
                                          FIGURE(unequal),
                                          FIGURE(apart),
                                          FIGURE(first),
                                          FIGURE(first_a),
                                          FIGURE(first_b),
                                          FIGURE(largest),
                                          FIGURE(largest_at),
                                          FIGURE(relative),
                                          FIGURE(dot),
                                          FIGURE(squares_a),
                                          FIGURE(squares_b),
                                          ASSAY_FIELD(assay_diff_pair, text),
                                          {0}};

static int get_pair(assay_cursor *in, assay_diff *d)
{
    const uint64_t i = assay_get_u64(in);
    if (in->failed || i >= d->pairs)
        return ASSAY_EINTERNAL;
    free(d->pair[i].text);
    const int status = assay_fields_unpack(pair_fields, in, &d->pair[i]);
    return status == ASSAY_EFORMAT ? ASSAY_EINTERNAL : status;
}

/* What every rank found, to rank 0. */
static int gather(assay_comm *comm, assay_diff *d, size_t first, size_t end, assay_error *err)
{
    assay_buf mine = ASSAY_BUF(SIZE_MAX), all = ASSAY_BUF(SIZE_MAX);
    uint64_t *starts = assay_alloc(((size_t)assay_comm_size(comm) + 1) * sizeof *starts);
    for (size_t i = first; i < end; i++) {
        assay_put_u64(&mine, i);
        assay_fields_pack(pair_fields, &d->pair[i], &mine);
    }
    int status = assay_comm_agree(comm, starts ? assay_buf_status(&mine) : ASSAY_ENOMEM, err);
    ASSAY_THEN(status, assay_comm_gather(comm, 0, &mine, &all, starts));
    assay_cursor in = assay_cursor_over(all.data, all.size);
    while (status == ASSAY_OK && assay_comm_rank(comm) == 0 && assay_cursor_left(&in) > 0)
        status = get_pair(&in, d);
    assay_buf_release(&mine);
    assay_buf_release(&all);
    free(starts);
    return assay_comm_agree(comm, status, err);
}

static const char *first_loss(const assay_diff *d)
{
    const char *of_a = assay_problems_loss(&d->a.problems);
    return of_a ? of_a : assay_problems_loss(&d->b.problems);
}

/* ---- the whole ---- */

/* Compares the pairs whose bytes begin in this rank's share of all bytes. */
static int compare_share(assay_comm *comm, assay_diff *d, const assay_diff_options *o, size_t *first, size_t *end)
{
    const uint64_t rank = (uint64_t)assay_comm_rank(comm), ranks = (uint64_t)assay_comm_size(comm);
    uint64_t total = 0, at = 0;
    assay_diff_reading *r = assay_alloc_zeroed(1, sizeof *r);
    for (size_t i = 0; i < d->pairs; i++)
        total += weight_of(&d->pair[i]);
    assay_progress *progress = assay_progress_new(comm, o->progress, 0, total);
    int status = assay_comm_agree(comm, r && progress ? ASSAY_OK : ASSAY_ENOMEM, NULL);
    *first = *end = 0;
    if (status != ASSAY_OK) {
        assay_progress_drop(progress);
        free(r);
        return status;
    }
    *r = (assay_diff_reading){.a = {.trial = &d->a}, .b = {.trial = &d->b}, .options = o, .progress = progress};
    for (size_t i = 0; status == ASSAY_OK && i < d->pairs; i++) {
        const uint64_t share = (uint64_t)((double)at / (double)total * (double)ranks);
        at += weight_of(&d->pair[i]);
        if ((share < ranks ? share : ranks - 1) != rank)
            continue;
        *first = *end == 0 ? i : *first;
        *end = i + 1;
        status = assay_diff_compare(r, &d->pair[i]);
    }
    assay_trial_reader_close(&r->a);
    assay_trial_reader_close(&r->b);
    assay_progress_end(progress);
    free(r);
    return status;
}

static void count_bytes(assay_diff *d)
{
    for (size_t i = 0; i < d->pairs; i++)
        d->bytes +=
            d->pair[i].figures.elements * (assay_dtype_size(d->pair[i].dtype_a) + assay_dtype_size(d->pair[i].dtype_b));
}

/* What stands before the names of one trial in all of the model's names of the other one: "model." in a Lightning file.
 * False: there is no such thing, or it is no plain text for a pattern. */
static bool find_prefix(const assay_trial_files *plain, const assay_trial_files *longer, char *out, size_t room)
{
    size_t size = 0, found = 0;
    const char *first = NULL;
    for (uint32_t i = 0; i < assay_dict_count(plain->tensors); i++) {
        size_t length = 0;
        const char *name = assay_dict_name(plain->tensors, i, &length);
        if (memchr(name, '/', length))
            continue; /* an optimizer's, an average's */
        for (uint32_t k = 0; !first && k < assay_dict_count(longer->tensors); k++) {
            size_t other = 0;
            const char *text = assay_dict_name(longer->tensors, k, &other);
            if (other > length && other - length < room && text[other - length - 1] == '.' &&
                memcmp(text + other - length, name, length) == 0) {
                first = text;
                size = other - length;
                memcpy(out, text, size);
                out[size] = '\0';
            }
        }
        char both[4096];
        const int whole = snprintf(both, sizeof both, "%.*s%.*s", (int)size, out, (int)length, name);
        if (!first || whole < 0 || (size_t)whole >= sizeof both ||
            assay_dict_find(longer->tensors, both, (size_t)whole) == ASSAY_NO_ID)
            return false;
        found++;
    }
    return found > 0 && strspn(out, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") == size;
}

/* Nothing could be paired. */
static int refuse_nothing(const assay_diff *d, const char *a, const char *b, assay_error *err)
{
    if (first_loss(d))
        return assay_fail(err, ASSAY_EUSAGE, "%s and %s have no tensor in common that can be read: %s", a, b,
                          first_loss(d));
    if (d->a.catalog.workers != d->b.catalog.workers && !d->a.catalog.topology && !d->b.catalog.topology)
        return assay_fail(err, ASSAY_EUSAGE,
                          "%s has %u workers, and %s has %u, of other names, and nothing says which of them has which "
                          "piece of a tensor: give --topology FILE (see assay topology)",
                          a, d->a.catalog.workers, b, d->b.catalog.workers);
    char prefix[256] = "", escaped[512] = "";
    if (find_prefix(&d->a, &d->b, prefix, sizeof prefix))
        return assay_fail(err, ASSAY_EUSAGE, "the names of %s have %s in front of those of %s: add --map '(.*)=%s\\1'",
                          b, prefix, a, prefix);
    if (find_prefix(&d->b, &d->a, prefix, sizeof prefix)) {
        for (size_t i = 0, at = 0; prefix[i]; i++)
            at += (size_t)snprintf(escaped + at, sizeof escaped - at, prefix[i] == '.' ? "\\%c" : "%c", prefix[i]);
        return assay_fail(err, ASSAY_EUSAGE, "the names of %s have %s in front of those of %s: add --map '%s(.*)=\\1'",
                          a, prefix, b, escaped);
    }
    return assay_fail(
        err, ASSAY_EUSAGE,
        "%s and %s have no tensor of one name at one step: --map 'REGEX=NAME' tells which names stand for the same", a,
        b);
}

int assay_diff_run(assay_comm *comm, const char *a, const char *b, const assay_diff_options *options, assay_diff *out,
                   assay_error *err)
{
    size_t first = 0, end = 0;
    *out = (assay_diff){0};
    int status = assay_diff_open(comm, a, options->topology, &out->a, err);
    ASSAY_THEN(status, assay_diff_open(comm, b, options->topology, &out->b, err));
    ASSAY_THEN(status, assay_diff_pair_up(out, options, err));
    if (status == ASSAY_OK && out->pairs == 0)
        status = refuse_nothing(out, a, b, err);
    status = assay_comm_agree(comm, status, err);
    ASSAY_THEN(status, assay_diff_check_files(comm, out, compare_share(comm, out, options, &first, &end), err));
    ASSAY_THEN(status, gather(comm, out, first, end, err));
    if (status == ASSAY_OK)
        count_bytes(out);
    return status;
}
