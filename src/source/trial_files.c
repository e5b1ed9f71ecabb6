/* trial_files.c - a whole trial opened by one process. */
#include "source/trial_files.h"

#include <stdlib.h>

#include "base/fault.h"
#include "trial/align.h"
#include "trial/runs.h"
#include "trial/trial_format.h"
#include "topology/attach.h"
#include "topology/form.h"

void assay_trial_release(assay_trial_files *trial)
{
    assay_problems_release(&trial->problems);
    assay_shard_release(&trial->shard);
    assay_dict_free(trial->tensors);
    assay_layouts_release(&trial->layouts);
    assay_catalog_release(&trial->catalog);
    assay_trial_options_release(trial->options);
    assay_store_close(trial->store);
    *trial = (assay_trial_files){0};
}

/* Brings the dictionary into byte order and the entries along. */
static int sort_names(assay_trial_files *t)
{
    uint32_t *new_id = assay_alloc_zeroed(assay_dict_count(t->tensors), sizeof *new_id);
    int status = new_id ? assay_dict_sort(t->tensors, new_id) : ASSAY_ENOMEM;
    if (status == ASSAY_OK)
        assay_shard_renumber(&t->shard, new_id);
    if (status == ASSAY_OK)
        assay_manifest_renumber(&t->shard.claims, new_id);
    free(new_id);
    return status;
}

/* Puts the tensors together of which workers have pieces. Names that no worker's numbering is left in take the place
 * of those that were read. */
static int form_tensors(assay_trial_files *t)
{
    assay_dict *recorded = t->tensors;
    uint32_t *new_id;
    int status = assay_layouts_init(&t->layouts);
    ASSAY_THEN(status, assay_form_names(t->catalog.topology, &t->layouts, recorded, &t->shard, &t->problems));
    ASSAY_THEN(status,
               assay_form_tensors(&t->catalog, t->catalog.topology, &t->layouts, recorded, &t->shard, &t->problems));
    ASSAY_TRY(status);
    t->tensors = assay_dict_new();
    status = t->tensors ? assay_shard_used_names(&t->shard, recorded, t->tensors, &new_id) : ASSAY_ENOMEM;
    if (status == ASSAY_OK) {
        assay_shard_renumber(&t->shard, new_id);
        assay_manifest_renumber(&t->shard.claims, new_id);
        free(new_id);
    }
    assay_dict_free(recorded);
    return status;
}

/* Counts how many numbers of steps there are. */
static size_t count_steps(const assay_shard *shard)
{
    size_t count = 0;
    for (size_t p = 0; p < shard->count; p++)
        count += p == 0 || shard->parts[p].step != shard->parts[p - 1].step;
    return count;
}

/* Tells whether an earlier part of the same number has the same mode and mode step. */
static bool is_known_step(const assay_shard *shard, size_t part)
{
    const assay_part *own = &shard->parts[part];
    for (size_t p = part; p > 0 && shard->parts[p - 1].step == own->step; p--)
        if (shard->parts[p - 1].mode == own->mode && shard->parts[p - 1].mode_step == own->mode_step)
            return true;
    return false;
}

/* Counts how many steps there are before they are aligned: a number with two modes or mode steps is two. */
static size_t count_own_steps(const assay_shard *shard)
{
    size_t count = 0;
    for (size_t p = 0; p < shard->count; p++)
        count += !is_known_step(shard, p);
    return count;
}

int assay_trial_open(const char *location, assay_trial_files *out, assay_error *err)
{
    return assay_trial_open_laid_out(location, NULL, out, err);
}

/* Order: tensors are formed before names are sorted, as they bring names of their own; steps are aligned last, and
 * what was apart is named. */
int assay_trial_finish(assay_trial_files *t, assay_error *err)
{
    int status = t->problems.status;
    if (status == ASSAY_OK && t->catalog.topology)
        status = form_tensors(t);
    ASSAY_THEN(status, sort_names(t));
    const size_t steps = count_own_steps(&t->shard);
    ASSAY_THEN(status, assay_shard_align(&t->shard, &t->catalog));
    if (status == ASSAY_OK)
        assay_align_name_apart(&t->catalog, steps, count_steps(&t->shard), &t->shard.claims, &t->problems);
    ASSAY_THEN(status, t->problems.status);
    if (status == ASSAY_OK)
        return ASSAY_OK;
    assay_fail(err, status, "%s: out of memory while reading its index", assay_store_location(t->store));
    assay_trial_release(t);
    return status;
}

/* Reads the index of a trial that is listed. Releases it when that fails. Problems of the listing go first, in the
 * order in which they were found. */
static int read_index(assay_trial_files t, assay_trial_files *out, assay_error *err)
{
    t.tensors = assay_dict_new();
    int status = t.tensors ? assay_problems_append(&t.problems, &t.catalog.problems) : ASSAY_ENOMEM;
    ASSAY_THEN(status, assay_index_read(t.store, &t.catalog, t.catalog.units, t.catalog.unit_count,
                                        &(assay_index_sink){t.tensors, &t.shard, &t.problems}));
    t.problems.status = status == ASSAY_OK ? t.problems.status : status;
    ASSAY_TRY(assay_trial_finish(&t, err));
    *out = t;
    return ASSAY_OK;
}

int assay_trial_open_laid_out(const char *location, const char *topology, assay_trial_files *out, assay_error *err)
{
    assay_trial_files t = {0};
    assay_shard_init(&t.shard);
    assay_problems_init(&t.problems);
    int status = assay_trial_list(location, &t.store, &t.options, &t.catalog, err);
    ASSAY_THEN(status, assay_topology_attach(t.store, topology, NULL, &t.catalog, err));
    if (status == ASSAY_OK)
        return read_index(t, out, err);
    assay_trial_release(&t);
    return status;
}

/* The catalog is copied through its bytes, as it owns what it has; the store is taken over, also by a failure. */
int assay_trial_open_listed(assay_store *store, assay_trial_options *options, const assay_catalog *listed,
                            assay_trial_files *out, assay_error *err)
{
    assay_trial_files t = {.store = store, .options = assay_trial_options_share(options)};
    assay_buf packed = ASSAY_BUF(SIZE_MAX);
    assay_shard_init(&t.shard);
    assay_problems_init(&t.problems);
    assay_catalog_pack(listed, &packed);
    int status = assay_buf_status(&packed);
    assay_cursor in = assay_cursor_over(packed.data, packed.size);
    ASSAY_THEN(status, assay_catalog_unpack(&in, &t.catalog, err));
    assay_buf_release(&packed);
    t.catalog.options = t.options;
    if (status == ASSAY_OK)
        return read_index(t, out, err);
    assay_trial_release(&t);
    return status;
}

/* Only looks at the list of files; nothing is opened beyond that. */
int assay_trial_is_series(const char *location, bool *series, assay_error *err)
{
    assay_store *store = NULL;
    assay_catalog catalog = {0};
    assay_trial_options *options = NULL;
    int status = assay_trial_list(location, &store, &options, &catalog, err);
    *series = status == ASSAY_OK && catalog.format_count > 0;
    for (uint32_t i = 0; status == ASSAY_OK && i < catalog.format_count; i++)
        *series = *series && assay_format_of(catalog.formats[i])->checkpoints;
    const bool listed = status == ASSAY_OK;
    const char *unread = listed ? assay_problems_unread(&catalog.problems) : NULL;
    if (unread)
        status = assay_fail(err, ASSAY_EIO, "%s: %s", location, unread);
    if (listed)
        assay_catalog_release(&catalog);
    assay_trial_options_release(options);
    assay_store_close(store);
    return status;
}

/* A file stays open for the records behind: whoever reads in the order of the index opens each file once. BUDGET: a
 * larger record is refused. */
int assay_trial_record(assay_trial_reader *r, const assay_part *part, const assay_entry *entry, assay_record *record,
                       assay_error *err)
{
    enum { BUDGET = 1 << 30 };
    int status = ASSAY_OK;
    if (r->part != part || r->file != entry->file) {
        r->part = NULL;
        status = assay_reader_open(&r->records, r->trial->store, &r->trial->catalog, part, entry->file, err);
    }
    ASSAY_TRY(status);
    r->part = part;
    r->file = entry->file;
    return assay_reader_entry(r->records, part, entry, r->trial->tensors, BUDGET, record, err);
}

void assay_trial_reader_close(assay_trial_reader *r)
{
    assay_reader_close(r->records);
    r->records = NULL;
    r->part = NULL;
}
