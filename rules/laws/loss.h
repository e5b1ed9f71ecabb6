/* loss.h - the forms of LAW_LOSS, and weights of classes (LawViolated, loss.c, loss_weights.c). */
#pragma once

#include "laws/law.h"

enum {
    LOSS_USUAL = 16,       /* forms that are tried always; others only of a loss that keeps to none of these */
    LOSS_WEIGHTED = 80,    /* with weights of classes: a row for each class, LAW_ROW of LAW_ROWS */
    LOSS_WITHOUT = 100,    /* and on: without labels of 0, 1, ... */
    LOSS_LABELS = 1 << 24, /* which may be so many */
    LOSS_CLASSES = 32,     /* at most so many have weights that are inferred */
    LOSS_STEPS = 256       /* from so many steps */
};

/* Is it a form? */
bool loss_is_form(double variant);
/* What the loss is then: "mean of cross entropies". */
void loss_put_form(int form, char *out, size_t room);
/* Of a step: for each class the sum of its terms less the loss for each of them, and what rounding may do to that. */
typedef struct loss_classes {
    double term[LOSS_CLASSES], bound[LOSS_CLASSES];
} loss_classes;

/* How far each step is off with the weights that fit the others, in units of its bound; infinite: no weights are known. */
void loss_weights(const loss_classes *steps, uint64_t count, int classes, double *ratio);
