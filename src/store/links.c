/* links.c - see links.h. */
#include "store/links.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fault.h"

enum { PATH_ROOM = 4096 };

typedef struct identity { /* of a directory */
    uint64_t device, number;
} identity;

static bool same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* How many parts of the path are links. `above` is a copy of it to work with. */
static unsigned count_links(int root, char *above, size_t length)
{
    unsigned links = 0;
    for (size_t i = 1; i <= length; i++) {
        struct stat about;
        const char kept = above[i];
        if (kept != '/' && kept != '\0')
            continue;
        above[i] = '\0';
        links += fstatat(root, above, &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(about.st_mode);
        above[i] = kept;
    }
    return links;
}

/* Has a link on the way led back to a directory that the way has passed? There is nothing that is not there by a
 * shorter way. */
static bool leads_back(int root, const struct stat *here, char *above, size_t length)
{
    struct stat there;
    bool back = fstat(root, &there) == 0 && same(&there, here);
    for (size_t i = 1; i < length && !back; i++) {
        if (above[i] != '/')
            continue;
        above[i] = '\0';
        back = fstatat(root, above, &there, 0) == 0 && same(&there, here);
        above[i] = '/';
    }
    return back;
}

static int grow(assay_links *links)
{
    const size_t room = links->room ? 2 * links->room : 64;
    uint32_t *grown = assay_realloc_array(links->count, room, sizeof *grown);
    if (!grown)
        return ASSAY_ENOMEM;
    memset(grown + links->room, 0, (room - links->room) * sizeof *grown);
    links->count = grown;
    links->room = room;
    return ASSAY_OK;
}

/* Counts a way to a directory, once however often it is walked. 0, 1 (there are too many) or ASSAY_ENOMEM. */
static int count_way(assay_links *links, const struct stat *here, const char *directory, size_t length)
{
    char way[sizeof(identity) + PATH_ROOM];
    const identity id = {(uint64_t)here->st_dev, (uint64_t)here->st_ino};
    memcpy(way, &id, sizeof id);
    memcpy(way + sizeof id, directory, length);
    if (!links->ways)
        links->ways = assay_dict_new();
    if (!links->directories)
        links->directories = assay_dict_new();
    if (!links->ways || !links->directories)
        return ASSAY_ENOMEM;
    if (assay_dict_find(links->ways, way, sizeof id + length) != ASSAY_NO_ID)
        return ASSAY_OK;
    const uint32_t number = assay_dict_add(links->directories, way, sizeof id);
    if (number == ASSAY_NO_ID || (number >= links->room && grow(links) != ASSAY_OK))
        return ASSAY_ENOMEM;
    if (links->count[number] == ASSAY_LINKS_WAYS)
        return 1;
    links->count[number]++;
    return assay_dict_add(links->ways, way, sizeof id + length) == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
}

int assay_links_enter(assay_links *links, int root, int number, const char *directory, assay_error *err)
{
    char above[PATH_ROOM];
    struct stat here;
    const size_t length = strlen(directory);
    if (length == 0 || length >= sizeof above)
        return ASSAY_OK;
    memcpy(above, directory, length + 1);
    const unsigned count = count_links(root, above, length); /* most have none: nothing else is asked then */
    if (count == 0 || fstat(number, &here) != 0)
        return ASSAY_OK;
    if (leads_back(root, &here, above, length))
        return 1;
    int status = count > 1 ? count_way(links, &here, directory, length) : ASSAY_OK;
    if (status == 1)
        return assay_fail(
            err, ASSAY_EIO,
            "%s: symbolic links lead to this directory in more than %d ways; those behind are not followed", directory,
            ASSAY_LINKS_WAYS);
    return status == ASSAY_ENOMEM ? assay_fail(err, status, "%s: out of memory while listing it", directory) : status;
}

void assay_links_release(assay_links *links)
{
    assay_dict_free(links->ways);
    assay_dict_free(links->directories);
    free(links->count);
    *links = (assay_links){0};
}
