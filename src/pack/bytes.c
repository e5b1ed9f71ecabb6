/* bytes.c - writes the contents of a trial's files one after another, in windows of whole blocks. In each window every
 * rank reads and writes the blocks of its share. Compressed blocks get their places in the order of the windows, which
 * must not depend on the ranks. */
#include <stdio.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/search.h"
#include "pack/pack_internal.h"
#include "base/crc32c.h"

/* BLOCKS_A_RANK: 16 MiB of memory on each rank. COMPRESSED_WINDOW is the same on any number of ranks: places of
 * compressed blocks must not depend on them. */
enum { BLOCKS_A_RANK = 16, COMPRESSED_WINDOW = 64 };

typedef struct copier {
    assay_packing *p;
    assay_store_file *file; /* the one read last */
    uint64_t file_row;
    uint64_t asked;                 /* files before that one, in their order, were asked for ahead */
    uint64_t blocks, window, share; /* blocks in all, in a window, of a rank in a window */
    uint8_t *buffer;
    assay_hdf5_table *bytes;
    assay_buf sums; /* pairs: block, checksum */
} copier;

/* The position in `order` of the file that holds byte `at`. Ends at p->ordered for the first byte behind all files. */
static uint64_t file_at(const assay_packing *p, uint64_t at)
{
    uint64_t low = 0;
    ASSAY_SEARCH(low, p->ordered, p->list.files[p->order[low]].at + p->list.files[p->order[low]].size <= at);
    return low;
}

static int read_piece(copier *c, uint64_t row, uint64_t offset, uint8_t *to, size_t size, assay_error *err)
{
    const assay_packing *p = c->p;
    const char *name = assay_file_name(&p->list, row), *where = assay_store_location(p->source->store);
    assay_error why = {""};
    int status = ASSAY_OK;
    size_t got = 0;
    if (!c->file || c->file_row != row) {
        assay_store_close_file(c->file);
        c->file = NULL;
        status = assay_store_open_file(p->source->store, name, &c->file, &why);
        c->file_row = row;
    }
    ASSAY_THEN(status, assay_store_read_at(c->file, offset, to, size, &got, &why));
    if (status != ASSAY_OK)
        return assay_fail(err, status, "%s: %s", where, why.text);
    /* The size is asked again, as a file that grew would be cut and a file that shrank would end early. */
    if (got < size || assay_store_file_size(c->file) != p->list.files[row].size)
        return assay_fail(err, ASSAY_EIO,
                          "%s: %s changed while it was packed; pack the trial when nothing writes to it", where, name);
    return ASSAY_OK;
}

/* Fills the buffer with the bytes [from, to) of all files. */
static int fill(copier *c, uint64_t from, uint64_t to, assay_error *err)
{
    const assay_packing *p = c->p;
    const uint64_t behind = file_at(p, to);
    int status = ASSAY_OK;
    for (uint64_t at = from, i = file_at(p, from); status == ASSAY_OK && at < to; i++) {
        const assay_packed_file *f = &p->list.files[p->order[i]];
        uint64_t end = f->at + f->size < to ? f->at + f->size : to;
        assay_file_list_ask_ahead(p->source->store, &p->list, p->order, i, behind, &c->asked);
        status = read_piece(c, p->order[i], at - f->at, c->buffer + (at - from), (size_t)(end - at), err);
        at = end;
    }
    return status;
}

/* Copies one window: read, sum, write together. Collective: a rank without a share writes no bytes. */
static int copy_window(copier *c, uint64_t first, assay_error *err)
{
    const assay_packing *p = c->p;
    uint64_t end = first + c->window < c->blocks ? first + c->window : c->blocks;
    uint64_t a = first + c->share * (uint64_t)assay_comm_rank(p->comm), b = a + c->share < end ? a + c->share : end;
    uint64_t from = 0, to = 0;
    if (a < b) {
        from = a * ASSAY_PACKED_BLOCK;
        to = b * ASSAY_PACKED_BLOCK < p->list.bytes ? b * ASSAY_PACKED_BLOCK : p->list.bytes;
    }
    int status = fill(c, from, to, err);
    for (uint64_t k = a; status == ASSAY_OK && k < b; k++) {
        uint64_t at = (k - a) * ASSAY_PACKED_BLOCK, left = to - from - at;
        assay_put_u64(&c->sums, k);
        assay_put_u32(&c->sums,
                      assay_crc32c(0, c->buffer + at, left < ASSAY_PACKED_BLOCK ? (size_t)left : ASSAY_PACKED_BLOCK));
    }
    return assay_hdf5_write(c->bytes, status, from, to - from, c->buffer, err);
}

/* Writes every rank's sums, in order of the blocks. Collective; every rank gets all of them, and writes its share as
 * of any table. */
static int put_sums(copier *c, assay_error *err)
{
    assay_comm *comm = c->p->comm;
    assay_buf all = ASSAY_BUF(SIZE_MAX);
    uint64_t *starts = assay_alloc(((size_t)assay_comm_size(comm) + 1) * sizeof *starts);
    uint32_t *sums = assay_alloc_zeroed((size_t)c->blocks, sizeof *sums);
    int status = starts && sums ? assay_buf_status(&c->sums) : ASSAY_ENOMEM;
    status = assay_comm_agree(comm, status, err);
    ASSAY_THEN(status, assay_comm_gather_all(comm, &c->sums, &all, starts));
    if (status == ASSAY_OK) {
        assay_cursor in = assay_cursor_over(all.data, all.size);
        while (assay_cursor_left(&in) > 0) {
            uint64_t number = assay_get_u64(&in);
            uint32_t sum = assay_get_u32(&in);
            if (number < c->blocks)
                sums[number] = sum;
        }
        const assay_hdf5_layout layout = {
            .kind = ASSAY_COLUMN_U32, .row = sizeof *sums, .rows = c->blocks, .chunk = 1 << 18};
        status = assay_pack_put(c->p, "checksums", &layout, sums, err);
    }
    free(starts);
    free(sums);
    assay_buf_release(&all);
    return status;
}

/* Collective. Each rank takes part in every window, also after a failure of its own, which assay_hdf5_write() tells
 * the others of. */
int assay_pack_bytes(assay_packing *p, assay_error *err)
{
    uint64_t ranks = (uint64_t)assay_comm_size(p->comm), size = p->list.bytes;
    copier c = {.p = p, .blocks = size / ASSAY_PACKED_BLOCK + (size % ASSAY_PACKED_BLOCK != 0)};
    c.window = p->compress ? COMPRESSED_WINDOW : BLOCKS_A_RANK * ranks;
    c.share = (c.window + ranks - 1) / ranks;
    assay_buf_init(&c.sums, SIZE_MAX);
    /* Ranks more than blocks have an empty share at the end. */
    c.buffer = assay_alloc((size_t)c.share * ASSAY_PACKED_BLOCK);
    int status = c.buffer ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "out of memory while packing");
    char name[512];
    /* HDF5 1.10 leaves memory that nobody set behind a compressed data set of a single chunk: such a file differs each
     * time. */
    bool compress = p->compress && c.blocks > 1;
    snprintf(name, sizeof name, "%s/bytes", p->group);
    const assay_hdf5_layout layout = {
        .kind = ASSAY_COLUMN_U8, .row = 1, .rows = size, .chunk = ASSAY_PACKED_BLOCK, .compress = compress};
    status = assay_comm_agree(p->comm, status, err);
    ASSAY_THEN(status, assay_hdf5_table_new(p->file, name, &layout, &c.bytes, err));
    for (uint64_t first = 0; status == ASSAY_OK && first < c.blocks; first += c.window)
        status = copy_window(&c, first, err);
    assay_hdf5_table_close(c.bytes);
    ASSAY_THEN(status, put_sums(&c, err));
    assay_store_close_file(c.file);
    assay_buf_release(&c.sums);
    free(c.buffer);
    return status;
}
