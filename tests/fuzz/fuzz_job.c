/* Any bytes as a job file: refused with a message that names the file, or a job whose names are unique. */
#include <stdlib.h>
#include <string.h>

#include "../support/sample_rule.h"
#include "job/job.h"
#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
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
    must(job.formats != 0 && job.max_findings > 0);
    assay_job_release(&job);
    return 0;
}
