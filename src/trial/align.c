/* align.c - see align.h. */
#include "trial/align.h"

#include <stdlib.h>

#include "base/fault.h"
#include "base/hash.h"
#include "base/runs.h"
#include "base/search.h"
#include "trial/trial_format.h"

#define NONE UINT32_MAX

/* Called per part, in the order of the trial's steps: false once a step cannot be that of all workers, and then steps
 * are aligned. */
bool assay_step_check_next(assay_step_check *check, int64_t step, int mode, int64_t mode_step)
{
    if (mode < 0 || mode >= ASSAY_MODES)
        return false;
    if (check->begun && step == check->step)
        return mode == check->mode && mode_step == check->mode_step;
    bool ascends = !check->seen[mode] || mode_step > check->last[mode];
    check->begun = check->seen[mode] = true;
    check->step = step;
    check->mode = mode;
    check->mode_step = check->last[mode] = mode_step;
    return ascends;
}

/* Steps are identified by mode, mode step and occurrence, not by number: workers may count differently, but the n-th
 * step of a mode is the same work. */
typedef struct node { /* a step of all workers */
    int64_t mode_step;
    int64_t number;      /* as its lowest worker counts, in the end as all do */
    uint32_t occurrence; /* so many steps of a worker have the same mode and mode step before it */
    uint32_t worker;     /* the lowest one that has it */
    uint32_t last;       /* the worker that had it last */
    uint32_t had;        /* of the first occurrence: how many of them that worker had */
    uint32_t next;       /* in the order of steps */
    uint8_t mode;
} node;

typedef struct aligner {
    node *nodes;
    uint32_t count;
    uint32_t *table; /* of nodes by (mode, mode step, occurrence); NONE: free */
    size_t mask;
    uint32_t head;
    uint32_t *of_row; /* the node of each row */
    uint32_t *order;  /* nodes as they come behind one another */
    uint32_t *bound;  /* of each in that order: the place of the next node of a lower worker, or NONE */
} aligner;

static size_t slot_of(const aligner *a, int mode, int64_t mode_step, uint32_t occurrence)
{
    const int64_t key[] = {mode, mode_step, occurrence};
    size_t slot = assay_hash_bytes(key, sizeof key) & a->mask;
    for (;; slot = (slot + 1) & a->mask) {
        const node *n = a->table[slot] == NONE ? NULL : &a->nodes[a->table[slot]];
        if (!n || (n->mode == mode && n->mode_step == mode_step && n->occurrence == occurrence))
            return slot;
    }
}

/* The node of a worker's step; a new one comes behind the node `before` (NONE: in front of all). `before` is the
 * worker's own step in front of this one: so every worker's steps come in its own order in the list of all. */
static uint32_t node_of(aligner *a, const assay_worker_step *row, uint32_t before)
{
    const uint32_t first = a->table[slot_of(a, row->mode, row->mode_step, 0)];
    const uint32_t occurrence = first != NONE && a->nodes[first].last == row->worker ? a->nodes[first].had : 0;
    const size_t slot = slot_of(a, row->mode, row->mode_step, occurrence);
    uint32_t found = a->table[slot];
    if (found == NONE) {
        found = a->table[slot] = a->count++;
        uint32_t *link = before == NONE ? &a->head : &a->nodes[before].next;
        a->nodes[found] = (node){.mode_step = row->mode_step,
                                 .number = row->own,
                                 .occurrence = occurrence,
                                 .worker = row->worker,
                                 .next = *link,
                                 .mode = row->mode};
        *link = found;
    }
    a->nodes[found].last = row->worker;
    a->nodes[first == NONE ? found : first].had = occurrence + 1;
    return found;
}

/* Makes the numbers ascend. A node keeps its own where that lies behind the one before and in front of the next that
 * a lower worker has: lower workers' numbers are the ones that people know. `order` has room for all nodes, as has
 * `bound`. */
static void number_nodes(aligner *a)
{
    uint32_t count = 0, *order = a->order, *bound = a->bound;
    for (uint32_t n = a->head; n != NONE; n = a->nodes[n].next)
        order[count++] = n;
    for (uint32_t i = count; i-- > 0;) { /* the next node of a lower worker, by way of those behind */
        uint32_t k = i + 1 < count ? i + 1 : NONE;
        while (k != NONE && a->nodes[order[k]].worker >= a->nodes[order[i]].worker)
            k = bound[k];
        bound[i] = k;
    }
    int64_t last = INT64_MIN;
    for (uint32_t i = 0; i < count; i++) {
        node *n = &a->nodes[order[i]];
        bool fits = n->number > last && (bound[i] == NONE || n->number < a->nodes[order[bound[i]]].number);
        /* Numbers at the end of int64 cannot go on; they stay equal there. */
        n->number = fits || i == 0 ? n->number : last + (last < INT64_MAX);
        last = n->number;
    }
}

static int compare_rows(const void *a, const void *b)
{
    const assay_worker_step *x = *(assay_worker_step *const *)a, *y = *(assay_worker_step *const *)b;
    if (x->worker != y->worker)
        return x->worker < y->worker ? -1 : 1;
    if (x->own != y->own)
        return x->own < y->own ? -1 : 1;
    if (x->by_mode != y->by_mode)
        return x->by_mode ? 1 : -1;
    if (x->by_mode && x->mode != y->mode)
        return x->mode < y->mode ? -1 : 1;
    /* Rows are compared by address last, so equal ones keep the order in which they were given. */
    return (x > y) - (x < y);
}

static bool same_number(const assay_worker_step *a, const assay_worker_step *b)
{
    return a->worker == b->worker && a->own == b->own;
}

/* Lists where shifts change; only counts them where `list` is NULL. A shift holds from its number on, until the next
 * of the same worker: rows of one shift take one item. One with a mode counts at its number alone. */
static size_t list_shifts(assay_worker_step *const *sorted, size_t count, assay_step_shift *list)
{
    size_t changes = 0;
    assay_step_shift last = {0};
    const assay_worker_step *first = NULL; /* of its number */
    for (size_t i = 0; i < count; i++) {
        const assay_worker_step *row = sorted[i];
        assay_step_shift now = {row->worker, row->own, row->step - row->own, ASSAY_MODE_NONE};
        if (!first || !same_number(first, row)) {
            if (!first || first->worker != row->worker)
                last = (assay_step_shift){0};
            first = row;
            if (last.mode == ASSAY_MODE_NONE && last.shift == now.shift)
                continue;
        } else {
            now.mode = row->mode;
            if (row->step == first->step || row->step == sorted[i - 1]->step)
                continue;
        }
        if (list)
            list[changes] = now;
        last = now;
        changes++;
    }
    return changes;
}

static int note_shifts(assay_worker_step *const *sorted, size_t count, assay_step_shifts *shifts)
{
    shifts->count = list_shifts(sorted, count, NULL);
    shifts->list = assay_alloc_zeroed(shifts->count, sizeof *shifts->list);
    if (!shifts->list) {
        shifts->count = 0;
        return ASSAY_ENOMEM;
    }
    list_shifts(sorted, count, shifts->list);
    return ASSAY_OK;
}

static int align(aligner *a, assay_worker_step **sorted, size_t count, assay_step_shifts *shifts)
{
    uint32_t *of_row = a->of_row;
    for (size_t i = 0; i <= a->mask; i++)
        a->table[i] = NONE;
    assay_sort_runs(sorted, count, sizeof *sorted, compare_rows);
    uint32_t before = NONE; /* the last node of the worker */
    /* `first` is the first row of a number. Formats that count by mode have several steps under one number: each mode
     * of it is a step of its own. */
    for (size_t i = 0, first = 0; i < count; i++) {
        const assay_worker_step *row = sorted[i];
        if (i == 0 || !same_number(sorted[first], row)) {
            before = i > 0 && sorted[i - 1]->worker == row->worker ? before : NONE;
            first = i;
            before = of_row[i] = node_of(a, row, before);
        } else if (!row->by_mode || row->mode == sorted[first]->mode) {
            of_row[i] = of_row[first];
        } else if (sorted[i - 1]->by_mode && row->mode == sorted[i - 1]->mode) {
            of_row[i] = of_row[i - 1];
        } else {
            before = of_row[i] = node_of(a, row, before);
        }
    }
    number_nodes(a);
    for (size_t i = 0; i < count; i++)
        sorted[i]->step = a->nodes[of_row[i]].number;
    return note_shifts(sorted, count, shifts);
}

int assay_steps_align(assay_worker_step *rows, size_t count, assay_step_shifts *shifts)
{
    /* At least two slots a row: look-ups stay short. */
    size_t room = 16;
    while (room < 2 * count)
        room *= 2;
    if (count >= NONE / 2)
        return ASSAY_ENOMEM;
    assay_worker_step **sorted = assay_alloc_zeroed(count, sizeof *sorted);
    /* One allocation for three lists of as many numbers. */
    uint32_t *numbers = assay_alloc_zeroed(3 * count, sizeof *numbers);
    aligner a = {.nodes = assay_alloc_zeroed(count, sizeof *a.nodes),
                 .table = assay_alloc(room * sizeof *a.table),
                 .mask = room - 1,
                 .head = NONE};
    int status = a.nodes && a.table && sorted && numbers ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; status == ASSAY_OK && i < count; i++)
        sorted[i] = &rows[i];
    if (status == ASSAY_OK) {
        a.of_row = numbers;
        a.order = numbers + count;
        a.bound = numbers + 2 * count;
        status = align(&a, sorted, count, shifts);
    }
    free(a.nodes);
    free(a.table);
    free(sorted);
    free(numbers);
    return status;
}

/* ---- shifts ---- */

typedef enum counted { BY_WORKER, BY_ALL } counted;

/* Does the shift begin at or before a number, of the worker's own or of all? */
static bool begins_before(const assay_step_shift *s, uint32_t worker, int64_t number, int mode, counted by)
{
    if (s->worker != worker)
        return s->worker < worker;
    if (by == BY_ALL)
        return s->own + s->shift <= number;
    return s->own < number || (s->own == number && s->mode <= mode);
}

/* The shift of a worker at a number. */
static int64_t shift_at(const assay_step_shifts *shifts, uint32_t worker, int64_t number, int mode, counted by)
{
    const assay_step_shift *list = shifts->list;
    size_t low = 0;
    /* Shifts of one worker ascend by own and by common numbers alike, so one search serves both ways of counting. */
    ASSAY_SEARCH(low, shifts->count, begins_before(&list[low], worker, number, mode, by));
    for (; low > 0 && list[low - 1].worker == worker; low--) { /* at most one a mode counts for one number only */
        const assay_step_shift *s = &list[low - 1];
        if (s->mode == ASSAY_MODE_NONE ||
            (by == BY_ALL ? s->own + s->shift == number : s->own == number && s->mode == mode))
            return s->shift;
    }
    return 0;
}

int64_t assay_step_own(const assay_step_shifts *shifts, uint32_t worker, int64_t step)
{
    return step - shift_at(shifts, worker, step, ASSAY_MODE_NONE, BY_ALL);
}

int64_t assay_step_of_all(const assay_step_shifts *shifts, uint32_t worker, int64_t own, int mode)
{
    return own + shift_at(shifts, worker, own, mode, BY_WORKER);
}

/* 4 + 8 + 8 + 1 bytes a shift, which unpacking counts on. */
void assay_step_shifts_pack(const assay_step_shifts *shifts, assay_buf *out)
{
    assay_put_u64(out, shifts->count);
    for (size_t i = 0; i < shifts->count; i++) {
        assay_put_u32(out, shifts->list[i].worker);
        assay_put_i64(out, shifts->list[i].own);
        assay_put_i64(out, shifts->list[i].shift);
        assay_put_u8(out, shifts->list[i].mode);
    }
}

int assay_step_shifts_unpack(assay_cursor *in, assay_step_shifts *out)
{
    *out = (assay_step_shifts){.count = assay_get_count(in, 21)};
    if (out->count == 0)
        return in->failed ? ASSAY_EFORMAT : ASSAY_OK;
    out->list = assay_alloc_zeroed(out->count, sizeof *out->list);
    if (!out->list) {
        out->count = 0;
        return ASSAY_ENOMEM;
    }
    for (size_t i = 0; i < out->count; i++) {
        out->list[i].worker = assay_get_u32(in);
        out->list[i].own = assay_get_i64(in);
        out->list[i].shift = assay_get_i64(in);
        out->list[i].mode = assay_get_u8(in);
    }
    return in->failed ? ASSAY_EFORMAT : ASSAY_OK;
}

void assay_step_shifts_release(assay_step_shifts *shifts)
{
    free(shifts->list);
    *shifts = (assay_step_shifts){0};
}

/* ---- a whole index ---- */

/* own is the number that the worker itself counted; align() writes the common one into `step`. */
assay_worker_step assay_part_worker_step(const assay_part *part)
{
    return (assay_worker_step){.own = part->step,
                               .mode_step = part->mode_step,
                               .worker = part->worker,
                               .mode = part->mode,
                               .by_mode = assay_format_of(part->format)->by_mode};
}

bool assay_catalog_has_modes(const assay_catalog *catalog)
{
    bool has = false;
    for (uint32_t i = 0; i < catalog->format_count && !has; i++)
        has = assay_format_of(catalog->formats[i])->by_mode;
    return has;
}

static int compare_units(const void *a, const void *b)
{
    return assay_unit_compare(a, b);
}

/* Collective callers (engine/source) do this on every rank with the same shifts, so that catalogs stay the same
 * everywhere. */
void assay_catalog_align(assay_catalog *catalog, const assay_step_shifts *shifts)
{
    if (shifts->count == 0 || catalog->unit_count == 0)
        return;
    for (size_t i = 0; i < catalog->unit_count; i++) {
        assay_unit *unit = &catalog->units[i];
        unit->step = assay_step_of_all(shifts, unit->worker, unit->step, unit->mode);
    }
    assay_sort_runs(catalog->units, catalog->unit_count, sizeof *catalog->units, compare_units);
}

int assay_shard_align(assay_shard *shard, assay_catalog *catalog)
{
    assay_step_shifts shifts = {0};
    assay_step_check check = {0};
    /* Nearly every trial is in order as it is: one pass tells, and nothing is allocated. */
    size_t alike = 0;
    while (alike < shard->count && assay_step_check_next(&check, shard->parts[alike].step, shard->parts[alike].mode,
                                                         shard->parts[alike].mode_step))
        alike++;
    if (alike == shard->count || (catalog->workers < 2 && !assay_catalog_has_modes(catalog)))
        return ASSAY_OK;
    assay_worker_step *rows = assay_alloc_zeroed(shard->count, sizeof *rows);
    ASSAY_HAVE(rows);
    for (size_t p = 0; p < shard->count; p++)
        rows[p] = assay_part_worker_step(&shard->parts[p]);
    int status = assay_steps_align(rows, shard->count, &shifts);
    for (size_t p = 0; status == ASSAY_OK && p < shard->count; p++)
        shard->parts[p].step = rows[p].step;
    free(rows);
    ASSAY_THEN(status, assay_shard_sort(shard));
    if (status == ASSAY_OK)
        assay_catalog_align(catalog, &shifts);
    assay_step_shifts_release(&shifts);
    return status;
}

void assay_align_name_apart(const assay_catalog *catalog, size_t before, size_t after, const assay_manifest *claims,
                            assay_problems *problems)
{
    size_t count = 0;
    for (size_t i = 0; i < claims->count; i++)
        count += claims->list[i].kind == ASSAY_CLAIM_PROMISED;
    /* Pieces of a tensor are put together by step number; a trial without a topology has no such tensors. */
    if (catalog->topology && after < before && count > 0)
        assay_problems_add(problems, ASSAY_PROBLEM_INCOMPLETE_TENSOR, -1, "", -1,
                           "workers count their steps differently, and pieces of tensors are put together only where "
                           "the numbers are the same: for this or another reason %zu tensor%s of a step %s not whole, "
                           "and not evaluated",
                           count, assay_plural(count), count == 1 ? "is" : "are");
}
