/* disk_room.c - see disk_room.h. */
#include "hdf5/disk_room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* False with errno. A signal may end either call before it is done: only one that says so has the room. */
static bool take(int fd, off_t size)
{
    int failure;
    do
        failure = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, size) == 0 ? 0 : errno;
    while (failure == EINTR);
    if (failure == EOPNOTSUPP || failure == ENOSYS)
        do
            failure = posix_fallocate(fd, 0, size);
        while (failure == EINTR);
    errno = failure;
    return failure == 0;
}

int assay_disk_room_take(const char *path, uint64_t promised, uint64_t more, uint64_t margin, assay_error *err)
{
    int status = ASSAY_OK, fd = open(path, O_RDWR | O_CLOEXEC);
    off_t end = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
    uint64_t size = end >= 0 ? (uint64_t)end + more : 0;
    size = (size > promised ? size : promised) + margin;
    if (end < 0 || !take(fd, (off_t)size))
        status = assay_fail(err, ASSAY_EIO, "no room for a file of %llu bytes: %s; is the disk full?",
                            (unsigned long long)size, strerror(errno));
    if (fd >= 0)
        close(fd);
    return status;
}

void assay_disk_room_return(const char *path)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    off_t end = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
    if (end >= 0 && ftruncate(fd, end) != 0)
        errno = 0;
    if (fd >= 0)
        close(fd);
}
