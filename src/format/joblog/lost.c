/* lost.c - what of an output was lost: a file system puts zeros where what was written never came to the disk. */
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/path.h"
#include "format/joblog/joblog.h"

void joblog_count_zeros(joblog_reader *r, const char *bytes, size_t size, uint64_t at)
{
    enum { STRETCH = 512 /* programs write fewer */ };
    const char *const stop = bytes + size;
    for (const char *from = bytes, *end; (from = memchr(from, '\0', (size_t)(stop - from))) != NULL; from = end) {
        for (end = from; end < stop && *end == '\0';)
            end++;
        if (end - from < STRETCH && (size_t)(end - from) < size)
            continue;
        r->zeros_at = r->zeros == 0 ? at + (size_t)(from - bytes) : r->zeros_at;
        r->zeros += (size_t)(end - from);
    }
}

int joblog_name_zeros(joblog_reader *r, const char *path)
{
    char text[ASSAY_PATH_MOST + 128];
    if (r->zeros == 0 || r->out->problem)
        return ASSAY_OK;
    snprintf(
        text, sizeof text,
        "%s: at least %llu bytes are NUL, from byte %llu on: what was written there is lost, and nothing is known of it",
        path, (unsigned long long)r->zeros, (unsigned long long)r->zeros_at);
    r->out->problem = assay_copy_text(text);
    return r->out->problem ? ASSAY_OK : ASSAY_ENOMEM;
}
