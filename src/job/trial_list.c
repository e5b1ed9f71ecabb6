/* trial_list.c - see trial_list.h. */
#include "job/trial_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

static const char BLANKS[] = " \t\r";

/* Cuts the blanks around a line; NULL: there is nothing in it, or a comment. */
static const char *trim(char *line)
{
    line += strspn(line, BLANKS);
    size_t length = strlen(line);
    while (length > 0 && strchr(BLANKS, line[length - 1]))
        line[--length] = '\0';
    return length > 0 && line[0] != '#' ? line : NULL;
}

/* Untrusted. The lines point into out->text; *out is to be released in any case. */
int assay_trial_list_read(const char *name, const void *text, size_t size, assay_trial_list *out, assay_error *err)
{
    size_t lines = 1;
    char *line;
    *out = (assay_trial_list){0};
    if (size > 0 && memchr(text, '\0', size))
        return assay_fail(err, ASSAY_EUSAGE, "%s: a list of trials is text, and has no NUL bytes", name);
    out->text = assay_copy_bytes_as_text(text, size);
    for (const char *at = out->text; at && (at = strchr(at, '\n')); at++)
        lines++;
    out->line = assay_alloc_zeroed(lines, sizeof *out->line);
    if (!out->text || !out->line)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while the list of trials was read", name);
    for (char *rest = out->text; (line = strsep(&rest, "\n"));) {
        const char *trial = trim(line);
        if (trial)
            out->line[out->count++] = trial;
    }
    return ASSAY_OK;
}

void assay_trial_list_release(assay_trial_list *list)
{
    free(list->line);
    free(list->text);
    *list = (assay_trial_list){0};
}
