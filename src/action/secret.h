/* secret.h - texts of a job file that may be secret: given literally, or by the place where they are kept. */
#pragma once

#include "job/job_internal.h"

typedef enum assay_secret_kind { ASSAY_SECRET_LITERAL, ASSAY_SECRET_ENV, ASSAY_SECRET_FILE } assay_secret_kind;

typedef struct assay_secret {
    assay_secret_kind kind;
    char *source; /* the text itself, the variable's name or the file's path: as the job gives it; owned */
    char *value;  /* NULL until assay_secret_fetch(); owned */
} assay_secret;

/* Reads "text", {"env": NAME} or {"file": PATH}. ASSAY_EJOB with the place. Touches neither environment nor file.
 * Release with assay_secret_release(), also after a failure. */
int assay_secret_read(const job_reader *r, const char *place, const cJSON *item, assay_secret *out);
void assay_secret_release(assay_secret *secret);

/* Fetches the value; does nothing when that is done. A file has to be a regular one that belongs to the user or to root
 * and that nobody else may read or write; one line feed at its end is left out. An empty value, and one with control
 * characters, is refused: it would end a header. ASSAY_EJOB with the place and the reason, never with the value. */
int assay_secret_fetch(assay_secret *secret, const char *place, assay_error *err);

/* "env:NAME" or "file:PATH"; "" for a literal. */
void assay_secret_put_source(const assay_secret *secret, assay_buf *out);
