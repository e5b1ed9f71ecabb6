/* report_write.c - the report's files. */
#include <stdlib.h>

#include "base/file.h"
#include "report/report_internal.h"

static int put_json(const assay_outcome *outcome, const assay_report_origin *origin, assay_buf *out)
{
    int status = assay_report_put_body(outcome, out);
    if (status != ASSAY_OK)
        return status;
    assay_report_put_run(outcome, origin, out);
    return assay_buf_status(out);
}

static int put_text(const assay_outcome *outcome, const assay_report_origin *origin, assay_buf *out)
{
    (void)origin;
    return assay_report_put_text(outcome, out);
}

/* By assay_format. */
static const struct {
    const char *file;
    int (*put)(const assay_outcome *outcome, const assay_report_origin *origin, assay_buf *out);
} FORMS[ASSAY_FORMATS] = {
    [ASSAY_FORMAT_JSON] = {"report.json", put_json},
    [ASSAY_FORMAT_TEXT] = {"report.txt", put_text},
};

static int write_form(const assay_outcome *outcome, const assay_report_origin *origin, const char *directory, int form,
                      assay_error *err)
{
    assay_buf text;
    assay_buf_init(&text, ASSAY_REPORT_CEILING);
    char *path = assay_path_join(directory, FORMS[form].file);
    int status = path ? FORMS[form].put(outcome, origin, &text) : ASSAY_ENOMEM;
    if (status == ASSAY_OK)
        status = assay_file_write(path, text.data, text.size, err);
    else
        assay_fail(err, status, "%s: cannot make the report: %s", FORMS[form].file, assay_status_text(status));
    free(path);
    assay_buf_release(&text);
    return status;
}

int assay_report_write(const assay_outcome *outcome, const assay_report_origin *origin, const char *directory,
                       assay_error *err)
{
    int first = assay_dir_make(directory, err);
    if (first != ASSAY_OK)
        return first;
    for (int form = 0; form < ASSAY_FORMATS; form++) {
        if (!(outcome->job->formats & 1u << form) || !FORMS[form].put) /* results.h5 is not rank 0's alone: results.h */
            continue;
        int status = write_form(outcome, origin, directory, form, first == ASSAY_OK ? err : NULL);
        first = first == ASSAY_OK ? status : first;
    }
    return first;
}
