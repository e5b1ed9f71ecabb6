/* Any bytes as a job's member "actions": refused with a message that names file and place, or actions that can be
 * listed. */
#include <stdlib.h>
#include <string.h>

#include "action/actions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[] = "r";
    assay_instance rule = {.name = name};
    assay_instance *rules[] = {&rule};
    char file[] = "f";
    assay_job job = {.file = file, .rules = rules, .rule_count = 1};
    assay_actions *actions = NULL;
    assay_error err = {""};
    assay_buf list;
    if (assay_json_parse("f", data, size, &job.actions, &err) != ASSAY_OK)
        return 0;
    int status = assay_actions_parse(&job, &actions, &err);
    must(status == ASSAY_OK ? actions != NULL : actions == NULL && strncmp(err.text, "f: actions", 10) == 0);
    assay_buf_init(&list, 1 << 24);
    must(assay_actions_put_list(actions, &list) == ASSAY_OK);
    assay_buf_release(&list);
    assay_actions_free(actions);
    cJSON_Delete(job.actions);
    return 0;
}
