/* commands.c - see commands.h. */
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>

#include "base/simd.h"
#include "hdf5/hdf5_file.h"
#include "http/http.h"
#include "parallel/comm.h"
#include "report/text/layout.h"
#include "container/unzstd.h"

/* What the commands are for; COMMANDS says which of these each is. */
static const char *const PURPOSES[] = {"Find what went wrong", "Look at what was recorded", "Checkpoints",
                                       "Rules and jobs",       "Trials in one file",        "Beside a training"};
static const struct {
    const cli_command *command;
    int purpose;
} COMMANDS[] = {{&cli_run, 0},     {&cli_watch, 0}, {&cli_compare, 0}, {&cli_hang, 0},      {&cli_why, 0},
                {&cli_history, 0}, {&cli_ls, 1},    {&cli_show, 1},    {&cli_stats, 1},     {&cli_topology, 1},
                {&cli_verify, 2},  {&cli_seal, 2},  {&cli_rules, 3},   {&cli_check, 3},     {&cli_pack, 4},
                {&cli_unpack, 4},  {&cli_pilot, 5}, {&cli_notify, 5},  {&cli_completion, 5}};
enum { COMMAND_COUNT = sizeof COMMANDS / sizeof *COMMANDS };

const cli_command *cli_command_at(size_t i)
{
    return i < COMMAND_COUNT ? COMMANDS[i].command : NULL;
}

const cli_command *cli_command_find(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(COMMANDS[i].command->name, name) == 0)
            return COMMANDS[i].command;
    }
    return NULL;
}

void cli_put_overview(const assay_draw *draw, assay_buf *out)
{
    static const char about[] =
        "assay finds out what went wrong in recorded trainings: where first, and on which worker.";
    static const char codes[] = "Exit codes:\n"
                                "  0   done\n"
                                "  1   done, and a rule that --fail-on counts has findings\n"
                                "  2   wrong usage or an error in the job file\n"
                                "  3   done, but part of a trial was damaged or missing\n"
                                "  4   internal, MPI or output failure\n"
                                "  5   verify: not complete (6: it runs code; 7: not read)\n"
                                "  75  stopped at a checkpoint, run again\n";
    static const char more[] = "`assay help COMMAND` says more. `assay --version` prints versions. "
                               "`assay completion bash` completes words in bash; zsh and fish likewise. "
                               "Short options: -o is --out, -q --quiet, -v --log=all, -h --help.";
    assay_put_format(out, "Usage: assay COMMAND [options]\n\n");
    assay_text_put_wrapped(out, draw, 0, NULL, about, strlen(about));
    assay_put_format(out, "\nCommands:\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const cli_command *command = COMMANDS[i].command;
        char lead[32];
        if (i == 0 || COMMANDS[i].purpose != COMMANDS[i - 1].purpose)
            assay_put_format(out, " %s\n", PURPOSES[COMMANDS[i].purpose]);
        snprintf(lead, sizeof lead, "  %s", command->name);
        assay_text_put_wrapped(out, draw, 14, lead, command->summary, strlen(command->summary));
    }
    assay_put_u8(out, '\n');
    assay_text_put_wrapped(out, draw, 0, NULL, more, strlen(more));
    assay_put_u8(out, '\n');
    assay_put_format(out, "%s", codes);
}

static void put_library(assay_buf *out, const char *name, const char *version, const char *without)
{
    assay_put_format(out, "%s: %s\n", name, version ? version : without);
}

void cli_put_version(const char *version, assay_buf *out)
{
    assay_put_format(out, "assay %s\n", version);
    if (cli_commit[0])
        put_library(out, "commit", cli_commit, "");
    put_library(out, "MPI", assay_comm_mpi_version(), "none, runs have one rank");
    put_library(out, "HDF5", assay_hdf5_version(), "none, packed trials are read and not written");
    put_library(out, "libcurl", assay_http_version(), "none, no s3:// and no webhooks");
    put_library(out, "libzstd", assay_unzstd_version(), "none, Zstandard in zip files is not read");
    put_library(out, "vector code", assay_simd_name(assay_simd_level()), "");
    assay_put_format(out, "License: Apache-2.0\n");
}
