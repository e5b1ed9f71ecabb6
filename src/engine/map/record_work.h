/* record_work.h - a record while it is measured: shared by record.c, measures.c and reference.c. */
#pragma once

#include <string.h>

#include "engine/map/file_pool.h"
#include "engine/map/step_work.h"
#include "tensor/measure.h"

typedef struct assay_record_work { /* all borrowed */
    assay_file_pool *pool;
    assay_step_work *step;
    const assay_part *part;
    const assay_entry *entry;
    const assay_record_demand *demand;
    const assay_record *record; /* its head; the content passes by in pool->main */
    assay_tensor_result *result;
    assay_stats *stats;   /* room for its statistics */
    uint8_t *next_result; /* room for the result of its next measure */
    size_t work;          /* bytes that its measures work with now (step_work.h) */
    uint64_t reported;    /* bytes that progress was told of */
} assay_record_work;

/* Which contents of the tensor the reference cache may have. */
static inline assay_reference_key assay_record_work_key(const assay_record_work *w)
{
    return (assay_reference_key){w->entry->tensor, w->part->worker, 0};
}

/* Puts the result of a measure (by the engine's number) into the room made for it. */
static inline void assay_record_work_put(assay_record_work *w, uint32_t number, const assay_result *result)
{
    size_t size = assay_result_size(&w->step->source->plan->measures[number]);
    ((const assay_result **)w->result->view.results)[w->result->view.place[number]] =
        memcpy(w->next_result, result, size);
    w->next_result += size;
}

/* Bytes that measuring may still take. */
static inline size_t assay_record_work_left(const assay_record_work *w)
{
    size_t left = assay_step_work_left(w->step);
    return left > w->work ? left - w->work : 0;
}
