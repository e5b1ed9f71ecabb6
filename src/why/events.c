/* events.c - ranks share the outputs; rank 0 gets what all of them read. */
#include <stdlib.h>

#include "base/fault.h"
#include "base/search.h"
#include "why/internal.h"

typedef struct share { /* an output, or a piece of one */
    uint64_t bytes;
    assay_log_part part; /* its file is the number of the place */
    int owner;           /* the rank that reads it */
} share;

typedef struct reading {            /* what a rank does */
    ASSAY_VEC(share) share;         /* of all ranks */
    size_t budget;                  /* of events, see below */
    ASSAY_VEC(assay_log_file) file; /* that it read */
    ASSAY_VEC(uint64_t) count;      /* events of each, before any were left out: what is kept depends on these alone */
    uint64_t events;                /* kept of all */
} reading;

static int largest_first(const void *a, const void *b)
{
    const share *x = a, *y = b;
    int order = ASSAY_ORDER(y->bytes, x->bytes);
    order = order ? order : ASSAY_ORDER(x->part.file, y->part.file);
    return order ? order : ASSAY_ORDER(x->part.number, y->part.number);
}

static bool add_shares(reading *r, const why_place *place, uint32_t file)
{
    const uint64_t piece = ASSAY_LOG_PIECE;
    const uint32_t pieces = assay_log_pieces(place->bytes, piece);
    const size_t events = r->budget < ASSAY_LOG_EVENTS_MOST ? r->budget : ASSAY_LOG_EVENTS_MOST;
    for (uint32_t k = 0; k < pieces; k++) {
        share *s = ASSAY_VEC_ADD(&r->share);
        if (!s)
            return false;
        *s = (share){.bytes = k + 1 < pieces ? piece : place->bytes - k * piece,
                     .part = {.file = file, .number = k, .pieces = pieces, .bytes = piece, .events = events}};
    }
    return true;
}

/* Each goes to the rank that has least to read so far, the largest first. */
static int deal_out(const why_places *places, int ranks, reading *r)
{
    uint64_t *load = assay_alloc_zeroed((size_t)ranks, sizeof *load);
    bool made = load != NULL;
    for (size_t i = 0; i < places->list.count && made; i++)
        if (places->list.list[i].kind == WHY_OUTPUT)
            made = add_shares(r, &places->list.list[i], (uint32_t)i);
    if (made && r->share.count > 1)
        qsort(r->share.list, r->share.count, sizeof *r->share.list, largest_first);
    for (size_t i = 0; i < r->share.count && made; i++) {
        int least = 0;
        for (int k = 1; k < ranks; k++)
            least = load[k] < load[least] ? k : least;
        r->share.list[i].owner = least;
        load[least] += r->share.list[i].bytes + 4096;
    }
    free(load);
    return made ? ASSAY_OK : ASSAY_ENOMEM;
}

/* ---- how many events there is room for ---- */

enum {
    MEMORY_OF_EVENT = 2048, /* with texts, on its way to rank 0, and there */
    MEMORY_OF_REST = 32 << 20
};

static size_t budget_of(size_t memory)
{
    const size_t room = memory > 2 * (size_t)MEMORY_OF_REST ? memory - MEMORY_OF_REST : memory / 2;
    const size_t events = room / MEMORY_OF_EVENT;
    return events < ASSAY_LOG_EVENTS_LEAST ? ASSAY_LOG_EVENTS_LEAST : events;
}

/* How many of each output may be kept, so that all together are no more than the budget. It does not matter who reads what:
 * a rank that cuts its own outputs so cuts none of them to less than all ranks together do. */
static size_t level_of(const uint64_t *count, size_t outputs, size_t budget)
{
    size_t low = 1, high = budget; /* one of each has to be */
    while (low < high) {
        const size_t middle = low + (high - low + 1) / 2;
        uint64_t sum = 0;
        for (size_t i = 0; i < outputs; i++)
            sum += count[i] < middle ? count[i] : middle;
        if (sum <= budget)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static void cut_to(reading *r, size_t level)
{
    r->events = 0;
    for (size_t i = 0; i < r->file.count; i++) {
        assay_log_file_cut(&r->file.list[i], level);
        r->events += r->file.list[i].event.count;
    }
}

/* Exactly: a million outputs are no reason for two. */
static bool reserve(reading *r, int rank)
{
    size_t own = 0;
    for (size_t i = 0; i < r->share.count; i++)
        own += r->share.list[i].owner == rank;
    return ASSAY_VEC_RESERVE(&r->count, own) && ASSAY_VEC_RESERVE(&r->file, own);
}

static int read_one(assay_job_log *log, assay_store *store, const char *path, const share *s, reading *r,
                    assay_error *err)
{
    uint64_t *count = ASSAY_VEC_ADD(&r->count);
    assay_log_file *file = count ? ASSAY_VEC_ADD(&r->file) : NULL;
    ASSAY_HAVE(file);
    ASSAY_TRY(assay_job_log_read(log, store, path, &s->part, file, err));
    *count = file->event.count;
    r->events += *count;
    if (r->events > r->budget + r->budget / 2) /* not at each output: to find the level takes time */
        cut_to(r, level_of(r->count.list, r->file.count, r->budget));
    return ASSAY_OK;
}

static int read_own(const char *directory, const why_places *places, int rank, reading *r, assay_error *err)
{
    assay_store *store = NULL;
    assay_job_log *log = NULL;
    int status = assay_store_open(directory, &store, err);
    ASSAY_THEN(status, assay_job_log_new(&log, err));
    if (status == ASSAY_OK && !reserve(r, rank))
        status = ASSAY_ENOMEM;
    for (size_t i = 0; i < r->share.count && status == ASSAY_OK; i++) {
        const share *s = &r->share.list[i];
        if (s->owner == rank)
            status = read_one(log, store, places->list.list[s->part.file].path, s, r, err);
    }
    assay_job_log_free(log);
    assay_store_close(store);
    return status == ASSAY_ENOMEM || status == ASSAY_EBUDGET
               ? assay_fail(err, ASSAY_ENOMEM, "%s: out of memory for its outputs", directory)
               : status;
}

/* The level over the outputs of all ranks. Collective. */
static int agree_on_level(assay_comm *comm, const reading *r, uint64_t *starts, size_t *level, assay_error *err)
{
    assay_buf mine = ASSAY_BUF(SIZE_MAX / 4), all = ASSAY_BUF(SIZE_MAX / 4);
    assay_put_bytes(&mine, r->count.list, r->count.count * sizeof *r->count.list);
    int status = assay_comm_agree(comm, assay_buf_status(&mine), err);
    ASSAY_THEN(status, assay_comm_gather_all(comm, &mine, &all, starts));
    if (status == ASSAY_OK)
        *level = level_of((const uint64_t *)(const void *)all.data, all.size / sizeof(uint64_t), r->budget);
    assay_buf_release(&mine);
    assay_buf_release(&all);
    return status;
}

/* Packs the outputs for rank 0, and lets go of each. */
static int pack(reading *r, assay_buf *out)
{
    for (size_t i = 0; i < r->file.count; i++) {
        assay_log_file_pack(&r->file.list[i], out);
        assay_log_file_release(&r->file.list[i]);
    }
    r->file.count = 0;
    return assay_buf_status(out);
}

/* On rank 0: its own outputs are there already. */
static void take_own(reading *r, assay_why *why)
{
    why->file.list = r->file.list;
    why->file.count = r->file.count;
    why->file.room = r->file.room;
    r->file.list = NULL;
    r->file.count = r->file.room = 0;
}

static int by_number(const void *a, const void *b)
{
    const assay_log_file *x = a, *y = b;
    const int order = ASSAY_ORDER(x->file, y->file);
    return order ? order : ASSAY_ORDER(x->piece, y->piece);
}

/* Makes one file of the pieces of each, which stand together. */
static int join_pieces(assay_why *why)
{
    size_t kept = 0;
    int status = ASSAY_OK;
    for (size_t i = 0, next = 0; i < why->file.count; i = next) {
        for (next = i + 1; next < why->file.count && why->file.list[next].file == why->file.list[i].file; next++)
            continue;
        if (status == ASSAY_OK && next - i > 1)
            status = assay_log_file_join(&why->file.list[i], next - i);
        for (size_t k = i + 1; k < next; k++)
            assay_log_file_release(&why->file.list[k]);
        why->file.list[kept++] = why->file.list[i];
    }
    why->file.count = kept;
    return status;
}

static int unpack(const assay_buf *packed, assay_why *why)
{
    assay_cursor in = assay_cursor_over(packed->data, packed->size);
    int status = ASSAY_OK;
    while (status == ASSAY_OK && assay_cursor_left(&in) > 0) {
        assay_log_file *file = ASSAY_VEC_ADD(&why->file);
        status = file ? assay_log_file_unpack(&in, file) : ASSAY_ENOMEM;
    }
    return status;
}

/* Rank 0 gets the outputs of others, of one after the other: all of them would be in memory twice. Collective. */
static int gather(assay_comm *comm, const char *directory, assay_buf *mine, assay_why *why, assay_error *err)
{
    const int rank = assay_comm_rank(comm), ranks = assay_comm_size(comm);
    uint64_t *starts = assay_alloc_zeroed((size_t)ranks + 1, sizeof *starts);
    int status = assay_comm_agree(
        comm, starts ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory for its outputs", directory), err);
    for (int from = 1; from < ranks && status == ASSAY_OK; from++) {
        const assay_buf none = ASSAY_BUF(0);
        assay_buf packed = ASSAY_BUF(SIZE_MAX / 4);
        status = assay_comm_gather(comm, 0, rank == from ? mine : &none, &packed, starts);
        if (rank == from)
            assay_buf_release(mine);
        if (status == ASSAY_OK) {
            const int unpacked = rank == 0 ? unpack(&packed, why) : ASSAY_OK;
            if (unpacked != ASSAY_OK)
                assay_fail(err, unpacked, "%s: out of memory for its outputs", directory);
            status = assay_comm_agree(comm, unpacked, err);
        }
        assay_buf_release(&packed);
    }
    free(starts);
    return status;
}

/* On rank 0: puts them in order, and pieces together. */
static int put_in_order(assay_why *why)
{
    if (why->file.count > 1)
        qsort(why->file.list, why->file.count, sizeof *why->file.list, by_number);
    return join_pieces(why);
}

int why_read_outputs(assay_comm *comm, const char *directory, const why_places *places, size_t memory, assay_why *why,
                     assay_error *err)
{
    const int rank = assay_comm_rank(comm), ranks = assay_comm_size(comm);
    reading read = {.budget = budget_of(memory)};
    size_t level = read.budget;
    assay_buf mine = ASSAY_BUF(SIZE_MAX / 4);
    uint64_t *starts = assay_alloc_zeroed((size_t)ranks + 1, sizeof *starts);
    int status = starts ? deal_out(places, ranks, &read) : ASSAY_ENOMEM;
    if (status == ASSAY_OK)
        status = read_own(directory, places, rank, &read, err);
    else
        assay_fail(err, status, "%s: out of memory for its outputs", directory);
    status = assay_comm_agree(comm, status, err);
    ASSAY_THEN(status, agree_on_level(comm, &read, starts, &level, err));
    if (status == ASSAY_OK) {
        cut_to(&read, level);
        if (rank == 0)
            take_own(&read, why);
        const int packed = pack(&read, &mine);
        status = assay_comm_agree(
            comm, packed == ASSAY_OK ? packed : assay_fail(err, packed, "%s: out of memory for its outputs", directory),
            err);
    }
    ASSAY_THEN(status, gather(comm, directory, &mine, why, err));
    if (status == ASSAY_OK) {
        const int made = rank == 0 ? put_in_order(why) : ASSAY_OK;
        status = assay_comm_agree(
            comm, made == ASSAY_OK ? made : assay_fail(err, made, "%s: out of memory for its outputs", directory), err);
    }
    for (size_t i = 0; i < read.file.count; i++)
        assay_log_file_release(&read.file.list[i]);
    free(read.file.list);
    free(read.count.list);
    assay_buf_release(&mine);
    free(read.share.list);
    free(starts);
    return status;
}
