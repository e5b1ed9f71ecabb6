/* select.c - the tensors and collections of a trial, by number, name, pattern and membership. */
#include <string.h>

#include "base/nearest.h"
#include "base/regex.h"
#include "recording/recording.h"

uint32_t assay_recording_tensors(const assay_recording *r)
{
    return assay_dict_count(r->files.tensors);
}

const char *assay_recording_tensor(const assay_recording *r, uint32_t tensor, size_t *length)
{
    size_t unused;
    length = length ? length : &unused;
    *length = 0;
    return tensor < assay_dict_count(r->files.tensors) ? assay_dict_name(r->files.tensors, tensor, length) : "";
}

uint32_t assay_recording_find(const assay_recording *r, const char *name, size_t length)
{
    return assay_dict_find(r->files.tensors, name, length);
}

uint32_t assay_recording_collections(const assay_recording *r)
{
    return (uint32_t)r->files.catalog.collections.count;
}

const char *assay_recording_collection(const assay_recording *r, uint32_t collection)
{
    const assay_collections *all = &r->files.catalog.collections;
    return collection < all->count ? all->list[collection].name : "";
}

const char *assay_recording_collection_regex(const assay_recording *r, uint32_t collection, uint32_t i)
{
    const assay_collections *all = &r->files.catalog.collections;
    return collection < all->count && i < all->list[collection].regexes ? all->list[collection].regex[i] : "";
}

static int fail_collection(const assay_recording *r, const char *name, assay_error *err)
{
    const assay_collections *all = &r->files.catalog.collections;
    char hint[ASSAY_NEAREST_ROOM];
    assay_nearest nearest;
    assay_nearest_begin(&nearest, name, strlen(name));
    for (size_t c = 0; c < all->count; c++)
        assay_nearest_offer(&nearest, all->list[c].name);
    return assay_fail(err, ASSAY_ENOTFOUND,
                      "%s: no collection is called \"%.100s\"%s; `assay ls` lists the collections",
                      assay_recording_location(r), name, assay_nearest_hint(&nearest, hint));
}

/* `selected` only loses: several filters in a row are an intersection. *slow: the first name on which the pattern
 * took too long. */
int recording_keep_matching(const assay_recording *r, const char *pattern, uint8_t *selected, const char **slow,
                            assay_error *err)
{
    assay_regex *regex = NULL;
    int status = assay_regex_new(pattern, &regex, err);
    *slow = NULL;
    for (uint32_t t = 0; status == ASSAY_OK && t < assay_dict_count(r->files.tensors); t++) {
        size_t length;
        const char *name = assay_dict_name(r->files.tensors, t, &length);
        int matches = selected[t] ? assay_regex_search(regex, name, length) : 0;
        if (matches == ASSAY_ENOMEM)
            status = assay_fail(err, ASSAY_ENOMEM, "%s: out of memory for pattern \"%.200s\"",
                                assay_recording_location(r), pattern);
        else if (matches < 0 && !*slow)
            *slow = name;
        selected[t] = matches == 1;
    }
    assay_regex_free(regex);
    return status;
}

int recording_keep_members(const assay_recording *r, size_t collection, uint8_t *selected, assay_problems *problems)
{
    assay_matcher *matcher = NULL;
    int status = assay_matcher_new(&r->files.catalog.collections, collection, &matcher, problems);
    for (uint32_t t = 0; t < assay_dict_count(r->files.tensors) && status == ASSAY_OK; t++) {
        size_t length;
        const char *tensor = assay_dict_name(r->files.tensors, t, &length);
        int has = selected[t] ? assay_matcher_has(matcher, tensor, length, problems) : 0;
        status = has < 0 ? has : ASSAY_OK;
        selected[t] = has == 1;
    }
    assay_matcher_free(matcher);
    return status;
}

int recording_keep_collection(const assay_recording *r, const char *name, uint8_t *selected, assay_error *err)
{
    const assay_collections *all = &r->files.catalog.collections;
    const assay_collection *collection = assay_collections_find(all, name);
    assay_problems problems;
    if (!collection)
        return fail_collection(r, name, err);
    assay_problems_init(&problems);
    int status = recording_keep_members(r, (size_t)(collection - all->list), selected, &problems);
    assay_problems_release(&problems);
    return status == ASSAY_OK
               ? status
               : assay_fail(err, status, "%s: out of memory for the list of tensors", assay_recording_location(r));
}

int assay_recording_select(assay_recording *r, const char *regex, const char *collection, uint8_t *selected,
                           assay_error *err)
{
    const char *slow = NULL;
    memset(selected, 1, assay_dict_count(r->files.tensors));
    int status = regex ? recording_keep_matching(r, regex, selected, &slow, err) : ASSAY_OK;
    if (status == ASSAY_OK && slow)
        return assay_fail(err, ASSAY_EBUDGET,
                          "pattern \"%.200s\" takes too long on tensor \"%.200s\": simplify the pattern", regex, slow);
    return status == ASSAY_OK && collection ? recording_keep_collection(r, collection, selected, err) : status;
}
