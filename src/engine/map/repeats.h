/* repeats.h - steps that have the same numbers of a log as an earlier one, with other values.
 *
 * A log has the same few numbers at most of its steps. What is known of such a step (which records are wanted, what
 * memory they are granted, which rules get them) is the same as of an earlier one that has the same tensors of the same
 * workers, in the same mode and the same scopes. So the results of that one are kept, the values are put into them, and
 * the rules are called: that takes an eighth of the time. All else goes the usual way.
 *
 * A step is kept if it has nothing but numbers that the index has (assay_part_number), and measures none of them. */
#pragma once

#include "base/vec.h"
#include "engine/map/step_map.h"
#include "engine/map/step_reader.h"

enum { ASSAY_REPEATS = 8 };

/* A number that is wanted. */
typedef struct assay_repeat_number {
    size_t part, entry; /* counted from the first of the step, of the part */
    assay_tensor_result *result;
    assay_stats *stats; /* of the result; NULL: not wanted */
} assay_repeat_number;

typedef struct assay_repeat {
    assay_step_work work; /* with the results; its arena is owned, the rest is not */
    assay_slot_view *slots;
    int mode;
    int64_t from, to; /* steps of the same scopes: [from, to) */
    uint32_t taken;   /* assay_spreads_taken() */
    size_t parts;
    ASSAY_VEC(assay_repeat_number) numbers;
} assay_repeat;

typedef struct assay_repeats {
    assay_repeat of[ASSAY_REPEATS];
    uint32_t count;
    uint32_t next; /* the one that takes the place of another */
} assay_repeats;

/* Forgets the steps: the source changes, or its entries do. */
void assay_repeats_forget(assay_repeats *repeats);
void assay_repeats_release(assay_repeats *repeats);

/* Keeps a step that was read and mapped, with its results, if others can be like it; `work` gets another arena then. 0 or
 * ASSAY_ENOMEM. */
int assay_repeats_keep(assay_repeats *repeats, assay_step_reader *reader, assay_step_work *work,
                       assay_slot_view *slots);

/* Maps a step that is like one that was kept, into work->partial; *done: there is one. 0 or ASSAY_ENOMEM. */
int assay_repeats_map(assay_repeats *repeats, assay_step_reader *reader, assay_step_work *work,
                      const assay_step_info *step, bool *done);
