/* hardware.c - what the hardware did at the steps of findings: how long the step took, and how busy its machine was. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/model/profile.h"

/* Found by mode and the mode's own number, which is what a profiler counts. */
bool report_find_hardware(const assay_trial *info, const assay_finding *finding, assay_step_time *out)
{
    if (!info || !info->step_times || finding->time)
        return false;
    const assay_step_info *step = report_finding_step(info, finding);
    /* A finding of all workers gets any one's step. */
    const uint32_t worker = finding->worker < assay_trial_workers(info) ? finding->worker : ASSAY_ANY_WORKER;
    return step && assay_step_times_find(info->step_times, worker, assay_mode_name(step->mode), step->mode_step, out);
}

static void put_seconds(int64_t microseconds, assay_buf *out)
{
    assay_put_format(out, "%.3g s", (double)microseconds / 1e6);
}

/* "3.1 MB/s" or "12 %". */
static void put_use(int metric, double value, assay_buf *out)
{
    static const char *const units[] = {"B/s", "kB/s", "MB/s", "GB/s"};
    size_t unit = 0;
    for (; metric == ASSAY_METRIC_NETWORK && value >= 1000 && unit < 3; unit++)
        value /= 1000;
    assay_put_format(out, "%.3g %s", value, metric == ASSAY_METRIC_NETWORK ? units[unit] : "%");
}

void report_put_hardware(const assay_step_time *at, int metrics, assay_buf *out)
{
    /* What tells most stands first. */
    static const int order[ASSAY_METRICS] = {ASSAY_METRIC_GPU,     ASSAY_METRIC_CPU,    ASSAY_METRIC_GPU_MEMORY,
                                             ASSAY_METRIC_IO_WAIT, ASSAY_METRIC_MEMORY, ASSAY_METRIC_NETWORK};
    put_seconds(at->step->duration, out);
    assay_put_format(out, " (median ");
    put_seconds(at->median, out);
    assay_put_format(out, ")");
    for (int i = 0; i < ASSAY_METRICS && metrics > 0; i++) {
        if (isnan(at->use[order[i]]))
            continue;
        metrics--;
        assay_put_format(out, ", %s ", profile_metric_name(order[i]));
        put_use(order[i], at->use[order[i]], out);
    }
}

/* Puts the members that both objects have. */
static void put_members(const assay_step_time *at, assay_buf *out)
{
    assay_put_format(out, "\"worker\": ");
    assay_json_put_text(out, at->worker);
    assay_put_format(out, ", \"node\": ");
    assay_json_put_text(out, at->node);
    assay_put_format(
        out, ", \"start_us\": %" PRId64 ", \"duration_us\": %" PRId64 ", \"median_us\": %" PRId64 ", \"use\": {",
        at->step->start, at->step->duration, at->median);
    bool any = false;
    for (int m = 0; m < ASSAY_METRICS; m++) {
        if (isnan(at->use[m]))
            continue;
        assay_put_format(out, "%s\"%s\": ", any ? ", " : "", assay_metric_word(m));
        assay_json_put_number(out, at->use[m]);
        any = true;
    }
    assay_put_u8(out, '}');
}

void report_put_hardware_json(const assay_step_time *at, assay_buf *out)
{
    assay_put_u8(out, '{');
    put_members(at, out);
    assay_put_u8(out, '}');
}

/* ---- what was slow before ---- */

static uint32_t find_worker(const assay_trial *info, const char *name)
{
    for (uint32_t w = 0; name && w < assay_trial_workers(info); w++)
        if (strcmp(assay_trial_worker(info, w), name) == 0)
            return w;
    return ASSAY_ANY_WORKER;
}

/* Finds the step of the first cause that a rule gave. Where no worker is named, the first of the bad ones stands for
 * all. */
static bool find_cause_step(const assay_trial *info, const cJSON *cause, assay_step_time *out)
{
    const char *worker = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(cause, "worker"));
    const char *mode = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(cause, "mode"));
    const double number = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(cause, "mode_step"));
    if (!worker)
        worker = cJSON_GetStringValue(cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(cause, "workers"), 0));
    return mode && number >= 0 &&
           assay_step_times_find(info->step_times, find_worker(info, worker), mode, (int64_t)number, out);
}

bool report_find_slow_before(const assay_trial *info, const report_rule *rule, assay_slow_step *out)
{
    const assay_finding *first = report_first(rule);
    cJSON *members = NULL;
    assay_step_time at;
    if (!info || !info->step_times || !first || first->time)
        return false;
    const cJSON *cause = report_first_cause(rule, &members);
    const bool known = cause ? find_cause_step(info, cause, &at) : report_find_hardware(info, first, &at);
    cJSON_Delete(members);
    return known && assay_step_times_slow_before(info->step_times, &at, out);
}

void report_put_slow(const assay_slow_step *slow, assay_buf *out)
{
    assay_put_bytes(out, slow->at.worker, strlen(slow->at.worker));
    assay_put_format(out, slow->stalled ? " stood still for " : " took ");
    put_seconds(slow->length, out);
    assay_put_format(out, " %s %s step %" PRId64, slow->stalled ? "before" : "for", slow->at.mode,
                     slow->at.step->number);
    if (slow->back > 0)
        assay_put_format(out, ", %" PRIu64 " step%s earlier", slow->back, assay_plural(slow->back));
    assay_put_format(out, " (median step ");
    put_seconds(slow->at.median, out);
    assay_put_format(out, ")");
}

void report_put_slow_json(const assay_slow_step *slow, assay_buf *out)
{
    assay_put_format(out, "{\"kind\": \"%s\", \"length_us\": %" PRId64 ", \"steps_before\": %" PRIu64 ", \"mode\": ",
                     slow->stalled ? "stall" : "outlier", slow->length, slow->back);
    assay_json_put_text(out, slow->at.mode);
    assay_put_format(out, ", \"number\": %" PRId64 ", ", slow->at.step->number);
    put_members(&slow->at, out);
    assay_put_u8(out, '}');
}
