/* outcome.c - see outcome.h and engine.h. */
#include "engine/outcome.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "rule/common_state.h"
#include "rule/no_data.h"

/* ---- verdicts ---- */

static int fail_verdict(assay_verdict *v, const char *text)
{
    v->status = ASSAY_RULE_ERROR;
    assay_buf_clear(&v->message);
    assay_put_format(&v->message, "%s", text);
    return assay_buf_status(&v->message);
}

/* What could not be read is never a pass: a rule that saw nothing else is in error, the others say so. */
static int mention_unreadable(assay_verdict *v, uint64_t records)
{
    if (records == 0)
        return ASSAY_OK;
    if (v->status == ASSAY_NO_DATA)
        v->status = ASSAY_RULE_ERROR;
    if (v->message.size > 0)
        assay_put_format(&v->message, " ");
    assay_put_format(&v->message, "%llu record%s that the rule needed could not be read: see the problems.",
                     (unsigned long long)records, assay_plural(records));
    return assay_buf_status(&v->message);
}

static void put_sentences(assay_buf *out, const assay_buf *more)
{
    if (out->size > 0 && more->size > 0)
        assay_put_u8(out, ' ');
    assay_put_bytes(out, more->data, more->size);
}

/* Explains why a rule tested nothing: from the index if that is conclusive, else from the rule and the index. What the
 * rule says itself comes last in every case. */
static int explain_no_data(assay_verdict *v, const assay_instance *instance, const assay_rule *rule)
{
    assay_buf known = ASSAY_BUF(1 << 16), all = ASSAY_BUF(1 << 17);
    bool aggregation = rule->ops->traits & ASSAY_RULE_AGGREGATION; /* never has datapoints */
    bool none = assay_no_data_explain(rule, instance, &known);
    if (!none)
        put_sentences(&all, &v->no_data);
    if (none || !aggregation)
        put_sentences(&all, &known);
    if (!aggregation && all.size == 0 && v->message.size == 0)
        assay_no_data_describe(rule, instance, &all);
    put_sentences(&all, &v->message);
    const int status = assay_buf_status(&all);
    uint8_t *fitting =
        all.size > 0 ? assay_realloc_array(all.data, all.size, 1) : NULL; /* many trials keep many of them */
    if (fitting) {
        all.data = fitting;
        all.room = all.size;
    }
    assay_buf_release(&v->message);
    v->message = all;
    assay_buf_release(&known);
    assay_buf_release(&v->no_data);
    return status;
}

/* `other` is the trial that the rule compares with, NULL: none. */
static int reach(assay_rule_outcome *out, const assay_instance *instance, const assay_rule *rule,
                 const assay_source *other, assay_partial_rule *partial)
{
    out->instance = instance;
    ASSAY_TRY(assay_verdict_init(&out->verdict, assay_rule_max_findings(rule)));
    if (instance->status != ASSAY_OK)
        return fail_verdict(&out->verdict, instance->error.text);
    if (other && other->status != ASSAY_OK)
        return fail_verdict(&out->verdict, other->error.text);
    if (partial->status != ASSAY_OK)
        return fail_verdict(&out->verdict, partial->error);
    if (!partial->state && !(partial->state = rule->ops->state_new(rule)))
        return ASSAY_ENOMEM;
    int status = assay_verdict_reach(rule, partial->state, &out->verdict);
    if (rule->ops->traits & ASSAY_RULE_KEEPS_STATE) { /* it moves from the partial */
        out->state = partial->state;
        partial->state = NULL;
    }
    ASSAY_THEN(status, mention_unreadable(&out->verdict, partial->unreadable));
    return status == ASSAY_OK && out->verdict.status == ASSAY_NO_DATA ? explain_no_data(&out->verdict, instance, rule)
                                                                      : status;
}

/* The state moves from the partial. */
static void keep(assay_implicit_outcome *out, const assay_instance *instance, assay_partial_rule *partial)
{
    out->status = instance->status != ASSAY_OK ? instance->status : partial->status;
    if (out->status != ASSAY_OK)
        return;
    out->state = partial->state;
    partial->state = NULL;
}

static void release_rule(assay_rule_outcome *rule)
{
    assay_verdict_release(&rule->verdict);
    if (rule->state)
        rule->instance->ops->state_free(rule->state);
}

/* `job` has all the rules that were planned, `kept` those that are reported. */
static int reach_all(assay_trial_outcome *t, const assay_job *job, const assay_job *kept, const assay_sources *sources,
                     const assay_rule *rules, assay_partial *whole)
{
    size_t next = 0;
    t->rules = assay_alloc_zeroed(kept->rule_count, sizeof *t->rules);
    t->aggregations = assay_alloc_zeroed(job->aggregation_count, sizeof *t->aggregations);
    t->implicit = assay_alloc_zeroed(job->implicit_count, sizeof *t->implicit);
    int status = t->rules && t->aggregations && t->implicit ? ASSAY_OK : ASSAY_ENOMEM;
    size_t named = job->rule_count + job->aggregation_count;
    for (size_t i = 0; i < job->implicit_count && status == ASSAY_OK; i++)
        keep(&t->implicit[i], job->implicit[i], &whole->rule[named + i]);
    for (size_t i = 0; status == ASSAY_OK && i < named; i++) {
        const bool is_rule = i < job->rule_count;
        if (is_rule && (next == kept->rule_count || kept->rules[next] != job->rules[i]))
            continue;
        assay_rule_outcome *to = is_rule ? &t->rules[next++] : &t->aggregations[i - job->rule_count];
        const assay_source *other = sources->other[i] == ASSAY_NO_ID ? NULL : &sources->list[sources->other[i]];
        status = reach(to, assay_job_instance(job, i), &rules[i], other, &whole->rule[i]);
    }
    return status;
}

/* ---- the rules of a set ---- */

/* What rules look at. */
enum { LOOKS_AT_TENSORS = 1, LOOKS_AT_TIME = 2, LOOKS_AT_TRACES = 4, LOOKS_AT_DUMPS = 8, LOOKS_AT_ALL = 15 };

/* What the trials that could be opened have. */
static unsigned find_kinds(const assay_outcome *out)
{
    unsigned kinds = 0;
    for (size_t t = 0; t < out->trial_count; t++) {
        const assay_trial_outcome *trial = &out->trials[t];
        const unsigned events = assay_event_files_kinds(&trial->catalog.events);
        const unsigned traces = 1u << ASSAY_EVENTS_TRACE, dumps = 1u << ASSAY_EVENTS_DUMP;
        if (trial->status != ASSAY_OK)
            continue;
        kinds |= trial->catalog.format_count > 0 ? LOOKS_AT_TENSORS : 0u;
        kinds |= events & ~(traces | dumps) ? LOOKS_AT_TIME : 0u;
        kinds |= events & traces ? LOOKS_AT_TRACES : 0u;
        kinds |= events & dumps ? LOOKS_AT_DUMPS : 0u;
    }
    return kinds;
}

static unsigned kind_of(const assay_instance *rule)
{
    const uint32_t traits = rule->ops ? rule->ops->traits : 0;
    if (traits & ASSAY_RULE_TRACES)
        return LOOKS_AT_TRACES;
    if (traits & ASSAY_RULE_DUMPS)
        return LOOKS_AT_DUMPS;
    return traits & ASSAY_RULE_TIMELINE ? LOOKS_AT_TIME : LOOKS_AT_TENSORS;
}

/* Of a set of rules, of which a trial takes what it has data for, those are left out that look at what no trial has:
 * rules over tensors where all is profiler data, and the other way round. */
static int narrow(assay_outcome *out)
{
    const unsigned kinds = find_kinds(out);
    size_t kept = 0;
    if (kinds == 0 || kinds == LOOKS_AT_ALL)
        return ASSAY_OK;
    assay_job *job = assay_alloc(sizeof *job);
    assay_instance **rules = assay_alloc_zeroed(out->job->rule_count, sizeof *rules);
    if (!job || !rules) {
        free(job);
        free(rules);
        return ASSAY_ENOMEM;
    }
    *job = *out->job;
    for (size_t i = 0; i < job->rule_count; i++) {
        assay_instance *rule = job->rules[i];
        if (!rule->optional || (kinds & kind_of(rule)))
            rules[kept++] = rule;
    }
    job->rules = rules;
    job->rule_count = kept;
    out->job = out->narrowed = job;
    return ASSAY_OK;
}

/* ---- the outcome ---- */

/* What was listed moves from the source to the trial. */
static void take_listing(assay_outcome *out, uint32_t number, assay_source *source)
{
    assay_trial_outcome *t = &out->trials[number];
    t->trial = &out->job->trials[number];
    t->status = source->status;
    t->error = source->error;
    t->catalog = source->catalog;
    t->info = source->info;
    t->problems = source->problems;
    source->catalog = (assay_catalog){0};
    t->store = source->store;
    source->store = NULL;
    source->info = NULL;
    assay_problems_init(&source->problems);
    if (t->info)
        t->info->catalog = &t->catalog;
}

/* When the steps of the tensors were, where the trial recorded that too. */
static int find_step_times(assay_trial_outcome *t)
{
    const assay_timeline *line = assay_trial_timeline(t->info);
    if (!line || line->steps == 0 || t->catalog.workers == 0)
        return ASSAY_OK;
    t->info->step_times = assay_step_times_new(line, (const char *const *)t->catalog.worker, t->catalog.workers);
    return t->info->step_times ? ASSAY_OK : ASSAY_ENOMEM;
}

static int fill_trial(assay_outcome *out, const assay_job *job, assay_trial_outcome *t, const assay_sources *sources,
                      const assay_rule *rules, assay_partial *whole, bool dry_run)
{
    if (t->status != ASSAY_OK)
        return ASSAY_OK;
    int status = assay_incomplete_find(&t->catalog, t->info->steps, t->info->step_count, t->info->worker_modes,
                                       &t->incomplete, &t->incomplete_count);
    if (status != ASSAY_OK || dry_run)
        return status;
    t->diagnosis = assay_alloc_zeroed(1, sizeof *t->diagnosis);
    ASSAY_HAVE(t->diagnosis);
    t->unsummed = whole->unsummed + assay_event_files_unsummed(&t->catalog.events);
    t->not_finite = whole->not_finite;
    status = assay_problems_append(&t->problems, &whole->problems);
    t->info->problems = &t->problems;
    ASSAY_THEN(status, reach_all(t, job, out->job, sources, rules, whole));
    t->info->problems = NULL;
    return status == ASSAY_OK ? find_step_times(t) : status;
}

static assay_plan_figures figures_of(const assay_plan *plan, int ranks)
{
    assay_plan_figures f = {.chunks = plan->chunk_count};
    for (uint64_t c = 0; c < plan->chunk_count; c++) {
        f.records += plan->chunks[c].records;
        f.bytes += plan->chunks[c].bytes;
        f.steps += plan->chunks[c].steps;
        f.cost += (double)plan->chunks[c].cost;
    }
    f.steps_shared = plan->by_tensor ? f.steps : assay_plan_steps_shared(plan, ranks);
    f.imbalance = plan->by_tensor ? plan->excess_by_tensor : assay_plan_imbalance(plan, ranks);
    f.imbalance_of_16 = assay_plan_imbalance(plan, 16);
    f.imbalance_of_64 = assay_plan_imbalance(plan, 64);
    return f;
}

int assay_outcome_fill(assay_outcome *out, assay_sources *sources, const assay_plan *plan, const assay_rule *rules,
                       assay_partial *whole, bool dry_run)
{
    out->plan = figures_of(plan, out->run.ranks);
    out->trials = assay_alloc_zeroed(sources->job_trials, sizeof *out->trials);
    ASSAY_HAVE(out->trials);
    out->trial_count = sources->job_trials;
    for (uint32_t t = 0; t < sources->job_trials; t++)
        take_listing(out, t, &sources->list[t]);
    const assay_job *job = out->job;
    int status = narrow(out);
    for (uint32_t t = 0; t < sources->job_trials && status == ASSAY_OK; t++)
        status =
            fill_trial(out, job, &out->trials[t], sources, rules + (size_t)t * plan->instances, &whole[t], dry_run);
    return status;
}

/* ---- outcomes of some trials each ---- */

static bool reports_same_rules(const assay_job *a, const assay_job *b)
{
    return a->rule_count == b->rule_count &&
           (a->rule_count == 0 || memcmp(a->rules, b->rules, a->rule_count * sizeof *a->rules) == 0);
}

/* What the busiest ranks of two plans have over the mean of both, when one is done after the other. */
static double join_imbalance(const assay_plan_figures *a, double of_a, const assay_plan_figures *b, double of_b)
{
    const double cost = a->cost + b->cost;
    return cost > 0 ? (of_a * a->cost + of_b * b->cost) / cost : 0;
}

/* What a communicator and the stores have counted since they were made is in the later figures. */
static void join_figures(assay_outcome *to, const assay_outcome *more)
{
    const assay_run_figures *later = &more->run;
    assay_run_figures sum = to->run;
    assay_plan_figures *plan = &to->plan;
    const assay_plan_figures *behind = &more->plan;
    plan->imbalance = join_imbalance(plan, plan->imbalance, behind, behind->imbalance);
    plan->imbalance_of_16 = join_imbalance(plan, plan->imbalance_of_16, behind, behind->imbalance_of_16);
    plan->imbalance_of_64 = join_imbalance(plan, plan->imbalance_of_64, behind, behind->imbalance_of_64);
    plan->cost += behind->cost;
    plan->chunks += behind->chunks;
    plan->records += behind->records;
    plan->bytes += behind->bytes;
    plan->steps += behind->steps;
    plan->steps_shared += behind->steps_shared;
    sum.ranks = later->ranks;
    sum.nodes = later->nodes;
    sum.messages = later->messages;
    sum.message_bytes = later->message_bytes;
    sum.peak_memory = later->peak_memory;
    sum.s3 = later->s3;
    sum.bytes_read += later->bytes_read;
    sum.records_read += later->records_read;
    sum.files_opened += later->files_opened;
    sum.steps_shared += later->steps_shared;
    sum.steps_moved += later->steps_moved;
    sum.seconds += later->seconds;
    sum.seconds_listing += later->seconds_listing;
    sum.seconds_reading += later->seconds_reading;
    sum.seconds_combining += later->seconds_combining;
    sum.processor += later->processor;
    sum.processor_reading += later->processor_reading;
    sum.processor_busiest += later->processor_busiest;
    to->run = sum;
}

/* Moves rows to the outcome's file, from which one trial's are read at a time. Where that cannot be written they stay
 * where they are. */
static void put_rows_away(assay_outcome *out, assay_implicit_outcome *of)
{
    assay_buf bytes;
    if (!of->state || !of->state->series || assay_series_count(of->state->series) == 0)
        return;
    if (!out->rows && !(out->rows = tmpfile()))
        return;
    assay_buf_init(&bytes, SIZE_MAX);
    assay_series_pack(of->state->series, &bytes);
    const off_t at = fseeko(out->rows, 0, SEEK_END) == 0 ? ftello(out->rows) : -1;
    assay_series *empty = at >= 0 ? assay_series_new(0) : NULL;
    if (empty && assay_buf_status(&bytes) == ASSAY_OK && fwrite(bytes.data, 1, bytes.size, out->rows) == bytes.size) {
        assay_series_free(of->state->series);
        of->state->series = empty;
        of->rows_at = (uint64_t)at;
        of->rows_size = bytes.size;
    } else {
        assay_series_free(empty);
    }
    assay_buf_release(&bytes);
}

int assay_outcome_rows(const assay_outcome *outcome, const assay_implicit_outcome *of, const assay_series **rows,
                       assay_series **own)
{
    *own = NULL;
    *rows = of->status == ASSAY_OK && of->state ? of->state->series : NULL;
    if (!*rows || of->rows_size == 0)
        return ASSAY_OK;
    uint8_t *bytes = assay_alloc(of->rows_size);
    int status = bytes ? ASSAY_OK : ASSAY_ENOMEM;
    if (bytes && (fseeko(outcome->rows, (off_t)of->rows_at, SEEK_SET) != 0 ||
                  fread(bytes, 1, of->rows_size, outcome->rows) != of->rows_size))
        status = ASSAY_EIO;
    if (status == ASSAY_OK) {
        assay_cursor width = assay_cursor_over(bytes, of->rows_size), in = width;
        status = assay_series_unpack(&in, assay_get_u32(&width), own, NULL);
    }
    free(bytes);
    *rows = *own;
    return status;
}

int assay_outcome_join(assay_outcome *to, const assay_job *job, assay_outcome *more)
{
    if (!to->trials) {
        to->trials = assay_alloc_zeroed(job->trial_count, sizeof *to->trials);
        ASSAY_HAVE(to->trials);
        to->job = job;
        if (more->narrowed) {
            to->job = to->narrowed = more->narrowed;
            to->narrowed->trials = job->trials;
            to->narrowed->trial_count = job->trial_count;
            more->narrowed = NULL;
        }
    } else if (!reports_same_rules(to->job, more->job)) {
        return ASSAY_EFORMAT;
    }
    for (size_t i = 0; i < more->trial_count; i++) {
        assay_trial_outcome *t = &to->trials[to->trial_count++];
        *t = more->trials[i];
        more->trials[i] = (assay_trial_outcome){0};
        if (t->info)
            t->info->catalog = &t->catalog;
        for (size_t k = 0; t->implicit && k < job->implicit_count; k++)
            put_rows_away(to, &t->implicit[k]);
    }
    join_figures(to, more);
    return ASSAY_OK;
}

void assay_outcome_release(assay_outcome *outcome)
{
    for (size_t t = 0; outcome->trials && t < outcome->trial_count; t++) {
        assay_trial_outcome *trial = &outcome->trials[t];
        if (trial->diagnosis && trial->diagnosis->made)
            trial->diagnosis->release(trial->diagnosis->made);
        free(trial->diagnosis);
        for (size_t i = 0; trial->rules && i < outcome->job->rule_count; i++)
            release_rule(&trial->rules[i]);
        for (size_t i = 0; trial->aggregations && i < outcome->job->aggregation_count; i++)
            release_rule(&trial->aggregations[i]);
        for (size_t i = 0; trial->implicit && i < outcome->job->implicit_count; i++)
            if (trial->implicit[i].state)
                outcome->job->implicit[i]->ops->state_free(trial->implicit[i].state);
        free(trial->implicit);
        for (size_t i = 0; i < trial->incomplete_count; i++)
            free(trial->incomplete[i].missing);
        free(trial->incomplete);
        free(trial->rules);
        free(trial->aggregations);
        assay_problems_release(&trial->problems);
        free(trial->unsafe);
        free(trial->job_end);
        free(trial->job_seen);
        assay_trial_info_free(trial->info);
        assay_catalog_release(&trial->catalog);
        assay_store_close(trial->store);
    }
    free(outcome->trials);
    if (outcome->rows)
        fclose(outcome->rows);
    if (outcome->narrowed)
        free(outcome->narrowed->rules);
    free(outcome->narrowed);
    *outcome = (assay_outcome){0};
}

bool assay_outcome_has_losses(const assay_outcome *outcome)
{
    for (size_t t = 0; t < outcome->trial_count; t++)
        if (outcome->trials[t].status != ASSAY_OK || outcome->trials[t].problems.losses > 0)
            return true;
    return false;
}
