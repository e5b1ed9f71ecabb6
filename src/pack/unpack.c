/* unpack.c - restores the directory of a packed trial. Ranks share the files; the directory gets its name when all are
 * written. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/file.h"
#include "base/path.h"
#include "pack/pack_internal.h"

enum { PIECE = 1 << 20 };

typedef struct unpacking {
    assay_comm *comm;
    assay_store *store;
    assay_file_list list;
    const char *directory;
    char *temporary;
    int lock; /* of rank 0, on the temporary directory; -1: none */
} unpacking;

static int cannot_write(const char *path, int reason, assay_error *err)
{
    return assay_fail(err, ASSAY_EIO, "%s: cannot write: %s", path, strerror(reason));
}

static int write_bytes(int to, const char *path, const uint8_t *bytes, size_t size, assay_error *err)
{
    if (assay_fault_now(ASSAY_FAULT_WRITE))
        return cannot_write(path, EIO, err);
    for (size_t done = 0; done < size;) {
        ssize_t n = write(to, bytes + done, size - done);
        if (n < 0 && errno != EINTR)
            return cannot_write(path, errno, err);
        done += n > 0 ? (size_t)n : 0;
    }
    return ASSAY_OK;
}

/* O_EXCL: the temporary directory was empty, so a file that is there was named twice, or somebody else writes. */
static int copy_file(const unpacking *u, uint64_t i, const char *path, uint8_t *room, assay_error *err)
{
    assay_store_file *from = NULL;
    ASSAY_TRY(assay_store_open_file(u->store, assay_file_name(&u->list, i), &from, err));
    int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int status = to >= 0 ? ASSAY_OK : cannot_write(path, errno, err);
    for (uint64_t at = 0; status == ASSAY_OK && at < u->list.files[i].size;) {
        size_t got = 0;
        status = assay_store_read_at(from, at, room, PIECE, &got, err);
        ASSAY_THEN(status, write_bytes(to, path, room, got, err));
        at += got;
    }
    if (to >= 0 && close(to) != 0 && status == ASSAY_OK)
        status = cannot_write(path, errno, err);
    assay_store_close_file(from);
    return status;
}

/* Makes the directory that holds the path, unless the file before had the same: files are in byte order, so most
 * have. */
static int make_parent(const char *path, assay_buf *made, assay_error *err)
{
    size_t length = (size_t)(strrchr(path, '/') - path);
    if (made->size == length + 1 && memcmp(made->data, path, length) == 0)
        return ASSAY_OK;
    assay_buf_clear(made);
    assay_put_bytes(made, path, length);
    assay_put_u8(made, '\0');
    int status = assay_buf_status(made);
    return status == ASSAY_OK ? assay_dir_make((const char *)made->data, err) : status;
}

/* Ranks make directories at the same time. What could not be read when it was packed has no file here. */
static int copy_share(const unpacking *u, assay_error *err)
{
    int rank = assay_comm_rank(u->comm), ranks = assay_comm_size(u->comm), status = ASSAY_OK;
    uint64_t end = assay_share(u->list.count, rank + 1, ranks);
    uint8_t *room = assay_alloc(PIECE);
    assay_buf made = ASSAY_BUF(SIZE_MAX);
    if (!room)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while unpacking", u->directory);
    for (uint64_t i = assay_share(u->list.count, rank, ranks); status == ASSAY_OK && i < end; i++) {
        char *path = assay_path_join(u->temporary, assay_file_name(&u->list, i));
        uint32_t kind = u->list.files[i].kind;
        status = path ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while unpacking", u->directory);
        if (status == ASSAY_OK && kind == ASSAY_PACKED_DIRECTORY)
            status = assay_dir_make(path, err);
        if (status == ASSAY_OK && kind == ASSAY_PACKED_FILE)
            status = make_parent(path, &made, err);
        if (status == ASSAY_OK && kind == ASSAY_PACKED_FILE)
            status = copy_file(u, i, path, room, err);
        free(path);
    }
    assay_buf_release(&made);
    free(room);
    return status;
}

/* Removes what this run has written; what is not from it stays. The list goes backward, so files go before the
 * directories that hold them, and rmdir() fails where something else lies. */
static void remove_written(const unpacking *u)
{
    for (uint64_t i = u->list.count; i-- > 0;) {
        char *path = assay_path_join(u->temporary, assay_file_name(&u->list, i));
        if (!path)
            return;
        if (u->list.files[i].kind != ASSAY_PACKED_UNREADABLE)
            remove(path);
        for (char *slash = strrchr(path, '/'); slash && slash > path + strlen(u->temporary);
             slash = strrchr(path, '/')) {
            *slash = '\0';
            if (rmdir(path) != 0 &&
                errno != ENOENT) /* the disk may have been full before it was made, and not its own */
                break;
        }
        free(path);
    }
    rmdir(u->temporary);
}

/* Takes the temporary directory, which nobody else may have. What an unpacking of the same that was killed has left
 * in it goes; what else is in it does not. */
static int take_temporary(unpacking *u, assay_error *err)
{
    const bool left = access(u->temporary, F_OK) == 0;
    ASSAY_TRY(left ? ASSAY_OK : assay_dir_make(u->temporary, err));
    u->lock = open(u->temporary, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (left && (u->lock < 0 || flock(u->lock, LOCK_EX | LOCK_NB) != 0))
        return assay_fail(err, ASSAY_EUSAGE, "%s: another unpacking writes there, or has left it: %s", u->temporary,
                          strerror(errno));
    if (!left) {
        /* A file system without locks does with one unpacking at a time. */
        if (u->lock >= 0)
            (void)flock(u->lock, LOCK_EX | LOCK_NB);
        return ASSAY_OK;
    }
    remove_written(u);
    if (access(u->temporary, F_OK) == 0)
        return assay_fail(err, ASSAY_EUSAGE,
                          "%s: left by an unpacking of something else that did not finish; remove it first",
                          u->temporary);
    /* Gone by now, so the second call makes it. */
    close(u->lock);
    u->lock = -1;
    return take_temporary(u, err);
}

/* Rank 0: the place must be free, and the temporary one its own. An empty directory is free, and goes. */
static int prepare(unpacking *u, assay_error *err)
{
    if (rmdir(u->directory) != 0 && errno != ENOENT)
        return assay_fail(err, ASSAY_EUSAGE, "%s: %s; give the name of a directory that does not exist", u->directory,
                          errno == ENOTEMPTY ? "it is not empty" : strerror(errno));
    return take_temporary(u, err);
}

/* Collective. Nothing has the final name before all ranks have agreed that their files are whole. */
static int unpack(unpacking *u, assay_error *err)
{
    bool first = assay_comm_rank(u->comm) == 0;
    int status = assay_file_list_read(u->comm, u->store, &u->list, err);
    ASSAY_THEN(status, assay_comm_agree(u->comm, first ? prepare(u, err) : ASSAY_OK, err));
    ASSAY_TRY(status);
    status = copy_share(u, err);
    if (status == ASSAY_OK && assay_alloc_refused()) /* a piece may be missing, wherever that was */
        status = assay_fail(err, ASSAY_ENOMEM, "%s: not written: memory ran out while it was unpacked", u->directory);
    status = assay_comm_agree(u->comm, status, err);
    if (status == ASSAY_OK && first && rename(u->temporary, u->directory) != 0)
        status = cannot_write(u->directory, errno, err);
    if (status != ASSAY_OK && first)
        remove_written(u);
    return assay_comm_agree(u->comm, status, err);
}

/* Collective. `directory` may end with slashes, which ".part" must not come behind. */
int assay_unpack(assay_comm *comm, const char *packed, const char *directory, assay_pack_figures *out, assay_error *err)
{
    size_t length = strlen(directory);
    unpacking u = {.comm = comm, .directory = directory, .lock = -1};
    while (length > 1 && directory[length - 1] == '/')
        length--;
    u.temporary = assay_alloc(length + 6);
    if (u.temporary)
        snprintf(u.temporary, length + 6, "%.*s.part", (int)length, directory);
    int status = assay_comm_agree(comm, u.temporary ? ASSAY_OK : ASSAY_ENOMEM, err);
    ASSAY_THEN(status, assay_comm_agree(comm, assay_store_open(packed, &u.store, err), err));
    if (status == ASSAY_OK && assay_store_is_file(u.store))
        status = assay_fail(err, ASSAY_EUSAGE, "%s: not packed: give the .h5 file that `assay pack` made", packed);
    ASSAY_THEN(status, unpack(&u, err));
    if (u.lock >= 0)
        close(u.lock);
    *out = (assay_pack_figures){
        .trials = 1, .files = u.list.count, .bytes = u.list.bytes, .unreadable = u.list.unreadable};
    assay_file_list_release(&u.list);
    assay_store_close(u.store);
    free(u.temporary);
    return status;
}
