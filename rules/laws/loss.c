/* loss.c - a loss is its criterion of inputs and targets, as mean or as sum:
 *   cross entropy       log sum exp x - x[label], labels of -100 left out; of log probabilities -x[label]; of targets that
 *                       are shares sum t (log sum exp x - x)
 *   squared, absolute   (x - t)^2, |x - t|; of Huber (x - t)^2 / 2 up to 1, |x - t| - 1/2 beyond
 *   binary              -t log p - (1 - t) log(1 - p), of p and of logits
 * N terms are rounded by 16 u of their largest number each, and their sum by sqrt(N) u.
 *
 * Where none of these fits, means of cross entropies are tried that are divided by the number of all labels, those of -100
 * included; that leave out another label too; that are smoothed by usual shares: (1 - s) log p[label] + s mean log p;
 * and that have weights for classes, which loss_weights.c infers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "laws/loss.h"

enum { CROSS_ENTROPY, NEGATIVE_LOG, SQUARED, ABSOLUTE, BINARY, BINARY_LOGITS, HUBER, SHARES, CRITERIA };
enum { LOSS_OF_ALL = LOSS_USUAL, LOSS_SMOOTHED };
/* Shares of smoothing that people take. Each is a row of each step that keeps to no usual form, which all whole per cents
 * would make too many of. */
static const int PER_CENT[] = {1, 2, 5, 10, 15, 20, 25, 30, 40, 50};
enum { SMOOTHINGS = sizeof PER_CENT / sizeof *PER_CENT };
static const double IGNORED = -100;

typedef struct loss_sum {
    double sum, size, magnitude; /* of the terms, of what they are rounded by, of |term| */
    double count;
    double even, even_magnitude; /* log sum exp x - mean x, of cross entropies */
    bool fits;
} loss_sum;

/* Labels, and what is made of them. */
typedef struct loss_labels {
    const double *value;
    uint64_t count, classes;
    double ignored; /* a label beside -100; -100: none */
} loss_labels;

static void add_term(loss_sum *s, double term, double size)
{
    s->sum += term;
    s->magnitude += fabs(term);
    s->size += size;
    s->count++;
    s->fits = s->fits && isfinite(term);
}

/* How classes lie: on axis 1 where there are two axes or more. False: not of such a shape. */
static bool find_classes(const assay_tensor_view *input, loss_labels *l, uint64_t *inner)
{
    if (input->dims < 1)
        return false;
    l->classes = (uint64_t)input->shape[input->dims > 1];
    if (l->classes == 0 || l->count * l->classes != input->stats->count)
        return false;
    *inner = input->stats->count / l->classes / (input->dims > 1 ? (uint64_t)input->shape[0] : 1);
    return true;
}

/* A row of scores, `inner` apart: its log sum exp, its mean, and the size of its largest number. */
static double log_sum_exp(const double *row, uint64_t classes, uint64_t inner, double *mean, double *size)
{
    double largest = -INFINITY, sum = 0, all = 0;
    *size = 0;
    for (uint64_t c = 0; c < classes; c++) {
        largest = fmax(largest, row[c * inner]);
        *size = fmax(*size, fabs(row[c * inner]));
        all += row[c * inner];
    }
    for (uint64_t c = 0; c < classes; c++)
        sum += exp(row[c * inner] - largest);
    *mean = all / (double)classes;
    return largest + log(sum);
}

/* Also into the sums of single classes, if there are any. */
static loss_sum sum_of_classes(int criterion, const double *x, const loss_labels *l, uint64_t inner, loss_sum *of_class)
{
    loss_sum s = {.fits = true};
    for (uint64_t i = 0; i < l->count; i++) {
        const double *row = x + i / inner * inner * l->classes + i % inner, label = l->value[i];
        double mean = 0, size;
        if (label == IGNORED || label == l->ignored)
            continue;
        if (!(label >= 0 && label < (double)l->classes) || label != floor(label)) {
            s.fits = false;
            break;
        }
        const double whole = log_sum_exp(row, l->classes, inner, &mean, &size), of_label = row[(uint64_t)label * inner];
        const double term = criterion == CROSS_ENTROPY ? whole - of_label : -of_label;
        add_term(&s, term, size + 1);
        if (of_class)
            add_term(&of_class[(uint64_t)label], term, size + 1);
        s.even += whole - mean;
        s.even_magnitude += fabs(whole - mean);
    }
    return s;
}

/* Targets of the shape of the scores: shares of classes. */
static loss_sum sum_of_shares(const double *x, const double *t, uint64_t rows, uint64_t classes, uint64_t inner)
{
    loss_sum s = {.fits = true};
    for (uint64_t i = 0; i < rows; i++) {
        const uint64_t at = i / inner * inner * classes + i % inner;
        double mean, size, term = 0;
        const double whole = log_sum_exp(x + at, classes, inner, &mean, &size);
        for (uint64_t c = 0; c < classes; c++)
            term += t[at + c * inner] * (whole - x[at + c * inner]);
        add_term(&s, term, size + 1 + fabs(term));
    }
    return s;
}

static double term_of(int criterion, double x, double t)
{
    switch (criterion) {
    case SQUARED:
        return (x - t) * (x - t);
    case ABSOLUTE:
        return fabs(x - t);
    case HUBER:
        return fabs(x - t) < 1 ? 0.5 * (x - t) * (x - t) : fabs(x - t) - 0.5;
    case BINARY:
        return -(t * fmax(log(x), -100) + (1 - t) * fmax(log1p(-x), -100));
    default:
        return fmax(x, 0) - x * t + log1p(exp(-fabs(x)));
    }
}

static loss_sum sum_of_elements(int criterion, const double *x, const double *t, uint64_t n)
{
    loss_sum s = {.fits = true};
    for (uint64_t i = 0; s.fits && i < n; i++) {
        const double of = fmax(fabs(x[i]), fabs(t[i]));
        if (criterion == BINARY && !(x[i] >= 0 && x[i] <= 1 && t[i] >= 0 && t[i] <= 1))
            s.fits = false;
        else
            add_term(&s, term_of(criterion, x[i], t[i]), criterion == SQUARED ? of * of : of + 1);
    }
    return s;
}

/* Sets a row of a mean of so many parts; true: it keeps the bound. */
static bool compare(const assay_tensor_view *output, double loss, double sum, const loss_sum *s, double parts, int form,
                    double row[LAW_WIDTH])
{
    const double u = law_rounding(output->dtype);
    memset(row, 0, LAW_WIDTH * sizeof *row);
    row[LAW_OF] = LAW_LOSS;
    row[LAW_VARIANT] = form;
    row[LAW_ROWS] = row[LAW_ROW_END] = row[LAW_COLUMNS] = row[LAW_COLUMN_END] = 1;
    row[LAW_APART] = fabs(loss - sum / parts);
    row[LAW_BOUND] =
        4 * u * fabs(loss) + 0x1p-24 * (16 * s->size + sqrt(s->count) * (s->magnitude + s->even_magnitude)) / parts;
    row[LAW_RATIO] = row[LAW_APART] > 0 ? row[LAW_APART] / row[LAW_BOUND] : 0;
    row[LAW_ROWS_OFF] = row[LAW_COLUMNS_OFF] = row[LAW_RATIO] > 1;
    return row[LAW_RATIO] <= 1;
}

typedef struct loss_test {
    const law_step *step;
    const assay_tensor_view *output;
    double loss;
    bool fits; /* some form that was tried */
} loss_test;

static int add_form(loss_test *l, double sum, const loss_sum *s, double parts, int form)
{
    double row[LAW_WIDTH];
    if (!s->fits || parts == 0)
        return ASSAY_OK;
    l->fits |= compare(l->output, l->loss, sum, s, parts, form, row);
    return assay_series_add(l->step->series, l->step->view->step, l->output->tensor, l->output->worker, row);
}

/* Means that leave out one label more: 0, or the most frequent one, as those of padding are. */
static int try_labels(loss_test *test, const double *x, const loss_labels *l, uint64_t inner, const loss_sum *of_class)
{
    uint64_t most = 0;
    int status = ASSAY_OK;
    for (uint64_t c = 0; c < l->classes; c++)
        most = of_class[c].count > of_class[most].count ? c : most;
    for (int k = 0; status == ASSAY_OK && k < (most > 0 ? 2 : 1); k++) {
        loss_labels others = *l;
        others.ignored = k == 0 ? 0 : (double)most;
        const loss_sum s = sum_of_classes(CROSS_ENTROPY, x, &others, inner, NULL);
        if (others.ignored < LOSS_LABELS)
            status = add_form(test, s.sum, &s, s.count, LOSS_WITHOUT + (int)others.ignored);
    }
    return status;
}

/* What weights of classes are inferred of: of each class the sum of its terms, less the loss for each. */
static int add_classes(const loss_test *test, const loss_labels *l, const loss_sum *of_class)
{
    const double u = law_rounding(test->output->dtype);
    int status = ASSAY_OK;
    for (uint64_t c = 0; status == ASSAY_OK && l->classes <= LOSS_CLASSES && c < l->classes; c++) {
        const loss_sum *s = &of_class[c];
        const double row[LAW_WIDTH] = {[LAW_OF] = LAW_LOSS,
                                       [LAW_VARIANT] = LOSS_WEIGHTED,
                                       [LAW_APART] = s->sum - test->loss * s->count,
                                       [LAW_BOUND] = 4 * u * fabs(test->loss) * s->count +
                                                     0x1p-24 * (16 * s->size + sqrt(s->count) * s->magnitude),
                                       [LAW_ROW] = (double)c,
                                       [LAW_ROWS] = (double)l->classes};
        status = assay_series_add(test->step->series, test->step->view->step, test->output->tensor,
                                  test->output->worker, row);
    }
    return status;
}

/* The forms that need more than sum and mean. */
static int try_others(loss_test *test, const double *x, const loss_labels *l, uint64_t inner)
{
    loss_sum *of_class = calloc(l->classes, sizeof *of_class);
    ASSAY_HAVE(of_class);
    for (uint64_t c = 0; c < l->classes; c++)
        of_class[c].fits = true;
    const loss_sum s = sum_of_classes(CROSS_ENTROPY, x, l, inner, of_class);
    int status = ASSAY_OK;
    if (s.fits && s.count > 0) {
        status = add_form(test, s.sum, &s, (double)l->count, LOSS_OF_ALL);
        for (int i = 0; status == ASSAY_OK && i < SMOOTHINGS; i++)
            status = add_form(test, s.sum + 0.01 * PER_CENT[i] * (s.even - s.sum), &s, s.count, LOSS_SMOOTHED + i);
        ASSAY_THEN(status, try_labels(test, x, l, inner, of_class));
        if (status == ASSAY_OK && !test->fits)
            status = add_classes(test, l, of_class);
    }
    free(of_class);
    return status;
}

static const assay_values *values_of(const law_step *step, int measure, const assay_tensor_view *item)
{
    const assay_result *result =
        item && assay_view_has_values(item) ? assay_view_result(step->view, measure, item) : NULL;
    return result ? &result->of.values : NULL;
}

static int test_loss(const law_step *step, const assay_tensor_view *output, const assay_tensor_view *input,
                     const assay_tensor_view *target)
{
    const assay_values *loss = values_of(step, OF_LOSS, output), *x = values_of(step, OF_SCORES, input),
                       *t = values_of(step, OF_SCORES, target);
    uint64_t inner = 1;
    int status = ASSAY_OK;
    if (!loss || !x || !t || loss->count != 1 || law_rounding(output->dtype) == 0 || law_rounding(input->dtype) == 0 ||
        !isfinite(loss->value[0]))
        return ASSAY_OK;
    loss_test test = {step, output, loss->value[0], false};
    loss_labels labels = {.value = t->value, .count = t->count, .ignored = IGNORED};
    const bool is_float = law_rounding(target->dtype) > 0, same = x->count == t->count;
    if (is_float) /* as many rows as labels would be */
        labels.count = input->dims > 1 && input->shape[1] > 0 ? x->count / (uint64_t)input->shape[1] : 1;
    const bool has_classes = find_classes(input, &labels, &inner);
    for (int criterion = 0; status == ASSAY_OK && criterion < CRITERIA; criterion++) {
        const bool classes = criterion == CROSS_ENTROPY || criterion == NEGATIVE_LOG;
        if (classes == is_float || (!classes && !same) || ((classes || criterion == SHARES) && !has_classes))
            continue;
        const loss_sum s = classes ? sum_of_classes(criterion, x->value, &labels, inner, NULL)
                           : criterion == SHARES
                               ? sum_of_shares(x->value, t->value, labels.count, labels.classes, inner)
                               : sum_of_elements(criterion, x->value, t->value, t->count);
        status = add_form(&test, s.sum, &s, s.count, 2 * criterion);
        if (s.count > 0)
            ASSAY_THEN(status, add_form(&test, s.sum, &s, 1, 2 * criterion + 1));
    }
    if (status == ASSAY_OK && !test.fits && !is_float && has_classes)
        status = try_others(&test, x->value, &labels, inner);
    return status;
}

int law_loss(const law_step *step)
{
    const assay_slot_view *losses = &step->view->slot[LAW_LOSSES];
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < losses->count; i++) {
        const assay_tensor_view *output = losses->items[i];
        const char *number = strrchr(output->name, '_');
        const size_t before = number ? (size_t)(number - output->name) - strlen("_output") : 0;
        unsigned pass = 0;
        for (const char *digit = number ? number + 1 : ""; *digit && pass < 1000; digit++)
            pass = 10 * pass + (unsigned)(*digit - '0');
        const uint32_t input = law_tensor(step, "%.*s_input_%u", (int)before, output->name, 2 * pass);
        const uint32_t target = law_tensor(step, "%.*s_input_%u", (int)before, output->name, 2 * pass + 1);
        if (input != ASSAY_NO_TENSOR && target != ASSAY_NO_TENSOR)
            status = test_loss(step, output, law_item(step, LAW_CRITERIA, input, output->worker),
                               law_item(step, LAW_CRITERIA, target, output->worker));
    }
    return status;
}

bool loss_is_form(double variant)
{
    return (variant >= 0 && variant <= LOSS_WEIGHTED) ||
           (variant >= LOSS_WITHOUT && variant < LOSS_WITHOUT + LOSS_LABELS);
}

void loss_put_form(int form, char *out, size_t room)
{
    static const char *const forms[] = {[CROSS_ENTROPY] = "cross entropies",
                                        [NEGATIVE_LOG] = "negative log likelihoods",
                                        [SQUARED] = "squares",
                                        [ABSOLUTE] = "absolute differences",
                                        [BINARY] = "binary cross entropies",
                                        [BINARY_LOGITS] = "binary cross entropies",
                                        [HUBER] = "Huber's terms",
                                        [SHARES] = "cross entropies"};
    if (form < LOSS_OF_ALL)
        snprintf(out, room, "%s of %s", form % 2 ? "sum" : "mean", forms[form / 2]);
    else if (form == LOSS_OF_ALL)
        snprintf(out, room, "sum of cross entropies by the number of all labels, those that are left out included");
    else if (form == LOSS_WEIGHTED)
        snprintf(out, room, "mean of cross entropies with weights of classes");
    else if (form < LOSS_WEIGHTED)
        snprintf(out, room, "mean of cross entropies smoothed by %.2f",
                 0.01 * PER_CENT[form - LOSS_SMOOTHED < SMOOTHINGS ? form - LOSS_SMOOTHED : 0]);
    else
        snprintf(out, room, "mean of cross entropies without labels of %d", form - LOSS_WITHOUT);
}
