/* object.c - walks object headers, and finds links and attributes in them. */
#include "store/hdf5/object.h"

#include <string.h>

#include "store/hdf5/links.h"

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
        int status = kind == ASSAY_H5_CONTINUATION ? take_continuation(w, body, err)
                                                   : w->visit(w->context, w->file, kind, body, err);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

/* Where the first piece's messages begin, and how long they are. */
static int read_prefix(walk *w, uint64_t header, size_t *before, uint64_t *messages, assay_error *err)
{
    uint8_t bytes[PREFIX];
    size_t size = header < w->file->size && w->file->size - header < PREFIX ? (size_t)(w->file->size - header) : PREFIX;
    int status = assay_h5_read(w->file, header, bytes, size, WHAT, err);
    if (status != ASSAY_OK)
        return status;
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
    assay_buf room;
    assay_cursor body;
    int status = read_prefix(&w, header, &before, &messages, err);
    if (status != ASSAY_OK)
        return status;
    assay_buf_init(&room, SIZE_MAX);
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
        if (status == ASSAY_OK)
            status = walk_piece(&w, body, err);
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
    (void)err;
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
