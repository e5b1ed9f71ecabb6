/* run.h - parts of `assay run` that stand in files of their own. */
#ifndef ASSAY_CLI_RUN_H
#define ASSAY_CLI_RUN_H

#include "engine/engine.h"

/* Appends what a dry run says: the plan. Returns the buffer's status. Not collective. */
int run_put_plan(const assay_outcome *outcome, assay_buf *out);

#endif
