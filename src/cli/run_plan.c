/* run_plan.c - the output of assay run --dry-run. */
#include <inttypes.h>
#include <string.h>

#include "cli/run.h"
#include "report/text/layout.h"

static void put_list(const char *what, assay_instance *const *list, size_t count, assay_buf *out)
{
    assay_put_format(out, "%-13s %zu\n", what, count);
    for (size_t i = 0; i < count; i++) {
        if (list[i]->status == ASSAY_OK)
            continue;
        assay_put_format(out, "  cannot run: ");
        assay_text_put_clean(out, list[i]->name, strlen(list[i]->name));
        assay_put_format(out, ": ");
        assay_text_put_clean(out, list[i]->error.text, strlen(list[i]->error.text));
        assay_put_u8(out, '\n');
    }
}

int run_put_plan(const assay_outcome *outcome, assay_buf *out)
{
    const assay_plan_figures *plan = &outcome->plan;
    for (size_t i = 0; i < outcome->trial_count; i++) {
        const assay_trial_outcome *trial = &outcome->trials[i];
        assay_put_format(out, "trial         ");
        assay_text_put_clean(out, trial->trial->name, strlen(trial->trial->name));
        if (trial->status == ASSAY_OK && trial->info)
            assay_put_format(
                out, ": %" PRIu32 " worker%s, %" PRIu64 " step%s, %" PRIu32 " tensor%s, %" PRIu64 " problem%s\n",
                trial->catalog.workers, assay_plural(trial->catalog.workers), assay_trial_steps(trial->info),
                assay_plural(assay_trial_steps(trial->info)), assay_trial_tensors(trial->info),
                assay_plural(assay_trial_tensors(trial->info)), trial->problems.total,
                assay_plural(trial->problems.total));
        else
            assay_put_format(out, ": cannot be opened\n");
    }
    put_list("rules", outcome->job->rules, outcome->job->rule_count, out);
    put_list("aggregations", outcome->job->aggregations, outcome->job->aggregation_count, out);
    assay_put_format(out, "to read       %" PRIu64 " record%s, ", plan->records, assay_plural(plan->records));
    assay_text_put_bytes(out, plan->bytes);
    assay_put_format(out, ", of %" PRIu64 " step%s in %" PRIu64 " chunk%s\n", plan->steps, assay_plural(plan->steps),
                     plan->chunks, assay_plural(plan->chunks));
    assay_put_format(
        out, "ranks         %d; the busiest has %.1f %% more to do than the mean; %" PRIu64 " step%s shared\n",
        outcome->run.ranks, 100 * plan->imbalance, plan->steps_shared, plan->steps_shared == 1 ? " is" : "s are");
    assay_put_format(out, "              on 16 ranks %.1f %%, on 64 ranks %.1f %%\n", 100 * plan->imbalance_of_16,
                     100 * plan->imbalance_of_64);
    return assay_buf_status(out);
}
