/* loss.c - a loss is its criterion of inputs and targets, as mean or as sum:
 *   cross entropy       log sum exp x - x[label], labels of -100 left out; of log probabilities -x[label]
 *   squared, absolute   (x - t)^2, |x - t|
 *   binary              -t log p - (1 - t) log(1 - p), of p and of logits
 * N terms are rounded by 16 u of their largest number each, and their sum by sqrt(N) u. */
#include <math.h>
#include <string.h>

#include "laws/law.h"

enum { CROSS_ENTROPY, NEGATIVE_LOG, SQUARED, ABSOLUTE, BINARY, BINARY_LOGITS, CRITERIA };
static const double IGNORED = -100;

typedef struct loss_sum {
    double sum, size, magnitude; /* of the terms, of what they are rounded by, of |term| */
    double count;
    bool fits;
} loss_sum;

static void add_term(loss_sum *s, double term, double size)
{
    s->sum += term;
    s->magnitude += fabs(term);
    s->size += size;
    s->count++;
    s->fits = s->fits && isfinite(term);
}

/* Classes on axis 1 where there are two axes or more. */
static loss_sum sum_of_classes(int criterion, const assay_tensor_view *input, const double *x, const double *label,
                               uint64_t labels)
{
    loss_sum s = {.fits = input->dims > 0};
    const uint64_t classes = !s.fits ? 1 : (uint64_t)input->shape[input->dims > 1];
    const uint64_t inner = input->stats->count / classes / (input->dims > 1 ? (uint64_t)input->shape[0] : 1);
    s.fits = s.fits && labels * classes == input->stats->count;
    for (uint64_t i = 0; s.fits && i < labels; i++) {
        const double *row = x + i / inner * inner * classes + i % inner;
        double largest = -INFINITY, size = 0, sum = 0;
        if (label[i] == IGNORED)
            continue;
        if (!(label[i] >= 0 && label[i] < (double)classes) || label[i] != floor(label[i])) {
            s.fits = false;
            break;
        }
        for (uint64_t c = 0; c < classes; c++) {
            largest = fmax(largest, row[c * inner]);
            size = fmax(size, fabs(row[c * inner]));
        }
        for (uint64_t c = 0; criterion == CROSS_ENTROPY && c < classes; c++)
            sum += exp(row[c * inner] - largest);
        const double of_label = row[(uint64_t)label[i] * inner];
        add_term(&s, criterion == CROSS_ENTROPY ? largest + log(sum) - of_label : -of_label, size + 1);
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

static int add_row(const law_step *step, const assay_tensor_view *output, double loss, const loss_sum *s, int form)
{
    const bool mean = form % 2 == 0;
    const double parts = mean ? s->count : 1, u = law_rounding(output->dtype);
    double row[LAW_WIDTH] = {[LAW_OF] = LAW_LOSS, [LAW_VARIANT] = form, [LAW_ROWS] = 1,
                             [LAW_ROW_END] = 1,   [LAW_COLUMNS] = 1,    [LAW_COLUMN_END] = 1};
    row[LAW_APART] = fabs(loss - s->sum / parts);
    row[LAW_BOUND] = 4 * u * fabs(loss) + 0x1p-24 * (16 * s->size + sqrt(s->count) * s->magnitude) / parts;
    row[LAW_RATIO] = row[LAW_APART] > 0 ? row[LAW_APART] / row[LAW_BOUND] : 0;
    row[LAW_ROWS_OFF] = row[LAW_COLUMNS_OFF] = row[LAW_RATIO] > 1;
    return assay_series_add(step->series, step->view->step, output->tensor, output->worker, row);
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
    int status = ASSAY_OK;
    if (!loss || !x || !t || loss->count != 1 || law_rounding(output->dtype) == 0 || law_rounding(input->dtype) == 0 ||
        !isfinite(loss->value[0]))
        return ASSAY_OK;
    for (int criterion = 0; status == ASSAY_OK && criterion < CRITERIA; criterion++) {
        const bool classes = criterion == CROSS_ENTROPY || criterion == NEGATIVE_LOG;
        if (classes == (law_rounding(target->dtype) > 0) || (!classes && x->count != t->count))
            continue;
        const loss_sum s = classes ? sum_of_classes(criterion, input, x->value, t->value, t->count)
                                   : sum_of_elements(criterion, x->value, t->value, t->count);
        for (int sum = 0; status == ASSAY_OK && s.fits && s.count > 0 && sum < 2; sum++)
            status = add_row(step, output, loss->value[0], &s, 2 * criterion + sum);
    }
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
