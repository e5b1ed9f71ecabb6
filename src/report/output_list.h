/* output_list.h - which files a report wrote into its directory: a later one there removes those that it does not write
 * itself, and nothing else. Inside report only. */
#ifndef ASSAY_REPORT_OUTPUT_LIST_H
#define ASSAY_REPORT_OUTPUT_LIST_H

#include <stddef.h>
#include <stdint.h>

#include <assay/status.h>

typedef struct output_entry {
    char *name;   /* below the directory */
    char hex[65]; /* SHA-256 of the content; "": only the size is known */
    uint64_t size;
} output_entry;

typedef struct output_list {
    output_entry *entry;
    size_t count;
} output_list;

/* Notes a file that was written. `bytes` may be NULL: then only its size is kept. ASSAY_ENOMEM. */
int output_list_note(output_list *list, const char *name, const void *bytes, uint64_t size);

/* After the last file of a report: removes the files of the report before, as its list in `directory` has them, that
 * are not in this one and are as they were written, and writes this list. What somebody has changed stays. ASSAY_EIO
 * when the list cannot be written, ASSAY_ENOMEM. */
int output_list_end(output_list *list, const char *directory, assay_error *err);
void output_list_release(output_list *list);

#endif
