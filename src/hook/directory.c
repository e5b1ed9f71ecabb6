/* directory.c - claims, end markers, and where to continue. */
#include "hook/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "tfrecord/recorded.h"

enum { INDEX_HEAD = 255 };

static int fits(const char *path, int length, int room, assay_error *err)
{
    return length < 0 || length >= room ? assay_fail(err, ASSAY_EUSAGE, "%s: the path is too long", path) : ASSAY_OK;
}

/* TRIAL/.assay-hook-<workers>[/<worker>.<what>] */
static int claim_path(char *out, int room, const char *path, int workers, const char *worker, const char *what,
                      assay_error *err)
{
    int length = worker ? snprintf(out, (size_t)room, "%s/.assay-hook-%d/%s.%s", path, workers, worker, what)
                        : snprintf(out, (size_t)room, "%s/.assay-hook-%d", path, workers);
    return fits(path, length, room, err);
}

int hook_directory_check_name(const char *path, assay_error *err)
{
    if (!*path)
        return assay_fail(err, ASSAY_EUSAGE, "hook: the directory has no name");
    const char *scheme_end = strstr(path, "://");
    if (scheme_end && scheme_end > path && !memchr(path, '/', (size_t)(scheme_end - path)))
        return assay_fail(err, ASSAY_EUSAGE,
                          "hook: %s: a training is recorded into a directory; copy it to where it is to stay, or let a "
                          "mounted bucket be the directory",
                          path);
    return ASSAY_OK;
}

static bool exists(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

static int make_empty(const char *path, int flags, assay_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
    if (fd < 0)
        return assay_fail(err, errno == EEXIST ? ASSAY_EUSAGE : ASSAY_EIO, "%s: cannot create: %s", path,
                          strerror(errno));
    close(fd);
    return ASSAY_OK;
}

/* ASSAY_EUSAGE when `path` holds anything that a run of `workers` workers did not put there. Fine when it does not
 * exist or is empty. Changes nothing. */
static int hook_directory_check(const char *path, int workers, assay_error *err)
{
    char claims[PATH_MAX];
    int rc = claim_path(claims, sizeof claims, path, workers, NULL, NULL, err);
    if (rc < 0)
        return rc;
    DIR *dir = opendir(path);
    if (!dir && errno == ENOENT)
        return ASSAY_OK;
    if (!dir)
        return assay_fail(err, ASSAY_EIO, "%s: cannot look into it: %s", path, strerror(errno));
    bool empty = true;
    for (struct dirent *entry; empty && (entry = readdir(dir));)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    closedir(dir);
    /* The claims are looked for after listing: a worker of this very run makes them before anything else. */
    if (empty || exists(claims))
        return ASSAY_OK;
    return assay_fail(err, ASSAY_EUSAGE,
                      "%s: the directory holds something already; name another one, or set the parameter existing to "
                      "continue to go on with a trial",
                      path);
}

int hook_directory_claim(const char *path, const char *worker, int workers, bool go_on, assay_error *err)
{
    char claims[PATH_MAX], own[PATH_MAX], closed[PATH_MAX], end[PATH_MAX];
    int rc = go_on ? ASSAY_OK : hook_directory_check(path, workers, err);
    ASSAY_THEN(rc, claim_path(claims, sizeof claims, path, workers, NULL, NULL, err));
    ASSAY_THEN(rc, claim_path(own, sizeof own, path, workers, worker, "open", err));
    ASSAY_THEN(rc, claim_path(closed, sizeof closed, path, workers, worker, "closed", err));
    ASSAY_THEN(rc, fits(path, snprintf(end, sizeof end, "%s/%s", path, ASSAY_RECORDED_END), sizeof end, err));
    ASSAY_THEN(rc, assay_dir_make(claims, err));
    if (rc < 0)
        return rc;
    if (go_on) {
        unlink(closed);
        unlink(end);
        return make_empty(own, 0, err);
    }
    rc = exists(closed) ? ASSAY_EUSAGE : make_empty(own, O_EXCL, err);
    if (rc == ASSAY_EUSAGE)
        return assay_fail(err, rc,
                          "%s: %s has recorded here before; name another directory, or set the parameter existing to "
                          "continue to go on with the trial",
                          path, worker);
    return rc;
}

/* How many entries of the claims end in ".closed". */
static int count_closed(const char *claims)
{
    static const char suffix[] = ".closed";
    DIR *dir = opendir(claims);
    int count = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        size_t length = strlen(entry->d_name);
        count += length >= sizeof suffix && strcmp(entry->d_name + length - (sizeof suffix - 1), suffix) == 0;
    }
    if (dir)
        closedir(dir);
    return count;
}

static void remove_manifest(const char *claims)
{
    char name[PATH_MAX];
    DIR *dir = opendir(claims);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        int length = snprintf(name, sizeof name, "%s/%s", claims, entry->d_name);
        if (entry->d_name[0] != '.' && length > 0 && length < (int)sizeof name)
            unlink(name);
    }
    if (dir)
        closedir(dir);
    rmdir(claims);
}

int hook_directory_close(const char *path, const char *worker, int workers, hook_end end, assay_error *err)
{
    char claims[PATH_MAX], name[PATH_MAX];
    int rc = claim_path(claims, sizeof claims, path, workers, NULL, NULL, err);
    ASSAY_THEN(rc, claim_path(name, sizeof name, path, workers, worker, "closed", err));
    ASSAY_THEN(rc, make_empty(name, 0, err));
    if (rc < 0)
        return rc;
    /* Whoever closes last sees all the others; two that close at once may both see it, and write the same empty file.
     */
    bool all = count_closed(claims) >= workers;
    if (end == HOOK_END_NOW || (end == HOOK_END_AUTO && all)) {
        rc = fits(path, snprintf(name, sizeof name, "%s/%s", path, ASSAY_RECORDED_END), sizeof name, err);
        ASSAY_THEN(rc, make_empty(name, 0, err));
    }
    if (all)
        remove_manifest(claims);
    return rc;
}

/* Looks into the head of an index file, which our writer and the reference begin alike, for its mode and mode step. */
static void read_meta(const char *path, hook_position *position)
{
    static const char *const names[HOOK_MODES] = {"TRAIN", "EVAL", "PREDICT", "GLOBAL"};
    char head[INDEX_HEAD + 1], mode[16];
    long long step;
    int fd = assay_file_open(path, NULL);
    if (fd < 0)
        return;
    ssize_t got = read(fd, head, INDEX_HEAD);
    close(fd);
    head[got < 0 ? 0 : got] = '\0';
    if (sscanf(head, "{\"meta\": {\"mode\": \"%15[A-Z]\", \"mode_step\": %18lld", mode, &step) != 2)
        return;
    for (int m = 0; m < HOOK_MODES; m++) {
        if (strcmp(mode, names[m]) == 0 && step > position->mode[m])
            position->mode[m] = step;
    }
}

static void scan_bucket(const char *bucket, const char *worker, hook_position *position)
{
    char own[300], name[PATH_MAX];
    int own_size = snprintf(own, sizeof own, "_%s.json", worker);
    DIR *dir = opendir(bucket);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char *rest;
        long long step = strtoll(entry->d_name, &rest, 10);
        size_t length = strlen(rest);
        if (rest == entry->d_name || *rest != '_' || length < 5 || strcmp(rest + length - 5, ".json") != 0 || step < 0)
            continue;
        if (step > position->global)
            position->global = step;
        int size = snprintf(name, sizeof name, "%s/%s", bucket, entry->d_name);
        if (own_size < (int)sizeof own && strcmp(rest, own) == 0 && size > 0 && size < (int)sizeof name)
            read_meta(name, position);
    }
    if (dir)
        closedir(dir);
}

void hook_directory_position(const char *path, const char *worker, hook_position *position)
{
    char index[PATH_MAX], bucket[PATH_MAX];
    position->global = -1;
    for (int m = 0; m < HOOK_MODES; m++)
        position->mode[m] = -1;
    if (fits(path, snprintf(index, sizeof index, "%s/index", path), sizeof index, NULL) < 0)
        return;
    DIR *dir = opendir(index);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        int size = snprintf(bucket, sizeof bucket, "%s/%s", index, entry->d_name);
        if (entry->d_name[0] != '.' && size > 0 && size < (int)sizeof bucket)
            scan_bucket(bucket, worker, position);
    }
    if (dir)
        closedir(dir);
}
