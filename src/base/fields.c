/* fields.c - packs and unpacks structs by their tables.
 *
 * Recursion goes as deep as tables name other tables, never as deep as the bytes say. */
#include "base/fields.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

enum { NO_TEXT = 0xffffffff }; /* the length of a text that is NULL */

/* An unsigned integer of 1, 2, 4 or 8 bytes in memory. */
static uint64_t load(const char *at, size_t size)
{
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight = 0;
    switch (size) {
    case 1:
        memcpy(&one, at, 1);
        return one;
    case 2:
        memcpy(&two, at, 2);
        return two;
    case 4:
        memcpy(&four, at, 4);
        return four;
    default:
        memcpy(&eight, at, 8);
        return eight;
    }
}

static void store(char *at, size_t size, uint64_t value)
{
    const uint8_t one = (uint8_t)value;
    const uint16_t two = (uint16_t)value;
    const uint32_t four = (uint32_t)value;
    switch (size) {
    case 1:
        memcpy(at, &one, 1);
        break;
    case 2:
        memcpy(at, &two, 2);
        break;
    case 4:
        memcpy(at, &four, 4);
        break;
    default:
        memcpy(at, &value, 8);
    }
}

/* Numbers go out in the machine's order of bytes where that is the one of the packed form. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static const bool AS_IS = true;
#else
static const bool AS_IS = false;
#endif

static void pack_numbers(const char *at, size_t count, size_t size, assay_buf *out)
{
    if (AS_IS) {
        assay_put_bytes(out, at, count * size);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const uint64_t value = load(at + i * size, size);
        for (size_t byte = 0; byte < size; byte++)
            assay_put_u8(out, (uint8_t)(value >> 8 * byte));
    }
}

/* The cursor has count * size bytes, or has failed. */
static void unpack_numbers(assay_cursor *in, char *at, size_t count, size_t size)
{
    const uint8_t *bytes = assay_get_bytes(in, count * size);
    if (!bytes || count == 0)
        return;
    if (AS_IS) {
        memcpy(at, bytes, count * size);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t value = 0;
        for (size_t byte = 0; byte < size; byte++)
            value |= (uint64_t)bytes[i * size + byte] << 8 * byte;
        store(at + i * size, size, value);
    }
}

static void pack_text(const char *at, assay_buf *out)
{
    const char *text;
    memcpy(&text, at, sizeof text);
    if (text)
        assay_put_text(out, text);
    else
        assay_put_u32(out, NO_TEXT);
}

static char *pointer_at(const char *at)
{
    char *value;
    memcpy(&value, at, sizeof value);
    return value;
}

void assay_fields_pack(const assay_field *fields, const void *row, assay_buf *out)
{
    for (const assay_field *f = fields; f->kind != ASSAY_FIELD_END; f++) {
        const char *at = (const char *)row + f->at;
        /* The count is read for every kind, though only SOME and OWNED have one: count_size is 0 for others. */
        uint64_t count = f->count_size ? load((const char *)row + f->count_at, f->count_size) : 0;
        switch ((assay_field_kind)f->kind) {
        case ASSAY_FIELD_BOOL:
        case ASSAY_FIELD_NUMBER:
            pack_numbers(at, 1, f->size, out);
            break;
        case ASSAY_FIELD_TEXT:
            pack_text(at, out);
            break;
        case ASSAY_FIELD_CHARS:
            assay_put_text(out, at);
            break;
        case ASSAY_FIELD_FIXED:
            pack_numbers(at, f->length, f->size, out);
            break;
        case ASSAY_FIELD_SOME:
            /* What the struct says is not trusted here either: a count beyond the array would read behind it. */
            count = count < f->length ? count : f->length;
            assay_put_u64(out, count);
            pack_numbers(at, (size_t)count, f->size, out);
            break;
        case ASSAY_FIELD_OWNED:
            if (f->rows) {
                assay_fields_pack_rows(f->rows, pointer_at(at), (size_t)count, f->size, out);
            } else {
                assay_put_u64(out, count);
                pack_numbers(pointer_at(at), (size_t)count, f->size, out);
            }
            break;
        case ASSAY_FIELD_END:
            break;
        }
    }
}

void assay_fields_pack_rows(const assay_field *fields, const void *list, size_t count, size_t size, assay_buf *out)
{
    assay_put_u64(out, count);
    for (size_t i = 0; i < count; i++)
        assay_fields_pack(fields, (const char *)list + i * size, out);
}

size_t assay_fields_least(const assay_field *fields)
{
    size_t least = 0;
    for (const assay_field *f = fields; f->kind != ASSAY_FIELD_END; f++)
        switch ((assay_field_kind)f->kind) {
        case ASSAY_FIELD_BOOL:
        case ASSAY_FIELD_NUMBER:
            least += f->size;
            break;
        case ASSAY_FIELD_TEXT:
        case ASSAY_FIELD_CHARS:
            least += sizeof(uint32_t);
            break;
        case ASSAY_FIELD_FIXED:
            least += (size_t)f->length * f->size;
            break;
        default:
            least += sizeof(uint64_t);
        }
    return least;
}

/* Marks the bytes as damaged. Every refusal ends here, so that a cursor that refused is also one that failed: callers
 * need only ask one of both. */
static int refuse(assay_cursor *in)
{
    in->failed = true;
    return ASSAY_EFORMAT;
}

static int unpack_text(assay_cursor *in, char **text)
{
    const uint32_t length = assay_get_u32(in);
    if (in->failed || length == NO_TEXT)
        return in->failed ? ASSAY_EFORMAT : ASSAY_OK;
    const char *bytes = (const char *)assay_get_bytes(in, length);
    /* A NUL inside would end the text early, and the rest of it would be lost without a word. */
    if (in->failed || (length > 0 && memchr(bytes, '\0', length)))
        return refuse(in);
    *text = assay_copy_bytes_as_text(length > 0 ? bytes : "", length);
    return *text ? ASSAY_OK : ASSAY_ENOMEM;
}

static int unpack_chars(assay_cursor *in, char *at, size_t room)
{
    size_t length = 0;
    const char *text = assay_get_text(in, &length);
    if (in->failed || length >= room || memchr(text, '\0', length))
        return refuse(in);
    memcpy(at, text, length);
    at[length] = '\0';
    return ASSAY_OK;
}

/* A count that its member can hold, of items that the bytes left can hold. */
static bool unpack_count(assay_cursor *in, const assay_field *f, size_t least, uint64_t *count)
{
    *count = assay_get_count(in, least);
    /* A count that is cut off when it is stored would later free the wrong number of rows. */
    const bool fits = f->count_size >= 8 || *count >> 8 * f->count_size == 0;
    return !in->failed && fits && (f->kind != ASSAY_FIELD_SOME || *count <= f->length);
}

static int unpack_owned(assay_cursor *in, const assay_field *f, void **list, uint64_t *count)
{
    if (!f->rows) {
        if (!unpack_count(in, f, f->size, count))
            return refuse(in);
        if (*count == 0)
            return ASSAY_OK;
        *list = assay_realloc_array(NULL, (size_t)*count, f->size);
        if (*list)
            unpack_numbers(in, *list, (size_t)*count, f->size);
        return *list ? ASSAY_OK : ASSAY_ENOMEM;
    }
    /* The rows' count is read twice: here only to see that the member can hold it, then by the function that reads
     * them. */
    assay_cursor ahead = *in;
    if (!unpack_count(&ahead, f, assay_fields_least(f->rows), count))
        return refuse(in);
    size_t rows = 0;
    return assay_fields_unpack_rows(f->rows, in, f->size, list, &rows);
}

/* One member; `at` is where it lies in the struct, and empty. */
static int unpack_field(const assay_field *f, assay_cursor *in, char *row)
{
    char *at = row + f->at, *text = NULL;
    uint64_t count = 0;
    void *list = NULL;
    int status = ASSAY_OK;
    switch ((assay_field_kind)f->kind) {
    case ASSAY_FIELD_BOOL:
    case ASSAY_FIELD_NUMBER:
        if (f->kind == ASSAY_FIELD_BOOL && assay_cursor_left(in) > 0 && in->data[in->at] > 1)
            return refuse(in);
        unpack_numbers(in, at, 1, f->size);
        if (f->bounded && !in->failed && load(at, f->size) > f->most)
            return refuse(in);
        break;
    case ASSAY_FIELD_TEXT:
        status = unpack_text(in, &text);
        memcpy(at, &text, sizeof text);
        break;
    case ASSAY_FIELD_CHARS:
        return unpack_chars(in, at, f->length);
    case ASSAY_FIELD_FIXED:
        unpack_numbers(in, at, f->length, f->size);
        break;
    case ASSAY_FIELD_SOME:
        if (!unpack_count(in, f, f->size, &count))
            return refuse(in);
        unpack_numbers(in, at, (size_t)count, f->size);
        store(row + f->count_at, f->count_size, count);
        break;
    case ASSAY_FIELD_OWNED:
        status = unpack_owned(in, f, &list, &count);
        memcpy(at, &list, sizeof list);
        /* Nothing is counted that was not allocated, so that releasing walks no list that is not there. */
        store(row + f->count_at, f->count_size, list ? count : 0);
        break;
    case ASSAY_FIELD_END:
        break;
    }
    return status == ASSAY_OK && in->failed ? ASSAY_EFORMAT : status;
}

/* Members that own something begin empty, so that what a failure leaves can be released. */
static void make_empty(const assay_field *fields, char *row)
{
    const char *nothing = NULL;
    for (const assay_field *f = fields; f->kind != ASSAY_FIELD_END; f++) {
        if (f->kind != ASSAY_FIELD_TEXT && f->kind != ASSAY_FIELD_OWNED)
            continue;
        memcpy(row + f->at, &nothing, sizeof nothing);
        if (f->kind == ASSAY_FIELD_OWNED)
            store(row + f->count_at, f->count_size, 0);
    }
}

/* What was read before a failure is freed here: callers of a failed unpack have nothing to clean up. */
int assay_fields_unpack(const assay_field *fields, assay_cursor *in, void *row)
{
    make_empty(fields, row);
    for (const assay_field *f = fields; f->kind != ASSAY_FIELD_END; f++) {
        const int status = unpack_field(f, in, row);
        if (status != ASSAY_OK) {
            assay_fields_release(fields, row);
            return status;
        }
    }
    return ASSAY_OK;
}

void assay_fields_release(const assay_field *fields, void *row)
{
    char *members = row;
    for (const assay_field *f = fields; f->kind != ASSAY_FIELD_END; f++) {
        if (f->kind != ASSAY_FIELD_TEXT && f->kind != ASSAY_FIELD_OWNED)
            continue;
        char *list = pointer_at(members + f->at);
        if (f->kind == ASSAY_FIELD_OWNED && f->rows && list) {
            const uint64_t count = load(members + f->count_at, f->count_size);
            for (uint64_t i = 0; i < count; i++)
                assay_fields_release(f->rows, list + i * f->size);
        }
        free(list);
    }
    make_empty(fields, members);
}

int assay_fields_unpack_rows(const assay_field *fields, assay_cursor *in, size_t size, void **list, size_t *count)
{
    const size_t rows = (size_t)assay_get_count(in, assay_fields_least(fields));
    if (in->failed)
        return ASSAY_EFORMAT;
    /* Zeroed: members that the table does not name are 0 in every row. */
    char *made = rows ? assay_alloc_zeroed(rows, size) : NULL;
    if (rows && !made)
        return ASSAY_ENOMEM;
    for (size_t i = 0; i < rows; i++) {
        const int status = assay_fields_unpack(fields, in, made + i * size);
        if (status == ASSAY_OK)
            continue;
        while (i-- > 0)
            assay_fields_release(fields, made + i * size);
        free(made);
        return status;
    }
    *list = made;
    *count = rows;
    return ASSAY_OK;
}
