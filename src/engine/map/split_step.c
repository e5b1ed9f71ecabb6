/* split_step.c - see split_step.h. */
#include "engine/map/split_step.h"

#include <stdlib.h>

#include "base/fault.h"

/* ---- which records are whose ---- */

typedef struct range_finder {
    const assay_share *share;
    assay_demand *demand;
    int rank;
    size_t *last; /* [tensors] the last entry of a tensor in the part */
    double cost;  /* of the step so far */
    assay_entry_range found;
} range_finder;

static uint64_t entry_cost(const range_finder *f, const assay_part *part, const assay_entry *entry)
{
    return assay_record_cost(assay_demand_of(f->demand, part, part->mode, entry), entry);
}

static void add_to_range(assay_entry_range *range, size_t p, size_t first, size_t end)
{
    if (range->first_part > range->end_part) {
        range->first_part = p;
        range->first = first;
    }
    range->end_part = p;
    range->end = end;
}

/* Entries of one tensor stay together, with all that lie between them: a group. */
static void find_in_part(range_finder *f, const assay_shard *shard, size_t p)
{
    const assay_part *part = &shard->parts[p];
    double group_cost = ASSAY_COST_OF_FILE;
    size_t group_first = SIZE_MAX, group_last = 0;
    for (size_t e = part->first; e < part->first + part->count; e++)
        if (entry_cost(f, part, &shard->entries[e]) > 0)
            f->last[shard->entries[e].tensor] = e;
    for (size_t e = part->first; e < part->first + part->count; e++) {
        const assay_entry *entry = &shard->entries[e];
        uint64_t cost = entry_cost(f, part, entry);
        if (cost == 0)
            continue;
        group_first = group_first < e ? group_first : e;
        group_last = group_last > f->last[entry->tensor] ? group_last : f->last[entry->tensor];
        group_cost += (double)cost;
        if (e < group_last)
            continue;
        if (assay_share_rank(f->share, f->cost + group_cost / 2) == f->rank)
            add_to_range(&f->found, p, group_first, e + 1);
        f->cost += group_cost;
        group_cost = 0;
        group_first = SIZE_MAX;
    }
}

/* What `rank` has of the step. 0 or ASSAY_ENOMEM. */
static int find_range(assay_step_reader *reader, const assay_step_work *work, const assay_share *share, int rank,
                      assay_entry_range *out)
{
    const assay_source *source = work->source->source;
    const assay_shard *shard = &source->shard;
    range_finder f = {.share = share, .demand = &reader->demand, .rank = rank, .found = {.first_part = SIZE_MAX}};
    f.last = assay_alloc(assay_dict_count(source->info->tensors) * sizeof *f.last);
    ASSAY_HAVE(f.last);
    size_t p = assay_shard_find(shard, work->step->step);
    for (; p < shard->count && shard->parts[p].step == work->step->step; p++)
        find_in_part(&f, shard, p);
    free(f.last);
    *out = f.found;
    return ASSAY_OK;
}

/* Reads what `rank` has of the step behind the results that are there. */
static int read_range(assay_step_reader *reader, assay_step_work *work, const assay_share *share, int rank)
{
    assay_entry_range range;
    ASSAY_TRY(find_range(reader, work, share, rank, &range));
    work->range = &range;
    int status = assay_step_reader_read(reader, work);
    work->range = NULL;
    return status;
}

/* ---- the rank that helps ---- */

/* Packs what was granted beside the `before` bytes that the step held at its beginning. */
static void pack_charge(const assay_step_work *work, size_t before, assay_buf *out)
{
    assay_put_u64(out, work->charge.held - before);
    assay_put_u64(out, work->charge.peak - before);
}

static void pack_results(const assay_step_work *work, assay_buf *out)
{
    assay_tensor_result_form form = assay_map_source_form(work->source);
    assay_put_u64(out, work->count);
    for (size_t i = 0; i < work->count; i++)
        assay_tensor_result_pack(work->results[i], &form, out);
}

/* Packs what was granted, the problems and the results. */
static void pack_range(const assay_step_work *work, size_t before, assay_buf *out)
{
    pack_charge(work, before, out);
    if (assay_partial_pack(work->partial, work->source->rules, out) != ASSAY_OK)
        out->status = ASSAY_ENOMEM;
    pack_results(work, out);
}

int assay_step_sharing_help(assay_step_reader *reader, assay_step_work *work, const assay_share *share, int rank,
                            assay_buf *out)
{
    size_t before = work->charge.held;
    int status = read_range(reader, work, share, rank);
    if (status == ASSAY_OK && !assay_step_work_must_reread(work))
        pack_range(work, before, out);
    if (assay_buf_status(out) != ASSAY_OK || out->size > ASSAY_COMM_POST_MOST)
        assay_buf_clear(out);
    return status;
}

int assay_step_sharing_measure(assay_step_reader *reader, assay_step_work *work, int rank, size_t room, assay_buf *out)
{
    const size_t before = work->charge.held;
    assay_buf packed = ASSAY_BUF(room);
    work->measurer = rank >= 0 ? &rank : NULL;
    int status = assay_step_reader_read(reader, work);
    work->measurer = NULL;
    const bool problems = work->partial->problems.total > 0;
    if (status == ASSAY_OK && !assay_step_work_must_reread(work)) {
        assay_put_u8(&packed, problems);
        pack_charge(work, before, &packed);
        if (problems && assay_partial_pack(work->partial, work->source->rules, &packed) != ASSAY_OK)
            packed.status = ASSAY_ENOMEM;
        pack_results(work, &packed);
    }
    const size_t size = assay_buf_status(&packed) == ASSAY_OK ? packed.size : 0;
    assay_put_u64(out, size);
    assay_put_bytes(out, packed.data, size);
    assay_buf_release(&packed);
    return status == ASSAY_OK ? assay_buf_status(out) : status;
}

/* ---- the rank that has the step ---- */

static int unpack_problems(assay_step_work *work, assay_cursor *in, assay_error *err)
{
    const assay_rule *rules = work->source->rules;
    assay_partial problems;
    int status = assay_partial_init(&problems, work->source->plan->instances);
    ASSAY_THEN(status, assay_partial_unpack(in, &problems, rules, err));
    ASSAY_THEN(status, assay_partial_combine(work->partial, &problems, rules));
    assay_partial_release(&problems, rules);
    return status;
}

static int unpack_results(assay_step_work *work, assay_cursor *in, assay_error *err)
{
    enum { LEAST_RESULT = 4 * 4 + 8 + 1 + 1 + 4 + 1 }; /* bytes of a packed one */
    const assay_dict *names = work->source->source->info->tensors;
    assay_tensor_result_form form = assay_map_source_form(work->source);
    uint64_t count = assay_get_count(in, LEAST_RESULT);
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i++) {
        assay_tensor_result *result = assay_step_work_add(work, 0, 0);
        ASSAY_HAVE(result);
        status = assay_tensor_result_unpack(in, &form, work->arena, result, err);
        if (status == ASSAY_OK)
            result->view.name = assay_dict_name(names, result->view.tensor, NULL);
    }
    return status == ASSAY_OK && assay_cursor_bad(in) ? ASSAY_EFORMAT : status;
}

static assay_step_charge get_charge(assay_cursor *in)
{
    assay_step_charge charge = {.held = (size_t)assay_get_u64(in)};
    charge.peak = (size_t)assay_get_u64(in);
    return charge;
}

/* The status of unpacking what a rank sent. */
static int unpacked(int status, assay_error *err)
{
    if (status == ASSAY_EFORMAT)
        return assay_fail(err, ASSAY_EINTERNAL, "what a rank measured for another one was damaged on its way");
    return status == ASSAY_EBUDGET ? ASSAY_ENOMEM : status;
}

/* Takes a range that was sent, if the step has room for it. */
static int take_range(assay_step_work *work, const uint8_t *bytes, size_t size, bool *taken, assay_error *err)
{
    assay_cursor in = assay_cursor_over(bytes, size);
    assay_step_charge charge = get_charge(&in);
    *taken = size > 0 && assay_step_work_admit(work, charge);
    if (!*taken)
        return ASSAY_OK;
    int status = unpack_problems(work, &in, err);
    ASSAY_THEN(status, unpack_results(work, &in, err));
    return unpacked(status, err);
}

/* Receives the next range and takes it, or else reads it. */
static int join_range(assay_step_reader *reader, assay_step_work *work, const assay_step_sharing *sharing, int rank,
                      bool *helped, assay_error *err)
{
    assay_buf bytes = ASSAY_BUF(SIZE_MAX);
    bool taken = false;
    int status = sharing->receive(sharing->context, &bytes);
    ASSAY_THEN(status, assay_buf_status(&bytes));
    ASSAY_THEN(status, take_range(work, bytes.data, bytes.size, &taken, err));
    assay_buf_release(&bytes);
    *helped |= taken;
    return status == ASSAY_OK && !taken ? read_range(reader, work, &sharing->share, rank) : status;
}

int assay_step_sharing_gather(assay_step_reader *reader, assay_step_work *work, const assay_step_sharing *sharing,
                              bool *helped, assay_error *err)
{
    const assay_share *share = &sharing->share;
    *helped = false;
    int status = read_range(reader, work, share, share->first);
    for (int r = share->first + 1; status == ASSAY_OK && r <= share->last; r++)
        status = join_range(reader, work, sharing, r, helped, err);
    return status;
}

/* Finds the ranks' parts of the next step, and admits them if the step has room for them in any order: for all that
 * they hold, and beside it the most that one of them takes. Of several ranks' problems nobody knows the order.
 * *damaged: the rank that met problems; -1: none did. */
static bool admit_step(assay_step_work *work, const assay_measured_steps *steps, int *damaged)
{
    assay_step_charge all = {0, 0};
    bool complete = true;
    *damaged = -1;
    for (int r = 0; r < steps->ranks; r++) {
        size_t size = (size_t)assay_get_count(&steps->from[r], 1);
        steps->part[r] = assay_cursor_over(assay_get_bytes(&steps->from[r], size), size);
        bool problems = size > 0 && assay_get_u8(&steps->part[r]);
        complete &= size > 0 && (!problems || *damaged < 0);
        *damaged = problems ? r : *damaged;
        assay_step_charge charge = size > 0 ? get_charge(&steps->part[r]) : (assay_step_charge){0, 0};
        all.held += charge.held;
        all.peak = charge.peak > all.peak ? charge.peak : all.peak;
    }
    all.peak += all.held;
    return complete && assay_step_work_admit(work, all);
}

int assay_step_sharing_take(assay_step_reader *reader, assay_step_work *work, const assay_measured_steps *steps,
                            bool *helped, assay_error *err)
{
    int status = ASSAY_OK, damaged;
    *helped = admit_step(work, steps, &damaged);
    if (!*helped)
        return assay_step_reader_read(reader, work);
    if (damaged >= 0)
        status = unpack_problems(work, &steps->part[damaged], err);
    for (int r = 0; status == ASSAY_OK && r < steps->ranks; r++)
        status = unpack_results(work, &steps->part[r], err);
    assay_lookahead_end_step(reader->lookahead, work);
    return unpacked(status, err);
}
