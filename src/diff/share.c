/* share.c - opens a trial on all ranks, which share the work:
 *   1. rank 0 lists it and finds its topology; the others get the catalog
 *   2. each rank reads the index of its part of the units
 *   3. names of tensors, then rows, go to everyone: in rank order they are what one rank would have read
 *   4. each rank makes of them what it needs (source/trial_files.h), from the same bytes */
#include <stdlib.h>

#include "base/fault.h"
#include "diff/diff.h"
#include "topology/attach.h"
#include "trial/options.h"
#include "trial/places.h"
#include "trial/runs.h"

/* Every rank has the whole of a trial's rows at the end, as it had when it read them by itself: tensors are paired over
 * all steps and workers. */
typedef struct sharing {
    assay_comm *comm;
    assay_trial_files *trial;
    assay_buf mine, all;
    uint64_t *starts; /* where the bytes of each rank begin in `all` */
} sharing;

/* ---- the listing ---- */

static int list_here(const char *location, const char *topology, assay_trial_files *t, assay_error *err)
{
    int status = assay_trial_list(location, &t->store, &t->options, &t->catalog, err);
    if (status == ASSAY_OK &&
        t->catalog.workers == 1) /* a topology that is given is that of trials of several workers */
        topology = NULL;
    ASSAY_THEN(status, assay_topology_attach(t->store, topology, NULL, &t->catalog, err));
    return status;
}

static int take_listing(const char *location, const assay_buf *told, assay_trial_files *t, assay_error *err)
{
    assay_cursor in = assay_cursor_over(told->data, told->size);
    int status = assay_trial_options_unpack(&in, &t->options);
    ASSAY_THEN(status, assay_catalog_unpack(&in, &t->catalog, err));
    t->catalog.options = t->options;
    ASSAY_THEN(status, assay_store_open(assay_trial_root(t->options, location), &t->store, err));
    ASSAY_THEN(status, assay_store_unpack_listed(t->store, &in));
    return status;
}

static int list_on_first(sharing *s, const char *location, const char *topology, assay_error *err)
{
    assay_trial_files *t = s->trial;
    const bool first = assay_comm_rank(s->comm) == 0;
    int status = assay_comm_agree(s->comm, first ? list_here(location, topology, t, err) : ASSAY_OK, err);
    if (status == ASSAY_OK && first) {
        assay_trial_options_pack(t->options, &s->mine);
        assay_catalog_pack(&t->catalog, &s->mine);
        assay_store_pack_listed(t->store, &s->mine);
    }
    ASSAY_THEN(status, assay_comm_agree(s->comm, assay_buf_status(&s->mine), err));
    ASSAY_THEN(status, assay_comm_broadcast(s->comm, &s->mine));
    if (status == ASSAY_OK && !first)
        status = take_listing(location, &s->mine, t, err);
    ASSAY_THEN(status, assay_store_keep_sizes(t->store));
    assay_buf_clear(&s->mine);
    return assay_comm_agree(s->comm, status, err);
}

/* ---- the index ---- */

static int read_part(const sharing *s, assay_dict *names, assay_shard *rows, assay_problems *problems)
{
    const assay_trial_files *t = s->trial;
    const size_t units = t->catalog.unit_count, rank = (size_t)assay_comm_rank(s->comm),
                 ranks = (size_t)assay_comm_size(s->comm), first = units / ranks * rank + units % ranks * rank / ranks,
                 end = units / ranks * (rank + 1) + units % ranks * (rank + 1) / ranks, before = rows->count;
    int status = assay_index_read(t->store, &t->catalog, t->catalog.units + first, end - first,
                                  &(assay_index_sink){names, rows, problems});
    for (size_t i = before; i < rows->count && status == ASSAY_OK;
         i++) /* of what is not compared, nobody reads records */
        status = assay_part_check_files(t->store, &t->catalog, rows, &rows->parts[i], problems);
    return status == ASSAY_OK ? problems->status : status;
}

/* Sends what is in s->mine to everyone. Leaves s->mine empty, and what all ranks have sent in s->all. */
static int give_all(sharing *s, int status, assay_error *err)
{
    assay_buf_clear(&s->all);
    ASSAY_THEN(status, assay_buf_status(&s->mine));
    status = assay_comm_agree(s->comm, status, err);
    ASSAY_THEN(status, assay_comm_gather_all(s->comm, &s->mine, &s->all, s->starts));
    assay_buf_clear(&s->mine);
    return status;
}

/* The names of all ranks, in the order in which one rank would have met them. */
static int share_names(sharing *s, const assay_dict *own, int status, assay_error *err)
{
    if (status == ASSAY_OK)
        assay_dict_pack(own, &s->mine);
    ASSAY_TRY(give_all(s, status, err));
    assay_cursor in = assay_cursor_over(s->all.data, s->all.size);
    while (assay_cursor_left(&in) > 0)
        for (uint64_t left = assay_get_count(&in, sizeof(uint32_t)); left > 0; left--) {
            size_t length = 0;
            const char *name = assay_get_text(&in, &length);
            ASSAY_HAVE(assay_dict_add(s->trial->tensors, name, length) != ASSAY_NO_ID);
        }
    return in.failed ? ASSAY_EINTERNAL : ASSAY_OK;
}

/* Gives the rows of this rank the numbers that names have in the dictionary of all. */
static int renumber(const assay_dict *own, const assay_dict *all, assay_shard *rows)
{
    const uint32_t count = assay_dict_count(own);
    uint32_t *new_id = assay_alloc(((size_t)count + 1) * sizeof *new_id);
    ASSAY_HAVE(new_id);
    for (uint32_t i = 0; i < count; i++) {
        size_t length = 0;
        const char *name = assay_dict_name(own, i, &length);
        new_id[i] = assay_dict_find(all, name, length);
    }
    assay_shard_renumber(rows, new_id);
    assay_manifest_renumber(&rows->claims, new_id);
    free(new_id);
    return ASSAY_OK;
}

/* Appends what one rank has read. */
static int take_rows(assay_trial_files *t, assay_cursor *in, assay_error *err)
{
    assay_manifest claims = {0};
    assay_problems problems;
    assay_problems_init(&problems);
    int status = assay_store_unpack_learned(t->store, in);
    ASSAY_THEN(status, assay_shard_unpack(in, &t->shard, err));
    ASSAY_THEN(status, assay_manifest_unpack(in, assay_dict_count(t->tensors), &claims));
    ASSAY_THEN(status, assay_manifest_append(&t->shard.claims, &claims, NULL));
    ASSAY_THEN(status, assay_problems_unpack(in, &problems, err));
    ASSAY_THEN(status, assay_problems_append(&t->problems, &problems));
    assay_manifest_release(&claims);
    assay_problems_release(&problems);
    return status;
}

static int share_rows(sharing *s, const assay_shard *rows, const assay_problems *problems, int status, assay_error *err)
{
    if (status == ASSAY_OK) {
        (void)assay_store_pack_learned(s->trial->store, &s->mine);
        assay_shard_pack(rows, 0, rows->count, &s->mine);
        assay_manifest_pack(&rows->claims, &s->mine);
        assay_problems_pack(problems, &s->mine);
    }
    ASSAY_TRY(give_all(s, status, err));
    assay_cursor in = assay_cursor_over(s->all.data, s->all.size);
    while (status == ASSAY_OK && assay_cursor_left(&in) > 0)
        status = take_rows(s->trial, &in, err);
    return status == ASSAY_EFORMAT || in.failed ? ASSAY_EINTERNAL : status;
}

static int read_index(sharing *s, assay_error *err)
{
    assay_trial_files *t = s->trial;
    assay_shard rows;
    assay_problems problems;
    assay_dict *names = assay_dict_new();
    assay_shard_init(&rows);
    assay_problems_init(&problems);
    t->tensors = assay_dict_new();
    if (t->tensors && assay_comm_size(s->comm) == 1) { /* nothing is sent, nor is there twice */
        assay_dict_free(names);
        return read_part(s, t->tensors, &t->shard, &t->problems);
    }
    int status = names && t->tensors ? read_part(s, names, &rows, &problems) : ASSAY_ENOMEM;
    status = share_names(s, names, status, err);
    ASSAY_THEN(status, renumber(names, t->tensors, &rows));
    /* A rank that failed goes on to where all agree on it. */
    status = share_rows(s, &rows, &problems, status, err);
    assay_shard_release(&rows);
    assay_problems_release(&problems);
    assay_dict_free(names);
    return status;
}

int assay_diff_open(assay_comm *comm, const char *location, const char *topology, assay_trial_files *out,
                    assay_error *err)
{
    assay_trial_files t = {0};
    sharing s = {.comm = comm, .trial = &t, .mine = ASSAY_BUF(SIZE_MAX), .all = ASSAY_BUF(SIZE_MAX)};
    assay_shard_init(&t.shard);
    assay_problems_init(&t.problems);
    s.starts = assay_alloc(((size_t)assay_comm_size(comm) + 1) * sizeof *s.starts);
    int status = assay_comm_agree(comm, s.starts ? ASSAY_OK : ASSAY_ENOMEM, err);
    ASSAY_THEN(status, list_on_first(&s, location, topology, err));
    if (status == ASSAY_OK) {
        t.problems.status = assay_problems_append(&t.problems, &t.catalog.problems);
        status = read_index(&s, err);
    }
    assay_buf_release(&s.mine);
    assay_buf_release(&s.all);
    free(s.starts);
    if (status == ASSAY_OK)
        status = assay_trial_finish(&t, err);
    else
        assay_trial_release(&t);
    status = assay_comm_agree(comm, status, err);
    *out = t;
    return status;
}

int assay_diff_check_files(assay_comm *comm, const assay_diff *diff, int status, assay_error *err)
{
    assay_buf mine = ASSAY_BUF(SIZE_MAX), all = ASSAY_BUF(SIZE_MAX);
    uint64_t *starts = assay_alloc(((size_t)assay_comm_size(comm) + 1) * sizeof *starts);
    ASSAY_THEN(status, starts ? ASSAY_OK : ASSAY_ENOMEM);
    if (status == ASSAY_OK) {
        assay_store_pack_sizes(diff->a.store, &mine);
        assay_store_pack_sizes(diff->b.store, &mine);
    }
    ASSAY_THEN(status, assay_buf_status(&mine));
    status = assay_comm_agree(comm, status, err);
    ASSAY_THEN(status, assay_comm_gather(comm, 0, &mine, &all, starts));
    assay_cursor in = assay_cursor_over(all.data, all.size);
    while (status == ASSAY_OK && assay_comm_rank(comm) == 0 && assay_cursor_left(&in) > 0) {
        status = assay_store_join_sizes(diff->a.store, &in, err);
        ASSAY_THEN(status, assay_store_join_sizes(diff->b.store, &in, err));
    }
    assay_buf_release(&mine);
    assay_buf_release(&all);
    free(starts);
    return assay_comm_agree(comm, status, err);
}
