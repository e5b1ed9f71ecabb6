/* seal_digest.c - reads files and computes their digests. */
#include "verify/seal_digest.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/vec.h"
#include "store/storage.h"

/* A block of each file that is read at a time stays in the second cache. More threads than that wait for memory. */
enum { BLOCK = 256 << 10, THREADS_MOST = 16, LARGE = 64 << 20 };

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

/* ---- one rank's files ---- */

/* What is done to one file at a time. */
typedef struct lane {
    assay_seal_file *of; /* NULL: nothing */
    assay_store_file *file;
    uint8_t *block;
    uint64_t at;  /* bytes that were added */
    size_t have;  /* in the block */
    size_t range; /* that the next byte may lie in */
    assay_sha256 sha;
} lane;

/* The files of a rank, which its threads take one after another. */
typedef struct share {
    const char *root;
    assay_seal_file *list;
    const uint64_t *number; /* of those that are this rank's */
    size_t count;
    atomic_size_t next;
    atomic_int status; /* the first failure that ends it all */
} share;

/* Ends a file, with its digest or with what is wrong. */
static void end_file(lane *l, share *s, int status, const assay_error *err)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t sum[32];
    assay_sha256_bytes(&l->sha, sum);
    for (size_t k = 0; k < sizeof sum; k++) {
        l->of->sha256[2 * k] = digits[sum[k] >> 4];
        l->of->sha256[2 * k + 1] = digits[sum[k] & 15];
    }
    if (status != ASSAY_OK && !(l->of->failure = assay_copy_text(err->text)))
        s->status = ASSAY_ENOMEM;
    assay_store_close_file(l->file);
    l->file = NULL;
    l->of = NULL;
}

/* Begins with files until one has bytes to read. False: no file is left. */
static bool begin_file(lane *l, share *s, assay_store *store)
{
    while (!l->of) {
        const size_t i = s->next++;
        assay_error err = {""};
        if (i >= s->count || s->status != ASSAY_OK)
            return false;
        l->of = &s->list[s->number[i]];
        l->at = 0;
        l->range = 0;
        assay_sha256_init(&l->sha);
        const int status = assay_store_open_file(store, l->of->path, &l->file, &err);
        l->of->bytes = status == ASSAY_OK ? assay_store_file_size(l->file) : 0;
        if (status != ASSAY_OK || l->of->bytes == 0)
            end_file(l, s, status, &err);
    }
    return true;
}

/* Reads the next block of a file; what cannot be read ends it. */
static void read_block(lane *l, share *s)
{
    assay_error err = {""};
    size_t got = 0;
    const uint64_t left = l->of->bytes - l->at;
    l->have = left < BLOCK ? (size_t)left : BLOCK;
    int status = assay_store_read_at(l->file, l->at, l->block, l->have, &got, &err);
    if (status == ASSAY_OK && got != l->have)
        status = assay_fail(&err, ASSAY_EIO, "%s: the file became shorter while it was read", l->of->path);
    if (status != ASSAY_OK)
        end_file(l, s, status, &err);
}

/* The block's parts of the tensors' digests. */
static void add_ranges(lane *l)
{
    assay_seal_file *f = l->of;
    while (l->range < f->count && f->list[l->range].offset < l->at + l->have) {
        add_range(&f->list[l->range], l->block, l->at, l->have);
        if (f->list[l->range].offset + f->list[l->range].bytes > l->at + l->have)
            break; /* it goes on in the next block */
        l->range++;
    }
}

/* Adds a block of each file, whole ones together. */
static void add_blocks(lane *lanes, share *s)
{
    assay_sha256 *sha[ASSAY_SHA256_TOGETHER];
    const uint8_t *bytes[ASSAY_SHA256_TOGETHER];
    const assay_error none = {""};
    size_t together = 0;
    for (int k = 0; k < ASSAY_SHA256_TOGETHER; k++)
        if (lanes[k].of && lanes[k].have == BLOCK) {
            sha[together] = &lanes[k].sha;
            bytes[together++] = lanes[k].block;
        }
    assay_sha256_add_together(sha, bytes, together, BLOCK);
    for (int k = 0; k < ASSAY_SHA256_TOGETHER; k++) {
        lane *l = &lanes[k];
        if (!l->of)
            continue;
        if (l->have < BLOCK)
            assay_sha256_add(&l->sha, l->block, l->have);
        add_ranges(l);
        l->at += l->have;
        if (l->at == l->of->bytes)
            end_file(l, s, ASSAY_OK, &none);
    }
}

/* One thread: several files at a time, as long as there are some. */
static void *digest_files(void *context)
{
    share *s = context;
    assay_store *store = NULL;
    assay_error err = {""};
    lane lanes[ASSAY_SHA256_TOGETHER] = {0};
    uint8_t *blocks = assay_alloc((size_t)BLOCK * ASSAY_SHA256_TOGETHER);
    int status = blocks ? assay_store_open(s->root, &store, &err) : ASSAY_ENOMEM;
    for (bool going = status == ASSAY_OK; going;) {
        going = false;
        for (int k = 0; k < ASSAY_SHA256_TOGETHER; k++) {
            lanes[k].block = blocks + (size_t)k * BLOCK;
            if (begin_file(&lanes[k], s, store)) {
                going = true;
                read_block(&lanes[k], s);
            }
        }
        add_blocks(lanes, s);
    }
    assay_store_close(store);
    free(blocks);
    if (status != ASSAY_OK)
        s->status = status;
    return NULL;
}

/* As many threads as the rank has processors for, where the files are large and lie on this machine. */
static size_t count_threads(const share *s, int ranks)
{
    cpu_set_t own;
    assay_store *store = NULL;
    uint64_t bytes = 0;
    if (s->count < 2 || sched_getaffinity(0, sizeof own, &own) != 0 || assay_store_open(s->root, &store, NULL) != 0)
        return 1;
    const bool waits = assay_store_listing_waits(store);
    for (size_t i = 0; i < s->count && !waits && bytes < LARGE; i++) {
        uint64_t size = 0;
        if (assay_store_size_of(store, s->list[s->number[i]].path, &size, NULL) == 1)
            bytes += size;
    }
    assay_store_close(store);
    const size_t processors = (size_t)CPU_COUNT(&own) / (size_t)ranks;
    const size_t most = processors < s->count ? processors : s->count;
    return bytes < LARGE || most < 1 ? 1 : most < THREADS_MOST ? most : THREADS_MOST;
}

static int digest_all(share *s, int ranks, assay_error *err)
{
    pthread_t thread[THREADS_MOST];
    const size_t wanted = count_threads(s, ranks);
    size_t started = 0;
    while (started + 1 < wanted && pthread_create(&thread[started], NULL, digest_files, s) == 0)
        started++;
    digest_files(s);
    while (started > 0)
        pthread_join(thread[--started], NULL);
    if (s->status == ASSAY_OK)
        return ASSAY_OK;
    return assay_fail(err, s->status, s->status == ASSAY_ENOMEM ? "out of memory for digests" : "%s: cannot be opened",
                      s->root);
}

/* ---- shares ---- */

static int unpack(assay_cursor *in, assay_seal_files *files, assay_error *err)
{
    for (uint64_t left = assay_get_u64(in); left > 0; left--) {
        const uint64_t length = assay_get_u64(in);
        const char *path = (const char *)assay_get_bytes(in, (size_t)length);
        const uint64_t ranges = assay_get_u64(in);
        if (in->failed || length > ASSAY_PATH_MOST)
            return assay_fail(err, ASSAY_EINTERNAL, "the list of files is damaged");
        assay_seal_file *f = ASSAY_VEC_ADD(files);
        if (!f || !(f->path = assay_copy_bytes_as_text(path, (size_t)length)) || !ASSAY_VEC_RESERVE(f, ranges + 1))
            return assay_fail(err, ASSAY_ENOMEM, "out of memory for digests");
        for (uint64_t r = 0; r < ranges; r++) {
            const uint64_t offset = assay_get_u64(in);
            f->list[f->count++] = (assay_seal_range){.offset = offset, .bytes = assay_get_u64(in)};
        }
    }
    return ASSAY_OK;
}

/* The files of this rank's turn; each result is appended. */
static int digest_share(assay_comm *comm, const char *root, assay_cursor *in, assay_buf *out, assay_error *err)
{
    const uint64_t ranks = (uint64_t)assay_comm_size(comm);
    assay_seal_files files = {0};
    share s = {.root = root};
    int status = unpack(in, &files, err);
    uint64_t *number = status == ASSAY_OK ? assay_alloc((files.count + 1) * sizeof *number) : NULL;
    if (status == ASSAY_OK && !number)
        status = assay_fail(err, ASSAY_ENOMEM, "out of memory for digests");
    for (uint64_t i = (uint64_t)assay_comm_rank(comm); status == ASSAY_OK && i < files.count; i += ranks)
        number[s.count++] = i;
    s.list = files.list;
    s.number = number;
    if (status == ASSAY_OK && s.count > 0)
        status = digest_all(&s, (int)ranks, err);
    for (size_t i = 0; status == ASSAY_OK && i < s.count; i++) {
        const assay_seal_file *f = &files.list[number[i]];
        const size_t length = f->failure ? strlen(f->failure) : 0;
        assay_put_u64(out, number[i]);
        assay_put_u64(out, f->bytes);
        assay_put_bytes(out, f->sha256, sizeof f->sha256 - 1);
        assay_put_u64(out, length);
        assay_put_bytes(out, f->failure ? f->failure : "", length);
        for (size_t r = 0; r < f->count; r++)
            assay_put_u32(out, f->list[r].crc);
    }
    free(number);
    assay_seal_files_release(&files);
    if (status == ASSAY_OK && assay_buf_status(out) != ASSAY_OK)
        status = assay_fail(err, ASSAY_ENOMEM, "out of memory for digests");
    return status;
}

static int take(assay_seal_files *files, const assay_buf *all)
{
    assay_cursor in = assay_cursor_over(all->data, all->size);
    while (assay_cursor_left(&in) > 0) {
        const uint64_t i = assay_get_u64(&in);
        assay_seal_file *f = i < files->count ? &files->list[i] : NULL;
        if (!f)
            return ASSAY_EINTERNAL;
        f->bytes = assay_get_u64(&in);
        const char *sum = (const char *)assay_get_bytes(&in, sizeof f->sha256 - 1);
        if (sum)
            memcpy(f->sha256, sum, sizeof f->sha256 - 1);
        f->sha256[sizeof f->sha256 - 1] = '\0';
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
    ASSAY_THEN(status, assay_comm_broadcast(comm, &tasks));
    if (status == ASSAY_OK) {
        assay_cursor in = assay_cursor_over(tasks.data, tasks.size);
        status = assay_comm_agree(comm, digest_share(comm, root, &in, &mine, err), err);
    }
    ASSAY_THEN(status, assay_comm_gather(comm, 0, &mine, &all, starts));
    ASSAY_THEN(status, assay_comm_agree(comm, first ? take(files, &all) : ASSAY_OK, err));
    assay_buf_release(&tasks);
    assay_buf_release(&mine);
    assay_buf_release(&all);
    free(starts);
    return status;
}
