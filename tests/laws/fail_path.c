/* fail_path.c - a library for LD_PRELOAD: each look at one path fails.
 *
 *     FAIL_PATH=/absolute/path FAIL_CALLS=open|stat|both|read FAIL_ERRNO=N FAIL_RANK=R LD_PRELOAD=... program
 *
 * A directory whose `open` or `read` fails is not listed; what lies in it can still be opened by its path. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *wanted;
static bool opens, stats, reads;
static int error;

__attribute__((constructor)) static void arm(void)
{
    const char *calls = getenv("FAIL_CALLS"), *number = getenv("FAIL_ERRNO");
    const char *rank = getenv("FAIL_RANK"), *own = getenv("OMPI_COMM_WORLD_RANK");
    if (!calls || !number || (rank && own && strcmp(rank, own) != 0))
        return;
    wanted = getenv("FAIL_PATH");
    error = atoi(number);
    reads = strcmp(calls, "read") == 0;
    opens = !reads && strcmp(calls, "stat") != 0;
    stats = !reads && strcmp(calls, "open") != 0;
}

/* Puts the absolute form of the path into `out`; false where it does not fit. */
static bool whole_path(int directory, const char *path, char out[PATH_MAX])
{
    char from[PATH_MAX] = "", link[64];
    if (path[0] == '/')
        return snprintf(out, PATH_MAX, "%s", path) < PATH_MAX;
    snprintf(link, sizeof link, directory == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", directory);
    const ssize_t length = readlink(link, from, sizeof from - 1);
    return length > 0 && snprintf(out, PATH_MAX, "%s/%s", from, path) < PATH_MAX;
}

static bool fails(bool kind, int directory, const char *path)
{
    char whole[PATH_MAX];
    if (!wanted || !kind || !path || !whole_path(directory, path, whole) || strcmp(whole, wanted) != 0)
        return false;
    errno = error;
    return true;
}

/* Is the descriptor one of the path, and does reading it fail? */
static bool fails_to_read(int file)
{
    char link[64], path[PATH_MAX];
    if (!wanted || !reads)
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0 || strlen(wanted) != (size_t)length || memcmp(path, wanted, (size_t)length) != 0)
        return false;
    errno = error;
    return true;
}

#define REAL(result, name, types)                                                                                      \
    static result(*real) types;                                                                                        \
    if (!real)                                                                                                         \
    real = (result(*) types)dlsym(RTLD_NEXT, #name)

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...)                                                                         \
    {                                                                                                                  \
        REAL(int, name, (const char *, int, ...));                                                                     \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;                                        \
        va_end(more);                                                                                                  \
        return fails(opens, AT_FDCWD, path) ? -1 : real(path, flags, mode);                                            \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                                                   \
    int name(int directory, const char *path, int flags, ...)                                                          \
    {                                                                                                                  \
        REAL(int, name, (int, const char *, int, ...));                                                                \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;                                        \
        va_end(more);                                                                                                  \
        return fails(opens, directory, path) ? -1 : real(directory, path, flags, mode);                                \
    }
OPENAT(openat)
OPENAT(openat64)

FILE *fopen(const char *path, const char *mode)
{
    REAL(FILE *, fopen, (const char *, const char *));
    return fails(opens, AT_FDCWD, path) ? NULL : real(path, mode);
}

DIR *opendir(const char *path)
{
    REAL(DIR *, opendir, (const char *));
    return fails(opens, AT_FDCWD, path) ? NULL : real(path);
}

#define STAT(name)                                                                                                     \
    int name(const char *path, struct stat *about)                                                                     \
    {                                                                                                                  \
        REAL(int, name, (const char *, struct stat *));                                                                \
        return fails(stats, AT_FDCWD, path) ? -1 : real(path, about);                                                  \
    }
STAT(stat)
STAT(lstat)

int fstatat(int directory, const char *path, struct stat *about, int flags)
{
    REAL(int, fstatat, (int, const char *, struct stat *, int));
    return fails(stats, directory, path) ? -1 : real(directory, path, about, flags);
}

ssize_t read(int file, void *bytes, size_t size)
{
    REAL(ssize_t, read, (int, void *, size_t));
    return fails_to_read(file) ? -1 : real(file, bytes, size);
}

#define PREAD(name)                                                                                                    \
    ssize_t name(int file, void *bytes, size_t size, off_t at)                                                         \
    {                                                                                                                  \
        REAL(ssize_t, name, (int, void *, size_t, off_t));                                                             \
        return fails_to_read(file) ? -1 : real(file, bytes, size, at);                                                 \
    }
PREAD(pread)
PREAD(pread64)

struct dirent *readdir(DIR *directory)
{
    REAL(struct dirent *, readdir, (DIR *));
    return fails_to_read(dirfd(directory)) ? NULL : real(directory);
}
