/* measures.h - the measures of one raw record, fed piece by piece while its content passes by. */
#ifndef ASSAY_ENGINE_MAP_MEASURES_H
#define ASSAY_ENGINE_MAP_MEASURES_H

#include "engine/map/mapper.h"
#include "tensor/measure.h"

struct assay_active_measure;

typedef struct assay_measures { /* m, part and entry are the caller's to set */
    assay_mapper *m;
    const assay_part *part;
    const assay_entry *entry;
    struct assay_active_measure *list; /* in the mapper's memory, until the next record */
    uint32_t count;
} assay_measures;

/* Starts the measures that are wanted and opens the references of comparisons. What cannot be had is named as a problem
 * of the node and given up. This and below: 0 or ASSAY_ENOMEM; not collective. */
int assay_measures_start(assay_measures *g, const assay_record_demand *wanted, const assay_shape *shape);
/* Where a measure would copy all of the content, or NULL (assay_meter_place). */
uint8_t *assay_measures_place(const assay_measures *g);
/* The next `elements` of `element` bytes each; `finite`: all of them are known to be. */
int assay_measures_feed(const assay_measures *g, const uint8_t *piece, uint64_t elements, size_t element, bool finite);
/* After the last piece. *again is set when a meter wants the content once more; the others are done. */
int assay_measures_end(const assay_measures *g, assay_tensor_result *item, bool *again);

/* Will a later record be compared with this one, as far as this rank reads? No step comes behind a stretch of a shared
 * one, or much later. */
bool assay_measures_is_looked_back_at(const assay_measures *g);
/* Puts a result of the tensor under way into the room that was made for it. */
void assay_put_result(assay_mapper *m, assay_tensor_result *item, uint32_t number, const assay_result *result);

#endif
