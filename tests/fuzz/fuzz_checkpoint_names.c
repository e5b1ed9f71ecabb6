/* Any bytes as the names of files in a checkpoint, one a line: what is found in a name lies in it, and a name that is
 * that of one layout's file is read the same way however often it is asked. */
#include <stdlib.h>
#include <string.h>

#include "format/checkpoint/deepspeed.h"
#include "format/checkpoint/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at(const char *name)
{
    const size_t length = strlen(name);
    const assay_deepspeed_name n = assay_deepspeed_name_of(name);
    int64_t step = 0;
    if (n.kind != ASSAY_DEEPSPEED_NONE) {
        if (n.model < name || n.model_length == 0 || (size_t)(n.model - name) > length - n.model_length)
            abort();
        for (size_t i = 0; i < n.model_length; i++)
            if (n.model[i] < '0' || n.model[i] > '9')
                abort();
        if (n.kind == ASSAY_DEEPSPEED_LAYER && (n.layer == 0 || n.layer >= length))
            abort();
        if (n.kind == ASSAY_DEEPSPEED_OPTIMIZER && !n.partitioned)
            abort();
    }
    if (assay_deepspeed_is_mark(name) && n.kind == ASSAY_DEEPSPEED_NONE)
        abort();
    if (assay_ckpt_stem(name) > length || (assay_ckpt_step(NULL, name, &step) && step < 0))
        abort();
    if (assay_ckpt_role_of(name) >= ASSAY_CKPT_ROLES || assay_ckpt_kind_of(name) > ASSAY_CKPT_KINDS)
        abort();
    if (assay_ckpt_is_rank_file(name) && assay_ckpt_kind_of(name) == ASSAY_CKPT_KINDS)
        abort();
    assay_ckpt_is_shard(name);
    assay_ckpt_is_shard_map(name);
    assay_ckpt_is_rank_directory(name);
    assay_ckpt_is_unfinished(name);
    assay_ckpt_is_dcp(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *list[64] = {NULL};
    assay_names names = {.name = list};
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *at = text, *next; at && names.count < sizeof list / sizeof *list; at = next) {
        next = strchr(at, '\n');
        if (next)
            *next++ = '\0';
        look_at(at);
        list[names.count++] = at;
    }
    assay_dict *models = assay_deepspeed_models(&names);
    if (models && assay_dict_count(models) > names.count)
        abort();
    assay_dict_free(models);
    free(text);
    return 0;
}
