/* own_place.c - see own_place.h. */
#include "cli/own_place.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/leftovers.h"
#include "base/path.h"

enum { NAME_MOST = 80, TRIES = 10000 };

static int made[2] = {-1, -1}; /* the directories, as base/leftovers.h has them */

/* A trial's name as the name of a directory: letters, digits and ._-, no point in front, not too long. */
static void name_of(const assay_job *job, char *name, size_t size)
{
    const time_t now = time(NULL);
    struct tm date;
    char whole[PATH_MAX];
    if (job->trial_count != 1 || !job->trials[0].name[0]) {
        strftime(name, size, "%Y-%m-%dT%H-%M-%S", localtime_r(&now, &date));
        return;
    }
    const bool by_way = strspn(job->trials[0].name, ".") == strlen(job->trials[0].name); /* "." and ".." name nothing */
    snprintf(name, size, "%s",
             by_way && realpath(job->trials[0].path, whole) ? assay_path_name(whole) : job->trials[0].name);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_-", *c) && !(*c == '.' && c > name))
            *c = '_';
    if (strcmp(name, "latest") == 0)
        name[0] = 'L'; /* that one is the link */
}

int own_place_make(const assay_job *job, char **place, assay_error *err)
{
    char name[NAME_MOST + 1], numbered[NAME_MOST + 16];
    name_of(job, name, sizeof name);
    int status = assay_dir_make(OWN_PLACES, err);
    /* mkdir() decides: of two runs that begin at once, one gets the name */
    for (int i = 1; status == ASSAY_OK && i <= TRIES; i++) {
        snprintf(numbered, sizeof numbered, i > 1 ? "%s-%d" : "%s", name, i);
        *place = assay_path_join(OWN_PLACES, numbered);
        if (!*place)
            return assay_fail(err, ASSAY_ENOMEM, "out of memory");
        if (mkdir(*place, 0777) == 0) {
            made[0] = assay_leftover_add(*place);
            made[1] = assay_leftover_add(OWN_PLACES);
            return ASSAY_OK;
        }
        if (errno != EEXIST || i == TRIES)
            status =
                assay_fail(err, ASSAY_EIO, "%s: cannot make the directory: %s; --out PLACE writes the report elsewhere",
                           *place, strerror(errno));
        free(*place);
        *place = NULL;
    }
    return status;
}

void own_place_keep(const char *place)
{
    struct stat about;
    const char *link = OWN_PLACES "/latest";
    char next[64];
    snprintf(next, sizeof next, OWN_PLACES "/.latest-%ld", (long)getpid());
    if (lstat(link, &about) == 0 && !S_ISLNK(about.st_mode))
        return;
    if (symlink(assay_path_name(place), next) == 0 && rename(next, link) != 0)
        unlink(next);
}

void own_place_end(char *place)
{
    for (int i = 0; place && i < 2; i++)
        assay_leftover_drop(made[i]);
    if (place && rmdir(place) == 0)
        rmdir(OWN_PLACES);
    free(place);
}
