/* scan.c - finds what was written to a trial since the last look.
 *
 * A look at a trial in which nothing happens costs one question a place and an unsettled file; nothing is listed and no
 * file opened. Where a place changed, the trial is listed again, and units that are new are read once.
 *
 * A storage that waits for a server is told from which step on something may be new, and lists what is behind. It lists
 * all of the trial at the first look, at every twentieth, when a worker has come that was not there before, and when
 * the trial has ended: the last evaluation misses nothing. */
#include "watch/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/vec.h"
#include "trial/places.h"

/* ---- scan events ---- */

/* Which event files a watched trial has, and how long those are that may still grow. */

/* An evaluation reads the event files as a whole: it is made for their sake so often at most. */
static const double EVENTS_EVERY = 5.0;

/* So many files of a kind, the last ones by their times, are asked how long they are; and those that a writer has open.
 */
enum { GROWING = 64 };

/* Looks at the event files of a trial that is listed. *changed is set where they are others than at the last look. */
static void look_at_events(watched_source *source, double now, bool *changed)
{
    const assay_event_files *files = &source->catalog.events;
    uint64_t hash = 0;
    if (files->count == 0 || (source->events_at > 0 && now - source->events_at < EVENTS_EVERY))
        return;
    for (size_t i = 0; i < files->count; i++) {
        const assay_event_file *file = &files->list[i];
        const bool growing =
            file->unfinished || i + GROWING >= files->count || files->list[i + GROWING].kind != file->kind;
        assay_store_stamp stamp = {.size = file->size};
        if (growing && assay_store_stamp_of(source->store, file->path, &stamp, NULL) < 0)
            stamp = (assay_store_stamp){.size = file->size};
        const uint64_t numbers[] = {hash, assay_hash_bytes(file->path, strlen(file->path)), stamp.size,
                                    (uint64_t)stamp.time, stamp.node};
        hash = assay_hash_bytes(numbers, sizeof numbers);
    }
    *changed = *changed || hash != source->events;
    source->events = hash;
    source->events_at = now;
}

/* ---- scan ---- */

/* A file's time may be as coarse as the storage's clock: what changed so recently is taken to change still. */
static const double COARSE = 2.0;
/* A part that has been complete for so long without a change is not looked at any more. */
static const double SETTLED = 10.0;
/* A part whose index does not tell what belongs to it counts as written when nothing has happened for so long. */
static const double QUIET = 2.0;
enum { WHOLE_EVERY = 20, TREES = 8, TREE_ROOM = 128 };

int assay_watched_init(watched_source *source, const char *path, const char *topology)
{
    *source = (watched_source){
        .path = path, .root = path, .topology = topology, .names = assay_dict_new(), .place_names = assay_dict_new()};
    return source->names && source->place_names ? ASSAY_OK : ASSAY_ENOMEM;
}

static void free_part(watched_part *part)
{
    if (part)
        assay_shard_release(&part->shard);
    if (part)
        free(part->worker);
    free(part);
}

static void release_catalog(watched_source *source)
{
    for (size_t i = 0; source->part && i < source->catalog.unit_count; i++)
        free_part(source->part[i]);
    free(source->part);
    free(source->late);
    source->part = NULL;
    source->late = NULL;
    assay_catalog_release(&source->catalog);
    source->catalog = (assay_catalog){0};
    source->listed = false;
}

void assay_watched_release(watched_source *source)
{
    release_catalog(source);
    for (size_t i = 0; i < source->kept_count; i++)
        free(source->kept[i].packed);
    free(source->kept);
    free(source->places);
    free(source->train);
    assay_watch_ids_release(&source->numbers);
    assay_layouts_release(&source->layouts);
    assay_group_files_release(&source->groups);
    assay_dict_free(source->names);
    assay_dict_free(source->place_names);
    assay_store_close(source->store);
}

static bool same_stamp(const assay_store_stamp *a, const assay_store_stamp *b)
{
    return a->size == b->size && a->time == b->time && a->node == b->node;
}

/* The stamp as it is now into *have. 1: it is another than it was; 0: the same, or the storage has none. */
static int look_at(assay_store *store, const char *path, assay_store_stamp *have)
{
    assay_store_stamp now;
    if (assay_store_stamp_of(store, path, &now, NULL) < 0 || same_stamp(have, &now))
        return 0;
    *have = now;
    return 1;
}

/* ---- places ---- */

/* Watches a place from now on. Taken before it is listed: what is written while it is listed is seen at the next look.
 */
static int add_place(watched_source *source, const char *path, double now)
{
    uint32_t count = assay_dict_count(source->place_names),
             id = assay_dict_add(source->place_names, path, strlen(path));
    if (id == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    if (id < count)
        return ASSAY_OK;
    ASSAY_HAVE(assay_vec_reserve(&source->places, &source->place_room, id + 1, sizeof *source->places));
    source->places[id] = (watched_place){.since = now};
    (void)look_at(source->store, path, &source->places[id].stamp);
    return ASSAY_OK;
}

typedef struct adding {
    watched_source *source;
    double now;
} adding;

static int visit_place(void *context, const char *path)
{
    const adding *a = context;
    return add_place(a->source, path, a->now);
}

/* True when a place changed, or changed so recently that the next change may look the same. */
static bool places_changed(watched_source *source, double now, bool *changed)
{
    bool any = false;
    for (uint32_t i = 0; i < assay_dict_count(source->place_names); i++) {
        size_t length;
        if (look_at(source->store, assay_dict_name(source->place_names, i, &length), &source->places[i].stamp)) {
            source->places[i].since = now;
            *changed = true;
        }
        any = any || now - source->places[i].since < COARSE;
    }
    return any;
}

/* ---- listing ---- */

static watched_part *new_part(const assay_catalog *catalog, const assay_unit *file, double now)
{
    watched_part *part = assay_alloc_zeroed(1, sizeof *part);
    if (!part)
        return NULL;
    assay_shard_init(&part->shard);
    part->step = file->step;
    part->format = file->format;
    part->mode = file->mode;
    part->since = now;
    part->worker = assay_copy_text(catalog->worker_key[file->worker]);
    if (part->worker)
        return part;
    free(part);
    return NULL;
}

/* Compares a part with a unit of the new listing: both lists are in the order of assay_unit_compare(). */
static int compare_part(const watched_part *part, const assay_catalog *catalog, const assay_unit *file)
{
    if (part->step != file->step)
        return part->step < file->step ? -1 : 1;
    int order = assay_worker_compare(part->worker, catalog->worker_key[file->worker]);
    if (order != 0)
        return order;
    return part->format != file->format ? (int)part->format - (int)file->format : (int)part->mode - (int)file->mode;
}

/* Takes a part over from the listing before. Workers that came or went since have moved the worker's number. */
static watched_part *take_part(watched_part *part, uint32_t worker)
{
    for (size_t p = 0; p < part->shard.count; p++)
        part->shard.parts[p].worker = worker;
    return part;
}

/* The parts of the new listing: those that were there before, and new ones. Takes the old ones over; those that are
 * gone are freed. */
static int match_parts(watched_source *source, const assay_catalog *fresh, watched_part **part, double now,
                       bool *changed)
{
    size_t old = 0, count = source->part ? source->catalog.unit_count : 0;
    int status = ASSAY_OK;
    for (size_t i = 0; i < fresh->unit_count; i++) {
        int order = 1;
        while (old < count && (order = compare_part(source->part[old], fresh, &fresh->units[i])) < 0) {
            free_part(source->part[old]);
            source->part[old++] = NULL;
            *changed = true;
        }
        if (old < count && order == 0) {
            part[i] = take_part(source->part[old], fresh->units[i].worker);
            source->part[old++] = NULL;
            continue;
        }
        part[i] = new_part(fresh, &fresh->units[i], now);
        status = part[i] ? status : ASSAY_ENOMEM;
        *changed = true;
    }
    return status;
}

/* Who was late stays late; both listings have the workers in natural order. */
static void match_late(const watched_source *source, const assay_catalog *fresh, uint8_t *late)
{
    uint32_t old = 0;
    for (uint32_t w = 0; w < fresh->workers; w++) {
        int order = 1;
        while (source->late && old < source->catalog.workers &&
               (order = assay_worker_compare(source->catalog.worker_key[old], fresh->worker_key[w])) < 0)
            old++;
        if (order == 0 && source->late && old < source->catalog.workers)
            late[w] = source->late[old];
    }
}

/* A hash of all that rules may know of the trial except its steps and tensors. */
static int hash_facts(const assay_catalog *catalog, uint64_t *hash)
{
    assay_buf text = ASSAY_BUF(SIZE_MAX);
    for (uint32_t w = 0; w < catalog->workers; w++)
        assay_put_text(&text, catalog->worker_key[w]);
    assay_put_u32(&text, catalog->expected_workers);
    assay_put_u8(&text, catalog->ended);
    assay_put_text(&text, catalog->topology ? catalog->topology->text : NULL);
    assay_collections_pack(&catalog->collections, &text);
    int status = assay_buf_status(&text);
    *hash = assay_hash_bytes(text.data, text.size);
    assay_buf_release(&text);
    return status;
}

/* Takes the new listing over. */
static int change_catalog(watched_source *source, assay_catalog *fresh, double now, bool *changed)
{
    watched_part **part = assay_alloc_zeroed(fresh->unit_count, sizeof *part);
    uint8_t *late = assay_alloc_zeroed(fresh->workers, 1);
    int status = part && late ? match_parts(source, fresh, part, now, changed) : ASSAY_ENOMEM;
    ASSAY_THEN(status, hash_facts(fresh, &source->facts));
    if (status == ASSAY_OK)
        match_late(source, fresh, late);
    source->grown = source->grown || (source->listed && fresh->workers > source->catalog.workers);
    for (size_t i = 0; part && status != ASSAY_OK && i < fresh->unit_count; i++)
        free_part(part[i]);
    release_catalog(source);
    if (status != ASSAY_OK) {
        free(part);
        free(late);
        assay_catalog_release(fresh);
        return status;
    }
    source->catalog = *fresh;
    source->listed = true;
    source->unlisted = false;
    source->part = part;
    source->late = late;
    return ASSAY_OK;
}

static int list_again(watched_source *source, double now, bool *changed, assay_error *err)
{
    assay_catalog fresh = {0};
    adding places = {source, now};
    int status = assay_trial_places(source->store, visit_place, &places);
    ASSAY_THEN(status, assay_catalog_read(source->store, source->options, &fresh, err));
    if (status == ASSAY_OK && assay_catalog_is_unwatched(&fresh)) {
        const char *unread = assay_problems_unread(&fresh.problems);
        status =
            assay_fail(err, ASSAY_EUSAGE,
                       "%s: a series of checkpoints is not watched: `assay run` evaluates those that are there%s%s",
                       source->path, unread ? "; " : "", unread ? unread : "");
        assay_catalog_release(&fresh);
        return status;
    }
    ASSAY_THEN(status, assay_watched_lay_out(source, &fresh, changed, err));
    if (status == ASSAY_OK)
        return change_catalog(source, &fresh, now, changed);
    assay_catalog_release(&fresh);
    snprintf(source->reason, sizeof source->reason, "%s", err->text);
    if (status == ASSAY_EJOB) /* its topology is wrong: without it the answers would be, too */
        return status;
    if (status == ASSAY_EIO && !source->unlisted)
        assay_log_warn("%s; it is tried again", err->text);
    source->unlisted = status == ASSAY_EIO; /* what is known stays */
    if (status != ASSAY_ENOMEM && status != ASSAY_EIO)
        release_catalog(source);
    return status == ASSAY_ENOMEM ? status : ASSAY_OK; /* no trial yet */
}

/* ---- parts ---- */

static int read_index(watched_source *source, size_t number)
{
    watched_part *part = source->part[number];
    assay_problems problems;
    assay_problems_init(&problems);
    assay_shard_release(&part->shard);
    assay_shard_init(&part->shard);
    int status = assay_index_read(source->store, &source->catalog, &source->catalog.units[number], 1,
                                  &(assay_index_sink){source->names, &part->shard, &problems});
    if (status == ASSAY_OK && problems.losses > 0) { /* cut short, as far as one can know: not yet there */
        assay_shard_release(&part->shard);
        assay_shard_init(&part->shard);
    }
    assay_problems_release(&problems);
    return status == ASSAY_OK ? assay_watched_name(source, &part->shard) : status;
}

/* Adds what a place looks like now to a stamp of several. */
static int add_stamp(void *context, const char *path)
{
    void *const *of = context;
    assay_store *store = of[0];
    assay_store_stamp *sum = of[1], now;
    if (assay_store_stamp_of(store, path, &now, NULL) < 0)
        return ASSAY_OK;
    const uint64_t numbers[] = {(uint64_t)sum->time, sum->node, now.size, (uint64_t)now.time, now.node};
    sum->size += now.size;
    sum->node = assay_hash_bytes(numbers, sizeof numbers);
    sum->time = now.time > sum->time ? now.time : sum->time;
    return ASSAY_OK;
}

/* Takes over a stamp. True when it is another one than before. */
static bool take_stamp(assay_store_stamp *have, const assay_store_stamp *now)
{
    bool changed = !same_stamp(have, now);
    *have = *now;
    return changed;
}

/* Looks at what tells that the index of a unit changed. */
static bool index_changed(const watched_source *source, size_t number, assay_store_stamp *have)
{
    assay_store_stamp now = {0};
    void *sum[] = {source->store, &now};
    assay_unit_places(source->store, &source->catalog, &source->catalog.units[number], add_stamp, sum);
    return take_stamp(have, &now);
}

/* Looks at the files of a part. */
static bool files_changed(const watched_source *source, const watched_part *part, assay_store_stamp *have)
{
    const assay_part *rows = &part->shard.parts[0];
    assay_store_stamp now = {0};
    void *sum[] = {source->store, &now};
    char room[ASSAY_PATH_ROOM];
    for (size_t e = 0; e < part->shard.entry_count; e++) {
        const assay_entry *entry = &part->shard.entries[e];
        const bool same = e > 0 && assay_part_same_file(rows, entry[-1].file, entry->file);
        const char *path = same ? NULL : assay_part_file(&source->catalog, rows, entry->file, room);
        if (path)
            add_stamp(sum, path);
    }
    return take_stamp(have, &now);
}

/* Is everything there that belongs to the part? Where its index does not promise what will come, nothing may have
 * happened for a while, unless the trial has ended or the worker has gone on (`behind`). */
static int is_ready(const watched_source *source, const watched_part *part, bool behind, double now)
{
    const assay_part *rows = &part->shard.parts[0];
    if (source->constant)
        return 1;
    if (!assay_part_is_promised(rows) && !behind && !source->catalog.ended && now - part->since < QUIET)
        return 0;
    return assay_part_is_whole(source->store, &source->catalog, &part->shard, rows);
}

/* Looks at the index and the files of a part. */
static int look_at_part(watched_source *source, size_t number, double now, bool *changed)
{
    watched_part *part = source->part[number];
    bool fresh = part->shard.count == 0;
    if (index_changed(source, number, &part->index)) {
        fresh = true;
        part->since = now;
        *changed = true;
    }
    int status = fresh ? read_index(source, number) : ASSAY_OK;
    if (status == ASSAY_OK && part->shard.count > 0 && files_changed(source, part, &part->event)) {
        part->since = now;
        *changed = true;
        if (!fresh && !assay_part_is_promised(&part->shard.parts[0])) /* rows go by what the files were */
            status = read_index(source, number);
    }
    part->ready = false;
    if (status != ASSAY_OK || part->shard.count == 0)
        return status;
    const bool behind = assay_unit_is_behind(&source->catalog, number);
    int ready = is_ready(source, part, behind, now);
    part->ready = ready == 1;
    part->settled = part->ready && !part->suspect && (source->constant || behind || now - part->since > SETTLED);
    return ready < 0 ? ready : ASSAY_OK;
}

/* ---- looks ---- */

/* The first step of which something may still come: one that is not settled, or the last one of some worker; < 0 when
 * that may be any. */
static int64_t first_open_step(const watched_source *source)
{
    const assay_catalog *catalog = &source->catalog;
    uint32_t *formats = NULL; /* [workers] those in which a later unit was seen, a bit each */
    if (source->listed && !catalog->ended && catalog->expected_workers <= catalog->workers && catalog->unit_count > 0)
        formats = assay_alloc_zeroed(catalog->workers, sizeof *formats);
    if (!formats)
        return -1;
    int64_t first = INT64_MAX;
    for (size_t i = catalog->unit_count; i-- > 0;) {
        const assay_unit *unit = &catalog->units[i];
        const uint32_t bit = (uint32_t)1 << (unit->format & 31);
        if (!source->part[i]->settled || !(formats[unit->worker] & bit))
            first = unit->step < first ? unit->step : first;
        formats[unit->worker] |= bit;
    }
    free(formats);
    return first;
}

typedef struct trees {
    char path[TREES][TREE_ROOM];
    const char *list[TREES];
    size_t count;
} trees;

static int add_tree(void *context, const char *path)
{
    trees *t = context;
    if (t->count < TREES && strlen(path) < TREE_ROOM) {
        snprintf(t->path[t->count], TREE_ROOM, "%s", path);
        t->list[t->count] = t->path[t->count];
        t->count++;
    }
    return ASSAY_OK;
}

/* Opens the trial anew: the directory may be another one of that name. With `whole` nothing of the last look counts. */
static int open_again(watched_source *source, bool whole, assay_error *err)
{
    assay_store *store = NULL;
    trees t = {.count = 0};
    int status = assay_store_open(source->root, &store, err);
    ASSAY_THEN(status, assay_trial_trees(whole ? -1 : first_open_step(source), add_tree, &t));
    ASSAY_THEN(status, assay_store_follow(store, whole ? NULL : source->store, t.list, t.count));
    if (status != ASSAY_OK) {
        assay_store_close(store);
        store = NULL;
    }
    assay_store_close(source->store);
    source->store = store;
    return status;
}

/* Looks at the places, and lists the trial again where one changed, or `always`. */
static int look_at_places(watched_source *source, bool always, double now, bool *changed, assay_error *err)
{
    assay_store_stamp stamp;
    source->constant = assay_store_stamp_of(source->store, ".", &stamp, NULL) == ASSAY_EUNSUPPORTED;
    bool again = places_changed(source, now, changed);
    return again || always || !source->listed || source->unlisted ? list_again(source, now, changed, err) : ASSAY_OK;
}

/* Opens and lists the trial; once more and as a whole when the first listing tells that this is needed. */
static int look_at_trial(watched_source *source, double now, bool *changed, assay_error *err)
{
    bool whole = source->looks++ % WHOLE_EVERY == 0 || source->grown;
    for (bool again = false;; again = true) {
        const bool had_ended = source->listed && source->catalog.ended;
        source->grown = false;
        int status = open_again(source, whole || again, err);
        ASSAY_THEN(status, look_at_places(source, again, now, changed, err));
        const bool ends = source->listed && source->catalog.ended && !had_ended;
        if (status != ASSAY_OK || whole || again || !(ends || source->grown))
            return status;
    }
}

int assay_watched_look(watched_source *source, double now, bool *changed, assay_error *err)
{
    assay_error why = {""};
    int status = look_at_trial(source, now, changed, &why);
    if (status == ASSAY_EUSAGE || status == ASSAY_EJOB || status == ASSAY_EUNSUPPORTED)
        return assay_fail(err, status, "%s", why.text);
    if (status != ASSAY_OK && status != ASSAY_ENOMEM) { /* it is not there */
        *changed = *changed || source->listed;
        snprintf(source->reason, sizeof source->reason, "%s", why.text);
        release_catalog(source);
        return ASSAY_OK;
    }
    if (status == ASSAY_OK && source->listed)
        look_at_events(source, now, changed);
    for (size_t i = 0; status == ASSAY_OK && source->listed && i < source->catalog.unit_count; i++)
        if (!source->part[i]->settled)
            status = look_at_part(source, i, now, changed);
    return status == ASSAY_OK || status == ASSAY_EUSAGE
               ? status
               : assay_fail(err, status, "%s: out of memory while it is watched", source->path);
}
