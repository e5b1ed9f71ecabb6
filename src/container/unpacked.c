/* unpacked.c - see unpacked.h. */
#include "container/unpacked.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/fault.h"

enum { BLOCK = 256 << 10, GZIP_WINDOW = 15 + 16 };

struct assay_unpacked {
    assay_store_file *file;
    char *path;
    uint64_t offset, out;
    uint8_t *raw;    /* what was read of the file; of a plain one its beginning */
    size_t at, size; /* of a plain file: what of `raw` is to be handed out */
    bool packed;
    bool within; /* a member */
    z_stream stream;
};

void assay_unpacked_close(assay_unpacked *u)
{
    if (!u)
        return;
    if (u->packed)
        inflateEnd(&u->stream);
    assay_store_close_file(u->file);
    free(u->raw);
    free(u->path);
    free(u);
}

static int read_raw(assay_unpacked *u, void *to, size_t room, size_t *got, assay_error *err)
{
    const int status = assay_store_read_at(u->file, u->offset, to, room, got, err);
    if (status == ASSAY_OK)
        u->offset += *got;
    return status;
}

static int begin(assay_unpacked *u, assay_error *err)
{
    int status = read_raw(u, u->raw, BLOCK, &u->size, err);
    if (status != ASSAY_OK || u->size < 2 || u->raw[0] != 0x1f || u->raw[1] != 0x8b)
        return status;
    if (inflateInit2(&u->stream, GZIP_WINDOW) != Z_OK)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while it is unpacked", u->path);
    u->packed = u->within = true;
    u->stream.next_in = u->raw;
    u->stream.avail_in = (uInt)u->size;
    return ASSAY_OK;
}

int assay_unpacked_open(assay_store *store, const char *path, assay_unpacked **out, assay_error *err)
{
    assay_unpacked *u = assay_alloc_zeroed(1, sizeof *u);
    if (!u)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", path);
    u->path = assay_copy_text(path);
    u->raw = assay_alloc(BLOCK);
    int status = u->path && u->raw ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", path);
    ASSAY_THEN(status, assay_store_open_file(store, path, &u->file, err));
    ASSAY_THEN(status, begin(u, err));
    if (status != ASSAY_OK) {
        assay_unpacked_close(u);
        return status;
    }
    *out = u;
    return ASSAY_OK;
}

/* Fills the input of the stream where it is empty. *ended: the file has no more. */
static int feed(assay_unpacked *u, bool *ended, assay_error *err)
{
    size_t got = 0;
    *ended = false;
    if (u->stream.avail_in > 0)
        return ASSAY_OK;
    ASSAY_TRY(read_raw(u, u->raw, BLOCK, &got, err));
    u->stream.next_in = u->raw;
    u->stream.avail_in = (uInt)got;
    *ended = got == 0;
    if (*ended && u->within)
        return assay_fail(err, ASSAY_EFORMAT, "%s: the packed file is cut short, or not written to its end yet",
                          u->path);
    return ASSAY_OK;
}

static int damaged(const assay_unpacked *u, assay_error *err)
{
    return assay_fail(err, ASSAY_EFORMAT, "%s: the packed file is damaged before byte %llu", u->path,
                      (unsigned long long)u->offset);
}

/* Between two members: passes over padding, and begins the next one. *ended: there is none. */
static int next_member(assay_unpacked *u, bool *ended, assay_error *err)
{
    *ended = false;
    while (!*ended && *u->stream.next_in == 0) {
        u->stream.next_in++;
        u->stream.avail_in--;
        ASSAY_TRY(feed(u, ended, err));
    }
    if (*ended)
        return ASSAY_OK;
    if (*u->stream.next_in != 0x1f)
        return damaged(u, err); /* what follows may be a member that lost its first byte */
    if (inflateReset(&u->stream) != Z_OK)
        return assay_fail(err, ASSAY_EINTERNAL, "%s: cannot unpack its next part", u->path);
    u->within = true;
    return ASSAY_OK;
}

/* Unpacks until some bytes came, or the file ends. */
static int unpack(assay_unpacked *u, uint8_t *to, size_t room, size_t *got, assay_error *err)
{
    u->stream.next_out = to;
    u->stream.avail_out = (uInt)room;
    while (u->stream.avail_out == room) {
        bool ended = false;
        int status = feed(u, &ended, err);
        if (status == ASSAY_OK && !ended && !u->within)
            status = next_member(u, &ended, err);
        if (status != ASSAY_OK || ended)
            return status;
        const int result = inflate(&u->stream, Z_NO_FLUSH);
        u->within = result != Z_STREAM_END;
        *got = room - u->stream.avail_out;
        if (result == Z_MEM_ERROR)
            return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while it is unpacked", u->path);
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
            return damaged(u, err);
    }
    return ASSAY_OK;
}

bool assay_unpacked_seek(assay_unpacked *u, uint64_t offset)
{
    if (u->packed)
        return false;
    u->at = offset < u->size ? (size_t)offset : u->size;
    u->offset = offset < u->size ? u->size : offset;
    return true;
}

uint64_t assay_unpacked_size(const assay_unpacked *u)
{
    return assay_store_file_size(u->file);
}

int assay_unpacked_read(assay_unpacked *u, void *to, size_t room, size_t *got, assay_error *err)
{
    enum { MOST = 1 << 30 };
    int status = ASSAY_OK;
    *got = 0;
    room = room < MOST ? room : MOST;
    if (u->packed) {
        status = unpack(u, to, room, got, err);
    } else if (u->at < u->size) {
        *got = u->size - u->at < room ? u->size - u->at : room;
        memcpy(to, u->raw + u->at, *got);
        u->at += *got;
    } else {
        status = read_raw(u, to, room, got, err);
    }
    u->out += *got;
    return status;
}

uint64_t assay_unpacked_bytes_read(const assay_unpacked *u)
{
    return u->offset;
}

uint64_t assay_unpacked_bytes(const assay_unpacked *u)
{
    return u->out;
}
