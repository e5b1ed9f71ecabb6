/* needed.c - files that others of a checkpoint need. */
#include "format/checkpoint/needed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_pull.h"
#include "base/path.h"
#include "format/checkpoint/deepspeed.h"
#include "format/checkpoint/files.h"
#include "format/checkpoint/said_step.h"

static bool is_there(const assay_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->name[i], name) == 0)
            return true;
    return false;
}

static void name_missing(assay_contents *c, const char *directory, const char *name, const char *who)
{
    char path[ASSAY_PATH_ROOM];
    if (snprintf(path, sizeof path, "%s%s%s", directory, *directory ? "/" : "", name) < (int)sizeof path)
        assay_problems_add(c->problems, ASSAY_PROBLEM_MISSING_SHARD, c->step, path, -1, "%s is missing: %s", path, who);
}

/* Hugging Face and diffusers load a set by its index alone. Sets of other names have none. */
static void check_index(assay_contents *c, const char *directory, const assay_names *names)
{
    static const char *const sets[] = {"model-", "pytorch_model-", "diffusion_pytorch_model-", "adapter_model-"};
    const char *shard = NULL;
    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->name[i], *number = assay_ckpt_shard_number(name);
        if (assay_ckpt_is_shard_map(name))
            return;
        for (size_t k = 0; number && k < sizeof sets / sizeof *sets; k++)
            if (strncmp(name, sets[k], strlen(sets[k])) == 0 && number == name + strlen(sets[k]) &&
                strncmp(number + 9, "00001.", 6) != 0 && !shard)
                shard = name;
    }
    if (!shard)
        return;
    char index[256], who[512];
    const char *number = assay_ckpt_shard_number(shard);
    snprintf(index, sizeof index, "%.*s%s.index.json", (int)(number - 1 - shard), shard, strrchr(shard, '.'));
    snprintf(who, sizeof who, "who loads the set of %.200s asks it which file has which tensor", shard);
    name_missing(c, directory, index, who);
}

/* An optimizer's state is of no use without the parameters it is about. */
static void check_model(assay_contents *c, const char *directory, const assay_names *names)
{
    const char *trained = NULL;
    for (size_t i = 0; i < names->count && !trained; i++)
        if (strcmp(names->name[i], "trainer_state.json") == 0 ||
            (assay_ckpt_kind_of(names->name[i]) == ASSAY_CKPT_TORCH &&
             assay_ckpt_role_of(names->name[i]) == ASSAY_CKPT_OPTIMIZER))
            trained = names->name[i];
    if (trained && !assay_contents_has_model(c) && c->problems->losses == 0)
        assay_problems_add(c->problems, ASSAY_PROBLEM_MISSING_SHARD, c->step, *directory ? directory : ".", -1,
                           "%s: its model is missing: %s is there, and no file of weights",
                           *directory ? directory : ".", trained);
}

/* Accelerate leaves of FSDP a distributed checkpoint of the model beside one of its optimizer: that alone has tensors of
 * parameters' names, which are no parameters. */
static void check_fsdp(assay_contents *c, const char *directory, const assay_names *names)
{
    static const char prefix[] = "optimizer_";
    const char *number = NULL;
    char path[ASSAY_PATH_ROOM], name[64], who[128];
    for (size_t i = 0; i < names->count; i++) {
        const char *rest = names->name[i] + sizeof prefix - 1;
        if (strncmp(names->name[i], prefix, sizeof prefix - 1) == 0 && *rest &&
            rest[strspn(rest, "0123456789")] == '\0')
            number = number ? number : rest;
        else if (strncmp(names->name[i], "pytorch_model", 13) == 0 ||
                 (assay_ckpt_kind_of(names->name[i]) != ASSAY_CKPT_KINDS &&
                  assay_ckpt_role_of(names->name[i]) == ASSAY_CKPT_MODEL))
            return;
    }
    if (!number || strlen(number) > 9 ||
        snprintf(path, sizeof path, "%s%s%s%s/.metadata", directory, *directory ? "/" : "", prefix, number) >=
            (int)sizeof path ||
        assay_store_exists(c->store, path, NULL) != 1)
        return;
    snprintf(name, sizeof name, "pytorch_model_fsdp_%s", number);
    snprintf(who, sizeof who, "%s%s is there, and no model that it trains", prefix, number);
    name_missing(c, directory, name, who);
}

/* Is the checkpoint's directory called as Trainer calls it? */
static bool is_of_trainer(const assay_contents *c, const char *directory)
{
    const char *place = *directory ? directory : assay_store_location(c->store);
    size_t end = strlen(place), from;
    while (end > 1 && place[end - 1] == '/')
        end--;
    for (from = end; from > 0 && place[from - 1] != '/';)
        from--;
    return strncmp(place + from, "checkpoint-", 11) == 0;
}

/* Has a file the step in its directory's name? */
static void check_step(assay_contents *c, const char *directory, const assay_names *names)
{
    char path[ASSAY_PATH_ROOM];
    if (!is_there(names, "trainer_state.json") || !is_of_trainer(c, directory) ||
        snprintf(path, sizeof path, "%s%strainer_state.json", directory, *directory ? "/" : "") >= (int)sizeof path)
        return;
    const int64_t said = assay_ckpt_trainer_step_in(c->store, path);
    if (said == ASSAY_CKPT_STEPLESS)
        assay_problems_add(c->problems, ASSAY_PROBLEM_INDEX_MISMATCH, c->step, path, -1,
                           "%s: it has no global_step that is a number: it is not what Trainer saved", path);
    else if (said >= 0 && said != c->step)
        assay_problems_add(
            c->problems, ASSAY_PROBLEM_INDEX_MISMATCH, c->step, path, -1,
            "%s: its global_step is %lld, and the checkpoint's name says %lld: files of two steps lie in it", path,
            (long long)said, (long long)c->step);
}

/* Megatron-LM asks metadata.json how the rest was saved. */
static void check_backend(assay_contents *c, const char *directory)
{
    enum { MOST = 1 << 20 };
    static const char KEY[] = "sharded_backend";
    char path[ASSAY_PATH_ROOM];
    assay_buf text;
    assay_pull json = {.loose = true};
    bool said = false;
    if (snprintf(path, sizeof path, "%s%smetadata.json", directory, *directory ? "/" : "") >= (int)sizeof path ||
        assay_store_exists(c->store, path, NULL) != 1)
        return;
    assay_buf_init(&text, MOST);
    if (assay_store_read(c->store, path, MOST, &text, NULL) == ASSAY_OK) {
        assay_pull_start(&json, (const char *)text.data, text.size);
        if (assay_pull_peek(&json) == '{')
            for (bool more = assay_pull_open(&json, '{', '}'); more; more = assay_pull_more(&json, '}')) {
                const char *key = NULL;
                size_t length = 0;
                if (!assay_pull_key(&json, &key, &length))
                    break;
                said = said ||
                       (length == sizeof KEY - 1 && memcmp(key, KEY, length) == 0 && assay_pull_peek(&json) == '"');
                assay_pull_skip(&json);
            }
        if (!said && !json.fault && !json.no_memory) /* what is no JSON is named by whoever looks at all files */
            assay_problems_add(c->problems, ASSAY_PROBLEM_INDEX_MISMATCH, c->step, path, -1,
                               "%s: it does not say its sharded_backend, by which Megatron-LM loads the checkpoint",
                               path);
    }
    assay_pull_release(&json);
    assay_buf_release(&text);
}

/* ---- directories in the place of files ---- */

/* Is there something in it that makes a directory of this name a checkpoint, as converters write some? */
static bool has_files_of_tensors(const assay_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->name[i];
        if (assay_ckpt_kind_of(name) != ASSAY_CKPT_KINDS || assay_ckpt_is_dcp(name) || assay_ckpt_is_shard_map(name) ||
            assay_ckpt_is_rank_directory(name) || assay_deepspeed_is_mark(name))
            return true;
    }
    return false;
}

static bool is_named(const assay_contents *c, const char *path)
{
    for (size_t i = 0; i < c->problems->kept; i++)
        if (c->problems->list[i].step == c->step && strcmp(c->problems->list[i].file, path) == 0)
            return true;
    return false;
}

/* What a loader opens as a file, be it read here or not. */
static void check_stand_ins(assay_contents *c, const char *directory, const assay_names *names)
{
    static const char *const parsed[] = {"config.json", "trainer_state.json", "metadata.json", "tokenizer.json",
                                         "special_tokens_map.json"};
    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->name[i];
        char path[ASSAY_PATH_ROOM];
        assay_names inside = {0};
        int64_t step = 0;
        bool file = assay_ckpt_kind_of(name) != ASSAY_CKPT_KINDS || assay_ckpt_is_shard_map(name);
        for (size_t k = 0; k < sizeof parsed / sizeof *parsed; k++)
            file = file || assay_path_ends(name, parsed[k]);
        if (!file || assay_ckpt_is_unfinished(name) ||
            (*directory == '\0' && assay_ckpt_step(c->options, name, &step)) ||
            snprintf(path, sizeof path, "%s%s%s", directory, *directory ? "/" : "", name) >= (int)sizeof path ||
            assay_store_exists(c->store, path, NULL) == 1 || is_named(c, path) ||
            assay_store_list(c->store, path, &inside, NULL) != ASSAY_OK)
            continue;
        if (!has_files_of_tensors(&inside))
            assay_problems_add(c->problems, ASSAY_PROBLEM_READ, c->step, path, -1,
                               "%s: a directory, where a file should be; what it had is missing from this analysis",
                               path);
        assay_names_release(&inside);
    }
}

/* ---- DeepSpeed ---- */

/* With stage 3 each data-parallel rank saved a file of the model beside that of the optimizer. */
static void check_partition(assay_contents *c, const char *directory, const char *optimizer, const assay_dict *all,
                            const assay_dict *partitioned)
{
    const assay_deepspeed_name own = assay_deepspeed_name_of(optimizer);
    char name[256], who[512];
    const int length = snprintf(name, sizeof name, "zero_pp_rank_%u_mp_rank_%.*s_model_states.pt", own.rank,
                                (int)own.model_length, own.model);
    if (assay_dict_find(partitioned, own.model, own.model_length) == ASSAY_NO_ID || length >= (int)sizeof name ||
        assay_dict_find(all, name, (size_t)length) != ASSAY_NO_ID)
        return;
    snprintf(who, sizeof who, "rank %u saved %.200s, and resumes from both", own.rank, optimizer);
    name_missing(c, directory, name, who);
}

/* Each layer of a pipeline has a file of every tensor-parallel rank. `done` are the layers that were looked at already.
 * Ends where no more problems are kept: so a few files cannot ask for the square of their number. */
static bool check_layer(assay_contents *c, const char *directory, const char *layer, const assay_dict *all,
                        const assay_dict *models, assay_dict *done)
{
    const assay_deepspeed_name own = assay_deepspeed_name_of(layer);
    const uint32_t known = assay_dict_count(done), id = assay_dict_add(done, layer, (size_t)(own.model - layer));
    for (uint32_t m = 0; id == known && m < assay_dict_count(models) && c->problems->kept < ASSAY_PROBLEMS_KEPT; m++) {
        size_t length = 0;
        char name[256], who[512];
        const char *model = assay_dict_name(models, m, &length);
        const int size = snprintf(name, sizeof name, "%.*s%.*s%s", (int)(own.model - layer), layer, (int)length, model,
                                  own.model + own.model_length);
        if (size >= (int)sizeof name || length != own.model_length ||
            assay_dict_find(all, name, (size_t)size) != ASSAY_NO_ID)
            continue;
        snprintf(who, sizeof who, "rank %.*s needs it, as rank %.*s does %.200s", (int)length, model,
                 (int)own.model_length, own.model, layer);
        name_missing(c, directory, name, who);
    }
    return id != ASSAY_NO_ID;
}

/* Each tensor-parallel rank has a file of the model; they are numbered without a gap. */
static void check_models(assay_contents *c, const char *directory, const assay_dict *models, const assay_dict *whole)
{
    char name[256], who[128];
    size_t length = 0;
    const uint32_t count = assay_dict_count(models);
    for (uint32_t m = 0; m < count; m++) {
        const char *model = assay_dict_name(models, m, &length);
        snprintf(name, sizeof name, "mp_rank_%.*s_model_states.pt", (int)length, model);
        snprintf(who, sizeof who, "rank %.*s has other files here, and resumes from it", (int)length, model);
        if (length < 64 && assay_dict_find(whole, model, length) == ASSAY_NO_ID)
            name_missing(c, directory, name, who);
    }
    for (uint32_t m = 0; m < count && length < 64; m++) {
        const int width = snprintf(who, sizeof who, "%0*u", (int)length, m);
        if (assay_dict_find(models, who, (size_t)width) != ASSAY_NO_ID)
            continue;
        snprintf(name, sizeof name, "mp_rank_%s_model_states.pt", who);
        name_missing(c, directory, name, "a rank of a higher number has files here");
        return;
    }
}

static void check_deepspeed(assay_contents *c, const char *directory, const assay_names *names)
{
    assay_dict *all = assay_dict_new(), *partitioned = assay_dict_new(), *done = assay_dict_new();
    assay_dict *models = assay_deepspeed_models(names), *whole = assay_dict_new();
    bool kept = all && partitioned && done && models && whole;
    for (size_t i = 0; i < names->count && kept; i++) {
        const assay_deepspeed_name n = assay_deepspeed_name_of(names->name[i]);
        kept = assay_dict_add(all, names->name[i], strlen(names->name[i])) != ASSAY_NO_ID;
        if (kept && n.kind == ASSAY_DEEPSPEED_MODEL)
            kept = assay_dict_add(whole, n.model, n.model_length) != ASSAY_NO_ID;
        if (kept && n.kind == ASSAY_DEEPSPEED_MODEL && n.partitioned)
            kept = assay_dict_add(partitioned, n.model, n.model_length) != ASSAY_NO_ID;
    }
    for (size_t i = 0; i < names->count && kept; i++) {
        const assay_deepspeed_kind kind = assay_deepspeed_name_of(names->name[i]).kind;
        if (kind == ASSAY_DEEPSPEED_OPTIMIZER)
            check_partition(c, directory, names->name[i], all, partitioned);
        else if (kind == ASSAY_DEEPSPEED_LAYER)
            kept = check_layer(c, directory, names->name[i], all, models, done);
    }
    if (kept)
        check_models(c, directory, models, whole);
    else
        c->status = ASSAY_ENOMEM;
    assay_dict_free(whole);
    assay_dict_free(all);
    assay_dict_free(partitioned);
    assay_dict_free(done);
    assay_dict_free(models);
}

void assay_ckpt_name_needed(assay_contents *c, const char *directory, const assay_names *names)
{
    bool dcp = false, deepspeed = false;
    for (size_t i = 0; i < names->count; i++) {
        dcp = dcp || assay_ckpt_is_dcp_metadata(names->name[i]);
        deepspeed = deepspeed || assay_deepspeed_is_mark(names->name[i]);
    }
    const bool megatron = dcp && is_there(names, "common.pt");
    if (megatron && !is_there(names, "metadata.json"))
        name_missing(c, directory, "metadata.json", "Megatron-LM asks it how the checkpoint was saved");
    else if (megatron)
        check_backend(c, directory);
    if (deepspeed)
        check_deepspeed(c, directory, names);
    if (!dcp && !deepspeed) {
        check_index(c, directory, names);
        check_model(c, directory, names);
        check_fsdp(c, directory, names);
    }
    check_step(c, directory, names);
    check_stand_ins(c, directory, names);
}

/* Does a file begin as a name does, and no file of tensors: with characters alone? */
static bool begins_with_text(assay_store *store, const char *path)
{
    char head[8] = "";
    size_t got = 0;
    assay_store_file *file = NULL;
    bool text = assay_store_open_file(store, path, &file, NULL) == ASSAY_OK &&
                assay_store_read_at(file, 0, head, sizeof head, &got, NULL) == ASSAY_OK && got > 0;
    for (size_t i = 0; i < got; i++)
        text = text && head[i] >= ' ';
    assay_store_close_file(file);
    return text;
}

static bool is_longer(assay_store *store, const char *path)
{
    uint64_t size = 0;
    return assay_store_size_of(store, path, &size, NULL) == 1 && size >= ASSAY_CKPT_TAG_ROOM;
}

/* Is "latest" a directory, or a longer file? Many programs link the newest checkpoint there. */
static bool is_checkpoint_itself(assay_store *store, const char *path)
{
    assay_names names = {0};
    const bool held = (is_longer(store, path) && !begins_with_text(store, path)) ||
                      (assay_store_list(store, path, &names, NULL) == ASSAY_OK && names.count > 0);
    assay_names_release(&names);
    return held;
}

void assay_ckpt_name_latest(assay_store *store, const assay_names *top, assay_problems *problems)
{
    static const char *const files[] = {"latest", "latest_checkpointed_iteration.txt"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char tag[ASSAY_CKPT_TAG_ROOM], name[ASSAY_CKPT_TAG_ROOM + 16];
        if (!is_there(top, files[i]))
            continue;
        const bool read = assay_ckpt_read_tag(store, files[i], tag);
        if (!read && i == 0 && is_checkpoint_itself(store, files[i]))
            continue;
        if (!read || !*tag) {
            assay_problems_add(
                problems, ASSAY_PROBLEM_MISSING_SHARD, -1, files[i], -1,
                "%s: it %s, and should name the newest checkpoint: a training that is resumed would fail", files[i],
                read                         ? "is empty"
                : is_longer(store, files[i]) ? "has more than a name"
                                             : "cannot be read");
            continue;
        }
        if (strcmp(tag, "release") == 0)
            continue;
        char *end = NULL;
        const long long number = strtoll(tag, &end, 10);
        if (i == 1 && *end == '\0')
            snprintf(name, sizeof name, "iter_%07lld", number);
        else
            snprintf(name, sizeof name, "%s", tag);
        if (!is_there(top, name) && !strchr(name, '/'))
            assay_problems_add(problems, ASSAY_PROBLEM_MISSING_SHARD, -1, files[i], -1,
                               "%s: it names %s, which is not there: a training that is resumed would fail", files[i],
                               name);
    }
}
