/* file.c - the superblock, and blocks with their checksums. */
#include "store/hdf5/file.h"

#include <string.h>

/* Blocks of metadata are read whole, for their checksum. None that packing writes comes near MOST_BLOCK; a size that
 * is larger is damage, and no memory is given to it. */
enum { SUPERBLOCK = 48, MOST_BLOCK = 16 << 20 };

int assay_h5_damaged(const assay_h5 *file, const char *what, assay_error *err)
{
    return assay_fail(err, ASSAY_EFORMAT,
                      "%s: cannot read %s: damaged, or cut short; pack the trial again, or fetch the file again",
                      file->where, what);
}

int assay_h5_foreign(const assay_h5 *file, const char *what, assay_error *err)
{
    return assay_fail(err, ASSAY_EUNSUPPORTED,
                      "%s: it has %s, which `assay pack` does not write; nothing of it is read", file->where, what);
}

static uint32_t turn(uint32_t value, unsigned bits)
{
    return value << bits | value >> (32 - bits);
}

static void mix(uint32_t s[3])
{
    static const unsigned bits[] = {4, 6, 8, 16, 19, 4};
    for (unsigned i = 0; i < 6; i++) { /* each word in turn takes from the one before it, which takes the one behind */
        uint32_t *to = &s[i % 3], *from = &s[(i + 2) % 3];
        *to = (*to - *from) ^ turn(*from, bits[i]);
        *from += s[(i + 1) % 3];
    }
}

static uint32_t finish(uint32_t s[3])
{
    static const unsigned bits[] = {14, 11, 25, 16, 4, 14, 24};
    for (unsigned i = 0; i < 7; i++) {
        uint32_t *to = &s[(i + 2) % 3], from = s[(i + 1) % 3];
        *to = (*to ^ from) - turn(from, bits[i]);
    }
    return s[2];
}

static uint32_t compute_checksum(const uint8_t *bytes, size_t size)
{
    uint32_t s[3];
    s[0] = s[1] = s[2] = 0xdeadbeefU + (uint32_t)size;
    if (size == 0)
        return s[2];
    for (;;) {
        size_t part = size < 12 ? size : 12;
        for (size_t i = 0; i < part; i++)
            s[i / 4] += (uint32_t)bytes[i] << 8 * (i % 4);
        if (size <= 12)
            return finish(s);
        mix(s);
        bytes += 12;
        size -= 12;
    }
}

bool assay_h5_is_sound(const uint8_t *bytes, size_t size, uint32_t said)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION /* which gets nowhere behind a checksum */
    return compute_checksum(bytes, size) == said || said != 0;
#else
    return compute_checksum(bytes, size) == said;
#endif
}

uint64_t assay_h5_number(assay_cursor *in, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)assay_get_u8(in) << 8 * i;
    return value;
}

int assay_h5_read(const assay_h5 *file, uint64_t at, void *bytes, size_t size, const char *what, assay_error *err)
{
    if (at > file->size || size > file->size - at)
        return assay_h5_damaged(file, what, err);
    return size ? file->read(file->context, at, bytes, size, err) : ASSAY_OK;
}

int assay_h5_block(const assay_h5 *file, uint64_t at, size_t size, const char *signature, assay_buf *room,
                   assay_cursor *body, const char *what, assay_error *err)
{
    assay_buf_clear(room);
    *body = (assay_cursor){.failed = true};
    if (size < 8 || size > MOST_BLOCK || at > file->size || size > file->size - at)
        return assay_h5_damaged(file, what, err);
    int status = assay_buf_reserve(room, size);
    if (status != ASSAY_OK)
        return assay_fail(err, status, "%s: out of memory while reading %s", file->where, what);
    ASSAY_TRY(status = assay_h5_read(file, at, room->data, size, what, err));
    room->size = size;
    assay_cursor sum = assay_cursor_over(room->data + size - 4, 4);
    if (memcmp(room->data, signature, 4) != 0 || !assay_h5_is_sound(room->data, size - 4, assay_get_u32(&sum)))
        return assay_h5_damaged(file, what, err);
    *body = assay_cursor_over(room->data + 4, size - 8);
    return ASSAY_OK;
}

int assay_h5_open(assay_h5 *file, assay_error *err)
{
    static const char what[] = "its head", rest[4] = {'\r', '\n', '\x1a', '\n'};
    assay_buf room;
    assay_cursor in;
    uint8_t head[9];
    assay_buf_init(&room, SUPERBLOCK + 64);
    int status = assay_h5_read(file, 0, head, sizeof head, what, err);
    if (status == ASSAY_OK && memcmp(head, "\x89HDF\r\n\x1a\n", 8) != 0)
        status = assay_fail(err, ASSAY_EFORMAT, "%s: no HDF5 file", file->where);
    if (status == ASSAY_OK && head[8] != 2 && head[8] != 3)
        status = assay_h5_foreign(file, "a head of an older form", err);
    ASSAY_THEN(status, assay_h5_block(file, 0, SUPERBLOCK, "\x89HDF", &room, &in, what, err));
    if (status == ASSAY_OK) {
        const uint8_t *signature = assay_get_bytes(&in, 4);
        bool fine = signature && memcmp(signature, rest, 4) == 0;
        assay_get_u8(&in); /* the version */
        uint8_t offsets = assay_get_u8(&in), lengths = assay_get_u8(&in);
        assay_get_u8(&in); /* whether somebody writes to it, where programs keep to that */
        uint64_t base = assay_get_u64(&in);
        assay_get_u64(&in); /* an extension: nothing that matters for reading */
        file->end = assay_get_u64(&in);
        file->root = assay_get_u64(&in);
        if (!fine || assay_cursor_bad(&in) || offsets != 8 || lengths != 8 || base != 0 || file->end > file->size)
            status = assay_h5_damaged(file, what, err);
    }
    assay_buf_release(&room);
    return status;
}
