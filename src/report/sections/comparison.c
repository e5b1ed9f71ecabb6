/* comparison.c - several trials side by side (comparison.h): which of them are unlike the others, and how. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/compare/comparison.h"
#include "report/model/profile.h"
#include "report/sections/sections.h"

enum { NAMES_SHOWN = 10, TRIALS_IN_MATRIX = 8, CLASSES_SHOWN = 20, PAGE = DOC_TEXT | DOC_HTML | DOC_JSON | DOC_CSV };

#define TABLE(d, id, label, columns)                                                                                   \
    doc_table(d, &(doc_table_def){id, label, columns, sizeof(columns) / sizeof *(columns), false})

static const char *trial_name(const assay_comparison *c, size_t trial)
{
    return c->outcome->trials[trial].trial->name;
}

static void put_trial(const assay_comparison *c, size_t trial, doc *d)
{
    doc_cell_name(d, trial_name(c, trial));
    if (trial == c->baseline)
        doc_put_dim(d, " baseline");
}

/* Puts a number, or nothing where there is none. */
static void put_known(double value, doc *d)
{
    if (isnan(value))
        doc_cell_none(d);
    else
        doc_cell_real(d, value);
}

/* ---- the odd ones, and the settings ---- */

/* Puts each odd one with all its reasons: the answer has the first ones alone. */
static void put_odd(const assay_comparison *c, doc *d)
{
    if (c->odd == 0)
        return;
    doc_section(d, "odd", "Unlike the others");
    doc_list(d, false);
    for (size_t t = 0; t < c->trials; t++) {
        if (!c->trial[t].odd)
            continue;
        doc_item(d);
        doc_put_name(d, trial_name(c, t));
        doc_put(d, ": ");
        for (size_t i = 0; i < c->trial[t].reasons; i++) {
            doc_put(d, i ? "; " : "");
            doc_put_text(d, c->trial[t].reason[i], strlen(c->trial[t].reason[i]));
        }
    }
    doc_end(d);
}

/* Quadratic in the trials, of which there are few. */
static size_t count_values(const assay_comparison *c, const assay_compared_setting *s)
{
    size_t values = 0;
    for (size_t t = 0; t < c->trials; t++) {
        bool again = !s->value[t];
        for (size_t before = 0; before < t && !again; before++)
            again = s->value[before] && strcmp(s->value[before], s->value[t]) == 0;
        values += !again;
    }
    return values;
}

/* Puts what the trials say that do not say the usual: "run-07 0.5, run-13 0.1". Where trials were judged, of the odd
 * ones alone. */
static void put_values(const assay_comparison *c, const assay_compared_setting *s, doc *d)
{
    size_t said = 0;
    doc_cell(d);
    for (size_t t = 0; t < c->trials && said < NAMES_SHOWN; t++) {
        const bool shown = c->judged ? c->trial[t].odd : true;
        if (!shown || !s->value[t] || (s->usual && strcmp(s->value[t], s->usual) == 0))
            continue;
        doc_put(d, said++ ? ", " : "");
        doc_put_name(d, trial_name(c, t));
        doc_put(d, " ");
        doc_put_text(d, s->value[t], strlen(s->value[t]));
    }
}

static void put_settings(const assay_comparison *c, doc *d)
{
    const doc_column columns[] = {{"setting", DOC_OF_NAMES, NULL, DOC_CUT_LAST},
                                  {c->judged ? "the others" : "most", DOC_OF_WORDS, NULL, DOC_CUT},
                                  {c->judged ? "unlike them" : "trials", DOC_OF_WORDS, NULL, DOC_CUT}};
    if (c->settings == 0)
        return;
    doc_section(d, "settings", "Settings that differ");
    TABLE(d, "settings", "settings", columns);
    for (size_t i = 0; i < c->settings; i++) {
        const assay_compared_setting *s = &c->setting[i];
        doc_row(d, s->goes ? DOC_BAD : DOC_PLAIN);
        doc_cell_name(d, s->name);
        if (s->goes)
            doc_put_dim(d, " goes with them");
        doc_cell(d);
        if (s->usual)
            doc_put_text(d, s->usual, strlen(s->usual));
        else
            doc_put(d, "%zu values", count_values(c, s));
        put_values(c, s, d);
    }
    doc_end(d);
}

/* ---- first findings, groups, rules by trial ---- */

static void put_firsts(const assay_comparison *c, doc *d)
{
    static const doc_column columns[] = {
        {"trial", DOC_OF_NAMES, NULL, DOC_CUT},   {"group", DOC_OF_COUNTS, NULL, DOC_KEEP},
        {"rules", DOC_OF_COUNTS, NULL, DOC_KEEP}, {"first rule", DOC_OF_NAMES, NULL, DOC_CUT_LAST},
        {"step", DOC_OF_STEPS, NULL, DOC_KEEP},   {"worker", DOC_OF_NAMES, NULL, DOC_CUT},
        {"tensor", DOC_OF_NAMES, NULL, DOC_CUT}};
    char when[REPORT_WHEN_ROOM];
    doc_only(d, PAGE);
    doc_section(d, "firsts", "The first finding of each trial");
    TABLE(d, "firsts", "trials", columns);
    for (size_t t = 0; t < c->trials; t++) {
        const assay_compared_trial *trial = &c->trial[t];
        const assay_trial *info = c->outcome->trials[t].info;
        doc_row(d, trial->odd ? DOC_BAD : DOC_PLAIN);
        put_trial(c, t, d);
        doc_cell_count(d, trial->group + 1);
        if (c->outcome->trials[t].status != ASSAY_OK)
            doc_cell_words(d, "not read");
        else
            doc_cell_count(d, trial->rules_with_findings);
        if (!trial->first || !info)
            continue;
        doc_cell_name(d, c->outcome->job->rules[trial->first_rule]->name);
        doc_cell_words(d, report_finding_when(trial->first, when));
        doc_cell_name(d, report_finding_worker(info, trial->first));
        doc_cell_name(d, report_finding_tensor(info, trial->first));
    }
    doc_end(d);
}

static void put_names(doc *d, const size_t *number, size_t count, const char *(*name)(const assay_comparison *, size_t),
                      const assay_comparison *c)
{
    for (size_t i = 0; i < count && i < NAMES_SHOWN; i++) {
        doc_put(d, i ? ", " : "");
        doc_put_name(d, name(c, number[i]));
    }
    if (count > NAMES_SHOWN)
        doc_put(d, " and %zu more", count - NAMES_SHOWN);
}

static const char *rule_name(const assay_comparison *c, size_t rule)
{
    return c->outcome->job->rules[rule]->name;
}

static void put_groups(const assay_comparison *c, doc *d)
{
    static const char *const kinds[] = {"", " without findings",
                                        " in which no rule had anything to test: nothing is known of them",
                                        " that could not be opened"};
    doc_only(d, PAGE);
    doc_section(d, "groups", "Trials that fail alike");
    doc_list(d, true);
    for (size_t g = 0; g < c->groups; g++) {
        const assay_trial_group *group = &c->group[g];
        doc_item(d);
        doc_put(d, "%zu trial%s%s: ", group->trials, assay_plural(group->trials), kinds[group->kind]);
        put_names(d, group->trial, group->trials, trial_name, c);
        if (group->rules > 0)
            doc_put(d, ", by ");
        put_names(d, group->rule, group->rules, rule_name, c);
    }
    doc_end(d);
}

static const doc_tone TONES[] = {DOC_BAD, DOC_GOOD, DOC_NONE, DOC_BROKEN}; /* by assay_verdict_status */
static const char *const MARKS[] = {"issues", "ok", "no data", "error"};

/* Puts each rule's status in each trial, where they are few. */
static void put_statuses(const assay_comparison *c, size_t rule, doc *d)
{
    char when[REPORT_WHEN_ROOM];
    for (size_t t = 0; t < c->trials; t++) {
        const report_rule one = report_rule_of(c->outcome, &c->outcome->trials[t], rule, false);
        const assay_finding *first = report_first(&one);
        doc_cell(d);
        doc_put_badge(d, TONES[one.status], MARKS[one.status]);
        if (first)
            doc_put_dim(d, " from %s", report_finding_when_in_words(first, when));
    }
}

/* Puts in how many trials a rule has which status, where they are many. */
static void put_status_counts(const assay_comparison *c, size_t rule, doc *d)
{
    size_t count[4] = {0};
    for (size_t t = 0; t < c->trials; t++)
        count[report_rule_of(c->outcome, &c->outcome->trials[t], rule, false).status]++;
    for (int s = 0; s < 4; s++)
        doc_cell_count(d, count[s]);
}

static void put_matrix(const assay_comparison *c, doc *d)
{
    doc_column columns[TRIALS_IN_MATRIX + 1] = {{"rule", DOC_OF_NAMES, NULL, DOC_CUT_LAST}};
    const bool few = c->trials <= TRIALS_IN_MATRIX;
    size_t silent = 0;
    for (size_t t = 0; t < (few ? c->trials : 4); t++)
        columns[t + 1] = few ? (doc_column){trial_name(c, t), DOC_OF_WORDS, NULL, DOC_KEEP}
                             : (doc_column){MARKS[t], DOC_OF_COUNTS, NULL, DOC_KEEP};
    doc_only(d, PAGE);
    doc_section(d, "matrix", few ? "Rules by trial" : "Rules over the trials");
    doc_table(d, &(doc_table_def){"matrix", "rules", columns, (few ? c->trials : 4) + 1, false});
    for (size_t r = 0; r < c->outcome->job->rule_count; r++) {
        if (compare_rule_has_no_data(c, r)) {
            silent++;
            continue;
        }
        doc_row(d, DOC_PLAIN);
        doc_cell_name(d, rule_name(c, r));
        if (few)
            put_statuses(c, r, d);
        else
            put_status_counts(c, r, d);
    }
    if (silent > 0) {
        doc_note(d);
        doc_put(d, "%zu rule%s had no data in any trial.", silent, assay_plural(silent));
    }
    doc_end(d);
}

/* ---- pace ---- */

/* Puts how fast the trainings were and how busy their machines, side by side. */
static void put_paces(const assay_comparison *c, doc *d)
{
    static const doc_column columns[] = {
        {"trial", DOC_OF_NAMES, NULL, DOC_CUT},      {"mode", DOC_OF_NAMES, NULL, DOC_KEEP},
        {"steps", DOC_OF_COUNTS, NULL, DOC_KEEP},    {"median", DOC_OF_SECONDS, NULL, DOC_KEEP},
        {"99 %", DOC_OF_SECONDS, NULL, DOC_KEEP},    {"between steps", DOC_OF_REALS, "%", DOC_KEEP},
        {"CPU", DOC_OF_REALS, "%", DOC_KEEP},        {"GPU", DOC_OF_REALS, "%", DOC_KEEP},
        {"GPU memory", DOC_OF_REALS, "%", DOC_KEEP}, {"I/O wait", DOC_OF_REALS, "%", DOC_KEEP},
        {"network", DOC_OF_REALS, "B/s", DOC_KEEP}};
    static const int metrics[] = {ASSAY_METRIC_CPU, ASSAY_METRIC_GPU, ASSAY_METRIC_GPU_MEMORY, ASSAY_METRIC_IO_WAIT,
                                  ASSAY_METRIC_NETWORK};
    if (c->paces == 0)
        return;
    doc_only(d, PAGE);
    doc_section(d, "paces", "Step times and use of the machines");
    TABLE(d, "paces", "trials", columns);
    for (size_t t = 0; t < c->trials; t++) {
        const assay_compared_pace *pace = &c->trial[t].pace;
        if (!compare_has_pace(c, t))
            continue;
        doc_row(d, DOC_PLAIN);
        put_trial(c, t, d);
        doc_cell_name(d, pace->mode ? pace->mode : "");
        doc_cell_count(d, pace->steps);
        put_known(pace->median, d);
        put_known(pace->p99, d);
        put_known(pace->between, d);
        for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++)
            put_known(pace->use[metrics[m]], d);
    }
    doc_end(d);
}

/* ---- losses, classes, tensors, outliers ---- */

static void put_loss(const assay_comparison *c, const assay_compared_loss *loss, doc *d)
{
    static const doc_column columns[] = {
        {"trial", DOC_OF_NAMES, NULL, DOC_CUT}, {"points", DOC_OF_COUNTS, NULL, DOC_KEEP},
        {"best", DOC_OF_REALS, NULL, DOC_KEEP}, {"at", DOC_OF_STEPS, NULL, DOC_KEEP},
        {"last", DOC_OF_REALS, NULL, DOC_KEEP}, {"at", DOC_OF_STEPS, NULL, DOC_KEEP},
        {"area", DOC_OF_REALS, NULL, DOC_KEEP}};
    doc_paragraph(d);
    doc_put_name(d, loss->tensor);
    doc_put(d, ", %s", assay_mode_name(loss->mode));
    if (loss->from <= loss->to)
        doc_put(d, "; area over the mode steps %" PRId64 " to %" PRId64, loss->from, loss->to);
    else
        doc_put(d, "; no mode steps that all trials cover");
    TABLE(d, NULL, "trials", columns);
    for (size_t t = 0; t < c->trials; t++) {
        const assay_loss_figures *f = &loss->figures[t];
        if (f->points == 0)
            continue;
        doc_row(d, c->trial[t].odd ? DOC_BAD : DOC_PLAIN);
        put_trial(c, t, d);
        doc_cell_count(d, f->points);
        doc_cell_real(d, f->best);
        doc_cell_step(d, f->best_mode_step);
        doc_cell_real(d, f->last);
        doc_cell_step(d, f->last_mode_step);
        if (loss->from <= loss->to)
            doc_cell_real(d, f->area);
    }
}

static void put_losses(const assay_comparison *c, doc *d)
{
    if (c->losses == 0)
        return;
    doc_only(d, PAGE);
    doc_section(d, "losses", "Losses by mode step");
    for (size_t i = 0; i < c->losses; i++)
        put_loss(c, &c->loss[i], d);
    doc_end(d);
}

static void put_class_list(const assay_comparison *c, const assay_compared_classes *list, doc *d)
{
    const size_t shown = list->classes < CLASSES_SHOWN ? list->classes : CLASSES_SHOWN;
    doc_column columns[CLASSES_SHOWN + 3] = {
        {"trial", DOC_OF_NAMES, NULL, DOC_CUT},
        {"samples", DOC_OF_REALS, NULL, DOC_KEEP},
        {list->confusion ? "accuracy" : "imbalance", DOC_OF_REALS, NULL, DOC_KEEP}};
    char name[CLASSES_SHOWN][24];
    for (size_t i = 0; i < shown; i++) {
        snprintf(name[i], sizeof name[i], "%" PRId64, list->class[i]);
        columns[i + 3] = (doc_column){name[i], DOC_OF_REALS, NULL, DOC_KEEP};
    }
    doc_paragraph(d);
    doc_put_name(d, c->outcome->job->aggregations[list->aggregation]->name);
    doc_put(d, "%s",
            list->confusion ? ": accuracy, and the recall of each class"
                            : ": samples of each class, and the largest over the smallest");
    doc_table(d, &(doc_table_def){NULL, "trials", columns, shown + 3, false});
    for (size_t t = 0; t < c->trials; t++) {
        doc_row(d, c->trial[t].odd ? DOC_BAD : DOC_PLAIN);
        put_trial(c, t, d);
        put_known(list->samples[t], d);
        put_known(list->figure[t], d);
        for (size_t i = 0; i < shown; i++)
            put_known(list->value[t * list->classes + i], d);
    }
    if (shown < list->classes + list->classes_left_out) {
        doc_note(d);
        doc_put(d, "... and %zu more classes; report.json has them, those of each trial under its aggregations.",
                list->classes + list->classes_left_out - shown);
    }
}

static void put_classes(const assay_comparison *c, doc *d)
{
    size_t with = 0;
    for (size_t i = 0; i < c->class_lists; i++)
        with += !compare_has_no_samples(c, &c->classes[i]);
    if (with == 0)
        return;
    doc_only(d, PAGE);
    doc_section(d, "compared-classes", "Classes side by side");
    for (size_t i = 0; i < c->class_lists; i++)
        if (!compare_has_no_samples(c, &c->classes[i]))
            put_class_list(c, &c->classes[i], d);
    doc_end(d);
}

/* Says what was not looked at: nobody shall take it for equal. */
static void put_bounds(const assay_comparison *c, doc *d)
{
    size_t thinned = 0, cut = 0;
    for (size_t t = 0; t < c->trials; t++) {
        bool some = false;
        for (int m = 0; m < ASSAY_MODES; m++)
            some = some || c->trial[t].every[m] > 1 || c->trial[t].losses_every[m] > 1;
        thinned += some;
        cut += c->trial[t].left_out + c->trial[t].unseen > 0;
    }
    if (thinned + cut == 0)
        return;
    doc_note(d);
    if (thinned > 0)
        doc_put(d,
                "Of %zu trial%s only some of the steps were compared: \"every\" and \"losses_every\" in report.json "
                "have how many. ",
                thinned, assay_plural(thinned));
    if (cut > 0)
        doc_put(d, "Of %zu trial%s some tensors were not compared: report.json has how many.", cut, assay_plural(cut));
}

static void put_parting(const assay_comparison *c, size_t t, doc *d)
{
    const assay_compared_trial *one = &c->trial[t];
    doc_row(d, DOC_PLAIN);
    put_trial(c, t, d);
    doc_cell_count(d, one->parted);
    doc_cell_count(d, one->from_start);
    doc_cell_count(d, one->compared);
    if (one->tensors == 0)
        return;
    const assay_compared_tensor *first = &one->tensor[0];
    doc_cell(d);
    doc_put(d, "%s %" PRId64, assay_mode_name(first->mode), first->mode_step);
    doc_cell_name(d, assay_trial_tensor(c->outcome->trials[t].info, first->tensor));
    doc_cell_words(d, first->what);
    if (first->parting == ASSAY_PARTS_VALUE)
        doc_cell_real(d, first->difference);
}

static void put_partings(const assay_comparison *c, doc *d)
{
    static const doc_column columns[] = {
        {"trial", DOC_OF_NAMES, NULL, DOC_CUT},        {"parted", DOC_OF_COUNTS, NULL, DOC_KEEP},
        {"from start", DOC_OF_COUNTS, NULL, DOC_KEEP}, {"of", DOC_OF_COUNTS, NULL, DOC_KEEP},
        {"mode step", DOC_OF_STEPS, NULL, DOC_KEEP},   {"tensor", DOC_OF_NAMES, NULL, DOC_CUT},
        {"by", DOC_OF_WORDS, NULL, DOC_KEEP},          {"difference", DOC_OF_REALS, NULL, DOC_KEEP}};
    doc_only(d, PAGE);
    doc_section(d, "partings", "Where tensors first part from the baseline");
    doc_paragraph(d);
    doc_put(d, "baseline ");
    doc_put_name(d, trial_name(c, c->baseline));
    if (c->outcome->trials[c->baseline].status != ASSAY_OK)
        doc_put(d, ", which could not be read: no tensor was compared");
    else
        doc_put(d, ", tolerance %g", c->tolerance);
    TABLE(d, "partings", "trials", columns);
    for (size_t t = 0; t < c->trials; t++)
        if (t != c->baseline && c->outcome->trials[t].status == ASSAY_OK)
            put_parting(c, t, d);
    put_bounds(c, d);
    doc_end(d);
}

static void put_outliers(const assay_comparison *c, doc *d)
{
    static const doc_column columns[] = {{"trial", DOC_OF_NAMES, NULL, DOC_CUT},
                                         {"what", DOC_OF_WORDS, NULL, DOC_CUT},
                                         {"value", DOC_OF_REALS, NULL, DOC_KEEP},
                                         {"median", DOC_OF_REALS, NULL, DOC_KEEP},
                                         {"robust z-score", DOC_OF_REALS, NULL, DOC_KEEP}};
    if (c->outliers == 0)
        return;
    doc_only(d, PAGE);
    doc_section(d, "outliers", "Outliers");
    TABLE(d, "outliers", "numbers", columns);
    for (size_t i = 0; i < c->outliers; i++) {
        const assay_outlier *o = &c->outlier[i];
        doc_row(d, DOC_PLAIN);
        put_trial(c, o->trial, d);
        doc_cell(d);
        doc_put_text(d, o->what, strlen(o->what));
        doc_cell_real(d, o->value);
        doc_cell_real(d, o->median);
        doc_cell_real(d, o->score);
    }
    doc_end(d);
}

static void put_changes(const assay_trace_changes *changes, const char *id, const char *what, doc *d)
{
    const doc_column columns[] = {
        {what, DOC_OF_NAMES, NULL, DOC_CUT_LAST},        {"before", DOC_OF_REALS, "ms", DOC_KEEP},
        {"after", DOC_OF_REALS, "ms", DOC_KEEP},         {"more", DOC_OF_REALS, "ms", DOC_KEEP},
        {"calls before", DOC_OF_COUNTS, NULL, DOC_DROP}, {"calls after", DOC_OF_COUNTS, NULL, DOC_DROP}};
    if (changes->count == 0)
        return;
    TABLE(d, id, what, columns);
    for (uint32_t i = 0; i < changes->count; i++) {
        const assay_trace_change *c = &changes->list[i];
        doc_row(d, DOC_PLAIN);
        doc_cell_name(d, c->name);
        doc_cell_real(d, c->time[0] / 1e6);
        doc_cell_real(d, c->time[1] / 1e6);
        doc_cell_real(d, (c->time[1] - c->time[0]) / 1e6);
        doc_cell_count(d, c->count[0]);
        doc_cell_count(d, c->count[1]);
    }
    if (changes->names > changes->count)
        doc_left_out(d, changes->names - changes->count);
}

/* Puts what takes longer in the second one of two trials of traces. */
static void put_before_after(const assay_comparison *c, doc *d)
{
    static const doc_column columns[] = {{"time", DOC_OF_WORDS, NULL, DOC_KEEP},
                                         {"before", DOC_OF_REALS, "ms", DOC_KEEP},
                                         {"after", DOC_OF_REALS, "ms", DOC_KEEP}};
    static const char *const words[ASSAY_TRACE_CHANGED_FIGURES] = {
        "total",      "computation", "exposed communication", "exposed copies", "idle", "idle: input",
        "idle: sync", "idle: host",  "idle: queued",          "idle: unknown"};
    const assay_trace_before_after *b = c->traces;
    doc_section(d, "before-after", "Before and after");
    doc_paragraph(d);
    doc_put(d, "Milliseconds a step, of all ranks together: before is ");
    doc_put_name(d, trial_name(c, 0));
    doc_put(d, " (%llu steps in %llu files), after is ", (unsigned long long)b->steps[0],
            (unsigned long long)b->files[0]);
    doc_put_name(d, trial_name(c, 1));
    doc_put(d, " (%llu in %llu).", (unsigned long long)b->steps[1], (unsigned long long)b->files[1]);
    put_changes(&b->operators, "before-after-operators", "operator", d);
    put_changes(&b->kernels, "before-after-kernels", "kernel", d);
    if (b->figure[0].time[0] > 0 || b->figure[0].time[1] > 0) {
        TABLE(d, "before-after-time", "figures", columns);
        for (int i = 0; i < ASSAY_TRACE_CHANGED_FIGURES; i++) {
            doc_row(d, DOC_PLAIN);
            doc_cell_words(d, words[i]);
            doc_cell_real(d, b->figure[i].time[0] / 1e6);
            doc_cell_real(d, b->figure[i].time[1] / 1e6);
        }
    }
    doc_end(d);
}

/* Which trials are unlike the others is the answer, so it has a section of its own; section_comparison() has the
 * tables. */
void section_odd(const assay_report *report, doc *d)
{
    if (report->comparison && report->comparison->traces)
        put_before_after(report->comparison, d);
    if (!report->comparison || report->comparison->odd + report->comparison->settings == 0)
        return;
    put_odd(report->comparison, d);
    put_settings(report->comparison, d);
}

void section_comparison(const assay_report *report, doc *d)
{
    const assay_comparison *c = report->comparison;
    if (!c)
        return;
    doc_only(d, PAGE);
    doc_section(d, "comparison", "Trials side by side");
    doc_fold(d);
    put_firsts(c, d);
    put_paces(c, d);
    if (c->outcome->job->rule_count > 0) {
        put_matrix(c, d);
        put_groups(c, d);
    }
    put_losses(c, d);
    put_classes(c, d);
    put_partings(c, d);
    put_outliers(c, d);
    doc_end(d);
}
