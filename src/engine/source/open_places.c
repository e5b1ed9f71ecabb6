/* open_places.c - keeps the places that were opened last. */
#include "engine/source/open_places.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

static void give_up(assay_open_places *places, unsigned i)
{
    assay_store_close(places->kept[i].store);
    free(places->kept[i].location);
    places->kept[i].location = NULL;
    places->kept[i].store = NULL;
}

int assay_open_places_open(assay_open_places *places, const char *location, assay_store **out, assay_error *err)
{
    for (unsigned i = 0; i < ASSAY_OPEN_PLACES; i++)
        if (places->kept[i].location && strcmp(places->kept[i].location, location) == 0)
            return assay_store_open_beside(places->kept[i].store, out, err);
    ASSAY_TRY(assay_store_open(location, out, err));
    const unsigned at = places->next++ % ASSAY_OPEN_PLACES;
    give_up(places, at);
    places->kept[at].location = assay_copy_text(location);
    int status = places->kept[at].location
                     ? assay_store_open_beside(*out, &places->kept[at].store, err)
                     : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while opening it", location);
    if (status != ASSAY_OK) {
        give_up(places, at);
        assay_store_close(*out);
        *out = NULL;
    }
    return status;
}

void assay_open_places_release(assay_open_places *places)
{
    for (unsigned i = 0; i < ASSAY_OPEN_PLACES; i++)
        give_up(places, i);
}
