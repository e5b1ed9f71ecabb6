/* s3.h - what commands do about trials in S3 before they read: memory, and one session for all ranks. */
#pragma once

#include "cli/cli.h"
#include "s3/s3.h"

/* ASSAY_EUSAGE where a word of the command line has a place with a key and a secret in it, or with a port: no command
 * takes one, and from then on no output has them. ASSAY_ENOMEM. Not collective. */
int cli_s3_refuse_keys(int argc, char **argv, assay_error *err);

/* What of a rank's `memory` the engine may use: where one of the job's trials lies in S3, an eighth is for what is
 * asked for ahead there. Half of it bounds what a pickle may take. Not collective. */
size_t cli_engine_memory(const assay_job *job, size_t memory);

/* Where a trial, or `out` (NULL: none), lies in S3: rank 0 finds credentials and settings, and hands them to the other
 * ranks. When it cannot, nothing happens: each trial tells why it cannot be read. Collective. */
int cli_s3_begin(assay_comm *comm, const assay_job *job, const char *out, assay_error *err);
