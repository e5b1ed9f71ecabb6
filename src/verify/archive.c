/* archive.c - goes through zip files, tar files and pickles, and archives within them. */
#include "verify/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/path.h"
#include "container/inflate.h"
#include "container/tar.h"
#include "container/zip.h"

enum { MAGIC = ASSAY_TAR_BLOCK, DEPTH_MOST = 4, TAR_MEMBERS_MOST = 1 << 16 };

/* A range of a file, or bytes in memory. */
typedef struct source {
    assay_store_file *file; /* NULL: in memory */
    const uint8_t *bytes;
    uint64_t base, size;
    const char *path;
} source;

typedef struct walk {
    const assay_archive_visitor *visitor;
    char where[512]; /* names of the entries on the way, joined by "!" */
    int depth;
} walk;

static int read_source(void *context, uint64_t at, void *bytes, size_t size, assay_error *err)
{
    const source *s = context;
    size_t got = 0;
    if (at > s->size || size > s->size - at)
        return assay_fail(err, ASSAY_EFORMAT, "%s: it ends early", s->path);
    if (!s->file) {
        memcpy(bytes, s->bytes + at, size);
        return ASSAY_OK;
    }
    const int status = assay_store_read_at(s->file, s->base + at, bytes, size, &got, err);
    return status == ASSAY_OK && got != size
               ? assay_fail(err, ASSAY_EIO, "%s: the file became shorter while it was read", s->path)
               : status;
}

static int look(const source *s, walk *w, assay_error *err);

/* ---- pickles ---- */

/* Of a pickle that is larger than memory the first part is looked at: a loader runs from its beginning. */
static int look_at_pickle(const source *s, walk *w, assay_error *err)
{
    const uint64_t size = s->size < w->visitor->most ? s->size : w->visitor->most;
    uint8_t *bytes = assay_alloc(size ? (size_t)size : 1);
    assay_loading *found = assay_alloc_zeroed(1, sizeof *found);
    int status = bytes && found ? read_source((void *)s, 0, bytes, (size_t)size, err)
                                : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", s->path);
    if (status == ASSAY_OK)
        status = assay_loading_scan(bytes, (size_t)size, found);
    if (status == ASSAY_OK && found->grade > ASSAY_LOADING_DATA)
        status = w->visitor->loading(w->visitor->context, w->where, found);
    free(bytes);
    free(found);
    return status;
}

/* ---- zip files ---- */

static bool is_pickle_name(const char *name)
{
    return assay_path_ends(name, ".pkl") || assay_path_ends(name, ".pickle");
}

/* An entry as a file by itself: stored ones where they lie, others in memory. */
static int look_at_entry(const source *s, const assay_zip_entry *e, const char *name, walk *w, assay_error *err)
{
    uint8_t head[MAGIC], *whole = NULL;
    source inner = {.file = s->file,
                    .bytes = s->file ? NULL : s->bytes + e->data,
                    .base = s->base + e->data,
                    .size = e->size,
                    .path = s->path};
    int status = ASSAY_OK;
    if (e->size < 2 || w->depth >= DEPTH_MOST)
        return ASSAY_OK;
    if (e->method != ASSAY_ZIP_STORED) {
        if (e->size > w->visitor->most || e->compressed > w->visitor->most)
            return ASSAY_OK;
        status = assay_inflate_whole(read_source, (void *)s, s->path, e->data, e->compressed,
                                     (assay_zip_method)e->method, e->size, &whole, err);
        if (status != ASSAY_OK)
            return status == ASSAY_ENOMEM || status == ASSAY_EIO ? status : ASSAY_OK;
        inner = (source){.bytes = whole, .size = e->size, .path = s->path};
    }
    const size_t size = inner.size < MAGIC ? (size_t)inner.size : MAGIC;
    status = read_source(&inner, 0, head, size, err);
    const bool archive = size >= 4 && memcmp(head, "PK\3\4", 4) == 0;
    const size_t length = strlen(w->where);
    if (status == ASSAY_OK && (archive || is_pickle_name(name) || assay_loading_is_pickle(head, size))) {
        snprintf(w->where + length, sizeof w->where - length, "%s%s", length ? "!" : "", name);
        w->depth++;
        status = archive ? look(&inner, w, err) : look_at_pickle(&inner, w, err);
        w->depth--;
        w->where[length] = '\0';
    }
    free(whole);
    return status;
}

static int look_at_zip(const source *s, walk *w, assay_error *err)
{
    assay_zip zip = {0};
    int status = assay_zip_open(read_source, (void *)s, s->size, s->path, &zip, err);
    if (status != ASSAY_OK)
        return status == ASSAY_EFORMAT || status == ASSAY_EUNSUPPORTED ? ASSAY_OK : status;
    for (uint32_t i = 0; i < assay_dict_count(zip.names) && status == ASSAY_OK; i++) {
        const assay_zip_entry *e = &zip.entry[i];
        const char *name = assay_dict_name(zip.names, i, NULL);
        if (e->crc != 0 && e->size > 0 && s->file)
            status = w->visitor->sum(w->visitor->context, &(assay_entry_sum){.offset = s->base + e->data,
                                                                             .stored = e->compressed,
                                                                             .size = e->size,
                                                                             .crc = e->crc,
                                                                             .method = e->method,
                                                                             .name = name});
        if (status == ASSAY_OK)
            status = look_at_entry(s, e, name, w, err);
    }
    assay_zip_release(&zip);
    return status;
}

/* ---- tar files ---- */

static int look_at_tar(const source *s, walk *w, assay_error *err)
{
    uint64_t at = 0;
    assay_tar_entry e;
    int status = ASSAY_OK, more = 1;
    for (int i = 0; i < TAR_MEMBERS_MOST && status == ASSAY_OK && more == 1; i++) {
        more = assay_tar_next(read_source, (void *)s, s->size, &at, &e, err);
        if (more != 1 || e.size < 2 || !e.file || w->depth >= DEPTH_MOST)
            continue;
        const source inner = {.file = s->file,
                              .bytes = s->file ? NULL : s->bytes + e.offset,
                              .base = s->base + e.offset,
                              .size = e.size,
                              .path = s->path};
        const size_t length = strlen(w->where);
        snprintf(w->where + length, sizeof w->where - length, "%s%s", length ? "!" : "", e.name);
        w->depth++;
        status = look(&inner, w, err);
        w->depth--;
        w->where[length] = '\0';
    }
    return more < 0 ? more : status;
}

/* ---- any of them ---- */

/* Files that torch.load or pickle.load may be given: their first bytes may be those of an old pickle, which has no
 * protocol in front. */
static bool may_be_pickle(const char *path)
{
    static const char *const ends[] = {".pkl", ".pickle", ".pt", ".pth", ".bin", ".ckpt", ".joblib", ".dat"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (assay_path_ends(path, ends[i]))
            return true;
    return false;
}

static int look(const source *s, walk *w, assay_error *err)
{
    uint8_t head[MAGIC] = {0};
    const size_t size = s->size < MAGIC ? (size_t)s->size : MAGIC;
    const int status = read_source((void *)s, 0, head, size, err);
    if (status != ASSAY_OK || size < 2)
        return status;
    if (size >= 4 && memcmp(head, "PK\3\4", 4) == 0)
        return look_at_zip(s, w, err);
    if (assay_is_tar(head, size))
        return look_at_tar(s, w, err);
    if (assay_loading_is_pickle(head, size) || may_be_pickle(s->path))
        return look_at_pickle(s, w, err);
    return ASSAY_OK;
}

int assay_archive_walk(assay_store_file *file, const char *path, uint64_t offset, uint64_t length,
                       const assay_archive_visitor *visitor, assay_error *err)
{
    const uint64_t size = assay_store_file_size(file);
    walk w = {.visitor = visitor};
    if (offset > size)
        return ASSAY_OK;
    const source s = {
        .file = file, .base = offset, .size = length < size - offset ? length : size - offset, .path = path};
    return look(&s, &w, err);
}
