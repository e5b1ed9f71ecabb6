/* html_profile.c - where time and hardware went: heat strips of the machines' use, time in steps, durations with
 * outliers, operators by their share, and the summary of the rules over profiler data. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html/html.h"
#include "report/model/profile.h"

enum {
    COLUMNS = 120,   /* of a heat strip: stretches of time */
    SHADES = 8,      /* of one colour */
    NODES = 64,      /* that are drawn */
    UNITS_APART = 8, /* more GPUs of a node than this share one drawing */
    TABLE_ROWS = 64, /* of steps */
    OPERATORS = 12   /* of each kind */
};

/* ---- heat strips ---- */

/* The mean of each stretch of time, negative where there is no sample. */
static void find_course(const profile *p, const profile_use *row, double course[COLUMNS])
{
    uint64_t n[COLUMNS] = {0};
    const double length = (double)(p->line->end - p->line->start) + 1;
    memset(course, 0, COLUMNS * sizeof *course);
    for (uint64_t i = 0; i < row->series->count; i++) {
        const assay_sample *s = &row->series->sample[i];
        const double at = (double)(s->time - p->line->start) / length * COLUMNS;
        const int column = at < 0 ? 0 : at < COLUMNS ? (int)at : COLUMNS - 1;
        course[column] += profile_value(row->metric, s);
        n[column]++;
    }
    for (int i = 0; i < COLUMNS; i++)
        course[i] = n[i] ? course[i] / (double)n[i] : -1;
}

/* How dark a value is: percent as they are, bytes against the most of the row. 0: there is none. */
static int shade_of(const profile_use *row, double value)
{
    const double most = row->metric == ASSAY_METRIC_NETWORK ? row->spread.max : 100;
    if (value < 0)
        return 0;
    const double shade = most > 0 ? 1 + value / most * (SHADES - 1) : 1;
    return shade < SHADES ? (int)shade : SHADES;
}

/* One row of a drawing, `height` high from `top` on: a path for each shade, of the runs that have it. */
static void put_row(html_page *page, const profile *p, const profile_use *row, unsigned top, unsigned height)
{
    double course[COLUMNS];
    find_course(p, row, course);
    for (int shade = 1; shade <= SHADES; shade++) {
        bool any = false;
        for (int from = 0, to; from < COLUMNS; from = to) {
            for (to = from + 1; to < COLUMNS && shade_of(row, course[to]) == shade_of(row, course[from]); to++)
                ;
            if (shade_of(row, course[from]) != shade)
                continue;
            if (!any)
                html_put(page, "<path fill-opacity=\"%.2f\" d=\"", (double)shade / SHADES);
            html_put(page, "M%d %uh%dv%uh-%dz", from, top, to - from, height, to - from);
            any = true;
        }
        html_put(page, any ? "\"/>" : "");
    }
}

/* Rows of one metric as a lane: their name, a drawing, and what they come to on average. */
static void put_lane(html_page *page, const profile *p, const profile_use *rows, size_t count)
{
    const unsigned height = count == 1 ? 20 : 4;
    double mean = 0;
    for (size_t i = 0; i < count; i++)
        mean += rows[i].spread.mean / (double)count;
    html_put(page, "<div class=\"lane\"><span class=\"lane-name\">%s ", profile_metric_name(rows->metric));
    html_name(page, rows->unit);
    if (count > 1) {
        html_put(page, " to ");
        html_name(page, rows[count - 1].unit);
    }
    html_put(
        page,
        "</span><svg class=\"shades\" viewBox=\"0 0 %d %zu\" height=\"%zu\" preserveAspectRatio=\"none\" role=\"img\">"
        "<title>%s, mean ",
        COLUMNS, count * height, count * height, profile_metric_name(rows->metric));
    html_number(page, mean);
    html_put(page, "</title>");
    for (size_t i = 0; i < count && !html_full(page); i++)
        put_row(page, p, &rows[i], (unsigned)i * height, height - (count > 1));
    html_put(page, "</svg><span class=\"lane-count\">");
    html_number(page, mean);
    html_put(page, " %s</span></div>\n", rows->metric == ASSAY_METRIC_NETWORK ? "B/s" : "%");
}

/* The rows [first, end) of a node. */
static void put_node(html_page *page, const profile *p, size_t first, size_t end)
{
    const char *hint = profile_hint(p, p->use[first].node);
    html_put(page, "<h4>");
    html_name(page, p->line->node[p->use[first].node]);
    if (hint)
        html_put(page, " <span class=\"dim\">%s</span>", hint);
    html_put(page, "</h4>\n<div class=\"lanes\">\n");
    for (size_t i = first, to; i < end && !html_full(page); i = to) {
        size_t units = i + 1;
        while (units < end && p->use[units].metric == p->use[i].metric)
            units++;
        put_lane(page, p, &p->use[i], 1); /* the node's own */
        to = units;
        if (units - i - 1 > UNITS_APART)
            put_lane(page, p, &p->use[i + 1], units - i - 1);
        else
            for (size_t k = i + 1; k < units; k++)
                put_lane(page, p, &p->use[k], 1);
    }
    html_put(page, "</div>\n");
}

static void put_use(html_page *page, const profile *p)
{
    char from[REPORT_WHEN_ROOM], to[REPORT_WHEN_ROOM];
    size_t nodes = 0, first = 0;
    if (p->uses == 0)
        return;
    html_put(
        page,
        "<p class=\"note\">%s to %s from left to right; the darker, the more: of percent up to 100, of the network up "
        "to the row's most. A gap has no sample. At the right the mean.</p>\n",
        report_time(p->line->start, from), report_time(p->line->end, to));
    for (size_t end; first < p->uses && nodes < NODES && !html_full(page); first = end, nodes++) {
        for (end = first + 1; end < p->uses && p->use[end].node == p->use[first].node;)
            end++;
        put_node(page, p, first, end);
    }
    if (first < p->uses)
        html_more(page, p->uses - first, "rows");
}

/* ---- steps ---- */

/* A table's head of constant texts. */
static void put_heads(html_page *page, const char *caption, const char *const *heads)
{
    html_put(page,
             "<h4>%s</h4>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table><thead><tr>",
             caption, caption);
    for (size_t i = 0; heads[i]; i++)
        html_put(page, "<th scope=\"col\">%s</th>", heads[i]);
    html_put(page, "</tr></thead><tbody>\n");
}

static void put_bar(html_page *page, double share)
{
    html_put(
        page,
        "<svg class=\"shades\" viewBox=\"0 0 100 10\" height=\"10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
        "<path d=\"M0 0h%.2fv10H0z\"/></svg>",
        isnan(share) ? 0 : share);
}

static void put_share_row(html_page *page, const char *name, int64_t time, double share)
{
    html_put(page, "<tr><td>");
    html_name(page, name);
    html_put(page, "</td><td class=\"n\">%.2f</td><td class=\"n\">%.1f</td><td>", (double)time / 1e6,
             isnan(share) ? 0 : share);
    put_bar(page, share);
    html_put(page, "</td></tr>\n");
}

static const char *const share_heads[] = {"what", "seconds", "percent", "share", NULL};

static void put_phases(html_page *page, const profile *p)
{
    if (p->line->steps == 0)
        return;
    put_heads(page, "Time in steps, over all workers", share_heads);
    for (size_t m = 0; m < p->modes && m < TABLE_ROWS; m++)
        put_share_row(page, p->mode[m].name, p->mode[m].time, p->mode[m].share);
    put_share_row(page, "between steps", p->others, p->others_share);
    html_put(page, "</tbody></table></div>\n");
}

static void put_histogram(html_page *page, const profile_histogram *h)
{
    uint64_t most = 1;
    for (int i = 0; i < PROFILE_BINS; i++)
        most = h->count[i] > most ? h->count[i] : most;
    html_put(page,
             "<svg class=\"shades\" viewBox=\"0 0 %d 20\" height=\"20\" preserveAspectRatio=\"none\" role=\"img\">"
             "<title>durations within the limit</title><path d=\"",
             PROFILE_BINS);
    for (int i = 0; i < PROFILE_BINS; i++)
        if (h->count[i] > 0)
            html_put(page, "M%d 20v-%.1fh1V20z", i, 20.0 * (double)h->count[i] / (double)most);
    html_put(page, "\"/></svg>");
}

static void put_steps(html_page *page, const profile *p)
{
    static const char *const heads[] = {"worker",    "mode",    "steps",    "median s",  "99 % s",
                                        "longest s", "limit s", "outliers", "durations", NULL};
    size_t i = 0;
    if (p->step_rows == 0)
        return;
    put_heads(page, "Durations of steps; an outlier is longer than the mean by three standard deviations", heads);
    for (; i < p->step_rows && i < TABLE_ROWS && !html_full(page); i++) {
        const profile_steps *row = &p->steps[i];
        html_put(page, "<tr><td>");
        html_name(page, p->line->worker[row->worker].name);
        html_put(page, "</td><td>");
        html_name(page, p->line->mode[row->mode]);
        html_put(page, "</td><td class=\"n\">%" PRIu64 "</td>", row->spread.n);
        const double values[] = {row->spread.p50, row->spread.p99, row->spread.max};
        for (size_t k = 0; k < sizeof values / sizeof *values; k++)
            html_put(page, "<td class=\"n\">%.4g</td>", values[k] / 1e6);
        if (row->limited)
            html_put(page, "<td class=\"n\">%.4g</td><td class=\"n\">%" PRIu64 "</td><td>", row->limit / 1e6,
                     row->outliers);
        else
            html_put(page, "<td></td><td></td><td>");
        put_histogram(page, &row->histogram);
        html_put(page, "</td></tr>\n");
    }
    html_put(page, "</tbody></table></div>\n");
    html_more(page, p->step_rows - i, "rows");
}

static void put_operators(html_page *page, const profile *p, const char *caption, int kind)
{
    const profile_operators *o = &p->operators[kind];
    uint64_t i = 0;
    if (o->total == 0 || html_full(page))
        return;
    put_heads(page, caption, share_heads);
    for (; i < o->shown && i < OPERATORS; i++)
        put_share_row(page, o->list[i].name, o->list[i].time, profile_share(o->list[i].time, o->total));
    html_put(page, "</tbody></table></div>\n");
    html_more(page, o->count - i, "operators");
}

/* ---- other metrics ---- */

static void put_others(html_page *page, const profile *p)
{
    static const char *const heads[] = {"node", "metric", "samples", "mean", "least", "most", "last", NULL};
    size_t i = 0;
    if (p->data->others == 0 || html_full(page))
        return;
    put_heads(page, "Metrics that no rule looks at", heads);
    for (; i < p->data->others && i < TABLE_ROWS && !html_full(page); i++) {
        const assay_other_series *series = &p->data->other[i];
        const profile_other of = profile_other_of(series);
        const double values[] = {of.mean, of.least, of.most, of.last};
        html_put(page, "<tr><td>");
        html_name(page, series->node);
        html_put(page, "</td><td>");
        html_name(page, series->name);
        html_put(page, "</td><td class=\"n\">%" PRIu64 "</td>", series->count);
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            html_put(page, "<td class=\"n\">");
            html_number(page, values[k]);
            html_put(page, "</td>");
        }
        html_put(page, "</tr>\n");
    }
    html_put(page, "</tbody></table></div>\n");
    html_more(page, p->data->others - i, "rows");
}

/* ---- the rules ---- */

static void put_rules(html_page *page, const assay_trial_outcome *trial)
{
    static const char *const heads[] = {"rule",       "description", "recommendation", "triggered", "values",
                                        "parameters", NULL};
    size_t *order = NULL, count = 0, i = 0;
    const int status = profile_order_rules(page->outcome, trial, &order, &count);
    html_fail(page, status);
    if (status == ASSAY_OK && count > 0) {
        put_heads(page, "Rules over profiler data, those that triggered most first", heads);
        for (; i < count && !html_full(page); i++) {
            const report_rule rule = report_rule_of(page->outcome, trial, order[i], false);
            assay_buf parameters;
            assay_buf_init(&parameters, 1 << 16);
            assay_instance_put_parameters(rule.instance, &parameters);
            html_put(page, "<tr><td>");
            html_name(page, rule.instance->name);
            html_put(page, "</td><td>%s</td><td>%s</td>", rule.instance->ops->summary, rule.instance->ops->advice);
            html_put(page, "<td class=\"n\">%" PRIu64 "</td><td class=\"n\">%" PRIu64 "</td><td class=\"dim\">",
                     report_findings_total(&rule), profile_rule_samples(&rule));
            html_text_n(page, (const char *)parameters.data, parameters.size, HTML_TITLE);
            html_put(page, "</td></tr>\n");
            assay_buf_release(&parameters);
        }
        html_put(page, "</tbody></table></div>\n");
        html_more(page, count - i, "rules");
    }
    if (status == ASSAY_OK)
        free(order);
}

static void put_trial(html_page *page, size_t t)
{
    const assay_trial_outcome *trial = &page->outcome->trials[t];
    int status = ASSAY_OK;
    profile *p = profile_new(trial, &status);
    html_fail(page, status);
    if (!p)
        return;
    html_trial_begin(page, t, NULL);
    put_rules(page, trial);
    put_phases(page, p);
    put_steps(page, p);
    put_operators(page, p, "Operators on GPUs", ASSAY_TIME_GPU_OPERATOR);
    put_operators(page, p, "Operators on CPUs", ASSAY_TIME_CPU_OPERATOR);
    put_operators(page, p, "Horovod", ASSAY_TIME_HOROVOD);
    put_others(page, p);
    put_use(page, p);
    html_trial_end(page);
    profile_free(p);
}

void html_profiles(html_page *page)
{
    const assay_outcome *outcome = page->outcome;
    size_t count = 0, done = 0;
    for (size_t t = 0; t < outcome->trial_count; t++)
        count += html_read(&outcome->trials[t]) && outcome->trials[t].info->timeline;
    if (count == 0)
        return;
    html_section(page, "profile", "Where time and hardware went", HTML_BUDGET_PROFILE);
    const size_t end = page->end;
    for (size_t t = 0; t < outcome->trial_count && page->out->size < end; t++) {
        if (!html_read(&outcome->trials[t]) || !outcome->trials[t].info->timeline)
            continue;
        page->end = html_share(page, end, done++, count);
        put_trial(page, t);
    }
    page->end = end;
    html_more(page, count - done, "trials");
    html_section_end(page);
}
