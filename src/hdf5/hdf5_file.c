/* hdf5_file.c - HDF5 files that all ranks write together: the only place where the library writes.
 *
 * The bytes are the same at any number of ranks because objects are created in one order and without times, space for
 * data sets is allocated on creation, and the parts that nobody writes stay holes. */
#include "hdf5/hdf5_file.h"

#include <hdf5.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/leftovers.h"
#include "hdf5/disk_room.h"
#include "hdf5/finishing.h"
#include "parallel/comm_mpi.h"
#include "hdf5/hdf5_reason.h"

enum {
    ALIGNMENT = 1 << 20,
    DEFLATE_LEVEL = 4,
    PATIENCE = 5 /* seconds that a rank whose write failed waits for the others */
};
static const uint64_t MOST_CALL = (uint64_t)256
                                  << 20; /* bytes a rank hands to the library at once: MPI counts are int */

struct assay_hdf5_file {
    assay_comm *comm;
    char *path, *temporary;
    int leftover; /* of rank 0: base/leftovers.h */
    hid_t file;
    bool broken;       /* a write failed: nothing is called for it any more */
    uint64_t promised; /* bytes of the data sets that have their space */
};

struct assay_hdf5_table {
    assay_hdf5_file *file;
    char *name;
    hid_t dataset, type, transfer;
    size_t row;
    bool grows; /* space is given when rows are written, not when the table is made */
};

bool assay_hdf5_available(void)
{
    return true;
}

const char *assay_hdf5_version(void)
{
    static char text[48];
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    snprintf(text, sizeof text, "%u.%u.%u", major, minor, release);
    return text;
}

void assay_hdf5_prepare(void)
{
    H5dont_atexit();
    H5open();
}

const char *assay_hdf5_temporary(const assay_hdf5_file *file)
{
    return file->temporary;
}

static int failed(const assay_hdf5_file *f, const char *what, assay_error *err)
{
    char reason[200];
    return assay_fail(err, ASSAY_EIO, "%s: cannot write %s (HDF5 says: %s); is the disk full?", f->path, what,
                      assay_hdf5_reason(reason, sizeof reason));
}

/* This rank's result to everyone. Whoever failed, the file is broken for all. */
static int agree(assay_hdf5_file *f, bool done, const char *what, assay_error *err)
{
    assay_error why = {""};
    int status = done ? ASSAY_OK : failed(f, what, &why);
    if (!assay_comm_meet(f->comm, done ? 0 : PATIENCE))
        assay_finishing_give_up(f->comm, f->temporary, &why);
    if (status != ASSAY_OK && err)
        *err = why;
    status = assay_comm_agree(f->comm, status, err);
    f->broken = f->broken || status != ASSAY_OK;
    return status;
}

/* Makes sure of room for all data sets that were made, and for `more` bytes behind the present end. HDF5 does not tell
 * sizes while several ranks write: they are added up here. Collective. */
static int reserve(const assay_hdf5_file *f, uint64_t more, assay_error *err)
{
    int status = ASSAY_OK;
    if (assay_comm_rank(f->comm) == 0) {
        status = assay_disk_room_take(f->temporary, f->promised, more, ALIGNMENT, err);
        if (status != ASSAY_OK && err) {
            assay_error why = *err;
            assay_fail(err, status, "%s: %.400s", f->path, why.text);
        }
    }
    return assay_comm_agree(f->comm, status, err);
}

/* What the chunks of a table take at most, each rounded up as the library aligns them. */
static uint64_t room_for(const assay_hdf5_layout *layout)
{
    uint64_t rows = layout->chunk < layout->rows ? layout->chunk : layout->rows, bytes = rows * layout->row;
    uint64_t chunks = rows ? layout->rows / rows + (layout->rows % rows != 0) : 0;
    return bytes < ALIGNMENT ? chunks * bytes : chunks * ((bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT) + ALIGNMENT;
}

/* ---- the file ---- */

static void release(assay_hdf5_file *f)
{
    free(f->path);
    free(f->temporary);
    assay_leftover_drop(f->leftover);
    free(f);
}

static int new_file(assay_comm *comm, const char *path, assay_hdf5_file **out)
{
    assay_hdf5_file *f = assay_alloc_zeroed(1, sizeof *f);
    size_t length = strlen(path);
    ASSAY_HAVE(f);
    f->comm = comm;
    f->file = -1;
    f->leftover = -1;
    f->path = assay_copy_text(path);
    f->temporary = assay_alloc(length + 6);
    if (!f->path || !f->temporary) {
        release(f);
        return ASSAY_ENOMEM;
    }
    snprintf(f->temporary, length + 6, "%s.part", path);
    *out = f;
    return ASSAY_OK;
}

static MPI_Info make_info(const assay_hdf5_hints *hints)
{
    MPI_Info info = MPI_INFO_NULL;
    char text[32];
    if (!hints || (!hints->stripes && !hints->stripe_size) || MPI_Info_create(&info) != MPI_SUCCESS)
        return MPI_INFO_NULL;
    snprintf(text, sizeof text, "%zu", hints->stripes);
    if (hints->stripes)
        MPI_Info_set(info, "striping_factor", text);
    snprintf(text, sizeof text, "%zu", hints->stripe_size);
    if (hints->stripe_size)
        MPI_Info_set(info, "striping_unit", text);
    return info;
}

static hid_t create_file(const assay_hdf5_file *f, MPI_Comm comm, const assay_hdf5_hints *hints)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), create = H5Pcreate(H5P_FILE_CREATE);
    MPI_Info info = make_info(hints);
    H5Pset_fapl_mpio(access, comm, info);
    H5Pset_coll_metadata_write(access, true);
    H5Pset_all_coll_metadata_ops(access, true);
    H5Pset_alignment(access, ALIGNMENT, ALIGNMENT);
    H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
    H5Pset_obj_track_times(create, false);
    hid_t file = H5Fcreate(f->temporary, H5F_ACC_TRUNC, create, access);
    H5Pclose(access);
    H5Pclose(create);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    return file;
}

/* Rank 0 finds out whether a file can be made there: the libraries' words for it would be none. */
static int try_place(assay_hdf5_file *f, assay_error *err)
{
    if (assay_comm_rank(f->comm) > 0)
        return ASSAY_OK;
    if (unlink(f->temporary) != 0 && errno != ENOENT)
        return assay_fail(err, ASSAY_EIO, "%s: cannot replace it: %s", f->temporary, strerror(errno));
    FILE *probe = fopen(f->temporary, "wbx");
    if (!probe)
        return assay_fail(err, ASSAY_EIO, "%s: cannot create a file there: %s", f->path, strerror(errno));
    fclose(probe);
    f->leftover = assay_leftover_add(f->temporary);
    return ASSAY_OK;
}

int assay_hdf5_create(assay_comm *comm, const char *path, const assay_hdf5_hints *hints, assay_hdf5_file **out,
                      assay_error *err)
{
    assay_hdf5_file *f = NULL;
    MPI_Comm handle = MPI_COMM_NULL;
    bool placed = false; /* there is a file, which is ours */
    int status = new_file(comm, path, &f);
    if (status != ASSAY_OK)
        assay_fail(err, status, "%s: out of memory", path);
    status = assay_comm_agree(comm, status, err);
    ASSAY_THEN(status, assay_comm_agree(comm, try_place(f, err), err));
    placed = status == ASSAY_OK;
    ASSAY_THEN(status, assay_comm_handle(comm, &handle, err));
    if (status == ASSAY_OK) {
        assay_hdf5_quiet();
        assay_finishing_watch();
        f->file = create_file(f, handle, hints);
        status = agree(f, f->file >= 0, "the file", err);
    }
    if (status != ASSAY_OK && placed)
        assay_hdf5_abandon(f);
    else if (status != ASSAY_OK && f)
        release(f);
    else
        *out = f;
    return status;
}

int assay_hdf5_finish(assay_hdf5_file *f, assay_error *err)
{
    ASSAY_TRY(assay_hdf5_put_number(f, "/", "complete", 1, err));
    ASSAY_TRY(reserve(f, 0, err));
    /* Written first, and only closed if that went well everywhere: a rank that fails while it closes would go on
     * closing, and wait for others that wait for it. */
    assay_finishing_begin(f->comm, f->path, f->temporary);
    int status = agree(f, H5Fflush(f->file, H5F_SCOPE_GLOBAL) >= 0, "the end of the file", err);
    bool done = status == ASSAY_OK && H5Fclose(f->file) >= 0;
    assay_finishing_end();
    ASSAY_TRY(status);
    f->file = -1;
    status = agree(f, done, "the end of the file", err);
    if (assay_comm_rank(f->comm) == 0)
        assay_disk_room_return(f->temporary);
    return status;
}

int assay_hdf5_rename(assay_hdf5_file *f, assay_error *err)
{
    const bool first = assay_comm_rank(f->comm) == 0;
    int status = ASSAY_OK;
    if (assay_alloc_refused()) /* a piece may be missing, wherever that was */
        status = assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while writing", f->path);
    status = assay_comm_agree(f->comm, status, err);
    if (status == ASSAY_OK && first && rename(f->temporary, f->path) != 0)
        status = assay_fail(err, ASSAY_EIO, "%s: cannot give the finished file its name: %s", f->path, strerror(errno));
    if (status != ASSAY_OK && first)
        unlink(f->temporary);
    status = assay_comm_agree(f->comm, status, err);
    release(f);
    return status;
}

void assay_hdf5_abandon(assay_hdf5_file *f)
{
    if (!f)
        return;
    if (assay_comm_rank(f->comm) == 0)
        unlink(f->temporary);
    release(f);
}

/* ---- groups and attributes ---- */

int assay_hdf5_group(assay_hdf5_file *f, const char *name, assay_error *err)
{
    hid_t create = H5Pcreate(H5P_GROUP_CREATE);
    H5Pset_obj_track_times(create, false);
    hid_t group = H5Gcreate2(f->file, name, H5P_DEFAULT, create, H5P_DEFAULT);
    bool done = group >= 0 && H5Gclose(group) >= 0;
    H5Pclose(create);
    return agree(f, done, name, err);
}

static int put_attribute(assay_hdf5_file *f, const char *object, const char *name, hid_t type, const void *value,
                         assay_error *err)
{
    hid_t space = H5Screate(H5S_SCALAR), on = H5Oopen(f->file, object, H5P_DEFAULT);
    hid_t attribute = on >= 0 ? H5Acreate2(on, name, type, space, H5P_DEFAULT, H5P_DEFAULT) : -1;
    bool done = attribute >= 0 && H5Awrite(attribute, type, value) >= 0;
    if (attribute >= 0)
        done = H5Aclose(attribute) >= 0 && done;
    if (on >= 0)
        H5Oclose(on);
    H5Sclose(space);
    return agree(f, done, name, err);
}

static hid_t text_type(size_t size)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, size ? size : 1);
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
}

int assay_hdf5_put_text(assay_hdf5_file *f, const char *object, const char *name, const char *text, assay_error *err)
{
    hid_t type = text_type(strlen(text));
    int status = put_attribute(f, object, name, type, text, err);
    H5Tclose(type);
    return status;
}

int assay_hdf5_put_number(assay_hdf5_file *f, const char *object, const char *name, uint64_t value, assay_error *err)
{
    return put_attribute(f, object, name, H5T_STD_U64LE, &value, err);
}

/* ---- data sets ---- */

static hid_t item_type(int kind, size_t size)
{
    switch (kind) {
    case ASSAY_COLUMN_U8:
        return H5Tcopy(H5T_STD_U8LE);
    case ASSAY_COLUMN_U32:
        return H5Tcopy(H5T_STD_U32LE);
    case ASSAY_COLUMN_U64:
        return H5Tcopy(H5T_STD_U64LE);
    case ASSAY_COLUMN_I64:
        return H5Tcopy(H5T_STD_I64LE);
    case ASSAY_COLUMN_F64:
        return H5Tcopy(H5T_IEEE_F64LE);
    default:
        return text_type(size);
    }
}

/* The type of a row, in the file as in memory: assay runs on little-endian machines. */
static hid_t row_type(const assay_hdf5_layout *layout)
{
    if (layout->column_count == 0)
        return item_type(layout->kind, layout->row);
    hid_t row = H5Tcreate(H5T_COMPOUND, layout->row);
    for (size_t i = 0; i < layout->column_count; i++) {
        const assay_column *c = &layout->columns[i];
        hid_t type = item_type(c->kind, c->size);
        H5Tinsert(row, c->name, c->offset, type);
        H5Tclose(type);
    }
    return row;
}

static hid_t creation(const assay_hdf5_layout *layout)
{
    hsize_t chunk = layout->chunk < layout->rows ? layout->chunk : layout->rows ? layout->rows : 1;
    hid_t create = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(create, false);
    H5Pset_chunk(create, 1, &chunk);
    H5Pset_alloc_time(create, layout->compress ? H5D_ALLOC_TIME_INCR : H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(create, H5D_FILL_TIME_NEVER);
    if (layout->compress) {
        H5Pset_shuffle(create);
        H5Pset_deflate(create, DEFLATE_LEVEL);
    }
    return create;
}

static void release_table(assay_hdf5_table *t)
{
    if (t->file->broken)
        t->dataset = t->type = t->transfer = -1;
    if (t->dataset >= 0)
        H5Dclose(t->dataset);
    if (t->type >= 0)
        H5Tclose(t->type);
    if (t->transfer >= 0)
        H5Pclose(t->transfer);
    free(t->name);
    free(t);
}

void assay_hdf5_table_close(assay_hdf5_table *table)
{
    if (table)
        release_table(table);
}

int assay_hdf5_table_new(assay_hdf5_file *f, const char *name, const assay_hdf5_layout *layout, assay_hdf5_table **out,
                         assay_error *err)
{
    assay_hdf5_table *t = assay_alloc_zeroed(1, sizeof *t);
    char *copy = t ? assay_copy_text(name) : NULL;
    int status = copy ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while writing %s", f->path, name);
    status = assay_comm_agree(f->comm, status, err);
    if (status != ASSAY_OK) {
        free(copy);
        free(t);
        return status;
    }
    hsize_t rows = layout->rows;
    hid_t space = H5Screate_simple(1, &rows, NULL), create = creation(layout);
    *t = (assay_hdf5_table){
        .file = f, .name = copy, .row = layout->row, .type = row_type(layout), .transfer = H5Pcreate(H5P_DATASET_XFER)};
    H5Pset_dxpl_mpio(t->transfer, H5FD_MPIO_COLLECTIVE);
    t->dataset = H5Dcreate2(f->file, name, t->type, space, H5P_DEFAULT, create, H5P_DEFAULT);
    H5Pclose(create);
    H5Sclose(space);
    t->grows = layout->compress;
    status = agree(f, t->dataset >= 0, name, err);
    f->promised += t->grows ? 0 : room_for(layout);
    ASSAY_THEN(status, reserve(f, 0, err));
    if (status != ASSAY_OK)
        release_table(t);
    else
        *out = t;
    return status;
}

/* One collective call; a rank without rows takes part with none. */
static bool write_slab(const assay_hdf5_table *t, uint64_t first, uint64_t count, const void *rows)
{
    hsize_t start = first, length = count ? count : 1;
    hid_t file = H5Dget_space(t->dataset), memory = H5Screate_simple(1, &length, NULL);
    if (count) {
        H5Sselect_hyperslab(file, H5S_SELECT_SET, &start, NULL, &length, NULL);
    } else {
        H5Sselect_none(file);
        H5Sselect_none(memory);
    }
    bool done = H5Dwrite(t->dataset, t->type, memory, file, t->transfer, rows ? rows : &length) >= 0;
    H5Sclose(file);
    H5Sclose(memory);
    return done;
}

int assay_hdf5_write(assay_hdf5_table *t, int status, uint64_t first, uint64_t count, const void *rows,
                     assay_error *err)
{
    uint64_t most = MOST_CALL / t->row, calls = count / most + (count % most != 0);
    if (status == ASSAY_OK && assay_fault_now(ASSAY_FAULT_WRITE))
        status = assay_fail(err, ASSAY_EIO, "%s: cannot write %s: writing failed (asked for by ASSAY_FAULT)",
                            t->file->path, t->name);
    status = assay_comm_agree(t->file->comm, status, err);
    ASSAY_THEN(status, assay_comm_max(t->file->comm, &calls, 1));
    if (status == ASSAY_OK && t->grows) {
        uint64_t bytes = count * t->row;
        status = assay_comm_sum(t->file->comm, &bytes, 1);
        ASSAY_THEN(status, reserve(t->file, 2 * bytes, err)); /* chunks that do not shrink are aligned: gaps */
    }
    for (uint64_t c = 0; status == ASSAY_OK && c < calls; c++) {
        uint64_t at = c * most < count ? c * most : count, n = count - at < most ? count - at : most;
        bool done = write_slab(t, first + at, n, rows ? (const uint8_t *)rows + at * t->row : NULL);
        status = agree(t->file, done, t->name, err);
    }
    return status;
}
