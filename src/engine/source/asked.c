/* asked.c - see asked.h. */
#include "engine/source/asked.h"

#include <string.h>

#include "base/fault.h"

int assay_slot_selects(const assay_slot_need *slot, const assay_trial *info, uint32_t tensor, assay_problems *problems)
{
    if (slot->collections == 0 && slot->regexes == 0 && !slot->name)
        return 1;
    size_t length;
    const char *name = assay_dict_name(info->tensors, tensor, &length);
    for (size_t i = 0; i < slot->collections; i++) {
        int found = assay_trial_is_member(info, slot->collection[i], tensor, problems);
        if (found != 0)
            return found;
    }
    for (size_t i = 0; i < slot->regexes; i++) {
        int found = assay_slot_pattern_finds(slot, i, info, name, length);
        if (found == 1 || found == ASSAY_ENOMEM)
            return found;
        if (found < 0 && problems)
            assay_problems_add(problems, ASSAY_PROBLEM_COLLECTIONS, -1, "", -1,
                               "pattern '%s' gave up on tensor '%s', which counts as no match: simplify the pattern",
                               slot->pattern[i], name);
    }
    return slot->name && strlen(slot->name) == length && memcmp(slot->name, name, length) == 0;
}

int assay_asked_init(assay_asked *asked, const assay_job *job)
{
    assay_problems none;
    *asked = (assay_asked){.job = job};
    asked->info = assay_alloc_zeroed(1, sizeof *asked->info);
    ASSAY_HAVE(asked->info);
    asked->info->catalog = &asked->catalog;
    asked->info->tensors = assay_dict_new();
    assay_problems_init(&none);
    int status =
        asked->info->tensors ? assay_collections_add_defaults(&asked->catalog.collections, true) : ASSAY_ENOMEM;
    ASSAY_THEN(status, assay_trial_info_prepare(asked->info, &none));
    assay_problems_release(&none);
    return status;
}

void assay_asked_release(assay_asked *asked)
{
    assay_trial_info_free(asked->info);
    assay_catalog_release(&asked->catalog);
    *asked = (assay_asked){0};
}

bool assay_asked_has(void *context, const char *name, size_t length)
{
    assay_asked *asked = context;
    const uint32_t tensor = assay_dict_add(asked->info->tensors, name, length);
    bool has = tensor == ASSAY_NO_ID;
    const size_t own = asked->job->rule_count + asked->job->aggregation_count;
    const size_t instances = asked->job->curves_asked ? own : assay_job_instances(asked->job);
    for (size_t i = 0; i < instances && !has; i++) {
        const assay_instance *instance = assay_job_instance(asked->job, i);
        const bool never = !instance->need || instance->ops->traits & ASSAY_RULE_NOT_LOGGED;
        for (uint32_t s = 0; !never && s < instance->need->slot_count && !has; s++)
            has = !(instance->need->slots[s].flags & ASSAY_SLOT_TIME_ONLY) &&
                  assay_slot_selects(&instance->need->slots[s], asked->info, tensor, NULL) != 0;
    }
    return has;
}
