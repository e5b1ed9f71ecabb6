/* compare_json.c - the member "comparison" of report.json. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/forms/forms.h"

static void put_text(const char *key, const char *text, assay_buf *out)
{
    assay_put_format(out, "\"%s\": ", key);
    assay_json_put_text(out, text);
}

static void put_number(const char *key, double value, assay_buf *out)
{
    assay_put_format(out, ", \"%s\": ", key);
    assay_json_put_number(out, value);
}

/* A number that may be missing. */
static void put_some(const char *key, double value, assay_buf *out)
{
    if (isnan(value))
        assay_put_format(out, ", \"%s\": null", key);
    else
        put_number(key, value, out);
}

static void put_start(assay_buf *out, size_t i, const char *indent)
{
    assay_put_format(out, "%s\n%s{", i ? "," : "", indent);
}

static const char *trial_name(const assay_comparison *c, size_t trial)
{
    return c->outcome->trials[trial].trial->name;
}

static const char *rule_name(const assay_comparison *c, size_t rule)
{
    return c->outcome->job->rules[rule]->name;
}

static void put_names(const assay_comparison *c, const char *key, const size_t *number, size_t count,
                      const char *(*name)(const assay_comparison *, size_t), assay_buf *out)
{
    assay_put_format(out, "\"%s\": [", key);
    for (size_t i = 0; i < count; i++) {
        assay_put_format(out, i ? ", " : "");
        assay_json_put_text(out, name(c, number[i]));
    }
    assay_put_u8(out, ']');
}

/* Each rule's status in each trial. */
static void put_rules(const assay_comparison *c, assay_buf *out)
{
    assay_put_format(out, "\"rules\": [");
    for (size_t i = 0; i < c->outcome->job->rule_count; i++) {
        put_start(out, i, "   ");
        put_text("name", rule_name(c, i), out);
        assay_put_format(out, ", \"trials\": [");
        for (size_t t = 0; t < c->trials; t++) {
            report_rule rule = report_rule_of(c->outcome, &c->outcome->trials[t], i, false);
            const assay_finding *first = report_first(&rule);
            put_start(out, t, "     ");
            put_text("trial", trial_name(c, t), out);
            assay_put_format(out, ", \"status\": \"%s\", \"findings_total\": %" PRIu64 ", \"first_step\": ",
                             assay_verdict_status_name(rule.status), report_findings_total(&rule));
            if (first && first->time)
                assay_put_format(out, "null, \"first_time_us\": %" PRId64 "}", first->step);
            else if (first)
                assay_put_format(out, "%" PRId64 "}", first->step);
            else
                assay_put_format(out, "null}");
        }
        assay_put_format(out, "]}");
    }
    assay_put_format(out, "]");
}

static void put_first(const assay_comparison *c, size_t trial, assay_buf *out)
{
    const assay_compared_trial *t = &c->trial[trial];
    const assay_trial *info = c->outcome->trials[trial].info;
    if (!t->first || !info) {
        assay_put_format(out, "null");
        return;
    }
    const assay_step_info *step = report_finding_step(info, t->first);
    assay_put_u8(out, '{');
    put_text("rule", rule_name(c, t->first_rule), out);
    if (t->first->time)
        assay_put_format(out, ", \"time_us\": %" PRId64 ", ", t->first->step);
    else
        assay_put_format(out, ", \"step\": %" PRId64 ", \"mode\": \"%s\", \"mode_step\": %" PRId64 ", ", t->first->step,
                         step ? assay_mode_name(step->mode) : "", step ? step->mode_step : -1);
    put_text("worker", report_finding_worker(info, t->first), out);
    assay_put_format(out, ", ");
    put_text("tensor", report_finding_tensor(info, t->first), out);
    put_number("value", t->first->value, out);
    put_number("threshold", t->first->threshold, out);
    assay_put_u8(out, '}');
}

/* What a tensor is at the step where it parts: a dtype by name, a shape by its axes. */
static void put_own(const char *key, const assay_compared_tensor *one, double value, const assay_curves *curves,
                    assay_buf *out)
{
    if (one->parting == ASSAY_PARTS_DTYPE) {
        assay_put_format(out, ", \"%s\": \"%s\"", key, assay_dtype_name((int)value));
    } else if (one->parting == ASSAY_PARTS_SHAPE) {
        assay_put_format(out, ", \"%s\": ", key);
        assay_curves_put_shape(curves, (int64_t)value, out);
    } else {
        put_number(key, value, out);
    }
}

static void put_tensor(const assay_comparison *c, size_t trial, const assay_compared_tensor *one,
                       const assay_curves *own, const assay_curves *base, assay_buf *out)
{
    put_text("tensor", assay_trial_tensor(c->outcome->trials[trial].info, one->tensor), out);
    assay_put_format(
        out,
        ", \"step\": %" PRId64 ", \"mode\": \"%s\", \"mode_step\": %" PRId64 ", \"parts\": \"%s\", \"what\": \"%s\"",
        one->step, assay_mode_name(one->mode), one->mode_step, assay_first_difference_word(one->parting), one->what);
    put_own("value", one, one->own, own, out);
    put_own("baseline", one, one->other, base, out);
    if (one->parting == ASSAY_PARTS_VALUE)
        put_number("difference", one->difference, out);
    put_number("largest_difference", one->most, out);
    assay_put_format(out, ", \"largest_mode_step\": %" PRId64 ", \"common_steps\": %zu", one->most_mode_step,
                     one->common);
    put_number("last_norm", one->last_norm, out);
    put_number("last_norm_baseline", one->last_other_norm, out);
    assay_put_u8(out, '}');
}

static void put_tensors(const assay_comparison *c, size_t trial, const assay_curves *base, assay_buf *out)
{
    const assay_compared_trial *t = &c->trial[trial];
    const assay_implicit_outcome *kept = c->outcome->trials[trial].implicit;
    /* Only the names of shapes are needed: not the points. */
    const assay_common_state *state = kept ? kept[ASSAY_IMPLICIT_TENSORS].state : NULL;
    const assay_curves own = {.shapes = state ? state->counter : NULL};
    assay_put_format(out,
                     ",\n    \"tensors\": {\"compared\": %zu, \"parted\": %zu, \"different_from_start\": %zu, "
                     "\"without_common_steps\": %zu, "
                     "\"only_here\": %zu, \"only_in_baseline\": %zu, \"first\": [",
                     t->compared, t->parted, t->from_start, t->disjoint, t->only_own, t->only_baseline);
    for (size_t i = 0; i < t->tensors; i++) {
        put_start(out, i, "     ");
        put_tensor(c, trial, &t->tensor[i], &own, base, out);
    }
    assay_put_format(out, "]}");
}

static void put_every(const char *key, const uint64_t *every, assay_buf *out)
{
    bool any = false;
    assay_put_format(out, "\"%s\": {", key);
    for (int m = ASSAY_MODE_TRAIN; m < ASSAY_MODES; m++) {
        if (every[m] <= 1)
            continue;
        assay_put_format(out, "%s\"%s\": %" PRIu64, any ? ", " : "", assay_mode_name(m), every[m]);
        any = true;
    }
    assay_put_format(out, "}, ");
}

/* What was not looked at in a trial. */
static void put_bounds(const assay_compared_trial *t, assay_buf *out)
{
    assay_put_format(out, ",\n    ");
    put_every("every", t->every, out);
    put_every("losses_every", t->losses_every, out);
    assay_put_format(out, "\"tensors_left_out\": %" PRIu64 ", \"tensors_unseen\": %" PRIu64, t->left_out, t->unseen);
}

static void put_trials(const assay_comparison *c, assay_buf *out)
{
    const assay_implicit_outcome *kept = c->outcome->trials[c->baseline].implicit;
    const assay_common_state *state = kept ? kept[ASSAY_IMPLICIT_TENSORS].state : NULL;
    const assay_curves base = {.shapes = state ? state->counter : NULL};
    assay_put_format(out, ",\n  \"trials\": [");
    for (size_t t = 0; t < c->trials; t++) {
        put_start(out, t, "   ");
        put_text("name", trial_name(c, t), out);
        assay_put_format(out, ", \"group\": %zu, \"rules_with_findings\": %zu, \"first\": ", c->trial[t].group,
                         c->trial[t].rules_with_findings);
        put_first(c, t, out);
        report_put_score("score", &c->trial[t].score, out);
        put_bounds(&c->trial[t], out);
        if (t != c->baseline)
            put_tensors(c, t, &base, out);
        assay_put_u8(out, '}');
    }
    assay_put_format(out, "],\n  \"groups\": [");
    for (size_t g = 0; g < c->groups; g++) {
        put_start(out, g, "   ");
        put_text("kind", assay_group_kind_word(c->group[g].kind), out);
        assay_put_format(out, ", ");
        put_names(c, "rules", c->group[g].rule, c->group[g].rules, rule_name, out);
        assay_put_format(out, ", ");
        put_names(c, "trials", c->group[g].trial, c->group[g].trials, trial_name, out);
        assay_put_u8(out, '}');
    }
    assay_put_format(out, "]");
}

static void put_loss(const assay_comparison *c, const assay_compared_loss *loss, assay_buf *out)
{
    size_t shown = 0;
    put_text("tensor", loss->tensor, out);
    assay_put_format(out, ", \"mode\": \"%s\", \"from\": ", assay_mode_name(loss->mode));
    if (loss->from <= loss->to)
        assay_put_format(out, "%" PRId64 ", \"to\": %" PRId64, loss->from, loss->to);
    else
        assay_put_format(out, "null, \"to\": null");
    assay_put_format(out, ", \"common_steps\": %zu, \"mode_steps\": [", loss->common);
    for (size_t s = 0; s < loss->steps; s++)
        assay_put_format(out, "%s%" PRId64, s ? ", " : "", loss->step[s]);
    assay_put_format(out, "], \"trials\": [");
    for (size_t t = 0; t < c->trials; t++) {
        const assay_loss_figures *f = &loss->figures[t];
        if (f->points == 0)
            continue;
        put_start(out, shown++, "    ");
        put_text("trial", trial_name(c, t), out);
        assay_put_format(out, ", \"points\": %zu", f->points);
        put_number("best", f->best, out);
        assay_put_format(out, ", \"best_mode_step\": %" PRId64, f->best_mode_step);
        put_number("last", f->last, out);
        assay_put_format(out, ", \"last_mode_step\": %" PRId64, f->last_mode_step);
        if (loss->from <= loss->to)
            put_number("area", f->area, out);
        else
            assay_put_format(out, ", \"area\": null");
        assay_put_format(out, ", \"values\": [");
        for (size_t s = 0; s < loss->steps; s++) {
            assay_put_format(out, s ? ", " : "");
            assay_json_put_number(out, loss->value[t * loss->steps + s]);
        }
        assay_put_format(out, "]}");
    }
    assay_put_format(out, "]}");
}

static void put_class_list(const assay_comparison *c, const assay_compared_classes *list, assay_buf *out)
{
    put_text("name", c->outcome->job->aggregations[list->aggregation]->name, out);
    assay_put_format(out, ", \"classes_left_out\": %zu, \"classes\": [", list->classes_left_out);
    for (size_t i = 0; i < list->classes; i++)
        assay_put_format(out, "%s%" PRId64, i ? ", " : "", list->class[i]);
    assay_put_format(out, "], \"trials\": [");
    for (size_t t = 0; t < c->trials; t++) {
        put_start(out, t, "    ");
        put_text("trial", trial_name(c, t), out);
        put_some("samples", list->samples[t], out);
        put_some(list->confusion ? "accuracy" : "imbalance", list->figure[t], out);
        assay_put_format(out, ", \"%s\": [", list->confusion ? "recall" : "counts");
        for (size_t i = 0; i < list->classes; i++) {
            double value = list->value[t * list->classes + i];
            assay_put_format(out, i ? ", " : "");
            if (isnan(value))
                assay_put_format(out, "null");
            else
                assay_json_put_number(out, value);
        }
        assay_put_format(out, "]}");
    }
    assay_put_format(out, "]}");
}

static void put_classes(const assay_comparison *c, bool confusion, assay_buf *out)
{
    size_t shown = 0;
    assay_put_format(out, ",\n  \"%s\": [", confusion ? "confusion" : "class_counts");
    for (size_t i = 0; i < c->class_lists; i++) {
        if (c->classes[i].confusion != confusion)
            continue;
        put_start(out, shown++, "   ");
        put_class_list(c, &c->classes[i], out);
    }
    assay_put_format(out, "]");
}

static void put_outliers(const assay_comparison *c, assay_buf *out)
{
    assay_put_format(out, ",\n  \"outliers\": [");
    for (size_t i = 0; i < c->outliers; i++) {
        const assay_outlier *o = &c->outlier[i];
        put_start(out, i, "   ");
        put_text("trial", trial_name(c, o->trial), out);
        assay_put_format(out, ", ");
        put_text("what", o->what, out);
        put_number("value", o->value, out);
        put_number("median", o->median, out);
        put_number("median_deviation", o->deviation, out);
        put_number("score", o->score, out);
        assay_put_u8(out, '}');
    }
    assay_put_format(out, "]");
}

/* The trials that are unlike the others, each with its reasons. */
static void put_odd(const assay_comparison *c, assay_buf *out)
{
    size_t said = 0;
    assay_put_format(out, ",\n  \"odd\": [");
    for (size_t t = 0; t < c->trials; t++) {
        const assay_compared_trial *trial = &c->trial[t];
        if (!trial->odd)
            continue;
        put_start(out, said++, "   ");
        put_text("trial", trial_name(c, t), out);
        assay_put_format(out, ", \"reasons\": [");
        for (size_t i = 0; i < trial->reasons; i++) {
            assay_put_format(out, i ? ", " : "");
            assay_json_put_text(out, trial->reason[i]);
        }
        assay_put_format(out, "]}");
    }
    assay_put_format(out, "]");
}

/* The facts in which the runs differ, beside one another. */
static void put_settings(const assay_comparison *c, assay_buf *out)
{
    assay_put_format(out, ",\n  \"settings\": [");
    for (size_t i = 0; i < c->settings; i++) {
        const assay_compared_setting *s = &c->setting[i];
        put_start(out, i, "   ");
        put_text("name", s->name, out);
        assay_put_format(out, ", \"goes_with_the_odd\": %s, \"values\": [", s->goes ? "true" : "false");
        for (size_t t = 0; t < c->trials; t++) {
            assay_put_format(out, t ? ", " : "");
            if (s->value[t])
                assay_json_put_text(out, s->value[t]);
            else
                assay_put_format(out, "null");
        }
        assay_put_format(out, "]}");
    }
    assay_put_format(out, "]");
}

/* Of trials with profiler data: how fast they were and how busy their machines. */
static void put_paces(const assay_comparison *c, assay_buf *out)
{
    size_t said = 0;
    if (c->paces == 0)
        return;
    assay_put_format(out, ",\n  \"paces\": [");
    for (size_t t = 0; t < c->trials; t++) {
        const assay_compared_pace *pace = &c->trial[t].pace;
        if (!compare_has_pace(c, t))
            continue;
        put_start(out, said++, "   ");
        put_text("trial", trial_name(c, t), out);
        assay_put_format(out, ", ");
        put_text("mode", pace->mode ? pace->mode : "", out);
        assay_put_format(out, ", \"steps\": %" PRIu64, pace->steps);
        put_some("median_s", pace->median, out);
        put_some("p99_s", pace->p99, out);
        put_some("between_percent", pace->between, out);
        for (int m = 0; m < ASSAY_METRICS; m++)
            put_some(assay_metric_word(m), pace->use[m], out);
        assay_put_u8(out, '}');
    }
    assay_put_format(out, "]");
}

void report_put_comparison_json(const assay_comparison *c, assay_buf *out)
{
    assay_put_format(out, " \"comparison\": {");
    put_text("answer", c->answer, out);
    put_odd(c, out);
    put_settings(c, out);
    assay_put_format(out, ",\n  ");
    put_text("baseline", trial_name(c, c->baseline), out);
    put_number("tolerance", c->tolerance, out);
    assay_put_format(out, ",\n  ");
    put_rules(c, out);
    put_trials(c, out);
    assay_put_format(out, ",\n  \"losses_left_out\": %zu, \"losses\": [", c->losses_left_out);
    for (size_t i = 0; i < c->losses; i++) {
        put_start(out, i, "   ");
        put_loss(c, &c->loss[i], out);
    }
    assay_put_format(out, "]");
    put_classes(c, false, out);
    put_classes(c, true, out);
    put_outliers(c, out);
    put_paces(c, out);
    assay_put_format(out, "},\n");
}
