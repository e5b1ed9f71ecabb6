/* legacy.c - reads a torch file of before 1.6:
 *
 *   magic number, protocol, facts of the machine, content, list of storage keys     a pickle each
 *   of each key in that order: the number of elements (8 bytes), the elements
 *
 * The storages become entries of a zip file's directory that nobody wrote, so that all else is as in newer files. */
#include "format/checkpoint/legacy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "format/checkpoint/torch.h"

enum { WINDOW = 1 << 16, PICKLE_MOST = 1 << 30, BEFORE_CONTENT = 3 };

static const uint8_t MAGIC[] = {0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46,
                                0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, '.'};

bool assay_ckpt_is_legacy(const uint8_t *head, size_t size)
{
    return size >= sizeof MAGIC && memcmp(head, MAGIC, sizeof MAGIC) == 0;
}

/* How long a pickle is nobody says: more of the file is read until it ends. */
int assay_ckpt_read_pickle(assay_ckpt_file *f, uint64_t *at, uint64_t end, assay_pickle *out, uint8_t **bytes,
                           assay_error *err)
{
    const uint64_t left = *at < end ? end - *at : 0, most = left < PICKLE_MOST ? left : PICKLE_MOST;
    *bytes = NULL;
    for (uint64_t window = WINDOW;; window *= 2) {
        const size_t size = (size_t)(window < most ? window : most);
        free(*bytes);
        *bytes = assay_alloc(size ? size : 1);
        int status = *bytes ? assay_ckpt_read(f, *at, *bytes, size, err) : ASSAY_ENOMEM;
        ASSAY_THEN(status, assay_pickle_read(*bytes, size, out, err));
        if (status == ASSAY_OK)
            *at += out->end;
        if (status != ASSAY_EFORMAT || size == most)
            return status;
    }
}

/* Notes the bytes that each storage of the content should have, by its key. */
static int note_storages(const assay_torch *t, assay_dict *keys, uint64_t **bytes)
{
    size_t room = 0;
    for (uint32_t i = 0; i < t->pickle.nodes; i++) {
        const char *key = NULL;
        size_t length = 0;
        uint64_t size = 0;
        if (!assay_torch_storage(t, i, &key, &length, &size))
            continue;
        const uint32_t id = assay_dict_add(keys, key, length);
        if (id == ASSAY_NO_ID)
            return ASSAY_ENOMEM;
        if (id >= room) {
            room = 2 * (size_t)id + 64;
            uint64_t *grown = assay_realloc_array(*bytes, room, sizeof *grown);
            ASSAY_HAVE(grown);
            *bytes = grown;
        }
        (*bytes)[id] = size;
    }
    return ASSAY_OK;
}

/* Makes the directory: each key's storage stands behind the one before. */
static int list_storages(assay_ckpt_file *f, const assay_pickle *list, uint64_t at, const assay_dict *keys,
                         const uint64_t *bytes)
{
    uint32_t count = 0;
    f->zip.names = assay_dict_new();
    f->zip.entry = assay_alloc_zeroed((size_t)assay_dict_count(keys) + 1, sizeof *f->zip.entry);
    if (!f->zip.names || !f->zip.entry)
        return ASSAY_ENOMEM;
    for (uint32_t i = list->node[list->root].first; i != ASSAY_PICKLE_NOTHING; i = list->item[i].next) {
        const assay_pickle_node *n = &list->node[list->item[i].value];
        const uint32_t key = n->kind == ASSAY_PICKLE_TEXT
                                 ? assay_dict_find(keys, (const char *)list->bytes + n->a, (size_t)n->size)
                                 : ASSAY_NO_ID;
        char name[256];
        if (key == ASSAY_NO_ID || f->size - at < 8 || n->size > sizeof name - 8) {
            assay_ckpt_problem(f, ASSAY_PROBLEM_SHORT, (int64_t)at,
                               "the file ends early, or its list of storages is not that of its content");
            return ASSAY_OK;
        }
        const uint64_t left = f->size - at - 8, size = bytes[key] < left ? bytes[key] : left;
        const int length = snprintf(name, sizeof name, "data/%.*s", (int)n->size, (const char *)list->bytes + n->a);
        if (assay_dict_add(f->zip.names, name, (size_t)length) != count)
            return assay_dict_count(f->zip.names) == count ? ASSAY_OK
                                                           : ASSAY_ENOMEM; /* a key twice: nobody writes it */
        f->zip.entry[count++] = (assay_zip_entry){.data = at + 8, .compressed = size, .size = size};
        if (size < bytes[key]) {
            assay_ckpt_problem(f, ASSAY_PROBLEM_SHORT, (int64_t)at,
                               "the file ends early: %llu bytes of a storage are missing",
                               (unsigned long long)(bytes[key] - size));
            return ASSAY_OK;
        }
        at += 8 + size;
    }
    assay_ckpt_name_behind(f->to, f->path, f->size, at);
    return ASSAY_OK;
}

/* Reads content and keys, which begin at `at`. */
static int add_content(assay_torch *t, uint64_t at)
{
    assay_ckpt_file *f = t->file;
    assay_pickle list = {0};
    uint8_t *list_bytes = NULL;
    uint64_t *bytes = NULL;
    assay_error err = {{0}};
    assay_dict *keys = assay_dict_new();
    int status = keys ? assay_ckpt_read_pickle(f, &at, f->size, &t->pickle, &t->pickled, &err) : ASSAY_ENOMEM;
    ASSAY_THEN(status, note_storages(t, keys, &bytes));
    ASSAY_THEN(status, assay_ckpt_read_pickle(f, &at, f->size, &list, &list_bytes, &err));
    if (status == ASSAY_OK && list.node[list.root].kind != ASSAY_PICKLE_LIST)
        status = assay_fail(&err, ASSAY_EFORMAT, "the list of storages is none");
    ASSAY_THEN(status, list_storages(f, &list, at, keys, bytes));
    if (status == ASSAY_OK)
        status = assay_torch_add_opened(t);
    else if (status != ASSAY_ENOMEM)
        assay_ckpt_problem(f, status == ASSAY_EIO ? ASSAY_PROBLEM_READ : ASSAY_PROBLEM_PICKLE, (int64_t)at, "%s",
                           err.text);
    assay_pickle_release(&list);
    free(list_bytes);
    free(bytes);
    assay_dict_free(keys);
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}

int assay_ckpt_add_legacy(assay_ckpt_file *f)
{
    assay_torch t = {.file = f, .root = "", .data = "/data/"};
    uint64_t at = 0;
    int status = ASSAY_OK;
    assay_error err = {{0}};
    for (int i = 0; i < BEFORE_CONTENT && status == ASSAY_OK; i++) {
        assay_pickle before = {0};
        uint8_t *bytes = NULL;
        status = assay_ckpt_read_pickle(f, &at, f->size, &before, &bytes, &err);
        if (status == ASSAY_OK) {
            const uint32_t little = assay_pickle_get(&before, before.root, "little_endian");
            t.swapped = little != ASSAY_PICKLE_NOTHING && before.node[little].kind == ASSAY_PICKLE_BOOL &&
                        !before.node[little].integer;
        }
        assay_pickle_release(&before);
        free(bytes);
    }
    if (status == ASSAY_OK && at == f->size)
        return 1;
    if (status == ASSAY_OK)
        status = add_content(&t, at);
    else if (status != ASSAY_ENOMEM)
        assay_ckpt_problem(f, status == ASSAY_EIO ? ASSAY_PROBLEM_READ : ASSAY_PROBLEM_PICKLE, (int64_t)at, "%s",
                           err.text);
    assay_pickle_release(&t.pickle);
    free(t.pickled);
    free(t.storage);
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}
