/* job.h - the job file: which trials, rules and aggregations, and where the report goes. */
#pragma once

#include "base/json.h"
#include "base/nearest.h"
#include "rule/instance.h"
#include "trial/options.h"

typedef struct assay_job_trial {
    char *path; /* as given; relative paths are relative to the working directory */
    char *name; /* unique in the job; by default the last part of the path, without ".h5", or the last two */
    bool named; /* the name was given */
    assay_trial_options *options; /* how it is to be read; NULL: as usual; owned */
    char *plain;                  /* where it lies, in the one spelling in which places are compared; owned */
} assay_job_trial;

/* A form that a report can be written in, as far as a job needs to know it. Who writes reports hands in the list. */
typedef struct assay_job_form {
    const char *word;
    bool draws;      /* it draws curves, of losses and of tensors */
    bool by_default; /* it is written unless the job says otherwise */
} assay_job_form;

typedef struct assay_job_forms {
    const assay_job_form *list;
    int count; /* at most 32 */
} assay_job_forms;

/* The number of the form called so, or -1. */
int assay_job_form_find(const assay_job_forms *forms, const char *word, size_t length);
/* ` (did you mean "html"?)` for a word that is none of them, or "". The text lies in `room`. */
const char *assay_job_form_hint(const assay_job_forms *forms, const char *word, size_t length,
                                char room[ASSAY_NEAREST_ROOM]);

typedef struct assay_job {
    char *file; /* the job file's name for messages */
    assay_job_trial *trials;
    size_t trial_count;
    assay_instance **rules;
    size_t rule_count;
    assay_instance **aggregations;
    size_t aggregation_count;
    assay_instance **implicit; /* aggregations that the report needs and nobody asked for: assay_job_add_implicit() */
    size_t implicit_count;
    bool wants_curves; /* somebody besides the formats and the comparison needs them */
    bool curves_asked; /* of logs, only what rules and aggregations of the job ask for has curves, and the losses */
    cJSON *actions;    /* the member "actions" as it stands, which action/ parses; NULL: none; owned */
    char *text;        /* the file, for places in messages; owned; NULL: it was not read from one */
    size_t text_size;
    char *output_directory;       /* NULL: not said */
    bool unsigned_s3;             /* S3 is asked without a signature where no credentials are found */
    const assay_job_forms *forms; /* all that there are; borrowed */
    unsigned formats;             /* bit 1 << number in forms: those to be written */
    char *baseline_name;          /* as the job says, NULL: it does not; owned */
    size_t baseline;              /* number of the trial that the others are compared with */
    double tolerance;    /* relative difference from which on two tensors part; 0.001 unless the job says otherwise */
    size_t max_findings; /* a rule keeps so many in full; 1000 unless "output": {"max_findings": n} */
} assay_job;

/* Rules, aggregations and implicit ones in one numbering, in that order. */
static inline size_t assay_job_instances(const assay_job *job)
{
    return job->rule_count + job->aggregation_count + job->implicit_count;
}
static inline const assay_instance *assay_job_instance(const assay_job *job, size_t i)
{
    if (i < job->rule_count)
        return job->rules[i];
    i -= job->rule_count;
    return i < job->aggregation_count ? job->aggregations[i] : job->implicit[i - job->aggregation_count];
}

/* May the text be a job file's? Not when its objects have no key of a job, nor one that is near to such a key, nor when it
 * is an object a line: then it is something else's. Text that is no JSON, or broken, may be where it quotes such a key. */
bool assay_job_is_text(const char *text, size_t size);

/* Parses a job file's text. Unknown keys, wrong types, a trial or a rule name listed twice are ASSAY_EJOB with the
 * place
 * ("rules[2].severity"). Faults in a rule's own parameters are no failure: that rule is reported as Error. SageMaker's
 * entries (RuleConfigurationName, RuleParameters with rule_to_invoke) count as rules, also under the key
 * "DebugRuleConfigurations". `trials` may be missing: the caller sees to it. Rules without a name are called like the
 * rule, the second one "DeadRelu-2". Every rank parses the same text. `forms` are those that
 * "output.formats" may name; they outlive the job. Release with assay_job_release(). */
int assay_job_parse(const char *file, const void *text, size_t size, const assay_job_forms *forms, assay_job *out,
                    assay_error *err);
void assay_job_release(assay_job *job);

/* ASSAY_EUSAGE with "FILE: line L, column C: " before the text: the place of a value, or of a key of it, as assay_json_find()
 * has them; for what is found out when the whole job is known. */
int assay_job_fail(const assay_job *job, const char *place, const char *member, assay_error *err, const char *format,
                   ...) __attribute__((format(printf, 5, 6)));
/* Where the job's file lists a trial by that path; zeros where it does not. */
assay_json_place assay_job_place_of_trial(const assay_job *job, const char *path);

/* What a trial at this path is called by default: the last part of the path, without ".h5". The caller frees it; NULL
 * without memory. */
char *assay_job_trial_name(const char *path);

/* Replaces the trials (those of the command line). `path` may be "NAME=PATH". A trial that the job lists as well is
 * read as the job says. ASSAY_EUSAGE when one is listed twice. */
int assay_job_set_trials(assay_job *job, const char *const *paths, size_t count, assay_error *err);
/* Reads of each trial only that: ASSAY_TRIAL_CHECKPOINTS, ASSAY_TRIAL_LOG (trial/options.h). 0 or ASSAY_ENOMEM. */
int assay_job_read_only(assay_job *job, uint8_t only);

/* Puts in the place of each trial whose path is a shell pattern ("runs/[ab]*"; not one that exists by that very name,
 * nor a URL) the directories and .h5 files that it matches, in byte order, without those that the job has already.
 * ASSAY_EJOB when there is none, or there are several for a trial with a name, or too many trials in all. Looks at the
 * file system: one rank calls it, and the others take its trials through pack and unpack. */
int assay_job_expand_trials(assay_job *job, assay_error *err);
void assay_job_pack_trials(const assay_job *job, assay_buf *out);
/* Replaces the trials by those packed. 0, ASSAY_ENOMEM or ASSAY_EINTERNAL. */
int assay_job_unpack_trials(assay_job *job, assay_cursor *in, assay_error *err);

/* Gives all trials this topology, a path; NULL: they keep what the job says. 0 or ASSAY_ENOMEM. */
int assay_job_set_topology(assay_job *job, const char *topology, assay_error *err);

/* The trial that the others are compared with: `name` (NULL: what the job says, else the first). Call once the trials
 * are final. ASSAY_EUSAGE when there is none of that name. */
int assay_job_set_baseline(assay_job *job, const char *name, assay_error *err);

/* Adds what the report needs besides the rules and aggregations that the job names: with several trials, a format that
 * draws, or `wants_curves`, one loss_curve and one tensor_curves over everything (report/model/curves.h reads them), but for
 * `curves_asked`.
 * The more trials, the fewer rows a trial has: ASSAY_CURVE_ROWS in all, and ASSAY_LOSS_ROWS of each loss in a mode.
 * Call once the trials and formats are final. Does nothing when they are there. 0 or ASSAY_ENOMEM. The same
 * on every rank. */
int assay_job_add_implicit(assay_job *job);
/* Is one of its formats one that draws? */
bool assay_job_draws(const assay_job *job);
enum { ASSAY_CURVE_ROWS = 1 << 21, ASSAY_CURVE_ROWS_OF_TRIAL = 1 << 18 };
enum { ASSAY_LOSS_ROWS = 1 << 22, ASSAY_LOSS_ROWS_OF_TRIAL = 100000 };
enum { ASSAY_IMPLICIT_LOSSES, ASSAY_IMPLICIT_TENSORS, ASSAY_IMPLICITS }; /* numbers in job->implicit */
