/* index.c - the rows of a checkpoint: its files are read by their headers, and each tensor gets a row and a note that
 * says how its elements lie (contents.h). */
#include <assay/rule.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/heap.h"
#include "base/search.h"
#include "base/vec.h"
#include "format/checkpoint/checkpoint.h"
#include "format/checkpoint/contents.h"
#include "format/checkpoint/files.h"
#include "format/checkpoint/names.h"
#include "format/checkpoint/said_step.h"
#include "trial/read_budget.h"
#include "trial/shard.h"

/* ---- work ---- */

/* Leaves tensors out that take far more work than the checkpoint has bytes (trial/read_budget.h): views that repeat
 * elements, many views of one storage that is deflated, many pieces at one place. */

typedef struct range { /* of a file */
    uint32_t file;
    uint64_t from, to;
} range;

typedef struct ranges {
    range *list;
    size_t count, room;
} ranges;

/* A range right behind the last one makes that longer: most files have their tensors so. */
static int add_range(ranges *r, uint32_t file, uint64_t offset, uint64_t length)
{
    range *last = r->count > 0 ? &r->list[r->count - 1] : NULL;
    if (last && last->file == file && last->to == offset) {
        last->to = offset + length;
        return ASSAY_OK;
    }
    ASSAY_HAVE(assay_vec_reserve(&r->list, &r->room, r->count + 1, sizeof *r->list));
    r->list[r->count++] = (range){file, offset, offset + length};
    return ASSAY_OK;
}

ASSAY_ORDER_BY(compare_ranges, range, file, from)

/* Bytes that the ranges lie in, each counted once. */
static uint64_t covered(ranges *r)
{
    uint64_t bytes = 0, end = 0;
    bool sorted = true; /* most files list their tensors in order */
    for (size_t i = 1; i < r->count && sorted; i++)
        sorted = compare_ranges(&r->list[i - 1], &r->list[i]) <= 0;
    if (!sorted)
        qsort(r->list, r->count, sizeof *r->list, compare_ranges);
    for (size_t i = 0; i < r->count; i++) {
        const range *at = &r->list[i];
        if (i == 0 || at->file != at[-1].file)
            end = 0;
        if (at->to > end)
            bytes += at->to - (at->from > end ? at->from : end);
        end = at->to > end ? at->to : end;
    }
    return bytes;
}

/* Elements times their size, as far as 64 bits count. */
static uint64_t bytes_of(const int64_t *size, int dims, int dtype)
{
    uint64_t bytes = assay_dtype_size(dtype);
    for (int i = 0; i < dims; i++)
        if (__builtin_mul_overflow(bytes, (uint64_t)size[i], &bytes))
            return UINT64_MAX;
    return bytes;
}

/* The bytes that pass by when a tensor is read; adds where they lie. */
static int measure(const assay_contents *c, const assay_ckpt_tensor *t, ranges *r, uint64_t *work)
{
    assay_ckpt_place place;
    assay_cursor note = assay_cursor_over(c->notes.data + t->note, t->note_size);
    int status = add_range(r, t->file, t->offset, t->length);
    *work = t->length;
    if (assay_ckpt_note_is_plain(c->notes.data + t->note))
        return status;
    if (!assay_ckpt_note_get(&note, &place)) /* decoding it says so */
        return status;
    const uint64_t made = place.form == ASSAY_CKPT_NPY ? 0 : bytes_of(place.shape, place.dims, place.dtype);
    *work = made > *work ? made : *work;
    if (place.flags & ASSAY_CKPT_DEFLATED && place.inflated > *work)
        *work = place.inflated;
    for (uint32_t i = 0; status == ASSAY_OK && i < place.pieces; i++) {
        assay_ckpt_piece piece;
        if (assay_ckpt_note_piece(&note, &place, &piece))
            status = add_range(r, piece.file, piece.offset,
                               bytes_of(piece.size, place.form == ASSAY_CKPT_RUNS ? 1 : place.dims, place.dtype));
    }
    return status;
}

/* Leaves out what goes beyond the budget, in the order in which the tensors were added. */
static void leave_out(assay_contents *c, const uint64_t *work, uint64_t granted)
{
    uint64_t sum = 0, left = 0;
    const char *first = NULL;
    for (size_t i = 0; i < c->count; i++) {
        if (c->tensor[i].state != ASSAY_CKPT_HELD)
            continue;
        if (work[i] <= granted - sum) {
            sum += work[i];
            continue;
        }
        first = first ? first : assay_dict_name(c->names, c->tensor[i].name, NULL);
        c->tensor[i].state = ASSAY_CKPT_PROMISED;
        left++;
    }
    if (left > 0)
        assay_problems_add(
            c->problems, ASSAY_PROBLEM_WORK, c->step, c->directory, -1,
            "%llu tensor%s of the step, %s%s, would take far more work than the files have bytes (views "
            "that repeat elements, or many that share one place; %llu bytes may pass by): not evaluated; "
            "save such tensors as copies",
            (unsigned long long)left, assay_plural(left), left > 1 ? "first " : "", first, (unsigned long long)granted);
}

/* Tensors that take far more work than the files have bytes become promised ones, and a problem. 0 or
 * ASSAY_ENOMEM. */
static int assay_contents_limit_work(assay_contents *c)
{
    ranges r = {0};
    uint64_t *work = assay_heap_alloc_large(c->count * sizeof *work);
    int status = work ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; status == ASSAY_OK && i < c->count; i++)
        if (c->tensor[i].state == ASSAY_CKPT_HELD)
            status = measure(c, &c->tensor[i], &r, &work[i]);
    if (status == ASSAY_OK)
        leave_out(c, work, assay_read_budget(covered(&r) + c->notes.size, c->count));
    free(work);
    free(r.list);
    return status;
}

/* ---- index ---- */

extern const assay_trial_format assay_format_checkpoint;

static const assay_dict *places_of(const assay_catalog *catalog)
{
    return assay_format_places(&assay_format_checkpoint, catalog);
}

static const char *place_of_unit(const assay_catalog *catalog, const assay_unit *unit)
{
    int64_t step = 0;
    return assay_checkpoint_place(places_of(catalog), unit->place, &step);
}

ASSAY_ORDER_BY(compare_tensors, assay_ckpt_tensor, file, offset, name)

/* Are the tensors those of all names, in the order of their numbers? */
static bool in_order_of_names(const assay_contents *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->tensor[i].name != i)
            return false;
    return c->count == assay_dict_count(c->names);
}

/* Makes the names those of the index. True: each has the number there that it has here. */
static bool give_names(const assay_contents *c, assay_dict *tensors)
{
    return in_order_of_names(c) && assay_dict_take(tensors, c->names);
}

/* Adds the rows; every tensor has a file number of its own, which its note goes with. The names go to the index, as a
 * whole where that has none yet. */
static int add_rows(const assay_contents *c, assay_part *part, assay_dict *tensors, assay_shard *shard)
{
    const uint32_t paths = assay_dict_count(c->files);
    int status = assay_shard_reserve(shard, 1, c->count, 0);
    const bool given = status == ASSAY_OK && give_names(c, tensors);
    if (status == ASSAY_OK && !given)
        status = assay_dict_reserve(tensors, c->count, assay_dict_bytes(c->names));
    for (size_t i = 0; i < c->count && status == ASSAY_OK; i++) {
        const assay_ckpt_tensor *t = &c->tensor[i];
        size_t length = 0;
        const char *name = given ? NULL : assay_dict_name(c->names, t->name, &length);
        const uint32_t tensor = given ? t->name : assay_dict_add(tensors, name, length);
        if (tensor == ASSAY_NO_ID)
            status = ASSAY_ENOMEM;
        else
            shard->entries[part->first + part->count++] = (assay_entry){.offset = t->offset,
                                                                        .length = t->length,
                                                                        .tensor = tensor,
                                                                        .kind = ASSAY_RAW,
                                                                        .file = (uint32_t)(paths + i) & 0xffffff};
    }
    return status;
}

/* The list of the part: the files alone, which pieces name by number, then a file and note a tensor. */
static assay_files *list_files(const assay_contents *c)
{
    const uint32_t paths = assay_dict_count(c->files), count = paths + (uint32_t)c->count;
    assay_file *list = assay_heap_alloc_large(count * sizeof *list);
    for (uint32_t i = 0; list && i < paths; i++)
        list[i] = (assay_file){.name = assay_dict_name(c->files, i, NULL)};
    for (size_t i = 0; list && i < c->count; i++) {
        const assay_ckpt_tensor *t = &c->tensor[i];
        list[paths + i] =
            (assay_file){assay_dict_name(c->files, t->file, NULL), c->notes.data + t->note, (uint32_t)t->note_size};
    }
    assay_files *files = list ? assay_files_new(list, count) : NULL;
    free(list);
    return files;
}

/* ---- what is no row ---- */

static int add_claim(const assay_contents *c, const assay_unit *unit, const assay_ckpt_tensor *t, assay_dict *tensors,
                     assay_shard *shard)
{
    const bool alias = t->state == ASSAY_CKPT_ALIAS;
    assay_claim claim = {.step = unit->step,
                         .worker = unit->worker,
                         .kind = alias ? ASSAY_CLAIM_ALIAS : ASSAY_CLAIM_PROMISED,
                         .first = ASSAY_NO_TENSOR};
    size_t length = 0;
    const char *name = assay_dict_name(c->names, t->name, &length);
    claim.tensor = assay_dict_add(tensors, name, length);
    if (claim.tensor == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    if (alias) {
        name = assay_dict_name(c->names, c->tensor[t->first].name, &length);
        claim.first = assay_dict_add(tensors, name, length);
        if (claim.first == ASSAY_NO_ID)
            return ASSAY_ENOMEM;
    }
    return assay_manifest_add(&shard->claims, &claim);
}

/* Does a problem mean that names are unknown? Not where an index names them all the same. */
static bool hides_names(const assay_contents *c, const assay_problem *p)
{
    return (p->kind == ASSAY_PROBLEM_HEADER || p->kind == ASSAY_PROBLEM_PICKLE || p->kind == ASSAY_PROBLEM_READ ||
            p->kind == ASSAY_PROBLEM_UNSUPPORTED) &&
           assay_dict_find(c->mapped, p->file, strlen(p->file)) == ASSAY_NO_ID;
}

/* What the step's index says beside its records. */
static int add_manifest(const assay_contents *c, const assay_unit *unit, assay_dict *tensors, assay_shard *shard)
{
    assay_claim claim = {.step = unit->step,
                         .worker = unit->worker,
                         .kind = ASSAY_CLAIM_NAMES,
                         .tensor = ASSAY_NO_TENSOR,
                         .first = ASSAY_NO_TENSOR};
    bool open = c->problems->kept == ASSAY_PROBLEMS_KEPT; /* then not all are known */
    int status = assay_manifest_add(&shard->claims, &claim);
    for (size_t i = 0; i < c->problems->kept; i++)
        open = open || hides_names(c, &c->problems->list[i]);
    claim.kind = ASSAY_CLAIM_OPEN;
    if (status == ASSAY_OK && open)
        status = assay_manifest_add(&shard->claims, &claim);
    for (size_t i = 0; i < c->count && status == ASSAY_OK; i++)
        if (c->tensor[i].state != ASSAY_CKPT_HELD)
            status = add_claim(c, unit, &c->tensor[i], tensors, shard);
    claim.kind = ASSAY_CLAIM_BETAS;
    memcpy(claim.number, c->betas, sizeof claim.number);
    return status == ASSAY_OK && c->has_betas ? assay_manifest_add(&shard->claims, &claim) : status;
}

/* Lets go of the tensors that have no record. */
static void keep_held(assay_contents *c)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->tensor[i].state == ASSAY_CKPT_HELD)
            c->tensor[kept++] = c->tensor[i];
    c->count = kept;
}

/* ---- units ---- */

static int add_part(assay_contents *c, const assay_unit *unit, assay_dict *tensors, assay_shard *shard)
{
    assay_part part = {.step = unit->step,
                       .mode_step = unit->step,
                       .worker = unit->worker,
                       .format = unit->format,
                       .mode = ASSAY_MODE_GLOBAL,
                       .first = (uint32_t)shard->entry_count,
                       .first_shape = (uint32_t)shard->shape_count};
    const size_t most = ASSAY_FILES_MOST - 1 - assay_dict_count(c->files);
    if (c->count > most) {
        assay_problems_add(c->problems, ASSAY_PROBLEM_INDEX, c->step, c->directory, -1,
                           "step %lld has %zu tensors; those behind the first %zu are left out", (long long)c->step,
                           c->count, most);
        c->count = most;
    }
    bool sorted = true;
    for (size_t i = 1; i < c->count && sorted; i++)
        sorted = compare_tensors(&c->tensor[i - 1], &c->tensor[i]) <= 0;
    if (!sorted)
        qsort(c->tensor, c->count, sizeof *c->tensor, compare_tensors);
    int status = add_rows(c, &part, tensors, shard);
    if (status == ASSAY_OK && c->count > 0 && !(part.files = list_files(c)))
        status = ASSAY_ENOMEM;
    if (status != ASSAY_OK)
        return status;
    shard->entry_count += part.count;
    shard->parts[shard->count++] = part;
    return ASSAY_OK;
}

/* What lacks something behind the newest checkpoint that was finished was not written to its end. */
static bool is_unfinished(const assay_problems *own, int64_t step, int64_t latest)
{
    return latest >= 0 && step > latest && own->losses > 0;
}

static void name_empty(const assay_contents *c, const char *path)
{
    if (*c->object)
        assay_problems_add(c->problems, ASSAY_PROBLEM_EMPTY, c->step, path, -1,
                           "%s: it is an object of %s, which only its own program can load: save its state_dict() to "
                           "have the tensors read",
                           *path ? path : ".", c->object);
    else
        assay_problems_add(c->problems, ASSAY_PROBLEM_EMPTY, c->step, path, -1, "%s: there is no tensor in it",
                           *path ? path : ".");
}

/* Where units are read from, and where their rows go. */
typedef struct indexing {
    assay_store *store;
    const assay_catalog *catalog;
    int64_t latest; /* the newest step that is said to be whole; -1: none is */
    assay_dict *tensors;
    assay_shard *shard;
} indexing;

static int read_unit(const indexing *x, const assay_unit *unit, const char *path, assay_problems *problems)
{
    const assay_catalog *catalog = x->catalog;
    assay_contents c;
    int status = assay_contents_init(&c, x->store, unit->step, path, problems);
    c.options = catalog->options;
    c.places = places_of(catalog);
    c.place = unit->place;
    ASSAY_THEN(status, assay_ckpt_read_step(&c, path, catalog->worker_key[unit->worker]));
    ASSAY_THEN(status, c.status);
    ASSAY_THEN(status, assay_contents_limit_work(&c));
    if (status == ASSAY_OK && c.count == 0 && problems->total == 0)
        name_empty(&c, path);
    const bool unfinished = is_unfinished(problems, unit->step, x->latest);
    if (status == ASSAY_OK && !unfinished)
        status = assay_ckpt_name(&c);
    if (status == ASSAY_OK && !unfinished)
        status = add_manifest(&c, unit, x->tensors, x->shard);
    keep_held(&c);
    if (status == ASSAY_OK && !unfinished)
        status = add_part(&c, unit, x->tensors, x->shard);
    assay_contents_release(&c);
    return status;
}

static int index_unit(const indexing *x, const assay_unit *unit, assay_problems *problems)
{
    assay_problems own;
    const char *path = place_of_unit(x->catalog, unit);
    if (!path)
        return ASSAY_OK;
    assay_problems_init(&own);
    int status = read_unit(x, unit, path, &own);
    if (status == ASSAY_OK && is_unfinished(&own, unit->step, x->latest))
        assay_problems_add(problems, ASSAY_PROBLEM_UNFINISHED, unit->step, path, -1,
                           "%s was not written to its end, and step %lld is said to be the newest that was: %s; it is "
                           "not evaluated",
                           path, (long long)x->latest, own.kept > 0 ? own.list[0].text : "something is missing");
    else if (status == ASSAY_OK)
        status = assay_problems_append(problems, &own);
    assay_problems_release(&own);
    return status;
}

int assay_checkpoint_index(assay_store *store, const assay_catalog *catalog, const assay_unit *units, size_t count,
                           const assay_index_sink *into)
{
    const indexing x = {.store = store,
                        .catalog = catalog,
                        .latest = count > 0 ? assay_ckpt_latest_step(store, catalog->options) : -1,
                        .tensors = into->tensors,
                        .shard = into->shard};
    int status = ASSAY_OK;
    for (size_t i = 0; i < count && status == ASSAY_OK; i++)
        status = index_unit(&x, &units[i], into->problems);
    return status;
}

/* Places are in order of their steps. */
uint32_t assay_checkpoint_place_of(const assay_catalog *catalog, const assay_unit *unit)
{
    const assay_dict *places = places_of(catalog);
    const uint32_t count = places ? assay_dict_count(places) : 0;
    uint32_t low = 0;
    int64_t at = 0;
    ASSAY_SEARCH(low, count, assay_checkpoint_place(places, low, &at) && at < unit->step);
    return low < count && assay_checkpoint_place(places, low, &at) && at == unit->step ? low : UINT32_MAX;
}

int assay_checkpoint_index_path(const assay_catalog *catalog, const assay_unit *unit, char *out, size_t room)
{
    const char *path = place_of_unit(catalog, unit);
    return snprintf(out, room, "%s", path && *path ? path : ".");
}

int assay_checkpoint_file_path(const assay_catalog *catalog, const assay_part *part, uint32_t file, char *out,
                               size_t room)
{
    (void)catalog; /* parts list their files */
    (void)file;
    return snprintf(out, room, "%lld", (long long)part->step);
}

/* ---- what is watched ---- */

int assay_checkpoint_places(assay_store *store, assay_place_visit *visit, void *context)
{
    (void)store;
    return visit(context, ".");
}

int assay_checkpoint_unit_places(assay_store *store, const assay_catalog *catalog, const assay_unit *unit,
                                 assay_place_visit *visit, void *context)
{
    (void)store;
    const char *path = place_of_unit(catalog, unit);
    return path ? visit(context, *path ? path : ".") : ASSAY_OK;
}
