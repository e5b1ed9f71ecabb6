/* span.c - one event of a timeline: a JSON object of Chrome's trace format.
 *
 * What a file says of its own rows is kept while it is read: the time that its times count from, and the names of the
 * phases by the number of their row. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/keys.h"
#include "base/search.h"
#include "base/vec.h"
#include "format/profiler/profiler.h"

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

/* What an object is before its first member. It is set field by field: there are millions, and clearing the whole
 * struct would take as long as a number. */
static void begin_event(event *e)
{
    const assay_text none = {0};
    e->kind = e->name = e->thread = e->row_name = e->span.process = none;
    e->has_row = e->has_time = e->has_duration = e->bad = false;
    e->has_base = e->name_is_text = e->base_is_number = e->span.has_step = false;
    e->row = e->time = e->duration = e->base = 0;
    e->span.step = -1;
    e->span.pin_memory = ASSAY_ARGUMENT_NONE;
    e->span.num_workers = ASSAY_ARGUMENT_NONE;
}

int assay_timeline_reader_new(assay_profiler_file *f, assay_timeline_reader **out)
{
    *out = assay_alloc_zeroed(1, sizeof **out);
    ASSAY_HAVE(*out);
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
    size_t low = 0;
    ASSAY_SEARCH(low, r->count, r->phases[low].row < row);
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
    ASSAY_HAVE(assay_vec_reserve(&r->phases, &r->room, r->count + 1, sizeof *r->phases));
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

/* The keys that mean something: of the event, and of its arguments. */
enum { KIND = 1, NAME, ROW, TIME, DURATION, THREAD, ARGUMENTS = ASSAY_JSON_ENTER | 7 };
enum { STEP = 8, PROCESS, PIN_MEMORY, WORKERS, BASE, ROW_NAME };

/* With such a key's number: a key that is the known one but for a byte. An event that lacks the known one is damaged. */
enum { OFF = 32, NUMBER = 31 };

typedef struct known_key {
    const char *key;
    uint8_t field;
} known_key;
static const known_key argument_keys[] = {{"step_num", STEP},         {"pid", PROCESS},
                                          {"pin_memory", PIN_MEMORY}, {"num_workers", WORKERS},
                                          {"name", ROW_NAME},         {"start_time_since_epoch_in_micros", BASE}};
static const known_key event_keys[] = {{"ph", KIND},      {"name", NAME},  {"pid", ROW},       {"ts", TIME},
                                       {"dur", DURATION}, {"tid", THREAD}, {"args", ARGUMENTS}};

/* Arguments have keys of any names: short ones are often alike. */
static uint8_t field_of(const known_key *keys, size_t count, const char *key, size_t length, size_t least)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(keys[i].key) == length && memcmp(key, keys[i].key, length) == 0)
            return keys[i].field;
    for (size_t i = 0; i < count && length >= least; i++)
        if (assay_key_is_off(key, length, keys[i].key))
            return (uint8_t)(OFF | (keys[i].field & NUMBER));
    return 0;
}

uint8_t assay_profiler_event_field(uint8_t outer, const char *key, size_t length)
{
    enum { LEAST_ARGUMENT = 4 };
    return outer ? field_of(argument_keys, sizeof argument_keys / sizeof *argument_keys, key, length, LEAST_ARGUMENT)
                 : field_of(event_keys, sizeof event_keys / sizeof *event_keys, key, length, 0);
}

/* A value as text: of a number what the file says. */
static assay_text word_of(const assay_json_member *m)
{
    const bool word = m->kind == ASSAY_JSON_TEXT || m->kind == ASSAY_JSON_NUMBER;
    return word ? (assay_text){m->text, m->length} : (assay_text){0};
}

/* The number of a step: a whole number, or a text of digits; -1 for anything else. */
static int64_t step_of(const assay_json_member *m)
{
    int64_t value = 0;
    if (m->kind == ASSAY_JSON_NUMBER)
        return assay_json_integer(m, &value) ? value : -1;
    bool sound = m->kind == ASSAY_JSON_TEXT && m->length > 0;
    for (size_t i = 0; i < m->length && sound; i++)
        sound = m->text[i] >= '0' && m->text[i] <= '9' && !__builtin_mul_overflow(value, 10, &value) &&
                !__builtin_add_overflow(value, m->text[i] - '0', &value);
    return sound ? value : -1;
}

static void take_argument(assay_json_forms *f, const assay_json_member *m, event *e)
{
    int64_t value = 0;
    const bool number = m->kind == ASSAY_JSON_NUMBER;
    switch (m->field) {
    case STEP:
        e->span.has_step = true;
        e->span.step = step_of(m);
        break;
    case PROCESS:
        e->span.process = word_of(m);
        break;
    case PIN_MEMORY:
        e->span.pin_memory = m->kind == ASSAY_JSON_TRUE ? 1 : m->kind == ASSAY_JSON_FALSE ? 0 : ASSAY_ARGUMENT_NONE;
        break;
    case WORKERS:
        e->span.num_workers = number && assay_json_integer(m, &value) ? value : ASSAY_ARGUMENT_NONE;
        break;
    case BASE:
        e->has_base = true;
        e->base_is_number = number;
        e->base = number ? assay_json_real(f, m) : 0;
        break;
    default:
        e->name_is_text = m->kind == ASSAY_JSON_TEXT;
        e->row_name = word_of(m);
    }
}

static void take_member(assay_json_forms *f, const assay_json_member *m, event *e)
{
    const bool number = m->kind == ASSAY_JSON_NUMBER;
    switch (m->field) {
    case KIND:
        e->bad = e->bad || m->kind != ASSAY_JSON_TEXT;
        e->kind = word_of(m);
        break;
    case NAME:
        e->bad = e->bad || m->kind != ASSAY_JSON_TEXT;
        e->name = word_of(m);
        break;
    case ROW:
        e->has_row = number;
        e->row = number ? assay_json_real(f, m) : 0;
        break;
    case TIME:
        e->has_time = number;
        e->time = number ? assay_json_real(f, m) : 0;
        break;
    case DURATION:
        e->has_duration = number;
        e->duration = number ? assay_json_real(f, m) : 0;
        break;
    case THREAD:
        e->thread = word_of(m);
        break;
    default:
        take_argument(f, m, e);
    }
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
        const bool fits = fabs(rint(e->base)) < FARTHEST;
        r->has_base = r->has_base || fits;
        r->base = fits ? (int64_t)rint(e->base) : r->base;
        *sound = fits && e->has_row;
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
    e->span.row = (assay_text){0};
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
    assay_json_forms *f = &r->file->forms;
    event e;
    begin_event(&e);
    const int status = assay_json_take(f, text, length);
    uint32_t seen = 0, off = 0;
    for (size_t i = 0; i < f->members && status == ASSAY_OK; i++) {
        const assay_json_member *m = &f->member[i];
        if (m->field & OFF) {
            off |= 1u << (m->field & NUMBER);
            continue;
        }
        seen |= 1u << m->field;
        take_member(f, m, &e);
    }
    if (status == ASSAY_ENOMEM || f->pull.no_memory)
        return ASSAY_ENOMEM;
    *sound = status == ASSAY_OK && !e.bad && e.kind.bytes && !(off & ~seen);
    if (!*sound)
        return ASSAY_OK;
    if (is_kind(&e, 'M'))
        return take_metadata(r, &e, sound);
    if (is_kind(&e, 'X') || is_kind(&e, 'B') || is_kind(&e, 'E'))
        return hand_out(r, &e, line, sound);
    r->file->sink->other(r->file->sink->context);
    return ASSAY_OK;
}
