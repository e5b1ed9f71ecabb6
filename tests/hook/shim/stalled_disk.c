/* stalled_disk.c - preloaded: a disk that does not come back.
 *   ASSAY_STALL_AT=N     from the N-th write on, writes to regular files
 *   ASSAY_STALL_PATH=S   every call that names a path with S in it */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static void stay(void)
{
    for (;;)
        pause();
}

static void stall(int fd)
{
    static _Atomic long writes;
    struct stat file;
    const char *at = getenv("ASSAY_STALL_AT");
    if (at && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
        atomic_fetch_add(&writes, 1) + 1 >= strtol(at, NULL, 10))
        stay();
}

static void stall_path(const char *path)
{
    const char *part = getenv("ASSAY_STALL_PATH");
    if (part && strstr(path, part))
        stay();
}

#define STALLED(type, name, parameters, arguments, check)                                                              \
    type name parameters;                                                                                              \
    type name parameters                                                                                               \
    {                                                                                                                  \
        type(*next) parameters;                                                                                        \
        void *symbol = dlsym(RTLD_NEXT, #name);                                                                        \
        memcpy(&next, &symbol, sizeof next);                                                                           \
        check;                                                                                                         \
        return next arguments;                                                                                         \
    }

STALLED(ssize_t, write, (int fd, const void *bytes, size_t size), (fd, bytes, size), stall(fd))
STALLED(ssize_t, pwrite, (int fd, const void *bytes, size_t size, off_t at), (fd, bytes, size, at), stall(fd))
STALLED(ssize_t, writev, (int fd, const struct iovec *list, int count), (fd, list, count), stall(fd))
STALLED(int, mkdir, (const char *path, mode_t mode), (path, mode), stall_path(path))
STALLED(DIR *, opendir, (const char *path), (path), stall_path(path))
STALLED(int, unlink, (const char *path), (path), stall_path(path))
STALLED(int, rename, (const char *path, const char *to), (path, to), stall_path(to))
STALLED(int, access, (const char *path, int mode), (path, mode), stall_path(path))
STALLED(int, stat, (const char *path, struct stat *info), (path, info), stall_path(path))
STALLED(int, lstat, (const char *path, struct stat *info), (path, info), stall_path(path))

int open(const char *path, int flags, ...)
{
    int (*next)(const char *, int, ...);
    void *symbol = dlsym(RTLD_NEXT, "open");
    va_list more;
    va_start(more, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
    va_end(more);
    memcpy(&next, &symbol, sizeof next);
    stall_path(path);
    return next(path, flags, mode);
}
