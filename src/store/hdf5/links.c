/* links.c - the links of a group that has many.
 *
 * They lie in a fractal heap: an address space of its own, which a table of blocks covers. The blocks of a row have one
 * size: that of the first two rows is the starting size, and each later row has blocks twice as large as the one
 * before. Rows of blocks that would be too large have blocks of blocks. A B-tree lists the places of the links in the
 * heap. */
#include "store/hdf5/links.h"

#include <stdlib.h>

enum {
    HEAP_HEADER = 146,
    TREE_HEADER = 38,
    NODE_HEAD = 6,
    RECORD = 11,
    HASH = 4,
    ID = 7,
    DEEPEST = 8,
    MOST_NODE = 1 << 20
};
static const char HEAP[] = "the names of a group", TREE[] = "the list of a group's names";

typedef struct heap {
    const assay_h5 *file;
    uint64_t start, largest; /* bytes of a block: in the first row; of those that hold links themselves */
    uint64_t root;
    unsigned width, rows, offset_bytes;
    bool sums;          /* blocks have checksums */
    uint64_t kept;      /* the address of the block in `block` */
    assay_buf block;    /* read last */
    assay_buf indirect; /* likewise */
} heap;

typedef struct tree {
    const assay_h5 *file;
    heap *heap;
    size_t node;
    unsigned count_bytes;          /* of how many records a node has */
    unsigned total_bytes[DEEPEST]; /* of how many records lie below a node, by its height */
    uint64_t left;                 /* records that may still come */
    assay_h5_link_visit *visit;
    void *context;
} tree;

static bool is_power_of_two(uint64_t n)
{
    return n && !(n & (n - 1));
}

static unsigned log_of(uint64_t n)
{
    unsigned log = 0;
    while (n >>= 1)
        log++;
    return log;
}

static int open_heap(heap *h, uint64_t at, assay_error *err)
{
    assay_cursor in;
    int status = assay_h5_block(h->file, at, HEAP_HEADER, "FRHP", &h->block, &in, HEAP, err);
    if (status != ASSAY_OK)
        return status;
    unsigned version = assay_get_u8(&in), id = (unsigned)assay_h5_number(&in, 2);
    unsigned filters = (unsigned)assay_h5_number(&in, 2), flags = assay_get_u8(&in);
    assay_get_bytes(&in, 4 + 12 * 8); /* how full it is, and what is not in its blocks */
    h->width = (unsigned)assay_h5_number(&in, 2);
    h->start = assay_get_u64(&in);
    h->largest = assay_get_u64(&in);
    h->offset_bytes = ((unsigned)assay_h5_number(&in, 2) + 7) / 8;
    assay_get_bytes(&in, 2);
    h->root = assay_get_u64(&in);
    h->rows = (unsigned)assay_h5_number(&in, 2);
    h->sums = flags & 2;
    if (assay_cursor_bad(&in) || version != 0 || id != ID || h->offset_bytes == 0 || h->offset_bytes > 5 ||
        !is_power_of_two(h->width) || h->width > 1024 || !is_power_of_two(h->start) || !is_power_of_two(h->largest) ||
        h->largest < h->start || h->largest > MOST_NODE || h->rows > 64)
        return assay_h5_damaged(h->file, HEAP, err);
    return filters ? assay_h5_foreign(h->file, "filtered names", err) : ASSAY_OK;
}

static uint64_t block_size(const heap *h, unsigned row)
{
    return row < 2 ? h->start : h->start << (row - 1);
}

/* The address of the block that holds the heap's byte `offset`, its size, and the first byte it holds. */
static int find_block(heap *h, uint64_t offset, uint64_t *at, uint64_t *size, uint64_t *first, assay_error *err)
{
    const unsigned direct = log_of(h->largest) - log_of(h->start) + 2; /* rows of blocks that hold links themselves */
    unsigned rows = h->rows;
    *at = h->root;
    *size = h->start;
    *first = 0;
    for (unsigned depth = 0; rows > 0; depth++) {
        unsigned row = 0;
        while (row < rows && row < 32 && offset - *first >= block_size(h, row) * h->width)
            *first += block_size(h, row++) * h->width;
        if (row == rows || row == 32 || depth == DEEPEST)
            return assay_h5_damaged(h->file, HEAP, err);
        *size = block_size(h, row);
        uint64_t column = (offset - *first) / *size;
        assay_cursor in;
        int status = assay_h5_block(h->file, *at, 4 + 1 + 8 + h->offset_bytes + (size_t)rows * h->width * 8 + 4, "FHIB",
                                    &h->indirect, &in, HEAP, err);
        if (status != ASSAY_OK)
            return status;
        assay_get_bytes(&in, 1 + 8 + h->offset_bytes + (size_t)(row * h->width + column) * 8);
        *at = assay_get_u64(&in);
        *first += column * *size;
        if (row < direct)
            break;
        rows = log_of(*size) - log_of(h->start * h->width) + 1;
    }
    return ASSAY_OK;
}

/* Brings a block into memory. Its checksum was computed with nothing in its own place. */
static int read_block(heap *h, uint64_t at, uint64_t size, assay_error *err)
{
    const size_t head = 4 + 1 + 8 + h->offset_bytes;
    if (h->kept == at && h->block.size == size)
        return ASSAY_OK;
    h->kept = ASSAY_H5_NOWHERE;
    assay_buf_clear(&h->block);
    if (size > MOST_NODE || size < head + 4)
        return assay_h5_damaged(h->file, HEAP, err);
    int status = assay_buf_reserve(&h->block, (size_t)size);
    if (status != ASSAY_OK)
        return assay_fail(err, status, "%s: out of memory while reading %s", h->file->where, HEAP);
    status = assay_h5_read(h->file, at, h->block.data, (size_t)size, HEAP, err);
    if (status != ASSAY_OK)
        return status;
    h->block.size = (size_t)size;
    if (h->sums) {
        assay_cursor in = assay_cursor_over(h->block.data + head, 4);
        uint32_t said = assay_get_u32(&in);
        for (unsigned i = 0; i < 4; i++)
            h->block.data[head + i] = 0;
        if (!assay_h5_is_sound(h->block.data, (size_t)size, said))
            return assay_h5_damaged(h->file, HEAP, err);
    }
    h->kept = at;
    return ASSAY_OK;
}

/* The bytes of a heap's object: where its id says. */
static int find_object(heap *h, assay_cursor id, assay_cursor *body, assay_error *err)
{
    unsigned kind = assay_get_u8(&id);
    uint64_t offset = assay_h5_number(&id, h->offset_bytes), length = assay_h5_number(&id, ID - 1 - h->offset_bytes);
    uint64_t at, size, first;
    if (kind != 0)
        return assay_h5_foreign(h->file, "names of another kind", err);
    int status = find_block(h, offset, &at, &size, &first, err);
    if (status == ASSAY_OK)
        status = read_block(h, at, size, err);
    if (status != ASSAY_OK)
        return status;
    if (offset < first || offset - first > size || length > size - (offset - first))
        return assay_h5_damaged(h->file, HEAP, err);
    *body = assay_cursor_over(h->block.data + (offset - first), (size_t)length);
    return ASSAY_OK;
}

/* ---- the tree ---- */

static int visit_record(tree *t, assay_cursor *in, assay_error *err)
{
    assay_cursor body;
    assay_get_bytes(in, HASH);
    const uint8_t *id = assay_get_bytes(in, ID);
    if (!id || t->left == 0)
        return assay_h5_damaged(t->file, TREE, err);
    t->left--;
    int status = find_object(t->heap, assay_cursor_over(id, ID), &body, err);
    return status == ASSAY_OK ? assay_h5_link(t->file, body, t->visit, t->context, err) : status;
}

/* A node `height` above the leaves, and all below it. */
static int visit_node(tree *t, uint64_t at, uint64_t records, unsigned height, assay_error *err)
{
    const unsigned below = height == 0 ? 0 : 8 + t->count_bytes + (height > 1 ? t->total_bytes[height - 1] : 0);
    assay_buf room;
    assay_cursor in;
    assay_buf_init(&room, SIZE_MAX);
    int status = ASSAY_OK;
    if (records > t->left || NODE_HEAD + records * RECORD + (records + 1) * below + 4 > t->node)
        return assay_h5_damaged(t->file, TREE, err);
    status =
        assay_h5_block(t->file, at, (size_t)(NODE_HEAD + records * RECORD + (height ? (records + 1) * below : 0) + 4),
                       height ? "BTIN" : "BTLF", &room, &in, TREE, err);
    assay_get_bytes(&in, status == ASSAY_OK ? NODE_HEAD - 4 : 0);
    for (uint64_t i = 0; status == ASSAY_OK && i < records; i++)
        status = visit_record(t, &in, err);
    for (uint64_t i = 0; status == ASSAY_OK && height > 0 && i <= records; i++) {
        uint64_t child = assay_get_u64(&in), count = assay_h5_number(&in, t->count_bytes);
        assay_get_bytes(&in, height > 1 ? t->total_bytes[height - 1] : 0);
        status = in.failed ? assay_h5_damaged(t->file, TREE, err) : visit_node(t, child, count, height - 1, err);
    }
    assay_buf_release(&room);
    return status;
}

/* How many bytes the counts in nodes take follows from the most there can be. */
static void find_widths(tree *t, unsigned depth)
{
    uint64_t most = (t->node - NODE_HEAD - 4) / RECORD, below = most;
    t->count_bytes = log_of(most) / 8 + 1;
    for (unsigned height = 1; height <= depth; height++) {
        unsigned pointer = 8 + t->count_bytes + (height > 1 ? t->total_bytes[height - 1] : 0);
        uint64_t records = (t->node - NODE_HEAD - 4 - pointer) / (RECORD + pointer);
        if (__builtin_mul_overflow(records + 1, below, &below) || __builtin_add_overflow(below, records, &below))
            below = UINT64_MAX;
        t->total_bytes[height] = log_of(below) / 8 + 1;
    }
}

static int visit_tree(tree *t, uint64_t at, assay_error *err)
{
    assay_buf room;
    assay_cursor in;
    assay_buf_init(&room, SIZE_MAX);
    int status = assay_h5_block(t->file, at, TREE_HEADER, "BTHD", &room, &in, TREE, err);
    if (status == ASSAY_OK) {
        unsigned version = assay_get_u8(&in), kind = assay_get_u8(&in);
        t->node = assay_get_u32(&in);
        unsigned record = (unsigned)assay_h5_number(&in, 2), depth = (unsigned)assay_h5_number(&in, 2);
        assay_get_bytes(&in, 2);
        uint64_t root = assay_get_u64(&in), records = assay_h5_number(&in, 2);
        t->left = assay_get_u64(&in);
        if (assay_cursor_bad(&in) || version != 0 || kind != 5 || record != RECORD || depth >= DEEPEST ||
            t->node < 64 || t->node > MOST_NODE || t->left > t->file->size)
            status = assay_h5_damaged(t->file, TREE, err);
        if (status == ASSAY_OK)
            find_widths(t, depth);
        if (status == ASSAY_OK && root != ASSAY_H5_NOWHERE)
            status = visit_node(t, root, records, depth, err);
    }
    assay_buf_release(&room);
    return status;
}

int assay_h5_dense_links(const assay_h5 *file, uint64_t heap_at, uint64_t tree_at, assay_h5_link_visit *visit,
                         void *context, assay_error *err)
{
    heap h = {.file = file, .kept = ASSAY_H5_NOWHERE};
    tree t = {.file = file, .heap = &h, .visit = visit, .context = context};
    assay_buf_init(&h.block, SIZE_MAX);
    assay_buf_init(&h.indirect, SIZE_MAX);
    int status = open_heap(&h, heap_at, err);
    if (status == ASSAY_OK)
        status = visit_tree(&t, tree_at, err);
    assay_buf_release(&h.block);
    assay_buf_release(&h.indirect);
    return status;
}
