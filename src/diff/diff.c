/* diff.c - see diff.h. */
#include "diff/diff.h"

#include <stdlib.h>

#include "base/fault.h"
#include "base/fields.h"
#include "base/hash.h"

void assay_diff_release(assay_diff *d)
{
    for (size_t i = 0; i < d->pairs; i++)
        free(d->pair[i].text);
    free(d->pair);
    free(d->only_a.list);
    free(d->only_b.list);
    free(d->steps_a);
    free(d->steps_b);
    assay_trial_release(&d->a);
    assay_trial_release(&d->b);
    *d = (assay_diff){0};
}

static uint64_t weight_of(const assay_diff_pair *p)
{
    return 1 + (p->a.entry ? p->a.entry->length : 0) + (p->b.entry ? p->b.entry->length : 0);
}

/* ---- between ranks ---- */

#define FIGURE(member) ASSAY_FIELD(assay_diff_pair, figures.member)
/* What comparing a pair comes to. */
static const assay_field pair_fields[] = {ASSAY_FIELD_MOST(assay_diff_pair, state, ASSAY_DIFF_UNREAD),
                                          ASSAY_FIELD(assay_diff_pair, dtype_a),
                                          ASSAY_FIELD(assay_diff_pair, dtype_b),
                                          ASSAY_FIELD_COUNTED(assay_diff_pair, shape_a, dims_a),
                                          ASSAY_FIELD_COUNTED(assay_diff_pair, shape_b, dims_b),
                                          FIGURE(elements),
                                          FIGURE(unequal),
                                          FIGURE(apart),
                                          FIGURE(first),
                                          FIGURE(first_a),
                                          FIGURE(first_b),
                                          FIGURE(largest),
                                          FIGURE(largest_at),
                                          FIGURE(relative),
                                          FIGURE(dot),
                                          FIGURE(squares_a),
                                          FIGURE(squares_b),
                                          ASSAY_FIELD(assay_diff_pair, text),
                                          {0}};

static int get_pair(assay_cursor *in, assay_diff *d)
{
    const uint64_t i = assay_get_u64(in);
    if (in->failed || i >= d->pairs)
        return ASSAY_EINTERNAL;
    free(d->pair[i].text);
    const int status = assay_fields_unpack(pair_fields, in, &d->pair[i]);
    return status == ASSAY_EFORMAT ? ASSAY_EINTERNAL : status;
}

/* What every rank found, to rank 0. */
static int gather(assay_comm *comm, assay_diff *d, size_t first, size_t end, assay_error *err)
{
    assay_buf mine, all;
    assay_buf_init(&mine, SIZE_MAX);
    assay_buf_init(&all, SIZE_MAX);
    uint64_t *starts = assay_alloc(((size_t)assay_comm_size(comm) + 1) * sizeof *starts);
    for (size_t i = first; i < end; i++) {
        assay_put_u64(&mine, i);
        assay_fields_pack(pair_fields, &d->pair[i], &mine);
    }
    int status = assay_comm_agree(comm, starts ? assay_buf_status(&mine) : ASSAY_ENOMEM, err);
    if (status == ASSAY_OK)
        status = assay_comm_gather(comm, 0, &mine, &all, starts);
    assay_cursor in = assay_cursor_over(all.data, all.size);
    while (status == ASSAY_OK && assay_comm_rank(comm) == 0 && assay_cursor_left(&in) > 0)
        status = get_pair(&in, d);
    assay_buf_release(&mine);
    assay_buf_release(&all);
    free(starts);
    return assay_comm_agree(comm, status, err);
}

/* A number for what this rank will compare: the pairs, and whether their records are there. */
static uint64_t hash_pairs(const assay_diff *d, assay_buf *room)
{
    for (size_t i = 0; i < d->pairs; i++) {
        const assay_diff_pair *p = &d->pair[i];
        assay_put_i64(room, p->step);
        assay_put_u32(room, p->worker);
        assay_put_u32(room, p->other_worker);
        assay_put_u8(room, (uint8_t)((p->a.entry ? 1 : 0) | (p->b.entry ? 2 : 0)));
        assay_put_text(room, p->name_a);
        assay_put_text(room, p->name_b);
    }
    return assay_hash_bytes(room->data, room->size);
}

static const char *first_loss(const assay_diff *d)
{
    const char *of_a = assay_problems_loss(&d->a.problems);
    return of_a ? of_a : assay_problems_loss(&d->b.problems);
}

/* The text of the first loss in `of` that `other` does not have; NULL: there is none. */
static const char *find_own_loss(const assay_problems *of, const assay_problems *other)
{
    for (size_t i = 0; i < of->kept; i++)
        if (assay_problem_is_loss(of->list[i].kind) && !assay_problems_have(other, of->list[i].text))
            return of->list[i].text;
    return NULL;
}

/* The pairs of this rank are not those of rank 0. A loss is named only of the one that has more of them. */
static int refuse_other(int rank, const assay_problems *mine, const assay_problems *first, assay_error *err)
{
    const bool more = mine->losses > first->losses;
    const char *loss = more                           ? find_own_loss(mine, first)
                       : mine->losses < first->losses ? find_own_loss(first, mine)
                                                      : NULL;
    if (loss)
        return assay_fail(err, ASSAY_EIO, "rank 0 and rank %d do not find the same tensors; on rank %d: %s", rank,
                          more ? rank : 0, loss);
    return assay_fail(err, ASSAY_EIO,
                      "rank 0 and rank %d do not find the same tensors: a trial changed while it was read, or not "
                      "every rank sees the same files",
                      rank);
}

/* Every rank has read both indexes by itself. A file that one of them could not read would shift its pairs against the
 * others'. */
static int check_same(assay_comm *comm, const assay_diff *d, assay_error *err)
{
    assay_buf room, told;
    assay_problems own, first;
    assay_buf_init(&room, SIZE_MAX);
    assay_buf_init(&told, SIZE_MAX);
    assay_problems_init(&own);
    assay_problems_init(&first);
    const uint64_t mine = hash_pairs(d, &room);
    int status = assay_buf_status(&room);
    assay_buf_release(&room);
    if (status == ASSAY_OK)
        status = assay_problems_append(&own, &d->a.problems);
    if (status == ASSAY_OK)
        status = assay_problems_append(&own, &d->b.problems);
    assay_put_u64(&told, mine);
    assay_problems_pack(&own, &told);
    status = assay_comm_agree(comm, status == ASSAY_OK ? assay_buf_status(&told) : status, err);
    if (status == ASSAY_OK)
        status = assay_comm_broadcast(comm, &told);
    assay_cursor in = assay_cursor_over(told.data, told.size);
    const uint64_t wanted = assay_get_u64(&in);
    if (status == ASSAY_OK)
        status = assay_problems_unpack(&in, &first, err);
    if (status == ASSAY_OK && mine != wanted)
        status = refuse_other(assay_comm_rank(comm), &own, &first, err);
    assay_problems_release(&own);
    assay_problems_release(&first);
    assay_buf_release(&told);
    return assay_comm_agree(comm, status, err);
}

/* ---- the whole ---- */

/* Compares the pairs whose bytes begin in this rank's share of all bytes. */
static int compare_share(assay_comm *comm, assay_diff *d, const assay_diff_options *o, size_t *first, size_t *end)
{
    const uint64_t rank = (uint64_t)assay_comm_rank(comm), ranks = (uint64_t)assay_comm_size(comm);
    uint64_t total = 0, at = 0;
    assay_diff_reading *r = assay_alloc_zeroed(1, sizeof *r);
    for (size_t i = 0; i < d->pairs; i++)
        total += weight_of(&d->pair[i]);
    assay_progress *progress = assay_progress_new(comm, o->progress, 0, total);
    int status = assay_comm_agree(comm, r && progress ? ASSAY_OK : ASSAY_ENOMEM, NULL);
    *first = *end = 0;
    if (status != ASSAY_OK) {
        assay_progress_drop(progress);
        free(r);
        return status;
    }
    *r = (assay_diff_reading){.a = {.trial = &d->a}, .b = {.trial = &d->b}, .options = o, .progress = progress};
    for (size_t i = 0; status == ASSAY_OK && i < d->pairs; i++) {
        const uint64_t share = (uint64_t)((double)at / (double)total * (double)ranks);
        at += weight_of(&d->pair[i]);
        if ((share < ranks ? share : ranks - 1) != rank)
            continue;
        *first = *end == 0 ? i : *first;
        *end = i + 1;
        status = assay_diff_compare(r, &d->pair[i]);
    }
    assay_trial_reader_close(&r->a);
    assay_trial_reader_close(&r->b);
    assay_progress_end(progress);
    free(r);
    return status;
}

static void count_bytes(assay_diff *d)
{
    for (size_t i = 0; i < d->pairs; i++)
        d->bytes +=
            d->pair[i].figures.elements * (assay_dtype_size(d->pair[i].dtype_a) + assay_dtype_size(d->pair[i].dtype_b));
}

/* Nothing could be paired. */
static int refuse_nothing(const assay_diff *d, const char *a, const char *b, assay_error *err)
{
    if (first_loss(d))
        return assay_fail(err, ASSAY_EUSAGE, "%s and %s have no tensor in common that can be read: %s", a, b,
                          first_loss(d));
    if (d->a.catalog.workers != d->b.catalog.workers && !d->a.catalog.topology && !d->b.catalog.topology)
        return assay_fail(err, ASSAY_EUSAGE,
                          "%s has %u workers, and %s has %u, of other names, and nothing says which of them has which "
                          "piece of a tensor: give --topology FILE (see assay topology)",
                          a, d->a.catalog.workers, b, d->b.catalog.workers);
    return assay_fail(
        err, ASSAY_EUSAGE,
        "%s and %s have no tensor of one name at one step: --map 'REGEX=NAME' tells which names stand for the same", a,
        b);
}

/* A topology that is given is that of trials of several workers. */
static int open_trial(const char *location, const char *topology, assay_trial_files *out, assay_error *err)
{
    int status = assay_trial_open(location, out, err);
    if (status != ASSAY_OK || !topology || out->catalog.workers == 1)
        return status;
    assay_trial_release(out);
    return assay_trial_open_laid_out(location, topology, out, err);
}

int assay_diff_run(assay_comm *comm, const char *a, const char *b, const assay_diff_options *options, assay_diff *out,
                   assay_error *err)
{
    size_t first = 0, end = 0;
    *out = (assay_diff){0};
    int status = open_trial(a, options->topology, &out->a, err);
    if (status == ASSAY_OK)
        status = open_trial(b, options->topology, &out->b, err);
    if (status == ASSAY_OK)
        status = assay_diff_pair_up(out, options, err);
    if (status == ASSAY_OK && out->pairs == 0)
        status = refuse_nothing(out, a, b, err);
    status = assay_comm_agree(comm, status, err);
    if (status == ASSAY_OK)
        status = check_same(comm, out, err);
    if (status == ASSAY_OK)
        status = assay_comm_agree(comm, compare_share(comm, out, options, &first, &end), err);
    if (status == ASSAY_OK)
        status = gather(comm, out, first, end, err);
    if (status == ASSAY_OK)
        count_bytes(out);
    return status;
}
