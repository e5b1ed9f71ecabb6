/* deepspeed_names.c - what DeepSpeed calls its files. */
#include <ctype.h>
#include <string.h>

#include "format/checkpoint/deepspeed.h"

static const char MODEL_RANK[] = "mp_rank_", DATA_RANK[] = "zero_pp_rank_";

static size_t count_digits(const char *text)
{
    size_t count = 0;
    while (isdigit((unsigned char)text[count]))
        count++;
    return count;
}

static bool take(const char **text, const char *word)
{
    const size_t length = strlen(word);
    if (strncmp(*text, word, length) != 0)
        return false;
    *text += length;
    return true;
}

/* "layer_01-model_00-model_states.pt" */
static bool is_layer(const char *name, assay_deepspeed_name *out)
{
    const char *at = name;
    if (!take(&at, "layer_") || count_digits(at) == 0)
        return false;
    at += count_digits(at);
    out->layer = (size_t)(at - name);
    if (!take(&at, "-model_") || count_digits(at) == 0)
        return false;
    out->model = at;
    out->model_length = count_digits(at);
    at += out->model_length;
    out->kind = ASSAY_DEEPSPEED_LAYER;
    return strcmp(at, "-model_states.pt") == 0;
}

/* Reads D; false when it has more digits than any cluster has ranks. */
static bool take_rank(const char *name, const char *end, assay_deepspeed_name *out)
{
    const char *at = strstr(name, DATA_RANK);
    if (!at || at > end)
        return true;
    at += sizeof DATA_RANK - 1;
    const size_t digits = count_digits(at);
    if (digits == 0 || digits > 9 || at[digits] != '_' || at + digits + 1 != end)
        return false;
    for (size_t i = 0; i < digits; i++)
        out->rank = out->rank * 10 + (uint32_t)(at[i] - '0');
    out->partitioned = true;
    return true;
}

assay_deepspeed_name assay_deepspeed_name_of(const char *name)
{
    const assay_deepspeed_name none = {.kind = ASSAY_DEEPSPEED_NONE};
    assay_deepspeed_name out = none;
    if (is_layer(name, &out))
        return out;
    out = none;
    const char *end = strstr(name, MODEL_RANK);
    if (!end)
        return none;
    out.model = end + sizeof MODEL_RANK - 1;
    out.model_length = count_digits(out.model);
    const char *behind = out.model + out.model_length;
    if (out.model_length == 0 || !take_rank(name, end, &out))
        return none;
    if (strcmp(behind, "_model_states.pt") == 0)
        out.kind = strstr(name, "expert_") ? ASSAY_DEEPSPEED_EXPERT : ASSAY_DEEPSPEED_MODEL;
    else if (strcmp(behind, "_optim_states.pt") == 0 && out.partitioned)
        out.kind = ASSAY_DEEPSPEED_OPTIMIZER;
    return out.kind == ASSAY_DEEPSPEED_NONE ? none : out;
}

bool assay_deepspeed_is_mark(const char *name)
{
    const assay_deepspeed_kind kind = assay_deepspeed_name_of(name).kind;
    return kind == ASSAY_DEEPSPEED_MODEL || kind == ASSAY_DEEPSPEED_EXPERT || kind == ASSAY_DEEPSPEED_OPTIMIZER;
}

assay_dict *assay_deepspeed_models(const assay_names *names)
{
    assay_dict *models = assay_dict_new();
    for (size_t i = 0; models && i < names->count; i++) {
        const assay_deepspeed_name n = assay_deepspeed_name_of(names->name[i]);
        if (n.kind != ASSAY_DEEPSPEED_NONE && assay_dict_add(models, n.model, n.model_length) == ASSAY_NO_ID) {
            assay_dict_free(models);
            return NULL;
        }
    }
    return models;
}
