/* loss_weights.c - weights w of classes that a mean of cross entropies has, from losses alone (LawViolated).
 *
 * At a step, loss = sum w_c S_c / sum w_c n_c, where S_c are the terms of class c and n_c is their number. So
 *     sum w_c (S_c - loss n_c) = 0,
 * one equation a step, up to a factor of all weights. They are found by least squares, in units of what rounding may do,
 * from twice as many steps as there are classes; a few steps may be left out, those without which the others fit best. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "laws/loss.h"

enum { MOST_LEFT_OUT = 4 };

typedef struct weights_fit {
    const loss_classes *steps;
    uint64_t count;
    int classes, first; /* the class whose weight is 1 */
    double normal[LOSS_CLASSES][LOSS_CLASSES];
    double w[LOSS_CLASSES];
} weights_fit;

static double rounding_of(const loss_classes *s, const double *w, int classes)
{
    double sum = 0x1p-149;
    for (int c = 0; c < classes; c++)
        sum += fabs(w ? w[c] : 1) * s->bound[c];
    return sum;
}

/* Adds a step to the normal equations, `share` times: -1 takes it out. */
static void add_step(weights_fit *f, const loss_classes *s, double share)
{
    const double unit = rounding_of(s, NULL, f->classes), of = share / (unit * unit);
    for (int a = 0; a < f->classes; a++)
        for (int b = 0; b < f->classes; b++)
            f->normal[a][b] += of * s->term[a] * s->term[b];
}

/* Elimination with pivots on the diagonal: the matrix is positive. Classes of which nothing is known have weight 1. */
static void solve(weights_fit *f)
{
    double a[LOSS_CLASSES][LOSS_CLASSES + 1];
    const int n = f->classes;
    for (int i = 0; i < n; i++) {
        memcpy(a[i], f->normal[i], sizeof f->normal[i]);
        a[i][LOSS_CLASSES] = i == f->first ? 0 : -f->normal[i][f->first];
    }
    for (int k = 0; k < n; k++) {
        const bool is_known = k != f->first && a[k][k] > 1e-12 * f->normal[k][k];
        for (int i = 0; i < n && is_known; i++) {
            const double share = a[i][k] / a[k][k];
            for (int j = 0; j <= LOSS_CLASSES && i != k && i != f->first; j++)
                a[i][j] -= j < n || j == LOSS_CLASSES ? share * a[k][j] : 0;
        }
        f->w[k] = is_known ? 0 : 1;
    }
    for (int k = 0; k < n; k++)
        if (f->w[k] == 0)
            f->w[k] = a[k][LOSS_CLASSES] / a[k][k];
}

/* How far a step is off, in units of its bound. */
static double off(const weights_fit *f, const loss_classes *s)
{
    enum { ROOM = 16 /* the weights have an error too */ };
    double sum = 0;
    for (int c = 0; c < f->classes; c++)
        sum += f->w[c] * s->term[c];
    return fabs(sum) / (ROOM * rounding_of(s, f->w, f->classes));
}

/* The sum of squares of all steps that are not left out; *worst: the largest. */
static double misfit(const weights_fit *f, const bool *out, double *worst)
{
    double sum = 0;
    *worst = 0;
    for (uint64_t i = 0; i < f->count; i++) {
        const double ratio = out[i] ? 0 : off(f, &f->steps[i]);
        sum += ratio * ratio;
        *worst = fmax(*worst, ratio);
    }
    return sum;
}

/* Leaves out the step without which the others fit best. */
static void leave_one(weights_fit *f, bool *out)
{
    double least = INFINITY, worst;
    uint64_t best = 0;
    for (uint64_t i = 0; i < f->count; i++) {
        if (out[i])
            continue;
        out[i] = true;
        add_step(f, &f->steps[i], -1);
        solve(f);
        const double sum = misfit(f, out, &worst);
        add_step(f, &f->steps[i], 1);
        out[i] = false;
        if (sum < least) {
            least = sum;
            best = i;
        }
    }
    out[best] = true;
}

/* From all steps that are not left out, anew: what was taken out leaves roundings behind. */
static void fit_steps(weights_fit *f, const bool *out)
{
    memset(f->normal, 0, sizeof f->normal);
    for (uint64_t i = 0; i < f->count; i++)
        if (!out[i])
            add_step(f, &f->steps[i], 1);
    f->first = 0;
    for (int c = 1; c < f->classes; c++)
        if (f->normal[c][c] > f->normal[f->first][f->first])
            f->first = c;
    solve(f);
}

void loss_weights(const loss_classes *steps, uint64_t count, int classes, double *ratio)
{
    weights_fit f = {.steps = steps, .count = count < LOSS_STEPS ? count : LOSS_STEPS, .classes = classes};
    bool out[LOSS_STEPS] = {false}, fits = count >= 2 * (uint64_t)classes + 2;
    double worst = 0;
    for (int left = 0; fits && left <= MOST_LEFT_OUT; left++) {
        fit_steps(&f, out);
        misfit(&f, out, &worst);
        if (worst <= 1 || (uint64_t)(left + 1) > count / 8)
            break;
        if (left < MOST_LEFT_OUT)
            leave_one(&f, out);
    }
    for (int c = 0; c < classes; c++)
        fits = fits && f.w[c] >= 0;
    for (uint64_t i = 0; i < count; i++)
        ratio[i] = fits && worst <= 1 ? off(&f, &steps[i]) : (double)INFINITY;
}
