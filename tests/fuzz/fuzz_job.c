/* Any bytes as a job file: refused with a message that names the file, or a job whose names are unique. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/sample_rule.h"
#include "job/job.h"
#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define must(c) must_hold(c, #c, __LINE__)
static void must_hold(bool condition, const char *text, int line)
{
    if (!condition) {
        fprintf(stderr, "line %d: %s\n", line, text);
        abort();
    }
}

static void check_instances(assay_instance *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        must(list[i] && list[i]->name && (list[i]->status == ASSAY_OK) == (list[i]->params != NULL));
        must(list[i]->status == ASSAY_OK || list[i]->error.text[0]);
        for (size_t k = 0; k < i && count < 100; k++)
            must(strcmp(list[i]->name, list[k]->name) != 0);
    }
}

/* How a trial is to be read comes to the other ranks as it is here. */
static void send_options(const assay_trial_options *options)
{
    assay_buf once, again;
    assay_trial_options *copy = NULL;
    int64_t step;
    assay_buf_init(&once, SIZE_MAX / 4);
    assay_buf_init(&again, SIZE_MAX / 4);
    assay_trial_options_pack(options, &once);
    assay_cursor in = assay_cursor_over(once.data, once.size);
    must(assay_trial_options_unpack(&in, &copy) == ASSAY_OK && !assay_cursor_bad(&in));
    assay_trial_options_pack(copy, &again);
    must(once.size == again.size && memcmp(once.data, again.data, once.size) == 0);
    if (assay_trial_options_has_steps(copy))
        must(!assay_trial_options_step(copy, "epoch=7-step=12.ckpt", 20, &step) || step >= 0);
    assay_trial_options_release(copy);
    assay_buf_release(&once);
    assay_buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool registered;
    assay_job job = {0};
    assay_error err = {""};
    if (!registered)
        must(sample_register(&err) == ASSAY_OK);
    registered = true;
    int status = assay_job_parse("f", data, size, &assay_report_forms, &job, &err);
    if (status != ASSAY_OK) {
        must(status == ASSAY_EJOB && err.text[0] == 'f' && job.rules == NULL);
        return 0;
    }
    check_instances(job.rules, job.rule_count);
    check_instances(job.aggregations, job.aggregation_count);
    for (size_t i = 0; i < job.trial_count; i++)
        must(job.trials[i].path[0] && job.trials[i].name[0]);
    for (size_t i = 0; i < job.trial_count; i++)
        send_options(job.trials[i].options);
    must(job.formats != 0 && job.max_findings > 0);
    assay_job_release(&job);
    return 0;
}
