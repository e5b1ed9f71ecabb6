/* run_operands.c - see run_operands.h. */
#include "cli/run_operands.h"

#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/path.h"
#include "cli/built_in.h"
#include "job/job.h"
#include "store/storage.h"
#include "trial/lone.h"

enum { JOB_MOST = 4 << 20 /* bytes; job files are written by people */ };

/* Is the file a job, or one of which formats say what it is? */
static bool is_job(const char *path)
{
    assay_buf text = ASSAY_BUF(JOB_MOST + 1);
    const int status = assay_file_read(path, JOB_MOST, &text, NULL);
    const bool is =
        status == ASSAY_OK ? assay_job_is_text((const char *)text.data, text.size) : status != ASSAY_EBUDGET;
    assay_buf_release(&text);
    return is;
}

/* `given`: there are trials already, so that another file is their job, whatever is wrong with it. */
static bool is_trial(const char *word, bool given)
{
    struct stat seen;
    if (stat(word, &seen) == 0)
        return S_ISDIR(seen.st_mode) || assay_is_packed_name(word, strlen(word)) || assay_path_ends(word, ".hdf5") ||
               assay_is_lone_trial(word) || (!given && S_ISREG(seen.st_mode) && !is_job(word));
    return strpbrk(word, "*?[=") || strstr(word, "://") || assay_path_ends(word, "/");
}

/* On rank 0: a byte for each word, 1 for a trial. What is not there is a trial, unless it is called like a job. */
static int look_at_operands(const char *const *operand, size_t count, bool given, assay_buf *kinds, assay_error *err)
{
    bool job = false;
    size_t dumps = 0;
    for (size_t i = 0; i < count; i++) {
        struct stat seen;
        dumps += assay_lone_begins(operand[i], ASSAY_LONE_DUMP);
        if (dumps > 1)
            return assay_fail(err, ASSAY_EUSAGE,
                              "%.200s: give the directory that has the dumps of all ranks; each dump alone would be a "
                              "training of its own",
                              operand[i]);
        bool there = stat(operand[i], &seen) == 0,
             trial = is_trial(operand[i], given) || (!there && !assay_path_ends(operand[i], ".json"));
        if (!trial && job)
            return assay_fail(err, ASSAY_EUSAGE,
                              "%.200s: one job file is enough, and trials are directories, .h5 files or checkpoints",
                              operand[i]);
        job = job || !trial;
        assay_put_u8(kinds, trial);
    }
    return assay_buf_status(kinds);
}

int run_take_operands(const cli_context *context, int parsed, const char *const *operand, size_t count,
                      run_options *options, const char **job, assay_error *err)
{
    assay_buf kinds = ASSAY_BUF(RUN_OPERANDS_MOST);
    int status = parsed;
    *job = NULL;
    if (status == ASSAY_OK && assay_comm_rank(context->comm) == 0)
        status = look_at_operands(operand, count, options->trials.count > 0 || options->trials_from, &kinds, err);
    status = assay_comm_agree(context->comm, status, err);
    ASSAY_THEN(status, assay_comm_broadcast(context->comm, &kinds));
    for (size_t i = 0; status == ASSAY_OK && i < count && i < kinds.size; i++) {
        if (!kinds.data[i])
            *job = operand[i];
        else if (!cli_list_add(&options->trials, operand[i]))
            status = assay_fail(err, ASSAY_ENOMEM, "out of memory for the trials of the command line");
    }
    assay_buf_release(&kinds);
    if (status == ASSAY_OK && !*job && options->trials.count == 0 && !options->trials_from)
        status =
            assay_fail(err, ASSAY_EUSAGE, "give a trial (a directory), a job file, or both; `assay help %s` says more",
                       context->argc > 1 ? context->argv[1] : "run");
    options->job_text = (const char *)cli_built_in_job;
    options->job_size = cli_built_in_job_size;
    return assay_comm_agree(context->comm, status, err);
}
