/* utf8.h - the bytes of a text file of a trial as UTF-8, packed by gzip or not.
 *
 * A byte order mark says that a text is in UTF-16, as PowerShell writes what it is told to put into a file; it is
 * dropped, and so is that of UTF-8. All other bytes are handed out as they are. */
#pragma once

#include "container/unpacked.h"

typedef struct assay_utf8 assay_utf8;

/* Opens a file at its beginning. Errors as assay_unpacked_open(). Close with assay_utf8_close(). */
int assay_utf8_open(assay_store *store, const char *path, assay_utf8 **out, assay_error *err);
void assay_utf8_close(assay_utf8 *text); /* NULL is ignored */

/* The next bytes, at most `room`, which is ASSAY_UTF8_ROOM or more; *got is 0 at the end. Errors as assay_unpacked_read().
 * Half a character at the end of the file is left out. */
enum { ASSAY_UTF8_ROOM = 64 };
int assay_utf8_read(assay_utf8 *text, void *to, size_t room, size_t *got, assay_error *err);

/* Goes on at that byte of the file, at whose beginning a mark of UTF-8 is handed out then. False where the text is in UTF-16, or
 * packed: nothing is changed. */
bool assay_utf8_seek(assay_utf8 *text, uint64_t offset);

/* What is below: how many bytes were read, and whether all were. */
const assay_unpacked *assay_utf8_bytes(const assay_utf8 *text);
