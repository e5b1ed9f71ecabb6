/* bands_learn.c - the bands of good runs, written. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "report/compare/bands.h"

const char *assay_band_word(int figure)
{
    static const char *const words[ASSAY_BAND_FIGURES] = {"loss", "norm", "magnitude", "zeros"};
    return words[figure];
}

double assay_band_between(double a, double b, double part)
{
    return isfinite(b - a) ? a + part * (b - a) : (1 - part) * a + part * b;
}

double assay_band_value(const assay_tensor_point *point, int figure)
{
    return figure == ASSAY_BAND_NORM ? point->norm : figure == ASSAY_BAND_MAGNITUDE ? point->magnitude : point->zeros;
}

/* One figure of one tensor of one trial at one mode step. */
typedef struct sample {
    const char *tensor; /* borrowed from the outcome */
    int64_t mode_step;
    double value;
    int mode;
} sample;

typedef struct samples {
    sample *list;
    size_t count, room;
} samples;

static int add(samples *s, const char *tensor, int mode, int64_t mode_step, double value)
{
    if (!isfinite(value))
        return ASSAY_OK;
    if (s->count == s->room) {
        size_t room = s->room ? s->room * 2 : 1024;
        sample *more = assay_realloc_array(s->list, room, sizeof *more);
        if (!more)
            return ASSAY_ENOMEM;
        s->list = more;
        s->room = room;
    }
    s->list[s->count++] = (sample){tensor, mode_step, value, mode};
    return ASSAY_OK;
}

/* JSON has only texts that are UTF-8. What is called otherwise gets no band: with its bytes replaced it would be found
 * in no trial, and might be taken for another. */
static bool can_be_written(const char *tensor)
{
    size_t length = strlen(tensor), size = 1;
    for (size_t at = 0; at < length && size > 0; at += size)
        size = assay_utf8_length(tensor + at, length - at);
    return size > 0;
}

static int collect_losses(const assay_trial *info, const assay_curves *curves, samples *out)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < curves->loss_count; i++) {
        const assay_loss_curve *curve = &curves->losses[i];
        const char *tensor = assay_trial_tensor(info, curve->tensor);
        size_t count = can_be_written(tensor) ? curve->count : 0;
        for (size_t k = 0; status == ASSAY_OK && k < count; k++)
            status = add(out, tensor, curve->mode, curve->point[k].mode_step, curve->point[k].value);
    }
    return status;
}

static int collect_tensors(const assay_trial *info, const assay_curves *curves, int figure, samples *out)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < curves->tensor_count; i++) {
        const assay_tensor_curve *curve = &curves->tensors[i];
        const char *tensor = assay_trial_tensor(info, curve->tensor);
        size_t count = can_be_written(tensor) ? curve->count : 0;
        for (size_t k = 0; status == ASSAY_OK && k < count; k++)
            status =
                add(out, tensor, curve->mode, curve->point[k].mode_step, assay_band_value(&curve->point[k], figure));
    }
    return status;
}

static int collect(const assay_outcome *outcome, int figure, samples *out)
{
    int status = ASSAY_OK;
    for (size_t t = 0; status == ASSAY_OK && t < outcome->trial_count; t++) {
        const assay_trial *info = outcome->trials[t].info;
        assay_curves curves;
        status = assay_curves_make(outcome, t, &curves);
        if (status == ASSAY_OK)
            status = figure == ASSAY_BAND_LOSS ? collect_losses(info, &curves, out)
                                               : collect_tensors(info, &curves, figure, out);
        assay_curves_release(&curves);
    }
    return status;
}

static int by_place(const void *a, const void *b)
{
    const sample *x = a, *y = b;
    int order = x->tensor == y->tensor ? 0 : strcmp(x->tensor, y->tensor);
    if (order)
        return order;
    if (x->mode != y->mode)
        return x->mode < y->mode ? -1 : 1;
    if (x->mode_step != y->mode_step)
        return x->mode_step < y->mode_step ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

static bool same_curve(const sample *a, const sample *b)
{
    return a->mode == b->mode && strcmp(a->tensor, b->tensor) == 0;
}

/* Of n ascending values, the quantile on the line between neighbours (Hyndman and Fan 1996, type 7). */
static double quantile_of(const sample *s, size_t n, double share)
{
    double at = share * (double)(n - 1);
    size_t low = (size_t)at, high = low + 1 < n ? low + 1 : low;
    double value = assay_band_between(s[low].value, s[high].value, at - (double)low);
    return fmin(value, s[high].value); /* rounding shall not put it above those that follow */
}

/* Starts of the runs of one mode step in a curve's samples [0 .. count), of those with at least two; returns how many.
 */
static size_t find_steps(const sample *s, size_t count, size_t *start)
{
    size_t steps = 0;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && s[end].mode_step == s[i].mode_step; end++)
            ;
        if (end - i >= 2)
            start[steps++] = i;
    }
    return steps;
}

static void put_curve(int figure, const sample *s, size_t count, const size_t *start, size_t steps, bool first,
                      assay_buf *out)
{
    static const double shares[ASSAY_BAND_QUANTILES] = {0, 0.05, 0.5, 0.95, 1};
    uint64_t stride = assay_spread_stride(steps, ASSAY_BAND_STEPS);
    bool any = false;
    assay_put_format(out, "%s\n  {\"figure\": \"%s\", \"tensor\": ", first ? "" : ",", assay_band_word(figure));
    assay_json_put_text(out, s->tensor);
    assay_put_format(out, ", \"mode\": \"%s\", \"steps\": [", assay_mode_name(s->mode));
    for (size_t i = 0; i < steps; i++) {
        if (!assay_spread_takes(i, steps, stride))
            continue;
        assay_put_format(out, "%s%" PRId64, any ? ", " : "", s[start[i]].mode_step);
        any = true;
    }
    assay_put_format(out, "],\n   \"quantiles\": [");
    any = false;
    for (size_t i = 0; i < steps; i++) {
        size_t n = 0;
        if (!assay_spread_takes(i, steps, stride))
            continue;
        while (start[i] + n < count && s[start[i] + n].mode_step == s[start[i]].mode_step)
            n++;
        for (int q = 0; q < ASSAY_BAND_QUANTILES; q++) {
            assay_put_format(out, "%s", q ? ", " : any ? ", [" : "[");
            assay_json_put_number(out, quantile_of(s + start[i], n, shares[q]));
        }
        assay_put_format(out, "]");
        any = true;
    }
    assay_put_format(out, "]}");
}

static int put_figure(const assay_outcome *outcome, int figure, bool *first, assay_buf *out)
{
    samples all = {0};
    size_t *start = NULL;
    int status = collect(outcome, figure, &all);
    if (status == ASSAY_OK && all.count > 0) {
        qsort(all.list, all.count, sizeof *all.list, by_place);
        start = assay_alloc(all.count * sizeof *start);
        status = start ? ASSAY_OK : ASSAY_ENOMEM;
    }
    for (size_t i = 0, end; status == ASSAY_OK && i < all.count; i = end) {
        for (end = i + 1; end < all.count && same_curve(&all.list[i], &all.list[end]); end++)
            ;
        size_t steps = find_steps(all.list + i, end - i, start);
        if (steps == 0 || all.list[i].mode == ASSAY_MODE_NONE)
            continue;
        put_curve(figure, all.list + i, end - i, start, steps, *first, out);
        *first = false;
    }
    free(all.list);
    free(start);
    return status;
}

int assay_bands_put(const assay_outcome *outcome, assay_buf *out)
{
    size_t begin = out->size, trials = 0;
    bool first = true;
    int status = ASSAY_OK;
    for (size_t t = 0; t < outcome->trial_count; t++)
        trials += outcome->trials[t].status == ASSAY_OK;
    assay_put_format(out, "{\"schema\": \"assay-bands/1\", \"trials\": %zu,\n \"bands\": [", trials);
    for (int f = 0; status == ASSAY_OK && f < ASSAY_BAND_FIGURES; f++)
        status = put_figure(outcome, f, &first, out);
    assay_put_format(out, "],\n");
    if (status != ASSAY_OK || assay_buf_status(out) != ASSAY_OK)
        return status != ASSAY_OK ? status : assay_buf_status(out);
    char hex[65];
    assay_sha256 hash;
    assay_sha256_init(&hash);
    assay_sha256_add(&hash, out->data + begin, out->size - begin);
    assay_sha256_hex(&hash, hex);
    assay_put_format(out, " \"sha256\": \"%s\"}\n", hex);
    return assay_buf_status(out);
}
