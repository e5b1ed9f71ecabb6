/* choice.c - how much of a run the program chose to record. */
#include <inttypes.h>

#include "report/model/report_model.h"
#include "rule/trial_info.h"

/* Puts the end of an ordinal: 500th, 2nd, 3rd, but 11th to 13th. */
static const char *ordinal(uint64_t n)
{
    bool teen = n / 10 % 10 == 1;
    return !teen && n % 10 == 1 ? "st" : !teen && n % 10 == 2 ? "nd" : !teen && n % 10 == 3 ? "rd" : "th";
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Estimates by the numbers of the saved steps, for trials whose hook says nothing: up to the last one. A log is no
 * recording: it has every value that the program logged. */
static void estimate_steps(const assay_trial *info, assay_run_recorded recorded[ASSAY_MODES])
{
    int64_t last[ASSAY_MODES];
    if (assay_trial_is_log(info))
        return;
    for (uint64_t i = 0; i < assay_trial_steps(info); i++) {
        const assay_step_info *step = assay_trial_step(info, i);
        assay_run_recorded *r = &recorded[step->mode];
        if (step->mode_step < 0)
            continue;
        /* `every` of a single step stays 0, which divides nothing: the greatest common divisor of no distance. */
        r->every = r->steps++ == 0 ? 0 : common_divisor(r->every, (uint64_t)(step->mode_step - last[step->mode]));
        r->of = (uint64_t)step->mode_step + 1;
        last[step->mode] = step->mode_step;
    }
}

/* A hook knows how many workers there were; traces know which ranks have no file. */
void report_workers(const assay_trial_outcome *trial, uint64_t *recorded, uint64_t *of)
{
    const assay_run_facts *facts = &trial->catalog.facts;
    const assay_trace_data *traces = trial->info ? assay_trial_traces(trial->info) : NULL;
    const bool said = facts->run_workers > 0 || !traces;
    *recorded = said ? facts->recorded_workers : traces->ranks;
    *of = said ? facts->run_workers : traces->ranks + traces->no_files;
}

/* The smaller of both shares, since each alone leaves part of the training unseen. 100 where nobody says what was
 * left out. */
double report_coverage(const assay_trial_outcome *trial)
{
    const assay_run_facts *facts = &trial->catalog.facts;
    assay_run_recorded estimate[ASSAY_MODES] = {{0, 0, 0}};
    if (facts->run_workers == 0 && trial->info)
        estimate_steps(trial->info, estimate);
    const assay_run_recorded *train =
        facts->run_workers > 0 ? &facts->recorded[ASSAY_MODE_TRAIN] : &estimate[ASSAY_MODE_TRAIN];
    const double steps = train->steps > 0 && train->of > 0 ? 100.0 * (double)train->steps / (double)train->of : 100;
    const double workers =
        facts->run_workers > 0 ? 100.0 * (double)facts->recorded_workers / (double)facts->run_workers : 100;
    return workers < steps ? workers : steps;
}

/* Puts nothing and returns false where everything was recorded. */
bool report_put_choice(const assay_trial_outcome *trial, assay_buf *out)
{
    const assay_run_facts *facts = &trial->catalog.facts;
    assay_run_recorded estimate[ASSAY_MODES] = {{0, 0, 0}};
    const assay_run_recorded *recorded = facts->run_workers > 0 ? facts->recorded : estimate;
    uint64_t workers, of;
    report_workers(trial, &workers, &of);
    bool any = workers < of;
    if (any)
        assay_put_format(out, "%" PRIu64 " of %" PRIu64 " workers", workers, of);
    if (facts->run_workers == 0 && trial->info)
        estimate_steps(trial->info, estimate);
    for (int m = ASSAY_MODE_TRAIN; m < ASSAY_MODES; m++) {
        if (recorded[m].steps == 0 || recorded[m].steps >= recorded[m].of)
            continue;
        assay_put_format(out, "%s%" PRIu64 " of %" PRIu64 " %s steps", any ? ", " : "", recorded[m].steps,
                         recorded[m].of, assay_mode_name(m));
        if (recorded[m].every > 1)
            assay_put_format(out, " (every %" PRIu64 "%s)", recorded[m].every, ordinal(recorded[m].every));
        any = true;
    }
    return any;
}
