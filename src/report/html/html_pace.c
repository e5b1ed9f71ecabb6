/* html_pace.c - of several trials with profiler data: step times and use of the machines, side by side. */
#include <inttypes.h>
#include <math.h>

#include "report/compare/comparison.h"
#include "report/html/html.h"
#include "report/model/profile.h"

static void put_known(html_page *page, double value)
{
    html_put(page, "<td class=\"n\">");
    if (!isnan(value))
        html_number(page, value);
    html_put(page, "</td>");
}

static void put_row(html_page *page, const assay_comparison *c, size_t t)
{
    const assay_compared_pace *pace = &c->trial[t].pace;
    html_put(page, "<tr><th scope=\"row\">");
    html_name(page, c->outcome->trials[t].trial->name);
    html_put(page, "</th><td>");
    html_name(page, pace->mode ? pace->mode : "");
    html_put(page, "</td><td class=\"n\">%" PRIu64 "</td>", pace->steps);
    put_known(page, pace->median);
    put_known(page, pace->p99);
    put_known(page, pace->between);
    for (int m = 0; m < ASSAY_METRICS; m++)
        put_known(page, pace->use[m]);
    html_put(page, "</tr>\n");
}

void html_paces(html_page *page, const assay_comparison *c)
{
    size_t left = 0;
    if (c->paces == 0)
        return;
    html_put(page, "<h3>Step times and use of the machines</h3>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                   "aria-label=\"Step times and use of the machines\"><table><thead><tr><th scope=\"col\">Trial</th>"
                   "<th scope=\"col\">Mode</th><th scope=\"col\">Steps</th><th scope=\"col\">Median s</th>"
                   "<th scope=\"col\">99 %% s</th><th scope=\"col\">Between steps %%</th>");
    for (int m = 0; m < ASSAY_METRICS; m++)
        html_put(page, "<th scope=\"col\">%s %s</th>", profile_metric_name(m), m == ASSAY_METRIC_NETWORK ? "B/s" : "%");
    html_put(page, "</tr></thead><tbody>\n");
    for (size_t t = 0; t < c->trials; t++) {
        if (!compare_has_pace(c, t))
            continue;
        if (html_full(page))
            left++;
        else
            put_row(page, c, t);
    }
    html_put(page, "</tbody></table></div>\n");
    html_more(page, left, "trials");
}
