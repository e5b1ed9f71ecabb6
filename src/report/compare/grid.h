/* grid.h - one figure of one tensor over all trials, aligned by mode step: bands are learned from it, and a trial is
 * compared with the others by it. */
#pragma once

#include "report/model/curves.h"

typedef enum assay_band_figure {
    ASSAY_BAND_LOSS,
    ASSAY_BAND_GAP, /* of a loss, at steps of EVAL (gap.h): a logarithm of a ratio */
    ASSAY_BAND_NORM,
    ASSAY_BAND_MAGNITUDE,
    ASSAY_BAND_ZEROS,
    ASSAY_BAND_MEAN,     /* over the mean magnitude: from -1 to 1 */
    ASSAY_BAND_ELEMENTS, /* of all workers */
    ASSAY_BAND_VALUE, /* mean over the workers of a tensor that is one number of each; such a one has no other figure */
    ASSAY_BAND_FIGURES
} assay_band_figure;
const char *assay_band_word(int figure); /* "loss", "gap", "norm", "magnitude", "zeros", "mean", "elements", "value" */
/* That figure of a tensor at a step; not the loss, not the gap. */
double assay_band_value(const assay_tensor_point *point, int figure);

/* What is known of a curve of ASSAY_BAND_VALUE over all its steps; of other figures nothing: all is 0. */
typedef struct assay_band_number {
    double level;     /* median of the finite |value| */
    bool passes_zero; /* a value is negative */
    bool counts;      /* all are whole numbers, and change in most trials */
} assay_band_number;

typedef struct assay_grid {
    int figure, mode;
    const char *tensor; /* borrowed from the outcome */
    size_t trials, steps;
    int64_t *step;    /* [steps] ascending mode steps */
    uint32_t *points; /* [trials] steps of each trial, those included that are not kept */
    double *value;    /* [step * trials + trial]; NaN: the trial has none there; infinite: one that is not finite */
    assay_band_number number;
} assay_grid;

/* Returns 0 to go on; anything else ends the walk and is its result. The grid is lent for the call. */
typedef int assay_grid_visit(void *context, const assay_grid *grid);

/* What grids are made of: the curves of all trials, with all figures. Losses alone take less. NULL where *status gets
 * ASSAY_ENOMEM, or what reading of curves came to. Free before the outcome. */
typedef struct assay_grids assay_grids;
assay_grids *assay_grids_new(const assay_outcome *outcome, bool losses_alone, int *status);
void assay_grids_free(assay_grids *grids);
size_t assay_grids_trials(const assay_grids *grids);

/* Visits the curves of one figure by tensor (bytes), then mode, each at those mode steps where at least two trials have
 * a finite value: at most `most` of them, which lie evenly. Tensors whose names are no UTF-8 are left out: the file of
 * bands is JSON, and could not name them. 0, what a visit returned, or ASSAY_ENOMEM. */
int assay_grids_walk(const assay_grids *grids, int figure, size_t most, assay_grid_visit *visit, void *context);
