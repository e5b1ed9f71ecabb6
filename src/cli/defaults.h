/* defaults.h - options that somebody always gives: ~/.config/assay/config.
 *
 * A line is OPTION = VALUE, for every command that has the option, or COMMAND.OPTION = VALUE; a switch stands alone.
 * Lines that begin with # are comments. What the command line says counts more. */
#pragma once

#include "cli/options.h"
#include "parallel/comm.h"

/* Reads the file on rank 0, for all ranks: the one that ASSAY_CONFIG names (empty: none), else assay/config in
 * XDG_CONFIG_HOME, else in ~/.config. That there is none is fine, unless ASSAY_CONFIG names it. `comm` may be NULL. Collective.
 */
int cli_defaults_read(assay_comm *comm, assay_error *err);

typedef struct cli_default {
    const char *option; /* without dashes */
    const char *value;  /* NULL: none is given */
    const char *place;  /* "FILE:3", for messages */
} cli_default;

/* The next line for this command, from *at on, which begins with 0: 1 with *out, whose option and value stay valid until
 * cli_defaults_release(), its place until the next call, 0 at the end, or a status. Lines about commands that are not there are refused. Not collective. */
int cli_defaults_next(const cli_command *command, size_t *at, cli_default *out, assay_error *err);
void cli_defaults_release(void);
