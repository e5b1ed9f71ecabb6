/* events.c - ranks share the outputs; rank 0 gets what all of them read. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "why/internal.h"

typedef struct share { /* an output */
    uint64_t bytes;
    uint32_t number;
} share;

static int largest_first(const void *a, const void *b)
{
    const share *x = a, *y = b;
    const int order = ASSAY_ORDER(y->bytes, x->bytes);
    return order ? order : ASSAY_ORDER(x->number, y->number);
}

/* Each file goes to the rank that has least to read so far, the largest first. owner[number] is its rank. */
static int deal_out(const why_places *places, int ranks, int *owner)
{
    uint64_t *load = assay_alloc_zeroed((size_t)ranks, sizeof *load);
    share *list = assay_alloc_zeroed(places->list.count + 1, sizeof *list);
    size_t count = 0;
    for (size_t i = 0; list && i < places->list.count; i++)
        if (places->list.list[i].kind == WHY_OUTPUT)
            list[count++] = (share){places->list.list[i].bytes, (uint32_t)i};
    if (load && list) {
        qsort(list, count, sizeof *list, largest_first);
        for (size_t i = 0; i < count; i++) {
            int least = 0;
            for (int r = 1; r < ranks; r++)
                least = load[r] < load[least] ? r : least;
            owner[list[i].number] = least;
            load[least] += list[i].bytes + 4096;
        }
    }
    const bool made = load && list;
    free(load);
    free(list);
    return made ? ASSAY_OK : ASSAY_ENOMEM;
}

static int read_share(const char *directory, const why_places *places, const int *owner, int rank, assay_buf *out,
                      assay_error *err)
{
    assay_store *store = NULL;
    assay_job_log *log = NULL;
    int status = assay_store_open(directory, &store, err);
    if (status == ASSAY_OK)
        status = assay_job_log_new(&log, err);
    for (size_t i = 0; i < places->list.count && status == ASSAY_OK; i++) {
        assay_log_file file = {0};
        if (places->list.list[i].kind != WHY_OUTPUT || owner[i] != rank)
            continue;
        status = assay_job_log_read(log, store, places->list.list[i].path, (uint32_t)i, &file, err);
        if (status == ASSAY_OK) {
            assay_log_file_pack(&file, out);
            status = assay_buf_status(out);
        }
        assay_log_file_release(&file);
    }
    assay_job_log_free(log);
    assay_store_close(store);
    return status == ASSAY_ENOMEM || status == ASSAY_EBUDGET
               ? assay_fail(err, ASSAY_ENOMEM, "%s: out of memory for its outputs", directory)
               : status;
}

static int by_number(const void *a, const void *b)
{
    return ASSAY_ORDER(((const assay_log_file *)a)->file, ((const assay_log_file *)b)->file);
}

static int unpack(const assay_buf *all, assay_why *why)
{
    assay_cursor in = assay_cursor_over(all->data, all->size);
    int status = ASSAY_OK;
    while (status == ASSAY_OK && assay_cursor_left(&in) > 0) {
        assay_log_file *file = ASSAY_VEC_ADD(&why->file);
        status = file ? assay_log_file_unpack(&in, file) : ASSAY_ENOMEM;
    }
    if (status == ASSAY_OK && why->file.count > 1)
        qsort(why->file.list, why->file.count, sizeof *why->file.list, by_number);
    return status;
}

int why_read_outputs(assay_comm *comm, const char *directory, const why_places *places, assay_why *why,
                     assay_error *err)
{
    const int rank = assay_comm_rank(comm), ranks = assay_comm_size(comm);
    assay_buf mine, all;
    int *owner = assay_alloc_zeroed(places->list.count + 1, sizeof *owner);
    uint64_t *starts = assay_alloc_zeroed((size_t)ranks + 1, sizeof *starts);
    assay_buf_init(&mine, SIZE_MAX / 4);
    assay_buf_init(&all, SIZE_MAX / 4);
    int status = owner && starts ? deal_out(places, ranks, owner) : ASSAY_ENOMEM;
    if (status == ASSAY_OK)
        status = read_share(directory, places, owner, rank, &mine, err);
    else
        assay_fail(err, status, "%s: out of memory for its outputs", directory);
    status = assay_comm_agree(comm, status, err);
    if (status == ASSAY_OK)
        status = assay_comm_gather(comm, 0, &mine, &all, starts);
    if (status == ASSAY_OK) {
        const int unpacked = rank == 0 ? unpack(&all, why) : ASSAY_OK;
        if (unpacked != ASSAY_OK)
            assay_fail(err, unpacked, "%s: out of memory for its outputs", directory);
        status = assay_comm_agree(comm, unpacked, err);
    }
    assay_buf_release(&mine);
    assay_buf_release(&all);
    free(owner);
    free(starts);
    return status;
}
