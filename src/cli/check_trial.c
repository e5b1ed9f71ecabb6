/* check_trial.c - see check_trial.h. */
#include "cli/check_trial.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "rule/no_data.h"
#include "source/trial_files.h"

/* Steps, and the modes in which each tensor was saved raw. */
static int collect(const assay_trial_files *files, assay_trial *info)
{
    const assay_shard *s = &files->shard;
    info->steps = assay_alloc_zeroed(s->count, sizeof *info->steps);
    info->tensor_modes = assay_alloc_zeroed(assay_dict_count(files->tensors), 1);
    if (!info->steps || !info->tensor_modes)
        return ASSAY_ENOMEM;
    for (size_t p = 0; p < s->count; p++) {
        const assay_part *part = &s->parts[p];
        for (size_t e = part->first; e < (size_t)part->first + part->count; e++)
            if (s->entries[e].kind == ASSAY_RAW)
                info->tensor_modes[s->entries[e].tensor] |= (uint8_t)(1u << part->mode);
        if (p == 0 || part->step != s->parts[p - 1].step)
            info->steps[info->step_count++] = (assay_step_info){part->step, part->mode_step, part->mode};
    }
    return ASSAY_OK;
}

/* Opens a trial as rules know it; *info is to be freed, and the files to be released. */
static int open_trial(const char *path, assay_trial_files *files, assay_trial **info, assay_error *err)
{
    int status = assay_trial_open(path, files, err);
    if (status != ASSAY_OK)
        return status == ASSAY_ENOMEM ? status : ASSAY_ENOTFOUND; /* whatever the reason: look at the path */
    assay_trial *trial = assay_alloc_zeroed(1, sizeof *trial);
    status = trial ? ASSAY_OK : ASSAY_ENOMEM;
    if (status == ASSAY_OK) {
        trial->path = assay_copy_text(path);
        trial->name = assay_copy_text(path);
        trial->catalog = &files->catalog;
        trial->tensors = files->tensors;
        status = trial->path && trial->name ? collect(files, trial) : ASSAY_ENOMEM;
    }
    if (status == ASSAY_OK)
        status = assay_trial_info_finish(trial, &files->problems);
    *info = trial;
    return status == ASSAY_OK ? ASSAY_OK : assay_fail(err, status, "%s: %s", path, assay_status_text(status));
}

static void release_trial(assay_trial_files *files, assay_trial *info)
{
    if (info) {
        info->tensors = NULL; /* the files' */
        assay_trial_info_free(info);
    }
    if (files->store)
        assay_trial_release(files);
}

static bool check_rule(const assay_instance *instance, const assay_trial *info, const char *path, bool comma,
                       assay_buf *out)
{
    assay_buf why;
    assay_buf_init(&why, 1 << 16);
    assay_rule rule = {.ops = instance->ops,
                       .params = instance->params,
                       .data = instance->data,
                       .trial = info,
                       .start_step = instance->start_step,
                       .end_step = instance->end_step};
    bool none = instance->status == ASSAY_OK && assay_no_data_explain(&rule, instance, &why);
    if (none) {
        assay_put_format(out, "%s\n   {\"name\": ", comma ? "," : "");
        assay_json_put_text(out, instance->name);
        assay_put_format(out, ", \"message\": ");
        assay_json_put_text_n(out, (const char *)why.data, why.size);
        assay_put_u8(out, '}');
        assay_log_warn("%s: rule \"%s\" has nothing to test: %.*s", path, instance->name, (int)why.size,
                       (const char *)why.data);
    }
    assay_buf_release(&why);
    return none;
}

int check_trials(const assay_job *job, const char *const *trial, size_t count, assay_buf *out, assay_error *err)
{
    int status = ASSAY_OK;
    assay_put_format(out, " \"no_data\": [");
    for (size_t t = 0; status == ASSAY_OK && t < count; t++) {
        assay_trial_files files = {0};
        assay_trial *info = NULL;
        size_t none = 0;
        status = open_trial(trial[t], &files, &info, err);
        assay_put_format(out, "%s\n  {\"path\": ", t ? "," : "");
        assay_json_put_text(out, trial[t]);
        assay_put_format(out, ", \"rules\": [");
        for (size_t i = 0; status == ASSAY_OK && i < job->rule_count; i++)
            none += check_rule(job->rules[i], info, trial[t], none > 0, out);
        assay_put_format(out, "]}");
        release_trial(&files, info);
    }
    assay_put_format(out, "],\n");
    return status;
}
