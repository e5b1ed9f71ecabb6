/* fields.h - one description of a struct packs it into bytes and unpacks it again.
 *
 * A table has a line for each member, and ends with {0}:
 *
 *     static const assay_field pair_fields[] = {
 *         ASSAY_FIELD(pair, step),                            an integer, a real, a bool, or a text
 *         ASSAY_FIELD_MOST(pair, state, PAIR_STATES - 1),     an unsigned one or an enumeration, at most that
 *         ASSAY_FIELD_ARRAY(pair, figures),                   all of a fixed array of numbers
 *         ASSAY_FIELD_TEXT_IN(pair, title),                   a text in an array of characters
 *         ASSAY_FIELD_COUNTED(pair, shape, dims),             the first `dims` of one; packs `dims` as well
 *         ASSAY_FIELD_LIST(pair, steps, step_count),          an owned array of numbers, and its count
 *         ASSAY_FIELD_ROWS(pair, child, children, child_fields),   an owned array of structs, and its count
 *         {0}};
 *
 * Members of structs within are given as `inner.member`. Texts are char *, owned and terminated; NULL stays NULL.
 * Numbers are little-endian in the width of their member, which has to be the same on both sides: fixed-width types,
 * and size_t where all ranks run the same program.
 *
 * Bytes are taken for a stranger's: unpacking never reads past their end, allocates no more than a fixed multiple of
 * what is there, and refuses counts and values out of bounds, bools other than 0 and 1, and texts with NUL in them. */
#pragma once

#include <assay/pack.h>
#include <assay/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum assay_field_kind {
    ASSAY_FIELD_END,
    ASSAY_FIELD_NUMBER, /* any integer or real: its bytes */
    ASSAY_FIELD_BOOL,
    ASSAY_FIELD_TEXT,
    ASSAY_FIELD_CHARS, /* a terminated text in an array of `length` characters */
    ASSAY_FIELD_FIXED, /* `length` numbers */
    ASSAY_FIELD_SOME,  /* as many of `length` numbers as the member at `count` says */
    ASSAY_FIELD_OWNED  /* a pointer to as many numbers, or structs */
} assay_field_kind;

typedef struct assay_field {
    uint8_t kind;          /* assay_field_kind */
    uint8_t count_size;    /* bytes of the member that counts */
    uint32_t size;         /* bytes of one value, or of one struct in memory */
    uint32_t at, count_at; /* offsets */
    uint32_t length;
    bool bounded;
    uint64_t most;                  /* when bounded */
    const struct assay_field *rows; /* the table of the structs of an owned array; NULL: numbers */
} assay_field;

/* Fails to compile for members that are no number, bool or text. */
#define ASSAY_FIELD_KIND_OF(value)                                                                                     \
    _Generic((value), bool                                                                                             \
             : ASSAY_FIELD_BOOL, char *                                                                                \
             : ASSAY_FIELD_TEXT, const char *                                                                          \
             : ASSAY_FIELD_TEXT, signed char                                                                           \
             : ASSAY_FIELD_NUMBER, short                                                                               \
             : ASSAY_FIELD_NUMBER, int                                                                                 \
             : ASSAY_FIELD_NUMBER, long                                                                                \
             : ASSAY_FIELD_NUMBER, long long                                                                           \
             : ASSAY_FIELD_NUMBER, unsigned char                                                                       \
             : ASSAY_FIELD_NUMBER, unsigned short                                                                      \
             : ASSAY_FIELD_NUMBER, unsigned                                                                            \
             : ASSAY_FIELD_NUMBER, unsigned long                                                                       \
             : ASSAY_FIELD_NUMBER, unsigned long long                                                                  \
             : ASSAY_FIELD_NUMBER, float                                                                               \
             : ASSAY_FIELD_NUMBER, double                                                                              \
             : ASSAY_FIELD_NUMBER)
#define ASSAY_FIELD_OF(type, member) (((const type *)0)->member)

#define ASSAY_FIELD(type, member)                                                                                      \
    {                                                                                                                  \
        .kind = ASSAY_FIELD_KIND_OF(ASSAY_FIELD_OF(type, member)), .size = sizeof ASSAY_FIELD_OF(type, member),        \
        .at = offsetof(type, member)                                                                                   \
    }
#define ASSAY_FIELD_MOST(type, member, greatest)                                                                       \
    {                                                                                                                  \
        .kind = ASSAY_FIELD_NUMBER, .size = sizeof ASSAY_FIELD_OF(type, member), .at = offsetof(type, member),         \
        .bounded = true, .most = (greatest)                                                                            \
    }
#define ASSAY_FIELD_ARRAY(type, member)                                                                                \
    {                                                                                                                  \
        .kind = ASSAY_FIELD_FIXED, .size = sizeof *ASSAY_FIELD_OF(type, member), .at = offsetof(type, member),         \
        .length = sizeof ASSAY_FIELD_OF(type, member) / sizeof *ASSAY_FIELD_OF(type, member)                           \
    }
#define ASSAY_FIELD_TEXT_IN(type, member)                                                                              \
    {                                                                                                                  \
        .kind = ASSAY_FIELD_CHARS, .size = 1, .at = offsetof(type, member),                                            \
        .length = sizeof ASSAY_FIELD_OF(type, member)                                                                  \
    }
#define ASSAY_FIELD_COUNTED(type, member, counter)                                                                     \
    {                                                                                                                  \
        .kind = ASSAY_FIELD_SOME, .size = sizeof *ASSAY_FIELD_OF(type, member), .at = offsetof(type, member),          \
        .length = sizeof ASSAY_FIELD_OF(type, member) / sizeof *ASSAY_FIELD_OF(type, member),                          \
        .count_size = sizeof ASSAY_FIELD_OF(type, counter), .count_at = offsetof(type, counter)                        \
    }
#define ASSAY_FIELD_LIST(type, member, counter) ASSAY_FIELD_ROWS(type, member, counter, NULL)
#define ASSAY_FIELD_ROWS(type, member, counter, table)                                                                 \
    {                                                                                                                  \
        .kind = ASSAY_FIELD_OWNED, .size = sizeof *ASSAY_FIELD_OF(type, member), .at = offsetof(type, member),         \
        .count_size = sizeof ASSAY_FIELD_OF(type, counter), .count_at = offsetof(type, counter), .rows = (table)       \
    }

/* Appends the struct. Failures are remembered in the buffer. */
void assay_fields_pack(const assay_field *fields, const void *row, assay_buf *out);

/* Reads a struct into `row`, and replaces every member that the table names; others stay as they are. What the members
 * own before is not freed: begin with a zeroed struct. ASSAY_EFORMAT (and the cursor has failed) or ASSAY_ENOMEM: then
 * those members own nothing. */
int assay_fields_unpack(const assay_field *fields, assay_cursor *in, void *row);

/* Frees what the members own, and makes them empty. */
void assay_fields_release(const assay_field *fields, void *row);

/* The least bytes that a packed struct takes: for assay_get_count(). */
size_t assay_fields_least(const assay_field *fields);

/* A count (64 bits), then as many structs of `size` bytes each. Unpacking gives a list that the caller frees, after
 * assay_fields_release() for each of its structs where the table has owned members; *list is NULL for none. Errors are
 * those of assay_fields_unpack(); *list and *count are unchanged then. */
void assay_fields_pack_rows(const assay_field *fields, const void *list, size_t count, size_t size, assay_buf *out);
int assay_fields_unpack_rows(const assay_field *fields, assay_cursor *in, size_t size, void **list, size_t *count);
