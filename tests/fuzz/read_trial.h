/* read_trial.h - what fuzz targets of whole trials share: the files in their inputs, and a walk through an opened
 * trial, to the end of every record and every event file, as a run goes.
 *
 * A file is the length of its path (a byte, 0: no more files), the path, the size (two bytes, lower one first), how
 * many times 64 KiB of zeros follow the content (a byte), the content. Where the path's length has its highest bit set
 * it is a symbolic link, and the content says where to. seed_trial.py makes such bytes of a directory. */
#ifndef ASSAY_FUZZ_READ_TRIAL_H
#define ASSAY_FUZZ_READ_TRIAL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read_events.h"
#include "trial/align.h"
#include "trial/places.h"
#include "source/trial_files.h"
#include "trial/worker_names.h"

enum { LINK = 128, ZEROS = 64 << 10, ZEROS_MOST = 32, BUDGET = 4 << 20, CONTENT_MOST = 1 << 24 };

typedef struct member {
    const char *path; /* not terminated */
    const uint8_t *bytes;
    size_t length, size, zeros;
    bool link;
} member;

/* What has to hold, and where it did not. */
#define must(condition) must_hold(condition, #condition, __func__, __LINE__)

static inline void must_hold(bool condition, const char *text, const char *function, int line)
{
    if (condition)
        return;
    fprintf(stderr, "%s, line %d: %s\n", function, line, text);
    abort();
}

/* Takes the next file; false: there is none any more. */
static inline bool next_member(const uint8_t *data, size_t size, size_t *at, member *m)
{
    if (*at >= size || data[*at] == 0)
        return false;
    *m = (member){.length = data[*at] % LINK, .link = data[*at] & LINK};
    ++*at;
    if (size - *at < m->length + 3)
        return false;
    m->path = (const char *)data + *at;
    *at += m->length;
    m->size = (size_t)data[*at] | (size_t)data[*at + 1] << 8;
    m->zeros = (size_t)(data[*at + 2] % ZEROS_MOST) * ZEROS;
    *at += 3;
    m->size = m->size < size - *at ? m->size : size - *at;
    m->bytes = data + *at;
    *at += m->size;
    return true;
}

/* ---- what ranks send each other ---- */

static inline void must_equal(assay_buf *a, assay_buf *b)
{
    must(assay_buf_status(a) == ASSAY_OK && assay_buf_status(b) == ASSAY_OK);
    must(a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0));
    assay_buf_release(a);
    assay_buf_release(b);
}

static inline void send_catalog(const assay_catalog *catalog)
{
    assay_buf once, again;
    assay_catalog copy;
    assay_buf_init(&once, SIZE_MAX / 4);
    assay_buf_init(&again, SIZE_MAX / 4);
    assay_catalog_pack(catalog, &once);
    assay_cursor in = assay_cursor_over(once.data, once.size);
    must(assay_catalog_unpack(&in, &copy, NULL) == ASSAY_OK && !assay_cursor_bad(&in));
    assay_catalog_pack(&copy, &again);
    must_equal(&once, &again);
    assay_catalog_release(&copy);
}

static inline void send_shard(const assay_shard *shard)
{
    assay_buf once, again;
    assay_shard copy;
    assay_buf_init(&once, SIZE_MAX / 4);
    assay_buf_init(&again, SIZE_MAX / 4);
    assay_shard_init(&copy);
    assay_shard_pack(shard, 0, shard->count, &once);
    assay_cursor in = assay_cursor_over(once.data, once.size);
    must(assay_shard_unpack(&in, &copy, NULL) == ASSAY_OK && !assay_cursor_bad(&in));
    assay_shard_pack(&copy, 0, copy.count, &again);
    must_equal(&once, &again);
    assay_shard_keep(&copy, copy.count / 2, copy.count - copy.count / 2);
    assay_shard_turn(&copy, copy.count / 2);
    assay_shard_drop_shapes(&copy);
    assay_shard_release(&copy);
}

static inline void send_claims(const assay_manifest *claims, uint32_t tensors)
{
    assay_buf once, again;
    assay_manifest copy = {0};
    assay_buf_init(&once, SIZE_MAX / 4);
    assay_buf_init(&again, SIZE_MAX / 4);
    assay_manifest_pack(claims, &once);
    assay_cursor in = assay_cursor_over(once.data, once.size);
    must(assay_manifest_unpack(&in, tensors, &copy) == ASSAY_OK && !assay_cursor_bad(&in));
    assay_manifest_pack(&copy, &again);
    must_equal(&once, &again);
    assay_manifest_sort(&copy);
    assay_manifest_release(&copy);
}

/* What each rank is sent of the entries before its own, and looks up there. */
static inline void look_back(const assay_trial_files *t)
{
    const uint32_t tensors = assay_dict_count(t->tensors);
    uint8_t *wanted = malloc(tensors + 1);
    assay_shard tail;
    assay_record_history *history = NULL;
    must(wanted != NULL);
    memset(wanted, 1, tensors);
    assay_shard_init(&tail);
    must(assay_shard_tail(&t->shard, wanted, tensors, 2, 1, &tail) == ASSAY_OK);
    must(assay_record_history_new(&tail, wanted, tensors, &history) == ASSAY_OK);
    for (size_t p = 0; p < tail.count; p++)
        for (uint32_t i = 0; i < tail.parts[p].count; i++) {
            assay_place place[4];
            const assay_entry *e = &tail.entries[tail.parts[p].first + i];
            must(tail.parts[p].before);
            must(assay_record_history_before(history, e->tensor, tail.parts[p].worker, tail.parts[p].step, place, 4) <=
                 4);
        }
    assay_record_history_free(history);
    assay_shard_release(&tail);
    free(wanted);
}

/* ---- contents ---- */

static inline uint64_t read_strings(assay_reader *records, const assay_record *record)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < record->elements; i++) {
        size_t length;
        const char *text = assay_reader_string(records, i, &length);
        sum += length > 0 ? (uint64_t)(unsigned char)text[length - 1] : 0;
    }
    return sum;
}

/* Reads an opened record to its end, every other one into memory of just its size. */
static inline uint64_t read_content(assay_reader *records, const assay_record *record, bool put)
{
    const uint8_t *piece = NULL;
    uint8_t *to = put && record->content_bytes <= CONTENT_MOST ? malloc(record->content_bytes + 1) : NULL;
    assay_error err = {""};
    uint64_t all = 0, sum = 0;
    size_t got = 1;
    if (to)
        assay_reader_put_at(records, to);
    assay_reader_expect(records, record->offset, record->offset + 3 * record->length);
    while (got > 0 && all < CONTENT_MOST) {
        const int status = assay_reader_content(records, 0, &piece, &got, &err);
        must(status == ASSAY_OK || err.text[0]);
        got = status == ASSAY_OK ? got : 0;
        sum += got > 0 ? (uint64_t)piece[0] + piece[got - 1] : 0;
        must(!to || got == 0 || piece == to + all);
        all += got;
    }
    must(all <= record->content_bytes || all >= CONTENT_MOST);
    free(to);
    return sum;
}

/* Opens an entry as it is, or as a run does, which holds its names and steps against the index. */
static inline int open_entry(assay_reader **records, const assay_trial_files *t, const assay_part *part,
                             const assay_entry *entry, bool run, assay_record *record, assay_error *err)
{
    int status = assay_reader_open(records, t->store, &t->catalog, part, entry->file, err);
    if (status == ASSAY_OK)
        status = run ? assay_reader_entry(*records, part, entry, t->tensors, BUDGET, record, err)
                     : assay_reader_record(*records, entry->offset, entry->length, BUDGET, record, err);
    return status;
}

static inline void read_records(const assay_trial_files *t)
{
    assay_reader *records = NULL;
    uint64_t sum = 0;
    for (size_t p = 0; p < t->shard.count; p++) {
        const assay_part *part = &t->shard.parts[p];
        must(assay_part_span(&t->shard, part) > 0 && part->worker < t->catalog.workers);
        for (uint32_t i = 0; i < part->count; i++) {
            const assay_entry *entry = &t->shard.entries[part->first + i];
            assay_record record;
            assay_error err = {""};
            double number = 0;
            must(entry->tensor < assay_dict_count(t->tensors));
            if (open_entry(&records, t, part, entry, p % 2, &record, &err) != ASSAY_OK)
                must(err.text[0] != '\0');
            else if (entry->kind != ASSAY_RAW)
                must(assay_reader_number(records, &number, &err) == ASSAY_OK || err.text[0]);
            else if (record.form == ASSAY_CONTENT_STRINGS)
                sum += read_strings(records, &record);
            else
                sum += read_content(records, &record, i % 2);
        }
        if (records)
            assay_reader_let_go(records);
    }
    must(sum < UINT64_MAX);
    assay_reader_close(records);
}

/* ---- what is watched ---- */

static inline int visit(void *count, const char *path)
{
    must(path != NULL);
    ++*(size_t *)count;
    return ASSAY_OK;
}

static inline bool asks_for_none(void *context, const char *name, size_t length)
{
    (void)context;
    must(name != NULL && length > 0);
    return false;
}

/* What no job asks for need not be kept of a log, but it has the same units. */
static inline void find_units_unasked(assay_store *store, const assay_catalog *all)
{
    assay_catalog catalog = {0};
    assay_error err = {""};
    assay_trial_options *options = assay_trial_options_new();
    must(options != NULL);
    options->asks = asks_for_none;
    must(assay_catalog_read(store, options, &catalog, &err) == ASSAY_OK);
    must(catalog.unit_count == all->unit_count && catalog.problems.total == all->problems.total);
    for (size_t i = 0; i < catalog.unit_count; i++)
        must(assay_unit_compare(&catalog.units[i], &all->units[i]) == 0);
    assay_catalog_release(&catalog);
    assay_trial_options_release(options);
}

/* Every unit is found again by its worker, mode and step. Asked of a catalog as it is read: in an opened trial, units
 * may have been aligned (trial/align.h), and bear other steps than their workers counted. */
static inline void find_units(assay_store *store)
{
    assay_catalog catalog = {0};
    assay_error err = {""};
    if (assay_catalog_read(store, NULL, &catalog, &err) != ASSAY_OK)
        return;
    for (size_t i = 0; i < catalog.unit_count; i++) {
        const assay_unit *u = &catalog.units[i];
        for (uint32_t k = 0; k < catalog.format_count; k++)
            if (catalog.formats[k] == u->format)
                must(assay_catalog_unit(&catalog, u->step, u->mode, u->worker, k).place == u->place);
    }
    if (catalog.log.kind)
        find_units_unasked(store, &catalog);
    assay_catalog_release(&catalog);
}

static inline void watch(const assay_trial_files *t)
{
    size_t places = 0;
    char path[ASSAY_PATH_ROOM];
    must(assay_trial_places(t->store, visit, &places) == ASSAY_OK);
    find_units(t->store);
    for (size_t i = 0; i < t->catalog.unit_count; i++) {
        must(assay_unit_places(t->store, &t->catalog, &t->catalog.units[i], visit, &places) == ASSAY_OK);
        must(assay_unit_path(&t->catalog, &t->catalog.units[i], path, sizeof path) > 0);
        (void)assay_unit_is_behind(&t->catalog, i);
        must(assay_catalog_worker(&t->catalog, t->catalog.worker[t->catalog.units[i].worker]) != ASSAY_NO_ID);
    }
    (void)assay_catalog_is_unwatched(&t->catalog);
    for (size_t p = 0; p < t->shard.count; p++) {
        (void)assay_part_is_promised(&t->shard.parts[p]);
        must(assay_part_is_whole(t->store, &t->catalog, &t->shard, &t->shard.parts[p]) != ASSAY_ENOMEM);
    }
}

/* What is no tensor, and the names of all workers that there should be. */
static inline void read_names(const assay_trial_files *t)
{
    assay_trial_others others = {0};
    assay_worker_names names;
    char room[ASSAY_WORKER_ROOM];
    must(assay_trial_list_others(t, INT64_MIN, INT64_MAX, &others) == ASSAY_OK);
    assay_trial_others_release(&others);
    must(assay_worker_names_init(&names, &t->catalog) == ASSAY_OK);
    for (uint32_t w = 0; w < t->catalog.expected_workers && w < 100; w++)
        must(assay_worker_name(&names, w, room)[0] != '\0');
    assay_worker_names_release(&names);
}

/* All that a run and a watch do with a trial that could be opened. */
static inline void read_trial(assay_trial_files *t)
{
    must(t->catalog.unit_count > 0 || t->problems.total > 0 || t->catalog.events.found || t->catalog.log.kind);
    send_catalog(&t->catalog);
    send_shard(&t->shard);
    send_claims(&t->shard.claims, assay_dict_count(t->tensors));
    read_names(t);
    read_records(t);
    watch(t);
    must(assay_shard_align(&t->shard, &t->catalog) == ASSAY_OK);
    look_back(t);
    for (size_t i = 0; i < t->catalog.events.count; i++)
        read_once(t->store, &t->catalog.events.list[i], true);
}

#endif
