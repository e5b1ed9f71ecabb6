/* tb.c - TensorBoard's event files: scalars in all their encodings, histograms, tensors. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fault.h"
#include "base/path.h"
#include "base/vec.h"
#include "container/frames.h"
#include "format/metrics/tb.h"
#include "format/tfrecord/record.h"
#include "format/tfrecord/typed.h"
#include "tfrecord/frame.h"
#include "tensor/convert.h"

enum { SESSION_START = 1, TYPED_MOST = 64 << 20 };

static bool named(const char *name)
{
    return strstr(name, "tfevents") != NULL;
}

static int proven(assay_store *store, const metrics_file *file, assay_error *err)
{
    static const char version[] = "brain.Event:";
    assay_frames frames = {0};
    assay_frame_kind kind = ASSAY_FRAME_END;
    int status = assay_stream_open(store, file->path, &frames.stream, err);
    if (status != ASSAY_OK)
        return status;
    status = assay_frames_next(&frames, &kind, err);
    const bool is = status == ASSAY_OK && kind == ASSAY_FRAME_WHOLE &&
                    memmem(frames.payload, frames.size, version, sizeof version - 1) != NULL;
    assay_stream_close(&frames.stream);
    return status == ASSAY_OK ? is : status;
}

/* ---- reading ---- */

typedef struct reader {
    metrics_log *log;
    assay_dict *tags; /* as they stand in the files, with what stands before them */
    uint8_t *other;   /* by their numbers: the plugin's values are no numbers */
    size_t other_room;
    char tag[8192];
    size_t prefix; /* bytes of the tag that come from the file's path */
    uint32_t file; /* into the log's files */
    uint64_t base; /* where the payload begins in the file */
    assay_decoded typed;
} reader;

/* A value of a summary, as far as it was looked at. */
typedef struct value {
    const char *tag, *plugin;
    size_t tag_length, plugin_length;
    bool has_simple;
    float simple;
    assay_field tensor, histogram; /* number 0: there is none */
    bool foreign;                  /* an image, a sound */
} value;

static double double_of(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static bool take_plugin(const assay_wire *metadata, value *v)
{
    assay_wire w = *metadata;
    assay_field f, inner;
    int more = 1;
    while ((more = assay_wire_next(&w, &f, NULL)) == 1) {
        if (f.number != 1 || f.type != ASSAY_WIRE_BYTES)
            continue;
        assay_wire plugin = assay_wire_into(&w, &f, "PluginData");
        while ((more = assay_wire_next(&plugin, &inner, NULL)) == 1)
            if (inner.number == 1 && inner.type == ASSAY_WIRE_BYTES) {
                v->plugin = (const char *)w.view->window + inner.at;
                v->plugin_length = (size_t)(inner.end - inner.at);
            }
        if (more < 0)
            return false;
    }
    return more == 0;
}

static bool take_value(const assay_wire *message, value *v)
{
    assay_wire w = *message;
    assay_field f;
    int more = 1;
    *v = (value){0};
    while ((more = assay_wire_next(&w, &f, NULL)) == 1) {
        if (f.number == 1 && f.type == ASSAY_WIRE_BYTES) {
            v->tag = (const char *)w.view->window + f.at;
            v->tag_length = (size_t)(f.end - f.at);
        } else if (f.number == 2 && f.type == ASSAY_WIRE_FIXED32) {
            const uint32_t bits = (uint32_t)f.value;
            memcpy(&v->simple, &bits, sizeof bits);
            v->has_simple = true;
        } else if (f.number == 5 && f.type == ASSAY_WIRE_BYTES) {
            v->histogram = f;
        } else if (f.number == 8 && f.type == ASSAY_WIRE_BYTES) {
            v->tensor = f;
        } else if (f.number == 9 && f.type == ASSAY_WIRE_BYTES) {
            const assay_wire metadata = assay_wire_into(&w, &f, "SummaryMetadata");
            if (!take_plugin(&metadata, v))
                return false;
        } else if (f.number == 4 || f.number == 6) {
            v->foreign = true;
        }
    }
    return more == 0;
}

static bool is_other_plugin(const char *name, size_t length)
{
    static const char *const names[] = {"text", "images", "audio", "hparams", "graphs", "pr_curves", "mesh"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return true;
    return false;
}

/* Are the values of the tag no numbers? The plugin's name comes with its first value. ASSAY_ENOMEM. */
static int is_other(reader *r, const value *v, size_t length, bool *other)
{
    const uint32_t known = assay_dict_count(r->tags), number = assay_dict_add(r->tags, r->tag, length);
    if (number == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    if (number == known) {
        size_t count = known;
        if (!assay_vec_add(&r->other, &count, &r->other_room, 1))
            return ASSAY_ENOMEM;
    }
    if (v->plugin_length > 0)
        r->other[number] = is_other_plugin(v->plugin, v->plugin_length);
    *other = r->other[number];
    return ASSAY_OK;
}

static int put_figure(reader *r, size_t length, const char *figure, int64_t step, double number)
{
    const size_t more = strlen(figure);
    if (length + more <= sizeof r->tag)
        memcpy(r->tag + length, figure, more);
    return metrics_put(r->log, r->tag, length + more, 0, step, number);
}

static int put_histogram(reader *r, const assay_wire *summary, const value *v, size_t length, int64_t step)
{
    double figure[6] = {0}; /* by the field's number: min, max, num, sum, sum of squares */
    assay_wire w = assay_wire_into(summary, &v->histogram, "HistogramProto");
    assay_field f;
    int more = 1;
    while ((more = assay_wire_next(&w, &f, NULL)) == 1)
        if (f.number >= 1 && f.number <= 5 && f.type == ASSAY_WIRE_FIXED64)
            figure[f.number] = double_of(f.value);
    if (more < 0) {
        metrics_add(r->log, METRICS_OTHER_VALUES);
        return ASSAY_OK;
    }
    if (figure[3] == 0)
        return ASSAY_OK;
    const double mean = figure[4] / figure[3], variance = figure[5] / figure[3] - mean * mean;
    const struct {
        const char *name;
        double number;
    } figures[] = {{"/min", figure[1]},
                   {"/max", figure[2]},
                   {"/count", figure[3]},
                   {"/mean", mean},
                   {"/std", sqrt(variance > 0 || isnan(variance) ? variance : 0)},
                   {"/l2", sqrt(figure[5])}};
    int status = ASSAY_OK;
    for (size_t i = 0; i < sizeof figures / sizeof *figures && status == ASSAY_OK; i++)
        status = put_figure(r, length, figures[i].name, step, figures[i].number);
    return status;
}

static int put_tensor(reader *r, const assay_wire *summary, const value *v, size_t length, int64_t step)
{
    assay_record_parts parts;
    assay_record record = {.offset = 0, .length = v->tensor.end - v->tensor.at};
    assay_view *view = summary->view;
    double number = 0;
    int status = assay_record_walk_tensor(view, v->tensor.at, v->tensor.end, &parts, NULL);
    if (status == ASSAY_OK)
        status = assay_record_describe(view, &parts, &record, NULL);
    bool one = record.elements == 1;
    for (int i = 0; status == ASSAY_OK && i < record.dims; i++)
        one = one && record.shape[i] == 1;
    if (status == ASSAY_ENOMEM)
        return status;
    if (status != ASSAY_OK || record.form == ASSAY_CONTENT_STRINGS || record.elements == 0 ||
        record.dtype == ASSAY_COMPLEX64 || record.dtype == ASSAY_COMPLEX128) {
        metrics_add(r->log, METRICS_OTHER_VALUES);
        return ASSAY_OK;
    }
    if (!one) {
        metrics_add(r->log, METRICS_TENSORS);
        return metrics_put_vector(r->log, r->tag, length, step, r->file, r->base + v->tensor.at,
                                  v->tensor.end - v->tensor.at);
    }
    const uint8_t *bytes = view->window + parts.content_at;
    if (record.form == ASSAY_CONTENT_TYPED) {
        status = assay_typed_numbers(&r->typed, view, &parts, &record, TYPED_MOST, NULL);
        bytes = r->typed.bytes;
    }
    if (status != ASSAY_OK) {
        metrics_add(r->log, METRICS_OTHER_VALUES);
        return status == ASSAY_ENOMEM ? status : ASSAY_OK;
    }
    assay_to_double(record.dtype, bytes, 1, &number);
    return metrics_put(r->log, r->tag, length, 0, step, number);
}

static int put_value(reader *r, const assay_wire *summary, const value *v, int64_t step)
{
    static const char samples[] = " vs samples";
    const size_t length = r->prefix + v->tag_length, more = sizeof samples - 1;
    bool other = false;
    if (v->tag_length >= more && memcmp(v->tag + v->tag_length - more, samples, more) == 0) {
        metrics_add(r->log, METRICS_OTHER_AXIS);
        return ASSAY_OK;
    }
    if (length > METRICS_TAG_MOST || length > sizeof r->tag) {
        metrics_add(r->log, METRICS_LONG_NAMES);
        return ASSAY_OK;
    }
    if (v->tag_length > 0)
        memcpy(r->tag + r->prefix, v->tag, v->tag_length);
    int status = is_other(r, v, length, &other);
    if (status != ASSAY_OK)
        return status;
    if (other || v->foreign) {
        metrics_add(r->log, METRICS_OTHER_VALUES);
        return ASSAY_OK;
    }
    if (v->has_simple)
        return metrics_put(r->log, r->tag, length, 0, step, (double)v->simple);
    if (v->tensor.number)
        return put_tensor(r, summary, v, length, step);
    if (v->histogram.number)
        return put_histogram(r, summary, v, length, step);
    metrics_add(r->log, METRICS_OTHER_VALUES);
    return ASSAY_OK;
}

static bool is_start(const assay_wire *event, const assay_field *field)
{
    assay_wire w = assay_wire_into(event, field, "SessionLog");
    assay_field f;
    while (assay_wire_next(&w, &f, NULL) == 1)
        if (f.number == 1 && f.type == ASSAY_WIRE_VARINT && f.value == SESSION_START)
            return true;
    return false;
}

/* The values of an event; `step` is the event's. 1: it is none. */
static int take_summary(reader *r, const assay_wire *event, const assay_field *field, int64_t step)
{
    assay_wire w = assay_wire_into(event, field, "Summary");
    assay_field f;
    int more = 1, status = ASSAY_OK;
    while (status == ASSAY_OK && (more = assay_wire_next(&w, &f, NULL)) == 1) {
        value v;
        if (f.number != 1 || f.type != ASSAY_WIRE_BYTES)
            continue;
        const assay_wire inner = assay_wire_into(&w, &f, "Value");
        if (!take_value(&inner, &v))
            return 1;
        status = put_value(r, &w, &v, step);
    }
    return more < 0 ? 1 : status;
}

static int take_event(reader *r, const uint8_t *bytes, size_t size)
{
    assay_view view = {.path = "event", .limit = size, .window = bytes, .window_size = size};
    const assay_wire event = {&view, "Event", 0, size};
    assay_wire w = event;
    assay_field f, summary = {0}, session = {0};
    int64_t step = 0;
    int more = 1;
    while ((more = assay_wire_next(&w, &f, NULL)) == 1) {
        if (f.number == 2 && f.type == ASSAY_WIRE_VARINT)
            step = (int64_t)f.value;
        else if (f.number == 5 && f.type == ASSAY_WIRE_BYTES)
            summary = f;
        else if (f.number == 7 && f.type == ASSAY_WIRE_BYTES)
            session = f;
    }
    if (more < 0)
        return 1;
    if (session.number && is_start(&event, &session))
        metrics_restart(r->log, step);
    return summary.number ? take_summary(r, &event, &summary, step) : ASSAY_OK;
}

static int read_file(reader *r, const char *path, assay_error *err)
{
    assay_frames frames = {0};
    assay_frame_kind kind = ASSAY_FRAME_WHOLE;
    int status = assay_stream_open(r->log->store, path, &frames.stream, err);
    if (status != ASSAY_OK)
        return status;
    while (status == ASSAY_OK && (kind == ASSAY_FRAME_WHOLE || kind == ASSAY_FRAME_DAMAGED)) {
        status = assay_frames_next(&frames, &kind, err);
        if (status != ASSAY_OK)
            break;
        const unsigned long long at = frames.at;
        r->base = frames.at + ASSAY_FRAME_HEAD;
        if (kind == ASSAY_FRAME_WHOLE) {
            metrics_add(r->log, METRICS_RECORDS);
            status = take_event(r, frames.payload, frames.size);
            if (status == 1) {
                metrics_unknown(r->log, "a record that is no event", 25);
                status = ASSAY_OK;
            }
        } else if (kind == ASSAY_FRAME_DAMAGED) {
            assay_problems_add(r->log->problems, ASSAY_PROBLEM_RECORD, -1, path, (int64_t)at,
                               "%s: record at %llu is damaged", path, at);
        } else if (kind == ASSAY_FRAME_LOST) {
            assay_problems_add(r->log->problems, ASSAY_PROBLEM_RECORD, -1, path, (int64_t)at,
                               "%s: record at %llu is damaged, nothing behind it can be read", path, at);
        } else if (kind == ASSAY_FRAME_UNFINISHED) {
            metrics_add(r->log, METRICS_GROWING);
        }
    }
    assay_stream_close(&frames.stream);
    return status;
}

static int read(metrics_log *log, const metrics_place *place, const metrics_run *run, assay_error *err)
{
    reader *r = assay_alloc_zeroed(1, sizeof *r);
    int status = r && (r->tags = assay_dict_new()) ? metrics_settings_files(log, run->base) : ASSAY_ENOMEM;
    (void)place;
    if (r)
        r->log = log;
    for (size_t i = 0; i < run->count && status == ASSAY_OK; i++) {
        const char *path = run->files[i]->path;
        metrics_tb_place place_of;
        if (!metrics_tb_split(path, &place_of))
            continue;
        const size_t own = strlen(place_of.directory), base = strlen(run->key);
        const char *rest = place_of.directory + (own > base && base > 0 ? base + 1 : own > base ? 0 : own);
        r->prefix = (size_t)snprintf(r->tag, sizeof r->tag, "%s%s", rest, *rest ? "/" : "");
        r->file = assay_dict_add(log->files, path, strlen(path));
        log->part = (uint32_t)i;
        status = r->file == ASSAY_NO_ID ? ASSAY_ENOMEM : metrics_set_worker(log, place_of.worker);
        if (status == ASSAY_OK)
            status = read_file(r, path, err);
    }
    if (r) {
        assay_dict_free(r->tags);
        free(r->other);
        assay_decoded_release(&r->typed);
    }
    free(r);
    return status;
}

const metrics_kind metrics_tb = {
    .name = "tb", .named = named, .proven = proven, .divide = metrics_tb_divide, .read = read};
