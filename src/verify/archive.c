/* archive.c - goes through zip files, tar files, packed files, arrays of objects and pickles, and what lies within them. */
#include "verify/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/json_pull.h"
#include "container/suffixes.h"
#include "container/inflate.h"
#include "container/npy_head.h"
#include "container/tar.h"
#include "container/zip.h"

enum {
    MAGIC = ASSAY_TAR_BLOCK,
    DEPTH_MOST = 4,
    TAR_MEMBERS_MOST = 1 << 16,
    TEXT_MOST = 1 << 20,
    UNPACK_FIRST = 1 << 16,
    TAIL = 65557 /* as far back as the end of a zip file may lie, for a comment stands behind it */
};

/* A range of a file, or bytes in memory. */
typedef struct source {
    assay_store_file *file; /* NULL: in memory */
    const uint8_t *bytes;
    uint64_t base, size;
    const char *path;
    bool partial; /* there is more of it, which could not be unpacked */
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

/* Says that something on the way was not looked at, or only in part. */
static int leave(const walk *w, const char *what, bool beside)
{
    return w->visitor->unseen(w->visitor->context, w->where, what, beside);
}

/* ---- what it is ---- */

/* What may hold a pickle. NAMED: its name says so; PERHAPS: nothing says that it is none; CLOSED: packed in a way that is
 * not unpacked. */
typedef enum content { NOTHING, ZIP, TAR, ARRAY, PICKLE, NAMED, PERHAPS, GZIP, ZLIB, ZSTD, CLOSED } content;

static content kind_of(const uint8_t *head, size_t size, const char *path)
{
    static const struct {
        const char *magic;
        size_t size;
        content kind;
    } known[] = {{"PK\3\4", 4, ZIP},
                 {"\x93NUMPY", 6, ARRAY},
                 {"\x1f\x8b\x08", 3, GZIP},
                 {"\x28\xb5\x2f\xfd", 4, ZSTD},
                 {"\x04\x22\x4d\x18", 4, CLOSED}, /* LZ4 */
                 {"\x5d\0\0", 3, CLOSED},         /* LZMA */
                 {"BZh", 3, CLOSED},
                 {"\xfd\x37zXZ", 5, CLOSED}};
    if (size < 2)
        return NOTHING;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (size >= known[i].size && memcmp(head, known[i].magic, known[i].size) == 0)
            return known[i].kind;
    if (assay_is_tar(head, size))
        return TAR;
    if (assay_loading_is_pickle(head, size))
        return PICKLE;
    if (head[0] == 0x78 && (head[0] * 256 + head[1]) % 31 == 0)
        return ZLIB;
    const unsigned kinds = assay_suffix_kinds(path);
    /* the first bytes may be those of an old pickle, which has no protocol in front */
    return kinds & ASSAY_SUFFIX_LOADED ? NAMED : kinds & ASSAY_SUFFIX_DATA ? NOTHING : PERHAPS;
}

static int look_at(const source *s, content kind, walk *w, assay_error *err);
static int look_at_serialized(const source *s, walk *w, assay_error *err);

/* Looks at the bytes as at a file by itself, one step further inside. */
static int look_inside(const source *s, const char *name, walk *w, assay_error *err)
{
    uint8_t head[MAGIC] = {0};
    const size_t size = s->size < MAGIC ? (size_t)s->size : MAGIC, length = strlen(w->where);
    int status = read_source((void *)s, 0, head, size, err);
    const content kind = status == ASSAY_OK ? kind_of(head, size, name) : NOTHING;
    const bool text = (kind == NOTHING || kind == PERHAPS) && size > 0 && head[0] == '{';
    if ((kind == NOTHING || kind == PERHAPS) && !text)
        return status;
    snprintf(w->where + length, sizeof w->where - length, "%s%s", length && *name ? "!" : "", name);
    w->depth++;
    status = w->depth > DEPTH_MOST ? leave(w, "it lies too deep in archives within archives", true)
             : text                ? look_at_serialized(s, w, err)
                                   : look_at(s, kind, w, err);
    w->depth--;
    w->where[length] = '\0';
    return status;
}

/* ---- pickles ---- */

/* In [from, size) of the bytes, which stand at `base` of what is looked at. */
static int hunt(const uint8_t *bytes, size_t from, size_t size, uint64_t base, const walk *w, assay_loading *found)
{
    const size_t kept = found->kept;
    const int status = from < size ? assay_loading_hunt(bytes + from, size - from, w->visitor->most, found) : ASSAY_OK;
    for (size_t i = kept; i < found->kept; i++)
        found->list[i].offset += base + from;
    return status;
}

/* What lies at the end of it, behind its pickles: who appends one leaves the rest as it was. */
static int hunt_tail(const source *s, uint64_t from, walk *w, assay_loading *found, assay_error *err)
{
    const uint64_t begin = s->size > TAIL && s->size - TAIL > from ? s->size - TAIL : from;
    const size_t size = begin < s->size ? (size_t)(s->size - begin) : 0;
    uint8_t *bytes = size > 0 ? assay_alloc(size) : NULL;
    if (size == 0)
        return ASSAY_OK;
    int status = bytes ? read_source((void *)s, begin, bytes, size, err)
                       : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", s->path);
    ASSAY_THEN(status, hunt(bytes, 0, size, begin, w, found));
    free(bytes);
    return status;
}

/* Of a pickle that is larger than memory the first part is looked at: a loader runs from its beginning. Of what may be a
 * text counts only what runs code. */
static int look_at_pickle(const source *s, content kind, walk *w, assay_error *err)
{
    const uint64_t most = kind == PERHAPS ? TEXT_MOST : w->visitor->most, size = s->size < most ? s->size : most;
    uint8_t *bytes = assay_alloc(size ? (size_t)size : 1);
    assay_loading *found = assay_alloc_zeroed(1, sizeof *found);
    int status = bytes && found ? read_source((void *)s, 0, bytes, (size_t)size, err)
                                : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", s->path);
    ASSAY_THEN(status, assay_loading_scan(bytes, (size_t)size, w->visitor->most, found));
    if (status == ASSAY_OK && found->broken &&
        found->grade < ASSAY_LOADING_CODE) /* joblib writes elements among opcodes */
        status = hunt(bytes, (size_t)found->end, (size_t)size, 0, w, found);
    if (status == ASSAY_OK && kind == PICKLE && found->grade < ASSAY_LOADING_CODE)
        status = hunt_tail(s, found->end, w, found, err);
    if (status == ASSAY_OK && found->grade > (kind == PERHAPS ? ASSAY_LOADING_CLASSES : ASSAY_LOADING_DATA))
        status = w->visitor->loading(w->visitor->context, w->where, found);
    if (status == ASSAY_OK && kind != PERHAPS && found->grade < ASSAY_LOADING_CODE &&
        (found->full || (kind == PICKLE && found->cut && (size < s->size || s->partial))))
        status = leave(w, "there is not the memory to look at all of its pickle: give more by --memory", false);
    free(bytes);
    free(found);
    return status;
}

/* An array of NumPy: a pickle stands behind its header, where its elements are objects, or have some. Of elements that are
 * read as numbers nobody takes any for a pickle. */
static int look_at_array(const source *s, walk *w, assay_error *err)
{
    enum { BEFORE = 12 }; /* magic, version, length */
    uint8_t head[BEFORE] = {0};
    char *text = NULL;
    if (s->size < BEFORE)
        return ASSAY_OK;
    int status = read_source((void *)s, 0, head, BEFORE, err);
    const size_t wide = head[6] > 1 ? 4 : 2, begin = 8 + wide;
    uint64_t length = 0;
    for (size_t i = 0; i < wide; i++)
        length |= (uint64_t)head[8 + i] << 8 * i;
    if (status != ASSAY_OK || length > ASSAY_NPY_HEADER || length > s->size - begin)
        return status;
    text = assay_alloc((size_t)length + 1);
    status = text ? read_source((void *)s, begin, text, (size_t)length, err)
                  : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", s->path);
    assay_npy_head read = {0};
    assay_error what = {""};
    size_t at = 0;
    const bool objects = status == ASSAY_OK && assay_npy_is_objects(text, (size_t)length),
               numbers =
                   status == ASSAY_OK && assay_npy_head_read(text, (size_t)length, NULL, &read, &at, &what) == ASSAY_OK;
    free(text);
    if (status != ASSAY_OK || numbers)
        return status;
    source rest = *s;
    rest.base += begin + length;
    rest.bytes = s->bytes ? s->bytes + begin + length : NULL;
    rest.size -= begin + length;
    return look_at_pickle(&rest, objects ? PICKLE : NAMED, w, err);
}

/* The value of a digit of base64; -1: it is none. */
static int digit_of(uint8_t c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

/* Decodes base64 as Python does: what is no digit is passed over. How many bytes. */
static size_t decode(const char *text, size_t size, uint8_t *out)
{
    uint32_t bits = 0;
    size_t made = 0;
    unsigned have = 0;
    for (size_t at = 0; at < size; at++) {
        const int digit = digit_of((uint8_t)text[at]);
        if (digit < 0)
            continue;
        bits = (bits << 6 | (uint32_t)digit) & 0xffffff;
        have += 6;
        if (have >= 8) {
            have -= 8;
            out[made++] = (uint8_t)(bits >> have);
        }
    }
    return made;
}

static int look_at_base64(const source *s, const char *text, size_t size, walk *w, assay_error *err)
{
    uint8_t *bytes = assay_alloc(size ? size : 1);
    if (!bytes)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", s->path);
    const source inner = {.bytes = bytes, .size = decode(text, size, bytes), .path = s->path};
    const int status = inner.size >= 2 ? look_inside(&inner, "serialized.pkl", w, err) : ASSAY_OK;
    free(bytes);
    return status;
}

/* JSON in which stable-baselines3 keeps objects as pickles in base64: {"policy": {":serialized:": "gAWV..."}}. Its strings
 * are gone through, escapes undone. */
static int look_at_serialized(const source *s, walk *w, assay_error *err)
{
    static const char KEY[] = ":serialized:";
    const size_t most = (size_t)(w->visitor->most / 4), size = s->size < most ? (size_t)s->size : most;
    uint8_t *bytes = assay_alloc(size ? size : 1);
    assay_pull json = {.loose = true};
    bool any = false, named = false; /* the string before was the key */
    int status = bytes ? read_source((void *)s, 0, bytes, size, err)
                       : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", s->path);
    assay_pull_start(&json, bytes, status == ASSAY_OK ? size : 0);
    while (status == ASSAY_OK && assay_pull_peek(&json) != '\0' && !json.fault) {
        const char *text = NULL;
        size_t length = 0;
        if (*json.at != '"') {
            named = named && *json.at == ':';
            json.at++;
            continue;
        }
        if (!assay_pull_string(&json, &text, &length))
            break;
        if (named)
            status = look_at_base64(s, text, length, w, err);
        named = length == sizeof KEY - 1 && memcmp(text, KEY, length) == 0;
        any = any || named;
    }
    if (status == ASSAY_OK && json.no_memory)
        status = assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", s->path);
    if (status == ASSAY_OK && any && (json.fault || json.at < json.end || size < s->size))
        status = leave(w, "JSON of which a part was not looked at, with pickles in it", true);
    assay_pull_release(&json);
    free(bytes);
    return status;
}

/* ---- packed bytes ---- */

typedef struct unpacked {
    uint8_t *bytes;
    size_t size, room;
    uint64_t end; /* of what was used of the source */
} unpacked;

/* Packed bytes [at, end) of a source. */
typedef struct packed {
    assay_zip_method method;
    uint64_t at, end;
} packed;

/* Appends what is packed there, up to `most` bytes of all. */
static int unpack(const source *s, const packed *p, uint64_t most, unpacked *out, assay_error *err)
{
    const assay_packed_source from = {read_source, (void *)s, s->path};
    assay_inflater *inflater = assay_inflater_new(p->method, p->at, p->end);
    assay_error why = {""};
    size_t got = 1;
    int status = inflater ? ASSAY_OK : ASSAY_ENOMEM;
    while (status == ASSAY_OK && got > 0 && out->size < most) {
        if (out->size == out->room) {
            size_t room = out->room ? 2 * out->room : UNPACK_FIRST;
            room = room < most ? room : (size_t)most;
            uint8_t *grown = assay_realloc_array(out->bytes, room, 1);
            if (!grown) {
                status = ASSAY_ENOMEM;
                break;
            }
            out->bytes = grown;
            out->room = room;
        }
        status = assay_inflater_some(inflater, &from, out->bytes + out->size, out->room - out->size, &got, &why);
        out->size += got;
    }
    out->end = inflater && status == ASSAY_OK ? assay_inflater_at(inflater) : p->end;
    assay_inflater_free(inflater);
    /* what is damaged is named by whoever needs it; the bytes before that may be loaded */
    return status == ASSAY_ENOMEM || status == ASSAY_EIO ? assay_fail(err, status, "%s", why.text) : ASSAY_OK;
}

/* What was unpacked, as a file by itself. Takes the bytes. */
static int look_at_unpacked(const source *s, unpacked *u, const char *name, walk *w, assay_error *err)
{
    const bool partial = u->size == w->visitor->most;
    const source inner = {.bytes = u->bytes, .size = u->size, .path = s->path, .partial = partial};
    int status = u->size >= 2 ? look_inside(&inner, name, w, err) : ASSAY_OK;
    if (status == ASSAY_OK && partial)
        status = leave(w, "only the first part of what is packed in it was looked at", true);
    free(u->bytes);
    return status;
}

/* What is packed, as a file by itself. */
static int look_at_packed(const source *s, const packed *p, const char *name, walk *w, assay_error *err)
{
    unpacked u = {0};
    const int status = unpack(s, p, w->visitor->most, &u, err);
    if (status == ASSAY_OK)
        return look_at_unpacked(s, &u, name, w, err);
    free(u.bytes);
    return status;
}

/* Where the bytes of a member begin that begins at `at`; 0: none begins there. */
static int find_member(const source *s, uint64_t at, uint64_t *out, assay_error *err)
{
    enum { BEFORE = 10, EXTRA = 4, NAME = 8, COMMENT = 16, HEAD_SUM = 2 };
    uint8_t head[MAGIC] = {0};
    const size_t size = s->size - at < MAGIC ? (size_t)(s->size - at) : MAGIC;
    size_t in = BEFORE;
    const int status = size > BEFORE ? read_source((void *)s, at, head, size, err) : ASSAY_OK;
    *out = 0;
    if (status != ASSAY_OK || size <= BEFORE || memcmp(head, "\x1f\x8b\x08", 3) != 0)
        return status;
    if (head[3] & EXTRA)
        in += 2 + (size_t)head[BEFORE] + 256 * (size_t)head[BEFORE + 1];
    for (int texts = !!(head[3] & NAME) + !!(head[3] & COMMENT); texts > 0 && in < size; texts--, in++)
        while (in < size && head[in])
            in++;
    in += head[3] & HEAD_SUM ? 2 : 0;
    *out = in < size ? at + in : 0;
    return ASSAY_OK;
}

/* Members behind one another are one file. */
static int look_at_gzip(const source *s, walk *w, assay_error *err)
{
    enum { BEHIND = 8 }; /* a member's bytes: their sum and how many */
    unpacked u = {0};
    uint64_t at = 0, begin = 0;
    int status = find_member(s, 0, &begin, err);
    const bool known = begin > 0;
    while (status == ASSAY_OK && begin > 0 && u.size < w->visitor->most) {
        status = unpack(s, &(packed){ASSAY_ZIP_DEFLATED, begin, s->size}, w->visitor->most, &u, err);
        at = u.end + BEHIND;
        begin = 0;
        if (status == ASSAY_OK && at < s->size)
            status = find_member(s, at, &begin, err);
    }
    if (status == ASSAY_OK && known)
        return look_at_unpacked(s, &u, "packed.pkl", w, err);
    free(u.bytes);
    return status == ASSAY_OK ? leave(w, "its head is longer than gzip writes one", true) : status;
}

/* ---- zip files ---- */

/* An entry as a file by itself: stored ones where they lie, others in memory. */
static int look_at_entry(const source *s, const assay_zip_entry *e, const char *name, walk *w, assay_error *err)
{
    if (e->size < 2)
        return ASSAY_OK;
    if (e->method != ASSAY_ZIP_STORED)
        return look_at_packed(s, &(packed){(assay_zip_method)e->method, e->data, e->data + e->compressed}, name, w,
                              err);
    const source inner = {.file = s->file,
                          .bytes = s->file ? NULL : s->bytes + e->data,
                          .base = s->base + e->data,
                          .size = e->size,
                          .path = s->path};
    return look_inside(&inner, name, w, err);
}

/* A zip file whose directory is not read: a loader may take it for what it finds in it. Opcodes are looked for in its
 * bytes, for torch stores its pickles as they are. */
static int look_at_bytes(const source *s, walk *w, assay_error *err)
{
    const uint64_t size = s->size < w->visitor->most ? s->size : w->visitor->most;
    uint8_t *bytes = assay_alloc(size ? (size_t)size : 1);
    assay_loading *found = assay_alloc_zeroed(1, sizeof *found);
    int status = bytes && found ? read_source((void *)s, 0, bytes, (size_t)size, err)
                                : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", s->path);
    ASSAY_THEN(status, hunt(bytes, 0, (size_t)size, 0, w, found));
    if (status == ASSAY_OK && found->grade < ASSAY_LOADING_CODE)
        status = hunt_tail(s, size, w, found, err);
    ASSAY_THEN(status,
               found->grade == ASSAY_LOADING_CODE
                   ? w->visitor->loading(w->visitor->context, w->where, found)
                   : leave(w, "a zip file that is not read, and of what is packed in it nothing was looked at", true));
    free(bytes);
    free(found);
    return status;
}

static int look_at_zip(const source *s, walk *w, assay_error *err)
{
    assay_zip zip = {0};
    int status = assay_zip_open(read_source, (void *)s, s->size, s->path, &zip, err);
    if (status == ASSAY_EFORMAT || status == ASSAY_EUNSUPPORTED)
        return look_at_bytes(s, w, err);
    for (uint32_t i = 0; status == ASSAY_OK && i < assay_dict_count(zip.names); i++) {
        const assay_zip_entry *e = &zip.entry[i];
        const char *name = assay_dict_name(zip.names, i, NULL);
        if (e->crc != 0 && e->size > 0 && s->file)
            status = w->visitor->sum(w->visitor->context, &(assay_entry_sum){.offset = s->base + e->data,
                                                                             .stored = e->compressed,
                                                                             .size = e->size,
                                                                             .crc = e->crc,
                                                                             .method = e->method,
                                                                             .name = name});
        ASSAY_THEN(status, look_at_entry(s, e, name, w, err));
    }
    assay_zip_release(&zip);
    return status;
}

/* ---- tar files ---- */

static int look_at_tar(const source *s, walk *w, assay_error *err)
{
    uint64_t at = 0;
    assay_tar_entry e;
    int status = ASSAY_OK, more = 1, i = 0;
    for (; i < TAR_MEMBERS_MOST && status == ASSAY_OK && more == 1; i++) {
        more = assay_tar_next(read_source, (void *)s, s->size, &at, &e, err);
        if (more != 1 || e.size < 2 || !e.file)
            continue;
        const source inner = {.file = s->file,
                              .bytes = s->file ? NULL : s->bytes + e.offset,
                              .base = s->base + e.offset,
                              .size = e.size,
                              .path = s->path};
        status = look_inside(&inner, e.name, w, err);
    }
    if (status == ASSAY_OK && more == 1 && i == TAR_MEMBERS_MOST)
        status = leave(w, "it has more members than are looked at", true);
    return more < 0 ? more : status;
}

/* ---- any of them ---- */

static int look_at(const source *s, content kind, walk *w, assay_error *err)
{
    switch (kind) {
    case ZIP:
        return look_at_zip(s, w, err);
    case TAR:
        return look_at_tar(s, w, err);
    case ARRAY:
        return look_at_array(s, w, err);
    case GZIP:
        return look_at_gzip(s, w, err);
    case ZLIB:
        return look_at_packed(s, &(packed){ASSAY_ZIP_DEFLATED, 2, s->size}, "packed.pkl", w, err);
    case ZSTD:
        return look_at_packed(s, &(packed){ASSAY_ZIP_ZSTD, 0, s->size}, "packed.pkl", w, err);
    case CLOSED:
        return leave(w, "it is packed in a way that is not unpacked here, and what lies in it was not looked at", true);
    case NOTHING:
        return ASSAY_OK;
    default:
        return look_at_pickle(s, kind, w, err);
    }
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
    uint8_t head[MAGIC] = {0};
    const size_t first = s.size < MAGIC ? (size_t)s.size : MAGIC;
    const int status = read_source((void *)&s, 0, head, first, err);
    return status == ASSAY_OK ? look_at(&s, kind_of(head, first, path), &w, err) : status;
}

int assay_archive_walk_tail(assay_store_file *file, const char *path, const assay_archive_visitor *visitor,
                            assay_error *err)
{
    enum { END = 22 };
    const uint64_t size = assay_store_file_size(file), from = size > TAIL ? size - TAIL : 0;
    const source s = {.file = file, .size = size, .path = path};
    const size_t have = (size_t)(size - from);
    uint8_t magic[4] = {0}, *bytes = NULL;
    assay_loading *found = NULL;
    int status = have > END ? read_source((void *)&s, 0, magic, sizeof magic, err) : ASSAY_OK;
    if (status != ASSAY_OK || have <= END || memcmp(magic, "PK\3\4", sizeof magic) != 0)
        return status;
    bytes = assay_alloc(have);
    found = assay_alloc_zeroed(1, sizeof *found);
    status = bytes && found ? read_source((void *)&s, from, bytes, have, err)
                            : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", path);
    size_t at = have - END;
    while (status == ASSAY_OK && at > 0 && memcmp(bytes + at, "PK\5\6", 4) != 0)
        at--;
    if (status == ASSAY_OK && at > 0)
        status = assay_loading_hunt(bytes + at, have - at, visitor->most, found);
    if (status == ASSAY_OK && found->grade == ASSAY_LOADING_CODE) {
        for (size_t i = 0; i < found->kept; i++)
            found->list[i].offset += from + at;
        status = visitor->loading(visitor->context, "", found);
    } else if (status == ASSAY_OK && at > 0 && at + END + (bytes[at + END - 2] | bytes[at + END - 1] << 8) < have) {
        char what[96];
        snprintf(what, sizeof what, "%zu bytes stand behind its end, which no loader reads",
                 have - at - END - (size_t)(bytes[at + END - 2] | bytes[at + END - 1] << 8));
        status = visitor->unseen(visitor->context, "", what, true);
    }
    free(bytes);
    free(found);
    return status;
}
