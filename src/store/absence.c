/* absence.c - see absence.h. */
#include "store/absence.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "store/backend.h"

/* Adds the names of a directory to those that were listed, and the directory itself with a '/' behind it. */
static bool add_names(assay_dict *listed, const char *directory, const assay_names *names)
{
    assay_buf path;
    assay_buf_init(&path, SIZE_MAX / 4);
    const char *slash = *directory ? "/" : "";
    assay_put_format(&path, "%s/", directory);
    bool added = assay_buf_status(&path) == ASSAY_OK &&
                 assay_dict_add(listed, (const char *)path.data, path.size) != ASSAY_NO_ID;
    for (size_t i = 0; added && i < names->count; i++) {
        assay_buf_clear(&path);
        assay_put_format(&path, "%s%s%s", directory, slash, names->name[i]);
        added = assay_buf_status(&path) == ASSAY_OK &&
                assay_dict_add(listed, (const char *)path.data, path.size) != ASSAY_NO_ID;
    }
    assay_buf_release(&path);
    return added;
}

/* ASSAY_OK: the names in the directory are known. ASSAY_ENOTFOUND: it cannot be found. Else why it cannot be listed. */
static int know_names(assay_store *store, const char *directory)
{
    const size_t length = strlen(directory);
    char *mark = assay_alloc(length + 1);
    assay_names names = {0};
    assay_error why;
    if (!mark)
        return ASSAY_ENOMEM;
    memcpy(mark, directory, length);
    mark[length] = '/';
    const bool known = assay_dict_find(store->listed, mark, length + 1) != ASSAY_NO_ID;
    free(mark);
    if (known)
        return ASSAY_OK;
    const assay_names *kept = assay_listings_find(&store->listings, directory);
    int status = kept ? ASSAY_OK : store->ops->list(store, directory, &names, &why);
    if (status == ASSAY_OK && !add_names(store->listed, directory, kept ? kept : &names))
        status = ASSAY_ENOMEM;
    assay_names_release(&names);
    return status;
}

/* Climbs from the path to the first directory that can be found, and leaves in `path` what is missing in it. */
static int climb(assay_store *store, char *path)
{
    for (;;) {
        char *slash = strrchr(path, '/');
        if (slash)
            *slash = '\0';
        const int status = know_names(store, slash ? path : "");
        if (!slash || status != ASSAY_ENOTFOUND) {
            if (slash)
                *slash = '/';
            return status;
        }
    }
}

int assay_store_look_listed(assay_store *store, const char *path, assay_error *err)
{
    int status = ASSAY_ENOTFOUND;
    if (!store->ops->contradicts || !*path)
        return status;
    if (!store->listed)
        store->listed = assay_dict_new();
    char *missing = store->listed ? assay_copy_text(path) : NULL;
    status = missing ? climb(store, missing) : ASSAY_ENOMEM;
    const bool listed = status == ASSAY_OK && assay_dict_find(store->listed, missing, strlen(missing)) != ASSAY_NO_ID;
    free(missing);
    if (status == ASSAY_ENOMEM)
        return assay_fail(err, status, "%s: %s: out of memory while looking for it", store->location, path);
    return listed ? ASSAY_OK : ASSAY_ENOTFOUND;
}

int assay_store_fail_gone(const char *path, assay_error *err)
{
    return assay_fail(
        err, ASSAY_EIO,
        "%s: its directory lists it, and it cannot be found: a link that leads nowhere, or it was removed "
        "while it was read",
        path);
}
