/* flight.c - the format's table: which files are dumps, and what a dump comes to.
 *
 * Recorders write under any name that ends in the rank. A directory is a trial of dumps where one of its first such
 * files begins as a dump; then all files in it are looked at, by their content. */
#include "format/flight/flight.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "trial/catalog.h"
#include "trial/event_format.h"

enum { LOOK = 64, LOOKED_AT = 64 };

/* ---- names ---- */

/* The length of a name without the endings of files. */
static size_t stem_of(const char *name)
{
    static const char *const ends[] = {".json", ".pkl", ".pickle", ".pt", ".bin", ".txt"};
    size_t length = strlen(name);
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < sizeof ends / sizeof *ends && !again; i++)
            if (length > strlen(ends[i]) && assay_path_ends_n(name, length, ends[i])) {
                length -= strlen(ends[i]);
                again = true;
            }
    }
    return length;
}

static size_t digits_of(const char *name)
{
    size_t length = stem_of(name), digits = 0;
    while (digits < length && assay_is_digit(name[length - 1 - digits]))
        digits++;
    return digits;
}

/* The rank that a file's name ends in; -1: none, or it is called as a checkpoint's file is. */
static int64_t rank_of(const char *name)
{
    enum { DIGITS_MOST = 9 };
    const size_t end = stem_of(name), digits = digits_of(name);
    int64_t rank = 0;
    if (digits == 0 || digits > DIGITS_MOST || assay_lone_is_named(name, ASSAY_LONE_TENSORS))
        return -1;
    for (size_t i = end - digits; i < end; i++)
        rank = 10 * rank + (name[i] - '0');
    return rank;
}

/* ---- the list ---- */

static bool probe(const assay_names *top)
{
    for (size_t i = 0; i < top->count; i++)
        if (rank_of(top->name[i]) >= 0)
            return true;
    return false;
}

/* A dictionary whose first key a dump has; opcodes and the key's length stand before it. */
static bool begins_as_pickle(const uint8_t *head, size_t size)
{
    enum { PROTO = 0x80, FRAME = 0x95, FRAME_SIZE = 9, BETWEEN = 16 };
    static const char *const keys[] = {"entries",      "pg_config",       "pg_status", "comm_lib_version",
                                       "nccl_version", "nccl_comm_state", "version"};
    size_t at = 2;
    if (size < 3 || head[0] != PROTO || head[1] < 2 || head[1] > 5)
        return false;
    at += head[at] == FRAME ? FRAME_SIZE : 0;
    for (size_t i = at + 1; at < size && head[at] == '}' && i < at + BETWEEN; i++)
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            if (i + strlen(keys[k]) <= size && memcmp(head + i, keys[k], strlen(keys[k])) == 0)
                return true;
    return false;
}

static bool begins_as_json(const uint8_t *head, size_t size)
{
    static const char *const keys[] = {"entries\"",      "pg_config\"",       "pg_status\"",     "comm_lib_version\"",
                                       "nccl_version\"", "nccl_comm_state\"", "version\": \"2.", "version\":\"2."};
    const char *p = (const char *)head, *end = p + size;
    while (p < end && *p != '"')
        p++;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && p < end; i++)
        if ((size_t)(end - p - 1) >= strlen(keys[i]) && memcmp(p + 1, keys[i], strlen(keys[i])) == 0)
            return true;
    return false;
}

static bool begins_as_dump(assay_store *store, const char *path)
{
    uint8_t head[LOOK];
    size_t got = 0;
    assay_store_file *file = NULL;
    assay_error why = {{0}};
    if (assay_store_open_file(store, path, &file, &why) != ASSAY_OK)
        return false;
    const int status = assay_store_read_at(file, 0, head, sizeof head, &got, &why);
    assay_store_close_file(file);
    const assay_flight_kind kind = status == ASSAY_OK ? assay_flight_kind_of(head, got) : ASSAY_FLIGHT_NEITHER;
    return kind == ASSAY_FLIGHT_PICKLE ? begins_as_pickle(head, got)
                                       : kind == ASSAY_FLIGHT_JSON && begins_as_json(head, got);
}

/* Is one name the other but for its rank? */
static bool is_of_series(const char *name, const char *other)
{
    const size_t before = stem_of(name) - digits_of(name), behind = stem_of(other);
    return before == behind - digits_of(other) && strncmp(name, other, before) == 0 &&
           strcmp(name + stem_of(name), other + behind) == 0;
}

/* Runs are called run_1, run_2, ... as well, and each of thousands in a directory would look at all of them. */
static bool has_candidate(assay_store *store, const assay_names *top)
{
    assay_error why;
    for (size_t i = 0; i < top->count; i++)
        if (rank_of(top->name[i]) >= 0 && assay_store_exists(store, top->name[i], &why) != 0)
            return true;
    return false;
}

static int list(assay_event_lister *l)
{
    const char *dump = NULL;
    int looked = 0, status = ASSAY_OK;
    if (!assay_store_ask_files(l->store, ASSAY_ASKS_DUMPS, has_candidate))
        return ASSAY_OK;
    for (size_t i = 0; i < l->top->count && !dump && looked < LOOKED_AT; i++) {
        const char *name = l->top->name[i];
        if (rank_of(name) < 0 || assay_store_exists(l->store, name, NULL) != 1)
            continue;
        dump = begins_as_dump(l->store, name) ? name : NULL;
        looked++;
    }
    for (size_t i = 0; i < l->top->count && dump && status == ASSAY_OK; i++) {
        const int file = assay_store_exists(l->store, l->top->name[i], NULL);
        if (file == 1)
            status = assay_event_lister_add(
                l, &(assay_event_file){.path = l->top->name[i], .source = l->top->name[i], .kind = ASSAY_EVENTS_DUMP});
        else if (file == ASSAY_ENOMEM)
            status = file;
        else if (file == 0 && is_of_series(l->top->name[i], dump))
            assay_problems_name_directory(l->problems, l->store, l->top->name[i]);
    }
    return status;
}

static int places(assay_store *store, assay_event_place_visit *visit, void *context)
{
    (void)store;
    return visit(context, "");
}

/* ---- a file ---- */

static bool has_member(const assay_flight_group *g, int64_t rank)
{
    bool has = g->runs == 0; /* all ranks, or they are not said */
    for (uint32_t i = 0; i < g->runs && !has; i++) {
        const assay_flight_run *run = &g->run[i];
        const int64_t behind = rank - (int64_t)run->first;
        has = behind >= 0 && behind % run->stride == 0 && behind / run->stride < (int64_t)run->count;
    }
    return has;
}

/* A rank has groups of its own: one that it is no member of is of the dump of another rank. 0 or that of the sink. */
static int name_stranger(const assay_event_sink *sink, const assay_flight_row *row)
{
    for (uint32_t i = 0; i < row->groups; i++) {
        const assay_flight_group *g = &row->group[i];
        char text[512];
        if (has_member(g, row->rank))
            continue;
        snprintf(text, sizeof text,
                 "its group %.200s begins with rank %" PRIu32 " and does not have rank %" PRIu32
                 ", which the file's name says: it may lie in the place of another rank's",
                 g->description && *g->description ? g->description : g->name, g->run[0].first, row->rank);
        return sink->problem(sink->context, ASSAY_EVENT_DAMAGED_LINE, 0, text);
    }
    return ASSAY_OK;
}

static int take_row(const assay_event_sink *sink, const assay_flight_dump *d, int64_t rank)
{
    assay_flight_row row = {0};
    char text[128];
    int status = assay_flight_fold(d, &row);
    const uint64_t unread = row.unread;
    row.rank = (uint32_t)rank;
    if (status == ASSAY_OK && unread > 0) {
        snprintf(text, sizeof text, "%llu entr%s could not be read; the others are used", (unsigned long long)unread,
                 unread == 1 ? "y" : "ies");
        status = sink->problem(sink->context, ASSAY_EVENT_DAMAGED_LINE, 0, text);
    }
    ASSAY_THEN(status, name_stranger(sink, &row));
    ASSAY_THEN(status, sink->row(sink->context, &row));
    assay_fields_release(assay_flight_row_fields, &row);
    return status;
}

static int read_file(assay_store *store, const assay_event_file *file, const assay_event_sink *sink, uint64_t *bytes,
                     assay_error *err)
{
    const int64_t rank = rank_of(file->path);
    assay_flight_dump d;
    assay_error why = {{0}};
    int status = assay_flight_dump_init(&d);
    ASSAY_THEN(status, assay_flight_read(store, file->path, &d, bytes, &why));
    if (status == ASSAY_ENOMEM) {
        assay_fail(err, status, "%s: out of memory while it is read", file->path);
    } else if (status != ASSAY_OK && digits_of(file->path) == 0 && !begins_as_dump(store, file->path)) {
        sink->other(sink->context);
        status = ASSAY_OK;
    } else if (status != ASSAY_OK) {
        char text[ASSAY_ERROR_TEXT + 64];
        snprintf(text, sizeof text, "%s; it counts as no dump of its rank", why.text);
        status = sink->problem(sink->context, ASSAY_EVENT_UNREADABLE, 0, text);
    } else if (rank < 0) {
        status = sink->problem(sink->context, ASSAY_EVENT_UNREADABLE, 0,
                               "it is a dump, and its name does not end in a rank of 1 to 9 digits");
    } else {
        status = take_row(sink, &d, rank);
    }
    assay_flight_dump_release(&d);
    return status;
}

/* A map, in JSON or in a pickle behind its protocol and perhaps a frame, with a key in its first bytes that dumps have. */
static bool begins(const uint8_t *head, size_t have, uint64_t size)
{
    enum { PROTO = 0x80, FRAME = 0x95, FRAME_SIZE = 9 };
    static const char *const words[] = {"pg_config",    "pg_status",        "nccl_comm_state",
                                        "nccl_version", "comm_lib_version", "collective_seq_id"};
    const size_t at = 2 + (have > 2 && head[2] == FRAME ? FRAME_SIZE : 0);
    const bool pickled = have > at && head[0] == PROTO && head[at] == '}';
    const char *text = (const char *)head;
    (void)size;
    for (size_t i = 0;
         i < sizeof words / sizeof *words && (pickled || text[strspn(text, " \t\r\n\xef\xbb\xbf")] == '{'); i++)
        if (memmem(head, have, words[i], strlen(words[i])))
            return true;
    return false;
}

const assay_event_format assay_event_format_flight = {
    .name = "flight",
    .what = "dumps of flight recorders (files that end in the rank)",
    .by_files = true,
    .lone = {ASSAY_LONE_DUMP, NULL, begins, NULL},
    .probe = probe,
    .list = list,
    .places = places,
    .read = read_file,
};
