/* compare_text.c - the trials side by side in the text report; with many trials, only those that stand out. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/forms/forms.h"
#include "report/text/layout.h"

enum {
    TRIALS_IN_MATRIX = 8,
    TRIALS_SHOWN = 40,
    GROUPS_SHOWN = 20,
    NAMES_SHOWN = 10,
    CLASSES_SHOWN = 10,
    WIDE_CLASSES_SHOWN = 6,
    OUTLIERS_SHOWN = 20,
    SETTINGS_SHOWN = 20
};

static const char *trial_name(const assay_comparison *c, size_t trial)
{
    return c->outcome->trials[trial].trial->name;
}

static const char *rule_name(const assay_comparison *c, size_t rule)
{
    return c->outcome->job->rules[rule]->name;
}

static size_t shown_trials(const assay_comparison *c)
{
    return c->trials < TRIALS_SHOWN ? c->trials : TRIALS_SHOWN;
}

static void put_more(const assay_comparison *c, assay_buf *out)
{
    if (c->trials > TRIALS_SHOWN)
        assay_put_format(out, "... and %zu more trial%s; report.json has all of them.\n", c->trials - TRIALS_SHOWN,
                         assay_plural(c->trials - TRIALS_SHOWN));
}

static void some_number(assay_table *table, double value, int digits)
{
    if (isnan(value))
        assay_table_cell(table, "-");
    else
        assay_table_format(table, "%.*f", digits, value);
}

/* One line a trial: what it shows first. */
static void put_trials(const assay_comparison *c, const assay_draw *draw, assay_buf *out)
{
    static const char *const heads[] = {"trial", "group", "rules", "first rule", "step", "worker", "tensor"};
    char when[REPORT_WHEN_ROOM];
    assay_table table;
    assay_table_init(&table, "errkree", heads);
    for (size_t i = 0; i < shown_trials(c); i++) {
        const assay_compared_trial *t = &c->trial[i];
        const assay_trial *info = c->outcome->trials[i].info;
        assay_table_cell(&table, trial_name(c, i));
        assay_table_format(&table, "%zu", t->group + 1);
        if (c->outcome->trials[i].status != ASSAY_OK)
            assay_table_cell(&table, "not read");
        else
            assay_table_format(&table, "%zu", t->rules_with_findings);
        if (t->first && info) {
            assay_table_cell(&table, rule_name(c, t->first_rule));
            assay_table_cell(&table, report_finding_when(t->first, when));
            assay_table_cell(&table, report_finding_worker(info, t->first));
            assay_table_cell(&table, report_finding_tensor(info, t->first));
        } else {
            for (int k = 0; k < 4; k++)
                assay_table_cell(&table, "");
        }
    }
    assay_report_put_heading(out, "Trials side by side");
    assay_table_put(&table, 0, draw, out);
    assay_table_release(&table);
    put_more(c, out);
}

static void put_list(const assay_comparison *c, const char *lead, const size_t *number, size_t count,
                     const char *(*name)(const assay_comparison *, size_t), const assay_draw *draw, assay_buf *out)
{
    assay_buf line;
    assay_buf_init(&line, ASSAY_REPORT_CEILING);
    for (size_t i = 0; i < count && i < NAMES_SHOWN; i++) {
        assay_put_format(&line, "%s", i ? ", " : "");
        assay_text_put_cut(&line, name(c, number[i]), strlen(name(c, number[i])), 40);
    }
    if (count > NAMES_SHOWN)
        assay_put_format(&line, " and %zu more", count - NAMES_SHOWN);
    assay_text_put_wrapped(out, draw, 12, lead, (const char *)line.data, line.size);
    assay_buf_release(&line);
}

static void put_groups(const assay_comparison *c, const assay_draw *draw, assay_buf *out)
{
    static const char *const kinds[] = {"", " without findings",
                                        " in which no rule could be evaluated, which is not a pass",
                                        " that could not be opened"};
    assay_report_put_heading(out, "Trials that fail alike");
    for (size_t g = 0; g < c->groups && g < GROUPS_SHOWN; g++) {
        const assay_trial_group *group = &c->group[g];
        assay_put_format(out, "group %zu: %zu trial%s%s\n", g + 1, group->trials, assay_plural(group->trials),
                         kinds[group->kind]);
        if (group->rules > 0)
            put_list(c, "    rules", group->rule, group->rules, rule_name, draw, out);
        put_list(c, "    trials", group->trial, group->trials, trial_name, draw, out);
    }
    if (c->groups > GROUPS_SHOWN)
        assay_put_format(out, "... and %zu more group%s; report.json has all of them.\n", c->groups - GROUPS_SHOWN,
                         assay_plural(c->groups - GROUPS_SHOWN));
}

/* Few trials: each rule's status in each. Many: in how many it has which status. */
static void put_matrix(const assay_comparison *c, const assay_draw *draw, assay_buf *out)
{
    static const char *const marks[] = {"issues", "ok", "no data", "error"};
    static const char *const counted[] = {"rule", "issues", "ok", "no data", "error"};
    const char *heads[TRIALS_IN_MATRIX + 1] = {"rule"};
    char head[TRIALS_IN_MATRIX][24];
    bool few = c->trials <= TRIALS_IN_MATRIX;
    size_t silent = 0;
    for (size_t t = 0; few && t < c->trials; t++) {
        snprintf(head[t], sizeof head[t], "trial %zu", t + 1);
        heads[t + 1] = head[t];
    }
    char align[TRIALS_IN_MATRIX + 2] = "krrrrrrrr";
    align[few ? c->trials + 1 : 5] = '\0';
    assay_table table;
    assay_table_init(&table, align, few ? heads : counted);
    for (size_t r = 0; r < c->outcome->job->rule_count; r++) {
        size_t count[4] = {0};
        if (compare_rule_has_no_data(c, r)) {
            silent++;
            continue;
        }
        assay_table_cell(&table, rule_name(c, r));
        for (size_t t = 0; t < c->trials; t++) {
            int status = report_rule_of(c->outcome, &c->outcome->trials[t], r, false).status;
            count[status]++;
            if (few)
                assay_table_cell(&table, marks[status]);
        }
        for (int s = 0; !few && s < 4; s++)
            assay_table_format(&table, "%zu", count[s]);
    }
    assay_report_put_heading(out, few ? "Rules by trial, in the order above" : "Rules over the trials");
    if (silent < c->outcome->job->rule_count)
        assay_table_put(&table, 0, draw, out);
    assay_table_release(&table);
    if (silent > 0)
        assay_put_format(out, "%zu rule%s had no data in any trial.\n", silent, assay_plural(silent));
}

/* A line above a table, after a blank one; it ends the buffer. */
static void put_title(assay_buf *title, const assay_draw *draw, assay_buf *out)
{
    assay_put_u8(out, '\n');
    assay_text_put_wrapped(out, draw, 0, NULL, (const char *)title->data, title->size);
    if (assay_buf_status(title) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(title);
    assay_buf_release(title);
}

static void put_loss(const assay_comparison *c, const assay_compared_loss *loss, const assay_draw *draw, assay_buf *out)
{
    static const char *const heads[] = {"trial", "points", "best", "at", "last", "at", "area"};
    assay_table table;
    size_t shown = 0;
    assay_table_init(&table, "errrrrr", heads);
    for (size_t t = 0; t < c->trials && shown < TRIALS_SHOWN; t++) {
        const assay_loss_figures *f = &loss->figures[t];
        if (f->points == 0)
            continue;
        shown++;
        assay_table_cell(&table, trial_name(c, t));
        assay_table_format(&table, "%zu", f->points);
        assay_table_number(&table, f->best);
        assay_table_format(&table, "%" PRId64, f->best_mode_step);
        assay_table_number(&table, f->last);
        assay_table_format(&table, "%" PRId64, f->last_mode_step);
        if (loss->from <= loss->to)
            assay_table_number(&table, f->area);
        else
            assay_table_cell(&table, "-");
    }
    assay_buf title;
    assay_buf_init(&title, ASSAY_REPORT_CEILING);
    assay_put_bytes(&title, loss->tensor, strlen(loss->tensor));
    assay_put_format(&title, ", %s", assay_mode_name(loss->mode));
    if (loss->from <= loss->to)
        assay_put_format(&title, "; area over the mode steps %" PRId64 " to %" PRId64, loss->from, loss->to);
    else
        assay_put_format(&title, "; no mode steps that all trials cover");
    put_title(&title, draw, out);
    assay_table_put(&table, 2, draw, out);
    assay_table_release(&table);
    put_more(c, out);
}

static void put_classes(const assay_comparison *c, const assay_compared_classes *list, const assay_draw *draw,
                        assay_buf *out)
{
    char name[CLASSES_SHOWN][24], align[CLASSES_SHOWN + 4] = "err";
    const char *heads[CLASSES_SHOWN + 3] = {"trial", "samples", list->confusion ? "accuracy" : "imbalance"};
    size_t fit = CLASSES_SHOWN;
    for (size_t t = 0; t < c->trials; t++)
        fit = list->samples[t] >= 1e5 ? WIDE_CLASSES_SHOWN : fit; /* so that a line stays below 100 columns */
    size_t shown = list->classes < fit ? list->classes : fit;
    for (size_t i = 0; i < shown; i++) {
        snprintf(name[i], sizeof name[i], "%" PRId64, list->class[i]);
        heads[3 + i] = name[i];
        align[3 + i] = 'r';
        align[4 + i] = '\0';
    }
    assay_table table;
    assay_table_init(&table, align, heads);
    for (size_t t = 0; t < shown_trials(c); t++) {
        assay_table_cell(&table, trial_name(c, t));
        some_number(&table, list->samples[t], 0);
        some_number(&table, list->figure[t], 3);
        for (size_t i = 0; i < shown; i++)
            some_number(&table, list->value[t * list->classes + i], list->confusion ? 2 : 0);
    }
    const char *name_of = c->outcome->job->aggregations[list->aggregation]->name;
    assay_buf title;
    assay_buf_init(&title, ASSAY_REPORT_CEILING);
    assay_put_bytes(&title, name_of, strlen(name_of));
    assay_put_format(&title, ": %s",
                     list->confusion ? "accuracy, and the recall of each class"
                                     : "samples of each class, and the largest over the smallest");
    put_title(&title, draw, out);
    assay_table_put(&table, 2, draw, out);
    assay_table_release(&table);
    if (shown < list->classes + list->classes_left_out)
        assay_put_format(out, "... and %zu more; report.json has them, those of each trial under its aggregations.\n",
                         list->classes + list->classes_left_out - shown);
    put_more(c, out);
}

/* What was not looked at: nobody shall take it for equal. */
static void put_bounds(const assay_comparison *c, assay_buf *out)
{
    size_t thinned = 0, cut = 0;
    for (size_t t = 0; t < c->trials; t++) {
        bool some = false;
        for (int m = 0; m < ASSAY_MODES; m++)
            some = some || c->trial[t].every[m] > 1 || c->trial[t].losses_every[m] > 1;
        thinned += some;
        cut += c->trial[t].left_out + c->trial[t].unseen > 0;
    }
    if (thinned > 0)
        assay_put_format(
            out,
            "Of %zu trial%s only some of the steps were compared: \"every\" and \"losses_every\" in report.json have "
            "how many.\n",
            thinned, assay_plural(thinned));
    if (cut > 0)
        assay_put_format(out, "Of %zu trial%s some tensors were not compared: report.json has how many.\n", cut,
                         assay_plural(cut));
}

static void put_partings(const assay_comparison *c, const assay_draw *draw, assay_buf *out)
{
    static const char *const heads[] = {"trial",     "parted", "from start", "of",
                                        "mode step", "tensor", "by",         "difference"};
    assay_table table;
    assay_table_init(&table, "eooorelr", heads);
    for (size_t t = 0; t < shown_trials(c); t++) {
        const assay_compared_trial *one = &c->trial[t];
        if (t == c->baseline || c->outcome->trials[t].status != ASSAY_OK)
            continue;
        assay_table_cell(&table, trial_name(c, t));
        assay_table_format(&table, "%zu", one->parted);
        assay_table_format(&table, "%zu", one->from_start);
        assay_table_format(&table, "%zu", one->compared);
        if (one->tensors == 0) {
            for (int i = 0; i < 4; i++)
                assay_table_cell(&table, "");
            continue;
        }
        const assay_compared_tensor *first = &one->tensor[0];
        assay_table_format(&table, "%s %" PRId64, assay_mode_name(first->mode), first->mode_step);
        assay_table_cell(&table, assay_trial_tensor(c->outcome->trials[t].info, first->tensor));
        assay_table_cell(&table, first->what);
        if (first->parting == ASSAY_PARTS_VALUE)
            assay_table_number(&table, first->difference);
        else
            assay_table_cell(&table, "");
    }
    assay_report_put_heading(out, "Where tensors first part from the baseline");
    assay_put_format(out, "baseline ");
    assay_text_put_clean(out, trial_name(c, c->baseline), strlen(trial_name(c, c->baseline)));
    if (c->outcome->trials[c->baseline].status != ASSAY_OK)
        assay_put_format(out, ", which could not be read: no tensor was compared\n");
    else
        assay_put_format(out, ", tolerance %g\n", c->tolerance);
    assay_table_put(&table, 0, draw, out);
    assay_table_release(&table);
    put_more(c, out);
    put_bounds(c, out);
}

static void put_outliers(const assay_comparison *c, const assay_draw *draw, assay_buf *out)
{
    static const char *const heads[] = {"trial", "what", "value", "median", "score"};
    assay_table table;
    if (c->outliers == 0)
        return;
    assay_table_init(&table, "eerrr", heads);
    for (size_t i = 0; i < c->outliers && i < OUTLIERS_SHOWN; i++) {
        const assay_outlier *o = &c->outlier[i];
        assay_table_cell(&table, trial_name(c, o->trial));
        assay_table_cell(&table, o->what);
        assay_table_number(&table, o->value);
        assay_table_number(&table, o->median);
        assay_table_format(&table, "%.1f", o->score);
    }
    assay_report_put_heading(out, "Outliers");
    assay_table_put(&table, 0, draw, out);
    assay_table_release(&table);
    if (c->outliers > OUTLIERS_SHOWN)
        assay_put_format(out, "... and %zu more; report.json has all of them.\n", c->outliers - OUTLIERS_SHOWN);
}

/* The trials that are unlike the others, each with all its reasons: the answer has the first ones alone. */
static void put_odd(const assay_comparison *c, const assay_draw *draw, assay_buf *out)
{
    size_t shown = 0;
    if (c->odd == 0)
        return;
    assay_report_put_heading(out, "Unlike the others");
    for (size_t t = 0; t < c->trials && shown < TRIALS_SHOWN; t++) {
        const assay_compared_trial *trial = &c->trial[t];
        if (!trial->odd)
            continue;
        shown++;
        assay_text_put_clean(out, trial_name(c, t), strlen(trial_name(c, t)));
        assay_put_format(out, "\n");
        for (size_t i = 0; i < trial->reasons; i++)
            assay_text_put_wrapped(out, draw, 4, NULL, trial->reason[i], strlen(trial->reason[i]));
    }
    if (c->odd > shown)
        assay_put_format(out, "... and %zu more; report.json has all of them.\n", c->odd - shown);
}

/* What the trials say that do not say the usual: "run-07 0.5, run-13 0.1". */
static void put_values(const assay_comparison *c, const assay_compared_setting *s, assay_table *table)
{
    assay_buf line;
    size_t said = 0;
    assay_buf_init(&line, ASSAY_REPORT_CEILING);
    for (size_t t = 0; t < c->trials && said < NAMES_SHOWN; t++) {
        bool shown = c->judged ? c->trial[t].odd : true;
        if (!shown || !s->value[t] || (s->usual && strcmp(s->value[t], s->usual) == 0))
            continue;
        assay_put_format(&line, "%s", said++ ? ", " : "");
        assay_text_put_cut(&line, trial_name(c, t), strlen(trial_name(c, t)), 24);
        assay_put_format(&line, " ");
        assay_text_put_cut(&line, s->value[t], strlen(s->value[t]), 24);
    }
    assay_put_u8(&line, '\0');
    assay_table_cell(table, assay_buf_status(&line) == ASSAY_OK ? (const char *)line.data : "");
    assay_buf_release(&line);
}

static void put_settings(const assay_comparison *c, const assay_draw *draw, assay_buf *out)
{
    const char *const heads[] = {"setting", c->judged ? "the others" : "most", c->judged ? "unlike them" : "trials"};
    assay_table table;
    if (c->settings == 0)
        return;
    assay_table_init(&table, "eee", heads);
    for (size_t i = 0; i < c->settings && i < SETTINGS_SHOWN; i++) {
        assay_table_cell(&table, c->setting[i].name);
        assay_table_cell(&table, c->setting[i].usual ? c->setting[i].usual : "differ");
        put_values(c, &c->setting[i], &table);
    }
    assay_report_put_heading(out, "Settings that differ");
    assay_table_put(&table, 0, draw, out);
    assay_table_release(&table);
    if (c->settings > SETTINGS_SHOWN)
        assay_put_format(out, "... and %zu more; report.json has all of them.\n", c->settings - SETTINGS_SHOWN);
}

static void put_known(double value, assay_table *table)
{
    if (isnan(value))
        assay_table_cell(table, "-");
    else
        assay_table_number(table, value);
}

/* How fast the trainings were and how busy their machines, side by side. */
static void put_paces(const assay_comparison *c, const assay_draw *draw, assay_buf *out)
{
    static const char *const heads[] = {"trial", "mode",  "steps",      "median s", "99 % s",     "between %",
                                        "CPU %", "GPU %", "GPU mem. %", "I/O %",    "network B/s"};
    static const int metrics[] = {ASSAY_METRIC_CPU, ASSAY_METRIC_GPU, ASSAY_METRIC_GPU_MEMORY, ASSAY_METRIC_IO_WAIT,
                                  ASSAY_METRIC_NETWORK};
    assay_table table;
    size_t shown = 0;
    if (c->paces == 0)
        return;
    assay_table_init(&table, "elrrrrrrrrr", heads);
    for (size_t t = 0; t < c->trials && shown < TRIALS_SHOWN; t++) {
        const assay_compared_pace *pace = &c->trial[t].pace;
        if (!compare_has_pace(c, t))
            continue;
        shown++;
        assay_table_cell(&table, trial_name(c, t));
        assay_table_cell(&table, pace->mode ? pace->mode : "-");
        assay_table_format(&table, "%" PRIu64, pace->steps);
        put_known(pace->median, &table);
        put_known(pace->p99, &table);
        put_known(pace->between, &table);
        for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++)
            put_known(pace->use[metrics[m]], &table);
    }
    assay_report_put_heading(out, "Step times and use of the machines");
    assay_table_put(&table, 0, draw, out);
    assay_table_release(&table);
    if (c->paces > shown)
        assay_put_format(out, "... and %zu more; report.json has all of them.\n", c->paces - shown);
}

void report_put_comparison_text(const assay_comparison *c, const assay_draw *draw, assay_buf *out)
{
    put_odd(c, draw, out);
    put_settings(c, draw, out);
    put_trials(c, draw, out);
    put_paces(c, draw, out);
    if (c->outcome->job->rule_count > 0) {
        put_matrix(c, draw, out);
        put_groups(c, draw, out);
    }
    if (c->losses > 0)
        assay_report_put_heading(out, "Losses by mode step");
    for (size_t i = 0; i < c->losses; i++)
        put_loss(c, &c->loss[i], draw, out);
    bool any = false;
    for (size_t i = 0; i < c->class_lists; i++) {
        if (compare_has_no_samples(c, &c->classes[i]))
            continue;
        if (!any)
            assay_report_put_heading(out, "Classes");
        any = true;
        put_classes(c, &c->classes[i], draw, out);
    }
    put_partings(c, draw, out);
    put_outliers(c, draw, out);
}
