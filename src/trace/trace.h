/* trace.h - where the time of a training went, by the Kineto traces of its ranks (docs/traces.md).
 *
 * How it works:
 *   1. Each analysing rank reads some trace files into a collector. Of a file stay its figures (what one rank alone
 *      tells), its steps, and a row for each kernel of communication; all numbers are whole nanoseconds or bins.
 *   2. Collectors are joined (pack, join): rows are appended, in the order of the files.
 *   3. assay_trace_finish() sets the ranks side by side on rank 0: which steps all have, which kernels are one
 *      operation, whose clock is how far off, who came last and why. Nothing depends on how files were dealt out.
 *
 * Time is cut into bins of 1024 ns. A bin is busy where a kernel computes, exposed where one communicates and none
 * computes. A rank's own clock counts the bins that are not exposed: it stands still while the rank only waits. */
#pragma once

#include <assay/traces.h>

#include "base/dict.h"
#include "trial/events.h"

/* NULL is ignored. */
void assay_trace_free(assay_trace_data *data);

/* ---- reading ---- */

typedef struct assay_trace_collector assay_trace_collector;
/* An empty collector; NULL without memory. */
assay_trace_collector *assay_trace_collector_new(void);
void assay_trace_collector_free(assay_trace_collector *c);
/* Reads a file of kind ASSAY_EVENTS_TRACE, which has that number in the trial's list. Files go up. 0 or ASSAY_ENOMEM;
 * what is wrong with a file is a problem of its. */
int assay_trace_collector_read(assay_trace_collector *c, assay_store *store, const assay_event_file *file,
                               uint32_t number, assay_error *err);
uint64_t assay_trace_collector_bytes_read(const assay_trace_collector *c);
/* Joins what was collected of later files behind `earlier`, as assay_collector_join() of timeline/collect.h. */
int assay_trace_collector_pack(const assay_trace_collector *c, assay_buf *out);
int assay_trace_collector_join(assay_trace_collector *earlier, assay_cursor *later, assay_error *err);
/* Sets the ranks side by side. The collector is used up. Free *out with assay_trace_free(). 0 or ASSAY_ENOMEM. */
int assay_trace_finish(assay_trace_collector *c, const assay_event_files *files, assay_trace_data **out);
/* Adds what was wrong with the files, and which ranks have none that counts. 0 or ASSAY_ENOMEM. */
struct assay_problems;
int assay_trace_name_problems(const assay_trace_data *data, const assay_event_files *files,
                              struct assay_problems *problems);
