/* rank_loop.c - see rank_loop.h. */
#include "engine/rank_loop.h"

#include <stdlib.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/pause.h"
#include "engine/map/split_step.h"
#include "engine/steal.h"
#include "parallel/interrupt.h"

/* ---- shared steps ---- */

/* Who helps this rank, and what it measured for another one. */
typedef struct shared_steps {
    assay_comm *comm;
    assay_step_sharing sharing;
    int next;       /* of the ranks that help, the first whose part has not come */
    assay_buf mine; /* on its way */
} shared_steps;

static int receive_next(void *context, assay_buf *in)
{
    shared_steps *l = context;
    return assay_comm_receive_post(l->comm, ASSAY_POST_SHARED, l->next++, in);
}

/* Does what this rank has to do for a lower one before anything else: it waits for nobody, and that one will wait for
 * it, however this one has fared. Then looks who helps this one. */
static int begin_sharing(const assay_rank_loop *loop, shared_steps *l, int status, assay_error *err)
{
    const assay_plan *plan = loop->plan;
    int rank = assay_comm_rank(loop->comm), ranks = assay_comm_size(loop->comm), sent = ASSAY_OK;
    *l = (shared_steps){.comm = loop->comm};
    assay_buf_init(&l->mine, SIZE_MAX);
    if (plan->helps[rank] != ASSAY_NO_CHUNK) {
        assay_share share = assay_plan_share(plan, ranks, plan->helps[rank]);
        if (status == ASSAY_OK)
            status = assay_mapper_help(loop->mapper, &share, rank, &l->mine, err);
        sent = assay_comm_post(loop->comm, ASSAY_POST_SHARED, share.first, &l->mine);
    }
    uint64_t end = plan->rank_chunk[rank + 1];
    if (plan->rank_chunk[rank] < end && rank + 1 < ranks && plan->helps[rank + 1] == end - 1) {
        l->sharing = (assay_step_sharing){assay_plan_share(plan, ranks, end - 1), l, receive_next};
        l->next = rank + 1;
        loop->mapper->sharing = &l->sharing;
    }
    return status == ASSAY_OK ? sent : status;
}

/* Takes what nobody asked for because the run was stopped or failed, and waits until the own part has been taken. */
static int end_sharing(const assay_rank_loop *loop, shared_steps *l)
{
    assay_pause pause = {0};
    int status = ASSAY_OK, sent;
    while (loop->mapper->sharing && l->next <= l->sharing.share.last && status == ASSAY_OK) {
        assay_buf lost;
        assay_buf_init(&lost, 0);
        status = receive_next(l, &lost);
        assay_buf_release(&lost);
    }
    loop->mapper->sharing = NULL;
    while ((sent = assay_comm_posted(loop->comm, ASSAY_POST_SHARED)) == 0) {
        assay_progress_look(loop->mapper->pool.progress);
        assay_pause_take(&pause);
    }
    assay_buf_release(&l->mine);
    return status != ASSAY_OK ? status : sent < 0 ? sent : ASSAY_OK;
}

/* ---- tensors divided among the ranks ---- */

/* What the ranks measured of this rank's steps. */
typedef struct measured_parts {
    assay_measured_steps steps;
    assay_buf bytes;
} measured_parts;

static void release_measured(const assay_rank_loop *loop, measured_parts *of)
{
    loop->mapper->measured = NULL;
    assay_buf_release(&of->bytes);
    free(of->steps.from);
    free(of->steps.part);
}

/* Measures this rank's tensors at all steps, and exchanges the results with the other ranks. Agreed. */
static int measure_tensors(const assay_rank_loop *loop, measured_parts *of, int status, assay_error *err)
{
    const int rank = assay_comm_rank(loop->comm), ranks = assay_comm_size(loop->comm);
    assay_buf *out = assay_alloc_zeroed((size_t)ranks, sizeof *out);
    uint64_t *starts = assay_alloc(((size_t)ranks + 1) * sizeof *starts);
    of->steps = (assay_measured_steps){.ranks = ranks};
    of->steps.from = assay_alloc((size_t)ranks * sizeof *of->steps.from);
    of->steps.part = assay_alloc((size_t)ranks * sizeof *of->steps.part);
    if (status == ASSAY_OK && !(out && starts && of->steps.from && of->steps.part))
        status = ASSAY_ENOMEM;
    for (int r = 0; out && r < ranks; r++)
        assay_buf_init(&out[r], SIZE_MAX);
    if (status == ASSAY_OK)
        status = assay_mapper_measure(loop->mapper, rank, ranks, out, err);
    status = assay_comm_agree(loop->comm, status, err);
    if (status == ASSAY_OK)
        status = assay_comm_exchange(loop->comm, out, &of->bytes, starts);
    for (int r = 0; out && r < ranks; r++)
        assay_buf_release(&out[r]);
    for (int r = 0; status == ASSAY_OK && r < ranks; r++)
        of->steps.from[r] = assay_cursor_over(of->bytes.data + starts[r], (size_t)(starts[r + 1] - starts[r]));
    loop->mapper->measured = &of->steps;
    free(starts);
    free(out);
    return status;
}

/* ---- chunks ---- */

/* Unpacks the checkpoint's next node, which begins at the loop's chunk, into the combiner. */
static int take_over(const assay_rank_loop *loop, const assay_restart_node *packed, assay_error *err)
{
    assay_combiner *combiner = &loop->combiners[packed->source];
    assay_partial partial;
    int status = assay_partial_init(&partial, combiner->rule_count);
    if (status == ASSAY_OK) {
        assay_cursor in = assay_cursor_over(loop->mine->bytes.data + packed->at, (size_t)packed->size);
        status = assay_partial_unpack(&in, &partial, combiner->rules, err);
        if (status == ASSAY_OK && assay_cursor_bad(&in))
            status = assay_fail(err, ASSAY_EFORMAT,
                                "the results in the checkpoint do not have the form that the "
                                "rules give them");
    }
    if (status == ASSAY_OK)
        status = assay_combiner_add_node(combiner, packed->level, packed->index, &partial);
    assay_partial_release(&partial, combiner->rules);
    return status;
}

/* From the border of chunk *at to the next one: over the chunks that a node of the checkpoint covers, or over one
 * chunk. */
static int step_on(const assay_rank_loop *loop, uint64_t *at, assay_error *err)
{
    assay_restart *mine = loop->mine;
    const assay_restart_node *next = mine->next < mine->count ? &mine->nodes[mine->next] : NULL;
    if (next && assay_restart_first(loop->plan, next) == *at) {
        int status = take_over(loop, next, err);
        if (status == ASSAY_OK) {
            *at = assay_restart_end(loop->plan, next);
            mine->next++;
        }
        return status;
    }
    if (!loop->mapper->measured)
        assay_fault_wait();
    int status = assay_mapper_run(loop->mapper, *at, *at + 1, loop->combiners, err);
    *at += status == ASSAY_OK;
    return status;
}

/* The same, where the chunk may have moved to another rank. */
static int map_next(const assay_rank_loop *loop, assay_steal *moving, uint64_t *at, assay_error *err)
{
    const uint64_t chunk = *at;
    int status = assay_steal_before(moving, chunk);
    if (status == ASSAY_OK)
        status = step_on(loop, at, err);
    assay_steal_after(moving, chunk);
    return status;
}

/* All ranks are at a border. ASSAY_ESTOPPED after a checkpoint on ASSAY_CALL_STOP. A checkpoint on the way that cannot
 * be written is a warning, because the run itself goes on. */
static int save(const assay_rank_loop *loop, assay_call call, int status, assay_error *err)
{
    assay_error said = {""};
    uint64_t done = 0;
    const char *path = loop->options->checkpoint;
    bool failed = status != ASSAY_OK;
    status = assay_restart_save(loop->comm, path, loop->identity, loop->plan, loop->combiners, loop->mine, status,
                                &done, failed ? err : &said);
    if (status == ASSAY_EIO && call == ASSAY_CALL_SAVE && !failed) {
        assay_log_warn("%s: the run goes on without this checkpoint", said.text);
        return ASSAY_OK;
    }
    if (status != ASSAY_OK) {
        if (!failed)
            *err = said;
        return status;
    }
    if (call == ASSAY_CALL_SAVE)
        return ASSAY_OK;
    return assay_fail(err, ASSAY_ESTOPPED,
                      "%s: stopped with %llu of %llu chunks done; run again with --resume to "
                      "go on",
                      path, (unsigned long long)done, (unsigned long long)loop->plan->chunk_count);
}

int assay_rank_loop_run(const assay_rank_loop *loop, int status, assay_error *err)
{
    int rank = assay_comm_rank(loop->comm);
    uint64_t at = loop->plan->rank_chunk[rank], end = loop->plan->rank_chunk[rank + 1];
    bool calls = loop->options->checkpoint != NULL;
    assay_interrupt stop;
    assay_call call = ASSAY_CALL_NONE;
    shared_steps shared;
    measured_parts parts = {.bytes = {0}};
    assay_buf_init(&parts.bytes, SIZE_MAX);
    if (loop->plan->by_tensor)
        status = measure_tensors(loop, &parts, status, err);
    assay_steal moving;
    status = begin_sharing(loop, &shared, status, err);
    loop->mapper->end_chunk = end;
    assay_steal_begin(&moving, loop->comm, loop->plan, loop->sources, loop->mapper,
                      end - (loop->mapper->sharing != NULL));
    assay_interrupt_init(&stop, loop->comm, loop->options->checkpoint_every);
    while (calls || (status == ASSAY_OK && at < end)) {
        bool busy = status == ASSAY_OK && at < end;
        if (calls)
            call = busy ? assay_interrupt_border(&stop) : assay_interrupt_wait(&stop, loop->mapper->pool.progress);
        if (call == ASSAY_CALL_SAVE || call == ASSAY_CALL_STOP)
            status = save(loop, call, status, err);
        if (call == ASSAY_CALL_STOP || call == ASSAY_CALL_FINISH)
            break;
        if (busy && status == ASSAY_OK)
            status = assay_steal_border(&moving, at);
        if (busy && status == ASSAY_OK)
            status = map_next(loop, &moving, &at, err);
        (void)assay_comm_posted(loop->comm, ASSAY_POST_SHARED); /* MPI may need calls to get on with it */
    }
    status = assay_steal_finish(&moving, status, err);
    assay_steal_release(&moving);
    int taken = end_sharing(loop, &shared);
    release_measured(loop, &parts);
    int closed = calls ? assay_interrupt_close(&stop) : ASSAY_OK;
    return status != ASSAY_OK ? status : taken != ASSAY_OK ? taken : closed;
}
