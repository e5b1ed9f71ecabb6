/* view.h - bounded access to a range of a file.
 *
 * A window of the range is in memory; the rest is fetched in blocks on access. So one decoder serves small records (all
 * in the window, nothing is copied) and large ones (it steps over the content). All positions are file offsets. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/status.h>

enum { ASSAY_VIEW_LEAST = 64 }; /* bytes that a look gives at least, unless the stretch ends before */

/* Reads exactly `size` bytes at `at`. */
typedef int assay_view_read(void *context, uint64_t at, void *bytes, size_t size, assay_error *err);

typedef struct assay_view {
    const char *path; /* for messages */
    uint64_t limit;   /* nobody looks behind it */
    const uint8_t *window;
    uint64_t window_at;
    size_t window_size;
    uint8_t *block; /* room for block_room bytes; NULL: everything is in the window */
    uint64_t block_at;
    size_t block_size, block_room;
    assay_view_read *read;
    void *context;
} assay_view;

/* The bytes at `at`, *size of them: at least ASSAY_VIEW_LEAST, and never beyond `end` (at < end <= limit). NULL and
 * *status on failure. Valid until the next look. Most looks find the window: only the others are a call. */
const uint8_t *assay_view_fetch(assay_view *view, uint64_t at, uint64_t end, size_t *size, int *status,
                                assay_error *err);
static inline const uint8_t *assay_view_look(assay_view *view, uint64_t at, uint64_t end, size_t *size, int *status,
                                             assay_error *err)
{
    uint64_t inside = at - view->window_at; /* wraps when `at` is before the window: then too large */
    if (inside < view->window_size &&
        (view->window_size - inside >= ASSAY_VIEW_LEAST || view->window_size - inside >= end - at)) {
        *size = view->window_size - inside < end - at ? (size_t)(view->window_size - inside) : (size_t)(end - at);
        return view->window + inside;
    }
    return assay_view_fetch(view, at, end, size, status, err);
}
/* Copies [at, end) out. */
int assay_view_copy(assay_view *view, uint64_t at, uint64_t end, void *out, assay_error *err);
