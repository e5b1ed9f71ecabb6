/* lookback_index.h - index entries from before those that every rank gets for look-back.
 *
 * A reference skips values that are empty or text, and no index says which are. So a rank may have to go back beyond
 * the entries that it was sent. It then reads the index of earlier steps itself, each once. */
#pragma once

#include "engine/source/source.h"

typedef struct assay_lookback_index assay_lookback_index;

/* Of a source after the exchange, which it borrows; NULL without memory. */
assay_lookback_index *assay_lookback_index_new(const assay_source *source);
/* The places that it gave are gone then. NULL is ignored. */
void assay_lookback_index_free(assay_lookback_index *f);

/* The newest raw record of a tensor and worker at a step before `step`, of those ahead of this rank's own. 1, 0 when
 * there is none, or ASSAY_ENOMEM. A unit that cannot be read has none: the rank that it belongs to names it. */
int assay_lookback_index_before(assay_lookback_index *f, uint32_t tensor, uint32_t worker, int64_t step,
                                assay_place *out);
