/* report_write.c - the report's files, form by form. */
#include "report/form.h"

static const assay_job_form WORDS[] = {
#define FORM(name, word, draws, by_default) {#word, draws, by_default},
    ASSAY_REPORT_FORM_LIST(FORM)
#undef FORM
};
const assay_job_forms assay_report_forms = {WORDS, ASSAY_FORM_COUNT};

static const report_form *const FORMS[] = {
#define FORM(name, word, draws, by_default) &report_form_##word,
    ASSAY_REPORT_FORM_LIST(FORM)
#undef FORM
};

static int write_file(const assay_report *report, const assay_report_origin *origin, assay_output *output,
                      const report_file *file, assay_error *err)
{
    assay_buf text = ASSAY_BUF(ASSAY_REPORT_CEILING);
    int status = file->put(report, origin, &text);
    if (status == ASSAY_OK)
        status = assay_output_write(output, file->name, text.data, text.size, err);
    else
        assay_fail(err, status, "%s: cannot make the report: %s", file->name, assay_status_text(status));
    assay_buf_release(&text);
    return status;
}

/* Writes all files of a form, also behind one that fails; the first failure is returned. */
static int write_form(const assay_report *report, const assay_report_origin *origin, assay_output *output,
                      const report_form *form, assay_error *err)
{
    int first = ASSAY_OK;
    for (size_t i = 0; i < REPORT_FORM_FILES && form->files[i].name; i++) {
        const int status = write_file(report, origin, output, &form->files[i], first == ASSAY_OK ? err : NULL);
        first = first == ASSAY_OK ? status : first;
    }
    if (form->write) {
        const int status = form->write(report, origin, output, first == ASSAY_OK ? err : NULL);
        first = first == ASSAY_OK ? status : first;
    }
    return first;
}

/* HDF5 has no writer here, since all ranks write it together afterwards. */
int assay_report_write(const assay_report *report, const assay_report_origin *origin, assay_output *output,
                       assay_error *err)
{
    int first = ASSAY_OK;
    for (int f = 0; f < ASSAY_FORM_COUNT; f++) {
        if (!(report->outcome->job->formats & 1u << f))
            continue;
        const int status = write_form(report, origin, output, FORMS[f], first == ASSAY_OK ? err : NULL);
        first = first == ASSAY_OK ? status : first;
    }
    return first;
}
