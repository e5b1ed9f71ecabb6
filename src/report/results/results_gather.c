/* results_gather.c - gathers what rows of the results need from other ranks. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "report/results/results_internal.h"

/* ---- names ---- */

/* Columns of text are as wide as the longest text of any rank, so all ranks have to agree on widths before one
 * writes. */
static void widen(uint32_t *width, size_t length)
{
    *width = length > *width ? (uint32_t)length : *width;
}

/* Puts how wide the columns have to be for findings of rules that look at time: what these name is no worker or
 * tensor of the trial. */
static void put_widths_in_time(const assay_outcome *outcome, const assay_trial_outcome *trial, assay_buf *out)
{
    uint32_t worker = 0, unit = 0;
    for (size_t k = 0; trial->info && trial->rules && k < outcome->job->rule_count; k++) {
        const report_rule rule = report_rule_of(outcome, trial, k, false);
        for (size_t i = 0; rule.findings && report_is_in_time(&rule) && i < rule.findings->kept; i++) {
            widen(&worker, strlen(report_finding_worker(trial->info, &rule.findings->list[i])));
            widen(&unit, strlen(report_finding_tensor(trial->info, &rule.findings->list[i])));
        }
    }
    assay_put_u32(out, worker);
    assay_put_u32(out, unit);
}

static void put_names(const assay_outcome *outcome, assay_buf *out)
{
    for (size_t t = 0; t < outcome->trial_count; t++) {
        const assay_trial_outcome *trial = &outcome->trials[t];
        uint32_t tensors = trial->info ? assay_trial_tensors(trial->info) : 0;
        uint32_t workers = trial->info ? assay_trial_workers(trial->info) : 0;
        assay_put_u32(out, tensors);
        for (uint32_t i = 0; i < tensors; i++)
            assay_put_text(out, assay_trial_tensor(trial->info, i));
        assay_put_u32(out, workers);
        for (uint32_t i = 0; i < workers; i++)
            assay_put_text(out, assay_trial_worker(trial->info, i));
        put_widths_in_time(outcome, trial, out);
    }
}

/* Bytes of rank 0 of the same program: a count that does not fit them is a fault of ours, not of a file. */
static int take_dict(assay_cursor *in, assay_dict **out, uint32_t *width)
{
    uint32_t count = assay_get_u32(in);
    *out = assay_dict_new();
    int status = *out ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint32_t i = 0; status == ASSAY_OK && i < count && !in->failed; i++) {
        size_t length = 0;
        const char *name = assay_get_text(in, &length);
        widen(width, length);
        status = assay_dict_add(*out, name, length) == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
    }
    return status == ASSAY_OK && in->failed ? ASSAY_EINTERNAL : status;
}

/* A trial that could not be opened has no names, but its place in the list. */
static int take_names(const assay_job *job, const assay_buf *bytes, results_names *out)
{
    assay_cursor in = assay_cursor_over(bytes->data, bytes->size);
    *out = (results_names){.trials = job->trial_count,
                           .trial_width = 1,
                           .tensor_width = 1,
                           .worker_width = 1,
                           .rule_width = 1,
                           .test_width = 1};
    out->tensors = assay_alloc_zeroed(job->trial_count, sizeof(assay_dict *));
    out->workers = assay_alloc_zeroed(job->trial_count, sizeof(assay_dict *));
    int status = out->tensors && out->workers ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t t = 0; status == ASSAY_OK && t < job->trial_count; t++) {
        widen(&out->trial_width, strlen(job->trials[t].name));
        status = take_dict(&in, &out->tensors[t], &out->tensor_width);
        ASSAY_THEN(status, take_dict(&in, &out->workers[t], &out->worker_width));
        widen(&out->worker_width, assay_get_u32(&in));
        widen(&out->tensor_width, assay_get_u32(&in));
    }
    for (size_t i = 0; i < assay_job_instances(job); i++) {
        const assay_instance *instance = assay_job_instance(job, i);
        widen(&out->rule_width, strlen(instance->name));
        for (const char *const *test = instance->ops ? instance->ops->tests : NULL; test && *test; test++)
            widen(&out->test_width, strlen(*test));
    }
    return status;
}

int results_share_names(assay_comm *comm, const assay_results *results, const assay_outcome *outcome,
                        results_names *out, assay_error *err)
{
    assay_buf bytes = ASSAY_BUF(SIZE_MAX);
    *out = (results_names){0};
    if (assay_comm_rank(comm) == 0)
        put_names(outcome, &bytes);
    int status = assay_comm_agree(comm, assay_buf_status(&bytes), err);
    ASSAY_THEN(status, assay_comm_broadcast(comm, &bytes));
    ASSAY_THEN(status, assay_comm_agree(comm, take_names(results->job, &bytes, out), err));
    assay_buf_release(&bytes);
    return status;
}

void results_release_names(results_names *names)
{
    for (size_t t = 0; t < names->trials; t++) {
        if (names->tensors)
            assay_dict_free(names->tensors[t]);
        if (names->workers)
            assay_dict_free(names->workers[t]);
    }
    free(names->tensors);
    free(names->workers);
    *names = (results_names){0};
}

/* ---- totals ---- */

static int add_total(assay_results *r, const results_count *row)
{
    assay_counter *total = r->totals[row->at.trial * r->job->aggregation_count + row->aggregation];
    return assay_counter_add(total, row->label, row->prediction, row->count);
}

/* Fills rank 0's spools from the joined counters. */
static int spool_totals(assay_results *r, assay_error *err)
{
    int status = ASSAY_OK;
    for (uint32_t t = 0; t < r->job->trial_count; t++) {
        for (uint32_t a = 0; a < r->job->aggregation_count; a++) {
            const assay_counter *total = r->totals[t * r->job->aggregation_count + a];
            bool pairs = results_counts_pairs(r->job->aggregations[a]);
            for (uint64_t i = 0; status == ASSAY_OK && i < assay_counter_size(total); i++) {
                results_count row = {.at = {.trial = t}, .aggregation = a};
                assay_counter_get(total, i, &row.label, &row.prediction, &row.count);
                status = assay_spool_add(pairs ? &r->cell_totals : &r->class_totals, &row, err);
            }
        }
    }
    return status;
}

static void put_totals(const assay_results *r, assay_buf *out)
{
    for (uint32_t t = 0; t < r->job->trial_count; t++) {
        for (uint32_t a = 0; a < r->job->aggregation_count; a++) {
            const assay_counter *total = r->totals[t * r->job->aggregation_count + a];
            for (uint64_t i = 0; i < assay_counter_size(total); i++) {
                results_count row = {.at = {.trial = t}, .aggregation = a};
                assay_counter_get(total, i, &row.label, &row.prediction, &row.count);
                assay_put_bytes(out, &row, sizeof row);
            }
        }
    }
}

/* Rank 0 already has its own totals in its counters, so only the others send. */
int results_join_totals(assay_comm *comm, assay_results *results, assay_error *err)
{
    bool first = assay_comm_rank(comm) == 0;
    assay_buf mine = ASSAY_BUF(SIZE_MAX), all = ASSAY_BUF(SIZE_MAX);
    uint64_t *starts = assay_alloc(((size_t)assay_comm_size(comm) + 1) * sizeof *starts);
    if (!first)
        put_totals(results, &mine);
    int status = assay_comm_agree(comm, starts ? assay_buf_status(&mine) : ASSAY_ENOMEM, err);
    ASSAY_THEN(status, assay_comm_gather(comm, 0, &mine, &all, starts));
    int joined = ASSAY_OK;
    for (size_t at = 0; first && status == ASSAY_OK && joined == ASSAY_OK && at < all.size;
         at += sizeof(results_count)) {
        results_count row;
        memcpy(&row, all.data + at, sizeof row);
        joined = add_total(results, &row);
    }
    if (first && status == ASSAY_OK && joined == ASSAY_OK)
        joined = spool_totals(results, err);
    ASSAY_THEN(status, assay_comm_agree(comm, joined, err));
    free(starts);
    assay_buf_release(&mine);
    assay_buf_release(&all);
    return status;
}

/* ---- findings ---- */

/* A unit that is too long is cut: the column has one width in the file, and the report has the whole text. */
static void take_unit(const assay_trial *info, const report_rule *rule, const assay_finding *f, char unit[RESULTS_UNIT])
{
    assay_buf text = ASSAY_BUF(ASSAY_REPORT_CEILING);
    report_put_unit(info, rule, f, false, &text);
    memcpy(unit, text.data ? text.data : (const uint8_t *)"", text.size < RESULTS_UNIT ? text.size : RESULTS_UNIT - 1);
    assay_buf_release(&text);
}

/* Rank 0 alone has the findings after the rules ended; their texts belong to the outcome, which has to outlive the
 * rows. */
int results_take_findings(assay_results *results, const assay_outcome *outcome, assay_error *err)
{
    int status = ASSAY_OK;
    for (uint32_t t = 0; t < outcome->trial_count; t++) {
        const assay_trial_outcome *trial = &outcome->trials[t];
        for (size_t k = 0; trial->info && trial->rules && k < outcome->job->rule_count; k++) {
            const report_rule rule = report_rule_of(outcome, trial, k, false);
            for (size_t i = 0; rule.findings && status == ASSAY_OK && i < rule.findings->kept; i++) {
                const assay_finding *f = &rule.findings->list[i];
                const assay_step_info *step = report_finding_step(trial->info, f);
                const char *test = report_finding_test(&rule, f);
                results_finding item = {{f->time ? -1 : f->step, step ? step->mode_step : -1, t,
                                         step ? (uint32_t)step->mode : ASSAY_MODE_NONE},
                                        f,
                                        rule.instance->name,
                                        test ? test : "",
                                        report_finding_tensor(trial->info, f),
                                        report_finding_worker(trial->info, f),
                                        ""};
                take_unit(trial->info, &rule, f, item.unit);
                status = assay_spool_add(&results->findings, &item, err);
            }
        }
    }
    return status;
}
