/* layout_names.h - the file names of a trial (docs/format.md), read strictly. Inside trial only. */
#ifndef ASSAY_FORMAT_SMDEBUG_LAYOUT_NAMES_H
#define ASSAY_FORMAT_SMDEBUG_LAYOUT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exactly `digits` digits and nothing else. */
bool assay_read_number_name(const char *name, unsigned digits, int64_t *out);
/* "<step, 12 digits>_<worker>.json": the step, and the worker inside `name`. */
bool assay_read_index_name(const char *name, int64_t *step, const char **worker, size_t *length);
/* "<worker>_collections.json": the worker inside `name`. */
bool assay_read_collections_name(const char *name, const char **worker, size_t *length);
/* Hidden and temporary files, which a running writer leaves for a while: no cause for a remark. */
bool assay_is_passing_name(const char *name);

#endif
