/* options.h - what a job says of how a trial is to be read (docs/checkpoints-as-trials.md): which part of a name is the
 * number of a step, which worker has which piece, and which numbers the bytes are that NumPy files call void. */
#pragma once

#include "base/regex.h"
#include "container/npy_head.h"

/* Checkpoints with a log of metrics beside them: both are one trial, whose steps are counted together; or only one of them. */
enum { ASSAY_TRIAL_ALL, ASSAY_TRIAL_CHECKPOINTS, ASSAY_TRIAL_LOG };

typedef struct assay_trial_options {
    uint32_t refs;
    uint8_t only;   /* ASSAY_TRIAL_ALL, ... */
    char **pattern; /* [steps] */
    assay_regex **step;
    size_t steps;   /* 0: names are read as usual */
    char *topology; /* a path, or JSON (topology/attach.h); NULL: not said */
    char *log_kind; /* of several logs at a place the one to read ("tb"); NULL: the first */
    char *root;     /* where the trial lies, if not at its path: a run within a log of several; NULL: at its path */
    uint8_t *run;   /* which run it is, as its format packed that; NULL: the only one */
    size_t run_size;
    /* While a job's trials are listed: may it ask for a tensor of that name? What it does not ask for need not be kept.
     * NULL: for every one. Not packed, nor copied. */
    bool (*asks)(void *context, const char *name, size_t length);
    void *asks_context;                  /* borrowed */
    int void_dtype[ASSAY_VOID_MOST + 1]; /* by bytes an element: its dtype; -1: not said */
} assay_trial_options;

/* Options that say nothing; NULL without memory. Every share is released once; NULL is ignored, and shared as NULL. */
assay_trial_options *assay_trial_options_new(void);
assay_trial_options *assay_trial_options_share(assay_trial_options *options);
void assay_trial_options_release(assay_trial_options *options);

/* Adds a pattern, whose group 1 is the number, to be tried after those that are there. ASSAY_EFORMAT: it does not
 * compile, or has no group, as the message says; ASSAY_ENOMEM. */
int assay_trial_options_add_step(assay_trial_options *options, const char *pattern, assay_error *err);
/* "V2" is "bfloat16". ASSAY_EFORMAT with a message: there is no such dtype, or it has other than 2 bytes. */
int assay_trial_options_set_void(assay_trial_options *options, const char *descr, const char *dtype, assay_error *err);

/* For assay_npy_head_read(); NULL: not said. */
static inline const int *assay_trial_options_void_dtypes(const assay_trial_options *options)
{
    return options ? options->void_dtype : NULL;
}

/* Which kind of log is read, and which run of the log at `root` the trial is. 0 or ASSAY_ENOMEM. */
int assay_trial_options_set_log_kind(assay_trial_options *options, const char *kind);
int assay_trial_options_set_run(assay_trial_options *options, const char *root, const void *run, size_t size);
/* A copy for a trial that is to be read otherwise than the others that share these options; of NULL it says nothing.
 * NULL without memory. */
assay_trial_options *assay_trial_options_copy(const assay_trial_options *options);
/* Where the trial of that path lies. */
static inline const char *assay_trial_root(const assay_trial_options *options, const char *path)
{
    return options && options->root ? options->root : path;
}
/* 0 or ASSAY_ENOMEM. */
int assay_trial_options_set_topology(assay_trial_options *options, const char *topology);

/* Does a job say which part of a name is the step? */
static inline bool assay_trial_options_has_steps(const assay_trial_options *options)
{
    return options && options->steps > 0;
}
/* The step in a name of so many bytes: the last match of the first pattern that matches, upper and lower case alike.
 * False when none does, or the number does not fit 63 bits. */
bool assay_trial_options_step(const assay_trial_options *options, const char *name, size_t length, int64_t *step);

/* NULL is packed as one that says nothing. Unpacking gives NULL in *out for that. ASSAY_EFORMAT, ASSAY_ENOMEM. */
void assay_trial_options_pack(const assay_trial_options *options, assay_buf *out);
int assay_trial_options_unpack(assay_cursor *in, assay_trial_options **out);
