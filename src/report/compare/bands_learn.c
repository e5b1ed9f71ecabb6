/* bands_learn.c - learns and writes the bands of good runs. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/hash.h"
#include "base/search.h"
#include "report/compare/bands.h"

/* "=" must stand within the part: strcspn() stops at either. */
int assay_noise_parse(const char *text, assay_noise *out, assay_error *err)
{
    double points = (double)out->points;
    const struct {
        const char *word;
        double *value, least, most;
    } known[] = {{"points", &points, 1, ASSAY_NOISE_POINTS_MOST},
                 {"share", &out->share, 0, 1},
                 {"margin", &out->margin, 0, 1},
                 {"factor", &out->factor, 1, 100}};
    const size_t words = sizeof known / sizeof *known;
    for (const char *at = text; at;) {
        size_t i = 0, length = strcspn(at, "=,"), whole = strcspn(at, ",");
        char *end = NULL;
        while (i < words && (strlen(known[i].word) != length || strncmp(at, known[i].word, length) != 0))
            i++;
        double value = i < words && length < whole ? strtod(at + length + 1, &end) : NAN;
        if (i == words || end != at + whole || !(value >= known[i].least && value <= known[i].most))
            return assay_fail(err, ASSAY_EUSAGE,
                              "--noise: \"%.*s\": expected points=1..%d, share=0..1, margin=0..1 or factor=1..100, "
                              "separated by commas",
                              (int)(whole < 40 ? whole : 40), at, ASSAY_NOISE_POINTS_MOST);
        *known[i].value = value;
        at = at[whole] ? at + whole + 1 : NULL;
    }
    out->points = (size_t)points;
    return ASSAY_OK;
}

typedef struct writer {
    assay_buf *out;
    double *sorted; /* [trials] */
    bool any;       /* a band is written */
} writer;

/* Counts whether the figure of a trial is there, and whether it moves by more than rounding does. A bias in front of
 * a normalization moves by that alone. */
static void count_run(const assay_grid *grid, size_t trial, size_t *runs, size_t *moved)
{
    static const double ROUNDING = 1e-3;
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < grid->steps; i++) {
        double value = grid->value[i * grid->trials + trial];
        if (isnan(value))
            continue;
        least = fmin(least, value);
        most = fmax(most, value);
    }
    *runs += most >= least;
    *moved += most - least > ROUNDING * fmax(fabs(most), fabs(least));
}

/* At least one trial has a number at each step of a grid. */
static void put_quantiles(writer *w, const assay_grid *grid, size_t step)
{
    static const double shares[ASSAY_BAND_QUANTILES] = {0, 0.05, 0.5, 0.95, 1};
    size_t n = 0;
    for (size_t t = 0; t < grid->trials; t++)
        if (isfinite(grid->value[step * grid->trials + t]))
            w->sorted[n++] = grid->value[step * grid->trials + t];
    qsort(w->sorted, n, sizeof *w->sorted, assay_order_f64);
    for (int q = 0; q < ASSAY_BAND_QUANTILES; q++) {
        assay_put_format(w->out, "%s", q ? ", " : step ? ", [" : "[");
        assay_json_put_number(w->out, assay_quantile(w->sorted, n, n, shares[q]));
    }
    assay_put_format(w->out, "]");
}

static int put_band(void *context, const assay_grid *grid)
{
    writer *w = context;
    size_t runs = 0, moved = 0;
    if (grid->steps == 0)
        return ASSAY_OK;
    for (size_t t = 0; t < grid->trials; t++)
        count_run(grid, t, &runs, &moved);
    assay_put_format(w->out, "%s\n  {\"figure\": \"%s\", \"tensor\": ", w->any ? "," : "",
                     assay_band_word(grid->figure));
    assay_json_put_text(w->out, grid->tensor);
    assay_put_format(w->out, ", \"mode\": \"%s\", \"runs\": %zu, \"moved\": %zu, \"steps\": [",
                     assay_mode_name(grid->mode), runs, moved);
    for (size_t i = 0; i < grid->steps; i++)
        assay_put_format(w->out, "%s%" PRId64, i ? ", " : "", grid->step[i]);
    assay_put_format(w->out, "],\n   \"quantiles\": [");
    for (size_t i = 0; i < grid->steps; i++)
        put_quantiles(w, grid, i);
    assay_put_format(w->out, "]}");
    w->any = true;
    return assay_buf_status(w->out);
}

static double finite_or_0(double value)
{
    return isfinite(value) ? value : 0;
}

/* Finds the most that a good run scores against the others. What is not finite is no measure of chance. */
static int find_worst(const assay_grids *grids, const assay_noise *noise, assay_score *worst)
{
    const size_t trials = assay_grids_trials(grids);
    assay_score *score = assay_alloc(trials * sizeof *score);
    int status = score ? assay_noise_leave_one_out(grids, noise, false, ASSAY_BAND_STEPS, score, NULL) : ASSAY_ENOMEM;
    for (size_t t = 0; status == ASSAY_OK && t < trials; t++) {
        worst->losses = fmax(worst->losses, finite_or_0(score[t].losses));
        worst->gaps = fmax(worst->gaps, finite_or_0(score[t].gaps));
        worst->tensors = fmax(worst->tensors, finite_or_0(score[t].tensors));
        worst->tensor = fmax(worst->tensor, finite_or_0(score[t].tensor));
    }
    free(score);
    return status;
}

static void put_number(const char *key, double value, assay_buf *out)
{
    assay_put_format(out, ", \"%s\": ", key);
    assay_json_put_number(out, value);
}

static void put_head(size_t trials, const assay_noise *noise, const assay_score *worst, assay_buf *out)
{
    assay_put_format(out, "{\"schema\": \"assay-bands/3\", \"trials\": %zu,\n \"noise\": {\"points\": %zu", trials,
                     noise->points);
    put_number("share", noise->share, out);
    put_number("margin", noise->margin, out);
    put_number("factor", noise->factor, out);
    put_number("losses", worst->losses, out);
    put_number("gaps", worst->gaps, out);
    put_number("tensors", worst->tensors, out);
    put_number("tensor", worst->tensor, out);
    assay_put_format(out, "},\n \"bands\": [");
}

/* The digest is of all bytes before its own line, so bands_read.c need not parse what was changed. */
int assay_bands_put(const assay_outcome *outcome, const assay_noise *noise, assay_buf *out)
{
    size_t begin = out->size, trials = 0;
    assay_score worst = {0};
    writer w = {.out = out, .sorted = assay_alloc(outcome->trial_count * sizeof *w.sorted)};
    int status = ASSAY_OK;
    assay_grids *grids = assay_grids_new(outcome, false, &status);
    ASSAY_THEN(status, w.sorted ? find_worst(grids, noise, &worst) : ASSAY_ENOMEM);
    for (size_t t = 0; t < outcome->trial_count; t++)
        trials += outcome->trials[t].status == ASSAY_OK;
    if (status == ASSAY_OK)
        put_head(trials, noise, &worst, out);
    for (int f = 0; status == ASSAY_OK && f < ASSAY_BAND_FIGURES; f++)
        status = assay_grids_walk(grids, f, ASSAY_BAND_STEPS, put_band, &w);
    assay_grids_free(grids);
    free(w.sorted);
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
