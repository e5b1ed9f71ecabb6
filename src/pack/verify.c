/* verify.c - verifies a packed trial against the trial: names, sizes, every byte, and the index tables against the
 * index. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "pack/pack_internal.h"

enum { PIECE = 1 << 20 };

/* Two sides of one comparison: `a` and `la` of the trial, `b` and `lb` of what was packed. Lists are the same on all
 * ranks, stores are each rank's own. */
typedef struct sides {
    assay_comm *comm;
    const char *trial, *packed;
    assay_store *a, *b;
    assay_file_list la, lb;
} sides;

static int differs(const sides *s, const char *file, const char *how, assay_error *err)
{
    return assay_fail(err, ASSAY_EFORMAT, "%s is not what is in %s: %s %s; pack the trial again", s->packed, s->trial,
                      file, how);
}

static void release(sides *s)
{
    assay_file_list_release(&s->la);
    assay_file_list_release(&s->lb);
    assay_store_close(s->a);
    assay_store_close(s->b);
}

static int open_sides(sides *s, assay_error *err)
{
    int status = assay_comm_agree(s->comm, assay_store_open(s->trial, &s->a, err), err);
    ASSAY_THEN(status, assay_comm_agree(s->comm, assay_store_open(s->packed, &s->b, err), err));
    ASSAY_THEN(status, assay_file_list_read(s->comm, s->a, &s->la, err));
    ASSAY_THEN(status, assay_file_list_read(s->comm, s->b, &s->lb, err));
    return status;
}

/* Compares names, kinds and sizes; the same answer on every rank, as the lists are. */
static int compare_lists(const sides *s, assay_error *err)
{
    uint64_t least = s->la.count < s->lb.count ? s->la.count : s->lb.count;
    for (uint64_t i = 0; i < least; i++) {
        const assay_packed_file *a = &s->la.files[i], *b = &s->lb.files[i];
        const char *name = assay_file_name(&s->la, i);
        if (strcmp(name, assay_file_name(&s->lb, i)) != 0 || a->kind != b->kind)
            return differs(s, name, "is missing, or something else", err);
        if (a->size != b->size)
            return differs(s, name, "has another size", err);
    }
    if (s->la.count != s->lb.count)
        return differs(s, "the number of files", "is another", err);
    return ASSAY_OK;
}

static int compare_bytes(const sides *s, assay_store_file *a, assay_store_file *b, const char *name, uint8_t *room,
                         assay_error *err)
{
    uint64_t size = assay_store_file_size(a);
    for (uint64_t at = 0; at < size;) {
        size_t got = 0, other = 0;
        int status = assay_store_read_at(a, at, room, PIECE, &got, err);
        ASSAY_THEN(status, assay_store_read_at(b, at, room + PIECE, PIECE, &other, err));
        ASSAY_TRY(status);
        /* No byte where there should be some is a difference, and would else go round for ever. */
        if (got == 0 || got != other || memcmp(room, room + PIECE, got) != 0)
            return differs(s, name, "has other bytes", err);
        at += got;
    }
    return ASSAY_OK;
}

/* Compares this rank's share of the files, byte by byte. */
static int compare_share(const sides *s, assay_error *err)
{
    int rank = assay_comm_rank(s->comm), ranks = assay_comm_size(s->comm), status = ASSAY_OK;
    uint64_t end = assay_share(s->la.count, rank + 1, ranks);
    uint8_t *room = assay_alloc(2 * (size_t)PIECE);
    if (!room)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory while comparing");
    uint64_t asked = 0;
    for (uint64_t i = assay_share(s->la.count, rank, ranks); status == ASSAY_OK && i < end; i++) {
        const char *name = assay_file_name(&s->la, i);
        assay_store_file *a = NULL, *b = NULL;
        assay_file_list_ask_ahead(s->a, &s->la, NULL, i, end, &asked);
        if (s->la.files[i].kind != ASSAY_PACKED_FILE)
            continue;
        status = assay_store_open_file(s->a, name, &a, err);
        ASSAY_THEN(status, assay_store_open_file(s->b, name, &b, err));
        ASSAY_THEN(status, compare_bytes(s, a, b, name, room, err));
        assay_store_close_file(a);
        assay_store_close_file(b);
    }
    free(room);
    return status;
}

/* ---- the index ---- */

static int read_one(assay_comm *comm, const char *path, assay_sources *sources, assay_error *err)
{
    assay_job_trial trial = {.path = (char *)path, .name = (char *)"trial"};
    const assay_job job = assay_pack_job(&trial, 1);
    int status = assay_comm_agree(comm, assay_sources_init(sources, &job), err);
    sources->verbatim = true;
    ASSAY_THEN(status, assay_sources_list(comm, sources, err));
    if (status == ASSAY_OK && sources->list[0].status != ASSAY_OK) {
        if (err)
            *err = sources->list[0].error;
        return sources->list[0].status;
    }
    return status == ASSAY_OK ? assay_sources_read(comm, sources, err) : status;
}

/* Shards are this rank's. Both trials are read alike on as many ranks, so parts lie in the same places. */
static bool same_shards(const assay_shard *a, const assay_shard *b)
{
    bool same = a->count == b->count && a->entry_count == b->entry_count && a->shape_count == b->shape_count;
    for (size_t i = 0; same && i < a->count; i++) {
        const assay_part *x = &a->parts[i], *y = &b->parts[i];
        same = x->step == y->step && x->mode_step == y->mode_step && x->worker == y->worker && x->mode == y->mode &&
               x->count == y->count && x->shapes == y->shapes;
    }
    for (size_t i = 0; same && i < a->entry_count; i++) {
        const assay_entry *x = &a->entries[i], *y = &b->entries[i];
        same = x->offset == y->offset && x->length == y->length && x->tensor == y->tensor && x->kind == y->kind;
    }
    return same;
}

static bool same_names(const assay_dict *a, const assay_dict *b)
{
    bool same = assay_dict_count(a) == assay_dict_count(b);
    for (uint32_t i = 0; same && i < assay_dict_count(a); i++) {
        size_t n = 0, m = 0;
        const char *x = assay_dict_name(a, i, &n), *y = assay_dict_name(b, i, &m);
        same = n == m && memcmp(x, y, n) == 0;
    }
    return same;
}

/* Collective. Only the tables in the packed file make this more than the comparison of bytes. */
static int compare_index(const sides *s, assay_error *err)
{
    assay_sources a = {0}, b = {0};
    int status = read_one(s->comm, s->trial, &a, err);
    ASSAY_THEN(status, read_one(s->comm, s->packed, &b, err));
    if (status == ASSAY_OK && (!same_names(a.list[0].info->tensors, b.list[0].info->tensors) ||
                               !same_shards(&a.list[0].shard, &b.list[0].shard)))
        status = differs(s, "the index", "says something else", err);
    status = assay_comm_agree(s->comm, status, err);
    assay_sources_release(&a);
    assay_sources_release(&b);
    return status;
}

/* Collective. The first difference ends it, on whichever rank. */
int assay_pack_compare(assay_comm *comm, const char *trial, const char *packed, assay_error *err)
{
    sides s = {.comm = comm, .trial = trial, .packed = packed};
    int status = open_sides(&s, err);
    ASSAY_THEN(status, compare_lists(&s, err));
    ASSAY_THEN(status, assay_comm_agree(comm, compare_share(&s, err), err));
    release(&s);
    return status == ASSAY_OK ? compare_index(&s, err) : status;
}

/* Collective. A packed file that cannot be opened is none that matches, which is no failure: it is written anew. */
int assay_pack_matches(assay_comm *comm, const char *trial, const char *packed, bool *same, assay_error *err)
{
    sides s = {.comm = comm, .trial = trial, .packed = packed};
    assay_error why = {""};
    int status = assay_comm_agree(comm, assay_store_open(trial, &s.a, err), err);
    if (status == ASSAY_OK && assay_comm_agree(comm, assay_store_open(packed, &s.b, &why), &why) != ASSAY_OK) {
        *same = false;
        release(&s);
        return ASSAY_OK;
    }
    ASSAY_THEN(status, assay_file_list_read(comm, s.a, &s.la, err));
    ASSAY_THEN(status, assay_file_list_read(comm, s.b, &s.lb, err));
    if (status == ASSAY_OK)
        *same = compare_lists(&s, &why) == ASSAY_OK;
    release(&s);
    return status;
}
