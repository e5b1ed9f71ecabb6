/* walk.c - what listing a directory tree and reading all its files costs at least: readdir(), and open(), read() and
 * close() of each file, into one buffer.
 *
 *     walk DIR */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 1 << 16 };

typedef struct walked {
    unsigned long long files, bytes;
    char buffer[BUFFER];
} walked;

static int fail(const char *name)
{
    perror(name);
    return 2;
}

static int read_file(int directory, const char *name, walked *w)
{
    ssize_t size;
    int file = openat(directory, name, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return fail(name);
    while ((size = read(file, w->buffer, BUFFER)) > 0)
        w->bytes += (unsigned long long)size;
    close(file);
    w->files++;
    return size < 0 ? fail(name) : 0;
}

static int walk(int directory, walked *w)
{
    DIR *names = fdopendir(directory);
    int status = 0;
    if (!names)
        return fail("fdopendir");
    for (const struct dirent *entry; status == 0 && (entry = readdir(names)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (entry->d_type == DT_DIR) {
            int below = openat(directory, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            status = below < 0 ? fail(entry->d_name) : walk(below, w);
        } else {
            status = read_file(directory, entry->d_name, w);
        }
    }
    closedir(names);
    return status;
}

int main(int argc, char **argv)
{
    static walked w;
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    int directory = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (directory < 0 || walk(directory, &w) != 0) {
        fprintf(stderr, "usage: walk DIR\n");
        return 2;
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    double seconds = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    printf("walk: %.3f s, %llu files, %.3f GB\n", seconds, w.files, 1e-9 * (double)w.bytes);
    return 0;
}
