/* loss_course.h - has a loss come down since the training began, and has it stayed down? (LossNotDecreasing)
 *
 * Single batches are noisy, and a converged loss falls no further, so no two single values are compared. Of the losses
 * so far, x_1 .. x_n:
 *
 *   first   median of the first COURSE_FIRST; x_1 if that is lower by more than four times the noise (a learning rate
 *           that is too high for the first steps drives a loss up, and coming down from there is no progress)
 *   block   medians of eight parts of equal length; the last two of them together are `last`
 *   noise   1.4826 * MAD of x_i - x_(i-1), divided by sqrt(2)
 *   error   noise * sqrt(pi / 2) * sqrt(1 / COURSE_FIRST + 4 / n), the standard error of first - last
 *   fall    100 * (first - the lowest block) / |first|
 *
 * The loss
 *
 *   descends           when x_1 .. x_COURSE_FIRST lie each below the one before, by more than four times the noise in all, and
 *                      the lowest block diff_percent below x_1: it fell before the median of the first, as it does where
 *                      few steps are logged. Alone it is no excuse: a loss comes down to that of a guess, and stands there
 *   has never fallen   when fall < diff_percent
 *   stands still       when fall < plateau_percent, and the blocks from the third on neither rise nor fall by more than
 *                      COURSE_FLAT of |first| or three standard errors, which are no excuse beyond COURSE_DIM of it:
 *                      what noise hides does not stand still; nor does a loss stand still that came down before
 *                      `first` was reached: x_1 and x_2 lie above it by more than four times the noise, and the lowest
 *                      block more than COURSE_STEEP of x_1 below x_1 (a model that is trained on, logged rarely)
 *   has come back      when it lost more than half of what the lowest block had gained, and more than four errors; or
 *                      more than COURSE_LOST of it, which lifts a loss above zero to COURSE_RISEN times that block:
 *                      losses of classes begin so high that what a model has learned is gone before half of it is lost
 *
 * Nothing is said if two errors exceed COURSE_NOISE of |first|, or the first losses have both signs: a fall of that size
 * would not show, and what swings about zero is no level (the loss of a policy). A rise shows, where the last losses are
 * above twice the magnitude of the first, and each block is above the one before (the noise of such a course is its own
 * growth), or they are COURSE_SURE errors higher. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "robust.h"

enum { COURSE_FIRST = 5, COURSE_BLOCKS = 8, COURSE_LEAST = 3 * COURSE_BLOCKS /* losses */, COURSE_FEW = 8 };
#define COURSE_FLAT  0.02
#define COURSE_DIM   0.06
#define COURSE_NOISE 0.25
#define COURSE_LOST  0.25
#define COURSE_RISEN 1.5
#define COURSE_STEEP 0.25
#define COURSE_SURE  10.0

typedef struct course {
    double fall;                      /* to the lowest block, in percent of the first losses; negative: it only rose */
    bool never_fell, flat, came_back; /* flat: whatever the fall; came_back: percent in `lost` */
    bool descends;
    double lost;                     /* share of what had been gained, in percent */
    double first, best, last, error; /* the last: of a difference of two of them, by noise */
    double later;                    /* gained behind the first block */
    uint64_t best_at;                /* the last loss at the level of the lowest block */
} course;

/* The median of x[from .. to), by way of `room`. */
static inline double course_median(const double *x, uint64_t from, uint64_t to, double *room)
{
    size_t n = 0;
    for (uint64_t i = from; i < to; i++)
        room[n++] = x[i];
    return robust_median(room, n);
}

/* Do x[0 .. n) have both signs? */
static inline bool course_swings(const double *x, uint64_t n)
{
    bool below = false, above = false;
    for (uint64_t i = 0; i < n; i++) {
        below = below || x[i] < 0;
        above = above || x[i] > 0;
    }
    return below && above;
}

/* The standard deviation of the noise about a slow curve. */
static inline double course_noise(const double *x, uint64_t n, double *room)
{
    for (uint64_t i = 1; i < n; i++)
        room[i - 1] = x[i] - x[i - 1];
    return 1.4826 * robust_center_of(room, (size_t)n - 1, 0).spread / sqrt(2);
}

/* Moves best_at from the middle of the lowest block to where losses leave its level: a median of five is a quarter of the
 * way up to `last`. */
static inline void course_find_rise(const double *x, uint64_t n, double *room, course *c)
{
    enum { AROUND = 2 };
    const double level = c->best + (c->last - c->best) / 4;
    for (uint64_t i = c->best_at; i + AROUND < n; i++)
        if (i >= AROUND && course_median(x, i - AROUND, i + AROUND + 1, room) <= level)
            c->best_at = i;
}

/* Judges x[0 .. n), finite, n >= COURSE_LEAST; `room` has n places. False when the noise is too large to say anything.
 */
static inline bool course_of(const double *x, uint64_t n, double diff_percent, double *room, course *c)
{
    double block[COURSE_BLOCKS], best = INFINITY, low = INFINITY, high = -INFINITY;
    double first = course_median(x, 0, COURSE_FIRST, room), last = course_median(x, n - n / 4, n, room);
    double noise = course_noise(x, n, room) * sqrt(acos(-1) / 2);
    const double above = first + 4 * noise;
    first = x[0] + 4 * noise < first ? x[0] : first;
    c->best_at = 0;
    double error = noise * sqrt(1.0 / COURSE_FIRST + 4.0 / (double)n);
    for (uint64_t k = 0; k < COURSE_BLOCKS; k++) {
        block[k] = course_median(x, k * n / COURSE_BLOCKS, (k + 1) * n / COURSE_BLOCKS, room);
        if (block[k] < best) {
            best = block[k];
            c->best_at = (2 * k + 1) * n / COURSE_BLOCKS / 2;
        }
        low = k >= 2 ? fmin(low, block[k]) : low;
        high = k >= 2 ? fmax(high, block[k]) : high;
    }
    bool higher = true;
    for (uint64_t k = 1; k < COURSE_BLOCKS; k++)
        higher = higher && block[k] > block[k - 1];
    const bool rises = last > 2 * fabs(first) && (higher || last - first > COURSE_SURE * error);
    double gained = first - best;
    c->first = first;
    c->best = best;
    c->last = last;
    c->error = error;
    c->later = block[0] - best;
    c->fall = 100 * gained / fabs(first);
    c->lost = gained > 0 ? 100 * (last - best) / gained : 0;
    c->never_fell = c->fall < diff_percent;
    c->descends = x[0] - x[COURSE_FIRST - 1] > 4 * noise && x[0] - best > diff_percent / 100 * fabs(x[0]);
    for (uint64_t i = 1; i < COURSE_FIRST; i++)
        c->descends = c->descends && x[i] < x[i - 1];
    const double errors = 3 * noise * sqrt(2.0 * COURSE_BLOCKS / (double)n);
    c->flat = high - low <= fmax(COURSE_FLAT * fabs(first), fmin(errors, COURSE_DIM * fabs(first)));
    c->flat = c->flat && !(x[0] > above && x[1] > above && x[0] - best > COURSE_STEEP * fabs(x[0]));
    const bool risen = best > 0 && last > COURSE_RISEN * best && c->lost > 100 * COURSE_LOST;
    course_find_rise(x, n, room, c);
    c->came_back = gained > diff_percent / 100 * fabs(first) && (c->lost > 50 || risen) && last - best > 4 * error;
    return rises || (!course_swings(x, COURSE_FIRST) && first != 0 && 2 * error <= COURSE_NOISE * fabs(first));
}

/* Fewer losses than a course takes, COURSE_FEW or more: have they come back? The level at three in a row that was the
 * lowest is `least`; all of the last quarter, three at least, lie above it by half of what had been gained, and by far
 * more than noise. */
static inline bool few_came_back(const double *x, uint64_t n, double *room, course *c)
{
    enum { LEVEL = 3 };
    const uint64_t late = n / 4 > LEVEL ? n / 4 : LEVEL;
    if (n < COURSE_FEW || course_swings(x, LEVEL))
        return false;
    const double noise = course_noise(x, n, room);
    *c = (course){
        .first = course_median(x, 0, LEVEL, room), .last = course_median(x, n - late, n, room), .best = INFINITY};
    for (uint64_t k = 0; k + LEVEL <= n; k++) {
        const double level = course_median(x, k, k + LEVEL, room);
        c->best_at = level < c->best ? k + 1 : c->best_at;
        c->best = fmin(c->best, level);
    }
    const double gained = c->first - c->best;
    c->lost = gained > 0 ? 100 * (c->last - c->best) / gained : 0;
    c->error = noise;
    bool above = gained > 4 * noise && gained > COURSE_NOISE * fabs(c->first);
    for (uint64_t i = n - late; above && i < n; i++)
        above = x[i] - c->best > fmax(gained / 2, 6 * noise);
    return above;
}
