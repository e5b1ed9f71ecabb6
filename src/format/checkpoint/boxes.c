/* boxes.c - see boxes.h. */
#include "format/checkpoint/boxes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/vec.h"

enum { NONE = UINT32_MAX };

typedef struct box {
    assay_ckpt_place place;
    int64_t first[ASSAY_MAX_DIMS];
    int64_t lead;        /* where it begins in the dimension by which overlaps are looked for */
    uint32_t file, next; /* next: box of the same tensor, in the order in which files name them */
    uint64_t offset, length;
} box;

typedef struct boxed {           /* a tensor */
    uint32_t first, last, count; /* of its boxes */
    int dims;                    /* -1: its shape was not said */
    bool given_up;
    int64_t shape[ASSAY_MAX_DIMS];
} boxed;

/* Boxes of all tensors lie in one list, and those of a tensor are linked within it: a checkpoint names them file by file,
 * a tensor's boxes far apart, and a list for each of a million tensors would cost more than what is in it. */
struct assay_boxes {
    assay_dict *names;
    boxed *tensor; /* by name */
    size_t tensor_room;
    box *box;
    size_t boxes, box_room;
};

assay_boxes *assay_boxes_new(void)
{
    assay_boxes *b = assay_alloc_zeroed(1, sizeof *b);
    if (b && !(b->names = assay_dict_new())) {
        free(b);
        b = NULL;
    }
    return b;
}

void assay_boxes_free(assay_boxes *b)
{
    if (!b)
        return;
    assay_dict_free(b->names);
    free(b->tensor);
    free(b->box);
    free(b);
}

uint32_t assay_boxes_tensor(assay_boxes *b, const char *name, size_t length)
{
    const uint32_t before = assay_dict_count(b->names);
    if (before == b->tensor_room) {
        const size_t room = before ? 2 * (size_t)before : 64;
        boxed *grown = assay_realloc_array(b->tensor, room, sizeof *grown);
        if (!grown)
            return ASSAY_NO_ID;
        b->tensor = grown;
        b->tensor_room = room;
    }
    const uint32_t id = assay_dict_add(b->names, name, length);
    if (id == before)
        b->tensor[id] = (boxed){.first = NONE, .last = NONE, .dims = -1};
    return id;
}

int assay_boxes_add(assay_boxes *b, uint32_t tensor, const assay_ckpt_place *place, const int64_t *first,
                    const assay_ckpt_stretch *at)
{
    ASSAY_HAVE(assay_vec_reserve(&b->box, &b->box_room, b->boxes + 1, sizeof *b->box));
    box *new = &b->box[b->boxes];
    *new = (box){.place = *place, .file = at->file, .next = NONE, .offset = at->offset, .length = at->length};
    memcpy(new->first, first, (size_t)place->dims * sizeof *first);
    boxed *t = &b->tensor[tensor];
    if (t->first == NONE)
        t->first = (uint32_t)b->boxes;
    else
        b->box[t->last].next = (uint32_t)b->boxes;
    t->last = (uint32_t)b->boxes++;
    t->count++;
    return ASSAY_OK;
}

int assay_boxes_set_shape(assay_boxes *b, uint32_t tensor, const int64_t *shape, int dims)
{
    boxed *t = &b->tensor[tensor];
    t->dims = dims;
    memcpy(t->shape, shape, (size_t)dims * sizeof *shape);
    return ASSAY_OK;
}

void assay_boxes_give_up(assay_boxes *b, uint32_t tensor)
{
    b->tensor[tensor].given_up = true;
}

void assay_boxes_give_up_all(assay_boxes *b)
{
    for (uint32_t i = 0; i < assay_dict_count(b->names); i++)
        b->tensor[i].given_up = true;
}

/* ---- the whole ---- */

/* A tensor that nobody gave a shape ends where its boxes do. False when that is beyond 63 bits, or ranks differ. */
static bool settle_shape(const assay_boxes *b, boxed *t)
{
    const bool said = t->dims >= 0;
    if (!said) {
        t->dims = b->box[t->first].place.dims;
        memset(t->shape, 0, sizeof t->shape);
    }
    for (uint32_t i = t->first; i != NONE; i = b->box[i].next) {
        const box *x = &b->box[i];
        if (x->place.dims != t->dims || x->place.dtype != b->box[t->first].place.dtype)
            return false;
        for (int k = 0; k < t->dims; k++) {
            int64_t end = 0;
            if (x->first[k] < 0 || __builtin_add_overflow(x->first[k], x->place.shape[k], &end) ||
                (said && end > t->shape[k]))
                return false;
            t->shape[k] = end > t->shape[k] ? end : t->shape[k];
        }
    }
    return true;
}

/* Elements of a shape; false beyond 63 bits. */
static bool count_elements(const int64_t *shape, int dims, uint64_t *out)
{
    int64_t count = 1;
    bool over = false, empty = false;
    for (int i = 0; i < dims; i++) {
        empty = empty || shape[i] == 0;
        over = over || __builtin_mul_overflow(count, shape[i], &count);
    }
    *out = empty ? 0 : (uint64_t)count;
    return empty || !over;
}

/* Boxes without elements share none, wherever they lie. Ends do not overflow: settle_shape() was here before. */
static bool overlaps(const box *a, const box *b)
{
    for (int i = 0; i < a->place.dims; i++)
        if (a->first[i] >= b->first[i] + b->place.shape[i] || b->first[i] >= a->first[i] + a->place.shape[i])
            return false;
    uint64_t x = 0, y = 0;
    return count_elements(a->place.shape, a->place.dims, &x) && x > 0 &&
           count_elements(b->place.shape, b->place.dims, &y) && y > 0;
}

static int compare_boxes(const void *a, const void *b)
{
    const box *x = *(box *const *)a, *y = *(box *const *)b;
    for (int i = 0; i < x->place.dims; i++)
        if (x->first[i] != y->first[i])
            return x->first[i] < y->first[i] ? -1 : 1;
    return 0;
}

/* The dimension in which the boxes are the smallest share of the tensor: there most of them lie apart. */
static int dividing_dimension(const boxed *t, box *const *list, uint32_t count)
{
    int found = 0;
    double least = INFINITY;
    for (int k = 0; k < t->dims; k++) {
        double share = 0;
        for (uint32_t i = 0; i < count; i++)
            share += (double)list[i]->place.shape[k] / (double)t->shape[k];
        if (share < least) { /* false of a dimension without elements */
            least = share;
            found = k;
        }
    }
    return found;
}

static int compare_leads(const void *a, const void *b)
{
    const box *x = *(box *const *)a, *y = *(box *const *)b;
    return (x->lead > y->lead) - (x->lead < y->lead);
}

/* Do two of the boxes share an element? Only those that begin before a box ends in one dimension can. Their order is
 * another one then. */
static bool find_overlap(const boxed *t, box **list, uint32_t count)
{
    const int k = dividing_dimension(t, list, count);
    for (uint32_t i = 0; i < count; i++)
        list[i]->lead = t->dims > 0 ? list[i]->first[k] : 0;
    qsort(list, count, sizeof *list, compare_leads);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; j < count; j++) {
            if (t->dims > 0 && list[j]->lead >= list[i]->lead + list[i]->place.shape[k])
                break;
            if (overlaps(list[i], list[j]))
                return true;
        }
    return false;
}

static void add_whole(const assay_boxes *b, const boxed *t, assay_contents *c, const char *name, size_t length)
{
    const box *x = &b->box[t->first];
    const assay_ckpt_stretch at = {x->file, x->offset, x->length};
    assay_contents_add(c, &(assay_ckpt_found){ASSAY_CKPT_MODEL, name, length, at, &x->place, NULL});
}

/* Pieces have no checksum of the whole, so the flag that a content was checked is taken off. */
static int add_pieces(const boxed *t, box *const *list, assay_contents *c, const char *name, size_t length)
{
    assay_ckpt_place place = {.form = ASSAY_CKPT_PIECES,
                              .flags = list[0]->place.flags & ~(unsigned)ASSAY_CKPT_CHECKED,
                              .dtype = list[0]->place.dtype,
                              .dims = t->dims,
                              .pieces = t->count};
    assay_ckpt_piece *piece = assay_alloc_zeroed(t->count, sizeof *piece);
    ASSAY_HAVE(piece);
    memcpy(place.shape, t->shape, sizeof place.shape);
    for (uint32_t i = 0; i < t->count; i++) {
        piece[i].file = list[i]->file;
        piece[i].offset = list[i]->offset;
        memcpy(piece[i].first, list[i]->first, sizeof piece[i].first);
        memcpy(piece[i].size, list[i]->place.shape, sizeof piece[i].size);
    }
    const assay_ckpt_stretch at = {list[0]->file, list[0]->offset, list[0]->length};
    assay_contents_add(c, &(assay_ckpt_found){ASSAY_CKPT_MODEL, name, length, at, &place, piece});
    free(piece);
    return c->status;
}

static void name_problem(const assay_contents *c, int kind, const char *path, const char *name, const char *what)
{
    assay_problems_add(c->problems, kind, c->step, path, -1, "%s: %s %s", path, name, what);
}

/* Boxes that do not overlap and have as many elements as the tensor cover it. That is counted, not searched: so overlaps
 * are looked for first, or two faults could make the count right. */
static int finish_tensor(const assay_boxes *b, boxed *t, assay_contents *c, const char *path, const char *name,
                         size_t length)
{
    uint64_t covered = 0, elements = 0, own = 0;
    bool simple = true;
    if (!settle_shape(b, t) || !count_elements(t->shape, t->dims, &elements)) {
        name_problem(c, ASSAY_PROBLEM_RECORD, path, name, "has pieces that do not fit one another");
        assay_contents_promise(c, ASSAY_CKPT_MODEL, name, length);
        return ASSAY_OK;
    }
    box **list = assay_alloc(t->count * sizeof *list);
    ASSAY_HAVE(list);
    uint32_t n = 0;
    for (uint32_t i = t->first; i != NONE; i = b->box[i].next) {
        list[n++] = &b->box[i];
        count_elements(b->box[i].place.shape, t->dims, &own);
        covered += own;
        simple = simple && b->box[i].place.form == ASSAY_CKPT_RANGE &&
                 !(b->box[i].place.flags & (ASSAY_CKPT_DEFLATED | ASSAY_CKPT_PACKED)) &&
                 ((b->box[i].place.flags ^ b->box[t->first].place.flags) & ~(unsigned)ASSAY_CKPT_CHECKED) == 0;
    }
    const bool overlap = find_overlap(t, list, n);
    qsort(list, n, sizeof(box *), compare_boxes);
    int status = ASSAY_OK;
    assay_contents_promise(c, ASSAY_CKPT_MODEL, name, length); /* until it is added */
    if (overlap)
        name_problem(c, ASSAY_PROBLEM_DUPLICATE_TENSOR, path, name, "has elements that two pieces have");
    else if (covered != elements)
        name_problem(c, ASSAY_PROBLEM_INCOMPLETE_TENSOR, path, name, "has elements that no piece has");
    else if (n == 1)
        add_whole(b, t, c, name, length);
    else if (!simple)
        name_problem(c, ASSAY_PROBLEM_UNSUPPORTED, path, name, "has pieces that do not lie in C order, or are packed");
    else
        status = add_pieces(t, list, c, name, length);
    free(list);
    return status;
}

int assay_boxes_finish(assay_boxes *b, assay_contents *c, const char *path)
{
    int status = ASSAY_OK;
    for (uint32_t i = 0; i < assay_dict_count(b->names) && status == ASSAY_OK; i++) {
        size_t length = 0;
        const char *name = assay_dict_name(b->names, i, &length);
        if (!b->tensor[i].given_up && b->tensor[i].first != NONE)
            status = finish_tensor(b, &b->tensor[i], c, path, name, length);
        else if (b->tensor[i].given_up)
            assay_contents_promise(c, ASSAY_CKPT_MODEL, name, length);
    }
    return status == ASSAY_OK ? c->status : status;
}
