/* shard_pack.c - index rows on their way between ranks. */
#include "trial/shard.h"

#include <assay/rule.h>
#include <assay/tensor.h>

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "trial/trial_format.h"

enum { PACKED_ENTRY = 8 + 8 + 4 + 4, PACKED_PART = 8 + 8 + 8 + 4 + 1 + 1 + 1 + 1 + 8 + 8 + 8, PACKED_SHAPE = 4 + 4 };
/* How a part names its files: not at all, by a list that follows, or by the number of a list that came before. */
enum { NO_FILES, NEW_FILES, SAME_FILES };
enum { NEW_NAME = 1, HAS_NOTE = 2 };

static void put_file(const assay_file *file, const assay_file *before, assay_buf *out)
{
    const bool named = !before || before->name != file->name;
    assay_put_u8(out, (uint8_t)((named ? NEW_NAME : 0) | (file->note ? HAS_NOTE : 0)));
    if (named)
        assay_put_text(out, file->name);
    if (!file->note)
        return;
    assay_put_u32(out, file->note_size);
    assay_put_bytes(out, file->note, file->note_size);
}

/* The names of a part's files: whole where they come first, by the number of the list afterwards. files->number is
 * scratch of one packing: assay_shard_pack() sets it to "none" first, since a list may have been packed before. */
static void put_files(assay_files *files, uint32_t *lists, assay_buf *out)
{
    const bool again = files && files->number < *lists;
    assay_put_u8(out, !files ? NO_FILES : again ? SAME_FILES : NEW_FILES);
    if (again)
        assay_put_u32(out, files->number);
    if (!files || again)
        return;
    files->number = (*lists)++;
    assay_put_u32(out, files->count);
    for (uint32_t i = 0; i < files->count; i++)
        put_file(&files->file[i], i ? &files->file[i - 1] : NULL, out);
}

static void put_part(const assay_shard *s, const assay_part *part, uint32_t *lists, assay_buf *out)
{
    assay_put_i64(out, part->step);
    assay_put_i64(out, part->mode_step);
    assay_put_i64(out, part->own_step);
    assay_put_u32(out, part->worker);
    assay_put_u8(out, part->mode);
    assay_put_u8(out, part->before);
    assay_put_u8(out, part->format);
    put_files(part->files, lists, out);
    assay_put_u64(out, part->count);
    for (size_t i = 0; i < part->count; i++) {
        const assay_entry *e = &s->entries[part->first + i];
        assay_put_u64(out, e->offset);
        assay_put_u64(out, e->length);
        assay_put_u32(out, e->tensor);
        assay_put_u32(out, (uint32_t)e->file << 8 | e->kind);
    }
    uint64_t dims = 0;
    for (size_t i = 0; i < part->shapes; i++)
        dims += s->shapes[part->first_shape + i].dims;
    assay_put_u64(out, dims);
    assay_put_u64(out, part->shapes);
    for (size_t i = 0; i < part->shapes; i++) {
        const assay_shape_entry *h = &s->shapes[part->first_shape + i];
        assay_put_u32(out, h->tensor);
        assay_put_u32(out, h->dims);
        for (uint32_t k = 0; k < h->dims; k++)
            assay_put_i64(out, h->dim[k]);
    }
}

/* The sum of dimensions goes first: unpacking makes one block of them. */
void assay_shard_pack(const assay_shard *s, size_t first, size_t count, assay_buf *out)
{
    uint32_t lists = 0;
    for (size_t i = 0; i < count; i++)
        if (s->parts[first + i].files)
            s->parts[first + i].files->number = UINT32_MAX;
    assay_put_u64(out, count);
    for (size_t i = 0; i < count; i++)
        put_part(s, &s->parts[first + i], &lists, out);
}

/* Everything is checked against the lists of this message: an entry's file number indexes part->files later. */
static int get_entries(assay_cursor *in, assay_shard *s, assay_part *part)
{
    uint64_t count = assay_get_count(in, PACKED_ENTRY);
    if (assay_shard_reserve(s, 0, count, 0) != ASSAY_OK)
        return ASSAY_ENOMEM;
    part->first = (uint32_t)s->entry_count;
    for (uint64_t i = 0; i < count; i++) {
        assay_entry e = {.offset = assay_get_u64(in)};
        e.length = assay_get_u64(in);
        e.tensor = assay_get_u32(in);
        const uint32_t numbers = assay_get_u32(in);
        e.kind = numbers & 0xff;
        e.file = numbers >> 8;
        if (e.kind >= ASSAY_KINDS || (part->files && e.file >= part->files->count))
            return ASSAY_EFORMAT;
        s->entries[part->first + i] = e;
    }
    part->count = (uint32_t)count;
    s->entry_count += count;
    return in->failed ? ASSAY_EFORMAT : ASSAY_OK;
}

/* All dimensions of a part lie in one block, which its first shape owns. */
static int get_shapes(assay_cursor *in, assay_shard *s, assay_part *part)
{
    uint64_t dims = assay_get_count(in, sizeof(int64_t)), count = assay_get_count(in, PACKED_SHAPE);
    part->first_shape = (uint32_t)s->shape_count;
    if (count == 0)
        return in->failed || dims > 0 ? ASSAY_EFORMAT : ASSAY_OK;
    int64_t *dim = assay_alloc_zeroed(dims, sizeof *dim), *block = dim;
    if (!block || assay_shard_reserve(s, 0, 0, count) != ASSAY_OK) {
        free(block);
        return ASSAY_ENOMEM;
    }
    bool sound = true;
    for (uint64_t i = 0; i < count && sound; i++) {
        assay_shape_entry h = {.tensor = assay_get_u32(in), .dim = dim};
        h.dims = assay_get_u32(in);
        sound = !in->failed && h.dims <= ASSAY_MAX_DIMS && h.dims <= dims;
        dims -= sound ? h.dims : 0;
        for (uint32_t k = 0; k < h.dims && sound; k++)
            *dim++ = assay_get_i64(in);
        s->shapes[part->first_shape + i] = h;
    }
    if (!sound || in->failed || dims > 0) {
        free(block);
        return ASSAY_EFORMAT;
    }
    part->shapes = (uint32_t)count;
    s->shape_count += count;
    return ASSAY_OK;
}

/* The lists of files of a run of parts; each is shared with the parts that have it. Indexed by the numbers that
 * packing gave. */
typedef struct file_lists {
    assay_files **list;
    uint32_t count, room;
} file_lists;

static void release_lists(file_lists *lists)
{
    for (uint32_t i = 0; i < lists->count; i++)
        assay_files_release(lists->list[i]);
    free(lists->list);
}

/* Names get a terminator in `names`, from where the list's entries are pointed to them. */
static int get_list(assay_cursor *in, assay_file *list, uint64_t count, assay_buf *names)
{
    for (uint64_t i = 0; i < count && !in->failed; i++) {
        const uint8_t what = assay_get_u8(in);
        size_t length = 0;
        if (what > (NEW_NAME | HAS_NOTE) || (i == 0 && !(what & NEW_NAME)))
            return ASSAY_EFORMAT;
        const char *name = what & NEW_NAME ? assay_get_text(in, &length) : NULL;
        if (what & NEW_NAME && !in->failed) {
            assay_put_bytes(names, name, length);
            assay_put_u8(names, '\0');
        }
        list[i].name = what & NEW_NAME ? "" : NULL; /* filled in when `names` has come to rest */
        list[i].note_size = what & HAS_NOTE ? assay_get_u32(in) : 0;
        list[i].note = what & HAS_NOTE ? assay_get_bytes(in, list[i].note_size) : NULL;
    }
    if (in->failed)
        return ASSAY_EFORMAT;
    /* Names move while the buffer grows, so entries get their addresses now. */
    const char *at = (const char *)names->data;
    for (uint64_t i = 0; i < count && assay_buf_status(names) == ASSAY_OK; i++) {
        const bool named = list[i].name != NULL;
        list[i].name = named ? at : list[i - 1].name;
        at += named ? strlen(at) + 1 : 0;
    }
    return assay_buf_status(names);
}

static int get_files_of_list(assay_cursor *in, assay_files **out)
{
    const uint64_t count = assay_get_u32(in);
    assay_buf names = ASSAY_BUF(SIZE_MAX);
    /* A file takes a byte at least. */
    if (in->failed || count == 0 || count > ASSAY_FILES_MOST || count > assay_cursor_left(in))
        return ASSAY_EFORMAT;
    assay_file *list = assay_alloc_zeroed(count, sizeof *list);
    ASSAY_HAVE(list);
    int status = get_list(in, list, count, &names);
    *out = status == ASSAY_OK ? assay_files_new(list, (uint32_t)count) : NULL;
    assay_buf_release(&names);
    free(list);
    return status == ASSAY_OK && !*out ? ASSAY_ENOMEM : status;
}

static int get_new_files(assay_cursor *in, file_lists *lists, assay_files **out)
{
    if (lists->count == lists->room) {
        const uint32_t room = lists->room ? 2 * lists->room : 16;
        assay_files **grown = assay_realloc_array(lists->list, room, sizeof *grown);
        ASSAY_HAVE(grown);
        lists->list = grown;
        lists->room = room;
    }
    int status = get_files_of_list(in, out);
    if (status == ASSAY_OK)
        lists->list[lists->count++] = assay_files_share(*out);
    return status;
}

static int get_files(assay_cursor *in, file_lists *lists, assay_files **out)
{
    const uint8_t how = assay_get_u8(in);
    *out = NULL;
    if (how == NEW_FILES)
        return get_new_files(in, lists, out);
    if (how == SAME_FILES) {
        const uint32_t number = assay_get_u32(in);
        if (in->failed || number >= lists->count)
            return ASSAY_EFORMAT;
        *out = assay_files_share(lists->list[number]);
    }
    return how == NO_FILES || how == SAME_FILES ? ASSAY_OK : ASSAY_EFORMAT;
}

static int get_part(assay_cursor *in, assay_shard *s, file_lists *lists)
{
    assay_part part = {.step = assay_get_i64(in)};
    part.mode_step = assay_get_i64(in);
    part.own_step = assay_get_i64(in);
    part.worker = assay_get_u32(in);
    part.mode = assay_get_u8(in);
    part.before = assay_get_u8(in) != 0;
    part.format = assay_get_u8(in);
    /* Assembled parts are made by ranks themselves, so their format is no line of the table. */
    int status = part.format < assay_format_count() || part.format == ASSAY_FORMAT_ASSEMBLED
                     ? get_files(in, lists, &part.files)
                     : ASSAY_EFORMAT;
    ASSAY_THEN(status, assay_shard_reserve(s, 1, 0, 0));
    ASSAY_THEN(status, get_entries(in, s, &part));
    ASSAY_THEN(status, get_shapes(in, s, &part));
    if (status == ASSAY_OK)
        s->parts[s->count++] = part;
    else
        assay_files_release(part.files);
    return status;
}

int assay_shard_unpack(assay_cursor *in, assay_shard *s, assay_error *err)
{
    const size_t parts = s->count, entries = s->entry_count, shapes = s->shape_count;
    uint64_t count = assay_get_count(in, PACKED_PART);
    file_lists lists = {0};
    int status = in->failed ? ASSAY_EFORMAT : ASSAY_OK;
    for (uint64_t i = 0; i < count && status == ASSAY_OK; i++)
        status = get_part(in, s, &lists);
    release_lists(&lists);
    if (status == ASSAY_OK)
        return ASSAY_OK;
    /* As before the call: the caller may go on with what it had. */
    while (s->count > parts)
        assay_part_release(s, &s->parts[--s->count]);
    s->entry_count = entries;
    s->shape_count = shapes;
    return assay_fail(err, status,
                      status == ASSAY_ENOMEM ? "out of memory for the index of a trial"
                                             : "a packed part of a trial's index is damaged");
}
