/* verdict.c - what one trial comes to, in one sentence. */
#include <inttypes.h>
#include <string.h>

#include <assay/hang.h>

#include "report/model/diagnosis.h"
#include "report/model/profile.h"
#include "report/model/report_model.h"
#include "report/model/verdict_log.h"
#include "report/model/verdict_traces.h"
#include "report/text/layout.h"

typedef struct tally {
    size_t found, passed, silent, failed; /* rules by what they came to */
    size_t asked;                         /* silent ones that the job names */
} tally;

/* Beside others, rules of a set of which a trial takes what it has data for are silent without a word: nobody asked for
 * them. */
static tally count_rules(const assay_outcome *outcome, const assay_trial_outcome *trial)
{
    tally n = {0};
    for (size_t i = 0; i < outcome->job->rule_count; i++) {
        const report_rule rule = report_rule_of(outcome, trial, i, false);
        n.found += rule.status == ASSAY_ISSUES_FOUND;
        n.passed += rule.status == ASSAY_NO_ISSUES_FOUND;
        n.silent += rule.status == ASSAY_NO_DATA && !report_is_beside(trial, &rule);
        n.asked += (rule.status == ASSAY_NO_DATA && !rule.instance->optional) + rule.untested;
        n.failed += rule.status == ASSAY_RULE_ERROR;
    }
    return n;
}

/* Lists the names of rules, each once: " (ExplodingTensor)", "; from it follow LossSpike, NormSpike and 2 more". */
static void put_rules(const report_diagnosis *d, const size_t *evidence, size_t count, const char *before,
                      const char *behind, assay_buf *out)
{
    enum { NAMED = 3 };
    const char *name[NAMED];
    size_t different = 0;
    for (size_t i = 0; i < count; i++) {
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again = again || d->evidence[evidence[k]].rule == d->evidence[evidence[i]].rule;
        if (!again && different++ < NAMED)
            name[different - 1] = d->evidence[evidence[i]].name;
    }
    for (size_t i = 0; i < different && i < NAMED; i++) {
        const char *joint = i + 1 == different ? " and " : ", ";
        assay_put_format(out, "%s%s", i == 0 ? before : joint, name[i]);
    }
    if (different > NAMED)
        assay_put_format(out, " and %zu more", different - NAMED);
    assay_put_format(out, "%s", different > 0 ? behind : "");
}

/* What leads, what follows from it, and what does not. */
static void put_causes(const report_diagnosis *d, assay_buf *out)
{
    const assay_cause *lead = &d->is.cause[0];
    size_t apart = 1;
    assay_put_bytes(out, lead->sentence, strlen(lead->sentence));
    put_rules(d, lead->evidence, 1, " (", ")", out);
    size_t follows = 1;
    while (follows < lead->explained &&
           d->evidence[lead->evidence[follows]].rule == d->evidence[lead->evidence[0]].rule)
        follows++;
    put_rules(d, lead->evidence + follows, lead->explained - follows, "; from it may follow ", "", out);
    while (apart < d->is.causes && d->is.cause[apart].wrong)
        apart++;
    if (apart > 1) {
        assay_put_format(out, "; apart from it: ");
        assay_put_bytes(out, d->is.cause[1].sentence, strlen(d->is.cause[1].sentence));
        put_rules(d, d->is.cause[1].evidence, 1, " (", ")", out);
    }
    if (apart > 2)
        assay_put_format(out, " and %zu more", apart - 2);
}

/* "18 rules passed on 2 of 200 TRAIN steps (1 %)", or "nothing wrong in 18 rules" where all was recorded. */
static void put_passed(const assay_outcome *outcome, const assay_trial_outcome *trial, const tally *n, assay_buf *out)
{
    assay_buf part = ASSAY_BUF(ASSAY_REPORT_CEILING);
    if (report_is_log(trial)) {
        report_put_log_passed(outcome, trial, out);
        return;
    }
    if (report_put_choice(trial, &part)) {
        assay_put_format(out, "%zu rule%s passed on ", n->passed, assay_plural(n->passed));
        assay_put_bytes(out, part.data, part.size);
        if (report_coverage(trial) < REPORT_COVERED) /* steps of checkpoints are of no mode that a share is known of */
            assay_put_format(out, ", %.2g %%", report_coverage(trial));
    } else {
        assay_put_format(out, "nothing wrong in %zu rule%s", n->passed + n->found, assay_plural(n->passed + n->found));
    }
    assay_buf_release(&part);
    report_put_unjudged(outcome, trial, out);
}

/* Advice, where nothing is wrong: "; the losses did not improve any more at step 285 (Overtraining)"; and what did no
 * harm: "; worth knowing: gradient/fc.weight jumped at step 51 (NormSpike)". */
static void put_advice(const report_diagnosis *d, assay_buf *out)
{
    if (d->is.causes == 0)
        return;
    assay_put_format(out, d->is.cause[0].harmless ? "; worth knowing: " : "; ");
    assay_put_bytes(out, d->is.cause[0].sentence, strlen(d->is.cause[0].sentence));
    put_rules(d, d->is.cause[0].evidence, 1, " (", ")", out);
    if (d->is.causes > 1)
        assay_put_format(out, " and %zu more piece%s of advice", d->is.causes - 1, assay_plural(d->is.causes - 1));
}

static bool is_of_time(const report_diagnosis *d)
{
    const assay_evidence *e = &d->evidence[d->is.cause[0].evidence[0]];
    return e->role < 0 && e->began.mode == ASSAY_MODE_NONE;
}

/* The cause of what was found, as far as the records tell it. */
static void put_lead(const assay_outcome *outcome, const assay_trial_outcome *trial, const tally *n, assay_buf *out)
{
    report_diagnosis diagnosis;
    const int status = report_diagnose(outcome, trial, &diagnosis);
    if (status != ASSAY_OK) { /* no words: what is written without them would look like a verdict */
        out->status = out->status == ASSAY_OK ? status : out->status;
        return;
    }
    /* what is slow is no piece of advice beside rules that passed */
    if (diagnosis.is.causes > 0 && (diagnosis.is.cause[0].wrong || is_of_time(&diagnosis))) {
        put_causes(&diagnosis, out);
    } else {
        put_passed(outcome, trial, n, out);
        put_advice(&diagnosis, out);
    }
    report_diagnosis_release(&diagnosis);
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

void report_put_range(const assay_outcome *outcome, assay_buf *out)
{
    const bool begins = outcome->from > INT64_MIN, ends = outcome->to < INT64_MAX;
    if (outcome->from >= outcome->to || (!begins && !ends))
        return;
    if (!ends)
        assay_put_format(out, "; only steps from %" PRId64 " on were looked at", outcome->from);
    else if (!begins)
        assay_put_format(out, "; only steps before %" PRId64 " were looked at", outcome->to);
    else
        assay_put_format(out, "; only steps %" PRId64 " to %" PRId64 " were looked at", outcome->from, outcome->to - 1);
}

/* How its job failed leads, whatever the records say: they end before it. Dumps that tell who hung know more than outputs. */
static void put_job_end(const assay_trial_outcome *trial, const char *before, const char *behind, assay_buf *out)
{
    const bool says_so =
        strncmp(trial->job_end, "the job failed", 14) == 0; /* where Slurm says it, and no output why */
    assay_put_format(out, "%s%s", before, says_so ? "" : "the job failed: ");
    assay_put_bytes(out, trial->job_end, strlen(trial->job_end));
    assay_put_format(out, "%s", behind);
}

void report_put_trial_verdict(const assay_outcome *outcome, const assay_trial_outcome *trial, assay_buf *out)
{
    if (trial->status != ASSAY_OK && trial->job_end) {
        put_job_end(trial, "", " No trial was read there", out);
        return;
    }
    if (trial->status != ASSAY_OK) {
        assay_put_format(out, "the trial could not be opened: ");
        assay_put_bytes(out, trial->error.text, strlen(trial->error.text));
        return;
    }
    tally n = count_rules(outcome, trial);
    const bool leads = trial->job_end && !(n.found > 0 && assay_trial_has_dumps(trial->info));
    if (leads)
        put_job_end(trial, "", " Of what it recorded: ", out);
    if (n.found > 0)
        put_lead(outcome, trial, &n, out);
    else if (n.passed > 0)
        put_passed(outcome, trial, &n, out);
    else if (outcome->job->rule_count > 0 && report_is_log(trial))
        report_put_log_passed(outcome, trial, out);
    else if (outcome->job->rule_count > 0)
        assay_put_format(out, "nothing was tested");
    else
        assay_put_format(out, "no rules to judge by");
    if (n.found == 0 && n.failed == 0)
        report_put_traces(trial, n.passed > 0, out);
    const bool passed = n.found == 0 && n.passed > 0, log = report_is_log(trial);
    const bool first = passed && report_unjudged(outcome, trial) == 0; /* reservation behind "but" */
    if (n.found + n.passed > 0 || log)
        n.silent = n.asked;
    if (log)
        report_put_log_end(trial, out);
    if (trial->unsafe)
        assay_put_format(out, "%s%s", first ? ", but " : "; ", trial->unsafe);
    const char *incomplete = report_incomplete(trial);
    if (incomplete)
        assay_put_format(out, "%s%s is not complete", first && !trial->unsafe ? ", but " : "; ", incomplete);
    bool gap;
    if (profile_put_gap(trial, first && !trial->unsafe && !incomplete ? ", but " : "; ", &gap, out) != ASSAY_OK)
        out->status = ASSAY_ENOMEM;
    if (passed)
        put_losses(trial, !first || incomplete || trial->unsafe || gap ? "; " : ", but ", out);
    /* "3 had no data" reads well behind "24 rules" alone */
    const bool after_rules = first && trial->problems.losses == 0 && !log && !gap;
    if (n.silent > 0)
        assay_put_format(out, "; %zu%s%s had no data", n.silent, after_rules ? "" : " rule",
                         after_rules ? "" : assay_plural(n.silent));
    if (n.failed > 0)
        assay_put_format(out, "; %zu%s%s could not run", n.failed, after_rules || n.silent ? "" : " rule",
                         after_rules || n.silent ? "" : assay_plural(n.failed));
    if (!passed)
        put_losses(trial, "; ", out);
    uint64_t workers, of;
    report_workers(trial, &workers, &of);
    if (!passed && workers < of)
        assay_put_format(out, "; judged by %" PRIu64 " of %" PRIu64 " workers", workers, of);
    report_put_range(outcome, out);
    if (trial->job_end && !leads)
        put_job_end(trial, "; ", "", out);
}

int report_reservation_of(const assay_outcome *outcome, const assay_trial_outcome *trial, report_reservation *out)
{
    *out = report_is_log(trial) ? report_log_reservation(trial) : REPORT_UNRESERVED;
    if (*out == REPORT_UNRESERVED && report_unjudged(outcome, trial) > 0)
        *out = REPORT_NOT_FINITE;
    if (*out != REPORT_UNRESERVED)
        return ASSAY_OK;
    bool gap;
    assay_buf said = ASSAY_BUF(SIZE_MAX);
    const int status = profile_put_gap(trial, "", &gap, &said);
    assay_buf_release(&said);
    *out = gap ? REPORT_PARTIAL : report_incomplete(trial) ? REPORT_INCOMPLETE : REPORT_UNRESERVED;
    return status;
}
