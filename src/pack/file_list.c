/* file_list.c - lists a trial's files:
 *   1. rank 0 walks the directories
 *   2. everyone opens a share of the files, which gives their sizes
 *   3. everyone gets all of that */
#include "pack/file_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "trial/places.h"

/* A trial has three levels; a walk that goes deeper follows a loop of links, or packs a home directory. */
enum { DEEPEST = 16, LONGEST = 4096 };

typedef struct walk {
    assay_store *store;
    assay_buf files; /* for each: kind, terminated path */
    uint64_t count;
    assay_buf directories; /* still to be listed: depth, terminated path; the last one first */
    assay_error *err;
} walk;

/* The byte in front says what a path is; both lists are read back from their ends, or from the front, by it. */
static void put_path(assay_buf *out, uint8_t lead, const char *path)
{
    assay_put_u8(out, lead);
    assay_put_bytes(out, path, strlen(path) + 1);
}

/* Only the top may fail for good: what lies below and cannot be listed is packed as unreadable, with the reason. */
static int visit(walk *w, const char *directory, unsigned depth)
{
    assay_names names = {0};
    assay_error why = {""};
    int status = assay_store_list(w->store, directory, &names, &why);
    if (status == ASSAY_ENOMEM || (status != ASSAY_OK && depth == 0))
        return assay_fail(w->err, status, "%s: %s", assay_store_location(w->store), why.text);
    if (status != ASSAY_OK || (names.count == 0 && depth > 0)) { /* what it is shows when it is opened */
        put_path(&w->files, status == ASSAY_OK ? ASSAY_PACKED_DIRECTORY : ASSAY_PACKED_FILE, directory);
        w->count++;
    }
    const bool files = assay_directory_holds_files(directory); /* asking for each would take as long as all else */
    for (size_t i = 0; status == ASSAY_OK && i < names.count; i++) {
        char path[LONGEST];
        size_t head = strlen(directory), tail = strlen(names.name[i]);
        if (head + tail + 2 > sizeof path || depth >= DEEPEST) {
            assay_names_release(&names);
            return assay_fail(w->err, ASSAY_EFORMAT, "%s: %.200s: directories lie too deep; a trial has three levels",
                              assay_store_location(w->store), directory);
        }
        memcpy(path, directory, head);
        path[head] = '/';
        memcpy(path + head + (head > 0), names.name[i], tail + 1);
        bool is_file = files || assay_store_exists(w->store, path, NULL) == 1;
        put_path(is_file ? &w->files : &w->directories, is_file ? ASSAY_PACKED_FILE : (uint8_t)(depth + 1), path);
        w->count += is_file;
    }
    assay_names_release(&names);
    return ASSAY_OK;
}

/* Takes the last path off the directories that are still to be listed. */
static unsigned take_directory(assay_buf *directories, char path[LONGEST])
{
    size_t at = directories->size - 1;
    while (at > 0 && directories->data[at - 1] != '\0')
        at--;
    unsigned depth = directories->data[at];
    memcpy(path, directories->data + at + 1, directories->size - at - 1);
    directories->size = at;
    return depth;
}

static int walk_store(walk *w)
{
    char path[LONGEST];
    int status = visit(w, "", 0);
    while (status == ASSAY_OK && w->directories.size > 0) {
        unsigned depth = take_directory(&w->directories, path);
        status = visit(w, path, depth);
    }
    ASSAY_THEN(status, assay_buf_status(&w->files));
    ASSAY_THEN(status, assay_buf_status(&w->directories));
    return status;
}

/* ---- rows ---- */

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a + 1, *(const char *const *)b + 1);
}

/* Makes rows and names in byte order from what the walk gave. Called on every rank with the same bytes, so all have
 * the same numbers. */
static int make_rows(const assay_buf *walked, assay_file_list *list)
{
    size_t at = 0;
    for (; at < walked->size; at += strlen((const char *)walked->data + at + 1) + 2)
        list->count++;
    const char **sorted = assay_alloc_zeroed((size_t)list->count, sizeof *sorted);
    list->files = assay_alloc_zeroed((size_t)list->count, sizeof *list->files);
    if (!sorted || !list->files) {
        free(sorted);
        return ASSAY_ENOMEM;
    }
    at = 0;
    for (uint64_t i = 0; i < list->count; i++) {
        sorted[i] = (const char *)walked->data + at;
        at += strlen(sorted[i] + 1) + 2;
    }
    qsort(sorted, (size_t)list->count, sizeof *sorted, compare_paths);
    for (uint64_t i = 0; i < list->count; i++) {
        size_t length = strlen(sorted[i] + 1);
        list->files[i] = (assay_packed_file){list->names.size, (uint32_t)length, (uint8_t)sorted[i][0], 0, 0};
        assay_put_bytes(&list->names, sorted[i] + 1, length + 1);
    }
    free(sorted);
    return assay_buf_status(&list->names);
}

/* A file is asked for in pieces of that size at most; what is beyond comes when it is read. */
enum { MOST_AHEAD = 8 << 20 }; /* bytes of one file */

/* Files that are read one behind another. */
typedef struct file_row {
    const uint64_t *order; /* their numbers in the list; NULL: as they stand there */
    uint64_t i, to;        /* the one that is read now; behind the last */
    bool whole;            /* only files that come as a whole are asked for */
} file_row;

/* Asks for no more than may be held, the one that is read included. */
static void ask_ahead(assay_store *store, const assay_file_list *list, const file_row *of, uint64_t *asked)
{
    const uint64_t i = of->i, to = of->to;
    size_t files;
    uint64_t bytes;
    assay_store_depth(store, &files, &bytes);
    /* The window reaches to as many files as the store may have open requests for. */
    const uint64_t end = to - i > files ? i + 1 + files : to;
    for (uint64_t k = i; k < end && assay_store_waits(store); k++) {
        const uint64_t row = of->order ? of->order[k] : k;
        const assay_packed_file *f = &list->files[row];
        const bool left_out = f->kind != ASSAY_PACKED_FILE || (of->whole && f->size > MOST_AHEAD);
        const uint64_t size = left_out ? 0 : f->size < MOST_AHEAD ? f->size : MOST_AHEAD;
        if (size > bytes && k > i + 1) /* the next one is asked for in any case */
            return;
        bytes -= size < bytes ? size : bytes;
        if (k == i || k < *asked)
            continue;
        if (!left_out)
            assay_store_ahead(store, assay_file_name(list, row), 0, size);
        *asked = k + 1;
    }
}

void assay_file_list_ask_ahead(assay_store *store, const assay_file_list *list, const uint64_t *order, uint64_t i,
                               uint64_t to, uint64_t *asked)
{
    ask_ahead(store, list, &(file_row){order, i, to, false}, asked);
}

/* Sizes of the files [i, end) as listings tell them, but for those before *sized: what is asked for ahead goes by them
 * until files are opened. */
static void take_listed_sizes(assay_file_list *list, assay_store *store, uint64_t i, uint64_t end, uint64_t *sized)
{
    for (*sized = *sized > i ? *sized : i; *sized < end && assay_store_waits(store); ++*sized) {
        assay_packed_file *f = &list->files[*sized];
        assay_error why = {""}; /* opening tells */
        if (f->kind == ASSAY_PACKED_FILE &&
            assay_store_size_of(store, assay_file_name(list, *sized), &f->size, &why) != 1)
            f->size = UINT64_MAX;
    }
}

/* Opens the files [from, to) and packs kind, size and reason of each. */
static int probe(assay_file_list *list, assay_store *store, uint64_t from, uint64_t to, assay_buf *out,
                 assay_error *err)
{
    uint64_t asked = from, sized = from, bytes;
    size_t files;
    assay_store_depth(store, &files, &bytes);
    for (uint64_t i = from; i < to; i++) {
        assay_store_file *file = NULL;
        assay_error why = {""};
        take_listed_sizes(list, store, i, to - i > files ? i + 1 + files : to, &sized);
        ask_ahead(store, list, &(file_row){NULL, i, to, true}, &asked);
        uint32_t kind = list->files[i].kind;
        int status =
            kind == ASSAY_PACKED_FILE ? assay_store_open_file(store, assay_file_name(list, i), &file, &why) : ASSAY_OK;
        if (status == ASSAY_ENOMEM)
            return assay_fail(err, status, "%s", why.text);
        assay_put_u32(out, status == ASSAY_OK ? kind : ASSAY_PACKED_UNREADABLE);
        assay_put_u64(out, file ? assay_store_file_size(file) : 0);
        assay_put_text(out, why.text);
        assay_store_close_file(file);
    }
    return assay_buf_status(out);
}

static int take_probes(const assay_buf *all, assay_file_list *list)
{
    assay_cursor in = assay_cursor_over(all->data, all->size);
    for (uint64_t i = 0; i < list->count; i++) {
        assay_packed_file *f = &list->files[i];
        size_t length = 0;
        f->kind = assay_get_u32(&in);
        f->size = assay_get_u64(&in);
        const char *why = assay_get_text(&in, &length);
        if (f->kind == ASSAY_PACKED_UNREADABLE) {
            f->at = list->names.size;
            f->size = length;
            assay_put_bytes(&list->names, why, length);
            list->unreadable++;
        } else if (__builtin_add_overflow(list->bytes, f->size, &list->bytes)) {
            /* Sizes come from what may be a damaged packed file. */
            return ASSAY_EFORMAT;
        }
    }
    return assay_cursor_bad(&in) ? ASSAY_EINTERNAL : assay_buf_status(&list->names);
}

/* Collective. Each rank opens only its share, since opening is what takes time on a file server. */
static int find_sizes(assay_comm *comm, assay_store *store, assay_file_list *list, assay_error *err)
{
    int rank = assay_comm_rank(comm), ranks = assay_comm_size(comm);
    assay_buf mine = ASSAY_BUF(SIZE_MAX), all = ASSAY_BUF(SIZE_MAX);
    uint64_t *starts = assay_alloc(((size_t)ranks + 1) * sizeof *starts);
    int status = starts ? probe(list, store, assay_share(list->count, rank, ranks),
                                assay_share(list->count, rank + 1, ranks), &mine, err)
                        : ASSAY_ENOMEM;
    status = assay_comm_agree(comm, status, err);
    ASSAY_THEN(status, assay_comm_gather_all(comm, &mine, &all, starts));
    ASSAY_THEN(status, assay_comm_agree(comm, take_probes(&all, list), err));
    free(starts);
    assay_buf_release(&mine);
    assay_buf_release(&all);
    return status;
}

/* Collective; `out` is the same on all ranks, and left alone on a failure. */
int assay_file_list_read(assay_comm *comm, assay_store *store, assay_file_list *out, assay_error *err)
{
    assay_file_list list = {0};
    walk w = {.store = store, .err = err};
    assay_buf_init(&list.names, SIZE_MAX);
    assay_buf_init(&w.files, SIZE_MAX);
    assay_buf_init(&w.directories, SIZE_MAX);
    int status = assay_comm_agree(comm, assay_comm_rank(comm) == 0 ? walk_store(&w) : ASSAY_OK, err);
    ASSAY_THEN(status, assay_comm_broadcast(comm, &w.files));
    ASSAY_THEN(status, assay_comm_agree(comm, make_rows(&w.files, &list), err));
    ASSAY_THEN(status, find_sizes(comm, store, &list, err));
    assay_buf_release(&w.files);
    assay_buf_release(&w.directories);
    if (status != ASSAY_OK)
        assay_file_list_release(&list);
    else
        *out = list;
    if (status == ASSAY_ENOMEM)
        assay_fail(err, status, "%s: out of memory while listing its files", assay_store_location(store));
    return status;
}

/* Collective. Each rank asks for its share. */
int assay_file_list_stays_inside(assay_comm *comm, assay_store *store, const assay_file_list *list, assay_error *err)
{
    int rank = assay_comm_rank(comm), ranks = assay_comm_size(comm), status = ASSAY_OK;
    const uint64_t end = assay_share(list->count, rank + 1, ranks);
    for (uint64_t i = assay_share(list->count, rank, ranks); status == ASSAY_OK && i < end; i++)
        if (assay_store_leads_out(store, assay_file_name(list, i)))
            status =
                assay_fail(err, ASSAY_EUSAGE,
                           "%s: %.200s: a symbolic link leads out of the trial; with --follow-links what it leads to "
                           "is packed",
                           assay_store_location(store), assay_file_name(list, i));
    return assay_comm_agree(comm, status, err);
}

void assay_file_list_release(assay_file_list *list)
{
    free(list->files);
    assay_buf_release(&list->names);
    *list = (assay_file_list){0};
}
