/* layout.c - lists a trial: collections/, index/ and its buckets, events/.
 *
 * 1. collections/: one small file a worker; equal ones are parsed once.
 * 2. index/: one directory read a bucket of 1000 steps; only names are looked at. A unit's place is its bucket.
 * 3. events/: names of step directories, against the steps that have an index file. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/path.h"
#include "base/search.h"
#include "format/smdebug/collections_json.h"
#include "format/smdebug/run_json.h"
#include "format/smdebug/smdebug.h"
#include "tfrecord/recorded.h"

enum { BUCKET_DIGITS = 9, STEP_DIGITS = 12, COLLECTIONS_MOST = 256 << 20, PATH_ROOM = 768 };

/* ---- layout names ---- */

/* The file names of a trial (docs/format.md), read strictly. */

/* The largest step whose bucket is a place (catalog.h). */
#define STEP_MOST ((int64_t)UINT32_MAX * ASSAY_RECORDED_BUCKET + (ASSAY_RECORDED_BUCKET - 1))

/* Reads a number that zeros fill up to `digits` digits, and returns how many it has; 0: it is none, or above the
 * largest. What follows is the caller's to look at. */
static unsigned read_digits(const char *name, unsigned digits, int64_t most, int64_t *out)
{
    int64_t value = 0;
    unsigned count = 0;
    for (; name[count] >= '0' && name[count] <= '9'; count++) {
        value = value * 10 + (name[count] - '0');
        if (value > most)
            return 0;
    }
    *out = value;
    return count == digits || (count > digits && name[0] != '0') ? count : 0;
}

/* A bucket, or with 12 digits a step, and nothing else. */
static bool assay_read_number_name(const char *name, unsigned digits, int64_t *out)
{
    int64_t value = 0;
    const unsigned count = read_digits(name, digits, digits < STEP_DIGITS ? UINT32_MAX : STEP_MOST, &value);
    if (count == 0 || name[count] != '\0')
        return false;
    *out = value;
    return true;
}

/* Takes `ending` off; what is left must not be empty. */
static bool cut_ending(const char *name, const char *ending, size_t *length)
{
    size_t size = strlen(name), tail = strlen(ending);
    if (size <= tail || memcmp(name + size - tail, ending, tail) != 0)
        return false;
    *length = size - tail;
    return true;
}

/* "<step, 12 digits or more>_<worker>.json": the step, and the worker inside `name`. */
static bool assay_read_index_name(const char *name, int64_t *step, const char **worker, size_t *length)
{
    int64_t number = 0;
    const unsigned count = read_digits(name, STEP_DIGITS, STEP_MOST, &number);
    if (count == 0 || name[count] != '_' || !cut_ending(name + count + 1, ".json", length))
        return false;
    *step = number;
    *worker = name + count + 1;
    return true;
}

/* "<worker>_collections.json": the worker inside `name`. */
static bool assay_read_collections_name(const char *name, const char **worker, size_t *length)
{
    *worker = name;
    return cut_ending(name, "_collections.json", length);
}

/* Hidden and temporary files, which a running writer leaves for a while: no cause for a remark. */
static bool assay_is_passing_name(const char *name)
{
    size_t length = 0;
    return name[0] == '.' || cut_ending(name, ".tmp", &length);
}

/* ---- layout ---- */

static const char COLLECTIONS[] = "collections";

static void foreign(const assay_lister *l, const char *directory, const char *name)
{
    char path[PATH_ROOM];
    if (assay_is_passing_name(name))
        return;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_NAME, -1, path, -1,
                       "%s: not a name that a trial has there; it is not looked at", path);
}

typedef int bucket_visitor(assay_lister *l, void *context, const char *directory, uint32_t bucket,
                           const assay_names *names);

/* Visits the numbered directories below `top`. */
static int visit_buckets(assay_lister *l, const char *top, bucket_visitor *visit, void *context)
{
    enum { AHEAD = 16 }; /* buckets that are listed at once, where listing waits for a server */
    assay_names buckets = {0};
    size_t asked = 0;
    int status = assay_lister_names(l, top, &buckets);
    if (status != 0)
        return status < 0 ? status : ASSAY_OK;
    for (size_t i = 0; i < buckets.count && status == ASSAY_OK; i++) {
        char directory[64];
        int64_t bucket = 0;
        for (; asked < buckets.count && asked < i + AHEAD; asked++) {
            snprintf(directory, sizeof directory, "%s/%.40s", top, buckets.name[asked]);
            assay_store_list_ahead(l->store, directory);
        }
        if (!assay_read_number_name(buckets.name[i], BUCKET_DIGITS, &bucket)) {
            foreign(l, top, buckets.name[i]);
            continue;
        }
        snprintf(directory, sizeof directory, "%s/%s", top, buckets.name[i]);
        assay_names names = {0};
        status = assay_lister_names(l, directory, &names);
        if (status == 0)
            status = visit(l, context, directory, (uint32_t)bucket, &names);
        else if (status > 0)
            status = ASSAY_OK;
        assay_names_release(&names);
    }
    assay_names_release(&buckets);
    return status;
}

/* `before`: the collections file read last; workers normally agree to the byte. */
static int read_collections(assay_lister *l, assay_collections_reader *reader, const char *path, assay_buf *before)
{
    assay_buf text = ASSAY_BUF(COLLECTIONS_MOST);
    assay_error why = {{0}};
    int status = assay_store_read(l->store, path, COLLECTIONS_MOST, &text, &why);
    if (status == ASSAY_OK) {
        if (text.size != before->size || text.size == 0 || memcmp(text.data, before->data, text.size) != 0)
            status = assay_collections_read(reader, path, text.data, text.size, &l->catalog->problems);
        assay_buf_release(before);
        *before = text;
        return status == ASSAY_OK ? status : assay_lister_no_memory(l);
    }
    assay_buf_release(&text);
    if (status == ASSAY_ENOMEM)
        return assay_lister_no_memory(l);
    assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_READ, -1, path, -1, "%s; its collections are missing",
                       why.text);
    return ASSAY_OK;
}

static int visit_collections(assay_lister *l, void *reader, const char *directory, uint32_t bucket,
                             const assay_names *names)
{
    assay_buf before = ASSAY_BUF(COLLECTIONS_MOST);
    int status = ASSAY_OK;
    for (size_t i = 0; i < names->count && status == ASSAY_OK; i++) {
        char path[PATH_ROOM];
        const char *worker = NULL;
        size_t length = 0;
        if (assay_is_passing_name(names->name[i]))
            continue;
        if (!assay_read_collections_name(names->name[i], &worker, &length)) {
            foreign(l, directory, names->name[i]);
            continue;
        }
        l->has_collections = true;
        snprintf(path, sizeof path, "%s/%s", directory, names->name[i]);
        status = assay_lister_worker(l, worker, length) == ASSAY_NO_ID ? assay_lister_no_memory(l)
                                                                       : read_collections(l, reader, path, &before);
    }
    assay_buf_release(&before);
    return status;
}

static int visit_index(assay_lister *l, void *context, const char *directory, uint32_t bucket, const assay_names *names)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < names->count && status == ASSAY_OK; i++) {
        int64_t step = 0;
        const char *worker = NULL;
        size_t length = 0;
        if (assay_is_passing_name(names->name[i]))
            continue;
        if (!assay_read_index_name(names->name[i], &step, &worker, &length)) {
            foreign(l, directory, names->name[i]);
            continue;
        }
        uint32_t id = assay_lister_worker(l, worker, length);
        status = id == ASSAY_NO_ID ? assay_lister_no_memory(l) : assay_lister_unit(l, step, id, bucket);
    }
    return status;
}

uint32_t assay_smdebug_place_of(const assay_catalog *catalog, const assay_unit *unit)
{
    return (uint32_t)(unit->step / ASSAY_RECORDED_BUCKET);
}

void assay_smdebug_remark(assay_catalog *catalog, const assay_unit *unit, const assay_unit *used)
{
    char path[PATH_ROOM];
    assay_smdebug_index_path(catalog, unit, path, sizeof path);
    if (used)
        assay_problems_add(&catalog->problems, ASSAY_PROBLEM_DUPLICATE, unit->step, path, -1,
                           "%s: step %lld of this worker has an index file in bucket %09u too; this one is not used",
                           path, (long long)unit->step, used->place);
    else
        assay_problems_add(&catalog->problems, ASSAY_PROBLEM_NAME, unit->step, path, -1,
                           "%s: step %lld belongs in bucket %09lld; it is read all the same", path,
                           (long long)unit->step, (long long)(unit->step / ASSAY_RECORDED_BUCKET));
}

/* Is a step behind all others that has no index yet still written? Its files then have temporary names, and nobody has said
 * that the training has ended. */
static bool is_written_now(assay_lister *l, int64_t step, const char *path)
{
    static const char open_one[] = ".tmp";
    const assay_catalog *catalog = l->catalog;
    assay_names files = {0};
    bool is = !catalog->ended && (catalog->unit_count == 0 || step > catalog->units[catalog->unit_count - 1].step) &&
              assay_lister_names(l, path, &files) == 0;
    for (size_t i = 0; is && i < files.count; i++) {
        const size_t length = strlen(files.name[i]), end = sizeof open_one - 1;
        is = length > end && strcmp(files.name[i] + length - end, open_one) == 0;
    }
    assay_names_release(&files);
    return is;
}

/* Has a worker an index file of a step, whose units are [at, end)? Workers and units are in natural order. */
static bool has_index(const assay_catalog *catalog, size_t at, size_t end, const char *worker)
{
    uint32_t number = 0;
    ASSAY_SEARCH(number, catalog->workers, assay_worker_compare(catalog->worker_key[number], worker) < 0);
    if (number == catalog->workers || strcmp(catalog->worker_key[number], worker) != 0)
        return false;
    size_t found = 0;
    ASSAY_SEARCH(found, end - at, catalog->units[at + found].worker < number);
    return found < end - at && catalog->units[at + found].worker == number;
}

/* Names the event files of a step that some workers have no index file of; at the end of a training that goes on, those may
 * still be written. */
static void name_without_index(assay_lister *l, int64_t step, const char *directory, size_t at)
{
    const assay_catalog *catalog = l->catalog;
    assay_names files = {0};
    size_t end = at;
    while (end < catalog->unit_count && catalog->units[end].step == step)
        end++;
    if (end - at >= catalog->workers || (end == catalog->unit_count && !catalog->ended) ||
        assay_lister_names(l, directory, &files) != 0)
        return;
    for (size_t i = 0; i < files.count; i++) {
        const char *name = files.name[i];
        char path[PATH_ROOM], worker[PATH_ROOM];
        int64_t said = 0;
        size_t length = 0;
        const unsigned digits = read_digits(name, STEP_DIGITS, STEP_MOST, &said);
        if (digits == 0 || said != step || name[digits] != '_' ||
            !cut_ending(name + digits + 1, ".tfevents", &length) || length >= sizeof worker)
            continue;
        snprintf(worker, sizeof worker, "%.*s", (int)length, name + digits + 1);
        if (has_index(catalog, at, end, worker))
            continue;
        snprintf(path, sizeof path, "%s/%s", directory, name);
        assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_ORPHAN, step, path, -1,
                           "%s: its worker has no index file of step %lld; it is not evaluated", path, (long long)step);
    }
    assay_names_release(&files);
}

static int list_events(assay_lister *l)
{
    const assay_catalog *catalog = l->catalog;
    assay_names steps = {0};
    int status = assay_lister_names(l, "events", &steps);
    if (status != 0)
        return status < 0 ? status : ASSAY_OK;
    for (size_t i = 0; i < steps.count; i++) {
        char path[64];
        int64_t step = 0;
        if (!assay_read_number_name(steps.name[i], STEP_DIGITS, &step)) {
            foreign(l, "events", steps.name[i]);
            continue;
        }
        size_t at = 0;
        ASSAY_SEARCH(at, catalog->unit_count, catalog->units[at].step < step);
        snprintf(path, sizeof path, "events/%s", steps.name[i]);
        if (at < catalog->unit_count && catalog->units[at].step == step) {
            name_without_index(l, step, path, at);
            continue;
        }
        if (is_written_now(l, step, path))
            assay_problems_add(
                &l->catalog->problems, ASSAY_PROBLEM_EVENTS_LEFT, step, path, -1,
                "%s: step %lld was being written when the trial was listed, or when its training was stopped; it is not evaluated",
                path, (long long)step);
        else
            assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_ORPHAN, step, path, -1,
                               "%s: step %lld has event files but no index file of any worker; it is not evaluated",
                               path, (long long)step);
    }
    assay_names_release(&steps);
    return ASSAY_OK;
}

bool assay_smdebug_holds_files(const char *directory)
{
    static const char *const tops[] = {"events/", "index/", "collections/"};
    for (size_t i = 0; i < sizeof tops / sizeof *tops; i++)
        if (strncmp(directory, tops[i], strlen(tops[i])) == 0 && !strchr(directory + strlen(tops[i]), '/'))
            return true;
    return false;
}

bool assay_smdebug_is_anothers(const char *file, const char *said)
{
    const char *name = assay_path_name(file);
    const size_t length = said ? strlen(said) : 0;
    return said && (strncmp(name, said, length) != 0 || strcmp(name + length, ".json") != 0);
}

bool assay_smdebug_probe(const assay_names *top)
{
    return assay_names_have(top, "index") || assay_names_have(top, "collections") || assay_names_have(top, "events");
}

int assay_smdebug_list(assay_lister *l)
{
    assay_collections_reader reader = {.collections = &l->catalog->collections};
    int status = visit_buckets(l, COLLECTIONS, visit_collections, &reader);
    assay_collections_reader_release(&reader);
    if (l->has_collections && status == ASSAY_OK && !(l->catalog->collections.file = assay_copy_text(COLLECTIONS)))
        status = assay_lister_no_memory(l);
    return status == ASSAY_OK ? visit_buckets(l, "index", visit_index, NULL) : status;
}

int assay_smdebug_conclude(assay_lister *l)
{
    static const char *const known[] = {"collections", "index", "events", "run", "topology", ASSAY_RECORDED_END, NULL};
    assay_catalog *catalog = l->catalog;
    assay_problems_name_damaged(&catalog->problems, l->top, "", known);
    assay_lister_end_marker(l, ASSAY_RECORDED_END);
    int status = list_events(l);
    if (status == ASSAY_OK && assay_run_json_read(l->store, &catalog->facts, &catalog->problems) != ASSAY_OK)
        status = assay_lister_no_memory(l);
    ASSAY_TRY(status);
    if (!l->has_collections)
        assay_problems_add(
            &catalog->problems, ASSAY_PROBLEM_COLLECTIONS, -1, "collections", -1,
            "the trial has no collections file: rules that select by collection find nothing, and how many "
            "workers were expected is not known");
    if (catalog->unit_count == 0)
        assay_problems_add(&catalog->problems, ASSAY_PROBLEM_EMPTY, -1, "index", -1,
                           "the trial has no index file: no step was saved, or nothing has been written yet");
    return ASSAY_OK;
}

/* A directory and what lies in it. */
static int visit_below(assay_store *store, const char *directory, bool deeper, assay_place_visit *visit, void *context)
{
    assay_names names = {0};
    int status = visit(context, directory);
    if (status != ASSAY_OK || assay_store_list(store, directory, &names, NULL) != ASSAY_OK)
        return status; /* not there yet; the catalog names what is wrong otherwise */
    for (size_t i = 0; status == ASSAY_OK && i < names.count; i++) {
        char path[PATH_ROOM];
        if (snprintf(path, sizeof path, "%s/%s", directory, names.name[i]) >= (int)sizeof path)
            continue;
        status = deeper ? visit_below(store, path, false, visit, context) : visit(context, path);
    }
    assay_names_release(&names);
    return status;
}

int assay_smdebug_places(assay_store *store, assay_place_visit *visit, void *context)
{
    int status = visit_below(store, "collections", true, visit, context);
    ASSAY_THEN(status, visit_below(store, "index", false, visit, context));
    return status == ASSAY_OK ? visit(context, ASSAY_RECORDED_END) : status;
}

/* Numbers in names have a fixed width, so steps are in byte order, across the buckets of the index, too. Those of more
 * digits begin with one that is not zero: they lie behind the steps below FIRST_DIGIT. */
int assay_smdebug_trees(int64_t step, assay_place_visit *visit, void *context)
{
    static const int64_t FIRST_DIGIT = INT64_C(100000000000);
    char index[64] = "index", events[64] = "events";
    if (step >= 0 && step < FIRST_DIGIT) {
        snprintf(index, sizeof index, "index/%0*lld/%0*lld", BUCKET_DIGITS, (long long)(step / ASSAY_RECORDED_BUCKET),
                 STEP_DIGITS, (long long)step);
        snprintf(events, sizeof events, "events/%0*lld", STEP_DIGITS, (long long)step);
    }
    int status = visit(context, COLLECTIONS);
    ASSAY_THEN(status, visit(context, index));
    return status == ASSAY_OK ? visit(context, events) : status;
}

int assay_smdebug_unit_places(assay_store *store, const assay_catalog *catalog, const assay_unit *unit,
                              assay_place_visit *visit, void *context)
{
    char path[PATH_ROOM];
    int length = assay_smdebug_index_path(catalog, unit, path, sizeof path);
    return length < PATH_ROOM ? visit(context, path) : ASSAY_OK;
}

/* Writes a number of exactly so many digits; a million file names cost more through printf than reading the files'
 * names. */
static char *put_digits(char *to, int64_t value, int digits)
{
    for (int i = digits; i-- > 0; value /= 10)
        to[i] = (char)('0' + value % 10);
    return to + digits;
}

static char *put_text(char *to, const char *text, size_t length)
{
    memcpy(to, text, length);
    return to + length;
}

static bool is_plain(int64_t step, size_t length, size_t room)
{
    enum { BESIDE = 64 }; /* more than what stands beside the worker's name */
    return step >= 0 && step < INT64_C(1000000000000) && room >= BESIDE && length <= room - BESIDE;
}

int assay_smdebug_index_path(const assay_catalog *catalog, const assay_unit *name, char *out, size_t room)
{
    const char *worker = catalog->worker_key[name->worker];
    size_t length = strlen(worker);
    if (is_plain(name->step, length, room) && name->place < 1000000000) {
        char *at = put_digits(put_text(out, "index/", 6), name->place, BUCKET_DIGITS);
        at = put_digits(put_text(at, "/", 1), name->step, STEP_DIGITS);
        at = put_text(put_text(at, "_", 1), worker, length);
        at = put_text(at, ".json", sizeof ".json");
        return (int)(at - out) - 1;
    }
    return snprintf(out, room, "index/%09u/%012lld_%s.json", name->place, (long long)name->step,
                    catalog->worker_key[name->worker]);
}

int assay_smdebug_event_path(const assay_catalog *catalog, int64_t step, uint32_t worker, char *out, size_t room)
{
    const char *name = catalog->worker_key[worker];
    size_t length = strlen(name);
    if (is_plain(step, length, room)) {
        char *at = put_digits(put_text(out, "events/", 7), step, STEP_DIGITS);
        at = put_digits(put_text(at, "/", 1), step, STEP_DIGITS);
        at = put_text(put_text(at, "_", 1), name, length);
        at = put_text(at, ".tfevents", sizeof ".tfevents");
        return (int)(at - out) - 1;
    }
    return snprintf(out, room, ASSAY_RECORDED_EVENTS, (long long)step, (long long)step, catalog->worker_key[worker]);
}
