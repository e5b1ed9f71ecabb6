/* regression.c - see regression.h. */
#include "laws/regression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <assay/search.h>

enum { CELLS_A_TERM = 8 }; /* so many cells at least for each factor: else any numbers would fit */

typedef struct factors {
    double of[REGRESSION_TERMS];
    double error[REGRESSION_TERMS]; /* how far each may be off */
} factors;

/* All cases of a worker and step, of which factors are inferred. */
typedef struct regression {
    int law, variant;
    regression_case *cases;
    size_t count;
    int terms;
    bool *out;    /* cases that do not count */
    double *room; /* for a number of each case */
    factors f;
} regression;

typedef double four __attribute__((vector_size(32)));
enum { LANES = sizeof(four) / sizeof(double) };

/* Cells of whole lanes: those that are not there are 0. */
static uint32_t whole(uint32_t cells)
{
    return (cells + LANES - 1) / LANES * LANES;
}

/* Of the cells those that it has: most parameters have few. */
void regression_begin(regression_case *c, const assay_tensor_view *item, uint64_t elements, uint32_t cells)
{
    const size_t size = whole(cells) * sizeof *c->target;
    c->item = item;
    c->elements = elements;
    c->cells = cells;
    c->noise = 0;
    c->skips = false;
    memset(c->target, 0, size);
    memset(c->rounding, 0, size);
    memset(c->vague, 0, cells * sizeof *c->vague);
    memset(c->normal, 0, sizeof c->normal);
    for (int t = 0; t < REGRESSION_TERMS; t++) {
        memset(c->term[t], 0, size);
        memset(c->squares[t], 0, size);
    }
}

static bool has_term(const regression_case *c, int t)
{
    return t != REGRESSION_DECAY || !c->skips;
}

/* Once, before all that follows. */
static void take_roots(regression_case *c, int terms)
{
    for (int t = 0; t < terms; t++)
        for (uint32_t i = 0; i < c->cells; i++)
            c->squares[t][i] = sqrt(c->squares[t][i]);
}

/* How far each cell may be off: by the rounding of the target, and where factors are known (else NULL), by that of the
 * terms and by what the factors may be off. */
static void find_bounds(const regression_case *c, int terms, const factors *f, double bound[REGRESSION_CELLS])
{
    memcpy(bound, c->rounding, c->cells * sizeof *bound);
    for (int t = 0; f && t < terms; t++) {
        const double noise = c->noise * fabs(f->of[t]), error = f->error[t];
        const double *root = c->squares[t], *term = c->term[t];
        for (uint32_t i = 0; has_term(c, t) && i < c->cells; i++)
            bound[i] += noise * root[i] + error * fabs(term[i]);
    }
}

static double weighted_product(const double *weight, const double *x, const double *y, uint32_t cells)
{
    four sum = {0};
    for (uint32_t i = 0; i < cells; i += LANES) {
        four w, a, b;
        memcpy(&w, weight + i, sizeof w);
        memcpy(&a, x + i, sizeof a);
        memcpy(&b, y + i, sizeof b);
        sum += w * a * b;
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Sums of products of terms and target, each cell by its bound; but none counts a million times more than others. */
static void sum_up(regression_case *c, int terms, const factors *f)
{
    double bound[REGRESSION_CELLS], weight[REGRESSION_CELLS] = {0}, largest = 0;
    memset(c->normal, 0, sizeof c->normal);
    find_bounds(c, terms, f, bound);
    for (uint32_t i = 0; i < c->cells; i++)
        largest = bound[i] > largest ? bound[i] : largest;
    for (uint32_t i = 0; i < c->cells; i++) {
        const double most = bound[i] > 1e-3 * largest ? bound[i] : 1e-3 * largest;
        weight[i] = most > 0 && !c->vague[i] ? 1 / (most * most) : 0;
    }
    for (int a = 0; a <= terms; a++)
        for (int b = a; b <= terms; b++) {
            if ((a < terms && !has_term(c, a)) || (b < terms && !has_term(c, b)))
                continue;
            const double *x = a < terms ? c->term[a] : c->target, *y = b < terms ? c->term[b] : c->target;
            c->normal[a][b] = c->normal[b][a] = weighted_product(weight, x, y, whole(c->cells));
        }
}

/* Solves the normal equations of the cases that count. A term that is 0, or that the terms before it make up, gets the
 * factor 0. Cells count by their bounds, so that the inverse has the squares of what factors may be off. */
static factors solve(const regression *r)
{
    enum { WIDTH = 2 * REGRESSION_TERMS + 1 };
    double m[REGRESSION_TERMS][WIDTH] = {{0}}, scale[REGRESSION_TERMS];
    const int terms = r->terms, right = terms + 1; /* where the inverse is made */
    factors f = {{0}, {0}};
    for (size_t c = 0; c < r->count; c++)
        for (int a = 0; !r->out[c] && a < terms; a++)
            for (int b = 0; b <= terms; b++)
                m[a][b] += r->cases[c].normal[a][b];
    for (int a = 0; a < terms; a++)
        scale[a] = m[a][a] > 0 ? 1 / sqrt(m[a][a]) : 0;
    for (int a = 0; a < terms; a++) {
        for (int b = 0; b <= terms; b++)
            m[a][b] *= scale[a] * (b < terms ? scale[b] : 1);
        m[a][right + a] = 1;
    }
    for (int a = 0; a < terms; a++) {
        const bool counts = m[a][a] > 1e-9;
        for (int row = 0; counts && row < terms; row++) {
            const double by = row == a ? 0 : m[row][a] / m[a][a];
            for (int b = 0; b < right + terms; b++)
                m[row][b] -= by * m[a][b];
        }
        scale[a] = counts ? scale[a] : 0;
    }
    for (int a = 0; a < terms; a++)
        if (scale[a] > 0) {
            f.of[a] = m[a][terms] / m[a][a] * scale[a];
            f.error[a] = sqrt(fabs(m[a][right + a] / m[a][a])) * scale[a];
        }
    return f;
}

/* How well the factors fit a case. */
static void look(const regression_case *c, int terms, const factors *f, double row[LAW_WIDTH])
{
    double bound[REGRESSION_CELLS], sum[REGRESSION_CELLS] = {0};
    find_bounds(c, terms, f, bound);
    for (int t = 0; t < terms; t++)
        for (uint32_t i = 0; has_term(c, t) && i < c->cells; i++)
            sum[i] += f->of[t] * c->term[t][i];
    row[LAW_RATIO] = row[LAW_COLUMNS_OFF] = 0;
    for (uint32_t i = 0; i < c->cells; i++) {
        const double apart = fabs(c->target[i] - sum[i]);
        if (apart <= bound[i] && apart <= row[LAW_RATIO] * bound[i]) /* as mostly: no division */
            continue;
        const double ratio = apart > 0 ? apart / bound[i] : 0;
        row[LAW_COLUMNS_OFF] += ratio > 1;
        if (!(ratio > row[LAW_RATIO]))
            continue;
        row[LAW_RATIO] = ratio;
        row[LAW_APART] = apart;
        row[LAW_BOUND] = bound[i];
        row[LAW_COLUMN] = (double)assay_sketch_first_row(i, c->elements, c->cells);
        row[LAW_COLUMN_END] = (double)assay_sketch_first_row(i + 1, c->elements, c->cells);
    }
}

/* How far the factors are from a case, in units of its rounding: from its sums alone. */
static double misfit(const regression_case *c, int terms, const factors *f)
{
    double x[REGRESSION_TERMS + 1], sum = 0;
    for (int t = 0; t < terms; t++)
        x[t] = f->of[t];
    x[terms] = -1;
    for (int a = 0; a <= terms; a++)
        for (int b = 0; b <= terms; b++)
            sum += x[a] * c->normal[a][b] * x[b];
    return sum > 0 ? sqrt(sum / c->cells) : 0;
}

/* What the middle one of the cases that count is off by, after solving without case `without` (SIZE_MAX: with all). */
static double median_without(regression *r, size_t without, factors *f)
{
    size_t n = 0;
    if (without < r->count)
        r->out[without] = true;
    *f = solve(r);
    for (size_t c = 0; c < r->count; c++)
        if (!r->out[c])
            r->room[n++] = misfit(&r->cases[c], r->terms, f);
    if (without < r->count)
        r->out[without] = false;
    qsort(r->room, n, sizeof *r->room, assay_order_f64);
    return n > 0 ? r->room[n / 2] : (double)INFINITY;
}

/* Finds the factors. One case that is far off can pull them away from all others: it is the one without which the
 * others fit best, so that it is left out. */
static void find_factors(regression *r)
{
    enum { MOST_LEFT_OUT = 4 };
    double now = median_without(r, SIZE_MAX, &r->f);
    for (size_t left = 0; left < MOST_LEFT_OUT && 4 * (left + 1) <= r->count + 2; left++) {
        double largest = 0, best = now;
        size_t at = r->count;
        for (size_t c = 0; c < r->count; c++)
            largest = r->out[c] ? largest : fmax(largest, misfit(&r->cases[c], r->terms, &r->f));
        for (size_t c = 0; largest > 1 && c < r->count; c++) {
            factors without;
            const double median = r->out[c] ? (double)INFINITY : median_without(r, c, &without);
            if (median < best) {
                best = median;
                at = c;
            }
        }
        if (at == r->count)
            break;
        r->out[at] = true;
        now = median_without(r, SIZE_MAX, &r->f);
    }
}

/* Is the target more than rounding? Else anything fits it. */
static bool has_target(const regression_case *c)
{
    enum { CLEAR = 4 };
    for (uint32_t i = 0; i < c->cells; i++)
        if (fabs(c->target[i]) > CLEAR * c->rounding[i])
            return true;
    return false;
}

/* How many cases do not fit. */
static size_t count_broken(const regression *r)
{
    double row[LAW_WIDTH] = {0};
    size_t broken = 0;
    for (size_t c = 0; c < r->count; c++) {
        look(&r->cases[c], r->terms, &r->f, row);
        broken += row[LAW_RATIO] > 1;
    }
    return broken;
}

/* Is nearly all of a weight off, by far more than updates are? It was written anew: pruned, reset, read from elsewhere. */
static bool is_anew(const regression_case *c, int terms, const factors *f, const double row[LAW_WIDTH])
{
    enum { LEAST_CELLS = 8, LARGE = 8 };
    double apart = 0, update = 0;
    if (c->cells < LEAST_CELLS || 8 * row[LAW_COLUMNS_OFF] < 7 * c->cells)
        return false;
    for (uint32_t i = 0; i < c->cells; i++) {
        double rest = c->target[i];
        for (int t = 0; t < terms; t++)
            rest -= has_term(c, t) ? f->of[t] * c->term[t][i] : 0;
        apart += rest * rest;
        update += c->squares[0][i] * c->squares[0][i];
    }
    update *= f->of[0] * f->of[0];
    return update > 0 && apart > LARGE * LARGE * update;
}

static int add_case(const law_step *step, const regression *r, const regression_case *c, bool is_odd, bool *clear)
{
    double row[LAW_WIDTH] = {[LAW_OF] = r->law, [LAW_VARIANT] = r->variant};
    look(c, r->terms, &r->f, row);
    *clear = *clear && row[LAW_RATIO] <= 0.5;
    if (row[LAW_RATIO] <= 1 && !has_target(c))
        return ASSAY_OK;
    row[LAW_ROWS_OFF] = row[LAW_COLUMNS_OFF] > 0;
    row[LAW_ROW_END] = 1;
    row[LAW_ROWS] = !is_odd ? 0 : r->law == LAW_UPDATE && is_anew(c, r->terms, &r->f, row) ? REGRESSION_ANEW : 1;
    row[LAW_COLUMNS] = c->cells;
    return assay_series_add(step->series, step->view->step, c->item->tensor, c->item->worker, row);
}

static void fit(regression *r)
{
    for (int round = 0; round < 2; round++) { /* with the factors, bounds are known better */
        for (size_t c = 0; c < r->count; c++)
            sum_up(&r->cases[c], r->terms, round > 0 ? &r->f : NULL);
        memset(r->out, 0, r->count * sizeof *r->out);
        find_factors(r);
    }
}

static bool is_bias(const char *name)
{
    const char *at = strstr(name, "bias");
    return at && !strchr(at, '.');
}

/* Weights decay and biases do not, in most trainings that have a decay: each case is taken with or without, as it fits
 * better, if fewer are broken then. Returns how many. */
static size_t fit_decays(regression *r, size_t broken)
{
    enum { ROUNDS = 3 };
    const factors before = r->f;
    size_t now = broken;
    for (int round = 0; round < 2 * ROUNDS && now > 0; round++) {
        factors without = r->f;
        bool differs = false;
        without.of[REGRESSION_DECAY] = 0;
        for (size_t i = 0; i < r->count; i++) { /* of sums with the term */
            regression_case *c = &r->cases[i];
            const bool skipped = c->skips;
            c->skips = false;
            sum_up(c, r->terms, &r->f);
            c->skips = round == ROUNDS ? is_bias(c->item->name) /* once more, from there on */
                                       : misfit(c, r->terms, &without) < misfit(c, r->terms, &r->f);
            differs = differs || c->skips != skipped;
        }
        if (!differs) { /* nor would the factors, and what follows from them */
            round = round < ROUNDS ? ROUNDS - 1 : 2 * ROUNDS;
            continue;
        }
        fit(r);
        now = count_broken(r);
    }
    if (now < broken)
        return now;
    for (size_t c = 0; c < r->count; c++)
        r->cases[c].skips = false;
    r->f = before;
    return broken;
}

int regression_add(const law_step *step, int law, int variant, regression_case *cases, size_t count, int terms,
                   bool *clear)
{
    uint64_t cells = 0;
    bool fits = true;
    if (clear)
        *clear = false;
    if (count == 0)
        return ASSAY_OK;
    regression r = {.law = law,
                    .variant = variant,
                    .cases = cases,
                    .count = count,
                    .terms = terms,
                    .out = calloc(count, sizeof *r.out),
                    .room = malloc(count * sizeof *r.room)};
    int status = r.out && r.room ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t c = 0; c < count; c++) {
        cells += cases[c].cells;
        take_roots(&cases[c], terms);
    }
    const bool found = status == ASSAY_OK && cells >= (uint64_t)(CELLS_A_TERM * terms);
    size_t broken = 0;
    if (found) {
        fit(&r);
        broken = count_broken(&r);
        if (law == LAW_UPDATE && broken > 0)
            broken = fit_decays(&r, broken);
    }
    const bool are_odd = law == LAW_REDUCE || broken < 2 || 2 * broken < count;
    for (size_t c = 0; status == ASSAY_OK && found && c < count; c++)
        status = add_case(step, &r, &cases[c], are_odd, &fits);
    if (clear)
        *clear = found && fits;
    free(r.out);
    free(r.room);
    return status;
}
