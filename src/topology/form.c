/* form.c - see form.h. */
#include "topology/form.h"

#include <assay/rule.h>

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "base/vec.h"
#include "trial/trial_format.h"
#include "trial/shard.h"
#include "topology/assembled.h"

/* ---- names ---- */

typedef struct naming {
    const assay_topology *t;
    assay_layouts *layouts;
    assay_dict *tensors;
    assay_problems *problems;
    assay_buf name, recorded;
} naming;

/* The number of the tensor that a worker calls so. */
static int rename_tensor(naming *n, int64_t step, uint32_t worker, uint32_t *tensor)
{
    size_t length = 0;
    int status;
    assay_error why = {""};
    const char *name = assay_dict_name(n->tensors, *tensor, &length);
    assay_buf_clear(&n->recorded);
    assay_put_bytes(&n->recorded, name, length); /* names move when one is added */
    const uint32_t id =
        assay_layouts_meet(n->layouts, n->t, worker, (const char *)n->recorded.data, length, &n->name, &status, &why);
    if (status == ASSAY_EFORMAT) {
        assay_problems_add(n->problems, ASSAY_PROBLEM_RECORD, step, "", -1,
                           "the numbers in the name of the tensor %.*s cannot be counted on as the topology says: %s",
                           (int)length, (const char *)n->recorded.data, why.text);
        return ASSAY_OK;
    }
    if (id == ASSAY_NO_ID || assay_buf_status(&n->recorded) != ASSAY_OK)
        return ASSAY_ENOMEM;
    if (n->name.size == length && memcmp(n->name.data, n->recorded.data, length) == 0)
        return ASSAY_OK;
    *tensor = assay_dict_add(n->tensors, (const char *)n->name.data, n->name.size);
    return *tensor == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
}

int assay_form_names(const assay_topology *t, assay_layouts *layouts, assay_dict *tensors, assay_shard *shard,
                     assay_problems *problems)
{
    naming n = {.t = t, .layouts = layouts, .tensors = tensors, .problems = problems};
    int status = ASSAY_OK;
    assay_buf_init(&n.name, SIZE_MAX);
    assay_buf_init(&n.recorded, SIZE_MAX);
    for (size_t p = 0; p < shard->count && status == ASSAY_OK; p++) {
        const assay_part *part = &shard->parts[p];
        for (size_t e = part->first; e < (size_t)part->first + part->count && status == ASSAY_OK; e++)
            status = rename_tensor(&n, part->step, part->worker, &shard->entries[e].tensor);
        for (size_t h = part->first_shape; h < (size_t)part->first_shape + part->shapes && status == ASSAY_OK; h++)
            status = rename_tensor(&n, part->step, part->worker, &shard->shapes[h].tensor);
    }
    for (size_t c = 0; c < shard->claims.count && status == ASSAY_OK; c++) {
        assay_claim *claim = &shard->claims.list[c];
        if (claim->tensor != ASSAY_NO_TENSOR)
            status = rename_tensor(&n, claim->step, claim->worker, &claim->tensor);
        if (status == ASSAY_OK && claim->first != ASSAY_NO_TENSOR)
            status = rename_tensor(&n, claim->step, claim->worker, &claim->first);
    }
    assay_buf_release(&n.name);
    assay_buf_release(&n.recorded);
    return status;
}

/* ---- pieces ---- */

typedef struct piece {
    uint32_t tensor, part, entry;
    uint32_t mode;        /* of the part: a step may have two */
    uint64_t copy, place; /* which copy it belongs to; its place among the pieces of one */
} piece;

typedef struct copy { /* all its pieces are there */
    uint32_t leader;  /* its lowest worker */
    uint32_t mode;
    uint32_t order; /* where that worker has its piece among its records */
    uint64_t length;
    size_t first, pieces;
} copy;

typedef struct forming {
    const assay_catalog *catalog;
    const assay_topology *t;
    const assay_layouts *layouts;
    const assay_dict *tensors;
    assay_shard *shard;
    assay_problems *problems;
    uint32_t *layout_of; /* [tensors] number in layouts, or ASSAY_NO_ID where it is not split */
    piece *piece;
    size_t pieces, piece_room;
    copy *copy;
    size_t copies, copy_room;
} forming;

ASSAY_ORDER_BY(compare_pieces, piece, tensor, mode, copy, place, entry)

static int compare_copies(const void *a, const void *b)
{
    const copy *x = a, *y = b;
    if (x->leader != y->leader)
        return x->leader < y->leader ? -1 : 1;
    if (x->mode != y->mode)
        return x->mode < y->mode ? -1 : 1;
    return x->order != y->order ? (x->order > y->order) - (x->order < y->order)
                                : (x->first > y->first) - (x->first < y->first);
}

/* Axes that divide the tensor, outermost first: splits in the order that the entry gives, then flat ones. */
static uint32_t dividing_axes(const assay_layout *layout, const assay_topology *t, uint32_t axis[ASSAY_MESH_AXES])
{
    uint32_t count = 0;
    for (int depth = 0; depth < ASSAY_MESH_AXES; depth++)
        for (uint32_t a = 0; a < t->mesh[layout->mesh].axes; a++) {
            const assay_axis_rule *rule = assay_layout_rule(layout, t, a);
            if (assay_layout_kind(layout, t, a) == ASSAY_AXIS_SPLIT && rule->depth == depth)
                axis[count++] = a;
        }
    for (uint32_t a = 0; a < t->mesh[layout->mesh].axes; a++)
        if (assay_layout_kind(layout, t, a) == ASSAY_AXIS_FLAT)
            axis[count++] = a;
    return count;
}

static uint64_t place_of(const assay_layout *layout, const assay_topology *t, uint32_t worker)
{
    uint32_t axis[ASSAY_MESH_AXES];
    const uint32_t count = dividing_axes(layout, t, axis);
    uint64_t place = 0;
    for (uint32_t i = 0; i < count; i++)
        place = place * t->mesh[layout->mesh].axis[axis[i]].size + assay_topology_at(t, worker, layout->mesh, axis[i]);
    return place;
}

static uint64_t places_of(const assay_layout *layout, const assay_topology *t)
{
    uint32_t axis[ASSAY_MESH_AXES];
    const uint32_t count = dividing_axes(layout, t, axis);
    uint64_t places = 1;
    for (uint32_t i = 0; i < count; i++)
        places *= t->mesh[layout->mesh].axis[axis[i]].size;
    return places;
}

static uint64_t copy_of(const assay_layout *layout, const assay_topology *t, uint32_t worker)
{
    uint64_t number = 0;
    for (uint32_t a = 0; a < t->mesh[layout->mesh].axes; a++) {
        const assay_axis_kind kind = assay_layout_kind(layout, t, a);
        if (kind == ASSAY_AXIS_REPLICATE || kind == ASSAY_AXIS_OWN)
            number = number * t->mesh[layout->mesh].axis[a].size + assay_topology_at(t, worker, layout->mesh, a);
    }
    return number;
}

/* Tensors without dimensions are never split. */
static bool may_be_split(const assay_part *part, const assay_entry *entry)
{
    const assay_trial_format *format = assay_format_of(part->format);
    const assay_file *file = part->files && entry->file < part->files->count ? &part->files->file[entry->file] : NULL;
    return !format->dims || !file || !file->note || format->dims(file->note, file->note_size) != 0;
}

static int add_piece(forming *f, const piece *one)
{
    ASSAY_HAVE(assay_vec_reserve(&f->piece, &f->piece_room, f->pieces + 1, sizeof *f->piece));
    f->piece[f->pieces++] = *one;
    return ASSAY_OK;
}

/* Takes the pieces out of the rows of a step: parts [first, end). */
static int collect_pieces(forming *f, size_t first, size_t end)
{
    int status = ASSAY_OK;
    f->pieces = 0;
    for (size_t p = first; p < end; p++) {
        const assay_part *part = &f->shard->parts[p];
        for (size_t e = part->first; e < (size_t)part->first + part->count && status == ASSAY_OK; e++) {
            assay_entry *entry = &f->shard->entries[e];
            if (entry->kind != ASSAY_RAW || f->layout_of[entry->tensor] == ASSAY_NO_ID || !may_be_split(part, entry))
                continue;
            const assay_layout *layout = &f->layouts->list[f->layout_of[entry->tensor]];
            entry->kind = ASSAY_PIECE;
            status = add_piece(f, &(piece){.tensor = entry->tensor,
                                           .part = (uint32_t)p,
                                           .entry = (uint32_t)e,
                                           .mode = part->mode,
                                           .copy = copy_of(layout, f->t, part->worker),
                                           .place = place_of(layout, f->t, part->worker)});
        }
    }
    if (f->pieces > 0)
        qsort(f->piece, f->pieces, sizeof *f->piece, compare_pieces);
    return status;
}

/* A copy lacks a piece. Where its worker did not write the step, that is said elsewhere; else the topology is wrong, or
 * the tensor is not whole. */
static int name_hole(forming *f, const piece *from, size_t count, size_t first, size_t end)
{
    const assay_part *own = &f->shard->parts[from->part];
    const assay_layout *layout = &f->layouts->list[f->layout_of[from->tensor]];
    const unsigned divides = 1u << ASSAY_AXIS_SPLIT | 1u << ASSAY_AXIS_FLAT;
    bool *has = assay_alloc_zeroed(f->catalog->workers, sizeof *has);
    ASSAY_HAVE(has);
    for (size_t i = 0; i < count; i++)
        has[f->shard->parts[from[i].part].worker] = true;
    for (size_t p = first; p < end; p++) {
        const uint32_t worker = f->shard->parts[p].worker;
        if (has[worker] || !assay_layout_agree(layout, f->t, own->worker, worker, divides) ||
            assay_manifest_promise(&f->shard->claims, own->step, worker, from->tensor))
            continue;
        char room[ASSAY_PATH_ROOM];
        const char *path = assay_part_file(f->catalog, &f->shard->parts[p], 0, room);
        assay_problems_add(
            f->problems, ASSAY_PROBLEM_INCOMPLETE_TENSOR, own->step, path ? path : "", -1,
            "the tensor %.200s is split over workers by the topology, and %s has no piece of it; it is not evaluated",
            assay_dict_name(f->tensors, from->tensor, NULL), f->catalog->worker[worker]);
        break;
    }
    free(has);
    return assay_manifest_add(&f->shard->claims, &(assay_claim){.step = own->step,
                                                                .worker = own->worker,
                                                                .kind = ASSAY_CLAIM_PROMISED,
                                                                .tensor = from->tensor,
                                                                .first = ASSAY_NO_TENSOR});
}

static int add_copy(forming *f, const piece *from, size_t count)
{
    copy one = {
        .leader = UINT32_MAX, .mode = from->mode, .length = 1, .first = (size_t)(from - f->piece), .pieces = count};
    for (size_t i = 0; i < count; i++) {
        const assay_part *part = &f->shard->parts[from[i].part];
        one.length += f->shard->entries[from[i].entry].length;
        if (part->worker < one.leader) {
            one.leader = part->worker;
            one.order = from[i].entry - part->first;
        }
    }
    ASSAY_HAVE(assay_vec_reserve(&f->copy, &f->copy_room, f->copies + 1, sizeof *f->copy));
    f->copy[f->copies++] = one;
    return ASSAY_OK;
}

static bool are_of_one_copy(const piece *a, const piece *b)
{
    return a->tensor == b->tensor && a->mode == b->mode && a->copy == b->copy;
}

static int find_copies(forming *f, size_t first, size_t end)
{
    int status = ASSAY_OK;
    f->copies = 0;
    for (size_t i = 0, n; i < f->pieces && status == ASSAY_OK; i += n) {
        piece *from = &f->piece[i];
        size_t kept = 1;
        for (n = 1; i + n < f->pieces && are_of_one_copy(from, &from[n]); n++)
            if (from[n].place != from[kept - 1].place) /* of a tensor that a worker has twice the first counts */
                from[kept++] = from[n];
        const assay_layout *layout = &f->layouts->list[f->layout_of[from->tensor]];
        status = kept == places_of(layout, f->t) ? add_copy(f, from, kept) : name_hole(f, from, kept, first, end);
    }
    if (f->copies > 0)
        qsort(f->copy, f->copies, sizeof *f->copy, compare_copies);
    return status;
}

/* ---- rows ---- */

/* The parts whose files the copies of one leader lie in, and where their lists begin in the new one. */
typedef struct bases {
    uint32_t *base; /* [parts of the step] 0: not used */
    uint32_t count; /* files of the list so far */
} bases;

/* Copies of one leader, of the step that is parts [first, end). */
typedef struct led {
    const copy *copy;
    size_t copies, first, end;
} led;

/* How each of them is put together, one behind another. */
typedef struct recipes {
    assay_buf text;
    size_t *end; /* of each, in the text */
} recipes;

static int put_recipe(const forming *f, const copy *c, const bases *b, size_t first, assay_buf *out)
{
    const assay_layout *layout = &f->layouts->list[f->layout_of[f->piece[c->first].tensor]];
    uint32_t axis[ASSAY_MESH_AXES];
    assay_recipe r = {.levels = dividing_axes(layout, f->t, axis), .pieces = (uint32_t)c->pieces};
    r.name = assay_dict_name(f->tensors, f->piece[c->first].tensor, &r.name_length);
    r.piece = assay_alloc_zeroed(c->pieces, sizeof *r.piece);
    ASSAY_HAVE(r.piece);
    for (uint32_t l = 0; l < r.levels; l++) {
        const assay_axis_rule *rule = assay_layout_rule(layout, f->t, axis[l]);
        r.level[l] = (assay_join_level){.flat = rule->kind == ASSAY_AXIS_FLAT,
                                        .dim = rule->dim,
                                        .numel = rule->kind == ASSAY_AXIS_FLAT ? rule->numel : -1,
                                        .fractions = rule->fractions,
                                        .parts = rule->parts,
                                        .part = rule->part};
    }
    for (size_t i = 0; i < c->pieces; i++) {
        const piece *from = &f->piece[c->first + i];
        const assay_part *part = &f->shard->parts[from->part];
        const assay_entry *entry = &f->shard->entries[from->entry];
        assay_assembled_piece *to = &r.piece[i];
        *to = (assay_assembled_piece){.format = part->format,
                                      .base = b->base[from->part - first],
                                      .files = part->files ? part->files->count : 1,
                                      .file = part->files ? entry->file : 0,
                                      .offset = entry->offset,
                                      .length = entry->length};
        for (uint32_t l = 0; l < r.levels; l++)
            to->at[l] = assay_topology_at(f->t, part->worker, layout->mesh, axis[l]);
    }
    assay_recipe_pack(&r, out);
    free(r.piece);
    return assay_buf_status(out);
}

/* Where the lists of the parts come that the copies' pieces are in. A part of one file without a list takes one place.
 */
static void find_bases(const forming *f, const led *l, bases *b)
{
    const copy *c = l->copy;
    const size_t copies = l->copies, first = l->first, end = l->end;
    memset(b->base, 0, (end - first) * sizeof *b->base);
    b->count = (uint32_t)copies;
    for (size_t i = 0; i < copies; i++)
        for (size_t k = 0; k < c[i].pieces; k++)
            b->base[f->piece[c[i].first + k].part - first] = 1;
    for (size_t p = 0; p < end - first; p++)
        if (b->base[p] > 0) {
            const assay_part *part = &f->shard->parts[first + p];
            b->base[p] = b->count;
            b->count += part->files ? part->files->count : 1;
        }
}

/* Fills the list of files: the copies with their recipes, then those of the parts. `paths` keeps names that no list
 * has. */
static int fill_files(const forming *f, const led *l, const bases *b, const recipes *made, assay_file *list,
                      assay_dict *paths)
{
    const copy *c = l->copy;
    const size_t copies = l->copies, first = l->first, end = l->end;
    char room[ASSAY_PATH_ROOM];
    for (size_t p = 0; p < end - first; p++) {
        const assay_part *part = &f->shard->parts[first + p];
        if (b->base[p] == 0)
            continue;
        if (part->files) {
            memcpy(list + b->base[p], part->files->file, part->files->count * sizeof *list);
            continue;
        }
        const char *path = assay_part_file(f->catalog, part, 0, room);
        if (!path || assay_dict_add(paths, path, strlen(path)) == ASSAY_NO_ID)
            return ASSAY_ENOMEM;
        list[b->base[p]] = (assay_file){.name = NULL};
    }
    uint32_t next = 0; /* names of the dictionary stay once none is added */
    for (size_t p = 0; p < end - first; p++)
        if (b->base[p] > 0 && !f->shard->parts[first + p].files)
            list[b->base[p]].name = assay_dict_name(paths, next++, &(size_t){0});
    for (size_t i = 0; i < copies; i++) {
        const piece *from = &f->piece[c[i].first];
        const assay_part *part = &f->shard->parts[from->part];
        const size_t at = i ? made->end[i - 1] : 0;
        const uint32_t file = b->base[from->part - first] + (part->files ? f->shard->entries[from->entry].file : 0);
        list[i] = (assay_file){list[file].name, made->text.data + at, (uint32_t)(made->end[i] - at)};
    }
    return ASSAY_OK;
}

/* The rows of the copies of one leader, as a part behind all others. */
static int add_part(forming *f, const led *l, bases *b)
{
    const copy *c = l->copy;
    const size_t copies = l->copies;
    assay_shard *s = f->shard;
    recipes made = {.text = ASSAY_BUF(UINT32_MAX), .end = assay_alloc_zeroed(copies, sizeof *made.end)};
    find_bases(f, l, b);
    assay_file *list = assay_alloc_zeroed(b->count, sizeof *list);
    assay_dict *paths = assay_dict_new();
    int status = made.end && list && paths ? assay_shard_reserve(s, 1, copies, 0) : ASSAY_ENOMEM;
    for (size_t i = 0; i < copies && status == ASSAY_OK; i++) {
        status = put_recipe(f, &c[i], b, l->first, &made.text);
        made.end[i] = made.text.size;
    }
    ASSAY_THEN(status, fill_files(f, l, b, &made, list, paths));
    assay_files *files = status == ASSAY_OK ? assay_files_new(list, b->count) : NULL;
    if (status == ASSAY_OK && !files)
        status = ASSAY_ENOMEM;
    if (status == ASSAY_OK) {
        assay_part part = s->parts[f->piece[c->first].part];
        part.worker = c->leader;
        part.format = ASSAY_FORMAT_ASSEMBLED;
        part.files = files;
        part.first = (uint32_t)s->entry_count;
        part.count = (uint32_t)copies;
        part.first_shape = part.shapes = 0;
        for (size_t i = 0; i < copies; i++)
            s->entries[s->entry_count++] = (assay_entry){.offset = c[i].order,
                                                         .length = c[i].length,
                                                         .tensor = f->piece[c[i].first].tensor,
                                                         .kind = ASSAY_RAW,
                                                         .file = (uint32_t)i & (ASSAY_FILES_MOST - 1)};
        s->parts[s->count++] = part;
    }
    assay_buf_release(&made.text);
    assay_dict_free(paths);
    free(list);
    free(made.end);
    return status;
}

/* Forms the tensors of a step: parts [first, end). */
static int form_step(forming *f, size_t first, size_t end)
{
    int status = collect_pieces(f, first, end);
    ASSAY_THEN(status, find_copies(f, first, end));
    bases b = {.base = assay_alloc_zeroed(end - first, sizeof *b.base)};
    ASSAY_HAVE(b.base);
    for (size_t i = 0, n; i < f->copies && status == ASSAY_OK; i += n) {
        for (n = 1;
             i + n < f->copies && f->copy[i + n].leader == f->copy[i].leader && f->copy[i + n].mode == f->copy[i].mode;
             n++)
            continue;
        status = add_part(f, &(led){&f->copy[i], n, first, end}, &b);
    }
    free(b.base);
    return status;
}

static int find_layouts(forming *f)
{
    const uint32_t count = assay_dict_count(f->tensors);
    f->layout_of = assay_alloc(((size_t)count + 1) * sizeof *f->layout_of);
    ASSAY_HAVE(f->layout_of);
    for (uint32_t i = 0; i < count; i++) {
        size_t length;
        const char *name = assay_dict_name(f->tensors, i, &length);
        const uint32_t id = assay_dict_find(f->layouts->names, name, length);
        f->layout_of[i] = id != ASSAY_NO_ID && assay_layout_is_split(&f->layouts->list[id], f->t) ? id : ASSAY_NO_ID;
    }
    return ASSAY_OK;
}

int assay_form_tensors(const assay_catalog *catalog, const assay_topology *t, const assay_layouts *layouts,
                       const assay_dict *tensors, assay_shard *shard, assay_problems *problems)
{
    forming f = {
        .catalog = catalog, .t = t, .layouts = layouts, .tensors = tensors, .shard = shard, .problems = problems};
    const size_t parts = shard->count;
    int status = find_layouts(&f);
    for (size_t p = 0, next; p < parts && status == ASSAY_OK; p = next) {
        for (next = p + 1; next < parts && shard->parts[next].step == shard->parts[p].step; next++)
            continue;
        status = form_step(&f, p, next);
    }
    free(f.layout_of);
    free(f.piece);
    free(f.copy);
    return status == ASSAY_OK ? assay_shard_sort(shard) : status;
}
