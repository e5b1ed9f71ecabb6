/* collections.c - the union of the workers' collections files. */
#include "trial/collections.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/json.h"

enum { WORKERS_MOST = 10000000 }; /* a larger num_workers is no number of workers */

/* What adding a file needs to say where something is wrong. */
typedef struct add_context {
    assay_collections *c;
    const char *file;
    assay_problems *problems;
} add_context;

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void damaged(const add_context *x, const char *collection, const char *what)
{
    if (collection)
        assay_problems_add(x->problems, ASSAY_PROBLEM_COLLECTIONS, -1, x->file, -1,
                           "%s: collection \"%.100s\": %s; it is left out", x->file, collection, what);
    else
        assay_problems_add(x->problems, ASSAY_PROBLEM_COLLECTIONS, -1, x->file, -1, "%s: %s", x->file, what);
}

static size_t drop_doubles(char **list, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || strcmp(list[kept - 1], list[i]) != 0)
            list[kept++] = list[i];
    return kept;
}

static bool is_known(const cJSON *item, char *const *list, size_t count)
{
    return count && bsearch(&item->valuestring, list, count, sizeof *list, compare_texts);
}

static char *put_text(char **list, size_t *count, char *at, const char *text)
{
    size_t size = strlen(text) + 1;
    list[(*count)++] = memcpy(at, text, size);
    return at + size;
}

/* Adds the texts of a JSON array that are not in the sorted list yet. Workers normally agree, so most are there. The texts
 * lie behind the list in one block: there may be a million of them. */
static int unite(const add_context *x, const char *collection, const cJSON *array, const char *what, char ***list,
                 size_t *count)
{
    size_t more = 0, bytes = 0, placed = 0;
    for (const cJSON *item = array->child; item; item = item->next) {
        if (!cJSON_IsString(item)) {
            damaged(x, collection, what);
        } else if (!is_known(item, *list, *count)) {
            more++;
            bytes += strlen(item->valuestring) + 1;
        }
    }
    if (more == 0)
        return ASSAY_OK;
    for (size_t i = 0; i < *count; i++)
        bytes += strlen((*list)[i]) + 1;
    char **block = assay_alloc((*count + more) * sizeof *block + bytes);
    if (!block)
        return ASSAY_ENOMEM;
    char *at = (char *)(block + *count + more);
    for (size_t i = 0; i < *count; i++)
        at = put_text(block, &placed, at, (*list)[i]);
    for (const cJSON *item = array->child; item; item = item->next)
        if (cJSON_IsString(item) && !is_known(item, *list, *count))
            at = put_text(block, &placed, at, item->valuestring);
    qsort(block, placed, sizeof *block, compare_texts);
    free(*list);
    *list = block;
    *count = drop_doubles(block, placed);
    return ASSAY_OK;
}

static size_t find_place(const assay_collections *c, const char *name)
{
    size_t low = 0, high = c->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(c->list[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const assay_collection *assay_collections_find(const assay_collections *c, const char *name)
{
    size_t at = find_place(c, name);
    return at < c->count && strcmp(c->list[at].name, name) == 0 ? &c->list[at] : NULL;
}

/* The collection of that name, made when there is none; NULL without memory. */
static assay_collection *take_collection(assay_collections *c, const char *name)
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

static int add_collection(const add_context *x, const cJSON *item)
{
    if (!cJSON_IsObject(item)) {
        damaged(x, item->string, "expected an object");
        return ASSAY_OK;
    }
    assay_collection *collection = take_collection(x->c, item->string);
    if (!collection)
        return ASSAY_ENOMEM;
    const cJSON *regexes = cJSON_GetObjectItemCaseSensitive(item, "include_regex");
    const cJSON *tensors = cJSON_GetObjectItemCaseSensitive(item, "tensor_names");
    int status = ASSAY_OK;
    if (cJSON_IsArray(regexes))
        status = unite(x, item->string, regexes, "an item of include_regex is no string", &collection->regex,
                       &collection->regexes);
    else if (regexes && !cJSON_IsNull(regexes))
        damaged(x, item->string, "include_regex is no list");
    if (status != ASSAY_OK)
        return status;
    if (cJSON_IsArray(tensors))
        status = unite(x, item->string, tensors, "an item of tensor_names is no string", &collection->tensor,
                       &collection->tensors);
    else if (tensors && !cJSON_IsNull(tensors))
        damaged(x, item->string, "tensor_names is no list");
    return status;
}

static void add_workers(const add_context *x, const cJSON *document)
{
    const cJSON *meta = cJSON_GetObjectItemCaseSensitive(document, "_meta");
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(meta, "num_workers");
    int64_t number = 0;
    if (!item)
        return;
    if (!assay_json_i64(item, &number) || number < 1 || number > WORKERS_MOST)
        damaged(x, NULL, "_meta.num_workers is no sensible number of workers; it is not used");
    else if (number > x->c->num_workers)
        x->c->num_workers = (uint32_t)number;
}

int assay_collections_add(assay_collections *c, const char *file, const void *text, size_t size,
                          assay_problems *problems)
{
    const add_context x = {c, file, problems};
    assay_error err = {{0}};
    cJSON *document = NULL;
    int status = assay_json_parse(file, text, size, &document, &err);
    if (status == ASSAY_ENOMEM)
        return status;
    if (status != ASSAY_OK) {
        assay_problems_add(problems, ASSAY_PROBLEM_COLLECTIONS, -1, file, -1, "%s", err.text);
        return ASSAY_OK;
    }
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(document, "collections");
    if (cJSON_IsObject(list)) {
        for (const cJSON *item = list->child; item && status == ASSAY_OK; item = item->next)
            status = add_collection(&x, item);
    } else {
        damaged(&x, NULL, "no object \"collections\" in it");
    }
    add_workers(&x, document);
    cJSON_Delete(document);
    return status;
}

void assay_collections_release(assay_collections *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->list[i].name);
        free(c->list[i].regex);
        free(c->list[i].tensor);
    }
    free(c->list);
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
    assay_put_u64(out, c->count);
    for (size_t i = 0; i < c->count; i++) {
        assay_put_text(out, c->list[i].name);
        put_texts(out, c->list[i].regex, c->list[i].regexes);
        put_texts(out, c->list[i].tensor, c->list[i].tensors);
    }
}

static char *get_copy(assay_cursor *in)
{
    size_t length = 0;
    const char *text = assay_get_text(in, &length);
    return assay_copy_bytes_as_text(text, length);
}

static int get_texts(assay_cursor *in, char ***list, size_t *count)
{
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
    if (!*list)
        return ASSAY_ENOMEM;
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
    uint64_t many = assay_get_count(in, 4 + 8 + 8);
    read.list = assay_alloc_zeroed(many, sizeof *read.list);
    int status = !read.list ? ASSAY_ENOMEM : in->failed ? ASSAY_EFORMAT : ASSAY_OK;
    while (read.count < many && status == ASSAY_OK) {
        assay_collection *one = &read.list[read.count++];
        one->name = get_copy(in);
        status = one->name ? get_texts(in, &one->regex, &one->regexes) : ASSAY_ENOMEM;
        if (status == ASSAY_OK)
            status = get_texts(in, &one->tensor, &one->tensors);
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
