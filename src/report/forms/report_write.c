/* report_write.c - the report's files. */
#include "report/forms/forms.h"
#include "report/html/html.h"

static const assay_job_form FORMS[] = {
#define FORM(name, word, draws, by_default) {word, draws, by_default},
    ASSAY_REPORT_FORM_LIST(FORM)
#undef FORM
};
const assay_job_forms assay_report_forms = {FORMS, ASSAY_FORM_COUNT};

static int put_text(const assay_report *report, const assay_report_origin *origin, assay_buf *out)
{
    return assay_report_put_text(report, NULL, out);
}

/* One file of a form; a form may have several. */
typedef struct form_file {
    int form; /* assay_report_form */
    const char *name;
    /* NULL: it is written while it is made, report.json of many trials being large. */
    int (*put)(const assay_report *report, const assay_report_origin *origin, assay_buf *out);
} form_file;

/* In the order they are written. results.h5 is not among them: all ranks write it (results.h). */
static const form_file FILES[] = {
    {ASSAY_FORM_JSON, "report.json", NULL},
    {ASSAY_FORM_TEXT, "report.txt", put_text},
    {ASSAY_FORM_CSV, "verdict.csv", report_put_verdict_csv},
    {ASSAY_FORM_CSV, "findings.csv", report_put_findings_csv},
    {ASSAY_FORM_CSV, "class_counts.csv", report_put_class_counts_csv},
    {ASSAY_FORM_CSV, "confusion.csv", report_put_confusion_csv},
    {ASSAY_FORM_CSV, "loss.csv", report_put_loss_csv},
    {ASSAY_FORM_JUNIT, "junit.xml", report_put_junit},
    {ASSAY_FORM_MARKDOWN, "report.md", report_put_markdown},
    {ASSAY_FORM_LINES, "report.jsonl", report_put_lines},
    {ASSAY_FORM_HTML, "report.html", report_put_html},
};

typedef struct making {
    const assay_report *report;
    const assay_report_origin *origin;
} making;

static int make_json(void *context, const assay_taker *to)
{
    const making *m = context;
    assay_buf text = ASSAY_BUF(ASSAY_REPORT_CEILING);
    int status = assay_report_put_body(m->report, to, &text);
    if (status == ASSAY_OK) {
        assay_report_put_run(m->report->outcome, m->origin, &text);
        status = assay_buf_status(&text);
    }
    ASSAY_THEN(status, to->take(to->context, text.data, text.size));
    assay_buf_release(&text);
    return status;
}

static int write_file(const assay_report *report, const assay_report_origin *origin, assay_output *output,
                      const form_file *file, assay_error *err)
{
    if (!file->put)
        return assay_output_write_made(output, file->name, &(assay_maker){make_json, &(making){report, origin}}, err);
    assay_buf text = ASSAY_BUF(ASSAY_REPORT_CEILING);
    int status = file->put(report, origin, &text);
    if (status == ASSAY_OK)
        status = assay_output_write(output, file->name, text.data, text.size, err);
    else
        assay_fail(err, status, "%s: cannot make the report: %s", file->name, assay_status_text(status));
    assay_buf_release(&text);
    return status;
}

int assay_report_write(const assay_report *report, const assay_report_origin *origin, assay_output *output,
                       assay_error *err)
{
    int first = ASSAY_OK;
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
        if (!(report->outcome->job->formats & 1u << FILES[i].form))
            continue;
        int status = write_file(report, origin, output, &FILES[i], first == ASSAY_OK ? err : NULL);
        first = first == ASSAY_OK ? status : first;
    }
    if (report->outcome->job->formats & 1u << ASSAY_FORM_TENSORBOARD) {
        int status = report_write_tensorboard(report->outcome, output, first == ASSAY_OK ? err : NULL);
        first = first == ASSAY_OK ? status : first;
    }
    return first;
}
