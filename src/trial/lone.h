/* lone.h - files that are trials by themselves, by their names and by their first bytes, as the formats tell them. What a
 * file holds decides in the end, when it is opened. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ASSAY_LONE_HEAD = 4096 }; /* bytes that are looked at */

typedef enum assay_lone_kind {
    ASSAY_LONE_TENSORS = 1, /* a checkpoint in one file */
    ASSAY_LONE_LOG,         /* of metrics */
    ASSAY_LONE_TRACE,
    ASSAY_LONE_DUMP /* of a flight recorder */
} assay_lone_kind;

/* What a format says of such files: a member of its table. */
typedef struct assay_lone {
    assay_lone_kind kind;            /* 0: it has none */
    bool (*named)(const char *name); /* is it such a file's name, without directories? NULL: names do not tell */
    /* Are these the first bytes, up to ASSAY_LONE_HEAD, of such a file of `size` bytes? A zero byte stands behind them. NULL: they
     * do not tell. */
    bool (*begins)(const uint8_t *head, size_t have, uint64_t size);
    bool (*sure)(const char *name); /* is it a name that no other file has, wherever it lies? NULL: none is */
} assay_lone;

/* Is it the path of such a file by its name? */
bool assay_lone_is_named(const char *place, assay_lone_kind kind);
/* And by a name that no other file has, wherever it lies? */
bool assay_lone_is_sure(const char *place, assay_lone_kind kind);
/* Does a regular file of this machine begin as such a file? False, and errno, where it cannot be read. */
bool assay_lone_begins(const char *place, assay_lone_kind kind);
/* The same of bytes as begins() of a format gets them; 0 bytes begin nothing. */
bool assay_lone_has_begun(const uint8_t *head, size_t have, uint64_t size, assay_lone_kind kind);
/* Any of these, by its name or its first bytes? */
bool assay_is_lone_trial(const char *place);
