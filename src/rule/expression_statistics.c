/* expression_statistics.c - the statistics that an expression can use. */
#include "rule/expression.h"

#include <math.h>
#include <string.h>

enum { NO_REDUCTION = -1 };

static double count_of(const assay_stats *s)
{
    return (double)s->count;
}

static double nan_of(const assay_stats *s)
{
    return (double)s->nan;
}

static double inf_of(const assay_stats *s)
{
    return (double)(s->pos_inf + s->neg_inf);
}

static double zeros_of(const assay_stats *s)
{
    return (double)s->zeros;
}

static double sum_of(const assay_stats *s)
{
    return s->sum;
}

static double update_l2(const assay_change *c)
{
    return sqrt(c->squares);
}

/* NaN where any difference is, as of two NaN or of two infinities: `largest` takes such a pair for equal. An infinity
 * minus itself is NaN, which the largest difference would pass over. */
static double update_max(const assay_change *c)
{
    return isnan(c->squares) ? c->squares : c->largest;
}

static double update_ratio(const assay_change *c)
{
    return sqrt(c->squares) / sqrt(c->reference_squares);
}

/* Either taken from the statistics of the pass, or from the comparison with the saved step before. `reduction` names
 * the saved reduction that serves where the tensor itself was not saved. */
static const struct statistic {
    const char *name;
    double (*of)(const assay_stats *);
    double (*of_change)(const assay_change *);
    int reduction;
} STATISTICS[] = {
    {"abs_max", assay_stats_abs_max, NULL, ASSAY_ABS + ASSAY_MAX},
    {"abs_mean", assay_stats_abs_mean, NULL, ASSAY_ABS_MEAN},
    {"count", count_of, NULL, NO_REDUCTION},
    {"inf", inf_of, NULL, NO_REDUCTION},
    {"l1", assay_stats_l1, NULL, ASSAY_L1},
    {"l2", assay_stats_l2, NULL, ASSAY_L2},
    {"max", assay_stats_max, NULL, ASSAY_MAX},
    {"mean", assay_stats_mean, NULL, ASSAY_MEAN},
    {"min", assay_stats_min, NULL, ASSAY_MIN},
    {"nan", nan_of, NULL, NO_REDUCTION},
    {"std", assay_stats_std, NULL, ASSAY_STD},
    {"sum", sum_of, NULL, ASSAY_SUM},
    {"update_l2", NULL, update_l2, NO_REDUCTION},
    {"update_max", NULL, update_max, NO_REDUCTION},
    {"update_ratio", NULL, update_ratio, NO_REDUCTION},
    {"variance", assay_stats_variance, NULL, ASSAY_VARIANCE},
    {"zeros", zeros_of, NULL, NO_REDUCTION},
};
enum { STATISTIC_COUNT = sizeof STATISTICS / sizeof *STATISTICS };

int assay_expression_statistic(const char *word, size_t length)
{
    for (int i = 0; i < STATISTIC_COUNT; i++)
        if (strlen(STATISTICS[i].name) == length && memcmp(STATISTICS[i].name, word, length) == 0)
            return i;
    return -1;
}

const char *assay_expression_statistic_name(int statistic)
{
    return statistic >= 0 && statistic < STATISTIC_COUNT ? STATISTICS[statistic].name : NULL;
}

int assay_expression_reduction(int statistic)
{
    return STATISTICS[statistic].reduction;
}

bool assay_expression_is_update(int statistic)
{
    return STATISTICS[statistic].of_change != NULL;
}

bool assay_expression_figure(int statistic, const assay_tensor_view *item, const assay_result *change, double *out)
{
    const struct statistic *s = &STATISTICS[statistic];
    if (s->of_change) {
        /* A change needs a saved step before, of the same shape. */
        if (!change || !change->of.change.found || !change->of.change.same_shape)
            return false;
        *out = s->of_change(&change->of.change);
        return true;
    }
    if (assay_view_has_values(item)) {
        *out = s->of(item->stats);
        return true;
    }
    /* dtype >= 0: the values are there, and gave no figure. */
    if (item->dtype >= 0 || s->reduction < 0 || !(item->reductions & 1u << s->reduction))
        return false;
    *out = item->reduction[s->reduction];
    return true;
}
