/* job_internal.h - shared by the parts of the job parser: the document, and messages that name the place. */
#pragma once

#include "base/settings.h"
#include "job/job.h"

enum { ASSAY_JOB_TRIALS = 20000, ASSAY_JOB_ENTRIES = 10000 }; /* more are refused */
enum { ASSAY_JOB_PLACE = 96 }; /* room for a place: "DebugRuleConfigurations[4294967295].RuleParameters" */

typedef struct job_reader {
    const char *file;
    assay_error *err;
    const void *text; /* of the file, for lines and columns in messages; NULL: it has none */
    size_t size;
    bool is_list; /* the document is nothing but SageMaker's list of rules */
} job_reader;

/* The names that a list has so far; at() gives NULL for a slot without one yet. */
typedef struct job_names {
    const void *list;
    size_t count;
    const char *(*at)(const void *list, size_t i);
} job_names;

/* True when the list has the name. */
bool job_name_taken(const job_names *names, const char *name);
/* "BASE", or the first of "BASE-2", "BASE-3", ... that is free (numbers may be left out). The caller frees it; NULL
 * without memory. */
char *job_name_free(const job_names *names, const char *base);

/* ASSAY_EJOB with "FILE: line L, column C: PLACE: " before the text; an empty place is left out. The line is that of the
 * key which the text quotes first, where the place has it. */
int job_fail(const job_reader *r, const char *place, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Where that is: zeros without a text. */
assay_json_place job_place(const job_reader *r, const char *place, const char *text);
/* ASSAY_ENOMEM with the job file's name. */
int job_no_memory(const job_reader *r);
/* assay_settings_read() with the file in front and ASSAY_EJOB for what is wrong. */
int job_read(const job_reader *r, const char *place, const assay_setting *table, const cJSON *object, void *into);
/* assay_json_known_keys(), likewise. */
int job_known_keys(const job_reader *r, const char *place, const cJSON *object, const char *const *known);
/* *out gets the text under `key` (borrowed), or NULL where the key is missing; anything but a text that is not empty
 * is ASSAY_EJOB. */
int job_text(const job_reader *r, const char *place, const cJSON *object, const char *key, const char **out);

/* Reads "trials" (NULL: not there) into the job; patterns stay as they are. */
int job_read_trials(const job_reader *r, const cJSON *list, assay_job *job);
void job_release_trials(assay_job *job);

/* An entry of "trials" that is an object. Texts and items are the document's. */
typedef struct job_trial_entry {
    const char *path, *name, *log_kind;
    const cJSON *steps, *void_types, *topology;
} job_trial_entry;
/* Gives the trial the options of its entry: "steps", "void", "topology" and "format". */
int job_read_trial_options(const job_reader *r, const char *place, const job_trial_entry *entry,
                           assay_job_trial *trial);

/* The keys of a job file, by the place that docs/schema/job.schema.json has for them. */
extern const assay_setting job_settings[], job_output_settings[], job_comparison_settings[], job_s3_settings[],
    job_trial_settings[], job_rule_settings[], job_condition_settings[], job_sagemaker_settings[];

/* The members of a job file, each NULL where it is missing. */
typedef struct job_document {
    const char *schema;                                              /* for editors */
    const cJSON *hook_config, *tensorboard_config, *profiler_config; /* of SageMaker, for trainings */
    const cJSON *trials, *modules, *rules, *sagemaker_rules, *profiler_rules, *aggregations, *images, *histograms,
        *comparison, *output, *actions, *s3;
} job_document;

/* Reads the rules and aggregations of the document into the job. Takes items out of the document on the way. */
int job_read_rules(const job_reader *r, const job_document *document, assay_job *job);

/* ---- places that a pattern finds ---- */

typedef struct job_places {
    char **place; /* [count], each owned */
    size_t count, room;
} job_places;

/* Appends a copy. */
int job_places_add(const job_reader *r, job_places *places, const char *place);
void job_places_release(job_places *places);

/* Does the path begin with s3://? */
bool job_is_in_s3(const char *path);
/* The prefixes in a bucket that a pattern finds, as "s3://BUCKET/PREFIX", in the order of their names. '*', '?' and
 * "[]" stand for characters other than '/', in any part behind the bucket. */
int job_glob_s3(const job_reader *r, const char *pattern, job_places *out);
/* The directories and files on this machine that a pattern finds and that may be trials, in byte order; also those that
 * match and cannot be looked at. */
int job_glob_files(const job_reader *r, const char *pattern, job_places *out);
