/* seal.h - digests of a checkpoint's files and tensors, written beside them (docs/seal.md).
 *
 * A directory has its seal in assay-seal.json, a file NAME in NAME.assay-seal.json; the same names ending in .sha256
 * are lists for sha256sum. */
#pragma once

#include "parallel/comm.h"
#include "source/trial_files.h"
#include "trial/problem.h"

typedef struct assay_seal_options {
    int64_t from, to; /* global steps [from, to) */
    bool again;       /* checkpoints that have a seal get another one */
} assay_seal_options;

typedef struct assay_seal_figures {
    size_t sealed, kept, refused; /* checkpoints: written now, had one, not whole */
    uint64_t files, bytes;        /* that were read */
} assay_seal_figures;

/* Reads every file of the checkpoints once, on all ranks, and writes their seals, each as a whole or not at all. A
 * checkpoint of which something is damaged or missing gets none, and a warning. Collective; the figures are the same on
 * every rank. Errors of opening the trial, ASSAY_EIO, ASSAY_ENOMEM, ASSAY_EMPI. */
int assay_seal_make(assay_comm *comm, const char *trial, const assay_seal_options *options, assay_seal_figures *out,
                    assay_error *err);

/* Holds the files of the steps [from, to) against their seals, where they have some: what differs becomes a problem
 * with the tensor and its bytes, on rank 0. `files` is the trial's index on rank 0, NULL elsewhere. Collective. Errors
 * as above. */
int assay_seal_check(assay_comm *comm, const char *trial, const assay_trial_files *files, int64_t from, int64_t to,
                     assay_problems *problems, assay_error *err);
