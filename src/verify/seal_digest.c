/* seal_digest.c - reads files and computes their digests. */
#include "verify/seal_digest.h"

#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/path.h"
#include "store/storage.h"

enum { BLOCK = 1 << 20 };

void assay_seal_files_cut(assay_seal_files *files, size_t count)
{
    while (files->count > count) {
        assay_seal_file *f = &files->list[--files->count];
        for (size_t r = 0; r < f->count; r++)
            free(f->list[r].name);
        free(f->list);
        free(f->path);
        free(f->failure);
    }
}

void assay_seal_files_release(assay_seal_files *files)
{
    assay_seal_files_cut(files, 0);
    free(files->list);
    *files = (assay_seal_files){0};
}

static void pack(const assay_seal_files *files, assay_buf *out)
{
    assay_put_u64(out, files->count);
    for (size_t i = 0; i < files->count; i++) {
        const assay_seal_file *f = &files->list[i];
        assay_put_u64(out, strlen(f->path));
        assay_put_bytes(out, f->path, strlen(f->path));
        assay_put_u64(out, f->count);
        for (size_t r = 0; r < f->count; r++) {
            assay_put_u64(out, f->list[r].offset);
            assay_put_u64(out, f->list[r].bytes);
        }
    }
}

/* Adds the part of a block that lies in a range. */
static void add_range(assay_seal_range *r, const uint8_t *block, uint64_t at, size_t size)
{
    const uint64_t from = r->offset > at ? r->offset : at;
    const uint64_t end = r->offset + r->bytes < at + size ? r->offset + r->bytes : at + size;
    if (from < end)
        r->crc = assay_crc32c(r->crc, block + (from - at), (size_t)(end - from));
}

/* Reads the file from its beginning to its end. */
static int digest_file(assay_store *store, assay_seal_file *f, uint8_t *block, uint8_t sum[32], assay_error *err)
{
    assay_store_file *file = NULL;
    assay_sha256 sha;
    size_t range = 0;
    int status = assay_store_open_file(store, f->path, &file, err);
    if (status != ASSAY_OK)
        return status;
    f->bytes = assay_store_file_size(file);
    assay_sha256_init(&sha);
    for (uint64_t at = 0; at < f->bytes && status == ASSAY_OK;) {
        size_t got = 0;
        const size_t size = f->bytes - at < BLOCK ? (size_t)(f->bytes - at) : BLOCK;
        status = assay_store_read_at(file, at, block, size, &got, err);
        if (status == ASSAY_OK && got != size)
            status = assay_fail(err, ASSAY_EIO, "%s: the file became shorter while it was read", f->path);
        if (status != ASSAY_OK)
            break;
        assay_sha256_add(&sha, block, size);
        while (range < f->count && f->list[range].offset < at + size) {
            add_range(&f->list[range], block, at, size);
            if (f->list[range].offset + f->list[range].bytes > at + size)
                break; /* it goes on in the next block */
            range++;
        }
        at += size;
    }
    assay_sha256_bytes(&sha, sum);
    assay_store_close_file(file);
    return status;
}

/* The files of this rank's turn; each result is appended. */
static int digest_share(assay_comm *comm, const char *root, assay_cursor *in, assay_buf *out, assay_error *err)
{
    const uint64_t count = assay_get_u64(in), ranks = (uint64_t)assay_comm_size(comm);
    assay_store *store = NULL;
    uint8_t *block = assay_alloc(BLOCK);
    int status = block ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "out of memory for digests");
    if (status == ASSAY_OK && count > 0)
        status = assay_store_open(root, &store, err);
    for (uint64_t i = 0; i < count && status == ASSAY_OK; i++) {
        char path[ASSAY_PATH_MOST + 1];
        const uint64_t length = assay_get_u64(in);
        const void *bytes = assay_get_bytes(in, (size_t)length);
        assay_seal_file f = {.path = path, .count = (size_t)assay_get_u64(in)};
        if (in->failed || length > ASSAY_PATH_MOST) {
            status = assay_fail(err, ASSAY_EINTERNAL, "the list of files is damaged");
            break;
        }
        memcpy(path, bytes, (size_t)length);
        path[length] = '\0';
        f.list = assay_alloc_zeroed(f.count + 1, sizeof *f.list);
        for (size_t r = 0; f.list && r < f.count; r++) {
            f.list[r].offset = assay_get_u64(in);
            f.list[r].bytes = assay_get_u64(in);
        }
        if (!f.list)
            status = assay_fail(err, ASSAY_ENOMEM, "out of memory for digests");
        uint8_t sum[32] = {0};
        assay_error what = {""};
        if (status == ASSAY_OK && i % ranks == (uint64_t)assay_comm_rank(comm)) {
            const int read = digest_file(store, &f, block, sum, &what);
            assay_put_u64(out, i);
            assay_put_u64(out, f.bytes);
            assay_put_bytes(out, sum, sizeof sum);
            assay_put_u64(out, read == ASSAY_OK ? 0 : strlen(what.text));
            assay_put_bytes(out, what.text, read == ASSAY_OK ? 0 : strlen(what.text));
            for (size_t r = 0; r < f.count; r++)
                assay_put_u32(out, f.list[r].crc);
        }
        free(f.list);
    }
    assay_store_close(store);
    free(block);
    if (status == ASSAY_OK && assay_buf_status(out) != ASSAY_OK)
        status = assay_fail(err, ASSAY_ENOMEM, "out of memory for digests");
    return status;
}

static int take(assay_seal_files *files, const assay_buf *all)
{
    static const char digits[] = "0123456789abcdef";
    assay_cursor in = assay_cursor_over(all->data, all->size);
    while (assay_cursor_left(&in) > 0) {
        const uint64_t i = assay_get_u64(&in);
        assay_seal_file *f = i < files->count ? &files->list[i] : NULL;
        if (!f)
            return ASSAY_EINTERNAL;
        f->bytes = assay_get_u64(&in);
        const uint8_t *sum = assay_get_bytes(&in, 32);
        for (size_t k = 0; sum && k < 32; k++) {
            f->sha256[2 * k] = digits[sum[k] >> 4];
            f->sha256[2 * k + 1] = digits[sum[k] & 15];
        }
        f->sha256[64] = '\0';
        const uint64_t length = assay_get_u64(&in);
        const char *text = (const char *)assay_get_bytes(&in, (size_t)length);
        if (length > 0 && !(f->failure = assay_copy_bytes_as_text(text, (size_t)length)))
            return ASSAY_ENOMEM;
        for (size_t r = 0; r < f->count; r++)
            f->list[r].crc = assay_get_u32(&in);
    }
    return in.failed ? ASSAY_EINTERNAL : ASSAY_OK;
}

int assay_seal_digest(assay_comm *comm, const char *root, assay_seal_files *files, assay_error *err)
{
    uint64_t *starts = calloc((size_t)assay_comm_size(comm) + 1, sizeof *starts);
    assay_buf tasks, mine, all;
    assay_buf_init(&tasks, SIZE_MAX);
    assay_buf_init(&mine, SIZE_MAX);
    assay_buf_init(&all, SIZE_MAX);
    const bool first = assay_comm_rank(comm) == 0;
    int status = starts ? ASSAY_OK : ASSAY_ENOMEM;
    if (status == ASSAY_OK && first) {
        pack(files, &tasks);
        status = assay_buf_status(&tasks);
    }
    status = assay_comm_agree(comm, status, err);
    if (status == ASSAY_OK)
        status = assay_comm_broadcast(comm, &tasks);
    if (status == ASSAY_OK) {
        assay_cursor in = assay_cursor_over(tasks.data, tasks.size);
        status = assay_comm_agree(comm, digest_share(comm, root, &in, &mine, err), err);
    }
    if (status == ASSAY_OK)
        status = assay_comm_gather(comm, 0, &mine, &all, starts);
    if (status == ASSAY_OK)
        status = assay_comm_agree(comm, first ? take(files, &all) : ASSAY_OK, err);
    assay_buf_release(&tasks);
    assay_buf_release(&mine);
    assay_buf_release(&all);
    free(starts);
    return status;
}
