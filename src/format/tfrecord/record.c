/* record.c - walks the messages of a record. Each kind of message has its function, so nesting never goes deeper than
 * the schema does, whatever the bytes say. */
#include "format/tfrecord/record.h"

#include <string.h>

/* One Summary.Value. */
typedef struct value_parts {
    assay_record_parts *parts;
    int mode;
    int64_t mode_step;
} value_parts;

/* Nothing is known yet. The shape, which is large, counts only up to `dims`. */
static void forget(value_parts *v)
{
    assay_record_parts *p = v->parts;
    p->mode_step_at = p->mode_step_end = 0;
    p->node_at = p->node_end = 0;
    p->tag_at = p->tag_end = p->tensor_at = p->tensor_end = p->content_at = p->content_end = p->dtype = 0;
    p->has_tensor = p->has_simple = p->unknown_rank = false;
    p->simple = 0;
    p->dims = 0;
    v->mode = 0;
    v->mode_step = -1;
}

static int walk_dim(assay_wire w, int64_t *size, assay_error *err)
{
    assay_wire_field f;
    int more;
    *size = 0; /* a size of 0 need not be written */
    while ((more = assay_wire_next(&w, &f, err)) == 1) {
        if (f.number != 1)
            continue;
        ASSAY_TRY(assay_wire_expect(&w, &f, ASSAY_WIRE_VARINT, err));
        memcpy(size, &f.value, sizeof *size);
    }
    return more;
}

static int walk_shape(assay_wire w, assay_record_parts *parts, assay_error *err)
{
    assay_wire_field f;
    int more;
    while ((more = assay_wire_next(&w, &f, err)) == 1) {
        if (f.number == 3 && f.type == ASSAY_WIRE_VARINT)
            parts->unknown_rank = f.value != 0;
        if (f.number != 2)
            continue;
        int status = assay_wire_expect(&w, &f, ASSAY_WIRE_BYTES, err);
        if (status == ASSAY_OK && parts->dims == ASSAY_MAX_DIMS)
            status = assay_fail(err, ASSAY_EFORMAT, "%s: offset %llu: the tensor has more than %d dimensions",
                                w.view->path, (unsigned long long)f.at, ASSAY_MAX_DIMS);
        ASSAY_THEN(status, walk_dim(assay_wire_into(&w, &f, "TensorShapeProto.Dim"), &parts->shape[parts->dims], err));
        ASSAY_TRY(status);
        parts->dims++;
    }
    return more;
}

static int walk_tensor(assay_wire w, assay_record_parts *parts, assay_error *err)
{
    assay_wire_field f;
    int more;
    parts->tensor_at = w.at;
    parts->tensor_end = w.end;
    parts->dtype = 0;
    parts->dims = 0;
    parts->content_at = parts->content_end = w.at;
    parts->unknown_rank = false;
    while ((more = assay_wire_next(&w, &f, err)) == 1) {
        int status = ASSAY_OK;
        if (f.number == 1) {
            status = assay_wire_expect(&w, &f, ASSAY_WIRE_VARINT, err);
            parts->dtype = f.value;
        } else if (f.number == 2) {
            status = assay_wire_expect(&w, &f, ASSAY_WIRE_BYTES, err);
            ASSAY_THEN(status, walk_shape(assay_wire_into(&w, &f, "TensorShapeProto"), parts, err));
        } else if (f.number == 4) {
            status = assay_wire_expect(&w, &f, ASSAY_WIRE_BYTES, err);
            parts->content_at = f.at;
            parts->content_end = f.end;
        }
        ASSAY_TRY(status);
    }
    return more;
}

int assay_record_walk_tensor(assay_view *view, uint64_t at, uint64_t end, assay_record_parts *parts, assay_error *err)
{
    *parts = (assay_record_parts){.has_tensor = true};
    return walk_tensor((assay_wire){view, "TensorProto", at, end}, parts, err);
}

/* A decimal number, as the reference writes modes and steps; -1 when it is none. */
static int read_decimal(assay_wire w, const assay_wire_field *f, int64_t *number, assay_error *err)
{
    char text[20];
    size_t length = (size_t)(f->end - f->at);
    *number = -1;
    if (length == 0 || f->end - f->at > 18)
        return ASSAY_OK;
    int status = assay_view_copy(w.view, f->at, f->end, text, err);
    int64_t value = 0;
    for (size_t i = 0; i < length && status == ASSAY_OK; i++) {
        if (text[i] < '0' || text[i] > '9')
            return ASSAY_OK;
        value = value * 10 + (text[i] - '0');
    }
    if (status == ASSAY_OK)
        *number = value;
    return status;
}

/* plugin_data {1 plugin_name, 2 content}: "mode" and "mode_step" are of interest. */
static int walk_plugin(assay_wire w, value_parts *v, assay_error *err)
{
    assay_wire_field f;
    char name[16] = "";
    int more;
    int64_t number = -1;
    uint64_t number_at = 0, number_end = 0;
    while ((more = assay_wire_next(&w, &f, err)) == 1) {
        if (f.number != 1 && f.number != 2)
            continue;
        int status = assay_wire_expect(&w, &f, ASSAY_WIRE_BYTES, err);
        if (status == ASSAY_OK && f.number == 2) {
            status = read_decimal(w, &f, &number, err);
            number_at = f.at;
            number_end = f.end;
        } else if (status == ASSAY_OK && f.end - f.at < sizeof name) {
            memset(name, 0, sizeof name);
            status = assay_view_copy(w.view, f.at, f.end, name, err);
        }
        ASSAY_TRY(status);
    }
    if (more == 0 && strcmp(name, "mode") == 0 && number >= 1 && number <= 4)
        v->mode = (int)number;
    if (more == 0 && strcmp(name, "mode_step") == 0) {
        v->mode_step = number;
        v->parts->mode_step_at = number_at;
        v->parts->mode_step_end = number_end;
    }
    return more;
}

static int walk_metadata(assay_wire w, value_parts *v, assay_error *err)
{
    assay_wire_field f;
    int more;
    while ((more = assay_wire_next(&w, &f, err)) == 1) {
        if (f.number != 1)
            continue;
        int status = assay_wire_expect(&w, &f, ASSAY_WIRE_BYTES, err);
        ASSAY_THEN(status, walk_plugin(assay_wire_into(&w, &f, "PluginData"), v, err));
        ASSAY_TRY(status);
    }
    return more;
}

static int walk_value_field(const assay_wire *w, const assay_wire_field *f, value_parts *v, assay_error *err)
{
    unsigned type = f->number == 2 ? ASSAY_WIRE_FIXED32 : ASSAY_WIRE_BYTES;
    if (f->number != 1 && f->number != 2 && f->number != 7 && f->number != 8 && f->number != 9)
        return ASSAY_OK;
    ASSAY_TRY(assay_wire_expect(w, f, type, err));
    if (f->number == 8) {
        v->parts->has_tensor = true;
        return walk_tensor(assay_wire_into(w, f, "TensorProto"), v->parts, err);
    }
    if (f->number == 9)
        return walk_metadata(assay_wire_into(w, f, "SummaryMetadata"), v, err);
    if (f->number == 1) {
        v->parts->tag_at = f->at;
        v->parts->tag_end = f->end;
    } else if (f->number == 7) {
        v->parts->node_at = f->at;
        v->parts->node_end = f->end;
    } else {
        v->parts->has_simple = true;
        v->parts->simple = (uint32_t)f->value;
    }
    return ASSAY_OK;
}

static int walk_value(assay_wire w, value_parts *v, assay_error *err)
{
    assay_wire_field f;
    int more;
    forget(v);
    while ((more = assay_wire_next(&w, &f, err)) == 1) {
        ASSAY_TRY(walk_value_field(&w, &f, v, err));
    }
    return more;
}

/* A value behind one that has a simple_value: it counts when it has a tensor. */
static int walk_further(assay_wire w, value_parts *found, assay_error *err)
{
    assay_record_parts parts;
    value_parts v = {.parts = &parts};
    int status = walk_value(w, &v, err);
    if (status != ASSAY_OK || !parts.has_tensor)
        return status;
    parts.time_end = found->parts->time_end;
    parts.step_end = found->parts->step_end;
    *found->parts = parts;
    found->mode = v.mode;
    found->mode_step = v.mode_step;
    return ASSAY_OK;
}

static int walk_summary(assay_wire w, value_parts *found, assay_error *err)
{
    assay_wire_field f;
    int more;
    while ((more = assay_wire_next(&w, &f, err)) == 1) {
        if (f.number != 1)
            continue;
        ASSAY_TRY(assay_wire_expect(&w, &f, ASSAY_WIRE_BYTES, err));
        if (found->parts->has_tensor)
            continue;
        assay_wire value = assay_wire_into(&w, &f, "Summary.Value");
        ASSAY_TRY(found->parts->has_simple ? walk_further(value, found, err) : walk_value(value, found, err));
    }
    return more;
}

int assay_record_walk(assay_view *view, uint64_t at, uint64_t end, assay_record_parts *parts, assay_record *record,
                      assay_error *err)
{
    assay_wire w = {view, "Event", at, end};
    value_parts found = {.parts = parts};
    forget(&found);
    parts->time_end = parts->step_end = 0;
    assay_wire_field f;
    int more;
    record->wall_time = 0;
    record->step = 0;
    while ((more = assay_wire_next(&w, &f, err)) == 1) {
        int status = ASSAY_OK;
        if (f.number == 1) {
            status = assay_wire_expect(&w, &f, ASSAY_WIRE_FIXED64, err);
            memcpy(&record->wall_time, &f.value, sizeof f.value);
            parts->time_end = w.at;
        } else if (f.number == 2) {
            status = assay_wire_expect(&w, &f, ASSAY_WIRE_VARINT, err);
            memcpy(&record->step, &f.value, sizeof f.value);
            parts->step_end = w.at;
        } else if (f.number == 5) {
            status = assay_wire_expect(&w, &f, ASSAY_WIRE_BYTES, err);
            ASSAY_THEN(status, walk_summary(assay_wire_into(&w, &f, "Summary"), &found, err));
        }
        ASSAY_TRY(status);
    }
    if (more < 0)
        return more;
    if (!parts->has_tensor && !parts->has_simple)
        return assay_fail(err, ASSAY_EFORMAT, "%s: offset %llu: the record holds no tensor", view->path,
                          (unsigned long long)record->offset);
    record->mode = found.mode;
    record->mode_step = found.mode_step;
    return ASSAY_OK;
}
