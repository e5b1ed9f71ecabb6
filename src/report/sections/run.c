/* run.c - how the report was made: every parameter, and in a section of its own what depends on the run. */
#include <inttypes.h>
#include <string.h>

#include "report/sections/sections.h"
#include "report/text/layout.h"

void section_parameters(const assay_report *report, doc *d)
{
    static const doc_column columns[] = {{"name", DOC_OF_NAMES, NULL, DOC_CUT_LAST},
                                         {"rule", DOC_OF_NAMES, NULL, DOC_KEEP},
                                         {"severity", DOC_OF_WORDS, NULL, DOC_KEEP},
                                         {"parameters", DOC_OF_WORDS, NULL, DOC_KEEP}};
    const assay_job *job = report->outcome->job;
    const size_t count = job->rule_count + job->aggregation_count;
    doc_only(d, DOC_HTML);
    doc_section(d, "parameters", "Rules and their parameters");
    doc_details(d, NULL);
    doc_put(d, "All parameters with their values, defaults included");
    doc_table(d, &(doc_table_def){"parameters", "rules", columns, sizeof columns / sizeof *columns, false});
    for (size_t i = 0; i < count; i++) {
        const assay_instance *instance = assay_job_instance(job, i);
        assay_buf text = ASSAY_BUF(ASSAY_REPORT_CEILING);
        doc_row(d, DOC_PLAIN);
        doc_cell_name(d, instance->name);
        doc_cell_name(d, instance->ops ? instance->ops->name : instance->rule_name);
        doc_cell_words(d, i < job->rule_count ? assay_severity_name(instance->severity) : "aggregation");
        if (!instance->params)
            continue;
        assay_instance_put_parameters(instance, &text);
        doc_fail(d, assay_buf_status(&text));
        doc_cell(d);
        doc_put_text(d, (const char *)text.data, text.size);
        assay_buf_release(&text);
    }
    doc_end(d);
    doc_end(d);
}

static void put_fact(doc *d, const char *name, const char *value)
{
    if (!value[0])
        return;
    doc_fact(d, name);
    doc_put_text(d, value, strlen(value));
}

static void put_size(doc *d, const char *name, uint64_t bytes)
{
    assay_buf text = ASSAY_BUF(256);
    assay_text_put_bytes(&text, bytes);
    doc_fact(d, name);
    doc_put_words(d, (const char *)text.data, text.size);
    assay_buf_release(&text);
}

void report_add_run(const assay_report *report, const assay_report_origin *origin, doc *d)
{
    const assay_run_figures *run = &report->outcome->run;
    assay_buf command = ASSAY_BUF(ASSAY_REPORT_CEILING);
    doc_section(d, "run", "How this report was made");
    doc_paragraph(d);
    doc_put(d, "To make it again, from the directory it was started in:");
    if (run->ranks > 1)
        assay_put_format(&command, "mpirun -n %d ", run->ranks);
    assay_put_bytes(&command, origin->command, strlen(origin->command));
    doc_lines(d, (const char *)command.data, command.size);
    doc_fail(d, assay_buf_status(&command));
    assay_buf_release(&command);
    doc_facts(d);
    put_fact(d, "assay", origin->version);
    put_fact(d, "job", report->outcome->job->file);
    put_fact(d, "date", origin->date);
    put_fact(d, "host", origin->host);
    put_fact(d, "user", origin->user);
    put_fact(d, "Slurm job", origin->slurm_job);
    put_fact(d, "MPI", origin->library);
    doc_fact(d, "ranks");
    doc_put(d, "%d on %d host%s", run->ranks, run->nodes, assay_plural((uint64_t)run->nodes));
    doc_fact(d, "chunks");
    doc_put(d, "%" PRIu64, (uint64_t)report->outcome->plan.chunks);
    doc_fact(d, "records read");
    doc_put(d, "%" PRIu64, run->records_read);
    put_size(d, "read", run->bytes_read);
    put_size(d, "largest memory of a rank", run->peak_memory);
    doc_fact(d, "time");
    doc_put(d, "%.3g s, of it %.3g s listing, %.3g s reading, %.3g s combining", run->seconds, run->seconds_listing,
            run->seconds_reading, run->seconds_combining);
    doc_note(d);
    doc_put(d, "Only this part depends on how the job was run; everything above is the same at any number of ranks.");
    doc_end(d);
}
