/* events.c - the list of event files, and the way to their formats. */
#include "trial/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "trial/format/event_format.h"

#define X(name) extern const assay_event_format assay_event_format_##name;
#include "trial/format/event_formats.def"
#undef X

static const assay_event_format *const formats[] = {
#define X(name) &assay_event_format_##name,
#include "trial/format/event_formats.def"
#undef X
};

const assay_event_format *assay_event_format_of(unsigned number)
{
    return formats[number];
}

unsigned assay_event_format_count(void)
{
    return sizeof formats / sizeof *formats;
}

void assay_event_formats_describe(assay_buf *out)
{
    for (unsigned i = 0; i < assay_event_format_count(); i++)
        assay_put_format(out, ", nor %s", formats[i]->what);
}

const char *assay_event_kind_name(int kind)
{
    static const char *const names[] = {"system", "python", "model", "horovod", "smdataparallel"};
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

/* The length of the run of digits, or of other characters, that a text begins with. */
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
    if (files->count == files->room) {
        const size_t room = files->room ? 2 * files->room : 64;
        assay_event_file *list = assay_realloc_array(files->list, room, sizeof *list);
        if (!list)
            return ASSAY_ENOMEM;
        files->list = list;
        files->room = room;
    }
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
        else if (file == 0 && depth > 0)
            status = assay_event_lister_walk(l, path, depth - 1, visit);
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

int assay_event_files_list(assay_store *store, const assay_names *top, assay_event_files *out, assay_problems *problems)
{
    assay_event_lister l = {.store = store, .top = top, .files = out, .problems = problems};
    int status = ASSAY_OK;
    out->summed = assay_store_is_summed(store);
    for (unsigned i = 0; i < assay_event_format_count() && status == ASSAY_OK; i++) {
        if (!formats[i]->probe(top))
            continue;
        l.format = (uint8_t)i;
        out->found = true;
        status = formats[i]->list(&l);
    }
    if (out->count > 1)
        qsort(out->list, out->count, sizeof *out->list, compare_files);
    drop_copies(out, problems);
    return status;
}

int assay_event_places(assay_store *store, int (*visit)(void *context, const char *path), void *context)
{
    int status = ASSAY_OK;
    for (unsigned i = 0; i < assay_event_format_count() && status == ASSAY_OK; i++)
        status = formats[i]->places(store, visit, context);
    return status;
}

uint64_t assay_event_files_unsummed(const assay_event_files *files)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < files->count && !files->summed; i++) {
        const assay_event_file *file = &files->list[i];
        const size_t length = strlen(file->path);
        const bool packed = length > 3 && strcmp(file->path + length - 3, ".gz") == 0;
        bytes += packed || file->unfinished ? 0 : file->size;
    }
    return bytes;
}

void assay_event_files_pack(const assay_event_files *files, assay_buf *out)
{
    assay_put_u8(out, (uint8_t)(files->found | files->ended << 1 | files->summed << 2));
    assay_put_u64(out, files->count);
    for (size_t i = 0; i < files->count; i++) {
        const assay_event_file *file = &files->list[i];
        assay_put_text(out, file->path);
        assay_put_text(out, file->source);
        assay_put_i64(out, file->time);
        assay_put_u64(out, file->size);
        assay_put_u8(out, file->kind);
        assay_put_u8(out, file->format);
        assay_put_u8(out, file->unfinished);
    }
}

static char *get_name(assay_cursor *in)
{
    size_t length = 0;
    const char *text = assay_get_text(in, &length);
    return in->failed ? NULL : assay_copy_bytes_as_text(text, length);
}

int assay_event_files_unpack(assay_cursor *in, assay_event_files *files)
{
    enum { PACKED_FILE = 4 + 4 + 8 + 8 + 3 };
    const uint8_t marks = assay_get_u8(in);
    const uint64_t count = assay_get_count(in, PACKED_FILE);
    if (in->failed)
        return ASSAY_EFORMAT;
    files->found = marks & 1;
    files->ended = marks & 2;
    files->summed = marks & 4;
    files->list = assay_alloc_zeroed(count, sizeof *files->list);
    files->room = count;
    if (!files->list)
        return ASSAY_ENOMEM;
    for (uint64_t i = 0; i < count; i++) {
        assay_event_file *file = &files->list[files->count++];
        file->path = get_name(in);
        file->source = get_name(in);
        file->time = assay_get_i64(in);
        file->size = assay_get_u64(in);
        file->kind = assay_get_u8(in);
        file->format = assay_get_u8(in);
        file->unfinished = assay_get_u8(in) != 0;
        if (in->failed || file->kind >= ASSAY_EVENT_KINDS || file->format >= assay_event_format_count())
            return ASSAY_EFORMAT;
        if (!file->path || !file->source)
            return ASSAY_ENOMEM;
    }
    return ASSAY_OK;
}

int assay_events_read(assay_store *store, const assay_event_file *file, const assay_event_sink *sink, uint64_t *bytes,
                      assay_error *err)
{
    if (file->unfinished)
        return sink->problem(sink->context, ASSAY_EVENT_UNFINISHED, 0,
                             "its writer still has it open, or did not end: it is not read");
    return formats[file->format]->read(store, file, sink, bytes, err);
}
