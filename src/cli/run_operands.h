/* run_operands.h - sorts the operands of `assay run` into a job file and trials. */
#pragma once

#include "cli/run.h"

enum { RUN_OPERANDS_MOST = 1000 };

/* Takes directories, packed trials (.h5), patterns, names in front of a path (NAME=PATH) and what begins with a scheme
 * (s3://) for trials, which are added to options->trials, and a file for the job; *job stays NULL where there is none,
 * and the built-in job is taken. Rank 0 looks. `parsed` is how this rank fared with its arguments. ASSAY_EUSAGE where
 * there are two jobs, or neither a job nor a trial. Collective. */
int run_take_operands(const cli_context *context, int parsed, const char *const *operand, size_t count,
                      run_options *options, const char **job, assay_error *err);
