/* place.h - a log as the catalog's only place of this format: tables of names, units in order, and their values. */
#pragma once

#include "format/metrics/series.h"

enum { METRICS_UNIT_BYTES = 32, METRICS_ROW_BYTES = 12, METRICS_VECTOR_BYTES = 20 };
#define METRICS_VECTOR_BIT 0x80000000u /* of a row's tag: its value is the number of a tensor */

typedef struct metrics_unit {
    int64_t step;
    uint32_t worker, mode;
    uint64_t first, count; /* rows */
    uint64_t *slot;        /* while the place is made */
} metrics_unit;

/* Numbers of the place, the lowest byte first. */
static inline void metrics_put_word(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}
static inline void metrics_put_long(uint8_t *to, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}
static inline uint32_t metrics_word_at(const uint8_t *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}
static inline uint64_t metrics_long_at(const uint8_t *from)
{
    return metrics_word_at(from) | (uint64_t)metrics_word_at(from + 4) << 32;
}

/* A unit takes METRICS_UNIT_BYTES there. */
static inline void metrics_put_unit(uint8_t *to, const metrics_unit *unit)
{
    metrics_put_long(to, (uint64_t)unit->step);
    metrics_put_word(to + 8, unit->worker);
    metrics_put_word(to + 12, unit->mode);
    metrics_put_long(to + 16, unit->first);
    metrics_put_long(to + 24, unit->count);
}
static inline metrics_unit metrics_unit_at(const uint8_t *from)
{
    return (metrics_unit){.step = (int64_t)metrics_long_at(from),
                          .worker = metrics_word_at(from + 8),
                          .mode = metrics_word_at(from + 12),
                          .first = metrics_long_at(from + 16),
                          .count = metrics_long_at(from + 24)};
}

typedef struct metrics_units {
    metrics_unit *list; /* by step, worker, mode; the caller frees it */
    size_t count;
} metrics_units;

/* Appends the place of a finished log; `path` is shown for its index. 0 or ASSAY_ENOMEM, with no units. */
int metrics_pack_place(const metrics_log *log, const char *path, metrics_units *out, assay_buf *bytes);
