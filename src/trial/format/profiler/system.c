/* system.c - system metrics: one JSON object a line,
 *   {"Type":"gpu","Name":"gpu0","Dimension":"GPUUtilization","Value":24,"NodeId":"algo-1","Timestamp":1591748169.23} */
#include <math.h>
#include <string.h>

#include "trial/format/profiler/profiler.h"

/* The keys that mean something, as bits of what a record has. */
enum { NAME = 1, DIMENSION = 2, VALUE = 4, NODE = 8, TIMESTAMP = 16, NEEDED = DIMENSION | VALUE | NODE | TIMESTAMP };

typedef struct record {
    unsigned has;
    assay_text name, dimension, node;
    double value, timestamp;
} record;

static unsigned key_of(const char *key, size_t length)
{
    switch (length) {
    case 4:
        return memcmp(key, "Name", 4) == 0 ? NAME : 0;
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

/* A text of this record, which may be of another kind: then the key is as good as absent. */
static bool take_text(assay_pull *s, record *r, unsigned key, assay_text *text)
{
    if (assay_pull_peek(s) == '"') {
        r->has |= key;
        return assay_pull_string(s, &text->bytes, &text->length);
    }
    r->has &= ~key;
    return assay_pull_skip(s);
}

static bool take_number(assay_pull *s, record *r, unsigned key, double *number)
{
    const char c = assay_pull_peek(s);
    if (c == '-' || (c >= '0' && c <= '9')) {
        r->has |= key;
        return assay_pull_number(s, number);
    }
    r->has &= ~key;
    return assay_pull_skip(s);
}

/* A name may be null, which is like none; anything else that is no text damages the line. */
static bool take_name(assay_pull *s, record *r)
{
    if (assay_pull_peek(s) != 'n')
        return take_text(s, r, NAME, &r->name) && (r->has & NAME);
    int literal = 0;
    r->has &= ~(unsigned)NAME;
    r->name = (assay_text){0};
    return assay_pull_literal(s, &literal);
}

static bool take_member(assay_pull *s, record *r)
{
    const char *key = NULL;
    size_t length = 0;
    if (!assay_pull_key(s, &key, &length))
        return false;
    switch (key_of(key, length)) {
    case NAME:
        return take_name(s, r);
    case DIMENSION:
        return take_text(s, r, DIMENSION, &r->dimension);
    case NODE:
        return take_text(s, r, NODE, &r->node);
    case VALUE:
        return take_number(s, r, VALUE, &r->value);
    case TIMESTAMP:
        return take_number(s, r, TIMESTAMP, &r->timestamp);
    default:
        return assay_pull_skip(s);
    }
}

/* NULL, or what is wrong. */
static const char *parse(assay_pull *s, record *r)
{
    bool sound = true;
    if (assay_pull_open(s, '{', '}'))
        do
            sound = take_member(s, r);
        while (sound && assay_pull_more(s, '}'));
    if (!sound && !s->fault)
        return "its Name is no text";
    if (s->fault || !assay_pull_end(s))
        return s->fault;
    if ((r->has & NEEDED) != NEEDED)
        return "NodeId, Dimension, Value or Timestamp is not there, or of another type";
    if (r->node.length == 0)
        return "its NodeId is empty";
    if (!(r->timestamp > 0 && r->timestamp < 9e9))
        return "its Timestamp is none in seconds since 1970";
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
        assay_pull_start(&f->pull, line, length);
        const char *wrong = parse(&f->pull, &r);
        if (f->pull.no_memory)
            return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory for a line", f->file->path);
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
        if (status != ASSAY_OK)
            return status;
    }
    return status;
}
