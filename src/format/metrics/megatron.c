/* megatron.c - what Megatron-LM prints: ` iteration N/ M | name: value | ... |`, and a line a validation. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "format/metrics/printed.h"
#include "format/metrics/runs.h"

enum { LOSSES_MOST = 64, TAG_ROOM = 600 };

typedef struct reader {
    metrics_log *log;
    assay_buf plain;        /* a line without its colour codes */
    assay_dict *losses;     /* printed so far in iterations */
    bool seen[LOSSES_MOST]; /* in the line under way, by the loss's number */
} reader;

/* What the head of a line says. */
typedef struct head {
    const char *rest; /* behind its first bar */
    int64_t step;
    int mode;
    bool iteration;
    const char *set; /* of the validation; NULL: it has no name */
    size_t set_length;
} head;

static const char *find(const char *from, const char *end, const char *word)
{
    const char *found = from < end ? memmem(from, (size_t)(end - from), word, strlen(word)) : NULL;
    return found ? found + strlen(word) : NULL;
}

static void skip_blanks(const char **p, const char *end)
{
    while (*p < end && **p == ' ')
        (*p)++;
}

static bool take_iteration(const char *line, const char *end, head *h)
{
    int64_t most = 0;
    for (const char *p = line; (p = find(p, end, " iteration "));) {
        const char *q = p;
        const char *before = p - sizeof " iteration ";
        if (before >= line && *before == ',') /* "epoch 1, iteration 3/149 |": it counts within the epoch */
            continue;
        if (!metrics_take_digits(&q, end, &h->step) || q == end || *q != '/')
            continue;
        q++;
        if (!metrics_take_digits(&q, end, &most))
            continue;
        skip_blanks(&q, end);
        if (q == end || *q != '|')
            continue;
        h->rest = q + 1;
        h->mode = ASSAY_MODE_TRAIN;
        h->iteration = true;
        return true;
    }
    return false;
}

static bool take_validation(const char *line, const char *end, head *h)
{
    for (const char *p = line; (p = find(p, end, " validation"));) {
        const char *q = find(p, end, " loss at iteration ");
        if (!q)
            return false;
        const char *set = p, *set_end = q - strlen(" loss at iteration ");
        if (set < set_end && *set != '-')
            continue;
        h->set = set < set_end ? set + 1 : NULL;
        h->set_length = h->set ? (size_t)(set_end - h->set) : 0;
        if (!metrics_take_digits(&q, end, &h->step))
            continue;
        const char *bar = memchr(q, '|', (size_t)(end - q));
        if (!bar)
            return false;
        h->mode = find(q, bar, "on test set") ? ASSAY_MODE_PREDICT : ASSAY_MODE_EVAL;
        h->rest = bar + 1;
        h->iteration = false;
        return true;
    }
    return false;
}

static int put_part(reader *r, const head *h, const char *part, size_t length, double *nan_iterations)
{
    char tag[TAG_ROOM];
    double value = 0;
    metrics_trim(&part, &length);
    const char *colon = memrchr(part, ':', length), *border = colon ? colon : memrchr(part, ' ', length);
    if (!border)
        return ASSAY_OK;
    const char *name = part, *text = border + 1;
    size_t name_length = (size_t)(border - part), text_length = (size_t)(part + length - text);
    metrics_trim(&name, &name_length);
    metrics_trim(&text, &text_length);
    if (name_length == 0 || (!colon && !metrics_number(text, text_length, &value))) /* before 2021 without a colon */
        return ASSAY_OK;
    if (!metrics_number(text, text_length, &value)) {
        metrics_add(r->log, METRICS_TEXTS);
        return ASSAY_OK;
    }
    if (!h->iteration && name_length > 6 && memcmp(name + name_length - 6, " value", 6) == 0)
        name_length -= 6;
    if (h->set && name_length + h->set_length + 1 < sizeof tag) {
        name_length =
            (size_t)snprintf(tag, sizeof tag, "%.*s/%.*s", (int)name_length, name, (int)h->set_length, h->set);
        name = tag;
    }
    if (h->iteration && name_length == 24 && memcmp(name, "number of nan iterations", 24) == 0)
        *nan_iterations = value;
    if (h->iteration && metrics_is_loss(name, name_length) && assay_dict_count(r->losses) < LOSSES_MOST) {
        const uint32_t number = assay_dict_add(r->losses, name, name_length);
        if (number == ASSAY_NO_ID)
            return ASSAY_ENOMEM;
        r->seen[number] = true;
    }
    return metrics_put(r->log, name, name_length, h->mode, h->step, value);
}

/* Megatron leaves losses out that are NaN: those that it printed before are entered. */
static int put_missing(reader *r, const head *h, double nan_iterations)
{
    int status = ASSAY_OK;
    for (uint32_t i = 0; i < assay_dict_count(r->losses) && status == ASSAY_OK; i++) {
        size_t length = 0;
        if (r->seen[i])
            continue;
        const char *name = assay_dict_name(r->losses, i, &length);
        metrics_add(r->log, nan_iterations > 0 ? METRICS_LOSSES_NOT_PRINTED : METRICS_LOSSES_MISSING);
        if (nan_iterations > 0)
            status = metrics_put(r->log, name, length, h->mode, h->step, NAN);
    }
    return status;
}

static int take(void *context, const char *line, size_t length)
{
    reader *r = context;
    head h = {0};
    double nan_iterations = 0;
    int status = ASSAY_OK;
    metrics_strip_colours(&r->plain, &line, &length);
    const char *end = line + length;
    if (!take_iteration(line, end, &h) && !take_validation(line, end, &h))
        return 1;
    if (h.step < 0) {
        metrics_add(r->log, METRICS_BAD_STEPS);
        return ASSAY_OK;
    }
    memset(r->seen, 0, sizeof r->seen);
    for (const char *p = h.rest; p < end && status == ASSAY_OK;) {
        const char *bar = memchr(p, '|', (size_t)(end - p)), *stop = bar ? bar : end;
        status = put_part(r, &h, p, (size_t)(stop - p), &nan_iterations);
        p = stop + 1;
    }
    return status == ASSAY_OK && h.iteration ? put_missing(r, &h, nan_iterations) : status;
}

static bool test(const char *line, size_t length)
{
    head h;
    return take_iteration(line, line + length, &h);
}

static int proven(assay_store *store, const metrics_file *file, assay_error *err)
{
    return metrics_has_line(store, file->path, test, err);
}

static int divide(metrics_place *place, assay_error *err)
{
    const int status = metrics_divide_whole(place, METRICS_MEGATRON);
    return status == ASSAY_OK ? metrics_split_runs(place, err) : status;
}

static int read(metrics_log *log, const metrics_place *place, const metrics_run *run, assay_error *err)
{
    (void)place;
    reader r = {.log = log, .losses = assay_dict_new()};
    int status = r.losses ? ASSAY_OK : ASSAY_ENOMEM;
    assay_buf_init(&r.plain, SIZE_MAX);
    log->falls = true;
    for (size_t i = 0; i < run->count && status == ASSAY_OK; i++) {
        log->part = (uint32_t)i;
        status = metrics_read_lines(log, run->files[i]->path, take, &r, err);
    }
    assay_dict_free(r.losses);
    assay_buf_release(&r.plain);
    return status;
}

const metrics_kind metrics_megatron = {
    .name = "megatron", .named = metrics_is_printed_name, .proven = proven, .divide = divide, .read = read};
