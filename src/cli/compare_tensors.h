/* compare_tensors.h - assay compare of two trials tensor by tensor. */
#pragma once

#include "cli/cli.h"
#include "diff/diff.h"
#include "report/text/listing.h"

typedef struct tensors_options {
    cli_list maps;
    double relative, absolute;
    assay_listing_form form;
    const char *topology; /* a file; NULL: none */
} tensors_options;

/* Compares and prints; the exit code: 0 equal or close, 1 different, 3 part of a trial is damaged or missing.
 * Collective. */
int cli_compare_tensors(const cli_context *context, const char *a, const char *b, const tensors_options *options);
/* Are both series of checkpoints? 1, 0, or the error where one of them is and the other one cannot be listed. The same
 * answer on every rank. Collective. */
int cli_are_checkpoints(const cli_context *context, const char *a, const char *b, assay_error *err);
