/* results.h - the figures of a run as tables: results.h5 (docs/results-hdf5.md), stats.h5, stats.csv.
 *
 * An observer collects them on every rank while the engine reads. Then all ranks write them together, in the order of
 * the trial, so the file does not depend on the number of ranks. */
#pragma once

#include "engine/engine.h"
#include "report/text/listing.h"

typedef struct assay_results assay_results;

/* Makes an empty collection for the job (borrowed). NULL without memory. Not collective. */
assay_results *assay_results_new(const assay_job *job);
void assay_results_free(assay_results *results);
/* What the engine is given; lives as long as the collection. Not collective. */
const assay_observer *assay_results_observer(const assay_results *results);

/* What a file of results says about where it comes from; borrowed, the same on every rank. */
typedef struct assay_results_origin {
    const char *version, *command;
    const char *job; /* the job file's text; NULL: there is none, and of the tables only that of the statistics */
} assay_results_origin;

/* Writes statistics, findings, class counts and confusion matrices into `path`, complete or not at all. The outcome is
 * rank 0's. ASSAY_EIO, ASSAY_EUNSUPPORTED without HDF5. Collective. */
int assay_results_write_hdf5(assay_comm *comm, assay_results *results, const assay_outcome *outcome,
                             const assay_results_origin *origin, const char *path, assay_error *err);
/* Writes the statistics as rows of CSV or JSON, by rank 0: into `path`, complete or not at all, or where that is NULL to
 * standard output, row by row. Collective. */
int assay_results_write_rows(assay_comm *comm, assay_results *results, const assay_outcome *outcome,
                             assay_listing_form form, const char *path, assay_error *err);
