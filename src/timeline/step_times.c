/* step_times.c - see step_times.h. */
#include "timeline/step_times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"

enum { SECOND = 1000000, LEAST_STEPS = 20, STALL = 10 /* medians */ };

typedef struct lane {      /* the steps of one worker in one mode */
    uint64_t first, count; /* in assay_step_times.step */
    int64_t median;
    double limit;
} lane;

struct assay_step_times {
    const assay_timeline *line;
    const assay_time_step **step; /* [line->steps] by (worker, mode, number, start) */
    lane *lane;                   /* [worker * modes + mode] */
    uint32_t *worker;             /* [workers] of the tensors: that of the timeline; ASSAY_ANY_WORKER: none */
    uint32_t workers;
};

/* ---- workers ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The number that a name ends in, or with `leading` begins with; -1: none, or a longer one than any worker has. */
static int64_t number_in(const char *name, bool leading)
{
    enum { DIGITS_MOST = 9 };
    const size_t length = strlen(name);
    size_t from = length, to = length;
    if (leading)
        for (from = to = 0; is_digit(name[to]); to++)
            ;
    else
        while (from > 0 && is_digit(name[from - 1]))
            from--;
    if (to == from || to - from > DIGITS_MOST)
        return -1;
    return strtoll(name + from, NULL, 10);
}

/* The number of a worker of the timeline: "algo-1-3" and "3-host" are 3. */
static int64_t number_of(const assay_timeline_worker *worker)
{
    return number_in(worker->name, strncmp(worker->name, "algo", 4) != 0);
}

/* The one worker of the timeline with this number. */
static uint32_t find_number(const assay_timeline *line, int64_t number)
{
    uint32_t found = ASSAY_ANY_WORKER;
    for (uint32_t w = 0; w < line->workers; w++) {
        if (number < 0 || number_of(&line->worker[w]) != number)
            continue;
        if (found != ASSAY_ANY_WORKER)
            return ASSAY_ANY_WORKER; /* they are numbers of processes, say */
        found = w;
    }
    return found;
}

static uint32_t find_name(const assay_timeline *line, const char *name)
{
    for (uint32_t w = 0; w < line->workers; w++)
        if (strcmp(line->worker[w].name, name) == 0)
            return w;
    return ASSAY_ANY_WORKER;
}

static void find_workers(assay_step_times *t, const char *const *worker)
{
    bool all = true;
    for (uint32_t w = 0; w < t->workers; w++) {
        t->worker[w] = find_number(t->line, number_in(worker[w], false));
        all = all && t->worker[w] != ASSAY_ANY_WORKER;
    }
    for (uint32_t w = 0; w < t->workers; w++) {
        const uint32_t same = find_name(t->line, worker[w]);
        if (same != ASSAY_ANY_WORKER)
            t->worker[w] = same;
        else if (!all)
            t->worker[w] = t->workers == t->line->workers ? w : ASSAY_ANY_WORKER;
    }
}

/* ---- steps ---- */

static int compare_steps(const void *a, const void *b)
{
    const assay_time_step *x = *(const assay_time_step *const *)a, *y = *(const assay_time_step *const *)b;
    if (x->worker != y->worker)
        return x->worker < y->worker ? -1 : 1;
    if (x->mode != y->mode)
        return x->mode < y->mode ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x > y) - (x < y); /* the timeline has them in order of start */
}

/* Median and limit of the durations. `room` holds as many numbers as there are steps. */
static void measure(const assay_step_times *t, lane *l, int64_t *room)
{
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < l->count; i++) {
        room[i] = t->step[l->first + i]->duration;
        sum += (double)room[i];
    }
    const double mean = sum / (double)l->count;
    for (uint64_t i = 0; i < l->count; i++)
        squares += ((double)room[i] - mean) * ((double)room[i] - mean);
    assay_sort_integers(room, (size_t)l->count);
    l->median = room[(l->count - 1) / 2];
    l->limit = fmax(mean + 3 * sqrt(squares / (double)l->count), 2 * (double)l->median);
}

static int find_lanes(assay_step_times *t)
{
    const assay_timeline *line = t->line;
    int64_t *room = assay_alloc((line->steps + 1) * sizeof *room);
    ASSAY_HAVE(room);
    for (uint64_t i = 0; i < line->steps; i++)
        t->step[i] = &line->step[i];
    if (line->steps > 1)
        qsort(t->step, (size_t)line->steps, sizeof *t->step, compare_steps);
    for (uint64_t first = 0, end; first < line->steps; first = end) {
        const assay_time_step *step = t->step[first];
        for (end = first + 1; end < line->steps && t->step[end]->worker == step->worker;) {
            if (t->step[end]->mode != step->mode)
                break;
            end++;
        }
        lane *l = &t->lane[(size_t)step->worker * line->modes + step->mode];
        *l = (lane){.first = first, .count = end - first};
        measure(t, l, room);
    }
    free(room);
    return ASSAY_OK;
}

assay_step_times *assay_step_times_new(const assay_timeline *line, const char *const *worker, uint32_t workers)
{
    assay_step_times *t = assay_alloc_zeroed(1, sizeof *t);
    if (!t)
        return NULL;
    t->line = line;
    t->workers = workers;
    t->step = assay_alloc_zeroed(line->steps, sizeof *t->step);
    t->lane = assay_alloc_zeroed((size_t)line->workers * line->modes, sizeof *t->lane);
    t->worker = assay_alloc_zeroed(workers, sizeof *t->worker);
    if (!t->step || !t->lane || !t->worker || find_lanes(t) != ASSAY_OK) {
        assay_step_times_free(t);
        return NULL;
    }
    find_workers(t, worker);
    return t;
}

void assay_step_times_free(assay_step_times *t)
{
    if (!t)
        return;
    free((void *)t->step);
    free(t->lane);
    free(t->worker);
    free(t);
}

/* ---- what is asked ---- */

/* The first sample at or behind a time. */
static uint64_t find_sample(const assay_metric_series *s, int64_t time)
{
    uint64_t from = 0;
    ASSAY_SEARCH(from, s->count, s->sample[from].time < time);
    return from;
}

static double value_of(const assay_metric_series *s, uint64_t i)
{
    const double units = s->metric == ASSAY_METRIC_NETWORK ? 1 : (double)s->sample[i].units;
    return (double)s->sample[i].sum / (1e6 * units);
}

/* The mean of the samples in [start, end); without any, the nearest one within a second. */
static double use_of(const assay_metric_series *s, int64_t start, int64_t end)
{
    const uint64_t first = find_sample(s, start), last = find_sample(s, end);
    double sum = 0;
    for (uint64_t i = first; i < last; i++)
        sum += value_of(s, i);
    if (last > first)
        return sum / (double)(last - first);
    const int64_t before = first > 0 ? start - s->sample[first - 1].time : INT64_MAX;
    const int64_t behind = first < s->count ? s->sample[first].time - end : INT64_MAX;
    if (before > SECOND && behind > SECOND)
        return NAN;
    return before <= behind ? value_of(s, first - 1) : value_of(s, first);
}

static const lane *lane_of(const assay_step_times *t, const assay_time_step *step)
{
    return &t->lane[(size_t)step->worker * t->line->modes + step->mode];
}

static void describe(const assay_step_times *t, const assay_time_step *step, assay_step_time *out)
{
    const assay_timeline *line = t->line;
    const assay_timeline_worker *worker = &line->worker[step->worker];
    *out = (assay_step_time){.step = step,
                             .worker = worker->name,
                             .node = line->node[worker->node],
                             .mode = line->mode[step->mode],
                             .median = lane_of(t, step)->median};
    for (int m = 0; m < ASSAY_METRICS; m++)
        out->use[m] = NAN;
    for (uint64_t i = 0; i < line->series_count; i++) {
        const assay_metric_series *s = &line->series[i];
        if (s->node == worker->node && !s->unit[0])
            out->use[s->metric] = use_of(s, step->start, step->start + step->duration);
    }
}

/* The step of a number; of several the first. NULL: there is none. */
static const assay_time_step *find_step(const assay_step_times *t, uint32_t worker, uint32_t mode, int64_t number)
{
    const lane *l = &t->lane[(size_t)worker * t->line->modes + mode];
    uint64_t from = l->first;
    ASSAY_SEARCH(from, l->first + l->count, t->step[from]->number < number);
    return from < l->first + l->count && t->step[from]->number == number ? t->step[from] : NULL;
}

bool assay_step_times_find(const assay_step_times *t, uint32_t worker, const char *mode, int64_t number,
                           assay_step_time *out)
{
    const assay_time_step *longest = NULL;
    const uint32_t only = worker < t->workers ? t->worker[worker] : ASSAY_ANY_WORKER;
    uint32_t m = 0;
    while (m < t->line->modes && strcmp(t->line->mode[m], mode) != 0)
        m++;
    if (m == t->line->modes || number < 0 || (worker != ASSAY_ANY_WORKER && only == ASSAY_ANY_WORKER))
        return false;
    for (uint32_t w = 0; w < t->line->workers; w++) {
        const assay_time_step *step = only == ASSAY_ANY_WORKER || only == w ? find_step(t, w, m, number) : NULL;
        longest = step && (!longest || step->duration > longest->duration) ? step : longest;
    }
    if (longest)
        describe(t, longest, out);
    return longest != NULL;
}

/* How long the worker had done no step when this one began; 0 for its first one. */
static int64_t pause_before(const assay_timeline *line, const assay_time_step *step)
{
    if (step == line->step || step[-1].worker != step->worker)
        return 0;
    return step->start - (step[-1].start + step[-1].duration);
}

bool assay_step_times_slow_before(const assay_step_times *t, const assay_step_time *at, assay_slow_step *out)
{
    const lane *l = lane_of(t, at->step);
    uint64_t back = 0;
    for (const assay_time_step *step = at->step; back <= ASSAY_SLOW_WITHIN; step--) {
        if (step->mode == at->step->mode) {
            const int64_t pause = pause_before(t->line, step);
            const bool slow = back > 0 && l->count >= LEAST_STEPS && (double)step->duration > l->limit;
            const bool stalled = pause > SECOND && pause > STALL * l->median;
            if (slow || stalled) {
                describe(t, step, &out->at);
                out->stalled = !slow;
                out->length = slow ? step->duration : pause;
                out->back = back;
                return true;
            }
            back++;
        }
        if (step == t->line->step || step[-1].worker != step->worker)
            return false;
    }
    return false;
}
