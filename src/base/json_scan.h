/* json_scan.h - the grammar check that runs before cJSON does. Inside base only. */
#ifndef ASSAY_BASE_JSON_SCAN_H
#define ASSAY_BASE_JSON_SCAN_H

#include <stddef.h>

#include <assay/status.h>

/* Checks that `size` bytes are one JSON document by RFC 8259, nested at most ASSAY_JSON_DEPTH deep, without \u0000 and
 * without numbers that a double cannot hold. One pass, no recursion. ASSAY_EFORMAT with line and column (in
 * characters, from 1) behind `name`. */
int assay_json_scan(const char *name, const char *text, size_t size, assay_error *err);

#endif
