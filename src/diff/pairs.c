/* pairs.c - which tensors of two trials belong together. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/vec.h"
#include "diff/diff.h"
#include "trial/step_lookup.h"

enum { ALL_WORKERS = UINT32_MAX };

/* What a trial has of a worker, or of all workers, at a step. */
typedef struct side {
    const assay_trial_files *trial;
    assay_step_lookup lookup;
    assay_step_workers copies; /* of all workers */
    int64_t step;
    uint32_t worker; /* or ALL_WORKERS */
    bool *met;       /* [tensors] of the second trial: it has been paired */
} side;

static const char STATE[] = "state/";

static bool is_part_of(const assay_part *part, int64_t step, uint32_t worker)
{
    return part->step == step && (worker == ALL_WORKERS || part->worker == worker);
}

static int turn(side *s, int64_t step, uint32_t worker)
{
    const assay_shard *shard = &s->trial->shard;
    size_t first = assay_shard_find(shard, step), end;
    while (first < shard->count && shard->parts[first].step == step && !is_part_of(&shard->parts[first], step, worker))
        first++;
    for (end = first; end < shard->count && is_part_of(&shard->parts[end], step, worker);)
        end++;
    s->step = step;
    s->worker = worker;
    const int status = assay_step_lookup_turn(&s->lookup, shard, first, end, assay_dict_count(s->trial->tensors));
    return status == ASSAY_OK && worker == ALL_WORKERS ? assay_step_workers_turn(&s->copies, shard, step) : status;
}

/* The claim of a kind about a tensor of the side; NULL: none. */
static const assay_claim *find_claim(const side *s, uint32_t tensor, uint32_t kind)
{
    const assay_manifest *claims = &s->trial->shard.claims;
    for (size_t i = 0; i < claims->count; i++)
        if (claims->list[i].tensor == tensor && claims->list[i].kind == kind && claims->list[i].step == s->step &&
            (s->worker == ALL_WORKERS || claims->list[i].worker == s->worker))
            return &claims->list[i];
    return NULL;
}

/* The record of a name, or of the tensor that it is another name of. False: there is none. A name that is only promised
 * has no entry. */
static bool find_record(const side *s, uint32_t tensor, assay_place *out)
{
    if (tensor == ASSAY_NO_ID)
        return false;
    if (assay_step_lookup_find(&s->lookup, tensor, out))
        return true;
    const assay_claim *alias = find_claim(s, tensor, ASSAY_CLAIM_ALIAS);
    if (alias && assay_step_lookup_find(&s->lookup, alias->first, out))
        return true;
    *out = (assay_place){0};
    return find_claim(s, tensor, ASSAY_CLAIM_PROMISED) != NULL;
}

/* A second name has no elements of its own. */
static bool is_alias(const side *s, uint32_t tensor)
{
    return find_claim(s, tensor, ASSAY_CLAIM_ALIAS) != NULL;
}

static int add_pair(assay_diff *d, const assay_diff_pair *pair)
{
    ASSAY_HAVE(assay_vec_reserve(&d->pair, &d->room, d->pairs + 1, sizeof *d->pair));
    d->pair[d->pairs++] = *pair;
    return ASSAY_OK;
}

static int add_single(assay_diff_singles *to, const side *s, const char *name)
{
    if (strncmp(name, STATE, sizeof STATE - 1) == 0)
        return ASSAY_OK; /* schedulers, random numbers: nothing of it is required */
    ASSAY_HAVE(assay_vec_reserve(&to->list, &to->room, to->count + 1, sizeof *to->list));
    to->list[to->count++] = (assay_diff_single){name, s->step};
    return ASSAY_OK;
}

/* The name that a tensor of the first trial has in the second one, in `text` where a map says so. *map: which one. */
static int other_name(const assay_diff_options *o, const char *name, size_t length, assay_buf *text,
                      const assay_name_map **map)
{
    *map = NULL;
    assay_buf_clear(text);
    for (size_t i = 0; i < o->maps; i++) {
        const int found = assay_name_map_apply(&o->map[i], name, length, text);
        if (found < 0)
            return found;
        if (found == 1) {
            *map = &o->map[i];
            return assay_buf_status(text);
        }
        assay_buf_clear(text);
    }
    assay_put_bytes(text, name, length);
    return assay_buf_status(text);
}

/* ---- copies ---- */

/* How many workers have a record of the tensor, or lead those that have a copy together. */
static size_t count_copies(const side *s, uint32_t tensor)
{
    assay_place place;
    size_t count = 0;
    while (assay_step_workers_find(&s->copies, tensor, ASSAY_RAW, 0, count, &place))
        count++;
    return count;
}

static assay_place copy_at(const side *s, uint32_t tensor, size_t i)
{
    assay_place place = {0};
    (void)assay_step_workers_find(&s->copies, tensor, ASSAY_RAW, 0, i, &place);
    return place;
}

/* What the topology says of a tensor that several workers have pieces of. */
typedef enum relation {
    COPIES,  /* of the same */
    UNKNOWN, /* pieces or copies */
    UNLIKE   /* addends, or other data by design */
} relation;

static relation relation_of(const side *s, uint32_t tensor)
{
    const assay_topology *t = s->trial->catalog.topology;
    size_t length = 0;
    const char *name = assay_dict_name(s->trial->tensors, tensor, &length);
    const uint32_t id = t ? assay_dict_find(s->trial->layouts.names, name, length) : ASSAY_NO_ID;
    relation found = COPIES;
    if (id == ASSAY_NO_ID)
        return UNKNOWN;
    const assay_layout *layout = &s->trial->layouts.list[id];
    for (uint32_t a = 0; a < t->mesh[layout->mesh].axes; a++) {
        const assay_axis_kind kind = assay_layout_kind(layout, t, a);
        if (kind == ASSAY_AXIS_SUM || kind == ASSAY_AXIS_OWN)
            return UNLIKE;
        found = kind == ASSAY_AXIS_UNKNOWN || kind == ASSAY_AXIS_PEERS ? UNKNOWN : found;
    }
    return found;
}

/* Have workers of the same names records of the tensors? */
static bool have_same_workers(const side *a, uint32_t first, const side *b, uint32_t second, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const assay_place x = copy_at(a, first, i), y = copy_at(b, second, i);
        if (strcmp(a->trial->catalog.worker[x.part->worker], b->trial->catalog.worker[y.part->worker]) != 0)
            return false;
    }
    return true;
}

/* Pairs what all workers have of a tensor: worker by worker where they have the same names, else copies with copies, so
 * that each is compared at least once. What may be pieces is compared, too: if it has the shape of the other trial's
 * tensor, it is none. What differs by design is named alone. */
static int pair_copies(assay_diff *d, const side *a, const side *b, const assay_diff_pair *found)
{
    assay_diff_pair pair = *found;
    if (!found->a.entry || !found->b.entry)
        return add_pair(d, found);
    const uint32_t first = found->a.entry->tensor, second = found->b.entry->tensor;
    const size_t mine = count_copies(a, first), theirs = count_copies(b, second), most = mine > theirs ? mine : theirs;
    const bool same = mine == theirs && have_same_workers(a, first, b, second, mine);
    const relation of_a = mine > 1 ? relation_of(a, first) : COPIES,
                   of_b = theirs > 1 ? relation_of(b, second) : COPIES;
    const bool unlike = !same && (of_a == UNLIKE || of_b == UNLIKE);
    pair.apart = !same && (of_a != COPIES || of_b != COPIES);
    int status = ASSAY_OK;
    for (size_t i = 0; i < (unlike ? 1 : most) && status == ASSAY_OK; i++) {
        pair.a = copy_at(a, first, i < mine ? i : 0);
        pair.b = copy_at(b, second, i < theirs ? i : 0);
        pair.worker = pair.a.part->worker;
        pair.other_worker = pair.b.part->worker;
        pair.unlike = unlike;
        status = add_pair(d, &pair);
    }
    return status;
}

/* ---- pairs ---- */

/* Both trials while their tensors are paired. */
typedef struct pairing {
    assay_diff *d;
    const assay_diff_options *options;
    side a, b;
    assay_buf text; /* the name that is looked for in the other trial */
} pairing;

static int pair_tensor(pairing *p, uint32_t tensor)
{
    assay_diff *d = p->d;
    const side *a = &p->a, *b = &p->b;
    assay_buf *text = &p->text;
    const bool all = a->worker == ALL_WORKERS;
    assay_diff_pair pair = {.step = a->step, .worker = all ? 0 : a->worker, .other_worker = all ? 0 : b->worker};
    size_t length = 0;
    if (!find_record(a, tensor, &pair.a))
        return ASSAY_OK;
    pair.name_a = assay_dict_name(d->a.tensors, tensor, &length);
    int status = other_name(p->options, pair.name_a, length, text, &pair.map);
    if (status == ASSAY_EBUDGET) { /* a pattern that gave up: as if it did not match */
        assay_buf_clear(text);
        assay_put_bytes(text, pair.name_a, length);
        status = assay_buf_status(text);
    }
    ASSAY_TRY(status);
    const uint32_t other = assay_dict_find(d->b.tensors, (const char *)text->data, text->size);
    if (!find_record(b, other, &pair.b))
        return is_alias(a, tensor) ? ASSAY_OK : add_single(&d->only_a, a, pair.name_a);
    b->met[other] = true;
    pair.name_b = assay_dict_name(d->b.tensors, other, &length);
    return all ? pair_copies(d, a, b, &pair) : add_pair(d, &pair);
}

/* A tensor that only the second trial has, and for which a map without a part names one of the first: tied weights that
 * one of them has twice. *paired: there is such a one. */
static int pair_back(pairing *p, uint32_t tensor, bool *paired)
{
    assay_diff *d = p->d;
    const side *a = &p->a, *b = &p->b;
    assay_buf *text = &p->text;
    const assay_name_map *map = NULL;
    size_t length = 0;
    const char *name = assay_dict_name(d->b.tensors, tensor, &length);
    const int status = other_name(p->options, name, length, text, &map);
    assay_diff_pair pair = {.step = a->step, .name_b = name};
    const uint32_t other = status == ASSAY_OK && map && map->ranges == 0 && !map->transposed
                               ? assay_dict_find(d->a.tensors, (const char *)text->data, text->size)
                               : ASSAY_NO_ID;
    *paired = find_record(a, other, &pair.a) && find_record(b, tensor, &pair.b);
    if (!*paired)
        return status == ASSAY_EBUDGET ? ASSAY_OK : status;
    pair.name_a = assay_dict_name(d->a.tensors, other, &length);
    if (a->worker == ALL_WORKERS)
        return pair_copies(d, a, b, &pair);
    pair.worker = a->worker;
    pair.other_worker = b->worker;
    return add_pair(d, &pair);
}

/* In the order in which the first trial saved them; names without a record at the end. */
static int compare_pairs(const void *x, const void *y)
{
    const assay_diff_pair *p = x, *q = y;
    const uintptr_t a = (uintptr_t)p->a.entry - 1, b = (uintptr_t)q->a.entry - 1;
    if (a != b)
        return a < b ? -1 : 1;
    const int names = strcmp(p->name_a, q->name_a);
    if (names != 0)
        return names;
    const int others = strcmp(p->name_b, q->name_b);
    return others ? others : (p->other_worker > q->other_worker) - (p->other_worker < q->other_worker);
}

static int pair_workers(pairing *p)
{
    assay_diff *d = p->d;
    const side *b = &p->b;
    const uint32_t theirs = assay_dict_count(d->b.tensors);
    const size_t before = d->pairs;
    int status = ASSAY_OK;
    memset(b->met, 0, theirs * sizeof *b->met);
    for (uint32_t t = 0; status == ASSAY_OK && t < assay_dict_count(d->a.tensors); t++)
        status = pair_tensor(p, t);
    for (uint32_t t = 0; status == ASSAY_OK && t < theirs; t++) {
        assay_place place;
        bool paired = false;
        if (b->met[t] || !find_record(b, t, &place) || is_alias(b, t))
            continue;
        status = pair_back(p, t, &paired);
        if (status == ASSAY_OK && !paired)
            status = add_single(&d->only_b, b, assay_dict_name(d->b.tensors, t, NULL));
    }
    if (d->pairs > before)
        qsort(d->pair + before, d->pairs - before, sizeof *d->pair, compare_pairs);
    return status;
}

static int pair_step(pairing *p, int64_t step_a, int64_t step_b)
{
    const assay_catalog *mine = &p->d->a.catalog, *theirs = &p->d->b.catalog;
    const bool alone = mine->workers == 1 && theirs->workers == 1;
    int status = ASSAY_OK;
    p->d->steps++;
    if (mine->topology || theirs->topology) {
        status = turn(&p->a, step_a, ALL_WORKERS);
        ASSAY_THEN(status, turn(&p->b, step_b, ALL_WORKERS));
        return status == ASSAY_OK ? pair_workers(p) : status;
    }
    for (uint32_t w = 0; status == ASSAY_OK && w < mine->workers; w++) {
        const uint32_t other = alone ? 0 : assay_catalog_worker(theirs, mine->worker[w]);
        if (other == ASSAY_NO_ID)
            continue;
        status = turn(&p->a, step_a, w);
        ASSAY_THEN(status, turn(&p->b, step_b, other));
        ASSAY_THEN(status, pair_workers(p));
    }
    return status;
}

/* The steps of a trial, which the caller frees, *count of them; NULL without memory. */
static int64_t *list_steps(const assay_trial_files *t, const assay_diff_options *o, size_t *count)
{
    int64_t *steps = assay_alloc((t->shard.count + 1) * sizeof *steps);
    *count = 0;
    for (size_t p = 0; steps && p < t->shard.count; p++) {
        const int64_t step = t->shard.parts[p].step;
        if ((*count == 0 || steps[*count - 1] != step) && step >= o->from && step < o->to)
            steps[(*count)++] = step;
    }
    return steps;
}

static int pair_steps(pairing *p)
{
    assay_diff *d = p->d;
    size_t mine = 0, theirs = 0, i = 0, k = 0;
    int status = ASSAY_OK;
    d->steps_a = list_steps(&d->a, p->options, &mine);
    d->steps_b = list_steps(&d->b, p->options, &theirs);
    ASSAY_HAVE(d->steps_a && d->steps_b);
    if (mine == 1 && theirs == 1)
        return pair_step(p, d->steps_a[0], d->steps_b[0]);
    while (status == ASSAY_OK && (i < mine || k < theirs)) {
        if (i < mine && k < theirs && d->steps_a[i] == d->steps_b[k]) {
            status = pair_step(p, d->steps_a[i], d->steps_b[k]);
            i++;
            k++;
        } else if (k == theirs || (i < mine && d->steps_a[i] < d->steps_b[k])) {
            d->steps_a[d->steps_only_a++] = d->steps_a[i++];
        } else {
            d->steps_b[d->steps_only_b++] = d->steps_b[k++];
        }
    }
    return status;
}

int assay_diff_pair_up(assay_diff *d, const assay_diff_options *o, assay_error *err)
{
    pairing p = {.d = d, .options = o, .a = {.trial = &d->a}, .b = {.trial = &d->b}, .text = ASSAY_BUF(SIZE_MAX)};
    p.b.met = assay_alloc_zeroed(assay_dict_count(d->b.tensors) + (size_t)1, sizeof *p.b.met);
    int status = p.b.met ? pair_steps(&p) : ASSAY_ENOMEM;
    free(p.b.met);
    assay_step_lookup_release(&p.a.lookup);
    assay_step_lookup_release(&p.b.lookup);
    assay_step_workers_release(&p.a.copies);
    assay_step_workers_release(&p.b.copies);
    assay_buf_release(&p.text);
    return status == ASSAY_ENOMEM ? assay_fail(err, status, "out of memory while tensors are paired") : status;
}
