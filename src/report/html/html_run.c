/* html_run.c - how the report was made: parameters, and in a separate section what depends on the run. */
#include <inttypes.h>
#include <string.h>

#include "report/html/html.h"
#include "report/text/layout.h"

enum { VALUE_SHOWN = 200 };

/* The parameters of a rule as `name = value` lines. */
static void put_parameters(html_page *page, const assay_instance *instance)
{
    cJSON *all = NULL;
    assay_buf text;
    assay_buf_init(&text, ASSAY_REPORT_CEILING);
    assay_instance_put_parameters(instance, &text);
    int status = assay_buf_status(&text);
    if (status == ASSAY_OK)
        status = assay_json_parse("parameters", text.data, text.size, &all, NULL);
    html_fail(page, status == ASSAY_ENOMEM ? status : ASSAY_OK);
    html_put(page, "<ul class=\"parameters\">");
    for (const cJSON *item = all ? all->child : NULL; item && !html_full(page); item = item->next) {
        char *value = cJSON_IsNull(item) ? NULL : cJSON_PrintUnformatted(item);
        if (!value && !cJSON_IsNull(item))
            html_fail(page, ASSAY_ENOMEM);
        html_put(page, "<li>");
        html_text_n(page, item->string, strlen(item->string), HTML_NAME);
        html_put(page, " = <code>");
        if (cJSON_IsString(item))
            html_text_n(page, item->valuestring, strlen(item->valuestring), VALUE_SHOWN);
        else
            html_text_n(page, value ? value : "none", value ? strlen(value) : 4, VALUE_SHOWN);
        html_put(page, "</code></li>");
        cJSON_free(value);
    }
    html_put(page, "</ul>");
    cJSON_Delete(all);
    assay_buf_release(&text);
}

static void put_instance(html_page *page, const assay_instance *instance, bool aggregation)
{
    html_put(page, "<tr><th scope=\"row\">");
    html_name(page, instance->name);
    html_put(page, "</th><td>");
    html_name(page, instance->ops ? instance->ops->name : instance->rule_name);
    html_put(page, "</td><td>%s</td><td>", aggregation ? "aggregation" : assay_severity_name(instance->severity));
    if (instance->params)
        put_parameters(page, instance);
    else
        html_put(page, "\u2013");
    html_put(page, "</td></tr>\n");
}

void html_settings(html_page *page)
{
    const assay_job *job = page->outcome->job;
    size_t count = job->rule_count + job->aggregation_count, i = 0;
    html_section(page, "parameters", "Rules and their parameters", HTML_BUDGET_PARAMETERS);
    html_put(page, "<details><summary>All parameters with their values, defaults included</summary>\n"
                   "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Parameters\"><table "
                   "class=\"top\"><thead><tr><th>Name</th>"
                   "<th>Rule</th><th>Severity</th><th>Parameters</th></tr></thead><tbody>\n");
    size_t end = page->end;
    for (; i < count && page->out->size < end; i++) {
        page->end = html_share(page, end, i, count);
        put_instance(page, assay_job_instance(job, i), i >= job->rule_count);
    }
    page->end = end;
    html_put(page, "</tbody></table></div>");
    html_more(page, count - i, "rules");
    html_put(page, "</details>\n");
    html_section_end(page);
}

static void put_fact(html_page *page, const char *name, uint64_t value)
{
    html_put(page, "<dt>%s</dt><dd>%" PRIu64 "</dd>", name, value);
}

static void put_size(html_page *page, const char *name, uint64_t bytes)
{
    html_put(page, "<dt>%s</dt><dd>", name);
    assay_text_put_bytes(page->out, bytes);
    html_put(page, "</dd>");
}

static void put_seconds(html_page *page, const char *name, double seconds)
{
    html_put(page, "<dt>%s</dt><dd>%.3g s</dd>", name, seconds);
}

void html_run(html_page *page)
{
    const assay_run_figures *run = &page->outcome->run;
    const assay_plan_figures *plan = &page->outcome->plan;
    const assay_report_origin *origin = page->origin;
    html_section(page, "run", "How this report was made", HTML_BUDGET_RUN);
    html_put(
        page,
        "<p>To make it again, from the directory it was started in:</p>\n<pre class=\"command\" tabindex=\"0\"><code>");
    if (run->ranks > 1)
        html_put(page, "mpirun -n %d ", run->ranks);
    html_text(page, origin->command);
    html_put(page, "</code></pre>\n<dl class=\"grid\"><dt>assay</dt><dd>");
    html_text(page, origin->version);
    html_put(page, "</dd><dt>Job</dt><dd>");
    html_name(page, page->outcome->job->file);
    html_put(page, "</dd>");
    const char *const facts[][2] = {{"Date", origin->date},
                                    {"Host", origin->host},
                                    {"User", origin->user},
                                    {"Slurm job", origin->slurm_job},
                                    {"MPI", origin->library}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        if (!facts[i][1][0])
            continue;
        html_put(page, "<dt>%s</dt><dd>", facts[i][0]);
        html_text(page, facts[i][1]);
        html_put(page, "</dd>");
    }
    put_fact(page, "Ranks", (uint64_t)run->ranks);
    put_fact(page, "Hosts", (uint64_t)run->nodes);
    put_fact(page, "Chunks", plan->chunks);
    put_fact(page, "Records read", run->records_read);
    put_size(page, "Read", run->bytes_read);
    put_size(page, "Largest memory of a rank", run->peak_memory);
    put_seconds(page, "Time", run->seconds);
    put_seconds(page, "of it listing", run->seconds_listing);
    put_seconds(page, "of it reading", run->seconds_reading);
    put_seconds(page, "of it combining", run->seconds_combining);
    html_put(page, "</dl>\n<p class=\"note\">Only this part depends on how the job was run; everything above is the "
                   "same at any number "
                   "of ranks.</p>\n");
    html_section_end(page);
}
