/* shard.c - the container of index contents. */
#include "trial/shard.h"

#include <assay/rule.h>

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/heap.h"
#include "base/search.h"
#include "trial/trial_format.h"

/* ---- names of files ---- */

/* Names that are equal lie behind one another, since lists are made file by file: one copy serves all of them. */
static bool has_name_before(const assay_file *list, uint32_t i)
{
    return i > 0 && (list[i].name == list[i - 1].name || strcmp(list[i].name, list[i - 1].name) == 0);
}

/* One block: table, names and notes. It is shared by reference and freed at once. */
assay_files *assay_files_new(const assay_file *list, uint32_t count)
{
    const size_t table = sizeof(assay_files) + count * sizeof *list;
    size_t size = table;
    for (uint32_t i = 0; i < count; i++)
        size += list[i].note_size + (has_name_before(list, i) ? 0 : strlen(list[i].name) + 1);
    assay_files *files = assay_heap_alloc_large(size);
    if (!files)
        return NULL;
    uint8_t *at = (uint8_t *)files + table;
    *files = (assay_files){.refs = 1, .count = count};
    /* A note of no bytes has an address, too: NULL means that there is none. */
    for (uint32_t i = 0; i < count; i++) {
        assay_file *to = &files->file[i];
        const size_t length = has_name_before(list, i) ? 0 : strlen(list[i].name) + 1;
        *to = (assay_file){length ? memcpy(at, list[i].name, length) : to[-1].name, NULL, list[i].note_size};
        at += length;
        if (list[i].note)
            to->note = to->note_size ? memcpy(at, list[i].note, to->note_size) : at;
        at += to->note_size;
    }
    return files;
}

assay_files *assay_files_new_one(const char *name, size_t length)
{
    assay_files *files = NULL;
    char *copy = assay_copy_bytes_as_text(name, length);
    if (copy)
        files = assay_files_new(&(assay_file){.name = copy}, 1);
    free(copy);
    return files;
}

/* Not atomic: index rows belong to the main thread. */
assay_files *assay_files_share(assay_files *files)
{
    if (files)
        files->refs++;
    return files;
}

void assay_files_release(assay_files *files)
{
    if (files && --files->refs == 0)
        free(files);
}

/* Formats without lists compute the path from step and worker, as the worker itself counts. */
const char *assay_part_file(const assay_catalog *catalog, const assay_part *part, uint32_t file,
                            char room[ASSAY_PATH_ROOM])
{
    if (part->files)
        return file < part->files->count ? part->files->file[file].name : NULL;
    assay_part own = *part;
    own.step = part->own_step;
    int length = assay_format_of(part->format)->file_path(catalog, &own, file, room, ASSAY_PATH_ROOM);
    return length >= 0 && length < ASSAY_PATH_ROOM ? room : NULL;
}

/* ---- parts ---- */

void assay_shard_init(assay_shard *s)
{
    *s = (assay_shard){0};
}

void assay_shard_release(assay_shard *s)
{
    assay_manifest_release(&s->claims);
    for (size_t i = 0; i < s->count; i++)
        assay_part_release(s, &s->parts[i]);
    free(s->parts);
    free(s->entries);
    free(s->shapes);
    *s = (assay_shard){0};
}

void assay_shard_drop_shapes(assay_shard *s)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->parts[i].shapes)
            free(s->shapes[s->parts[i].first_shape].dim);
        s->parts[i].first_shape = s->parts[i].shapes = 0;
    }
    free(s->shapes);
    s->shapes = NULL;
    s->shape_count = s->shape_room = 0;
}

void assay_part_release(const assay_shard *s, assay_part *part)
{
    assay_files_release(part->files);
    if (part->shapes)
        free(s->shapes[part->first_shape].dim);
}

/* Makes room for `more` items behind `count`. */
static bool grow(void **list, size_t count, size_t *room, size_t more, size_t item_size)
{
    if (more <= *room - count)
        return true;
    size_t wanted = 0;
    /* Growing by half, not by twice: entries are most of a rank's memory before steps are read. */
    if (__builtin_add_overflow(count, more, &wanted) || wanted > UINT32_MAX) /* parts count them in 32 bits */
        return false;
    if (wanted < *room + *room / 2)
        wanted = *room + *room / 2;
    /* Where memory can be moved page by page nothing is copied (base/heap.h). */
    void *grown =
        wanted > SIZE_MAX / item_size ? NULL : assay_heap_grow_large(*list, count * item_size, wanted * item_size);
    if (!grown)
        return false;
    *list = grown;
    *room = wanted;
    return true;
}

int assay_shard_reserve(assay_shard *s, size_t parts, size_t entries, size_t shapes)
{
    void *p = s->parts, *e = s->entries, *h = s->shapes;
    bool have = grow(&p, s->count, &s->room, parts, sizeof *s->parts);
    s->parts = p;
    have = have && grow(&e, s->entry_count, &s->entry_room, entries, sizeof *s->entries);
    s->entries = e;
    have = have && grow(&h, s->shape_count, &s->shape_room, shapes, sizeof *s->shapes);
    s->shapes = h;
    return have ? ASSAY_OK : ASSAY_ENOMEM;
}

int assay_entry_compare(const void *a, const void *b)
{
    const assay_entry *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->tensor != y->tensor)
        return x->tensor < y->tensor ? -1 : 1;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

/* Entries at one place are in an order that their numbers make. Renumbering tensors changes the order of entries that
 * share a place, such as reductions of one record. */
static void order_again(assay_entry *entry, size_t count)
{
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first + 1;
             next < count && entry[next].offset == entry[first].offset && entry[next].file == entry[first].file; next++)
            continue;
        if (next - first > 1)
            qsort(entry + first, next - first, sizeof *entry, assay_entry_compare);
    }
}

void assay_shard_renumber(assay_shard *s, const uint32_t *new_id)
{
    for (size_t i = 0; i < s->entry_count; i++)
        s->entries[i].tensor = new_id[s->entries[i].tensor];
    for (size_t p = 0; p < s->count; p++)
        if (s->parts[p].count > 0)
            order_again(s->entries + s->parts[p].first, s->parts[p].count);
    for (size_t i = 0; i < s->shape_count; i++)
        s->shapes[i].tensor = new_id[s->shapes[i].tensor];
}

/* Keeps the parts of this rank's chunks; shapes stay, as they are few and shared. */
void assay_shard_keep(assay_shard *s, size_t first, size_t count)
{
    size_t entries = 0, entry = count ? s->parts[first].first : 0;
    for (size_t i = 0; i < s->count; i++)
        if (i < first || i >= first + count)
            assay_part_release(s, &s->parts[i]);
    if (count > 0 && first > 0)
        memmove(s->parts, s->parts + first, count * sizeof *s->parts);
    s->count = count;
    for (size_t i = 0; i < count; i++) {
        s->parts[i].first = (uint32_t)(s->parts[i].first - entry);
        entries += s->parts[i].count;
    }
    if (entries > 0 && entry > 0)
        memmove(s->entries, s->entries + entry, entries * sizeof *s->entries);
    s->entry_count = entries;
}

/* Notes that a name is used. */
static bool use_name(const assay_dict *from, assay_dict *to, uint32_t tensor, uint32_t *new_id)
{
    size_t length;
    if (new_id[tensor] == ASSAY_NO_ID) {
        const char *name = assay_dict_name(from, tensor, &length);
        new_id[tensor] = assay_dict_add(to, name, length);
    }
    return new_id[tensor] != ASSAY_NO_ID;
}

/* Names that nobody uses any more need not go to other ranks with the rows. */
int assay_shard_used_names(const assay_shard *s, const assay_dict *from, assay_dict *to, uint32_t **new_id)
{
    const uint32_t count = assay_dict_count(from);
    uint32_t *id = assay_alloc(((size_t)count + 1) * sizeof *id);
    bool have = id != NULL;
    if (have)
        memset(id, 0xff, ((size_t)count + 1) * sizeof *id);
    for (size_t i = 0; i < s->entry_count && have; i++)
        have = use_name(from, to, s->entries[i].tensor, id);
    for (size_t i = 0; i < s->shape_count && have; i++)
        have = use_name(from, to, s->shapes[i].tensor, id);
    for (size_t i = 0; i < s->claims.count && have; i++) {
        const assay_claim *claim = &s->claims.list[i];
        have = (claim->tensor == ASSAY_NO_TENSOR || use_name(from, to, claim->tensor, id)) &&
               (claim->first == ASSAY_NO_TENSOR || use_name(from, to, claim->first, id));
    }
    if (!have) {
        free(id);
        return ASSAY_ENOMEM;
    }
    *new_id = id;
    return ASSAY_OK;
}

static void reverse(assay_part *from, assay_part *end)
{
    for (; from + 1 < end; from++) {
        assay_part part = *--end;
        *end = *from;
        *from = part;
    }
}

/* Rotation by three reversals, in place. */
void assay_shard_turn(assay_shard *s, size_t first)
{
    if (first == 0 || first == s->count)
        return;
    reverse(s->parts, s->parts + first);
    reverse(s->parts + first, s->parts + s->count);
    reverse(s->parts, s->parts + s->count);
}

/* Parts of one step and worker are of several formats or modes: in the order of their units. */
ASSAY_ORDER_BY(compare_parts, assay_part, step, worker, own_step, format, mode)

/* Entries are moved along, so that parts lie in the file order of the list again. */
int assay_shard_sort(assay_shard *s)
{
    size_t sorted = 1;
    while (sorted < s->count && compare_parts(&s->parts[sorted - 1], &s->parts[sorted]) <= 0)
        sorted++;
    if (sorted >= s->count)
        return ASSAY_OK;
    assay_entry *entries = assay_alloc_zeroed(s->entry_count, sizeof *entries);
    ASSAY_HAVE(entries);
    qsort(s->parts, s->count, sizeof *s->parts, compare_parts);
    size_t at = 0;
    for (size_t p = 0; p < s->count; p++) {
        assay_part *part = &s->parts[p];
        if (part->count > 0)
            memcpy(entries + at, s->entries + part->first, part->count * sizeof *entries);
        part->first = (uint32_t)at;
        at += part->count;
    }
    free(s->entries);
    s->entries = entries;
    s->entry_room = s->entry_count;
    s->entry_count = at;
    return ASSAY_OK;
}

size_t assay_shard_find(const assay_shard *s, int64_t step)
{
    size_t low = 0;
    ASSAY_SEARCH(low, s->count, s->parts[low].step < step);
    return low;
}

/* Bytes from the begin of each file to the end of the last record: what storages read ahead. */
uint64_t assay_part_span(const assay_shard *s, const assay_part *part)
{
    uint64_t span = 0;
    if (part->count == 0)
        return 1;
    const assay_entry *first = &s->entries[part->first], *last = first + part->count - 1;
    /* With one file only its last record matters; with several the last of each. */
    for (const assay_entry *e = first->file == last->file ? last : first; e <= last; e++)
        if (e == last || !assay_part_same_file(part, e[1].file, e->file))
            span += e->offset + e->length;
    return span > 0 ? span : 1;
}

const assay_entry *assay_part_raw(const assay_shard *s, const assay_part *part, uint32_t tensor)
{
    for (size_t e = part->first; e < part->first + part->count; e++)
        if (s->entries[e].tensor == tensor && s->entries[e].kind == ASSAY_RAW)
            return &s->entries[e];
    return NULL;
}
