/* zip.c - reads the directory of a zip file.
 *
 * 1. The end record is the last one in the final 65 557 bytes; where a zip64 locator stands right before it, the zip64
 *    record counts, and the end record may not say anything else.
 * 2. The directory lies right before the end record, and is read as a whole.
 * 3. Each entry's local header is read, in the order of the file: it must name the same file, and no two entries may
 *    lie over one another. Only then is it known where data begin. */
#include "container/zip.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/heap.h"
#include "container/unzstd.h"

enum {
    END = 22,
    END_FURTHEST = 65557, /* with the longest comment */
    END64 = 56,
    LOCATOR = 20,
    CENTRAL = 46,
    LOCAL = 30,
    ENTRIES_MOST = 1 << 24,
    DIRECTORY_MOST = 1 << 30,
    NEAR = 4096,        /* entries no further apart are read together, */
    WINDOW = 128 << 10, /* so many bytes at once: more than a local header can have */
    ENCRYPTED = 1       /* bit 0 of the general purpose flags */
};

/* A zip file while its directory is read. The offsets and sizes in a zip file are a stranger's: each is checked
 * against the file, and against the others, before it is used. */
typedef struct source {
    assay_view_read *read;
    void *context;
    uint64_t size;
    const char *path;
    assay_error *err;
} source;

typedef struct directory {
    uint64_t at, size, entries;
    uint64_t behind; /* bytes of the file behind the end record and its comment */
} directory;

static uint16_t u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t u32(const uint8_t *p)
{
    return (uint32_t)u16(p) | (uint32_t)u16(p + 2) << 16;
}

static uint64_t u64(const uint8_t *p)
{
    return u32(p) | (uint64_t)u32(p + 4) << 32;
}

static bool is_mark(const uint8_t *p, char a, char b)
{
    return p[0] == 'P' && p[1] == 'K' && p[2] == a && p[3] == b;
}

static int wrong(const source *s, uint64_t at, const char *what)
{
    return assay_fail(s->err, ASSAY_EFORMAT, "%s: offset %llu: %s", s->path, (unsigned long long)at, what);
}

static int no_memory(const source *s)
{
    return assay_fail(s->err, ASSAY_ENOMEM, "%s: out of memory for the directory of the zip file", s->path);
}

/* ---- the end record ---- */

/* A field of the end record against the zip64 record's: equal, or all ones. 32-bit fields that are all ones refer to
 * the zip64 record; others have to say the same as that, or tools would see different files. */
static bool agrees(uint64_t narrow, uint64_t all_ones, uint64_t wide)
{
    return narrow == wide || narrow == all_ones;
}

/* The zip64 record that the locator at `locator` points to; `end` is the end record behind it. */
static int read_end64(const source *s, uint64_t at, const uint8_t *locator, const uint8_t *end, directory *out)
{
    uint8_t b[END64];
    const uint64_t record = u64(locator + 8);
    /* Bytes 8 to 15 of the locator; the record has 56 bytes at least. */
    if (record > at || at - record < END64)
        return wrong(s, at, "the zip64 end record does not lie before its locator");
    ASSAY_TRY(s->read(s->context, record, b, sizeof b, s->err));
    /* The record's length is counted from behind its own field: 12 bytes less than the whole. */
    if (!is_mark(b, 6, 6) || u64(b + 4) != at - record - 12)
        return wrong(s, record, "there is no zip64 end record that ends at its locator");
    if (u32(locator + 4) != 0 || u32(locator + 16) > 1 || u32(b + 16) != 0 || u32(b + 20) != 0 ||
        u64(b + 24) != u64(b + 32))
        return wrong(s, record, "a zip file in several parts is not read");
    *out = (directory){.at = u64(b + 48), .size = u64(b + 40), .entries = u64(b + 32)};
    if (!agrees(u16(end + 8), 0xffff, out->entries) || !agrees(u16(end + 10), 0xffff, out->entries) ||
        !agrees(u32(end + 12), 0xffffffff, out->size) || !agrees(u32(end + 16), 0xffffffff, out->at))
        return wrong(s, at, "the end record and the zip64 end record say different things");
    return out->at <= record && record - out->at == out->size
               ? ASSAY_OK
               : wrong(s, record, "the directory does not end where the zip64 end record begins");
}

/* Without a zip64 record. */
static int read_end32(const source *s, uint64_t at, const uint8_t *b, directory *out)
{
    if (u16(b + 4) == 0xffff || u16(b + 8) == 0xffff || u32(b + 12) == 0xffffffff || u32(b + 16) == 0xffffffff)
        return wrong(s, at, "the end record refers to a zip64 end record that is not there");
    if (u16(b + 4) != 0 || u16(b + 6) != 0 || u16(b + 8) != u16(b + 10))
        return wrong(s, at, "a zip file in several parts is not read");
    *out = (directory){.at = u32(b + 16), .size = u32(b + 12), .entries = u16(b + 10)};
    return out->at <= at && at - out->at == out->size
               ? ASSAY_OK
               : wrong(s, at, "the directory does not end where the end record begins");
}

static int find_directory(const source *s, directory *out)
{
    const size_t size = s->size < END_FURTHEST + LOCATOR ? (size_t)s->size : END_FURTHEST + LOCATOR;
    const uint64_t from = s->size - size;
    uint8_t *tail = assay_alloc(size);
    int status = tail ? s->read(s->context, from, tail, size, s->err) : no_memory(s);
    /* Searched backwards: the comment behind the end record may hold bytes that look like one. */
    size_t at = size < END ? 0 : size - END + 1;
    const size_t first = size > END_FURTHEST ? size - END_FURTHEST : 0;
    while (status == ASSAY_OK && at > first && !is_mark(tail + at - 1, 5, 6))
        at--;
    if (status == ASSAY_OK && at <= first)
        status = wrong(s, s->size, "the zip file has no end record: it is cut short, or not written to its end");
    if (status == ASSAY_OK) {
        const uint8_t *end = tail + --at;
        if (at >= LOCATOR && is_mark(end - LOCATOR, 6, 7))
            status = read_end64(s, from + at - LOCATOR, end - LOCATOR, end, out);
        else
            status = read_end32(s, from + at, end, out);
        const size_t last = at + END + u16(end + END - 2);
        out->behind = last < size ? size - last : 0;
    }
    free(tail);
    if (status == ASSAY_OK && (out->size > DIRECTORY_MOST || out->entries > ENTRIES_MOST))
        status = wrong(s, out->at, "the directory has more than 2^24 entries, or more than 1 GiB");
    return status;
}

/* ---- the directory ---- */

/* Takes from the zip64 extra field the numbers that did not fit the entry, in this order. */
static bool take_wide(const uint8_t *extra, size_t size, assay_zip_entry *e)
{
    uint64_t *const wide[] = {&e->size, &e->compressed, &e->header};
    const uint8_t *end = extra + size, *at = NULL, *stop = NULL;
    /* Field 1 is zip64's; the first one counts if it comes twice. */
    for (const uint8_t *p = extra; end - p >= 4 && end - p - 4 >= u16(p + 2); p += 4 + u16(p + 2))
        if (u16(p) == 1 && !at) {
            at = p + 4;
            stop = at + u16(p + 2);
        }
    for (size_t i = 0; i < 3; i++) {
        if (*wide[i] != 0xffffffff)
            continue;
        if (!at || stop - at < 8)
            return false;
        *wide[i] = u64(at);
        at += 8;
    }
    return true;
}

static int take_entry(const source *s, const uint8_t *b, uint64_t at, assay_zip_entry *e)
{
    *e = (assay_zip_entry){.header = u32(b + 42),
                           .compressed = u32(b + 20),
                           .size = u32(b + 24),
                           .crc = u32(b + 16),
                           .method = u16(b + 10)};
    if (!take_wide(b + CENTRAL + u16(b + 28), u16(b + 30), e))
        return wrong(s, at, "an entry's size or place does not stand in its zip64 field");
    /* 0xffff: the number of the disk stands in the zip64 field, and is 0 there, since find_directory() refused other
     * disks. */
    if (u16(b + 34) != 0 && u16(b + 34) != 0xffff)
        return wrong(s, at, "a zip file in several parts is not read");
    if (u16(b + 8) & ENCRYPTED)
        return assay_fail(s->err, ASSAY_EUNSUPPORTED, "%s: offset %llu: an encrypted entry is not read", s->path,
                          (unsigned long long)at);
    if (e->method == ASSAY_ZIP_ZSTD && !assay_unzstd_version())
        return assay_fail(s->err, ASSAY_EUNSUPPORTED,
                          "%s: offset %llu: an entry is compressed by Zstandard, and this assay was built without "
                          "libzstd (ASSAY_WITH_ZSTD)",
                          s->path, (unsigned long long)at);
    if (e->method != ASSAY_ZIP_STORED && e->method != ASSAY_ZIP_DEFLATED && e->method != ASSAY_ZIP_ZSTD)
        return assay_fail(s->err, ASSAY_EUNSUPPORTED,
                          "%s: offset %llu: compression method %u is not read, only stored, deflated and Zstandard",
                          s->path, (unsigned long long)at, e->method);
    if (e->method == ASSAY_ZIP_STORED && e->compressed != e->size)
        return wrong(s, at, "a stored entry has two sizes");
    return ASSAY_OK;
}

static uint64_t entry_size(const uint8_t *b)
{
    return CENTRAL + (uint64_t)u16(b + 28) + u16(b + 30) + u16(b + 32);
}

/* Takes the entries up to the first that is wrong. Entries are appended without a look for equal names;
 * take_entries() looks for them afterwards, all at once. */
static int take_each(const source *s, const directory *d, const uint8_t *bytes, assay_zip *out)
{
    uint64_t at = 0;
    for (uint64_t i = 0; i < d->entries; i++) {
        const uint8_t *b = bytes + at;
        if (d->size - at < CENTRAL || !is_mark(b, 1, 2))
            return wrong(s, d->at + at, "the directory ends before its last entry");
        if (d->size - at < entry_size(b))
            return wrong(s, d->at + at, "an entry goes beyond the directory");
        ASSAY_TRY(take_entry(s, b, d->at + at, &out->entry[i]));
        if (assay_dict_append(out->names, (const char *)b + CENTRAL, u16(b + 28)) == ASSAY_NO_ID)
            return no_memory(s);
        at += entry_size(b);
    }
    return at == d->size ? ASSAY_OK : wrong(s, d->at + at, "the directory has more than its entries");
}

/* A name that stands twice is wrong before anything that follows it. `again` counts entries, so its place in the
 * directory is found by walking over those before it. */
static int take_entries(const source *s, const directory *d, const uint8_t *bytes, assay_zip *out)
{
    uint64_t at = 0;
    uint32_t again = ASSAY_NO_ID;
    int status = take_each(s, d, bytes, out);
    if (!assay_dict_settle(out->names, &again))
        return no_memory(s);
    if (again == ASSAY_NO_ID)
        return status;
    for (uint32_t i = 0; i < again; i++)
        at += entry_size(bytes + at);
    return wrong(s, d->at + at, "two entries have one name");
}

static int read_directory(const source *s, const directory *d, assay_zip *out)
{
    /* The entries that the end record promises may be more than the directory has room for: nothing is reserved for
     * those. */
    const uint64_t most = d->size / CENTRAL < d->entries ? d->size / CENTRAL : d->entries;
    uint8_t *bytes = assay_heap_alloc_large((size_t)d->size);
    out->names = assay_dict_new();
    out->entry = assay_heap_alloc_large((size_t)d->entries * sizeof *out->entry);
    int status = bytes && out->names && out->entry ? ASSAY_OK : no_memory(s);
    if (status == ASSAY_OK &&
        assay_dict_reserve(out->names, (size_t)most, (size_t)(d->size - most * CENTRAL)) != ASSAY_OK)
        status = no_memory(s);
    if (status == ASSAY_OK && d->size > 0)
        status = s->read(s->context, d->at, bytes, (size_t)d->size, s->err);
    ASSAY_THEN(status, take_entries(s, d, bytes, out));
    free(bytes);
    return status;
}

/* ---- local headers ---- */

static int compare_places(const void *a, const void *b)
{
    const assay_zip_entry *x = *(assay_zip_entry *const *)a, *y = *(assay_zip_entry *const *)b;
    return (x->header > y->header) - (x->header < y->header);
}

/* Bytes of the file that were read ahead: where entries are small, many local headers lie in them. */
typedef struct window {
    uint8_t *bytes; /* WINDOW of them */
    uint64_t at;
    size_t size;
} window;

/* Local headers, in the order of the file. */
typedef struct locals {
    const source *s;
    uint64_t directory; /* where it begins: behind all of them */
    window window;
    uint64_t free_from; /* behind the data of the entries so far */
} locals;

/* `size` bytes of a local header, valid until the next call; the one behind it is at `next`. NULL and *status when
 * they cannot be read. Entries in the order of the file are the rule, so a window that moves forward serves many
 * headers with one read. */
static const uint8_t *read_local(locals *l, uint64_t at, size_t size, uint64_t next, int *status)
{
    const source *s = l->s;
    window *w = &l->window;
    if (at >= w->at && at - w->at <= w->size && size <= w->size - (at - w->at))
        return w->bytes + (at - w->at);
    const uint64_t left = l->directory - at;
    size_t all = next - at > NEAR ? size : left < WINDOW ? (size_t)left : WINDOW;
    *status = s->read(s->context, at, w->bytes, all, s->err);
    if (*status != ASSAY_OK && *status != ASSAY_ENOMEM && all > size) /* what is wrong may lie behind the header */
        *status = s->read(s->context, at, w->bytes, all = size, s->err);
    w->at = at;
    w->size = *status == ASSAY_OK ? all : 0;
    return *status == ASSAY_OK ? w->bytes : NULL;
}

/* Holds an entry against its local header, which must not begin before `free_from` and whose data must end before the
 * directory; moves `free_from` to where they end. The next entry is at `next`. */
static int check_local(locals *l, const assay_zip *zip, assay_zip_entry *e, uint64_t next)
{
    const source *s = l->s;
    const uint64_t end = l->directory;
    size_t length = 0;
    int status = ASSAY_OK;
    const char *name = assay_dict_name(zip->names, (uint32_t)(e - zip->entry), &length);
    /* Overlapping entries would let a small file unpack to any size. */
    if (e->header < l->free_from)
        return wrong(s, e->header, "two entries lie over one another");
    if (e->header > end || end - e->header < LOCAL + length)
        return wrong(s, e->header, "an entry lies behind the directory");
    const uint8_t *b = read_local(l, e->header, LOCAL + length, next, &status);
    if (!b)
        return status;
    if (!is_mark(b, 3, 4))
        return wrong(s, e->header, "there is no entry where the directory says one");
    if (u16(b + 26) != length || memcmp(b + LOCAL, name, length) != 0)
        return wrong(s, e->header, "an entry has another name than the directory says");
    /* Only the local header tells how long its own extra field is, so only now it is known where data begin. */
    e->data = e->header + LOCAL + length + u16(b + 28);
    if (e->data > end || end - e->data < e->compressed)
        return wrong(s, e->header, "an entry goes on into the directory");
    l->free_from = e->data + e->compressed;
    return ASSAY_OK;
}

/* The entries in the order of the file; NULL and ASSAY_OK where the directory has them so. */
static assay_zip_entry **order_by_place(const source *s, const assay_zip *zip, size_t count, int *status)
{
    size_t in_order = 1;
    /* Writers list entries as they wrote them: mostly nothing has to be sorted. */
    while (in_order < count && zip->entry[in_order - 1].header <= zip->entry[in_order].header)
        in_order++;
    if (in_order >= count)
        return NULL;
    assay_zip_entry **order = assay_alloc(count * sizeof *order);
    if (!order)
        *status = no_memory(s);
    for (size_t i = 0; order && i < count; i++)
        order[i] = &zip->entry[i];
    if (order)
        qsort(order, count, sizeof *order, compare_places);
    return order;
}

static int check_locals(const source *s, const directory *d, assay_zip *zip)
{
    const size_t count = (size_t)d->entries;
    locals l = {.s = s, .directory = d->at, .window = {.bytes = assay_alloc(WINDOW)}};
    int status = l.window.bytes ? ASSAY_OK : no_memory(s);
    assay_zip_entry **order = status == ASSAY_OK ? order_by_place(s, zip, count, &status) : NULL;
    for (size_t i = 0; status == ASSAY_OK && i < count; i++) {
        const uint64_t next = i + 1 == count ? d->at : order ? order[i + 1]->header : zip->entry[i + 1].header;
        status = check_local(&l, zip, order ? order[i] : &zip->entry[i], next);
    }
    free(order);
    free(l.window.bytes);
    return status;
}

/* Three steps, each of which uses only what the one before has checked (see the head of this file). */
int assay_zip_open(assay_view_read *read, void *context, uint64_t size, const char *path, assay_zip *out,
                   assay_error *err)
{
    const source s = {read, context, size, path, err};
    directory d = {0};
    assay_zip zip = {0};
    int status = find_directory(&s, &d);
    ASSAY_THEN(status, read_directory(&s, &d, &zip));
    ASSAY_THEN(status, check_locals(&s, &d, &zip));
    if (status != ASSAY_OK)
        assay_zip_release(&zip);
    else
        zip.behind = d.behind;
    *out = zip;
    return status;
}

void assay_zip_release(assay_zip *zip)
{
    assay_dict_free(zip->names);
    free(zip->entry);
    *zip = (assay_zip){0};
}
