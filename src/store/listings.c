/* listings.c - keeps the names of directories that were listed. */
#include "store/listings.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "base/vec.h"
#include "store/backend.h"

static size_t text_bytes(const assay_names *names)
{
    size_t bytes = 0;
    for (size_t i = 0; i < names->count; i++)
        bytes += strlen(names->name[i]) + 1;
    return bytes;
}

int assay_names_copy(const assay_names *from, assay_names *out)
{
    *out = (assay_names){0};
    if (from->count == 0)
        return ASSAY_OK;
    /* The texts of sorted names need not lie in their order: assay_names_from_text() wants them so. */
    assay_buf text = ASSAY_BUF(SIZE_MAX / 4);
    for (size_t i = 0; i < from->count; i++)
        assay_put_bytes(&text, from->name[i], strlen(from->name[i]) + 1);
    int status = assay_buf_status(&text);
    ASSAY_THEN(status, assay_names_from_text((const char *)text.data, text.size, from->count, out));
    assay_buf_release(&text);
    return status;
}

static const assay_names *find(const assay_listings *listings, const char *directory, size_t length)
{
    const uint32_t id = listings->paths ? assay_dict_find(listings->paths, directory, length) : ASSAY_NO_ID;
    return id == ASSAY_NO_ID ? NULL : &listings->names.list[id];
}

const assay_names *assay_listings_find(const assay_listings *listings, const char *directory)
{
    return find(listings, directory, strlen(directory));
}

/* ASSAY_LISTINGS_MOST bounds memory; a directory beyond it is listed again when it is asked for. The root is kept
 * whatever it takes: all trials in it go by its names. */
int assay_listings_keep(assay_listings *listings, const char *directory, const assay_names *names)
{
    const size_t bytes = *directory ? text_bytes(names) + names->count * sizeof *names->name : 0;
    if (bytes > ASSAY_LISTINGS_MOST - listings->bytes || assay_listings_find(listings, directory))
        return ASSAY_OK;
    if (!listings->paths && !(listings->paths = assay_dict_new()))
        return ASSAY_ENOMEM;
    assay_names copy;
    if (!ASSAY_VEC_RESERVE(&listings->names, 1) || assay_names_copy(names, &copy) != ASSAY_OK)
        return ASSAY_ENOMEM;
    if (assay_dict_add(listings->paths, directory, strlen(directory)) == ASSAY_NO_ID) {
        assay_names_release(&copy);
        return ASSAY_ENOMEM;
    }
    listings->names.list[listings->names.count++] = copy;
    listings->bytes += bytes;
    return ASSAY_OK;
}

static bool has(const assay_names *names, const char *name, size_t length)
{
    size_t low = 0; /* of names that begin alike the one that is no longer stands first */
    ASSAY_SEARCH(low, names->count, strncmp(names->name[low], name, length) < 0);
    return low < names->count && strncmp(names->name[low], name, length) == 0 && names->name[low][length] == '\0';
}

/* For storages where a request costs a round trip: a name that its directory's listing does not have needs none. */
bool assay_listings_exclude(const assay_listings *listings, const char *path)
{
    const assay_names *names = find(listings, "", 0);
    for (const char *at = path; *at;) {
        const size_t length = strcspn(at, "/");
        if (names && length > 0 && !has(names, at, length))
            return true;
        /* Known listings of the path's own directories only, from the top down: an unknown one excludes nothing. */
        names = find(listings, path, (size_t)(at - path) + length);
        at += length + (at[length] == '/');
    }
    return false;
}

void assay_listings_pack(const assay_listings *listings, assay_buf *out)
{
    assay_put_u64(out, listings->names.count);
    for (size_t i = 0; i < listings->names.count; i++) {
        const assay_names *names = &listings->names.list[i];
        assay_put_text(out, assay_dict_name(listings->paths, (uint32_t)i, NULL));
        assay_put_u64(out, names->count);
        for (size_t k = 0; k < names->count; k++)
            assay_put_text(out, names->name[k]);
    }
}

/* The listings come from another rank of this job; lengths are checked like a stranger's. */
static int unpack_one(assay_cursor *in, assay_buf *text, assay_listings *listings)
{
    size_t length = 0;
    const char *directory = assay_get_text(in, &length);
    const uint64_t count = assay_get_count(in, sizeof(uint32_t));
    assay_buf_clear(text);
    for (uint64_t k = 0; k < count && !in->failed; k++) {
        size_t size = 0;
        const char *name = assay_get_text(in, &size);
        assay_put_bytes(text, name, size);
        assay_put_u8(text, '\0');
    }
    if (in->failed)
        return ASSAY_EINTERNAL;
    char *path = assay_copy_bytes_as_text(directory, length);
    assay_names names = {0};
    int status = path ? assay_buf_status(text) : ASSAY_ENOMEM;
    ASSAY_THEN(status, assay_names_from_text((const char *)text->data, text->size, count, &names));
    ASSAY_THEN(status, assay_listings_keep(listings, path, &names));
    assay_names_release(&names);
    free(path);
    return status;
}

int assay_listings_unpack(assay_cursor *in, assay_listings *listings)
{
    assay_buf text = ASSAY_BUF(SIZE_MAX / 4);
    int status = ASSAY_OK;
    for (uint64_t left = assay_get_count(in, sizeof(uint32_t) + sizeof(uint64_t)); status == ASSAY_OK && left > 0;
         left--)
        status = unpack_one(in, &text, listings);
    assay_buf_release(&text);
    return in->failed ? ASSAY_EINTERNAL : status;
}

void assay_listings_release(assay_listings *listings)
{
    for (size_t i = 0; i < listings->names.count; i++)
        assay_names_release(&listings->names.list[i]);
    free(listings->names.list);
    assay_dict_free(listings->paths);
    *listings = (assay_listings){0};
}
