/* view.c - fetches the bytes outside the window. */
#include "base/view.h"

#include <string.h>

/* The part of assay_view_look() that is not in the window. */
const uint8_t *assay_view_fetch(assay_view *view, uint64_t at, uint64_t end, size_t *size, int *status,
                                assay_error *err)
{
    /* There is one block: looks go forward as a rule, and a look elsewhere replaces it. */
    uint64_t wanted = end - at, inside = at - view->block_at;
    if (inside >= view->block_size ||
        (view->block_size - inside < ASSAY_VIEW_LEAST && view->block_size - inside < wanted)) {
        uint64_t left = view->limit - at;
        size_t take = left < view->block_room ? (size_t)left : view->block_room;
        /* A fault of the program, never of the bytes: formats check offsets against the limit before they look. */
        if (take == 0 || at >= view->limit) {
            *status = assay_fail(err, ASSAY_EINTERNAL, "%s: offset %llu: a look outside the record", view->path,
                                 (unsigned long long)at);
            return NULL;
        }
        view->block_size = 0;
        *status = view->read(view->context, at, view->block, take, err);
        if (*status != ASSAY_OK)
            return NULL;
        view->block_at = at;
        view->block_size = take;
        inside = 0;
    }
    size_t have = view->block_size - (size_t)inside;
    *size = have < wanted ? have : (size_t)wanted;
    return view->block + inside;
}

int assay_view_copy(assay_view *view, uint64_t at, uint64_t end, void *out, assay_error *err)
{
    uint8_t *to = out;
    while (at < end) {
        size_t size = 0;
        int status = ASSAY_OK;
        const uint8_t *bytes = assay_view_look(view, at, end, &size, &status, err);
        if (!bytes)
            return status;
        memcpy(to, bytes, size);
        to += size;
        at += size;
    }
    return ASSAY_OK;
}
