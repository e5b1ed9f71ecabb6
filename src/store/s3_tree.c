/* s3_tree.c - directories that are listed with all that lies below them.
 *
 * A tree is all that lies below a directory, listed at once: where directories below one and the same are asked for one
 * by one (s3.c; `from` is NULL then), and in a trial that is looked at again and again. The latter's is listed again at
 * each look. Nothing before `from` has changed since, as whoever looks knows: the listing begins at the last key before
 * it (the anchor), and what was before the anchor is taken from the last look. An anchor that is missing or is another
 * object tells that the trial is another one: then all is listed. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "base/vec.h"
#include "store/s3_store.h"

/* Invariant: unless `unsorted`, leaves are in the order of their keys, and the bytes of the keys lie in that order
 * too. */
void s3_tree_release(s3_tree *tree)
{
    free(tree->top);
    free(tree->from);
    assay_buf_release(&tree->keys);
    free(tree->list);
    *tree = (s3_tree){.top = NULL};
}

static const char *key_of(const s3_tree *tree, size_t i)
{
    return (const char *)tree->keys.data + tree->list[i].key;
}

static size_t bytes_of(const s3_tree *tree)
{
    return tree->keys.size + tree->count * sizeof *tree->list;
}

static int add(s3_tree *tree, const char *key, s3_leaf leaf)
{
    /* Memory of listings is a part of --memory; beyond it directories are listed one by one. */
    if (bytes_of(tree) > tree->most)
        return ASSAY_EBUDGET;
    ASSAY_HAVE(assay_vec_reserve(&tree->list, &tree->room, tree->count + 1, sizeof *tree->list));
    leaf.key = tree->keys.size;
    assay_put_bytes(&tree->keys, key, strlen(key) + 1);
    tree->list[tree->count++] = leaf;
    return assay_buf_status(&tree->keys);
}

static int take(void *context, const assay_s3_object *object)
{
    s3_tree *fresh = context;
    /* Servers have to list in byte order; some do not, and are sorted here. */
    fresh->unsorted =
        fresh->unsorted || (fresh->count > 0 && strcmp(key_of(fresh, fresh->count - 1), object->key) >= 0);
    return add(fresh, object->key,
               (s3_leaf){.size = object->size, .etag = s3_fact_etag(object->etag), .time = object->time});
}

/* Lists what is behind a key (NULL: all). */
static int list(const s3_root *root, const s3_tree *tree, const char *after, s3_tree *fresh, assay_error *err)
{
    assay_buf prefix = ASSAY_BUF(SIZE_MAX / 4);
    assay_buf_init(&fresh->keys, SIZE_MAX / 4);
    assay_put_format(&prefix, "%s%s%s", root->place.prefix, tree->top, tree->top[0] ? "/" : "");
    assay_put_u8(&prefix, '\0');
    assay_s3_listing *listing = assay_buf_status(&prefix) == ASSAY_OK
                                    ? assay_s3_list_begin(root->place.bucket, (const char *)prefix.data,
                                                          tree->top[0] ? ASSAY_S3_DEEP : ASSAY_S3_DEEP_FEW, after)
                                    : NULL;
    assay_buf_release(&prefix);
    return listing ? assay_s3_list_finish(listing, take, fresh, err) : ASSAY_ENOMEM;
}

/* How many leaves come before a key. */
static size_t count_before(const s3_tree *tree, const char *key)
{
    size_t first = 0;
    ASSAY_SEARCH(first, tree->count, strcmp(key_of(tree, first), key) < 0);
    return first;
}

/* The number of the last leaf before tree->from; false: nothing of the last look is of use. */
static bool find_anchor(s3_root *root, const s3_tree *tree, size_t *anchor)
{
    const char *from =
        tree->from && tree->count > 0 && !root->doubtful && !tree->unsorted ? s3_root_key(root, tree->from) : NULL;
    const size_t before = from ? count_before(tree, from) : 0;
    *anchor = before - 1;
    return before > 0;
}

/* Is the anchor among what was listed, as it was? */
static bool is_there(const s3_tree *tree, size_t anchor, const s3_tree *fresh)
{
    const size_t at = count_before(fresh, key_of(tree, anchor));
    const s3_leaf *was = &tree->list[anchor], *is = &fresh->list[at];
    return at < fresh->count && strcmp(key_of(fresh, at), key_of(tree, anchor)) == 0 && was->size == is->size &&
           was->etag == is->etag && was->time == is->time;
}

/* Lists from the anchor on, and puts the result behind what the last look has before that. 1: the trial is another one.
 */
static int list_rest(s3_root *root, s3_tree *tree, size_t anchor, assay_error *err)
{
    s3_tree fresh = {.most = SIZE_MAX};
    char *after = assay_copy_text(key_of(tree, anchor));
    ASSAY_HAVE(after);
    /* start-after excludes its key, so the anchor without its last byte is given. */
    after[strlen(after) - 1] = '\0'; /* a key comes behind its own beginning: the anchor is listed, too */
    int status = list(root, tree, after, &fresh, err);
    /* A server that ignores start-after begins with the first key. */
    const bool heeded = fresh.count > 0 && strcmp(key_of(&fresh, 0), after) > 0;
    if (status == ASSAY_OK && (fresh.unsorted || !heeded || !is_there(tree, anchor, &fresh)))
        status = 1;
    /* Keys behind the shortened anchor go, and come again from the fresh listing. */
    while (status == ASSAY_OK && tree->count > 0 && strcmp(key_of(tree, tree->count - 1), after) > 0)
        tree->keys.size = tree->list[--tree->count].key;
    for (size_t i = 0; status == ASSAY_OK && i < fresh.count; i++)
        status = add(tree, key_of(&fresh, i), fresh.list[i]);
    free(after);
    s3_tree_release(&fresh);
    return status;
}

static int compare_leaves(const void *a, const void *b, void *keys)
{
    return strcmp((const char *)keys + ((const s3_leaf *)a)->key, (const char *)keys + ((const s3_leaf *)b)->key);
}

static int list_whole(const s3_root *root, s3_tree *tree, assay_error *err)
{
    s3_tree fresh = {.most = tree->most};
    int status = list(root, tree, NULL, &fresh, err);
    if (status != ASSAY_OK) {
        s3_tree_release(&fresh);
        return status;
    }
    if (fresh.unsorted)
        qsort_r(fresh.list, fresh.count, sizeof *fresh.list, compare_leaves, fresh.keys.data);
    /* The tree stays the same one for its users; only what it holds is replaced. */
    fresh.top = tree->top;
    fresh.from = tree->from;
    tree->top = tree->from = NULL;
    s3_tree_release(tree);
    *tree = fresh;
    return ASSAY_OK;
}

/* A tree of the root ("") has everything; others are for one directory right below it. */
s3_tree *s3_tree_of(s3_root *root, const char *path)
{
    const size_t length = strcspn(path, "/");
    for (size_t i = 0; i < root->tree_count; i++)
        if (root->tree[i].top[0] == '\0' ||
            (strncmp(root->tree[i].top, path, length) == 0 && root->tree[i].top[length] == '\0'))
            return &root->tree[i];
    return NULL;
}

/* Lists the tree, unless this look has done so. */
static int load(s3_root *root, s3_tree *tree, assay_error *err)
{
    /* 1 stands for "list the whole". */
    size_t anchor;
    int status = 1;
    if (tree->listed)
        return ASSAY_OK;
    if (find_anchor(root, tree, &anchor)) {
        status = list_rest(root, tree, anchor, err);
        root->doubtful = root->doubtful || status == 1;
    }
    if (status == 1)
        status = list_whole(root, tree, err);
    tree->listed = status == ASSAY_OK;
    return status;
}

int s3_tree_add(s3_root *root, const char *top, size_t length)
{
    s3_tree *grown = assay_realloc_array(root->tree, root->tree_count + 1, sizeof *grown);
    ASSAY_HAVE(grown);
    root->tree = grown;
    s3_tree *tree = &grown[root->tree_count];
    *tree = (s3_tree){.top = assay_copy_bytes_as_text(top, length)};
    assay_buf_init(&tree->keys, SIZE_MAX / 4);
    root->tree_count += tree->top != NULL;
    return tree->top ? ASSAY_OK : ASSAY_ENOMEM;
}

/* ---- for all stores of a place ---- */

/* The place that was listed as a whole last, for those who look at it by several stores (assay_store_share_listings). */
static struct {
    unsigned sharers;
    char *bucket, *prefix; /* NULL: none */
    bool large;            /* it has more than a few pages, and the tree nothing */
    s3_tree tree;
} shared;

static void forget_shared(void)
{
    free(shared.bucket);
    free(shared.prefix);
    s3_tree_release(&shared.tree);
    shared.bucket = shared.prefix = NULL;
}

void s3_share(bool share)
{
    shared.sharers += share ? 1U : -1U;
    if (shared.sharers == 0)
        forget_shared();
}

/* Adds what lies below a prefix. */
static int add_below(const s3_tree *from, const char *prefix, s3_tree *to)
{
    const size_t length = strlen(prefix);
    int status = ASSAY_OK;
    for (size_t i = count_before(from, prefix);
         status == ASSAY_OK && i < from->count && strncmp(key_of(from, i), prefix, length) == 0; i++)
        status = add(to, key_of(from, i), from->list[i]);
    return status;
}

/* Without memory for it, the place is listed again. */
static void keep_shared(const s3_root *root, const s3_tree *tree, int status)
{
    if (shared.sharers == 0 || (status != ASSAY_OK && status != ASSAY_EBUDGET))
        return;
    forget_shared();
    shared.large = status == ASSAY_EBUDGET;
    shared.tree.most = SIZE_MAX;
    assay_buf_init(&shared.tree.keys, SIZE_MAX / 4);
    shared.bucket = assay_copy_text(root->place.bucket);
    shared.prefix = assay_copy_text(root->place.prefix);
    if (!shared.bucket || !shared.prefix ||
        (!shared.large && add_below(tree, root->place.prefix, &shared.tree) != ASSAY_OK))
        forget_shared();
}

/* 1: nothing is known of the place. */
static int take_shared(const s3_root *root, s3_tree *tree)
{
    if (!shared.prefix || strcmp(root->place.bucket, shared.bucket) != 0 ||
        strncmp(root->place.prefix, shared.prefix, strlen(shared.prefix)) != 0)
        return 1;
    if (shared.large) /* what lies below it may still be few */
        return strcmp(root->place.prefix, shared.prefix) == 0 ? ASSAY_EBUDGET : 1;
    const int status = add_below(&shared.tree, root->place.prefix, tree);
    tree->listed = status == ASSAY_OK;
    return status;
}

/* A trial of few pages is listed by one request a page; a larger one costs these for nothing. */
int s3_tree_of_few(s3_root *root, assay_error *err)
{
    assay_error why = {""};
    ASSAY_TRY(s3_tree_add(root, "", 0));
    s3_tree *tree = &root->tree[root->tree_count - 1];
    tree->most = assay_s3_listing_memory() / 2;
    int status = take_shared(root, tree);
    if (status == 1) {
        status = load(root, tree, &why);
        keep_shared(root, tree, status);
    }
    if (status == ASSAY_OK)
        return ASSAY_OK;
    s3_tree_release(tree);
    root->tree_count--;
    return status == ASSAY_EBUDGET ? ASSAY_OK : assay_fail(err, status, "%s", why.text);
}

s3_tree *s3_tree_listed(s3_root *root, const char *path)
{
    s3_tree *tree = s3_tree_of(root, path);
    if (!tree || tree->from || tree->listed)
        return tree;
    tree->most = assay_s3_listing_memory() / 2;
    /* Trees of this look share what memory there is for listings. */
    for (size_t i = 0; i < root->tree_count; i++)
        if (!root->tree[i].from)
            tree->most -= bytes_of(&root->tree[i]) < tree->most ? bytes_of(&root->tree[i]) : tree->most;
    assay_error why = {""}; /* listing the directory alone tells what concerns that one */
    const int status = load(root, tree, &why);
    if (status == ASSAY_OK || status == ASSAY_ENOMEM)
        return tree;
    s3_tree_release(tree);
    *tree = root->tree[--root->tree_count];
    /* Not tried again: what failed for one directory would fail for the next. */
    root->one_by_one = true;
    return NULL;
}

/* Keys are sorted, so keys of one subdirectory lie side by side and make one name. */
int s3_tree_visit(s3_root *root, s3_tree *tree, const char *directory, s3_leaf_visit *visit, void *context,
                  assay_error *err)
{
    assay_buf name; /* of the directory below that was visited last, its '/' included */
    int status = load(root, tree, err);
    assay_buf_init(&name, SIZE_MAX / 4);
    assay_put_format(&name, "%s%s", directory, directory[0] ? "/" : "");
    assay_put_u8(&name, '\0');
    const char *key =
        status == ASSAY_OK && assay_buf_status(&name) == ASSAY_OK ? s3_root_key(root, (const char *)name.data) : NULL;
    const size_t length = key ? strlen(key) : 0, prefix = strlen(root->place.prefix);
    size_t at = key ? count_before(tree, key) : 0, below = 0;
    for (; key && status == ASSAY_OK && at < tree->count && strncmp(key_of(tree, at), key, length) == 0; at++) {
        const char *rest = key_of(tree, at) + length, *slash = strchr(rest, '/');
        if (below > 0 && strncmp(rest, (const char *)name.data, below) == 0)
            continue;
        below = slash ? (size_t)(slash - rest) + 1 : 0;
        assay_buf_clear(&name);
        assay_put_bytes(&name, rest, below);
        assay_put_u8(&name, '\0');
        status = assay_buf_status(&name);
        ASSAY_THEN(status, visit(context, key_of(tree, at) + prefix,
                                 slash ? length - prefix + below : strlen(key_of(tree, at) + prefix),
                                 slash ? &(s3_leaf){.time = INT64_MIN} : &tree->list[at]));
    }
    assay_buf_release(&name);
    return key || status != ASSAY_OK ? status : ASSAY_ENOMEM;
}

/* For `assay watch`: `before` is the store of the last look, whose trees are taken over. */
int s3_follow(assay_store *store, assay_store *before, const char *const *from, size_t count)
{
    s3_root *root = store->root, *old = before && before->ops == store->ops ? before->root : NULL;
    s3_tree *tree = assay_alloc_zeroed(count, sizeof *tree);
    int status = tree ? ASSAY_OK : ASSAY_ENOMEM;
    root->tree = tree;
    for (; status == ASSAY_OK && root->tree_count < count; tree++) {
        const char *path = from[root->tree_count];
        s3_tree *known = old && !old->doubtful ? s3_tree_of(old, path) : NULL;
        if (known &&
            known->count > 0) { /* of that look, or of an earlier one: what is behind its anchor is listed now */
            *tree = *known;
            *known = (s3_tree){.top = known->top};
            free(tree->from);
            tree->listed = false;
        } else {
            assay_buf_init(&tree->keys, SIZE_MAX / 4);
        }
        tree->most = SIZE_MAX;
        tree->top = assay_copy_bytes_as_text(path, strcspn(path, "/"));
        tree->from = assay_copy_text(path);
        root->tree_count++;
        status = tree->top && tree->from ? ASSAY_OK : ASSAY_ENOMEM;
    }
    return status;
}
