/* pack.c - assay pack: packs trials into one HDF5 file, on all ranks together. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/s3.h"
#include "pack/pack.h"
#include "report/text/layout.h"

typedef struct pack_options {
    const char *out;
    bool compress, verify, resume, follow_links;
    size_t stripes, stripe_size;
} pack_options;

#define FIELD(name) offsetof(pack_options, name)
static const assay_setting OPTIONS[] = {
    {"out", ASSAY_SETTING_TEXT, FIELD(out), "FILE", "The file to write; -o for short."},
    {"compress", ASSAY_SETTING_SWITCH, FIELD(compress), NULL,
     "Deflate the records: smaller, and slower to write and to read."},
    {"follow-links", ASSAY_SETTING_SWITCH, FIELD(follow_links), NULL,
     "Pack what symbolic links out of a trial lead to. Default: such a trial is refused."},
    {"verify", ASSAY_SETTING_SWITCH, FIELD(verify), NULL,
     "Read the file back and compare every byte and the index before renaming it."},
    {"resume", ASSAY_SETTING_SWITCH, FIELD(resume), NULL,
     "Keep a complete file of the same trials (with --verify, compare it); pack anything else from the beginning."},
    {"stripes", ASSAY_SETTING_COUNT, FIELD(stripes), "N",
     "Spread the file over N targets of a striped file system, if it has them."},
    {"stripe-size", ASSAY_SETTING_SIZE, FIELD(stripe_size), "SIZE",
     "Bytes on one target before the next; a multiple of 1M."},
    {0}};

static int print_figures(const pack_options *options, const assay_pack_figures *f)
{
    assay_buf text = ASSAY_BUF(1 << 16);
    const int code = !f->kept && (f->unreadable || f->losses || f->damaged) ? CLI_LOSSES : CLI_DONE;
    if (options->resume && f->anew)
        assay_log_note("%s: was unfinished, or of other trials: packed anew from the start", options->out);
    if (f->damaged > 0)
        assay_log_warn("%" PRIu64 " record%s: what was packed is damaged: %s", f->damaged, assay_plural(f->damaged),
                       f->first_damaged.text);
    if (f->unreadable || f->losses)
        assay_log_warn("%" PRIu64 " file%s could not be read, and the index has %" PRIu64
                       " problem%s: all were packed as they are, and `assay ls` names them",
                       f->unreadable, assay_plural(f->unreadable), f->losses, assay_plural(f->losses));
    if (cli_given()->form == CLI_JSON) {
        assay_jw w = assay_jw_over(&text);
        assay_jw_object(&w, NULL);
        ASSAY_JW(&w, "file", options->out, "was_complete", f->kept, "verified", options->verify, "trials", f->trials);
        ASSAY_JW(&w, "files", f->files, "bytes", f->bytes, "records", f->records, "unreadable", f->unreadable,
                 "problems", f->losses, "damaged", f->damaged);
        assay_jw_end(&w);
        assay_put_u8(&text, '\n');
        return cli_finish(&text, code);
    }
    if (f->kept) {
        assay_put_format(&text, "%s is complete already%s", options->out,
                         options->verify ? ", and equal to the trials" : "");
        return cli_finish_line(&text, CLI_DONE);
    }
    assay_put_format(&text, "packed %" PRIu64 " trial%s, %" PRIu64 " file%s, ", f->trials, assay_plural(f->trials),
                     f->files, assay_plural(f->files));
    assay_text_put_bytes(&text, f->bytes);
    assay_put_format(&text, ", %" PRIu64 " record%s into %s%s", f->records, assay_plural(f->records), options->out,
                     options->verify ? "; verified" : "");
    return cli_finish_line(&text, code);
}

static int check_options(const pack_options *options, assay_error *err)
{
    if (!options->out)
        return assay_fail(err, ASSAY_EUSAGE, "pack: -o FILE is missing: the file to write");
    if (options->stripe_size % ((size_t)1 << 20) != 0)
        return assay_fail(err, ASSAY_EUSAGE, "pack: --stripe-size has to be a multiple of 1M");
    if (!assay_hdf5_available())
        return assay_fail(err, ASSAY_EUNSUPPORTED,
                          "%s: this build has no parallel HDF5: build assay with ASSAY_WITH_HDF5 and MPI",
                          options->out);
    return ASSAY_OK;
}

static int pack_trials(const cli_context *context, const pack_options *options, const char *const *trials, size_t count,
                       assay_error *err, int *code)
{
    assay_job job = {.file = (char *)"pack"};
    assay_pack_figures figures;
    const assay_pack_options wanted = {.output = options->out,
                                       .compress = options->compress,
                                       .verify = options->verify,
                                       .resume = options->resume,
                                       .follow_links = options->follow_links,
                                       .hints = {options->stripes, options->stripe_size}};
    int status = assay_comm_agree(context->comm, assay_job_set_trials(&job, trials, count, err), err);
    ASSAY_THEN(status, cli_s3_begin(context->comm, &job, NULL, err));
    ASSAY_THEN(status, assay_pack(context->comm, &job, &wanted, &figures, err));
    if (status == ASSAY_OK)
        *code = cli_share_code(context->comm,
                               assay_comm_rank(context->comm) == 0 ? print_figures(options, &figures) : CLI_DONE);
    for (size_t i = 0; i < job.trial_count; i++) {
        free(job.trials[i].path);
        free(job.trials[i].name);
        free(job.trials[i].plain);
    }
    free(job.trials);
    return status;
}

static int run(const cli_context *context, int argc, char **argv)
{
    pack_options options = {0};
    size_t operands = 0;
    assay_error err = {""};
    const char **trials = assay_alloc_zeroed((size_t)argc + 1, sizeof *trials);
    int code = CLI_DONE;
    int status = trials ? cli_options_parse(&cli_pack, argc, argv, &options, trials, &operands, &err) : ASSAY_ENOMEM;
    ASSAY_THEN(status, check_options(&options, &err));
    if (status == ASSAY_OK && assay_comm_rank(context->comm) == 0)
        status = cli_claim_file("pack", options.out, cli_given()->overwrite || options.resume, &err);
    status = assay_comm_agree(context->comm, status, &err);
    ASSAY_THEN(status, pack_trials(context, &options, trials, operands, &err, &code));
    free(trials);
    return status == ASSAY_OK ? code : cli_fail(status, &err);
}

const cli_command cli_pack = {"pack",
                              "TRIAL...",
                              "Packs trials into one HDF5 file, which every command takes in place of a directory.",
                              OPTIONS,
                              1,
                              SIZE_MAX,
                              CLI_WORLD | CLI_TRIALS | CLI_OVERWRITE | CLI_SAYS,
                              run};
