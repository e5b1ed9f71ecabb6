/* notify.c - assay notify: do the messages of a job arrive? */

#include "action/actions.h"
#include "cli/cli.h"
#include "cli/rules_load.h"
#include "cli/terminal.h"
#include "report/report.h"

typedef struct notify_options {
    const char *rules_path;
    bool test;
} notify_options;

static const assay_setting OPTIONS[] = {
    {"test", ASSAY_SETTING_SWITCH, offsetof(notify_options, test), NULL,
     "Send a test message to each webhook and mail address of the job now."},
    {"rules-path", ASSAY_SETTING_TEXT, offsetof(notify_options, rules_path), "DIRS", CLI_RULES_PATH_HELP},
    {0}};

/* The job and its actions are parsed as a run does it: what is wrong with them is said here, too. */
static int send_test(const char *path, assay_buf *text, assay_buf *out, assay_error *err)
{
    assay_job job = {0};
    assay_actions *actions = NULL;
    size_t sent = 0, failed = 0;
    assay_draw draw;
    int status = cli_read_job_text(path, text, err);
    ASSAY_THEN(status, assay_job_parse(path, text->data, text->size, &assay_report_forms, &job, err));
    ASSAY_THEN(status, assay_actions_parse(&job, &actions, err));
    ASSAY_THEN(status, assay_actions_test(actions, &sent, &failed, cli_draw_style(CLI_DRAW_AUTO, &draw),
                                          cli_given()->form == CLI_JSON, out));
    if (status == ASSAY_OK && sent == 0)
        status = assay_fail(err, ASSAY_EJOB,
                            "%s: the job sends no message: \"actions\" has neither \"notify\" nor \"mail\"", path);
    else if (status == ASSAY_OK && failed > 0)
        status = assay_fail(err, ASSAY_EIO, "%s: %zu of %zu test messages were not delivered", path, failed, sent);
    assay_actions_free(actions);
    assay_job_release(&job);
    return status;
}

static int notify(const cli_context *context, int argc, char **argv)
{
    const char *path[1] = {NULL};
    size_t operands = 0;
    assay_error err = {""};
    assay_buf text = ASSAY_BUF(CLI_JOB_CEILING), out = ASSAY_BUF(1 << 20);
    notify_options options = {.rules_path = NULL};
    int status = cli_options_parse(&cli_notify, argc, argv, &options, path, &operands, &err);
    if (status == ASSAY_OK && !options.test)
        status =
            assay_fail(&err, ASSAY_EUSAGE, "notify: give --test: messages about findings are sent by run and watch");
    ASSAY_THEN(status, cli_load_rules(options.rules_path, &err));
    if (status != ASSAY_OK)
        return cli_fail(status, &err);
    status = send_test(path[0], &text, &out, &err);
    assay_buf_release(&text);
    int printed = cli_finish(&out, CLI_DONE);
    return status == ASSAY_OK ? printed : cli_fail(status, &err);
}

const cli_command cli_notify = {"notify",
                                "JOB",
                                "Sends a test message to every address of a job, to see whether it arrives.",
                                OPTIONS,
                                1,
                                1,
                                CLI_SAYS | CLI_PRINTED,
                                notify};
