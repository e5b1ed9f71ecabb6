/* span.c - one event of a timeline: a JSON object of Chrome's trace format.
 *
 * What a file says of its own rows is kept while it is read: the time that its times count from, and the names of the
 * phases by the number of their row. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "trial/format/profiler/profiler.h"

static const double FARTHEST = 0x1p53;

typedef struct phase {
    int64_t row;
    char *name; /* owned */
    size_t length;
} phase;

struct assay_timeline_reader {
    assay_profiler_file *file;
    bool has_base, named_no_base;
    int64_t base;
    phase *phases;
    size_t count, room;
    size_t last; /* the phase that was asked for last */
};

/* An object while it is taken apart. */
typedef struct event {
    assay_text kind, name, thread;
    bool has_row, has_time, has_duration, bad;
    double row, time, duration;
    bool has_base, name_is_text, base_is_number;
    double base;
    assay_text row_name; /* args.name */
    assay_event_span span;
} event;

int assay_timeline_reader_new(assay_profiler_file *f, assay_timeline_reader **out)
{
    *out = assay_alloc_zeroed(1, sizeof **out);
    if (!*out)
        return ASSAY_ENOMEM;
    (*out)->file = f;
    return ASSAY_OK;
}

void assay_timeline_reader_free(assay_timeline_reader *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->count; i++)
        free(r->phases[i].name);
    free(r->phases);
    free(r);
}

/* ---- phases ---- */

/* Where the phase of a row is, or would be: they are in order of their rows, thousands where tensors have their own. */
static size_t place_of(const assay_timeline_reader *r, int64_t row)
{
    size_t low = 0, high = r->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (r->phases[middle].row < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static phase *find_phase(assay_timeline_reader *r, int64_t row)
{
    if (r->last >= r->count || r->phases[r->last].row != row)
        r->last = place_of(r, row);
    return r->last < r->count && r->phases[r->last].row == row ? &r->phases[r->last] : NULL;
}

static int add_phase(assay_timeline_reader *r, int64_t row)
{
    if (r->count == r->room) {
        const size_t room = r->room ? 2 * r->room : 16;
        phase *grown = assay_realloc_array(r->phases, room, sizeof *grown);
        if (!grown)
            return ASSAY_ENOMEM;
        r->phases = grown;
        r->room = room;
    }
    r->last = place_of(r, row);
    memmove(r->phases + r->last + 1, r->phases + r->last, (r->count - r->last) * sizeof *r->phases);
    r->phases[r->last] = (phase){.row = row};
    r->count++;
    return ASSAY_OK;
}

static int name_phase(assay_timeline_reader *r, int64_t row, assay_text name)
{
    phase *known = find_phase(r, row);
    if (known && known->length == name.length && memcmp(known->name, name.bytes, name.length) == 0)
        return ASSAY_OK;
    char *copy = assay_copy_bytes_as_text(name.bytes, name.length);
    if (!copy || (!known && add_phase(r, row) != ASSAY_OK)) {
        free(copy);
        return ASSAY_ENOMEM;
    }
    known = &r->phases[r->last];
    free(known->name);
    known->name = copy;
    known->length = name.length;
    return ASSAY_OK;
}

/* ---- the object ---- */

static bool is_key(const char *key, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(key, name, length) == 0;
}

static bool is_number(char c)
{
    return c == '-' || (c >= '0' && c <= '9');
}

/* A value as text: of a number what the file says. */
static bool take_word(assay_pull *s, assay_text *out)
{
    const char c = assay_pull_peek(s);
    *out = (assay_text){0};
    if (c == '"')
        return assay_pull_string(s, &out->bytes, &out->length);
    const char *begin = s->at;
    if (!assay_pull_skip(s))
        return false;
    if (is_number(c))
        *out = (assay_text){begin, (size_t)(s->at - begin)};
    return true;
}

static bool take_number(assay_pull *s, bool *has, double *number)
{
    *has = is_number(assay_pull_peek(s));
    return *has ? assay_pull_number(s, number) : assay_pull_skip(s);
}

/* The number of a step: a whole number, or a text of digits; -1 for anything else. */
static bool take_step(assay_pull *s, assay_event_span *span)
{
    assay_text word;
    const bool text = assay_pull_peek(s) == '"', number = is_number(assay_pull_peek(s));
    bool fits = false;
    span->has_step = true;
    span->step = -1;
    if (number) {
        int64_t value = 0;
        if (!assay_pull_integer(s, &value, &fits))
            return false;
        span->step = fits ? value : -1;
        return true;
    }
    if (!take_word(s, &word))
        return false;
    int64_t value = 0;
    bool sound = text && word.length > 0;
    for (size_t i = 0; i < word.length && sound; i++)
        sound = word.bytes[i] >= '0' && word.bytes[i] <= '9' && !__builtin_mul_overflow(value, 10, &value) &&
                !__builtin_add_overflow(value, word.bytes[i] - '0', &value);
    span->step = sound ? value : -1;
    return true;
}

static bool take_pin_memory(assay_pull *s, assay_event_span *span)
{
    const char c = assay_pull_peek(s);
    int literal = ASSAY_ARGUMENT_NONE;
    span->pin_memory = ASSAY_ARGUMENT_NONE;
    if (c != 't' && c != 'f')
        return assay_pull_skip(s);
    if (!assay_pull_literal(s, &literal))
        return false;
    span->pin_memory = literal;
    return true;
}

static bool take_workers(assay_pull *s, assay_event_span *span)
{
    bool fits = false;
    int64_t value = 0;
    span->num_workers = ASSAY_ARGUMENT_NONE;
    if (!is_number(assay_pull_peek(s)))
        return assay_pull_skip(s);
    if (!assay_pull_integer(s, &value, &fits))
        return false;
    span->num_workers = fits ? value : ASSAY_ARGUMENT_NONE;
    return true;
}

static bool take_argument(assay_pull *s, event *e)
{
    const char *key = NULL;
    size_t length = 0;
    if (!assay_pull_key(s, &key, &length))
        return false;
    if (is_key(key, length, "step_num"))
        return take_step(s, &e->span);
    if (is_key(key, length, "pid"))
        return take_word(s, &e->span.process);
    if (is_key(key, length, "pin_memory"))
        return take_pin_memory(s, &e->span);
    if (is_key(key, length, "num_workers"))
        return take_workers(s, &e->span);
    if (is_key(key, length, "start_time_since_epoch_in_micros")) {
        e->has_base = true;
        return take_number(s, &e->base_is_number, &e->base);
    }
    if (is_key(key, length, "name")) {
        e->name_is_text = assay_pull_peek(s) == '"';
        return take_word(s, &e->row_name);
    }
    return assay_pull_skip(s);
}

static bool take_arguments(assay_pull *s, event *e)
{
    if (assay_pull_peek(s) != '{')
        return assay_pull_skip(s);
    bool sound = true;
    if (assay_pull_open(s, '{', '}'))
        do
            sound = take_argument(s, e);
        while (sound && assay_pull_more(s, '}'));
    return sound && !s->fault;
}

static bool take_member(assay_pull *s, event *e)
{
    const char *key = NULL;
    size_t length = 0;
    if (!assay_pull_key(s, &key, &length))
        return false;
    if (is_key(key, length, "ph")) {
        e->bad = e->bad || assay_pull_peek(s) != '"';
        return take_word(s, &e->kind);
    }
    if (is_key(key, length, "name")) {
        e->bad = e->bad || assay_pull_peek(s) != '"';
        return take_word(s, &e->name);
    }
    if (is_key(key, length, "pid"))
        return take_number(s, &e->has_row, &e->row);
    if (is_key(key, length, "ts"))
        return take_number(s, &e->has_time, &e->time);
    if (is_key(key, length, "dur"))
        return take_number(s, &e->has_duration, &e->duration);
    if (is_key(key, length, "tid"))
        return take_word(s, &e->thread);
    if (is_key(key, length, "args"))
        return take_arguments(s, e);
    return assay_pull_skip(s);
}

/* ---- what it means ---- */

static bool is_whole(double value)
{
    return fabs(value) < FARTHEST && value == rint(value);
}

static bool is_kind(const event *e, char kind)
{
    return e->kind.length == 1 && e->kind.bytes[0] == kind;
}

static int take_metadata(assay_timeline_reader *r, const event *e, bool *sound)
{
    if (e->has_base && e->base_is_number) {
        *sound = fabs(rint(e->base)) < FARTHEST;
        r->has_base = r->has_base || *sound;
        r->base = *sound ? (int64_t)rint(e->base) : r->base;
        return ASSAY_OK;
    }
    if (e->has_row && is_whole(e->row) && e->name.length == 12 && memcmp(e->name.bytes, "process_name", 12) == 0 &&
        e->name_is_text)
        return name_phase(r, (int64_t)e->row, e->row_name);
    return ASSAY_OK;
}

static int hand_out(assay_timeline_reader *r, event *e, uint64_t line, bool *sound)
{
    enum { ROW_ROOM = 256 };
    const assay_event_sink *sink = r->file->sink;
    const bool whole = is_kind(e, 'X');
    char room[ROW_ROOM];
    *sound = e->has_row && is_whole(e->row) && e->has_time && fabs(e->time) < FARTHEST &&
             (!whole || (e->has_duration && e->duration >= 0 && rint(e->duration) < FARTHEST));
    const int64_t time = *sound ? r->base + (int64_t)rint(e->time) : 0;
    *sound = *sound && (!r->has_base || (time < (int64_t)FARTHEST && time > -(int64_t)FARTHEST));
    if (!*sound)
        return ASSAY_OK;
    if (!r->has_base) {
        if (r->named_no_base)
            return ASSAY_OK;
        r->named_no_base = true;
        return sink->problem(sink->context, ASSAY_EVENT_NO_BASE, line,
                             "times without a base time before them: these events are not used");
    }
    const phase *known = find_phase(r, (int64_t)e->row);
    e->span.part = whole ? ASSAY_SPAN_WHOLE : is_kind(e, 'B') ? ASSAY_SPAN_BEGIN : ASSAY_SPAN_END;
    e->span.time = time;
    e->span.duration = whole ? (int64_t)rint(e->duration) : 0;
    e->span.name = e->name.bytes ? e->name : (assay_text){"", 0};
    e->span.phase = known ? (assay_text){known->name, known->length} : (assay_text){"Unknown", 7};
    e->span.line = line;
    if (!whole) {
        const assay_text thread = e->thread.bytes ? e->thread : (assay_text){"0", 1};
        int length = snprintf(room, sizeof room, "%lld %.*s", (long long)e->row,
                              (int)(thread.length < 200 ? thread.length : 200), thread.bytes);
        e->span.row = (assay_text){room, (size_t)length};
    }
    return sink->span(sink->context, &e->span);
}

int assay_timeline_reader_take(assay_timeline_reader *r, const char *text, size_t length, uint64_t line, bool *sound)
{
    assay_pull *s = &r->file->pull;
    event e = {.span = {.step = -1, .pin_memory = ASSAY_ARGUMENT_NONE, .num_workers = ASSAY_ARGUMENT_NONE}};
    bool good = true;
    assay_pull_start(s, text, length);
    if (assay_pull_open(s, '{', '}'))
        do
            good = take_member(s, &e);
        while (good && assay_pull_more(s, '}'));
    if (s->no_memory)
        return ASSAY_ENOMEM;
    *sound = good && !s->fault && assay_pull_end(s) && !e.bad && e.kind.bytes;
    if (!*sound)
        return ASSAY_OK;
    if (is_kind(&e, 'M'))
        return take_metadata(r, &e, sound);
    if (is_kind(&e, 'X') || is_kind(&e, 'B') || is_kind(&e, 'E'))
        return hand_out(r, &e, line, sound);
    r->file->sink->other(r->file->sink->context);
    return ASSAY_OK;
}
