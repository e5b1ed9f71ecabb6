/* files.c - names of files and directories in checkpoints. */
#include "format/checkpoint/files.h"

#include "format/checkpoint/checkpoint.h"
#include "format/checkpoint/deepspeed.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/keys.h"
#include "base/path.h"

static const char MEGATRON[] = "mp_rank_";

size_t assay_ckpt_stem(const char *name)
{
    const char *point = strrchr(name, '.');
    return point && point > name ? (size_t)(point - name) : strlen(name);
}

static const char *extension_of(const char *name)
{
    return name + assay_ckpt_stem(name);
}

/* No framework writes a file of tensors whose name begins with a point, nor looks for one. */
static bool is_hidden(const char *name)
{
    return name[0] == '.';
}

assay_ckpt_kind assay_ckpt_kind_of(const char *name)
{
    static const char *const torch[] = {".pt", ".pth", ".bin", ".ckpt"};
    const char *extension = extension_of(name);
    if (is_hidden(name))
        return ASSAY_CKPT_KINDS;
    if (strcmp(extension, ".safetensors") == 0)
        return ASSAY_CKPT_SAFETENSORS;
    if (strcmp(extension, ".npz") == 0)
        return ASSAY_CKPT_NPZ;
    if (strcmp(extension, ".npy") == 0)
        return ASSAY_CKPT_NPY_FILE;
    for (size_t i = 0; i < sizeof torch / sizeof *torch; i++)
        if (strcmp(extension, torch[i]) == 0)
            return ASSAY_CKPT_TORCH;
    static const char TAR[] = ".pth.tar"; /* what many trainings of images call theirs; it is no tar file */
    const size_t length = strlen(name);
    if (length >= sizeof TAR && strcmp(name + length - (sizeof TAR - 1), TAR) == 0)
        return ASSAY_CKPT_TORCH;
    return ASSAY_CKPT_KINDS;
}

/* By beginnings, since libraries put ranks and steps behind them ("rng_state_0.pth"). An optimizer's word has to end
 * there: "optimus.pt" is a model. */
assay_ckpt_role assay_ckpt_role_of(const char *name)
{
    static const char *const state[] = {"scheduler",   "lr_scheduler",  "rng_state",  "random_states",    "scaler",
                                        "grad_scaler", "training_args", "dataloader", "train_dataloader", "sampler"};
    static const char *const optimizer[] = {"optimizer", "optim"};
    for (size_t i = 0; i < sizeof state / sizeof *state; i++)
        if (strncmp(name, state[i], strlen(state[i])) == 0)
            return ASSAY_CKPT_STATE;
    for (size_t i = 0; i < sizeof optimizer / sizeof *optimizer; i++) {
        const size_t length = strlen(optimizer[i]);
        if (strncmp(name, optimizer[i], length) == 0 && (name[length] == '\0' || strchr("._-", name[length])))
            return ASSAY_CKPT_OPTIMIZER;
    }
    return ASSAY_CKPT_MODEL;
}

static const char *skip_digits(const char *text)
{
    while (isdigit((unsigned char)*text))
        text++;
    return text;
}

/* Five digits each, as transformers and diffusers write them: other numbers around "-of-" are words of a name. */
const char *assay_ckpt_shard_number(const char *name)
{
    for (const char *p = strstr(name, "-of-"); p; p = strstr(p + 1, "-of-")) {
        const char *from = p;
        while (from > name && isdigit((unsigned char)from[-1]))
            from--;
        const char *behind = skip_digits(p + 4);
        if (p - from == 5 && behind - (p + 4) == 5 && *behind == '.' && from > name && from[-1] == '-')
            return from;
    }
    return NULL;
}

bool assay_ckpt_is_shard(const char *name)
{
    return assay_ckpt_shard_number(name) != NULL;
}

/* Was the file put aside, or has it what a program that copies files puts behind the name until it is done
 * ("model_300.safetensors.6eF9c2a3"), and no other has its place? What TensorFlow puts behind names is its own. */
static bool is_aside(const assay_names *beside, const char *name)
{
    char before[ASSAY_PATH_ROOM];
    const size_t aside = assay_path_before_aside(name), length = aside > 0 ? aside : assay_ckpt_stem(name);
    const char *end = name + length;
    if (!*end || assay_ckpt_is_unfinished(name) || length >= sizeof before || strcmp(end, ".index") == 0 ||
        strcmp(end, ".meta") == 0 || strncmp(end, ".data-", 6) == 0 || assay_ckpt_kind_of(name) != ASSAY_CKPT_KINDS)
        return false; /* of the last, model_100.pth.tar is read */
    memcpy(before, name, length);
    before[length] = '\0';
    return (assay_ckpt_kind_of(before) < ASSAY_CKPT_NPY_FILE || assay_ckpt_is_shard_map(before) ||
            assay_ckpt_is_dcp(before)) &&
           !assay_ckpt_is_unfinished(before) && !assay_names_have(beside, before);
}

bool assay_ckpt_is_misnamed(const assay_names *beside, const char *name)
{
    static const char *const endings[] = {".safetensors", ".safetensors.index.json", ".distcp", ".pth", ".ckpt",
                                          ".npz"};
    static const char *const short_endings[] = {".pt", ".bin", NULL}; /* but for a bit: .py is another */
    const size_t length = strlen(name);
    if (is_hidden(name) && name[1] != '_' && !assay_ckpt_is_unfinished(name)) /* "._x.pt" is a file manager's */
        return (assay_ckpt_kind_of(name + 1) != ASSAY_CKPT_KINDS || assay_ckpt_is_shard_map(name + 1)) &&
               !assay_names_have(beside, name + 1);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t size = strlen(endings[i]);
        const char *end = length > size ? name + length - size : endings[i];
        if (strcmp(end, endings[i]) != 0 &&
            (assay_key_is_off(end, size, endings[i]) || strcasecmp(end, endings[i]) == 0))
            return assay_ckpt_kind_of(name) == ASSAY_CKPT_KINDS;
    }
    const char *point = strrchr(name, '.');
    assay_keys flipped = {.known = short_endings};
    for (size_t i = 0; point && short_endings[i]; i++) /* in other letters, as on a disk that knows but one kind */
        if (strcasecmp(point, short_endings[i]) == 0 && strcmp(point, short_endings[i]) != 0)
            return true;
    if (point && assay_keys_find_flipped(&flipped, point, strlen(point)) < 0 && flipped.near)
        return assay_ckpt_kind_of(name) == ASSAY_CKPT_KINDS;
    return is_aside(beside, name);
}

bool assay_ckpt_is_shard_map(const char *name)
{
    static const char END[] = ".index.json";
    const size_t length = strlen(name);
    return !is_hidden(name) && length >= sizeof END && strcmp(name + length - (sizeof END - 1), END) == 0;
}

/* Takes one of the words, whatever its case, off the beginning; NULL when none is there. */
static const char *behind_word(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncasecmp(text, words[i], strlen(words[i])) == 0)
            return text + strlen(words[i]);
    return NULL;
}

/* TT, TT_PPP or TT_PPP_EEE. */
static bool is_megatron_rank(const char *text)
{
    for (;;) {
        const char *behind = skip_digits(text);
        if (behind == text || (*behind != '\0' && *behind != '_'))
            return false;
        if (*behind == '\0')
            return true;
        text = behind + 1;
    }
}

bool assay_ckpt_is_rank_directory(const char *name)
{
    static const char *const words[] = {"rank", "worker", "proc", "shard"};
    const char *rest = behind_word(name, words, sizeof words / sizeof *words);
    if (strncmp(name, MEGATRON, sizeof MEGATRON - 1) == 0)
        return is_megatron_rank(name + sizeof MEGATRON - 1);
    if (rest && (*rest == '-' || *rest == '_'))
        rest++;
    return rest && isdigit((unsigned char)*rest) && *skip_digits(rest) == '\0';
}

/* "rank" has to be a word by itself, with a number behind it: "ranker.pt" and "low-rank.pt" are models. consolidated.NN.pth
 * is what LLaMA's ranks are called. */
bool assay_ckpt_is_rank_file(const char *name)
{
    const size_t length = assay_ckpt_stem(name);
    static const char CONSOLIDATED[] = "consolidated.";
    if (assay_ckpt_kind_of(name) == ASSAY_CKPT_KINDS || assay_ckpt_role_of(name) == ASSAY_CKPT_STATE ||
        assay_deepspeed_name_of(name).kind != ASSAY_DEEPSPEED_NONE)
        return false;
    if (strncmp(name, CONSOLIDATED, sizeof CONSOLIDATED - 1) == 0) {
        const char *digits = name + sizeof CONSOLIDATED - 1;
        return skip_digits(digits) == name + length && length > sizeof CONSOLIDATED - 1;
    }
    for (const char *p = strstr(name, "rank"); p; p = strstr(p + 1, "rank")) {
        const char *digits = p + 4 + (p[4] == '-' || p[4] == '_'), *behind = skip_digits(digits);
        if ((p == name || strchr("._-", p[-1])) && behind > digits && behind <= name + length &&
            (behind == name + length || strchr("._-", *behind)))
            return true;
    }
    return false;
}

bool assay_ckpt_is_unfinished(const char *name)
{
    static const char *const first[] = {"tmp-", "tmp_", "_tmp", "."};
    static const char *const last[] = {".tmp",        ".temp",       ".part",     ".partial",   ".filepart",
                                       ".incomplete", ".crdownload", ".download", ".inprogress"};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (strncmp(name, first[i], strlen(first[i])) == 0)
            return true;
    for (size_t i = 0; i < sizeof last / sizeof *last; i++)
        if (strcmp(extension_of(name), last[i]) == 0)
            return true;
    return false;
}

bool assay_ckpt_is_copied(const char *name)
{
    char before[ASSAY_PATH_ROOM];
    const size_t length = assay_ckpt_stem(name);
    if (name[0] != '.' || !name[length] || length >= sizeof before)
        return false;
    memcpy(before, name + 1, length - 1);
    before[length - 1] = '\0';
    return assay_ckpt_kind_of(before) < ASSAY_CKPT_NPY_FILE;
}

bool assay_ckpt_is_dcp_metadata(const char *name)
{
    static const char METADATA[] = ".metadata";
    if (strcmp(name, METADATA) == 0)
        return true;
    const char *digits = strncmp(name, "__", 2) == 0 ? name + 2 : name, *behind = skip_digits(digits);
    return behind > digits && strcmp(behind, METADATA) == 0;
}

bool assay_ckpt_is_dcp(const char *name)
{
    return assay_ckpt_is_dcp_metadata(name) || strcmp(extension_of(name), ".distcp") == 0;
}

/* One name that belongs to a checkpoint in several files decides: the directory is that checkpoint, and its files are no
 * models each by itself. */
size_t assay_checkpoint_models(const assay_names *names, bool *is_model)
{
    size_t count = 0;
    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->name[i];
        const assay_ckpt_kind kind = assay_ckpt_kind_of(name);
        if (assay_ckpt_is_shard_map(name) || assay_ckpt_is_dcp(name) || assay_ckpt_is_shard(name) ||
            assay_ckpt_is_rank_file(name) || assay_ckpt_is_rank_directory(name) || assay_deepspeed_is_mark(name))
            return 0;
        is_model[i] = kind != ASSAY_CKPT_KINDS && kind != ASSAY_CKPT_NPY_FILE &&
                      assay_ckpt_role_of(name) == ASSAY_CKPT_MODEL && !assay_ckpt_is_unfinished(name);
        count += is_model[i];
    }
    return count;
}

/* ---- steps ---- */

/* The digits at `text`; false when there are none. *fits is false beyond 63 bits. */
static bool read_digits(const char *text, int64_t *out, bool *fits, const char **behind)
{
    int64_t value = 0;
    *fits = true;
    if (!isdigit((unsigned char)*text))
        return false;
    for (; isdigit((unsigned char)*text); text++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *text - '0', &value))
            *fits = false;
    *out = value;
    *behind = text;
    return true;
}

/* A pattern of names: one of the words, an s if plural, one of the separators, which is optional unless `parted`; then
 * with `second` a number and a separator; then the number. */
enum { WORDS_MOST = 6 };

typedef struct step_pattern {
    const char *word[WORDS_MOST];
    bool plural, parted, second;
} step_pattern;

static bool match_at(const step_pattern *pattern, const char *text, int64_t *step, bool *fits)
{
    size_t words = 0;
    int64_t value = 0;
    bool narrow = true;
    while (words < WORDS_MOST && pattern->word[words])
        words++;
    const char *at = behind_word(text, pattern->word, words);
    if (!at)
        return false;
    if (pattern->plural && (*at == 's' || *at == 'S'))
        at++;
    if (*at == '-' || *at == '_' || (*at == '=' && !pattern->parted))
        at++;
    else if (pattern->parted)
        return false;
    if (pattern->second) {
        if (!read_digits(at, &value, &narrow, &at) || (*at != '-' && *at != '_'))
            return false;
        at++;
    }
    if (!read_digits(at, &value, &narrow, &at))
        return false;
    *step = value;
    *fits = narrow;
    return true;
}

bool assay_ckpt_goes_beside(const assay_trial_options *options, const char *name, int64_t *step)
{
    const assay_ckpt_kind kind = assay_ckpt_kind_of(name);
    const size_t length = assay_ckpt_stem(name);
    bool fits = true;
    if (assay_ckpt_role_of(name) == ASSAY_CKPT_MODEL || kind == ASSAY_CKPT_KINDS || kind == ASSAY_CKPT_NPY_FILE ||
        assay_ckpt_is_unfinished(name) || assay_ckpt_is_shard(name) || assay_ckpt_is_rank_file(name) ||
        strncmp(name, "rng_state", 9) == 0 || strncmp(name, "random_states", 13) == 0) /* their numbers are ranks' */
        return false;
    if (assay_ckpt_step(options, name, step))
        return true;
    size_t from = length;
    while (from > 0 && isdigit((unsigned char)name[from - 1]))
        from--;
    const char *behind = NULL;
    return !assay_trial_options_has_steps(options) && from > 0 && strchr("-_=", name[from - 1]) &&
           read_digits(name + from, step, &fits, &behind) && fits;
}

bool assay_ckpt_step(const assay_trial_options *options, const char *name, int64_t *step)
{
    static const step_pattern patterns[] = {
        {{"global_step", "globalstep", "step", "iteration", "iter", "update"}, true, false, false},
        {{"checkpoint", "ckpt"}, false, true, true},
        {{"checkpoint", "ckpt", "chkpt", "model", "epoch", "ep"}, false, false, false},
    };
    char stem[256];
    const size_t kind = assay_ckpt_kind_of(name);
    const size_t length = kind == ASSAY_CKPT_KINDS ? strlen(name) : assay_ckpt_stem(name);
    bool fits = true;
    const char *behind = NULL;
    if (length >= sizeof stem || assay_ckpt_is_shard(name))
        return false;
    memcpy(stem, name, length);
    stem[length] = '\0';
    if (assay_trial_options_has_steps(options)) /* what the user says of names leaves no guess */
        return assay_trial_options_step(options, stem, length, step);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        bool found = false;
        /* Of several the last one counts: a directory's name comes before that of the file. */
        for (const char *at = stem; *at; at++)
            found = match_at(&patterns[i], at, step, &fits) || found;
        if (found)
            return fits;
    }
    return read_digits(stem, step, &fits, &behind) && *behind == '\0' && fits;
}
