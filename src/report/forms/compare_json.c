/* compare_json.c - the member "comparison" of report.json. */
#include "report/forms/forms.h"

static const char *trial_name(const assay_comparison *c, size_t trial)
{
    return c->outcome->trials[trial].trial->name;
}

static const char *rule_name(const assay_comparison *c, size_t rule)
{
    return c->outcome->job->rules[rule]->name;
}

/* Opens an object that begins a line. */
static void begin_row(assay_jw *w, unsigned blanks)
{
    assay_jw_line(w, blanks);
    assay_jw_object(w, NULL);
}

/* Opens a list that begins a line of the comparison. */
static void begin_list(assay_jw *w, const char *key)
{
    assay_jw_line(w, 2);
    assay_jw_array(w, key);
}

static void put_names(const assay_comparison *c, const char *key, const size_t *number, size_t count,
                      const char *(*name)(const assay_comparison *, size_t), assay_jw *w)
{
    assay_jw_array(w, key);
    for (size_t i = 0; i < count; i++)
        assay_jw_text(w, NULL, name(c, number[i]));
    assay_jw_end(w);
}

/* Puts each rule's status in each trial. */
static void put_rules(const assay_comparison *c, assay_jw *w)
{
    begin_list(w, "rules");
    for (size_t i = 0; i < c->outcome->job->rule_count; i++) {
        begin_row(w, 3);
        assay_jw_text(w, "name", rule_name(c, i));
        assay_jw_array(w, "trials");
        for (size_t t = 0; t < c->trials; t++) {
            report_rule rule = report_rule_of(c->outcome, &c->outcome->trials[t], i, false);
            const assay_finding *first = report_first(&rule);
            begin_row(w, 5);
            ASSAY_JW(w, "trial", trial_name(c, t), "status", assay_verdict_status_name(rule.status), "findings_total",
                     report_findings_total(&rule));
            if (first && !first->time)
                assay_jw_i64(w, "first_step", first->step);
            else
                assay_jw_null(w, "first_step");
            if (first && first->time)
                assay_jw_i64(w, "first_time_us", first->step);
            assay_jw_end(w);
        }
        assay_jw_end(w);
        assay_jw_end(w);
    }
    assay_jw_end(w);
}

static void put_first(const assay_comparison *c, size_t trial, assay_jw *w)
{
    const assay_compared_trial *t = &c->trial[trial];
    const assay_trial *info = c->outcome->trials[trial].info;
    if (!t->first || !info) {
        assay_jw_null(w, "first");
        return;
    }
    const assay_step_info *step = report_finding_step(info, t->first);
    assay_jw_object(w, "first");
    assay_jw_text(w, "rule", rule_name(c, t->first_rule));
    if (t->first->time) {
        assay_jw_i64(w, "time_us", t->first->step);
    } else {
        ASSAY_JW(w, "step", t->first->step, "mode", step ? assay_mode_name(step->mode) : "", "mode_step",
                 step ? step->mode_step : -1);
    }
    ASSAY_JW(w, "worker", report_finding_worker(info, t->first), "tensor", report_finding_tensor(info, t->first),
             "value", t->first->value, "threshold", t->first->threshold);
    assay_jw_end(w);
}

/* Puts what a tensor is at the step where it parts: a dtype by name, a shape by its axes. */
static void put_own(const char *key, const assay_compared_tensor *one, double value, const assay_curves *curves,
                    assay_jw *w)
{
    if (one->parting == ASSAY_PARTS_DTYPE)
        assay_jw_text(w, key, assay_dtype_name((int)value));
    else if (one->parting == ASSAY_PARTS_SHAPE)
        assay_curves_put_shape(curves, (int64_t)value, assay_jw_value(w, key));
    else
        assay_jw_number(w, key, value);
}

static void put_tensor(const assay_comparison *c, size_t trial, const assay_compared_tensor *one,
                       const assay_curves *own, const assay_curves *base, assay_jw *w)
{
    ASSAY_JW(w, "tensor", assay_trial_tensor(c->outcome->trials[trial].info, one->tensor), "step", one->step, "mode",
             assay_mode_name(one->mode), "mode_step", one->mode_step, "parts",
             assay_first_difference_word(one->parting), "what", one->what);
    put_own("value", one, one->own, own, w);
    put_own("baseline", one, one->other, base, w);
    if (one->parting == ASSAY_PARTS_VALUE)
        assay_jw_number(w, "difference", one->difference);
    ASSAY_JW(w, "largest_difference", one->most, "largest_mode_step", one->most_mode_step, "common_steps", one->common,
             "last_norm", one->last_norm, "last_norm_baseline", one->last_other_norm);
}

static void put_tensors(const assay_comparison *c, size_t trial, const assay_curves *base, assay_jw *w)
{
    const assay_compared_trial *t = &c->trial[trial];
    const assay_implicit_outcome *kept = c->outcome->trials[trial].implicit;
    /* Only the names of shapes are needed: not the points. */
    const assay_common_state *state = kept ? kept[ASSAY_IMPLICIT_TENSORS].state : NULL;
    const assay_curves own = {.shapes = state ? state->counter : NULL};
    assay_jw_line(w, 4);
    assay_jw_object(w, "tensors");
    ASSAY_JW(w, "compared", t->compared, "parted", t->parted, "different_from_start", t->from_start,
             "without_common_steps", t->disjoint, "only_here", t->only_own, "only_in_baseline", t->only_baseline);
    assay_jw_array(w, "first");
    for (size_t i = 0; i < t->tensors; i++) {
        begin_row(w, 5);
        put_tensor(c, trial, &t->tensor[i], &own, base, w);
        assay_jw_end(w);
    }
    assay_jw_end(w);
    assay_jw_end(w);
}

static void put_every(const char *key, const uint64_t *every, assay_jw *w)
{
    assay_jw_object(w, key);
    for (int m = ASSAY_MODE_TRAIN; m < ASSAY_MODES; m++)
        if (every[m] > 1)
            assay_jw_u64(w, assay_mode_name(m), every[m]);
    assay_jw_end(w);
}

static void put_trials(const assay_comparison *c, assay_jw *w)
{
    const assay_implicit_outcome *kept = c->outcome->trials[c->baseline].implicit;
    const assay_common_state *state = kept ? kept[ASSAY_IMPLICIT_TENSORS].state : NULL;
    const assay_curves base = {.shapes = state ? state->counter : NULL};
    begin_list(w, "trials");
    for (size_t t = 0; t < c->trials; t++) {
        const assay_compared_trial *trial = &c->trial[t];
        begin_row(w, 3);
        ASSAY_JW(w, "name", trial_name(c, t), "group", trial->group, "rules_with_findings", trial->rules_with_findings);
        put_first(c, t, w);
        report_put_score("score", &trial->score, w);
        assay_jw_line(w, 4); /* what was not looked at */
        put_every("every", trial->every, w);
        put_every("losses_every", trial->losses_every, w);
        ASSAY_JW(w, "tensors_left_out", trial->left_out, "tensors_unseen", trial->unseen);
        if (t != c->baseline)
            put_tensors(c, t, &base, w);
        assay_jw_end(w);
    }
    assay_jw_end(w);
    begin_list(w, "groups");
    for (size_t g = 0; g < c->groups; g++) {
        begin_row(w, 3);
        assay_jw_text(w, "kind", assay_group_kind_word(c->group[g].kind));
        put_names(c, "rules", c->group[g].rule, c->group[g].rules, rule_name, w);
        put_names(c, "trials", c->group[g].trial, c->group[g].trials, trial_name, w);
        assay_jw_end(w);
    }
    assay_jw_end(w);
}

static void put_loss(const assay_comparison *c, const assay_compared_loss *loss, assay_jw *w)
{
    const bool common = loss->from <= loss->to;
    begin_row(w, 3);
    ASSAY_JW(w, "tensor", loss->tensor, "mode", assay_mode_name(loss->mode));
    if (common) {
        ASSAY_JW(w, "from", loss->from, "to", loss->to);
    } else {
        assay_jw_null(w, "from");
        assay_jw_null(w, "to");
    }
    assay_jw_u64(w, "common_steps", loss->common);
    assay_jw_i64s(w, "mode_steps", loss->step, loss->steps);
    assay_jw_array(w, "trials");
    for (size_t t = 0; t < c->trials; t++) {
        const assay_loss_figures *f = &loss->figures[t];
        if (f->points == 0)
            continue;
        begin_row(w, 4);
        ASSAY_JW(w, "trial", trial_name(c, t), "points", f->points, "best", f->best, "best_mode_step",
                 f->best_mode_step, "last", f->last, "last_mode_step", f->last_mode_step);
        if (common)
            assay_jw_number(w, "area", f->area);
        else
            assay_jw_null(w, "area");
        assay_jw_numbers(w, "values", &loss->value[t * loss->steps], loss->steps);
        assay_jw_end(w);
    }
    assay_jw_end(w);
    assay_jw_end(w);
}

static void put_classes(const assay_comparison *c, bool confusion, assay_jw *w)
{
    begin_list(w, confusion ? "confusion" : "class_counts");
    for (size_t i = 0; i < c->class_lists; i++) {
        const assay_compared_classes *list = &c->classes[i];
        if (list->confusion != confusion)
            continue;
        begin_row(w, 3);
        ASSAY_JW(w, "name", c->outcome->job->aggregations[list->aggregation]->name, "classes_left_out",
                 list->classes_left_out);
        assay_jw_i64s(w, "classes", list->class, list->classes);
        assay_jw_array(w, "trials");
        for (size_t t = 0; t < c->trials; t++) {
            begin_row(w, 4);
            assay_jw_text(w, "trial", trial_name(c, t));
            assay_jw_known(w, "samples", list->samples[t]);
            assay_jw_known(w, confusion ? "accuracy" : "imbalance", list->figure[t]);
            assay_jw_array(w, confusion ? "recall" : "counts");
            for (size_t k = 0; k < list->classes; k++)
                assay_jw_known(w, NULL, list->value[t * list->classes + k]);
            assay_jw_end(w);
            assay_jw_end(w);
        }
        assay_jw_end(w);
        assay_jw_end(w);
    }
    assay_jw_end(w);
}

static void put_outliers(const assay_comparison *c, assay_jw *w)
{
    begin_list(w, "outliers");
    for (size_t i = 0; i < c->outliers; i++) {
        const assay_outlier *o = &c->outlier[i];
        begin_row(w, 3);
        ASSAY_JW(w, "trial", trial_name(c, o->trial), "what", o->what, "value", o->value, "median", o->median,
                 "median_deviation", o->deviation, "score", o->score);
        assay_jw_end(w);
    }
    assay_jw_end(w);
}

/* Puts the trials that are unlike the others, each with its reasons. */
static void put_odd(const assay_comparison *c, assay_jw *w)
{
    begin_list(w, "odd");
    for (size_t t = 0; t < c->trials; t++) {
        if (!c->trial[t].odd)
            continue;
        begin_row(w, 3);
        assay_jw_text(w, "trial", trial_name(c, t));
        assay_jw_array(w, "reasons");
        for (size_t i = 0; i < c->trial[t].reasons; i++)
            assay_jw_text(w, NULL, c->trial[t].reason[i]);
        assay_jw_end(w);
        assay_jw_end(w);
    }
    assay_jw_end(w);
}

/* Puts the facts in which the runs differ, beside one another. */
static void put_settings(const assay_comparison *c, assay_jw *w)
{
    begin_list(w, "settings");
    for (size_t i = 0; i < c->settings; i++) {
        const assay_compared_setting *s = &c->setting[i];
        begin_row(w, 3);
        ASSAY_JW(w, "name", s->name, "goes_with_the_odd", s->goes);
        assay_jw_array(w, "values");
        for (size_t t = 0; t < c->trials; t++)
            assay_jw_text(w, NULL, s->value[t]);
        assay_jw_end(w);
        assay_jw_end(w);
    }
    assay_jw_end(w);
}

/* Puts, of trials with profiler data, how fast they were and how busy their machines. */
static void put_paces(const assay_comparison *c, assay_jw *w)
{
    if (c->paces == 0)
        return;
    begin_list(w, "paces");
    for (size_t t = 0; t < c->trials; t++) {
        const assay_compared_pace *pace = &c->trial[t].pace;
        if (!compare_has_pace(c, t))
            continue;
        begin_row(w, 3);
        ASSAY_JW(w, "trial", trial_name(c, t), "mode", pace->mode ? pace->mode : "", "steps", pace->steps);
        assay_jw_known(w, "median_s", pace->median);
        assay_jw_known(w, "p99_s", pace->p99);
        assay_jw_known(w, "between_percent", pace->between);
        for (int m = 0; m < ASSAY_METRICS; m++)
            assay_jw_known(w, assay_metric_word(m), pace->use[m]);
        assay_jw_end(w);
    }
    assay_jw_end(w);
}

static void put_two(assay_jw *w, const char *key, const uint64_t value[2])
{
    assay_jw_array(w, key);
    assay_jw_u64(w, NULL, value[0]);
    assay_jw_u64(w, NULL, value[1]);
    assay_jw_end(w);
}

static void put_change(assay_jw *w, const assay_trace_change *c, bool figure)
{
    begin_row(w, 4);
    ASSAY_JW(w, "name", c->name, "before_ns", c->time[0], "after_ns", c->time[1]);
    if (!figure) {
        ASSAY_JW(w, "difference_ns", c->time[1] - c->time[0], "before_count", c->count[0], "after_count", c->count[1]);
    }
    assay_jw_end(w);
}

static void put_changes(assay_jw *w, const char *key, const assay_trace_changes *changes)
{
    assay_jw_line(w, 3);
    assay_jw_array(w, key);
    for (uint32_t i = 0; i < changes->count; i++)
        put_change(w, &changes->list[i], false);
    assay_jw_end(w);
}

/* Puts what two trials of traces come to: nanoseconds a step, of all ranks together. */
static void put_traces(const assay_comparison *c, assay_jw *w)
{
    const assay_trace_before_after *b = c->traces;
    if (!b)
        return;
    assay_jw_line(w, 2);
    assay_jw_object(w, "traces");
    ASSAY_JW(w, "before", trial_name(c, 0), "after", trial_name(c, 1));
    put_two(w, "files", b->files);
    put_two(w, "steps", b->steps);
    assay_jw_line(w, 3);
    assay_jw_array(w, "classes");
    for (int i = 0; i < ASSAY_TRACE_CHANGED_FIGURES; i++)
        put_change(w, &b->figure[i], true);
    assay_jw_end(w);
    put_changes(w, "kernels", &b->kernels);
    put_changes(w, "operators", &b->operators);
    assay_jw_end(w);
}

/* The order of keys is part of the schema, as the digest is of the bytes. */
void report_put_comparison_json(const assay_comparison *c, assay_jw *w)
{
    assay_jw_line(w, 1);
    assay_jw_object(w, "comparison");
    assay_jw_text(w, "answer", c->answer);
    put_odd(c, w);
    put_settings(c, w);
    assay_jw_line(w, 2);
    ASSAY_JW(w, "baseline", trial_name(c, c->baseline), "tolerance", c->tolerance);
    put_rules(c, w);
    put_trials(c, w);
    assay_jw_line(w, 2);
    assay_jw_u64(w, "losses_left_out", c->losses_left_out);
    assay_jw_array(w, "losses");
    for (size_t i = 0; i < c->losses; i++)
        put_loss(c, &c->loss[i], w);
    assay_jw_end(w);
    put_classes(c, false, w);
    put_classes(c, true, w);
    put_outliers(c, w);
    put_paces(c, w);
    put_traces(c, w);
    assay_jw_end(w);
}
