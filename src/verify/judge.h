/* judge.h - from what a run of the engine found to a judgement. Inside this folder only. */
#pragma once

#include "engine/outcome.h"
#include "source/trial_files.h"
#include "verify/verify.h"

/* What is said of a place beside problems and findings (beyond.h). */
typedef struct assay_verify_remark {
    assay_verify_state state; /* SUSPECT, CODE, or NOTE */
    int64_t step;             /* -1: none */
    char *file, *text;        /* owned */
} assay_verify_remark;

typedef struct assay_verify_remarks {
    assay_verify_remark *list;
    size_t count, room;
} assay_verify_remarks;

/* Adds one; texts are copied. 0 or ASSAY_ENOMEM. */
int assay_verify_remark_add(assay_verify_remarks *r, assay_verify_state state, int64_t step, const char *file,
                            const char *text);
void assay_verify_remarks_release(assay_verify_remarks *r);

/* For assay_unit_places(): keeps the first place of a unit, which is its directory or file, in the char * that `context`
 * points to; the caller frees it. */
int assay_verify_take_place(void *context, const char *place);

/* The checkpoints of a trial, one place of each step, in their order. */
typedef struct assay_verify_place {
    int64_t step;
    char *path;    /* its directory or file, "." where it is the trial; owned */
    bool recorded; /* it is a step of a tree of arrays, and no checkpoint */
} assay_verify_place;

typedef struct assay_verify_places {
    assay_verify_place *list;
    size_t count, room;
} assay_verify_places;

/* Fills an empty list, which is to be released in any case. ASSAY_OK, ASSAY_ENOMEM, or as assay_unit_places(). */
int assay_verify_list_places(const assay_trial_files *trial, assay_verify_places *out);
void assay_verify_places_release(assay_verify_places *places);

/* Appends the files of a trial's root that are a model each, terminated; nothing where the trial is one checkpoint, or a
 * series of them. 0, ASSAY_ENOMEM, or as assay_unit_places(). */
int assay_verify_put_models(assay_store *store, const assay_catalog *catalog, assay_buf *out);

/* Is the unit a checkpoint? Of trials without any, each is taken for one. */
bool assay_verify_is_checkpoint(const assay_catalog *catalog, const assay_unit *unit);

/* Fills an empty judgement with the steps [from, to) of the outcome's trial, of which `files` is the index. 0 or
 * ASSAY_ENOMEM. */
int assay_judge(const assay_trial_outcome *trial, const assay_job *job, const assay_trial_files *files,
                const assay_verify_remarks *remarks, const assay_verify_options *options, assay_verification *out);
