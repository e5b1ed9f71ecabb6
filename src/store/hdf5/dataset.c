/* dataset.c - what a data set's header says, and its rows.
 *
 * Packing lays chunks one behind the other unless they are compressed; then a list, the fixed array, says where each is
 * and how large. Long lists have pages with a checksum each. */
#include "store/hdf5/dataset.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/fault.h"
#include "store/hdf5/object.h"

enum {
    CHUNKED = 2,
    VIRTUAL = 3,
    SINGLE = 1,
    IMPLICIT = 2,
    FIXED_ARRAY = 3,
    DEFLATE = 1,
    SHUFFLE = 2,
    LIST_HEADER = 28
};

/* ---- the header ---- */

typedef struct facts {
    assay_h5_dataset *d;
    const assay_h5_row *row;
    const char *name;
    bool space, type, layout;
    uint64_t size;  /* bytes of contiguous rows, 0: chunks */
    unsigned index; /* of chunks */
} facts;

static int take_space(facts *f, assay_cursor body, assay_error *err)
{
    unsigned version = assay_get_u8(&body), rank = assay_get_u8(&body);
    assay_get_bytes(&body, 2);
    f->d->rows = assay_get_u64(&body);
    f->space = version == 2 && rank == 1 && !body.failed;
    return f->space ? ASSAY_OK : assay_h5_damaged(f->d->file, f->name, err);
}

/* A whole number of so many bytes. */
static bool is_number(assay_cursor *in, size_t size, bool is_signed)
{
    unsigned kind = assay_get_u8(in), bits = assay_get_u8(in);
    assay_get_bytes(in, 2);
    uint32_t bytes = assay_get_u32(in);
    uint64_t shift = assay_h5_number(in, 2), precision = assay_h5_number(in, 2);
    return !in->failed && (kind & 15) == 0 && !(bits & 1) && !(bits & 8) == !is_signed && bytes == size && shift == 0 &&
           precision == 8 * size;
}

static bool is_row(assay_cursor *in, const assay_h5_row *row)
{
    if (row->count == 0)
        return is_number(in, row->size, false);
    unsigned kind = assay_get_u8(in), members = (unsigned)assay_h5_number(in, 2);
    assay_get_bytes(in, 1);
    bool fits = kind == (3 << 4 | 6) && members == row->count && assay_get_u32(in) == row->size;
    for (unsigned i = 0; fits && i < members; i++) {
        const assay_h5_column *c = &row->columns[i];
        const size_t length = strlen(c->name) + 1;
        const uint8_t *name = assay_get_bytes(in, length);
        fits = name && memcmp(name, c->name, length) == 0 && assay_h5_number(in, 1) == c->offset &&
               is_number(in, c->size, c->is_signed);
    }
    return fits;
}

static int take_chunks(facts *f, assay_cursor *in, assay_error *err)
{
    assay_h5_dataset *d = f->d;
    unsigned flags = assay_get_u8(in), dimensions = assay_get_u8(in), bytes = assay_get_u8(in);
    if (dimensions != 2 || bytes == 0 || bytes > 8)
        return assay_h5_damaged(d->file, f->name, err);
    d->chunk = assay_h5_number(in, bytes);
    uint64_t row = assay_h5_number(in, bytes);
    f->index = assay_get_u8(in);
    if (f->index == SINGLE && flags & 2) {
        d->layout = ASSAY_H5_ONE_CHUNK;
        d->bytes = assay_get_u64(in);
        d->left_out = assay_get_u32(in);
    } else if (f->index == FIXED_ARRAY) {
        d->layout = ASSAY_H5_CHUNKS;
        assay_get_u8(in); /* the list says it again */
    } else if (f->index != SINGLE && f->index != IMPLICIT) {
        return assay_h5_foreign(d->file, "chunks that can grow", err);
    }
    d->address = assay_get_u64(in);
    if (in->failed || d->chunk == 0 || row != d->row)
        return assay_h5_damaged(d->file, f->name, err);
    return ASSAY_OK;
}

static int take_layout(facts *f, assay_cursor body, assay_error *err)
{
    assay_h5_dataset *d = f->d;
    unsigned version = assay_get_u8(&body), class = assay_get_u8(&body);
    f->layout = true;
    if (class == VIRTUAL)
        return assay_h5_foreign(d->file, "data made of other data sets", err);
    if (version == 4 && class == CHUNKED)
        return take_chunks(f, &body, err);
    if (class != 1)
        return assay_h5_foreign(d->file, "another layout of data", err);
    d->address = assay_get_u64(&body);
    f->size = assay_get_u64(&body);
    return body.failed ? assay_h5_damaged(d->file, f->name, err) : ASSAY_OK;
}

static int take_filters(facts *f, assay_cursor body, assay_error *err)
{
    assay_h5_dataset *d = f->d;
    unsigned version = assay_get_u8(&body), count = assay_get_u8(&body);
    for (unsigned i = 0; i < count && version == 2; i++) {
        unsigned filter = (unsigned)assay_h5_number(&body, 2);
        if (filter != DEFLATE && (filter != SHUFFLE || d->packed)) /* the numbers from 256 on have names behind them */
            return assay_h5_foreign(d->file, "filtered data", err);
        d->shuffled = d->shuffled || filter == SHUFFLE;
        d->packed = d->packed || filter == DEFLATE;
        assay_get_bytes(&body, 2);
        unsigned values = (unsigned)assay_h5_number(&body, 2);
        assay_get_bytes(&body, (size_t)values * 4);
    }
    bool fine = version == 2 && !body.failed && count == (unsigned)d->shuffled + d->packed;
    return fine ? ASSAY_OK : assay_h5_damaged(d->file, f->name, err);
}

static int take_message(void *context, const assay_h5 *file, unsigned kind, assay_cursor body, assay_error *err)
{
    facts *f = context;
    switch (kind) {
    case ASSAY_H5_EXTERNAL:
        return assay_h5_foreign(file, "data in other files", err);
    case ASSAY_H5_SPACE:
        return take_space(f, body, err);
    case ASSAY_H5_TYPE:
        f->type = is_row(&body, f->row);
        return f->type ? ASSAY_OK : assay_h5_foreign(file, "rows of another form", err);
    case ASSAY_H5_LAYOUT:
        return take_layout(f, body, err);
    case ASSAY_H5_FILTERS:
        return take_filters(f, body, err);
    default:
        return ASSAY_OK;
    }
}

/* Have the rows bytes in the file? */
static bool has_bytes(const facts *f)
{
    const assay_h5_dataset *d = f->d;
    uint64_t bytes = 0;
    if (d->rows == 0)
        return true;
    if (__builtin_mul_overflow(d->rows, (uint64_t)d->row, &bytes) || d->address >= d->file->size)
        return false;
    if (d->layout == ASSAY_H5_CONTIGUOUS)
        return bytes <= d->file->size - d->address && (f->index || bytes <= f->size);
    return d->layout != ASSAY_H5_ONE_CHUNK || (d->rows <= d->chunk && d->bytes <= d->file->size - d->address);
}

int assay_h5_dataset_open(const assay_h5 *file, uint64_t header, const char *name, const assay_h5_row *row,
                          assay_h5_dataset *out, assay_error *err)
{
    *out = (assay_h5_dataset){.file = file, .row = row->size};
    facts f = {.d = out, .row = row, .name = name};
    ASSAY_TRY(assay_h5_messages(file, header, take_message, &f, err));
    const bool filtered = out->shuffled || out->packed;
    if (filtered && out->layout == ASSAY_H5_CONTIGUOUS && out->rows > 0)
        return assay_h5_damaged(file, name, err);
    if (out->layout != ASSAY_H5_CONTIGUOUS && out->chunk > ASSAY_H5_CHUNK_MOST / out->row)
        return assay_h5_foreign(file, "larger chunks", err);
    return f.space && f.type && f.layout && has_bytes(&f) ? ASSAY_OK : assay_h5_damaged(file, name, err);
}

/* ---- the list of chunks ---- */

typedef struct chunk {
    uint64_t at, bytes;
    uint32_t left_out; /* filters that were not applied */
} chunk;

typedef struct list { /* a fixed array's header */
    const assay_h5_dataset *of;
    const char *name; /* for messages */
    bool filtered;
    unsigned entry, page_bits;
    uint64_t entries, at;
} list;

static int read_list(list *l, assay_buf *room, assay_error *err)
{
    const assay_h5_dataset *d = l->of;
    const char *name = l->name;
    assay_cursor in;
    ASSAY_TRY(assay_h5_block(d->file, d->address, LIST_HEADER, "FAHD", room, &in, name, err));
    unsigned version = assay_get_u8(&in);
    l->filtered = assay_get_u8(&in);
    l->entry = assay_get_u8(&in);
    l->page_bits = assay_get_u8(&in);
    l->entries = assay_get_u64(&in);
    l->at = assay_get_u64(&in);
    const unsigned least = l->filtered ? 8 + 1 + 4 : 8;
    bool fine = !assay_cursor_bad(&in) && version == 0 && l->filtered == (d->shuffled || d->packed) &&
                l->entry >= least && l->entry <= (l->filtered ? 20U : 8U) && l->page_bits >= 1 && l->page_bits <= 16 &&
                l->entries <= d->file->size && l->entries >= (d->rows + d->chunk - 1) / d->chunk;
    return fine ? ASSAY_OK : assay_h5_damaged(d->file, name, err);
}

/* Reads the part of the list that has the entry: all of it, or a page. *in stands at the entry. */
static int read_page(const list *l, uint64_t number, assay_buf *room, assay_cursor *in, assay_error *err)
{
    const assay_h5_dataset *d = l->of;
    const char *name = l->name;
    const size_t head = 4 + 1 + 1 + 8;
    const uint64_t page = (uint64_t)1 << l->page_bits, pages = (l->entries + page - 1) / page;
    if (pages <= 1) {
        size_t size = head + (size_t)l->entries * l->entry + 4;
        int status = assay_h5_block(d->file, l->at, size, "FADB", room, in, name, err);
        if (status == ASSAY_OK)
            assay_get_bytes(in, head - 4 + (size_t)number * l->entry);
        return status;
    }
    const uint64_t first = number / page * page, count = l->entries - first < page ? l->entries - first : page;
    const uint64_t at = l->at + head + (pages + 7) / 8 + 4 + number / page * (page * l->entry + 4);
    const size_t size = (size_t)count * l->entry;
    assay_buf_clear(room);
    if (l->at > d->file->size || assay_buf_reserve(room, size + 4) != ASSAY_OK)
        return l->at > d->file->size
                   ? assay_h5_damaged(d->file, name, err)
                   : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while reading it", d->file->where);
    ASSAY_TRY(assay_h5_read(d->file, at, room->data, size + 4, name, err));
    assay_cursor sum = assay_cursor_over(room->data + size, 4);
    if (!assay_h5_is_sound(room->data, size, assay_get_u32(&sum)))
        return assay_h5_damaged(d->file, name, err);
    *in = assay_cursor_over(room->data + (number - first) * l->entry, l->entry);
    return ASSAY_OK;
}

static int find_chunk(const assay_h5_dataset *d, const char *name, uint64_t number, chunk *out, assay_error *err)
{
    const uint64_t whole = d->chunk * d->row;
    assay_buf room = ASSAY_BUF(SIZE_MAX);
    assay_cursor in;
    list l = {.of = d, .name = name};
    if (d->layout == ASSAY_H5_ONE_CHUNK) {
        *out = (chunk){d->address, d->bytes, d->left_out};
        return ASSAY_OK;
    }
    int status = read_list(&l, &room, err);
    ASSAY_THEN(status, read_page(&l, number, &room, &in, err));
    if (status == ASSAY_OK) {
        *out = (chunk){assay_get_u64(&in), whole, 0};
        if (l.filtered) {
            out->bytes = assay_h5_number(&in, l.entry - 12 < 8 ? l.entry - 12 : 8);
            out->left_out = assay_get_u32(&in);
        }
        if (in.failed || out->bytes > 2 * whole + 4096)
            status = assay_h5_damaged(d->file, name, err);
    }
    assay_buf_release(&room);
    return status;
}

/* ---- unpacking ---- */

static void *zlib_alloc(void *unused, unsigned count, unsigned size)
{
    return assay_realloc_array(NULL, count, size);
}

static void zlib_free(void *unused, void *memory)
{
    free(memory);
}

/* Z_OK when `from` unpacks to exactly `size` bytes. */
static int unpack(const uint8_t *from, size_t from_size, uint8_t *to, size_t size)
{
    z_stream z = {.zalloc = zlib_alloc,
                  .zfree = zlib_free,
                  .next_in = (z_const Bytef *)(uintptr_t)from,
                  .avail_in = (uInt)from_size,
                  .next_out = to,
                  .avail_out = (uInt)size};
    int result = inflateInit(&z);
    if (result != Z_OK)
        return result;
    result = inflate(&z, Z_FINISH);
    bool whole = result == Z_STREAM_END && z.avail_out == 0;
    inflateEnd(&z);
    return whole ? Z_OK : result == Z_MEM_ERROR ? Z_MEM_ERROR : Z_DATA_ERROR;
}

/* Shuffled bytes: the first byte of every row, then the second of every row, and so on. */
static void unshuffle(const uint8_t *from, uint8_t *to, size_t rows, size_t row)
{
    for (size_t b = 0; b < row; b++)
        for (size_t i = 0; i < rows; i++)
            to[i * row + b] = from[b * rows + i];
}

/* Undoes the filters of a chunk; the result is in `plain`, which has room for it; `room` has room for three. */
static int read_chunk(const assay_h5_dataset *d, const char *name, const chunk *c, uint8_t *plain, uint8_t *room,
                      assay_error *err)
{
    const size_t whole = (size_t)d->chunk * d->row;
    const bool shuffled = d->shuffled && d->row > 1 && !(c->left_out & 1U);
    const bool packed = d->packed && !(c->left_out >> d->shuffled & 1U);
    if (packed ? c->bytes > 2 * whole + 4096 : c->bytes != whole)
        return assay_h5_damaged(d->file, name, err);
    ASSAY_TRY(assay_h5_read(d->file, c->at, packed ? room : plain, (size_t)c->bytes, name, err));
    int result = packed ? unpack(room, (size_t)c->bytes, plain, whole) : Z_OK;
    if (result == Z_MEM_ERROR)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while reading %s", d->file->where, name);
    if (result != Z_OK)
        return assay_h5_damaged(d->file, name, err);
    if (shuffled) {
        memcpy(room, plain, whole);
        unshuffle(room, plain, (size_t)d->chunk, d->row);
    }
    return ASSAY_OK;
}

int assay_h5_dataset_read(const assay_h5_dataset *d, const char *name, uint64_t first, uint64_t count, void *rows,
                          assay_error *err)
{
    uint8_t *to = rows;
    if (first > d->rows || count > d->rows - first)
        return assay_fail(err, ASSAY_EINTERNAL, "%s: rows of %s that there are not", d->file->where, name);
    if (d->layout == ASSAY_H5_CONTIGUOUS)
        return assay_h5_read(d->file, count ? d->address + first * d->row : 0, to, (size_t)(count * d->row), name, err);
    const size_t whole = (size_t)d->chunk * d->row;
    uint8_t *plain = assay_alloc(whole), *room = assay_alloc(2 * whole + 4096);
    int status =
        plain && room ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while reading it", d->file->where);
    while (status == ASSAY_OK && count > 0) {
        const uint64_t in = first % d->chunk, take = d->chunk - in < count ? d->chunk - in : count;
        chunk c;
        status = find_chunk(d, name, first / d->chunk, &c, err);
        ASSAY_THEN(status, read_chunk(d, name, &c, plain, room, err));
        if (status == ASSAY_OK)
            memcpy(to, plain + in * d->row, (size_t)take * d->row);
        to += take * d->row;
        first += take;
        count -= take;
    }
    free(plain);
    free(room);
    return status;
}
