/* config.c - collections and how their parameters resolve. */
#include "hook/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/search.h"
#include "hook/wait.h"

/* Patterns of weights, biases, gradients and losses are the reference's for PyTorch; metrics is its XGBoost one. The
 * reference fills the others by framework calls, so their patterns are ours (docs/hook-parameters.md). */
static const struct {
    const char *name, *pattern;
    bool base, scalars_only, included;
} builtins[] = {
    {"all", NULL, true, false, false},
    {"default", NULL, true, false, false},
    {"weights", "^(?!gradient).*weight", true, false, false},
    {"biases", "^(?!gradient).*bias", true, false, false},
    {"gradients", "^gradient", true, false, false},
    {"losses", "[Ll]oss_(?!input).*output", true, true, true},
    {"metrics", "^[a-zA-Z]+-[a-zA-Z0-9]+$|^metrics?/", false, true, false},
    {"inputs", "_input_\\d+$|^inputs?(/|$)", false, false, false},
    {"outputs", "_output_\\d+$|^outputs?(/|$)", false, false, false},
    {"labels", "^labels?(/|$)", false, false, false},
    {"predictions", "^predictions?(/|$)", false, false, false},
    {"optimizer_variables", "^optimizer(_variables)?/", false, false, false},
};

/* Collections that hold scalars whoever declares them. */
static const char *const scalar_names[] = {"feature_importance", "average_shap", "sm_metrics"};

static const char *const no_evaluation[] = {"gradients", "optimizer_variables"};

static int texts_add(hook_texts *texts, const char *text)
{
    char **grown = assay_realloc_array(texts->items, texts->count + 1, sizeof *grown);
    ASSAY_HAVE(grown);
    texts->items = grown;
    grown[texts->count] = assay_copy_text(text);
    ASSAY_HAVE(grown[texts->count]);
    texts->count++;
    return ASSAY_OK;
}

static void texts_release(hook_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        free(texts->items[i]);
    free(texts->items);
}

int hook_config_find(const hook_config *config, const char *collection)
{
    for (size_t i = 0; i < config->count; i++) {
        if (strcmp(config->collections[i].name, collection) == 0)
            return (int)i;
    }
    return -1;
}

int hook_config_check_name(const hook_config *config, const char *collection, assay_error *err)
{
    char hint[ASSAY_NEAREST_ROOM];
    assay_nearest nearest;
    if (hook_config_find(config, collection) >= 0)
        return ASSAY_OK;
    assay_nearest_begin(&nearest, collection, strlen(collection));
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        assay_nearest_offer(&nearest, builtins[i].name);
    enum { LONG_NAME = 8 }; /* two letters may be wrong in a long one: "layers" is not meant to be "labels" */
    if (!nearest.best || nearest.distance > (nearest.length >= LONG_NAME ? 2 : 1))
        return ASSAY_OK;
    return assay_fail(err, ASSAY_ENOTFOUND,
                      "there is no collection \"%s\"%s: one of your own that is named so like a built-in one is given "
                      "its patterns or tensors before it is included",
                      collection, assay_nearest_hint(&nearest, hint));
}

int hook_config_set_interval(hook_config *config, const char *collection, int64_t interval, assay_error *err)
{
    int index = hook_config_find(config, collection);
    if (index < 0)
        return assay_fail(err, ASSAY_ENOTFOUND, "collection \"%s\" is not declared", collection);
    if (interval < 1)
        return assay_fail(err, ASSAY_EPARAM, "%s: save_interval = %lld: expected a number of steps from 1", collection,
                          (long long)interval);
    for (int m = 0; m < HOOK_MODES; m++) {
        /* the writer may be reading them for the collections file */
        __atomic_store_n(&config->collections[index].rule[m].interval, interval, __ATOMIC_RELAXED);
        __atomic_store_n(&config->collections[index].rule_given[m], true, __ATOMIC_RELAXED);
    }
    return ASSAY_OK;
}

static int add_collection(hook_config *config, const char *name, int *index, assay_error *err)
{
    if (!*name || strlen(name) > 255)
        return assay_fail(err, ASSAY_EPARAM, "the name of a collection has 1 to 255 characters");
    if (config->count == HOOK_COLLECTIONS)
        return assay_fail(err, ASSAY_EPARAM, "collection \"%s\": there are %d already, which is the limit", name,
                          HOOK_COLLECTIONS);
    hook_collection *c = &config->collections[config->count];
    memset(c, 0, sizeof *c);
    c->name = assay_copy_text(name);
    if (!c->name)
        return assay_fail(err, ASSAY_ENOMEM, "collection \"%s\": out of memory", name);
    c->histogram = true;
    for (size_t i = 0; i < sizeof scalar_names / sizeof *scalar_names; i++)
        c->scalars_only = c->scalars_only || strcmp(name, scalar_names[i]) == 0;
    *index = (int)config->count++;
    return ASSAY_OK;
}

int hook_config_init(hook_config *config)
{
    memset(config, 0, sizeof *config);
    config->memory = (uint64_t)64 << 20;
    config->stall = HOOK_STALL_SECONDS;
    config->run_facts = true;
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++) {
        int index = 0;
        int rc = add_collection(config, builtins[i].name, &index, NULL);
        if (rc < 0)
            return rc;
        hook_collection *c = &config->collections[index];
        c->base = builtins[i].base;
        c->scalars_only = builtins[i].scalars_only;
        c->included = builtins[i].included;
        if (builtins[i].pattern && texts_add(&c->patterns, builtins[i].pattern) < 0)
            return ASSAY_ENOMEM;
    }
    return ASSAY_OK;
}

void hook_config_release(hook_config *config)
{
    for (size_t i = 0; i < config->count; i++) {
        hook_collection *c = &config->collections[i];
        for (size_t p = 0; c->compiled && p < c->patterns.count; p++)
            assay_regex_free(c->compiled[p]);
        free(c->compiled);
        texts_release(&c->patterns);
        texts_release(&c->names);
        for (int m = 0; m <= HOOK_MODES; m++)
            free(c->steps[m].list);
        free(c->name);
    }
    for (int m = 0; m <= HOOK_MODES; m++)
        free(config->steps[m].list);
    free(config->directory);
    free(config->tensorboard);
    free(config->worker);
    free(config->node);
    memset(config, 0, sizeof *config);
}

int hook_config_declare(hook_config *config, const char *collection, int *index, assay_error *err)
{
    int found = hook_config_find(config, collection);
    if (found < 0) {
        int rc = add_collection(config, collection, &found, err);
        if (rc < 0)
            return rc;
    }
    config->collections[found].included = true;
    if (index)
        *index = found;
    return ASSAY_OK;
}

int hook_config_add_pattern(hook_config *config, const char *collection, const char *pattern, assay_error *err)
{
    int index = 0;
    int rc = hook_config_declare(config, collection ? collection : "default", &index, err);
    if (rc < 0)
        return rc;
    const char *name = config->collections[index].name;
    assay_regex *trial = NULL;
    assay_error why = {""};
    rc = assay_regex_new(pattern, &trial, &why); /* a bad pattern is told where it is given, not at the first step */
    assay_regex_free(trial);
    if (rc < 0)
        return assay_fail(err, rc == ASSAY_ENOMEM ? rc : ASSAY_EPARAM, "collection \"%s\", include_regex \"%s\": %s",
                          name, pattern, why.text);
    if (texts_add(&config->collections[index].patterns, pattern) < 0)
        return assay_fail(err, ASSAY_ENOMEM, "collection \"%s\": out of memory", name);
    return ASSAY_OK;
}

int hook_config_add_name(hook_config *config, const char *collection, const char *tensor, assay_error *err)
{
    int index = 0;
    int rc = hook_config_declare(config, collection, &index, err);
    if (rc < 0)
        return rc;
    if (texts_add(&config->collections[index].names, tensor) < 0)
        return assay_fail(err, ASSAY_ENOMEM, "collection \"%s\": out of memory", collection);
    return ASSAY_OK;
}

/* Overlays what was given in `above` on *base. Lists are borrowed. */
static bool overlay(hook_steps *base, const hook_steps *above)
{
    if (above->has_interval)
        base->interval = above->interval;
    if (above->has_start)
        base->start = above->start;
    if (above->has_end)
        base->end = above->end;
    if (above->has_list) {
        base->list = above->list;
        base->listed = above->listed;
    }
    return above->has_interval || above->has_start || above->has_end || above->has_list;
}

static void resolve_steps(const hook_config *config, hook_collection *c)
{
    bool any = false;
    for (int m = 0; m < HOOK_MODES; m++) {
        c->rule[m] = (hook_steps){.interval = HOOK_DEFAULT_INTERVAL, .end = -1};
        bool given = overlay(&c->rule[m], &config->steps[HOOK_ALL_MODES]);
        given |= overlay(&c->rule[m], &config->steps[m]);
        given |= overlay(&c->rule[m], &c->steps[HOOK_ALL_MODES]);
        given |= overlay(&c->rule[m], &c->steps[m]);
        c->rule_given[m] = given;
        any |= given;
    }
    for (int m = 0; m < HOOK_MODES && !any; m++)
        c->rule_given[m] = true;
}

/* Statistics are reductions that one pass gives, and the shape. */
static void add_statistics(hook_reductions *r)
{
    static const uint8_t codes[] = {HOOK_MIN, HOOK_MAX, HOOK_MEAN,           HOOK_STD,
                                    HOOK_L1,  HOOK_L2,  HOOK_OPS + HOOK_MAX, HOOK_OPS + HOOK_MEAN};
    for (size_t i = 0; i < sizeof codes; i++) {
        if (!memchr(r->codes, codes[i], r->count))
            r->codes[r->count++] = codes[i];
    }
    r->shape = true;
}

/* Without a list of reductions the raw tensor is saved, with one only when asked for; a collection's own setting
 * replaces the hook's as a whole, as in the reference. */
static void resolve_reductions(const hook_config *config, hook_collection *c)
{
    hook_reductions r = c->reductions.given ? c->reductions : config->reductions;
    if (c->scalars_only)
        memset(&r, 0, sizeof r);
    if (!r.raw_given)
        r.raw = r.count == 0 && r.form == HOOK_FORM_RAW;
    if (r.form == HOOK_FORM_STATISTICS)
        add_statistics(&r);
    c->reduce = r;
    if (c->scalars_only || r.form == HOOK_FORM_DIGEST)
        c->histogram = false;
}

static int compile(hook_collection *c, assay_error *err)
{
    c->compiled = assay_alloc_zeroed(c->patterns.count, sizeof *c->compiled);
    if (!c->compiled)
        return assay_fail(err, ASSAY_ENOMEM, "collection \"%s\": out of memory", c->name);
    for (size_t p = 0; p < c->patterns.count; p++) {
        int rc = assay_regex_new(c->patterns.items[p], &c->compiled[p], err);
        if (rc < 0)
            return rc;
    }
    return ASSAY_OK;
}

int hook_config_freeze(hook_config *config, assay_error *err)
{
    hook_collection *all = &config->collections[0];
    bool everything = config->save_all || all->included;
    if (everything) {
        int rc = hook_config_add_pattern(config, "all", ".*", err);
        if (rc < 0)
            return rc;
    }
    for (size_t i = 0; i < config->count; i++) {
        hook_collection *c = &config->collections[i];
        c->saved = c->included || (everything && c->base);
        resolve_steps(config, c);
        resolve_reductions(config, c);
        int rc = compile(c, err);
        if (rc < 0)
            return rc;
    }
    return ASSAY_OK;
}

bool hook_steps_hit(const hook_steps *rule, int64_t step)
{
    if (rule->listed > 0) {
        size_t low = 0;
        ASSAY_SEARCH(low, rule->listed, rule->list[low] < step);
        if (low < rule->listed && rule->list[low] == step)
            return true;
    }
    return step >= rule->start && (rule->end < 0 || step < rule->end) && step % rule->interval == 0;
}

static bool is_listed(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, list[i]) == 0)
            return true;
    }
    return false;
}

uint64_t hook_config_step_mask(const hook_config *config, int mode, int64_t mode_step)
{
    uint64_t mask = 0;
    bool evaluates = mode == 1 || mode == 2; /* EVAL, PREDICT: nothing there has gradients */
    for (size_t i = 0; i < config->count; i++) {
        const hook_collection *c = &config->collections[i];
        if (!c->saved || !hook_steps_hit(&c->rule[mode], mode_step))
            continue;
        if (evaluates && is_listed(c->name, no_evaluation, sizeof no_evaluation / sizeof *no_evaluation))
            continue;
        mask |= (uint64_t)1 << i;
    }
    return mask;
}

static bool belongs(const hook_collection *c, const char *tensor, size_t length)
{
    if (is_listed(tensor, (const char *const *)c->names.items, c->names.count))
        return true;
    for (size_t p = 0; p < c->patterns.count; p++) {
        int found = assay_regex_search(c->compiled[p], tensor, length);
        if (found == 1)
            return true;
        if (found < 0) /* each name is looked at once */
            assay_log_warn("collection \"%s\": include_regex \"%.200s\" takes too long on tensor \"%.200s\", which is "
                           "not recorded for it: simplify the pattern",
                           c->name, c->patterns.items[p], tensor);
    }
    return false;
}

uint64_t hook_config_match(const hook_config *config, const char *tensor, size_t length)
{
    uint64_t mask = 0;
    for (size_t i = 0; i < config->count; i++) {
        if (config->collections[i].saved && belongs(&config->collections[i], tensor, length))
            mask |= (uint64_t)1 << i;
    }
    return mask;
}
