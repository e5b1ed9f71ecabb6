/* decoded.c - see decoded.h. */
#include "trial/decoded.h"

#include <stdlib.h>

#include "base/fault.h"

/* Doubling, but exactly `size` for the first: most records of a file have one size. */
int assay_decoded_reserve(assay_decoded *d, size_t size)
{
    if (size <= d->room)
        return ASSAY_OK;
    size_t room = size < SIZE_MAX / 2 && size < 2 * d->room ? 2 * d->room : size;
    uint8_t *grown = assay_realloc_array(d->bytes, room, 1);
    ASSAY_HAVE(grown);
    d->bytes = grown;
    d->room = room;
    return ASSAY_OK;
}

/* The state is a stream that is being unpacked, say; format and record change, so it cannot go on. */
void assay_decoded_drop_state(assay_decoded *d)
{
    if (d->state)
        d->state_free(d->state);
    d->state = NULL;
}

void assay_decoded_let_go(assay_decoded *d)
{
    assay_decoded_drop_state(d);
    free(d->bytes);
    free(d->texts);
    d->bytes = NULL;
    d->texts = NULL;
    d->size = d->room = d->text_room = 0;
}

void assay_decoded_release(assay_decoded *d)
{
    assay_decoded_let_go(d);
    free(d->tag);
    free(d->kept);
    *d = (assay_decoded){0};
}

int assay_decoded_sum(assay_decoded *d, assay_view *view, const assay_record *record, uint64_t from, uint64_t to,
                      assay_error *err)
{
    assay_running_sum *s = &d->sum;
    if (!s->on)
        return ASSAY_OK;
    for (uint64_t at = from; at < to;) {
        size_t size = 0;
        int status = ASSAY_OK;
        const uint8_t *bytes = assay_view_look(view, at, to, &size, &status, err);
        if (!bytes)
            return status;
        s->sum = s->feed(s->sum, bytes, size);
        at += size;
    }
    if (to != s->end)
        return ASSAY_OK;
    s->on = false;
    return s->check(s->said, s->sum, view->path, record->offset, err);
}

void assay_swap_numbers(uint8_t *bytes, size_t size, size_t width)
{
    for (uint8_t *at = bytes; at < bytes + size; at += width)
        for (size_t i = 0; i < width / 2; i++) {
            const uint8_t byte = at[i];
            at[i] = at[width - 1 - i];
            at[width - 1 - i] = byte;
        }
}
