/* Any text as the answer of a Slurm command: ids that come out are ids, and a job has ended only by a word that says
 * so. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "action/slurm_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

static void check_job(int status, const assay_slurm_job *job)
{
    if (status != ASSAY_OK)
        return;
    must(job->phase != ASSAY_SLURM_UNKNOWN && job->state[0] && strlen(job->state) < sizeof job->state);
    must(job->exit_status >= -1 && job->exit_signal >= 0);
    must(job->phase == ASSAY_SLURM_ENDED || job->exit_status == -1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), id[ASSAY_SLURM_ID] = "";
    assay_slurm_job job;
    assay_error err;
    must(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    must(slurm_answer_submitted(text, id) ? assay_slurm_is_id(id) : id[0] == '\0');
    check_job(slurm_answer_shown(text, "7", &job, &err), &job);
    check_job(slurm_answer_accounted(text, "7", &job, &err), &job);
    id[0] = '\0';
    slurm_answer_newest(text, id);
    must(!id[0] || assay_slurm_is_id(id));
    for (const char *line = text; *line;) {
        const char *next = slurm_answer_next(line, id);
        must(next > line && strlen(id) < sizeof id && strspn(id, "0123456789") == strlen(id));
        line = next;
    }
    free(text);
    return 0;
}
