/* strategy.c - applies the strategies after findings, in order, each a limited number of times, within the caps. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "pilot/pilot_internal.h"

static const cJSON *parameter_of(const assay_pilot *pilot, const pilot_strategy *s)
{
    return cJSON_GetObjectItemCaseSensitive(pilot->run_spec, s->parameter);
}

/* Tells whether the strategy would change the parameter; one that would not is passed over without being used up. */
static bool has_effect(const assay_pilot *pilot, const pilot_strategy *s)
{
    const cJSON *old = parameter_of(pilot, s);
    if (!s->multiplies)
        return !cJSON_Compare(old, s->value, true);
    double value = old->valuedouble * s->factor;
    return cJSON_IsNumber(old) && isfinite(value) && value != old->valuedouble && value >= s->least && value <= s->most;
}

const pilot_strategy *pilot_next_strategy(const assay_pilot *pilot)
{
    for (size_t i = 0; i < pilot->strategies; i++) {
        const pilot_strategy *s = &pilot->strategy[i];
        if (pilot_count(pilot, s->counter) < s->times && has_effect(pilot, s))
            return s;
    }
    return NULL;
}

void pilot_put_change(const assay_pilot *pilot, const pilot_strategy *s, assay_buf *out)
{
    const cJSON *old = parameter_of(pilot, s);
    assay_put_format(out, "%s from ", s->parameter);
    pilot_put_json(old, 0, 0, out);
    assay_put_format(out, " to ");
    if (s->multiplies)
        assay_json_put_number(out, old->valuedouble * s->factor);
    else
        pilot_put_json(s->value, 0, 0, out);
}

/* Changes run_spec and counts. ASSAY_ENOMEM leaves all as it was. */
static int pilot_apply(assay_pilot *pilot, const pilot_strategy *s, assay_error *err)
{
    const cJSON *old = parameter_of(pilot, s);
    cJSON *new = s->multiplies ? cJSON_CreateNumber(old->valuedouble * s->factor) : cJSON_Duplicate(s->value, true);
    if (!new || !cJSON_ReplaceItemInObjectCaseSensitive(pilot->run_spec, s->parameter, new)) {
        cJSON_Delete(new);
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", pilot->file);
    }
    pilot_add(pilot, s->counter);
    return ASSAY_OK;
}

/* Every decision tells somebody: an end of the end, a launch of the relaunch. */
void pilot_set_next(assay_pilot *pilot, pilot_action next, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (vsnprintf(pilot->reason, sizeof pilot->reason, format, args) < 0)
        pilot->reason[0] = '\0';
    va_end(args);
    pilot->next_action = next;
    pilot->message = next == PILOT_END ? PILOT_MESSAGE_END : PILOT_MESSAGE_RELAUNCH;
}

/* Strategies before caps: an end says that nothing is left to try where that is so, even at the cap. */
int pilot_plan(assay_pilot *pilot, const char *what, assay_error *err)
{
    const pilot_strategy *s = pilot_next_strategy(pilot);
    if (!s) {
        pilot_set_next(pilot, PILOT_END, "%s; every strategy is used up", what);
        return ASSAY_OK;
    }
    if (pilot_count(pilot, "num_retraining") >= pilot->most_retraining) {
        pilot_set_next(pilot, PILOT_END, "%s; caps.num_retraining is reached", what);
        return ASSAY_OK;
    }
    assay_buf change = ASSAY_BUF(PILOT_REASON);
    pilot_put_change(pilot, s, &change);
    int status = pilot_apply(pilot, s, err);
    if (status == ASSAY_OK)
        pilot_set_next(pilot, PILOT_LAUNCH_NEW, "%s; next: %.*s", what, (int)change.size, (const char *)change.data);
    assay_buf_release(&change);
    return status;
}
