/* input_scale.h - InputData's tests of the scale of what is fed: m = mean |x|, by its logarithm. */
#pragma once

#include "input_rows.h"

#define FARTHER       3.0
#define SCALE_UNKNOWN 1.1 /* and while hardly any were seen: a factor of three */
#define SCALE_FLOOR   0.1 /* of the logarithm: how far scales wander that have not been seen to */

static inline double scale_of(const double *row)
{
    return row[FLOAT] != 0 && row[COUNT] > 0 && row[MAGNITUDES] > 0 && isfinite(row[MAGNITUDES]) && !is_one(row)
               ? log(row[MAGNITUDES] / row[COUNT])
               : (double)NAN;
}

static inline void say_times(double by, const char *whose, char note[NOTE_ROOM])
{
    if (by > 0)
        snprintf(note, NOTE_ROOM, "%.3g times %s", exp(by), whose);
    else
        snprintf(note, NOTE_ROOM, "1/%.3g of %s", exp(-by), whose);
}

/* Is it a row of a mode, of known scale, and of the shape, where one is asked for? */
static inline bool has_scale(const walk *w, uint64_t i, int mode, const double *shape)
{
    const double *row = row_of(w, i);
    return in_mode(w, i, mode) && !isnan(scale_of(row)) &&
           (!shape || (row[COUNT] == shape[COUNT] && row[ROWS] == shape[ROWS]));
}

/* The median of the logarithms of a mode; their number in *n. */
static inline double usual_scale(const walk *w, uint64_t from, uint64_t to, int mode, const double *shape, size_t most,
                                 size_t *n)
{
    *n = 0;
    for (uint64_t i = from; i < to && *n < most; i++)
        if (has_scale(w, i, mode, shape))
            w->room[(*n)++] = scale_of(row_of(w, i));
    return robust_median(w->room, *n);
}

/* Against its own beginning: what was seen so far tells how far scales wander. */
static inline int test_scale_of(const walk *w, uint64_t from, uint64_t to, int mode, uint32_t which,
                                const double *shape)
{
    const double ratio = log(assay_param_real(w->rule->params, "ratio")), limit = which == TARGETS ? 2 * ratio : ratio;
    size_t n;
    double usual = usual_scale(w, from, to, mode, shape, BEFORE, &n);
    if (n < BEFORE) /* too few for a median that one fault does not move: the first */
        usual = usual_scale(w, from, to, mode, shape, 1, &n);
    n = n > 0 ? FEW : 0;
    double farthest = SCALE_FLOOR;
    uint64_t seen = 0;
    int status = ASSAY_OK;
    for (uint64_t i = from; status == ASSAY_OK && n >= FEW && i < to; i++) {
        const double by = scale_of(row_of(w, i)) - usual;
        char note[NOTE_ROOM];
        if (!has_scale(w, i, mode, shape))
            continue;
        const double wander = seen >= BEFORE / 2 ? farthest : fmax(farthest, SCALE_UNKNOWN);
        const bool fires = seen > 0 && fabs(by) > limit && fabs(by) > FARTHER * wander;
        farthest = fires ? farthest : fmax(farthest, fabs(by));
        seen++;
        say_times(by, "what it was", note);
        status = test(w, i, which, fires, exp(by), exp(limit), note);
    }
    return status;
}

/* Networks of one name, or one that is called for two ends, are fed rows of two lengths, or batches of two sizes, by
 * turns: then each shape is compared with itself. Many lengths are one kind, as series of unlike length are; and a size
 * that is another from a step on is no turn. */
static inline int test_scale(const walk *w, uint64_t from, uint64_t to, int mode, uint32_t which)
{
    enum { SHAPES = 4, RETURNS = 4 };
    const double *shape[SHAPES];
    size_t shapes = 0, lengths = 0, before = 0, returns = 0; /* before: the shape of the row before */
    uint64_t seen = 0;
    int status = ASSAY_OK;
    for (uint64_t i = from; i < to && shapes <= SHAPES; i++) {
        const double *row = row_of(w, i);
        size_t k = 0, length = 0;
        if (!has_scale(w, i, mode, NULL))
            continue;
        while (k < shapes && (shape[k][COUNT] != row[COUNT] || shape[k][ROWS] != row[ROWS]))
            k++;
        while (length < shapes && shape[length][COUNT] / shape[length][ROWS] != row[COUNT] / row[ROWS])
            length++;
        lengths += length == shapes && seen < BEFORE; /* later ones are a change */
        returns += k < shapes && k != before;
        if (k == shapes && shapes++ < SHAPES)
            shape[k] = row;
        before = k;
        seen++;
    }
    if ((lengths < 2 && returns < RETURNS) || shapes > SHAPES)
        return test_scale_of(w, from, to, mode, which, NULL);
    for (size_t k = 0; status == ASSAY_OK && k < shapes; k++)
        status = test_scale_of(w, from, to, mode, which, shape[k]);
    return status;
}

/* The median of the RECENT TRAIN rows before row i, with those behind it where they are fewer than three; how far they
 * lie from it in *wander: with few saved steps, or a stream, evaluation may be as far. */
static inline double recent_scale(const walk *w, uint64_t from, uint64_t to, uint64_t i, double *wander)
{
    enum { WINDOW = 3 };
    size_t n = 0;
    for (uint64_t k = i; k-- > from && n < RECENT;)
        if (in_mode(w, k, ASSAY_MODE_TRAIN) && !isnan(scale_of(row_of(w, k))))
            w->room[n++] = scale_of(row_of(w, k));
    for (uint64_t k = i; k < to && n < WINDOW; k++)
        if (in_mode(w, k, ASSAY_MODE_TRAIN) && !isnan(scale_of(row_of(w, k))))
            w->room[n++] = scale_of(row_of(w, k));
    const double median = robust_median(w->room, n);
    *wander = n < 2 ? (double)NAN : 0;
    for (size_t k = 0; n > 1 && k < n; k++)
        *wander = fmax(*wander, fabs(w->room[k] - median));
    return median;
}

/* Of evaluation against that of training at its time. */
static inline int test_evaluation(const walk *w, uint64_t from, uint64_t to)
{
    const double limit = (row_of(w, from)[IS] == LABEL ? 2 : 1) * log(assay_param_real(w->rule->params, "ratio"));
    int status = ASSAY_OK;
    for (uint64_t i = from; status == ASSAY_OK && i < to; i++) {
        char note[NOTE_ROOM];
        double wander;
        if (!in_mode(w, i, ASSAY_MODE_EVAL) || isnan(scale_of(row_of(w, i))))
            continue;
        const double by = scale_of(row_of(w, i)) - recent_scale(w, from, to, i, &wander);
        say_times(by, "that of training", note);
        if (!isnan(wander))
            status = test(w, i, EVALUATION, fabs(by) > fmax(limit, FARTHER * wander), exp(by), exp(limit), note);
    }
    return status;
}
