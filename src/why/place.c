/* place.c - where in a log of metrics it stands what was so at a step: a line, a row, or a record. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/path.h"
#include "container/csv.h"
#include "container/leveldb.h"
#include "container/lines.h"
#include "container/stream.h"
#include "tfrecord/wire.h"
#include "why/internal.h"

enum { DEEPEST = 16, KEY_MOST = 256, ENTRY_MOST = 128 };

typedef struct wanted {
    int64_t step;
    const char *name; /* of the metric as its log has it, "loss"; "" */
} wanted;

typedef struct found {
    uint64_t line; /* from 1; 0: the file has none */
    char entry[ENTRY_MOST];
} found;

static bool is_step_name(const char *name, size_t length)
{
    static const char *const names[] = {"step", "_step", "global_step", "Step", "trainer/global_step", "iteration"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return true;
    return false;
}

static bool is_name(const wanted *w, const char *name, size_t length)
{
    return w->name[0] && strlen(w->name) == length && memcmp(w->name, name, length) == 0;
}

/* Is a text that number? "300", "300.0" */
static bool is_number(const char *text, size_t length, int64_t number)
{
    int64_t value = 0;
    size_t i = 0;
    for (; i < length && assay_is_digit(text[i]) && i < 16; i++)
        value = 10 * value + (text[i] - '0');
    const size_t digits = i;
    if (i < length && text[i] == '.')
        while (++i < length && text[i] == '0')
            continue;
    return digits > 0 && i == length && value == number;
}

/* ---- JSON: the object with that step; in it, the line of the metric's key ---- */

typedef struct object {
    uint64_t step_line, name_line; /* 0: it has no such key */
    uint64_t objects;              /* that it had */
} object;

typedef struct json_scan {
    const wanted *w;
    object open[DEEPEST];
    int depth;
    found first; /* an object with the step, but without the metric; its line is 0 where there was none */
    bool any, several;
} json_scan;

/* A key, whose value begins there. */
static void take_key(json_scan *s, const char *key, size_t length, const char *value, const char *end, uint64_t line)
{
    size_t size = 0;
    if (s->depth < 1 || s->depth > DEEPEST)
        return;
    object *o = &s->open[s->depth - 1];
    while (value < end && *value == ' ')
        value++;
    while (value + size < end && !strchr(",}] \t\r", value[size]))
        size++;
    if (is_step_name(key, length) && is_number(value, size, s->w->step))
        o->step_line = line;
    else if (is_name(s->w, key, length))
        o->name_line = line;
}

/* An object ends. True: it is the one. */
static bool take_object(json_scan *s, found *out)
{
    const object *o = s->depth > 0 && s->depth <= DEEPEST ? &s->open[s->depth - 1] : NULL;
    const uint64_t number = s->depth > 1 && s->depth <= DEEPEST + 1 ? ++s->open[s->depth - 2].objects : 0;
    s->depth -= s->depth > 0;
    if (!o || o->step_line == 0)
        return false;
    const bool whole = o->name_line > 0;
    if (whole || !s->any) {
        out->line = whole ? o->name_line : o->step_line;
        if (number > 0)
            snprintf(out->entry, sizeof out->entry, "entry %llu", (unsigned long long)number);
        s->any = true;
    }
    return whole;
}

/* Goes through a line. True: the object was found. */
static bool scan_json(json_scan *s, const char *line, size_t length, uint64_t number, found *out)
{
    const char *const end = line + length;
    for (const char *at = line; at < end; at++) {
        if (*at == '{') {
            if (s->depth < DEEPEST)
                s->open[s->depth] = (object){0};
            s->depth += s->depth < INT_MAX;
        } else if (*at == '}') {
            if (take_object(s, out))
                return true;
        } else if (*at == '"') {
            const char *const key = ++at;
            while (at < end && *at != '"')
                at += *at == '\\' && at + 1 < end ? 2 : 1;
            const char *colon = at + 1;
            while (colon < end && *colon == ' ')
                colon++;
            if (at < end && colon < end && *colon == ':')
                take_key(s, key, (size_t)(at - key), colon + 1, end, number);
        }
    }
    return false;
}

static bool find_in_json(assay_store *store, const char *path, const wanted *w, found *out)
{
    assay_lines *lines = NULL;
    json_scan scan = {.w = w};
    const char *line;
    size_t length;
    bool whole = false;
    if (assay_lines_open(store, path, &lines, NULL) != ASSAY_OK)
        return false;
    while (!whole && assay_lines_next(lines, &line, &length, NULL) == 1)
        whole = line && scan_json(&scan, line, length, assay_lines_number(lines), out);
    assay_lines_close(lines);
    return scan.any;
}

/* ---- CSV: the row with that step in which the metric has a value ---- */

static bool find_in_csv(assay_store *store, const char *path, const wanted *w, found *out)
{
    assay_csv csv = {0};
    size_t step = SIZE_MAX, name = SIZE_MAX;
    bool any = false, whole = false;
    if (assay_csv_open(store, path, &csv, NULL) != ASSAY_OK)
        return false;
    if (assay_csv_next(&csv, NULL) == 1)
        for (size_t i = 0; i < csv.count; i++) {
            step = step == SIZE_MAX && is_step_name(assay_csv_text(&csv, i), csv.cells[i].length) ? i : step;
            name = name == SIZE_MAX && is_name(w, assay_csv_text(&csv, i), csv.cells[i].length) ? i : name;
        }
    for (uint64_t row = 2; !whole && step != SIZE_MAX && assay_csv_next(&csv, NULL) == 1; row++) {
        if (step >= csv.count || !is_number(assay_csv_text(&csv, step), csv.cells[step].length, w->step))
            continue;
        whole = name == SIZE_MAX || (name < csv.count && csv.cells[name].length > 0);
        if (whole || !any)
            out->line = row;
        any = true;
    }
    assay_csv_close(&csv);
    return any;
}

/* ---- records ---- */

static bool has_text(const uint8_t *bytes, size_t size, const char *text)
{
    const size_t length = strlen(text);
    for (const uint8_t *at = bytes; length > 0 && (at = memchr(at, text[0], (size_t)(bytes + size - at))); at++)
        if ((size_t)(bytes + size - at) >= length && memcmp(at, text, length) == 0)
            return true;
    return false;
}

/* Is an event of TensorBoard of that step: its field 2? */
static bool is_event_of(const uint8_t *event, size_t size, int64_t step)
{
    size_t at = 0;
    while (at < size) {
        uint64_t key, value = 0;
        size_t used = assay_varint(event + at, size - at, &key);
        if (used == 0)
            return false;
        at += used;
        used = key % 8 == 1 ? 8 : key % 8 == 5 ? 4 : assay_varint(event + at, size - at, &value);
        if (used == 0 || used > size - at)
            return false;
        if (key == (2 << 3 | 0))
            return value == (uint64_t)step;
        at += used;
        if (key % 8 == 2) {
            if (value > size - at)
                return false;
            at += value;
        }
    }
    return step == 0;
}

static bool find_in_events(assay_store *store, const char *path, const wanted *w, found *out)
{
    enum { HEAD = 12, FOOT = 4, EVENT_MOST = 1 << 16 };
    assay_stream stream;
    bool any = false, whole = false;
    uint64_t number = 0;
    if (assay_stream_open(store, path, &stream, NULL) != ASSAY_OK)
        return false;
    for (uint64_t at = 0; !whole;) {
        const uint8_t *bytes = NULL;
        size_t have = 0;
        uint64_t size = 0;
        if (assay_stream_look(&stream, at, HEAD, &bytes, &have, NULL) != ASSAY_OK || have < HEAD)
            break;
        for (int i = 7; i >= 0; i--)
            size = size << 8 | bytes[i];
        const size_t part = size < EVENT_MOST ? (size_t)size : EVENT_MOST;
        if (size > stream.size || assay_stream_look(&stream, at + HEAD, part, &bytes, &have, NULL) != ASSAY_OK ||
            have < part)
            break;
        number++;
        if (is_event_of(bytes, part, w->step)) {
            whole = !w->name[0] || has_text(bytes, part, w->name);
            if (whole || !any)
                snprintf(out->entry, sizeof out->entry, "record %llu", (unsigned long long)number);
            any = true;
        }
        at += HEAD + size + FOOT;
    }
    assay_stream_close(&stream);
    return any && (whole || w->step > 0);
}

/* A row of Weights & Biases: the value of a key, a text, is its item's field 16. Does a step have that number: "_step",
 * "train/global_step"? */
static bool is_row_of(const uint8_t *record, size_t size, int64_t step)
{
    char item[32];
    const size_t length = (size_t)snprintf(item + 7, sizeof item - 7, "%lld", (long long)step);
    memcpy(item, "step\x82\x01", 6);
    item[6] = (char)length;
    for (size_t at = 0; at + 7 + length <= size; at++)
        if (memcmp(record + at, item, 7 + length) == 0)
            return true;
    return false;
}

static bool find_in_wandb(assay_store *store, const char *path, const wanted *w, found *out)
{
    assay_leveldb log = {.next = ASSAY_LEVELDB_HEAD};
    assay_leveldb_kind kind = ASSAY_LEVELDB_RECORD;
    bool any = false, whole = false;
    if (assay_leveldb_open(store, path, &log, NULL) != ASSAY_OK)
        return false;
    for (uint64_t number = 1; !whole && assay_leveldb_next(&log, &kind, NULL) == ASSAY_OK; number++) {
        if (kind == ASSAY_LEVELDB_END || kind == ASSAY_LEVELDB_UNFINISHED)
            break;
        if (kind != ASSAY_LEVELDB_RECORD || !is_row_of(log.record, log.size, w->step))
            continue;
        whole = !w->name[0] || has_text(log.record, log.size, w->name);
        if (whole || !any)
            snprintf(out->entry, sizeof out->entry, "record %llu", (unsigned long long)number);
        any = true;
    }
    assay_leveldb_close(&log);
    return any;
}

/* ---- files of a place ---- */

static bool find_in(assay_store *store, const char *path, const wanted *w, found *out)
{
    *out = (found){0};
    if (assay_path_ends(path, ".json"))
        return find_in_json(store, path, w, out);
    if (assay_path_ends(path, ".csv"))
        return find_in_csv(store, path, w, out);
    if (strstr(path, "tfevents"))
        return find_in_events(store, path, w, out);
    if (assay_path_ends(path, ".wandb"))
        return find_in_wandb(store, path, w, out);
    if (assay_path_ends(path, ".db"))
        snprintf(out->entry, sizeof out->entry, "metrics, %s%sstep %lld", w->name, w->name[0] ? ", " : "",
                 (long long)w->step);
    return assay_path_ends(path, ".db");
}

/* Another file of the same log, below a directory: files of events follow one another, and each checkpoint has a log of its own;
 * owned. NULL: it is none. */
static char *path_of_log(const char *directory, const char *name, const char *first)
{
    const bool is = (strstr(first, "tfevents") && strstr(name, "tfevents")) ||
                    (assay_path_ends(first, ".wandb") && assay_path_ends(name, ".wandb"));
    const char *slash = strchr(first, '/');
    const size_t word = strcspn(first, "0123456789/");
    char *path = is || (slash && strncmp(name, first, word) == 0) ? assay_path_join(directory, name) : NULL;
    char *inner = path && !is ? assay_path_join(path, slash + 1) : NULL;
    if (inner)
        free(path);
    return inner ? inner : path;
}

int why_find_step(assay_store *store, const why_place *place, int64_t step, const char *tensor, why_note *note)
{
    static const char prefix[] = "metrics/";
    const size_t skipped = strncmp(tensor, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1 : 0;
    const wanted w = {step, tensor + skipped};
    assay_names names = {0};
    found at = {0};
    bool any = step >= 0 && find_in(store, note->path, &w, &at);
    if (step >= 0 && !any && place->first && assay_store_list(store, place->path, &names, NULL) == ASSAY_OK)
        for (size_t i = 0; i < names.count && !any; i++) {
            char *path = path_of_log(place->path, names.name[i], place->first);
            any = path && find_in(store, path, &w, &at);
            if (any) {
                free(note->path);
                note->path = path;
                path = NULL;
            }
            free(path);
        }
    assay_names_release(&names);
    note->line = any ? at.line : 0;
    note->entry = any && at.entry[0] ? assay_copy_text(at.entry) : NULL;
    return any && at.entry[0] && !note->entry ? ASSAY_ENOMEM : ASSAY_OK;
}
