/* storage.c - chooses the backend by the location's scheme and passes calls on to it. */
#include "store/storage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/activity.h"
#include "base/fault.h"
#include "base/search.h"
#include "s3/s3.h"
#include "store/backend.h"

/* ---- absence ---- */

/* Tells what is not there from what cannot be found. Inside store only.
 *
 * A system may list a name and then not find it: a link that leads nowhere, a file server that contradicts itself, a
 * file that was removed meanwhile. Taken for absence, that leaves out a part of a trial without a word. So an absence
 * is held against the listing of the directory around it, once for each directory. */

/* Adds the names of a directory to those that were listed, and the directory itself with a '/' behind it. */
static bool add_names(assay_dict *listed, const char *directory, const assay_names *names)
{
    assay_buf path = ASSAY_BUF(SIZE_MAX / 4);
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
    /* The mark "DIRECTORY/" tells that its names were added. */
    const size_t length = strlen(directory);
    char *mark = assay_alloc(length + 1);
    assay_names names = {0};
    assay_error why;
    ASSAY_HAVE(mark);
    memcpy(mark, directory, length);
    mark[length] = '/';
    const bool known = assay_dict_find(store->place->listed, mark, length + 1) != ASSAY_NO_ID;
    free(mark);
    if (known)
        return ASSAY_OK;
    const assay_names *kept = assay_listings_find(&store->place->listings, directory);
    int status = kept ? ASSAY_OK : store->ops->list(store, directory, &names, &why);
    if (status == ASSAY_OK && !add_names(store->place->listed, directory, kept ? kept : &names))
        status = ASSAY_ENOMEM;
    assay_names_release(&names);
    return status;
}

/* Climbs from the path to the first directory that can be found, and leaves in `path` what is missing in it. A
 * missing "a/b/c" may miss "a" already: then what is missing there is "a". */
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

/* Has a listing the path, which was not found, or the lowest directory around it that was not found either? ASSAY_OK:
 * it has; whoever asks looks once more, for it may have come in between. ASSAY_ENOTFOUND: it is absent. ASSAY_ENOMEM.
 * Only for storages that may contradict themselves: a listing each. */
static int assay_store_look_listed(assay_store *store, const char *path, assay_error *err)
{
    int status = ASSAY_ENOTFOUND;
    if (!store->ops->contradicts || !*path)
        return status;
    if (!store->place->listed)
        store->place->listed = assay_dict_new();
    char *missing = store->place->listed ? assay_copy_text(path) : NULL;
    status = missing ? climb(store, missing) : ASSAY_ENOMEM;
    const bool listed =
        status == ASSAY_OK && assay_dict_find(store->place->listed, missing, strlen(missing)) != ASSAY_NO_ID;
    free(missing);
    if (status == ASSAY_ENOMEM)
        return assay_fail(err, status, "%s: %s: out of memory while looking for it", store->location, path);
    return listed ? ASSAY_OK : ASSAY_ENOTFOUND;
}

/* ASSAY_EIO: it should be there, and is not. */
static int assay_store_fail_gone(const char *path, assay_error *err)
{
    return assay_fail(
        err, ASSAY_EIO,
        "%s: its directory lists it, and it cannot be found: a link that leads nowhere, or it was removed "
        "while it was read",
        path);
}

/* ---- storage ---- */

/* The first scheme that fits; packed trials are a file or object with another reading. */
static const assay_store_ops *const backends[] = {&assay_store_posix, &assay_store_s3};

static const assay_store_ops *choose_local(const char *place)
{
    size_t length = 0;
    return assay_is_hdf5_place(place, &length) ? &assay_store_hdf5 : &assay_store_posix;
}

static const assay_store_ops *choose_remote(const char *place)
{
    size_t length = 0;
    return assay_s3_is_hdf5_place(place, &length) ? &assay_store_s3_hdf5 : &assay_store_s3;
}

/* The backend for a location, and in *place what follows the scheme. A colon and two slashes make a scheme. A name
 * with "://" in it is no path that anybody writes by hand. */
static const assay_store_ops *choose(const char *location, const char **place)
{
    *place = location;
    if (!strstr(location, "://"))
        return choose_local(location);
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        size_t length = strlen(backends[i]->scheme);
        if (strncmp(location, backends[i]->scheme, length) == 0) {
            *place = location + length;
            return backends[i] == &assay_store_posix ? choose_local(*place) : choose_remote(*place);
        }
    }
    return NULL;
}

/* Opening a store asks for no listing; a directory that cannot be listed shows when it is read. */
int assay_store_open(const char *location, assay_store **out, assay_error *err)
{
    const char *place = NULL;
    const assay_store_ops *ops = choose(location, &place);
    if (!ops) {
        const int status = assay_s3_place_refuse_keys(location, err);
        return status != ASSAY_OK
                   ? status
                   : assay_fail(err, ASSAY_EUSAGE,
                                "%s: unknown kind of location; give a directory, or s3://BUCKET/PREFIX", location);
    }
    assay_store *store = assay_alloc_zeroed(1, sizeof *store);
    if (!store)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while opening it", location);
    store->ops = ops;
    store->location = assay_copy_text(location);
    store->place = assay_alloc_zeroed(1, sizeof *store->place);
    int status = store->location && store->place
                     ? ops->open(store, place, err)
                     : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while opening it", location);
    if (status != ASSAY_OK) {
        free(store->place);
        free(store->location);
        free(store);
        return status;
    }
    store->place->stores = 1;
    *out = store;
    return ASSAY_OK;
}

int assay_store_open_beside(assay_store *store, assay_store **out, assay_error *err)
{
    assay_store *beside = assay_alloc_zeroed(1, sizeof *beside);
    char *location = beside ? assay_copy_text(store->location) : NULL;
    if (!location) {
        free(beside);
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while opening it", store->location);
    }
    *beside = (assay_store){
        .ops = store->ops, .location = location, .root = store->root, .place = store->place, .is_file = store->is_file};
    store->place->stores++;
    *out = beside;
    return ASSAY_OK;
}

static void leave_place(assay_store *store)
{
    assay_store_place *place = store->place;
    if (--place->stores > 0)
        return;
    store->ops->close(store);
    assay_dict_free(place->listed);
    assay_listings_release(&place->listings);
    free(place);
}

/* What formats keep with the store (assay_store_kept) goes first. */
void assay_store_close(assay_store *store)
{
    if (!store)
        return;
    leave_place(store);
    if (store->kept)
        store->release(store->kept);
    assay_dict_free(store->notes);
    assay_dict_free(store->opened);
    free(store->unlisted);
    free(store->outside);
    free(store->location);
    free(store);
}

/* One slot a store, for the format that reads it. */
void **assay_store_kept(assay_store *store, void (*release)(void *kept))
{
    store->release = release;
    return &store->kept;
}

const char *assay_store_location(const assay_store *store)
{
    return store->location;
}

bool assay_store_is_file(const assay_store *store)
{
    return store->is_file;
}

/* Command lines and messages need paths of the system; of other storages there are none. */
bool assay_store_local_path(const assay_store *store, const char *path, char *out, size_t room)
{
    const char *place = NULL;
    if (store->ops != &assay_store_posix || !choose(store->location, &place))
        return false;
    /* A checkpoint in one file is a trial in the directory that it is in. */
    const char *slash = strrchr(place, '/');
    const size_t kept = slash ? (size_t)(slash - place) : 0;
    const int whole = (int)strlen(place);
    const bool is_file = store->is_file && strcmp(slash ? slash + 1 : place, path) == 0;
    const int length = !is_file ? snprintf(out, room, "%.*s/%s", whole, place, path)
                       : slash  ? snprintf(out, room, "%.*s/%s", (int)kept, place, path)
                                : snprintf(out, room, "%s", path);
    return length > 0 && (size_t)length < room;
}

/* Each note once: a dictionary of "PATH NUL TEXT". */
void assay_store_note(assay_store *store, const char *path, const char *text)
{
    assay_buf note = ASSAY_BUF(SIZE_MAX / 4);
    assay_put_bytes(&note, path, strlen(path) + 1);
    assay_put_bytes(&note, text, strlen(text));
    if (!store->notes)
        store->notes = assay_dict_new();
    if (!store->notes || assay_buf_status(&note) != ASSAY_OK ||
        assay_dict_add(store->notes, (const char *)note.data, note.size) == ASSAY_NO_ID)
        store->no_memory = true;
    assay_buf_release(&note);
}

bool assay_store_lacked_memory(assay_store *store)
{
    const bool lacked = store->no_memory;
    store->no_memory = false;
    return lacked;
}

/* What came of a call whose caller does not ask why. A caller without `err` takes a failure for "not there"; the note
 * keeps it from being forgotten. */
static void note_failure(assay_store *store, int status, const char *path, const assay_error *why)
{
    store->no_memory = store->no_memory || status == ASSAY_ENOMEM;
    if (status != ASSAY_ENOMEM)
        assay_store_note(store, path, why->text);
}

bool assay_store_take_note(assay_store *store, const char **path, const char **text)
{
    if (store->notes && store->notes_taken < assay_dict_count(store->notes)) {
        *path = assay_dict_name(store->notes, store->notes_taken++, NULL);
        *text = *path + strlen(*path) + 1;
        return true;
    }
    /* All were taken: begin anew. */
    assay_dict_free(store->notes);
    store->notes = NULL;
    store->notes_taken = 0;
    return false;
}

int assay_store_listed_whole(const assay_store *store, assay_error *err)
{
    if (!store->unlisted)
        return ASSAY_OK;
    return assay_fail(err, ASSAY_EIO, "%s: cannot list all of it: %s", store->location, store->unlisted);
}

/* Not to be taken for "there is no such thing". Storages that list themselves whole (S3) must fail as a whole too: a
 * trial with a part unlisted would look complete. */
static bool is_failure(const assay_store *store, int status)
{
    if (store->ops->listed_whole)
        return status < 0 && status != ASSAY_ENOTFOUND;
    return status == ASSAY_EIO || status == ASSAY_ENOMEM;
}

/* Notes the first directory that could not be listed, of storages that must be listed whole: opening the trial fails by it.
 * Memory that ran out fails the call itself. */
static void keep_unlisted(assay_store *store, int status, const char *directory, const assay_error *why)
{
    assay_error text;
    if (!store->ops->listed_whole || store->unlisted || status == ASSAY_ENOMEM)
        return;
    assay_fail(&text, ASSAY_EIO, "%s%s%s", directory, *directory ? "/: " : "", why->text);
    store->unlisted = assay_copy_text(text.text);
}

/* A local storage is asked all the same: it has answers for what a listing passes over, such as links. */
static bool is_excluded(const assay_store *store, const char *path)
{
    return store->ops->list_ahead && assay_listings_exclude(&store->place->listings, path);
}

/* Takes what links lead out of the root from a directory that this store looks at, whichever store of the place listed it.
 * Without memory none is named. */
static void take_links(assay_store *store, const char *directory)
{
    bool several = false;
    const char *path = store->ops->outside ? store->ops->outside(store, directory, &several) : NULL;
    if (!path)
        return;
    const int order = store->outside ? strcmp(path, store->outside) : -1;
    store->several = store->several || several || (store->outside && order != 0);
    char *first = order < 0 ? assay_copy_text(path) : NULL;
    if (first) {
        free(store->outside);
        store->outside = first;
    }
}

int assay_store_list(assay_store *store, const char *directory, assay_names *out, assay_error *err)
{
    assay_error why = {{0}};
    /* A directory is listed once for each place; watching opens anew. */
    const assay_names *known = assay_listings_find(&store->place->listings, directory);
    if (known && assay_names_copy(known, out) == ASSAY_OK) {
        take_links(store, directory);
        return ASSAY_OK;
    }
    if (known) {
        store->no_memory = store->no_memory || !err;
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while listing it", directory);
    }
    if (is_excluded(store, directory))
        return assay_fail(err, ASSAY_ENOTFOUND, "%s: does not exist", directory);
    int status = store->ops->list(store, directory, out, err ? err : &why);
    if (status == ASSAY_ENOTFOUND) {
        /* What was missing a moment ago may have come: once more, and only then is it gone. */
        const int listed = assay_store_look_listed(store, directory, err ? err : &why);
        status = listed == ASSAY_OK ? store->ops->list(store, directory, out, err ? err : &why) : listed;
        if (listed == ASSAY_OK && status == ASSAY_ENOTFOUND)
            status = assay_store_fail_gone(directory, err ? err : &why);
    }
    if (status == ASSAY_OK && assay_listings_keep(&store->place->listings, directory, out) != ASSAY_OK) {
        assay_names_release(out);
        status = assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while listing it", directory);
    }
    take_links(store, directory);
    if (!is_failure(store, status))
        return status;
    keep_unlisted(store, status, directory, err ? err : &why);
    /* A file has no names in it. Formats probe files as directories; "not a directory" is no news. */
    if (!err && (status == ASSAY_ENOMEM || assay_store_exists(store, directory, &why) != 1))
        note_failure(store, status, directory, &why);
    return status;
}

int assay_store_list_root(assay_store *store, assay_names *borrowed, assay_error *err)
{
    const assay_names *known = assay_listings_find(&store->place->listings, "");
    if (!known) {
        assay_names names;
        ASSAY_TRY(assay_store_list(store, "", &names, err));
        assay_names_release(&names);
        known = assay_listings_find(&store->place->listings, "");
    }
    take_links(store, "");
    *borrowed = known ? *known : (assay_names){0};
    borrowed->borrowed = true;
    return ASSAY_OK;
}

/* One of the two asks. */
static bool ask(assay_store *store, unsigned question, bool (*of_names)(const assay_names *names),
                bool (*of_files)(assay_store *store, const assay_names *names))
{
    assay_store_place *place = store->place;
    const uint64_t bit = UINT64_C(1) << question;
    assay_names names;
    if (!(place->asked & bit)) {
        if (assay_store_list_root(store, &names, NULL) != ASSAY_OK)
            return false;
        place->asked |= bit;
        place->yes |= (of_names ? of_names(&names) : of_files(store, &names)) ? bit : 0;
    }
    return place->yes & bit;
}

bool assay_store_ask_root(assay_store *store, unsigned question, bool (*asks)(const assay_names *names))
{
    return ask(store, question, asks, NULL);
}

bool assay_store_ask_files(assay_store *store, unsigned question,
                           bool (*asks)(assay_store *store, const assay_names *names))
{
    return ask(store, question, NULL, asks);
}

void assay_store_list_ahead(assay_store *store, const char *directory)
{
    if (store->ops->list_ahead && !assay_listings_find(&store->place->listings, directory))
        store->ops->list_ahead(store, directory);
}

bool assay_store_listing_waits(const assay_store *store)
{
    return store->ops->list_ahead != NULL;
}

int assay_store_exists(assay_store *store, const char *path, assay_error *err)
{
    uint64_t size = 0;
    return assay_store_size_of(store, path, &size, err);
}

/* 1: a regular file; 0: nothing of that name, or something else; negative: cannot be told. */
int assay_store_size_of(assay_store *store, const char *path, uint64_t *size, assay_error *err)
{
    assay_error why = {{0}};
    if (is_excluded(store, path))
        return 0;
    int status = store->ops->size_of(store, path, size, err ? err : &why);
    if (status == ASSAY_ENOTFOUND) {
        const int listed = assay_store_look_listed(store, path, err ? err : &why);
        status = listed == ASSAY_OK ? store->ops->size_of(store, path, size, err ? err : &why) : listed;
        if (listed == ASSAY_OK && status == ASSAY_ENOTFOUND)
            status = assay_store_fail_gone(path, err ? err : &why);
    }
    if (status == ASSAY_ENOTFOUND)
        return 0;
    if (!is_failure(store, status))
        return status;
    keep_unlisted(store, status, "", err ? err : &why);
    if (!err)
        note_failure(store, status, path, &why);
    return status;
}

bool assay_store_leads_out(assay_store *store, const char *path)
{
    return store->ops->leads_out && store->ops->leads_out(store, path);
}

const char *assay_store_outside(const assay_store *store, bool *several)
{
    *several = store->several;
    return store->outside;
}

int assay_store_stamp_of(assay_store *store, const char *path, assay_store_stamp *out, assay_error *err)
{
    *out = (assay_store_stamp){0};
    /* Packed trials never change. */
    if (!store->ops->stamp)
        return assay_fail(err, ASSAY_EUNSUPPORTED, "%s: its contents never change", store->location);
    if (strcmp(path, ".") != 0 && is_excluded(store, path))
        return 0;
    assay_error why = {{0}};
    const int status = store->ops->stamp(store, path, out, err ? err : &why);
    if (!err && is_failure(store, status))
        note_failure(store, status, path, &why);
    return status;
}

int assay_store_follow(assay_store *store, assay_store *before, const char *const *from, size_t count)
{
    return store->ops->follow ? store->ops->follow(store, before, from, count) : ASSAY_OK;
}

/* ---- sizes of files that were opened ---- */

/* Each is a text: the path, NUL, and the size in 8 bytes. A file that had two sizes is there twice. */
enum { SIZE_BYTES = 1 + sizeof(uint64_t) };

/* Ranks read the same files at different times: sizes that differ mean that the trial changed, or that a file server
 * is behind. */
int assay_store_keep_sizes(assay_store *store)
{
    store->opened = store->opened ? store->opened : assay_dict_new();
    return store->opened ? ASSAY_OK : ASSAY_ENOMEM;
}

static int keep_size(assay_store *store, const assay_store_file *file)
{
    assay_buf text = ASSAY_BUF(SIZE_MAX);
    assay_put_bytes(&text, file->path, strlen(file->path) + 1);
    assay_put_u64(&text, file->size);
    int status = assay_buf_status(&text);
    if (status == ASSAY_OK && assay_dict_add(store->opened, (const char *)text.data, text.size) == ASSAY_NO_ID)
        status = ASSAY_ENOMEM;
    assay_buf_release(&text);
    return status;
}

void assay_store_pack_sizes(const assay_store *store, assay_buf *out)
{
    assay_dict_pack(store->opened, out);
}

/* Adds every path of `from` to `paths`. A path that is there already has another size. Ids ascend with each new path;
 * an id that is not the next one is a path that came before. */
static int check_sizes(const assay_dict *from, assay_dict *paths, assay_error *err)
{
    for (uint32_t i = 0; i < assay_dict_count(from); i++) {
        size_t length = 0;
        const char *path = assay_dict_name(from, i, &length);
        const uint32_t id = assay_dict_add(paths, path, length - SIZE_BYTES);
        ASSAY_HAVE(id != ASSAY_NO_ID);
        if (id != i)
            return assay_fail(err, ASSAY_EIO,
                              "%s: it had two sizes: the trial changed while it was read, or not every rank sees the "
                              "same files",
                              path);
    }
    return ASSAY_OK;
}

/* On rank 0, with what each rank packed. */
int assay_store_join_sizes(assay_store *store, assay_cursor *in, assay_error *err)
{
    assay_dict *paths = assay_dict_new();
    int status = paths ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t left = assay_get_count(in, sizeof(uint32_t)); status == ASSAY_OK && left > 0; left--) {
        size_t length = 0;
        const char *text = assay_get_text(in, &length);
        if (in->failed || length < SIZE_BYTES || text[length - SIZE_BYTES] != '\0')
            status = assay_fail(err, ASSAY_EINTERNAL, "the sizes of files were damaged on their way between ranks");
        else if (assay_dict_add(store->opened, text, length) == ASSAY_NO_ID)
            status = ASSAY_ENOMEM;
    }
    ASSAY_THEN(status, check_sizes(store->opened, paths, err));
    assay_dict_free(paths);
    return status;
}

int assay_store_open_file(assay_store *store, const char *path, assay_store_file **out, assay_error *err)
{
    assay_store_file *file = assay_alloc_zeroed(1, sizeof *file);
    char *copy = file ? assay_copy_text(path) : NULL;
    int status = copy ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while opening it", path);
    if (status == ASSAY_OK) {
        file->ops = store->ops;
        file->path = copy;
        status = store->ops->open_file(store, path, file, err);
    }
    if (status == ASSAY_ENOTFOUND) {
        const int listed = assay_store_look_listed(store, path, err);
        status = listed == ASSAY_OK ? store->ops->open_file(store, path, file, err) : listed;
        if (listed == ASSAY_OK && status == ASSAY_ENOTFOUND)
            status = assay_store_fail_gone(path, err);
    }
    /* Sizes are kept only where ranks will compare them. */
    if (status == ASSAY_OK && store->opened && keep_size(store, file) != ASSAY_OK) {
        store->ops->close_file(file);
        status = assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while opening it", path);
    }
    if (status != ASSAY_OK) {
        free(copy);
        free(file);
        return status;
    }
    *out = file;
    assay_activity_add(1, 0);
    return ASSAY_OK;
}

void assay_store_close_file(assay_store_file *file)
{
    if (!file)
        return;
    file->ops->close_file(file);
    free(file->path);
    free(file);
}

uint64_t assay_store_file_size(const assay_store_file *file)
{
    return file->size;
}

bool assay_store_file_is_summed(const assay_store_file *file)
{
    return file->ops->summed;
}

int assay_store_read_at(assay_store_file *file, uint64_t offset, void *bytes, size_t size, size_t *got,
                        assay_error *err)
{
    /* Injected here, so that every storage fails the same way in tests. */
    if (assay_fault_now(ASSAY_FAULT_READ))
        return assay_fail(err, ASSAY_EIO, "%s: offset %llu: reading failed (asked for by ASSAY_FAULT)", file->path,
                          (unsigned long long)offset);
    const int status = file->ops->read_at(file, offset, bytes, size, got, err);
    assay_activity_add(0, status == ASSAY_OK ? *got : 0);
    return status;
}

size_t assay_store_read_head(assay_store *store, const char *path, void *bytes, size_t size)
{
    assay_store_file *file = NULL;
    size_t got = 0;
    if (assay_store_open_file(store, path, &file, NULL) != ASSAY_OK ||
        assay_store_read_at(file, 0, bytes, size, &got, NULL) != ASSAY_OK)
        got = 0;
    assay_store_close_file(file);
    return got;
}

bool assay_store_waits(const assay_store *store)
{
    return store->ops->waits && store->ops->waits(store);
}

void assay_store_depth(const assay_store *store, size_t *files, uint64_t *bytes)
{
    *files = 0;
    *bytes = 0;
    if (store->ops->depth)
        store->ops->depth(store, files, bytes);
}

void assay_store_ahead(assay_store *store, const char *path, uint64_t offset, uint64_t size)
{
    if (store->ops->ahead)
        store->ops->ahead(store, path, offset, size);
}

void assay_store_pack_listed(const assay_store *store, assay_buf *out)
{
    if (!store->ops->pack)
        return;
    assay_listings_pack(&store->place->listings, out);
    store->ops->pack(store, out);
}

/* The same listings on every rank: all see one state of the trial. */
int assay_store_unpack_listed(assay_store *store, assay_cursor *in)
{
    if (!store->ops->unpack)
        return ASSAY_OK;
    const int status = assay_listings_unpack(in, &store->place->listings);
    return status == ASSAY_OK ? store->ops->unpack(store, in) : status;
}

bool assay_store_pack_learned(const assay_store *store, assay_buf *out)
{
    if (store->ops->pack)
        store->ops->pack(store, out);
    return store->ops->pack != NULL;
}

int assay_store_unpack_learned(assay_store *store, assay_cursor *in)
{
    return store->ops->unpack ? store->ops->unpack(store, in) : ASSAY_OK;
}

bool assay_store_is_summed(const assay_store *store)
{
    return store->ops->summed;
}

bool assay_store_is_unsummed(const assay_store *store)
{
    return store->ops->is_unsummed && store->ops->is_unsummed(store);
}

uint64_t assay_store_behind(const assay_store *store)
{
    return store->ops->behind ? store->ops->behind(store) : 0;
}

const assay_index_cache *assay_store_index_cache(const assay_store *store)
{
    return store->ops->index_cache;
}

/* The file may grow or shrink while it is read: what counts is what the reads give. */
static int read_all(assay_store_file *file, size_t ceiling, assay_buf *out, assay_error *err)
{
    uint8_t piece[32768];
    size_t got = sizeof piece;
    if (file->size > ceiling) /* before anything is read: the file may be a hole of any size */
        return assay_fail(err, ASSAY_EBUDGET, "%s: larger than the %zu bytes that such a file may have", file->path,
                          ceiling);
    assay_buf_reserve(out, (size_t)file->size); /* at once: what a large text grew out of would stay behind it */
    for (uint64_t at = 0; got == sizeof piece; at += got) {
        ASSAY_TRY(assay_store_read_at(file, at, piece, sizeof piece, &got, err));
        if (got > ceiling - out->size)
            return assay_fail(err, ASSAY_EBUDGET, "%s: larger than the %zu bytes that such a file may have", file->path,
                              ceiling);
        assay_put_bytes(out, piece, got);
        if (assay_buf_status(out) != ASSAY_OK)
            return assay_fail(err, assay_buf_status(out), "%s: %s while reading it", file->path,
                              assay_status_text(assay_buf_status(out)));
    }
    return ASSAY_OK;
}

int assay_store_read(assay_store *store, const char *path, size_t ceiling, assay_buf *out, assay_error *err)
{
    assay_store_file *file = NULL;
    assay_error why = {{0}};
    int status = assay_store_open_file(store, path, &file, err ? err : &why);
    assay_buf_clear(out);
    ASSAY_THEN(status, read_all(file, ceiling, out, err ? err : &why));
    if (status != ASSAY_OK)
        assay_buf_clear(out);
    if ((status == ASSAY_EIO || status == ASSAY_ENOMEM) && !err)
        note_failure(store, status, path, &why);
    assay_store_close_file(file);
    return status;
}

void assay_names_release(assay_names *names)
{
    if (!names->borrowed)
        free(names->name); /* the texts lie in the same block */
    *names = (assay_names){0};
}

/* One block: the table and its texts, so that one free() releases both. */
int assay_names_from_text(const char *text, size_t size, size_t count, assay_names *out)
{
    size_t table = 0, block = 0;
    if (__builtin_mul_overflow(count, sizeof(char *), &table) || __builtin_add_overflow(table, size, &block))
        return ASSAY_ENOMEM;
    char **names = assay_alloc(block);
    ASSAY_HAVE(names);
    char *at = (char *)(names + count);
    if (size)
        memcpy(at, text, size);
    bool sorted = true;
    for (size_t i = 0; i < count; i++) {
        names[i] = at;
        /* Storages mostly list in order; strictly ascending also tells that no name comes twice. */
        sorted = sorted && (i == 0 || strcmp(names[i - 1], at) < 0);
        at += strlen(at) + 1;
    }
    if (!sorted)
        qsort(names, count, sizeof *names, assay_order_texts);
    *out = (assay_names){.name = names, .count = count};
    return ASSAY_OK;
}

bool assay_is_packed_name(const char *name, size_t length)
{
    return length > 3 && assay_path_ends_n(name, length, ".h5");
}
