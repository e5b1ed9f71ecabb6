/* tb.c - TensorBoard's event files: scalars in all their encodings, histograms, tensors. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/fault.h"
#include "base/vec.h"
#include "container/frames.h"
#include "format/metrics/tb.h"
#include "format/tfrecord/record.h"
#include "format/tfrecord/typed.h"
#include "tfrecord/frame.h"
#include "tensor/convert.h"

enum {
    SESSION_START = 1,
    TYPED_MOST = 64 << 20,
    FORM_MOST = 4096, /* bytes of a value that is kept */
    TIME = 1 << 3 | ASSAY_WIRE_FIXED64,
    STEP = 2 << 3,
    SUMMARY = 5 << 3 | ASSAY_WIRE_BYTES,
    VALUE = 1 << 3 | ASSAY_WIRE_BYTES, /* of a summary; the tag of a value has the same key */
    HISTOGRAM = 5 << 3 | ASSAY_WIRE_BYTES,
    FIGURES = 6, /* of a histogram */
    TIME_AT = ASSAY_FRAME_HEAD + 1,
    STEP_AT = TIME_AT + 9 /* its digits, of a record as most are: a time, a step, a summary of one value */
};

static bool named(const char *name)
{
    return strstr(name, "tfevents") != NULL;
}

/* ---- reading ---- */

/* A value of a tag as it was written last, and what stands before it in its record: mostly the next one differs in time,
 * step and number alone. */
typedef struct form {
    uint32_t at;    /* in the reader's `written`: the bytes, and behind `room` of them which bits are always the same */
    uint32_t size;  /* without the record's checksum; up to the end of the tag where no number follows at once */
    uint32_t room;  /* there */
    uint32_t value; /* where the value begins in it; 0: what stands before it is not kept */
    uint32_t number;    /* where the number stands in it */
    uint32_t series;    /* as metrics_put_into() takes it, of others the tag; METRICS_NO_NUMBER: the form is not used */
    uint32_t next;      /* form of the value that came after this one */
    uint32_t step_mask; /* of the digits of the step, as a little-endian number */
    bool framed;        /* it is of a whole record */
    bool wide;          /* the number has 8 bytes in place of 4 */
    uint8_t rest;       /* the key of what follows the tag, a histogram or an image; 0: the value is a number */
} form;

/* The series that those of a tag go into, METRICS_NO_NUMBER: not known so far. */
typedef struct figure_series {
    uint32_t of[FIGURES];
} figure_series;

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
    /* of the file that is read: */
    assay_dict *own; /* tags that have a form, numbered as these */
    ASSAY_VEC(form) forms;
    assay_buf written;
    uint32_t last;                       /* form */
    ASSAY_VEC(figure_series) histograms; /* by the numbers of the tags */
} reader;

/* A value of a summary, as far as it was looked at. */
typedef struct value {
    const char *tag, *plugin;
    size_t tag_length, plugin_length;
    bool has_simple;
    float simple;
    uint64_t simple_at;                 /* its bytes */
    assay_wire_field tensor, histogram; /* number 0: there is none */
    unsigned foreign;                   /* the key of an image, a sound; 0: there is none */
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
    assay_wire_field f, inner;
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
    assay_wire_field f;
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
            v->simple_at = w.at - sizeof bits;
        } else if (f.number == 5 && f.type == ASSAY_WIRE_BYTES) {
            v->histogram = f;
        } else if (f.number == 8 && f.type == ASSAY_WIRE_BYTES) {
            v->tensor = f;
        } else if (f.number == 9 && f.type == ASSAY_WIRE_BYTES) {
            const assay_wire metadata = assay_wire_into(&w, &f, "SummaryMetadata");
            if (!take_plugin(&metadata, v))
                return false;
        } else if (f.number == 4 || f.number == 6) {
            v->foreign = f.number << 3 | f.type;
        }
    }
    return more == 0;
}

/* Is an event a summary of a number, as CatBoost writes them without a version first? Recordings have tensors in theirs. */
static bool is_scalar(const uint8_t *bytes, size_t size)
{
    assay_view view = {.path = "event", .limit = size, .window = bytes, .window_size = size};
    assay_wire event = {.view = &view, .message = "Event", .end = size};
    assay_wire_field f;
    while (assay_wire_next(&event, &f, NULL) == 1) {
        assay_wire summary = assay_wire_into(&event, &f, "Summary");
        assay_wire_field inner;
        value v;
        if (f.number != 5 || f.type != ASSAY_WIRE_BYTES)
            continue;
        if (assay_wire_next(&summary, &inner, NULL) != 1 || inner.number != 1 || inner.type != ASSAY_WIRE_BYTES)
            return false;
        const assay_wire message = assay_wire_into(&summary, &inner, "Value");
        return take_value(&message, &v) && v.has_simple;
    }
    return false;
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
                    (memmem(frames.payload, frames.size, version, sizeof version - 1) != NULL ||
                     is_scalar(frames.payload, frames.size));
    assay_stream_close(&frames.stream);
    return status == ASSAY_OK ? is : status;
}

static bool is_other_plugin(const char *name, size_t length)
{
    static const char *const names[] = {"text", "images", "audio", "hparams", "graphs", "pr_curves", "mesh"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return true;
    return false;
}

/* ---- forms ---- */

static uint32_t find_form(const reader *r, const char *tag, size_t length)
{
    return r->own ? assay_dict_find(r->own, tag, length) : ASSAY_NO_ID;
}

static void forget_forms(reader *r)
{
    assay_dict_free(r->own);
    r->own = NULL;
    r->forms.count = r->histograms.count = 0;
    r->last = 0;
    assay_buf_clear(&r->written);
}

/* Writes the form of a value [bytes, bytes + size) down, with what stands before it from `from` on. The value's number
 * is at `number` of these bytes. 0 or ASSAY_ENOMEM. */
static int write_form(reader *r, form *f, const uint8_t *from, const uint8_t *bytes, size_t size, size_t number)
{
    const size_t before = (size_t)(bytes - from), all = before + size;
    if (f->room < all) {
        if (r->written.size > UINT32_MAX - 2 * all) {
            f->series = METRICS_NO_NUMBER;
            f->framed = false;
            return ASSAY_OK;
        }
        f->at = (uint32_t)r->written.size;
        f->room = (uint32_t)all;
        assay_put_bytes(&r->written, from, all);
        assay_put_bytes(&r->written, from, all);
        ASSAY_TRY(assay_buf_status(&r->written));
    }
    uint8_t *to = r->written.data + f->at, *same = to + f->room;
    memcpy(to, from, all);
    memset(same, 0xff, all);
    f->size = (uint32_t)all;
    f->value = (uint32_t)before;
    f->number = (uint32_t)(before + number);
    f->framed = before > 0;
    f->step_mask = 0;
    if (!f->rest)
        memset(same + f->number, 0, f->wide ? sizeof(double) : sizeof(float));
    if (!f->framed)
        return ASSAY_OK;
    memset(same + TIME_AT, 0, sizeof(double));
    for (size_t at = STEP_AT; from[STEP_AT - 1] == STEP && (at == STEP_AT || from[at - 1] > 127); at++) {
        same[at] = 0x80; /* whether another digit follows */
        f->step_mask = f->step_mask << 8 | 0xff;
    }
    return ASSAY_OK;
}

/* Keeps the form of a value whose number is at `number`; or where it has the key `rest`, whose tag ends there. 0 or
 * ASSAY_ENOMEM. */
static int keep_form(reader *r, const assay_wire *whole, const value *v, const uint8_t *number, bool wide,
                     unsigned rest, uint32_t series)
{
    const uint8_t *bytes = whole->view->window + whole->at;
    const size_t at = (size_t)(number - bytes), all = rest ? at : (size_t)(whole->end - whole->at);
    const uint32_t known = (uint32_t)r->forms.count;
    if (all > FORM_MOST)
        return ASSAY_OK;
    if (!r->own && !(r->own = assay_dict_new()))
        return ASSAY_ENOMEM;
    const uint32_t id = assay_dict_add(r->own, v->tag, v->tag_length);
    form *to = id == known ? ASSAY_VEC_ADD(&r->forms) : id < known ? &r->forms.list[id] : NULL;
    ASSAY_HAVE(to);
    *to = (form){.at = to->at, .room = to->room, .next = id + 1, .series = series};
    to->wide = wide;
    to->rest = (uint8_t)rest;
    r->forms.list[r->last].next = id;
    r->last = id;
    return write_form(r, to, bytes, bytes, all, at);
}

/* Are the bytes those of the form from `from` on, up to its end, but for what differs from value to value? Then *crc is
 * their checksum. */
static inline bool has_form(const reader *r, const form *f, uint32_t from, const uint8_t *bytes, uint32_t *crc)
{
    const uint8_t *to = r->written.data + f->at + from;
    return assay_crc32c_alike(bytes, f->size - from, to, to + f->room, crc);
}

/* Likewise of the head of a record. */
static inline bool has_head(const reader *r, const form *f, const uint8_t *bytes)
{
    uint64_t length, other;
    uint32_t sum, other_sum;
    const uint8_t *to = r->written.data + f->at;
    memcpy(&length, bytes, sizeof length);
    memcpy(&other, to, sizeof other);
    memcpy(&sum, bytes + sizeof length, sizeof sum);
    memcpy(&other_sum, to + sizeof length, sizeof other_sum);
    return length == other && sum == other_sum;
}

/* Likewise of a value of so many bytes. */
static inline bool is_value(const reader *r, uint32_t id, const uint8_t *bytes, size_t size)
{
    if (id >= r->forms.count || r->forms.list[id].series == METRICS_NO_NUMBER)
        return false;
    uint32_t crc;
    const form *f = &r->forms.list[id];
    return (f->rest ? size > f->size : size == f->size - f->value) && has_form(r, f, f->value, bytes, &crc);
}

static inline double number_at(const form *f, const uint8_t *bytes)
{
    double number = 0;
    float narrow = 0;
    if (f->wide) {
        memcpy(&number, bytes, sizeof number);
        return number;
    }
    memcpy(&narrow, bytes, sizeof narrow);
    return (double)narrow;
}

/* A varint of up to four bytes at [at, end): where it ends, NULL: it is longer, or cut short. */
static inline const uint8_t *take_short(const uint8_t *at, const uint8_t *end, uint64_t *number)
{
    *number = 0;
    for (unsigned shift = 0; shift < 28 && at < end; shift += 7) {
        const uint8_t byte = *at++;
        *number |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return at;
    }
    return NULL;
}

/* Where the content of a field of bytes begins, which goes on to the end. NULL: another field stands there. */
static inline const uint8_t *take_rest(const uint8_t *at, const uint8_t *end, unsigned key)
{
    uint64_t length = 0;
    if (end - at < 2 || *at != key || !(at = take_short(at + 1, end, &length)) || length != (uint64_t)(end - at))
        return NULL;
    return at;
}

/* ---- histograms ---- */

/* By the field's number: min, max, num, sum, sum of squares. */
typedef struct figures {
    double of[FIGURES];
} figures;

/* Takes a HistogramProto as it is written: its figures, but those that are 0, and two lists. False: it is another. */
static bool take_figures(const uint8_t *at, const uint8_t *end, figures *out)
{
    uint64_t length = 0;
    *out = (figures){0};
    for (unsigned k = 1; k < FIGURES && end - at > (ptrdiff_t)sizeof(double); k++)
        if (*at == (k << 3 | ASSAY_WIRE_FIXED64)) {
            memcpy(&out->of[k], at + 1, sizeof out->of[k]);
            at += 1 + sizeof out->of[k];
        }
    for (unsigned k = FIGURES; k <= FIGURES + 1 && at < end && *at == (k << 3 | ASSAY_WIRE_BYTES); k++) {
        if (!(at = take_short(at + 1, end, &length)) || length > (uint64_t)(end - at))
            return false;
        at += length;
    }
    return at == end;
}

static int put_figure(reader *r, size_t length, const char *figure, uint32_t *series, int64_t step, double number)
{
    if (*series != METRICS_NO_NUMBER)
        return metrics_put_into(r->log, *series, step, number);
    const size_t more = strlen(figure);
    if (length + more <= sizeof r->tag)
        memcpy(r->tag + length, figure, more);
    const int status = metrics_put(r->log, r->tag, length + more, 0, step, number);
    if (status == ASSAY_OK && length + more <= METRICS_TAG_MOST)
        *series = metrics_series_number(r->log, r->tag, length + more);
    return status;
}

/* Puts the figures of a histogram, whose tag is the reader's up to `length` where the series are not known yet. */
static int put_figures(reader *r, uint32_t tag, size_t length, int64_t step, const figures *f)
{
    static const char *const names[FIGURES] = {"/min", "/max", "/count", "/mean", "/std", "/l2"};
    if (f->of[3] == 0)
        return ASSAY_OK;
    const double mean = f->of[4] / f->of[3], variance = f->of[5] / f->of[3] - mean * mean;
    const double numbers[FIGURES] = {
        f->of[1], f->of[2], f->of[3], mean, sqrt(variance > 0 || isnan(variance) ? variance : 0), sqrt(f->of[5])};
    int status = ASSAY_OK;
    for (size_t i = 0; i < FIGURES && status == ASSAY_OK; i++)
        status = put_figure(r, length, names[i], &r->histograms.list[tag].of[i], step, numbers[i]);
    return status;
}

/* ---- values like the one before ---- */

/* Puts a value of so many bytes that has the form of one before. False: it has another one. */
static bool put_alike(reader *r, const uint8_t *bytes, size_t size, int64_t step, int *status)
{
    uint32_t id = r->last < r->forms.count ? r->forms.list[r->last].next : ASSAY_NO_ID;
    figures found;
    if (!is_value(r, id, bytes, size)) {
        if (size < 2 || bytes[0] != VALUE || bytes[1] > 127 || bytes[1] > size - 2)
            return false;
        id = find_form(r, (const char *)bytes + 2, bytes[1]);
        if (!is_value(r, id, bytes, size))
            return false;
    }
    const form *f = &r->forms.list[id];
    if (f->rest) {
        const uint8_t *rest = take_rest(bytes + f->size, bytes + size, f->rest);
        if (!rest || (f->rest == HISTOGRAM && !take_figures(rest, bytes + size, &found)))
            return false;
        if (f->rest == HISTOGRAM)
            *status = put_figures(r, f->series, 0, step, &found);
        else
            metrics_add(r->log, METRICS_OTHER_VALUES);
    } else {
        *status = metrics_put_into(r->log, f->series, step, number_at(f, bytes + f->number - f->value));
    }
    r->forms.list[r->last].next = id;
    r->last = id;
    return true;
}

/* Takes an event as most are: a time, a step and a summary of one value, which has the form of one before. False: it is
 * another one. */
static bool take_alike(reader *r, const uint8_t *bytes, size_t size, int *status)
{
    const uint8_t *at = bytes + STEP_AT - 1 - ASSAY_FRAME_HEAD, *end = bytes + size;
    uint64_t step = 0;
    if (size < STEP_AT - ASSAY_FRAME_HEAD || bytes[0] != TIME)
        return false;
    if (*at == STEP && !(at = take_short(at + 1, end, &step)))
        return false;
    if (!(at = take_rest(at, end, SUMMARY)) || !(at = take_rest(at, end, VALUE)) ||
        !put_alike(r, at, (size_t)(end - at), (int64_t)step, status))
        return false;
    form *f = &r->forms.list[r->last];
    if (*status == ASSAY_OK && !f->rest)
        *status = write_form(r, f, bytes - ASSAY_FRAME_HEAD, at, (size_t)(end - at), f->number - f->value);
    return true;
}

/* Takes the next records of the file as long as each is, as a whole, like an earlier one of the tag that is expected, and
 * lies in memory. Behind them stands one that is not, or may be damaged. */
static int take_expected(reader *r, assay_frames *frames)
{
    size_t have = 0;
    const uint8_t *at = assay_frames_ahead(frames, &have), *const end = at ? at + have : NULL;
    const form *const forms = r->forms.list;
    const uint32_t count = (uint32_t)r->forms.count;
    uint32_t id = r->last, step_bytes = 0;
    uint64_t records = 0, step = 0;
    int status = ASSAY_OK;
    while (status == ASSAY_OK && !r->log->sought && id < count && forms[id].next < count) { /* whose records count */
        const form *f = &forms[forms[id].next];
        uint32_t digits = 0, crc = 0;
        if (!f->framed || (size_t)(end - at) < f->size + (size_t)ASSAY_FRAME_FOOT || !has_head(r, f, at) ||
            !has_form(r, f, ASSAY_FRAME_HEAD, at + ASSAY_FRAME_HEAD, &crc) || !assay_frames_sound(at + f->size, crc))
            break;
        memcpy(&digits, at + STEP_AT, sizeof digits);
        digits &= f->step_mask;
        if (digits != step_bytes) {
            if (!take_short(at + STEP_AT, end, &step))
                break;
            step_bytes = digits;
        }
        status = metrics_put_into(r->log, f->series, (int64_t)step, number_at(f, at + f->number));
        at += f->size + ASSAY_FRAME_FOOT;
        id = forms[id].next;
        records++;
    }
    r->last = id;
    r->log->counts[METRICS_RECORDS] += records;
    if (records > 0)
        assay_frames_pass(frames, have - (size_t)(end - at));
    return status;
}

/* ---- values ---- */

/* The number of the tag; ASSAY_NO_ID without memory. Are its values no numbers? The plugin's name comes with its first
 * value. */
static uint32_t number_of(reader *r, const value *v, size_t length, bool *other)
{
    const uint32_t known = assay_dict_count(r->tags), number = assay_dict_add(r->tags, r->tag, length);
    if (number == ASSAY_NO_ID)
        return number;
    if (number == known) {
        size_t count = known;
        if (!assay_vec_add(&r->other, &count, &r->other_room, 1))
            return ASSAY_NO_ID;
    }
    if (v->plugin_length > 0)
        r->other[number] = is_other_plugin(v->plugin, v->plugin_length);
    *other = r->other[number];
    if (*other) {
        const uint32_t id = find_form(r, v->tag, v->tag_length);
        if (id != ASSAY_NO_ID) {
            r->forms.list[id].series = METRICS_NO_NUMBER;
            r->forms.list[id].framed = false;
        }
    }
    return number;
}

static int put_histogram(reader *r, const assay_wire *whole, const value *v, uint32_t tag, size_t length, int64_t step)
{
    figures found;
    const uint8_t *window = whole->view->window;
    if (!take_figures(window + v->histogram.at, window + v->histogram.end, &found)) {
        assay_wire w = assay_wire_into(whole, &v->histogram, "HistogramProto");
        assay_wire_field f;
        int more = 1;
        found = (figures){0};
        while ((more = assay_wire_next(&w, &f, NULL)) == 1)
            if (f.number >= 1 && f.number < FIGURES && f.type == ASSAY_WIRE_FIXED64)
                found.of[f.number] = double_of(f.value);
        if (more < 0) {
            metrics_add(r->log, METRICS_OTHER_VALUES);
            return ASSAY_OK;
        }
    }
    while (r->histograms.count <= tag) {
        figure_series *added = ASSAY_VEC_ADD(&r->histograms);
        ASSAY_HAVE(added);
        memset(added, 0xff, sizeof *added);
    }
    ASSAY_TRY(put_figures(r, tag, length, step, &found));
    bool known = v->tag_length > 0;
    for (size_t i = 0; i < FIGURES; i++)
        known = known && r->histograms.list[tag].of[i] != METRICS_NO_NUMBER;
    return known ? keep_form(r, whole, v, (const uint8_t *)v->tag + v->tag_length, false, HISTOGRAM, tag) : ASSAY_OK;
}

/* The only number of a tensor in its list of floats or doubles, NULL: it stands there in another way. */
static const uint8_t *typed_number(const assay_wire *whole, const value *v, bool wide)
{
    const size_t size = wide ? sizeof(double) : sizeof(float);
    const uint8_t *number = NULL;
    assay_wire w = assay_wire_into(whole, &v->tensor, "TensorProto");
    assay_wire_field f;
    while (assay_wire_next(&w, &f, NULL) == 1)
        if (f.number == (wide ? 6 : 5)) {
            const uint64_t at = f.type == ASSAY_WIRE_BYTES ? f.at : w.at - size;
            if (number || (f.type == ASSAY_WIRE_BYTES && f.end - f.at != size))
                return NULL;
            number = whole->view->window + at;
        }
    return number;
}

static int keep_number(reader *r, const assay_wire *whole, const value *v, const uint8_t *number, bool wide,
                       size_t length)
{
    const uint32_t series = metrics_series_number(r->log, r->tag, length);
    return keep_form(r, whole, v, number, wide, 0, series);
}

static int put_tensor(reader *r, const assay_wire *whole, const value *v, size_t length, int64_t step)
{
    assay_record_parts parts;
    assay_record record = {.offset = 0, .length = v->tensor.end - v->tensor.at};
    assay_view *view = whole->view;
    double number = 0;
    int status = assay_record_walk_tensor(view, v->tensor.at, v->tensor.end, &parts, NULL);
    ASSAY_THEN(status, assay_record_describe(view, &parts, &record, NULL));
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
    status = metrics_put(r->log, r->tag, length, 0, step, number);
    const bool wide = record.dtype == ASSAY_FLOAT64;
    if (status != ASSAY_OK || (record.dtype != ASSAY_FLOAT32 && !wide))
        return status;
    bytes = record.form == ASSAY_CONTENT_TYPED ? typed_number(whole, v, wide) : bytes;
    return bytes ? keep_number(r, whole, v, bytes, wide, length) : ASSAY_OK;
}

/* Puts what was found in the value, which is `whole`. */
static int put_value(reader *r, const assay_wire *whole, const value *v, int64_t step)
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
    const uint32_t tag = number_of(r, v, length, &other);
    if (tag == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    if (other || v->foreign) {
        metrics_add(r->log, METRICS_OTHER_VALUES);
        return v->foreign % 8 == ASSAY_WIRE_BYTES && v->tag_length > 0
                   ? keep_form(r, whole, v, (const uint8_t *)v->tag + v->tag_length, false, v->foreign, tag)
                   : ASSAY_OK;
    }
    if (v->has_simple) {
        const int status = metrics_put(r->log, r->tag, length, 0, step, (double)v->simple);
        return status == ASSAY_OK ? keep_number(r, whole, v, whole->view->window + v->simple_at, false, length)
                                  : status;
    }
    if (v->tensor.number)
        return put_tensor(r, whole, v, length, step);
    if (v->histogram.number)
        return put_histogram(r, whole, v, tag, length, step);
    metrics_add(r->log, METRICS_OTHER_VALUES);
    return ASSAY_OK;
}

static bool is_start(const assay_wire *event, const assay_wire_field *field)
{
    assay_wire w = assay_wire_into(event, field, "SessionLog");
    assay_wire_field f;
    while (assay_wire_next(&w, &f, NULL) == 1)
        if (f.number == 1 && f.type == ASSAY_WIRE_VARINT && f.value == SESSION_START)
            return true;
    return false;
}

/* The values of an event; `step` is the event's. 1: it is none. */
static int take_summary(reader *r, const assay_wire *event, const assay_wire_field *field, int64_t step)
{
    assay_wire w = assay_wire_into(event, field, "Summary");
    assay_wire_field f;
    int more = 1, status = ASSAY_OK;
    while (status == ASSAY_OK && (more = assay_wire_next(&w, &f, NULL)) == 1) {
        value v;
        if (f.number != 1 || f.type != ASSAY_WIRE_BYTES)
            continue;
        const assay_wire inner = assay_wire_into(&w, &f, "Value");
        if (put_alike(r, w.view->window + f.at, (size_t)(f.end - f.at), step, &status))
            continue;
        if (!take_value(&inner, &v))
            return 1;
        status = put_value(r, &inner, &v, step);
    }
    return more < 0 ? 1 : status;
}

static int take_event(reader *r, const uint8_t *bytes, size_t size)
{
    assay_view view = {.path = "event", .limit = size, .window = bytes, .window_size = size};
    const assay_wire event = {&view, "Event", 0, size};
    assay_wire w = event;
    assay_wire_field f, summary = {0}, session = {0};
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
    forget_forms(r); /* other files have other parts of their tags, and other workers */
    assay_frames frames = {0};
    assay_frame_kind kind = ASSAY_FRAME_WHOLE;
    int status = assay_stream_open(r->log->store, path, &frames.stream, err);
    if (status != ASSAY_OK)
        return status;
    r->log->at = (metrics_spot){.path = path, .what = "record"};
    while (status == ASSAY_OK && (kind == ASSAY_FRAME_WHOLE || kind == ASSAY_FRAME_DAMAGED)) {
        status = take_expected(r, &frames);
        ASSAY_THEN(status, assay_frames_next(&frames, &kind, err));
        if (status != ASSAY_OK)
            break;
        r->log->at.number++;
        const unsigned long long at = frames.at;
        r->base = frames.at + ASSAY_FRAME_HEAD;
        if (kind == ASSAY_FRAME_WHOLE) {
            metrics_add(r->log, METRICS_RECORDS);
            if (!take_alike(r, frames.payload, frames.size, &status))
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
    if (r) {
        r->log = log;
        assay_buf_init(&r->written, SIZE_MAX);
    }
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
        ASSAY_THEN(status, read_file(r, path, err));
    }
    if (r) {
        forget_forms(r);
        assay_dict_free(r->tags);
        free(r->other);
        free(r->forms.list);
        free(r->histograms.list);
        assay_buf_release(&r->written);
        assay_decoded_release(&r->typed);
    }
    free(r);
    return status;
}

const metrics_kind metrics_tb = {
    .name = "tb", .named = named, .proven = proven, .divide = metrics_tb_divide, .read = read, .sure = named};
