/* buf.c - the growable buffer and the bounded reader of <assay/pack.h>. */
#include <assay/pack.h>
#include <assay/status.h>

#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/heap.h"

void assay_buf_init(assay_buf *buf, size_t ceiling)
{
    *buf = (assay_buf){.ceiling = ceiling};
}

void assay_buf_release(assay_buf *buf)
{
    free(buf->data);
    *buf = (assay_buf){0};
}

void assay_buf_clear(assay_buf *buf)
{
    buf->size = 0;
    buf->status = ASSAY_OK;
}

int assay_buf_status(const assay_buf *buf)
{
    return buf->status;
}

/* Makes room for `more` bytes and one behind them (where printf puts its terminator); NULL and a status when it
 * cannot. The first failure stays in buf->status until the buffer is cleared, so writers check once, at the end. */
static uint8_t *reserve(assay_buf *buf, size_t more)
{
    if (buf->status != ASSAY_OK)
        return NULL;
    if (more > buf->ceiling - buf->size || buf->size + more == SIZE_MAX) {
        buf->status = ASSAY_EBUDGET;
        return NULL;
    }
    size_t need = buf->size + more + 1;
    if (need > buf->room) {
        /* Doubling keeps the bytes that are copied, over all growths, below twice the final size. */
        size_t room = buf->room < 64 ? 64 : buf->room;
        while (room < need)
            room = room > SIZE_MAX / 2 ? need : room * 2;
        if (room - 1 > buf->ceiling)
            room = buf->ceiling + 1; /* at least `need`, by the check above */
        uint8_t *data = assay_realloc_array(buf->data, room, 1);
        if (!data) {
            buf->status = ASSAY_ENOMEM;
            return NULL;
        }
        assay_heap_want_large(data, room);
        buf->data = data;
        buf->room = room;
    }
    return buf->data + buf->size;
}

int assay_buf_reserve(assay_buf *buf, size_t size)
{
    reserve(buf, size);
    return buf->status;
}

void assay_put_bytes(assay_buf *buf, const void *bytes, size_t size)
{
    uint8_t *at = size ? reserve(buf, size) : NULL;
    if (!at)
        return;
    memcpy(at, bytes, size);
    buf->size += size;
}

void assay_put_u8(assay_buf *buf, uint8_t value)
{
    assay_put_bytes(buf, &value, 1);
}

/* For a count that is known only after what it counts was written: the caller put eight bytes at `at` before. */
void assay_buf_set_u64(assay_buf *buf, size_t at, uint64_t value)
{
    for (unsigned i = 0; i < 8 && buf->status == ASSAY_OK; i++)
        buf->data[at + i] = (uint8_t)(value >> 8 * i);
}

/* Its lowest bytes are the first ones, whatever the machine has. */
static inline void put_little_endian(assay_buf *buf, uint64_t value, unsigned size)
{
    const uint64_t bytes = htole64(value);
    uint8_t *at = reserve(buf, size);
    if (!at)
        return;
    memcpy(at, &bytes, size);
    buf->size += size;
}

void assay_put_u32(assay_buf *buf, uint32_t value)
{
    put_little_endian(buf, value, 4);
}

void assay_put_u64(assay_buf *buf, uint64_t value)
{
    put_little_endian(buf, value, 8);
}

void assay_put_i64(assay_buf *buf, int64_t value)
{
    put_little_endian(buf, (uint64_t)value, 8);
}

void assay_put_f64(assay_buf *buf, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_little_endian(buf, bits, 8);
}

void assay_put_text(assay_buf *buf, const char *text)
{
    size_t length = text ? strlen(text) : 0;
    if (length > UINT32_MAX) {
        if (buf->status == ASSAY_OK)
            buf->status = ASSAY_EBUDGET;
        return;
    }
    assay_put_u32(buf, (uint32_t)length);
    assay_put_bytes(buf, text, length);
}

void assay_put_format(assay_buf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0 && buf->status == ASSAY_OK)
        buf->status = ASSAY_EINTERNAL;
    uint8_t *at = length > 0 ? reserve(buf, (size_t)length) : NULL;
    if (at) {
        vsnprintf((char *)at, (size_t)length + 1, format, again);
        buf->size += (size_t)length;
    }
    va_end(again);
}

/* Readers never check single values: a failed cursor gives zeros and empty texts, and assay_cursor_bad() tells at the
 * end. */
assay_cursor assay_cursor_over(const void *data, size_t size)
{
    return (assay_cursor){.data = data, .size = size};
}

bool assay_cursor_bad(const assay_cursor *in)
{
    return in->failed || in->at != in->size;
}

size_t assay_cursor_left(const assay_cursor *in)
{
    return in->size - in->at;
}

const uint8_t *assay_get_bytes(assay_cursor *in, size_t size)
{
    if (in->failed || size > in->size - in->at) {
        in->failed = true;
        return NULL;
    }
    const uint8_t *at = in->data ? in->data + in->at : NULL;
    in->at += size;
    return at;
}

static inline uint64_t get_little_endian(assay_cursor *in, unsigned size)
{
    const uint8_t *bytes = assay_get_bytes(in, size);
    uint64_t value = 0;
    if (bytes)
        memcpy(&value, bytes, size);
    return le64toh(value);
}

uint8_t assay_get_u8(assay_cursor *in)
{
    return (uint8_t)get_little_endian(in, 1);
}

uint32_t assay_get_u32(assay_cursor *in)
{
    return (uint32_t)get_little_endian(in, 4);
}

uint64_t assay_get_u64(assay_cursor *in)
{
    return get_little_endian(in, 8);
}

int64_t assay_get_i64(assay_cursor *in)
{
    uint64_t bits = get_little_endian(in, 8);
    int64_t value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double assay_get_f64(assay_cursor *in)
{
    uint64_t bits = get_little_endian(in, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

const char *assay_get_text(assay_cursor *in, size_t *length)
{
    size_t size = assay_get_u32(in);
    const uint8_t *bytes = assay_get_bytes(in, size);
    *length = bytes ? size : 0;
    return bytes ? (const char *)bytes : "";
}

/* Counts come from strangers. One that the bytes left cannot hold is refused here, before anybody allocates for it. */
uint64_t assay_get_count(assay_cursor *in, size_t item_size)
{
    uint64_t count = assay_get_u64(in);
    if (count > assay_cursor_left(in) / (item_size ? item_size : 1)) {
        in->failed = true;
        return 0;
    }
    return count;
}
