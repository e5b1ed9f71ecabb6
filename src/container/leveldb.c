/* leveldb.c - see leveldb.h. */
#include "container/leveldb.h"

#include <zlib.h>

enum { BLOCK = 32768, CHUNK = 7 /* crc32 u32, length u16, type u8 */ };
/* Types of chunks, as LevelDB's log format has them: whole records, and their first, middle and last parts. */
enum { FULL = 1, FIRST, MIDDLE, LAST };

typedef struct chunk {
    uint32_t sum;
    size_t length;
    unsigned type;
} chunk;

int assay_leveldb_open(assay_store *store, const char *path, assay_leveldb *out, assay_error *err)
{
    assay_leveldb log = {.next = ASSAY_LEVELDB_HEAD};
    ASSAY_TRY(assay_stream_open(store, path, &log.stream, err));
    assay_buf_init(&log.whole, ASSAY_LEVELDB_RECORD_MOST);
    *out = log;
    return ASSAY_OK;
}

void assay_leveldb_close(assay_leveldb *log)
{
    assay_stream_close(&log->stream);
    assay_buf_release(&log->whole);
}

static void drop_record(assay_leveldb *log)
{
    log->within = log->too_large = false;
    assay_buf_clear(&log->whole);
}

static chunk head_of(const uint8_t *bytes)
{
    const uint32_t sum =
        (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
    return (chunk){sum, (size_t)(bytes[4] | bytes[5] << 8), bytes[6]};
}

static bool is_sound(const uint8_t *bytes, chunk c)
{
    /* Plain CRC-32, where LevelDB itself has CRC-32C: Weights & Biases writes it so. */
    const uint32_t sum = (uint32_t)crc32(0, bytes + 6, (uInt)(c.length + 1)); /* of the type and what follows it */
    return c.type >= FULL && c.type <= LAST && sum == c.sum;
}

/* Adds a chunk to the record under way; true when a record is whole. */
static bool add_chunk(assay_leveldb *log, const uint8_t *data, chunk c)
{
    if (c.type == FULL || c.type == FIRST)
        drop_record(log);
    else if (!log->within)
        return false;
    if (c.type == FULL) {
        log->record = data;
        log->size = c.length;
        return true;
    }
    log->within = true;
    assay_put_bytes(&log->whole, data, c.length);
    log->too_large = assay_buf_status(&log->whole) == ASSAY_EBUDGET;
    if (c.type != LAST)
        return false;
    log->within = false;
    log->record = log->whole.data;
    log->size = log->whole.size;
    return true;
}

int assay_leveldb_next(assay_leveldb *log, assay_leveldb_kind *kind, assay_error *err)
{
    const uint8_t *bytes = NULL;
    size_t have = 0;
    if (!log->within) /* the record before is no longer needed */
        drop_record(log);
    for (;;) {
        /* A head never crosses the border of a block: fewer than seven bytes at its end are padding. */
        const size_t left = BLOCK - (size_t)(log->next % BLOCK); /* of the block */
        if (left < CHUNK) {
            log->next += left;
            continue;
        }
        log->at = log->next;
        ASSAY_TRY(assay_stream_look(&log->stream, log->at, left, &bytes, &have, err));
        if (have < CHUNK) { /* trailing zeros of a block that was cut are its end */
            *kind = have == 0 && !log->within ? ASSAY_LEVELDB_END : ASSAY_LEVELDB_UNFINISHED;
            return ASSAY_OK;
        }
        const chunk c = head_of(bytes);
        /* A head of zeros is padding, too, as writers that allocate blocks in advance leave it. */
        if (c.sum == 0 && c.length == 0 && c.type == 0) {
            log->next += left;
            continue;
        }
        const bool fits = c.length <= left - CHUNK;
        if (fits && c.length > have - CHUNK) {
            *kind = ASSAY_LEVELDB_UNFINISHED;
            return ASSAY_OK;
        }
        if (!fits || !is_sound(bytes, c)) {
            drop_record(log);
            /* Where the length is damaged the next chunk cannot be found: the next block begins with one. */
            log->next += left;
            *kind = ASSAY_LEVELDB_DAMAGED;
            return ASSAY_OK;
        }
        log->next += CHUNK + c.length;
        if (!add_chunk(log, bytes + CHUNK, c)) {
            if (log->whole.status == ASSAY_ENOMEM)
                return assay_fail(err, ASSAY_ENOMEM, "out of memory for a record");
            continue;
        }
        *kind = log->too_large ? ASSAY_LEVELDB_TOO_LARGE : ASSAY_LEVELDB_RECORD;
        return ASSAY_OK;
    }
}
