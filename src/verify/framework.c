/* framework.c - files by which frameworks resume. */
#include "verify/framework.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/path.h"

/* What is needed: any of the names, which are parted by blanks; a star stands for any end. */
typedef struct need {
    const char *names, *what;
} need;

static const need TRAINER[] = {
    {"model.safetensors model.safetensors.index.json pytorch_model.bin pytorch_model.bin.index.json adapter_model.safetensors "
     "adapter_model.bin pytorch_model_fsdp_* global_step*",
     "the model"},
    {"optimizer.pt optimizer.bin optimizer_* global_step*", "optimizer.pt"},
    {"scheduler.pt scheduler.bin", "scheduler.pt"},
    {"trainer_state.json", "trainer_state.json"},
    {"rng_state.pth rng_state_*", "rng_state.pth"},
    {NULL, NULL}};
static const need DCP[] = {{".metadata", ".metadata"}, {"__*", "*.distcp"}, {NULL, NULL}};
static const need MEGATRON_DIST[] = {
    {".metadata", ".metadata"}, {"metadata.json", "metadata.json"}, {"common.pt", "common.pt"}, {NULL, NULL}};
static const need MEGATRON_RANK[] = {{"model_optim_rng.pt model_rng.pt", "model_optim_rng.pt"}, {NULL, NULL}};
static const need DEEPSPEED[] = {
    {"mp_rank_* zero_pp_rank_*_model_states.pt", "mp_rank_00_model_states.pt"},
    {"zero_pp_rank_* bf16_zero_pp_rank_* fp16_zero_pp_rank_*", "the partitions of the optimizer"},
    {NULL, NULL}};

const char *assay_framework_word(assay_framework framework)
{
    static const char *const words[] = {NULL, "trainer", "lightning", "dcp", "megatron", "deepspeed"};
    return words[framework];
}

static bool fits(const char *name, const char *names)
{
    for (const char *at = names; *at;) {
        const size_t size = strcspn(at, " ");
        const bool open = at[size - 1] == '*';
        if (open ? strncmp(name, at, size - 1) == 0 : strlen(name) == size && strncmp(name, at, size) == 0)
            return true;
        at += size + (at[size] == ' ');
    }
    return false;
}

static void put_missing(const assay_names *there, const need *needs, const char *directory, assay_buf *out)
{
    for (; needs->names; needs++) {
        bool found = false;
        for (size_t i = 0; i < there->count && !found; i++)
            found = fits(there->name[i], needs->names);
        if (!found)
            assay_put_format(out, "%s%s%s%s", out->size ? ", " : "", directory, *directory ? "/" : "", needs->what);
    }
}

/* Is config.json an object without a key, from which no model can be made? */
static bool is_empty_config(const assay_trial_files *trial, const char *directory)
{
    enum { MOST = 64 };
    char *path = assay_path_join(directory, "config.json");
    assay_buf text;
    bool empty = false;
    assay_buf_init(&text, MOST);
    if (path && assay_store_exists(trial->store, path, NULL) == 1 &&
        assay_store_read(trial->store, path, MOST, &text, NULL) == ASSAY_OK) {
        size_t braces = 0, others = 0;
        for (size_t i = 0; i < text.size; i++) {
            braces += strchr("{}", text.data[i]) && text.data[i];
            others += !strchr("{} \t\r\n", text.data[i]);
        }
        empty = braces == 2 && others == 0;
    }
    assay_buf_release(&text);
    free(path);
    return empty;
}

/* Of an older checkpoint of Megatron-LM each rank's directory. */
static int put_missing_ranks(const assay_trial_files *trial, const char *place, const assay_names *there,
                             assay_buf *out)
{
    bool ranks = false;
    for (size_t i = 0; i < there->count; i++) {
        assay_names inside = {0};
        if (strncmp(there->name[i], "mp_rank_", 8) != 0)
            continue;
        char *path = assay_path_join(place, there->name[i]);
        ASSAY_HAVE(path);
        ranks = true;
        if (assay_store_list(trial->store, path, &inside, NULL) == ASSAY_OK)
            put_missing(&inside, MEGATRON_RANK, there->name[i], out);
        assay_names_release(&inside);
        free(path);
    }
    if (!ranks)
        put_missing(there, MEGATRON_DIST, "", out);
    return ASSAY_OK;
}

/* A file of Lightning has everything under keys of its own. */
static int put_missing_keys(const assay_trial_files *trial, int64_t step, assay_buf *out)
{
    bool model = false, optimizer = false, loops = false;
    assay_trial_others others = {0};
    for (size_t p = assay_shard_find(&trial->shard, step); p < trial->shard.count && trial->shard.parts[p].step == step;
         p++) {
        const assay_part *part = &trial->shard.parts[p];
        for (size_t e = part->first; e < part->first + part->count; e++) {
            const char *name = assay_dict_name(trial->tensors, trial->shard.entries[e].tensor, NULL);
            const bool own = strncmp(name, "optimizer/", 10) == 0;
            optimizer = optimizer || own;
            model = model || (!own && strncmp(name, "state/", 6) != 0);
        }
    }
    const int status = assay_trial_list_others(trial, step, step + 1, &others);
    for (uint32_t i = 0; status == ASSAY_OK && i < assay_dict_count(others.paths); i++) {
        const char *path = assay_dict_name(others.paths, i, NULL);
        loops = loops || strncmp(path, "state/loops", 11) == 0 || strcmp(path, "state/global_step") == 0;
        optimizer = optimizer || strncmp(path, "state/optimizer", 15) == 0;
    }
    assay_trial_others_release(&others);
    if (!model)
        assay_put_format(out, "state_dict");
    if (!optimizer)
        assay_put_format(out, "%soptimizer_states", out->size ? ", " : "");
    if (!loops)
        assay_put_format(out, "%sglobal_step", out->size ? ", " : "");
    return status;
}

int assay_framework_missing(assay_framework framework, const assay_trial_files *trial, const char *place, int64_t step,
                            assay_buf *out)
{
    assay_names there = {0};
    int status = ASSAY_OK;
    if (framework == ASSAY_FRAMEWORK_LIGHTNING)
        return put_missing_keys(trial, step, out);
    const char *directory = strcmp(place, ".") == 0 ? "" : place;
    if (assay_store_list(trial->store, directory, &there, NULL) != ASSAY_OK)
        there.count = 0;
    switch (framework) {
    case ASSAY_FRAMEWORK_TRAINER:
        put_missing(&there, TRAINER, "", out);
        if (is_empty_config(trial, directory))
            assay_put_format(out, "%sconfig.json (it is empty)", out->size ? ", " : "");
        break;
    case ASSAY_FRAMEWORK_DCP:
        put_missing(&there, DCP, "", out);
        break;
    case ASSAY_FRAMEWORK_MEGATRON:
        status = put_missing_ranks(trial, directory, &there, out);
        break;
    default:
        put_missing(&there, DEEPSPEED, "", out);
        break;
    }
    assay_names_release(&there);
    return status;
}

/* The first word of a small file of the root; NULL: there is none. */
static char *read_word(const assay_trial_files *trial, const char *file)
{
    enum { MOST = 256 };
    assay_buf text;
    char *word = NULL;
    assay_buf_init(&text, MOST);
    if (assay_store_exists(trial->store, file, NULL) == 1 &&
        assay_store_read(trial->store, file, MOST, &text, NULL) == ASSAY_OK) {
        size_t size = 0;
        while (size < text.size && text.data[size] > ' ')
            size++;
        word = assay_copy_bytes_as_text((const char *)text.data, size);
    }
    assay_buf_release(&text);
    return word;
}

char *assay_framework_pick(assay_framework framework, const assay_trial_files *trial)
{
    char name[64];
    char *word = NULL, *end = NULL;
    if (framework == ASSAY_FRAMEWORK_DEEPSPEED)
        return read_word(trial, "latest");
    if (framework != ASSAY_FRAMEWORK_MEGATRON)
        return NULL;
    word = read_word(trial, "latest_checkpointed_iteration.txt");
    const long long number = word ? strtoll(word, &end, 10) : 0;
    if (!word || end == word || *end)
        return word;
    free(word);
    snprintf(name, sizeof name, "iter_%07lld", number);
    return assay_copy_text(name);
}
