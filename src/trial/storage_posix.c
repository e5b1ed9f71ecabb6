/* storage_posix.c - trials in a directory of a file system. */
#include "trial/storage_backend.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"

/* The trial's directory, and the one below it in which files were opened last. Index files of a bucket are opened one
 * after the other: from some on that directory is open itself, and the way to it is not looked up for each. */
enum { IN_A_ROW = 8 };
typedef struct posix_root {
    int number;
    int below; /* -1: not open */
    char directory[64];
    size_t length;     /* of its path; 0: none */
    unsigned in_a_row; /* files opened in it */
} posix_root;

static int root_of(const assay_store *store)
{
    return ((const posix_root *)store->root)->number;
}

/* From where *path is to be opened; *path becomes the name there. */
static int way_to(posix_root *root, const char **path)
{
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
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode))
        return false;
    int number = open(path, O_RDONLY | O_CLOEXEC);
    bool is = number >= 0 && pread(number, begin, sizeof begin, 0) == (ssize_t)sizeof begin &&
              memcmp(begin, signature, sizeof begin) == 0;
    if (number >= 0)
        close(number);
    return is;
}

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
    for (char *slash = path ? strrchr(path, '/') : NULL; slash && slash > path && !found; slash = strrchr(path, '/')) {
        *slash = '\0';
        *length = (size_t)(slash - path);
        found = is_hdf5_file(path);
    }
    free(path);
    return found;
}

static int posix_open(assay_store *store, const char *place, assay_error *err)
{
    posix_root *root = assay_alloc_zeroed(1, sizeof *root);
    if (!root)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while opening it", store->location);
    root->below = -1;
    root->number = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root->number >= 0) {
        store->root = root;
        return ASSAY_OK;
    }
    int reason = errno;
    free(root);
    if (reason == ENOENT)
        return assay_fail(err, ASSAY_ENOTFOUND, "%s: no such directory; check the trial's path", store->location);
    if (reason == ENOTDIR)
        return assay_fail(
            err, ASSAY_ENOTFOUND,
            "%s: not a directory; a trial is the directory that holds index/, events/ and collections/, or the "
            "HDF5 file that `assay pack` made of it",
            store->location);
    return assay_fail(err, ASSAY_EIO, "%s: cannot open the directory: %s", store->location, strerror(reason));
}

static void posix_close(assay_store *store)
{
    const posix_root *root = store->root;
    if (root->below >= 0)
        close(root->below);
    close(root->number);
    free(store->root);
}

static int fail_path(const char *path, int reason, assay_error *err)
{
    if (reason == ENOENT)
        return assay_fail(err, ASSAY_ENOTFOUND, "%s: does not exist", path);
    return assay_fail(err, reason == ENOMEM ? ASSAY_ENOMEM : ASSAY_EIO, "%s: %s", path, strerror(reason));
}

/* Reads the whole directory as terminated names, one behind the other. */
static int read_names(DIR *dir, const char *directory, assay_buf *text, size_t *count, assay_error *err)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry)
            return errno ? fail_path(directory, errno, err) : ASSAY_OK;
        const char *name = entry->d_name;
        if (name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0')))
            continue;
        assay_put_bytes(text, name, strlen(name) + 1);
        if (assay_buf_status(text) != ASSAY_OK)
            return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while listing it", directory);
        ++*count;
    }
}

static int posix_list(assay_store *store, const char *directory, assay_names *out, assay_error *err)
{
    int number = openat(root_of(store), directory[0] ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (number < 0)
        return fail_path(directory, errno, err);
    DIR *dir = fdopendir(number);
    if (!dir) {
        int reason = errno;
        close(number);
        return fail_path(directory, reason, err);
    }
    assay_buf text;
    assay_buf_init(&text, SIZE_MAX / 4);
    size_t count = 0;
    int status = read_names(dir, directory, &text, &count, err);
    if (status == ASSAY_OK && assay_names_from_text((const char *)text.data, text.size, count, out) != ASSAY_OK)
        status = assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while listing it", directory);
    assay_buf_release(&text);
    closedir(dir);
    return status;
}

static int posix_exists(assay_store *store, const char *path, assay_error *err)
{
    struct stat about;
    if (fstatat(root_of(store), path, &about, 0) == 0)
        return S_ISREG(about.st_mode);
    return errno == ENOENT || errno == ENOTDIR ? 0 : fail_path(path, errno, err);
}

static int posix_stamp(assay_store *store, const char *path, assay_store_stamp *out, assay_error *err)
{
    struct stat about;
    if (fstatat(root_of(store), path, &about, 0) != 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : fail_path(path, errno, err);
    *out = (assay_store_stamp){.size = S_ISREG(about.st_mode) && about.st_size > 0 ? (uint64_t)about.st_size : 0,
                               .time = (int64_t)about.st_mtim.tv_sec * 1000000000 + about.st_mtim.tv_nsec,
                               .node = (uint64_t)about.st_ino};
    return 1;
}

static int posix_open_file(assay_store *store, const char *path, assay_store_file *file, assay_error *err)
{
    const char *name = path;
    int from = way_to(store->root, &name);
    /* Without O_NONBLOCK, opening a pipe that lies where a file should be would wait forever. */
    int number = openat(from, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (number < 0)
        return fail_path(path, errno, err);
    struct stat about;
    int status = fstat(number, &about) == 0 ? ASSAY_OK : fail_path(path, errno, err);
    if (status == ASSAY_OK && !S_ISREG(about.st_mode))
        status = assay_fail(err, ASSAY_EIO, "%s: not a regular file", path);
    if (status != ASSAY_OK) {
        close(number);
        return status;
    }
    file->number = number;
    file->size = about.st_size > 0 ? (uint64_t)about.st_size : 0;
    return ASSAY_OK;
}

static void posix_close_file(assay_store_file *file)
{
    close(file->number);
}

static int posix_read_at(assay_store_file *file, uint64_t offset, void *bytes, size_t size, size_t *got,
                         assay_error *err)
{
    /* The end is where it was when the file was opened: asking behind it would cost a call for every small file. */
    uint64_t left = offset < file->size ? file->size - offset : 0;
    size_t have = 0;
    size = size < left ? size : (size_t)left;
    while (have < size) {
        ssize_t n = pread(file->number, (char *)bytes + have, size - have, (off_t)(offset + have));
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
    .scheme = "file://",
    .open = posix_open,
    .close = posix_close,
    .list = posix_list,
    .exists = posix_exists,
    .stamp = posix_stamp,
    .open_file = posix_open_file,
    .close_file = posix_close_file,
    .read_at = posix_read_at,
};
