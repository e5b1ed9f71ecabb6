/* holes.c - steps that no worker wrote, though nearly all others come at one distance.
 *
 * The distance is the one of nearly all steps of training (of the mode that has most steps, where there are none of
 * training). Between the first and the last of these, steps of any mode that are farther apart have a hole between
 * them. Where steps come at no such distance, nobody can tell. */
#include <inttypes.h>

#include "report/model/report_model.h"
#include "rule/trial_info.h"

enum { DISTANCES_LEAST = 20, ODD_MOST = 20 /* one of so many distances may be another */, SHOWN = 3 };

static int mode_of_most(const assay_trial *info)
{
    int most = ASSAY_MODE_TRAIN;
    for (int mode = ASSAY_MODE_NONE; mode < ASSAY_MODES && assay_trial_mode_steps(info, ASSAY_MODE_TRAIN) == 0; mode++)
        if (assay_trial_mode_steps(info, mode) > assay_trial_mode_steps(info, most))
            most = mode;
    return most;
}

/* Steps of one mode: the distance that nearly all neighbours have, and where the first and the last one stands. */
typedef struct course {
    int mode;
    int64_t distance;
    uint64_t first, last;
} course;

/* Counts the neighbours that are out->distance apart (0: that of the first two). True where those are nearly all. */
static bool count_course(const assay_trial *info, course *out)
{
    uint64_t distances = 0, same = 0;
    int64_t before = 0;
    bool any = false;
    for (uint64_t i = 0; i < info->step_count; i++) {
        const assay_step_info *step = &info->steps[i];
        const int64_t distance = step->step - before;
        if (step->mode != out->mode || (any && distance == 0))
            continue;
        if (any) {
            out->distance = out->distance ? out->distance : distance;
            distances++;
            same += distance == out->distance;
        } else {
            out->first = i;
        }
        any = true;
        before = step->step;
        out->last = i;
    }
    return distances >= DISTANCES_LEAST && (distances - same) * ODD_MOST <= distances;
}

/* Finds the distance that most neighbours have, if most have one: each other distance takes away one vote, so only a
 * majority is left at the end. count_course() checks it. */
static int64_t distance_of_most(const assay_trial *info, int mode)
{
    int64_t before = 0, most = 0;
    uint64_t lead = 0;
    bool any = false;
    for (uint64_t i = 0; i < info->step_count; i++) {
        const int64_t distance = info->steps[i].step - before;
        if (info->steps[i].mode != mode || (any && distance == 0))
            continue;
        if (any) {
            most = lead > 0 ? most : distance;
            lead = distance == most ? lead + 1 : lead - 1;
        }
        any = true;
        before = info->steps[i].step;
    }
    return most;
}

static bool find_course(const assay_trial *info, int mode, course *out)
{
    *out = (course){.mode = mode, .first = info->step_count};
    if (count_course(info, out)) /* as a rule the first two are as far apart as all others */
        return true;
    out->distance = distance_of_most(info, mode);
    return count_course(info, out);
}

/* Tells whether steps go on alike behind a hole in front of step i: whether the hole is some whole distances wide,
 * and the next step behind it one more away. Where the schedule changes, or counting began anew, nothing is missing. */
static bool goes_on_alike(const assay_trial *info, const course *c, uint64_t i)
{
    int64_t before = -1, next = -1, last = -1;
    for (uint64_t k = i; k-- > c->first && before < 0;)
        before = assay_trial_step(info, k)->mode == c->mode ? assay_trial_step(info, k)->step : before;
    before = before < 0 ? assay_trial_step(info, c->first)->step : before;
    for (uint64_t k = i; k <= c->last && last < 0; k++) {
        if (assay_trial_step(info, k)->mode != c->mode)
            continue;
        if (next < 0)
            next = assay_trial_step(info, k)->step;
        else if (assay_trial_step(info, k)->step > next)
            last = assay_trial_step(info, k)->step;
    }
    return last >= 0 && (next - before) % c->distance == 0 && last - next == c->distance;
}

/* With `out` NULL it only tells whether there are any. */
bool report_put_holes(const assay_trial *info, assay_buf *out)
{
    course c;
    uint64_t holes = 0;
    if (!find_course(info, mode_of_most(info), &c))
        return false;
    for (uint64_t i = c.first + 1; i <= c.last; i++) {
        const int64_t before = info->steps[i - 1].step, next = info->steps[i].step;
        if (next - before <= c.distance || !goes_on_alike(info, &c, i))
            continue;
        if (holes++ < SHOWN && out)
            assay_put_format(out, "%s%" PRId64 " and %" PRId64, holes == 1 ? "No step was written between " : ", ",
                             before, next);
    }
    if (holes > SHOWN && out)
        assay_put_format(out, " and at %" PRIu64 " more places", holes - SHOWN);
    if (holes > 0 && out)
        assay_put_format(out, "; nearly all others are %" PRId64 " apart", c.distance);
    return holes > 0;
}
