/* show.c - assay show: statistics or elements of tensors, one row for each step and worker.
 *
 * 1. Select the tensors, and of their rows (recording/rows.c) those that are wanted.
 * 2. A row is what a worker saved of a tensor at a step: the tensor itself and its saved reductions. If only its shape
 * was saved, that is a row too.
 * 3. Read each record once, in pieces, and print its row. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "base/nearest.h"
#include "cli/metrics.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "recording/recording.h"
#include "report/report.h"
#include "report/text/csv.h"
#include "report/text/layout.h"
#include "store/storage.h"
#include "tensor/convert.h"

/* ---- show values ---- */

/* The elements of tensors: integers exactly, floats with the fewest digits that restore them. */

/* Non-finite numbers are texts in JSON and bare words elsewhere. */
static void put_number(assay_buf *out, assay_listing_form form, double value)
{
    if (form == ASSAY_LISTING_JSON)
        assay_json_put_number(out, value);
    else
        assay_text_put_full(out, value);
}

/* A value that came from a float of 32 bits or fewer. */
static void put_short(assay_buf *out, assay_listing_form form, double value)
{
    char digits[32];
    if (!isfinite(value)) {
        put_number(out, form, value);
        return;
    }
    for (int precision = 6; precision <= 9; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if ((double)strtof(digits, NULL) == value)
            break;
    }
    assay_put_bytes(out, digits, strlen(digits));
}

static void put_complex(assay_buf *out, assay_listing_form form, int dtype, const uint8_t *at)
{
    int half = dtype == ASSAY_COMPLEX64 ? ASSAY_FLOAT32 : ASSAY_FLOAT64;
    double part[2];
    assay_to_double(half, at, 2, part);
    assay_put_format(out, form == ASSAY_LISTING_JSON ? "[" : "(");
    for (int i = 0; i < 2; i++) {
        assay_put_bytes(out, form == ASSAY_LISTING_JSON ? ", " : " ", i == 0 ? 0 : form == ASSAY_LISTING_JSON ? 2 : 1);
        if (half == ASSAY_FLOAT32)
            put_short(out, form, part[i]);
        else
            put_number(out, form, part[i]);
    }
    assay_put_format(out, form == ASSAY_LISTING_JSON ? "]" : ")");
}

static void put_element(assay_buf *out, assay_listing_form form, int dtype, const uint8_t *at)
{
    int64_t whole;
    uint64_t natural;
    double value;
    switch (dtype) {
    case ASSAY_COMPLEX64:
    case ASSAY_COMPLEX128:
        put_complex(out, form, dtype, at);
        return;
    case ASSAY_INT64:
        memcpy(&whole, at, sizeof whole);
        assay_put_format(out, "%" PRId64, whole);
        return;
    case ASSAY_UINT64:
        memcpy(&natural, at, sizeof natural);
        assay_put_format(out, "%" PRIu64, natural);
        return;
    default:
        assay_to_double(dtype, at, 1, &value);
    }
    if (!assay_dtype_is_float(dtype))
        assay_put_format(out, "%.0f", value);
    else if (dtype == ASSAY_FLOAT64)
        put_number(out, form, value);
    else
        put_short(out, form, value);
}

/* What stands before element i: a separator, or the head of its own CSV row. */
static void put_before(show_sink *sink, const show_row *row, uint64_t i)
{
    assay_buf *out = &sink->out;
    uint64_t line = row->dims > 0 && row->shape[row->dims - 1] > 0 ? (uint64_t)row->shape[row->dims - 1] : 1;
    switch (sink->form) {
    case ASSAY_LISTING_JSON:
        assay_put_bytes(out, ", ", i ? 2 : 0);
        return;
    case ASSAY_LISTING_CSV:
        show_put_head(&sink->list, row);
        assay_listing_u64(&sink->list, i);
        assay_listing_value(&sink->list);
        return;
    case ASSAY_LISTING_TEXT:
        assay_put_format(out, i % line == 0 ? "%s  " : "%s ", i && i % line == 0 ? "\n" : "");
        return;
    }
}

/* On a terminal: lets the row of elements go on in another line, where the element that was written from `begin` on,
 * its separator included, is too much for this one. */
static void fold(show_sink *sink, size_t begin)
{
    enum { INDENT = 4 };
    assay_buf *out = &sink->out;
    if (sink->form != ASSAY_LISTING_TEXT || !sink->chart.draw || assay_buf_status(out) != ASSAY_OK)
        return;
    const bool first = out->data[begin] == '\n' || sink->column == 0;
    const size_t size = out->size - begin;
    if (first || sink->column + size <= assay_text_line_columns(sink->chart.draw)) {
        sink->column = first ? size : sink->column + size;
        return;
    }
    assay_text_put_blanks(out, INDENT);
    if (assay_buf_status(out) != ASSAY_OK)
        return;
    memmove(out->data + begin + 1 + INDENT, out->data + begin + 1, size - 1);
    memset(out->data + begin, ' ', 1 + INDENT);
    out->data[begin] = '\n';
    sink->column = INDENT + size - 1;
}

static void put_string(show_sink *sink, const char *text, size_t length)
{
    if (sink->form == ASSAY_LISTING_JSON)
        assay_json_put_text_n(&sink->out, text, length);
    else if (sink->form == ASSAY_LISTING_CSV)
        assay_csv_put_shown(&sink->out, text, length);
    else
        assay_text_put_clean(&sink->out, text, length);
}

/* A failure to read goes to *cause; the status is that of the output. */
static int put_elements(show_sink *sink, const show_row *row, assay_trial_reader *reader, assay_error *cause,
                        assay_error *err)
{
    const uint8_t *piece;
    size_t size, element = assay_dtype_size(row->dtype);
    uint64_t i = 0;
    int status = ASSAY_OK;
    while (status == ASSAY_OK && assay_reader_content(reader->records, 0, &piece, &size, cause) == ASSAY_OK &&
           size > 0) {
        for (size_t at = 0; at + element <= size; at += element) {
            const size_t begin = sink->out.size;
            put_before(sink, row, i++);
            put_element(&sink->out, sink->form, row->dtype, piece + at);
            fold(sink, begin);
        }
        status = show_flush(sink, false, err);
    }
    return status;
}

static void put_text_head(show_sink *sink, const show_row *row)
{
    assay_buf *out = &sink->out, line;
    assay_buf_init(&line, ASSAY_REPORT_CEILING);
    assay_text_put_clean(&line, row->tensor, row->tensor_length);
    assay_put_format(&line, "  step %" PRId64 "  %s %" PRId64 "  ", row->step, assay_mode_name(row->mode),
                     row->mode_step);
    assay_text_put_clean(&line, row->worker, strlen(row->worker));
    assay_put_format(&line, "  %s ", row->raw ? assay_dtype_name(row->dtype) : "damaged");
    cli_put_shape(&line, row->shape, row->dims);
    assay_put_bytes(out, "\n", sink->rows ? 1 : 0);
    if (sink->chart.draw)
        assay_text_put_wrapped(out, sink->chart.draw, 0, NULL, (const char *)line.data, line.size);
    else
        assay_put_bytes(out, line.data, line.size);
    assay_put_bytes(out, "\n", sink->chart.draw ? 0 : 1);
    if (assay_buf_status(&line) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&line);
    assay_buf_release(&line);
}

/* Values: all elements of the row's tensor, whose record is open in `reader`. Damage that shows behind the elements is
 * logged, printed with the row and noted in the sink. */
static int show_put_values(show_sink *sink, const show_row *row, assay_trial_reader *reader, assay_error *err)
{
    int status = ASSAY_OK;
    assay_error cause = {""};
    assay_buf *out = &sink->out;
    if (sink->form == ASSAY_LISTING_JSON) {
        show_put_head(&sink->list, row);
        show_put_type(&sink->list, row);
        assay_listing_value(&sink->list);
        assay_put_u8(out, '[');
    } else if (sink->form == ASSAY_LISTING_TEXT) {
        put_text_head(sink, row);
    }
    sink->rows++;
    sink->column = 0;
    for (uint64_t i = 0; row->raw && row->dtype == ASSAY_STRING && i < row->elements; i++) {
        size_t length;
        const char *text = assay_reader_string(reader->records, i, &length);
        const size_t begin = sink->out.size;
        put_before(sink, row, i);
        put_string(sink, text, length);
        fold(sink, begin);
    }
    if (row->raw && row->dtype != ASSAY_STRING)
        status = put_elements(sink, row, reader, &cause, err);
    if (sink->form == ASSAY_LISTING_JSON)
        assay_put_u8(out, ']');
    else if (row->elements > 0 && sink->form == ASSAY_LISTING_TEXT)
        assay_put_u8(out, '\n');
    if (cause.text[0]) {
        sink->damaged = true;
        assay_log_warn("%s", cause.text);
    }
    if (sink->form == ASSAY_LISTING_JSON)
        assay_listing_text(&sink->list, row->error[0] ? row->error : cause.text[0] ? cause.text : NULL);
    return status;
}

/* ---- show ---- */

#define MOST_REPORT ((size_t)1 << 30) /* bytes */

typedef struct show_options {
    assay_setting_integer step;
    const char *worker, *collection, *metric;
    int mode; /* assay_mode */
    int draw; /* cli_draw_when */
    bool values, regex;
} show_options;

#define FIELD(name) offsetof(show_options, name)
static const assay_setting OPTIONS[] = {
    {"step", ASSAY_SETTING_INTEGER, FIELD(step), "N", "Only this global step."},
    {"mode", ASSAY_SETTING_WORD, FIELD(mode), "MODE", "Only steps of this mode: TRAIN, EVAL, PREDICT or GLOBAL.",
     "|TRAIN|EVAL|PREDICT|GLOBAL"},
    {"worker", ASSAY_SETTING_TEXT, FIELD(worker), "NAME", "Only this worker; of metrics also a machine."},
    {"collection", ASSAY_SETTING_TEXT, FIELD(collection), "NAME",
     "Every tensor of this collection; with TENSOR, which may then be left out, only those of it."},
    {"regex", ASSAY_SETTING_SWITCH, FIELD(regex), NULL,
     "TENSOR is a regular expression: show every tensor whose name matches it anywhere."},
    {"metric", ASSAY_SETTING_TEXT, FIELD(metric), "NAME",
     "In place of TENSOR: this metric of the profiler data (cpu, cpu_memory, gpu, gpu_memory, io, network, step, or "
     "another one's name), a row for each machine, GPU or worker."},
    {"values", ASSAY_SETTING_SWITCH, FIELD(values), NULL, "Print the elements instead of statistics."},
    {"draw", ASSAY_SETTING_WORD, FIELD(draw), "WHEN",
     "Add drawings: sparklines of tensors, bars of class counts, shaded confusion matrices: auto (on a terminal), "
     "always or never.",
     CLI_DRAW_WORDS, .initial = "auto"},
    {0}};

/* wanted[id] for every tensor. */
static int choose_tensors(const assay_recording *r, const char *text, bool is_regex, uint8_t *wanted, assay_error *err)
{
    const uint32_t tensors = assay_recording_tensors(r);
    const char *slow = NULL;
    int status = ASSAY_OK;
    if (is_regex) {
        memset(wanted, 1, tensors);
        status = recording_keep_matching(r, text, wanted, &slow, err);
    } else {
        const uint32_t tensor = assay_recording_find(r, text, strlen(text));
        if (tensor < tensors)
            wanted[tensor] = 1;
    }
    if (slow)
        assay_log_warn(
            "pattern \"%.200s\" takes too long on tensor \"%.200s\", which is left out: simplify the pattern", text,
            slow);
    if (status != ASSAY_OK || memchr(wanted, 1, tensors))
        return status;
    const char *of_ranks = tensors == 0 ? assay_event_files_of_ranks(&r->files.catalog.events) : NULL;
    if (of_ranks)
        return assay_fail(err, ASSAY_ENOTFOUND, "%s: %s", assay_recording_location(r), of_ranks);
    char hint[ASSAY_NEAREST_ROOM];
    assay_nearest nearest;
    assay_nearest_begin(&nearest, text, strlen(text));
    for (uint32_t t = 0; t < tensors && !is_regex; t++)
        assay_nearest_offer(&nearest, assay_recording_tensor(r, t, NULL));
    return assay_fail(err, ASSAY_ENOTFOUND, "%s: no tensor %s \"%.200s\"%s; `assay ls` lists the tensors",
                      assay_recording_location(r), is_regex ? "matches" : "is called", text,
                      assay_nearest_hint(&nearest, hint));
}

static int keep_collection(const assay_recording *r, const char *name, uint8_t *wanted, assay_error *err)
{
    int status = recording_keep_collection(r, name, wanted, err);
    if (status == ASSAY_OK && !memchr(wanted, 1, assay_recording_tensors(r)))
        return assay_fail(err, ASSAY_ENOTFOUND, "%s: collection \"%.100s\" has no such tensor",
                          assay_recording_location(r), name);
    return status;
}

static int read_entry(assay_trial_reader *reader, const recording_item *item, bool values, show_row *row,
                      assay_error *err)
{
    assay_record record;
    int kind = item->entry->kind, status = assay_trial_record(reader, item->part, item->entry, &record, err);
    ASSAY_TRY(status);
    if (kind != ASSAY_RAW) {
        status = assay_reader_number(reader->records, &row->reduction[kind], err);
        if (status == ASSAY_OK)
            row->reductions |= 1u << kind;
        return status;
    }
    row->dtype = record.dtype;
    row->dims = record.dims;
    row->elements = record.elements;
    memcpy(row->shape, record.shape, (size_t)record.dims * sizeof *row->shape);
    if (record.dtype != ASSAY_STRING && !values)
        status = recording_measure(reader, row->dtype, &row->stats, err);
    row->raw = status == ASSAY_OK;
    return status;
}

static show_row start_row(const assay_recording *r, uint32_t tensor, const recording_item *item)
{
    show_row row = {.worker = assay_recording_worker(r, item->part->worker),
                    .worker_number = item->part->worker,
                    .step = item->part->step,
                    .mode_step = item->part->mode_step,
                    .mode = item->part->mode,
                    .dtype = -1};
    row.tensor = assay_recording_tensor(r, tensor, &row.tensor_length);
    if (item->shape) {
        row.only_shape = true;
        row.dims = (int)item->shape->dims;
        memcpy(row.shape, item->shape->dim, item->shape->dims * sizeof *row.shape);
    }
    return row;
}

/* Prints a row, from the highest kind down: the tensor itself is read last and stays open. */
static int show_one(assay_recording *r, uint32_t tensor, size_t number, show_sink *sink, assay_error *err)
{
    const recording_item *items = NULL;
    size_t count = 0;
    int status = recording_row(r, tensor, number, &items, &count, err);
    ASSAY_TRY(status);
    show_row row = start_row(r, tensor, items);
    for (size_t i = count; i > 0 && !row.only_shape; i--) {
        assay_error cause = {""};
        if (sink->values && items[i - 1].entry->kind != ASSAY_RAW)
            continue;
        status = read_entry(&r->reader, &items[i - 1], sink->values, &row, &cause);
        if (status == ASSAY_ENOMEM)
            return assay_fail(err, status, "%s", cause.text);
        if (status != ASSAY_OK) {
            sink->damaged = true;
            assay_log_warn("%s", cause.text);
            memcpy(row.error, cause.text, sizeof row.error);
        }
    }
    return sink->values ? show_put_values(sink, &row, &r->reader, err) : show_put_row(sink, &row, &r->reader, err);
}

static bool is_row_wanted(const show_options *options, uint32_t worker, const assay_saved *row)
{
    return (!options->step.given || row->step == options->step.value) && row->step >= cli_given()->steps.from &&
           row->step < cli_given()->steps.to && (!options->mode || row->mode == options->mode) &&
           (worker == ASSAY_NO_ID || row->worker == worker) && (!options->values || row->kinds & 1u << ASSAY_RAW);
}

/* The rows of a tensor, and how far they were asked for ahead. */
typedef struct row_queue {
    assay_recording *r;
    const show_options *options;
    uint32_t worker, tensor;
    const assay_saved *rows; /* [count] */
    size_t count;
    size_t asked;   /* rows before it were asked for, or are not wanted */
    uint64_t bytes; /* of those that were asked for and have not had their turn */
} row_queue;

/* What of a row is read first; NULL: nothing is. */
static const recording_item *first_read(const row_queue *q, size_t row)
{
    const recording_item *items = NULL;
    size_t kinds = 0;
    if (!is_row_wanted(q->options, q->worker, &q->rows[row]) ||
        recording_row(q->r, q->tensor, row, &items, &kinds, NULL) != ASSAY_OK)
        return NULL;
    const recording_item *first = q->options->values ? recording_item_of(items, kinds, ASSAY_RAW) : &items[kinds - 1];
    return first && first->entry ? first : NULL;
}

/* Bytes that a storage which reads in pieces may hold for an item: its file's, up to a piece. */
static uint64_t bytes_held(const row_queue *q, const recording_item *item)
{
    enum { PIECE = 8 << 20 };
    const uint64_t span = item ? assay_part_span(&q->r->files.shard, item->part) : 0;
    return span < PIECE ? span : PIECE;
}

/* The i-th row comes next: asks for the rows behind it that were not asked for yet, as far as that is worth it. */
static void ask_ahead(row_queue *q, size_t i)
{
    size_t files;
    uint64_t bytes;
    assay_store *store = q->r->files.store;
    assay_store_depth(store, &files, &bytes);
    const bool waits = assay_store_waits(store);
    const uint64_t here = waits ? bytes_held(q, first_read(q, i)) : 0;
    const size_t end = q->count - i > files ? i + 1 + files : q->count;
    if (waits && i < q->asked) {
        q->bytes -= here;
    } else {
        q->asked = i + 1;
        q->bytes = 0;
    }
    for (; waits && q->asked < end; q->asked++) {
        char room[ASSAY_PATH_ROOM];
        const recording_item *item = first_read(q, q->asked);
        const uint64_t size = bytes_held(q, item);
        const char *path = item ? assay_part_file(&q->r->files.catalog, item->part, item->entry->file, room) : NULL;
        if (q->bytes > 0 && here + q->bytes + size > bytes) /* the next one is asked for in any case */
            return;
        q->bytes += size;
        if (path)
            assay_store_ahead(store, path, item->entry->offset, item->entry->length);
    }
}

static int show_tensor(assay_recording *r, const show_options *options, uint32_t worker, uint32_t tensor,
                       show_sink *sink, assay_error *err)
{
    row_queue q = {.r = r, .options = options, .worker = worker, .tensor = tensor};
    int status = assay_recording_saved(r, tensor, &q.rows, &q.count, err);
    for (size_t i = 0; i < q.count && status == ASSAY_OK; i++) {
        if (!is_row_wanted(options, worker, &q.rows[i]))
            continue;
        ask_ahead(&q, i);
        if (sink->rows == 0)
            show_put_start(sink);
        status = show_one(r, tensor, i, sink, err);
        ASSAY_THEN(status, show_flush(sink, false, err));
    }
    return status;
}

static int show_all(assay_recording *r, const show_options *options, const uint8_t *wanted, show_sink *sink,
                    assay_error *err)
{
    const assay_catalog *catalog = &r->files.catalog;
    uint32_t worker = options->worker ? assay_catalog_worker(catalog, options->worker) : ASSAY_NO_ID;
    int status = ASSAY_OK;
    if (options->worker && worker == ASSAY_NO_ID)
        return assay_fail(err, ASSAY_ENOTFOUND, "%s: no worker is called \"%.100s\"; `assay ls` lists the workers",
                          assay_recording_location(r), options->worker);
    for (uint32_t t = 0; t < assay_recording_tensors(r) && status == ASSAY_OK; t++)
        if (wanted[t])
            status = show_tensor(r, options, worker, t, sink, err);
    if (status == ASSAY_OK && sink->rows == 0)
        return assay_fail(err, ASSAY_ENOTFOUND, "%s: %s saved that fits; `assay ls` lists steps and tensors",
                          assay_recording_location(r), options->values ? "no tensor was" : "nothing was");
    return status == ASSAY_OK ? show_put_end(sink, err) : status;
}

static int show_trial(assay_recording *r, const show_options *options, const char *tensor, bool *damaged,
                      assay_error *err)
{
    assay_draw draw;
    show_sink sink = {.form = cli_given()->form, .values = options->values};
    uint8_t *wanted = assay_alloc_zeroed(assay_recording_tensors(r), 1);
    if (!wanted)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory for the list of tensors");
    int status = choose_tensors(r, tensor ? tensor : "", options->regex || !tensor, wanted, err);
    if (status == ASSAY_OK && options->collection)
        status = keep_collection(r, options->collection, wanted, err);
    if (sink.form == ASSAY_LISTING_TEXT)
        sink.chart = (show_chart){.draw = cli_draw_style((cli_draw_when)options->draw, &draw), .names = &r->names};
    assay_buf_init(&sink.out, ASSAY_REPORT_CEILING);
    ASSAY_THEN(status, show_all(r, options, wanted, &sink, err));
    *damaged = *damaged || sink.damaged;
    assay_buf_release(&sink.out);
    show_chart_release(&sink.chart);
    free(wanted);
    return status;
}

static int show_tensors(const show_options *options, const char *trial, const char *tensor)
{
    assay_error err = {""};
    assay_recording *r = NULL;
    int status = assay_recording_open(trial, &r, &err);
    if (status != ASSAY_OK)
        return cli_fail(status == ASSAY_ENOMEM ? status : ASSAY_ENOTFOUND, &err);
    const assay_problems *problems = &r->files.problems;
    cli_warn_problems(trial, problems);
    bool damaged = problems->losses > 0;
    status = show_trial(r, options, tensor, &damaged, &err);
    assay_recording_close(r);
    if (status != ASSAY_OK)
        return cli_fail(status, &err);
    return damaged ? CLI_LOSSES : CLI_DONE;
}

/* Of a place in S3. */
static int read_remote_report(const char *path, assay_buf *text, assay_error *err)
{
    assay_store *store = NULL;
    assay_error why = {""};
    char *place = assay_copy_text(path), *slash = place ? strrchr(place + 5, '/') : NULL;
    if (!place)
        return assay_fail(err, ASSAY_ENOMEM, "show: out of memory");
    if (slash)
        *slash = '\0';
    int status = assay_store_open(place, &store, err);
    if (status == ASSAY_OK && (!slash || !assay_path_ends(slash + 1, ".json")))
        status = ASSAY_EIO;
    else if (status == ASSAY_OK && (status = assay_store_read(store, slash + 1, MOST_REPORT, text, &why)) != ASSAY_OK)
        status = assay_fail(err, ASSAY_ENOTFOUND, "%s: %s", place, why.text);
    assay_store_close(store);
    free(place);
    return status;
}

static int show_report(const show_options *options, const char *path)
{
    assay_draw draw;
    assay_buf text = ASSAY_BUF(MOST_REPORT), out = ASSAY_BUF(ASSAY_REPORT_CEILING);
    assay_error err = {""};
    int status = strncmp(path, "s3://", 5) == 0 ? read_remote_report(path, &text, &err)
                                                : assay_file_read(path, MOST_REPORT, &text, &err);
    if (status == ASSAY_EIO) { /* a directory, as a rule */
        assay_error ignored = {""};
        char *inside = assay_path_join(path, "report.json");
        status = inside ? assay_file_read_own(inside, "", MOST_REPORT, &text, &ignored) : ASSAY_ENOMEM; /* or a pipe */
        free(inside);
        if (status != ASSAY_OK)
            assay_fail(&err, status = ASSAY_ENOTFOUND,
                       "%s: not a report; show takes a TRIAL and a TENSOR, or a report.json or its directory", path);
    }
    ASSAY_THEN(status, assay_report_put_results(path, text.data, text.size,
                                                cli_draw_style((cli_draw_when)options->draw, &draw), &out, &err));
    if (status == ASSAY_OK && cli_given()->form == CLI_JSON) { /* it is a report, and as it is */
        assay_buf_clear(&out);
        assay_put_bytes(&out, text.data, text.size);
    }
    assay_buf_release(&text);
    if (status == ASSAY_OK)
        return cli_finish(&out, CLI_DONE);
    assay_buf_release(&out);
    return cli_fail(status, &err);
}

/* Is a step chosen, or are some? */
static bool chooses_steps(const show_options *options)
{
    return options->step.given || cli_given()->steps.from != INT64_MIN || cli_given()->steps.to != INT64_MAX;
}

static int check_metric(const show_options *options, size_t operands, assay_error *err)
{
    if (operands == 1 && !chooses_steps(options) && !options->mode && !options->collection && !options->regex &&
        !options->values)
        return ASSAY_OK;
    return assay_fail(err, ASSAY_EUSAGE,
                      "show: --metric goes with --worker, --csv, --json and --draw, and stands in place of TENSOR");
}

static int show_metric(const show_options *options, const char *trial)
{
    const cli_course_choice choice = {options->metric, options->worker};
    assay_draw draw;
    return cli_metrics_show(trial, &choice, cli_given()->form, cli_draw_style((cli_draw_when)options->draw, &draw));
}

static int show(const cli_context *context, int argc, char **argv)
{
    show_options options = {.mode = ASSAY_MODE_NONE};
    const char *operand[2] = {NULL, NULL};
    size_t operands = 0;
    assay_error err = {""};
    int status = cli_options_parse(&cli_show, argc, argv, &options, operand, &operands, &err);
    bool chooses = chooses_steps(&options) || options.mode || options.worker || options.values ||
                   cli_given()->form == CLI_CSV || options.regex;
    if (status == ASSAY_OK && operands == 1 && chooses && !options.collection && !options.metric)
        status = assay_fail(&err, ASSAY_EUSAGE,
                            "show: TENSOR is missing; of these options a report takes --draw and --json");
    if (status == ASSAY_OK && options.metric)
        status = check_metric(&options, operands, &err);
    if (status != ASSAY_OK)
        return cli_fail(status, &err);
    if (options.metric)
        return show_metric(&options, operand[0]);
    return operands == 1 && !options.collection ? show_report(&options, operand[0])
                                                : show_tensors(&options, operand[0], operand[1]);
}

const cli_command cli_show = {"show",
                              "TRIAL TENSOR | TRIAL --metric NAME | REPORT",
                              "Shows what was saved of a tensor, a row for each step and worker: statistics, saved "
                              "reductions, or the elements. Or a metric of the profiler data. Or what the rules and "
                              "aggregations of a report.json came to.",
                              OPTIONS,
                              1,
                              2,
                              CLI_TRIALS | CLI_STEPS | CLI_LISTS | CLI_PAGED,
                              show};
