/* engine.c - one job from listing to verdicts:
 *   1. list the trials, read their index, make the plan, bring every index entry to the rank that has its chunk
 *   2. every rank maps its chunks, without MPI
 *   3. every rank reads its share of the event files; their timelines are made on rank 0
 *   4. combine the chunks' results in their order; rank 0 finalizes (outcome.c)
 * After each part the ranks agree whether it succeeded. */
#include "engine/engine.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/heap.h"
#include "engine/plan/budget.h"
#include "engine/map/mapper.h"
#include "engine/outcome.h"
#include "engine/rank_loop.h"
#include "engine/source/run_view.h"

/* What the pairs that a rule counts, and rows of which it did not say how many it would keep, may take of --memory. The
 * report takes more for a pair than the rule. */
enum { PAIRS_SHARE = 32, ROWS_SHARE = 4 };

typedef struct run {
    assay_comm *comm;
    const assay_job *job;
    const assay_engine_options *options;
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
    if (!r->rules || !r->combiners)
        return ASSAY_ENOMEM;
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
    status = assay_comm_agree(r->comm, status, err);
    if (status != ASSAY_OK)
        return status;
    return assay_budget_deal_out(r->comm, &r->plan, &r->sources, r->options->memory, &r->budget);
}

static int prepare(run *r, assay_error *err)
{
    assay_heap_grow_in_place();
    int status = assay_comm_agree(r->comm, assay_sources_init(&r->sources, r->job), err);
    r->sources.view = r->options->view;
    if (status == ASSAY_OK)
        status = assay_sources_list(r->comm, &r->sources, err);
    assay_heap_trim(); /* texts of collections and the like were many small blocks */
    if (status == ASSAY_OK)
        status = assay_sources_read(r->comm, &r->sources, err);
    if (status == ASSAY_OK)
        status = assay_plan_make(r->comm, r->job, &r->sources, r->options, &r->plan, err);
    if (status == ASSAY_OK && !r->options->dry_run && r->options->checkpoint)
        status = assay_restart_identify(r->comm, &r->sources, &r->plan, r->options, &r->identity, err);
    if (status == ASSAY_OK && !r->options->dry_run && r->options->resume)
        status = assay_restart_resume(r->comm, r->options, &r->identity, &r->plan, &r->checkpoint, err);
    if (status == ASSAY_OK && r->options->view)
        status = r->options->view->recall(r->options->view->context, &r->sources, &r->plan, &r->checkpoint, err);
    if (status == ASSAY_OK)
        status = deal_out_memory(r, err);
    if (status == ASSAY_OK && !r->options->dry_run)
        status = assay_plan_redistribute(r->comm, &r->plan, &r->sources, err);
    if (status == ASSAY_OK)
        status = assay_comm_agree(r->comm, configure(r), err);
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
    if (status == ASSAY_OK)
        status = assay_comm_sum(r->comm, requests, sizeof requests / sizeof *requests);
    if (status == ASSAY_OK)
        status = assay_comm_max(r->comm, largest, sizeof largest / sizeof *largest);
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

int assay_engine_run(assay_comm *comm, const assay_job *job, const assay_engine_options *options, assay_outcome *out,
                     assay_error *err)
{
    run r = {.comm = comm, .job = job, .options = options, .start = assay_clock_seconds()};
    r.start_processor = assay_clock_processor();
    uint32_t trials = (uint32_t)job->trial_count, instances = (uint32_t)assay_job_instances(job);
    *out = (assay_outcome){.job = job};
    assay_restart_init(&r.checkpoint);
    assay_buf_init(&r.mapped, SIZE_MAX);
    assay_partial *whole = assay_alloc_zeroed(trials, sizeof *whole);
    int status = whole ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint32_t t = 0; status == ASSAY_OK && t < trials; t++)
        status = assay_partial_init(&whole[t], instances);
    status = assay_comm_agree(comm, status, err);
    if (status == ASSAY_OK)
        status = prepare(&r, err);
    if (status == ASSAY_OK && !options->dry_run)
        status = map(&r, err);
    if (status == ASSAY_OK && !options->dry_run)
        status = assay_sources_read_events(comm, &r.sources, job, options->memory, &r.figures.bytes_read,
                                           &r.figures.files_opened, err);
    if (status == ASSAY_OK && !options->dry_run)
        status = combine(&r, whole, err);
    if (status == ASSAY_OK)
        status = add_up_figures(&r);
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
