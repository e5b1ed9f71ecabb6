/* A report.json that somebody hands to `assay show` or `assay history`: any bytes are refused or printed, drawn or not,
 * in any width. */
#include <stdlib.h>
#include <string.h>

#include "report/history/history.h"
#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Twice the same report: then it is newer than itself. */
static void try_history(const uint8_t *data, size_t size)
{
    assay_report_history history = {.report = NULL};
    assay_buf out;
    assay_buf_init(&out, 1 << 24);
    for (int64_t i = 0; i < 2; i++) {
        assay_error err = {""};
        int status = assay_history_add(&history, "fuzz", data, size, i, &err);
        if ((status != ASSAY_OK) != (err.text[0] != '\0'))
            abort();
    }
    assay_history_sort(&history);
    if (history.reports > 0) {
        (void)assay_history_put_text(&history, true, NULL, &out);
        (void)assay_history_put_json(&history, &out);
    }
    assay_history_release(&history);
    assay_buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_history(data, size);
    static const assay_draw styles[] = {{20, true, true}, {63, false, false}, {200, true, false}};
    for (int i = -1; i < 3; i++) {
        assay_buf out;
        assay_error err = {""};
        assay_buf_init(&out, 1 << 24);
        int status = assay_report_put_results("fuzz", data, size, i < 0 ? NULL : &styles[i], &out, &err);
        if ((status != ASSAY_OK) != (err.text[0] != '\0'))
            abort(); /* a failure says why, a success says nothing */
        assay_buf_release(&out);
    }
    return 0;
}
