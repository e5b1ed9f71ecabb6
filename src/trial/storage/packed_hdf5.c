/* packed_hdf5.c - reads a packed trial (docs/packed.md) as if it were the directory that it was made of.
 *
 * The tables are read whole and checked (packed.c). File contents come in blocks of 1 MiB, each checked against its
 * sum; a few blocks are kept, so that many small files cost one read. Every rank opens the file by itself: the driver
 * for parallel access is for writing only. */
#include "trial/storage/hdf5_reason.h"

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/crc32c.h"
#include "trial/storage/packed.h"
#include "trial/storage/backend.h"

enum { BLOCKS = 8, ENTRY_WINDOW = 1 << 16, NAME_ROOM = 256 };

typedef struct block {
    uint8_t *bytes;
    uint64_t number, used; /* used: when, 0 for never */
} block;

typedef struct packed_root {
    assay_packed tables;
    const char *where; /* the store's location; borrowed */
    hid_t file, group, bytes, entries;
    block blocks[BLOCKS];
    uint64_t clock;
    assay_packed_entry *window; /* of `entries` */
    uint64_t window_first, window_count, window_room;
} packed_root;

typedef struct member {
    const char *name;
    size_t offset;
    hid_t type;
} member;

void assay_hdf5_quiet(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

static herr_t take_reason(unsigned n, const H5E_error2_t *error, void *data)
{
    (void)n;
    *(const char **)data = error->desc;
    return 1; /* the first is the innermost */
}

const char *assay_hdf5_reason(char *room, size_t size)
{
    const char *reason = NULL;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_reason, &reason);
    snprintf(room, size, "%s", reason ? reason : "no reason given");
    room[strcspn(room, "\n")] = '\0';
    return room;
}

static int bad_file(const packed_root *r, const char *what, assay_error *err)
{
    char reason[200];
    return assay_fail(err, ASSAY_EFORMAT,
                      "%s: cannot read %s: damaged, or cut short (HDF5 says: %s); pack the trial again, or "
                      "fetch the file again",
                      r->where, what, assay_hdf5_reason(reason, sizeof reason));
}

/* The memory type of a row. */
static hid_t row_type(const member *members, size_t size)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, size);
    for (const member *m = members; type >= 0 && m->name; m++)
        H5Tinsert(type, m->name, m->offset, m->type);
    return type;
}

/* The length of a one-dimensional dataset, or -1. */
static hssize_t length_of(hid_t dataset)
{
    hid_t space = H5Dget_space(dataset);
    hssize_t count = space >= 0 && H5Sget_simple_extent_ndims(space) == 1 ? H5Sget_simple_extent_npoints(space) : -1;
    if (space >= 0)
        H5Sclose(space);
    return count;
}

/* Reads a dataset whole. Its length is believed only as far as the file has bytes for it. */
static int read_table(const packed_root *r, const char *name, hid_t type, size_t row, void **rows, uint64_t *count,
                      assay_error *err)
{
    hid_t dataset = H5Dopen2(r->group, name, H5P_DEFAULT);
    hssize_t length = dataset >= 0 ? length_of(dataset) : -1;
    bool fine = length >= 0 && H5Dget_storage_size(dataset) / row >= (uint64_t)length;
    void *memory = fine ? assay_alloc((size_t)length * row + 1) : NULL;
    int status = fine && !memory ? assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while reading %s", r->where, name)
                                 : ASSAY_OK;
    if (memory && length > 0)
        fine = H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, memory) >= 0;
    if (!fine)
        status = bad_file(r, name, err);
    if (dataset >= 0)
        H5Dclose(dataset);
    if (status != ASSAY_OK) {
        free(memory);
        return status;
    }
    *rows = memory;
    *count = (uint64_t)length;
    return ASSAY_OK;
}

static int read_rows(const packed_root *r, const char *name, const member *members, size_t row, void **rows,
                     uint64_t *count, assay_error *err)
{
    hid_t type = row_type(members, row);
    int status = read_table(r, name, type, row, rows, count, err);
    H5Tclose(type);
    return status;
}

static int read_files(packed_root *r, assay_error *err)
{
    const member members[] = {{"name_at", offsetof(assay_packed_file, name_at), H5T_NATIVE_UINT64},
                              {"name_length", offsetof(assay_packed_file, name_length), H5T_NATIVE_UINT32},
                              {"kind", offsetof(assay_packed_file, kind), H5T_NATIVE_UINT32},
                              {"at", offsetof(assay_packed_file, at), H5T_NATIVE_UINT64},
                              {"size", offsetof(assay_packed_file, size), H5T_NATIVE_UINT64},
                              {NULL, 0, 0}};
    assay_packed *t = &r->tables;
    int status = read_rows(r, "files", members, sizeof *t->files, (void **)&t->files, &t->file_count, err);
    if (status == ASSAY_OK)
        status = read_table(r, "names", H5T_NATIVE_UINT8, 1, (void **)&t->names, &t->name_bytes, err);
    if (status == ASSAY_OK)
        status = read_table(r, "checksums", H5T_NATIVE_UINT32, sizeof *t->sums, (void **)&t->sums, &t->sum_count, err);
    return status;
}

static int read_index(packed_root *r, assay_error *err)
{
    const member parts[] = {{"step", offsetof(assay_packed_part, step), H5T_NATIVE_INT64},
                            {"mode_step", offsetof(assay_packed_part, mode_step), H5T_NATIVE_INT64},
                            {"worker", offsetof(assay_packed_part, worker), H5T_NATIVE_UINT32},
                            {"mode", offsetof(assay_packed_part, mode), H5T_NATIVE_UINT32},
                            {"first_entry", offsetof(assay_packed_part, first_entry), H5T_NATIVE_UINT64},
                            {"entries", offsetof(assay_packed_part, entries), H5T_NATIVE_UINT64},
                            {NULL, 0, 0}};
    const member tensors[] = {{"name_at", offsetof(assay_packed_tensor, name_at), H5T_NATIVE_UINT64},
                              {"name_length", offsetof(assay_packed_tensor, name_length), H5T_NATIVE_UINT64},
                              {NULL, 0, 0}};
    assay_packed *t = &r->tables;
    int status = read_rows(r, "parts", parts, sizeof *t->parts, (void **)&t->parts, &t->part_count, err);
    if (status == ASSAY_OK)
        status = read_rows(r, "tensors", tensors, sizeof *t->tensors, (void **)&t->tensors, &t->tensor_count, err);
    if (status == ASSAY_OK)
        status =
            read_table(r, "tensor_names", H5T_NATIVE_UINT8, 1, (void **)&t->tensor_names, &t->tensor_name_bytes, err);
    return status;
}

/* ---- which file, and which trial in it ---- */

static bool read_number(hid_t object, const char *name, uint64_t *value)
{
    hid_t attribute = H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : -1;
    hid_t space = attribute >= 0 ? H5Aget_space(attribute) : -1;
    bool done =
        space >= 0 && H5Sget_simple_extent_npoints(space) == 1 && H5Aread(attribute, H5T_NATIVE_UINT64, value) >= 0;
    if (space >= 0)
        H5Sclose(space);
    if (attribute >= 0)
        H5Aclose(attribute);
    return done;
}

static bool has_format(hid_t file)
{
    char text[sizeof ASSAY_PACKED_FORMAT + 8] = "";
    hid_t attribute = H5Aexists(file, "format") > 0 ? H5Aopen(file, "format", H5P_DEFAULT) : -1;
    hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    bool is = type >= 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 &&
              H5Tget_size(type) < sizeof text && H5Aread(attribute, type, text) >= 0 &&
              strcmp(text, ASSAY_PACKED_FORMAT) == 0;
    if (type >= 0)
        H5Tclose(type);
    if (attribute >= 0)
        H5Aclose(attribute);
    return is;
}

static int check_head(const packed_root *r, assay_error *err)
{
    uint64_t version = 0, complete = 0;
    if (!has_format(r->file))
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s: an HDF5 file, but no packed trial: it was not written by `assay pack`", r->where);
    if (!read_number(r->file, "version", &version) || version == 0)
        return bad_file(r, "its version", err);
    if (version > ASSAY_PACKED_VERSION)
        return assay_fail(err, ASSAY_EUNSUPPORTED,
                          "%s: packed in format version %llu, and this assay reads up to version %d; use a "
                          "newer assay",
                          r->where, (unsigned long long)version, ASSAY_PACKED_VERSION);
    if (!read_number(r->file, "complete", &complete) || complete != 1)
        return assay_fail(err, ASSAY_EFORMAT, "%s: packing was not finished; pack the trial again", r->where);
    return ASSAY_OK;
}

static int choose_trial(packed_root *r, const char *name, assay_error *err)
{
    H5G_info_t about = {0};
    char only[NAME_ROOM] = "";
    hid_t trials = H5Gopen2(r->file, "trials", H5P_DEFAULT);
    bool fine = trials >= 0 && H5Gget_info(trials, &about) >= 0;
    int status = fine ? ASSAY_OK : bad_file(r, "the list of trials", err);
    if (fine && !name && about.nlinks != 1)
        status =
            assay_fail(err, ASSAY_EUSAGE,
                       "%s: holds %llu trials; name one of them behind a slash: FILE/NAME; `h5ls FILE/trials` lists "
                       "them",
                       r->where, (unsigned long long)about.nlinks);
    if (status == ASSAY_OK && !name &&
        H5Lget_name_by_idx(trials, ".", H5_INDEX_NAME, H5_ITER_INC, 0, only, sizeof only, H5P_DEFAULT) <= 0)
        status = bad_file(r, "the name of its trial", err);
    if (status == ASSAY_OK && name && (strchr(name, '/') || H5Lexists(trials, name, H5P_DEFAULT) <= 0))
        status = assay_fail(err, ASSAY_ENOTFOUND, "%s: there is no trial of that name in the file", r->where);
    if (status == ASSAY_OK && (r->group = H5Gopen2(trials, name ? name : only, H5P_DEFAULT)) < 0)
        status = bad_file(r, "the trial", err);
    if (trials >= 0)
        H5Gclose(trials);
    return status;
}

static int open_file(packed_root *r, const char *path, assay_error *err)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    /* Nobody writes to a finished file, and not every parallel file system has locks. */
    H5Pset_file_locking(access, false, true);
    H5Pset_cache(access, 0, 0, 0, 0); /* blocks are kept here */
    r->file = H5Fopen(path, H5F_ACC_RDONLY, access);
    H5Pclose(access);
    return r->file >= 0 ? ASSAY_OK : bad_file(r, "it as HDF5", err);
}

static int open_contents(packed_root *r, assay_error *err)
{
    int status = read_files(r, err);
    if (status == ASSAY_OK)
        status = read_index(r, err);
    if (status != ASSAY_OK)
        return status;
    r->bytes = H5Dopen2(r->group, "bytes", H5P_DEFAULT);
    r->entries = H5Dopen2(r->group, "entries", H5P_DEFAULT);
    hssize_t bytes = r->bytes >= 0 ? length_of(r->bytes) : -1, entries = r->entries >= 0 ? length_of(r->entries) : -1;
    if (bytes < 0 || entries < 0 || H5Dget_storage_size(r->entries) / sizeof(assay_packed_entry) < (uint64_t)entries)
        return bad_file(r, "the records", err);
    r->tables.bytes = (uint64_t)bytes;
    r->tables.entries = (uint64_t)entries;
    return assay_packed_check(&r->tables, r->where, err);
}

static void hdf5_close(assay_store *store)
{
    packed_root *r = store->root;
    if (r->bytes >= 0)
        H5Dclose(r->bytes);
    if (r->entries >= 0)
        H5Dclose(r->entries);
    if (r->group >= 0)
        H5Gclose(r->group);
    if (r->file >= 0)
        H5Fclose(r->file);
    for (int i = 0; i < BLOCKS; i++)
        free(r->blocks[i].bytes);
    assay_packed_release(&r->tables);
    free(r->window);
    free(r);
}

static int hdf5_open(assay_store *store, const char *place, assay_error *err)
{
    size_t length = 0;
    bool is = assay_is_hdf5_place(place, &length);
    packed_root *r = assay_alloc_zeroed(1, sizeof *r);
    char *path = is ? assay_copy_bytes_as_text(place, length) : NULL;
    const char *trial = place[is ? length : 0] ? place + length + 1 : NULL;
    if (!r || !path) {
        free(r);
        free(path);
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while opening it", store->location);
    }
    r->where = store->location;
    r->file = r->group = r->bytes = r->entries = -1;
    assay_hdf5_quiet();
    int status = open_file(r, path, err);
    if (status == ASSAY_OK)
        status = check_head(r, err);
    if (status == ASSAY_OK)
        status = choose_trial(r, trial && *trial ? trial : NULL, err);
    if (status == ASSAY_OK)
        status = open_contents(r, err);
    free(path);
    store->root = r;
    if (status != ASSAY_OK)
        hdf5_close(store);
    return status;
}

/* ---- the store's calls ---- */

/* Reads `count` items from `first`. */
static bool read_slab(hid_t dataset, hid_t type, uint64_t first, uint64_t count, void *out)
{
    hsize_t start = first, length = count;
    hid_t file = H5Dget_space(dataset), memory = H5Screate_simple(1, &length, NULL);
    bool done = file >= 0 && memory >= 0 &&
                H5Sselect_hyperslab(file, H5S_SELECT_SET, &start, NULL, &length, NULL) >= 0 &&
                H5Dread(dataset, type, memory, file, H5P_DEFAULT, out) >= 0;
    if (file >= 0)
        H5Sclose(file);
    if (memory >= 0)
        H5Sclose(memory);
    return done;
}

/* The block of that number, from those that are kept or from the file. */
static int get_block(packed_root *r, uint64_t number, const uint8_t **bytes, assay_error *err)
{
    block *oldest = &r->blocks[0];
    for (int i = 0; i < BLOCKS; i++) {
        block *b = &r->blocks[i];
        if (b->used && b->number == number) {
            b->used = ++r->clock;
            *bytes = b->bytes;
            return ASSAY_OK;
        }
        oldest = b->used < oldest->used ? b : oldest;
    }
    uint64_t first = number * ASSAY_PACKED_BLOCK, left = r->tables.bytes - first;
    size_t size = left < ASSAY_PACKED_BLOCK ? (size_t)left : ASSAY_PACKED_BLOCK;
    if (!oldest->bytes && !(oldest->bytes = assay_alloc(ASSAY_PACKED_BLOCK)))
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while reading it", r->where);
    oldest->used = 0;
    if (!read_slab(r->bytes, H5T_NATIVE_UINT8, first, size, oldest->bytes))
        return bad_file(r, "records", err);
    if (assay_crc32c(0, oldest->bytes, size) != r->tables.sums[number])
        return assay_fail(err, ASSAY_EIO, "%s: bytes %llu to %llu of the packed files do not match their checksum",
                          r->where, (unsigned long long)first, (unsigned long long)(first + size));
    oldest->number = number;
    oldest->used = ++r->clock;
    *bytes = oldest->bytes;
    return ASSAY_OK;
}

static int hdf5_list(assay_store *store, const char *directory, assay_names *out, assay_error *err)
{
    return assay_packed_list(&((packed_root *)store->root)->tables, directory, out, err);
}

static int hdf5_size_of(assay_store *store, const char *path, uint64_t *size, assay_error *err)
{
    (void)err;
    const assay_packed_file *file = assay_packed_find(&((packed_root *)store->root)->tables, path);
    if (!file || file->kind != ASSAY_PACKED_FILE)
        return 0;
    *size = file->size;
    return 1;
}

typedef struct packed_handle {
    packed_root *root;
    uint64_t at;
} packed_handle;

static int hdf5_open_file(assay_store *store, const char *path, assay_store_file *file, assay_error *err)
{
    packed_root *r = store->root;
    const assay_packed_file *row = assay_packed_find(&r->tables, path);
    if (!row && assay_packed_is_directory(&r->tables, path))
        return assay_fail(err, ASSAY_EIO, "%s: not a regular file", path);
    if (!row)
        return assay_fail(err, ASSAY_ENOTFOUND, "%s: does not exist", path);
    if (row->kind == ASSAY_PACKED_UNREADABLE)
        return assay_fail(err, ASSAY_EIO, "%.*s", (int)(row->size < 400 ? row->size : 400), r->tables.names + row->at);
    packed_handle *handle = assay_alloc(sizeof *handle);
    if (!handle)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while opening it", path);
    *handle = (packed_handle){r, row->at};
    file->handle = handle;
    file->size = row->size;
    return ASSAY_OK;
}

static void hdf5_close_file(assay_store_file *file)
{
    free(file->handle);
}

static int hdf5_read_at(assay_store_file *file, uint64_t offset, void *bytes, size_t size, size_t *got,
                        assay_error *err)
{
    const packed_handle *handle = file->handle;
    uint64_t left = offset < file->size ? file->size - offset : 0;
    size_t have = 0;
    size = size < left ? size : (size_t)left;
    while (have < size) {
        uint64_t at = handle->at + offset + have, number = at / ASSAY_PACKED_BLOCK, in = at % ASSAY_PACKED_BLOCK;
        size_t piece = ASSAY_PACKED_BLOCK - (size_t)in;
        const uint8_t *from = NULL;
        int status = get_block(handle->root, number, &from, err);
        if (status != ASSAY_OK)
            return status;
        piece = piece < size - have ? piece : size - have;
        memcpy((uint8_t *)bytes + have, from + in, piece);
        have += piece;
    }
    *got = have;
    return ASSAY_OK;
}

/* Brings the rows [first, first + count) of `entries` into memory, and those behind them that will be asked for next.
 */
static int fill_window(packed_root *r, uint64_t first, uint64_t count, assay_error *err)
{
    uint64_t left = r->tables.entries - first, wanted = count > ENTRY_WINDOW ? count : ENTRY_WINDOW;
    wanted = wanted < left ? wanted : left;
    if (wanted > r->window_room) {
        assay_packed_entry *grown = assay_realloc_array(r->window, wanted, sizeof *grown);
        if (!grown)
            return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while reading its index", r->where);
        r->window = grown;
        r->window_room = wanted;
    }
    const member members[] = {{"offset", offsetof(assay_packed_entry, offset), H5T_NATIVE_UINT64},
                              {"length", offsetof(assay_packed_entry, length), H5T_NATIVE_UINT64},
                              {"tensor", offsetof(assay_packed_entry, tensor), H5T_NATIVE_UINT32},
                              {"kind", offsetof(assay_packed_entry, kind), H5T_NATIVE_UINT32},
                              {NULL, 0, 0}};
    hid_t type = row_type(members, sizeof *r->window);
    r->window_count = 0;
    bool done = read_slab(r->entries, type, first, wanted, r->window);
    H5Tclose(type);
    if (!done)
        return bad_file(r, "entries", err);
    r->window_first = first;
    r->window_count = wanted;
    return ASSAY_OK;
}

static bool cache_has(const assay_store *store, int64_t step, uint32_t worker)
{
    return assay_packed_find_part(&((const packed_root *)store->root)->tables, step, worker) != NULL;
}

static int cache_part(assay_store *store, int64_t step, uint32_t worker, assay_cached_part *out, assay_error *err)
{
    packed_root *r = store->root;
    const assay_packed_part *part = assay_packed_find_part(&r->tables, step, worker);
    if (!part)
        return assay_fail(err, ASSAY_EINTERNAL, "%s: step %lld is not in its index", r->where, (long long)step);
    bool held =
        part->first_entry >= r->window_first && part->first_entry + part->entries <= r->window_first + r->window_count;
    int status = held || part->entries == 0 ? ASSAY_OK : fill_window(r, part->first_entry, part->entries, err);
    if (status != ASSAY_OK)
        return status;
    *out = (assay_cached_part){part->mode_step, part->mode <= INT8_MAX ? (int)part->mode : -1,
                               part->entries ? r->window + (part->first_entry - r->window_first) : NULL,
                               (size_t)part->entries};
    return ASSAY_OK;
}

static const char *cache_tensor(const assay_store *store, uint32_t tensor, size_t *length)
{
    const assay_packed *t = &((const packed_root *)store->root)->tables;
    if (tensor >= t->tensor_count)
        return NULL;
    *length = (size_t)t->tensors[tensor].name_length;
    return t->tensor_names + t->tensors[tensor].name_at;
}

static const assay_index_cache index_cache = {cache_has, cache_part, cache_tensor};

const assay_store_ops assay_store_hdf5 = {
    .scheme = "hdf5://",
    .open = hdf5_open,
    .close = hdf5_close,
    .list = hdf5_list,
    .size_of = hdf5_size_of,
    .open_file = hdf5_open_file,
    .close_file = hdf5_close_file,
    .read_at = hdf5_read_at,
    .index_cache = &index_cache,
};
