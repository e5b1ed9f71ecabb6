/* read.c - reads the files of a checkpoint:
 *
 * 1. A worker with a directory or a file of its own has only that; else all files of the directory count.
 * 2. Where several kinds of files offer the model, the first kind counts, in the order of assay_ckpt_kind.
 * 3. An index of shards says which files belong to the set, and which tensors they must have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/heap.h"
#include "container/tar.h"
#include "format/checkpoint/boxes.h"
#include "format/checkpoint/checkpoint.h"
#include "format/checkpoint/dcp.h"
#include "format/checkpoint/deepspeed.h"
#include "format/checkpoint/files.h"
#include "format/checkpoint/legacy.h"
#include "format/checkpoint/nested.h"
#include "format/checkpoint/needed.h"
#include "format/checkpoint/shard_map.h"

enum { INDEX_MOST = 1 << 30, MAGIC = 512, STAND_IN = 64 };

/* A directory while it is read. */
typedef struct reading {
    assay_contents *c;
    const char *directory, *worker;
    assay_names names; /* natural order */
    assay_shard_map map;
    bool has_map;
    bool *sound; /* by file of the map: it was read, and lacks nothing */
    bool hidden; /* the directory of a file of the model cannot be used: nobody knows what it had */
} reading;

static int path_of(const reading *r, const char *name, char out[ASSAY_PATH_ROOM])
{
    const char *between = *r->directory ? "/" : "";
    return snprintf(out, ASSAY_PATH_ROOM, "%s%s%s", r->directory, between, name) < ASSAY_PATH_ROOM ? ASSAY_OK
                                                                                                   : ASSAY_EFORMAT;
}

/* ---- one file ---- */

/* Is it something that lies where a file should be? A problem says what. */
static bool is_stand_in(assay_ckpt_file *f)
{
    static const struct {
        const char *begin, *what;
    } known[] = {
        {"version https://git-lfs", "a pointer of Git LFS, not the file: fetch it by `git lfs pull`"},
        {"<!DOCTYPE", "a page of HTML, not the file: its download was answered by a page"},
        {"<!doctype", "a page of HTML, not the file: its download was answered by a page"},
        {"<html", "a page of HTML, not the file: its download was answered by a page"},
        {"<?xml", "a page of XML, not the file: its download was answered by an error"},
    };
    char head[STAND_IN] = {0};
    assay_error err = {{0}};
    const size_t size = f->size < STAND_IN - 1 ? (size_t)f->size : STAND_IN - 1;
    if (size == 0) {
        assay_ckpt_problem(f, ASSAY_PROBLEM_HEADER, 0, "the file is empty: nothing was written to it");
        return true;
    }
    if (assay_ckpt_read(f, 0, head, size, &err) != ASSAY_OK)
        return false; /* whoever reads it in full says why */
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(head, known[i].begin, strlen(known[i].begin)) == 0) {
            assay_ckpt_problem(f, ASSAY_PROBLEM_HEADER, 0, "%s", known[i].what);
            return true;
        }
    return false;
}

/* A zip file: of .npy files, of torch, or of files of torch. */
static int add_zip(assay_ckpt_file *f, assay_ckpt_kind kind)
{
    assay_error err = {{0}};
    int status = assay_zip_open(assay_ckpt_read, f, f->size, f->path, &f->zip, &err);
    if (status == ASSAY_EFORMAT || status == ASSAY_EUNSUPPORTED || status == ASSAY_EIO) {
        assay_problems_add(f->to->problems,
                           status == ASSAY_EFORMAT ? ASSAY_PROBLEM_HEADER
                           : status == ASSAY_EIO   ? ASSAY_PROBLEM_READ
                                                   : ASSAY_PROBLEM_UNSUPPORTED,
                           f->to->step, f->path, -1, "%s", err.text);
        return ASSAY_OK;
    }
    if (status == ASSAY_OK)
        assay_ckpt_name_behind(f->to, f->path, f->size, f->size - f->zip.behind);
    ASSAY_THEN(status, kind == ASSAY_CKPT_NPZ ? assay_ckpt_add_npz(f)
                       : assay_ckpt_nests(f)  ? assay_ckpt_add_nested(f)
                                              : assay_ckpt_add_torch(f));
    assay_zip_release(&f->zip);
    return status;
}

/* What a file is by its first bytes, and by its name where these leave a choice. */
static assay_ckpt_kind kind_by_content(const uint8_t *head, size_t size, uint64_t file, assay_ckpt_kind named)
{
    uint64_t length = 0;
    for (int i = 8; i-- > 0;)
        length = length << 8 | head[i];
    if (size >= 6 && memcmp(head, "\x93NUMPY", 6) == 0)
        return ASSAY_CKPT_NPY_FILE;
    if (size >= 4 && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0))
        return named == ASSAY_CKPT_NPZ ? ASSAY_CKPT_NPZ : ASSAY_CKPT_TORCH;
    if (named == ASSAY_CKPT_TORCH && size > 8 && head[8] == '{' && length >= 2 && length < file)
        return ASSAY_CKPT_SAFETENSORS;
    return named;
}

/* Why a file whose beginning is of no program that is known can be none that was written so; NULL: nothing says that. */
static const char *wrong_in(assay_ckpt_file *f, const uint8_t *head, size_t size)
{
    enum { LEAST = 16, END = 22 };
    static const uint8_t zeros[LEAST];
    uint8_t end[4] = {0};
    assay_error err = {{0}};
    if (size < LEAST)
        return "it is cut short within its first bytes";
    if (memcmp(head, zeros, LEAST) == 0)
        return "it begins with zeros: its beginning was not written";
    if (head[0] == '{' && strchr("\" \r\n\t}", head[1]) && head[1])
        return "it is JSON, where a file of tensors should be";
    if (f->size > END && assay_ckpt_read(f, f->size - END, end, sizeof end, &err) == ASSAY_OK &&
        memcmp(end, "PK\5\6", sizeof end) == 0)
        return "it ends as a zip file and does not begin as one: bytes are missing in front, or others are there";
    return NULL;
}

static int add_by_content(assay_ckpt_file *f, assay_ckpt_kind named)
{
    uint8_t head[MAGIC] = {0};
    assay_error err = {{0}};
    const size_t size = f->size < MAGIC ? (size_t)f->size : MAGIC;
    const char *wrong = NULL;
    if (is_stand_in(f))
        return ASSAY_OK;
    int status = assay_ckpt_read(f, 0, head, size, &err);
    const assay_ckpt_kind kind = status == ASSAY_OK ? kind_by_content(head, size, f->size, named) : named;
    if (kind == ASSAY_CKPT_SAFETENSORS)
        return assay_ckpt_add_safetensors(f);
    if (kind == ASSAY_CKPT_NPY_FILE)
        return assay_ckpt_add_npy(f);
    if (status != ASSAY_OK || memcmp(head, "PK", 2) == 0)
        return add_zip(f, kind);
    if (kind == ASSAY_CKPT_NPZ)
        assay_ckpt_problem(f, ASSAY_PROBLEM_HEADER, 0, "it is not a zip file, and every .npz is one");
    else if (assay_is_tar(head, size))
        status = assay_ckpt_add_tar(f);
    else if ((wrong = wrong_in(f, head, size)))
        assay_ckpt_problem(f, ASSAY_PROBLEM_HEADER, 0, "%s", wrong);
    else if (!assay_ckpt_is_legacy(head, size) || (status = assay_ckpt_add_legacy(f)) == 1)
        assay_ckpt_problem(
            f, ASSAY_PROBLEM_UNSUPPORTED, 0,
            "it is not a zip file: torch before 1.6 or another program wrote it; load it and save it again");
    assay_zip_release(&f->zip);
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}

static int open_file(assay_ckpt_file f, const char *name)
{
    assay_contents *c = f.to;
    const char *path = f.path;
    assay_error err = {{0}};
    f.number = assay_dict_add(c->files, path, strlen(path));
    if (f.number == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    int status = assay_store_open_file(c->store, path, &f.file, &err);
    if (status == ASSAY_ENOMEM)
        return status;
    if (status != ASSAY_OK) {
        assay_problems_add(c->problems, ASSAY_PROBLEM_READ, c->step, path, -1, "%s", err.text);
        return ASSAY_OK;
    }
    f.size = assay_store_file_size(f.file);
    const assay_ckpt_kind kind = assay_ckpt_kind_of(name);
    status = add_by_content(&f, kind == ASSAY_CKPT_KINDS ? ASSAY_CKPT_TORCH : kind);
    assay_store_close_file(f.file);
    return status;
}

static int read_file(assay_contents *c, const char *path, const char *name, assay_ckpt_role role)
{
    return open_file((assay_ckpt_file){.to = c, .path = path, .role = role}, name);
}

int assay_ckpt_read_torch(assay_contents *c, const char *path, const char *name, assay_torch_take *take, void *context)
{
    return open_file(
        (assay_ckpt_file){.to = c, .path = path, .role = ASSAY_CKPT_MODEL, .take = take, .context = context}, name);
}

/* ---- the map of shards ---- */

static int read_map(reading *r, const char *name)
{
    char path[ASSAY_PATH_ROOM];
    assay_buf text;
    assay_error err = {{0}};
    uint64_t at = 0, length = 0;
    if (path_of(r, name, path) != ASSAY_OK)
        return ASSAY_OK;
    assay_buf_init(&text, INDEX_MOST);
    if (assay_store_size_of(r->c->store, path, &length, NULL) == 1 && length < INDEX_MOST) {
        text.data = assay_heap_alloc_large((size_t)length + 1);
        text.room = text.data ? (size_t)length + 1 : 0;
    }
    int status = assay_store_read(r->c->store, path, INDEX_MOST, &text, &err);
    if (status != ASSAY_OK && status != ASSAY_ENOMEM)
        assay_problems_add(r->c->problems, ASSAY_PROBLEM_READ, r->c->step, path, -1, "%s", err.text);
    if (status == ASSAY_OK) {
        status = assay_shard_map_read((const char *)text.data, text.size, &r->map, &at, &err);
        r->has_map = status == ASSAY_OK;
        if (status == ASSAY_EFORMAT)
            assay_problems_add(r->c->problems, ASSAY_PROBLEM_HEADER, r->c->step, path, (int64_t)at,
                               "%s: offset %llu: %s", path, (unsigned long long)at, err.text);
    }
    assay_buf_release(&text);
    if (r->has_map) {
        r->sound = assay_alloc_zeroed(assay_dict_count(r->map.files), sizeof *r->sound);
        status = r->sound ? ASSAY_OK : ASSAY_ENOMEM;
    }
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}

static uint32_t in_map(const reading *r, const char *name)
{
    return r->has_map ? assay_dict_find(r->map.files, name, strlen(name)) : ASSAY_NO_ID;
}

/* Names the files that the map has and the directory has not. 0 or ASSAY_ENOMEM. */
static int name_missing(const reading *r)
{
    const uint32_t files = assay_dict_count(r->map.files);
    bool *found = assay_alloc_zeroed(files, sizeof *found);
    uint32_t *tensors = assay_alloc_zeroed(files, sizeof *tensors); /* that the map gives to each */
    const int status = found && tensors ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t k = 0; status == ASSAY_OK && k < r->names.count; k++) {
        const uint32_t id = in_map(r, r->names.name[k]);
        if (id != ASSAY_NO_ID)
            found[id] = true;
    }
    for (uint32_t t = 0; status == ASSAY_OK && t < assay_dict_count(r->map.tensors); t++)
        tensors[r->map.file[t]]++;
    for (uint32_t i = 0; status == ASSAY_OK && i < files; i++) {
        char path[ASSAY_PATH_ROOM];
        if (!found[i] && path_of(r, assay_dict_name(r->map.files, i, NULL), path) == ASSAY_OK)
            assay_problems_add(r->c->problems, ASSAY_PROBLEM_MISSING_SHARD, r->c->step, path, -1,
                               "%s is missing: the index says that it has %u tensors, which are not evaluated", path,
                               tensors[i]);
    }
    free(found);
    free(tensors);
    return status;
}

/* ---- a directory ---- */

static int compare_names(const void *a, const void *b)
{
    return assay_worker_compare(*(char *const *)a, *(char *const *)b);
}

/* In the root of a series its other checkpoints lie beside this one. */
static bool is_another_step(const reading *r, const char *name)
{
    int64_t step = 0;
    return *r->directory == '\0' && assay_ckpt_step(r->c->options, name, &step);
}

/* The kind of a file as far as it is read here: .npy files in directories are a format of their own. */
static assay_ckpt_kind kind_in(const reading *r, const char *name)
{
    const assay_ckpt_kind kind = assay_ckpt_kind_of(name);
    if (kind == ASSAY_CKPT_KINDS && assay_store_is_file(r->c->store))
        return ASSAY_CKPT_TORCH; /* under a name that says nothing: its content does */
    return is_another_step(r, name) || (kind == ASSAY_CKPT_NPY_FILE && *r->directory) ? ASSAY_CKPT_KINDS : kind;
}

/* The kind of file that offers the model. */
static assay_ckpt_kind best_kind(const reading *r)
{
    assay_ckpt_kind best = ASSAY_CKPT_KINDS;
    for (size_t i = 0; i < r->names.count; i++) {
        const assay_ckpt_kind kind = kind_in(r, r->names.name[i]);
        if (kind < best && assay_ckpt_role_of(r->names.name[i]) == ASSAY_CKPT_MODEL &&
            !assay_ckpt_is_unfinished(r->names.name[i]))
            best = kind;
    }
    return best;
}

static void remark(const reading *r, int kind, const char *path, const char *why)
{
    assay_problems_add(r->c->problems, kind, r->c->step, path, -1, "%s is not read: %s", path, why);
}

/* Pipes, devices and links that lead nowhere are read as files, which says what is wrong with them. */
static bool is_directory(const reading *r, const char *path)
{
    assay_names names = {0};
    const bool is = assay_store_exists(r->c->store, path, NULL) != 1 &&
                    assay_store_list(r->c->store, path, &names, NULL) == ASSAY_OK;
    assay_names_release(&names);
    return is;
}

static int read_member(reading *r, const char *name, assay_ckpt_kind best)
{
    char path[ASSAY_PATH_ROOM];
    const assay_ckpt_kind kind = kind_in(r, name);
    if (assay_ckpt_is_misnamed(&r->names, name) && path_of(r, name, path) == ASSAY_OK)
        remark(r, ASSAY_PROBLEM_NAME, path, "its name is that of a file of tensors, but for a letter or its end");
    if (kind == ASSAY_CKPT_KINDS || assay_ckpt_is_unfinished(name) || path_of(r, name, path) != ASSAY_OK)
        return ASSAY_OK;
    if (is_directory(r, path)) { /* some trainers call directories of ranks so, but not with these names */
        if (kind != ASSAY_CKPT_TORCH || in_map(r, name) != ASSAY_NO_ID)
            assay_problems_add(r->c->problems, ASSAY_PROBLEM_READ, r->c->step, path, -1,
                               "%s: a directory, where a file should be; what it had is missing from this analysis",
                               path);
        return ASSAY_OK;
    }
    const bool model = assay_ckpt_role_of(name) == ASSAY_CKPT_MODEL;
    if (model && kind > best) {
        remark(r, ASSAY_PROBLEM_SET_ASIDE, path, "another file beside it has the model");
        return ASSAY_OK;
    }
    const uint32_t mapped = in_map(r, name);
    if (model && r->has_map && mapped == ASSAY_NO_ID && assay_ckpt_is_shard(name)) {
        remark(r, ASSAY_PROBLEM_EXTRA_SHARD, path, "the index of the set does not name it");
        return ASSAY_OK;
    }
    const uint64_t losses = r->c->problems->losses;
    const size_t kept = r->c->problems->kept;
    int status = read_file(r->c, path, name, assay_ckpt_role_of(name));
    for (size_t i = kept; i < r->c->problems->kept; i++)
        r->hidden = r->hidden || (model && (r->c->problems->list[i].kind == ASSAY_PROBLEM_HEADER ||
                                            r->c->problems->list[i].kind == ASSAY_PROBLEM_READ));
    if (mapped != ASSAY_NO_ID)
        r->sound[mapped] = r->c->problems->losses == losses;
    return status;
}

static void end_reading(reading *r)
{
    assay_names_release(&r->names);
    assay_shard_map_release(&r->map);
    free(r->sound);
}

static bool has_name(const reading *r, const char *name)
{
    for (size_t i = 0; i < r->names.count; i++)
        if (strcmp(r->names.name[i], name) == 0)
            return true;
    return false;
}

static bool is_dcp(const reading *r)
{
    bool is = false;
    for (size_t i = 0; i < r->names.count && !is; i++)
        is = assay_ckpt_is_dcp_metadata(r->names.name[i]);
    return is;
}

/* What Megatron writes beside the distributed checkpoint: it is no tensor of the model. */
static const char BESIDE_DCP[] = "common.pt";

/* Names files of tensors of the model in a checkpoint whose layout has none of such a name. */
static void name_strangers(const reading *r)
{
    for (size_t i = 0; i < r->names.count; i++) {
        const char *name = r->names.name[i];
        char path[ASSAY_PATH_ROOM];
        if (kind_in(r, name) != ASSAY_CKPT_KINDS && assay_ckpt_role_of(name) == ASSAY_CKPT_MODEL &&
            assay_deepspeed_name_of(name).kind == ASSAY_DEEPSPEED_NONE && strcmp(name, BESIDE_DCP) != 0 &&
            !assay_ckpt_is_unfinished(name) && path_of(r, name, path) == ASSAY_OK &&
            assay_store_exists(r->c->store, path, NULL) == 1)
            remark(r, ASSAY_PROBLEM_NAME, path, "no file of such a checkpoint is called so");
    }
}

static int read_dcp(reading *r)
{
    char path[ASSAY_PATH_ROOM];
    int status = assay_ckpt_add_dcp(r->c, r->directory, &r->names);
    if (status == ASSAY_OK && has_name(r, BESIDE_DCP) && path_of(r, BESIDE_DCP, path) == ASSAY_OK)
        status = read_file(r->c, path, BESIDE_DCP, ASSAY_CKPT_STATE);
    if (status == ASSAY_OK)
        name_strangers(r);
    return status;
}

/* Notes the files whose tensors the index names, and makes room for these. 0 or ASSAY_ENOMEM. */
static int note_mapped(const reading *r)
{
    char path[ASSAY_PATH_ROOM];
    for (uint32_t i = 0; r->has_map && i < assay_dict_count(r->map.files); i++)
        if (path_of(r, assay_dict_name(r->map.files, i, NULL), path) == ASSAY_OK &&
            assay_dict_add(r->c->mapped, path, strlen(path)) == ASSAY_NO_ID)
            return ASSAY_ENOMEM;
    const uint32_t tensors = r->has_map ? assay_dict_count(r->map.tensors) : 0;
    int status = assay_contents_reserve(r->c, tensors);
    return status == ASSAY_OK && tensors > 0
               ? assay_dict_reserve(r->c->names, tensors, assay_dict_bytes(r->map.tensors))
               : status;
}

/* Is it the root, and are several of its files models by themselves? */
static bool has_several_models(const reading *r)
{
    bool *is_model = *r->directory ? NULL : assay_alloc_zeroed(r->names.count + 1, sizeof *is_model);
    const bool several = is_model && assay_checkpoint_models(&r->names, is_model) > 1;
    free(is_model);
    return several;
}

/* Files of the directory itself. */
static int read_members(reading *r)
{
    r->c->several = has_several_models(r);
    const assay_ckpt_kind best = best_kind(r);
    int status = ASSAY_OK;
    for (size_t i = 0; i < r->names.count && status == ASSAY_OK && !r->has_map; i++)
        if (assay_ckpt_is_shard_map(r->names.name[i]) &&
            (best != ASSAY_CKPT_SAFETENSORS || strstr(r->names.name[i], "safetensors")))
            status = read_map(r, r->names.name[i]);
    ASSAY_THEN(status, note_mapped(r));
    for (size_t i = 0; i < r->names.count && status == ASSAY_OK; i++)
        status = read_member(r, r->names.name[i], best);
    if (status == ASSAY_OK && !r->has_map)
        status = assay_ckpt_name_missing(r->c, r->directory, &r->names, best);
    if (status == ASSAY_OK && r->c->boxes && r->hidden)
        assay_boxes_give_up_all(
            r->c->boxes); /* they end where their last piece does, which may be the one that is lost */
    if (status == ASSAY_OK && r->c->boxes)
        return assay_boxes_finish(r->c->boxes, r->c, r->directory);
    if (status == ASSAY_OK && r->has_map) {
        status = name_missing(r);
        ASSAY_THEN(status, assay_shard_map_compare(&r->map, r->sound, r->directory, r->c));
    }
    return status;
}

static bool is_deepspeed(const reading *r)
{
    bool is = false;
    for (size_t i = 0; i < r->names.count && !is; i++)
        is = assay_deepspeed_is_mark(r->names.name[i]);
    return is;
}

/* Is it the first of several tensor-parallel ranks that read one directory, or the only one? What is wrong with the
 * directory is said once. */
static bool is_first(const reading *r)
{
    const size_t word = sizeof ASSAY_DEEPSPEED_WORKER - 1;
    assay_deepspeed_name name = {.kind = ASSAY_DEEPSPEED_NONE};
    for (size_t i = 0; i < r->names.count && name.kind == ASSAY_DEEPSPEED_NONE; i++)
        name = assay_deepspeed_name_of(r->names.name[i]);
    return name.kind == ASSAY_DEEPSPEED_NONE || strncmp(r->worker, ASSAY_DEEPSPEED_WORKER, word) != 0 ||
           (strlen(r->worker + word) == name.model_length &&
            memcmp(r->worker + word, name.model, name.model_length) == 0);
}

/* A worker's name ends in the digits of its tensor-parallel rank, where there are several. */
static int read_deepspeed(const reading *r, bool model_aside)
{
    assay_deepspeed_name first = {.kind = ASSAY_DEEPSPEED_NONE};
    bool several = false;
    for (size_t i = 0; i < r->names.count && !several; i++) {
        const assay_deepspeed_name n = assay_deepspeed_name_of(r->names.name[i]);
        several = n.kind != ASSAY_DEEPSPEED_NONE && first.kind != ASSAY_DEEPSPEED_NONE &&
                  (n.model_length != first.model_length || memcmp(n.model, first.model, n.model_length) != 0);
        first = n.kind != ASSAY_DEEPSPEED_NONE ? n : first;
    }
    if (several && *r->worker == '\0') {
        assay_problems_add(r->c->problems, ASSAY_PROBLEM_UNSUPPORTED, r->c->step, r->directory, -1,
                           "%s: ranks below a subdirectory are not read: give the directory itself", r->directory);
        return ASSAY_OK;
    }
    if (model_aside)
        remark(r, ASSAY_PROBLEM_SET_ASIDE, r->directory, "the model in it, for the directory above has one");
    if (is_first(r))
        name_strangers(r);
    const char *model = several ? r->worker + sizeof ASSAY_DEEPSPEED_WORKER - 1 : "";
    return assay_ckpt_add_deepspeed(r->c, r->directory, &r->names, model, model_aside);
}

/* Directories below, one level: "weights", or those of Accelerate. A second model among them is set aside. */
static int read_below(reading *r)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < r->names.count && status == ASSAY_OK; i++) {
        char path[ASSAY_PATH_ROOM];
        const char *name = r->names.name[i];
        if (assay_ckpt_is_unfinished(name) || assay_ckpt_stem(name) < strlen(name) || is_another_step(r, name) ||
            path_of(r, name, path) != ASSAY_OK || assay_store_exists(r->c->store, path, NULL) != 0)
            continue;
        reading below = {.c = r->c, .directory = path, .worker = ""};
        assay_error err = {""};
        const int listed = assay_store_list(r->c->store, path, &below.names, &err);
        if (listed != ASSAY_OK && listed != ASSAY_ENOTFOUND)
            assay_problems_add(r->c->problems, ASSAY_PROBLEM_READ, r->c->step, path, -1,
                               "%s; what lies in it is missing from this analysis", err.text);
        if (listed == ASSAY_OK) {
            if (below.names.count > 1)
                qsort(below.names.name, below.names.count, sizeof *below.names.name, compare_names);
            if (is_deepspeed(&below))
                status = read_deepspeed(&below, assay_contents_has_model(r->c));
            else if (best_kind(&below) != ASSAY_CKPT_KINDS && assay_contents_has_model(r->c))
                remark(r, ASSAY_PROBLEM_SET_ASIDE, path, "the directory above it has the model");
            else if (is_dcp(&below))
                status = read_dcp(&below);
            else
                status = read_members(&below);
        }
        end_reading(&below);
    }
    return status;
}

static int read_all(reading *r)
{
    int status = ASSAY_OK;
    if (is_dcp(r)) {
        status = read_dcp(r);
    } else if (is_deepspeed(r)) {
        status = read_deepspeed(r, false);
    } else {
        status = read_members(r);
        ASSAY_THEN(status, read_below(r));
    }
    if (status == ASSAY_OK && is_first(r))
        assay_ckpt_name_needed(r->c, r->directory, &r->names);
    return status == ASSAY_OK ? r->c->status : status;
}

static int read_directory(assay_contents *c, const char *directory, const char *worker)
{
    reading r = {.c = c, .directory = directory, .worker = worker};
    assay_error err = {{0}};
    int status = assay_store_list(c->store, directory, &r.names, &err);
    if (status == ASSAY_OK) {
        qsort(r.names.name, r.names.count, sizeof *r.names.name, compare_names);
        status = read_all(&r);
    } else if (status != ASSAY_ENOMEM) {
        assay_problems_add(c->problems, ASSAY_PROBLEM_READ, c->step, directory, -1,
                           "%s; what lies in it is missing from this analysis", err.text);
    }
    end_reading(&r);
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}

/* The file of a rank, by its stem; false when the directory has none. */
static bool find_rank_file(assay_contents *c, const char *directory, const char *worker, char path[ASSAY_PATH_ROOM],
                           const char **name)
{
    reading r = {.c = c, .directory = directory};
    bool found = false;
    if (assay_store_list(c->store, directory, &r.names, NULL) != ASSAY_OK)
        return false;
    for (size_t i = 0; i < r.names.count && !found; i++) {
        const char *file = r.names.name[i];
        found = strncmp(file, worker, strlen(worker)) == 0 && assay_ckpt_stem(file) == strlen(worker) &&
                assay_ckpt_is_rank_file(file) && path_of(&r, file, path) == ASSAY_OK;
    }
    end_reading(&r);
    *name = found && strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    return found;
}

/* The file of a checkpoint, and what lies beside it in files of the same step. */
static int read_with_beside(assay_contents *c, const char *path, const char *name)
{
    int64_t step = 0;
    const char *beside = c->places ? assay_checkpoint_place(c->places, c->place, &step) : NULL;
    int status = read_file(c, path, name, assay_ckpt_role_of(name));
    while (beside && status == ASSAY_OK && (beside = assay_checkpoint_beside(c->places, c->place, beside)))
        status = read_file(c, beside, beside, assay_ckpt_role_of(beside));
    return status;
}

static int read_step(assay_contents *c, const char *path, const char *worker)
{
    char below[ASSAY_PATH_ROOM];
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (assay_ckpt_kind_of(name) != ASSAY_CKPT_KINDS && assay_store_exists(c->store, path, NULL) == 1)
        return read_with_beside(c, path, name);
    const assay_names *own = assay_deepspeed_own(c->store, path, worker);
    if (own) /* what is wrong with the directory the first rank names */
        return assay_ckpt_add_deepspeed(c, path, own, worker + sizeof ASSAY_DEEPSPEED_WORKER - 1, false);
    if (assay_ckpt_is_rank_directory(worker)) {
        assay_names inside = {0}, around = {0};
        assay_error why = {""};
        const bool fits = snprintf(below, sizeof below, "%s%s%s", path, *path ? "/" : "", worker) < (int)sizeof below;
        const int listed = fits ? assay_store_list(c->store, below, &inside, &why) : ASSAY_EFORMAT;
        assay_names_release(&inside);
        if (listed == ASSAY_OK)
            return read_directory(c, below, "");
        const bool there =
            assay_store_list(c->store, path, &around, NULL) == ASSAY_OK && assay_names_have(&around, worker);
        assay_names_release(&around);
        if (there && listed != ASSAY_ENOMEM) { /* else it would get what other ranks have */
            assay_problems_add(c->problems, ASSAY_PROBLEM_READ, c->step, below, -1,
                               "%s; what lies in it is missing from this analysis", why.text);
            return c->problems->status;
        }
    }
    if (find_rank_file(c, path, worker, below, &name))
        return read_file(c, below, name, assay_ckpt_role_of(name));
    return read_directory(c, path, worker);
}

int assay_ckpt_read_step(assay_contents *c, const char *path, const char *worker)
{
    const int status = read_step(c, path, worker);
    assay_problems_take_notes(c->problems, c->store, c->step, "what lies there may be missing from this analysis");
    return status;
}
