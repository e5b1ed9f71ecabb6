/* collections_json.c - the union of the workers' collections files.
 *
 * A file is checked as a whole first; afterwards its values are found again and again by passing over what lies before
 * them. */
#include "format/smdebug/collections_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/json_pull.h"
#include "base/keys.h"
#include "base/search.h"

enum { WORKERS_MOST = 10000000 }; /* a larger num_workers is no number of workers */

/* What adding a file needs to say where something is wrong. */
typedef struct add_context {
    assay_collections_reader *r;
    assay_collections *c;
    const char *file;
    assay_problems *problems;
} add_context;

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

static void differs(const add_context *x, const char *collection, const char *what)
{
    assay_problems_add(x->problems, ASSAY_PROBLEM_DIFFERENT, -1, x->file, -1, "%s: collection \"%.100s\" %s %s",
                       x->file, collection, what, x->r->first);
}

/* A stretch of the document: a JSON value as it is written, or a string as it reads. Not terminated. */
typedef struct stretch {
    const char *text;
    size_t size;
} stretch;

static int compare_stretch(const void *key, const void *item)
{
    const stretch *text = key;
    const char *listed = *(char *const *)item;
    int order = strncmp(text->text, listed, text->size);
    return order ? order : -(listed[text->size] != '\0');
}

static bool is_known(const stretch *text, char *const *list, size_t count)
{
    return count && bsearch(text, list, count, sizeof *list, compare_stretch);
}

/* The next member of an object, or the first; false behind the last, and when there is no object. */
static bool next_member(assay_pull *s, bool first, stretch *key, stretch *value)
{
    if (first && assay_pull_peek(s) != '{')
        return false;
    if (!(first ? assay_pull_open(s, '{', '}') : assay_pull_more(s, '}')) || !assay_pull_key(s, &key->text, &key->size))
        return false;
    assay_pull_peek(s);
    value->text = s->at;
    bool sound = assay_pull_skip(s);
    value->size = (size_t)(s->at - value->text);
    return sound;
}

/* The first member with that key: 1, 0 when there is none, or ASSAY_ENOMEM. */
static int find_member(stretch object, const char *word, stretch *value)
{
    assay_pull s = {0};
    stretch key;
    int found = 0;
    assay_pull_start(&s, object.text, object.size);
    for (bool more = next_member(&s, true, &key, value); more && !found;
         more = !found && next_member(&s, false, &key, value))
        found = key.size == strlen(word) && memcmp(key.text, word, key.size) == 0;
    if (s.no_memory)
        found = ASSAY_ENOMEM;
    assay_pull_release(&s);
    return found;
}

/* The next item of a list, or the first. Its text is NULL when it is no string. */
static bool next_text(assay_pull *s, bool first, stretch *item)
{
    if (!(first ? assay_pull_open(s, '[', ']') : assay_pull_more(s, ']')))
        return false;
    *item = (stretch){0};
    return assay_pull_peek(s) == '"' ? assay_pull_string(s, &item->text, &item->size) : assay_pull_skip(s);
}

static char *put_text(char **list, size_t *count, char *at, const char *text, size_t size)
{
    list[(*count)++] = at;
    if (size)
        memcpy(at, text, size);
    at[size] = '\0';
    return at + size + 1;
}

/* Adds the texts of a list that are not in the sorted one yet. Workers normally agree, so most are there. The texts lie
 * behind the list in one block: there may be a million of them. */
static int unite(const add_context *x, const char *collection, stretch array, const char *what, char ***list,
                 size_t *count)
{
    assay_pull s = {0};
    stretch item;
    size_t added = 0, bytes = 0, placed = 0;
    assay_pull_start(&s, array.text, array.size);
    for (bool more = next_text(&s, true, &item); more; more = next_text(&s, false, &item)) {
        if (!item.text) {
            damaged(x, collection, what);
        } else if (!is_known(&item, *list, *count)) {
            added++;
            bytes += item.size + 1;
        }
    }
    for (size_t i = 0; added > 0 && i < *count; i++)
        bytes += strlen((*list)[i]) + 1;
    char **block = added > 0 && !s.no_memory ? assay_alloc((*count + added) * sizeof *block + bytes) : NULL;
    if (block) {
        char *at = (char *)(block + *count + added);
        for (size_t i = 0; i < *count; i++)
            at = put_text(block, &placed, at, (*list)[i], strlen((*list)[i]));
        assay_pull_start(&s, array.text, array.size); /* there is room for what is decoded already */
        for (bool more = next_text(&s, true, &item); more; more = next_text(&s, false, &item))
            if (item.text && !is_known(&item, *list, *count))
                at = put_text(block, &placed, at, item.text, item.size);
        qsort(block, placed, sizeof *block, assay_order_texts);
        free(*list);
        *list = block;
        *count = drop_doubles(block, placed);
    }
    bool failed = s.no_memory || (added > 0 && !block);
    assay_pull_release(&s);
    return failed ? ASSAY_ENOMEM : ASSAY_OK;
}

/* One of the two lists of a collection; null is as good as none. */
static int add_list(const add_context *x, const char *collection, stretch object, const char *key, char ***list,
                    size_t *count)
{
    stretch value;
    char what[64];
    int found = find_member(object, key, &value);
    if (found < 1 || value.text[0] == 'n')
        return found < 0 ? found : ASSAY_OK;
    if (value.text[0] != '[') {
        snprintf(what, sizeof what, "%s is no list", key);
        damaged(x, collection, what);
        return ASSAY_OK;
    }
    snprintf(what, sizeof what, "an item of %s is not a string", key);
    return unite(x, collection, value, what, list, count);
}

/* A sum over the patterns of one file's collection, in any order. */
static int sum_patterns(stretch object, uint64_t *sum)
{
    stretch value, item;
    int found = find_member(object, "include_regex", &value);
    assay_pull s = {0};
    *sum = 0;
    if (found < 1)
        return found;
    assay_pull_start(&s, value.text, value.size);
    for (bool more = value.text[0] == '[' && next_text(&s, true, &item); more; more = next_text(&s, false, &item))
        *sum += item.text ? assay_hash_bytes(item.text, item.size) : 1;
    bool failed = s.no_memory;
    assay_pull_release(&s);
    return failed ? ASSAY_ENOMEM : ASSAY_OK;
}

/* What is known of the collection from the files before; NULL without memory. */
static assay_collection_seen *seen_of(assay_collections_reader *r, const char *name)
{
    if (!r->names && !(r->names = assay_dict_new()))
        return NULL;
    const uint32_t count = assay_dict_count(r->names), id = assay_dict_add(r->names, name, strlen(name));
    if (id == ASSAY_NO_ID || id < count)
        return id < count ? &r->seen[id] : NULL;
    assay_collection_seen *grown = assay_realloc_array(r->seen, (size_t)count + 1, sizeof *grown);
    if (!grown)
        return NULL;
    r->seen = grown;
    r->seen[id] = (assay_collection_seen){0};
    return &r->seen[id];
}

/* Holds a file's collection against that of the first file. */
static int compare_collection(const add_context *x, const char *name, stretch value)
{
    uint64_t patterns;
    int status = sum_patterns(value, &patterns);
    if (status < 0)
        return status;
    assay_collection_seen *seen = seen_of(x->r, name);
    ASSAY_HAVE(seen);
    seen->last = x->r->files;
    if (seen->first == 0) {
        seen->first = x->r->files;
        seen->patterns = patterns;
        if (x->r->files > 1)
            differs(x, name, "is not in");
    } else if (seen->patterns != patterns) {
        differs(x, name, "has other patterns than in");
    }
    return ASSAY_OK;
}

/* Settles the account of an object's keys: one that is not known is named; one that stands where a known one should, or
 * is there twice, is damage. 0 or ASSAY_ENOMEM. */
static int name_odd_key(const add_context *x, const char *collection, stretch object, const char *const *known)
{
    assay_pull s = {0};
    assay_keys keys = {.known = known};
    stretch key, value;
    assay_pull_start(&s, object.text, object.size);
    for (bool more = next_member(&s, true, &key, &value); more; more = next_member(&s, false, &key, &value))
        assay_keys_find(&keys, key.text, key.size);
    const char *lost = assay_keys_damaged(&keys);
    const int shown = (int)(keys.odd_length < 100 ? keys.odd_length : 100);
    char what[320];
    if (keys.twice) {
        snprintf(what, sizeof what, "key \"%s\" is there twice; the first one counts",
                 known[__builtin_ctz(keys.twice)]);
        damaged(x, collection, what);
    }
    if (lost) {
        snprintf(what, sizeof what, "key \"%.*s\" stands where \"%s\" should, and is not read", shown, keys.odd, lost);
        damaged(x, collection, what);
    } else if (keys.odd) {
        assay_problems_add(x->problems, ASSAY_PROBLEM_KEY, -1, x->file, -1,
                           "collections files have a key \"%.*s\", which is not known; what it has is not read", shown,
                           keys.odd);
    }
    const bool failed = s.no_memory;
    assay_pull_release(&s);
    return failed ? ASSAY_ENOMEM : ASSAY_OK;
}

/* A collection says its name once more. 0 or ASSAY_ENOMEM. */
static int compare_name(const add_context *x, const char *collection, stretch object)
{
    assay_pull s = {0};
    stretch value, name;
    int found = find_member(object, "name", &value);
    if (found < 1 || value.text[0] != '"')
        return found < 0 ? found : ASSAY_OK;
    assay_pull_start(&s, value.text, value.size);
    if (assay_pull_string(&s, &name.text, &name.size) &&
        (name.size != strlen(collection) || memcmp(name.text, collection, name.size) != 0))
        assay_problems_add(x->problems, ASSAY_PROBLEM_COLLECTIONS, -1, x->file, -1,
                           "%s: collection \"%.100s\" says that its name is \"%.*s\": one of them is damaged", x->file,
                           collection, (int)(name.size < 100 ? name.size : 100), name.text);
    const bool failed = s.no_memory;
    assay_pull_release(&s);
    return failed ? ASSAY_ENOMEM : ASSAY_OK;
}

static int add_collection(const add_context *x, const char *name, stretch value)
{
    static const char *const keys[] = {"include_regex",    "tensor_names",   "name", "save_config",
                                       "reduction_config", "save_histogram", NULL};
    if (value.text[0] != '{') {
        damaged(x, name, "expected an object");
        return ASSAY_OK;
    }
    assay_collection *collection = assay_collections_take(x->c, name);
    if (!collection || name_odd_key(x, name, value, keys) < 0 || compare_name(x, name, value) < 0 ||
        compare_collection(x, name, value) < 0)
        return ASSAY_ENOMEM;
    int status = add_list(x, name, value, "include_regex", &collection->regex, &collection->regexes);
    return status == ASSAY_OK ? add_list(x, name, value, "tensor_names", &collection->tensor, &collection->tensors)
                              : status;
}

static int add_all(const add_context *x, stretch document)
{
    stretch object, key, value;
    int status = find_member(document, "collections", &object);
    if (status < 0)
        return status;
    if (status == 0 || object.text[0] != '{') {
        damaged(x, NULL, "no object \"collections\" in it");
        return ASSAY_OK;
    }
    assay_pull s = {0};
    assay_pull_start(&s, object.text, object.size);
    status = ASSAY_OK;
    for (bool more = next_member(&s, true, &key, &value); more && status == ASSAY_OK;
         more = next_member(&s, false, &key, &value)) {
        char *name = assay_copy_bytes_as_text(key.text, key.size);
        status = name ? add_collection(x, name, value) : ASSAY_ENOMEM;
        free(name);
    }
    if (s.no_memory)
        status = ASSAY_ENOMEM;
    assay_pull_release(&s);
    for (size_t i = 0; i < x->c->count && status == ASSAY_OK; i++) {
        const char *name = x->c->list[i].name;
        const uint32_t id = x->r->names ? assay_dict_find(x->r->names, name, strlen(name)) : ASSAY_NO_ID;
        if (id != ASSAY_NO_ID && x->r->seen[id].first == 1 && x->r->seen[id].last != x->r->files)
            differs(x, name, "is missing here, and is in");
    }
    return status;
}

static void take_workers(const add_context *x, uint32_t number)
{
    assay_collections *c = x->c;
    if (x->r->first_workers == 0)
        x->r->first_workers = number;
    if (number != x->r->first_workers)
        assay_problems_add(x->problems, ASSAY_PROBLEM_DIFFERENT, -1, x->file, -1,
                           "%s: the training has %u workers here, and %u in %s", x->file, number, x->r->first_workers,
                           x->r->first);
    c->num_workers = number > c->num_workers ? number : c->num_workers;
}

static int add_workers(const add_context *x, stretch document)
{
    static const char *const keys[] = {"num_workers", NULL};
    stretch meta, value;
    int found = find_member(document, "_meta", &meta);
    if (found == 1 && name_odd_key(x, NULL, meta, keys) < 0)
        return ASSAY_ENOMEM;
    if (found == 1)
        found = find_member(meta, "num_workers", &value);
    if (found < 1)
        return found;
    assay_pull s = {0};
    int64_t number = 0;
    bool fits = false;
    assay_pull_start(&s, value.text, value.size);
    if (!assay_pull_integer(&s, &number, &fits) || !fits || number < 1 || number > WORKERS_MOST)
        damaged(x, NULL, "_meta.num_workers is not a sensible number of workers; it is not used");
    else
        take_workers(x, (uint32_t)number);
    assay_pull_release(&s);
    return ASSAY_OK;
}

int assay_collections_read(assay_collections_reader *r, const char *file, const void *text, size_t size,
                           assay_problems *problems)
{
    static const char *const keys[] = {"collections", "_meta", "crc32c", NULL};
    const add_context x = {r, r->collections, file, problems};
    assay_error err = {{0}};
    if (assay_json_check(file, text, size, &err) != ASSAY_OK) {
        assay_problems_add(problems, ASSAY_PROBLEM_COLLECTIONS, -1, file, -1, "%s", err.text);
        return ASSAY_OK;
    }
    if (assay_json_is_changed(text, size))
        damaged(&x, NULL, ASSAY_JSON_CHANGED);
    if (r->files++ == 0 && !(r->first = assay_copy_text(file)))
        return ASSAY_ENOMEM;
    if (name_odd_key(&x, NULL, (stretch){text, size}, keys) < 0)
        return ASSAY_ENOMEM;
    int status = add_all(&x, (stretch){text, size});
    return status == ASSAY_OK ? add_workers(&x, (stretch){text, size}) : status;
}

void assay_collections_reader_release(assay_collections_reader *r)
{
    assay_dict_free(r->names);
    free(r->seen);
    free(r->first);
    *r = (assay_collections_reader){0};
}
