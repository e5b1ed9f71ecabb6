#include "trial/suggest_trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/timeline.h>

#include "base/fault.h"
#include "trial/trial_format.h"

enum { LISTED_MOST = 64, LEVELS = 4, NAMES_MOST = 4096 };
enum { LISTED_MOST_AFAR = 8, LEVELS_AFAR = 1 }; /* where a listing waits for a server */

typedef struct level {
    char **path; /* [NAMES_MOST] of what may be a directory to look at */
    size_t count;
} level;

static void release(level *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->path[i]);
    free(l->path);
    *l = (level){0};
}

static int by_nature(const void *a, const void *b)
{
    return assay_natural_order(*(char *const *)a, *(char *const *)b);
}

/* Adds what lies in a directory to the next level, as far as that has room. Which of it are directories shows when they
 * are listed. False without memory. */
static bool add_names(level *next, const char *parent, const assay_names *names)
{
    if (!next->path && !(next->path = assay_alloc(NAMES_MOST * sizeof *next->path)))
        return false;
    for (size_t i = 0; i < names->count && next->count < NAMES_MOST; i++) {
        if (names->name[i][0] == '.')
            continue;
        const size_t size = strlen(parent) + strlen(names->name[i]) + 2;
        char *path = assay_alloc(size);
        if (!path)
            return false;
        snprintf(path, size, "%s%s%s", parent, *parent ? "/" : "", names->name[i]);
        next->path[next->count++] = path;
    }
    return true;
}

static bool looks_like_a_trial(const assay_names *names)
{
    for (unsigned i = 0; i < assay_format_count(); i++)
        if (!assay_format_of(i)->deep && assay_format_of(i)->probe(names))
            return true;
    return false;
}

unsigned assay_trials_below(assay_store *store, const assay_names *top, assay_buf *path)
{
    const bool afar = assay_store_listing_waits(store);
    const unsigned listed_most = afar ? LISTED_MOST_AFAR : LISTED_MOST;
    const int levels = afar ? LEVELS_AFAR : LEVELS;
    level now = {0}, next = {0};
    unsigned found = 0, listed = 0;
    bool memory = add_names(&now, "", top);
    for (int depth = 1; depth <= levels && memory && now.count > 0; depth++) {
        qsort(now.path, now.count, sizeof *now.path, by_nature);
        for (size_t i = 0; i < now.count && listed < listed_most && memory; i++) {
            assay_names names = {0};
            if (assay_store_exists(store, now.path[i], NULL) == 1) /* a file */
                continue;
            listed++;
            if (assay_store_list(store, now.path[i], &names, NULL) != ASSAY_OK)
                continue;
            if (!looks_like_a_trial(&names))
                memory = add_names(&next, now.path[i], &names);
            else if (found++ == 0)
                assay_put_bytes(path, now.path[i], strlen(now.path[i]) + 1);
            assay_names_release(&names);
        }
        release(&now);
        now = next;
        next = (level){0};
    }
    release(&now);
    release(&next);
    return found;
}
