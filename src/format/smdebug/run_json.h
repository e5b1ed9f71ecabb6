/* run_json.h - the files run/<worker>.json (docs/format.md): command, host, commit, versions, settings, and how much
 * was recorded. Inside this folder, and for tests. */
#pragma once

#include "trial/run_facts.h"
#include "store/storage.h"

enum { ASSAY_RUN_JSON_MOST = 1 << 20 /* bytes of a file; a larger one is a problem */ };

/* Reads them. Of several workers the first one's count, but for "host", which lists those that differ. What cannot be
 * used becomes a problem that names the file and takes nothing else along. Release with assay_run_facts_release(). 0 or
 * ASSAY_ENOMEM. */
int assay_run_json_read(assay_store *store, assay_run_facts *out, assay_problems *problems);

/* Adds one file's text to `facts` (zeroed or filled before). 0 or ASSAY_ENOMEM. */
int assay_run_json_add(assay_run_facts *facts, const char *file, const void *text, size_t size,
                       assay_problems *problems);
