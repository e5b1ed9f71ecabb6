/* packed_hdf5.c - reads a packed trial (docs/packed.md) as if it were the directory that it was made of.
 *
 * The tables are read whole, compared with their checksums and checked (packed.c). File contents come in blocks of 1
 * MiB, each checked against its sum; a few blocks are kept, so that many small files cost one read. Every rank opens
 * the file by itself. The file is one of the system's, or an object that the storage of S3 reads by ranges. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/fault.h"
#include "store/backend.h"
#include "store/hdf5/dataset.h"
#include "store/hdf5/file.h"
#include "store/hdf5/object.h"
#include "store/packed.h"

/* ---- packed file ---- */

/* The file that packed trials lie in: one of the system's, or an object in S3 that is read by ranges. */

typedef struct packed_file {
    int number;               /* the system's; -1: none */
    assay_store *under;       /* of an object: the storage that it lies in, */
    assay_store_file *object; /* and the object as a file of that */
    const char *where;        /* the trial's location, for messages; borrowed */
} packed_file;

/* Opens the file or object of that name, and fills the reader that *h5 opens with. Close it also after a failure:
 * ASSAY_EIO, ASSAY_ENOMEM, and those of a storage. */
typedef int packed_file_open(packed_file *file, const char *name, assay_h5 *h5, assay_error *err);

static int read_system(void *context, uint64_t at, void *bytes, size_t size, assay_error *err)
{
    const packed_file *file = context;
    for (size_t have = 0; have < size;) {
        ssize_t n = pread(file->number, (char *)bytes + have, size - have, (off_t)(at + have));
        if (n > 0)
            have += (size_t)n;
        else if (n == 0)
            return assay_fail(err, ASSAY_EIO, "%s: the file became shorter while it was read", file->where);
        else if (errno != EINTR)
            return assay_fail(err, ASSAY_EIO, "%s: offset %llu: reading failed: %s", file->where,
                              (unsigned long long)(at + have), strerror(errno));
    }
    return ASSAY_OK;
}

/* Called for local files; the same tables are read over S3 by the other one. */
static int packed_file_of_system(packed_file *file, const char *name, assay_h5 *h5, assay_error *err)
{
    struct stat about;
    file->number = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* should it have become a pipe meanwhile */
    if (file->number < 0 || fstat(file->number, &about) != 0)
        return assay_fail(err, ASSAY_EIO, "%s: cannot open: %s", file->where, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return assay_fail(err, ASSAY_EIO, "%s: not a regular file", file->where);
    *h5 = (assay_h5){.read = read_system, .context = file, .size = (uint64_t)about.st_size, .where = file->where};
    return ASSAY_OK;
}

static int read_object(void *context, uint64_t at, void *bytes, size_t size, assay_error *err)
{
    const packed_file *file = context;
    assay_error why = {""};
    size_t got = 0;
    int status = file->object->ops->read_at(file->object, at, bytes, size, &got, &why);
    if (status != ASSAY_OK)
        return assay_fail(err, status, "%s: %s", file->where, why.text);
    return got == size ? ASSAY_OK
                       : assay_fail(err, ASSAY_EIO, "%s: the object became shorter while it was read", file->where);
}

/* The name is "BUCKET/KEY". ASSAY_ENOTFOUND without a text: there is no such object. */
static int packed_file_of_s3(packed_file *file, const char *name, assay_h5 *h5, assay_error *err)
{
    assay_error why = {""};
    /* is_hdf5_place() has found a name behind a slash, so there is one. */
    const char *slash = strrchr(name, '/'); /* a bucket is before it */
    assay_buf directory = ASSAY_BUF(64 << 10);
    assay_put_format(&directory, "s3://%.*s", (int)(slash - name), name);
    assay_put_u8(&directory, '\0');
    int status = assay_buf_status(&directory);
    ASSAY_THEN(status, assay_store_open((const char *)directory.data, &file->under, err));
    assay_buf_release(&directory);
    ASSAY_TRY(status);
    status = assay_store_open_file(file->under, slash + 1, &file->object, &why);
    if (status == ASSAY_ENOTFOUND)
        return status;
    if (status != ASSAY_OK)
        return assay_fail(err, status, "%s: %s", file->where, why.text);
    *h5 = (assay_h5){.read = read_object, .context = file, .size = file->object->size, .where = file->where};
    return ASSAY_OK;
}

static void packed_file_close(packed_file *file)
{
    if (file->number >= 0)
        close(file->number);
    assay_store_close_file(file->object);
    assay_store_close(file->under);
}

/* ---- packed hdf5 ---- */

/* BLOCKS of 1 MiB: headers, index and a few files that are read in turn. */
enum { BLOCKS = 8, NAME_ROOM = 256 };

typedef struct block {
    uint8_t *bytes;
    uint64_t number, used; /* used: when, 0 for never */
} block;

typedef struct packed_root {
    assay_packed tables;
    const char *where; /* the store's location; borrowed */
    packed_file source;
    assay_h5 file;
    uint64_t version;
    assay_h5_dataset table[ASSAY_PACKED_TABLE_COUNT], bytes;
    /* first_sum[t] is where the sums of table t begin in table_sums, which has them for all tables in a row. */
    uint32_t *table_sums; /* NULL: of a version without */
    uint64_t first_sum[ASSAY_PACKED_TABLE_COUNT];
    block blocks[BLOCKS];
    uint64_t clock;
    assay_packed_entry *window; /* of `entries` */
    uint64_t window_first, window_count, window_room;
} packed_root;

/* Columns of HDF5 tables are found by name, so older and newer files may have them in another order. */
#define UNSIGNED(type, member) #member, offsetof(type, member), sizeof(((type *)0)->member), false
#define SIGNED(type, member)   #member, offsetof(type, member), sizeof(((type *)0)->member), true
static const assay_h5_column file_columns[] = {{UNSIGNED(assay_packed_file, name_at)},
                                               {UNSIGNED(assay_packed_file, name_length)},
                                               {UNSIGNED(assay_packed_file, kind)},
                                               {UNSIGNED(assay_packed_file, at)},
                                               {UNSIGNED(assay_packed_file, size)}};
static const assay_h5_column part_columns[] = {
    {SIGNED(assay_packed_part, step)},          {SIGNED(assay_packed_part, mode_step)},
    {UNSIGNED(assay_packed_part, worker)},      {UNSIGNED(assay_packed_part, mode)},
    {UNSIGNED(assay_packed_part, first_entry)}, {UNSIGNED(assay_packed_part, entries)}};
static const assay_h5_column entry_columns[] = {{UNSIGNED(assay_packed_entry, offset)},
                                                {UNSIGNED(assay_packed_entry, length)},
                                                {UNSIGNED(assay_packed_entry, tensor)},
                                                {UNSIGNED(assay_packed_entry, kind)}};
static const assay_h5_column tensor_columns[] = {{UNSIGNED(assay_packed_tensor, name_at)},
                                                 {UNSIGNED(assay_packed_tensor, name_length)}};
static const assay_h5_row byte_row = {NULL, 0, 1};
static const assay_h5_row rows_of[ASSAY_PACKED_TABLE_COUNT] = {
    [ASSAY_PACKED_FILES] = {file_columns, 5, sizeof(assay_packed_file)},
    [ASSAY_PACKED_NAMES] = {NULL, 0, 1},
    [ASSAY_PACKED_SUMS] = {NULL, 0, sizeof(uint32_t)},
    [ASSAY_PACKED_PARTS] = {part_columns, 6, sizeof(assay_packed_part)},
    [ASSAY_PACKED_ENTRIES] = {entry_columns, 4, sizeof(assay_packed_entry)},
    [ASSAY_PACKED_TENSORS] = {tensor_columns, 2, sizeof(assay_packed_tensor)},
    [ASSAY_PACKED_TENSOR_NAMES] = {NULL, 0, 1},
};
static const char *const table_name[] = {
#define TABLE_NAME(member, name) name,
    ASSAY_PACKED_TABLES(TABLE_NAME)
#undef TABLE_NAME
};

/* ---- which trial in the file ---- */

/* "complete" is written last: a file that was left half written is told from a damaged one. */
static int check_head(packed_root *r, assay_error *err)
{
    char format[sizeof ASSAY_PACKED_FORMAT + 8] = "";
    uint64_t complete = 0;
    int found = assay_h5_attribute_text(&r->file, r->file.root, "format", format, sizeof format, err);
    if (found < 0)
        return found;
    if (strcmp(format, ASSAY_PACKED_FORMAT) != 0)
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s: an HDF5 file, but not a packed trial: it was not written by `assay pack`", r->where);
    found = assay_h5_attribute_number(&r->file, r->file.root, "version", &r->version, err);
    if (found < 0)
        return found;
    if (!found || r->version == 0)
        return assay_h5_damaged(&r->file, "its version", err);
    if (r->version > ASSAY_PACKED_VERSION)
        return assay_fail(err, ASSAY_EUNSUPPORTED,
                          "%s: packed in format version %llu, and this assay reads up to version %d; use a newer assay",
                          r->where, (unsigned long long)r->version, ASSAY_PACKED_VERSION);
    found = assay_h5_attribute_number(&r->file, r->file.root, "complete", &complete, err);
    if (found < 0)
        return found;
    return found && complete == 1
               ? ASSAY_OK
               : assay_fail(err, ASSAY_EFORMAT, "%s: packing was not finished; pack the trial again", r->where);
}

/* Counts what is there, so that the message can say how many trials the file holds. */
typedef struct choice {
    const char *name; /* NULL: the only one */
    uint64_t header, count;
    bool found;
} choice;

static int look_at_trial(void *context, const char *name, size_t length, uint64_t header, assay_error *err)
{
    choice *c = context;
    c->count++;
    if (!c->name || (strlen(c->name) == length && memcmp(c->name, name, length) == 0)) {
        c->header = header;
        c->found = true;
    }
    return ASSAY_OK;
}

static int choose_trial(const packed_root *r, const char *name, uint64_t *group, assay_error *err)
{
    uint64_t trials = 0;
    choice c = {.name = name};
    int status = assay_h5_find(&r->file, r->file.root, "trials", &trials, err);
    if (status == 0)
        return assay_h5_damaged(&r->file, "the list of trials", err);
    if (status > 0)
        status = assay_h5_links(&r->file, trials, look_at_trial, &c, err);
    if (status < 0)
        return status;
    if (!name && c.count != 1)
        return assay_fail(err, ASSAY_EUSAGE,
                          "%s: holds %llu trials; name one of them behind a slash: FILE/NAME; `h5ls FILE/trials` lists "
                          "them",
                          r->where, (unsigned long long)c.count);
    if (!c.found)
        return assay_fail(err, ASSAY_ENOTFOUND, "%s: there is no trial of that name in the file", r->where);
    *group = c.header;
    return ASSAY_OK;
}

/* ---- tables ---- */

static int open_table(const packed_root *r, uint64_t group, const char *name, const assay_h5_row *row,
                      assay_h5_dataset *out, assay_error *err)
{
    uint64_t header = 0;
    int status = assay_h5_find(&r->file, group, name, &header, err);
    if (status == 0)
        return assay_h5_damaged(&r->file, name, err);
    return status < 0 ? status : assay_h5_dataset_open(&r->file, header, name, row, out, err);
}

/* Reads rows that begin and end where checksums do, and holds them against these. */
static int read_rows(const packed_root *r, int table, uint64_t first, uint64_t count, void *rows, assay_error *err)
{
    const assay_h5_dataset *d = &r->table[table];
    const uint64_t most = assay_packed_sum_rows(d->row);
    int status = assay_h5_dataset_read(d, table_name[table], first, count, rows, err);
    for (uint64_t at = 0; status == ASSAY_OK && r->table_sums && at < count; at += most) {
        const uint64_t part = count - at < most ? count - at : most;
        uint32_t said = r->table_sums[r->first_sum[table] + (first + at) / most];
        if (assay_crc32c(0, (const uint8_t *)rows + at * d->row, (size_t)(part * d->row)) != said)
            status = assay_fail(err, ASSAY_EFORMAT,
                                "%s: damaged: rows %llu to %llu of %s do not match their checksum; pack the trial "
                                "again, or fetch the file again",
                                r->where, (unsigned long long)(first + at), (unsigned long long)(first + at + part),
                                table_name[table]);
    }
    return status;
}

static int read_table(const packed_root *r, int table, void **rows, uint64_t *count, assay_error *err)
{
    const assay_h5_dataset *d = &r->table[table];
    size_t bytes = 0;
    void *memory = NULL;
    /* A compressed table could unpack to any size; assay writes none. */
    if (d->layout != ASSAY_H5_CONTIGUOUS) /* packed tables could be larger than the file */
        return assay_h5_foreign(&r->file, "compressed tables", err);
    if (!__builtin_mul_overflow((size_t)d->rows, d->row, &bytes) && bytes < SIZE_MAX)
        memory = assay_alloc(bytes + 1);
    if (!memory)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while reading %s", r->where, table_name[table]);
    int status = read_rows(r, table, 0, d->rows, memory, err);
    if (status != ASSAY_OK) {
        free(memory);
        /* One byte more than the rows, so that no table is an allocation of nothing. */
        return status;
    }
    *rows = memory;
    *count = d->rows;
    return ASSAY_OK;
}

static int read_table_sums(packed_root *r, uint64_t group, assay_error *err)
{
    const assay_h5_row row = {NULL, 0, sizeof(uint32_t)};
    assay_h5_dataset d;
    uint64_t count = 0;
    uint64_t header = 0;
    for (int t = 0; t < ASSAY_PACKED_TABLE_COUNT; t++) {
        r->first_sum[t] = count;
        count += assay_packed_sum_count(r->table[t].rows, r->table[t].row);
    }
    /* Files of older versions have no sums: their tables are checked for bounds only, and the report says so
     * (is_unsummed). */
    if (r->version < ASSAY_PACKED_SUMMED) {
        int found = assay_h5_find(&r->file, group, ASSAY_PACKED_SUMS_NAME, &header, err);
        return found > 0 ? assay_h5_damaged(&r->file, "its version", err) : found;
    }
    ASSAY_TRY(open_table(r, group, ASSAY_PACKED_SUMS_NAME, &row, &d, err));
    if (d.rows != count || d.layout != ASSAY_H5_CONTIGUOUS)
        return assay_h5_damaged(&r->file, ASSAY_PACKED_SUMS_NAME, err);
    r->table_sums = assay_alloc((size_t)count * sizeof *r->table_sums);
    return r->table_sums ? assay_h5_dataset_read(&d, ASSAY_PACKED_SUMS_NAME, 0, count, r->table_sums, err)
                         : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while opening it", r->where);
}

static int open_contents(packed_root *r, uint64_t group, assay_error *err)
{
    assay_packed *t = &r->tables;
    struct {
        int table;
        void **rows;
        uint64_t *count;
    } whole[] = {{ASSAY_PACKED_FILES, (void **)&t->files, &t->file_count},
                 {ASSAY_PACKED_NAMES, (void **)&t->names, &t->name_bytes},
                 {ASSAY_PACKED_SUMS, (void **)&t->sums, &t->sum_count},
                 {ASSAY_PACKED_PARTS, (void **)&t->parts, &t->part_count},
                 {ASSAY_PACKED_TENSORS, (void **)&t->tensors, &t->tensor_count},
                 {ASSAY_PACKED_TENSOR_NAMES, (void **)&t->tensor_names, &t->tensor_name_bytes}};
    int status = open_table(r, group, "bytes", &byte_row, &r->bytes, err);
    for (int i = 0; status == ASSAY_OK && i < ASSAY_PACKED_TABLE_COUNT; i++)
        status = open_table(r, group, table_name[i], &rows_of[i], &r->table[i], err);
    ASSAY_THEN(status, read_table_sums(r, group, err));
    for (size_t i = 0; status == ASSAY_OK && i < sizeof whole / sizeof *whole; i++)
        status = read_table(r, whole[i].table, whole[i].rows, whole[i].count, err);
    ASSAY_TRY(status);
    if (r->table[ASSAY_PACKED_ENTRIES].layout != ASSAY_H5_CONTIGUOUS)
        return assay_h5_foreign(&r->file, "compressed tables", err);
    t->bytes = r->bytes.rows;
    t->entries = r->table[ASSAY_PACKED_ENTRIES].rows;
    return assay_packed_check(t, r->where, err);
}

static void hdf5_close(assay_store *store)
{
    packed_root *r = store->root;
    packed_file_close(&r->source);
    for (int i = 0; i < BLOCKS; i++)
        free(r->blocks[i].bytes);
    assay_packed_release(&r->tables);
    free(r->table_sums);
    free(r->window);
    free(r);
}

/* Opens the trial at a place whose first `length` bytes name the file. */
static int open_in(assay_store *store, const char *place, size_t length, packed_file_open *open_file, assay_error *err)
{
    uint64_t group = 0;
    packed_root *r = assay_alloc_zeroed(1, sizeof *r);
    char *path = assay_copy_bytes_as_text(place, length);
    const char *trial = place[length] ? place + length + 1 : NULL;
    if (!r || !path) {
        free(r);
        free(path);
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while opening it", store->location);
    }
    r->where = store->location;
    r->source = (packed_file){.number = -1, .where = store->location};
    int status = open_file(&r->source, path, &r->file, err);
    ASSAY_THEN(status, assay_h5_open(&r->file, err));
    ASSAY_THEN(status, check_head(r, err));
    ASSAY_THEN(status, choose_trial(r, trial && *trial ? trial : NULL, &group, err));
    ASSAY_THEN(status, open_contents(r, group, err));
    free(path);
    /* From here on hdf5_close() frees whatever was made so far. */
    store->root = r;
    if (status != ASSAY_OK)
        hdf5_close(store);
    return status;
}

static int hdf5_open(assay_store *store, const char *place, assay_error *err)
{
    size_t length = strlen(place);
    (void)assay_is_hdf5_place(place, &length);
    return open_in(store, place, length, packed_file_of_system, err);
}

/* Where no object has the name, it may be that of a directory. */
static int s3_hdf5_open(assay_store *store, const char *place, assay_error *err)
{
    size_t length = 0;
    assay_error why = {""};
    (void)assay_s3_is_hdf5_place(place, &length);
    int status = open_in(store, place, length, packed_file_of_s3, &why);
    if (status == ASSAY_ENOTFOUND && !why.text[0]) {
        store->ops = &assay_store_s3;
        return store->ops->open(store, place, err);
    }
    return status == ASSAY_OK ? status : assay_fail(err, status, "%s", why.text);
}

/* ---- the store's calls ---- */

/* The block of that number, from those that are kept or from the file. */
static int get_block(packed_root *r, uint64_t number, const uint8_t **bytes, assay_error *err)
{
    block *oldest = &r->blocks[0];
    for (int i = 0; i < BLOCKS; i++) {
        block *b = &r->blocks[i];
        if (b->used && b->number == number) {
            /* The clock counts uses; the block that was used longest ago goes. */
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
    /* Not valid until it has been read and checked. */
    oldest->used = 0;
    ASSAY_TRY(assay_h5_dataset_read(&r->bytes, "the records", first, size, oldest->bytes, err));
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
    const assay_packed_file *file = assay_packed_find(&((packed_root *)store->root)->tables, path);
    if (!file || file->kind != ASSAY_PACKED_FILE)
        return 0;
    *size = file->size;
    return 1;
}

/* Where a file's contents begin among the bytes of all. */
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

/* Contents of a file cross blocks: each block is fetched and checked on its own. */
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
        ASSAY_TRY(get_block(handle->root, number, &from, err));
        piece = piece < size - have ? piece : size - have;
        memcpy((uint8_t *)bytes + have, from + in, piece);
        have += piece;
    }
    *got = have;
    return ASSAY_OK;
}

/* Brings the rows [first, first + count) of `entries` into memory, from where a checksum begins to where one ends, so
 * that those behind them, which will be asked for next, come along. */
static int fill_window(packed_root *r, uint64_t first, uint64_t count, assay_error *err)
{
    const uint64_t unit = ASSAY_PACKED_SUM_ROWS, from = first / unit * unit;
    uint64_t to = from + (first - from + count + unit - 1) / unit * unit;
    to = to < r->tables.entries ? to : r->tables.entries;
    if (to - from > r->window_room) {
        assay_packed_entry *grown = assay_realloc_array(r->window, to - from, sizeof *grown);
        if (!grown)
            return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while reading its index", r->where);
        r->window = grown;
        r->window_room = to - from;
    }
    r->window_count = 0;
    ASSAY_TRY(read_rows(r, ASSAY_PACKED_ENTRIES, from, to - from, r->window, err));
    r->window_first = from;
    r->window_count = to - from;
    return ASSAY_OK;
}

static bool hdf5_is_unsummed(const assay_store *store)
{
    return ((const packed_root *)store->root)->version < ASSAY_PACKED_SUMMED;
}

static uint64_t hdf5_behind(const assay_store *store)
{
    const packed_root *r = store->root;
    return r->file.size - r->file.end;
}

static bool cache_has(const assay_store *store, int64_t step, uint32_t worker)
{
    return assay_packed_find_part(&((const packed_root *)store->root)->tables, step, worker) != NULL;
}

/* Rows of the next parts come along in the window, as units are asked for in order. */
static int cache_part(assay_store *store, int64_t step, uint32_t worker, assay_cached_part *out, assay_error *err)
{
    packed_root *r = store->root;
    const assay_packed_part *part = assay_packed_find_part(&r->tables, step, worker);
    if (!part)
        return assay_fail(err, ASSAY_EINTERNAL, "%s: step %lld is not in its index", r->where, (long long)step);
    bool held =
        part->first_entry >= r->window_first && part->first_entry + part->entries <= r->window_first + r->window_count;
    ASSAY_TRY(held || part->entries == 0 ? ASSAY_OK : fill_window(r, part->first_entry, part->entries, err));
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

/* Both storages differ only in how they open. */
#define PACKED_CALLS                                                                                                   \
    .close = hdf5_close, .list = hdf5_list, .size_of = hdf5_size_of, .open_file = hdf5_open_file,                      \
    .close_file = hdf5_close_file, .read_at = hdf5_read_at, .index_cache = &index_cache, .summed = true,               \
    .is_unsummed = hdf5_is_unsummed, .behind = hdf5_behind
const assay_store_ops assay_store_hdf5 = {.scheme = "hdf5://", .open = hdf5_open, PACKED_CALLS};
const assay_store_ops assay_store_s3_hdf5 = {.scheme = "s3://", .open = s3_hdf5_open, PACKED_CALLS};
