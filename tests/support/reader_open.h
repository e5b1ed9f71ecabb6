/* reader_open.h - a record of an event file, opened as the tests of event files do it. */
#ifndef ASSAY_TESTS_READER_OPEN_H
#define ASSAY_TESTS_READER_OPEN_H

#include "trial/reader.h"

#include "base/fault.h"
#include "record_bytes.h"
#include "unit.h"
#include "workspace.h"

typedef struct opened {
    workspace w;
    assay_store *store;
    assay_reader *file;
    assay_record record;
    assay_error err;
    int status; /* of assay_reader_record */
} opened;

/* Writes the bytes as an event file and opens the record [offset, offset + length) of it. */
static inline void open_at(opened *o, const assay_buf *bytes, uint64_t offset, uint64_t length, size_t budget)
{
    memset(o, 0, sizeof *o);
    workspace_make(&o->w);
    workspace_write(&o->w, "e.tfevents", bytes->data, bytes->size);
    CU_ASSERT_EQUAL_FATAL(assay_store_open(o->w.root, &o->store, &o->err), 0);
    CU_ASSERT_EQUAL_FATAL(assay_reader_open_path(&o->file, o->store, 0, "e.tfevents", 64 << 10, &o->err), 0);
    o->status = assay_reader_record(o->file, offset, length, budget, &o->record, &o->err);
}

static inline void shut(opened *o)
{
    assay_reader_close(o->file);
    assay_store_close(o->store);
    workspace_remove(&o->w);
}

/* Opens a file of one record that holds this payload (released). */
static inline void open_payload(opened *o, assay_buf payload, bool true_crc)
{
    assay_buf file = bytes_new();
    uint64_t length = put_record(&file, payload, true_crc);
    open_at(o, &file, 0, length, 1 << 20);
    assay_buf_release(&file);
}

static inline void open_tensor(opened *o, assay_buf tensor)
{
    open_payload(o, event_bytes("t", tensor), true);
}

/* The record must be refused as damage whose message has `words`, the file's name and the place. */
static inline void expect_damage(opened *o, const char *words)
{
    CU_ASSERT_EQUAL(o->status, ASSAY_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(o->err.text, words));
    CU_ASSERT_PTR_NOT_NULL(strstr(o->err.text, "e.tfevents: offset "));
    if (!strstr(o->err.text, words))
        fprintf(stderr, "wanted \"%s\" in: %s\n", words, o->err.text);
    shut(o);
}

/* All of the content, in pieces of at most `most`; the caller frees it. */
static inline uint8_t *collect(opened *o, size_t most, size_t *size, size_t *pieces)
{
    uint8_t *all = malloc(o->record.content_bytes + 1);
    const uint8_t *piece = NULL;
    size_t n = 0;
    *size = *pieces = 0;
    while ((o->status = assay_reader_content(o->file, most, &piece, &n, &o->err)) == 0 && n > 0) {
        CU_ASSERT_FATAL(*size + n <= o->record.content_bytes);
        memcpy(all + *size, piece, n);
        *size += n;
        ++*pieces;
    }
    return all;
}

/* The record opened once more, its content put into memory of just its size, in pieces of at most `most`. */
static inline void expect_put(opened *o, const void *bytes, size_t size, size_t most)
{
    uint8_t *to = malloc(size + 1);
    const uint8_t *piece = NULL;
    size_t n = 0, at = 0;
    to[size] = 42;
    CU_ASSERT_EQUAL_FATAL(
        assay_reader_record(o->file, o->record.offset, o->record.length, SIZE_MAX, &o->record, &o->err), 0);
    assay_reader_put_at(o->file, to);
    while ((o->status = assay_reader_content(o->file, most, &piece, &n, &o->err)) == 0 && n > 0) {
        CU_ASSERT_FATAL(piece == to + at && n <= size - at && memcmp(piece, (const uint8_t *)bytes + at, n) == 0);
        at += n;
    }
    CU_ASSERT(o->status == 0 && at == size && to[size] == 42 && memcmp(to, bytes, size) == 0);
    free(to);
}

static inline void expect_content(opened *o, const void *bytes, size_t size)
{
    size_t got = 0, pieces = 0;
    CU_ASSERT_EQUAL(o->status, 0);
    if (o->status) {
        fprintf(stderr, "%s\n", o->err.text);
    } else {
        uint8_t *all = collect(o, 0, &got, &pieces);
        CU_ASSERT_EQUAL(o->status, 0);
        CU_ASSERT_EQUAL(got, size);
        CU_ASSERT(got == size && memcmp(all, bytes, size) == 0);
        free(all);
        expect_put(o, bytes, size, 0);
        expect_put(o, bytes, size, 48);
    }
    shut(o);
}

/* Puts `count` varints or fixed values as one packed field or one field each. */
static inline void put_values(assay_buf *t, unsigned number, unsigned type, const uint64_t *v, size_t count,
                              bool packed)
{
    assay_buf all = bytes_new();
    for (size_t i = 0; i < count; i++) {
        assay_buf *to = packed ? &all : t;
        if (!packed)
            put_key(to, number, type);
        if (type == 0)
            put_varint(to, v[i]);
        else if (type == 1)
            assay_put_u64(to, v[i]);
        else
            assay_put_u32(to, (uint32_t)v[i]);
    }
    if (packed)
        put_field(t, number, all.data, all.size);
    assay_buf_release(&all);
}

#endif
