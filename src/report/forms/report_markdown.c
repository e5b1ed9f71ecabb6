/* report_markdown.c - report.md: short enough for a comment on a pull request. */
#include "report/document/render.h"
#include "report/forms/forms.h"
#include "report/sections/sections.h"

/* GitHub takes comments of up to 65 536 characters, of which bytes are never fewer; what is left is for those who put a
 * heading of their own before it. */
enum { MOST = 65000 };

static int put_markdown(const assay_report *report, const assay_report_origin *origin, assay_buf *out)
{
    doc *d;
    ASSAY_TRY(report_make_document(report, DOC_MARKDOWN, &d));
    doc_render_markdown(d, MOST, out);
    doc_free(d);
    return assay_buf_status(out);
}

const report_form report_form_markdown = {.files = {{"report.md", put_markdown}}};
