/* job_internal.h - shared by the parts of the job parser: the document, and messages that name the place. */
#ifndef ASSAY_JOB_JOB_INTERNAL_H
#define ASSAY_JOB_JOB_INTERNAL_H

#include "base/json.h"
#include "job/job.h"

enum { ASSAY_JOB_TRIALS = 1000, ASSAY_JOB_ENTRIES = 10000 }; /* more are refused */
enum { ASSAY_JOB_PLACE = 96 }; /* room for a place: "DebugRuleConfigurations[4294967295].RuleParameters" */

typedef struct job_reader {
    const char *file;
    assay_error *err;
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

/* ASSAY_EJOB with "FILE: PLACE: " before the text; an empty place is left out. */
int job_fail(const job_reader *r, const char *place, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* ASSAY_ENOMEM with the job file's name. */
int job_no_memory(const job_reader *r);
/* assay_json_known_keys() with the file in front and ASSAY_EJOB as status. */
int job_known_keys(const job_reader *r, const char *place, const cJSON *object, const char *const *known);
/* *out gets the text under `key` (borrowed), or NULL where the key is missing; anything but a text that is not empty
 * is ASSAY_EJOB. */
int job_text(const job_reader *r, const char *place, const cJSON *object, const char *key, const char **out);

/* *out gets the number under `key`, and stays as it is where the key is missing; anything but a number from `least` to
 * `most` is ASSAY_EJOB. */
int job_number(const job_reader *r, const char *place, const cJSON *object, const char *key, double least, double most,
               double *out);

/* Reads "trials" (NULL: not there) into the job; patterns stay as they are. */
int job_read_trials(const job_reader *r, const cJSON *list, assay_job *job);
void job_release_trials(assay_job *job);
/* Reads the options of a trial ("steps", "void") from its object. */
int job_read_trial_options(const job_reader *r, const char *place, const cJSON *object, assay_job_trial *trial);

/* Reads "rules", "DebugRuleConfigurations" and "aggregations" of the document into the job. Takes items out of the
 * document on the way. */
int job_read_rules(const job_reader *r, cJSON *document, assay_job *job);

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

#endif
