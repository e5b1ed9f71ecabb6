/* writer.c - the thread that takes items off the queue and writes them.
 *
 * It is the only one that touches the trial's directory, from taking the place in it to the mark of the end: a disk that
 * does not answer stops the writer, and nobody else. It holds the lock only to look at the queue. A step is complete when an item of a later step arrives, or when the
 * training has closed the step and the queue holds nothing of it.
 *
 * Steps gather for a tenth of a second before it writes them: to wake a thread takes the training longer than all else
 * that it does for a step of which a loss is recorded, and the two would wait for each other's lock. */
#include "hook/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "hook/directory.h"

enum { GATHERED_BYTES = 1 << 20, GATHER_NANOSECONDS = 100 * 1000 * 1000 };

bool hook_hurries(const assay_hook *hook)
{
    size_t enough = hook->config.memory / 8 < GATHERED_BYTES ? (size_t)hook->config.memory / 8 : GATHERED_BYTES;
    return hook->stopping || hook->off || hook->flushing || hook->lent || hook->waiting || hook->queue.used >= enough;
}

bool hook_writer_idle(assay_hook *hook)
{
    const hook_item *front = hook_queue_front(&hook->queue);
    bool queued = front && front->serial <= hook->closed;
    bool open = hook->writing != 0 && hook->writing <= hook->closed;
    return !queued && !open;
}

/* A copy of the names that belong to some collection, so that the file can be put together without the lock. */
static hook_name *copy_names(assay_hook *hook, size_t *count)
{
    hook_name *copy = assay_realloc_array(NULL, hook->names.count, sizeof *copy);
    *count = 0;
    for (size_t i = 0; copy && i < hook->names.room; i++) {
        const hook_name *n = hook->names.slots[i];
        if (n && n->mask)
            copy[(*count)++] = *n;
    }
    return copy;
}

/* Wakes who waits for what was done; whoever flushes, at the end alone. */
static void tell(assay_hook *hook)
{
    if (hook->waiting || hook->lent || hook_writer_idle(hook))
        pthread_cond_broadcast(&hook->done);
}

/* What the thread has done since the last time is charged to an account. */
static void note_progress(assay_hook *hook, int account)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    const double before = hook->writer_cost;
    hook->writer_cost = (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
    hook->writer_of[account] += hook->writer_cost - before;
    hook->pulse++;
    hook->stalled = false;
}

/* Closes the open step. Called and left with the lock held. */
static void close_step(assay_hook *hook)
{
    hook_output *out = &hook->output;
    uint64_t version = hook->names.version;
    size_t count = 0;
    bool wants = hook_output_wants_collections(out, version), was_failed = out->failed;
    hook_name *known = wants ? copy_names(hook, &count) : NULL;
    pthread_mutex_unlock(&hook->lock);
    assay_error err = {""};
    int rc = wants && !known ? ASSAY_ENOMEM : ASSAY_OK;
    if (rc < 0) {
        assay_fail(&err, rc, "step %lld: out of memory", (long long)out->step);
        out->failed = true;
    }
    int closed = hook_output_close_step(out, known, count, version, &err);
    rc = rc < 0 ? rc : closed;
    free(known);
    pthread_mutex_lock(&hook->lock);
    note_progress(hook, 0);
    hook->writing = 0;
    if (rc == ASSAY_OK) {
        hook->counts.steps += !out->again;
        hook->counts.tensors += out->records;
        hook->counts.bytes += out->bytes;
    } else {
        hook->counts.dropped += was_failed ? 0 : out->records;
        if (!was_failed)
            hook_failed(hook, rc, err.text);
    }
    tell(hook);
}

/* Writes the oldest item. Called and left with the lock held. */
static void write_front(assay_hook *hook, const hook_item *item)
{
    hook_output *out = &hook->output;
    bool already_failed = out->serial == item->serial && out->failed;
    uint64_t records = out->serial == item->serial ? out->records : 0;
    hook->writing = item->serial;
    pthread_mutex_unlock(&hook->lock);
    assay_error err = {""};
    int rc = hook_output_item(out, item, &err);
    pthread_mutex_lock(&hook->lock);
    note_progress(hook, item->account);
    if (rc < 0) {
        hook->counts.dropped += 1 + (out->failed && !already_failed ? records : 0);
        if (!already_failed)
            hook_failed(hook, rc, err.text);
    }
    hook_queue_pop(&hook->queue);
    tell(hook);
}

/* Said once of a run, by its first worker: what it recorded, so that a report of a part is not taken for one of the
 * whole, what it dropped, and what it cost. */
static void say_what_was_recorded(const assay_hook *hook)
{
    assay_buf text = ASSAY_BUF(HOOK_FACTS_CEILING);
    assay_put_format(&text, "recorded ");
    size_t before = text.size;
    hook_recorded_put(&hook->recorded, &hook->config, hook->num_workers, &text);
    assay_put_format(&text, text.size > before ? ", as configured (no report can judge the rest): " : "");
    hook_cost_put(hook, &text);
    assay_put_u8(&text, '\0');
    if (hook->rank == 0 && hook->serial > 0 && assay_buf_status(&text) == ASSAY_OK)
        assay_log_note("%s: %s", hook->directory, (const char *)text.data);
    assay_buf_release(&text);
}

/* The last act: collections, facts, the mark of the end. Called and left with the lock held. */
static void write_end(assay_hook *hook)
{
    assay_error err = {""}, facts_err = {""};
    const uint64_t version = hook->names.version;
    const bool wants = hook_output_wants_collections(&hook->output, version);
    size_t count = 0;
    hook_name *known = wants ? copy_names(hook, &count) : NULL;
    pthread_mutex_unlock(&hook->lock);
    int rc = wants && !known ? assay_fail(&err, ASSAY_ENOMEM, "%s: out of memory for the collections", hook->directory)
                             : ASSAY_OK;
    if (known)
        rc = hook_output_collections(&hook->output, known, count, version, &err);
    free(known);
    int facts = hook_write_facts(hook, true, &facts_err);
    ASSAY_THEN(rc, hook_directory_close(hook->directory, hook->worker, hook_workers(hook), hook->config.end, &err));
    pthread_mutex_lock(&hook->lock);
    if (facts < 0)
        hook_failed(hook, facts, facts_err.text);
    if (rc < 0)
        hook_failed(hook, rc, err.text);
    say_what_was_recorded(hook);
    if (hook->counts.dropped && hook->rank > 0)
        assay_log_warn("%s: %llu tensor%s of %s dropped", hook->directory, (unsigned long long)hook->counts.dropped,
                       assay_plural(hook->counts.dropped), hook->worker);
}

/* Waits until there is something to write, and then until enough of it has gathered. The lock is held. */
static void await_work(assay_hook *hook)
{
    pthread_cond_wait(&hook->work, &hook->lock);
    struct timespec until = hook_moment_after(0);
    until.tv_nsec += GATHER_NANOSECONDS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    hook->gathering = true;
    while (!hook_hurries(hook) && pthread_cond_timedwait(&hook->work, &hook->lock, &until) != ETIMEDOUT) {
    }
    hook->gathering = false;
}

static void *run(void *argument)
{
    assay_hook *hook = argument;
    pthread_mutex_lock(&hook->lock);
    hook_take_place(hook);
    note_progress(hook, 0);
    pthread_cond_broadcast(&hook->done);
    while (!hook->off) {
        const hook_item *front = hook_queue_front(&hook->queue);
        bool other = !front || front->serial != hook->writing;
        if (hook->writing && other && (front || hook->writing <= hook->closed))
            close_step(hook);
        else if (front && front->ready)
            write_front(hook, front);
        else if (!front && hook->stopping)
            break;
        else
            await_work(hook);
    }
    note_progress(hook, 0);
    if (!hook->off)
        write_end(hook);
    note_progress(hook, 0);
    hook->ended = true;
    pthread_cond_broadcast(&hook->done);
    pthread_mutex_unlock(&hook->lock);
    return NULL;
}

int hook_writer_start(assay_hook *hook, assay_error *err)
{
    const int failed = hook_start_thread(&hook->writer, run, hook);
    if (failed)
        return assay_fail(err, ASSAY_ENOMEM, "the hook's writer thread cannot be started: %s", strerror(failed));
    hook->started = true;
    return ASSAY_OK;
}

bool hook_writer_stop(assay_hook *hook)
{
    if (!hook->started)
        return true;
    pthread_mutex_lock(&hook->lock);
    hook->stopping = true;
    hook->closed = hook->serial;
    pthread_cond_broadcast(&hook->work);
    while (!hook->ended && !(hook->off && hook->beginning) && hook_wait(hook)) {
    }
    bool ended = hook->ended;
    pthread_mutex_unlock(&hook->lock);
    if (!ended) {
        pthread_detach(hook->writer);
        return false;
    }
    pthread_join(hook->writer, NULL);
    hook->started = false;
    return true;
}
