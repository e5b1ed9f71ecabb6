/* commands.h - the table of all commands, and what is printed from it. */
#pragma once

#include "cli/cli.h"

/* The i-th command in the order of --help; NULL behind the last. */
const cli_command *cli_command_at(size_t i);
/* NULL: there is none of that name. */
const cli_command *cli_command_find(const char *name);

/* The commit that the program was built from, with "-dirty" where sources differed from it; "": built without git. */
extern const char cli_commit[];

/* Append the text of `assay --help`, as wide as the terminal (NULL: there is none), and of `assay --version`. */
void cli_put_overview(const assay_draw *draw, assay_buf *out);
void cli_put_version(const char *version, assay_buf *out);

/* The word in front of an unfinished command line whose continuations a shell asks for: assay __complete WORD... */
#define CLI_COMPLETE_WORD "__complete"
/* Prints what the last of the words can become, a line each: the value, a tab, what it is. ":files": a path, too. The
 * exit code, always CLI_DONE or CLI_FAILED: a shell shows no message. */
int cli_complete(int argc, char **argv);
