/* gap.c - see gap.h. */
#include "report/compare/gap.h"

#include <math.h>

/* The mean of fewer training steps is the noise of single batches, not what the evaluation is held against. */
enum { TRAIN_POINTS = 3 };

/* The points of a curve above half of a step and up to it: a window that only moves on. */
typedef struct window {
    const assay_loss_curve *curve;
    size_t from, to;
    double sum;     /* of their logarithms */
    size_t without; /* points among them that have none */
} window;

/* Adds the point, or takes it away where the sign is -1. */
static void count_point(window *w, size_t i, int sign)
{
    double value = w->curve->point[i].value;
    if (value > 0 && isfinite(value))
        w->sum += sign * log(value);
    else
        w->without += (size_t)sign;
}

static void move_to(window *w, int64_t step)
{
    for (; w->to < w->curve->count && w->curve->point[w->to].step <= step; w->to++)
        count_point(w, w->to, 1);
    for (; w->from < w->to && w->curve->point[w->from].step <= step / 2; w->from++)
        count_point(w, w->from, -1);
}

size_t assay_gap_of(const assay_curves *curves, const assay_loss_curve *eval, assay_loss_point *out)
{
    const assay_loss_curve *train = assay_curves_loss(curves, eval->tensor, ASSAY_MODE_TRAIN);
    size_t count = 0;
    if (!train || eval->mode != ASSAY_MODE_EVAL)
        return 0;
    window held = {.curve = eval}, trained = {.curve = train};
    for (size_t i = 0; i < eval->count; i++) {
        move_to(&held, eval->point[i].step);
        move_to(&trained, eval->point[i].step);
        size_t evaluations = held.to - held.from, steps = trained.to - trained.from;
        if (evaluations == 0 || steps < TRAIN_POINTS || held.without + trained.without > 0)
            continue;
        out[count] = eval->point[i];
        out[count++].value = held.sum / (double)evaluations - trained.sum / (double)steps;
    }
    return count;
}
