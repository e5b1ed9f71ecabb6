/* hook.c - opening, configuring, stepping and closing a hook. */
#include "hook/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fault.h"
#include "base/log.h"
#include "hook/directory.h"

int hook_failed(assay_hook *hook, int status, const char *text)
{
    hook->counts.errors++;
    if (hook->counts.status == ASSAY_OK) {
        hook->counts.status = status;
        snprintf(hook->counts.text, sizeof hook->counts.text, "%s", text);
    }
    if (!hook->warned) {
        assay_log_warn("the hook could not record everything: %s (said once; the training goes on)", text);
        hook->warned = true;
    }
    return status;
}

int hook_leave(assay_hook *hook, int status, const assay_error *err)
{
    if (status < 0)
        hook_failed(hook, status, err->text);
    pthread_mutex_unlock(&hook->lock);
    return status;
}

/* The reference's switch and ours. */
static bool opted_out(void)
{
    static const char *const variables[] = {"ASSAY_HOOK", "USE_SMDEBUG"};
    static const char *const words[] = {"0", "off", "false", "no", "n", "f"};
    for (size_t v = 0; v < sizeof variables / sizeof *variables; v++) {
        const char *value = getenv(variables[v]);
        for (size_t w = 0; value && w < sizeof words / sizeof *words; w++) {
            if (strcasecmp(value, words[w]) == 0)
                return true;
        }
    }
    return false;
}

/* Reads the file that ASSAY_HOOK_CONFIG names, or, for a program that names no directory and so leaves the choice to
 * its surroundings, SMDEBUG_CONFIG_FILE_PATH, and tries it on a configuration of its own, so that a mistake shows when
 * the hook is opened. It is applied at the first step, after what the program says. */
static int read_environment(assay_hook *hook, assay_error *err)
{
    const char *path = getenv("ASSAY_HOOK_CONFIG");
    if ((!path || !*path) && !hook->config.directory)
        path = getenv("SMDEBUG_CONFIG_FILE_PATH");
    if (!path || !*path)
        return ASSAY_OK;
    hook->file_name = assay_copy_text(path);
    if (!hook->file_name)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", path);
    int rc = hook_read_file(path, HOOK_CONFIG_CEILING, &hook->file, err);
    if (rc < 0)
        return rc;
    hook_config *trial = assay_alloc(sizeof *trial);
    if (!trial)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", path);
    rc = hook_config_init(trial);
    if (rc < 0)
        assay_fail(err, rc, "%s: out of memory", path);
    else
        rc = hook_config_load(trial, path, hook->file.data, hook->file.size, true, err);
    if (rc == ASSAY_OK && trial->directory) {
        free(hook->config.directory);
        hook->config.directory = trial->directory;
        trial->directory = NULL;
    }
    hook_config_release(trial);
    free(trial);
    return rc;
}

static void release(assay_hook *hook)
{
    hook_output_release(&hook->output);
    hook_queue_release(&hook->queue);
    hook_names_release(&hook->names);
    hook_config_release(&hook->config);
    hook_facts_release(&hook->facts);
    hook_topology_release(&hook->topology);
    assay_buf_release(&hook->file);
    free(hook->file_name);
    free(hook->directory);
    free(hook->worker);
    pthread_cond_destroy(&hook->done);
    pthread_cond_destroy(&hook->work);
    pthread_mutex_destroy(&hook->lock);
    free(hook);
}

static int prepare(assay_hook *hook, const char *directory, assay_error *err)
{
    int rc = hook_config_init(&hook->config);
    if (rc == ASSAY_OK && directory && !(hook->config.directory = assay_copy_text(directory)))
        rc = ASSAY_ENOMEM;
    if (rc < 0)
        return assay_fail(err, rc, "hook: out of memory");
    rc = read_environment(hook, err);
    if (rc < 0)
        return rc;
    /* "continue" may still be set by a call, so only what no parameter can mend is refused here. */
    return hook->config.directory ? hook_directory_check_name(hook->config.directory, err) : ASSAY_OK;
}

int assay_hook_open(const char *directory, int rank, int num_workers, assay_hook **hook, assay_error *err)
{
    if (!hook)
        return assay_fail(err, ASSAY_EUSAGE, "assay_hook_open: no place for the hook");
    *hook = NULL;
    if (opted_out())
        return ASSAY_OK;
    int rc;
    assay_error text = {""};
    assay_hook *made = NULL;
    if (rank < 0 || num_workers < 1 || rank >= num_workers)
        rc = assay_fail(&text, ASSAY_EUSAGE, "hook: there is no rank %d among %d worker%s", rank, num_workers,
                        assay_plural((uint64_t)num_workers));
    else if (!(made = assay_alloc_zeroed(1, sizeof *made)))
        rc = assay_fail(&text, ASSAY_ENOMEM, "hook: out of memory");
    else {
        pthread_mutex_init(&made->lock, NULL);
        pthread_cond_init(&made->work, NULL);
        hook_wait_init(made);
        assay_buf_init(&made->file, HOOK_CONFIG_CEILING);
        hook_names_init(&made->names);
        hook_facts_init(&made->facts);
        for (int m = 0; m < HOOK_MODES; m++) {
            made->mode_step[m] = -1;
            made->output.board_file[m] = -1;
        }
        made->output.stream.fd = -1;
        made->rank = rank;
        made->num_workers = num_workers;
        made->mode = ASSAY_HOOK_GLOBAL - 1;
        made->step = -1;
        rc = prepare(made, directory, &text);
    }
    if (rc < 0) {
        if (made)
            release(made);
        assay_log_warn("%s: nothing is recorded", text.text);
        return assay_fail(err, rc, "%s", text.text);
    }
    *hook = made;
    return ASSAY_OK;
}

typedef int (*setter)(hook_config *, const char *, const char *, const char *, assay_error *);

static int set_declared(hook_config *config, const char *collection, const char *key, const char *value,
                        assay_error *err)
{
    int rc = key ? ASSAY_OK : hook_config_check_name(config, collection, err);
    ASSAY_THEN(rc, hook_config_declare(config, collection, NULL, err));
    return rc < 0 || !key ? rc : hook_config_set(config, collection, key, value, err);
}

static int add_pattern(hook_config *config, const char *collection, const char *pattern, const char *none,
                       assay_error *err)
{
    return hook_config_add_pattern(config, collection, pattern, err);
}

static int load(hook_config *config, const char *path, const char *none1, const char *none2, assay_error *err)
{
    assay_buf text = ASSAY_BUF(HOOK_CONFIG_CEILING);
    int rc = hook_read_file(path, HOOK_CONFIG_CEILING, &text, err);
    ASSAY_THEN(rc, hook_config_load(config, path, text.data, text.size, true, err));
    assay_buf_release(&text);
    return rc;
}

/* Every configuring call goes through here: lock, not too late, failure noted. */
static int configure(assay_hook *hook, setter set, const char *a, const char *b, const char *c)
{
    if (!hook || hook_forked(hook))
        return ASSAY_OK;
    assay_error err = {""};
    pthread_mutex_lock(&hook->lock);
    int rc = hook->frozen
                 ? assay_fail(&err, ASSAY_EUSAGE, "%s%s%s: the first step has begun, it is too late to configure",
                              a ? a : "", a && b ? ": " : "", b ? b : "")
                 : set(&hook->config, a, b, c, &err);
    return hook_leave(hook, rc, &err);
}

int assay_hook_set(assay_hook *hook, const char *key, const char *value)
{
    return configure(hook, hook_config_set, NULL, key ? key : "", value ? value : "");
}

int assay_hook_collection(assay_hook *hook, const char *collection)
{
    return configure(hook, set_declared, collection ? collection : "", NULL, NULL);
}

int assay_hook_collection_set(assay_hook *hook, const char *collection, const char *key, const char *value)
{
    return configure(hook, set_declared, collection ? collection : "", key ? key : "", value ? value : "");
}

int assay_hook_collection_regex(assay_hook *hook, const char *collection, const char *pattern)
{
    return configure(hook, add_pattern, collection, pattern ? pattern : "", NULL);
}

int assay_hook_load(assay_hook *hook, const char *path)
{
    return configure(hook, load, path ? path : "", NULL, NULL);
}

/* Adds a tensor to a collection after the first step. A collection that was not saved so far is from now on. */
static int add_late(assay_hook *hook, const char *collection, const char *tensor, assay_error *err)
{
    int index = hook_config_find(&hook->config, collection);
    if (index < 0)
        return assay_fail(err, ASSAY_EUSAGE, "%s: a new collection is declared before the first step", collection);
    hook_name *name = NULL;
    int rc = hook_names_find(&hook->names, &hook->config, tensor, &name, err);
    if (rc < 0)
        return rc;
    uint64_t bit = (uint64_t)1 << index;
    if (!(name->mask & bit)) {
        name->mask |= bit;
        hook->names.version++;
    }
    hook->config.collections[index].saved = true;
    if (hook->serial)
        hook_take_mask(hook);
    return ASSAY_OK;
}

int assay_hook_collection_name(assay_hook *hook, const char *collection, const char *tensor)
{
    if (!hook || hook_forked(hook))
        return ASSAY_OK;
    assay_error err = {""};
    pthread_mutex_lock(&hook->lock);
    int rc = ASSAY_OK;
    if (!collection || !tensor)
        rc = assay_fail(&err, ASSAY_EUSAGE, "a collection and the name of a tensor are needed");
    else if (!hook->frozen)
        rc = hook_config_add_name(&hook->config, collection, tensor, &err);
    else if (!hook->off)
        rc = add_late(hook, collection, tensor, &err);
    return hook_leave(hook, rc, &err);
}

/* Facts are no part of the configuration, but stand in a file that is written at the first step. */
static int add_fact(assay_hook *hook, hook_fact_kind kind, const char *name, const char *value)
{
    if (!hook || hook_forked(hook))
        return ASSAY_OK;
    assay_error err = {""};
    pthread_mutex_lock(&hook->lock);
    int rc = hook->frozen
                 ? assay_fail(&err, ASSAY_EUSAGE, "%s: the first step has begun, it is too late for a fact of the run",
                              name ? name : "")
                 : hook_facts_add(&hook->facts, kind, name ? name : "", value ? value : "", &err);
    return hook_leave(hook, rc, &err);
}

int assay_hook_setting(assay_hook *hook, const char *name, const char *value)
{
    return add_fact(hook, HOOK_SETTING, name, value);
}

int assay_hook_version(assay_hook *hook, const char *name, const char *version)
{
    return add_fact(hook, HOOK_VERSION, name, version);
}

int assay_hook_module(assay_hook *hook, const char *name, const char *what)
{
    return add_fact(hook, HOOK_MODULE, name, what);
}

int assay_hook_ended_by(assay_hook *hook, const char *type, const char *message, int passing)
{
    if (!hook || hook_forked(hook))
        return ASSAY_OK;
    assay_error err = {""};
    pthread_mutex_lock(&hook->lock);
    hook_end_cause at = {.passing = passing != 0, .step = -1, .steps_begun = hook->steps_begun};
    if (hook->steps_begun > 0) {
        const struct hook_place *place = &hook->begun_at[(hook->steps_begun - 1) % (ASSAY_HOOK_FARTHEST_BACK + 1)];
        at.mode = place->mode;
        at.step = place->step;
        at.mode_step = place->mode_step;
    }
    const int rc = hook_facts_end(&hook->facts, type ? type : "", message ? message : "", &at, &err);
    return hook_leave(hook, rc, &err);
}

void assay_hook_get_counts(assay_hook *hook, assay_hook_counts *counts)
{
    if (!counts)
        return;
    if (!hook || hook_forked(hook)) {
        memset(counts, 0, sizeof *counts);
        return;
    }
    pthread_mutex_lock(&hook->lock);
    *counts = hook->counts;
    pthread_mutex_unlock(&hook->lock);
}

int assay_hook_flush(assay_hook *hook)
{
    if (!hook || hook_forked(hook))
        return ASSAY_OK;
    pthread_mutex_lock(&hook->lock);
    hook->flushing++;
    pthread_cond_signal(&hook->work);
    while (hook->started && !hook->stalled && !hook_writer_idle(hook) && hook_wait(hook)) {
    }
    hook->flushing--;
    int rc = hook->counts.status;
    pthread_mutex_unlock(&hook->lock);
    return rc;
}

int assay_hook_begin(assay_hook *hook)
{
    if (!hook || hook_forked(hook))
        return ASSAY_OK;
    pthread_mutex_lock(&hook->lock);
    int rc = hook_begin(hook);
    pthread_mutex_unlock(&hook->lock);
    return rc;
}

/* Before the first step. A collection that nobody declared may be a misspelt one, and would have no tensors. */
static int set_known(hook_config *config, const char *collection, const char *key, const char *value, assay_error *err)
{
    int rc = hook_config_check_name(config, collection, err);
    if (rc == ASSAY_OK && hook_config_find(config, collection) < 0)
        rc = assay_fail(err, ASSAY_ENOTFOUND, "collection \"%s\" is not declared", collection);
    return rc == ASSAY_OK ? set_declared(config, collection, key, value, err) : rc;
}

int assay_hook_set_interval(assay_hook *hook, const char *collection, int64_t interval)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)interval);
    if (!hook || hook_forked(hook))
        return ASSAY_OK;
    collection = collection ? collection : "";
    pthread_mutex_lock(&hook->lock);
    bool frozen = hook->frozen;
    assay_error err = {""};
    int rc = ASSAY_OK;
    if (frozen && !hook->off) {
        rc = hook_config_set_interval(&hook->config, collection, interval, &err);
        hook->names.version += rc == ASSAY_OK; /* the collections file has the interval */
        if (rc < 0)
            hook_failed(hook, rc, err.text);
    }
    pthread_mutex_unlock(&hook->lock);
    return frozen ? rc : configure(hook, set_known, collection, "save_interval", text);
}

/* The disk does not answer: the training goes on without what is in the queue. The writer keeps the hook. */
static int leave(assay_hook *hook)
{
    pthread_mutex_lock(&hook->lock);
    unsigned long long lost = hook->counts.dropped + hook->queue.items;
    if (!hook->off) /* else it was said that nothing is recorded */
        assay_log_warn("%s: closed after %lld s without an answer of the disk: %llu tensor%s of %s not written",
                       hook->directory, (long long)hook->config.stall, lost, assay_plural(lost), hook->worker);
    int rc = hook->counts.status;
    pthread_mutex_unlock(&hook->lock);
    return rc;
}

static void end_profile(assay_hook *hook)
{
    assay_error err = {""};
    const int rc = hook_profile_end(hook->profile, &err);
    hook->profile = NULL;
    if (rc < 0) {
        hook->warned = true; /* it was said when it happened */
        hook_failed(hook, rc, err.text);
    }
}

int assay_hook_close(assay_hook *hook)
{
    if (!hook || hook_forked(hook))
        return ASSAY_OK;
    assay_hook_begin(hook); /* a training without a step still leaves its collections and its end */
    if (hook->facts.ended_by.steps_begun != hook->steps_begun) /* the training went on behind it */
        hook_facts_forget_end(&hook->facts);
    end_profile(hook);
    if (!hook_writer_stop(hook))
        return leave(hook);
    int rc = hook->counts.status;
    release(hook);
    return rc;
}
