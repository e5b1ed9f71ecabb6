/* bands_check.c - compares trials with the bands of good runs: what leaves them, and where first. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/search.h"
#include "report/compare/bands.h"
#include "report/compare/gap.h"

const char *assay_departure_word(int kind)
{
    static const char *const words[] = {"value", "still", "missing", "short"};
    return words[kind];
}

/* Sets what a run may score: the factor times what the good runs do (of the one tensor that lies farthest out, twice
 * that: the farthest of many is the least certain), and not less than a floor, for a few good runs may be alike by
 * chance. Of fewer than ASSAY_NOISE_RUNS good runs two widths of the band: they do not show what chance does. */
static assay_score assay_bands_limit(const assay_bands *bands)
{
    static const assay_score LEAST = {.losses = 1, .gaps = 0.75, .tensors = 0.7, .tensor = 2}, UNKNOWN = {2, 2, 2, 2};
    const assay_score *w = &bands->worst;
    double factor = bands->noise.factor;
    if (bands->trials < ASSAY_NOISE_RUNS)
        return UNKNOWN;
    return (assay_score){fmax(LEAST.losses, factor * w->losses), fmax(LEAST.gaps, factor * w->gaps),
                         fmax(LEAST.tensors, factor * w->tensors), fmax(LEAST.tensor, 2 * factor * w->tensor)};
}

/* Finds the band at a mode step within its range, between the two learned steps around it. */
static assay_noise_band band_at(const assay_band *band, int64_t at)
{
    size_t first = 0, last = band->steps - 1;
    while (last - first > 1) {
        size_t half = first + (last - first) / 2;
        if (band->step[half] <= at)
            first = half;
        else
            last = half;
    }
    double span = (double)(band->step[last] - band->step[first]);
    double part = span > 0 ? (double)(at - band->step[first]) / span : 0;
    const double *a = band->quantile + first * ASSAY_BAND_QUANTILES, *b = band->quantile + last * ASSAY_BAND_QUANTILES;
    return (assay_noise_band){band->figure,
                              assay_band_between(a[1], b[1], part),
                              assay_band_between(a[2], b[2], part),
                              assay_band_between(a[3], b[3], part),
                              band->number,
                              0};
}

/* A figure of a tensor of a trial: both kinds of curves as one. */
typedef struct series {
    const assay_loss_point *loss;
    const assay_tensor_point *tensor;
    size_t count;
    int figure;
    assay_loss_point *gap; /* what `loss` is of a gap; owned */
} series;

static void release_series(series *s)
{
    free(s->gap);
}

static int64_t mode_step_of(const series *s, size_t i)
{
    return s->loss ? s->loss[i].mode_step : s->tensor[i].mode_step;
}

static int64_t step_of(const series *s, size_t i)
{
    return s->loss ? s->loss[i].step : s->tensor[i].step;
}

static double value_of(const series *s, size_t i)
{
    return s->loss ? s->loss[i].value : assay_band_value(&s->tensor[i], s->figure);
}

/* Finds the trial's series of a band's figure; empty where it has none. Release it with release_series(). */
static int series_of(const assay_band *band, const assay_trial *info, const assay_curves *curves, series *out)
{
    const uint32_t tensor = assay_trial_find_tensor(info, band->tensor);
    *out = (series){.figure = band->figure};
    if (tensor == ASSAY_NO_TENSOR)
        return ASSAY_OK;
    if (band->figure == ASSAY_BAND_LOSS || band->figure == ASSAY_BAND_GAP) {
        const assay_loss_curve *loss = assay_curves_loss(curves, tensor, band->mode);
        out->count = loss ? loss->count : 0;
        out->loss = loss ? loss->point : NULL;
        if (!loss || band->figure == ASSAY_BAND_LOSS)
            return ASSAY_OK;
        out->gap = assay_alloc(loss->count * sizeof *out->gap);
        out->loss = out->gap;
        out->count = out->gap ? assay_gap_of(curves, loss, out->gap) : 0;
        return out->gap ? ASSAY_OK : ASSAY_ENOMEM;
    }
    const assay_tensor_curve *other = assay_curves_tensor(curves, tensor, band->mode);
    out->tensor = other ? other->point : NULL;
    out->count = other ? other->count : 0;
    return ASSAY_OK;
}

/* Tells whether points lie at learned steps one for one; or they were saved at other steps and are compared on the
 * line between them: then all count. Half of the steps that the trial has reached decide. */
static bool compares_learned_steps(const assay_band *band, const series *s)
{
    size_t both = 0, reached = 0;
    for (size_t i = 0, k = 0; i < s->count && k < band->steps;) {
        int64_t own = mode_step_of(s, i), learned = band->step[k];
        both += own == learned;
        i += own <= learned;
        k += learned <= own;
        reached = k;
    }
    return 2 * both >= reached;
}

/* The points of a curve that are compared, and what each scores. */
typedef struct held {
    size_t *point; /* [count] number in the series; owned */
    double *score; /* [count]; owned */
    size_t count;
} held;

static void release_held(held *h)
{
    free(h->point);
    free(h->score);
}

/* *out is to be released also after a failure. */
static int hold(const assay_bands *bands, const assay_band *band, const series *s, held *out)
{
    bool learned_only = compares_learned_steps(band, s);
    *out =
        (held){assay_alloc((s->count + 1) * sizeof *out->point), assay_alloc((s->count + 1) * sizeof *out->score), 0};
    ASSAY_HAVE(out->point && out->score);
    for (size_t i = 0, k = 0; i < s->count; i++) {
        int64_t at = mode_step_of(s, i);
        while (k + 1 < band->steps && band->step[k] < at)
            k++;
        if (at < band->step[0] || at > band->step[band->steps - 1] || (learned_only && band->step[k] != at))
            continue;
        const assay_noise_band others = band_at(band, at);
        out->point[out->count] = i;
        out->score[out->count++] = assay_noise_score(&bands->noise, &others, value_of(s, i));
    }
    return ASSAY_OK;
}

/* ---- one trial ---- */

typedef struct checker {
    const assay_bands *bands;
    const assay_score *limit;
    const assay_trial_outcome *trial;
    const assay_curves *curves;
    assay_departures *out;
} checker;

static void add(checker *c, const assay_departure *d)
{
    c->out->list[c->out->total++] = *d;
}

/* Where too many tensors lie out at once, each is held against the lower limit: together they are the departure. */
static double limit_of(const checker *c, const assay_band *band)
{
    bool many = c->out->score.tensors > c->limit->tensors;
    if (band->figure == ASSAY_BAND_LOSS)
        return c->limit->losses;
    if (band->figure == ASSAY_BAND_GAP)
        return c->limit->gaps;
    return many ? fmin(c->limit->tensors, c->limit->tensor) : c->limit->tensor;
}

static void add_value(checker *c, const assay_band *band, const series *s, const held *h, double score, double limit)
{
    size_t first;
    assay_noise_of_curve(&c->bands->noise, h->score, h->count, limit, &first);
    /* No run of points is beyond the limit where many tensors together are: then the first point is named. */
    first = first < h->count ? first : 0;
    size_t point = h->point[first];
    assay_departure d = {.band = band,
                         .kind = ASSAY_DEPARTS_VALUE,
                         .step = step_of(s, point),
                         .mode_step = mode_step_of(s, point),
                         .value = value_of(s, point),
                         .score = score,
                         .limit = limit,
                         .compared = h->count};
    const assay_noise_band others = band_at(band, d.mode_step);
    assay_noise_edges(&c->bands->noise, &others, limit, &d.low, &d.high);
    for (size_t i = 0; i < h->count; i++)
        d.out += fabs(h->score[i]) > limit;
    add(c, &d);
}

/* Tells whether the figure shows by itself whether a tensor moves. */
static bool is_size(int figure)
{
    return figure == ASSAY_BAND_NORM || figure == ASSAY_BAND_VALUE;
}

/* Tells whether a tensor stands still: one that the optimizer has forgotten shows by that, wherever in its band it
 * stands. All good runs must have it moving. */
static bool is_still(const checker *c, const assay_band *band, const series *s)
{
    if (!is_size(band->figure) || c->bands->trials < 2 || band->runs < c->bands->trials || band->moved < band->runs ||
        s->count < ASSAY_BAND_STILL_POINTS)
        return false;
    for (size_t i = 1; i < s->count; i++)
        if (value_of(s, i) != value_of(s, 0))
            return false;
    return band->figure != ASSAY_BAND_VALUE || value_of(s, 0) != 0; /* a number of events may well stay 0 */
}

/* Tells whether the trial has no such curve, though it has come so far in that mode. */
static bool is_missing(const checker *c, const assay_band *band, const series *s)
{
    const assay_trial *info = c->trial->info;
    bool first_figure = band->figure == ASSAY_BAND_LOSS || is_size(band->figure);
    if (s->count > 0 || !first_figure || c->bands->trials < 2 || band->runs < c->bands->trials)
        return false;
    for (uint64_t i = assay_trial_steps(info); i-- > 0;) {
        const assay_step_info *step = assay_trial_step(info, i);
        if (step->mode == band->mode)
            return step->mode_step >= band->step[0];
    }
    return false;
}

/* Tells whether a loss ends before that of the good runs does, by more than the way between two steps. */
static bool is_short(const checker *c, const assay_band *band, const series *s)
{
    if (band->figure != ASSAY_BAND_LOSS || s->count == 0 || band->steps < 2 || !c->trial->catalog.ended)
        return false;
    int64_t last = band->step[band->steps - 1], gap = last - band->step[band->steps - 2];
    return mode_step_of(s, s->count - 1) < last - gap;
}

static void add_other(checker *c, assay_departure_kind kind, const assay_band *band, const series *s)
{
    size_t last = s->count ? s->count - 1 : 0;
    assay_departure d = {
        .band = band, .kind = kind, .step = -1, .mode_step = -1, .value = NAN, .low = NAN, .high = NAN};
    if (kind != ASSAY_DEPARTS_MISSING) {
        d.step = step_of(s, last);
        d.mode_step = mode_step_of(s, last);
        d.value = value_of(s, last);
        d.compared = s->count;
        d.out = s->count;
    }
    add(c, &d);
}

/* At most one departure of a band: a curve that stands still is not told of as leaving its band as well. */
static int check_band(checker *c, const assay_band *band, float score)
{
    series s;
    double limit = limit_of(c, band);
    int status = series_of(band, c->trial->info, c->curves, &s);
    ASSAY_TRY(status);
    if (is_missing(c, band, &s))
        add_other(c, ASSAY_DEPARTS_MISSING, band, &s);
    else if (is_still(c, band, &s))
        add_other(c, ASSAY_DEPARTS_STILL, band, &s);
    else if (is_short(c, band, &s) && !(score > limit))
        add_other(c, ASSAY_DEPARTS_SHORT, band, &s);
    if (score > limit && s.count > 0) {
        held h;
        bool said = c->out->total > 0 && c->out->list[c->out->total - 1].band == band;
        status = said ? ASSAY_OK : hold(c->bands, band, &s, &h);
        if (!said && status == ASSAY_OK)
            add_value(c, band, &s, &h, score, limit);
        if (!said)
            release_held(&h);
    }
    release_series(&s);
    return status;
}

static int descending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* Finds what each band's curve scores; -1: nothing of it was compared. */
static int score_bands(checker *c, float *score)
{
    int status = ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && i < c->bands->count; i++) {
        const assay_band *band = &c->bands->band[i];
        series s;
        held h = {0};
        size_t first;
        status = series_of(band, c->trial->info, c->curves, &s);
        ASSAY_THEN(status, hold(c->bands, band, &s, &h));
        if (status == ASSAY_OK && h.count > 0) {
            score[i] = (float)assay_noise_of_curve(&c->bands->noise, h.score, h.count, INFINITY, &first);
            c->out->curves++;
        } else {
            score[i] = -1;
        }
        release_held(&h);
        release_series(&s);
    }
    return status;
}

static int sum_up(checker *c, const float *score)
{
    size_t n = 0;
    float *tensors = assay_alloc((c->bands->count + 1) * sizeof *tensors);
    ASSAY_HAVE(tensors);
    for (size_t i = 0; i < c->bands->count; i++) {
        if (score[i] < 0)
            continue;
        if (c->bands->band[i].figure == ASSAY_BAND_LOSS)
            c->out->score.losses = fmax(c->out->score.losses, score[i]);
        else if (c->bands->band[i].figure == ASSAY_BAND_GAP)
            c->out->score.gaps = fmax(c->out->score.gaps, score[i]);
        else
            tensors[n++] = score[i];
    }
    if (n > 0) {
        /* The share of noise.share of all tensors may lie beyond `tensors`. */
        size_t k = (size_t)ceil(c->bands->noise.share * (double)n);
        qsort(tensors, n, sizeof *tensors, descending);
        c->out->score.tensor = tensors[0];
        c->out->score.tensors = tensors[(k > 0 ? (k < n ? k : n) : 1) - 1];
    }
    free(tensors);
    return ASSAY_OK;
}

ASSAY_ORDER_BY(by_step, assay_departure, step, band)

/* Two passes, since the limit of a tensor depends on how many lie out; series are made twice, as all at once would
 * not fit. */
static int check_bands(checker *c)
{
    float *score = assay_alloc((c->bands->count + 1) * sizeof *score);
    int status = score ? score_bands(c, score) : ASSAY_ENOMEM;
    ASSAY_THEN(status, sum_up(c, score));
    for (size_t i = 0; status == ASSAY_OK && i < c->bands->count; i++)
        status = check_band(c, &c->bands->band[i], score[i]);
    free(score);
    return status;
}

static int check_trial(const assay_bands *bands, const assay_outcome *outcome, const assay_score *limit, size_t trial,
                       assay_departures *out)
{
    assay_curves curves;
    checker c = {bands, limit, &outcome->trials[trial], &curves, out};
    int status = assay_curves_make(outcome, trial, &curves);
    out->list = status == ASSAY_OK ? assay_alloc((bands->count + 1) * sizeof *out->list) : NULL;
    if (!out->list)
        status = ASSAY_ENOMEM;
    if (status == ASSAY_OK && c.trial->info)
        status = check_bands(&c);
    assay_curves_release(&curves);
    ASSAY_TRY(status);
    qsort(out->list, out->total, sizeof *out->list, by_step);
    out->count = out->total < ASSAY_BAND_DEPARTURES ? out->total : ASSAY_BAND_DEPARTURES;
    assay_departure *kept = assay_realloc_array(out->list, out->count ? out->count : 1, sizeof *kept);
    out->list = kept ? kept : out->list;
    return ASSAY_OK;
}

/* Called by `assay run --bands`, with bands that were read; *out points to them. */
int assay_bands_check(const assay_bands *bands, const assay_outcome *outcome, assay_band_report **out)
{
    *out = NULL;
    assay_band_report *r = assay_alloc_zeroed(1, sizeof *r);
    ASSAY_HAVE(r);
    r->bands = bands;
    r->outcome = outcome;
    r->limit = assay_bands_limit(bands);
    r->trial = assay_alloc_zeroed(outcome->trial_count, sizeof *r->trial);
    int status = r->trial ? ASSAY_OK : ASSAY_ENOMEM;
    for (; status == ASSAY_OK && r->trials < outcome->trial_count; r->trials++)
        status = check_trial(bands, outcome, &r->limit, r->trials, &r->trial[r->trials]);
    if (status != ASSAY_OK) {
        assay_band_report_free(r);
        return status;
    }
    *out = r;
    return ASSAY_OK;
}

void assay_band_report_free(assay_band_report *report)
{
    if (!report)
        return;
    for (size_t t = 0; report->trial && t < report->trials; t++)
        free(report->trial[t].list);
    free(report->trial);
    free(report);
}

bool assay_band_report_fires(const assay_band_report *report)
{
    for (size_t t = 0; t < report->trials; t++)
        if (report->trial[t].total > 0)
            return true;
    return false;
}
