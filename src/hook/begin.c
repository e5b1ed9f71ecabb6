/* begin.c - turns a configuration into a hook that records: once, at the first step. */
#include "hook/internal.h"

#include <stdio.h>

#include "base/fault.h"
#include "hook/directory.h"

/* The file that the environment names has the last word. */
static int configure(assay_hook *hook, assay_error *err)
{
    if (hook->file_name) {
        int rc = hook_config_load(&hook->config, hook->file_name, hook->file.data, hook->file.size, false, err);
        if (rc < 0)
            return rc;
    }
    return hook_config_freeze(&hook->config, err);
}

static int name_worker(assay_hook *hook, assay_error *err)
{
    char name[32];
    snprintf(name, sizeof name, "worker_%d", hook->rank);
    hook->worker = assay_copy_text(hook->config.worker ? hook->config.worker : name);
    if (!hook->config.directory)
        return assay_fail(
            err, ASSAY_EUSAGE,
            "hook: no directory: give one to assay_hook_open(), or a LocalPath in the configuration file");
    int rc = hook_directory_check_name(hook->config.directory, err);
    if (rc < 0)
        return rc;
    hook->directory = assay_copy_text(hook->config.directory);
    return hook->worker && hook->directory ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "hook: out of memory");
}

/* Continues the counts of the trial that is on disk, unless assay_hook_seek() has set them. */
static void take_position(assay_hook *hook, const hook_position *position)
{
    for (int m = 0; m < HOOK_MODES; m++) {
        if (hook->mode_step[m] < 0)
            hook->mode_step[m] = position->mode[m];
    }
    if (hook->step < 0)
        hook->step = position->global;
}

int hook_write_facts(assay_hook *hook, bool ended, assay_error *err)
{
    assay_buf text = ASSAY_BUF(HOOK_FACTS_CEILING);
    if (!hook->config.run_facts)
        return ASSAY_OK;
    hook_facts_put(&hook->facts, &hook->config, hook->worker, hook->rank, hook->num_workers,
                   ended ? &hook->recorded : NULL, &text);
    int rc = hook_output_facts(&hook->output, &text, ended, err);
    assay_buf_release(&text);
    return rc;
}

void hook_take_place(assay_hook *hook)
{
    hook_position position;
    assay_error err = {""}, facts_err = {""};
    int facts = ASSAY_OK;
    pthread_mutex_unlock(&hook->lock);
    int rc = hook_directory_claim(hook->directory, hook->worker, hook_workers(hook), hook->config.go_on, &err);
    if (rc == ASSAY_OK && hook->config.go_on)
        hook_directory_position(hook->directory, hook->worker, &position);
    if (rc == ASSAY_OK)
        facts = hook_write_facts(hook, false, &facts_err);
    pthread_mutex_lock(&hook->lock);
    if (hook->off) /* nobody has waited for so long */
        return;
    if (rc == ASSAY_OK && hook->config.go_on)
        take_position(hook, &position);
    if (facts < 0)
        hook_failed(hook, facts, facts_err.text);
    if (rc < 0) {
        hook->off = true;
        hook->failure = hook_failed(hook, rc, err.text);
    }
    hook->beginning = false;
}

void hook_start_profile(assay_hook *hook)
{
    assay_error err = {""};
    const hook_profile_options options = {.directory = hook->directory,
                                          .node = hook->config.node,
                                          .rank = hook->rank,
                                          .interval = hook->config.metrics_interval,
                                          .stall = hook->config.stall};
    if (hook->profile || hook->profile_failed)
        return;
    hook->profile = hook_profile_new(&options, &err);
    hook->profile_failed = !hook->profile;
    if (hook->profile_failed)
        hook_failed(hook, ASSAY_EIO, err.text);
}

static int start(assay_hook *hook, assay_error *err)
{
    int rc = configure(hook, err);
    if (rc < 0)
        return rc;
    if (hook->config.dry_run || (hook->rank > 0 && !hook->config.all_workers)) {
        hook->off = true;
        return ASSAY_OK;
    }
    rc = name_worker(hook, err);
    if (rc < 0)
        return rc;
    if (hook_queue_init(&hook->queue, hook->config.memory) < 0 ||
        hook_output_init(&hook->output, &hook->config, hook->directory, hook->worker, hook_workers(hook)) < 0)
        return assay_fail(err, ASSAY_ENOMEM, "hook: no memory for a queue of %llu bytes",
                          (unsigned long long)hook->config.memory);
    hook->output.topology = &hook->topology;
    hook->beginning = true;
    return hook_writer_start(hook, err);
}

/* Only the writer touches the disk, so that a disk which does not answer stops nothing but the writer. */
static int wait_for_place(assay_hook *hook)
{
    while (hook->beginning && hook_wait_for_disk(hook)) {
    }
    if (hook->beginning && !hook->off) {
        char text[160];
        snprintf(text, sizeof text, "the disk did not answer for %lld s when recording began: nothing is recorded",
                 (long long)hook->config.stall);
        hook->off = true;
        hook->failure = hook_failed(hook, ASSAY_EIO, text);
    }
    return hook->failure;
}

int hook_begin(assay_hook *hook)
{
    if (hook->frozen) {
        if (hook->beginning && !hook->off) /* another thread's call has begun it */
            wait_for_place(hook);
        return hook->off ? hook->counts.status : ASSAY_OK;
    }
    hook->frozen = true;
    clock_gettime(CLOCK_MONOTONIC, &hook->begun);
    assay_error err = {""};
    int rc = start(hook, &err);
    if (rc < 0) {
        hook->off = true;
        hook->beginning = false;
        return hook_failed(hook, rc, err.text);
    }
    if (hook->beginning)
        rc = wait_for_place(hook);
    if (rc == ASSAY_OK && !hook->off && (hook->config.metrics_interval > 0 || hook->config.timeline))
        hook_start_profile(hook);
    return rc;
}
