/* run_checkpoint.c - see run_checkpoint.h. */
#include "cli/run_checkpoint.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "cli/cli.h"
#include "parallel/interrupt.h"
#include "report/report.h"

int run_checkpoint_begin(run_checkpoint *checkpoint, const assay_job *job, const assay_buf *text,
                         assay_engine_options *engine, assay_error *err)
{
    if (!checkpoint->file && (checkpoint->resume || checkpoint->minutes > 0))
        return assay_fail(err, ASSAY_EUSAGE, "run: --resume and --checkpoint-every need --checkpoint FILE");
    if (!checkpoint->file || engine->dry_run)
        return ASSAY_OK;
    if (job->formats & 1u << ASSAY_FORM_HDF5)
        return assay_fail(err, ASSAY_EUSAGE,
                          "run: --checkpoint does not go with the format hdf5, which needs every record in one run: "
                          "leave one out");
    assay_sha256 hash;
    assay_sha256_init(&hash);
    assay_sha256_add(&hash, text->data, text->size);
    assay_sha256_hex(&hash, checkpoint->job_digest);
    engine->checkpoint = checkpoint->file;
    engine->checkpoint_every = 60 * checkpoint->minutes;
    engine->resume = checkpoint->resume;
    engine->version = ASSAY_VERSION;
    engine->job_digest = checkpoint->job_digest;
    assay_interrupt_listen();
    return ASSAY_OK;
}

int run_checkpoint_fail(int status, const assay_error *err)
{
    if (status == ASSAY_ESTOPPED) {
        assay_log_note("%s", err->text);
        return CLI_STOPPED;
    }
    int code = cli_fail(status, err);
    return status == ASSAY_EUSAGE || status == ASSAY_EJOB ? code : CLI_FAILED; /* EJOB: a topology */
}

void run_checkpoint_end(const run_checkpoint *checkpoint, int code)
{
    bool reported = code == CLI_DONE || code == CLI_FINDINGS || code == CLI_LOSSES;
    if (checkpoint->file && reported && unlink(checkpoint->file) != 0 && errno != ENOENT)
        assay_log_warn("%s: cannot remove the checkpoint: %s", checkpoint->file, strerror(errno));
}
