/* traces.c - the format's table, and how a file is read.
 *
 * A window of the file is in memory. An event lies in it whole as a rule, and is scanned once where it lies; only one
 * that begins at the window's end is scanned again when more was read. */
#include "format/traces/traces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/keys.h"
#include "base/path.h"

typedef struct reader {
    assay_trace_window window;
    assay_pull pull;
    const assay_event_sink *sink;
    assay_trace_head head;
    assay_trace_ranks ranks;
    assay_key_memory keys;
    const char *fault;   /* what is wrong with the JSON; NULL: nothing yet */
    const char *damaged; /* the first key that is damaged, a constant; NULL: none yet */
    uint64_t events;
    bool has_events; /* a list of events was met */
    int status;      /* ASSAY_ENOMEM, or what the sink returned */
} reader;

static bool fault(reader *r, const char *what)
{
    r->fault = r->fault ? r->fault : what;
    return false;
}

/* A needed key is damaged: what stands behind it is lost. */
static void note_keys(reader *r, const assay_keys *keys)
{
    r->damaged = r->damaged ? r->damaged : assay_keys_damaged(keys);
}

static bool stop(reader *r, int status)
{
    r->status = r->status == ASSAY_OK ? status : r->status;
    return r->status == ASSAY_OK;
}

/* ---- events ---- */

static bool hand_out(reader *r, const assay_trace_event *event, bool complete)
{
    r->events++;
    if (!complete && r->sink->other)
        r->sink->other(r->sink->context);
    if (complete && r->sink->trace_event)
        return stop(r, r->sink->trace_event(r->sink->context, event));
    return true;
}

static bool skip_value(reader *r)
{
    const char *what = NULL;
    return assay_trace_window_skip(&r->window, &what) || fault(r, what);
}

static bool pass_over_large(reader *r)
{
    const assay_trace_event none = {0};
    r->head.too_large++;
    return skip_value(r) && hand_out(r, &none, false);
}

/* One object of the list of events. */
static bool read_event(reader *r)
{
    enum { USUAL = 64 << 10 };
    assay_trace_window *w = &r->window;
    size_t wanted = USUAL;
    for (;;) {
        assay_trace_event event;
        bool complete = false;
        const char *damaged = NULL;
        assay_trace_window_fill(w, wanted);
        if (w->status == ASSAY_ENOMEM)
            return stop(r, w->status);
        const size_t there = w->size - w->at;
        assay_pull_start(&r->pull, w->text + w->at, there);
        if (assay_trace_parse_event(&r->pull, &r->keys, &event, &r->ranks, &complete, &damaged)) {
            const size_t size = (size_t)(r->pull.at - r->pull.from);
            if (size > ASSAY_TRACE_EVENT_MOST)
                return pass_over_large(r);
            w->at += size;
            r->damaged = r->damaged ? r->damaged : damaged;
            return hand_out(r, &event, complete);
        }
        if (r->pull.no_memory)
            return stop(r, ASSAY_ENOMEM);
        if (!w->ended && there < ASSAY_TRACE_EVENT_MOST) { /* it goes on behind the window */
            wanted = ASSAY_TRACE_EVENT_MOST;
            continue;
        }
        if (!w->ended && (size_t)(r->pull.fault_at - r->pull.from) >= ASSAY_TRACE_EVENT_MOST)
            return pass_over_large(r);
        return fault(r, r->pull.fault);
    }
}

/* Behind an item: true when another one follows, false behind the closing bracket or at a fault. Chrome's trace events
 * may have a comma behind the last one. */
static bool more_items(reader *r, char closing)
{
    char c = assay_trace_window_peek(&r->window);
    const bool comma = c == ',';
    if (comma) {
        r->window.at++;
        c = assay_trace_window_peek(&r->window);
    }
    r->window.at += c == closing;
    if (comma || c == closing)
        return c != closing;
    return fault(r, c == '\0' ? "the text ends too early" : "expected , or a closing bracket");
}

/* The list of events; of it only objects count. */
static bool read_events(reader *r)
{
    assay_trace_window *w = &r->window;
    if (assay_trace_window_peek(w) != '[')
        return skip_value(r);
    w->at++;
    r->has_events = true;
    if (assay_trace_window_peek(w) == ']') {
        w->at++;
        return true;
    }
    do {
        const bool sound = assay_trace_window_peek(w) == '{' ? read_event(r) : skip_value(r);
        if (!sound)
            return false;
    } while (more_items(r, ']'));
    return !r->fault;
}

/* ---- what stands beside them ---- */

typedef struct said_group {
    assay_text name;
    int64_t size;
    bool has_ranks; /* they are in reader.ranks */
} said_group;

enum { GROUP_NAME, GROUP_SIZE, GROUP_RANKS };
static const char *const group_keys[] = {"pg_name", "pg_size", "ranks", NULL};
enum { DISTRIBUTED_RANK, DISTRIBUTED_WORLD, DISTRIBUTED_GROUPS };
static const char *const distributed_keys[] = {"rank", "world_size", "pg_config", NULL};
enum { DOCUMENT_EVENTS, DOCUMENT_DISTRIBUTED, DOCUMENT_BASE };
static const char *const document_keys[] = {"traceEvents", "distributedInfo", "baseTimeNanoseconds", NULL};

static bool pull_text(assay_pull *p, assay_text *text)
{
    if (assay_pull_peek(p) == '"')
        return assay_pull_string(p, &text->bytes, &text->length);
    return assay_pull_skip(p);
}

static bool pull_whole(assay_pull *p, int64_t *value)
{
    bool fits = false;
    int64_t number = 0;
    const char c = assay_pull_peek(p);
    if (c != '-' && !(c >= '0' && c <= '9'))
        return assay_pull_skip(p);
    if (!assay_pull_integer(p, &number, &fits))
        return false;
    *value = fits ? number : *value;
    return true;
}

static bool pull_group_member(reader *r, said_group *g, assay_keys *keys)
{
    const char *text = NULL;
    size_t length = 0;
    assay_pull *p = &r->pull;
    if (!assay_pull_key(p, &text, &length))
        return false;
    switch (assay_keys_find_flipped(keys, text, length)) {
    case GROUP_NAME:
        return pull_text(p, &g->name);
    case GROUP_SIZE:
        return pull_whole(p, &g->size);
    case GROUP_RANKS:
        break;
    default:
        return assay_pull_skip(p);
    }
    assay_pull_peek(p);
    const char *from = p->at;
    if (!assay_pull_skip(p))
        return false;
    g->has_ranks = assay_trace_parse_ranks(from, (size_t)(p->at - from), &r->ranks);
    return true;
}

/* PyTorch leaves the list of ranks empty for a group of all. */
static bool fill_world(reader *r, const said_group *g, int64_t world)
{
    if (g->has_ranks || g->size <= 0 || g->size != world || g->size > ASSAY_TRACE_RANKS_MOST)
        return g->has_ranks;
    r->ranks.count = 0;
    for (int32_t rank = 0; rank < g->size; rank++) {
        int32_t *to = ASSAY_VEC_ADD(&r->ranks);
        if (!to)
            return stop(r, ASSAY_ENOMEM);
        *to = rank;
    }
    return true;
}

static bool pull_group(reader *r, int64_t world)
{
    said_group g = {.size = -1};
    assay_keys keys = {.known = group_keys};
    assay_pull *p = &r->pull;
    if (assay_pull_peek(p) != '{')
        return assay_pull_skip(p);
    if (assay_pull_open(p, '{', '}')) {
        do {
            if (!pull_group_member(r, &g, &keys))
                return false;
        } while (assay_pull_more(p, '}'));
    }
    note_keys(r, &keys);
    if (p->fault || !g.name.bytes || !fill_world(r, &g, world) || !r->sink->trace_group)
        return p->fault == NULL && r->status == ASSAY_OK;
    return stop(r, r->sink->trace_group(r->sink->context, g.name, r->ranks.list, r->ranks.count));
}

static bool pull_groups(reader *r, int64_t world)
{
    assay_pull *p = &r->pull;
    if (assay_pull_peek(p) != '[')
        return assay_pull_skip(p);
    if (assay_pull_open(p, '[', ']')) {
        do {
            if (!pull_group(r, world))
                return false;
        } while (assay_pull_more(p, ']'));
    }
    return p->fault == NULL;
}

/* Twice: the groups may stand before the number of ranks. */
static bool pull_distributed(reader *r, bool groups, int64_t *world)
{
    assay_pull *p = &r->pull;
    int64_t rank = -1;
    const char *text = NULL;
    size_t length = 0;
    assay_keys keys = {.known = distributed_keys};
    if (assay_pull_peek(p) != '{')
        return assay_pull_skip(p);
    if (!assay_pull_open(p, '{', '}'))
        return p->fault == NULL;
    do {
        bool sound = assay_pull_key(p, &text, &length);
        const int key = sound ? assay_keys_find_flipped(&keys, text, length) : -1;
        if (key == DISTRIBUTED_RANK)
            sound = pull_whole(p, &rank);
        else if (key == DISTRIBUTED_WORLD)
            sound = pull_whole(p, world);
        else if (key == DISTRIBUTED_GROUPS && groups)
            sound = pull_groups(r, *world);
        else if (sound)
            sound = assay_pull_skip(p);
        if (!sound)
            return false;
    } while (assay_pull_more(p, '}'));
    note_keys(r, &keys);
    r->head.rank = rank >= 0 && rank < INT32_MAX ? (int32_t)rank : -1;
    return p->fault == NULL;
}

/* distributedInfo. One that no file has is passed over. */
static bool read_distributed(reader *r)
{
    assay_trace_window *w = &r->window;
    int64_t world = -1;
    size_t wanted = ASSAY_TRACE_EVENT_MOST;
    for (;; wanted *= 4) {
        assay_trace_window_fill(w, wanted);
        if (w->status == ASSAY_ENOMEM)
            return stop(r, w->status);
        assay_pull_start(&r->pull, w->text + w->at, w->size - w->at);
        if (assay_pull_skip(&r->pull))
            break;
        if (w->ended || wanted >= ASSAY_TRACE_HEAD_MOST)
            return skip_value(r);
    }
    const size_t size = (size_t)(r->pull.at - r->pull.from);
    for (int pass = 0; pass < 2; pass++) {
        assay_pull_start(&r->pull, w->text + w->at, size);
        if (!pull_distributed(r, pass == 1, &world))
            return r->status == ASSAY_OK && fault(r, r->pull.fault);
    }
    w->at += size;
    return true;
}

static bool read_base(reader *r)
{
    enum { NUMBER_MOST = 4096 };
    assay_trace_window *w = &r->window;
    int64_t base = 0;
    assay_trace_window_fill(w, NUMBER_MOST);
    assay_pull_start(&r->pull, w->text + w->at, w->size - w->at);
    if (!pull_whole(&r->pull, &base))
        return fault(r, r->pull.fault);
    w->at += (size_t)(r->pull.at - r->pull.from);
    r->head.base = base > 0 && base < (int64_t)1 << 62 ? base : 0;
    return true;
}

static bool read_member(reader *r, assay_keys *keys)
{
    enum { KEY_MOST = 64 << 10 };
    assay_trace_window *w = &r->window;
    const char *text = NULL;
    size_t length = 0;
    assay_trace_window_peek(w);
    assay_trace_window_fill(w, KEY_MOST);
    assay_pull_start(&r->pull, w->text + w->at, w->size - w->at);
    if (!assay_pull_key(&r->pull, &text, &length))
        return fault(r, r->pull.fault);
    w->at += (size_t)(r->pull.at - r->pull.from);
    switch (assay_keys_find_flipped(keys, text, length)) {
    case DOCUMENT_EVENTS:
        return read_events(r);
    case DOCUMENT_DISTRIBUTED:
        return assay_trace_window_peek(w) && read_distributed(r);
    case DOCUMENT_BASE:
        return assay_trace_window_peek(w) && read_base(r);
    default:
        return skip_value(r);
    }
}

/* The document: an object with the events in it, or the list of events alone. */
static bool read_document(reader *r)
{
    assay_trace_window *w = &r->window;
    assay_keys keys = {.known = document_keys};
    assay_trace_window_fill(w, 3);
    if (w->size >= 3 && memcmp(w->text, "\xef\xbb\xbf", 3) == 0)
        w->at += 3;
    const char c = assay_trace_window_peek(w);
    if (c == '[')
        return read_events(r);
    if (c != '{')
        return fault(r, c == '\0' ? "the text ends too early" : "expected { or [");
    w->at++;
    if (assay_trace_window_peek(w) == '}') {
        w->at++;
        return true;
    }
    do {
        if (!read_member(r, &keys))
            return false;
    } while (more_items(r, '}'));
    note_keys(r, &keys);
    return !r->fault;
}

static int tell(reader *r, const char *what)
{
    return r->sink->problem(r->sink->context, ASSAY_EVENT_UNREADABLE, 0, what);
}

/* What is wrong with the file as a whole. */
static int tell_problem(reader *r)
{
    char text[512];
    assay_trace_window *w = &r->window;
    if (r->status == ASSAY_OK && !r->fault) {
        if (assay_trace_window_peek(w) != '\0' || (w->status == ASSAY_OK && w->at < w->size))
            r->fault = "more text behind the end of the document";
        else /* damage behind the last member is found by reading on */
            while (w->status == ASSAY_OK && !w->ended)
                assay_trace_window_fill(w, 1);
    }
    if (r->status != ASSAY_OK)
        return r->status;
    if (w->status == ASSAY_ENOMEM)
        return w->status;
    if (w->status != ASSAY_OK)
        return tell(r, w->why.text);
    if (!r->fault && !r->damaged)
        return ASSAY_OK;
    if (!r->fault)
        snprintf(text, sizeof text, "a key \"%s\" is damaged: another stands in its place", r->damaged);
    else
        snprintf(text, sizeof text, "JSON is cut or damaged after %llu event%s: %s", (unsigned long long)r->events,
                 assay_plural(r->events), r->fault);
    return tell(r, text);
}

static int read_file(assay_store *store, const assay_event_file *file, const assay_event_sink *sink, uint64_t *bytes,
                     assay_error *err)
{
    reader r = {.sink = sink, .head = {.rank = -1}, .pull = {.loose = true}};
    assay_error why = {{0}};
    int status = assay_trace_window_open(&r.window, store, file->path, &why);
    if (status == ASSAY_ENOMEM) {
        assay_trace_window_release(&r.window);
        return assay_fail(err, status, "%s", why.text);
    }
    if (status != ASSAY_OK) {
        status = sink->problem(sink->context, ASSAY_EVENT_UNREADABLE, 0, why.text);
        assay_trace_window_release(&r.window);
        return status;
    }
    read_document(&r);
    status = tell_problem(&r);
    if (status == ASSAY_OK && sink->trace_head)
        status = sink->trace_head(sink->context, &r.head);
    *bytes += assay_unpacked_bytes_read(r.window.bytes);
    assay_trace_window_release(&r.window);
    assay_pull_release(&r.pull);
    free(r.ranks.list);
    if (status == ASSAY_ENOMEM)
        assay_fail(err, status, "%s: out of memory while it is read", file->path);
    return status;
}

/* ---- the files of a trial ---- */

/* Is it called like a trace? `sure`: by a name that nothing else has. */
static bool is_trace_name(const char *name, bool *sure)
{
    static const char *const words[] = {"trace", "kineto", "rank", "profile"};
    bool is_trace = assay_path_ends(name, ".json.gz");
    *sure = assay_path_ends(name, ".pt.trace.json") || assay_path_ends(name, ".pt.trace.json.gz");
    if (*sure || !(is_trace || assay_path_ends(name, ".json")))
        return *sure;
    if (strncmp(name, "nccl_trace_rank_", strlen("nccl_trace_rank_")) == 0)
        return false; /* a flight recorder's dump */
    for (size_t i = 0; i < sizeof words / sizeof *words && !is_trace; i++)
        is_trace = strcasestr(name, words[i]) != NULL;
    return is_trace;
}

static bool probe(const assay_names *top)
{
    bool sure = false;
    for (size_t i = 0; i < top->count; i++)
        if (is_trace_name(top->name[i], &sure) || (top->count == 1 && assay_path_ends(top->name[i], ".json")))
            return true;
    return false;
}

static bool has_word(const char *text, size_t size)
{
    static const char *const words[] = {"\"traceEvents\"", "\"ph\"", "\"deviceProperties\""};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (size > 0 && memmem(text, size, words[i], strlen(words[i])))
            return true;
    return false;
}

/* Does the beginning of a file whose name alone does not tell look like a trace? 1, 0, or ASSAY_ENOMEM. */
static int looks_like_trace(assay_store *store, const char *path)
{
    enum { LOOK = 256 << 10 };
    assay_unpacked *bytes = NULL;
    size_t size = 0, got = 1;
    assay_error why = {{0}};
    char *text = assay_alloc(LOOK);
    int status = text ? assay_unpacked_open(store, path, &bytes, &why) : ASSAY_ENOMEM;
    if (status != ASSAY_OK && status != ASSAY_ENOMEM)
        assay_store_note(store, path, why.text);
    while (status == ASSAY_OK && size < LOOK && got > 0) {
        status = assay_unpacked_read(bytes, text + size, LOOK - size, &got, NULL);
        size += got;
    }
    const bool found = has_word(text, size);
    assay_unpacked_close(bytes);
    free(text);
    return status == ASSAY_ENOMEM ? status : found;
}

static int list(assay_event_lister *l)
{
    int status = ASSAY_OK;
    assay_problems_name_aside(l->problems, -1, l->top, "", ".trace.json");
    assay_problems_name_aside(l->problems, -1, l->top, "", ".trace.json.gz");
    for (size_t i = 0; i < l->top->count && status == ASSAY_OK; i++) {
        bool sure = false;
        char *name = l->top->name[i];
        if (!is_trace_name(name, &sure) && !(l->top->count == 1 && assay_path_ends(name, ".json")))
            continue;
        int is_trace = assay_store_exists(l->store, name, NULL);
        if (is_trace == 0 && strstr(name, ".trace.json"))
            assay_problems_name_directory(l->problems, l->store, name);
        if (is_trace == 1 && !sure && (l->top->count > 1 || !assay_path_ends(name, ".gz")))
            is_trace = looks_like_trace(l->store, name);
        if (is_trace == ASSAY_ENOMEM)
            status = is_trace;
        else if (is_trace == 1) /* what cannot be looked at is noted */
            status = assay_event_lister_add(
                l, &(assay_event_file){.path = name, .source = name, .kind = ASSAY_EVENTS_TRACE});
    }
    return status;
}

static bool is_named(const char *name)
{
    return assay_path_ends(name, ".json.gz") || assay_path_ends(name, ".trace.json");
}

/* JSON, with a key in its first bytes that traces have. */
static bool begins(const uint8_t *head, size_t have, uint64_t size)
{
    static const char *const words[] = {"\"traceEvents\"",         "\"deviceProperties\"", "\"distributedInfo\"",
                                        "\"baseTimeNanoseconds\"", "\"displayTimeUnit\"",  "\"ph\""};
    const char *text = (const char *)head, first = text[strspn(text, " \t\r\n\xef\xbb\xbf")];
    (void)size;
    for (size_t i = 0; i < sizeof words / sizeof *words && (first == '{' || first == '['); i++)
        if (memmem(head, have, words[i], strlen(words[i])))
            return true;
    return false;
}

static int places(assay_store *store, assay_event_place_visit *visit, void *context)
{
    (void)store;
    return visit(context, "");
}

const assay_event_format assay_event_format_traces = {
    .name = "traces",
    .what = "traces of torch.profiler (*.pt.trace.json)",
    .by_files = true,
    .lone = {ASSAY_LONE_TRACE, is_named, begins, NULL},
    .probe = probe,
    .list = list,
    .places = places,
    .read = read_file,
};
