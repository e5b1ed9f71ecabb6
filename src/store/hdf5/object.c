/* object.c - walks object headers, and finds links and attributes in them. */
#include "store/hdf5/object.h"

#include <string.h>

/* ---- links ---- */

/* The links of a group that has many.
 *
 * They lie in a fractal heap: an address space of its own, which a table of blocks covers. The blocks of a row have one
 * size: that of the first two rows is the starting size, and each later row has blocks twice as large as the one
 * before. Rows of blocks that would be too large have blocks of blocks. A B-tree lists the places of the links in the
 * heap. */

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
    ASSAY_TRY(assay_h5_block(h->file, at, HEAP_HEADER, "FRHP", &h->block, &in, HEAP, err));
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
        ASSAY_TRY(assay_h5_block(h->file, *at, 4 + 1 + 8 + h->offset_bytes + (size_t)rows * h->width * 8 + 4, "FHIB",
                                 &h->indirect, &in, HEAP, err));
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
    ASSAY_TRY(status = assay_h5_read(h->file, at, h->block.data, (size_t)size, HEAP, err));
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
    ASSAY_THEN(status, read_block(h, at, size, err));
    ASSAY_TRY(status);
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
    assay_buf room = ASSAY_BUF(SIZE_MAX);
    assay_cursor in;
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
    assay_buf room = ASSAY_BUF(SIZE_MAX);
    assay_cursor in;
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

/* Visits the links that lie in the fractal heap at `heap`, as the B-tree at `tree` lists them. */
static int assay_h5_dense_links(const assay_h5 *file, uint64_t heap_at, uint64_t tree_at, assay_h5_link_visit *visit,
                                void *context, assay_error *err)
{
    heap h = {.file = file, .kept = ASSAY_H5_NOWHERE};
    tree t = {.file = file, .heap = &h, .visit = visit, .context = context};
    assay_buf_init(&h.block, SIZE_MAX);
    assay_buf_init(&h.indirect, SIZE_MAX);
    int status = open_heap(&h, heap_at, err);
    ASSAY_THEN(status, visit_tree(&t, tree_at, err));
    assay_buf_release(&h.block);
    assay_buf_release(&h.indirect);
    return status;
}

/* ---- object ---- */

enum { PREFIX = 64, MOST_PIECES = 64, SHARED = 2 };

typedef struct piece { /* of a header */
    uint64_t at, size;
} piece;

typedef struct walk {
    const assay_h5 *file;
    assay_h5_visit *visit;
    void *context;
    bool ordered; /* messages have a number */
    piece pieces[MOST_PIECES];
    unsigned count;
} walk;

static const char WHAT[] = "an object's header";

static int take_continuation(walk *w, assay_cursor body, assay_error *err)
{
    piece next = {assay_get_u64(&body), assay_get_u64(&body)};
    if (assay_cursor_bad(&body) || w->count == MOST_PIECES)
        return assay_h5_damaged(w->file, WHAT, err);
    w->pieces[w->count++] = next;
    return ASSAY_OK;
}

/* The messages of one piece. Fewer bytes at its end than a message's head are a gap. */
static int walk_piece(walk *w, assay_cursor in, assay_error *err)
{
    const size_t head = w->ordered ? 6 : 4;
    while (assay_cursor_left(&in) >= head) {
        unsigned kind = assay_get_u8(&in), size = (unsigned)assay_h5_number(&in, 2), flags = assay_get_u8(&in);
        assay_get_bytes(&in, head - 4);
        const uint8_t *bytes = assay_get_bytes(&in, size);
        if (!bytes)
            return assay_h5_damaged(w->file, WHAT, err);
        if (kind == 0) /* room that is not used */
            continue;
        if (flags & SHARED)
            return assay_h5_foreign(w->file, "shared messages", err);
        assay_cursor body = assay_cursor_over(bytes, size);
        ASSAY_TRY(kind == ASSAY_H5_CONTINUATION ? take_continuation(w, body, err)
                                                : w->visit(w->context, w->file, kind, body, err));
    }
    return ASSAY_OK;
}

/* Where the first piece's messages begin, and how long they are. */
static int read_prefix(walk *w, uint64_t header, size_t *before, uint64_t *messages, assay_error *err)
{
    uint8_t bytes[PREFIX];
    size_t size = header < w->file->size && w->file->size - header < PREFIX ? (size_t)(w->file->size - header) : PREFIX;
    ASSAY_TRY(assay_h5_read(w->file, header, bytes, size, WHAT, err));
    assay_cursor in = assay_cursor_over(bytes, size);
    const uint8_t *signature = assay_get_bytes(&in, 4);
    if (signature && memcmp(signature, "OHDR", 4) != 0)
        return signature[0] == 1 ? assay_h5_foreign(w->file, "headers of an older form", err)
                                 : assay_h5_damaged(w->file, WHAT, err);
    unsigned version = assay_get_u8(&in), flags = assay_get_u8(&in);
    assay_get_bytes(&in, flags & 0x20 ? 16 : 0); /* times */
    assay_get_bytes(&in, flags & 0x10 ? 4 : 0);  /* how many attributes it keeps in the header */
    *messages = assay_h5_number(&in, 1U << (flags & 3));
    *before = in.at;
    w->ordered = flags & 4;
    return in.failed || version != 2 ? assay_h5_damaged(w->file, WHAT, err) : ASSAY_OK;
}

int assay_h5_messages(const assay_h5 *file, uint64_t header, assay_h5_visit *visit, void *context, assay_error *err)
{
    walk w = {.file = file, .visit = visit, .context = context};
    uint64_t messages = 0;
    size_t before = 0;
    assay_buf room = ASSAY_BUF(SIZE_MAX);
    assay_cursor body;
    int status = read_prefix(&w, header, &before, &messages, err);
    ASSAY_TRY(status);
    if (messages > file->size)
        status = assay_h5_damaged(file, WHAT, err);
    else
        status = assay_h5_block(file, header, before + (size_t)messages + 4, "OHDR", &room, &body, WHAT, err);
    if (status == ASSAY_OK) {
        assay_get_bytes(&body, before - 4);
        status = walk_piece(&w, body, err);
    }
    for (unsigned i = 0; status == ASSAY_OK && i < w.count; i++) {
        if (w.pieces[i].size > file->size)
            status = assay_h5_damaged(file, WHAT, err);
        else
            status = assay_h5_block(file, w.pieces[i].at, (size_t)w.pieces[i].size, "OCHK", &room, &body, WHAT, err);
        ASSAY_THEN(status, walk_piece(&w, body, err));
    }
    assay_buf_release(&room);
    return status;
}

/* ---- links ---- */

int assay_h5_link(const assay_h5 *file, assay_cursor body, assay_h5_link_visit *visit, void *context, assay_error *err)
{
    unsigned version = assay_get_u8(&body), flags = assay_get_u8(&body);
    unsigned kind = flags & 8 ? assay_get_u8(&body) : 0;
    assay_get_bytes(&body, flags & 4 ? 8 : 0); /* when it was made */
    assay_get_bytes(&body, flags & 16 ? 1 : 0);
    uint64_t length = assay_h5_number(&body, 1U << (flags & 3));
    const uint8_t *name = length <= assay_cursor_left(&body) ? assay_get_bytes(&body, (size_t)length) : NULL;
    if (!name || version != 1)
        return assay_h5_damaged(file, "a link", err);
    if (kind != 0)
        return assay_h5_foreign(file, kind == 64 ? "a link into another file" : "a link by name", err);
    uint64_t header = assay_get_u64(&body);
    if (assay_cursor_bad(&body))
        return assay_h5_damaged(file, "a link", err);
    return visit(context, (const char *)name, (size_t)length, header, err);
}

typedef struct link_walk {
    assay_h5_link_visit *visit;
    void *context;
    uint64_t heap, tree; /* of the links that are not in the header */
} link_walk;

static int take_link(void *context, const assay_h5 *file, unsigned kind, assay_cursor body, assay_error *err)
{
    link_walk *w = context;
    if (kind == ASSAY_H5_LINK)
        return assay_h5_link(file, body, w->visit, w->context, err);
    if (kind != ASSAY_H5_LINK_INFO)
        return ASSAY_OK;
    unsigned version = assay_get_u8(&body), flags = assay_get_u8(&body);
    assay_get_bytes(&body, flags & 1 ? 8 : 0); /* the largest number of a link */
    w->heap = assay_get_u64(&body);
    w->tree = assay_get_u64(&body);
    return body.failed || version != 0 ? assay_h5_damaged(file, "a group", err) : ASSAY_OK;
}

int assay_h5_links(const assay_h5 *file, uint64_t group, assay_h5_link_visit *visit, void *context, assay_error *err)
{
    link_walk w = {visit, context, ASSAY_H5_NOWHERE, ASSAY_H5_NOWHERE};
    int status = assay_h5_messages(file, group, take_link, &w, err);
    if (status == ASSAY_OK && w.heap != ASSAY_H5_NOWHERE)
        status = assay_h5_dense_links(file, w.heap, w.tree, visit, context, err);
    return status;
}

typedef struct search {
    const char *name;
    uint64_t *header;
    bool found;
} search;

static int compare_link(void *context, const char *name, size_t length, uint64_t header, assay_error *err)
{
    search *s = context;
    if (strlen(s->name) == length && memcmp(s->name, name, length) == 0) {
        *s->header = header;
        s->found = true;
    }
    return ASSAY_OK;
}

int assay_h5_find(const assay_h5 *file, uint64_t group, const char *name, uint64_t *header, assay_error *err)
{
    search s = {name, header, false};
    int status = assay_h5_links(file, group, compare_link, &s, err);
    return status == ASSAY_OK ? s.found : status;
}

/* ---- attributes ---- */

enum { FIXED_POINT = 0, TEXT = 3 };

typedef struct attribute {
    const char *name;
    unsigned class;
    char *to;
    size_t room, size; /* size: found, 0 none */
} attribute;

static int take_attribute(void *context, const assay_h5 *file, unsigned kind, assay_cursor body, assay_error *err)
{
    attribute *a = context;
    if (kind != ASSAY_H5_ATTRIBUTE)
        return ASSAY_OK;
    unsigned version = assay_get_u8(&body), flags = assay_get_u8(&body);
    size_t name_size = (size_t)assay_h5_number(&body, 2), type_size = (size_t)assay_h5_number(&body, 2);
    size_t space_size = (size_t)assay_h5_number(&body, 2);
    assay_get_u8(&body); /* the character set of the name */
    const char *name = (const char *)assay_get_bytes(&body, name_size);
    const uint8_t *type = assay_get_bytes(&body, type_size), *space = assay_get_bytes(&body, space_size);
    if (!name || !type || !space || version != 3 || flags != 0 || type_size < 8 || space_size < 2)
        return assay_h5_damaged(file, "an attribute", err);
    assay_cursor head = assay_cursor_over(type + 4, 4);
    size_t size = assay_get_u32(&head);
    if (name_size != strlen(a->name) + 1 || memcmp(name, a->name, name_size) != 0)
        return ASSAY_OK;
    bool scalar = space[0] == 2 && space[1] == 0;
    if ((type[0] & 15U) != a->class || !scalar || size > a->room || size != assay_cursor_left(&body))
        return ASSAY_OK;
    memcpy(a->to, assay_get_bytes(&body, size), size);
    a->size = size;
    return ASSAY_OK;
}

int assay_h5_attribute_number(const assay_h5 *file, uint64_t header, const char *name, uint64_t *value,
                              assay_error *err)
{
    char bytes[8];
    attribute a = {name, FIXED_POINT, bytes, sizeof bytes, 0};
    int status = assay_h5_messages(file, header, take_attribute, &a, err);
    assay_cursor in = assay_cursor_over(bytes, sizeof bytes);
    if (status != ASSAY_OK || a.size != sizeof bytes)
        return status;
    *value = assay_get_u64(&in);
    return 1;
}

int assay_h5_attribute_text(const assay_h5 *file, uint64_t header, const char *name, char *text, size_t room,
                            assay_error *err)
{
    attribute a = {name, TEXT, text, room - 1, 0};
    int status = assay_h5_messages(file, header, take_attribute, &a, err);
    if (status != ASSAY_OK || a.size == 0)
        return status;
    text[a.size] = '\0';
    return 1;
}
