/* headline.c - what a report comes to, in one sentence: the first line of every form. Over all of its trials: bands that
 * a run leaves, what rules found, what is damaged or could not be read, and how much was tested. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "report/compare/bands.h"
#include "report/compare/comparison.h"
#include "report/model/verdict_log.h"
#include "report/sections/sections.h"

enum { TRIALS_NAMED = 3 };

/* ", on 1 % of the TRAIN steps at least" where not every step of every trial was recorded. */
static void put_shares(const assay_outcome *outcome, assay_buf *out)
{
    double least = 100;
    for (size_t t = 0; t < outcome->trial_count; t++) {
        const double share = report_coverage(&outcome->trials[t]);
        least = share < least ? share : least;
    }
    if (least < REPORT_COVERED)
        assay_put_format(out, ", of which %.2g %% or more was recorded", least);
}

/* Was it read, and no rule tested anything in it? One that could not be opened has a word of its own. */
static bool is_untested(const assay_outcome *outcome, const assay_trial_outcome *trial)
{
    return trial->status == ASSAY_OK && !report_trial_tested(outcome, trial);
}

static size_t count_untested(const assay_outcome *outcome)
{
    size_t untested = 0;
    for (size_t t = 0; t < outcome->trial_count; t++)
        untested += is_untested(outcome, &outcome->trials[t]);
    return untested;
}

/* How many trials are judged by only some of their workers. */
static void put_workers(const assay_outcome *outcome, assay_buf *out)
{
    size_t partial = 0;
    for (size_t t = 0; t < outcome->trial_count; t++) {
        uint64_t recorded, of;
        report_workers(&outcome->trials[t], &recorded, &of);
        partial += recorded < of;
    }
    if (partial > 0)
        assay_put_format(out, "; %zu judged by only some of their workers", partial);
}

/* What a trial comes to beside others: what weighs most of what is true of it. */
typedef enum standing {
    DIED,
    UNREAD,
    FOUND,
    DAMAGED,
    FAILED,
    ENDED_BADLY,
    NOT_FINITE,
    PARTIAL,
    ADVISED,
    SOUND
} standing;

/* Of each trial. */
typedef struct place {
    standing is;
    int severity; /* of the severest rule that found something; -1: none */
} place;

static int stand_without_findings(const assay_outcome *outcome, const assay_trial_outcome *trial, standing *out)
{
    static const standing of[] = {[REPORT_UNRESERVED] = SOUND,
                                  [REPORT_ENDED_BADLY] = ENDED_BADLY,
                                  [REPORT_NOT_FINITE] = NOT_FINITE,
                                  [REPORT_PARTIAL] = PARTIAL,
                                  [REPORT_INCOMPLETE] = PARTIAL};
    report_reservation reserved;
    int status = ASSAY_OK;
    if (trial->job_end) {
        *out = DIED;
    } else if (trial->status != ASSAY_OK) {
        *out = UNREAD;
    } else if (trial->problems.losses > 0 || trial->unsafe) {
        *out = DAMAGED;
    } else {
        status = report_reservation_of(outcome, trial, &reserved);
        *out = of[reserved];
    }
    return status;
}

/* A set of rules is asked for as a whole: what a trial has no data for is no failure of it, a rule that broke down is. */
static int find_place(const assay_outcome *outcome, const assay_trial_outcome *trial, place *out)
{
    out->severity = -1;
    const int status = stand_without_findings(outcome, trial, &out->is);
    for (size_t i = 0; i < outcome->job->rule_count && trial->status == ASSAY_OK; i++) {
        const report_rule rule = report_rule_of(outcome, trial, i, false);
        const bool found = rule.status == ASSAY_ISSUES_FOUND;
        const int severity = found ? (int)rule.severity : -1;
        const standing one = severity > ASSAY_INFO             ? FOUND
                             : rule.status == ASSAY_RULE_ERROR ? FAILED
                             : found                           ? ADVISED
                                                               : SOUND;
        out->is = one < out->is ? one : out->is;
        out->severity = severity > out->severity ? severity : out->severity;
    }
    return status;
}

/* Why it could not be opened, in short: beside others the whole message stands further down. */
static void put_error(const assay_trial_outcome *trial, assay_buf *out)
{
    const char *text = trial->error.text, *path = trial->trial->path;
    const size_t length = strlen(path);
    if (strncmp(text, path, length) == 0 && strncmp(text + length, ": ", 2) == 0)
        text += length + 2;
    assay_put_bytes(out, text, strcspn(text, ":;"));
}

/* "run-03 (...), run-07 (...) and 2 more", the severest first */
static void put_named(const assay_outcome *outcome, const place *places, standing group, size_t count, assay_buf *out)
{
    size_t named = 0;
    for (int severity = ASSAY_ERROR; severity >= -1; severity--)
        for (size_t t = 0; t < outcome->trial_count && named < TRIALS_NAMED; t++) {
            const assay_trial_outcome *trial = &outcome->trials[t];
            if (places[t].is != group || places[t].severity != severity)
                continue;
            assay_put_format(out, named++ ? ", " : "");
            assay_put_bytes(out, trial->trial->name, strlen(trial->trial->name));
            assay_put_format(out, " (");
            if (group == UNREAD)
                put_error(trial, out);
            else
                report_put_trial_verdict(outcome, trial, out);
            assay_put_format(out, ")");
        }
    if (count > named)
        assay_put_format(out, " and %zu more", count - named);
}

/* Is nothing known of any trial but its log? */
static bool are_logs(const assay_outcome *outcome)
{
    size_t logs = 0;
    for (size_t t = 0; t < outcome->trial_count; t++)
        logs += report_is_log(&outcome->trials[t]) && outcome->trials[t].catalog.format_count == 1;
    return logs > 0 && logs == outcome->trial_count;
}

/* "2 of 5 trials have findings: run-03 (...), run-07 (...); 1 could not be opened: ...": what is worst first. */
static void put_trials(const assay_report *report, const place *places, assay_buf *out)
{
    const assay_outcome *outcome = report->outcome;
    static const struct {
        standing is;
        const char *one, *many;
    } groups[] = {{DIED, "belongs to a job that failed", "belong to jobs that failed"},
                  {FOUND, "has findings", "have findings"},
                  {UNREAD, "could not be opened", "could not be opened"},
                  {DAMAGED, "is damaged", "are damaged"},
                  {FAILED, "could not be judged by every rule", "could not be judged by every rule"},
                  {ENDED_BADLY, "did not end well", "did not end well"},
                  {NOT_FINITE, "has values that are not finite and that no rule judged",
                   "have values that are not finite and that no rule judged"},
                  {PARTIAL, "is not complete", "are not complete"}};
    size_t count[SOUND + 1] = {0}, said = 0;
    for (size_t t = 0; t < outcome->trial_count; t++)
        count[places[t].is]++;
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        const size_t n = count[groups[g].is];
        if (n == 0)
            continue;
        if (said++)
            assay_put_format(out, "; %zu %s: ", n, n == 1 ? groups[g].one : groups[g].many);
        else
            assay_put_format(out, "%zu of %zu trials %s: ", n, outcome->trial_count,
                             n == 1 ? groups[g].one : groups[g].many);
        put_named(outcome, places, groups[g].is, n, out);
    }
    if (said > 0)
        return;
    const bool logs = are_logs(outcome);
    if (report->comparison && report->comparison->odd > 0) /* which the comparison says */
        assay_put_format(out, "rules found ");
    const size_t tested = outcome->trial_count - count_untested(outcome);
    assay_put_format(out, "nothing wrong in %s%zu trial%s%s", logs ? "what is logged of " : "", tested,
                     assay_plural(tested), logs ? "; logs say nothing of weights and gradients" : "");
    put_shares(outcome, out);
    put_workers(outcome, out);
    if (count[ADVISED] > 0) {
        assay_put_format(out, "; advice for %zu: ", count[ADVISED]);
        put_named(outcome, places, ADVISED, count[ADVISED], out);
    } else {
        report_put_range(outcome, out); /* which the sentence about each trial has, too */
    }
}

/* "; nothing was tested in run-07 and 2 more" */
static void put_untested(const assay_outcome *outcome, assay_buf *out)
{
    size_t untested = count_untested(outcome), t = 0;
    if (untested == 0)
        return;
    while (!is_untested(outcome, &outcome->trials[t]))
        t++;
    assay_put_format(out, "; nothing was tested in ");
    assay_put_bytes(out, outcome->trials[t].trial->name, strlen(outcome->trials[t].trial->name));
    if (untested > 1)
        assay_put_format(out, " and %zu more", untested - 1);
}

/* "run-07 leaves the bands of good runs: loss of CrossEntropyLoss_output_0, TRAIN from step 40 on, and 3 more of 12
 * curves; " */
static void put_bands(const assay_band_report *bands, assay_buf *out)
{
    size_t outside = 0, first = 0;
    for (size_t t = bands->trials; t-- > 0;)
        if (bands->trial[t].total > 0) {
            outside++;
            first = t;
        }
    if (outside == 0)
        return;
    const char *name = bands->outcome->trials[first].trial->name;
    const assay_departures *found = &bands->trial[first];
    const assay_departure *one = &found->list[0];
    if (bands->trials > 1)
        assay_put_format(out, "%zu of %zu trials %s the bands of good runs: ", outside, bands->trials,
                         outside == 1 ? "leaves" : "leave");
    assay_put_bytes(out, name, strlen(name));
    assay_put_format(out, bands->trials > 1 ? " (" : " leaves the bands of good runs: ");
    if (one->band->figure != ASSAY_BAND_VALUE)
        assay_put_format(out, "%s of ", assay_band_word(one->band->figure));
    assay_put_bytes(out, one->band->tensor, strlen(one->band->tensor));
    if (one->kind == ASSAY_DEPARTS_MISSING)
        assay_put_format(out, " is missing");
    else if (one->kind == ASSAY_DEPARTS_STILL)
        assay_put_format(out, " never changes");
    else
        assay_put_format(out, one->kind == ASSAY_DEPARTS_SHORT ? " ends at %s step %" PRId64 : " at %s step %" PRId64,
                         assay_mode_name(one->band->mode), one->mode_step);
    if (one->kind == ASSAY_DEPARTS_VALUE)
        assay_put_format(out, ", %.3g where good runs have %.3g to %.3g", one->value, one->low, one->high);
    if (found->total > 1)
        assay_put_format(out, ", and %zu more of %zu curves", found->total - 1, found->curves - 1);
    assay_put_format(out, bands->trials > 1 ? ")" : "");
    if (outside > 1)
        assay_put_format(out, " and %zu more", outside - 1);
    assay_put_format(out, "; ");
}

static void put_all(const assay_report *report, assay_buf *out)
{
    const assay_outcome *outcome = report->outcome;
    place *places = assay_alloc_zeroed(outcome->trial_count, sizeof *places);
    int status = places ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t t = 0; t < outcome->trial_count && status == ASSAY_OK; t++)
        status = find_place(outcome, &outcome->trials[t], &places[t]);
    if (status == ASSAY_OK) {
        put_trials(report, places, out);
        put_untested(outcome, out);
    } else {
        out->status = status;
    }
    free(places);
}

void report_put_verdict(const assay_report *report, assay_buf *out)
{
    const assay_outcome *outcome = report->outcome;
    assay_put_format(out, report->so_far ? "so far: " : "");
    if (report->bands)
        put_bands(report->bands, out);
    if (outcome->trial_count == 1)
        report_put_trial_verdict(outcome, &outcome->trials[0], out);
    else if (report_nothing_tested(report) && !report_job_failed(report))
        assay_put_format(out, "nothing was tested in %zu trials", outcome->trial_count);
    else
        put_all(report, out);
}
