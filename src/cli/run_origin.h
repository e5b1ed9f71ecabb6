/* run_origin.h - who made a report, when and where. */
#ifndef ASSAY_CLI_RUN_ORIGIN_H
#define ASSAY_CLI_RUN_ORIGIN_H

#include "cli/cli.h"
#include "report/report.h"

/* The command line as a shell takes it, without secrets; to be freed. NULL without memory. Not collective. */
char *run_command_line(const cli_context *context);

/* Fills *origin. Returns the text that origin->command borrows, to be freed; NULL without memory, with the command "".
 * Not collective. */
char *run_find_origin(const cli_context *context, assay_report_origin *origin);

#endif
