/* events.c - the list of event files. */
#include "trial/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/fields.h"
#include "base/path.h"
#include "base/vec.h"
#include "trial/catalog.h"
#include "trial/event_format.h"

const char *assay_event_kind_name(int kind)
{
    static const char *const names[] = {"system", "python", "model", "horovod", "smdataparallel", "trace", "dump"};
    return kind >= 0 && kind < ASSAY_EVENT_KINDS ? names[kind] : "";
}

const char *assay_event_problem_word(int problem)
{
    static const char *const words[] = {"truncated_line", "damaged_line", "empty_file",
                                        "no_base",        "unfinished",   "unreadable"};
    return problem >= 0 && problem < ASSAY_EVENT_PROBLEMS ? words[problem] : "";
}

/* ---- natural order ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The length of the run of digits, or of other characters, that a text begins with. Digits and other characters in
 * turn: "rank10" is two runs. */
static size_t run_of(const char *text)
{
    size_t length = 0;
    while (text[length] && is_digit(text[length]) == is_digit(text[0]))
        length++;
    return length;
}

static int compare_numbers(const char *a, size_t m, const char *b, size_t n)
{
    for (; m > 0 && *a == '0'; m--)
        a++;
    for (; n > 0 && *b == '0'; n--)
        b++;
    return m != n ? (m < n ? -1 : 1) : memcmp(a, b, m);
}

static int compare_bytes(const char *a, size_t m, const char *b, size_t n)
{
    const int order = memcmp(a, b, m < n ? m : n);
    return order ? order : (m > n) - (m < n);
}

int assay_natural_order(const char *a, const char *b)
{
    const char *x = a, *y = b;
    while (*x && *y) {
        if (is_digit(*x) != is_digit(*y))
            return is_digit(*x) ? -1 : 1;
        const size_t m = run_of(x), n = run_of(y);
        const int order = is_digit(*x) ? compare_numbers(x, m, y, n) : compare_bytes(x, m, y, n);
        if (order)
            return order;
        x += m;
        y += n;
    }
    /* "a01" and "a1" are equal by nature: bytes decide, so that the order is total. */
    return *x || *y ? (*x ? 1 : -1) : strcmp(a, b);
}

/* ---- the list ---- */

void assay_event_files_release(assay_event_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->list[i].path);
        free(files->list[i].source);
    }
    free(files->list);
    *files = (assay_event_files){0};
}

int assay_event_lister_add(assay_event_lister *l, const assay_event_file *file)
{
    assay_event_files *files = l->files;
    /* Filled only once the list has room: a failure leaves nothing half added. */
    ASSAY_HAVE(assay_vec_reserve(&files->list, &files->room, files->count + 1, sizeof *files->list));
    assay_event_file *to = &files->list[files->count];
    *to = *file;
    to->format = l->format;
    to->path = assay_copy_text(file->path);
    to->source = assay_copy_text(file->source);
    if (!to->path || !to->source) {
        free(to->path);
        free(to->source);
        return ASSAY_ENOMEM;
    }
    (void)assay_store_size_of(l->store, file->path, &to->size, NULL); /* not known: 0 */
    files->count++;
    return ASSAY_OK;
}

/* `depth` bounds links that lead in circles as well; formats know how deep their files lie. */
int assay_event_lister_walk(assay_event_lister *l, const char *directory, int depth, assay_event_visit *visit)
{
    enum { PATH_ROOM = 4096 };
    assay_names names = {0};
    assay_error why = {{0}};
    int status = assay_store_list(l->store, directory, &names, &why);
    if (status == ASSAY_ENOMEM)
        return status;
    if (status != ASSAY_OK) {
        if (status != ASSAY_ENOTFOUND)
            assay_problems_add(l->problems, ASSAY_PROBLEM_READ, -1, directory, -1,
                               "%s; what lies in it is missing from this analysis", why.text);
        return l->problems->status;
    }
    char *path = assay_alloc(PATH_ROOM);
    status = path ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; i < names.count && status == ASSAY_OK; i++) {
        if (snprintf(path, PATH_ROOM, "%s/%s", directory, names.name[i]) >= PATH_ROOM)
            continue;
        const int file = assay_store_exists(l->store, path, NULL);
        if (file == ASSAY_ENOMEM)
            status = file;
        else if (file == 1)
            status = visit(l, path, names.name[i]);
        else if (file == 0 &&
                 (assay_path_ends(path, ".json") || assay_path_ends(path, ".json.gz") || assay_path_ends(path, ".tmp")))
            assay_problems_add(l->problems, ASSAY_PROBLEM_READ, -1, path, -1,
                               "%s: a directory, where a file should be; what it had is missing from this analysis",
                               path);
        else if (file == 0 && depth > 1)
            status = assay_event_lister_walk(l, path, depth - 1, visit);
        else if (file == 0 && depth == 1)
            assay_problems_add(l->problems, ASSAY_PROBLEM_READ, -1, path, -1,
                               "%s: it lies too deep; what lies in it is missing from this analysis", path);
    }
    free(path);
    assay_names_release(&names);
    return status;
}

static int compare_files(const void *a, const void *b)
{
    const assay_event_file *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    const int order = assay_natural_order(x->source, y->source);
    return order ? order : strcmp(x->path, y->path);
}

/* Did the same writer begin both at the same time? Then one is a copy of the other: packed by gzip, or in another
 * directory. What is in it would count twice; samples alone are known again by their times. */
static bool is_copy(const assay_event_file *a, const assay_event_file *b)
{
    return a->kind != ASSAY_EVENTS_SYSTEM && a->kind == b->kind && a->time == b->time && !a->unfinished &&
           !b->unfinished && strcmp(a->source, b->source) == 0;
}

static void drop_copies(assay_event_files *files, assay_problems *problems)
{
    size_t kept = 0;
    for (size_t i = 0; i < files->count; i++) {
        assay_event_file *file = &files->list[i];
        if (kept == 0 || !is_copy(&files->list[kept - 1], file)) {
            files->list[kept++] = *file;
            continue;
        }
        assay_problems_add(problems, ASSAY_PROBLEM_EVENTS_LEFT, -1, file->path, -1,
                           "%s: by its name a copy of %s, which is read; this one is not", file->path,
                           files->list[kept - 1].path);
        free(file->path);
        free(file->source);
    }
    files->count = kept;
}

/* By the rank that lists the trial; the list goes to all ranks, each of which reads a share of the files. */
int assay_event_files_list(assay_store *store, const assay_names *top, assay_event_files *out, assay_problems *problems)
{
    assay_event_lister l = {.store = store, .top = top, .files = out, .problems = problems};
    int status = ASSAY_OK;
    out->summed = assay_store_is_summed(store);
    for (unsigned i = 0; i < assay_event_format_count() && status == ASSAY_OK; i++) {
        if (!assay_store_ask_root(store, ASSAY_ASKS_EVENTS + i, assay_event_format_of(i)->probe))
            continue;
        l.format = (uint8_t)i;
        const size_t before = out->count;
        status = assay_event_format_of(i)->list(&l);
        /* Formats that have no files of their own to show (by_files false) are found by their directory alone. */
        out->found = out->found || !assay_event_format_of(i)->by_files || out->count > before;
    }
    if (out->count > 1)
        qsort(out->list, out->count, sizeof *out->list, compare_files);
    drop_copies(out, problems);
    return status;
}

unsigned assay_event_files_kinds(const assay_event_files *files)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < files->count; i++)
        kinds |= 1u << files->list[i].kind;
    return kinds;
}

const char *assay_event_files_of_ranks(const assay_event_files *files)
{
    switch (assay_event_files_kinds(files)) {
    case 1u << ASSAY_EVENTS_TRACE:
        return "it has traces of ranks and no tensors: `assay run` says where their time went, and `assay compare` what "
               "takes longer than before";
    case 1u << ASSAY_EVENTS_DUMP:
        return "it has dumps of flight recorders and no tensors: `assay hang` says who hung";
    default:
        return NULL;
    }
}

int assay_event_places(assay_store *store, int (*visit)(void *context, const char *path), void *context)
{
    /* For packing: which files to copy. */
    int status = ASSAY_OK;
    for (unsigned i = 0; i < assay_event_format_count() && status == ASSAY_OK; i++)
        status = assay_event_format_of(i)->places(store, visit, context);
    return status;
}

uint64_t assay_event_files_unsummed(const assay_event_files *files)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < files->count && !files->summed; i++) {
        const assay_event_file *file = &files->list[i];
        /* gzip has a checksum of its own. */
        const bool packed = assay_path_ends(file->path, ".gz");
        bytes += packed || file->unfinished ? 0 : file->size;
    }
    return bytes;
}

static const assay_field file_fields[] = {ASSAY_FIELD(assay_event_file, path),
                                          ASSAY_FIELD(assay_event_file, source),
                                          ASSAY_FIELD(assay_event_file, time),
                                          ASSAY_FIELD(assay_event_file, size),
                                          ASSAY_FIELD_MOST(assay_event_file, kind, ASSAY_EVENT_KINDS - 1),
                                          ASSAY_FIELD(assay_event_file, format),
                                          ASSAY_FIELD(assay_event_file, unfinished),
                                          {0}};
static const assay_field files_fields[] = {ASSAY_FIELD(assay_event_files, found),
                                           ASSAY_FIELD(assay_event_files, ended),
                                           ASSAY_FIELD(assay_event_files, summed),
                                           ASSAY_FIELD_ROWS(assay_event_files, list, count, file_fields),
                                           {0}};

void assay_event_files_pack(const assay_event_files *files, assay_buf *out)
{
    assay_fields_pack(files_fields, files, out);
}

int assay_event_files_unpack(assay_cursor *in, assay_event_files *files)
{
    const int status = assay_fields_unpack(files_fields, in, files);
    /* The list is as long as its room after unpacking. */
    files->room = files->count;
    for (size_t i = 0; status == ASSAY_OK && i < files->count; i++) {
        const assay_event_file *file = &files->list[i];
        if (!file->path || !file->source || file->format >= assay_event_format_count())
            return ASSAY_EFORMAT;
    }
    return status;
}

int assay_events_read(assay_store *store, const assay_event_file *file, const assay_event_sink *sink, uint64_t *bytes,
                      assay_error *err)
{
    /* A file that is being written would end in the middle of a line each time. */
    if (file->unfinished)
        return sink->problem(sink->context, ASSAY_EVENT_UNFINISHED, 0,
                             "its writer still has it open, or did not end: it is not read");
    return assay_event_format_of(file->format)->read(store, file, sink, bytes, err);
}
