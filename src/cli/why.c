/* why.c - assay why: why did a job end, from everything in its directory.
 *
 * The judgement is src/why's; here are its options and its exit code. */

#include "cli/built_in.h"
#include "cli/cli.h"
#include "cli/terminal.h"
#include "report/report.h"
#include "why/why.h"

typedef struct why_options {
    bool outputs;
    const char *job;
} why_options;

#define FIELD(name) offsetof(why_options, name)
static const assay_setting OPTIONS[] = {
    {"job", ASSAY_SETTING_TEXT, FIELD(job), "ID",
     "The Slurm job to look at, where a directory has outputs of several. Default: the one with the highest number."},
    {"outputs", ASSAY_SETTING_SWITCH, FIELD(outputs), NULL,
     "Only what programs wrote: no checkpoints, dumps, logs of metrics or records."},
    {0},
};

static int conclude(const assay_why *why)
{
    assay_draw draw;
    assay_buf out = ASSAY_BUF(ASSAY_REPORT_CEILING);
    const int code = assay_why_failed(why) ? CLI_FINDINGS : assay_why_has_losses(why) ? CLI_LOSSES : CLI_DONE;
    if (cli_given()->form == CLI_JSON)
        assay_why_put_json(why, &out);
    else if (cli_given()->form == CLI_CSV)
        assay_why_put_csv(why, &out);
    else if (cli_given()->form == CLI_MARKDOWN)
        assay_why_put_markdown(why, &out);
    else if (cli_given()->form == CLI_HTML)
        assay_why_put_html(why, &out);
    else
        assay_why_put_text(why, cli_draw_style(CLI_DRAW_AUTO, &draw), &out);
    return cli_finish(&out, code);
}

static int run(const cli_context *context, int argc, char **argv)
{
    why_options options = {.outputs = false};
    const char *directory[1] = {NULL};
    size_t operands = 0;
    assay_error err = {""};
    assay_why *why = NULL;
    int status = cli_options_parse(&cli_why, argc, argv, &options, directory, &operands, &err);
    status = assay_comm_agree(context->comm, status, &err);
    if (status == ASSAY_OK) {
        const assay_why_options asked = {.memory = cli_given()->memory,
                                         .progress = cli_progress(),
                                         .job = options.job,
                                         .rules = (const char *)cli_built_in_job,
                                         .rules_size = cli_built_in_job_size,
                                         .outputs_only = options.outputs};
        status = assay_why_run(context->comm, directory[0], &asked, &why, &err);
    }
    const int code =
        status != ASSAY_OK ? cli_fail(status, &err) : cli_share_code(context->comm, why ? conclude(why) : CLI_DONE);
    assay_why_free(why);
    return code;
}

const cli_command cli_why = {
    "why",
    "JOBDIR",
    "Says why a job ended: first cause, ranks, node and step, from everything in its directory.",
    OPTIONS,
    1,
    1,
    CLI_WORLD | CLI_TRIALS | CLI_MEMORY | CLI_PROGRESS | CLI_PAGE | CLI_PRINTED,
    run};
