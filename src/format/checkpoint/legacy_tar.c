/* legacy_tar.c - reads a torch file of 0.1, a tar file of:
 *
 *   sys_info   a pickle of the machine's facts
 *   storages   their number; of each a pickle (key, location, class), the number of elements (8 bytes), the elements;
 *              then a list of views (key, key of the whole, first element, elements)
 *   tensors    their number; of each a pickle (key, storage's key, class), dimensions (4 bytes and 4 of padding), shape
 *              and strides (8 bytes each), the first element (8 bytes)
 *   pickle     the content, in which a tensor is its key
 *
 * The storages become entries of a zip file's directory that nobody wrote, as those of legacy.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/vec.h"
#include "container/tar.h"
#include "format/checkpoint/legacy.h"
#include "format/checkpoint/torch.h"
#include "format/checkpoint/walk.h"

typedef struct reading {
    assay_ckpt_file *file;
    assay_tar_entry storages, tensors, pickle, facts;
    bool swapped;
    uint64_t at, end;               /* of the stream under way */
    assay_dict *keys;               /* of storages, by number of the entry */
    ASSAY_VEC(assay_zip_entry) all; /* storages */
    ASSAY_VEC(int) dtypes;          /* of these */
    assay_torch_given given;
    assay_error *err;
} reading;

static int damaged(reading *r, const char *what)
{
    return assay_fail(r->err, ASSAY_EFORMAT, "%s", what);
}

static int read_number(reading *r, size_t width, int64_t *out)
{
    uint8_t bytes[8];
    if (r->end - r->at < width)
        return damaged(r, "the file ends early");
    const int status = assay_ckpt_read(r->file, r->at, bytes, width, r->err);
    uint64_t sum = 0;
    for (size_t i = width; i-- > 0;)
        sum = sum << 8 | bytes[i];
    *out = width == 4 ? (int32_t)(uint32_t)sum : (int64_t)sum;
    r->at += width;
    return status;
}

/* The next pickle of the stream; release it and free the bytes in any case. */
static int read_pickle(reading *r, assay_pickle *out, uint8_t **bytes)
{
    const int status = assay_ckpt_read_pickle(r->file, &r->at, r->end, out, bytes, r->err);
    return status == ASSAY_OK && r->at > r->end ? damaged(r, "the file ends early") : status;
}

static int read_count(reading *r, int64_t *out)
{
    assay_pickle p = {0};
    uint8_t *bytes = NULL;
    int status = read_pickle(r, &p, &bytes);
    *out = 0;
    if (status == ASSAY_OK && p.node[p.root].kind == ASSAY_PICKLE_INT)
        *out = p.node[p.root].integer;
    else if (status == ASSAY_OK)
        status = damaged(r, "a count is no number");
    assay_pickle_release(&p);
    free(bytes);
    return status;
}

/* A key, which is a number or its digits, as text. */
static bool put_key(const assay_pickle *p, uint32_t node, char out[64])
{
    if (node == ASSAY_PICKLE_NOTHING)
        return false;
    const assay_pickle_node *n = &p->node[node];
    if (n->kind == ASSAY_PICKLE_INT)
        snprintf(out, 64, "%lld", (long long)n->integer);
    else if (n->kind == ASSAY_PICKLE_TEXT && n->size < 64)
        snprintf(out, 64, "%.*s", (int)n->size, (const char *)p->bytes + n->a);
    else
        return false;
    return true;
}

static int add_storage(reading *r, const char *key, int dtype, uint64_t at, uint64_t size)
{
    const uint32_t number = assay_dict_count(r->keys);
    if (assay_dict_add(r->keys, key, strlen(key)) != number)
        return assay_dict_count(r->keys) == number ? damaged(r, "a storage is there twice") : ASSAY_ENOMEM;
    assay_zip_entry *e = ASSAY_VEC_ADD(&r->all);
    int *kept = e ? ASSAY_VEC_ADD(&r->dtypes) : NULL;
    ASSAY_HAVE(kept);
    *e = (assay_zip_entry){.data = at, .compressed = size, .size = size};
    *kept = dtype;
    return ASSAY_OK;
}

static int read_storage(reading *r)
{
    assay_pickle p = {0};
    uint8_t *bytes = NULL;
    char key[64];
    int64_t count = 0;
    int status = read_pickle(r, &p, &bytes);
    const int dtype = status == ASSAY_OK ? assay_torch_storage_dtype(&p, assay_pickle_at(&p, p.root, 2)) : -1;
    if (status == ASSAY_OK && (dtype < 0 || !put_key(&p, assay_pickle_at(&p, p.root, 0), key)))
        status = damaged(r, "a storage is not told as torch tells one");
    ASSAY_THEN(status, read_number(r, 8, &count));
    assay_pickle_release(&p);
    free(bytes);
    if (status != ASSAY_OK)
        return status;
    const uint64_t element = assay_dtype_size(dtype);
    if (count < 0 || (uint64_t)count > (r->end - r->at) / element)
        return damaged(r, "the file ends within a storage");
    status = add_storage(r, key, dtype, r->at, (uint64_t)count * element);
    r->at += (uint64_t)count * element;
    return status;
}

/* Storages that are parts of others. */
static int read_views(reading *r)
{
    assay_pickle p = {0};
    uint8_t *bytes = NULL;
    int status = read_pickle(r, &p, &bytes);
    for (uint32_t i = status == ASSAY_OK && assay_walk_is_list(&p, p.root) ? p.node[p.root].first
                                                                           : ASSAY_PICKLE_NOTHING;
         i != ASSAY_PICKLE_NOTHING && status == ASSAY_OK; i = p.item[i].next) {
        const uint32_t one = p.item[i].value;
        const uint32_t first = assay_pickle_at(&p, one, 2), count = assay_pickle_at(&p, one, 3);
        char key[64], whole[64];
        if (!put_key(&p, assay_pickle_at(&p, one, 0), key) || !put_key(&p, assay_pickle_at(&p, one, 1), whole) ||
            first == ASSAY_PICKLE_NOTHING || count == ASSAY_PICKLE_NOTHING || p.node[first].kind != ASSAY_PICKLE_INT ||
            p.node[count].kind != ASSAY_PICKLE_INT) {
            status = damaged(r, "a view of a storage is not told as torch tells one");
            break;
        }
        const uint32_t of = assay_dict_find(r->keys, whole, strlen(whole));
        const uint64_t element = of == ASSAY_NO_ID ? 1 : assay_dtype_size(r->dtypes.list[of]);
        const uint64_t all = of == ASSAY_NO_ID ? 0 : r->all.list[of].size / element;
        const int64_t from = p.node[first].integer, size = p.node[count].integer;
        if (from < 0 || size < 0 || (uint64_t)from > all || (uint64_t)size > all - (uint64_t)from)
            status = damaged(r, "a view goes beyond its storage");
        else
            status = add_storage(r, key, r->dtypes.list[of], r->all.list[of].data + (uint64_t)from * element,
                                 (uint64_t)size * element);
    }
    assay_pickle_release(&p);
    free(bytes);
    return status;
}

static int read_storages(reading *r)
{
    int64_t count = 0;
    r->at = r->storages.offset;
    r->end = r->at + r->storages.size;
    int status = read_count(r, &count);
    for (int64_t i = 0; i < count && status == ASSAY_OK; i++)
        status = read_storage(r);
    return status == ASSAY_OK && r->at < r->end ? read_views(r) : status;
}

static int read_tensor(reading *r)
{
    assay_pickle p = {0};
    uint8_t *bytes = NULL;
    char key[64], storage[64];
    int64_t dims = 0, padding = 0;
    int status = read_pickle(r, &p, &bytes);
    if (status == ASSAY_OK &&
        (!put_key(&p, assay_pickle_at(&p, p.root, 0), key) || !put_key(&p, assay_pickle_at(&p, p.root, 1), storage)))
        status = damaged(r, "a tensor is not told as torch tells one");
    assay_pickle_release(&p);
    free(bytes);
    ASSAY_THEN(status, read_number(r, 4, &dims));
    ASSAY_THEN(status, read_number(r, 4, &padding));
    if (status != ASSAY_OK)
        return status;
    const uint32_t of = assay_dict_find(r->keys, storage, strlen(storage)), number = assay_dict_count(r->given.keys);
    if (dims < 0 || dims > ASSAY_MAX_DIMS || of == ASSAY_NO_ID)
        return damaged(r, "a tensor has no storage, or more dimensions than anybody means");
    assay_torch_view *v = ASSAY_VEC_ADD(&r->given);
    if (!v || assay_dict_add(r->given.keys, key, strlen(key)) == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    if (assay_dict_count(r->given.keys) == number)
        return damaged(r, "a tensor is there twice");
    *v = (assay_torch_view){.entry = of, .dims = (int)dims, .dtype = r->dtypes.list[of]};
    v->stored = r->all.list[of].size / assay_dtype_size(v->dtype);
    for (int i = 0; i < v->dims && status == ASSAY_OK; i++)
        status = read_number(r, 8, &v->shape[i]);
    for (int i = 0; i < v->dims && status == ASSAY_OK; i++)
        status = read_number(r, 8, &v->stride[i]);
    for (int i = 0; i < v->dims && status == ASSAY_OK; i++)
        if (v->shape[i] < 0 || v->stride[i] < 0)
            status = damaged(r, "a tensor has a dimension below zero");
    return status == ASSAY_OK ? read_number(r, 8, &v->first) : status;
}

static int read_tensors(reading *r)
{
    int64_t count = 0;
    r->at = r->tensors.offset;
    r->end = r->at + r->tensors.size;
    int status = read_count(r, &count);
    for (int64_t i = 0; i < count && status == ASSAY_OK; i++)
        status = read_tensor(r);
    return status;
}

static int read_facts(reading *r)
{
    assay_pickle p = {0};
    uint8_t *bytes = NULL;
    r->at = r->facts.offset;
    r->end = r->at + r->facts.size;
    const int status = read_pickle(r, &p, &bytes);
    const uint32_t little = status == ASSAY_OK ? assay_pickle_get(&p, p.root, "little_endian") : ASSAY_PICKLE_NOTHING;
    r->swapped = little != ASSAY_PICKLE_NOTHING && p.node[little].kind == ASSAY_PICKLE_BOOL && !p.node[little].integer;
    assay_pickle_release(&p);
    free(bytes);
    return status;
}

/* Makes the directory of storages, and hands over the content. */
static int add_content(reading *r)
{
    assay_ckpt_file *f = r->file;
    assay_torch t = {.file = f, .root = "", .data = "/data/", .swapped = r->swapped, .given = &r->given};
    f->zip.names = r->keys;
    f->zip.entry = r->all.list;
    r->keys = NULL;
    r->all.list = NULL;
    r->at = r->pickle.offset;
    r->end = r->at + r->pickle.size;
    int status = read_pickle(r, &t.pickle, &t.pickled);
    ASSAY_THEN(status, assay_torch_add_opened(&t));
    assay_pickle_release(&t.pickle);
    free(t.pickled);
    free(t.storage);
    return status;
}

static int find_members(reading *r)
{
    assay_ckpt_file *f = r->file;
    uint64_t at = 0;
    assay_tar_entry e;
    int found = 1;
    while ((found = assay_tar_next(assay_ckpt_read, f, f->size, &at, &e, r->err)) == 1) {
        const char *name = strncmp(e.name, "./", 2) == 0 ? e.name + 2 : e.name;
        assay_tar_entry *to = strcmp(name, "storages") == 0   ? &r->storages
                              : strcmp(name, "tensors") == 0  ? &r->tensors
                              : strcmp(name, "pickle") == 0   ? &r->pickle
                              : strcmp(name, "sys_info") == 0 ? &r->facts
                                                              : NULL;
        if (to)
            *to = e;
    }
    return found;
}

int assay_ckpt_add_tar(assay_ckpt_file *f)
{
    assay_error err = {""};
    reading r = {.file = f, .err = &err, .keys = assay_dict_new(), .given = {.keys = assay_dict_new()}};
    int status = r.keys && r.given.keys ? find_members(&r) : ASSAY_ENOMEM;
    const bool whole = r.storages.size > 0 && r.tensors.size > 0 && r.pickle.size > 0 && r.facts.size > 0;
    if (status == ASSAY_OK && !whole)
        assay_ckpt_problem(
            f, r.pickle.size + r.tensors.size + r.facts.size > 0 ? ASSAY_PROBLEM_SHORT : ASSAY_PROBLEM_UNSUPPORTED, -1,
            "a tar file without all that torch 0.1 puts into one: storages, tensors, pickle, sys_info");
    if (status == ASSAY_OK && whole) {
        status = read_facts(&r);
        ASSAY_THEN(status, read_storages(&r));
        ASSAY_THEN(status, read_tensors(&r));
        ASSAY_THEN(status, add_content(&r));
    }
    if (status != ASSAY_OK && status != ASSAY_ENOMEM)
        assay_ckpt_problem(f, status == ASSAY_EIO ? ASSAY_PROBLEM_READ : ASSAY_PROBLEM_PICKLE, (int64_t)r.at, "%s",
                           err.text);
    assay_dict_free(r.keys);
    assay_dict_free(r.given.keys);
    free(r.all.list);
    free(r.dtypes.list);
    free(r.given.list);
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}
