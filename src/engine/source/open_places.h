/* open_places.h - places that were opened, so that trials which lie at one place share its listing. Inside engine only.
 *
 * Thousands of logs in one directory are a trial each. Jobs of many trials are run some at a time, so this lives as long
 * as the whole run: what a directory has is what it had when the first of its trials was listed. The last few places are
 * kept, not all: each takes a descriptor, and trials of one place stand together in a job. */
#pragma once

#include "store/storage.h"

enum { ASSAY_OPEN_PLACES = 8 };

typedef struct assay_open_places { /* zero it first */
    struct {
        char *location;
        assay_store *store;
    } kept[ASSAY_OPEN_PLACES];
    unsigned next; /* that is given up for another */
} assay_open_places;

/* Opens a store for one more trial at the location, as assay_store_open(). The caller closes it; it may outlive `places`. */
int assay_open_places_open(assay_open_places *places, const char *location, assay_store **out, assay_error *err);
void assay_open_places_release(assay_open_places *places);
