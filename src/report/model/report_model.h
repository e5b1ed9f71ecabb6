/* report_model.h - queries on an outcome, shared by all forms of the report. */
#pragma once

#include "base/json.h"
#include "engine/engine.h"
#include "report/report.h"

/* One rule or aggregation of a trial as the report sees it: of a trial that could not be opened there is no verdict. */
typedef struct report_rule {
    const assay_instance *instance;
    const assay_findings *findings; /* NULL: none */
    int status;                     /* assay_verdict_status */
    const assay_buf *json, *text;   /* NULL: nothing */
    const char *message;            /* not terminated */
    size_t message_size;
    size_t untested;         /* of the rules that it stands for, those that had nothing to test */
    assay_severity severity; /* the job's; info where what was found did no harm (report_severity_of()) */
} report_rule;

/* Rule i of the trial (aggregation i when `aggregation`). */
report_rule report_rule_of(const assay_outcome *outcome, const assay_trial_outcome *trial, size_t i, bool aggregation);
/* The same with the severity of the job, for what the diagnosis is made of. */
report_rule report_rule_undiagnosed(const assay_outcome *outcome, const assay_trial_outcome *trial, size_t i,
                                    bool aggregation);

/* The numbers of a trial's rules in the order in which every form goes through them: those that found something, that
 * could not run, that had nothing to test, that found nothing. In each the severest come first, then those whose first
 * finding is earlier, then those that the job lists first. The caller frees *order. ASSAY_ENOMEM. (order.c) */
int report_order_rules(const assay_outcome *outcome, const assay_trial_outcome *trial, size_t **order);
/* The numbers of the trials, those with the severest findings first, else as the job lists them. The caller frees *order.
 * ASSAY_ENOMEM. (order.c) */
int report_order_trials(const assay_outcome *outcome, size_t **order);

/* Does the rule alone make the report fail? (gate.c) */
bool report_gate_stops(const assay_gate *gate, const report_rule *rule);
/* Does any? */
bool report_is_stopped(const assay_report *report);
/* Is it stopped by the trial itself, whatever the single rules say: too little of it was recorded, no rule of the set had
 * data, or something forbids to say that nothing is wrong (report_reservation_of)? */
bool report_trial_stops(const assay_report *report, const assay_trial_outcome *trial);
/* Did the job of any trial fail, as its outputs say? */
bool report_job_failed(const assay_report *report);
/* The newest checkpoint, whose writer has not come to its end; NULL: there is none such. */
const char *report_incomplete(const assay_trial_outcome *trial);
/* How many workers of a run were recorded, and how many it had; of traces the ranks that left one, and those that others
 * worked with. Both 0: nothing is known. (choice.c) */
void report_workers(const assay_trial_outcome *trial, uint64_t *recorded, uint64_t *of);
/* How much of a trial was recorded, in percent: of its TRAIN steps or of its workers, the smaller; 100 where nothing is
 * known of what was not. (choice.c) */
double report_coverage(const assay_trial_outcome *trial);
/* Was less of the trial recorded than the gate asks for? */
bool report_is_little(const assay_gate *gate, const assay_trial_outcome *trial);
#define REPORT_COVERED 99.5 /* from there on nothing is said of the share, which is all in two digits */
/* Has some rule tested something in the trial, or has the job no rules? */
bool report_trial_tested(const assay_outcome *outcome, const assay_trial_outcome *trial);
/* Is there no rule that had anything to test, in any trial, though the job has rules? */
bool report_nothing_tested(const assay_report *report);

/* Appends how much was recorded, where that was chosen and is not all: "1 of 4 workers, 1 of 60 TRAIN steps (every
 * 500th)". False, and nothing, where all was recorded. (choice.c) */
bool report_put_choice(const assay_trial_outcome *trial, assay_buf *out);

/* Appends what a trial comes to, in one sentence without its full stop: "worker_2 fed NaN at step 33; all workers by step
 * 34", "worker_2 wrote nothing at step 51 (MissingWorker)", "nothing wrong in 24 rules; 3 had no data". Names are as they
 * are. (verdict.c) */
void report_put_trial_verdict(const assay_outcome *outcome, const assay_trial_outcome *trial, assay_buf *out);

/* Appends "; only steps 400 to 699 were looked at" where that was asked for: of the others nothing is said. (verdict.c) */
void report_put_range(const assay_outcome *outcome, assay_buf *out);

/* What forbids to say that nothing is wrong where no rule found anything; the sentence about the trial says it. The worst
 * of several. ASSAY_OK or ASSAY_ENOMEM. (verdict.c) */
typedef enum report_reservation {
    REPORT_UNRESERVED,
    REPORT_ENDED_BADLY, /* as the logger says: failed, killed, an exit code but 0 */
    REPORT_NOT_FINITE,  /* series of a log that never had a finite value; values that no rule of the job judges */
    REPORT_PARTIAL,     /* a gap in time, rows of a log that could not be used */
    REPORT_INCOMPLETE   /* the newest checkpoint is not complete */
} report_reservation;
int report_reservation_of(const assay_outcome *outcome, const assay_trial_outcome *trial, report_reservation *out);
/* How many tensors of a step and worker have NaN or infinities where no rule tests for these (ExplodingTensor): others leave
 * them out, and what they say is not of them. (gate.c) */
uint64_t report_unjudged(const assay_outcome *outcome, const assay_trial_outcome *trial);
/* Appends that behind what rules found in order; nothing where there are none. (gate.c) */
void report_put_unjudged(const assay_outcome *outcome, const assay_trial_outcome *trial, assay_buf *out);

/* When a finding is: its step, "120", or its time, "2023-11-14 22:13:35 UTC". With what stands in front in a sentence:
 * "step 120", and the time alone. */
enum { REPORT_WHEN_ROOM = 48 };
const char *report_finding_when(const assay_finding *finding, char room[REPORT_WHEN_ROOM]);
const char *report_finding_when_in_words(const assay_finding *finding, char room[REPORT_WHEN_ROOM]);
/* Microseconds since 1970 as such a time. */
const char *report_time(int64_t time, char room[REPORT_WHEN_ROOM]);
/* Appends when a rule has findings: "at steps 0-50 (6 steps), 70", "at 12 times, from ... to ...". */
void report_put_found(const assay_trial *info, const report_rule *rule, size_t most, assay_buf *out);

/* Does the rule look at time? Its findings have no step and tensor but assay_finding.time. */
bool report_is_in_time(const report_rule *rule);
/* Does it look at traces of ranks? Then it is in time as well, and its steps are those of the traces. */
bool report_is_in_traces(const report_rule *rule);

/* Is it one of a set of rules, and looks at what this trial has none of: time in a trial of tensors alone, or the other
 * way round? Then it is no news that it had no data. */
bool report_is_beside(const assay_trial_outcome *trial, const report_rule *rule);

/* What the rule is called in the registry, whatever the job calls it. */
const char *report_kind(const report_rule *rule);

/* The members that an aggregation put into report.json, as one object that the caller frees with cJSON_Delete().
 * *members stays NULL, and that is no failure, where there are none. ASSAY_ENOMEM, or the status of reading them. */
int report_members(const report_rule *rule, cJSON **members);

/* Has the aggregation samples to count, and counted none? */
bool report_counts_nothing(const report_rule *rule);

/* Datapoints, findings, and the first finding (NULL: none). */
uint64_t report_datapoints(const report_rule *rule);
uint64_t report_findings_total(const report_rule *rule);
const assay_finding *report_first(const report_rule *rule);

/* The member "first_cause" that a rule gave; NULL: none. It lies in *members, which the caller deletes in any case. */
const cJSON *report_first_cause(const report_rule *rule, cJSON **members);

/* Where the findings of a rule begin. Every form that names a first finding takes it from here. */
typedef struct report_origin {
    const assay_finding *finding; /* the first, in order of computation; NULL: none, and the rest is not set */
    const char *worker; /* its name; "*" where workers are pooled; "3 workers" where several were first at once */
    const char *tensor;
    bool several, certain; /* certain: only where the rule looks for a cause (first_cause) */
    assay_buf cause; /* the first cause as a sentence, and a slow step or stall before it; empty: the rule does not look
                        for it */
    char room[32];
} report_origin;
void report_find_origin(const assay_trial *info, const report_rule *rule, report_origin *origin);
void report_origin_release(report_origin *origin);
/* Appends the cause, or else step, worker and tensor of the first finding, of which there must be one. Names in full
 * and as they are. */
void report_put_origin(const assay_trial *info, const report_origin *origin, assay_buf *out);

/* Appends the first finding as a sentence in the words of its rule, "worker_2 wrote nothing at step 51", without a full
 * stop. False, and nothing, where the rule gives none. (sentence.c) */
bool report_put_sentence(const assay_trial *info, const report_rule *rule, const report_origin *origin, assay_buf *out);

/* What the report calls the finding's parts; "" and "*" as in assay/rule.h. `info` may not be NULL. */
const char *report_finding_tensor(const assay_trial *info, const assay_finding *finding);
const char *report_finding_worker(const assay_trial *info, const assay_finding *finding);
const char *report_finding_test(const report_rule *rule, const assay_finding *finding); /* NULL: no test names */
const assay_step_info *report_finding_step(const assay_trial *info, const assay_finding *finding); /* NULL: unknown */

/* Does the rule say what the value is? Appends it as it is: "NaN elements", "of 8 workers"; with `one`, as behind a 1.
 * (value_unit.c) */
bool report_has_unit(const report_rule *rule, const assay_finding *finding);
void report_put_unit(const assay_trial *info, const report_rule *rule, const assay_finding *finding, bool one,
                     assay_buf *out);
/* Appends the value and what it is: "2 NaN elements". A rule of one's own may say anything: clean it for a terminal. */
void report_put_value(const assay_trial *info, const report_rule *rule, const assay_finding *finding, assay_buf *out);
/* What the hardware did at a finding's step, where the trial recorded steps in time beside its tensors
 * (timeline/step_times.h). False: it is not known. (hardware.c) */
bool report_find_hardware(const assay_trial *info, const assay_finding *finding, assay_step_time *out);
/* Append it in words, "0.42 s (median 0.11 s), GPU 3 %, CPU 99 %", of at most so many metrics, and as a JSON object. */
enum { REPORT_HARDWARE_BRIEF = 2 };
void report_put_hardware(const assay_step_time *at, int metrics, assay_buf *out);
void report_put_hardware_json(const assay_step_time *at, assay_buf *out);

/* The last slow step or stall of the worker before the findings of a rule begin: before its first cause, where it looks
 * for one. False: there is none, or it is not known. */
bool report_find_slow_before(const assay_trial *info, const report_rule *rule, assay_slow_step *out);
/* Append it in words, without a full stop, and as a JSON object. */
void report_put_slow(const assay_slow_step *slow, assay_buf *out);
void report_put_slow_json(const assay_slow_step *slow, assay_buf *out);

/* Appends where no worker wrote a step, though nearly all steps come at one distance: "No step was written between 499
 * and 600; nearly all others are 1 apart". False: nowhere. `out` may be NULL. */
bool report_put_holes(const assay_trial *info, assay_buf *out);
/* What is said of a trial's steps where none is incomplete: "Every worker wrote every step." */
const char *report_steps_in_words(const assay_trial_outcome *trial);

/* The steps of one mode. */
typedef struct report_mode {
    uint64_t steps;
    int64_t first, last; /* global steps */
} report_mode;
void report_count_modes(const assay_trial *info, report_mode mode[ASSAY_MODES]);

/* Appends ascending global steps as runs over the trial's saved steps: "0-50 (6 steps), 70"; at most `most` runs. */
void report_put_steps(const assay_trial *info, const int64_t *step, size_t count, size_t most, assay_buf *out);

enum { REPORT_RUNS_OF_STEPS = 12 }; /* that a line of text lists */
