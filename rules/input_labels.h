/* input_labels.h - InputData's tests of labels that are class numbers.
 *
 * The counter of the state has pairs (class, tensor * ASSAY_MODES + mode), over all workers. A class is unseen when EVAL
 * has it and TRAIN does not, though it would have n * share of its n labels: SURE or more of a class, and so many of all
 * unseen ones together that no chance hides them. */
#pragma once

#include <string.h>

#include "input_rows.h"

enum { LEAST_ROWS = 3, LEAST_ALWAYS = 20 };

static inline bool is_one_class(const double *row)
{
    return row[FLOAT] == 0 && row[COUNT] >= LEAST_LABELS && row[LEAST] == row[LARGEST];
}

/* Is the loss of these targets called once a step, beside no other loss? A judge's is called for what is real and for
 * what is made. */
static inline bool is_only_loss(const walk *w, uint64_t from)
{
    const assay_trial *trial = w->rule->trial;
    const char *name = assay_trial_tensor(trial, assay_series_row(w->series, w->order[from]).tensor);
    for (uint64_t i = 0; i < w->count; i = tensor_end(w, i)) {
        const char *other = assay_trial_tensor(trial, assay_series_row(w->series, w->order[i]).tensor);
        const size_t kind = strcspn(name, "_");
        if (row_of(w, i)[IS] == LOSS &&
            (strncmp(other, name, kind) != 0 || strcmp(other + strcspn(other, "_"), "_output_0") != 0))
            return false;
    }
    return true;
}

/* Are these the targets of a binary cross entropy? Then those of one value tell nothing apart. */
static inline bool is_told_nothing(const walk *w, uint64_t from)
{
    const char *name = assay_trial_tensor(w->rule->trial, assay_series_row(w->series, w->order[from]).tensor);
    return strstr(name, "BCE") && is_only_loss(w, from);
}

/* Targets [from, to) of one worker that are no whole numbers, and are one value in all of TRAIN, though not in EVAL. */
static inline int test_empty_targets(const walk *w, uint64_t from, uint64_t to)
{
    uint64_t train = 0;
    double value = NAN;
    bool one = true, varies = false;
    int status = ASSAY_OK;
    for (uint64_t i = from; i < to; i++) {
        const double *row = row_of(w, i);
        if (row[FLOAT] == 0)
            return ASSAY_OK;
        if (in_mode(w, i, ASSAY_MODE_TRAIN)) {
            value = train++ == 0 ? row[LEAST] : value;
            one = one && row[LEAST] == value && row[LARGEST] == value;
        } else
            varies = varies || (row[MODE] == ASSAY_MODE_EVAL && row[LEAST] < row[LARGEST]);
    }
    const bool found = one && varies && train >= LEAST_ROWS && is_only_loss(w, from);
    char note[NOTE_ROOM];
    snprintf(note, sizeof note, "one value, %.6g, and those of evaluation are not", value);
    for (uint64_t i = from; status == ASSAY_OK && found && i < to; i++)
        if (in_mode(w, i, ASSAY_MODE_TRAIN))
            status = test(w, i, LABELS, true, value, 0, note);
    return status;
}

/* Targets [from, to) of one worker that are no whole numbers, as those of a binary loss: they become one value for good,
 * where they never were; or are it at all steps, and the loss has nothing else. */
static inline int test_stuck_targets(const walk *w, uint64_t from, uint64_t to)
{
    uint64_t begin = to, before = 0;
    int status = ASSAY_OK;
    for (uint64_t i = from; i < to; i++) {
        const double *row = row_of(w, i);
        if (!in_mode(w, i, ASSAY_MODE_TRAIN) || row[FLOAT] == 0 || row[COUNT] < LEAST_LABELS)
            continue;
        if (row[LEAST] != row[LARGEST] || (begin < to && row[LEAST] != row_of(w, begin)[LEAST])) {
            if (begin < to) /* one value is nothing unusual here */
                return ASSAY_OK;
            before++;
        } else if (begin == to)
            begin = i;
    }
    uint64_t run = 0;
    const bool always = before == 0 && is_told_nothing(w, from);
    for (uint64_t i = begin; i < to; i++)
        run += in_mode(w, i, ASSAY_MODE_TRAIN) && row_of(w, i)[FLOAT] != 0 && row_of(w, i)[COUNT] >= LEAST_LABELS;
    for (uint64_t i = from; status == ASSAY_OK && (before >= BEFORE || always) && i < to; i++) {
        const double *row = row_of(w, i);
        char note[NOTE_ROOM];
        if (!in_mode(w, i, ASSAY_MODE_TRAIN) || row[FLOAT] == 0 || row[COUNT] < LEAST_LABELS)
            continue;
        snprintf(note, sizeof note, "one value, %.6g", row[LEAST]);
        status = test(w, i, LABELS, run >= (always ? LEAST_ALWAYS : REPEATED) && i >= begin, row[LEAST], 0, note);
    }
    return status;
}

/* Whole labels [from, to) of one worker: is all that EVAL has one class, where those of TRAIN have three or more? Where
 * fewer than half of the EVAL steps follow one upon the other, what was saved may be the same part of each evaluation. */
static inline int test_evaluated_class(const walk *w, uint64_t from, uint64_t to)
{
    uint64_t mixed = 0, eval = 0, consecutive = 0;
    int64_t before = -1;
    double least = INFINITY, largest = -INFINITY, class = NAN;
    bool one = true;
    int status = ASSAY_OK;
    for (uint64_t i = from; i < to; i++) {
        const double *row = row_of(w, i);
        if (row[FLOAT] != 0 || row[COUNT] < LEAST_LABELS)
            continue;
        if (in_mode(w, i, ASSAY_MODE_TRAIN)) {
            mixed += row[LEAST] < row[LARGEST];
            least = fmin(least, row[LEAST]);
            largest = fmax(largest, row[LARGEST]);
        } else if (row[MODE] == ASSAY_MODE_EVAL) {
            const int64_t at = mode_step_of(w, i);
            class = eval++ == 0 ? row[LEAST] : class;
            consecutive += before >= 0 && at == before + 1;
            before = at;
            one = one && row[LEAST] == class && row[LARGEST] == class;
        }
    }
    const bool found = one && 2 * consecutive >= eval && mixed >= LEAST_ROWS && largest - least >= 2;
    for (uint64_t i = from; status == ASSAY_OK && eval >= FEW && i < to; i++) {
        const double *row = row_of(w, i);
        char note[NOTE_ROOM];
        if (row[FLOAT] != 0 || row[COUNT] < LEAST_LABELS || row[MODE] != ASSAY_MODE_EVAL)
            continue;
        snprintf(note, sizeof note, "class %.0f", row[LEAST]);
        status = test(w, i, LABELS, found, row[LEAST], 0, note);
    }
    return status;
}

/* Whole labels [from, to) of one worker: from a step on, BEFORE or more behind the first, all of LEAST_ALWAYS or more are
 * below half of the largest of each step before; and some, that were seen there as well, are above the least. */
static inline int test_narrowed(const walk *w, uint64_t from, uint64_t to)
{
    double largest = -INFINITY, least = INFINITY, smallest = INFINITY, after = -INFINITY, after_least = INFINITY;
    uint64_t begin = to, before = 0, behind;
    int status = ASSAY_OK;
    for (uint64_t i = from; i < to; i++) { /* w->room: the smallest largest one of the steps before */
        const double *row = row_of(w, i);
        w->room[i] = smallest;
        if (!in_mode(w, i, ASSAY_MODE_TRAIN))
            continue;
        if (row[FLOAT] != 0 || row[COUNT] < LEAST_LABELS)
            return ASSAY_OK;
        smallest = fmin(smallest, row[LARGEST]);
        before++;
    }
    for (uint64_t i = to; i-- > from;) {
        const double *row = row_of(w, i);
        if (!in_mode(w, i, ASSAY_MODE_TRAIN))
            continue;
        after = fmax(after, row[LARGEST]);
        if (--before < BEFORE || 2 * (after + 1) > w->room[i] + 1)
            continue;
        begin = i;
    }
    for (uint64_t i = from; i < begin; i++) {
        largest = in_mode(w, i, ASSAY_MODE_TRAIN) ? fmax(largest, row_of(w, i)[LARGEST]) : largest;
        least = in_mode(w, i, ASSAY_MODE_TRAIN) ? fmin(least, row_of(w, i)[LEAST]) : least;
    }
    after = -INFINITY;
    behind = 0;
    for (uint64_t i = begin; i < to; i++) {
        if (!in_mode(w, i, ASSAY_MODE_TRAIN))
            continue;
        behind++;
        after = fmax(after, row_of(w, i)[LARGEST]);
        after_least = fmin(after_least, row_of(w, i)[LEAST]);
    }
    if (behind < LEAST_ALWAYS || after_least < least || after_least == after)
        return ASSAY_OK;
    for (uint64_t i = begin; status == ASSAY_OK && i < to; i++) {
        char note[NOTE_ROOM];
        snprintf(note, sizeof note, "classes %.0f to %.0f, which were %.0f to %.0f before", after_least, after, least,
                 largest);
        if (in_mode(w, i, ASSAY_MODE_TRAIN))
            status = test(w, i, LABELS, true, row_of(w, i)[LARGEST], 0, note);
    }
    return status;
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
        snprintf(note, sizeof note, "one class, %.0f", row[LEAST]);
        status = test(w, i, LABELS, stuck && i >= begin, row[LEAST], 0, note);
        snprintf(note, sizeof note, "%llu of %llu hold one class alone", (unsigned long long)ones,
                 (unsigned long long)labels);
        ASSAY_THEN(status, test(w, i, SORTED, sorted && is_one_class(row), row[LEAST], 0, note));
    }
    return status;
}

/* Do the means of batches of targets go one way, but for the way back to the beginning, and does a batch hold little of what
 * all hold? A drift has no way back, and chance goes to and fro. */
static inline bool is_ordered(const walk *w, uint64_t from, uint64_t to, uint64_t *batches)
{
    enum { LEAST_BATCHES = 20 };
    static const double WITHIN = 0.2, BACK = 0.3; /* of the variance of all; of the range of means */
    double within = 0, sum = 0, squares = 0, low = INFINITY, high = -INFINITY, last = NAN;
    uint64_t n = 0, up = 0, down = 0, far_up = 0, far_down = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint64_t i = from; i < to; i++) {
            const double *row = row_of(w, i), mean = row[SUM] / row[COUNT];
            if (!in_mode(w, i, ASSAY_MODE_TRAIN) || row[FLOAT] == 0 || row[COUNT] < LEAST_LABELS || !isfinite(mean))
                continue;
            if (pass > 0) {
                up += mean > last;
                down += mean < last;
                far_up += mean - last > BACK * (high - low);
                far_down += last - mean > BACK * (high - low);
                last = mean;
                continue;
            }
            within += row[SQUARES] / row[COUNT] - mean * mean;
            low = fmin(low, mean);
            high = fmax(high, mean);
            sum += mean;
            squares += mean * mean;
            n++;
        }
    *batches = n;
    const double between = n > 0 ? squares - sum * sum / (double)n : 0;
    const bool rises = down == far_down && far_down > 0 && up > far_down,
               falls = up == far_up && far_up > 0 && down > far_up;
    return n >= LEAST_BATCHES && between > 0 && within < WITHIN * (within + between) && (rises || falls);
}

static inline int test_ordered(const walk *w, uint64_t from, uint64_t to)
{
    uint64_t batches = 0;
    const bool found = is_ordered(w, from, to, &batches);
    int status = ASSAY_OK;
    for (uint64_t i = from; status == ASSAY_OK && batches > 0 && i < to; i++) {
        const double *row = row_of(w, i);
        char note[NOTE_ROOM];
        if (!in_mode(w, i, ASSAY_MODE_TRAIN) || row[FLOAT] == 0 || row[COUNT] < LEAST_LABELS)
            continue;
        snprintf(note, sizeof note, "their means go one way through all of them, and back to the beginning");
        status = test(w, i, ORDERED, found, row[SUM] / row[COUNT], 0, note);
    }
    return status;
}

enum { SURE = 5, CLASSES_NAMED = 3 };
#define CHANCE 10.0 /* a logarithm */

/* Adds the labels of one tensor, where they are class numbers. What has more of them is looked at up to MOST alone: all
 * would take a rule that is asked for by default beyond its share of a small --memory. */
static inline int count_labels(const assay_step_view *view, const assay_tensor_view *item, assay_counter *counter)
{
    enum { MOST = 1 << 14 };
    const assay_result *result = assay_dtype_is_float(item->dtype) ? NULL : assay_view_result(view, 3, item);
    int status = ASSAY_OK;
    for (uint64_t i = 0; result && status == ASSAY_OK && i < result->of.classes.count; i++) {
        const int64_t class = result->of.classes.value[i];
        if (class >= 0 && class < MOST)
            status = assay_counter_add(counter, class, (int64_t)item->tensor * ASSAY_MODES + view->mode, 1);
    }
    return status;
}

/* How many labels a tensor has in a mode. */
static inline uint64_t labels_of(const assay_counter *counter, uint32_t tensor, int mode)
{
    uint64_t sum = 0, count;
    int64_t class, of;
    for (uint64_t i = 0; i < assay_counter_size(counter); i++) {
        assay_counter_get(counter, i, &class, &of, &count);
        sum += of == (int64_t)tensor * ASSAY_MODES + mode ? count : 0;
    }
    return sum;
}

/* Counts the classes of EVAL that TRAIN lacks, and writes the first of them into the note. */
static inline uint64_t unseen_classes(const walk *w, uint32_t tensor, char note[NOTE_ROOM])
{
    const double trained = (double)labels_of(w->labels, tensor, ASSAY_MODE_TRAIN),
                 evaluated = (double)labels_of(w->labels, tensor, ASSAY_MODE_EVAL);
    const int64_t key = (int64_t)tensor * ASSAY_MODES;
    uint64_t unseen = 0, classes = 0, size = assay_counter_size(w->labels), held = 0;
    double expected = 0;
    size_t used = 0;
    for (uint64_t i = 0, next; i < size; i = next) {
        uint64_t in_train = 0, in_eval = 0, count;
        int64_t class, of, same;
        assay_counter_get(w->labels, i, &class, &of, &count);
        for (next = i; next < size; next++) {
            assay_counter_get(w->labels, next, &same, &of, &count);
            if (same != class)
                break;
            in_train += of == key + ASSAY_MODE_TRAIN ? count : 0;
            in_eval += of == key + ASSAY_MODE_EVAL ? count : 0;
        }
        classes += in_eval > 0;
        const double most = in_eval > 0 ? trained * (double)in_eval / evaluated : 0;
        if (in_train > 0 || most < SURE)
            continue;
        expected += most;
        held += in_eval;
        if (unseen++ < CLASSES_NAMED && used < NOTE_ROOM / 2)
            used += (size_t)snprintf(note + used, NOTE_ROOM - used, "%s%lld", used ? ", " : "", (long long)class);
    }
    if (unseen > 0 && expected < CHANCE + log((double)classes))
        return 0;
    if (unseen > 0)
        snprintf(note + used, NOTE_ROOM - used, "%s, %.0f %% of the labels of evaluation",
                 unseen > CLASSES_NAMED ? ", ..." : "", 100 * (double)held / evaluated);
    return unseen;
}

/* Once a tensor and worker, at its first EVAL row. Where workers are missing they may have had the classes. */
static inline int test_unseen(const walk *w, uint64_t from, uint64_t to)
{
    const assay_trial *trial = w->rule->trial;
    uint64_t trained = 0, first = to;
    char note[NOTE_ROOM] = "";
    for (uint64_t i = from; i < to; i++) {
        trained += in_mode(w, i, ASSAY_MODE_TRAIN);
        first = first == to && row_of(w, i)[MODE] == ASSAY_MODE_EVAL ? i : first;
    }
    if (first == to || trained < LEAST_ROWS || row_of(w, first)[FLOAT] != 0 ||
        assay_trial_workers(trial) < assay_trial_expected_workers(trial))
        return ASSAY_OK;
    const uint64_t unseen = unseen_classes(w, assay_series_row(w->series, w->order[first]).tensor, note);
    return test(w, first, UNSEEN, unseen > 0, (double)unseen, 0, note);
}
