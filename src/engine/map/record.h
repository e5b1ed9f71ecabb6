/* record.h - one record, measured into its tensor's result: head, statistics and measures in one pass over its bytes.
 */
#pragma once

#include "engine/map/file_pool.h"
#include "engine/map/step_work.h"

/* Reads the raw record or saved reduction of an entry from the main file, which is open, into `result`. What is damaged
 * or needs too much memory becomes a problem of the step; *measured is false when nothing of the record can be used.
 * 0 or ASSAY_ENOMEM. */
int assay_record_measure(assay_file_pool *pool, assay_step_work *step, const assay_step_record *of,
                         assay_tensor_result *result, bool *measured);
/* The same of a record whose number is known (assay_part_number), and of which no measure is wanted: no file is read. */
int assay_record_take_number(assay_file_pool *pool, assay_step_work *step, const assay_step_record *of, double number,
                             assay_tensor_result *result, bool *measured);
/* The statistics of a number. 0, or why there are none. */
int assay_record_number_stats(double number, assay_stats *out);
