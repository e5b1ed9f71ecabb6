/* cost.c - what a recording took of its training. */
#include "hook/internal.h"

#include <string.h>

void assay_hook_get_cost(assay_hook *hook, assay_hook_cost *cost)
{
    if (!cost)
        return;
    memset(cost, 0, sizeof *cost);
    if (!hook || hook_forked(hook))
        return;
    pthread_mutex_lock(&hook->lock);
    *cost = (assay_hook_cost){.calls = hook->calls_cost, .writer = hook->writer_cost};
    pthread_mutex_unlock(&hook->lock);
}

int assay_hook_charge(assay_hook *hook, int account)
{
    if (!hook || hook_forked(hook))
        return ASSAY_OK;
    pthread_mutex_lock(&hook->lock);
    int rc = ASSAY_OK;
    if (account < 0 || account >= ASSAY_HOOK_ACCOUNTS)
        rc = hook_failed(hook, ASSAY_EUSAGE, "assay_hook_charge: there is no such account");
    else
        hook->account = account;
    pthread_mutex_unlock(&hook->lock);
    return rc;
}

double assay_hook_charged(assay_hook *hook, int account)
{
    double seconds = 0;
    if (!hook || hook_forked(hook) || account < 0 || account >= ASSAY_HOOK_ACCOUNTS)
        return seconds;
    pthread_mutex_lock(&hook->lock);
    seconds = hook->writer_of[account];
    pthread_mutex_unlock(&hook->lock);
    return seconds;
}

/* "640 bytes", "1.3 MB" */
static void put_bytes(assay_buf *out, uint64_t bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    double size = (double)bytes / 1000;
    int unit = 0;
    if (bytes < 1000) {
        assay_put_format(out, "%llu bytes", (unsigned long long)bytes);
        return;
    }
    for (; size >= 1000 && unit < 3; unit++)
        size /= 1000;
    assay_put_format(out, "%.*f %s", size < 10 ? 1 : 0, size, units[unit]);
}

void hook_cost_put(const assay_hook *hook, assay_buf *out)
{
    struct timespec now;
    const assay_hook_counts *c = &hook->counts;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double lasted = (double)(now.tv_sec - hook->begun.tv_sec) + 1e-9 * (double)(now.tv_nsec - hook->begun.tv_nsec);
    assay_put_format(out, "%llu record%s of %llu step%s, ", (unsigned long long)c->tensors, assay_plural(c->tensors),
                     (unsigned long long)c->steps, assay_plural(c->steps));
    put_bytes(out, c->bytes);
    if (c->dropped)
        assay_put_format(out, "; %llu tensor%s dropped", (unsigned long long)c->dropped, assay_plural(c->dropped));
    else
        assay_put_format(out, "; nothing dropped");
    assay_put_format(out, "; cost %.2f s of %.1f s, and %.2f s in a background thread", hook->calls_cost, lasted,
                     hook->writer_cost);
}
