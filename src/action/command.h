/* command.h - runs another program: without a shell, with a time limit, and with a ceiling on the output it keeps. */
#pragma once

#include <stdbool.h>

#include <assay/pack.h>
#include <assay/status.h>

enum { ASSAY_COMMAND_CEILING = 64 << 10 }; /* bytes kept of each output */

typedef struct assay_command {
    const char *const *argv;        /* ends with NULL; argv[0] is a path, or a name that is looked up in PATH */
    const char *const *environment; /* "NAME=VALUE" texts, ending with NULL, set beside or instead of ours, of which
                                       what makes us a rank of MPI is left out; NULL: none */
    const void *input;              /* its standard input; NULL: nothing to read */
    size_t input_size;
    int keep;       /* a file of ours that the child gets as its number 3, open as long as it runs; 0: none */
    double seconds; /* after so many it is ended (SIGTERM to its process group, a second later SIGKILL; ten
                       later one that hangs in the kernel is left behind) */
} assay_command;

typedef struct assay_command_result {
    bool started;
    bool timed_out;
    int exit_status; /* -1 when a signal ended it */
    int signal;      /* 0 when it exited */
    assay_buf out,
        err; /* terminated texts of `size` bytes besides the terminator; what exceeds the ceiling is dropped */
} assay_command_result;

/* Runs the program and waits for it. The child gets default signal handling and no file of ours but 0, 1, 2 and `keep`,
 * and leads a process group of its own. A program that does not read its input is no failure, and SIGPIPE is never
 * raised here. A descendant that keeps the outputs open is not waited for. *result is filled in any case and released
 * with assay_command_release(). ASSAY_OK when it exited with 0; ASSAY_ENOTFOUND when there is no such program,
 * ASSAY_EIO when it could not be started, failed or took too long, each with the program's name, how it ended and the
 * first line of its standard error; ASSAY_ENOMEM. Blocks. */
int assay_command_run(const assay_command *command, assay_command_result *result, assay_error *err);
void assay_command_release(assay_command_result *result);

/* Sleeps, also when signals arrive meanwhile. */
void assay_command_sleep(double seconds);
