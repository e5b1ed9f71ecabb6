/* stalled_disk.c - preloaded: from the ASSAY_STALL_AT-th write on, writes to regular files do not come back. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static void stall(int fd)
{
    static _Atomic long writes;
    struct stat file;
    const char *at = getenv("ASSAY_STALL_AT");
    if (at && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
        atomic_fetch_add(&writes, 1) + 1 >= strtol(at, NULL, 10))
        for (;;)
            pause();
}

#define STALLED(name, parameters, arguments)                                                                           \
    ssize_t name parameters;                                                                                           \
    ssize_t name parameters                                                                                            \
    {                                                                                                                  \
        ssize_t(*next) parameters;                                                                                     \
        void *symbol = dlsym(RTLD_NEXT, #name);                                                                        \
        memcpy(&next, &symbol, sizeof next);                                                                           \
        stall(fd);                                                                                                     \
        return next arguments;                                                                                         \
    }

STALLED(write, (int fd, const void *bytes, size_t size), (fd, bytes, size))
STALLED(pwrite, (int fd, const void *bytes, size_t size, off_t at), (fd, bytes, size, at))
STALLED(writev, (int fd, const struct iovec *list, int count), (fd, list, count))
