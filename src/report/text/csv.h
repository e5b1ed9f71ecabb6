/* csv.h - cells of comma-separated tables, quoted as in RFC 4180; lines end in a line feed. */
#pragma once

#include <stddef.h>

#include <assay/pack.h>

/* Appends the text's bytes, in quotes where a reader would otherwise take them apart. */
void assay_csv_put_bytes(assay_buf *out, const void *text, size_t length);
/* The same as valid UTF-8: a byte that belongs to no character becomes U+FFFD, as in report.json. */
void assay_csv_put_text(assay_buf *out, const char *text);
/* The same for a table that may be printed: what would act on a terminal stands as in other printed texts (\\x1b), but
 * for line feeds and tabs. */
void assay_csv_put_shown(assay_buf *out, const char *text, size_t length);
/* A number in the fewest digits that read back the same, "nan", "inf" or "-inf"; whole ones get ".0", so that a reader
 * takes a column of them for floating point. */
void assay_csv_put_real(assay_buf *out, double value);
