/* event.c - one event of a trace, and the lists of ranks in it. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/keys.h"
#include "format/traces/traces.h"

enum { KEY_PHASE, KEY_CATEGORY, KEY_NAME, KEY_PROCESS, KEY_THREAD, KEY_TIME, KEY_DURATION, KEY_ARGUMENTS };
static const char *const event_keys[] = {"ph", "cat", "name", "pid", "tid", "ts", "dur", "args", NULL};

enum {
    KEY_EXTERNAL,
    KEY_EXTERNAL_OLD,
    KEY_CORRELATION,
    KEY_OPERATION,
    KEY_IN,
    KEY_OUT,
    KEY_SIZE,
    KEY_DTYPE,
    KEY_GROUP,
    KEY_GROUP_ID,
    KEY_DESCRIPTION,
    KEY_RANKS,
    KEY_SEQUENCE,
    KEY_SOURCE,
    KEY_DESTINATION
};
static const char *const argument_keys[] = {"External id",
                                            "external id",
                                            "correlation",
                                            "Collective name",
                                            "In msg nelems",
                                            "Out msg nelems",
                                            "Group size",
                                            "dtype",
                                            "Process Group Name",
                                            "Process Group ID",
                                            "Process Group Description",
                                            "Process Group Ranks",
                                            "Seq",
                                            "Src Rank",
                                            "Dst Rank",
                                            NULL};

/* The keys of an event that is taken apart. */
typedef struct event_account {
    assay_keys event, arguments;
} event_account;

static bool is_number(char c)
{
    return c == '-' || (c >= '0' && c <= '9');
}

static bool parse_time(assay_pull *p, int64_t *ns);

/* Digits with up to three behind a point, as nearly all are. False, and nothing taken, for anything else. */
static bool parse_plain_time(assay_pull *p, int64_t *ns)
{
    enum { DIGITS = 16 }; /* of less than 2^62 ns */
    const char *at = p->at, *end = p->end;
    int64_t value = 0, unit = 1000;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        if (at - p->at == DIGITS)
            return false;
        value = 10 * value + (*at - '0');
    }
    if (at == p->at || (*p->at == '0' && at - p->at > 1))
        return false;
    if (at < end && *at == '.') {
        const char *point = at++;
        for (; at < end && *at >= '0' && *at <= '9' && unit > 1; at++, unit /= 10)
            value = 10 * value + (*at - '0');
        if (at == point + 1)
            return false;
    }
    if (at == end || (*at >= '0' && *at <= '9') || *at == '.' || *at == 'e' || *at == 'E')
        return false;
    p->at = at;
    *ns = value * unit;
    return true;
}

/* A time in quotes, as some programs write those that a double does not hold. */
static bool parse_quoted_time(assay_pull *p, int64_t *ns)
{
    const char *text = NULL;
    size_t length = 0;
    int64_t inner = 0;
    assay_pull in = {0};
    if (!assay_pull_string(p, &text, &length))
        return false;
    assay_pull_start(&in, text, length);
    if (length > 0 && is_number(*text) && parse_time(&in, &inner) && in.at == in.end)
        *ns = inner;
    return true;
}

/* Decimal microseconds as whole nanoseconds: further digits are cut, so that times since 1970 lose nothing. Sets
 * ASSAY_NO_TIME for what is no number, or too large. */
static bool parse_time(assay_pull *p, int64_t *ns)
{
    enum { PLACES = 3 };
    static const double TIME_MOST = 4.7e15; /* 2^62 ns are less */
    const char first = assay_pull_peek(p);
    *ns = ASSAY_NO_TIME;
    if (first == '"')
        return parse_quoted_time(p, ns);
    if (!is_number(first))
        return assay_pull_skip(p);
    if (parse_plain_time(p, ns))
        return true;
    const char *from = p->at;
    double rough = 0;
    if (!assay_pull_number(p, &rough))
        return false;
    if (!(rough > -TIME_MOST && rough < TIME_MOST))
        return true;
    const bool negative = *from == '-';
    const char *at = from + negative;
    int64_t value = 0;
    size_t places = 0;
    for (; at < p->at && *at >= '0' && *at <= '9'; at++)
        value = value > INT64_MAX / 20000 ? value : 10 * value + (*at - '0');
    if (at < p->at && *at == '.')
        for (at++; at < p->at && *at >= '0' && *at <= '9'; at++)
            if (places < PLACES) {
                value = 10 * value + (*at - '0');
                places++;
            }
    if (at < p->at) { /* an exponent: nobody writes times so; the nearest double will do */
        *ns = (int64_t)(rough * 1000);
        return true;
    }
    for (; places < PLACES; places++)
        value *= 10;
    *ns = negative ? -value : value;
    return true;
}

/* A whole number; ASSAY_NO_TIME for anything else. */
static bool parse_whole(assay_pull *p, int64_t *value)
{
    bool fits = false;
    *value = ASSAY_NO_TIME;
    if (!is_number(assay_pull_peek(p)))
        return assay_pull_skip(p);
    if (assay_pull_digits(p, value))
        return true;
    int64_t number = 0;
    if (!assay_pull_integer(p, &number, &fits))
        return false;
    *value = fits ? number : ASSAY_NO_TIME;
    return true;
}

/* Whole numbers and texts are identifiers, of which none is another; the rest is none. */
static bool parse_id(assay_pull *p, uint64_t *id)
{
    const char c = assay_pull_peek(p);
    *id = 0;
    if (c == '"') {
        const char *text = NULL;
        size_t length = 0;
        if (!assay_pull_string(p, &text, &length))
            return false;
        *id = (assay_hash_bytes(text, length) | 1) << 1;
        return true;
    }
    int64_t number = ASSAY_NO_TIME;
    if (!parse_whole(p, &number))
        return false;
    *id = number == ASSAY_NO_TIME ? 0 : (uint64_t)number << 1 | 1;
    return true;
}

/* A text; a number counts as the text that it is written in, anything else as none. */
static bool parse_text(assay_pull *p, assay_text *text)
{
    const char c = assay_pull_peek(p);
    *text = (assay_text){0};
    if (c == '"')
        return assay_pull_string(p, &text->bytes, &text->length);
    const char *from = p->at;
    if (!assay_pull_skip(p))
        return false;
    if (is_number(c))
        *text = (assay_text){from, (size_t)(p->at - from)};
    return true;
}

static int compare_ranks(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

bool assay_trace_parse_ranks(const char *text, size_t length, assay_trace_ranks *ranks)
{
    const char *p = text, *end = text + length;
    bool sorted = true;
    ranks->count = 0;
    if (p == end || *p != '[')
        return false;
    for (p++; p < end && *p != ']';) {
        int64_t rank = 0;
        while (p < end && *p == ' ')
            p++;
        if (p == end || *p < '0' || *p > '9')
            return false;
        for (; p < end && *p >= '0' && *p <= '9'; p++)
            rank = rank > INT32_MAX ? rank : 10 * rank + (*p - '0');
        int32_t *to = rank < INT32_MAX && ranks->count < ASSAY_TRACE_RANKS_MOST ? ASSAY_VEC_ADD(ranks) : NULL;
        if (!to)
            return false;
        *to = (int32_t)rank;
        sorted = sorted && (ranks->count < 2 || to[-1] < to[0]);
        while (p < end && (*p == ' ' || *p == '\n'))
            p++;
        if (p < end && *p == ',')
            p++;
    }
    if (p == end || ranks->count == 0)
        return false;
    if (!sorted) {
        size_t kept = 0;
        qsort(ranks->list, ranks->count, sizeof *ranks->list, compare_ranks);
        for (size_t i = 0; i < ranks->count; i++)
            if (kept == 0 || ranks->list[kept - 1] != ranks->list[i])
                ranks->list[kept++] = ranks->list[i];
        ranks->count = kept;
    }
    return true;
}

/* A list of ranks as text, or as a list. */
static bool parse_ranks(assay_pull *p, assay_trace_event *e, assay_trace_ranks *ranks)
{
    assay_text text = {0};
    if (assay_pull_peek(p) == '[') {
        text.bytes = p->at;
        if (!assay_pull_skip(p))
            return false;
        text.length = (size_t)(p->at - text.bytes);
    } else if (!parse_text(p, &text)) {
        return false;
    }
    e->rank_count = text.bytes && assay_trace_parse_ranks(text.bytes, text.length, ranks) ? ranks->count : 0;
    return true;
}

static bool parse_rank(assay_pull *p, int32_t *rank)
{
    int64_t number = 0;
    const bool sound = parse_whole(p, &number);
    *rank = number >= 0 && number < INT32_MAX ? (int32_t)number : -1;
    return sound;
}

static bool parse_argument(assay_pull *p, assay_trace_event *e, assay_trace_ranks *ranks, assay_keys *keys)
{
    const char *text = NULL;
    size_t length = 0;
    assay_text id = {0};
    bool sound = false;
    if (!assay_pull_key(p, &text, &length))
        return false;
    switch (assay_keys_find_flipped(keys, text, length)) {
    case KEY_EXTERNAL:
    case KEY_EXTERNAL_OLD:
        return parse_id(p, &e->external);
    case KEY_CORRELATION:
        return parse_id(p, &e->correlation);
    case KEY_OPERATION:
        sound = parse_text(p, &e->operation);
        e->communicates = e->operation.bytes != NULL;
        return sound;
    case KEY_IN:
        return parse_whole(p, &e->in);
    case KEY_OUT:
        return parse_whole(p, &e->out);
    case KEY_SIZE:
        return parse_whole(p, &e->size);
    case KEY_DTYPE:
        return parse_text(p, &e->dtype);
    case KEY_GROUP:
        return parse_text(p, &e->group);
    case KEY_GROUP_ID:
        sound = parse_text(p, &id);
        e->group = e->group.bytes ? e->group : id;
        return sound;
    case KEY_DESCRIPTION:
        return parse_text(p, &e->group_description);
    case KEY_RANKS:
        return parse_ranks(p, e, ranks);
    case KEY_SEQUENCE:
        return parse_whole(p, &e->sequence);
    case KEY_SOURCE:
        return parse_rank(p, &e->source);
    case KEY_DESTINATION:
        return parse_rank(p, &e->destination);
    default:
        return assay_pull_skip(p);
    }
}

static bool parse_arguments(assay_pull *p, assay_trace_event *e, assay_trace_ranks *ranks, assay_keys *keys)
{
    if (assay_pull_peek(p) != '{')
        return assay_pull_skip(p);
    if (!assay_pull_open(p, '{', '}'))
        return p->fault == NULL;
    do {
        if (!parse_argument(p, e, ranks, keys))
            return false;
    } while (assay_pull_more(p, '}'));
    return p->fault == NULL;
}

static bool parse_member(assay_pull *p, assay_trace_event *e, assay_trace_ranks *ranks, event_account *keys,
                         bool *complete)
{
    const char *text = NULL;
    size_t length = 0;
    assay_text phase = {0};
    bool sound = false;
    if (!assay_pull_key(p, &text, &length))
        return false;
    switch (assay_keys_find_flipped(&keys->event, text, length)) {
    case KEY_PHASE:
        sound = parse_text(p, &phase);
        *complete = phase.length == 1 && phase.bytes[0] == 'X';
        return sound;
    case KEY_CATEGORY:
        return parse_text(p, &e->category);
    case KEY_NAME:
        return parse_text(p, &e->name);
    case KEY_PROCESS:
        return parse_id(p, &e->process);
    case KEY_THREAD:
        return parse_id(p, &e->thread);
    case KEY_TIME:
        return parse_time(p, &e->begin);
    case KEY_DURATION:
        return parse_time(p, &e->duration);
    case KEY_ARGUMENTS:
        return parse_arguments(p, e, ranks, &keys->arguments);
    default:
        return assay_pull_skip(p);
    }
}

/* The key that is damaged; NULL: none is, or none that is needed. Arguments of annotations are the program's own, and
 * most of the others belong to communication. */
static const char *damaged_key(const assay_trace_event *e, event_account *keys, bool complete)
{
    static const char annotation[] = "user_annotation";
    const size_t size = sizeof annotation - 1;
    const uint32_t everywhere = 1u << KEY_EXTERNAL | 1u << KEY_CORRELATION | 1u << KEY_OPERATION;
    const char *lost = assay_keys_damaged(&keys->event);
    if (!complete && !(keys->event.near & ~keys->event.seen & 1u << KEY_PHASE))
        return NULL;
    if (lost ||
        (e->category.length >= size && memcmp(e->category.bytes + e->category.length - size, annotation, size) == 0))
        return lost;
    if (keys->arguments.seen & 1u << KEY_EXTERNAL_OLD)
        keys->arguments.seen |= 1u << KEY_EXTERNAL;
    keys->arguments.seen |= 1u << KEY_EXTERNAL_OLD;
    keys->arguments.near &= e->communicates ? UINT32_MAX : everywhere;
    return assay_keys_damaged(&keys->arguments);
}

bool assay_trace_parse_event(assay_pull *p, assay_key_memory *memory, assay_trace_event *e, assay_trace_ranks *ranks,
                             bool *complete, const char **damaged)
{
    event_account keys = {.event = {.known = event_keys, .memory = memory},
                          .arguments = {.known = argument_keys, .memory = memory}};
    *e = (assay_trace_event){.begin = ASSAY_NO_TIME,
                             .duration = ASSAY_NO_TIME,
                             .in = ASSAY_NO_TIME,
                             .out = ASSAY_NO_TIME,
                             .size = ASSAY_NO_TIME,
                             .sequence = ASSAY_NO_TIME,
                             .source = -1,
                             .destination = -1};
    *complete = false;
    *damaged = NULL;
    if (!assay_pull_open(p, '{', '}'))
        return p->fault == NULL;
    do {
        if (!parse_member(p, e, ranks, &keys, complete))
            return false;
    } while (assay_pull_more(p, '}'));
    e->ranks = ranks->list;
    if (keys.event.near | keys.arguments.near)
        *damaged = damaged_key(e, &keys, *complete);
    return p->fault == NULL;
}
