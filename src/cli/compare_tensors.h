/* compare_tensors.h - assay compare of two trials tensor by tensor. */
#pragma once

#include "cli/cli.h"
#include "diff/diff.h"

typedef struct tensors_options {
    cli_list maps;
    double relative, absolute;
    bool json, quiet;
    assay_setting_range steps;
    const char *topology; /* a file; NULL: none */
    size_t memory;
    double progress;
} tensors_options;

/* Compares and prints; the exit code: 0 equal or close, 1 different, 3 part of a trial is damaged or missing.
 * Collective. */
int cli_compare_tensors(const cli_context *context, const char *a, const char *b, const tensors_options *options);
/* Are both series of checkpoints? 1, 0, or the error where one of them is and the other one cannot be listed. The same
 * answer on every rank. Collective. */
int cli_are_checkpoints(const cli_context *context, const char *a, const char *b, assay_error *err);

/* ---- inside the command ---- */

/* What all pairs come to. */
typedef struct tensors_summary {
    size_t unequal, apart, unread, shapes;  /* tensors */
    size_t missing;                         /* names that only one has, of kinds that both have */
    size_t unsure;                          /* likewise, where the other one is damaged and may have them */
    size_t gone;                            /* workers that only one has, and whose part nothing else can be */
    uint64_t losses;                        /* damaged or missing parts of both trials */
    const assay_diff_pair *first, *largest; /* NULL: none */
} tensors_summary;

/* Is a pair listed? */
bool tensors_differ(const assay_diff_pair *pair);
const char *tensors_verdict(const tensors_summary *summary);
