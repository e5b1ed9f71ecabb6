/* Any line against one signature: groups lie in the line, a sentence is made of them, and nothing takes long. The first three
 * bytes say which signature and where its literal is. */
#include <stdlib.h>
#include <string.h>

#include "format/joblog/joblog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static joblog_signatures signatures;
    static char line[JOBLOG_LINE_MOST];
    assay_error err = {""};
    if (size < 4 || size > sizeof line)
        return 0;
    if (!signatures.count && joblog_signatures_new(&signatures, &err) != ASSAY_OK)
        abort();
    const size_t number = (data[0] | (size_t)data[1] << 8) % signatures.count;
    const size_t length = joblog_clean((const char *)data + 3, size - 3, line);
    joblog_match match;
    if (length == 0 || !joblog_signature_match(&signatures, number, line, length, line + data[2] % length, &match))
        return 0;
    for (size_t g = 0; g < JOBLOG_GROUPS; g++)
        if (match.length[g] > 0 && (match.text[g] < line || match.text[g] + match.length[g] > line + length))
            abort();
    assay_buf sentence = ASSAY_BUF(1 << 20);
    joblog_put_sentence(assay_signature_of(number)->sentence, &match, &sentence);
    if (assay_buf_status(&sentence) != ASSAY_OK)
        abort();
    assay_buf_release(&sentence);
    return 0;
}
