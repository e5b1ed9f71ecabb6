/* input_repeated.h - InputData: is a TRAIN input the same batch again and again? */
#pragma once

#include "input_rows.h"

/* Has EVAL a batch of other rows, and not fewer, than the one that training saw at all of its steps? Then that one was
 * not the whole set. Points of few coordinates are left out: fixed ones are usual there. */
static inline bool is_part_of_the_set(const walk *w, uint64_t from, uint64_t to, const double *train)
{
    for (uint64_t i = from; i < to; i++) {
        const double *row = row_of(w, i);
        if (row[MODE] == ASSAY_MODE_EVAL && row[COUNT] >= train[COUNT] && !is_one(row) && !are_same_rows(row, train))
            return train[ROWS] > 0 && train[COUNT] / train[ROWS] >= LEAST_FEATURES;
    }
    return false;
}

/* Has it as many rows as batches have: 8, 16, 32, 64 or 128? Whole sets seldom do. */
static inline bool is_usual_batch(double rows)
{
    return rows == 8 || rows == 16 || rows == 32 || rows == 64 || rows == 128;
}

/* Does evaluation gain next to nothing, or lose what it gained? Where no losses tell, it is taken to. */
static inline bool gains_nothing(const walk *w)
{
    static const double GAINED = 0.7, LOST = 1.25; /* shares of the first loss, and of the least */
    double first = NAN, least = NAN, last = NAN;
    for (uint64_t i = 0; i < w->count; i++) { /* as they were added: by step */
        const assay_row row = assay_series_row(w->series, i);
        if (row.value[IS] != LOSS || row.value[MODE] != ASSAY_MODE_EVAL)
            continue;
        last = row.value[SUM];
        first = isnan(first) ? last : first;
        least = fmin(least, last);
    }
    return isnan(last) || last > GAINED * first || last > LOST * least;
}

static inline bool is_same_batch(const double *a, const double *b)
{
    return a[DIGEST_OF] == b[DIGEST_OF] || are_same_rows(a, b);
}

static inline int test_repeated(const walk *w, uint64_t from, uint64_t to)
{
    uint64_t begin = to, different = 0, run = 0, last = to;
    int status = ASSAY_OK;
    for (uint64_t i = from; i < to; i++) {
        if (!in_mode(w, i, ASSAY_MODE_TRAIN) || row_of(w, i)[DIGEST_OF] < 0 || is_one(row_of(w, i)))
            continue;
        const bool again = last < to && is_same_batch(row_of(w, last), row_of(w, i));
        different += !again;
        begin = !again ? to : run == 0 ? i : begin;
        run = again ? run + 1 : 0;
        last = i;
    }
    const bool found =
        run >= REPEATED &&
        (different >= 3 || (different == 1 && last < to && is_part_of_the_set(w, from, to, row_of(w, last)) &&
                            (gains_nothing(w) || is_usual_batch(row_of(w, last)[ROWS]))));
    uint64_t again = 0;
    for (uint64_t i = from; status == ASSAY_OK && i < to; i++) {
        if (!in_mode(w, i, ASSAY_MODE_TRAIN) || row_of(w, i)[DIGEST_OF] < 0)
            continue;
        again += i >= begin;
        status = test(w, i, REPEATED_TEST, found && i >= begin, (double)again, REPEATED, NULL);
    }
    return status;
}
