/* step_outlier.c - StepOutlier: some steps took far longer than the rest.
 *
 * Per worker and mode, and slice in which a step begins, once more than 100 have begun: steps that lasted longer than
 * the mean by more than `stddev` standard deviations are outliers. Fires when there are more than `n_outliers`. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <assay/search.h>

#include "timed.h"

enum { LEAST_STEPS = 100 };

static const assay_param_def params[] = {STEP_OUTLIER_PARAMS(TIMED_OWN){0}};

/* The steps of one worker and mode, in order of time. */
typedef struct course {
    const assay_time_step **step;
    uint64_t count;
    int64_t *duration; /* ascending, each once */
    uint64_t durations;
    uint64_t *tree; /* [durations + 1] how many steps have a duration: prefix sums, halved again and again */
    uint64_t n;     /* steps so far */
    unsigned __int128 sum, squares;
    uint64_t order;
} course;

/* The place of a duration that the list has. */
static uint64_t place_of(const course *c, int64_t duration)
{
    const int64_t *at = c->duration;
    for (uint64_t rest = c->durations; rest > 1;) {
        const uint64_t half = rest / 2;
        at += at[half] <= duration ? half : 0;
        rest -= half;
    }
    return (uint64_t)(at - c->duration);
}

static void add_step(course *c, const assay_time_step *step)
{
    const uint64_t d = (uint64_t)step->duration;
    for (uint64_t i = place_of(c, step->duration) + 1; i <= c->durations; i += i & (~i + 1))
        c->tree[i]++;
    c->n++;
    c->sum += d;
    c->squares += (unsigned __int128)d * d;
}

/* How many steps so far lasted longer than the limit. */
static uint64_t count_above(const course *c, double limit)
{
    uint64_t low = 0, within = 0;
    ASSAY_SEARCH(low, c->durations, !((double)c->duration[low] > limit));
    for (uint64_t i = low; i > 0; i -= i & (~i + 1))
        within += c->tree[i];
    return c->n - within;
}

static double limit_of(const course *c, double deviations)
{
    const double n = (double)c->n;
    const double spread = sqrt((double)(c->n * c->squares - c->sum * c->sum)) / n;
    return (double)c->sum / n + deviations * spread;
}

static void put_details(timed *t, const course *c, double limit)
{
    assay_buf *out = &t->details;
    bool any = false;
    assay_put_format(out, out->size > strlen("{\"steps\": [") ? ", {\"worker\": " : "{\"worker\": ");
    assay_json_put_text(out, t->line->worker[c->step[0]->worker].name);
    assay_put_format(out, ", \"mode\": ");
    assay_json_put_text(out, t->line->mode[c->step[0]->mode]);
    assay_put_format(out, ", \"n\": %" PRIu64 ", \"outliers\": %" PRIu64 ", \"limit_us\": ", c->n,
                     count_above(c, limit));
    assay_json_put_number(out, limit);
    assay_put_format(out, ", \"step_numbers\": [");
    for (uint64_t i = 0; i < c->count; i++)
        if ((double)c->step[i]->duration > limit) {
            assay_put_format(out, "%s%" PRId64, any ? ", " : "", c->step[i]->number);
            any = true;
        }
    assay_put_format(out, "]}");
}

static void test_course(timed *t, course *c)
{
    const double deviations = timed_real(t, "stddev");
    const int64_t most = timed_int(t, "n_outliers");
    while (c->n < c->count) {
        const int64_t slice = timed_slice(t, c->step[c->n]->start);
        const int64_t end = timed_slice_end(t, slice);
        while (c->n < c->count && c->step[c->n]->start < end)
            add_step(c, c->step[c->n]);
        if (c->n <= LEAST_STEPS)
            continue;
        const double limit = limit_of(c, deviations);
        const uint64_t outliers = count_above(c, limit);
        const bool fired = outliers > (uint64_t)most;
        const timed_finding finding = {.time = timed_slice_end(t, slice),
                                       .slice = slice,
                                       .order = c->order,
                                       .worker = t->line->worker[c->step[0]->worker].name,
                                       .unit = t->line->mode[c->step[0]->mode],
                                       .value = (double)outliers,
                                       .threshold = (double)most,
                                       .extra = fired ? timed_extra(t, ", \"limit_us\": %.17g", limit) : NULL};
        timed_test(t, fired, &finding);
    }
    if (c->n > LEAST_STEPS)
        put_details(t, c, limit_of(c, deviations));
}

/* The steps [first, end) of a worker, those of one mode. */
static void evaluate_mode(timed *t, uint64_t first, uint64_t end, uint32_t mode)
{
    course c = {.order = (uint64_t)t->line->step[first].worker * t->line->modes + mode};
    c.step = timed_alloc(t, end - first, sizeof *c.step);
    c.duration = timed_alloc(t, end - first, sizeof *c.duration);
    c.tree = timed_alloc(t, end - first + 1, sizeof *c.tree);
    for (uint64_t i = first; t->status == ASSAY_OK && i < end; i++) {
        const assay_time_step *step = &t->line->step[i];
        if (step->mode != mode || !timed_sees_time(t, step->start))
            continue;
        c.duration[c.count] = step->duration;
        c.step[c.count++] = step;
    }
    t->samples += c.count;
    if (c.count > 0) {
        assay_sort_integers(c.duration, (size_t)c.count);
        for (uint64_t i = 0; i < c.count; i++)
            if (i == 0 || c.duration[i] != c.duration[i - 1])
                c.duration[c.durations++] = c.duration[i];
        test_course(t, &c);
    }
    free(c.step);
    free(c.duration);
    free(c.tree);
}

void step_outlier_evaluate(timed *t)
{
    const assay_timeline *line = t->line;
    const char *mode = timed_text(t, "mode");
    assay_put_format(&t->details, "{\"steps\": [");
    for (uint64_t first = 0, end; first < line->steps; first = end) {
        const uint32_t worker = line->step[first].worker;
        for (end = first; end < line->steps && line->step[end].worker == worker;)
            end++;
        for (uint32_t m = 0; m < line->modes && timed_sees_worker(t, worker); m++)
            if (!mode || strcmp(mode, line->mode[m]) == 0)
                evaluate_mode(t, first, end, m);
    }
    assay_put_format(&t->details, "]}");
}

TIMED_FINALIZE(step_outlier_evaluate)

const assay_rule_ops assay_rule_step_outlier = {
    ASSAY_RULE_HEAD,
    .name = "StepOutlier",
    .summary = "Some steps took far longer than the rest.",
    .advice = "See what ran at those times: I/O, checkpoints, other processes.",
    .value_units = ASSAY_TEXTS("outlier step(s)"),
    .sentences = ASSAY_TEXTS("{value} {tensor} step(s){of} took far longer than the rest by {when}"),
    .params = params,
    TIMED_RULE_STATE,
    .finalize = finalize,
};
