/* verdict_log.c - what the first line says of a log of metrics: it is judged on what it logs, and on nothing else. */
#include "report/model/verdict_log.h"

#include <inttypes.h>
#include <string.h>

#include "report/text/layout.h"

static void put_text(const char *text, assay_buf *out)
{
    assay_put_bytes(out, text, strlen(text));
}

/* What became of the rules of a kind; the best news of several. */
typedef struct kind_result {
    bool asked, tested, failed;
} kind_result;

static kind_result result_of(const assay_outcome *outcome, const assay_trial_outcome *trial, const char *kind)
{
    kind_result result = {0};
    for (size_t i = 0; i < outcome->job->rule_count; i++) {
        const report_rule rule = report_rule_of(outcome, trial, i, false);
        if (strcmp(report_kind(&rule), kind) != 0)
            continue;
        result.asked = true;
        result.tested = result.tested || rule.status == ASSAY_ISSUES_FOUND || rule.status == ASSAY_NO_ISSUES_FOUND;
        result.failed = result.failed || rule.status == ASSAY_RULE_ERROR;
    }
    return result;
}

static const char *const OF_LOSSES[] = {"ExplodingTensor", "LossSpike", "LossNotDecreasing", "Overfit", "Overtraining"};
enum { OF_LOSSES_COUNT = sizeof OF_LOSSES / sizeof *OF_LOSSES };

static bool is_of_losses(const char *kind)
{
    for (int i = 0; i < OF_LOSSES_COUNT; i++)
        if (strcmp(OF_LOSSES[i], kind) == 0)
            return true;
    return false;
}

static bool losses_tested(const assay_outcome *outcome, const assay_trial_outcome *trial)
{
    for (int i = 0; i < OF_LOSSES_COUNT; i++)
        if (result_of(outcome, trial, OF_LOSSES[i]).tested)
            return true;
    return false;
}

/* Where losses are missed, what lies beside the log and may have them. */
static void put_kinds(const assay_log_facts *log, assay_buf *out)
{
    if (*log->also)
        assay_put_format(out, " in %s, and what lies beside it (%s) was not looked at", log->kind, log->also);
}

/* What is logged where no loss is, and how a rule gets it. */
static void put_instead(const assay_log_judged *judged, assay_buf *out)
{
    const size_t named =
        judged->maybe > 0 && judged->maybe < judged->instead.count ? (size_t)judged->maybe : judged->instead.count;
    const uint64_t all = judged->maybe > 0 ? judged->maybe : judged->tags;
    for (size_t i = 0; i < named; i++)
        assay_put_format(out, "%s%s",
                         i == 0                           ? "; "
                         : i + 1 == named && all == named ? " and "
                                                          : ", ",
                         judged->instead.list[i]);
    if (all > named)
        assay_put_format(out, " and %" PRIu64 " more", all - named);
    if (named > 0)
        put_text(judged->maybe > 0 ? " may be one by another name, as a job can say (tensor_regex)"
                 : all > 1         ? " are"
                                   : " is",
                 out);
}

/* "nothing wrong in 2 losses over 60 steps" */
static bool put_losses(const assay_outcome *outcome, const assay_trial_outcome *trial, assay_buf *out)
{
    const assay_log_judged *judged = &trial->catalog.log.judged;
    const kind_result course = result_of(outcome, trial, "LossNotDecreasing");
    const char *plural = assay_plural(judged->losses);
    if (trial->catalog.unit_count == 0) {
        put_text("nothing is logged", out);
        put_kinds(&trial->catalog.log, out);
        return false;
    }
    if (judged->losses == 0) {
        put_text("no loss is logged", out);
        put_kinds(&trial->catalog.log, out);
        if (!losses_tested(outcome, trial))
            put_instead(judged, out);
        return false;
    }
    if (!losses_tested(outcome, trial)) {
        assay_put_format(out, "no rule judged the %" PRIu64 " loss%s that %s logged", judged->losses,
                         judged->losses == 1 ? "" : "es", judged->losses == 1 ? "is" : "are");
        return false;
    }
    assay_put_format(out, "nothing wrong in %" PRIu64 " loss%s", judged->losses, *plural ? "es" : "");
    if (outcome->from == INT64_MIN && outcome->to == INT64_MAX) /* else the first line ends with the steps */
        assay_put_format(out, " over %" PRIu64 " step%s", judged->steps, assay_plural(judged->steps));
    if (course.asked && !course.tested)
        put_text(judged->objective.count > 0 && !judged->rewarded ? ", too few to judge their course"
                                                                  : ", none of which has to fall",
                 out);
    return true;
}

/* ", nor in logged norms" */
static bool put_others(const assay_outcome *outcome, const assay_trial_outcome *trial, bool before, assay_buf *out)
{
    static const struct {
        const char *kind, *what;
    } others[] = {{"NormSpike", "logged norms"}, {"LowPrecisionHealth", "figures of low precision"}};
    /* Without a loss, a rule of losses tested what the job names. */
    const bool unnamed = trial->catalog.log.judged.losses == 0;
    bool any = before, more = false;
    for (size_t i = 0; i < outcome->job->rule_count; i++) {
        const report_rule rule = report_rule_of(outcome, trial, i, false);
        const char *kind = report_kind(&rule);
        more = more || (rule.status == ASSAY_NO_ISSUES_FOUND && (!is_of_losses(kind) || unnamed) &&
                        strcmp(kind, others[0].kind) != 0 && strcmp(kind, others[1].kind) != 0);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!result_of(outcome, trial, others[i].kind).tested)
            continue;
        assay_put_format(out, any ? ", nor in %s" : "; nothing wrong in %s", others[i].what);
        any = true;
    }
    if (more) {
        const bool checkpoints = trial->catalog.format_count > 1;
        assay_put_format(out, any ? ", nor in %s" : "; nothing wrong in %s",
                         checkpoints ? "the checkpoints beside the log"
                         : unnamed   ? "what the job asks"
                                     : "what else the job asks");
        any = true;
    }
    return any;
}

static void put_named(const assay_log_names *names, const char *rest, assay_buf *out)
{
    if (names->count == 0)
        return;
    put_text("; ", out);
    put_text(names->list[0], out);
    if (names->count > 1)
        assay_put_format(out, " and %zu more", names->count - 1);
    put_text(rest, out);
}

/* Could one of ten rows or more not be used? What is wrong may stand in them. Of logs that are no tables nobody counts
 * rows. */
static bool lacks_rows(const assay_log_facts *log, uint64_t *bad, uint64_t *rows)
{
    const bool table = log->kind && (strcmp(log->kind, "csv") == 0 || strcmp(log->kind, "monitor") == 0);
    *bad = assay_log_facts_count(log, "bad rows") + assay_log_facts_count(log, "bad steps");
    *rows = assay_log_facts_count(log, "rows") + *bad;
    return table && *bad > *rows / 10;
}

void report_put_log_dropped(const assay_log_range *range, assay_buf *out)
{
    if (*range->bad)
        assay_put_format(out, ": %s was NaN or infinite at step %" PRId64, range->bad, range->bad_step);
    if (!*range->loss)
        return;
    assay_put_format(out, "%s the last %s was ", *range->bad ? "," : ":", range->loss);
    assay_text_put_number(out, range->last_loss);
    assay_put_format(out, " at step %" PRId64, range->loss_step);
}

/* Attempts that were given up whole, since the training began anew where it had begun: their values were discarded, and
 * no rule judged them. What was not finite in them, or in what another restart rolled back, is said all the same. */
static void put_given_up(const assay_trial_outcome *trial, assay_buf *out)
{
    const assay_log_facts *log = &trial->catalog.log;
    if (assay_trial_steps(trial->info) == 0)
        return;
    const int64_t begin = assay_trial_step(trial->info, 0)->mode_step;
    const assay_log_range *told = NULL, *rolled_back = NULL;
    uint64_t values = 0, attempts = 0;
    int64_t last = begin;
    for (size_t i = 0; i < log->range_count; i++) {
        const assay_log_range *range = &log->ranges[i];
        const bool whole = range->first <= begin && range->last != range->first;
        if (!whole && *range->bad && !rolled_back)
            rolled_back = range;
        if (!whole || (!*range->loss && !*range->bad)) /* figures alone may be numbered otherwise than losses */
            continue;
        attempts++;
        values += range->values;
        last = range->last > last ? range->last : last;
        if (!told || !*told->bad) /* the first bad one, else the last one */
            told = range;
    }
    if (told) {
        assay_put_format(out,
                         attempts == 1 ? "; %" PRIu64 " value%s of an attempt before, which reached step %" PRId64
                                         " and was begun anew, %s not judged"
                                       : "; %" PRIu64 " value%s of attempts before, which reached step %" PRId64
                                         " at most and were begun anew, %s not judged",
                         values, assay_plural(values), last, values == 1 ? "was" : "were");
        report_put_log_dropped(told, out);
    }
    if (rolled_back)
        assay_put_format(out,
                         "; before a restart, which rolled back steps %" PRId64 " to %" PRId64
                         ", %s was NaN or infinite at step %" PRId64,
                         rolled_back->first, rolled_back->last, rolled_back->bad, rolled_back->bad_step);
}

void report_put_log_passed(const assay_outcome *outcome, const assay_trial_outcome *trial, assay_buf *out)
{
    const assay_log_judged *judged = &trial->catalog.log.judged;
    const bool losses = put_losses(outcome, trial, out);
    const bool any = put_others(outcome, trial, losses, out);
    put_named(&judged->never, " never had a finite value", out);
    if (judged->never.count == 0)
        put_named(&judged->others,
                  judged->others.count == 1 ? " is not finite at some step" : " are not finite at some step", out);
    uint64_t bad, rows;
    if (lacks_rows(&trial->catalog.log, &bad, &rows))
        assay_put_format(out, "; %" PRIu64 " of %" PRIu64 " rows could not be used", bad, rows);
    put_given_up(trial, out);
    if (trial->catalog.log.output && !trial->job_end)
        put_text("; how the job ended is not judged here: `assay why` says it", out);
    if (any)
        report_put_unjudged(outcome, trial, out);
    if (any && trial->catalog.format_count <= 1)
        put_text("; logs say nothing of weights and gradients", out);
    else if (!any)
        put_text("; nothing was tested", out);
}

/* The status by which MLflow says that the run failed, or NULL. */
static const char *failed_status(const assay_trial_outcome *trial)
{
    const char *status = assay_run_fact_of(&trial->catalog.facts, "status");
    return status && (strcmp(status, "FAILED") == 0 || strcmp(status, "KILLED") == 0) ? status : NULL;
}

/* The exit code of the run, but 0, or NULL. */
static const char *failed_code(const assay_trial_outcome *trial)
{
    const char *code = assay_run_fact_of(&trial->catalog.facts, "exit_code");
    return code && strcmp(code, "0") != 0 ? code : NULL;
}

void report_put_log_end(const assay_trial_outcome *trial, assay_buf *out)
{
    if (assay_log_facts_count(&trial->catalog.log, "steps by order") > 0 &&
        strcmp(trial->catalog.log.kind, "mlflow") != 0)
        put_text("; rows without a step were counted", out);
    const char *status = failed_status(trial), *code = failed_code(trial);
    if (status)
        assay_put_format(out, " (%s by MLflow)", status);
    else if (code)
        assay_put_format(out, " (exit code %.20s)", code);
    else if (trial->catalog.log.running)
        put_text(" (still running)", out);
}

report_reservation report_log_reservation(const assay_trial_outcome *trial)
{
    uint64_t bad, rows;
    if (failed_status(trial) || failed_code(trial))
        return REPORT_ENDED_BADLY;
    if (trial->catalog.log.judged.never.count > 0)
        return REPORT_NOT_FINITE;
    return lacks_rows(&trial->catalog.log, &bad, &rows) ? REPORT_PARTIAL : REPORT_UNRESERVED;
}
