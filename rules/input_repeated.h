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

/* Is one of many columns set, as of a place that a policy comes to? */
static inline bool is_sparse(const double *row)
{
    static const double SPARSE = 0.7; /* of the elements of a table are 0 */
    return row[CHANNELS] < 0 && row[ZEROS] > SPARSE * row[COUNT];
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
    return (a[DIGEST_OF] >= 0 && a[DIGEST_OF] == b[DIGEST_OF]) || are_same_rows(a, b);
}

/* Can it be held against another? Digests were not taken of what is too large for them. */
static inline bool is_known(const walk *w, uint64_t i)
{
    return in_mode(w, i, ASSAY_MODE_TRAIN) && (row_of(w, i)[DIGEST_OF] >= 0 || is_of_statistics(row_of(w, i)));
}

/* Batches that are each fed `times` in a row, and so up to the last step. */
typedef struct echo {
    uint64_t begin, times; /* row of the first of them; times 0: there are none */
} echo;

/* Are there labels that are whole numbers, and batches of EVAL? Policies are trained on a batch several times, on
 * purpose, and have neither. */
static inline bool is_supervised(const walk *w, uint32_t worker)
{
    bool labels = false, evaluated = false;
    for (uint64_t i = 0; i < w->count; i++) {
        const assay_row row = assay_series_row(w->series, i);
        labels = labels || (row.value[IS] == LABEL && row.value[FLOAT] == 0 && row.worker == worker);
        evaluated = evaluated || (row.value[IS] == INPUT && row.value[MODE] == ASSAY_MODE_EVAL);
    }
    return labels && evaluated;
}

/* As many groups as ECHOES of one length, ECHO_LEAST at least, behind batches that came once; or from the first step on,
 * where training is supervised. */
static inline echo find_echo(const walk *w, uint64_t from, uint64_t to)
{
    enum { ECHOES = 5, ECHO_LEAST = 3 };
    uint64_t last = to, size = 0, group = to, groups = 0, singles = 0;
    echo e = {to, 0};
    for (uint64_t i = from; i < to; i++) {
        if (!is_known(w, i) || is_one(row_of(w, i)))
            continue;
        const bool again = last < to && is_same_batch(row_of(w, last), row_of(w, i));
        last = i;
        if (again) {
            size++;
            continue;
        }
        if (size > 0 && size != e.times)
            e = (echo){group, size}, groups = 0;
        groups += size > 0;
        singles += size == 1;
        group = i;
        size = 1;
    }
    const bool stays = e.times >= ECHO_LEAST && groups >= ECHOES && size <= e.times;
    const bool meant =
        stays && singles < BEFORE && !is_supervised(w, assay_series_row(w->series, w->order[from]).worker);
    e.times = stays && !meant ? e.times : 0;
    return e;
}

/* A few batches that all others of TRAIN are, each three times or more; 0: there are none. `rows`: of all of them. */
static inline uint64_t find_circle(const walk *w, uint64_t from, uint64_t to, double *rows)
{
    enum { MOST = 16, TURNS = 4 };
    uint64_t first[MOST], times[MOST] = {0}, kinds = 0, known = 0;
    *rows = 0;
    for (uint64_t i = from; i < to && kinds <= MOST; i++) {
        if (!is_known(w, i) || is_one(row_of(w, i)))
            continue;
        uint64_t k = 0;
        while (k < kinds && !is_same_batch(row_of(w, first[k]), row_of(w, i)))
            k++;
        if (k == MOST)
            return 0;
        if (k == kinds) {
            first[kinds++] = i;
            *rows += row_of(w, i)[ROWS];
        }
        times[k]++;
        known++;
    }
    bool often = kinds >= 2 && known >= TURNS * kinds;
    for (uint64_t k = 0; often && k < kinds; k++)
        often = times[k] >= 3 && row_of(w, first[k])[ROWS] > 0 &&
                row_of(w, first[k])[COUNT] / row_of(w, first[k])[ROWS] >= LEAST_FEATURES;
    return often ? kinds : 0;
}

/* How many rows one evaluation has at least: those of its largest batch, or of as many different ones as come in a row. */
static inline double rows_of_evaluation(const walk *w, uint64_t from, uint64_t to)
{
    double most = 0, rows = 0;
    uint64_t begin = to;
    for (uint64_t i = from; i < to; i++) {
        const bool eval = row_of(w, i)[MODE] == ASSAY_MODE_EVAL;
        if (eval && begin == to)
            begin = i;
        const bool anew = eval && i > begin && is_same_batch(row_of(w, begin), row_of(w, i));
        rows = !eval || anew ? 0 : rows;
        begin = !eval ? to : anew ? i : begin;
        rows += eval ? row_of(w, i)[ROWS] : 0;
        most = fmax(most, rows);
    }
    return most;
}

/* Is each batch of TRAIN one row, as often as it has room, at num_steps steps in a row and all later ones? */
static inline int test_alike(const walk *w, uint64_t from, uint64_t to)
{
    const int64_t least = assay_param_int(w->rule->params, "num_steps");
    int64_t run = 0;
    uint64_t begin = to;
    int status = ASSAY_OK;
    for (uint64_t i = from; i < to; i++) {
        if (!in_mode(w, i, ASSAY_MODE_TRAIN))
            continue;
        run = row_of(w, i)[ALIKE] > 0 && !is_one(row_of(w, i)) ? run + 1 : 0;
        begin = run == 1 ? i : begin;
    }
    for (uint64_t i = from; status == ASSAY_OK && i < to; i++) {
        char note[NOTE_ROOM];
        if (!in_mode(w, i, ASSAY_MODE_TRAIN) || row_of(w, i)[ROWS] < LEAST_ALIKE)
            continue;
        snprintf(note, sizeof note, "%.0f times the same row", row_of(w, i)[ROWS]);
        status = test(w, i, ALIKE_TEST, run >= least && i >= begin, row_of(w, i)[ALIKE], 1, note);
    }
    return status;
}

static inline int test_repeated(const walk *w, uint64_t from, uint64_t to)
{
    uint64_t begin = to, different = 0, run = 0, longest = 0, last = to;
    int status = ASSAY_OK;
    for (uint64_t i = from; i < to; i++) {
        if (!is_known(w, i) || is_one(row_of(w, i)))
            continue;
        const bool again = last < to && is_same_batch(row_of(w, last), row_of(w, i));
        different += !again;
        longest = !again && run > longest ? run : longest;
        begin = !again ? to : run == 0 ? i : begin;
        run = again ? run + 1 : 0;
        last = i;
    }
    const bool meant = run >= REPEATED && is_sparse(row_of(w, begin)) &&
                       !is_supervised(w, assay_series_row(w->series, w->order[from]).worker);
    const bool found =
        run >= REPEATED && run > 2 * longest && !meant &&
        (different >= 3 || (different == 1 && last < to && is_part_of_the_set(w, from, to, row_of(w, last)) &&
                            (gains_nothing(w) || is_usual_batch(row_of(w, last)[ROWS]))));
    const echo e = found ? (echo){to, 0} : find_echo(w, from, to);
    char note[NOTE_ROOM] = "";
    if (e.times > 0) {
        begin = e.begin;
        snprintf(note, sizeof note, "each %llu times in a row", (unsigned long long)e.times);
    }
    double rows = 0;
    const uint64_t circle = found || e.times > 0 ? 0 : find_circle(w, from, to, &rows);
    const double evaluated = circle > 0 ? rows_of_evaluation(w, from, to) : 0;
    const bool goes_round = circle > 0 && evaluated > rows && gains_nothing(w);
    if (goes_round) {
        begin = from;
        snprintf(note, sizeof note, "%llu batches of %.0f rows in all, in turn, while evaluation has %.0f",
                 (unsigned long long)circle, rows, evaluated);
    }
    uint64_t again = 0;
    for (uint64_t i = from; status == ASSAY_OK && i < to; i++) {
        if (!is_known(w, i))
            continue;
        again += i >= begin;
        status = test(w, i, REPEATED_TEST, (found || e.times > 0 || goes_round) && i >= begin, (double)again, REPEATED,
                      note);
    }
    return status;
}
