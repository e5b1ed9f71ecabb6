/* stream.c - see stream.h. */
#include "container/stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

/* Of a file whose kind is to be told, or whose first value, nothing is looked at but its beginning: what is read at once
 * grows from look to look. */
enum { BLOCK = 256 << 10, FIRST = 16 << 10 };

int assay_stream_open(assay_store *store, const char *path, assay_stream *out, assay_error *err)
{
    assay_stream stream = {0};
    ASSAY_TRY(assay_store_open_file(store, path, &stream.file, err));
    stream.size = assay_store_file_size(stream.file);
    *out = stream;
    return ASSAY_OK;
}

void assay_stream_close(assay_stream *s)
{
    assay_store_close_file(s->file);
    free(s->bytes);
    *s = (assay_stream){0};
}

/* Makes room for so many bytes from the first one on. */
static int make_room(assay_stream *s, size_t least, assay_error *err)
{
    const size_t room = least < SIZE_MAX - BLOCK ? least + BLOCK : least;
    if (s->room >= least)
        return ASSAY_OK;
    uint8_t *grown = assay_realloc_array(s->bytes, room, 1);
    if (!grown)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory for %zu bytes of a file", least);
    s->bytes = grown;
    s->room = room;
    return ASSAY_OK;
}

int assay_stream_look(assay_stream *s, uint64_t at, size_t least, const uint8_t **bytes, size_t *have, assay_error *err)
{
    const uint64_t skip = at - s->at;
    if (skip < s->have && s->have - skip >= least) {
        *bytes = s->bytes + skip;
        *have = s->have - (size_t)skip;
        return ASSAY_OK;
    }
    const uint64_t left = at < s->size ? s->size - at : 0;
    least = least < left ? least : (size_t)left;
    s->have = skip < s->have ? s->have - (size_t)skip : 0;
    if (s->have > 0)
        memmove(s->bytes, s->bytes + skip, s->have);
    s->at = at;
    int status = make_room(s, least > BLOCK ? least : BLOCK, err);
    s->once = s->once == 0 ? FIRST : 2 * s->once < s->room ? 2 * s->once : s->room;
    const size_t most = s->once > least ? s->once : least, end = most < s->room ? most : s->room;
    while (status == ASSAY_OK && s->have < end && s->have < left) {
        size_t got = 0;
        const uint64_t rest = left - s->have;
        const size_t want = end - s->have < rest ? end - s->have : (size_t)rest;
        status = assay_store_read_at(s->file, at + s->have, s->bytes + s->have, want, &got, err);
        s->have += got;
        if (got < want) /* the file became shorter: what is there counts */
            break;
    }
    *bytes = s->bytes;
    *have = s->have;
    return status;
}
