/* s3.c - trials in a bucket: s3://BUCKET/PREFIX. Directories are what keys have before a '/'. */
#include <stdlib.h>
#include <string.h>

#include "store/storage.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/vec.h"
#include "store/s3_store.h"

/* Who asks for the files behind the one that comes next must not push that one out: there is room for more than what
 * s3_depth() says.
 *
 * S3 has keys of at most 1024 bytes, which are longer once they are escaped. ASKED_A_REQUEST files are asked for
 * ahead for each request that may be under way, so that none idles while the next file is being opened. A directory
 * of more than KEPT_NAMES is listed again rather than kept. In numbers: with 16 requests 64 files are asked for
 * ahead, and there is room for 128. A series of checkpoints is gone through several times: of its files KEPT_FILES
 * stay, as far as memory goes. */
enum { KEY_MOST = 4096, ASKED_A_REQUEST = 4, ROOM_FOR_ASKED = 2, KEPT_NAMES = 1 << 16, KEPT_FILES = 4096 };

const char *s3_root_key(s3_root *root, const char *path)
{
    assay_buf_clear(&root->key);
    assay_put_format(&root->key, "%s%s", root->place.prefix, path);
    assay_put_u8(&root->key, '\0');
    return assay_buf_status(&root->key) == ASSAY_OK ? (const char *)root->key.data : NULL;
}

bool assay_s3_is_hdf5_place(const char *place, size_t *length)
{
    for (const char *at = strchr(place, '/'); at;) {
        const size_t part = strcspn(at + 1, "/");
        const char *end = at + 1 + part;
        *length = (size_t)(end - place);
        if (assay_is_packed_name(at + 1, part))
            return true;
        at = *end ? end : NULL;
    }
    return false;
}

static int is_this_one(void *context, const assay_s3_object *object)
{
    const char **key = context;
    if (!object->is_prefix && *key && strcmp(object->key, *key) == 0)
        *key = NULL;
    return ASSAY_OK;
}

/* A place whose last part has a point may be an object: then that is the trial, as a file of a directory is one. Of a bucket
 * that is not there the listing of the place says more. */
static int find_only(const assay_store *store, s3_root *root, assay_error *err)
{
    assay_error why = {""};
    char *key = assay_copy_text(root->place.prefix), *slash = key ? strrchr(key, '/') : NULL;
    if (slash && !slash[1])
        *slash = '\0';
    const char *name = key ? strrchr(key, '/') : NULL, *seek = key;
    name = name ? name + 1 : key;
    int status = key ? ASSAY_OK : ASSAY_ENOMEM;
    if (name && strchr(name, '.') && !assay_is_packed_name(name, strlen(name))) {
        assay_s3_listing *listing = assay_s3_list_begin(root->place.bucket, key, ASSAY_S3_LEVEL, NULL);
        status = listing ? assay_s3_list_finish(listing, is_this_one, &seek, &why) : ASSAY_ENOMEM;
        if (status == ASSAY_OK && !seek) {
            root->only = assay_copy_text(name);
            root->place.prefix[name - key] = '\0';
            status = root->only ? ASSAY_OK : ASSAY_ENOMEM;
        }
    }
    free(key);
    if (status == ASSAY_OK || status == ASSAY_ENOTFOUND)
        return ASSAY_OK;
    return status == ASSAY_ENOMEM ? assay_fail(err, status, "%s: out of memory while opening it", store->location)
                                  : assay_fail(err, status, "%s: cannot list it%s%s", store->location,
                                               why.text[0] == ':' ? "" : ": ", why.text);
}

int s3_open(assay_store *store, const char *place, assay_error *err)
{
    assay_error why = {""};
    s3_root *root = assay_alloc_zeroed(1, sizeof *root);
    int status = root ? assay_s3_place_parse(store->location, &root->place, err)
                      : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while opening it", store->location);
    if (status == ASSAY_OK && (status = assay_s3_open(&why)) != ASSAY_OK)
        assay_fail(err, status, "%s: %s", store->location, why.text);
    ASSAY_THEN(status, find_only(store, root, err));
    if (status != ASSAY_OK) {
        if (root)
            assay_s3_place_release(&root->place);
        free(root);
        return status;
    }
    /* s3_depth() tells half of the ring to whoever asks ahead. */
    root->asked.most = ROOM_FOR_ASKED * ASKED_A_REQUEST * assay_s3_requests();
    root->kept.most = KEPT_FILES;
    assay_buf_init(&root->key, KEY_MOST);
    store->root = root;
    store->is_file = root->only != NULL;
    return ASSAY_OK;
}

static void release_directory(s3_directory *d)
{
    assay_s3_list_drop(d->listing);
    assay_names_release(&d->names);
    free(d->path);
}

void s3_close(assay_store *store)
{
    s3_root *root = store->root;
    s3_forget_asked(root);
    /* Directories and trees are few: linear searches are quick enough. */
    for (size_t i = 0; i < root->directory_count; i++)
        release_directory(&root->directory[i]);
    for (size_t i = 0; i < root->tree_count; i++)
        s3_tree_release(&root->tree[i]);
    free(root->tree);
    free(root->directory);
    free(root->facts.list);
    assay_buf_release(&root->key);
    assay_s3_place_release(&root->place);
    free(root->only);
    free(root);
}

/* ---- listings ---- */

static s3_directory *find_directory(const s3_root *root, const char *path)
{
    for (size_t i = 0; i < root->directory_count; i++)
        if (strcmp(root->directory[i].path, path) == 0)
            return &root->directory[i];
    return NULL;
}

static void remove_directory(s3_root *root, s3_directory *d)
{
    release_directory(d);
    *d = root->directory[--root->directory_count];
}

static s3_directory *add_directory(s3_root *root, const char *path)
{
    if (!assay_vec_reserve(&root->directory, &root->directory_room, root->directory_count + 1, sizeof *root->directory))
        return NULL;
    char *copy = assay_copy_text(path);
    if (!copy)
        return NULL;
    root->directory[root->directory_count] = (s3_directory){.path = copy};
    return &root->directory[root->directory_count++];
}

static assay_s3_listing *begin_listing(s3_root *root, const char *path)
{
    assay_buf prefix = ASSAY_BUF(KEY_MOST);
    assay_put_format(&prefix, "%s%s%s", root->place.prefix, path, path[0] ? "/" : root->only ? root->only : "");
    assay_put_u8(&prefix, '\0');
    assay_s3_listing *listing =
        assay_buf_status(&prefix) == ASSAY_OK
            ? assay_s3_list_begin(root->place.bucket, (const char *)prefix.data, ASSAY_S3_LEVEL, NULL)
            : NULL;
    assay_buf_release(&prefix);
    return listing;
}

/* Begun and not waited for; s3_list() finds it by its path. */
void s3_list_ahead(assay_store *store, const char *path)
{
    s3_root *root = store->root;
    if (find_directory(root, path) || s3_tree_of(root, path))
        return;
    s3_directory *d = add_directory(root, path);
    if (d && !(d->listing = begin_listing(root, path)))
        remove_directory(root, d); /* it is listed when it is its turn */
}

/* What a listing tells. */
typedef struct listed {
    s3_root *root;
    size_t prefix; /* bytes of the trial's prefix, before every path */
    size_t below;  /* bytes of the directory's path and its '/', before every name */
    assay_buf text;
    size_t count;
    s3_fact directory;
} listed;

static int64_t nanoseconds(int64_t seconds)
{
    return seconds > INT64_MIN / 1000000000 && seconds < INT64_MAX / 1000000000 ? seconds * 1000000000 : 0;
}

/* Called for each object or common prefix, in order of keys. */
static int take_leaf(void *context, const char *path, size_t length, const s3_leaf *leaf)
{
    listed *l = context;
    const bool is_directory = length > l->below && path[length - 1] == '/';
    const size_t size = length > l->below ? length - l->below - is_directory : 0;
    const char *name = path + l->below;
    if (size == 0 || memchr(name, '/', size))
        return ASSAY_OK; /* the directory itself, or a key with "//": it has no name */
    if (name[0] == '.' && (size == 1 || (size == 2 && name[1] == '.'))) {
        if (!l->root->warned)
            assay_log_warn("s3://%s/%s: has keys below \"%.*s\", which lead out of it; they are not looked at",
                           l->root->place.bucket, l->root->place.prefix, (int)(length < 200 ? length : 200), path);
        l->root->warned = true;
        return ASSAY_OK;
    }
    assay_put_bytes(&l->text, name, size);
    assay_put_u8(&l->text, '\0');
    l->count++;
    const int64_t time = nanoseconds(leaf->time);
    const s3_fact fact = {
        .name = s3_fact_name(path, length, false), .size = leaf->size, .etag = leaf->etag, .time = time};
    /* A directory's stamp is a hash over names, sizes and tags of its objects: it changes when any of them does. */
    const uint64_t sum[] = {l->directory.etag, fact.name, fact.size, fact.etag, (uint64_t)time};
    l->directory.etag = assay_hash_bytes(sum, sizeof sum);
    l->directory.time = time > l->directory.time ? time : l->directory.time;
    l->directory.size++;
    return is_directory ? assay_buf_status(&l->text) : s3_facts_set(&l->root->facts, &fact);
}

static int take_object(void *context, const assay_s3_object *object)
{
    const char *path = object->key + ((const listed *)context)->prefix;
    const s3_leaf leaf = {.size = object->size, .etag = s3_fact_etag(object->etag), .time = object->time};
    return take_leaf(context, path, strlen(path), &leaf);
}

/* Begins to list a directory, unless that was done ahead, and visits what is in it. Three ways, the cheapest first: a
 * tree that has all keys below (one request for a whole trial of less than a page), a listing that was begun ahead, a
 * listing of this directory alone. */
static int visit_listed(s3_root *root, const char *path, listed *l, assay_error *err)
{
    s3_directory *d = find_directory(root, path);
    if (path[0] == '\0' && !root->only && !d && root->tree_count == 0 && !root->one_by_one)
        ASSAY_TRY(s3_tree_of_few(root, err));
    s3_tree *tree = s3_tree_listed(root, path);
    assay_s3_listing *listing = d && !tree ? d->listing : NULL;
    if (listing)
        d->listing = NULL;
    if (d)
        remove_directory(root, d);
    if (tree)
        return s3_tree_visit(root, tree, path, take_leaf, l, err);
    if (!listing)
        listing = begin_listing(root, path);
    return listing ? assay_s3_list_finish(listing, take_object, l, err) : ASSAY_ENOMEM;
}

/* Takes away the second of equal names: an object may be called as the directory beside it is, as some programs mark
 * those. And all but one, where the trial is that object. */
static void drop_equal(assay_names *names, const char *only)
{
    size_t kept = 0;
    for (size_t i = 0; i < names->count; i++)
        if (only && strcmp(names->name[i], only) != 0)
            continue;
        else if (kept == 0 || strcmp(names->name[kept - 1], names->name[i]) != 0)
            names->name[kept++] = names->name[i];
    names->count = kept;
}

/* Lists a directory: its names into *out, and into the facts what is known of it and of the objects in it. */
static int list_now(assay_store *store, const char *path, assay_names *out, assay_error *err)
{
    s3_root *root = store->root;
    listed l = {.root = root, .prefix = strlen(root->place.prefix), .below = path[0] ? strlen(path) + 1 : 0};
    l.directory = (s3_fact){.name = s3_fact_name(path, strlen(path), true), .is_directory = true};
    assay_buf_init(&l.text, SIZE_MAX / 4);
    int status = visit_listed(root, path, &l, err);
    ASSAY_THEN(status, s3_facts_set(&root->facts, &l.directory));
    ASSAY_THEN(status, assay_names_from_text((const char *)l.text.data, l.text.size, l.count, out));
    if (status == ASSAY_OK)
        drop_equal(out, path[0] ? NULL : root->only);
    assay_buf_release(&l.text);
    /* EUSAGE: a bucket that is not there is the user's to mend, and must not look like an empty trial. */
    if (status == ASSAY_ENOTFOUND) /* the bucket: then nothing is there */
        status = ASSAY_EUSAGE;
    return status == ASSAY_ENOMEM ? assay_fail(err, status, "%s: out of memory while listing it", path) : status;
}

/* Counts a directory below the one of that name; returns how many there were. By hash, in a ring of few: two
 * directories with one hash would be listed as a whole too early, which is only slower. */
static unsigned count_deep(s3_root *root, const char *top, size_t length)
{
    const uint64_t name = assay_hash_bytes(top, length);
    for (size_t i = 0; i < S3_DEEP; i++)
        if (root->deep[i].count > 0 && root->deep[i].top == name)
            return ++root->deep[i].count;
    root->deep[root->next_deep++ % S3_DEEP] = (s3_deep){.top = name, .count = 1};
    return 1;
}

/* Subdirectories of one parent were listed one by one: list the parent recursively from now on. */
static int take_whole(s3_root *root, const char *directory, size_t length)
{
    /* Eight subdirectories one by one cost as much as a page of a thousand keys. */
    enum { ONE_BY_ONE = 8 };
    const char *end = memchr(directory, '/', length);
    if (!end || root->one_by_one || s3_tree_of(root, directory))
        return ASSAY_OK;
    const size_t top = (size_t)(end - directory);
    return count_deep(root, directory, top) < ONE_BY_ONE ? ASSAY_OK : s3_tree_add(root, directory, top);
}

int s3_list(assay_store *store, const char *directory, assay_names *out, assay_error *err)
{
    s3_directory *d = find_directory(store->root, directory);
    assay_names names = {0};
    int status = ASSAY_OK;
    if (((const s3_root *)store->root)->only && directory[0])
        return assay_fail(err, ASSAY_ENOTFOUND, "%s: does not exist", directory);
    /* Names that were listed for a stamp are handed over once; the next s3_list() asks anew. */
    if (d && !d->listing) { /* as it was when its stamp was taken */
        names = d->names;
        d->names = (assay_names){0};
        remove_directory(store->root, d);
    } else {
        status = d ? ASSAY_OK : take_whole(store->root, directory, strlen(directory));
        ASSAY_THEN(status, list_now(store, directory, &names, err));
    }
    ASSAY_TRY(status);
    if (names.count > 0) {
        *out = names;
        return ASSAY_OK;
    }
    assay_names_release(&names);
    return directory[0]
               ? assay_fail(err, ASSAY_ENOTFOUND, "%s: does not exist", directory)
               : assay_fail(err, ASSAY_ENOTFOUND, "no object lies there; check the bucket's name and the prefix");
}

/* Sees to it that a directory was listed since the store was opened. What is listed for its stamp stays for s3_list().
 */
static int know_directory(assay_store *store, const char *path, size_t length, const s3_fact **out, assay_error *err)
{
    s3_root *root = store->root;
    *out = s3_facts_find(&root->facts, path, length, true);
    if (*out)
        return ASSAY_OK;
    char *copy = assay_copy_bytes_as_text(path, length);
    assay_names names = {0};
    int status = copy ? list_now(store, copy, &names, err) : ASSAY_ENOMEM;
    s3_directory *kept = status == ASSAY_OK && names.count <= KEPT_NAMES ? add_directory(root, copy) : NULL;
    if (kept)
        kept->names = names;
    else
        assay_names_release(&names);
    *out = s3_facts_find(&root->facts, path, length, true);
    free(copy);
    return status;
}

/* What is known of the object, or NULL: its directory has none of that name. */
static int know_object(assay_store *store, const char *path, const s3_fact **out, assay_error *err)
{
    const char *slash = strrchr(path, '/');
    s3_root *root = store->root;
    const size_t length = slash ? (size_t)(slash - path) : 0;
    const s3_fact *directory;
    int status = ASSAY_OK;
    *out = s3_facts_find(&root->facts, path, strlen(path), false);
    if (*out)
        return ASSAY_OK;
    if (!s3_facts_find(&root->facts, path, length, true))
        status = take_whole(root, path, length);
    ASSAY_THEN(status, know_directory(store, path, length, &directory, err));
    *out = s3_facts_find(&root->facts, path, strlen(path), false);
    return status;
}

int s3_size_of(assay_store *store, const char *path, uint64_t *size, assay_error *err)
{
    const s3_fact *fact = NULL;
    int status = know_object(store, path, &fact, err);
    if (status != ASSAY_OK || !fact)
        return status;
    *size = fact->size;
    return 1;
}

/* False: the directory that a directory of that name would be in was listed for its own stamp, and has none. Spares a
 * request for names that were seen to be missing. */
static bool may_be_there(const s3_root *root, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *above = assay_copy_bytes_as_text(path, slash ? (size_t)(slash - path) : 0);
    const s3_directory *d = above ? find_directory(root, above) : NULL;
    bool there = !d || d->listing;
    for (size_t i = 0; !there && i < d->names.count; i++)
        there = strcmp(d->names.name[i], name) == 0;
    free(above);
    return there;
}

int s3_stamp(assay_store *store, const char *path, assay_store_stamp *out, assay_error *err)
{
    const s3_fact *fact = NULL;
    int status = ASSAY_OK;
    bool is_root = strcmp(path, ".") == 0;
    if (!is_root)
        status = know_object(store, path, &fact, err);
    if (status == ASSAY_OK && !fact && !is_root && !may_be_there(store->root, path))
        return ASSAY_OK;
    if (status == ASSAY_OK && !fact)
        status = know_directory(store, path, is_root ? 0 : strlen(path), &fact, err);
    /* A directory without objects does not exist in S3. */
    if (status != ASSAY_OK || !fact || (fact->is_directory && fact->size == 0))
        return status;
    *out = (assay_store_stamp){.size = fact->is_directory ? 0 : fact->size, .time = fact->time, .node = fact->etag};
    return 1;
}

/* ---- to other ranks ---- */

/* To ranks that did not list: they know sizes and tags of all objects without asking. Listings go before, with
 * storage.c. */
void s3_pack(const assay_store *store, assay_buf *out)
{
    const s3_root *root = store->root;
    uint64_t count = 0;
    for (size_t i = 0; i < root->facts.room; i++)
        count += root->facts.list[i].name && !root->facts.list[i].told;
    assay_put_u64(out, count);
    for (size_t i = 0; i < root->facts.room; i++) {
        s3_fact *fact = &root->facts.list[i];
        if (!fact->name || fact->told)
            continue;
        fact->told = true;
        assay_put_u64(out, fact->name);
        assay_put_u64(out, fact->size);
        assay_put_u64(out, fact->etag);
        assay_put_i64(out, fact->time);
        assay_put_u8(out, fact->is_directory);
    }
}

int s3_unpack(assay_store *store, assay_cursor *in)
{
    s3_root *root = store->root;
    int status = ASSAY_OK;
    /* 33: 8 + 8 + 8 + 8 + 1 bytes a fact. */
    for (uint64_t left = assay_get_count(in, 33); status == ASSAY_OK && left > 0; left--) {
        s3_fact fact = {.name = assay_get_u64(in), .told = true};
        fact.size = assay_get_u64(in);
        fact.etag = assay_get_u64(in);
        fact.time = assay_get_i64(in);
        fact.is_directory = assay_get_u8(in);
        status = fact.name ? s3_facts_set(&root->facts, &fact) : ASSAY_EINTERNAL;
    }
    return in->failed ? ASSAY_EINTERNAL : status;
}

void s3_depth(const assay_store *store, size_t *files, uint64_t *bytes)
{
    *files = ((const s3_root *)store->root)->asked.most / ROOM_FOR_ASKED;
    *bytes = assay_s3_memory();
}
