/* json_scan.h - the grammar check that runs before cJSON does. Inside base only. */
#ifndef ASSAY_BASE_JSON_SCAN_H
#define ASSAY_BASE_JSON_SCAN_H

#include <stddef.h>

#include <assay/status.h>

/* Checks that `size` bytes are one JSON document by RFC 8259, nested at most ASSAY_JSON_DEPTH deep, without \u0000 and
 * without numbers that a double cannot hold. One pass, no recursion. ASSAY_EFORMAT with line and column (in
 * characters, from 1) behind `name`.
 *
 * With `plain`, a copy of the text, comments and commas in front of a closing bracket are allowed, and overwritten with
 * blanks in the copy: what is left is JSON, with everything in its place. */
int assay_json_scan(const char *name, const char *text, size_t size, char *plain, assay_error *err);

#endif
