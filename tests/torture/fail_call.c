/* fail_call.c - a library for LD_PRELOAD: the N-th call of a kind that the program itself makes fails.
 *
 *     FAIL_CALL=KIND:N:ERRNO FAIL_RANK=R FAIL_MARK=FILE LD_PRELOAD=... program
 *
 * KIND: alloc (malloc, calloc, realloc), or the name of a call below; ERRNO its number. Calls that libraries make are
 * let through: what MPI does without memory is not what is tested. FILE comes into being when the call failed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static char kind[16];
static unsigned long long at;
static int error;
static atomic_ullong calls;
static uintptr_t from, to; /* the program's code */
static bool armed;

static int find_program(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            to = from + info->dlpi_phdr[i].p_memsz;
        }
    return 1; /* the first is the program */
}

__attribute__((constructor)) static void arm(void)
{
    const char *what = getenv("FAIL_CALL"), *rank = getenv("FAIL_RANK"), *own = getenv("OMPI_COMM_WORLD_RANK");
    if (!what || sscanf(what, "%15[a-z0-9]:%llu:%d", kind, &at, &error) != 3)
        return;
    dl_iterate_phdr(find_program, NULL);
    /* Only the program that the mark was meant for: mpirun and shells have another name. */
    const char *program = getenv("FAIL_PROGRAM");
    armed =
        (!rank || !own || strcmp(rank, own) == 0) && (!program || strcmp(program, program_invocation_short_name) == 0);
}

static bool fails(const char *name, const void *caller)
{
    if (!armed || strcmp(name, kind) != 0 || (uintptr_t)caller < from || (uintptr_t)caller >= to)
        return false;
    if (atomic_fetch_add(&calls, 1) + 1 != at)
        return false;
    const char *mark = getenv("FAIL_MARK");
    int fd = mark ? (int)syscall(SYS_openat, AT_FDCWD, mark, O_CREAT | O_WRONLY, 0666) : -1;
    if (fd >= 0)
        syscall(SYS_close, fd);
    errno = error;
    return true;
}

#define CALLER __builtin_return_address(0)
#define REAL(result, name, types)                                                                                      \
    static result(*real) types;                                                                                        \
    if (!real)                                                                                                         \
    real = (result(*) types)dlsym(RTLD_NEXT, #name)

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
    return fails("alloc", CALLER) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails("alloc", CALLER) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails("alloc", CALLER) ? NULL : __libc_realloc(old, size);
}

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...)                                                                         \
    {                                                                                                                  \
        REAL(int, name, (const char *, int, ...));                                                                     \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;                                        \
        va_end(more);                                                                                                  \
        return fails("open", CALLER) ? -1 : real(path, flags, mode);                                                   \
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
        return fails("open", CALLER) ? -1 : real(directory, path, flags, mode);                                        \
    }
OPENAT(openat)
OPENAT(openat64)

FILE *fopen(const char *path, const char *mode)
{
    REAL(FILE *, fopen, (const char *, const char *));
    return fails("open", CALLER) ? NULL : real(path, mode);
}

ssize_t read(int fd, void *bytes, size_t size)
{
    REAL(ssize_t, read, (int, void *, size_t));
    return fails("read", CALLER) ? -1 : real(fd, bytes, size);
}

#define PREAD(name)                                                                                                    \
    ssize_t name(int fd, void *bytes, size_t size, off_t offset)                                                       \
    {                                                                                                                  \
        REAL(ssize_t, name, (int, void *, size_t, off_t));                                                             \
        return fails("read", CALLER) ? -1 : real(fd, bytes, size, offset);                                             \
    }
PREAD(pread)
PREAD(pread64)

#define PREADV2(name)                                                                                                  \
    ssize_t name(int fd, const struct iovec *list, int count, off_t offset, int flags)                                 \
    {                                                                                                                  \
        REAL(ssize_t, name, (int, const struct iovec *, int, off_t, int));                                             \
        if (armed && strcmp(kind, "read") == 0) {                                                                      \
            errno = EOPNOTSUPP; /* or a failure here would be made good by pread() */                                  \
            return -1;                                                                                                 \
        }                                                                                                              \
        return real(fd, list, count, offset, flags);                                                                   \
    }
PREADV2(preadv2)
PREADV2(preadv64v2)

ssize_t write(int fd, const void *bytes, size_t size)
{
    REAL(ssize_t, write, (int, const void *, size_t));
    return fails("write", CALLER) ? -1 : real(fd, bytes, size);
}

#define PWRITE(name)                                                                                                   \
    ssize_t name(int fd, const void *bytes, size_t size, off_t offset)                                                 \
    {                                                                                                                  \
        REAL(ssize_t, name, (int, const void *, size_t, off_t));                                                       \
        return fails("write", CALLER) ? -1 : real(fd, bytes, size, offset);                                            \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

#define STAT(name)                                                                                                     \
    int name(const char *path, struct stat *about)                                                                     \
    {                                                                                                                  \
        REAL(int, name, (const char *, struct stat *));                                                                \
        return fails("stat", CALLER) ? -1 : real(path, about);                                                         \
    }
STAT(stat)
STAT(lstat)

int fstat(int fd, struct stat *about)
{
    REAL(int, fstat, (int, struct stat *));
    return fails("stat", CALLER) ? -1 : real(fd, about);
}

int fstatat(int directory, const char *path, struct stat *about, int flags)
{
    REAL(int, fstatat, (int, const char *, struct stat *, int));
    return fails("stat", CALLER) ? -1 : real(directory, path, about, flags);
}

int close(int fd)
{
    REAL(int, close, (int));
    if (!fails("close", CALLER))
        return real(fd);
    real(fd); /* as Linux does it: the descriptor is gone, and the error is told */
    errno = error;
    return -1;
}

int fsync(int fd)
{
    REAL(int, fsync, (int));
    return fails("fsync", CALLER) ? -1 : real(fd);
}

int rename(const char *old, const char *new)
{
    REAL(int, rename, (const char *, const char *));
    return fails("rename", CALLER) ? -1 : real(old, new);
}

int mkdir(const char *path, mode_t mode)
{
    REAL(int, mkdir, (const char *, mode_t));
    return fails("mkdir", CALLER) ? -1 : real(path, mode);
}

DIR *opendir(const char *path)
{
    REAL(DIR *, opendir, (const char *));
    return fails("open", CALLER) ? NULL : real(path);
}

struct dirent *readdir(DIR *directory)
{
    REAL(struct dirent *, readdir, (DIR *));
    return fails("readdir", CALLER) ? NULL : real(directory);
}

size_t fwrite(const void *bytes, size_t size, size_t count, FILE *file)
{
    REAL(size_t, fwrite, (const void *, size_t, size_t, FILE *));
    return file == stdout && fails("write", CALLER) ? 0 : real(bytes, size, count, file);
}
