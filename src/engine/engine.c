/* engine.c - one job from listing to verdicts:
 *   1. list the trials, read their index, make the plan, bring every index entry to the rank that has its chunk
 *   2. every rank maps its chunks, without MPI
 *   3. every rank reads its share of the event files; their timelines are made on rank 0
 *   4. combine the chunks' results in their order; rank 0 finalizes (outcome.c)
 * After each part the ranks agree whether it succeeded. */
#include "engine/engine.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/pause.h"
#include "engine/map/mapper.h"
#include "engine/map/split_step.h"
#include "engine/outcome.h"
#include "engine/plan/budget.h"
#include "engine/reduce/restart.h"
#include "engine/source/asked.h"
#include "engine/source/run_view.h"
#include "engine/steal.h"
#include "parallel/interrupt.h"

/* ---- rank loop ---- */

/* One rank's way through its chunks: it measures its tensors where the ranks divide these, helps with a
 * step of a lower rank (split_step.h), maps its chunks, takes finished ones from a checkpoint, and between chunks
 * writes checkpoints, stops with the other ranks, or gives chunks to a rank that is done sooner (steal.h). */

typedef struct assay_rank_loop { /* all borrowed */
    assay_comm *comm;
    const assay_plan *plan;
    assay_sources *sources;
    const assay_engine_options *options;
    const assay_restart_identity *identity; /* of the run, when options->checkpoint says where checkpoints go */
    assay_restart *mine;                    /* what came from a checkpoint; empty without one */
    assay_mapper *mapper;
    assay_combiner *combiners; /* [sources] */
} assay_rank_loop;

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
        ASSAY_THEN(status, assay_mapper_help(loop->mapper, &share, rank, &l->mine, err));
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
        assay_buf lost = ASSAY_BUF(0);
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
    ASSAY_THEN(status, assay_mapper_measure(loop->mapper, rank, ranks, out, err));
    status = assay_comm_agree(loop->comm, status, err);
    ASSAY_THEN(status, assay_comm_exchange(loop->comm, out, &of->bytes, starts));
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
                                "the results in the checkpoint do not have the form that the rules give them");
    }
    ASSAY_THEN(status, assay_combiner_add_node(combiner, packed->level, packed->index, &partial));
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
    int status = assay_mapper_run_chunk(loop->mapper, *at, loop->combiners, err);
    *at += status == ASSAY_OK;
    return status;
}

/* The same, where the chunk may have moved to another rank. */
static int map_next(const assay_rank_loop *loop, assay_steal *steal, uint64_t *at, assay_error *err)
{
    const uint64_t chunk = *at;
    int status = assay_steal_before(steal, chunk);
    ASSAY_THEN(status, step_on(loop, at, err));
    assay_steal_after(steal, chunk);
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
                      "%s: stopped with %llu of %llu chunks done; run again with --resume to go on", path,
                      (unsigned long long)done, (unsigned long long)loop->plan->chunk_count);
}

/* A look at what others ask for, which is one for each chunk where chunks are large. Where nothing came, Open MPI lets
 * others have the processor, if it is told that ranks are more than processors: looks behind chunks of a tenth of a
 * millisecond would give it away each time, and a rank at work is none that waits. */
static const double LOOK_EVERY = 1e-3; /* seconds */

static bool is_time_to_look(double *next)
{
    const double time = assay_clock_seconds();
    if (time < *next)
        return false;
    *next = time + LOOK_EVERY;
    return true;
}

/* Goes through this rank's chunks. `status` is how the rank fared before: one that failed maps nothing and takes part
 * all the same. Returns 0, ASSAY_ESTOPPED on every rank after a checkpoint was written, or what ended the run; other
 * failures than ASSAY_ESTOPPED may be this rank's alone: the caller agrees. Collective with options->checkpoint and
 * plan->by_tensor. */
static int assay_rank_loop_run(const assay_rank_loop *loop, int status, assay_error *err)
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
    assay_steal steal;
    status = begin_sharing(loop, &shared, status, err);
    loop->mapper->end_chunk = end;
    assay_steal_begin(&steal, loop->comm, loop->plan, loop->sources, loop->mapper,
                      end - (loop->mapper->sharing != NULL));
    assay_interrupt_init(&stop, loop->comm, loop->options->checkpoint_every);
    double next_look = 0;
    while (calls || (status == ASSAY_OK && at < end)) {
        bool busy = status == ASSAY_OK && at < end;
        const bool looks = is_time_to_look(&next_look);
        if (calls && !busy)
            call = assay_interrupt_wait(&stop, loop->mapper->pool.progress);
        else if (calls)
            call = looks ? assay_interrupt_border(&stop) : ASSAY_CALL_NONE;
        if (call == ASSAY_CALL_SAVE || call == ASSAY_CALL_STOP)
            status = save(loop, call, status, err);
        if (call == ASSAY_CALL_STOP || call == ASSAY_CALL_FINISH)
            break;
        if (busy && looks && status == ASSAY_OK)
            status = assay_steal_border(&steal, at);
        if (busy && status == ASSAY_OK)
            status = map_next(loop, &steal, &at, err);
        if (looks)
            (void)assay_comm_posted(loop->comm, ASSAY_POST_SHARED); /* MPI may need calls to get on with it */
    }
    status = assay_steal_finish(&steal, status, err);
    assay_steal_release(&steal);
    int taken = end_sharing(loop, &shared);
    release_measured(loop, &parts);
    int closed = calls ? assay_interrupt_close(&stop) : ASSAY_OK;
    return status != ASSAY_OK ? status : taken != ASSAY_OK ? taken : closed;
}

/* ---- engine ---- */

/* What the pairs that a rule counts, and rows of which it did not say how many it would keep, may take of --memory. The
 * report takes more for a pair than the rule. */
enum { PAIRS_SHARE = 32, ROWS_SHARE = 4 };

typedef struct run {
    assay_comm *comm;
    const assay_job *job;
    const assay_engine_options *options;
    assay_open_places *places;
    assay_sources sources;
    assay_plan plan;
    assay_budget budget;
    assay_rule *rules;         /* [trial * instances + instance] */
    assay_combiner *combiners; /* [trials] */
    assay_restart_identity identity;
    assay_restart checkpoint; /* this rank's part of the one that the run goes on from */
    assay_buf mapped;         /* what this rank's chunks came to, for the view */
    assay_run_figures figures;
    double start, start_processor;
} run;

/* Did the rule say how many rows it would keep? */
static bool keeps_rows(const assay_instance *instance)
{
    bool keeps = false;
    for (uint32_t s = 0; instance->need && s < instance->need->slot_count; s++)
        keeps = keeps || instance->need->slots[s].keeps_rows;
    return keeps;
}

/* The rules as they are on each trial, and an empty combiner for each. */
static int configure(run *r)
{
    uint32_t instances = r->plan.instances, trials = r->sources.job_trials;
    r->rules = assay_alloc_zeroed((size_t)trials * instances, sizeof *r->rules);
    r->combiners = assay_alloc_zeroed(trials, sizeof *r->combiners);
    ASSAY_HAVE(r->rules && r->combiners);
    for (uint32_t t = 0; t < trials; t++) {
        for (uint32_t i = 0; i < instances; i++) {
            const assay_instance *instance = assay_job_instance(r->job, i);
            uint32_t other = r->sources.other[i];
            r->rules[(size_t)t * instances + i] = (assay_rule){
                .ops = instance->ops,
                .params = instance->params,
                .data = instance->data,
                .trial = r->sources.list[t].info,
                .other = other == ASSAY_NO_ID ? NULL : r->sources.list[other].info,
                .start_step = instance->start_step > r->options->from ? instance->start_step : r->options->from,
                .max_findings = r->job->max_findings,
                .most_pairs = r->options->memory / PAIRS_SHARE,
                .most_rows = keeps_rows(instance) ? 0 : r->options->memory / ROWS_SHARE, /* else they were counted */
                .end_step = instance->end_step < r->options->to ? instance->end_step : r->options->to,
            };
        }
        assay_combiner_init(&r->combiners[t], r->rules + (size_t)t * instances, instances, r->plan.sources[t].chunks);
    }
    return ASSAY_OK;
}

/* Frees what only planning needed, and deals out the remaining memory. */
static int deal_out_memory(run *r, assay_error *err)
{
    int status = ASSAY_OK;
    for (uint32_t s = 0; status == ASSAY_OK && s < r->sources.count; s++)
        status = assay_trial_info_drop_lists(r->sources.list[s].info, &r->sources.list[s].catalog);
    if (status == ASSAY_ENOMEM)
        assay_fail(err, status, "out of memory on rank %d for the collections of a trial", assay_comm_rank(r->comm));
    ASSAY_TRY(status = assay_comm_agree(r->comm, status, err));
    return assay_budget_deal_out(r->comm, &r->plan, &r->sources, r->options->memory, &r->budget);
}

/* Lists the trials. Of logs what no rule asks for is passed over, unless a view keeps them for other jobs. */
static int list_asked(run *r, assay_error *err)
{
    assay_asked asked;
    int status = assay_comm_agree(r->comm, assay_asked_init(&asked, r->job), err);
    r->sources.asked = r->options->view ? NULL : &asked;
    ASSAY_THEN(status, assay_sources_list(r->comm, &r->sources, err));
    r->sources.asked = NULL;
    assay_asked_release(&asked);
    return status;
}

static int prepare(run *r, assay_error *err)
{
    assay_heap_grow_in_place();
    int status = assay_comm_agree(r->comm, assay_sources_init(&r->sources, r->job), err);
    r->sources.view = r->options->view;
    r->sources.places = r->places;
    ASSAY_THEN(status, list_asked(r, err));
    assay_heap_trim(); /* texts of collections and the like were many small blocks */
    ASSAY_THEN(status, assay_sources_read(r->comm, &r->sources, err));
    ASSAY_THEN(status, assay_plan_make(r->comm, r->job, &r->sources, r->options, &r->plan, err));
    if (status == ASSAY_OK && !r->options->dry_run && r->options->checkpoint)
        status = assay_restart_identify(r->comm, &r->sources, &r->plan, r->options, &r->identity, err);
    if (status == ASSAY_OK && !r->options->dry_run && r->options->resume)
        status = assay_restart_resume(r->comm, r->options, &r->identity, &r->plan, &r->checkpoint, err);
    if (status == ASSAY_OK && r->options->view)
        status = r->options->view->recall(r->options->view->context, &r->sources, &r->plan, &r->checkpoint, err);
    ASSAY_THEN(status, deal_out_memory(r, err));
    if (status == ASSAY_OK && !r->options->dry_run)
        status = assay_plan_redistribute(r->comm, &r->plan, &r->sources, err);
    ASSAY_THEN(status, assay_comm_agree(r->comm, configure(r), err));
    assay_heap_reuse();
    if (status == ASSAY_OK && !r->options->dry_run && !r->options->view)
        status = assay_budget_warn(r->comm, &r->budget, r->options->memory);
    r->figures.seconds_listing = assay_clock_seconds() - r->start;
    return status;
}

/* Maps this rank's chunks. Its failure is agreed with the others. */
static int map(run *r, assay_error *err)
{
    uint64_t steps = 0, bytes = 0;
    for (uint64_t c = 0; c < r->plan.chunk_count; c++) {
        steps += r->plan.chunks[c].done ? 0 : r->plan.chunks[c].steps;
        bytes += r->plan.chunks[c].done ? 0 : r->plan.chunks[c].bytes;
    }
    assay_mapper mapper;
    assay_progress *progress = assay_progress_new(r->comm, r->options->progress, steps, bytes);
    int status = assay_comm_agree(r->comm, progress ? ASSAY_OK : ASSAY_ENOMEM, err);
    if (status != ASSAY_OK) {
        assay_progress_drop(progress);
        return status;
    }
    status = assay_mapper_init(&mapper, &r->plan, &r->sources, r->rules, progress, r->options->memory, &r->budget);
    mapper.observer = r->options->observer;
    mapper.mapped = r->options->view ? &r->mapped : NULL;
    assay_rank_loop loop = {.comm = r->comm,
                            .plan = &r->plan,
                            .sources = &r->sources,
                            .options = r->options,
                            .identity = &r->identity,
                            .mine = &r->checkpoint,
                            .mapper = &mapper,
                            .combiners = r->combiners};
    double before = assay_clock_processor();
    status = assay_rank_loop_run(&loop, status, err);
    r->figures.processor_reading = assay_clock_processor() - before;
    r->figures.bytes_read = mapper.pool.bytes_read;
    r->figures.records_read = mapper.pool.records_read;
    r->figures.files_opened = mapper.pool.files_opened;
    r->figures.steps_shared = mapper.steps_shared;
    r->figures.steps_moved = mapper.steps_moved;
    assay_mapper_release(&mapper);
    assay_heap_trim(); /* what the steps' tensors took is free for joining and finalizing, which take large blocks */
    assay_progress_end(progress);
    r->figures.seconds_reading = assay_clock_seconds() - r->start - r->figures.seconds_listing;
    status = assay_comm_agree(r->comm, status, err);
    if (status == ASSAY_OK && r->options->view)
        status = r->options->view->keep(r->options->view->context, &r->plan, &r->sources, &r->mapped, err);
    return status;
}

static int combine(run *r, assay_partial *whole, assay_error *err)
{
    int status = ASSAY_OK;
    for (uint32_t t = 0; t < r->sources.job_trials; t++)
        status = assay_combiner_finish(r->comm, &r->plan, t, &r->combiners[t], status, &whole[t], err);
    if (status == ASSAY_ENOMEM)
        assay_fail(err, status, "out of memory on rank %d while results were combined", assay_comm_rank(r->comm));
    return assay_comm_agree(r->comm, status, err);
}

static uint64_t nanoseconds(double seconds)
{
    return seconds > 0 ? (uint64_t)(1e9 * seconds) : 0;
}

static int add_up_figures(run *r)
{
    assay_run_figures *f = &r->figures;
    f->ranks = assay_comm_size(r->comm);
    f->nodes = assay_comm_nodes(r->comm);
    f->peak_memory = assay_heap_most_resident();
    assay_comm_traffic(r->comm, &f->messages, &f->message_bytes);
    uint64_t sums[] = {f->bytes_read,
                       f->records_read,
                       f->files_opened,
                       f->steps_shared,
                       f->steps_moved,
                       f->messages,
                       f->message_bytes,
                       nanoseconds(assay_clock_processor() - r->start_processor),
                       nanoseconds(f->processor_reading)};
    const assay_s3_counts s3 = assay_s3_count();
    uint64_t requests[] = {s3.gets, s3.lists, s3.puts, s3.repeated, s3.bytes};
    uint64_t largest[] = {f->peak_memory, nanoseconds(f->processor_reading)};
    int status = assay_comm_sum(r->comm, sums, sizeof sums / sizeof *sums);
    ASSAY_THEN(status, assay_comm_sum(r->comm, requests, sizeof requests / sizeof *requests));
    ASSAY_THEN(status, assay_comm_max(r->comm, largest, sizeof largest / sizeof *largest));
    f->s3 = (assay_s3_counts){requests[0], requests[1], requests[2], requests[3], requests[4]};
    f->bytes_read = sums[0];
    f->records_read = sums[1];
    f->files_opened = sums[2];
    f->steps_shared = sums[3];
    f->steps_moved = sums[4];
    f->messages = sums[5];
    f->message_bytes = sums[6];
    f->processor = 1e-9 * (double)sums[7];
    f->processor_reading = 1e-9 * (double)sums[8];
    f->peak_memory = largest[0];
    f->processor_busiest = 1e-9 * (double)largest[1];
    f->seconds = assay_clock_seconds() - r->start;
    f->seconds_combining = f->seconds - f->seconds_listing - f->seconds_reading;
    return status;
}

static void release(run *r)
{
    for (uint32_t t = 0; r->combiners && t < r->sources.job_trials; t++)
        assay_combiner_release(&r->combiners[t]);
    free(r->combiners);
    assay_restart_release(&r->checkpoint);
    assay_buf_release(&r->mapped);
    free(r->rules);
    assay_plan_release(&r->plan);
    assay_sources_release(&r->sources);
}

static int run_trials(assay_comm *comm, const assay_job *job, const assay_engine_options *options,
                      assay_open_places *places, assay_outcome *out, assay_error *err)
{
    run r = {.comm = comm, .job = job, .options = options, .start = assay_clock_seconds()};
    r.start_processor = assay_clock_processor();
    r.places = places;
    uint32_t trials = (uint32_t)job->trial_count, instances = (uint32_t)assay_job_instances(job);
    *out = (assay_outcome){.job = job};
    assay_restart_init(&r.checkpoint);
    assay_buf_init(&r.mapped, SIZE_MAX);
    assay_partial *whole = assay_alloc_zeroed(trials, sizeof *whole);
    int status = whole ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint32_t t = 0; status == ASSAY_OK && t < trials; t++)
        status = assay_partial_init(&whole[t], instances);
    status = assay_comm_agree(comm, status, err);
    ASSAY_THEN(status, prepare(&r, err));
    if (status == ASSAY_OK && !options->dry_run)
        status = map(&r, err);
    if (status == ASSAY_OK && !options->dry_run)
        status = assay_sources_read_events(comm, &r.sources, job, options->memory, &r.figures.bytes_read,
                                           &r.figures.files_opened, err);
    if (status == ASSAY_OK && !options->dry_run)
        status = combine(&r, whole, err);
    ASSAY_THEN(status, add_up_figures(&r));
    if (status == ASSAY_OK && assay_comm_rank(comm) == 0) {
        out->run = r.figures;
        status = assay_outcome_fill(out, &r.sources, &r.plan, r.rules, whole, options->dry_run);
    }
    for (uint32_t t = 0; whole && t < trials; t++)
        assay_partial_release(&whole[t], r.rules ? r.rules + (size_t)t * instances : NULL);
    free(whole);
    release(&r);
    status = assay_comm_agree(comm, status, err);
    if (status != ASSAY_OK)
        assay_outcome_release(out);
    return status;
}

/* ---- many trials ---- */

/* So many trials are run at once: what reading, mapping and combining hold grows with their number, and memory that is touched
 * for the first time takes longer than what is done in it. The next ones take what the last ones held, within KEPT bytes. */
enum { TRIALS_AT_ONCE = 32, KEPT = 32 << 20 };

/* May the trials be run some at a time? A rule that compares looks for its trial among all; checkpoints, views and
 * observers go by the numbers of the trials. */
static bool is_divisible(const assay_job *job, const assay_engine_options *options)
{
    bool divisible = job->trial_count > TRIALS_AT_ONCE && !options->checkpoint && !options->view && !options->observer;
    for (size_t i = 0; i < assay_job_instances(job); i++) {
        const assay_need *need = assay_job_instance(job, i)->need;
        divisible = divisible && !(need && need->other_trial);
    }
    return divisible;
}

/* Of many trials the report keeps findings and curves until its end: so much of each, as bench/README.md measures it.
 * That is said before hours of reading, and not by running out of memory behind them. */
static int check_memory(const assay_job *job, size_t memory, assay_error *err)
{
    enum { TRIAL_KEEPS = 48 << 10 };
    const uint64_t kept = (uint64_t)job->trial_count * TRIAL_KEEPS;
    if (kept <= memory)
        return ASSAY_OK;
    return assay_fail(err, ASSAY_EBUDGET,
                      "--memory %zuMiB is too little for %zu trials: their report keeps about %d KiB of each; use "
                      "--memory %" PRIu64 "MiB, or give fewer trials",
                      (memory + (1 << 20) - 1) >> 20, job->trial_count, TRIAL_KEEPS >> 10, (kept >> 20) + 1);
}

/* Gives what came of some trials to the sink, or puts it behind what came of those before. Collective. */
static int hand_over(assay_comm *comm, const assay_job *job, const assay_engine_options *options, assay_outcome *some,
                     assay_outcome *out, assay_error *err)
{
    int status = ASSAY_OK;
    some->from = options->from;
    some->to = options->to;
    if (assay_comm_rank(comm) == 0)
        status =
            options->sink ? options->sink->take(options->sink->context, some, err) : assay_outcome_join(out, job, some);
    return assay_comm_agree(comm, status, err);
}

static int run_parts(assay_comm *comm, const assay_job *job, const assay_engine_options *options,
                     assay_open_places *places, assay_outcome *out, assay_error *err)
{
    if (!is_divisible(job, options)) {
        const int status = run_trials(comm, job, options, places, out, err);
        return status == ASSAY_OK && options->sink ? hand_over(comm, job, options, out, NULL, err) : status;
    }
    *out = (assay_outcome){.job = job};
    int status = options->sink ? ASSAY_OK : check_memory(job, options->memory, err);
    assay_heap_keep(KEPT);
    for (size_t first = 0; first < job->trial_count && status == ASSAY_OK; first += TRIALS_AT_ONCE) {
        const size_t left = job->trial_count - first;
        assay_outcome some = {0};
        assay_job part = *job;
        part.trials = job->trials + first;
        part.trial_count = left < TRIALS_AT_ONCE ? left : TRIALS_AT_ONCE;
        status = run_trials(comm, &part, options, places, &some, err);
        ASSAY_THEN(status, hand_over(comm, job, options, &some, out, err));
        assay_outcome_release(&some);
    }
    assay_heap_keep(0);
    assay_heap_trim();
    if (status != ASSAY_OK)
        assay_outcome_release(out);
    return status == ASSAY_EFORMAT && !options->sink ? run_trials(comm, job, options, places, out, err) : status;
}

int assay_engine_run(assay_comm *comm, const assay_job *job, const assay_engine_options *options, assay_outcome *out,
                     assay_error *err)
{
    assay_open_places places = {0};
    const int status = run_parts(comm, job, options, &places, out, err);
    assay_open_places_release(&places);
    if (status == ASSAY_OK) {
        out->from = options->from;
        out->to = options->to;
    }
    return status;
}
