/* tensor_result.h - packed results of tensors that one rank measured and another maps. */
#pragma once

#include <assay/pack.h>
#include <assay/rule.h>
#include <assay/status.h>

#include "base/arena.h"
#include "engine/plan/plan.h"

/* A tensor under way: its view without const. */
typedef struct assay_tensor_result {
    assay_tensor_view view; /* first: rules are given &item->view */
    uint32_t kinds;         /* bit 1 << kind: what was read */
    uint32_t unsummed;      /* likewise: of that, what no checksum covers */
} assay_tensor_result;

/* The parts of a raw tensor's result. They share one piece of memory, because a step may have a million tensors. */
typedef struct assay_tensor_room {
    bool stats;
    int dims;
    uint32_t measures; /* of its class; 0: no results */
    size_t results;    /* bytes of all results, by assay_result_size() */
} assay_tensor_room;

/* Bytes of the piece. */
size_t assay_tensor_room_size(const assay_tensor_room *room);
/* Takes the piece, zeroed, and lays it out: the view's shape and results point into it, *stats too where there are
 * some. Returns where the first result goes, the others behind it; NULL when the arena has no room. */
uint8_t *assay_tensor_room_take(const assay_tensor_room *room, assay_arena *arena, assay_tensor_view *view,
                                assay_stats **stats);

/* What sender and receiver both know; an item that does not fit it is damaged. */
typedef struct assay_tensor_result_form {
    const assay_measure *measures; /* borrowed; results go by their numbers */
    uint32_t measure_count, tensors, workers;
    const assay_source_plan *plan; /* borrowed; says what is wanted of each tensor */
} assay_tensor_result_form;

/* Appends an item without its name. The buffer remembers failures. */
void assay_tensor_result_pack(const assay_tensor_result *item, const assay_tensor_result_form *form, assay_buf *out);
/* Reads an item into a zeroed one, without its name; all that it points to is taken from the arena. ASSAY_EFORMAT when
 * the bytes are none, ASSAY_EBUDGET when the arena has no room. */
int assay_tensor_result_unpack(assay_cursor *in, const assay_tensor_result_form *form, assay_arena *arena,
                               assay_tensor_result *item, assay_error *err);
