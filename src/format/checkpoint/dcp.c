/* dcp.c - see dcp.h.
 *
 * .metadata is a pickle of one object:
 *   state_dict_metadata   name -> TensorStorageMetadata{properties, size, chunks: [{offsets, sizes}, ..]}
 *   storage_data          MetadataIndex{fqn, offset} -> _StorageInfo{relative_path, offset, length}
 *   planner_data          name -> the keys under which the program knows it
 * Ranks that saved without asking each other have one each (__3.metadata): their dictionaries are united, and of a
 * chunk that two of them have the lower rank's counts. At a chunk's place lies a whole torch file of one tensor. Which
 * rank saved a chunk says nothing: writers spread copies over ranks as they like. So the boxes of a tensor make one
 * tensor of one worker. */
#include "format/checkpoint/dcp.h"

#include <assay/pack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dict.h"
#include "base/fault.h"
#include "base/path.h"
#include "base/vec.h"
#include "container/pickle.h"
#include "format/checkpoint/boxes.h"
#include "format/checkpoint/files.h"
#include "format/checkpoint/keys.h"
#include "format/checkpoint/others.h"
#include "format/checkpoint/torch.h"
#include "format/checkpoint/walk.h"

/* ---- dcp objects ---- */

/* What the pickle of a distributed checkpoint's metadata is made of: objects of torch.distributed, and
 * the names of tensors. Inside this folder only. */

/* Under which keys the program knows each tensor, as `planner_data` says it. */
typedef struct assay_dcp_paths {
    assay_dict *keys;
    uint32_t *path; /* by number in `keys`: a list of keys */
} assay_dcp_paths;

/* Is the node an object of a class of torch.distributed of that name, in whatever module? */
static bool assay_dcp_is_class(const assay_pickle *p, uint32_t node, const char *name)
{
    static const char MODULE[] = "torch.distributed.";
    if (node == ASSAY_PICKLE_NOTHING)
        return false;
    const assay_pickle_node *n = &p->node[node];
    if (n->kind != ASSAY_PICKLE_OBJECT && n->kind != ASSAY_PICKLE_CALL)
        return false;
    const assay_pickle_node *class = &p->node[n->a];
    return class->kind == ASSAY_PICKLE_GLOBAL && class->b > sizeof MODULE - 1 &&
           memcmp(p->bytes + class->a, MODULE, sizeof MODULE - 1) == 0 && class->size == strlen(name) &&
           memcmp(p->bytes + class->c, name, (size_t) class->size) == 0;
}

/* A field of an object; ASSAY_PICKLE_NOTHING when it is none, or has no such field. */
static uint32_t assay_dcp_field(const assay_pickle *p, uint32_t node, const char *name)
{
    if (node == ASSAY_PICKLE_NOTHING ||
        (p->node[node].kind != ASSAY_PICKLE_OBJECT && p->node[node].kind != ASSAY_PICKLE_CALL))
        return ASSAY_PICKLE_NOTHING;
    return assay_pickle_get(p, p->node[node].c, name);
}

/* A whole number of 0 or more. False: it is none. */
static bool assay_dcp_number(const assay_pickle *p, uint32_t node, uint64_t *out)
{
    if (node == ASSAY_PICKLE_NOTHING || p->node[node].kind != ASSAY_PICKLE_INT || p->node[node].integer < 0)
        return false;
    *out = (uint64_t)p->node[node].integer;
    return true;
}

/* ---- names ---- */

/* Reads them; anything but a dictionary says none. 0 or ASSAY_ENOMEM; release either way. */
static int assay_dcp_paths_read(const assay_pickle *p, uint32_t planner, assay_dcp_paths *out)
{
    size_t room = 0;
    *out = (assay_dcp_paths){.keys = assay_dict_new()};
    ASSAY_HAVE(out->keys);
    uint32_t item = assay_walk_is_dict(p, planner) ? p->node[planner].first : ASSAY_PICKLE_NOTHING;
    for (; item != ASSAY_PICKLE_NOTHING; item = p->item[item].next) {
        const uint32_t key = p->item[item].key, path = p->item[item].value;
        if (key == ASSAY_PICKLE_NOTHING || p->node[key].kind != ASSAY_PICKLE_TEXT)
            continue;
        const uint32_t id =
            assay_dict_add(out->keys, (const char *)p->bytes + p->node[key].a, (size_t)p->node[key].size);
        if (id == ASSAY_NO_ID)
            return ASSAY_ENOMEM;
        if (id >= room) {
            room = room ? 2 * room : 256;
            uint32_t *grown = assay_realloc_array(out->path, room, sizeof *grown);
            ASSAY_HAVE(grown);
            out->path = grown;
        }
        out->path[id] = path;
    }
    return ASSAY_OK;
}

static void assay_dcp_paths_release(assay_dcp_paths *paths)
{
    assay_dict_free(paths->keys);
    free(paths->path);
    *paths = (assay_dcp_paths){0};
}

/* The keys under which the program knows a tensor; ASSAY_PICKLE_NOTHING: they are not said, or are the name itself. */
static uint32_t path_of(const assay_pickle *p, uint32_t key, const assay_dcp_paths *paths)
{
    const uint32_t id =
        assay_dict_find(paths->keys, (const char *)p->bytes + p->node[key].a, (size_t)p->node[key].size);
    const uint32_t path = id == ASSAY_NO_ID ? ASSAY_PICKLE_NOTHING : paths->path[id];
    return assay_walk_is_list(p, path) && p->node[path].first != p->node[path].last ? path : ASSAY_PICKLE_NOTHING;
}

/* The name that rules know, for a text `key` that the metadata has: by the program's keys where they are said. 0 or
 * ASSAY_ENOMEM. */
static int assay_dcp_put_name(const assay_pickle *p, uint32_t key, const assay_dcp_paths *paths, assay_buf *out)
{
    const uint32_t path = path_of(p, key, paths);
    assay_buf_clear(out);
    if (path != ASSAY_PICKLE_NOTHING)
        return assay_keys_put_path(p, path, out);
    assay_keys_put_flat((const char *)p->bytes + p->node[key].a, (size_t)p->node[key].size, out);
    return assay_buf_status(out);
}

/* Do those keys, joined by points as writers do it, make the name? 1 (also where no keys are said); 0, with what they
 * make in `joined`; ASSAY_ENOMEM. Nothing else guards either against damage. */
static int assay_dcp_path_agrees(const assay_pickle *p, uint32_t key, const assay_dcp_paths *paths, assay_buf *joined)
{
    const uint32_t path = path_of(p, key, paths);
    assay_buf_clear(joined);
    if (path == ASSAY_PICKLE_NOTHING)
        return 1;
    for (uint32_t i = p->node[path].first; i != ASSAY_PICKLE_NOTHING; i = p->item[i].next) {
        if (i != p->node[path].first)
            assay_put_u8(joined, '.');
        assay_walk_put_key(p, p->item[i].value, joined);
    }
    ASSAY_TRY(assay_buf_status(joined));
    return joined->size == p->node[key].size && memcmp(joined->data, p->bytes + p->node[key].a, joined->size) == 0;
}

/* ---- dcp ---- */

enum { METADATA_MOST = 1 << 30 };

typedef struct metadata_file { /* one file of it */
    char *path;
    assay_buf bytes;
    assay_pickle p;
} metadata_file;

typedef struct stored { /* where a chunk lies */
    const metadata_file *said_by;
    uint32_t node;
} stored;

typedef struct dcp {
    assay_contents *c;
    const char *directory;
    const assay_names *names; /* in the directory, in natural order: rank 2 before rank 10 */
    metadata_file *file;
    size_t files;
    const metadata_file *of; /* the file under way */
    assay_dict *chunks;      /* by name and offsets: the number of a storage */
    stored *storage;         /* by number in `chunks` */
    size_t storage_room;
    assay_dict *added;           /* chunks that were added, likewise */
    const metadata_file **adder; /* by number in `added`: the file that named it */
    size_t adder_room;
    assay_dict *named; /* files that .metadata names, below the directory */
    uint64_t *
        end; /* by number in `named`: behind the last of its chunks; UINT64_MAX: not known, or what lies behind was named */
    size_t end_room;
    uint8_t *state; /* by file: whether a problem of it was named */
    size_t state_room;
    assay_dcp_paths paths; /* of the file under way */
    assay_boxes *boxes;
    assay_ckpt_file open; /* the file that was read last; .file NULL: none */
} dcp;

static int damaged(const dcp *d, const char *what)
{
    assay_problems_add(d->c->problems, ASSAY_PROBLEM_HEADER, d->c->step, d->of->path, -1, "%s: %s", d->of->path, what);
    return ASSAY_EFORMAT;
}

/* ---- which chunk lies where ---- */

static void put_chunk_key(assay_buf *key, const uint8_t *name, size_t length, const int64_t *offsets, int dims)
{
    assay_buf_clear(key);
    assay_put_u32(key, (uint32_t)length);
    assay_put_bytes(key, name, length);
    for (int i = 0; i < dims; i++)
        assay_put_i64(key, offsets[i]);
}

/* Tells where a storage lies, be it a tensor's or bytes. */
static void tell_archive(const dcp *d, uint32_t path, uint32_t storage)
{
    const assay_pickle *p = &d->of->p;
    char room[ASSAY_PATH_ROOM];
    uint64_t offset = 0, length = 0;
    if (!d->c->others || path == ASSAY_PICKLE_NOTHING || p->node[path].kind != ASSAY_PICKLE_TEXT ||
        !assay_path_is_inside((const char *)p->bytes + p->node[path].a, (size_t)p->node[path].size) ||
        !assay_dcp_number(p, assay_dcp_field(p, storage, "offset"), &offset) ||
        !assay_dcp_number(p, assay_dcp_field(p, storage, "length"), &length) ||
        snprintf(room, sizeof room, "%s%s%.*s", d->directory, *d->directory ? "/" : "", (int)p->node[path].size,
                 (const char *)p->bytes + p->node[path].a) >= (int)sizeof room)
        return;
    assay_ckpt_note_archive(d->c, room, offset, length);
}

/* Notes the file of a storage, and where the last of them ends in it. 0 or ASSAY_ENOMEM. */
static int note_end(dcp *d, uint32_t path, uint32_t storage)
{
    const assay_pickle *p = &d->of->p;
    const uint32_t known = assay_dict_count(d->named);
    const uint32_t id = assay_dict_add(d->named, (const char *)p->bytes + p->node[path].a, (size_t)p->node[path].size);
    ASSAY_HAVE(id != ASSAY_NO_ID && assay_vec_reserve(&d->end, &d->end_room, id + 1, sizeof *d->end));
    uint64_t at = 0, size = 0, *end = &d->end[id];
    *end = id == known ? 0 : *end;
    if (!assay_dcp_number(p, assay_dcp_field(p, storage, "offset"), &at) ||
        !assay_dcp_number(p, assay_dcp_field(p, storage, "length"), &size))
        *end = UINT64_MAX;
    else if (*end != UINT64_MAX && at + size > *end)
        *end = at + size;
    return ASSAY_OK;
}

static int note_storage(dcp *d, uint32_t index, uint32_t storage, assay_buf *key)
{
    const assay_pickle *p = &d->of->p;
    const uint32_t name = assay_dcp_field(p, index, "fqn");
    const uint32_t path = assay_dcp_field(p, storage, "relative_path");
    int64_t offsets[ASSAY_MAX_DIMS];
    const int dims = assay_walk_numbers(p, assay_dcp_field(p, index, "offset"), offsets);
    tell_archive(d, path, storage);
    if (path != ASSAY_PICKLE_NOTHING && p->node[path].kind == ASSAY_PICKLE_TEXT)
        ASSAY_TRY(note_end(d, path, storage));
    if (!assay_dcp_is_class(p, index, "MetadataIndex") || name == ASSAY_PICKLE_NOTHING ||
        p->node[name].kind != ASSAY_PICKLE_TEXT || dims < 0)
        return ASSAY_OK; /* bytes, not a tensor */
    put_chunk_key(key, p->bytes + p->node[name].a, (size_t)p->node[name].size, offsets, dims);
    const uint32_t known = assay_dict_count(d->chunks);
    const uint32_t id =
        assay_buf_status(key) == ASSAY_OK ? assay_dict_add(d->chunks, (const char *)key->data, key->size) : ASSAY_NO_ID;
    if (id == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    ASSAY_HAVE(assay_vec_reserve(&d->storage, &d->storage_room, id + 1, sizeof *d->storage));
    if (id == known || d->storage[id].said_by == d->of)
        d->storage[id] = (stored){d->of, storage};
    return ASSAY_OK;
}

static int note_storages(dcp *d, uint32_t data)
{
    const assay_pickle *p = &d->of->p;
    assay_buf key;
    int status = ASSAY_OK;
    assay_buf_init(&key, SIZE_MAX);
    for (uint32_t i = p->node[data].first; i != ASSAY_PICKLE_NOTHING && status == ASSAY_OK; i = p->item[i].next)
        status = note_storage(d, p->item[i].key, p->item[i].value, &key);
    assay_buf_release(&key);
    return status;
}

/* ---- chunks ---- */

/* Names what is wrong with a file once, however many chunks it has. */
static void name_file(dcp *d, uint32_t file, int kind, const char *what)
{
    if (file < d->state_room && d->state[file])
        return;
    if (file >= d->state_room) {
        const size_t room = 2 * (size_t)file + 64;
        uint8_t *grown = assay_realloc_array(d->state, room, 1);
        if (!grown) {
            d->c->status = ASSAY_ENOMEM;
            return;
        }
        memset(grown + d->state_room, 0, room - d->state_room);
        d->state = grown;
        d->state_room = room;
    }
    d->state[file] = 1;
    const char *path = assay_dict_name(d->c->files, file, NULL);
    assay_problems_add(d->c->problems, kind, d->c->step, path, -1, "%s: %s", path, what);
}

/* Turns to the file at a path below the directory. False: it cannot be read, which a problem says. */
static bool turn_to(dcp *d, const char *relative, size_t length)
{
    char path[ASSAY_PATH_ROOM];
    const int size =
        snprintf(path, sizeof path, "%s%s%.*s", d->directory, *d->directory ? "/" : "", (int)length, relative);
    if (size < 0 || size >= (int)sizeof path)
        return false;
    const uint32_t file = assay_dict_add(d->c->files, path, (size_t)size);
    if (file == ASSAY_NO_ID) {
        d->c->status = ASSAY_ENOMEM;
        return false;
    }
    if (d->open.file && d->open.number == file)
        return true;
    assay_store_close_file(d->open.file);
    d->open = (assay_ckpt_file){.to = d->c, .number = file, .role = ASSAY_CKPT_MODEL};
    d->open.path = assay_dict_name(d->c->files, file, NULL);
    assay_error err = {{0}};
    const int status = assay_store_open_file(d->c->store, path, &d->open.file, &err);
    if (status == ASSAY_OK) {
        const uint32_t named = assay_dict_find(d->named, relative, length);
        const uint64_t all = assay_store_file_size(d->open.file);
        if (named != ASSAY_NO_ID) {
            assay_ckpt_name_behind(d->c, path, all, d->end[named]);
            d->end[named] = UINT64_MAX;
        }
        return true;
    }
    if (status == ASSAY_ENOMEM)
        d->c->status = status;
    else if (status == ASSAY_ENOTFOUND)
        name_file(d, file, ASSAY_PROBLEM_MISSING_SHARD, "it is missing; the tensors that lie in it are not evaluated");
    else
        name_file(d, file, ASSAY_PROBLEM_READ, err.text);
    return false;
}

typedef struct chunk {
    int64_t first[ASSAY_MAX_DIMS], size[ASSAY_MAX_DIMS];
    int dims;
} chunk;

/* Notes that the file under way names a chunk. 0; 1: an earlier file does; ASSAY_EFORMAT: so does this one, which
 * would be endless work for few bytes; ASSAY_ENOMEM. */
static int note_chunk(dcp *d, const assay_buf *key)
{
    const uint32_t known = assay_dict_count(d->added);
    const uint32_t id = assay_dict_add(d->added, (const char *)key->data, key->size);
    if (id == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    if (id < known)
        return d->adder[id] != d->of ? 1 : ASSAY_EFORMAT;
    ASSAY_HAVE(assay_vec_reserve(&d->adder, &d->adder_room, id + 1, sizeof *d->adder));
    d->adder[id] = d->of;
    return ASSAY_OK;
}

/* Adds one chunk of a tensor. 0; ASSAY_EFORMAT: the tensor cannot be evaluated, which a problem says; ASSAY_ENOMEM. */
static int add_chunk(dcp *d, const char *name, size_t length, uint32_t tensor, const chunk *k)
{
    const assay_pickle *p = &d->of->p; /* then, of the file that says where the chunk lies */
    assay_buf key = ASSAY_BUF(SIZE_MAX);
    put_chunk_key(&key, (const uint8_t *)name, length, k->first, k->dims);
    const bool kept = assay_buf_status(&key) == ASSAY_OK;
    const uint32_t id = kept ? assay_dict_find(d->chunks, (const char *)key.data, key.size) : ASSAY_NO_ID;
    const int again = kept ? note_chunk(d, &key) : ASSAY_ENOMEM;
    assay_buf_release(&key);
    if (again == ASSAY_EFORMAT)
        assay_problems_add(d->c->problems, ASSAY_PROBLEM_RECORD, d->c->step, d->of->path, -1,
                           "%s: %.*s has a piece twice; it is not evaluated", d->of->path, (int)length, name);
    if (again != ASSAY_OK)
        return again == 1 ? ASSAY_OK : again;
    const uint32_t storage = id == ASSAY_NO_ID ? ASSAY_PICKLE_NOTHING : d->storage[id].node;
    p = id == ASSAY_NO_ID ? p : &d->storage[id].said_by->p;
    const uint32_t path = assay_dcp_field(p, storage, "relative_path");
    const uint32_t transforms = assay_dcp_field(p, storage, "transform_descriptors");
    uint64_t offset = 0, size = 0;
    if (path == ASSAY_PICKLE_NOTHING || p->node[path].kind != ASSAY_PICKLE_TEXT ||
        !assay_dcp_number(p, assay_dcp_field(p, storage, "offset"), &offset) ||
        !assay_dcp_number(p, assay_dcp_field(p, storage, "length"), &size)) {
        assay_problems_add(d->c->problems, ASSAY_PROBLEM_RECORD, d->c->step, d->of->path, -1,
                           "%s: %.*s has a piece that lies nowhere", d->of->path, (int)length, name);
        return ASSAY_EFORMAT;
    }
    if (assay_walk_is_list(p, transforms) && p->node[transforms].first != ASSAY_PICKLE_NOTHING) {
        assay_problems_add(d->c->problems, ASSAY_PROBLEM_UNSUPPORTED, d->c->step, d->of->path, -1,
                           "%s: %.*s was compressed by its writer, which is not read: save it without", d->of->path,
                           (int)length, name);
        return ASSAY_EFORMAT;
    }
    const char *relative = (const char *)p->bytes + p->node[path].a;
    if (!turn_to(d, relative, (size_t)p->node[path].size))
        return d->c->status == ASSAY_OK ? ASSAY_EFORMAT : ASSAY_ENOMEM;
    if (assay_store_file_size(d->open.file) < offset || assay_store_file_size(d->open.file) - offset < size) {
        name_file(d, d->open.number, ASSAY_PROBLEM_SHORT,
                  "the file ends before its last piece; the tensors that are cut off are not evaluated");
        return ASSAY_EFORMAT;
    }
    d->open.base = offset;
    d->open.size = size;
    assay_ckpt_place place;
    assay_torch_range range = {0};
    assay_error what = {{0}};
    int status = assay_torch_single(&d->open, &place, &range, &what);
    if (status == ASSAY_OK &&
        (place.dims != k->dims || memcmp(place.shape, k->size, (size_t)k->dims * sizeof *k->size) != 0))
        status = assay_fail(&what, ASSAY_EFORMAT, "the tensor there has another shape than .metadata says");
    if (status == ASSAY_EFORMAT || status == ASSAY_EUNSUPPORTED || status == ASSAY_EIO) {
        assay_problems_add(d->c->problems, ASSAY_PROBLEM_RECORD, d->c->step, d->open.path, (int64_t)offset,
                           "%s: offset %llu: %.*s: %s", d->open.path, (unsigned long long)offset, (int)length, name,
                           what.text);
        return ASSAY_EFORMAT;
    }
    const assay_ckpt_stretch at = {d->open.number, range.offset, range.length};
    return status == ASSAY_OK ? assay_boxes_add(d->boxes, tensor, &place, k->first, &at) : status;
}

/* ---- tensors ---- */

/* A name that its own keys contradict is told. 0 or ASSAY_ENOMEM. */
static int check_path(const dcp *d, uint32_t key, assay_buf *joined)
{
    const assay_pickle *p = &d->of->p;
    const int agrees = assay_dcp_path_agrees(p, key, &d->paths, joined);
    if (agrees == 0)
        assay_problems_add(d->c->problems, ASSAY_PROBLEM_INDEX_MISMATCH, d->c->step, d->of->path, -1,
                           "%s: the tensor %.*s has keys in the program that make another name: %.*s", d->of->path,
                           (int)p->node[key].size, (const char *)p->bytes + p->node[key].a, (int)joined->size,
                           (const char *)joined->data);
    return agrees < 0 ? agrees : ASSAY_OK;
}

/* What is no tensor: bytes, or damage. */
static int add_other(const dcp *d, uint32_t key, uint32_t metadata, assay_buf *name)
{
    const assay_pickle *p = &d->of->p;
    if (assay_dcp_put_name(p, key, &d->paths, name) != ASSAY_OK)
        return ASSAY_ENOMEM;
    if (assay_dcp_is_class(p, metadata, "BytesStorageMetadata")) {
        assay_ckpt_note_bytes(d->c, (const char *)name->data, name->size);
        return ASSAY_OK;
    }
    assay_problems_add(d->c->problems, ASSAY_PROBLEM_RECORD, d->c->step, d->of->path, -1,
                       "%s: %.*s is neither a tensor nor bytes; it is not evaluated", d->of->path, (int)name->size,
                       (const char *)name->data);
    assay_contents_promise(d->c, ASSAY_CKPT_MODEL, (const char *)name->data, name->size);
    return d->c->status;
}

static int add_tensor(dcp *d, uint32_t key, uint32_t metadata, assay_buf *name)
{
    const assay_pickle *p = &d->of->p;
    int64_t shape[ASSAY_MAX_DIMS];
    if (p->node[key].kind != ASSAY_PICKLE_TEXT)
        return ASSAY_OK;
    if (!assay_dcp_is_class(p, metadata, "TensorStorageMetadata"))
        return add_other(d, key, metadata, name);
    const int dims = assay_walk_numbers(p, assay_dcp_field(p, metadata, "size"), shape);
    const uint32_t chunks = assay_dcp_field(p, metadata, "chunks");
    if (dims < 0 || !assay_walk_is_list(p, chunks)) {
        damaged(d, "the metadata of a tensor has no size or no chunks");
        return ASSAY_OK;
    }
    const uint32_t tensor =
        check_path(d, key, name) == ASSAY_OK && assay_dcp_put_name(p, key, &d->paths, name) == ASSAY_OK
            ? assay_boxes_tensor(d->boxes, (const char *)name->data, name->size)
            : ASSAY_NO_ID;
    if (tensor == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    int status = assay_boxes_set_shape(d->boxes, tensor, shape, dims);
    for (uint32_t i = p->node[chunks].first; i != ASSAY_PICKLE_NOTHING && status == ASSAY_OK; i = p->item[i].next) {
        chunk k;
        k.dims = assay_walk_numbers(p, assay_dcp_field(p, p->item[i].value, "offsets"), k.first);
        if (k.dims != dims || assay_walk_numbers(p, assay_dcp_field(p, p->item[i].value, "sizes"), k.size) != dims) {
            damaged(d, "the metadata of a tensor has a chunk without offsets and sizes");
            status = ASSAY_EFORMAT;
        } else {
            status = add_chunk(d, (const char *)p->bytes + p->node[key].a, (size_t)p->node[key].size, tensor, &k);
        }
    }
    if (status == ASSAY_EFORMAT)
        assay_boxes_give_up(d->boxes, tensor);
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}

/* A path that leads out of the directory makes all of .metadata suspect. */
static bool has_safe_paths(const dcp *d)
{
    for (uint32_t i = 0; i < assay_dict_count(d->named); i++) {
        size_t length = 0;
        const char *path = assay_dict_name(d->named, i, &length);
        if (!assay_path_is_inside(path, length))
            return false;
    }
    return true;
}

/* A place of a piece that no tensor has: one of the two lists is damaged. Told once, and only where nothing else was.
 */
static void name_stray_piece(const dcp *d, size_t problems)
{
    if (d->c->problems->total != problems)
        return;
    for (uint32_t i = 0; i < assay_dict_count(d->chunks); i++) {
        size_t length = 0;
        const char *key = assay_dict_name(d->chunks, i, &length);
        assay_cursor at = assay_cursor_over(key, length);
        if (assay_dict_find(d->added, key, length) != ASSAY_NO_ID)
            continue;
        const char *name = assay_get_text(&at, &length);
        assay_problems_add(d->c->problems, ASSAY_PROBLEM_INDEX_MISMATCH, d->c->step, d->storage[i].said_by->path, -1,
                           "%s: it says where a piece of %.*s lies, but not that there is such a tensor",
                           d->storage[i].said_by->path, (int)length, name);
        return;
    }
}

static void name_extra(const dcp *d)
{
    for (size_t i = 0; i < d->names->count; i++) {
        const char *name = d->names->name[i];
        const size_t length = strlen(name), suffix = sizeof ".distcp" - 1;
        if (length > suffix && strcmp(name + length - suffix, ".distcp") == 0 &&
            assay_dict_find(d->named, name, length) == ASSAY_NO_ID) {
            char path[ASSAY_PATH_ROOM];
            snprintf(path, sizeof path, "%s%s%s", d->directory, *d->directory ? "/" : "", name);
            assay_problems_add(d->c->problems, ASSAY_PROBLEM_EXTRA_SHARD, d->c->step, path, -1,
                               "%s is not read: .metadata does not name it", path);
        }
    }
}

/* The dictionaries of one file; false when it is no metadata. */
static bool find_dictionaries(const assay_pickle *p, uint32_t *tensors, uint32_t *data)
{
    *tensors = assay_dcp_field(p, p->root, "state_dict_metadata");
    *data = assay_dcp_field(p, p->root, "storage_data");
    return assay_dcp_is_class(p, p->root, "Metadata") && assay_walk_is_dict(p, *tensors) &&
           assay_walk_is_dict(p, *data);
}

static int add_tensors(dcp *d)
{
    const assay_pickle *p = &d->of->p;
    uint32_t tensors = 0, data = 0;
    int status = assay_dcp_paths_read(p, assay_dcp_field(p, p->root, "planner_data"), &d->paths);
    assay_buf name;
    find_dictionaries(p, &tensors, &data);
    assay_buf_init(&name, SIZE_MAX);
    for (uint32_t i = p->node[tensors].first; i != ASSAY_PICKLE_NOTHING && status == ASSAY_OK; i = p->item[i].next)
        status = add_tensor(d, p->item[i].key, p->item[i].value, &name);
    assay_buf_release(&name);
    assay_dcp_paths_release(&d->paths);
    return status;
}

/* Reads one file of metadata; 1: it cannot be used, which a problem says. */
static int read_metadata(dcp *d, const char *name)
{
    char path[ASSAY_PATH_ROOM];
    assay_error err = {{0}};
    uint32_t tensors = 0, data = 0;
    metadata_file *m = &d->file[d->files];
    snprintf(path, sizeof path, "%s%s%s", d->directory, *d->directory ? "/" : "", name);
    assay_buf_init(&m->bytes, METADATA_MOST);
    m->path = assay_copy_text(path);
    ASSAY_HAVE(m->path);
    d->of = m;
    d->files++;
    int status = assay_store_read(d->c->store, path, METADATA_MOST, &m->bytes, &err);
    if (status != ASSAY_OK && status != ASSAY_ENOMEM)
        assay_problems_add(d->c->problems, ASSAY_PROBLEM_READ, d->c->step, path, -1, "%s", err.text);
    if (status == ASSAY_OK) {
        status = assay_pickle_read(m->bytes.data, m->bytes.size, &m->p, &err);
        if (status == ASSAY_EFORMAT)
            assay_problems_add(d->c->problems, ASSAY_PROBLEM_PICKLE, d->c->step, path, -1, "%s: %s", path, err.text);
    }
    if (status == ASSAY_OK)
        assay_ckpt_name_behind(d->c, path, m->bytes.size, m->p.end);
    if (status == ASSAY_OK && !find_dictionaries(&m->p, &tensors, &data))
        status = damaged(d, "it is not the metadata of a distributed checkpoint");
    ASSAY_THEN(status, note_storages(d, data));
    if (status == ASSAY_OK && !has_safe_paths(d))
        status = damaged(d, "it names a file outside of the checkpoint's directory");
    return status == ASSAY_OK || status == ASSAY_ENOMEM ? status : 1;
}

/* All of it: of a checkpoint that was saved together .metadata, else those of the ranks. */
static int read_all_metadata(dcp *d)
{
    bool together = false;
    for (size_t i = 0; i < d->names->count; i++)
        together = together || strcmp(d->names->name[i], ".metadata") == 0;
    int status = (d->file = assay_alloc_zeroed(d->names->count, sizeof *d->file)) ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; i < d->names->count && status == ASSAY_OK; i++)
        if (together ? strcmp(d->names->name[i], ".metadata") == 0 : assay_ckpt_is_dcp_metadata(d->names->name[i]))
            status = read_metadata(d, d->names->name[i]);
    return status;
}

int assay_ckpt_add_dcp(assay_contents *c, const char *directory, const assay_names *names)
{
    dcp d = {.c = c, .directory = directory, .names = names};
    d.chunks = assay_dict_new();
    d.added = assay_dict_new();
    d.named = assay_dict_new();
    d.boxes = assay_boxes_new();
    const uint64_t problems = c->problems->total;
    int status = d.chunks && d.added && d.named && d.boxes ? read_all_metadata(&d) : ASSAY_ENOMEM;
    for (size_t i = 0; i < d.files && status == ASSAY_OK; i++) {
        d.of = &d.file[i];
        status = add_tensors(&d);
    }
    if (status == ASSAY_OK)
        name_stray_piece(&d, problems);
    if (status == ASSAY_OK && d.files > 0)
        status = assay_boxes_finish(d.boxes, c, d.file[0].path);
    if (status == ASSAY_OK)
        name_extra(&d);
    assay_store_close_file(d.open.file);
    assay_boxes_free(d.boxes);
    assay_dict_free(d.chunks);
    assay_dict_free(d.added);
    assay_dict_free(d.named);
    for (size_t i = 0; i < d.files; i++) {
        assay_pickle_release(&d.file[i].p);
        assay_buf_release(&d.file[i].bytes);
        free(d.file[i].path);
    }
    free(d.file);
    free(d.storage);
    free(d.adder);
    free(d.end);
    free(d.state);
    return status == ASSAY_ENOMEM || c->status == ASSAY_ENOMEM ? ASSAY_ENOMEM : ASSAY_OK;
}
