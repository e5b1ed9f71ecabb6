/* index.c - the index as tables that need no parsing: one row of `parts` for each step of a
 * worker, its records in `entries`, names in `tensors`. Units with errors or anything unusual get no part: they
 * are read as text, with the same messages as before. */
#include <stdio.h>
#include <stdlib.h>

#include "base/fault.h"
#include "pack/pack_internal.h"
#include "store/index_cache.h"
#include "trial/places.h"

enum { CHUNK_ROWS = 1 << 16 };

typedef struct index_rows {
    assay_packed_part *parts;
    assay_packed_entry *entries;
    uint64_t part_count, entry_count;
    uint64_t first_part, first_entry, all_parts, all_entries;
} index_rows;

/* Collective: each rank has all rows and writes its share, so that a large table takes no longer on more ranks. */
int assay_pack_put(assay_packing *p, const char *name, const assay_hdf5_layout *layout, const void *rows,
                   assay_error *err)
{
    char path[512];
    int rank = assay_comm_rank(p->comm), ranks = assay_comm_size(p->comm);
    uint64_t from = assay_share(layout->rows, rank, ranks), to = assay_share(layout->rows, rank + 1, ranks);
    assay_hdf5_table *table = NULL;
    snprintf(path, sizeof path, "%s/%s", p->group, name);
    int status = assay_hdf5_table_new(p->file, path, layout, &table, err);
    if (status == ASSAY_OK) {
        const void *share = rows ? (const uint8_t *)rows + from * layout->row : NULL; /* NULL: there are none */
        assay_pack_sum(p, name, layout, from, to - from, share);
        status = assay_hdf5_write(table, ASSAY_OK, from, to - from, share, err);
    }
    assay_hdf5_table_close(table);
    return status;
}

/* Takes the files that problems name, which rank 0 knows; with more problems than are kept, any file may be one of
 * them. Collective. */
static int find_faulty(assay_packing *p, assay_dict *faulty, bool *all, assay_error *err)
{
    assay_buf text = ASSAY_BUF(SIZE_MAX);
    const assay_problems *problems = &p->source->problems;
    if (assay_comm_rank(p->comm) == 0) {
        assay_put_u8(&text, problems->total > problems->kept);
        for (size_t i = 0; i < problems->kept; i++)
            assay_put_text(&text, problems->list[i].file);
    }
    int status = assay_comm_agree(p->comm, assay_buf_status(&text), err);
    ASSAY_THEN(status, assay_comm_broadcast(p->comm, &text));
    assay_cursor in = assay_cursor_over(text.data, text.size);
    *all = assay_get_u8(&in);
    int mine = ASSAY_OK;
    while (status == ASSAY_OK && mine == ASSAY_OK && assay_cursor_left(&in) > 0) {
        size_t length = 0;
        const char *name = assay_get_text(&in, &length);
        mine = assay_dict_add(faulty, name, length) == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
    }
    ASSAY_THEN(status, assay_comm_agree(p->comm, mine, err));
    assay_buf_release(&text);
    return status;
}

/* Tells whether the part has rows that need nothing but themselves, with nothing wrong in its file. *file walks along
 * with the parts, which have the order of the units. */
static bool is_plain(const assay_packing *p, const assay_part *part, size_t *file, const assay_dict *faulty)
{
    const assay_catalog *catalog = &p->source->catalog;
    char path[ASSAY_PATH_ROOM];
    while (*file < catalog->unit_count &&
           (catalog->units[*file].step < part->step ||
            (catalog->units[*file].step == part->step && catalog->units[*file].worker < part->worker) ||
            (catalog->units[*file].step == part->step && catalog->units[*file].worker == part->worker &&
             catalog->units[*file].format < part->format)))
        ++*file;
    if (*file >= catalog->unit_count || !assay_part_fits_cache(part))
        return false;
    int length = assay_unit_path(catalog, &catalog->units[*file], path, sizeof path);
    return length > 0 && length < (int)sizeof path && assay_dict_find(faulty, path, (size_t)length) == ASSAY_NO_ID;
}

/* Numbers of entries are this rank's own until find_places() has shifted them. */
static int make_rows(const assay_packing *p, const assay_dict *faulty, index_rows *rows)
{
    const assay_shard *s = &p->source->shard;
    size_t file = 0;
    rows->parts = assay_alloc_zeroed(s->count, sizeof *rows->parts);
    rows->entries = assay_alloc_zeroed(s->entry_count, sizeof *rows->entries);
    ASSAY_HAVE(rows->parts && rows->entries);
    for (size_t i = 0; i < s->count; i++) {
        const assay_part *part = &s->parts[i];
        if (!is_plain(p, part, &file, faulty))
            continue;
        rows->parts[rows->part_count++] =
            (assay_packed_part){part->step, part->mode_step, part->worker, part->mode, rows->entry_count, part->count};
        for (size_t e = part->first; e < part->first + part->count; e++) {
            const assay_entry *entry = &s->entries[e];
            rows->entries[rows->entry_count++] =
                (assay_packed_entry){entry->offset, entry->length, entry->tensor, entry->kind};
        }
    }
    return ASSAY_OK;
}

/* Where this rank's rows go, behind those of the ranks before. Collective. */
static int find_places(assay_packing *p, index_rows *rows, assay_error *err)
{
    int rank = assay_comm_rank(p->comm), ranks = assay_comm_size(p->comm);
    assay_buf mine = ASSAY_BUF(SIZE_MAX), all = ASSAY_BUF(SIZE_MAX);
    assay_put_u64(&mine, rows->part_count);
    assay_put_u64(&mine, rows->entry_count);
    uint64_t *starts = assay_alloc(((size_t)ranks + 1) * sizeof *starts);
    int status = assay_comm_agree(p->comm, starts ? assay_buf_status(&mine) : ASSAY_ENOMEM, err);
    ASSAY_THEN(status, assay_comm_gather_all(p->comm, &mine, &all, starts));
    assay_cursor in = assay_cursor_over(all.data, all.size);
    for (int r = 0; status == ASSAY_OK && r < ranks; r++) {
        uint64_t parts = assay_get_u64(&in), entries = assay_get_u64(&in);
        rows->first_part += r < rank ? parts : 0;
        rows->first_entry += r < rank ? entries : 0;
        rows->all_parts += parts;
        rows->all_entries += entries;
    }
    for (uint64_t i = 0; i < rows->part_count; i++)
        rows->parts[i].first_entry += rows->first_entry;
    free(starts);
    assay_buf_release(&mine);
    assay_buf_release(&all);
    return status;
}

/* Collective. Unlike assay_pack_put(), ranks write the rows that they have. */
static int put_parts(assay_packing *p, const index_rows *rows, assay_error *err)
{
    static const assay_column columns[] = {
        {"step", ASSAY_COLUMN_I64, offsetof(assay_packed_part, step), 0},
        {"mode_step", ASSAY_COLUMN_I64, offsetof(assay_packed_part, mode_step), 0},
        {"worker", ASSAY_COLUMN_U32, offsetof(assay_packed_part, worker), 0},
        {"mode", ASSAY_COLUMN_U32, offsetof(assay_packed_part, mode), 0},
        {"first_entry", ASSAY_COLUMN_U64, offsetof(assay_packed_part, first_entry), 0},
        {"entries", ASSAY_COLUMN_U64, offsetof(assay_packed_part, entries), 0}};
    const assay_hdf5_layout layout = {columns, 6, 0, sizeof *rows->parts, rows->all_parts, CHUNK_ROWS, false};
    char path[512];
    assay_hdf5_table *table = NULL;
    snprintf(path, sizeof path, "%s/parts", p->group);
    int status = assay_hdf5_table_new(p->file, path, &layout, &table, err);
    if (status == ASSAY_OK) {
        assay_pack_sum(p, "parts", &layout, rows->first_part, rows->part_count, rows->parts);
        status = assay_hdf5_write(table, ASSAY_OK, rows->first_part, rows->part_count, rows->parts, err);
    }
    assay_hdf5_table_close(table);
    return status;
}

static int put_entries(assay_packing *p, const index_rows *rows, assay_error *err)
{
    static const assay_column columns[] = {{"offset", ASSAY_COLUMN_U64, offsetof(assay_packed_entry, offset), 0},
                                           {"length", ASSAY_COLUMN_U64, offsetof(assay_packed_entry, length), 0},
                                           {"tensor", ASSAY_COLUMN_U32, offsetof(assay_packed_entry, tensor), 0},
                                           {"kind", ASSAY_COLUMN_U32, offsetof(assay_packed_entry, kind), 0}};
    const assay_hdf5_layout layout = {columns, 4, 0, sizeof *rows->entries, rows->all_entries, CHUNK_ROWS, false};
    char path[512];
    assay_hdf5_table *table = NULL;
    snprintf(path, sizeof path, "%s/entries", p->group);
    int status = assay_hdf5_table_new(p->file, path, &layout, &table, err);
    if (status == ASSAY_OK) {
        assay_pack_sum(p, "entries", &layout, rows->first_entry, rows->entry_count, rows->entries);
        status = assay_hdf5_write(table, ASSAY_OK, rows->first_entry, rows->entry_count, rows->entries, err);
    }
    assay_hdf5_table_close(table);
    return status;
}

/* Writes terminated names behind one another, and the rows that point to them. The dictionary is the same on every
 * rank, so each writes a share. */
static int put_tensors(assay_packing *p, assay_error *err)
{
    static const assay_column columns[] = {
        {"name_at", ASSAY_COLUMN_U64, offsetof(assay_packed_tensor, name_at), 0},
        {"name_length", ASSAY_COLUMN_U64, offsetof(assay_packed_tensor, name_length), 0}};
    const assay_dict *dict = p->source->info->tensors;
    uint32_t count = assay_dict_count(dict);
    assay_buf names = ASSAY_BUF(SIZE_MAX);
    assay_packed_tensor *rows = assay_alloc_zeroed(count, sizeof *rows);
    for (uint32_t i = 0; rows && i < count; i++) {
        size_t length = 0;
        const char *name = assay_dict_name(dict, i, &length);
        rows[i] = (assay_packed_tensor){names.size, length};
        assay_put_bytes(&names, name, length);
        assay_put_u8(&names, '\0');
    }
    int status = assay_comm_agree(p->comm, rows ? assay_buf_status(&names) : ASSAY_ENOMEM, err);
    const assay_hdf5_layout table = {columns, 2, 0, sizeof *rows, count, CHUNK_ROWS, false};
    const assay_hdf5_layout text = {.kind = ASSAY_COLUMN_U8, .row = 1, .rows = names.size, .chunk = 1 << 20};
    ASSAY_THEN(status, assay_pack_put(p, "tensors", &table, rows, err));
    ASSAY_THEN(status, assay_pack_put(p, "tensor_names", &text, names.data, err));
    free(rows);
    assay_buf_release(&names);
    return status;
}

/* Collective. Called before the index is written: it goes through the files' sizes only, and losses are counted, no
 * failure. */
int assay_pack_check(assay_packing *p, uint64_t *losses, assay_error *err)
{
    const assay_source *source = p->source;
    assay_problems problems;
    int status = ASSAY_OK;
    assay_problems_init(&problems);
    for (size_t i = 0; i < source->shard.count && status == ASSAY_OK; i++)
        status =
            assay_part_check_files(source->store, &source->catalog, &source->shard, &source->shard.parts[i], &problems);
    *losses = problems.losses;
    assay_problems_release(&problems);
    status = assay_comm_agree(p->comm, status, err);
    return status == ASSAY_OK ? assay_comm_sum(p->comm, losses, 1) : status;
}

/* Collective. With more problems than are kept no part is plain, and the packed trial is read as text. */
int assay_pack_index(assay_packing *p, uint64_t *records, assay_error *err)
{
    index_rows rows = {0};
    bool all_faulty = false;
    assay_dict *faulty = assay_dict_new();
    int status = assay_comm_agree(p->comm, faulty ? ASSAY_OK : ASSAY_ENOMEM, err);
    ASSAY_THEN(status, find_faulty(p, faulty, &all_faulty, err));
    ASSAY_THEN(status, assay_comm_agree(p->comm, all_faulty ? ASSAY_OK : make_rows(p, faulty, &rows), err));
    ASSAY_THEN(status, find_places(p, &rows, err));
    ASSAY_THEN(status, put_parts(p, &rows, err));
    ASSAY_THEN(status, put_entries(p, &rows, err));
    ASSAY_THEN(status, put_tensors(p, err));
    *records = rows.all_entries;
    assay_dict_free(faulty);
    free(rows.parts);
    free(rows.entries);
    return status;
}
