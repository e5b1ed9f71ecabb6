/* deepspeed_names.c - what DeepSpeed calls its files. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "format/checkpoint/deepspeed.h"
#include "format/checkpoint/files.h"

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
    if (!end || name[0] == '.')
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

/* ---- the files of each rank ---- */

typedef struct shares {
    char *directory;
    assay_names names;  /* natural order */
    assay_dict *models; /* NULL: the directory is not divided */
    assay_names *own;   /* by model: borrowed names */
    char **room;        /* that they lie in */
} shares;

static void release_shares(void *kept)
{
    shares *s = kept;
    free(s->directory);
    assay_names_release(&s->names);
    assay_dict_free(s->models);
    free(s->own);
    free(s->room);
    free(s);
}

static int compare_names(const void *a, const void *b)
{
    return assay_worker_compare(*(char *const *)a, *(char *const *)b);
}

/* Are there files that belong to a rank by another rule than DeepSpeed's? */
static bool is_mixed(const assay_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        if (assay_ckpt_is_dcp_metadata(names->name[i]) || assay_ckpt_is_rank_directory(names->name[i]) ||
            assay_ckpt_is_rank_file(names->name[i]))
            return true;
    return false;
}

/* False without memory. */
static bool divide(shares *s)
{
    const uint32_t count = assay_dict_count(s->models);
    size_t begin = 0;
    s->own = assay_alloc_zeroed(count, sizeof *s->own);
    s->room = assay_alloc_zeroed(s->names.count, sizeof *s->room);
    for (int pass = 0; pass < 2 && s->own && s->room; pass++) {
        for (size_t i = 0; i < s->names.count; i++) {
            const assay_deepspeed_name n = assay_deepspeed_name_of(s->names.name[i]);
            if (n.kind == ASSAY_DEEPSPEED_NONE)
                continue;
            assay_names *own = &s->own[assay_dict_find(s->models, n.model, n.model_length)];
            if (pass > 0)
                own->name[own->count] = s->names.name[i];
            own->count++;
        }
        for (uint32_t m = 0; pass == 0 && m < count; m++) {
            s->own[m].name = s->room + begin;
            begin += s->own[m].count;
            s->own[m].count = 0;
        }
    }
    return s->own && s->room;
}

/* NULL without memory, or where the directory cannot be listed. */
static shares *share(assay_store *store, const char *directory)
{
    shares *s = assay_alloc_zeroed(1, sizeof *s);
    assay_error unheard; /* whoever looks at all names says so */
    if (!s)
        return NULL;
    s->directory = assay_copy_text(directory);
    bool kept = s->directory && assay_store_list(store, directory, &s->names, &unheard) == ASSAY_OK;
    if (kept && s->names.count > 1)
        qsort(s->names.name, s->names.count, sizeof *s->names.name, compare_names);
    if (kept && !is_mixed(&s->names)) {
        s->models = assay_deepspeed_models(&s->names);
        kept = s->models && divide(s);
    }
    if (kept)
        return s;
    release_shares(s);
    return NULL;
}

const assay_names *assay_deepspeed_own(assay_store *store, const char *directory, const char *worker)
{
    static const char WORKER[] = ASSAY_DEEPSPEED_WORKER;
    if (strncmp(worker, WORKER, sizeof WORKER - 1) != 0)
        return NULL;
    shares **kept = (shares **)assay_store_kept(store, release_shares);
    if (!*kept || strcmp((*kept)->directory, directory) != 0) {
        if (*kept)
            release_shares(*kept);
        *kept = share(store, directory);
    }
    const char *model = worker + sizeof WORKER - 1;
    const uint32_t id = *kept && (*kept)->models ? assay_dict_find((*kept)->models, model, strlen(model)) : ASSAY_NO_ID;
    return id == ASSAY_NO_ID || id == 0 ? NULL : &(*kept)->own[id];
}
