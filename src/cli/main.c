/* main.c - assay's commands. The only main(), and the only place that opens the communicator of all ranks. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/activity.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/defaults.h"
#include "cli/pager.h"
#include "cli/last_memory.h"
#include "cli/s3.h"
#include "cli/terminal.h"
#include "hdf5/hdf5_file.h"
#include "parallel/launcher.h"
#include "report/report.h"
#include "rule/process_server.h"
#include "rule/rule_process.h"

/* False in all but the first of several processes that a launcher started, for commands that never start MPI. */
static bool is_first(void)
{
    const char *rank = assay_launched_rank();
    return !rank || strcmp(rank, "0") == 0;
}

static int print_help(const cli_command *command, bool brief)
{
    assay_draw room;
    assay_buf out = ASSAY_BUF(1 << 20);
    const assay_draw *draw = cli_draw_style(CLI_DRAW_AUTO, &room);
    if (command)
        cli_options_put_help(command, brief, draw, &out);
    else
        cli_put_overview(draw, &out);
    cli_pager_start();
    const int code = cli_finish(&out, CLI_DONE);
    cli_pager_end();
    return code;
}

static int print_version(void)
{
    assay_buf out = ASSAY_BUF(1 << 20);
    cli_put_version(ASSAY_VERSION, &out);
    return cli_finish(&out, CLI_DONE);
}

/* The form of a report that is meant where a command should stand: "html", "md", "htlm"; NULL: none. */
static const char *form_meant(const char *name, assay_nearest *nearest)
{
    const char *form = cli_form_by_suffix(name, strlen(name)), *command = nearest->best;
    for (int i = 0; i < assay_report_forms.count && !form; i++)
        assay_nearest_offer(nearest, assay_report_forms.list[i].word);
    return form || nearest->best == command ? form : nearest->best;
}

static int fail_command(const char *name, int argc, char **argv)
{
    assay_error err = {""};
    char hint[ASSAY_NEAREST_ROOM];
    const char *form = NULL;
    assay_nearest nearest;
    assay_log_init(!is_first());
    int status = cli_s3_refuse_keys(argc, argv, &err);
    if (status != ASSAY_OK)
        return cli_fail(status, &err);
    assay_nearest_begin(&nearest, name, strlen(name));
    for (size_t i = 0; cli_command_at(i); i++)
        assay_nearest_offer(&nearest, cli_command_at(i)->name);
    assay_nearest_offer(&nearest, "help");
    assay_nearest_offer(&nearest, "version");
    for (size_t i = 0; name[0] == '-' && i < 2; i++)
        assay_nearest_offer(&nearest, i ? "--help" : "--version");
    if (name[0] && access(name, F_OK) == 0)
        assay_log_error("\"%.100s\" is no command; `assay run %.100s` analyses what lies there", name, name);
    else if (name[0] && (form = form_meant(name, &nearest)))
        assay_log_error("unknown command \"%.100s\"; `assay run TRIAL --reports %s` writes a report in that form", name,
                        form);
    else if (name[0])
        assay_log_error("unknown command \"%.100s\"%s; `assay --help` lists the commands", name,
                        assay_nearest_hint(&nearest, hint));
    else {
        assay_log_error("no command was given; there are these");
        print_help(NULL, false);
    }
    return CLI_USAGE;
}

static bool has_word(int argc, char **argv, const char *word)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], word) == 0)
            return true;
    }
    return false;
}

static bool wants_help(int argc, char **argv)
{
    return has_word(argc, argv, "--help") || has_word(argc, argv, "-h");
}

/* The worst status of all ranks, if there are several. Collective. */
static int agree(const cli_context *context, int status, assay_error *err)
{
    return context->comm ? assay_comm_agree(context->comm, status, err) : status;
}

static int run_command(const cli_command *command, cli_context *context)
{
    assay_error err = {""};
    int status = agree(context, cli_s3_refuse_keys(context->argc, context->argv, &err), &err);
    if (status != ASSAY_OK)
        return cli_fail(status, &err);
    status = agree(context, assay_rule_register_builtin(&err), &err);
    if (status != ASSAY_OK) {
        cli_fail(status, &err);
        return CLI_FAILED;
    }
    status = cli_defaults_read(context->comm, &err);
    if (status != ASSAY_OK)
        return cli_fail(status, &err);
    assay_activity_show(is_first());
    cli_say_when_interrupted(is_first() ? CLI_INTERRUPTED : NULL);
    int code = command->run(context, context->argc - 2, context->argv + 2);
    cli_pager_end();
    if (command->takes & (CLI_PRINTED | CLI_PAGED))
        code = cli_print_end(context->comm, code);
    cli_defaults_release();
    assay_activity_show(false);
    assay_s3_close();
    return code;
}

/* Ranks of different programs would take each other's messages for their own. Collective. */
static int refuse_mixture(const cli_context *context, assay_error *err)
{
    static const char own[] = ASSAY_VERSION;
    const uint64_t hash = assay_hash_bytes(own, sizeof own) ^ assay_hash_bytes(cli_commit, strlen(cli_commit));
    uint64_t most[2] = {hash, ~hash};
    const int status = assay_comm_max(context->comm, most, 2);
    if (status != ASSAY_OK)
        return assay_fail(err, status, "MPI failed while the ranks compared their versions");
    return most[0] == ~most[1] ? ASSAY_OK
                               : assay_fail(err, ASSAY_EUSAGE,
                                            "the ranks are different builds of assay (this one is %s): start the same "
                                            "program on all of them",
                                            own);
}

/* A command on all ranks. MPI may take arguments away, so the context is made from what it leaves. */
static int run_on_world(const cli_command *command, cli_context *context)
{
    assay_error err = {""};
    bool force = has_word(context->argc - 2, context->argv + 2, "--" CLI_OPTION_MPI);
    assay_hdf5_prepare();
    int status = assay_comm_open_world(&context->argc, &context->argv, force, &context->comm, &err);
    if (status != ASSAY_OK) {
        assay_log_init(0); /* whichever rank it is: the launcher ends the others without a word of theirs */
        cli_fail(status, &err);
        return CLI_FAILED;
    }
    int rank = assay_comm_rank(context->comm);
    assay_log_init(rank);
    assay_fault_arm(rank);
    status = refuse_mixture(context, &err);
    int code = status == ASSAY_OK ? run_command(command, context) : cli_fail(status, &err);
    cli_keep_memory();
    assay_comm_finish(context->comm, code);
    return code;
}

static int run_alone(const cli_command *command, cli_context *context)
{
    if (!is_first()) /* several ranks were started: the first does the work */
        return CLI_DONE;
    assay_log_init(0);
    assay_fault_arm(0);
    return run_command(command, context);
}

static bool has_ended; /* main() came to its end */

/* Whoever calls exit() in the middle of a run, a rule that is trusted or a library, must not make it look done. */
static void refuse_exit(void)
{
    static const char said[] = "assay: error: the run was ended by a call of exit() in a custom rule or in a library\n";
    if (has_ended)
        return;
    if (write(STDERR_FILENO, said, sizeof said - 1) < 0) {
        /* nobody is left to be told */
    }
    _exit(CLI_FAILED);
}

/* Without something in the place of a standard file that is closed the first file that is written would get its number,
 * and what is printed with it. What is printed to standard output is the answer: where that is closed, writing it fails. */
static void open_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDERR_FILENO ? O_RDWR : O_RDONLY) != fd)
            return;
}

static int run_program(int argc, char **argv)
{
    open_standard_files();
    has_ended = argc == 4 && strcmp(argv[1], ASSAY_RULE_PROCESS_WORD) == 0; /* who started it sees how it ends */
    if (has_ended)
        assay_rule_process_serve(strtol(argv[2], NULL, 10), argv[3]);
    assay_rule_process_set_program("/proc/self/exe");
    cli_context context = {.argc = argc, .argv = argv, .version = ASSAY_VERSION};
    const char *name = argc > 1 ? argv[1] : "";
    bool asks = strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0;
    const char *topic = asks && argc > 2 ? argv[2] : name;
    const cli_command *command = cli_command_find(topic);
    bool first = is_first();
    if (command && !asks && !wants_help(argc - 2, argv + 2))
        return command->takes & CLI_WORLD ? run_on_world(command, &context) : run_alone(command, &context);
    if (command || (asks && argc == 2))
        return first ? print_help(command, !asks && !has_word(argc - 2, argv + 2, "--help")) : CLI_DONE;
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0 || strcmp(name, "version") == 0)
        return first ? print_version() : CLI_DONE;
    if (strcmp(name, CLI_COMPLETE_WORD) == 0)
        return cli_complete(argc - 2, argv + 2);
    return fail_command(topic, argc, argv);
}

int main(int argc, char **argv)
{
    (void)atexit(refuse_exit);
    int code = run_program(argc, argv);
    has_ended = true;
    return code;
}
