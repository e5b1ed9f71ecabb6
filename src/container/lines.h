/* lines.h - the lines of a text file of a trial, one after the other, packed by gzip or not, in UTF-8 or UTF-16 with its mark.
 *
 * A block of the file is in memory, and the line; so a file of any length takes the same memory. */
#pragma once

#include "store/storage.h"

enum { ASSAY_LINE_MOST = 16 << 20 /* bytes; what is longer is handed out as NULL and passed over */ };

typedef struct assay_lines assay_lines;

/* Opens a file at its beginning. ASSAY_ENOTFOUND, ASSAY_EIO, ASSAY_ENOMEM. Close with assay_lines_close(). */
int assay_lines_open(assay_store *store, const char *path, assay_lines **out, assay_error *err);
void assay_lines_close(assay_lines *lines); /* NULL is ignored */

/* The next line without its line feed; valid until the next call, not terminated. 1; 0 at the end; ASSAY_EFORMAT when
 * the packed stream is damaged, ends too early, unpacks to more than 64 MiB and a hundred times its bytes, or has a
 * line of more than 256 MiB, after all lines before that were handed out; ASSAY_EIO, ASSAY_ENOMEM. */
int assay_lines_next(assay_lines *lines, const char **line, size_t *length, assay_error *err);
/* Appends the next bytes of text, whatever lines they are, until the buffer has `most` or more or the file ends: for
 * files that are no lines. Not to be mixed with assay_lines_next(). 0, or as assay_lines_next(): then the bytes before
 * the damage are there. */
int assay_lines_take(assay_lines *lines, assay_buf *out, size_t most, assay_error *err);
/* Did a line feed end the line that was handed out last? False: it is the file's last, or not written to its end yet. */
bool assay_lines_is_ended(const assay_lines *lines);
/* The number of the line that was handed out last, from 1. */
uint64_t assay_lines_number(const assay_lines *lines);
/* Bytes read from the file. */
uint64_t assay_lines_bytes_read(const assay_lines *lines);
