/* figures.c - see figures.h.
 *
 * Equal stretches, as most are, are told by memcmp; then the sums of one of them are those of both. Of unequal ones the
 * sums come from a loop without a branch, and only what is above the largest relative difference so far is divided. */
#include "diff/figures.h"

#include <math.h>
#include <string.h>

#include "tensor/convert.h"
#include "tensor/stats.h"

/* Sums run in this many lanes whatever the width of the machine's vectors: the order of additions is part of the
 * result, which has to be the same bytes everywhere. */
enum { LANES = 8 };

void assay_differ_init(assay_differ *d, int dtype_a, int dtype_b, const assay_diff_tolerance *tolerance)
{
    d->figures = (assay_diff_figures){.first = UINT64_MAX, .largest_at = UINT64_MAX};
    d->tolerance = *tolerance;
    d->dtype_a = dtype_a;
    d->dtype_b = dtype_b;
    d->filled = 0;
    d->unequal = false;
}

static double joined(const double v[LANES])
{
    return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

/* Sum of squares of a whole number of lanes. */
static double squares(const double *x, size_t n)
{
    double lane[LANES] = {0};
    for (size_t i = 0; i < n; i += LANES)
        for (int j = 0; j < LANES; j++)
            lane[j] += x[i + (size_t)j] * x[i + (size_t)j];
    return joined(lane);
}

/* Both with what is not finite in either put to 0, for the sums. */
static void drop_odd(double *a, double *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(a[i]) || !isfinite(b[i]))
            a[i] = b[i] = 0;
}

static bool is_close(double a, double b, const assay_diff_tolerance *t)
{
    if (isfinite(a) && isfinite(b))
        return fabs(a - b) <= t->absolute + t->relative * fabs(b);
    return a == b || (isnan(a) && isnan(b));
}

/* Looks at each element of a block that is not equal. `at` is the first one's place. */
static void look(assay_differ *d, size_t n, uint64_t at)
{
    assay_diff_figures *f = &d->figures;
    const bool by_bytes = d->dtype_a == d->dtype_b;
    for (size_t i = 0; i < n; i++) {
        const double a = d->a[i], b = d->b[i], size = fabs(a - b);
        const bool unequal = by_bytes ? d->apart[i] != 0 : !(a == b || (isnan(a) && isnan(b)));
        if (!unequal)
            continue;
        if (f->unequal++ == 0) {
            f->first = at + i;
            f->first_a = a;
            f->first_b = b;
        }
        f->apart += !is_close(a, b, &d->tolerance);
        if (!isfinite(size))
            continue;
        if (size > f->largest || f->largest_at == UINT64_MAX) {
            f->largest = size;
            f->largest_at = at + i;
        }
        const double greater = fabs(a) > fabs(b) ? fabs(a) : fabs(b);
        if (size > f->relative * greater)
            f->relative = size / greater;
    }
}

static void add_sums(assay_differ *d, size_t n)
{
    assay_diff_figures *f = &d->figures;
    double dot[LANES] = {0}, of_a[LANES] = {0}, of_b[LANES] = {0};
    for (size_t i = 0; i < n; i += LANES)
        for (int j = 0; j < LANES; j++) {
            const double a = d->a[i + (size_t)j], b = d->b[i + (size_t)j];
            dot[j] += a * b;
            of_a[j] += a * a;
            of_b[j] += b * b;
        }
    f->dot += joined(dot);
    f->squares_a += joined(of_a);
    f->squares_b += joined(of_b);
}

static void close_block(assay_differ *d)
{
    assay_diff_figures *f = &d->figures;
    const size_t n = d->filled, whole = (n + LANES - 1) / LANES * LANES;
    memset(d->a + n, 0, (whole - n) * sizeof *d->a);
    if (d->unequal) {
        memset(d->b + n, 0, (whole - n) * sizeof *d->b);
        look(d, n, f->elements);
        double sum = squares(d->a, whole) + squares(d->b, whole);
        if (!isfinite(sum))
            drop_odd(d->a, d->b, n);
        add_sums(d, whole);
    } else {
        double sum = squares(d->a, whole);
        if (!isfinite(sum)) {
            drop_odd(d->a, d->a, n);
            sum = squares(d->a, whole);
        }
        f->dot += sum;
        f->squares_a += sum;
        f->squares_b += sum;
    }
    f->elements += n;
    d->filled = 0;
    d->unequal = false;
}

/* Puts n elements into the open block, which has room for them. */
static void fill(assay_differ *d, const uint8_t *a, const uint8_t *b, size_t n, bool equal)
{
    const size_t size_a = assay_dtype_size(d->dtype_a), at = d->filled;
    assay_to_double(d->dtype_a, a, n, d->a + at);
    if (!equal && !d->unequal && at > 0) { /* those before were equal */
        memcpy(d->b, d->a, at * sizeof *d->b);
        memset(d->apart, 0, at);
    }
    d->unequal = d->unequal || !equal;
    if (d->unequal)
        assay_to_double(d->dtype_b, b, n, d->b + at);
    for (size_t i = 0; d->unequal && d->dtype_a == d->dtype_b && i < n; i++)
        d->apart[at + i] = !equal && memcmp(a + i * size_a, b + i * size_a, size_a) != 0;
    d->filled += n;
}

void assay_differ_feed(assay_differ *d, const uint8_t *a, const uint8_t *b, uint64_t n)
{
    const size_t size_a = assay_dtype_size(d->dtype_a), size_b = assay_dtype_size(d->dtype_b);
    while (n > 0) {
        const size_t room = ASSAY_DIFF_BLOCK - d->filled, some = n < room ? (size_t)n : room;
        const bool equal = d->dtype_a == d->dtype_b && memcmp(a, b, some * size_a) == 0;
        fill(d, a, b, some, equal);
        if (d->filled == ASSAY_DIFF_BLOCK)
            close_block(d);
        a += some * size_a;
        b += some * size_b;
        n -= some;
    }
}

void assay_differ_end(assay_differ *d)
{
    if (d->filled > 0)
        close_block(d);
}

double assay_diff_cosine(const assay_diff_figures *f)
{
    if (f->unequal == 0 || (f->squares_a == 0 && f->squares_b == 0))
        return 1;
    if (f->squares_a == 0 || f->squares_b == 0)
        return 0;
    const double cosine = f->dot / (sqrt(f->squares_a) * sqrt(f->squares_b));
    return cosine > 1 ? 1 : cosine < -1 ? -1 : cosine;
}
