/* verify.h - is a checkpoint whole and sane, and which one is to be resumed from? (docs/checkpoints-as-trials.md)
 *
 * How it works:
 *   1. The engine reads every tensor once on all ranks: damage becomes problems, values that cannot be meant become
 *      findings of the rules of assay_verify_job.
 *   2. What no tensor covers is looked at then (beyond.h): bytes under a CRC-32, pickles, zeros at the ends of files.
 *   3. On rank 0 each file gets its line, each checkpoint its state, and the whole its first line (judge.c). */
#pragma once

#include <assay/pack.h>

#include "engine/engine.h"
#include "verify/framework.h"
#include "parallel/comm.h"

typedef enum assay_verify_state { /* the worst one last */
                                  ASSAY_VERIFY_SOUND,
                                  ASSAY_VERIFY_NOTE,   /* of a file: something is said of it, and no fault */
                                  ASSAY_VERIFY_UNREAD, /* intact as far as is known, and of a kind that is not read */
                                  ASSAY_VERIFY_INCOMPLETE, /* its writer has not come to its end */
                                  ASSAY_VERIFY_SUSPECT,    /* values that a training cannot have meant */
                                  ASSAY_VERIFY_DAMAGED, /* bytes or files are missing, or not those that were written */
                                  ASSAY_VERIFY_CODE,    /* loading it runs code */
                                  ASSAY_VERIFY_STATES
} assay_verify_state;

/* "sound", "note", "not read", "incomplete", "suspect", "damaged", "runs code". */
const char *assay_verify_word(assay_verify_state state);

typedef struct assay_verify_file {
    char *path; /* below the trial's root, or "step 20" for what is in no file; owned, as all texts here */
    int64_t step;
    assay_verify_state state;
    uint64_t bytes;
    size_t tensors, losses, findings, remarks;
    size_t summed, bare; /* of the tensors: those that a checksum covers, and those of plain bytes that none does */
    bool sealed;         /* there is a seal of its checkpoint, which was held against it */
    char *first;         /* what is said of it first; NULL: nothing */
    char *unsized;       /* why its size is not known; NULL: it is */
} assay_verify_file;

typedef struct assay_verify_step {
    int64_t step;
    char *name; /* of its directory or file, "checkpoint-300" */
    assay_verify_state state;
    char *why; /* in a few words; NULL where it is sound */
} assay_verify_step;

typedef struct assay_verification {
    assay_verify_state state; /* the worst of all steps that were asked for, and of what belongs to none */
    char *path;               /* of the trial */
    bool series;              /* it has checkpoints with names of their own: one of them is to be resumed from */
    bool models;              /* no steps: each of `step` is a model by itself, of which a directory has several */
    bool records;             /* its steps are records of a training, which it cannot be resumed from */
    char *unnumbered;         /* what is wrong with what belongs to no step; NULL: nothing */
    assay_framework of;       /* that was asked for */
    char *pick; /* the name of the checkpoint that it would pick; NULL: none was asked for, or there is none */
    size_t losses, findings;
    assay_verify_file *file;
    size_t files, file_room;
    assay_verify_step *step; /* in their order */
    size_t steps, step_room;
    ptrdiff_t last_sound; /* the newest step that is sound; -1: none of those asked for */
} assay_verification;

typedef struct assay_verify_options {
    int64_t from, to;   /* global steps [from, to); INT64_MIN, INT64_MAX: all */
    size_t memory;      /* of one rank, bytes */
    double progress;    /* as assay_engine_options has it */
    bool strict;        /* pickles that need classes of their program count as if they ran code */
    assay_framework of; /* what it needs to resume counts as well */
    bool last;          /* the newest checkpoint, and those before it until one is sound */
} assay_verify_options;

/* The job whose rules are asked. Errors as assay_job_parse(); release it with assay_job_release(). */
int assay_verify_make_job(const char *trial, assay_job *job, assay_error *err);

/* Judges the checkpoints of a trial. Collective; options are the same on every rank, and `out` is filled on rank 0 and
 * empty elsewhere. Errors as assay_engine_run(), and those of opening the trial, on every rank alike. Release `out` in
 * any case. */
int assay_verify_run(assay_comm *comm, const char *trial, const assay_verify_options *options, assay_verification *out,
                     assay_error *err);
/* Adds to the outcome of a run what assay_verify_run() finds beside tensors in those of its trials that are checkpoints:
 * damage to their problems, and a warning for each pickle that runs code and each file that ends in zeros. Collective;
 * the outcome is filled on rank 0. Errors as assay_verify_run(). */
int assay_verify_outcome(assay_comm *comm, assay_outcome *outcome, const assay_engine_options *engine,
                         assay_error *err);
void assay_verification_release(assay_verification *j);

/* Appends the answer in one line, names as they are, without a line's end:
 * "resume from checkpoint-300; 400: NaN in 5 tensors (first h.3.weight)". */
void assay_verification_put_line(const assay_verification *j, assay_buf *out);
/* Appends JSON of the schema assay-verify/1. */
void assay_verification_put_json(const assay_verification *j, assay_buf *out);
/* Appends its files as comma-separated values. */
void assay_verification_put_csv(const assay_verification *j, assay_buf *out);
