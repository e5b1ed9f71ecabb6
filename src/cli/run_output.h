/* run_output.h - where a run's report goes, as its ranks have it: rank 0 writes, the others know what came of it. */
#ifndef ASSAY_CLI_RUN_OUTPUT_H
#define ASSAY_CLI_RUN_OUTPUT_H

#include "cli/cli.h"
#include "report/output.h"

/* Before hours of reading: rank 0 opens the output and finds out whether files can be written there. *out stays NULL on
 * the other ranks. Its failure is everyone's. Collective. */
int run_output_begin(assay_comm *comm, const char *place, assay_output **out, assay_error *err);
/* The path of a file that all ranks write together; the caller frees it. Collective. */
int run_output_make(assay_comm *comm, assay_output *output, const char *name, char **path, assay_error *err);
/* That file is complete. Collective. */
int run_output_take(assay_comm *comm, assay_output *output, const char *name, const char *path, assay_error *err);
/* After all files of a run that ends with `code`: the code that it ends with then. Collective. */
int run_output_end(assay_comm *comm, assay_output *output, int code);

#endif
