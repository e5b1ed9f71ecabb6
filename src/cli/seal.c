/* seal.c - assay seal: writes digests of checkpoints beside them, for assay verify and sha256sum. */
#include <inttypes.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/s3.h"
#include "parallel/interrupt.h"
#include "report/report.h"
#include "report/text/layout.h"
#include "verify/seal.h"
#include "verify/verify.h"

typedef struct seal_options {
    bool again, watch;
    double every;
} seal_options;

#define FIELD(name) offsetof(seal_options, name)
static const assay_setting OPTIONS[] = {
    {"again", ASSAY_SETTING_SWITCH, FIELD(again), NULL, "Seal checkpoints anew that have a seal."},
    {"watch", ASSAY_SETTING_SWITCH, FIELD(watch), NULL,
     "Go on, and seal each checkpoint once it is complete, until a signal comes."},
    {"every", ASSAY_SETTING_REAL, FIELD(every), "N", "With --watch: look every N seconds.", .initial = "10"},
    {0},
};

/* Rank 0's wish to stop is everyone's. */
static bool is_wished(assay_comm *comm)
{
    uint64_t wished = assay_interrupt_wished();
    return assay_comm_max(comm, &wished, 1) != ASSAY_OK || wished > 0;
}

static void wait(const seal_options *options)
{
    for (double left = options->every; left > 0 && !assay_interrupt_wished(); left -= 0.1)
        usleep(100000);
}

static int tell(const assay_seal_figures *f, assay_buf *out)
{
    const int code = f->refused > 0 ? CLI_LOSSES : CLI_DONE;
    if (cli_given()->form == CLI_JSON) {
        assay_jw w = assay_jw_over(out);
        ASSAY_JW_OBJECT(&w, NULL, "sealed", f->sealed, "files", f->files, "bytes", f->bytes, "had_seal", f->kept,
                        "not_whole", f->refused);
        assay_put_u8(out, '\n');
        return cli_finish(out, code);
    }
    assay_put_format(out, "sealed %zu checkpoint%s, %" PRIu64 " file%s, ", f->sealed, assay_plural(f->sealed), f->files,
                     assay_plural(f->files));
    assay_text_put_bytes(out, f->bytes);
    if (f->kept > 0)
        assay_put_format(out, "; %zu had a seal", f->kept);
    if (f->refused > 0)
        assay_put_format(out, "; %zu %s not whole", f->refused, f->refused == 1 ? "is" : "are");
    return cli_finish_line(out, code);
}

static int seal(const cli_context *context, const seal_options *options, const char *trial)
{
    assay_error err = {""};
    assay_seal_figures figures = {0};
    const assay_seal_options asked = {cli_given()->steps.from, cli_given()->steps.to, options->again};
    const int status = assay_seal_make(context->comm, trial, &asked, &figures, &err);
    const bool first = assay_comm_rank(context->comm) == 0;
    if (status != ASSAY_OK)
        return cli_fail(status, &err);
    if (options->watch && figures.sealed == 0)
        return CLI_DONE;
    if (figures.sealed + figures.kept + figures.refused == 0)
        return cli_fail(assay_fail(&err, ASSAY_ENOTFOUND, "%s: there is no checkpoint to seal", trial), &err);
    int code = CLI_DONE;
    if (first) {
        assay_buf out = ASSAY_BUF(ASSAY_REPORT_CEILING);
        code = tell(&figures, &out);
    }
    return cli_share_code(context->comm, code);
}

static int run(const cli_context *context, int argc, char **argv)
{
    seal_options options = {.again = false};
    const char *trial[1] = {NULL};
    size_t operands = 0;
    assay_error err = {""};
    assay_job job = {0};
    int status = cli_options_parse(&cli_seal, argc, argv, &options, trial, &operands, &err);
    ASSAY_THEN(status, assay_verify_make_job(trial[0], &job, &err));
    status = assay_comm_agree(context->comm, status, &err);
    ASSAY_THEN(status, cli_s3_begin(context->comm, &job, NULL, &err));
    int code = CLI_DONE;
    if (status != ASSAY_OK)
        code = cli_fail(status, &err);
    else if (!options.watch)
        code = seal(context, &options, trial[0]);
    else
        assay_interrupt_listen();
    while (status == ASSAY_OK && options.watch && code != CLI_FAILED && !is_wished(context->comm)) {
        code = seal(context, &options, trial[0]);
        options.again = false;
        wait(&options);
    }
    assay_job_release(&job);
    return options.watch && code == CLI_LOSSES ? CLI_DONE : code;
}

const cli_command cli_seal = {"seal",
                              "RUN",
                              "Writes digests of checkpoints beside them: for every file and every tensor.",
                              OPTIONS,
                              1,
                              1,
                              CLI_WORLD | CLI_TRIALS | CLI_STEPS | CLI_SAYS | CLI_PRINTED,
                              run};
