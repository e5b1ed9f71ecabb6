/* fail_path.c - a library for LD_PRELOAD: each look at some paths fails.
 *
 *     FAIL_PATHS="open|stat|both|read N /absolute/path", one a line; N is an errno. FAIL_RANK=R LD_PRELOAD=... program
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

typedef struct wanted {
    char *path;
    bool opens, stats, reads;
    int error;
} wanted;

static wanted *list;
static size_t count;

__attribute__((constructor)) static void arm(void)
{
    const char *rank = getenv("FAIL_RANK"), *own = getenv("OMPI_COMM_WORLD_RANK"), *given = getenv("FAIL_PATHS");
    char *text = given && !(rank && own && strcmp(rank, own) != 0) ? strdup(given) : NULL, *rest = text;
    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        const char *calls = strsep(&line, " "), *number = strsep(&line, " ");
        wanted *more = line ? realloc(list, (count + 1) * sizeof *list) : NULL;
        if (!more)
            continue;
        list = more;
        const bool reads = strcmp(calls, "read") == 0;
        list[count++] = (wanted){line, !reads && strcmp(calls, "stat") != 0, !reads && strcmp(calls, "open") != 0,
                                 reads, atoi(number)};
    }
}

/* The one of the path; NULL: none. */
static const wanted *find(const char *path, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i].path) == length && memcmp(list[i].path, path, length) == 0)
            return &list[i];
    return NULL;
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

typedef enum kind { OPENS, STATS } kind;

static bool fails(kind kind, int directory, const char *path)
{
    char whole[PATH_MAX];
    const wanted *one = count > 0 && path && whole_path(directory, path, whole) ? find(whole, strlen(whole)) : NULL;
    if (!one || !(kind == OPENS ? one->opens : one->stats))
        return false;
    errno = one->error;
    return true;
}

/* Is the descriptor one of a path whose reading fails? */
static bool fails_to_read(int file)
{
    char link[64], path[PATH_MAX];
    if (count == 0)
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    const wanted *one = length > 0 ? find(path, (size_t)length) : NULL;
    if (!one || !one->reads)
        return false;
    errno = one->error;
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
        return fails(OPENS, AT_FDCWD, path) ? -1 : real(path, flags, mode);                                            \
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
        return fails(OPENS, directory, path) ? -1 : real(directory, path, flags, mode);                                \
    }
OPENAT(openat)
OPENAT(openat64)

FILE *fopen(const char *path, const char *mode)
{
    REAL(FILE *, fopen, (const char *, const char *));
    return fails(OPENS, AT_FDCWD, path) ? NULL : real(path, mode);
}

DIR *opendir(const char *path)
{
    REAL(DIR *, opendir, (const char *));
    return fails(OPENS, AT_FDCWD, path) ? NULL : real(path);
}

#define STAT(name)                                                                                                     \
    int name(const char *path, struct stat *about)                                                                     \
    {                                                                                                                  \
        REAL(int, name, (const char *, struct stat *));                                                                \
        return fails(STATS, AT_FDCWD, path) ? -1 : real(path, about);                                                  \
    }
STAT(stat)
STAT(lstat)

int fstatat(int directory, const char *path, struct stat *about, int flags)
{
    REAL(int, fstatat, (int, const char *, struct stat *, int));
    return fails(STATS, directory, path) ? -1 : real(directory, path, about, flags);
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
