/* measures.h - the measures of one raw record, fed piece by piece as its content is read. */
#pragma once

#include "engine/map/record_work.h"

typedef struct assay_measures {
    assay_record_work *record;         /* the caller sets it */
    struct assay_active_measure *list; /* [count], in the step's memory until the next record */
    uint32_t count;
} assay_measures;

/* Starts the measures that are wanted and opens the references of comparisons. What cannot be had becomes a problem of
 * the step and is given up. This and below: 0 or ASSAY_ENOMEM. */
int assay_measures_start(assay_measures *g, const assay_shape *shape);
/* Where a measure would copy all of the content, or NULL (assay_meter_place). */
uint8_t *assay_measures_place(const assay_measures *g);
/* The next `elements` of `element` bytes each; `finite`: all of them are known to be. */
int assay_measures_feed(const assay_measures *g, const uint8_t *piece, uint64_t elements, size_t element, bool finite);
/* After the last piece, with the statistics of all. *again is set when a meter wants the content once more; the others are done. */
int assay_measures_end(const assay_measures *g, const assay_stats *stats, bool *again);

/* Replicas are most often equal. Where the first worker's copy is at hand (*content), and everything wanted of this
 * record comes to what it came to there as long as both have the same bytes, the first worker's result; else NULL.
 * Nothing has been fed then. */
const assay_tensor_result *assay_measures_twin(const assay_measures *g, const uint8_t **content);
/* The bytes are the same: takes over its results in place of feeding and ending the measures. */
void assay_measures_take_over(const assay_measures *g, const assay_tensor_result *first);

/* After a record that could not be read to its end: returns the working memory of the measures. */
void assay_measures_drop(const assay_measures *g);

/* Will this rank compare a later record with this one? If it reads only a part of a step, the records of the next step
 * are on another rank, or come much later. */
bool assay_measures_is_looked_back_at(const assay_measures *g);
/* Does a comparison with earlier steps pass it by (assay_reference_passes_by)? */
bool assay_measures_is_passed_by(const assay_measures *g);
