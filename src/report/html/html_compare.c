/* html_compare.c - several trials side by side (comparison.h): which of them stand out, and how. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/compare/comparison.h"
#include "report/html/html.h"

enum {
    GROUP_RULES = 12,
    GROUP_TRIALS = 24,
    OUTLIERS_SHOWN = 40,
    CLASSES_ACROSS = 40,
    SETTINGS_SHOWN = 60,
    SETTINGS_ACROSS = 8
};

const char *html_trial_name(const assay_comparison *c, size_t trial)
{
    return c->outcome->trials[trial].trial->name;
}

void html_table_begin(html_page *page, const char *label, const char *class)
{
    html_put(page,
             "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table class=\"%s\"><thead><tr>",
             label, class);
}

void html_table_end(html_page *page, size_t left, const char *what)
{
    html_put(page, "</tbody></table></div>\n");
    html_more(page, left, what);
}

void html_trial_head(html_page *page, const assay_comparison *c, size_t trial)
{
    html_put(page, "<th scope=\"row\">");
    html_name(page, html_trial_name(c, trial));
    html_put(page, trial == c->baseline ? " <span class=\"tag\">baseline</span></th>" : "</th>");
}

/* The sign of a NaN says nothing, and differs between machines. */
static void put_short(html_page *page, double value)
{
    if (isnan(value))
        html_put(page, "nan");
    else
        html_put(page, "%.4g", value);
}

/* A number, or a dash where there is none. */
static void put_figure(html_page *page, double value)
{
    html_put(page, "<td class=\"n\">");
    if (isnan(value))
        html_put(page, "\u2013");
    else
        put_short(page, value);
    html_put(page, "</td>");
}

/* ---- groups and first findings ---- */

static void put_group(html_page *page, const assay_comparison *c, const assay_trial_group *g)
{
    static const char *const kinds[] = {"", "no findings", "no rule could be evaluated, which is not a pass",
                                        "could not be read"};
    html_put(page, "<li><strong>%zu trial%s</strong>: ", g->trials, assay_plural(g->trials));
    for (size_t i = 0; i < g->rules && i < GROUP_RULES; i++) {
        html_put(page, i ? ", " : "");
        html_name(page, c->outcome->job->rules[g->rule[i]]->name);
    }
    if (g->rules > GROUP_RULES)
        html_put(page, " and %zu more", g->rules - GROUP_RULES);
    if (g->kind != ASSAY_GROUP_FINDINGS)
        html_put(page, "%s", kinds[g->kind]);
    html_put(page, "<br><span class=\"dim\">");
    for (size_t i = 0; i < g->trials && i < GROUP_TRIALS; i++) {
        html_put(page, i ? ", " : "");
        html_name(page, html_trial_name(c, g->trial[i]));
    }
    if (g->trials > GROUP_TRIALS)
        html_put(page, " and %zu more", g->trials - GROUP_TRIALS);
    html_put(page, "</span></li>\n");
}

static void put_groups(html_page *page, const assay_comparison *c)
{
    size_t i = 0;
    html_put(page, "<h3>Trials that fail alike</h3>\n<ol class=\"groups\">\n");
    for (; i < c->groups && !html_full(page); i++)
        put_group(page, c, &c->group[i]);
    html_put(page, "</ol>\n");
    html_more(page, c->groups - i, "groups");
}

static void put_first(html_page *page, const assay_comparison *c, size_t t)
{
    const assay_compared_trial *trial = &c->trial[t];
    const assay_trial *info = c->outcome->trials[t].info;
    html_put(page, "<tr>");
    html_trial_head(page, c, t);
    html_put(page, "<td class=\"n\">%zu</td><td class=\"n\">%zu</td>", trial->group + 1, trial->rules_with_findings);
    if (trial->first && info) {
        char when[REPORT_WHEN_ROOM];
        html_put(page, "<td class=\"n\">%s</td><td>", report_finding_when(trial->first, when));
        html_name(page, c->outcome->job->rules[trial->first_rule]->name);
        html_put(page, "</td><td>");
        html_name(page, report_finding_worker(info, trial->first));
        html_put(page, "</td><td>");
        html_name(page, report_finding_tensor(info, trial->first));
        html_put(page, "</td></tr>\n");
    } else {
        html_put(page, "<td colspan=\"4\" class=\"dim\">%s</td></tr>\n",
                 html_read(&c->outcome->trials[t]) ? "no finding" : "not read");
    }
}

static void put_firsts(html_page *page, const assay_comparison *c)
{
    size_t t = 0;
    html_put(page, "<h3>The first finding of each trial</h3>\n");
    html_table_begin(page, "First findings", "");
    html_put(page, "<th>Trial</th><th class=\"n\">Group</th><th class=\"n\">Rules</th><th "
                   "class=\"n\">Step</th><th>Rule</th><th>Worker</th>"
                   "<th>Tensor</th></tr></thead><tbody>\n");
    for (; t < c->trials && !html_full(page); t++)
        put_first(page, c, t);
    html_table_end(page, c->trials - t, "trials");
}

/* ---- numbers that stand out ---- */

static void put_outliers(html_page *page, const assay_comparison *c)
{
    size_t i = 0;
    if (c->outliers == 0)
        return;
    html_put(page, "<h3>Numbers far from those of the other trials</h3>\n");
    html_table_begin(page, "Outliers", "");
    html_put(page, "<th>Trial</th><th>What</th><th class=\"n\">Value</th><th class=\"n\">Median</th><th "
                   "class=\"n\">Robust z-score</th></tr></thead>"
                   "<tbody>\n");
    for (; i < c->outliers && i < OUTLIERS_SHOWN && !html_full(page); i++) {
        const assay_outlier *o = &c->outlier[i];
        html_put(page, "<tr>");
        html_trial_head(page, c, o->trial);
        html_put(page, "<td>");
        html_text_n(page, o->what, strlen(o->what), HTML_TITLE);
        html_put(page, "</td>");
        put_figure(page, o->value);
        put_figure(page, o->median);
        put_figure(page, o->score);
        html_put(page, "</tr>\n");
    }
    html_table_end(page, c->outliers - i, "numbers");
}

/* ---- losses ---- */

static void put_loss(html_page *page, const assay_comparison *c, const assay_compared_loss *loss)
{
    size_t t = 0;
    html_put(page, "<h4>");
    html_name(page, loss->tensor);
    html_put(page, " <span class=\"tag\">%s</span></h4>\n", assay_mode_name(loss->mode));
    html_table_begin(page, "Losses", "");
    html_put(page, "<th>Trial</th><th class=\"n\">Best</th><th class=\"n\">at mode step</th><th class=\"n\">Last</th>"
                   "<th class=\"n\">at mode step</th><th class=\"n\">Area</th></tr></thead><tbody>\n");
    for (; t < c->trials && !html_full(page); t++) {
        const assay_loss_figures *f = &loss->figures[t];
        html_put(page, "<tr>");
        html_trial_head(page, c, t);
        if (f->points == 0) {
            html_put(page, "<td colspan=\"5\" class=\"dim\">not there</td></tr>\n");
            continue;
        }
        put_figure(page, f->best);
        html_put(page, "<td class=\"n\">%" PRId64 "</td>", f->best_mode_step);
        put_figure(page, f->last);
        html_put(page, "<td class=\"n\">%" PRId64 "</td>", f->last_mode_step);
        put_figure(page, loss->from < loss->to ? f->area : NAN); /* over one step there is none */
        html_put(page, "</tr>\n");
    }
    html_table_end(page, c->trials - t, "trials");
}

static void put_losses(html_page *page, const assay_comparison *c)
{
    size_t end = page->end, i = 0;
    if (c->losses == 0)
        return;
    html_put(page, "<h3>Losses</h3><p class=\"note\">The area lies under the curve, over the mode steps that all "
                   "trials with the loss "
                   "cover.</p>\n");
    for (; i < c->losses && page->out->size < end; i++) {
        page->end = html_share(page, end, i, c->losses);
        put_loss(page, c, &c->loss[i]);
    }
    page->end = end;
    html_more(page, c->losses - i + c->losses_left_out, "losses");
}

/* ---- classes: the figure of each trial, and the recall of each class ---- */

static void put_class_list(html_page *page, const assay_comparison *c, const assay_compared_classes *k)
{
    size_t shown = k->confusion ? (k->classes < CLASSES_ACROSS ? k->classes : CLASSES_ACROSS) : 0, t = 0;
    html_put(page, "<h4>");
    html_name(page, c->outcome->job->aggregations[k->aggregation]->name);
    html_put(page, "</h4>\n");
    html_table_begin(page, "Classes", k->confusion ? "heat recalls" : "");
    html_put(page, "<th>Trial</th><th class=\"n\">Samples</th><th class=\"n\">%s</th>",
             k->confusion ? "Accuracy" : "Largest class over smallest");
    for (size_t i = 0; i < shown; i++)
        html_put(page, "<th scope=\"col\">%" PRId64 "</th>", k->class[i]);
    html_put(page, "</tr></thead><tbody>\n");
    for (; t < c->trials && !html_full(page); t++) {
        html_put(page, "<tr>");
        html_trial_head(page, c, t);
        put_figure(page, k->samples[t]);
        put_figure(page, k->figure[t]);
        for (size_t i = 0; i < shown; i++) {
            double recall = k->value[t * k->classes + i];
            if (isnan(recall))
                html_put(page, "<td>\u2013</td>");
            else
                html_put(page, "<td class=\"h%d\">%.2f</td>", recall > 0 ? 1 + (int)(recall * 8.999) : 0, recall);
        }
        html_put(page, "</tr>\n");
    }
    html_table_end(page, c->trials - t, "trials");
    if (k->confusion)
        html_more(page, k->classes + k->classes_left_out - shown, "classes");
}

static void put_classes(html_page *page, const assay_comparison *c)
{
    size_t end = page->end, i = 0, empty = 0;
    for (size_t k = 0; k < c->class_lists; k++)
        empty += compare_has_no_samples(c, &c->classes[k]);
    if (empty == c->class_lists)
        return;
    html_put(
        page,
        "<h3>Classes</h3><p class=\"note\">Of a confusion matrix: the accuracy, and the recall of each class.</p>\n");
    for (; i < c->class_lists && page->out->size < end; i++) {
        page->end = html_share(page, end, i, c->class_lists);
        if (!compare_has_no_samples(c, &c->classes[i]))
            put_class_list(page, c, &c->classes[i]);
    }
    page->end = end;
    html_more(page, c->class_lists - i, "aggregations");
}

/* ---- tensors ---- */

static void put_parting(html_page *page, const assay_comparison *c, size_t t)
{
    const assay_compared_trial *trial = &c->trial[t];
    const assay_compared_tensor *p = trial->tensors ? &trial->tensor[0] : NULL;
    html_put(page, "<tr>");
    html_trial_head(page, c, t);
    html_put(page, "<td class=\"n\">%zu of %zu</td><td class=\"n\">%zu</td>", trial->parted, trial->compared,
             trial->from_start);
    if (!p) {
        html_put(page, "<td colspan=\"5\" class=\"dim\">%s</td></tr>\n",
                 t == c->baseline  ? ""
                 : trial->compared ? "no tensor parts"
                                   : "there was nothing to compare");
        return;
    }
    html_put(page, "<td class=\"n\">%" PRId64 "</td><td>", p->mode_step);
    html_name(page, assay_trial_tensor(c->outcome->trials[t].info, p->tensor));
    html_put(page, " <span class=\"dim\">%s</span></td><td>%s</td>", assay_mode_name(p->mode), p->what);
    if (p->parting == ASSAY_PARTS_VALUE) {
        html_put(page, "<td class=\"n\">");
        put_short(page, p->own);
        html_put(page, " against ");
        put_short(page, p->other);
        html_put(page, "</td>");
        put_figure(page, p->most);
    } else {
        html_put(page, "<td></td><td></td>");
    }
    html_put(page, "</tr>\n");
}

static void put_tensors(html_page *page, const assay_comparison *c)
{
    size_t t = 0;
    html_put(page,
             "<h3>Where tensors part from the baseline</h3><p class=\"note\">The first tensor of each trial whose "
             "shape, type or "
             "figures differ by more than %.3g at a step that both have; report.json lists the others.%s</p>\n",
             c->tolerance,
             html_read(&c->outcome->trials[c->baseline]) ? ""
                                                         : " The baseline could not be read: nothing was compared.");
    html_table_begin(page, "Tensors that part", "");
    html_put(
        page,
        "<th>Trial</th><th class=\"n\">Tensors</th><th class=\"n\">Different from step 0 on</th><th class=\"n\">Mode "
        "step</th><th>Tensor</th><th>What</th>"
        "<th class=\"n\">Trial against baseline</th><th class=\"n\">Largest difference</th></tr></thead><tbody>\n");
    for (; t < c->trials && !html_full(page); t++)
        put_parting(page, c, t);
    html_table_end(page, c->trials - t, "trials");
}

/* ---- the odd ones, and the settings ---- */

bool html_is_usual(const html_page *page, size_t trial)
{
    return page->only_odd && compare_is_usual(page->comparison, trial);
}

size_t html_shown_trials(const html_page *page)
{
    size_t shown = 0;
    for (size_t t = 0; t < page->outcome->trial_count; t++)
        shown += !html_is_usual(page, t);
    return shown;
}

static void put_odd(html_page *page, const assay_comparison *c)
{
    if (c->odd == 0)
        return;
    html_put(page, "<h3>Unlike the others</h3>\n");
    html_table_begin(page, "Unlike the others", "");
    html_put(page, "<th>Trial</th><th>By what</th></tr></thead><tbody>\n");
    size_t left = 0;
    for (size_t t = 0; t < c->trials; t++) {
        if (!c->trial[t].odd)
            continue;
        if (html_full(page)) {
            left++;
            continue;
        }
        html_put(page, "<tr>");
        html_trial_head(page, c, t);
        html_put(page, "<td>");
        for (size_t i = 0; i < c->trial[t].reasons; i++) {
            html_put(page, i ? "; " : "");
            html_text_n(page, c->trial[t].reason[i], strlen(c->trial[t].reason[i]), HTML_TITLE);
        }
        html_put(page, "</td></tr>\n");
    }
    html_table_end(page, left, "trials");
}

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

/* What those say that differ from the usual: with few trials or values all of them, else how many there are. */
static void put_setting(html_page *page, const assay_comparison *c, const assay_compared_setting *s)
{
    size_t said = 0;
    html_put(page, "<tr><th scope=\"row\">");
    html_name(page, s->name);
    html_put(page, s->goes ? " <span class=\"tag\">goes with them</span></th><td>" : "</th><td>");
    if (s->usual)
        html_short_name(page, s->usual, HTML_NAME);
    else
        html_put(page, "%zu values", count_values(c, s));
    html_put(page, "</td><td>");
    for (size_t t = 0; t < c->trials && said < SETTINGS_ACROSS; t++) {
        bool shown = c->judged ? c->trial[t].odd : true;
        if (!shown || !s->value[t] || (s->usual && strcmp(s->value[t], s->usual) == 0))
            continue;
        html_put(page, said++ ? "; " : "");
        html_name(page, html_trial_name(c, t));
        html_put(page, ": ");
        html_short_name(page, s->value[t], HTML_NAME);
    }
    html_put(page, "</td></tr>\n");
}

static void put_settings(html_page *page, const assay_comparison *c)
{
    size_t i = 0;
    if (c->settings == 0)
        return;
    html_put(page, "<h3>Settings that differ</h3>\n");
    html_table_begin(page, "Settings that differ", "");
    html_put(page, "<th>Setting</th><th>%s</th><th>%s</th></tr></thead><tbody>\n", c->judged ? "The others" : "Most",
             c->judged ? "Unlike the others" : "Trials");
    for (; i < c->settings && i < SETTINGS_SHOWN && !html_full(page); i++)
        put_setting(page, c, &c->setting[i]);
    html_table_end(page, c->settings - i, "settings");
}

void html_comparison(html_page *page)
{
    static void (*const parts[])(html_page *, const assay_comparison *) = {
        put_odd,    put_settings, html_paces, html_matrix, put_groups,
        put_firsts, put_outliers, put_losses, put_classes, put_tensors};
    size_t count = sizeof parts / sizeof *parts;
    const assay_comparison *c = page->comparison;
    if (!c)
        return;
    html_section(page, "comparison", "Trials side by side", HTML_BUDGET_COMPARISON);
    size_t end = page->end;
    for (size_t i = 0; i < count; i++) {
        page->end = html_share(page, end, i, count);
        parts[i](page, c);
    }
    page->end = end;
    html_section_end(page);
}
