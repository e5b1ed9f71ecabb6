/* input_labels.h - InputData's tests of labels that are class numbers. */
#ifndef ASSAY_RULES_INPUT_LABELS_H
#define ASSAY_RULES_INPUT_LABELS_H

#include "input_rows.h"

static inline bool is_one_class(const double *row)
{
    return row[FLOAT] == 0 && row[COUNT] >= LEAST_LABELS && row[LEAST] == row[LARGEST];
}

/* Labels [from, to) of one worker: where they become one class for good; and whether each batch has one of its own. */
static inline int test_classes(const walk *w, uint64_t from, uint64_t to)
{
    uint64_t begin = to, before = 0, run = 0, ones = 0, labels = 0, of_first = 0;
    size_t classes = 0;
    double seen[LEAST_CLASSES], least = INFINITY, largest = -INFINITY;
    int status = ASSAY_OK;
    bool mixed = true; /* no row before the run was one class */
    for (uint64_t i = from; i < to; i++) {
        const double *row = row_of(w, i);
        if (!in_mode(w, i, ASSAY_MODE_TRAIN) || row[FLOAT] != 0 || row[COUNT] < LEAST_LABELS)
            continue;
        labels++;
        least = fmin(least, row[LEAST]);
        largest = fmax(largest, row[LARGEST]);
        if (!is_one_class(row)) {
            before++;
            mixed = mixed && run == 0;
            run = 0;
            continue;
        }
        begin = run++ == 0 ? i : begin;
        ones++;
        size_t known = 0;
        while (known < classes && seen[known] != row[LEAST])
            known++;
        if (known == classes && classes < LEAST_CLASSES)
            seen[classes++] = row[LEAST];
        of_first += row[LEAST] == seen[0];
    }
    /* of many classes no chance makes a batch of one; of two it may */
    const bool many = largest - least >= 2;
    const bool even = 4 * of_first >= ones && 4 * of_first <= 3 * ones;
    const bool stuck = mixed && classes == 1 && run >= (many ? FEW : REPEATED) && before >= (many ? 1 : 3);
    const bool sorted = classes >= 2 && 2 * ones >= labels && (many || (even && labels >= BEFORE));
    for (uint64_t i = from; status == ASSAY_OK && i < to; i++) {
        const double *row = row_of(w, i);
        char note[NOTE_ROOM];
        if (!in_mode(w, i, ASSAY_MODE_TRAIN) || row[FLOAT] != 0 || row[COUNT] < LEAST_LABELS)
            continue;
        snprintf(note, sizeof note, "class %.0f", row[LEAST]);
        status = test(w, i, LABELS, stuck && i >= begin, row[LEAST], 0, note);
        snprintf(note, sizeof note, "%llu of %llu hold one class alone", (unsigned long long)ones,
                 (unsigned long long)labels);
        if (status == ASSAY_OK)
            status = test(w, i, SORTED, sorted && is_one_class(row), row[LEAST], 0, note);
    }
    return status;
}

#endif
