/* report_parse.h - a report.json that somebody hands in: from an earlier version perhaps, and anybody may have written it. */
#pragma once

#include "base/json.h"

/* Reads the text of a report of the schema assay-report/1 and sees that it has what every version wrote: trials with
 * names and rules, and of each rule its name, status and severity. A key of which one bit is another counts as damage, so
 * that nothing is left out for it. `path` is for messages. ASSAY_EFORMAT with what is wrong and where; ASSAY_ENOMEM. The
 * caller deletes *out. */
int assay_report_parse(const char *path, const void *text, size_t size, cJSON **out, assay_error *err);

/* The text under a key of an object; "" where there is none. */
const char *assay_report_text_of(const cJSON *object, const char *key);
