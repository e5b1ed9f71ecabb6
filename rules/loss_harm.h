/* loss_harm.h - have the losses of a training come to harm, and at which steps? (LossNotDecreasing, member `harm`)
 *
 * Norms that jump, units that die, classes that are mistaken: healthy trainings have them too. What is wrong shows in the
 * losses: they do not come down, or stand higher behind the step at which it began. Of the finite losses x_1 .. x_n of
 * a tensor and worker, n >= HARM_LEAST, in blocks of equal length (eight; four of fewer than 24):
 *
 *   first, last  medians of the first five (a quarter of fewer than 20), and of the last quarter
 *   error        of a difference of the two, by noise (loss_course.h)
 *   gained       first - last is above HARM_GAIN of |first| and four errors, and last lies above the lowest block's median by no
 *                more than HARM_LOST of what that had gained, or three errors
 *   setback      at i, where the median of x_i and the four behind lies above that of the five before by more than HARM_RISE of it and
 *                four errors of such a difference; or `last` does, of a loss that gained. It reaches from the first of the five
 *                before to x_(i+1): of what began in between it may be the consequence
 *   gap          so many saved steps from one loss to the next that the HARM_USUAL part of them with the most has HARM_WINDOW
 *                times fewer. What began there, or less than five losses before, may have done harm that nobody saw: a setback
 *
 * A training is well if each worker has a loss that gained, no loss was ever not finite, and none ends in a gap. */
#pragma once

#include "loss_course.h"

enum { HARM_LEAST = 8, HARM_WINDOW = 5, HARM_SETBACKS = 32, HARM_USUAL = 16 };
#define HARM_GAIN 0.1
#define HARM_LOST 0.25
#define HARM_RISE 0.1

typedef struct harm_range {
    double from, to; /* steps of the trial, inclusive */
} harm_range;

/* The finite losses of a tensor and worker. */
typedef struct harm_course {
    uint64_t n;
    const double *x, *step;  /* step: of the trial */
    const double *place;     /* how many saved steps at which there could be one are before each */
    double from, begin, end; /* the first saved step, its place, and that behind the last one */
} harm_course;

typedef struct harm {
    harm_range setback[HARM_SETBACKS]; /* of all losses, in no order */
    size_t setbacks;
    double seen; /* the step up to which what begins is followed by enough losses of each tensor and worker */
} harm;

static inline bool harm_gained(const double *x, uint64_t n, double noise, double *room)
{
    const uint64_t blocks = n < COURSE_LEAST ? 4 : COURSE_BLOCKS, begin = n < 20 ? n / 4 : COURSE_FIRST;
    const double first = course_median(x, 0, begin, room), last = course_median(x, n - n / 4, n, room);
    const double error = noise * sqrt(1.0 / COURSE_FIRST + 4.0 / (double)n);
    double least = INFINITY;
    for (uint64_t k = 0; k < blocks; k++)
        least = fmin(least, course_median(x, k * n / blocks, (k + 1) * n / blocks, room));
    return first - last > fmax(HARM_GAIN * fabs(first), 4 * error) &&
           last - least <= fmax(HARM_LOST * (first - least), 3 * error);
}

/* Adds a range to those that it touches; where there is no room left, to the last one. */
static inline void harm_add(harm *h, double from, double to)
{
    size_t at = 0;
    while (at < h->setbacks && (to < h->setback[at].from || from > h->setback[at].to))
        at++;
    if (at == h->setbacks && at < HARM_SETBACKS)
        h->setback[h->setbacks++] = (harm_range){from, to};
    at = at < HARM_SETBACKS ? at : HARM_SETBACKS - 1;
    h->setback[at].from = fmin(h->setback[at].from, from);
    h->setback[at].to = fmax(h->setback[at].to, to);
}

/* Adds the gaps. Returns whether the losses end in one. `room` has n places. */
static inline bool harm_add_gaps(const harm_course *c, double *room, harm *h)
{
    const uint64_t n = c->n;
    for (uint64_t i = 1; i < n; i++)
        room[i - 1] = c->place[i] - c->place[i - 1];
    robust_sort(room, (size_t)n - 1);
    const double most = HARM_WINDOW * room[n - 2 - (n - 1) / HARM_USUAL];
    if (c->place[0] - c->begin > most)
        harm_add(h, c->from, c->step[1]);
    for (uint64_t i = 1; i < n; i++)
        if (c->place[i] - c->place[i - 1] > most)
            harm_add(h, c->step[i < HARM_WINDOW ? 0 : i - HARM_WINDOW], c->step[i + 1 < n ? i + 1 : i]);
    return c->end - c->place[n - 1] > most;
}

/* Adds the setbacks of a course; `room` has as many places. Returns whether it gained. Sets *ends_in_gap where it does. */
static inline bool harm_of(const harm_course *c, double *room, harm *h, bool *ends_in_gap)
{
    const uint64_t n = c->n;
    const double *x = c->x;
    if (n < HARM_LEAST)
        return false;
    const double noise = course_noise(x, n, room) * sqrt(acos(-1) / 2);
    const bool gained = harm_gained(x, n, noise, room);
    const double last = gained ? course_median(x, n - n / 4, n, room) : -INFINITY;
    for (uint64_t i = 1; i + 1 < n; i++) {
        const uint64_t from = i < HARM_WINDOW ? 0 : i - HARM_WINDOW, to = i + HARM_WINDOW < n ? i + HARM_WINDOW : n;
        const double before = course_median(x, from, i, room);
        const double rise = fmax(course_median(x, i, to, room), last) - before;
        const double error = noise * sqrt(1.0 / (double)(i - from) + 1.0 / (double)(to - i));
        if (rise > fmax(HARM_RISE * fabs(before), 4 * error))
            harm_add(h, c->step[from], c->step[i + 1]);
    }
    h->seen = fmin(h->seen, c->step[n - 1 - HARM_WINDOW]);
    *ends_in_gap = harm_add_gaps(c, room, h) || *ends_in_gap;
    return gained;
}
