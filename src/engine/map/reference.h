/* reference.h - the record that a comparison refers to. */
#pragma once

#include "engine/map/record_work.h"

typedef struct assay_reference {
    assay_place place;
    assay_open_file *file; /* its record is open there; NULL: its sums are enough */
    const double *sums; /* what the same sketch made of it, [2][groups][columns]; in the reference cache; else NULL */
} assay_reference;

/* Is a sketch beside that of the step before, which is kept in place of the content? */
static inline bool assay_reference_keeps_sums(const assay_measure *m)
{
    return m->kind == ASSAY_MEASURE_SKETCH && m->steps == 1 && m->form != ASSAY_SKETCH_PRODUCT;
}
/* What the cache has the sums of the record's tensor under. */
assay_reference_key assay_reference_sums_key(const assay_record_work *w, const assay_measure *measure);

/* Finds the reference of a comparison with the record being measured and opens it in one of pool->references; measures
 * with the same reference get the same file. 1: found, 0: there is none, negative: it cannot be read. */
int assay_reference_find(const assay_record_work *w, const assay_measure *measure, assay_reference *out,
                         assay_error *err);

/* Is the record being measured passed by, now and by later ones, because a comparison with earlier steps takes TRAIN
 * steps alone? */
bool assay_reference_passes_by(const assay_record_work *w, const assay_measure *measure);
