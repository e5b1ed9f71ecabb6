/* lines.c - see lines.h.
 *
 * 1. A block is read, unpacked, and made UTF-8 (utf8.h).
 * 2. A line that lies in one block is handed out where it lies. One that goes on in the next block is put together.
 *
 * A few packed bytes can stand for a thousand times as many, and readers keep something of each line. Lines of metrics
 * and events pack to a tenth or a fortieth, so a file that unpacks to far more is not read to its end. */
#include "container/lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "container/utf8.h"

enum { BLOCK = 256 << 10, UNPACKED_FREE = 64 << 20, UNPACKED_SHARE = 100, PASSED_MOST = 256 << 20 };

struct assay_lines {
    assay_utf8 *bytes;
    char *path;
    uint64_t number;
    uint64_t passed; /* bytes of the line that is too long */
    uint8_t *text;   /* text to hand out */
    size_t at, size;
    assay_buf whole; /* a line of several blocks */
    bool finished, too_long;
    /* Readers of files that grow ask: a line that nothing ended may go on. */
    bool ended; /* by a line feed: the line that was handed out last */
    int failed; /* what ended the stream; told once its lines are handed out */
    assay_error why;
};

void assay_lines_close(assay_lines *l)
{
    if (!l)
        return;
    assay_utf8_close(l->bytes);
    assay_buf_release(&l->whole);
    free(l->text);
    free(l->path);
    free(l);
}

int assay_lines_open(assay_store *store, const char *path, assay_lines **out, assay_error *err)
{
    assay_lines *l = assay_alloc_zeroed(1, sizeof *l);
    if (!l)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", path);
    assay_buf_init(&l->whole, ASSAY_LINE_MOST);
    l->path = assay_copy_text(path);
    l->text = assay_alloc(BLOCK);
    int status = l->path && l->text ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", path);
    ASSAY_THEN(status, assay_utf8_open(store, path, &l->bytes, err));
    if (status != ASSAY_OK) {
        assay_lines_close(l);
        return status;
    }
    *out = l;
    return ASSAY_OK;
}

/* The next block of text; none at the end. */
static int next_block(assay_lines *l, assay_error *err)
{
    int status = ASSAY_OK;
    l->at = l->size = 0;
    if (l->failed)
        return ASSAY_OK;
    status = assay_utf8_read(l->bytes, l->text, BLOCK, &l->size, &l->why);
    const assay_unpacked *bytes = assay_utf8_bytes(l->bytes);
    const uint64_t unpacked = assay_unpacked_bytes(bytes), read = assay_unpacked_bytes_read(bytes);
    if (status == ASSAY_OK && unpacked > UNPACKED_FREE && unpacked / UNPACKED_SHARE > read)
        status =
            assay_fail(&l->why, ASSAY_EFORMAT,
                       "%s: it unpacks to more than %d times its bytes; lines behind the first %llu MiB are not read",
                       l->path, UNPACKED_SHARE, (unsigned long long)(unpacked >> 20));
    if (status == ASSAY_EFORMAT) { /* first the lines before it */
        l->failed = status;
        /* The failure is kept in `failed` and `why` until the lines before it were handed out. */
        return ASSAY_OK;
    }
    if (status != ASSAY_OK && err)
        *err = l->why;
    return status;
}

/* Keeps a piece of a line until its end is found. */
static int keep(assay_lines *l, const uint8_t *piece, size_t size, assay_error *err)
{
    /* Bytes of a line that is too long are counted, not kept. */
    if (l->too_long && (l->passed += size) > PASSED_MOST) /* the file may be a hole of any size */
        return assay_fail(err, ASSAY_EFORMAT, "%s: a line has more than %d MiB; nothing behind it is read", l->path,
                          PASSED_MOST >> 20);
    if (l->too_long || size == 0)
        return ASSAY_OK;
    assay_put_bytes(&l->whole, piece, size);
    l->too_long = l->whole.status == ASSAY_EBUDGET;
    return l->whole.status == ASSAY_ENOMEM ? assay_fail(err, ASSAY_ENOMEM, "%s: out of memory for a line", l->path)
                                           : ASSAY_OK;
}

/* Hands out what was kept, and begins a new line. */
static int hand_out(assay_lines *l, const char **line, size_t *length)
{
    *line = l->too_long ? NULL : l->whole.data ? (const char *)l->whole.data : "";
    *length = l->too_long ? 0 : l->whole.size;
    l->number++;
    l->finished = true; /* the line is kept until the next call */
    return 1;
}

int assay_lines_take(assay_lines *l, assay_buf *out, size_t most, assay_error *err)
{
    while (assay_buf_status(out) == ASSAY_OK && out->size < most) {
        assay_put_bytes(out, l->text + l->at, l->size - l->at);
        ASSAY_TRY(next_block(l, err));
        if (l->size == 0) {
            if (l->failed && err)
                *err = l->why;
            return l->failed;
        }
    }
    return assay_buf_status(out);
}

int assay_lines_next(assay_lines *l, const char **line, size_t *length, assay_error *err)
{
    if (l->finished) {
        assay_buf_clear(&l->whole);
        l->finished = l->too_long = false;
        l->passed = 0;
    }
    for (;;) {
        const uint8_t *from = l->text + l->at;
        const uint8_t *end = l->at < l->size ? memchr(from, '\n', l->size - l->at) : NULL;
        /* The usual way: no copy. */
        if (end && l->whole.size == 0 && !l->too_long) {
            *line = (const char *)from;
            *length = (size_t)(end - from);
            l->at += *length + 1;
            l->number++;
            l->ended = true;
            return 1;
        }
        ASSAY_TRY(keep(l, from, end ? (size_t)(end - from) : l->size - l->at, err));
        if (end) {
            l->at = (size_t)(end - l->text) + 1;
            l->ended = true;
            return hand_out(l, line, length);
        }
        ASSAY_TRY(next_block(l, err));
        if (l->size == 0 && (l->whole.size > 0 || l->too_long)) {
            l->ended = false;
            return hand_out(l, line, length);
        }
        if (l->size == 0 && l->failed && err)
            *err = l->why;
        if (l->size == 0)
            return l->failed;
    }
}

bool assay_lines_is_ended(const assay_lines *l)
{
    return l->ended;
}

uint64_t assay_lines_number(const assay_lines *l)
{
    return l->number;
}

uint64_t assay_lines_bytes_read(const assay_lines *l)
{
    return assay_unpacked_bytes_read(assay_utf8_bytes(l->bytes));
}
