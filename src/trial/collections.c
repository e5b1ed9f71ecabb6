/* collections.c - see collections.h. */
#include "trial/collections.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"

/* Invariant: the list is sorted by name; there are few collections, so inserting is cheap enough. */
static size_t find_place(const assay_collections *c, const char *name)
{
    size_t low = 0;
    ASSAY_SEARCH(low, c->count, strcmp(c->list[low].name, name) < 0);
    return low;
}

const assay_collection *assay_collections_find(const assay_collections *c, const char *name)
{
    size_t at = find_place(c, name);
    return at < c->count && strcmp(c->list[at].name, name) == 0 ? &c->list[at] : NULL;
}

assay_collection *assay_collections_take(assay_collections *c, const char *name)
{
    size_t at = find_place(c, name);
    if (at < c->count && strcmp(c->list[at].name, name) == 0)
        return &c->list[at];
    char *copy = assay_copy_text(name);
    assay_collection *list = copy ? assay_realloc_array(c->list, c->count + 1, sizeof *list) : NULL;
    if (!list) {
        free(copy);
        return NULL;
    }
    memmove(list + at + 1, list + at, (c->count - at) * sizeof *list);
    list[at] = (assay_collection){.name = copy};
    c->list = list;
    c->count++;
    return &list[at];
}

/* A collection that is there stays as it is: what the trial says goes before what is assumed. */
int assay_collections_add_pattern(assay_collections *c, const char *name, const char *pattern)
{
    assay_collection *collection = assay_collections_find(c, name) ? NULL : assay_collections_take(c, name);
    if (!collection)
        return assay_collections_find(c, name) ? ASSAY_OK : ASSAY_ENOMEM;
    const size_t size = strlen(pattern) + 1;
    char **block = assay_alloc(sizeof *block + size); /* the list and its texts are one */
    ASSAY_HAVE(block);
    *block = memcpy(block + 1, pattern, size);
    collection->regex = block;
    collection->regexes = 1;
    return ASSAY_OK;
}

void assay_collections_release(assay_collections *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->list[i].name);
        free(c->list[i].regex);
        free(c->list[i].tensor);
    }
    free(c->list);
    free(c->file);
    *c = (assay_collections){0};
}

static void put_texts(assay_buf *out, char *const *list, size_t count)
{
    assay_put_u64(out, count);
    for (size_t i = 0; i < count; i++)
        assay_put_text(out, list[i]);
}

void assay_collections_pack(const assay_collections *c, assay_buf *out)
{
    assay_put_u32(out, c->num_workers);
    assay_put_u8(out, c->file != NULL);
    if (c->file)
        assay_put_text(out, c->file);
    assay_put_u64(out, c->count);
    for (size_t i = 0; i < c->count; i++) {
        assay_put_text(out, c->list[i].name);
        put_texts(out, c->list[i].regex, c->list[i].regexes);
        put_texts(out, c->list[i].tensor, c->list[i].tensors);
    }
}

static int get_texts(assay_cursor *in, char ***list, size_t *count)
{
    /* Two passes: the first counts bytes, so that the list and its texts are one allocation. */
    size_t length, bytes = 0;
    uint64_t many = assay_get_count(in, 4);
    assay_cursor again = *in;
    for (uint64_t i = 0; i < many; i++) {
        assay_get_text(in, &length);
        bytes += length + 1;
    }
    if (in->failed)
        return ASSAY_EFORMAT;
    *list = assay_alloc(many * sizeof **list + bytes);
    ASSAY_HAVE(*list);
    char *at = (char *)(*list + many);
    for (*count = 0; *count < many; at += length + 1) {
        const char *text = assay_get_text(&again, &length);
        if (length)
            memcpy(at, text, length);
        at[length] = '\0';
        (*list)[(*count)++] = at;
    }
    return ASSAY_OK;
}

int assay_collections_unpack(assay_cursor *in, assay_collections *c, assay_error *err)
{
    assay_collections read = {.num_workers = assay_get_u32(in)};
    const bool has_file = assay_get_u8(in) != 0;
    if (has_file)
        read.file = assay_get_copy(in);
    uint64_t many = assay_get_count(in, 4 + 8 + 8);
    read.list = assay_alloc_zeroed(many, sizeof *read.list);
    int status = !read.list || (has_file && !read.file) ? ASSAY_ENOMEM : in->failed ? ASSAY_EFORMAT : ASSAY_OK;
    while (read.count < many && status == ASSAY_OK) {
        assay_collection *one = &read.list[read.count++];
        one->name = assay_get_copy(in);
        status = one->name ? get_texts(in, &one->regex, &one->regexes) : ASSAY_ENOMEM;
        ASSAY_THEN(status, get_texts(in, &one->tensor, &one->tensors));
    }
    if (status != ASSAY_OK) {
        assay_collections_release(&read);
        return assay_fail(err, status,
                          status == ASSAY_ENOMEM ? "out of memory for the collections"
                                                 : "the packed collections are damaged");
    }
    *c = read;
    return ASSAY_OK;
}
