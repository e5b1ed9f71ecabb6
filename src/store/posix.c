/* posix.c - trials in a directory of a file system. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif

#include "base/activity.h"
#include "base/dict.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/path.h"
#include "base/vec.h"
#include "store/backend.h"

/* ---- links ---- */

/* Which way symbolic links lead while a trial's directories are walked. Inside storage only.
 *
 * A walk through links could come to no end, or to one directory along very many ways: ten links in each of sixteen
 * directories, each to the next one, make 10^16. So a directory is empty where links have led back to one that the way
 * has passed, and it is refused where too many ways through several links lead to it. One link on the way is always
 * followed: of those there are no more ways than links. */

/* 64 ways: directories of checkpoints have a few links ("latest"); mazes of links have millions. */
enum { ASSAY_LINKS_WAYS = 64 /* to one directory, through several links each */ };

typedef struct assay_links { /* zero it first */
    assay_dict *ways;        /* device and number of a directory, then the path */
    assay_dict *directories; /* device and number */
    uint32_t *count;         /* by number of `directories`: its ways */
    size_t room;
} assay_links;

enum { PATH_ROOM = 4096 };

typedef struct identity { /* of a directory */
    uint64_t device, number;
} identity;

static bool same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* How many parts of the path are links. `above` is a copy of it to work with. A link is looked at without following
 * it, part by part. */
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
 * shorter way. Compared by device and inode, since paths of links differ. */
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
    ASSAY_HAVE(grown);
    memset(grown + links->room, 0, (room - links->room) * sizeof *grown);
    links->count = grown;
    links->room = room;
    return ASSAY_OK;
}

/* Counts a way to a directory, once however often it is walked. 0, 1 (there are too many) or ASSAY_ENOMEM. A way is
 * the pair of directory and path, so walking one way twice counts once. */
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
    ASSAY_HAVE(links->ways && links->directories);
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

/* Where a listing of `directory`, a path below `root` that is open as `number`, gets: 0: its names are listed; 1: it is
 * empty, because links have led back; ASSAY_EIO: too many ways lead there; ASSAY_ENOMEM. */
static int assay_links_enter(assay_links *links, int root, int number, const char *directory, assay_error *err)
{
    char above[PATH_ROOM];
    struct stat here;
    const size_t length = strlen(directory);
    if (length == 0 || length >= sizeof above)
        return ASSAY_OK;
    memcpy(above, directory, length + 1);
    const unsigned count = count_links(root, above, length); /* most have none: nothing else is asked then */
    /* Nothing can be known of a directory that fstat() fails for; listing it will tell why. */
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

static void assay_links_release(assay_links *links)
{
    assay_dict_free(links->ways);
    assay_dict_free(links->directories);
    free(links->count);
    *links = (assay_links){0};
}

/* ---- posix ---- */

/* The trial's directory, and the one below it in which files were opened last. Files of a directory are opened one
 * after the other: from some on that directory is open itself, and the way to it is not looked up for each. IN_A_ROW:
 * opening a directory costs a call; it pays from some files on. */
enum { IN_A_ROW = 8 };

/* Files that are open before their turn, and bytes of them that the system is asked for. AHEAD: so many descriptors
 * more; AHEAD_BYTES: as much as disks and file servers read ahead by themselves. */
enum { AHEAD = 32, AHEAD_BYTES = 8 << 20 };

/* A file that was opened before its turn, so that the kernel fetches what it holds. Longer paths wait for their turn.
 */
typedef struct ahead {
    char path[112];
    int number; /* -1: none */
} ahead;

/* After a read that was not served from memory so many files may be opened ahead; then such a read has to happen again.
 */
enum { ASKED_AFTER_A_WAIT = 1024 };

/* Of the links in a directory that lead out of the root. */
typedef struct outward {
    char *path; /* of the first in byte order; owned */
    bool several;
} outward;

typedef struct posix_root {
    int number;
    char *only; /* the trial is this file in the directory, and the rest is not there; NULL: all of it. Owned */
    int below;  /* -1: not open */
    char directory[64];
    size_t length;              /* of its path; 0: none */
    unsigned in_a_row;          /* files opened in it */
    bool no_nowait;             /* reading what is in memory only is not supported here */
    unsigned waits;             /* files that may still be opened ahead */
    unsigned asked;             /* of those, ever */
    ahead *ahead;               /* [AHEAD] once one was; owned */
    assay_dict *linked;         /* directories that were listed, with links that lead out; NULL: none is */
    ASSAY_VEC(outward) outside; /* of each of them */
    assay_links links;
} posix_root;

static int root_of(const assay_store *store)
{
    return ((const posix_root *)store->root)->number;
}

/* The directory to open *path from; *path becomes the name in it. */
static int way_to(posix_root *root, const char **path)
{
    /* Paths longer than `directory` has room for are opened from the root each time. */
    const char *slash = strrchr(*path, '/');
    size_t length = slash ? (size_t)(slash - *path) : 0;
    if (length == 0 || length >= sizeof root->directory)
        return root->number;
    if (length != root->length || memcmp(*path, root->directory, length) != 0) {
        if (root->below >= 0)
            close(root->below);
        root->below = -1;
        root->in_a_row = 0;
        root->length = length;
        memcpy(root->directory, *path, length);
        root->directory[length] = '\0';
    }
    /* O_PATH: only to open names below it. */
    if (++root->in_a_row == IN_A_ROW)
        root->below = openat(root->number, root->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root->below < 0)
        return root->number;
    *path = slash + 1;
    return root->below;
}

static bool is_hdf5_file(const char *path)
{
    static const char signature[8] = "\x89HDF\r\n\x1a\n";
    char begin[sizeof signature];
    const int number = assay_file_open(path, NULL);
    bool is = number >= 0 && pread(number, begin, sizeof begin, 0) == (ssize_t)sizeof begin &&
              memcmp(begin, signature, sizeof begin) == 0;
    if (number >= 0)
        close(number);
    return is;
}

/* FILE.h5/NAME has a file where a directory should be: ENOTDIR tells such places from missing ones. */
bool assay_is_hdf5_place(const char *place, size_t *length)
{
    struct stat about;
    *length = strlen(place);
    if (is_hdf5_file(place))
        return true;
    if (stat(place, &about) == 0 || errno != ENOTDIR)
        return false;
    char *path = assay_copy_text(place);
    bool found = false;
    /* Up the path until something is an HDF5 file. */
    for (char *slash = path ? strrchr(path, '/') : NULL; slash && slash > path && !found; slash = strrchr(path, '/')) {
        *slash = '\0';
        *length = (size_t)(slash - path);
        found = is_hdf5_file(path);
    }
    free(path);
    return found;
}

/* Opens the directory that a file is in; the trial is that file alone, and formats say what it is. */
static int open_around(posix_root *root, const char *place)
{
    const char *slash = strrchr(place, '/');
    struct stat about;
    const bool packed =
        assay_is_packed_name(place, strlen(place)); /* and nothing else, though it could not be looked at */
    if (packed || stat(place, &about) != 0 || !S_ISREG(about.st_mode)) {
        errno = ENOTDIR;
        return -1;
    }
    char *directory = slash ? assay_copy_bytes_as_text(place, (size_t)(slash + 1 - place)) : assay_copy_text(".");
    root->only = assay_copy_text(slash ? slash + 1 : place);
    const int number = directory && root->only ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (!directory || !root->only)
        errno = ENOMEM;
    free(directory);
    return number;
}

static int posix_open(assay_store *store, const char *place, assay_error *err)
{
    posix_root *root = assay_alloc_zeroed(1, sizeof *root);
    if (!root)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while opening it", store->location);
    root->below = -1;
    root->number = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root->number < 0 && errno == ENOTDIR)
        root->number = open_around(root, place);
    if (root->number >= 0) {
        store->root = root;
        store->is_file = root->only != NULL;
        return ASSAY_OK;
    }
    int reason = errno;
    free(root->only);
    free(root);
    /* `reason` was kept, because free() may change errno. */
    if (reason == ENOENT)
        return assay_fail(err, ASSAY_ENOTFOUND, "%s: no such directory; check the trial's path", store->location);
    if (reason == ENOTDIR)
        return assay_fail(err, ASSAY_ENOTFOUND,
                          "%s: not a directory; a trial is the directory that the training wrote to, a checkpoint's "
                          "file, or the HDF5 file that `assay pack` made of it",
                          store->location);
    return assay_fail(err, ASSAY_EIO, "%s: cannot open the directory: %s", store->location, strerror(reason));
}

static void posix_close(assay_store *store)
{
    posix_root *root = store->root;
    for (int i = 0; root->ahead && i < AHEAD; i++)
        if (root->ahead[i].number >= 0)
            close(root->ahead[i].number);
    free(root->ahead);
    if (root->below >= 0)
        close(root->below);
    close(root->number);
    assay_links_release(&root->links);
    for (size_t i = 0; i < root->outside.count; i++)
        free(root->outside.list[i].path);
    free(root->outside.list);
    assay_dict_free(root->linked);
    free(root->only);
    free(root);
}

static int fail_path(const char *path, int reason, assay_error *err)
{
    if (reason == ENOENT)
        return assay_fail(err, ASSAY_ENOTFOUND, "%s: does not exist", path);
    return assay_fail(err, reason == ENOMEM ? ASSAY_ENOMEM : ASSAY_EIO, "%s: %s", path, strerror(reason));
}

/* RESOLVE_BENEATH fails with EXDEV where any part of the path leads out; older kernels have no such call, and then
 * nothing is named. */
static bool posix_leads_out(assay_store *store, const char *path)
{
#if defined(SYS_openat2) && defined(RESOLVE_BENEATH)
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH};
    int number = (int)syscall(SYS_openat2, root_of(store), path, &how, sizeof how);
    bool out = number < 0 && errno == EXDEV;
    if (number >= 0)
        close(number);
    return out;
#else
    return false;
#endif
}

/* Those of a directory; NULL: there are none, or it was not listed. */
static outward *find_outward(const posix_root *root, const char *directory)
{
    const uint32_t number = root->linked ? assay_dict_find(root->linked, directory, strlen(directory)) : ASSAY_NO_ID;
    return number < root->outside.count ? &root->outside.list[number] : NULL;
}

static outward *add_outward(posix_root *root, const char *directory)
{
    outward *known = find_outward(root, directory);
    if (known || !ASSAY_VEC_RESERVE(&root->outside, 1))
        return known;
    if (!root->linked)
        root->linked = assay_dict_new();
    if (!root->linked || assay_dict_add(root->linked, directory, strlen(directory)) == ASSAY_NO_ID)
        return NULL;
    outward *added = &root->outside.list[root->outside.count++];
    *added = (outward){0};
    return added;
}

/* Remembers a link that leads out of the root, to name it. Without memory it stays unnamed. */
static void note_link(assay_store *store, const char *directory, const char *name)
{
    char *path = directory[0] ? assay_path_join(directory, name) : assay_copy_text(name);
    outward *to = path && posix_leads_out(store, path) ? add_outward(store->root, directory) : NULL;
    if (to && (!to->path || strcmp(path, to->path) != 0)) {
        to->several = to->path != NULL;
        if (!to->path || strcmp(path, to->path) < 0) {
            char *later = to->path;
            to->path = path;
            path = later;
        }
    }
    free(path);
}

static const char *posix_outside(const assay_store *store, const char *directory, bool *several)
{
    const outward *of = find_outward(store->root, directory);
    *several = of && of->several;
    return of ? of->path : NULL;
}

/* Reads the whole directory as terminated names, one behind the other. */
static int read_names(assay_store *store, DIR *dir, const char *directory, assay_buf *text, size_t *count,
                      assay_error *err)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry)
            return errno ? fail_path(directory, errno, err) : ASSAY_OK;
        const char *name = entry->d_name;
        if (name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0')))
            continue;
        /* File systems that do not tell the type leave links unnamed, which is harmless. */
        if (entry->d_type == DT_LNK)
            note_link(store, directory, name);
        assay_put_bytes(text, name, strlen(name) + 1);
        if (assay_buf_status(text) != ASSAY_OK)
            return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while listing it", directory);
        assay_activity_list(1);
        ++*count;
    }
}

static int posix_list(assay_store *store, const char *directory, assay_names *out, assay_error *err)
{
    /* The trial is one file: its directory has nothing else. */
    posix_root *root = store->root;
    if (root->only && *directory)
        return fail_path(directory, ENOENT, err);
    if (root->only)
        return assay_names_from_text(root->only, strlen(root->only) + 1, 1, out) == ASSAY_OK
                   ? ASSAY_OK
                   : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while listing it", root->only);

    int number = openat(root_of(store), directory[0] ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (number < 0 && errno == ENOTDIR) /* no failure: a file, or a pipe, has no names in it */
        return assay_fail(err, ASSAY_EFORMAT, "%s: %s", directory, strerror(errno));
    if (number < 0)
        return fail_path(directory, errno, err);
    DIR *dir = fdopendir(number);
    if (!dir) {
        int reason = errno;
        close(number);
        return fail_path(directory, reason, err);
    }
    assay_buf text = ASSAY_BUF(SIZE_MAX / 4);
    size_t count = 0;
    int status = assay_links_enter(&root->links, root->number, number, directory, err);
    if (status == ASSAY_OK)
        status = read_names(store, dir, directory, &text, &count, err);
    else if (status == 1) /* links lead back: it is empty */
        status = ASSAY_OK;
    if (status == ASSAY_OK && assay_names_from_text((const char *)text.data, text.size, count, out) != ASSAY_OK)
        status = assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while listing it", directory);
    assay_buf_release(&text);
    closedir(dir);
    return status;
}

static int posix_size_of(assay_store *store, const char *path, uint64_t *size, assay_error *err)
{
    struct stat about;
    if (fstatat(root_of(store), path, &about, 0) == 0) {
        *size = about.st_size > 0 ? (uint64_t)about.st_size : 0;
        return S_ISREG(about.st_mode);
    }
    return errno == ENOENT || errno == ENOTDIR ? ASSAY_ENOTFOUND : fail_path(path, errno, err);
}

static int posix_stamp(assay_store *store, const char *path, assay_store_stamp *out, assay_error *err)
{
    struct stat about;
    if (fstatat(root_of(store), path, &about, 0) != 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : fail_path(path, errno, err);
    /* Size, time and inode: a file that was replaced differs in one of them. */
    *out = (assay_store_stamp){.size = S_ISREG(about.st_mode) && about.st_size > 0 ? (uint64_t)about.st_size : 0,
                               .time = (int64_t)about.st_mtim.tv_sec * 1000000000 + about.st_mtim.tv_nsec,
                               .node = (uint64_t)about.st_ino};
    return 1;
}

static int open_path(posix_root *root, const char *path)
{
    const char *name = path;
    int from = way_to(root, &name);
    /* Without O_NONBLOCK, opening a pipe that lies where a file should be would wait forever. */
    return openat(from, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static bool posix_waits(const assay_store *store)
{
    return ((const posix_root *)store->root)->waits > 0;
}

/* Bounds for whoever asks ahead (engine/map/lookahead.h). */
static void posix_depth(const assay_store *store, size_t *files, uint64_t *bytes)
{
    *files = AHEAD;
    *bytes = AHEAD_BYTES;
}

static void posix_ahead(assay_store *store, const char *path, uint64_t offset, uint64_t size)
{
    posix_root *root = store->root;
    ahead *next = NULL;
    const size_t length = strlen(path);
    if (length >= sizeof next->path || offset > INT64_MAX || size > INT64_MAX)
        return;
    if (!root->ahead) { /* thousands of stores may be open that ask for none */
        root->ahead = assay_alloc_zeroed(AHEAD, sizeof *root->ahead);
        for (int i = 0; root->ahead && i < AHEAD; i++)
            root->ahead[i].number = -1;
    }
    if (!root->ahead)
        return;
    /* A ring: what nobody took by then is closed. */
    next = &root->ahead[root->asked % AHEAD];
    if (next->number >= 0)
        close(next->number);
    next->number = open_path(root, path);
    memcpy(next->path, path, length + 1);
    root->asked++;
    /* Each wait of a read pays for so many files; where all is in memory nothing is opened ahead. */
    root->waits -= root->waits > 0;
    if (next->number >= 0)
        posix_fadvise(next->number, (off_t)offset, (off_t)size, POSIX_FADV_WILLNEED); /* a wish */
}

/* Takes a file that was opened ahead; -1 when it was not, or when it is no longer the one of that name. */
static int take_ahead(posix_root *root, const char *path, struct stat *about)
{
    for (unsigned i = 0; root->asked > 0 && i < AHEAD; i++) {
        ahead *a = &root->ahead[i];
        if (a->number < 0 || strcmp(a->path, path) != 0)
            continue;
        int number = a->number;
        a->number = -1;
        /* st_nlink 0: the file was removed, and perhaps replaced, since it was opened. */
        if (fstat(number, about) == 0 && about->st_nlink > 0)
            return number;
        close(number);
    }
    return -1;
}

static int posix_open_file(assay_store *store, const char *path, assay_store_file *file, assay_error *err)
{
    struct stat about;
    int status = ASSAY_OK, number = take_ahead(store->root, path, &about);
    if (number < 0) {
        number = open_path(store->root, path);
        if (number < 0)
            return fail_path(path, errno, err);
        status = fstat(number, &about) == 0 ? ASSAY_OK : fail_path(path, errno, err);
    }
    if (status == ASSAY_OK && !S_ISREG(about.st_mode))
        status = assay_fail(err, ASSAY_EIO, "%s: not a regular file", path);
    if (status != ASSAY_OK) {
        close(number);
        return status;
    }
    file->handle = store->root;
    file->number = number;
    file->size = about.st_size > 0 ? (uint64_t)about.st_size : 0;
    return ASSAY_OK;
}

static void posix_close_file(assay_store_file *file)
{
    close(file->number);
}

#ifdef RWF_NOWAIT
/* Reads what is in memory. Negative: nothing is, or that cannot be told; errno says which. */
static ssize_t read_in_memory(int number, void *bytes, size_t size, off_t offset)
{
    if (assay_fault_now(ASSAY_FAULT_NOWAIT)) {
        errno = EOPNOTSUPP;
        return -1;
    }
    if (assay_fault_now(ASSAY_FAULT_COLD)) {
        errno = EAGAIN;
        return -1;
    }
    struct iovec to = {bytes, size};
    return preadv2(number, &to, 1, offset, RWF_NOWAIT);
}
#endif

/* Reads some of the bytes. One that waits for a disk or a server is noticed: it is tried without waiting first, which
 * is the only call for bytes that are in memory. Where the file system cannot say, nothing is noticed. */
static ssize_t read_some(posix_root *root, int number, void *bytes, size_t size, off_t offset)
{
    if (assay_fault_now(ASSAY_FAULT_SHORT))
        size = (size + 1) / 2;
#ifdef RWF_NOWAIT
    if (!root->no_nowait) {
        ssize_t n = read_in_memory(number, bytes, size, offset);
        if (n > 0)
            return n;
        if (n < 0 && errno == EAGAIN)
            root->waits = ASKED_AFTER_A_WAIT;
        else if (n < 0 && errno != EINTR)
            root->no_nowait = true;
    }
#endif
    return pread(number, bytes, size, offset);
}

static int posix_read_at(assay_store_file *file, uint64_t offset, void *bytes, size_t size, size_t *got,
                         assay_error *err)
{
    /* The end is where it was when the file was opened: asking behind it would cost a call for every small file. */
    uint64_t left = offset < file->size ? file->size - offset : 0;
    size_t have = 0;
    size = size < left ? size : (size_t)left;
    while (have < size) {
        ssize_t n = read_some(file->handle, file->number, (char *)bytes + have, size - have, (off_t)(offset + have));
        if (n == 0)
            break;
        if (n > 0)
            have += (size_t)n;
        else if (errno != EINTR)
            return assay_fail(err, ASSAY_EIO, "%s: offset %llu: reading failed: %s", file->path,
                              (unsigned long long)(offset + have), strerror(errno));
    }
    *got = have;
    return ASSAY_OK;
}

const assay_store_ops assay_store_posix = {
    /* `contradicts`: a local file system may list what it then does not find (storage.c). */
    .scheme = "file://",
    .contradicts = true,
    .open = posix_open,
    .close = posix_close,
    .list = posix_list,
    .size_of = posix_size_of,
    .leads_out = posix_leads_out,
    .outside = posix_outside,
    .stamp = posix_stamp,
    .open_file = posix_open_file,
    .close_file = posix_close_file,
    .read_at = posix_read_at,
    .waits = posix_waits,
    .depth = posix_depth,
    .ahead = posix_ahead,
};
