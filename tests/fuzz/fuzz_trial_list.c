/* Any bytes as a list of trials: lines that have something in them; and as the trials of a job, refused with a message,
 * or trials that have paths and names, one of each, and survive their way between ranks. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "job/job.h"
#include "job/trial_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

static void check_lines(const assay_trial_list *list, size_t size)
{
    size_t bytes = 0;
    for (size_t i = 0; i < list->count; i++) {
        size_t length = strlen(list->line[i]);
        must(length > 0 && list->line[i][0] != '#' && !strchr(list->line[i], '\n'));
        must(!strchr(" \t\r", list->line[i][0]) && !strchr(" \t\r", list->line[i][length - 1]));
        bytes += length + 1;
    }
    must(bytes <= size + 1);
}

static void check_job(assay_job *job)
{
    assay_buf packed;
    assay_job other = {0};
    for (size_t i = 0; i < job->trial_count; i++) {
        must(job->trials[i].path[0] && job->trials[i].name[0]);
        for (size_t k = 0; k < i && i < 100; k++)
            must(strcmp(job->trials[i].name, job->trials[k].name) != 0 &&
                 strcmp(job->trials[i].path, job->trials[k].path) != 0);
    }
    assay_buf_init(&packed, SIZE_MAX / 4);
    assay_job_pack_trials(job, &packed);
    assay_cursor in = assay_cursor_over(packed.data, packed.size);
    must(assay_job_unpack_trials(&other, &in, NULL) == ASSAY_OK && other.trial_count == job->trial_count);
    for (size_t i = 0; i < job->trial_count; i++)
        must(strcmp(other.trials[i].path, job->trials[i].path) == 0 &&
             strcmp(other.trials[i].name, job->trials[i].name) == 0);
    assay_buf_release(&packed);
    assay_job_release(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    assay_trial_list list;
    assay_job job = {0};
    assay_error err = {""};
    int status = assay_trial_list_read("f", data, size, &list, &err);
    must(status == ASSAY_OK || (status == ASSAY_EUSAGE && err.text[0] == 'f' && memchr(data, 0, size)));
    if (status == ASSAY_OK) {
        check_lines(&list, size);
        status = assay_job_set_trials(&job, list.line, list.count, &err);
        must(status == ASSAY_OK ? job.trial_count == list.count : status == ASSAY_EUSAGE && err.text[0]);
        check_job(&job);
    }
    assay_job_release(&job);
    assay_trial_list_release(&list);
    return 0;
}
