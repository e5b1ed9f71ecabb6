/* file.c - whole small files in, complete files out, directories. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/leftovers.h"

/* TEMPORARY_NAMES: names carry the process id, so more than one in use means as many writers in this process, or
 * leftovers of an earlier process with its id. */
enum { READ_PIECE = 64 * 1024, TEMPORARY_NAMES = 100 };

/* errno as EIO when a test asks this call to fail. */
static bool fault(assay_fault_kind kind)
{
    bool now = assay_fault_now(kind);
    if (now)
        errno = EIO;
    return now;
}

static ssize_t read_piece(int fd, void *bytes, size_t size)
{
    /* Bytes of files come in here and in the readers of src/store; what comes of short reads is the caller's loop. */
    ssize_t got;
    if (fault(ASSAY_FAULT_READ))
        return -1;
    do
        got = read(fd, bytes, size);
    while (got < 0 && errno == EINTR);
    return got;
}

static int read_all(int fd, const char *path, size_t ceiling, assay_buf *out, assay_error *err)
{
    char *piece = assay_alloc(READ_PIECE);
    if (!piece)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while reading", path);
    size_t total = 0;
    ssize_t got;
    int status = ASSAY_OK;
    while (status == ASSAY_OK && (got = read_piece(fd, piece, READ_PIECE)) != 0) {
        if (got < 0) {
            status = assay_fail(err, ASSAY_EIO, "%s: cannot read: %s", path, strerror(errno));
        } else if ((size_t)got > ceiling - total) {
            /* The size that fstat() told is not trusted: pipes have none, and files grow while they are read. */
            status = assay_fail(err, ASSAY_EBUDGET, "%s: larger than the %zu bytes allowed here", path, ceiling);
        } else {
            total += (size_t)got;
            assay_put_bytes(out, piece, (size_t)got);
            status = assay_buf_status(out);
            if (status != ASSAY_OK)
                assay_fail(err, status, "%s: cannot hold it in memory: %s", path, assay_status_text(status));
        }
    }
    free(piece);
    return status;
}

int assay_file_open(const char *path, struct stat *about)
{
    struct stat own;
    struct stat *st = about ? about : &own;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || (fstat(fd, st) == 0 && S_ISREG(st->st_mode)))
        return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

/* Nobody knows when somebody writes into a pipe that lies where a file should: it is opened without waiting, and refused.
 * What the user gives as such is waited for: bash's <(...) is /dev/fd/63. */
static bool is_given(const char *path)
{
    return strncmp(path, "/dev/fd/", 8) == 0 || strcmp(path, "/dev/stdin") == 0 || strcmp(path, "/dev/null") == 0;
}

/* `magic`: of a file of assay's own; NULL: any. Their size is asked before they are read. */
static int check_file(int fd, const char *path, const char *magic, size_t ceiling, assay_error *err)
{
    struct stat st;
    char begin[16];
    const size_t length = magic ? strlen(magic) : 0;
    if (fstat(fd, &st) != 0)
        return assay_fail(err, ASSAY_EIO, "%s: cannot be examined: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode) && !magic)
        return ASSAY_OK; /* reading says what it is */
    if (!S_ISREG(st.st_mode))
        return assay_fail(err, ASSAY_EIO, "%s: not a regular file", path);
    if (st.st_size > 0 && (uint64_t)st.st_size > ceiling)
        return assay_fail(err, ASSAY_EBUDGET, "%s: larger than the %zu bytes allowed here", path, ceiling);
    if (length > sizeof begin ||
        (length > 0 && (pread(fd, begin, length, 0) != (ssize_t)length || memcmp(begin, magic, length) != 0)))
        return assay_fail(err, ASSAY_EFORMAT, "%s: not a file that assay wrote for this", path);
    return ASSAY_OK;
}

static int read_file(const char *path, const char *magic, size_t ceiling, assay_buf *out, assay_error *err)
{
    const bool given = !magic && is_given(path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | (given ? 0 : O_NONBLOCK));
    if (fd < 0) {
        struct stat st;
        const int why = errno;
        if (why == ENOENT && lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) /* a file came in between: it was absent */
            return assay_fail(err, ASSAY_EIO, "%s: a link that leads nowhere", path);
        const int status = why == ENOENT || why == ENOTDIR ? ASSAY_ENOTFOUND : ASSAY_EIO;
        return assay_fail(err, status, "%s: cannot open: %s", path, strerror(why));
    }
    size_t before = out->size;
    int status = given ? ASSAY_OK : check_file(fd, path, magic, ceiling, err);
    ASSAY_THEN(status, read_all(fd, path, ceiling, out, err));
    /* A failure leaves what was in the buffer before, as its caller gave it. */
    if (status != ASSAY_OK)
        out->size = before;
    close(fd);
    return status;
}

int assay_file_read(const char *path, size_t ceiling, assay_buf *out, assay_error *err)
{
    return read_file(path, NULL, ceiling, out, err);
}

int assay_file_read_own(const char *path, const char *magic, size_t ceiling, assay_buf *out, assay_error *err)
{
    return read_file(path, magic, ceiling, out, err);
}

/* Removes what writers of the file that were killed have left: they have no lock any more, and it is some time ago, for a
 * file is locked only when it is there already. Where nothing can be locked, all stays as it is. */
static void remove_left(const char *path)
{
    /* A minute: longer than the moment between creating the file and locking it, in which it looks like a leftover. */
    enum { A_WHILE = 60, SUFFIX = 5 }; /* seconds; of ".tmp-" */
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t length = strlen(name);
    char *folder = slash ? assay_copy_bytes_as_text(path, (size_t)(slash - path) + 1) : assay_copy_text(".");
    DIR *dir = folder ? opendir(folder) : NULL;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        struct stat st;
        if (strncmp(entry->d_name, name, length) != 0 || strncmp(entry->d_name + length, ".tmp-", SUFFIX) != 0 ||
            strspn(entry->d_name + length + SUFFIX, "0123456789-") != strlen(entry->d_name + length + SUFFIX))
            continue;
        const int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_mtime + A_WHILE < time(NULL) &&
            flock(fd, LOCK_EX | LOCK_NB) == 0)
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
        if (fd >= 0)
            close(fd);
    }
    if (dir)
        closedir(dir);
    free(folder);
}

/* Opens a new file beside `path`. Not mkstemp: the file has to come out with the mode the umask gives, not 0600. */
static int open_temporary(const char *path, char **name)
{
    size_t room = strlen(path) + 48;
    *name = assay_alloc(room);
    if (!*name) {
        errno = ENOMEM;
        return -1;
    }
    remove_left(path);
    int fd = -1;
    for (int i = 0; i < TEMPORARY_NAMES; i++) {
        snprintf(*name, room, "%s.tmp-%ld-%d", path, (long)getpid(), i);
        fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    if (fd < 0) {
        free(*name);
        *name = NULL;
    } else
        (void)flock(fd, LOCK_EX | LOCK_NB); /* that it is being written (remove_left) */
    return fd;
}

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        if (fault(ASSAY_FAULT_WRITE))
            return false;
        ssize_t put = write(fd, bytes, size);
        if (put < 0 && errno != EINTR)
            return false;
        if (put > 0) {
            bytes += put;
            size -= (size_t)put;
        }
    }
    return true;
}

/* The rename itself reaches the disk with the directory. File systems that cannot do that are left as they are. */
static void sync_directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *directory = slash ? assay_copy_bytes_as_text(path, (size_t)(slash - path) + 1) : assay_copy_text(".");
    int fd = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    free(directory);
}

/* What takes the place of a file keeps its permissions: one that was closed to others stays so. */
static bool keep_mode(int fd, const char *path)
{
    struct stat st;
    return stat(path, &st) != 0 || !S_ISREG(st.st_mode) || fchmod(fd, st.st_mode & 0777) == 0;
}

/* A file that is being written. */
typedef struct new_file {
    int fd, cause; /* 0, or errno of the write that failed */
} new_file;

static int put_into(void *context, const void *bytes, size_t size)
{
    new_file *file = context;
    if (write_all(file->fd, bytes, size))
        return ASSAY_OK;
    file->cause = errno;
    return ASSAY_EIO;
}

/* A device, or what the shell gives to write into, is no file that another could take the place of: /dev/null would be one
 * from then on. Links elsewhere, and pipes, which might never be read, are replaced as files are. */
static bool is_written_into(const char *path)
{
    struct stat st;
    return strncmp(path, "/dev/fd/", 8) == 0 || strcmp(path, "/dev/stdout") == 0 || strcmp(path, "/dev/stderr") == 0 ||
           (lstat(path, &st) == 0 && S_ISCHR(st.st_mode));
}

static int write_into(const char *path, const assay_maker *from, assay_error *err)
{
    new_file file = {open(path, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC), 0};
    if (file.fd < 0)
        return assay_fail(err, ASSAY_EIO, "%s: cannot open: %s", path, strerror(errno));
    const int made = from->make(from->context, &(assay_taker){put_into, &file});
    if (close(file.fd) != 0 && !file.cause)
        file.cause = errno;
    if (assay_alloc_refused() || made == ASSAY_ENOMEM)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while writing", path);
    if (file.cause)
        return assay_fail(err, ASSAY_EIO, "%s: cannot write: %s", path, strerror(file.cause));
    return made == ASSAY_OK ? ASSAY_OK : assay_fail(err, made, "%s: cannot be made: %s", path, assay_status_text(made));
}

int assay_file_write_made(const char *path, const assay_maker *from, assay_error *err)
{
    char *temporary = NULL;
    if (is_written_into(path))
        return write_into(path, from, err);
    new_file file = {open_temporary(path, &temporary), 0};
    if (file.fd < 0) {
        int status = errno == ENOMEM ? ASSAY_ENOMEM : ASSAY_EIO;
        return assay_fail(err, status, "%s: cannot create a file there: %s", path, strerror(errno));
    }
    const int leftover = assay_leftover_add(temporary);
    bool done = keep_mode(file.fd, path);
    const int made = done ? from->make(from->context, &(assay_taker){put_into, &file}) : ASSAY_OK;
    /* Order matters: data reach the disk before the name does, else a crash leaves a complete name with an empty
     * file. */
    done = done && made == ASSAY_OK && !fault(ASSAY_FAULT_WRITE) && fsync(file.fd) == 0;
    int cause = file.cause ? file.cause : errno;
    if (close(file.fd) != 0 && done) {
        cause = errno;
        done = false;
    }
    /* Asked just before the rename: what was refused while the bytes were made may have left a gap in them. */
    const bool refused = assay_alloc_refused();
    if (done && !refused && (fault(ASSAY_FAULT_WRITE) || rename(temporary, path) != 0)) {
        cause = errno;
        done = false;
    }
    if (done && !refused)
        sync_directory_of(path);
    else
        unlink(temporary);
    /* Until here a signal that ends the process removes the temporary file (base/leftovers.h). */
    assay_leftover_drop(leftover);
    free(temporary);
    if (refused || made == ASSAY_ENOMEM)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while writing", path);
    if (made != ASSAY_OK && !file.cause)
        return assay_fail(err, made, "%s: cannot be made: %s", path, assay_status_text(made));
    return done ? ASSAY_OK : assay_fail(err, ASSAY_EIO, "%s: cannot write: %s", path, strerror(cause));
}

int assay_stretch_give(void *stretch, const assay_taker *to)
{
    const assay_stretch *all = stretch;
    return to->take(to->context, all->bytes, all->size);
}

int assay_file_write(const char *path, const void *bytes, size_t size, assay_error *err)
{
    if (assay_alloc_refused())
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while writing", path);
    return assay_file_write_made(path, &(assay_maker){assay_stretch_give, &(assay_stretch){bytes, size}}, err);
}

int assay_file_open_append(const char *path, assay_error *err)
{
    /* Without O_NONBLOCK, opening a pipe would wait for its reader. */
    const int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    struct stat st;
    if (fd < 0)
        return errno == ELOOP ? assay_fail(err, ASSAY_EIO, "%s: a symbolic link, which is not written through", path)
                              : assay_fail(err, ASSAY_EIO, "%s: cannot open it: %s", path, strerror(errno));
    const bool known = fstat(fd, &st) == 0;
    if (known && S_ISREG(st.st_mode) && st.st_nlink == 1)
        return fd;
    const int reason = errno;
    close(fd);
    return !known ? assay_fail(err, ASSAY_EIO, "%s: cannot open it: %s", path, strerror(reason))
                  : assay_fail(err, ASSAY_EIO, "%s: %s", path,
                               S_ISREG(st.st_mode) ? "has another name elsewhere, and is not written to"
                                                   : "not a regular file");
}

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* mkdir's answer does not tell an existing directory apart from a read-only file system that holds it: ask. */
static bool make_one(const char *path)
{
    if (mkdir(path, 0777) == 0)
        return true;
    int cause = errno;
    bool there = is_directory(path);
    errno = cause;
    return there;
}

int assay_dir_make(const char *path, assay_error *err)
{
    if (path[0] == '\0')
        return assay_fail(err, ASSAY_EIO, "cannot make a directory with an empty name");
    char *copy = assay_copy_text(path);
    if (!copy)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", path);
    bool done = true;
    /* From left to right, each parent in turn; `//` counts as one slash. */
    for (char *at = copy + 1; done && *at; at++) {
        if (*at != '/' || at[-1] == '/')
            continue;
        *at = '\0';
        done = make_one(copy);
        *at = '/';
    }
    done = done && make_one(copy);
    int cause = errno;
    free(copy);
    if (!done && (cause == EEXIST || cause == ENOTDIR))
        return assay_fail(err, ASSAY_EIO, "%s: cannot make the directory: a file is in the way", path);
    return done ? ASSAY_OK : assay_fail(err, ASSAY_EIO, "%s: cannot make the directory: %s", path, strerror(cause));
}
