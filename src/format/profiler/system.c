/* system.c - system metrics: one JSON object a line,
 *   {"Type":"gpu","Name":"gpu0","Dimension":"GPUUtilization","Value":24,"NodeId":"algo-1","Timestamp":1591748169.23} */
#include <math.h>
#include <string.h>

#include "base/keys.h"
#include "format/profiler/profiler.h"

enum { NAME = 1, DIMENSION, VALUE, NODE, TIMESTAMP, NAME_OFF }; /* the keys that mean something */

typedef struct record {
    bool bad_name, has_name, off, has_value, has_timestamp;
    assay_text name, dimension, node;
    double value, timestamp;
} record;

uint8_t assay_profiler_system_field(uint8_t outer, const char *key, size_t length)
{
    if (outer)
        return 0;
    switch (length) {
    case 4:
        return memcmp(key, "Name", 4) == 0 ? NAME : assay_key_is_off(key, 4, "Name") ? NAME_OFF : 0;
    case 5:
        return memcmp(key, "Value", 5) == 0 ? VALUE : 0;
    case 6:
        return memcmp(key, "NodeId", 6) == 0 ? NODE : 0;
    case 9:
        return memcmp(key, "Dimension", 9) == 0 ? DIMENSION : memcmp(key, "Timestamp", 9) == 0 ? TIMESTAMP : 0;
    default:
        return 0;
    }
}

/* A value of another kind is as good as none. A name may be null, which is like none; any other that is no text damages
 * the line. */
static void take_member(assay_json_forms *f, const assay_json_member *m, record *r)
{
    const assay_text text = m->kind == ASSAY_JSON_TEXT ? (assay_text){m->text, m->length} : (assay_text){0};
    const bool number = m->kind == ASSAY_JSON_NUMBER;
    switch (m->field) {
    case NAME:
        r->bad_name = r->bad_name || (m->kind != ASSAY_JSON_TEXT && m->kind != ASSAY_JSON_NULL);
        r->name = text;
        r->has_name = true;
        break;
    case DIMENSION:
        r->dimension = text;
        break;
    case NODE:
        r->node = text;
        break;
    case NAME_OFF:
        r->off = true;
        break;
    case VALUE:
        r->has_value = number;
        r->value = number ? assay_json_real(f, m) : 0;
        break;
    default:
        r->has_timestamp = number;
        r->timestamp = number ? assay_json_real(f, m) : 0;
    }
}

/* NULL, or what is wrong. */
static const char *check(const record *r)
{
    if (r->bad_name)
        return "its Name is not a text";
    if (r->off && !r->has_name)
        return "a key stands where Name should";
    if (!r->dimension.bytes || !r->node.bytes || !r->has_value || !r->has_timestamp)
        return "NodeId, Dimension, Value or Timestamp is not there, or of another type";
    if (r->node.length == 0)
        return "its NodeId is empty";
    if (!(r->timestamp > 0 && r->timestamp < 9e9))
        return "its Timestamp is not in seconds since 1970";
    if (!(fabs(r->value) <= 9e12))
        return "its Value is beyond 9e12";
    return NULL;
}

int assay_profiler_read_system(assay_profiler_file *f, assay_error *err)
{
    const char *line = NULL;
    size_t length = 0;
    int status = 0;
    while ((status = assay_profiler_next(f, &line, &length, err)) == 1) {
        record r = {0};
        status = assay_json_take(&f->forms, line, length);
        for (size_t i = 0; i < f->forms.members && status == ASSAY_OK; i++)
            take_member(&f->forms, &f->forms.member[i], &r);
        if (status == ASSAY_ENOMEM || f->forms.pull.no_memory)
            return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory for a line", f->file->path);
        const char *wrong = status == ASSAY_OK ? check(&r) : f->forms.pull.fault;
        if (wrong) {
            status = assay_profiler_damage(f, assay_lines_number(f->lines), wrong);
        } else {
            const assay_event_sample sample = {.time = (int64_t)(r.timestamp * 1e6),
                                               .millionths = (int64_t)rint(r.value * 1e6),
                                               .node = r.node,
                                               .unit = r.name,
                                               .metric = r.dimension,
                                               .line = assay_lines_number(f->lines)};
            status = f->sink->sample(f->sink->context, &sample);
        }
        ASSAY_TRY(status);
    }
    return status;
}
