/* sums.c - what a module gets is what another one gave, or the sum of two tensors before it, as residual connections make
 * them: x = a + b.
 *
 * Names do not say which tensors these are. A tensor's whole sketch is therefore brought to one number by further signs;
 * sums_find() looks for the terms of each input at the first steps and keeps those that fit at every one of them. x is
 * rounded in its type: 6 u. */
#include "laws/sums.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/search.h>

enum { SUMS_FIRST = 4 /* steps at which terms have to fit */ };

/* A tensor at a step. */
typedef struct sums_row {
    int mode;
    uint32_t worker, tensor;
    int64_t step;
    double sum, bound; /* with signs; and what its rounding may do to that */
    double rows, columns;
    bool input;
} sums_row;

typedef struct sums_terms {
    uint32_t tensor, of[2]; /* the second is UINT32_MAX: a copy */
} sums_terms;

/* The sum of all cells with signs of their columns, in lanes that do not wait for each other. */
static double signed_sum(const assay_sketch *s)
{
    enum { LANES = 4, SIGNS = 64 };
    double lanes[LANES] = {0}, sign[SIGNS];
    for (uint64_t c = 0; c < s->columns; c += SIGNS) {
        const uint64_t minus = assay_sketch_signs(c / SIGNS), n = s->columns - c < SIGNS ? s->columns - c : SIGNS;
        for (uint64_t i = 0; i < SIGNS; i++)
            sign[i] = 1 - 2 * (double)(minus >> i & 1);
        for (uint64_t g = 0; g < s->groups; g++) {
            const double *x = s->sum + g * s->columns + c;
            uint64_t i = 0;
            for (; i + LANES <= n; i += LANES)
                for (int k = 0; k < LANES; k++)
                    lanes[k] += sign[i + (uint64_t)k] * x[i + (uint64_t)k];
            for (; i < n; i++)
                lanes[0] += sign[i] * x[i];
        }
    }
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

enum { AXES_OF_IMAGES = 4 /* of which the measure WHOLE is taken: their rows mean nothing to modules of images */ };

static int add_items(const law_step *step, int slot, int of_rows, int of_whole)
{
    const assay_slot_view *items = &step->view->slot[slot];
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < items->count; i++) {
        const assay_tensor_view *item = items->items[i];
        const bool whole = item->dims >= AXES_OF_IMAGES;
        const assay_sketch *s = law_sketch(step, whole ? of_whole : of_rows, item);
        double row[LAW_WIDTH] = {[LAW_OF] = LAW_SUMS};
        if (!s || law_rounding(item->dtype) == 0 || (!whole && s->columns < 2))
            continue;
        row[LAW_APART] = signed_sum(s);
        row[LAW_BOUND] = 6 * law_rounding(item->dtype) * sqrt(item->stats->squares);
        row[LAW_ROW] = (double)s->rows;
        row[LAW_COLUMN] = (double)s->columns;
        row[LAW_VARIANT] = slot == LAW_INPUTS;
        if (row[LAW_BOUND] > 0)
            status = assay_series_add(step->series, step->view->step, item->tensor, item->worker, row);
    }
    return status;
}

int law_sums(const law_step *step)
{
    ASSAY_TRY(add_items(step, LAW_INPUTS, OF_INPUT, OF_WHOLE));
    return add_items(step, LAW_OUTPUTS, OF_OUTPUT, OF_WHOLE_OUT);
}

/* ---- which tensors make which ---- */

/* Orders rows by mode, worker, step and tensor. */
static int sums_compare(const void *a, const void *b)
{
    const sums_row *x = a, *y = b;
    const int64_t keys[][2] = {{x->mode, y->mode}, {x->worker, y->worker}, {x->step, y->step}, {x->tensor, y->tensor}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return (x->input > y->input) - (x->input < y->input);
}

/* How many of the rows, in that order, are of the first one's step. */
static uint64_t sums_group(const sums_row *rows, uint64_t count)
{
    uint64_t n = 1;
    while (n < count && rows[n].mode == rows->mode && rows[n].worker == rows->worker && rows[n].step == rows->step)
        n++;
    return n;
}

/* Of n rows of a step, the tensor's; NULL: there is none. */
static const sums_row *sums_at(const sums_row *rows, uint64_t n, uint32_t tensor)
{
    uint64_t low = 0, high = n;
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if (rows[middle].tensor < tensor)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && rows[low].tensor == tensor ? &rows[low] : NULL;
}

/* |x - a - b| and what rounding may make of it; b NULL: x is a copy of a. */
static double sums_apart(const sums_row *x, const sums_row *a, const sums_row *b)
{
    return fabs(x->sum - a->sum - (b ? b->sum : 0));
}

static double sums_bound(const sums_row *x, const sums_row *a, const sums_row *b)
{
    return x->bound + 0x1p-40 * (fabs(a->sum) + (b ? fabs(b->sum) : 0));
}

typedef struct by_sum {
    double sum;
    uint64_t at;
} by_sum;

static int compare_sums(const void *a, const void *b)
{
    const by_sum *x = a, *y = b;
    const int order = assay_order_f64(&x->sum, &y->sum);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

static bool alike(const sums_row *x, const sums_row *a)
{
    return x->tensor != a->tensor && x->rows == a->rows && x->columns == a->columns;
}

/* Do these fit at each of the first steps of the worker? */
static bool fits(const sums_row *rows, uint64_t count, uint32_t x, uint32_t a, uint32_t b)
{
    uint64_t steps = 0;
    for (uint64_t i = 0, n; i < count && steps < SUMS_FIRST && rows[i].worker == rows->worker; i += n, steps++) {
        n = sums_group(rows + i, count - i);
        const sums_row *of = sums_at(rows + i, n, x), *one = sums_at(rows + i, n, a),
                       *other = b == UINT32_MAX ? NULL : sums_at(rows + i, n, b);
        if (!of || !one || (!other && b != UINT32_MAX) ||
            !(sums_apart(of, one, other) <= (other ? sums_bound(of, one, other) : 0)))
            return false;
    }
    return steps == SUMS_FIRST;
}

/* Are two pairs the same numbers, whatever their names? */
static bool same_terms(const sums_row *a, const sums_row *b, const sums_row *c, const sums_row *d)
{
    return (a->sum == c->sum && b->sum == d->sum) || (a->sum == d->sum && b->sum == c->sum);
}

/* The terms of one input, by the first steps. An output that it is a copy of, number by number, comes first, then another
 * input, then two tensors. Where several pairs fit, and are not the same numbers, nobody knows which it is: terms of 16
 * bits that are small beside the sum may be others than those that were added. */
static bool find_terms(const sums_row *rows, uint64_t n, uint64_t count, const by_sum *sorted, const sums_row *x,
                       uint32_t terms[2])
{
    for (int input = 0; input < 2; input++)
        for (uint64_t i = 0; i < n; i++)
            if (rows[i].input == (input > 0) && alike(x, &rows[i]) &&
                fits(rows, count, x->tensor, rows[i].tensor, UINT32_MAX)) {
                terms[0] = rows[i].tensor;
                terms[1] = UINT32_MAX;
                return true;
            }
    const sums_row *found[2] = {NULL, NULL};
    for (uint64_t i = 0; i < n; i++) {
        const double rest = x->sum - rows[i].sum;
        uint64_t low = 0, high = n;
        if (!alike(x, &rows[i]))
            continue;
        while (low < high) {
            const uint64_t middle = (low + high) / 2;
            if (sorted[middle].sum < rest - 2 * x->bound)
                low = middle + 1;
            else
                high = middle;
        }
        for (; low < n && sorted[low].sum <= rest + 2 * x->bound; low++) {
            const sums_row *b = &rows[sorted[low].at];
            if (!(sorted[low].at > i && alike(x, b) && sums_apart(x, &rows[i], b) <= sums_bound(x, &rows[i], b) &&
                  fits(rows, count, x->tensor, rows[i].tensor, b->tensor)))
                continue;
            if (found[0] && !same_terms(found[0], found[1], &rows[i], b))
                return false;
            if (!found[0]) {
                found[0] = &rows[i];
                found[1] = b;
            }
        }
    }
    for (int t = 0; found[0] && t < 2; t++)
        terms[t] = found[t]->tensor;
    return found[0] != NULL;
}

/* The terms of all inputs, by the first steps of the first worker; `out` has room for as many as there are rows of its first
 * step. ASSAY_ENOMEM. */
static int sums_find(const sums_row *rows, uint64_t count, sums_terms *out, uint64_t *found)
{
    const uint64_t n = count > 0 ? sums_group(rows, count) : 0;
    by_sum *sorted = malloc((n + 1) * sizeof *sorted);
    *found = 0;
    ASSAY_HAVE(sorted);
    for (uint64_t i = 0; i < n; i++)
        sorted[i] = (by_sum){rows[i].sum, i};
    qsort(sorted, n, sizeof *sorted, compare_sums);
    for (uint64_t i = 0; i < n; i++) {
        sums_terms terms = {.tensor = rows[i].tensor};
        if (rows[i].input && find_terms(rows, n, count, sorted, &rows[i], terms.of))
            out[(*found)++] = terms;
    }
    free(sorted);
    return ASSAY_OK;
}

/* ---- judged ---- */

static sums_row *list_sums(const assay_rule *rule, const assay_series *series, uint64_t *count)
{
    const uint64_t rows = assay_series_count(series);
    sums_row *list = malloc((rows + 1) * sizeof *list);
    *count = 0;
    for (uint64_t i = 0; list && i < rows; i++) {
        const assay_row row = assay_series_row(series, i);
        if (row.value[LAW_OF] == LAW_SUMS)
            list[(*count)++] = (sums_row){.mode = law_mode_at(rule->trial, row.step),
                                          .worker = row.worker,
                                          .tensor = row.tensor,
                                          .step = row.step,
                                          .sum = row.value[LAW_APART],
                                          .bound = row.value[LAW_BOUND],
                                          .rows = row.value[LAW_ROW],
                                          .columns = row.value[LAW_COLUMN],
                                          .input = row.value[LAW_VARIANT] != 0};
    }
    if (list && *count > 0)
        qsort(list, *count, sizeof *list, sums_compare);
    return list;
}

/* What is said of one input at a step. Where it is one of two terms alone, a branch was left out. */
static int add_sum(const assay_rule *rule, const sums_row *rows, uint64_t n, const sums_terms *terms,
                   assay_findings *findings)
{
    const sums_row *x = sums_at(rows, n, terms->tensor), *a = sums_at(rows, n, terms->of[0]),
                   *b = terms->of[1] == UINT32_MAX ? NULL : sums_at(rows, n, terms->of[1]);
    char note[256];
    if (!x || !a || (!b && terms->of[1] != UINT32_MAX) || x->rows != a->rows || (b && x->rows != b->rows) ||
        (b && (x->sum == a->sum || x->sum == b->sum)))
        return ASSAY_OK;
    snprintf(note, sizeof note, b ? "it differs from the sum of %.90s and %.90s" : "it differs from %.180s",
             assay_trial_tensor(rule->trial, a->tensor), b ? assay_trial_tensor(rule->trial, b->tensor) : "");
    const double apart = sums_apart(x, a, b), bound = sums_bound(x, a, b);
    const assay_finding finding = {.step = x->step,
                                   .tensor = x->tensor,
                                   .worker = x->worker,
                                   .test = LAW_SUMS,
                                   .value = apart,
                                   .threshold = bound,
                                   .note = note};
    return assay_findings_test(findings, !(apart <= bound), &finding);
}

int sums_judge(const assay_rule *rule, const assay_series *series, assay_verdict *verdict)
{
    uint64_t count, found = 0, holding = 0;
    sums_row *rows = list_sums(rule, series, &count);
    sums_terms *terms = rows ? malloc((count + 1) * sizeof *terms) : NULL;
    int status = terms ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t i = 0, n; status == ASSAY_OK && i < count; i += n) {
        n = sums_group(rows + i, count - i);
        if (i == 0 || rows[i].mode != rows[i - 1].mode) {
            status = sums_find(rows + i, count - i, terms, &found);
            holding += found;
        }
        for (uint64_t k = 0; status == ASSAY_OK && k < found; k++)
            status = add_sum(rule, rows + i, n, &terms[k], assay_verdict_findings(verdict));
    }
    if (status == ASSAY_OK && holding > 0)
        assay_verdict_message(verdict, "The law 'sums' holds of %" PRIu64 " tensors.", holding);
    free(terms);
    free(rows);
    return status;
}
