/* restart_run.c - saving and resuming, on all ranks together. Only rank 0 touches the file. */
#include <stdlib.h>

#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "engine/reduce/restart.h"

enum { CEILING_SHIFT = 40, TABLE_ROW = 4 + 4 + 8 + 8 };

/* ---- saving ---- */

static int put_combiners(const assay_plan *plan, const assay_combiner *combiners, assay_buf *out, uint64_t *count,
                         uint64_t *done)
{
    assay_buf packed = ASSAY_BUF(SIZE_MAX);
    int status = ASSAY_OK;
    for (uint32_t s = 0; s < plan->source_count; s++) {
        for (size_t i = 0; status == ASSAY_OK && i < combiners[s].count; i++) {
            const assay_combiner_node *held = &combiners[s].held[i];
            assay_buf_clear(&packed);
            status = assay_partial_pack(&held->partial, combiners[s].rules, &packed);
            assay_restart_put_node(out, s, held->level, held->index, packed.data, packed.size);
            *count += 1;
            *done += (uint64_t)1 << held->level;
        }
    }
    assay_buf_release(&packed);
    return status;
}

/* What this rank adds to the file: its own results, then the ones of the checkpoint before that lie ahead of it. */
static int put_mine(const assay_plan *plan, const assay_combiner *combiners, const assay_restart *mine, assay_buf *out,
                    uint64_t *count, uint64_t *done)
{
    int status = put_combiners(plan, combiners, out, count, done);
    for (size_t i = mine->next; status == ASSAY_OK && i < mine->count; i++) {
        const assay_restart_node *node = &mine->nodes[i];
        assay_restart_put_node(out, node->source, node->level, node->index, mine->bytes.data + node->at, node->size);
        *count += 1;
        *done += (uint64_t)1 << node->level;
    }
    return status == ASSAY_OK ? assay_buf_status(out) : status;
}

static int write_file(const char *path, const assay_restart_identity *identity, const assay_plan *plan,
                      const assay_buf *nodes, uint64_t count, assay_error *err)
{
    assay_buf file = ASSAY_BUF(SIZE_MAX);
    assay_restart_put_file(&file, identity, plan->chunk_count, nodes, count);
    int status = assay_buf_status(&file);
    ASSAY_THEN(status, assay_file_write(path, file.data, file.size, err));
    assay_buf_release(&file);
    return status;
}

int assay_restart_save(assay_comm *comm, const char *path, const assay_restart_identity *identity,
                       const assay_plan *plan, const assay_combiner *combiners, const assay_restart *mine, int status,
                       uint64_t *done, assay_error *err)
{
    uint64_t numbers[2] = {0, 0}; /* nodes, chunks */
    assay_buf own = ASSAY_BUF(SIZE_MAX), all = ASSAY_BUF(SIZE_MAX);
    uint64_t *starts = assay_alloc_zeroed((size_t)assay_comm_size(comm) + 1, sizeof *starts);
    ASSAY_THEN(status, starts ? put_mine(plan, combiners, mine, &own, &numbers[0], &numbers[1]) : ASSAY_ENOMEM);
    if (status == ASSAY_ENOMEM && err && !err->text[0])
        assay_fail(err, status, "out of memory on rank %d for the checkpoint", assay_comm_rank(comm));
    status = assay_comm_agree(comm, status, err);
    ASSAY_THEN(status, assay_comm_sum(comm, numbers, 2));
    ASSAY_THEN(status, assay_comm_gather(comm, 0, &own, &all, starts));
    if (status == ASSAY_OK && assay_comm_rank(comm) == 0)
        status = write_file(path, identity, plan, &all, numbers[0], err);
    *done = numbers[1];
    assay_buf_release(&own);
    assay_buf_release(&all);
    free(starts);
    return assay_comm_agree(comm, status, err);
}

/* ---- resuming ---- */

/* On rank 0: reads and checks the file. There may be none: then there are no nodes. */
static int read_checkpoint(const assay_engine_options *options, const assay_restart_identity *identity,
                           const assay_plan *plan, assay_restart *file, assay_error *err)
{
    const char *path = options->checkpoint;
    int status = assay_file_read_own(path, ASSAY_RESTART_MAGIC, (size_t)1 << CEILING_SHIFT, &file->bytes, err);
    if (status == ASSAY_EFORMAT) /* it begins as no checkpoint does: the parser has the words for that */
        status = assay_restart_parse(path, NULL, 0, identity, plan, &file->nodes, &file->count, err);
    if (status == ASSAY_ENOTFOUND) {
        assay_log_note("%s: no checkpoint found; starting from the beginning", path);
        return ASSAY_OK;
    }
    ASSAY_THEN(status, assay_restart_parse(path, file->bytes.data, file->bytes.size, identity, plan, &file->nodes,
                                           &file->count, err));
    uint64_t done = 0;
    for (size_t i = 0; status == ASSAY_OK && i < file->count; i++)
        done += (uint64_t)1 << file->nodes[i].level;
    if (status == ASSAY_OK)
        assay_log_note("%s: going on with %llu of %llu chunks done", path, (unsigned long long)done,
                       (unsigned long long)plan->chunk_count);
    return status;
}

/* What every rank has to know of the nodes. */
static int put_table(const assay_restart *all, assay_buf *table)
{
    for (size_t i = 0; i < all->count; i++) {
        const assay_restart_node *node = &all->nodes[i];
        assay_put_u32(table, node->source);
        assay_put_u32(table, node->level);
        assay_put_u64(table, node->index);
        assay_put_u64(table, node->size);
    }
    return assay_buf_status(table);
}

/* Marks the nodes' chunks as done and deals the chunks out anew; keeps the nodes that are this rank's. */
static int deal_out(const assay_buf *table, assay_plan *plan, int rank, int ranks, assay_restart *mine)
{
    size_t count = table->size / TABLE_ROW;
    assay_cursor in = assay_cursor_over(table->data, table->size);
    assay_restart_node *all = assay_alloc_zeroed(count, sizeof *all);
    ASSAY_HAVE(all);
    for (size_t i = 0; i < count; i++) {
        all[i].source = assay_get_u32(&in);
        all[i].level = assay_get_u32(&in);
        all[i].index = assay_get_u64(&in);
        all[i].size = assay_get_u64(&in);
        for (uint64_t c = assay_restart_first(plan, &all[i]); c < assay_restart_end(plan, &all[i]); c++)
            plan->chunks[c].done = true;
    }
    int status = assay_plan_partition(plan, ranks);
    uint64_t at = 0;
    for (size_t i = 0; status == ASSAY_OK && i < count; i++) {
        if (assay_plan_owner(plan, ranks, assay_restart_first(plan, &all[i])) != rank)
            continue;
        all[i].at = at;
        at += all[i].size;
        all[mine->count++] = all[i];
    }
    mine->nodes = all;
    return status;
}

/* Rank 0 puts each node's bytes where its chunks are now. */
static int hand_out(assay_comm *comm, const assay_restart *file, const assay_plan *plan, assay_restart *mine)
{
    int ranks = assay_comm_size(comm);
    assay_buf *out = assay_alloc_zeroed((size_t)ranks, sizeof *out);
    uint64_t *starts = assay_alloc_zeroed((size_t)ranks + 1, sizeof *starts);
    int status = out && starts ? ASSAY_OK : ASSAY_ENOMEM;
    for (int r = 0; out && r < ranks; r++)
        assay_buf_init(&out[r], SIZE_MAX);
    for (size_t i = 0; status == ASSAY_OK && i < file->count; i++) {
        int owner = assay_plan_owner(plan, ranks, assay_restart_first(plan, &file->nodes[i]));
        assay_put_bytes(&out[owner], file->bytes.data + file->nodes[i].at, file->nodes[i].size);
        status = assay_buf_status(&out[owner]);
    }
    status = assay_comm_agree(comm, status, NULL);
    ASSAY_THEN(status, assay_comm_exchange(comm, out, &mine->bytes, starts));
    for (int r = 0; out && r < ranks; r++)
        assay_buf_release(&out[r]);
    free(out);
    free(starts);
    return status;
}

int assay_restart_hand_out(assay_comm *comm, const assay_restart *all, assay_plan *plan, assay_restart *mine,
                           assay_error *err)
{
    assay_buf table = ASSAY_BUF(SIZE_MAX);
    int status = ASSAY_OK, rank = assay_comm_rank(comm);
    if (rank == 0)
        status = put_table(all, &table);
    status = assay_comm_agree(comm, status, err);
    ASSAY_THEN(status, assay_comm_broadcast(comm, &table));
    ASSAY_THEN(status, assay_comm_agree(comm, deal_out(&table, plan, rank, assay_comm_size(comm), mine), err));
    ASSAY_THEN(status, hand_out(comm, all, plan, mine));
    assay_buf_release(&table);
    return status;
}

int assay_restart_resume(assay_comm *comm, const assay_engine_options *options, const assay_restart_identity *identity,
                         assay_plan *plan, assay_restart *mine, assay_error *err)
{
    assay_restart file;
    assay_restart_init(&file);
    int status = ASSAY_OK;
    if (assay_comm_rank(comm) == 0)
        status = read_checkpoint(options, identity, plan, &file, err);
    status = assay_comm_agree(comm, status, err);
    ASSAY_THEN(status, assay_restart_hand_out(comm, &file, plan, mine, err));
    if (status == ASSAY_ENOMEM)
        assay_fail(err, status, "%s: out of memory while the checkpoint was read", options->checkpoint);
    assay_restart_release(&file);
    return status;
}
