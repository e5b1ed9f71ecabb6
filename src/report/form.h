/* form.h - how the forms of a report are written: a const table for each word of ASSAY_REPORT_FORM_LIST. Inside report.
 *
 * Rank 0 writes them, in the order of that list. */
#pragma once

#include "report/report.h"

enum { REPORT_FORM_FILES = 5 };

/* A file that is made in memory before it is written. */
typedef struct report_file {
    const char *name;
    /* Appends the whole file. Its bytes do not depend on the number of ranks. The buffer's status or ASSAY_ENOMEM. */
    int (*put)(const assay_report *report, const assay_report_origin *origin, assay_buf *out);
} report_file;

typedef struct report_form {
    report_file files[REPORT_FORM_FILES]; /* those without a name are none */
    /* Writes what `files` cannot say: a file that is too large for memory, or one for each trial. NULL: nothing. What
     * can be written is written, whatever fails; the first failure, with the place. */
    int (*write)(const assay_report *report, const assay_report_origin *origin, assay_output *output, assay_error *err);
} report_form;

#define REPORT_FORM(name, word, draws, by_default) extern const report_form report_form_##word;
ASSAY_REPORT_FORM_LIST(REPORT_FORM)
#undef REPORT_FORM
