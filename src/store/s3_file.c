/* s3_file.c - objects of a trial, read in pieces of ASSAY_S3_PIECE bytes.
 *
 * A small object is one piece, which comes with the first answer: its size need not be known before. Of a larger one
 * the pieces that are read in a row bring the next ones with them, twice as many each time, as far as memory goes and
 * as more of them bring more (s3_pace.h). What is held and under way counts for all files of the process together. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/vec.h"
#include "store/s3_pace.h"
#include "store/s3_store.h"

typedef struct piece {
    uint64_t number;
    assay_s3_get *get;
    assay_s3_bytes bytes; /* once it is ready */
    bool ready;
    uint64_t used; /* when it was used last, by the file's count of reads */
    size_t taken;  /* bytes that were read of it; those that were read twice count twice */
    size_t cost;
} piece;

/* Invariant: list[0..count) are pieces that are held or under way, each once; `held` has the sum of their costs over
 * all files. */
typedef struct s3_file {
    s3_root *root;
    char *path;
    char etag[ASSAY_S3_ETAG]; /* of the first answer; "" before it */
    piece *list;
    size_t count, room;
    uint64_t reads;
    uint64_t next;  /* the piece that would go on with the last one */
    uint64_t ahead; /* pieces to ask for behind the next one */
    uint64_t taken; /* bytes that were read */
} s3_file;

/* Bytes of a large object behind which its next piece is asked for. */
enum { AT_HEAD = ASSAY_S3_PIECE / 8 };

/* Bytes of pieces that are held or under way. Files are read by one thread. Calls come one at a time (s3_ops.c), so a
 * plain variable does. */
static size_t held;
/* Of large objects. Whom they are read from is one server for all of them, most of the time. */
static s3_pace pace;

static size_t at_most(uint64_t size)
{
    return size < ASSAY_S3_PIECE ? (size_t)size : ASSAY_S3_PIECE;
}

static bool there_is_room(size_t cost)
{
    size_t memory = assay_s3_memory();
    return held <= memory && cost <= memory - held;
}

/* A piece is asked for whole, at a multiple of ASSAY_S3_PIECE: neighbours then never overlap. */
static assay_s3_get *begin(s3_root *root, const char *path, uint64_t number, const char *etag, bool urgent)
{
    const char *key = s3_root_key(root, path);
    return key ? assay_s3_get_begin(root->place.bucket, key, number * ASSAY_S3_PIECE, ASSAY_S3_PIECE, etag, urgent)
               : NULL;
}

/* ---- ahead ---- */

static void forget(s3_ring *ring, s3_asked *asked)
{
    if (!asked->path)
        return;
    assay_s3_get_end(asked->get);
    free(asked->path);
    held -= asked->cost;
    *asked = (s3_asked){.path = NULL};
    ring->name[asked - ring->list] = 0;
}

static void release_ring(s3_ring *ring)
{
    for (size_t i = 0; i < ring->room; i++)
        forget(ring, &ring->list[i]);
    free(ring->list);
    free(ring->name);
    *ring = (s3_ring){.most = ring->most};
}

/* Two rings: what was asked for ahead, and first pieces that were read and are kept. */
void s3_forget_asked(s3_root *root)
{
    release_ring(&root->asked);
    release_ring(&root->kept);
}

static s3_asked *find_asked(const s3_ring *ring, const char *path)
{
    const uint64_t name = s3_fact_name(path, strlen(path), false);
    for (size_t i = 0; i < ring->room; i++)
        if (ring->name[i] == name && strcmp(ring->list[i].path, path) == 0)
            return &ring->list[i];
    return NULL;
}

static bool is_asked(const s3_root *root, const char *path)
{
    return find_asked(&root->asked, path) || find_asked(&root->kept, path);
}

/* Forgets what was kept, from the oldest on, until there is room. Kept pieces are a convenience, pieces under way a
 * need: the former make room. */
static void forget_kept(s3_root *root, size_t cost)
{
    s3_ring *kept = &root->kept;
    for (size_t i = 0; i < kept->room && !there_is_room(cost); i++)
        forget(kept, &kept->list[(kept->next + i) % kept->room]);
}

/* Twice as many places, before the first one is used again. */
static bool grow_ring(s3_ring *ring)
{
    enum { FIRST = 16 };
    size_t room = ring->room > 0 ? 2 * ring->room : FIRST;
    room = room < ring->most ? room : ring->most;
    s3_asked *list = assay_realloc_array(ring->list, room, sizeof *list);
    ring->list = list ? list : ring->list;
    uint64_t *name = list ? assay_realloc_array(ring->name, room, sizeof *name) : NULL;
    if (!name)
        return false;
    memset(list + ring->room, 0, (room - ring->room) * sizeof *list);
    memset(name + ring->room, 0, (room - ring->room) * sizeof *name);
    ring->name = name;
    ring->room = room;
    return true;
}

/* Puts it into the ring's next place, which takes it over. False: no memory. */
static bool put_asked(s3_ring *ring, s3_asked asked)
{
    if (ring->next == ring->room && ring->room < ring->most && !grow_ring(ring))
        return false;
    const size_t at = ring->next % ring->room;
    forget(ring, &ring->list[at]);
    ring->list[at] = asked;
    ring->name[at] = s3_fact_name(asked.path, strlen(asked.path), false);
    ring->next = at + 1;
    return true;
}

void s3_ahead(assay_store *store, const char *path, uint64_t offset, uint64_t size)
{
    s3_root *root = store->root;
    const s3_fact *fact = s3_facts_find(&root->facts, path, strlen(path), false);
    /* The size is unknown if no listing gave it: reserve what was asked for. The caller bounds the rest of the piece,
     * which comes along (s3_depth). */
    const size_t inside = (size_t)(offset % ASSAY_S3_PIECE);
    const size_t least = size < ASSAY_S3_PIECE - inside ? inside + (size_t)size : ASSAY_S3_PIECE;
    const size_t cost = fact ? at_most(fact->size) : least;
    if (is_asked(root, path))
        return;
    forget_kept(root, cost);
    char *copy = there_is_room(cost) ? assay_copy_text(path) : NULL;
    assay_s3_get *get = copy ? begin(root, path, offset / ASSAY_S3_PIECE, NULL, false) : NULL;
    if (!get || !put_asked(&root->asked, (s3_asked){copy, offset / ASSAY_S3_PIECE, get, cost})) {
        assay_s3_get_end(get); /* it is asked for when it is its turn */
        free(copy);
        return;
    }
    held += cost;
}

/* Keeps the first piece of an object, which is the whole of a small one, for the next one who opens it. Indexes and
 * headers are opened, closed and opened again: the second time costs no request. */
static void keep(s3_root *root, char *path, assay_s3_get *get, size_t cost)
{
    if (put_asked(&root->kept, (s3_asked){path, 0, get, cost}))
        return;
    assay_s3_get_end(get);
    free(path);
    held -= cost;
}

/* ---- pieces ---- */

static piece *find_piece(const s3_file *f, uint64_t number)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->list[i].number == number)
            return &f->list[i];
    return NULL;
}

static void drop_piece(s3_file *f, piece *p)
{
    assay_s3_get_end(p->get);
    held -= p->cost;
    *p = f->list[--f->count];
}

/* Makes room for one more by dropping what was used longest ago; this read's pieces stay. */
static void make_room(s3_file *f, size_t cost)
{
    forget_kept(f->root, cost);
    while (!there_is_room(cost)) {
        piece *oldest = NULL;
        for (size_t i = 0; i < f->count; i++)
            if (f->list[i].ready && f->list[i].used != f->reads && (!oldest || f->list[i].used < oldest->used))
                oldest = &f->list[i];
        if (!oldest)
            return; /* the one that is needed comes all the same */
        drop_piece(f, oldest);
    }
}

/* Nobody will read them again, most likely, and their memory, which the caches have, takes what comes next.
 * Backwards, since dropping moves the last piece into the gap. */
static void drop_read(s3_file *f)
{
    for (size_t i = f->count; i > 0; i--)
        if (f->list[i - 1].ready && f->list[i - 1].taken >= f->list[i - 1].bytes.size)
            drop_piece(f, &f->list[i - 1]);
}

static piece *add_piece(s3_file *f, uint64_t number, assay_s3_get *get, size_t cost)
{
    if (!assay_vec_reserve(&f->list, &f->room, f->count + 1, sizeof *f->list))
        return NULL;
    f->list[f->count] = (piece){.number = number, .get = get, .used = f->reads, .cost = cost};
    held += cost;
    return &f->list[f->count++];
}

static piece *ask_piece(s3_file *f, uint64_t number, size_t cost, bool urgent)
{
    assay_s3_get *get = begin(f->root, f->path, number, f->etag, urgent);
    piece *p = get ? add_piece(f, number, get, cost) : NULL;
    if (!p)
        assay_s3_get_end(get);
    return p;
}

static int changed(const s3_file *f, assay_error *err)
{
    return assay_fail(err, ASSAY_EIO, "%s: changed while it was read", f->path);
}

/* A piece of a row has come. The width counts for all files, because one server is behind them. */
static void take_pace(void)
{
    const size_t requests = assay_s3_requests(), room = assay_s3_memory() / ASSAY_S3_PIECE;
    s3_pace_take(&pace, assay_clock_seconds(), assay_s3_slept(), requests < room ? requests : room);
}

/* Waits for a piece. It has to be of the object that the listing told, and of the one that the first piece was of. */
static int wait_piece(assay_store_file *file, piece *p, assay_error *err)
{
    s3_file *f = file->handle;
    assay_error why = {""};
    if (p->ready)
        return ASSAY_OK;
    int status = assay_s3_get_wait(p->get, &p->bytes, &why);
    const s3_fact *fact = s3_facts_find(&f->root->facts, f->path, strlen(f->path), false);
    if (status == ASSAY_ENOTFOUND && f->etag[0])
        return changed(f, err);
    if (status == ASSAY_ENOTFOUND && fact) /* only what nobody listed is absent */
        return assay_fail(err, ASSAY_EIO, "%s: it was listed, and cannot be found: it was removed while it was read",
                          f->path);
    if (status == ASSAY_ENOTFOUND)
        return assay_fail(err, status, "%s: does not exist", f->path);
    if (status != ASSAY_OK)
        return assay_fail(err, status == ASSAY_ENOMEM ? status : ASSAY_EIO, "%s: %s", f->path, why.text);
    const uint64_t etag = s3_fact_etag(p->bytes.etag);
    /* Three ways in which an object may have changed: since it was listed, since its first piece, or in size. */
    if ((fact && fact->etag && etag && fact->etag != etag) || (fact && fact->size != p->bytes.total) ||
        (f->etag[0] && (strcmp(f->etag, p->bytes.etag) != 0 || file->size != p->bytes.total)))
        return changed(f, err);
    memcpy(f->etag, p->bytes.etag, sizeof f->etag);
    file->size = p->bytes.total;
    p->ready = true;
    if (f->ahead > 0)
        take_pace();
    return ASSAY_OK;
}

static size_t cost_of(const assay_store_file *file, uint64_t number)
{
    const uint64_t from = number * ASSAY_S3_PIECE;
    return at_most(file->size > from ? file->size - from : 0);
}

/* Asks for what a read in a row will need behind its last piece. Who has read little may look at the head alone. */
static void ask_ahead(assay_store_file *file, uint64_t last)
{
    s3_file *f = file->handle;
    if (f->taken < AT_HEAD)
        return;
    const uint64_t pieces = (file->size + ASSAY_S3_PIECE - 1) / ASSAY_S3_PIECE;
    /* `ahead` is what this file's reading promises, pace.width what the server has been shown to bear. */
    for (uint64_t n = last + 1; n < pieces && n <= last + f->ahead && n <= last + pace.width; n++) {
        const size_t cost = cost_of(file, n);
        if (find_piece(f, n))
            continue;
        make_room(f, cost);
        if (!there_is_room(cost) || !ask_piece(f, n, cost, false))
            return;
    }
}

/* Where the read stands to the ones before: in a row, twice as much is asked for ahead as before. */
static void follow(s3_file *f, uint64_t first, uint64_t last)
{
    if (first <= f->next && last >= f->next) {
        /* 64 pieces ahead are more than any memory that is usual. */
        f->ahead = f->ahead < 64 ? 2 * f->ahead + 1 : f->ahead;
    } else if (last + 1 < f->next || first > f->next) {
        f->ahead = 0;
        s3_pace_break(&pace);
    }
    /* Pieces that were read again do not move the row back. */
    if (last + 1 > f->next || f->ahead == 0)
        f->next = last + 1;
}

int s3_read_at(assay_store_file *file, uint64_t offset, void *bytes, size_t size, size_t *got, assay_error *err)
{
    s3_file *f = file->handle;
    size_t have = 0;
    uint64_t left = offset < file->size ? file->size - offset : 0;
    size = size < left ? size : (size_t)left;
    *got = 0;
    if (size == 0)
        return ASSAY_OK;
    f->reads++;
    f->taken += size;
    const uint64_t last = (offset + size - 1) / ASSAY_S3_PIECE;
    follow(f, offset / ASSAY_S3_PIECE, last);
    while (have < size) {
        const uint64_t at = offset + have, number = at / ASSAY_S3_PIECE;
        piece *p = find_piece(f, number);
        if (!p || !p->ready) {
            /* Before another piece is waited for, those that were read to their end give their memory back. */
            drop_read(f);
            p = find_piece(f, number);
        }
        if (!p) {
            make_room(f, cost_of(file, number));
            p = ask_piece(f, number, cost_of(file, number), true);
        }
        if (!p)
            return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while it was read", f->path);
        p->used = f->reads;
        /* Asked for before waiting, so that both are under way at once. */
        ask_ahead(file, number < last ? last : number);
        p = find_piece(f, number); /* the list may have moved */
        int status = wait_piece(file, p, err);
        if (status != ASSAY_OK) {
            drop_piece(f, p);
            return status;
        }
        const size_t inside = (size_t)(at % ASSAY_S3_PIECE),
                     there = p->bytes.size > inside ? p->bytes.size - inside : 0;
        const size_t take = there < size - have ? there : size - have;
        if (take == 0)
            break;
        memcpy((char *)bytes + have, p->bytes.data + inside, take);
        have += take;
        p->taken += take;
        /* A piece that was used up looks as if it was last used a read ago. */
        p->used = f->reads - (p->bytes.size == inside + take); /* one that was read to its end goes first */
    }
    *got = have;
    return ASSAY_OK;
}

/* ---- files ---- */

static void free_file(s3_file *f)
{
    while (f->count > 0)
        drop_piece(f, &f->list[f->count - 1]);
    free(f->list);
    free(f->path);
    free(f);
}

/* The first piece: one that was asked for ahead, or kept, or the object's first. Of a large object whose size the
 * listing told, none: nobody knows which one will be read. */
static int take_first(assay_store_file *file, bool ask_anew, assay_error *err)
{
    /* ask_anew: a kept piece turned out to be of an older object. */
    s3_file *f = file->handle;
    const s3_fact *fact = s3_facts_find(&f->root->facts, f->path, strlen(f->path), false);
    s3_asked *ahead = ask_anew ? NULL : find_asked(&f->root->asked, f->path);
    s3_asked *kept = ask_anew || ahead ? NULL : find_asked(&f->root->kept, f->path), *asked = ahead ? ahead : kept;
    piece *p = NULL;
    if (asked) {
        held -= asked->cost;
        p = add_piece(f, asked->piece, asked->get, asked->cost);
        if (p)
            asked->get = NULL;
        asked->cost = 0;
        forget(kept ? &f->root->kept : &f->root->asked, asked);
    } else if (fact && fact->size > ASSAY_S3_PIECE) {
        file->size = fact->size;
        return ASSAY_OK;
    } else {
        p = ask_piece(f, 0, fact ? at_most(fact->size) : 0, true);
    }
    if (!p)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while opening it", f->path);
    int status = wait_piece(file, p, err);
    /* A kept piece may be of the object as it was: asked anew, it shows whether the object changed between two runs'
     * looks or under this one's hands. */
    if (status != ASSAY_OK && kept) { /* of what the object was when it was read before */
        drop_piece(f, p);
        return take_first(file, true, err);
    }
    if (status != ASSAY_OK)
        return status;
    /* The size was a guess before the first answer. */
    held += p->bytes.size - p->cost; /* now it is known */
    p->cost = p->bytes.size;
    f->next = p->number;
    return ASSAY_OK;
}

int s3_open_file(assay_store *store, const char *path, assay_store_file *file, assay_error *err)
{
    s3_file *f = assay_alloc_zeroed(1, sizeof *f);
    if (f)
        f->path = assay_copy_text(path);
    if (!f || !f->path) {
        free(f);
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while opening it", path);
    }
    f->root = store->root;
    file->handle = f;
    /* The first file of the process starts the measure. */
    if (pace.width == 0)
        s3_pace_start(&pace);
    int status = take_first(file, false, err);
    if (status != ASSAY_OK)
        free_file(f);
    return status;
}

void s3_close_file(assay_store_file *file)
{
    s3_file *f = file->handle;
    piece *first = find_piece(f, 0);
    if (first && first->ready && file->size > 0 && !is_asked(f->root, f->path)) {
        keep(f->root, f->path, first->get, first->cost);
        f->path = NULL;
        *first = f->list[--f->count];
    }
    free_file(f);
}
