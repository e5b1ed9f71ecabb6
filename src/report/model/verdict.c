/* verdict.c - the verdict of a report in one sentence: the first line of every form. */
#include <inttypes.h>
#include <string.h>

#include "report/model/report_model.h"
#include "report/text/layout.h"

enum { TRIALS_NAMED = 3 };

typedef struct tally {
    size_t found, passed, silent, failed; /* rules by what they came to */
    size_t lead;                          /* the rule whose finding comes first; SIZE_MAX: none */
} tally;

/* Is rule `a` severer than `b`, or did it begin earlier? */
static bool leads(const report_rule *a, const report_rule *b)
{
    if (a->instance->severity != b->instance->severity)
        return a->instance->severity > b->instance->severity;
    const assay_finding *x = report_first(a), *y = report_first(b);
    return x && (!y || x->step < y->step);
}

static tally count_rules(const assay_outcome *outcome, const assay_trial_outcome *trial)
{
    tally n = {.lead = SIZE_MAX};
    for (size_t i = 0; i < outcome->job->rule_count; i++) {
        const report_rule rule = report_rule_of(outcome, trial, i, false);
        n.found += rule.status == ASSAY_ISSUES_FOUND;
        n.passed += rule.status == ASSAY_NO_ISSUES_FOUND;
        n.silent += rule.status == ASSAY_NO_DATA && !report_is_beside(trial, &rule);
        n.failed += rule.status == ASSAY_RULE_ERROR;
        if (rule.status != ASSAY_ISSUES_FOUND)
            continue;
        const report_rule lead = report_rule_of(outcome, trial, n.lead == SIZE_MAX ? i : n.lead, false);
        n.lead = n.lead == SIZE_MAX || leads(&rule, &lead) ? i : n.lead;
    }
    return n;
}

/* "LossSpike at step 12 (worker_0, CrossEntropyLoss_output_0)" */
static void put_place(const assay_trial *info, const report_rule *rule, const report_origin *origin, assay_buf *out)
{
    bool worker = strcmp(origin->worker, "*") != 0 &&
                  (assay_trial_expected_workers(info) > 1 || (origin->finding && origin->finding->time));
    assay_put_bytes(out, rule->instance->name, strlen(rule->instance->name));
    if (!origin->finding)
        return;
    char when[REPORT_WHEN_ROOM];
    assay_put_format(out, " at %s", report_finding_when_in_words(origin->finding, when));
    if (!worker && !origin->tensor[0])
        return;
    assay_put_format(out, " (");
    if (worker)
        assay_put_bytes(out, origin->worker, strlen(origin->worker));
    assay_put_format(out, worker && origin->tensor[0] ? ", " : "");
    assay_put_bytes(out, origin->tensor, strlen(origin->tensor));
    assay_put_format(out, ")");
}

/* What the leading rule found: its cause, or what its first finding means, or its name and where it fired first. */
static void put_lead(const assay_outcome *outcome, const assay_trial_outcome *trial, const tally *n, assay_buf *out)
{
    const report_rule rule = report_rule_of(outcome, trial, n->lead, false);
    report_origin origin;
    report_find_origin(trial->info, &rule, &origin);
    if (origin.cause.size > 0) {
        report_put_origin(trial->info, &origin, out);
    } else if (report_put_sentence(trial->info, &rule, &origin, out)) {
        assay_put_format(out, " (");
        assay_put_bytes(out, rule.instance->name, strlen(rule.instance->name));
        assay_put_format(out, ")");
    } else
        put_place(trial->info, &rule, &origin, out);
    report_origin_release(&origin);
    if (n->found > 1)
        assay_put_format(out, "; %zu more rule%s found something", n->found - 1, assay_plural(n->found - 1));
}

/* "2 parts of the trial are damaged or missing: ckpt_20.pt, ..." behind `before`; nothing where all is whole. */
static void put_losses(const assay_trial_outcome *trial, const char *before, assay_buf *out)
{
    const assay_problems *problems = &trial->problems;
    const char *file = "";
    if (problems->losses == 0)
        return;
    for (size_t i = 0; i < problems->kept && !*file; i++)
        if (assay_problem_is_loss(problems->list[i].kind))
            file = problems->list[i].file;
    assay_put_format(out, "%s%" PRIu64 " part%s of the trial %s damaged or missing", before, problems->losses,
                     assay_plural(problems->losses), problems->losses == 1 ? "is" : "are");
    if (!*file)
        return;
    assay_put_format(out, ": ");
    assay_put_bytes(out, file, strlen(file));
    assay_put_format(out, problems->losses > 1 ? ", ..." : "");
}

void report_put_trial_verdict(const assay_outcome *outcome, const assay_trial_outcome *trial, assay_buf *out)
{
    if (trial->status != ASSAY_OK) {
        assay_put_format(out, "the trial could not be opened: ");
        assay_put_bytes(out, trial->error.text, strlen(trial->error.text));
        return;
    }
    tally n = count_rules(outcome, trial);
    if (n.found > 0)
        put_lead(outcome, trial, &n, out);
    else if (n.passed > 0)
        assay_put_format(out, "nothing wrong in %zu rule%s", n.passed, assay_plural(n.passed));
    else if (outcome->job->rule_count > 0)
        assay_put_format(out, "nothing was tested");
    else
        assay_put_format(out, "no rules to judge by");
    const bool passed = n.found == 0 && n.passed > 0;
    if (passed)
        put_losses(trial, ", but ", out);
    /* "3 had no data" reads well behind "24 rules" alone */
    const bool after_rules = n.found > 1 || (passed && trial->problems.losses == 0);
    if (n.silent > 0)
        assay_put_format(out, "; %zu%s%s had no data", n.silent, after_rules ? "" : " rule",
                         after_rules ? "" : assay_plural(n.silent));
    if (n.failed > 0)
        assay_put_format(out, "; %zu%s%s could not run", n.failed, after_rules || n.silent ? "" : " rule",
                         after_rules || n.silent ? "" : assay_plural(n.failed));
    if (!passed)
        put_losses(trial, "; ", out);
    const assay_run_facts *facts = &trial->catalog.facts;
    if (facts->recorded_workers < facts->run_workers)
        assay_put_format(out, "; judged by %" PRIu64 " of %" PRIu64 " workers", facts->recorded_workers,
                         facts->run_workers);
}

/* The trials in which no rule tested anything. */
static size_t count_untested(const assay_outcome *outcome)
{
    size_t untested = 0;
    for (size_t t = 0; t < outcome->trial_count; t++)
        untested += !report_trial_tested(outcome, &outcome->trials[t]);
    return untested;
}

/* How many trials are judged by only some of their workers. */
static void put_workers(const assay_outcome *outcome, assay_buf *out)
{
    size_t partial = 0;
    for (size_t t = 0; t < outcome->trial_count; t++) {
        const assay_run_facts *facts = &outcome->trials[t].catalog.facts;
        partial += facts->recorded_workers < facts->run_workers;
    }
    if (partial > 0)
        assay_put_format(out, "; %zu judged by only some of their workers", partial);
}

enum { UNREAD = ASSAY_ERROR + 1, SOUND = -1 };

/* The rank of a trial: UNREAD, the severity of its leading finding, or SOUND. */
static int weight_of(const assay_outcome *outcome, const assay_trial_outcome *trial)
{
    if (trial->status != ASSAY_OK)
        return UNREAD;
    tally n = count_rules(outcome, trial);
    return n.found > 0 ? (int)report_rule_of(outcome, trial, n.lead, false).instance->severity : SOUND;
}

/* "2 of 5 trials have findings: run-03 (...), run-07 (...)", the severest first */
static void put_trials(const assay_outcome *outcome, assay_buf *out)
{
    size_t odd = 0, named = 0;
    for (size_t t = 0; t < outcome->trial_count; t++)
        odd += weight_of(outcome, &outcome->trials[t]) != SOUND;
    if (odd == 0) {
        assay_put_format(out, "nothing wrong in %zu trials", outcome->trial_count - count_untested(outcome));
        put_workers(outcome, out);
        return;
    }
    assay_put_format(out, "%zu of %zu trials %s findings: ", odd, outcome->trial_count, odd == 1 ? "has" : "have");
    for (int weight = UNREAD; weight > SOUND; weight--)
        for (size_t t = 0; t < outcome->trial_count && named < TRIALS_NAMED; t++) {
            const assay_trial_outcome *trial = &outcome->trials[t];
            if (weight_of(outcome, trial) != weight)
                continue;
            assay_put_format(out, named++ ? ", " : "");
            assay_put_bytes(out, trial->trial->name, strlen(trial->trial->name));
            assay_put_format(out, " (");
            report_put_trial_verdict(outcome, trial, out);
            assay_put_format(out, ")");
        }
    if (odd > TRIALS_NAMED)
        assay_put_format(out, " and %zu more", odd - TRIALS_NAMED);
}

/* "; nothing was tested in run-07 and 2 more" */
static void put_untested(const assay_outcome *outcome, assay_buf *out)
{
    size_t untested = count_untested(outcome), t = 0;
    if (untested == 0)
        return;
    while (report_trial_tested(outcome, &outcome->trials[t]))
        t++;
    assay_put_format(out, "; nothing was tested in ");
    assay_put_bytes(out, outcome->trials[t].trial->name, strlen(outcome->trials[t].trial->name));
    if (untested > 1)
        assay_put_format(out, " and %zu more", untested - 1);
}

void report_put_verdict(const assay_report *report, assay_buf *out)
{
    const assay_outcome *outcome = report->outcome;
    if (outcome->trial_count == 1)
        report_put_trial_verdict(outcome, &outcome->trials[0], out);
    else if (report_nothing_tested(report))
        assay_put_format(out, "nothing was tested in %zu trials", outcome->trial_count);
    else {
        put_trials(outcome, out);
        put_untested(outcome, out);
    }
}

void report_put_clean_verdict(const assay_report *report, assay_buf *out)
{
    assay_buf line;
    assay_buf_init(&line, ASSAY_REPORT_CEILING);
    report_put_verdict(report, &line);
    assay_text_put_clean(out, (const char *)line.data, line.size);
    if (assay_buf_status(&line) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&line);
    assay_buf_release(&line);
}
