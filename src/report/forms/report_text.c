/* report_text.c - the text report, and the parts of it that other listings of a trial have. */
#include <inttypes.h>
#include <string.h>

#include "report/document/render.h"
#include "report/form.h"
#include "report/sections/sections.h"
#include "report/text/layout.h"

void assay_report_put_heading(assay_buf *out, const char *heading)
{
    assay_put_format(out, "\n%s\n", heading);
    for (size_t i = 0; i < strlen(heading); i++)
        assay_put_u8(out, '-');
    assay_put_u8(out, '\n');
}

static void put_figures(const assay_outcome *outcome, assay_buf *out)
{
    const assay_run_figures *run = &outcome->run;
    assay_put_format(out, "\nRead ");
    assay_text_put_bytes(out, run->bytes_read);
    assay_put_format(out, " in %" PRIu64 " record%s on %d rank%s of %d host%s in %.2f s.\n", run->records_read,
                     assay_plural(run->records_read), run->ranks, assay_plural((uint64_t)run->ranks), run->nodes,
                     assay_plural((uint64_t)run->nodes), run->seconds);
}

int assay_report_put_text(const assay_report *report, const assay_draw *draw, assay_buf *out)
{
    doc *d;
    ASSAY_TRY(report_make_document(report, DOC_TEXT, &d));
    doc_render_text(d, draw, out);
    doc_free(d);
    put_figures(report->outcome, out);
    return assay_buf_status(out);
}

/* Renders a document that `put` fills, with an outermost section unless it has no title. */
static void put_part(const assay_trial_outcome *trial, const char *title,
                     void (*put)(const assay_trial_outcome *, doc *), const assay_draw *draw, assay_buf *out)
{
    doc *d = doc_new();
    if (!d) {
        out->status = out->status == ASSAY_OK ? ASSAY_ENOMEM : out->status;
        return;
    }
    if (title)
        doc_section(d, NULL, title);
    put(trial, d);
    if (title)
        doc_end(d);
    doc_render_text(d, draw, out);
    doc_free(d);
}

/* The parts below are what other commands print of a trial too, without a whole report. */
void assay_report_put_head(const assay_trial_outcome *trial, const assay_draw *draw, assay_buf *out)
{
    assay_put_format(out, "Trial ");
    assay_text_put_clean(out, trial->trial->name, strlen(trial->trial->name));
    assay_put_u8(out, '\n');
    put_part(trial, NULL, sections_put_head, draw, out);
}

void assay_report_put_completeness(const assay_trial_outcome *trial, const assay_draw *draw, assay_buf *out)
{
    put_part(trial, "Completeness", sections_put_completeness, draw, out);
}

void assay_report_put_problems(const assay_trial_outcome *trial, const assay_draw *draw, assay_buf *out)
{
    put_part(trial, "Problems", sections_put_problems, draw, out);
}

void assay_report_put_problems_of_list(const assay_trial_outcome *trial, const assay_draw *draw, assay_buf *out)
{
    put_part(trial, "Problems", sections_put_problems_of_list, draw, out);
}

static int put_text(const assay_report *report, const assay_report_origin *origin, assay_buf *out)
{
    (void)origin;
    return assay_report_put_text(report, NULL, out);
}

const report_form report_form_text = {.files = {{"report.txt", put_text}}};
