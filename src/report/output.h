/* output.h - where the files of a report go: a directory, or a prefix in S3 (docs/s3.md).
 *
 * Each file is complete or absent. In S3 `report.json` goes last, when assay_output_finish() says that all others are
 * there: whoever sees it sees a whole report. One process writes; no call is collective. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <assay/status.h>

#include "base/file.h"

typedef struct assay_output assay_output;

/* Prepares the place; nothing is asked or made yet. ASSAY_EUSAGE for a place in S3 that is none, ASSAY_ENOMEM. Close
 * with assay_output_close(), which accepts NULL. */
int assay_output_open(const char *place, assay_output **out, assay_error *err);
/* Says that the report is of a trial; for all of its trials, before assay_output_probe(). ASSAY_ENOMEM. */
int assay_output_is_of(assay_output *output, const char *trial);
/* Finds out whether files can be written: makes the directory, and a file in it that is removed; in S3 an upload is
 * begun and called off, so that nothing is seen of it. `overwrite`: whatever lies there may be replaced; else a report of
 * another trial is ASSAY_EUSAGE (in a directory; in S3 nobody asks). ASSAY_EIO with the place and the reason,
 * ASSAY_EUNSUPPORTED without libcurl, ASSAY_ENOMEM. */
int assay_output_probe(assay_output *output, bool overwrite, assay_error *err);
/* Writes a file; `name` may have directories. ASSAY_EIO with the place, ASSAY_ENOMEM. */
int assay_output_write(assay_output *output, const char *name, const void *bytes, size_t size, assay_error *err);
/* The same of a file that is made as it is written: a directory takes it piece by piece. Fails as `from` does, too. */
int assay_output_write_made(assay_output *output, const char *name, const assay_maker *from, assay_error *err);

/* For a file that others write, and of which they know the path: where it is made. In S3 that is a new directory below
 * TMPDIR, until assay_output_take() writes it to its place and removes that. *path is the caller's. ASSAY_EIO,
 * ASSAY_ENOMEM. */
int assay_output_make(assay_output *output, const char *name, char **path, assay_error *err);
int assay_output_take(assay_output *output, const char *name, const char *path, assay_error *err);

/* After the last file, when all went well. In a directory the files of an earlier report that this one has not written
 * are removed, as far as assay wrote them and nobody changed them since. Errors as assay_output_write(). */
int assay_output_finish(assay_output *output, assay_error *err);
/* Nothing was written: removes the directory if assay_output_probe() made it and it is empty. */
void assay_output_discard(assay_output *output);
void assay_output_close(assay_output *output);
