/* unpack.c - assay unpack: restores the directory of a packed trial. */
#include <inttypes.h>

#include "base/log.h"
#include "cli/cli.h"
#include "pack/pack.h"
#include "report/text/layout.h"

typedef struct unpack_options {
    const char *out;
} unpack_options;

static const assay_setting OPTIONS[] = {{"out", ASSAY_SETTING_TEXT, offsetof(unpack_options, out), "DIR",
                                         "The directory to write; -o for short. It must not exist, or be empty."},
                                        {0}};

static int print_figures(const unpack_options *options, const assay_pack_figures *f)
{
    assay_buf text = ASSAY_BUF(1 << 16);
    const int code = f->unreadable ? CLI_LOSSES : CLI_DONE;
    if (f->unreadable)
        assay_log_warn("%" PRIu64 " file%s could not be read when the trial was packed, and %s not in %s",
                       f->unreadable, assay_plural(f->unreadable), f->unreadable == 1 ? "is" : "are", options->out);
    if (cli_given()->form == CLI_JSON) {
        assay_jw w = assay_jw_over(&text);
        ASSAY_JW_OBJECT(&w, NULL, "directory", options->out, "files", f->files - f->unreadable, "bytes", f->bytes,
                        "unreadable", f->unreadable);
        assay_put_u8(&text, '\n');
        return cli_finish(&text, code);
    }
    assay_put_format(&text, "unpacked %" PRIu64 " file%s, ", f->files - f->unreadable,
                     assay_plural(f->files - f->unreadable));
    assay_text_put_bytes(&text, f->bytes);
    assay_put_format(&text, ", into %s", options->out);
    return cli_finish_line(&text, code);
}

static int run(const cli_context *context, int argc, char **argv)
{
    unpack_options options = {0};
    const char *path[1] = {NULL};
    size_t operands = 0;
    assay_error err = {""};
    assay_pack_figures figures;
    int status = cli_options_parse(&cli_unpack, argc, argv, &options, path, &operands, &err);
    if (status == ASSAY_OK && !options.out)
        status = assay_fail(&err, ASSAY_EUSAGE, "unpack: -o DIR is missing: the directory to write");
    status = assay_comm_agree(context->comm, status, &err);
    ASSAY_THEN(status, assay_unpack(context->comm, path[0], options.out, &figures, &err));
    if (status != ASSAY_OK)
        return cli_fail(status, &err);
    return cli_share_code(context->comm,
                          assay_comm_rank(context->comm) == 0 ? print_figures(&options, &figures) : CLI_DONE);
}

const cli_command cli_unpack = {
    "unpack", "FILE", "Restores the directory of a packed trial.", OPTIONS, 1, 1, CLI_WORLD | CLI_SAYS, run};
