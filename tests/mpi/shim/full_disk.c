/* full_disk.c - preloaded: files called *.part are on a disk that is full from the ASSAY_FULL_AT-th write on, and that
 * cannot reserve room. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static bool is_full(int fd)
{
    static int writes;
    char link[64], path[4096];
    const char *at = getenv("ASSAY_FULL_AT");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (!at || length < 5 || memcmp(path + length - 5, ".part", 5) != 0 || ++writes < strtol(at, NULL, 10))
        return false;
    errno = ENOSPC;
    return true;
}

#define FULL(name, parameters, arguments)                                                                              \
    ssize_t name parameters;                                                                                           \
    ssize_t name parameters                                                                                            \
    {                                                                                                                  \
        ssize_t(*next) parameters;                                                                                     \
        void *symbol = dlsym(RTLD_NEXT, #name);                                                                        \
        memcpy(&next, &symbol, sizeof next);                                                                           \
        return is_full(fd) ? -1 : next arguments;                                                                      \
    }

FULL(write, (int fd, const void *bytes, size_t size), (fd, bytes, size))
FULL(pwrite, (int fd, const void *bytes, size_t size, off_t at), (fd, bytes, size, at))
FULL(pwrite64, (int fd, const void *bytes, size_t size, off64_t at), (fd, bytes, size, at))
FULL(writev, (int fd, const struct iovec *list, int count), (fd, list, count))
FULL(pwritev, (int fd, const struct iovec *list, int count, off_t at), (fd, list, count, at))
FULL(pwritev64, (int fd, const struct iovec *list, int count, off64_t at), (fd, list, count, at))

int fallocate(int fd, int mode, off_t at, off_t size);
int fallocate(int fd, int mode, off_t at, off_t size)
{
    (void)fd;
    (void)mode;
    (void)at;
    (void)size;
    errno = EOPNOTSUPP;
    return -1;
}
