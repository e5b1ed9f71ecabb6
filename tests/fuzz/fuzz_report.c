/* A report.json that somebody hands to `assay show`: any bytes are refused or printed, drawn or not, in any width. */
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
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
