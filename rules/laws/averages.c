/* averages.c - running averages, which are updated at each step: a' = d a + c x, with
 *   x = the weight, of an average of weights (EMA, SWA): a name with ema, shadow, average or swa in it that ends as that of
 *       the weight, of the step of a' or of the one before
 *   x = mean of the input, or its unbiased variance, of each channel over the batch: running_mean and running_var of a
 *       batch normalisation, saved behind the pass
 * The factors are inferred (regression.c). An average is rounded as it is written and by its terms; sums over a batch by
 * 16 u of their root mean square. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "laws/regression.h"

static const double COARSE = 1e-4; /* 16 bits round by as much as averages move */

/* What is averaged. */
enum { OF_WEIGHTS, OF_WEIGHTS_BEFORE, OF_FIGURES, AVERAGES };

static bool ends_with(const char *name, const char *suffix)
{
    const size_t length = strlen(name), size = strlen(suffix);
    return length >= size && strcmp(name + length - size, suffix) == 0;
}

/* How much of two names is the same at their ends, from a separator on. */
static size_t common_end(const char *a, const char *b)
{
    const size_t m = strlen(a), n = strlen(b);
    size_t same = 0, found = 0;
    while (same < m && same < n && a[m - 1 - same] == b[n - 1 - same]) {
        same++;
        if ((same == m || strchr("/._", a[m - 1 - same])) && (same == n || strchr("/._", b[n - 1 - same])))
            found = same;
    }
    return found;
}

/* The weight that a tensor is the average of: it has another root alone. */
static const assay_tensor_view *weight_of(const law_step *step, const assay_tensor_view *average)
{
    const assay_slot_view *weights = &step->view->slot[LAW_WEIGHTS];
    const assay_tensor_view *best = NULL;
    size_t most = 0;
    for (uint32_t i = 0; i < weights->count; i++) {
        const assay_tensor_view *w = weights->items[i];
        const size_t same = w->worker == average->worker ? common_end(w->name, average->name) : 0;
        if (same > most && !memchr(w->name, '.', strlen(w->name) - same)) {
            most = same;
            best = w;
        }
    }
    return best;
}

static bool add_weight(const law_step *step, const assay_tensor_view *average, bool before, regression_case *c)
{
    const assay_tensor_view *w = weight_of(step, average);
    const assay_sketch *s = w ? law_sketch(step, OF_UPDATE, w) : NULL;
    if (!s || s->rows != c->elements || (before && (!s->before || !law_follows(step, s->step, 1))))
        return false;
    memcpy(c->term[1], before ? s->before : s->sum, c->cells * sizeof *s->sum);
    memcpy(c->squares[1], before ? s->squares_before : s->squares, c->cells * sizeof *s->sum);
    return true;
}

/* The figures of the module's input, in cells as the sketch of the average has them. */
static bool add_figures(const law_step *step, const assay_tensor_view *average, bool variances, regression_case *c)
{
    const char *module;
    size_t length;
    if (!law_module(step, average->name, &module, &length))
        return false;
    const assay_tensor_view *x =
        law_item(step, LAW_INPUTS, law_tensor(step, "%.*s_input_0", (int)length, module), average->worker);
    const assay_result *result =
        x && assay_view_has_values(x) && x->dims > 1 ? assay_view_result(step->view, OF_CHANNELS, x) : NULL;
    if (!result || result->of.channels.channels != c->elements || result->of.channels.elements < 2)
        return false;
    const double n = (double)result->of.channels.elements;
    for (uint64_t i = 0; i < c->elements; i++) {
        const double mean = result->of.channels.sum[i] / n, square = result->of.channels.squares[i] / n;
        const double figure = variances ? (square - mean * mean) * n / (n - 1) : mean;
        const uint64_t cell = assay_sketch_group(i, c->elements, c->cells);
        if (!isfinite(square))
            return false;
        c->term[1][cell] += assay_sketch_sign(i) * figure;
        c->squares[1][cell] += variances ? square * square : square;
    }
    return true;
}

static bool set_case(const law_step *step, const assay_tensor_view *average, int of, regression_case *c)
{
    const assay_sketch *s = law_sketch(step, OF_AVERAGE, average);
    const double rounding = law_rounding(average->dtype);
    const bool variance = ends_with(average->name, "running_var");
    const bool figure = variance || ends_with(average->name, "running_mean");
    if (!s || !s->before || rounding == 0 || rounding > COARSE || !law_follows(step, s->step, 1) ||
        figure != (of == OF_FIGURES) || (figure && law_stands(s)))
        return false;
    regression_begin(c, average, s->rows, (uint32_t)s->groups);
    c->noise = 16 * rounding;
    for (uint32_t i = 0; i < c->cells; i++) {
        c->target[i] = s->sum[i];
        c->rounding[i] =
            law_written(average->dtype, fmax(s->squares[i], s->squares_before[i]), (double)s->rows / (double)s->groups);
        c->term[0][i] = s->before[i];
        c->squares[0][i] = s->squares_before[i];
    }
    return figure ? add_figures(step, average, variance, c) : add_weight(step, average, of == OF_WEIGHTS_BEFORE, c);
}

int law_averages(const law_step *step)
{
    enum { TERMS = 2 };
    const assay_slot_view *averages = &step->view->slot[LAW_AVERAGES];
    const uint32_t workers = assay_trial_workers(step->rule->trial);
    regression_case *cases = averages->count > 0 ? malloc(averages->count * sizeof *cases) : NULL;
    int status = cases || averages->count == 0 ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint32_t w = 0; cases && w < workers; w++)
        for (int of = 0; status == ASSAY_OK && of < AVERAGES; of++) {
            size_t count = 0;
            for (uint32_t i = 0; i < averages->count; i++)
                if (averages->items[i]->worker == w && set_case(step, averages->items[i], of, &cases[count]))
                    count++;
            status = regression_add(step, LAW_AVERAGE, of, cases, count, TERMS, NULL);
        }
    free(cases);
    return status;
}
