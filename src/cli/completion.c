/* completion.c - assay completion: prints the script that makes a shell ask assay itself how a command line goes on. */
#include <string.h>

#include "base/nearest.h"
#include "cli/cli.h"
#include "cli/completion.h"

static const assay_setting OPTIONS[] = {{0}};

static int completion(const cli_context *context, int argc, char **argv)
{
    const struct {
        const char *shell;
        const unsigned char *script;
        size_t size;
    } scripts[] = {{"bash", cli_completion_bash, cli_completion_bash_size},
                   {"zsh", cli_completion_zsh, cli_completion_zsh_size},
                   {"fish", cli_completion_fish, cli_completion_fish_size}};
    const char *shell[1] = {NULL};
    size_t operands = 0;
    assay_error err = {""};
    char fields;
    int status = cli_options_parse(&cli_completion, argc, argv, &fields, shell, &operands, &err);
    if (status != ASSAY_OK)
        return cli_fail(status, &err);
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        if (strcmp(scripts[i].shell, shell[0]) != 0)
            continue;
        assay_buf out = ASSAY_BUF(1 << 20);
        assay_put_bytes(&out, scripts[i].script, scripts[i].size);
        return cli_finish(&out, CLI_DONE);
    }
    assay_nearest nearest;
    char hint[ASSAY_NEAREST_ROOM];
    assay_nearest_begin(&nearest, shell[0], strlen(shell[0]));
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        assay_nearest_offer(&nearest, scripts[i].shell);
    assay_fail(&err, ASSAY_EUSAGE, "completion: unknown shell \"%.100s\"%s; known: bash, zsh, fish", shell[0],
               assay_nearest_hint(&nearest, hint));
    return cli_fail(ASSAY_EUSAGE, &err);
}

const cli_command cli_completion = {
    "completion",
    "bash|zsh|fish",
    "Prints a script for a shell that completes commands, options, rules, tensors and workers.",
    OPTIONS,
    1,
    1,
    CLI_PRINTED,
    completion};
