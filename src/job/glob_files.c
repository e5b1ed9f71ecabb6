/* glob_files.c - trials in the file system that a pattern stands for.
 *
 * The parts of the pattern are matched one after the other, as in glob_s3.c. Unlike glob(3), what matches and cannot be
 * looked at (a link that leads nowhere, a directory that nobody may list) is a match: opening it as a trial fails, and
 * the report names it. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/dict.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/path.h"
#include "base/search.h"
#include "job/job_internal.h"
#include "store/storage.h"
#include "trial/lone.h"

/* What a part of the pattern found. */
typedef struct matches {
    job_places open;   /* where the next part goes on */
    job_places closed; /* what cannot be looked at */
} matches;

static bool is_absence(int reason)
{
    return reason == ENOENT || reason == ENOTDIR;
}

/* Adds the names in a directory that match a part. `listed`: a directory around it has its name, so that it is there
 * is known, and one that is gone cannot be looked at. */
static int match_names(const job_reader *r, const char *directory, const char *part, bool listed, matches *found)
{
    DIR *dir = opendir(*directory ? directory : ".");
    int status = ASSAY_OK;
    if (!dir && (errno == ENOTDIR || (errno == ENOENT && !listed)))
        return ASSAY_OK;
    if (!dir)
        return job_places_add(r, &found->closed, directory);
    while (status == ASSAY_OK) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry)
            break;
        if (fnmatch(part, entry->d_name, FNM_PERIOD) != 0)
            continue;
        char *path = *directory ? assay_path_join(directory, entry->d_name) : assay_copy_text(entry->d_name);
        status = path ? job_places_add(r, &found->open, path) : job_no_memory(r);
        free(path);
    }
    if (status == ASSAY_OK && errno != 0)
        status = job_places_add(r, &found->closed, directory);
    closedir(dir);
    return status;
}

/* Tells what a trial can be: a directory, a file that ends in .h5, or a checkpoint. */
static bool may_be_trial(const char *path, const struct stat *there)
{
    return S_ISDIR(there->st_mode) || (S_ISREG(there->st_mode) && (assay_is_packed_name(path, strlen(path)) ||
                                                                   assay_lone_is_named(path, ASSAY_LONE_TENSORS)));
}

/* Matches the parts of the pattern, which are cut out of `rest`. *listed: the last one was matched against names. A
 * part without pattern is joined without a look: whether it is there shows at the end. */
static int walk(const job_reader *r, char *rest, matches *found, bool *listed)
{
    int status = job_places_add(r, &found->open, *rest == '/' ? "/" : "");
    for (char *part; status == ASSAY_OK && (part = strsep(&rest, "/"));) {
        matches next = {.closed = found->closed};
        const bool pattern = strpbrk(part, "*?[\\") != NULL;
        if (!*part)
            continue;
        for (size_t i = 0; status == ASSAY_OK && i < found->open.count; i++) {
            const char *directory = found->open.place[i];
            if (pattern) {
                status = match_names(r, directory, part, *listed, &next);
                continue;
            }
            char *path = *directory ? assay_path_join(directory, part) : assay_copy_text(part);
            status = path ? job_places_add(r, &next.open, path) : job_no_memory(r);
            free(path);
        }
        job_places_release(&found->open);
        *found = next;
        *listed = pattern;
    }
    return status;
}

static bool is_link(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0 && S_ISLNK(about.st_mode);
}

/* Adds what may be trials. A link to another one of them, as programs keep to the latest, is none of its own: so
 * links come in a second round, when all others are known by device and number. */
static int add_trials(const job_reader *r, const job_places *found, bool listed, job_places *out)
{
    assay_dict *own = assay_dict_new();
    int status = own ? ASSAY_OK : job_no_memory(r);
    for (int links = 0; links < 2; links++)
        for (size_t i = 0; i < found->count && status == ASSAY_OK; i++) {
            struct stat there;
            const char *path = found->place[i];
            const bool known = stat(path, &there) == 0, gone = !known && is_absence(errno);
            const uint64_t key[2] = {known ? (uint64_t)there.st_dev : 0, known ? (uint64_t)there.st_ino : 0};
            if (is_link(path) != (links == 1) || !(known ? may_be_trial(path, &there) : listed || !gone))
                continue;
            if (known && links == 1 && assay_dict_find(own, (const char *)key, sizeof key) != ASSAY_NO_ID) {
                assay_log_note("%s leads to another one that is matched, and is read once", path);
                continue;
            }
            if (known && links == 0 && assay_dict_add(own, (const char *)key, sizeof key) == ASSAY_NO_ID)
                status = job_no_memory(r);
            ASSAY_THEN(status, job_places_add(r, out, path));
        }
    assay_dict_free(own);
    return status;
}

/* Called for patterns of a job file or command line, which anybody wrote; places come out in byte order, as readdir()
 * has none. */
int job_glob_files(const job_reader *r, const char *pattern, job_places *out)
{
    matches found = {0};
    bool listed = false;
    char *copy = assay_copy_text(pattern);
    int status = copy ? walk(r, copy, &found, &listed) : job_no_memory(r);
    ASSAY_THEN(status, add_trials(r, &found.open, listed, out));
    for (size_t i = 0; status == ASSAY_OK && i < found.closed.count; i++)
        status = job_places_add(r, out, found.closed.place[i]);
    if (status == ASSAY_OK && out->count > 1)
        qsort(out->place, out->count, sizeof *out->place, assay_order_texts);
    job_places_release(&found.open);
    job_places_release(&found.closed);
    free(copy);
    return status;
}
