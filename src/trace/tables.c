/* tables.c - what the rules over several ranks test: who came last, what ranks with the same role did, and how long
 * operations of a kind took in each group. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "trace/side.h"

static const char *text_of(const side *s, uint32_t text)
{
    return assay_trace_text(s->data, text);
}

/* ---- who came last ---- */

/* A rank's excesses along its kernels: what it lost itself between two of them. */
typedef struct losses {
    int64_t *sum;     /* [places + 1] of positive excesses of the kernels before, bins */
    uint64_t *behind; /* [kernels] the place behind the rank's previous operation in the same group */
    uint64_t *at;     /* [kernels] its place */
} losses;

/* `sum` runs over places of all ranks: differences of two sums are only asked within one rank. */
static int find_losses(const side *s, losses *l)
{
    const size_t groups = s->data->groups, kernels = s->c->kernel.count;
    uint64_t *last = assay_alloc((groups + 1) * sizeof *last), *last_start = assay_alloc((groups + 1) * sizeof *last);
    uint32_t *last_operation = assay_alloc((groups + 1) * sizeof *last_operation);
    l->sum = assay_alloc_zeroed(s->places + 1, sizeof *l->sum);
    l->behind = assay_alloc_zeroed(kernels + 1, sizeof *l->behind);
    l->at = assay_alloc_zeroed(kernels + 1, sizeof *l->at);
    const bool there = last && last_start && last_operation && l->sum && l->behind && l->at;
    for (size_t r = 0; r < s->rank.count && there; r++) {
        const side_rank *rank = &s->rank.list[r];
        for (size_t g = 0; g < groups; g++) {
            last[g] = last_start[g] = rank->first_place;
            last_operation[g] = ASSAY_NO_ID;
        }
        for (uint64_t p = rank->first_place; p < rank->first_place + rank->kernels; p++) {
            const uint32_t kernel = s->place[p];
            const kernel_mark *mark = &s->mark[kernel];
            l->sum[p + 1] = l->sum[p] + (mark->excess != TRACE_NONE && mark->excess > 0 ? mark->excess : 0);
            l->at[kernel] = p;
            if (mark->operation == ASSAY_NO_ID)
                continue;
            const uint32_t g = s->operation.list[mark->operation].group;
            /* A part of the same operation does not move the start: all its kernels count what lies behind the
             * operation before. */
            if (mark->operation != last_operation[g])
                last_start[g] = last[g];
            l->behind[kernel] = last_start[g];
            last_operation[g] = mark->operation;
            last[g] = p + 1;
        }
    }
    free(last);
    free(last_start);
    free(last_operation);
    return there ? ASSAY_OK : ASSAY_ENOMEM;
}

ASSAY_ORDER_BY(compare_late, assay_trace_late, step, group, rank)

/* Adds a row for each member, all but the last one's empty: the columns add up in join_late, and the count of
 * operations has to be that of all. */
static int add_late(side *s, const losses *l, const operation *o, void *rows)
{
    /* The member that came last has the shortest kernel: the others wait inside of theirs, so no clocks have to
     * agree. */
    ASSAY_VEC(assay_trace_late) *list = rows;
    const member *m = &s->member.list[o->first], *last = m;
    int64_t second = INT64_MAX;
    for (uint32_t i = 1; i < o->members; i++)
        if (m[i].end - m[i].begin < last->end - last->begin)
            last = &m[i];
    for (uint32_t i = 0; i < o->members; i++)
        if (&m[i] != last && m[i].end - m[i].begin < second)
            second = m[i].end - m[i].begin;
    /* What the group lost by the last one: how much later it came than the one before it. */
    const int64_t margin = second - (last->end - last->begin);
    /* The own loss is capped by the margin, since a rank that made up for it delayed nobody. */
    const int64_t lost = (l->sum[l->at[last->kernel] + 1] - l->sum[l->behind[last->kernel]]) * ASSAY_TRACE_BIN;
    for (uint32_t i = 0; i < o->members; i++) {
        assay_trace_late *row = assay_vec_add(&list->list, &list->count, &list->room, sizeof *list->list);
        ASSAY_HAVE(row);
        *row = (assay_trace_late){
            .step = o->step, .group = o->group, .rank = s->rank.list[m[i].rank].rank, .operations = 1};
        if (&m[i] == last) {
            row->last = 1;
            row->lost = margin;
            row->own = margin < lost ? margin : lost;
        }
    }
    return ASSAY_OK;
}

/* Adds rows of the same step, group and rank up. */
static size_t join_late(assay_trace_late *list, size_t count)
{
    size_t kept = 0;
    if (count > 1)
        qsort(list, count, sizeof *list, compare_late);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || compare_late(&list[kept - 1], &list[i]) != 0) {
            list[kept++] = list[i];
            continue;
        }
        assay_trace_late *to = &list[kept - 1];
        to->own = trace_add(to->own, list[i].own);
        to->lost = trace_add(to->lost, list[i].lost);
        to->last += list[i].last;
        to->operations += list[i].operations;
    }
    return kept;
}

/* `rows` is handed over even on failure: the data owns the list and frees it. */
int trace_find_late(side *s)
{
    losses l = {0};
    ASSAY_VEC(assay_trace_late) rows = {0};
    int status = find_losses(s, &l);
    for (size_t i = 0; i < s->operation.count && status == ASSAY_OK; i++)
        if (s->operation.list[i].matched && s->operation.list[i].symmetric)
            status = add_late(s, &l, &s->operation.list[i], &rows);
    free(l.sum);
    free(l.behind);
    free(l.at);
    s->data->lates = join_late(rows.list, rows.count);
    s->data->late = rows.list;
    return status;
}

/* ---- what ranks with the same role did ---- */

typedef struct called {              /* a kind of operation in a group, as roles have it */
    uint32_t description, operation; /* texts; description: ASSAY_NO_ID without one */
    int64_t size;                    /* of the group where there is no description */
    int64_t position;                /* in it, of a send or receive; else -1 */
} called;

/* Compared as bytes, so the struct may have no gaps: two of 4 bytes, then two of 8. */
static int compare_called(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(called));
}

/* Puts the role of a rank in a step as bytes: all kinds of operations, and its positions where it sends or receives.
 * Ranks with equal bytes do the same work, and are peers. */
static int put_role(const side *s, const side_rank *rank, uint32_t step, assay_buf *out)
{
    size_t count = 0;
    called *list = NULL;
    for (uint64_t p = rank->first_place; p < rank->first_place + rank->kernels; p++)
        count += s->mark[s->place[p]].step == step;
    list = assay_alloc_zeroed(count + 1, sizeof *list);
    ASSAY_HAVE(list);
    count = 0;
    for (uint64_t p = rank->first_place; p < rank->first_place + rank->kernels; p++) {
        const kernel_row *k = side_kernel(s, s->place[p]);
        const call_row *call = side_call(s, k->call);
        if (s->mark[s->place[p]].step != step)
            continue;
        called *to = &list[count++];
        const bool described = text_of(s, call->description)[0] != '\0';
        const char *name = text_of(s, call->operation);
        to->description = described ? call->description : ASSAY_NO_ID;
        to->operation = call->operation;
        to->size = described ? 0 : call->size;
        to->position = -1;
        if (k->group == ASSAY_NO_ID || (strcmp(name, "send") != 0 && strcmp(name, "recv") != 0))
            continue;
        const assay_trace_group *group = &s->data->group[s->group_of[k->group]];
        for (uint32_t m = 0; m < group->members; m++)
            if (group->member[m] == rank->rank)
                to->position = m;
    }
    qsort(list, count, sizeof *list, compare_called);
    assay_put_bytes(out, list, count * sizeof *list);
    free(list);
    return assay_buf_status(out);
}

const step_row *trace_window_of(const side *s, const side_rank *rank, uint32_t step)
{
    for (uint32_t f = 0; f < rank->files; f++) {
        const stretch *file = &s->file.list[rank->first + f];
        for (uint64_t i = 0; i < s->c->file.list[file->file].steps; i++)
            if (s->step_of[file->steps + i] == step && s->c->step.list[file->steps + i].has_window)
                return &s->c->step.list[file->steps + i];
    }
    return NULL;
}

/* Ranks without a window in the step have no row: they neither are peers nor are replayed. */
static int add_work(side *s, uint32_t step, assay_dict *roles, assay_buf *key)
{
    assay_trace_data *data = s->data;
    for (size_t r = 0; r < s->rank.count; r++) {
        const side_rank *rank = &s->rank.list[r];
        const step_row *row = rank->evaluated ? trace_window_of(s, rank, step) : NULL;
        if (!row)
            continue;
        assay_buf_clear(key);
        ASSAY_TRY(put_role(s, rank, step, key));
        data->work[data->works++] =
            (assay_trace_work){.step = step,
                               .rank = rank->rank,
                               .own = row->own * ASSAY_TRACE_BIN,
                               .busy = row->busy * ASSAY_TRACE_BIN,
                               .exposed = row->exposed * ASSAY_TRACE_BIN,
                               .input = row->input,
                               .from = row->from - data->clock[r],
                               .to = row->to - data->clock[r],
                               .role = assay_dict_add(roles, (const char *)key->data, key->size)};
        if (data->work[data->works - 1].role == ASSAY_NO_ID)
            return ASSAY_ENOMEM;
    }
    return ASSAY_OK;
}

static int compare_roles(const void *a, const void *b)
{
    const assay_trace_work *const *x = a, *const *y = b;
    const int order = ASSAY_ORDER((*x)->role, (*y)->role);
    return order ? order : ASSAY_ORDER((*x)->rank, (*y)->rank);
}

/* Finds medians over the ranks with the same role in a step. */
static int compare_peers(assay_trace_work *list, size_t count)
{
    assay_trace_work **by_role = assay_alloc((count + 1) * sizeof(assay_trace_work *));
    int64_t *values = assay_alloc((count + 1) * sizeof *values);
    for (size_t i = 0; by_role && i < count; i++)
        by_role[i] = &list[i];
    if (by_role && count > 1)
        qsort(by_role, count, sizeof *by_role, compare_roles);
    for (size_t from = 0, to; by_role && values && from < count; from = to) {
        int64_t median[3];
        for (to = from + 1; to < count && by_role[to]->role == by_role[from]->role;)
            to++;
        for (int what = 0; what < 3; what++) {
            for (size_t i = from; i < to; i++)
                values[i - from] = what == 0 ? by_role[i]->own : what == 1 ? by_role[i]->busy : by_role[i]->input;
            median[what] = trace_lower_median(values, to - from);
        }
        for (size_t i = from; i < to; i++) {
            by_role[i]->peers = (uint32_t)(to - from);
            by_role[i]->own_median = median[0];
            by_role[i]->busy_median = median[1];
            by_role[i]->input_median = median[2];
        }
    }
    const int status = by_role && values ? ASSAY_OK : ASSAY_ENOMEM;
    free(by_role);
    free(values);
    return status;
}

/* Rows of one step stay together, in order of ranks: what_if.c relies on it. */
int trace_find_work(side *s)
{
    assay_trace_data *data = s->data;
    assay_dict *roles = assay_dict_new();
    assay_buf key = ASSAY_BUF(SIZE_MAX);
    data->work = assay_alloc(((size_t)data->steps * s->rank.count + 1) * sizeof *data->work);
    int status = roles && data->work ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint32_t step = 0; step < data->steps && status == ASSAY_OK; step++) {
        const size_t first = data->works;
        status = add_work(s, step, roles, &key);
        ASSAY_THEN(status, compare_peers(data->work + first, data->works - first));
    }
    assay_buf_release(&key);
    assay_dict_free(roles);
    return status;
}

/* ---- operations of a kind ---- */

/* `size` is that of the group: a transfer among more ranks takes longer, so only groups of one size are compared. */
typedef struct classed {
    const side *s;
    const operation *o;
    uint32_t number;
    int64_t in, out, size;
} classed;

/* Compares by the class alone, whatever the group: texts and not their numbers, so that tables do not hang on the
 * order in which files came. */
static int compare_kinds(const classed *x, const classed *y)
{
    const side *s = x->s;
    const call_row *p = side_call(s, x->o->call), *q = side_call(s, y->o->call);
    int order = strcmp(text_of(s, p->operation), text_of(s, q->operation));
    order = order ? order : strcmp(text_of(s, p->description), text_of(s, q->description));
    order = order ? order : strcmp(text_of(s, p->dtype), text_of(s, q->dtype));
    order = order ? order : ASSAY_ORDER(x->in, y->in);
    order = order ? order : ASSAY_ORDER(x->out, y->out);
    return order ? order : ASSAY_ORDER(x->size, y->size);
}

static int compare_classed(const void *a, const void *b)
{
    const classed *x = a, *y = b;
    int order = compare_kinds(x, y);
    order = order ? order : ASSAY_ORDER(x->o->group, y->o->group);
    order = order ? order : ASSAY_ORDER(x->o->step, y->o->step);
    order = order ? order : ASSAY_ORDER(x->o->number, y->o->number);
    return order ? order : ASSAY_ORDER(x->number, y->number);
}

static int add_class(side *s, const classed *list, size_t count)
{
    assay_trace_data *data = s->data;
    const call_row *call = side_call(s, list->o->call);
    int64_t *durations = assay_alloc((count + 1) * sizeof *durations);
    ASSAY_HAVE(durations);
    assay_trace_class *class = &data->kind[data->classes++];
    *class = (assay_trace_class){.group = list->o->group,
                                 .operation = text_of(s, call->operation),
                                 .dtype = text_of(s, call->dtype),
                                 .description = text_of(s, call->description),
                                 .in = list->in == TRACE_NONE ? -1 : list->in,
                                 .out = list->out == TRACE_NONE ? -1 : list->out,
                                 .operations = count,
                                 .others = -1,
                                 .first = data->transfers};
    for (size_t i = 0; i < count; i++) {
        data->transfer[data->transfers++] =
            (assay_trace_transfer){list[i].o->step, list[i].o->transfer, list[i].o->number};
        durations[i] = list[i].o->transfer;
    }
    class->median = trace_lower_median(durations, count);
    free(durations);
    return ASSAY_OK;
}

static int compare_medians(const void *a, const void *b)
{
    const assay_trace_class *const *x = a, *const *y = b;
    const int order = ASSAY_ORDER((*x)->median, (*y)->median);
    return order ? order : ASSAY_ORDER(*x, *y);
}

/* Gives each group's median the lower median of those of the other groups. */
static int compare_with_others(assay_trace_class *list, size_t count)
{
    assay_trace_class **sorted = assay_alloc((count + 1) * sizeof(assay_trace_class *));
    ASSAY_HAVE(sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &list[i];
    qsort(sorted, count, sizeof *sorted, compare_medians);
    for (size_t i = 0; i < count && count > 1; i++) {
        const size_t middle = (count - 2) / 2;
        sorted[i]->others = sorted[middle + (i <= middle)]->median;
    }
    free(sorted);
    return ASSAY_OK;
}

/* Sets what the transfers of a class would take in a sound group, for the simulation. */
static void set_goals(side *s, const classed *list, size_t count, const assay_trace_class *class)
{
    int64_t goal = class->median;
    if (class->others >= 0 && (double)class->median > TRACE_SLOW_RATIO * (double)class->others)
        goal = class->others;
    for (size_t i = 0; i < count; i++)
        s->transfer_goal[list[i].number] = goal;
}

/* Adds the groups of one kind: [from, to) of the list. */
static int add_kind(side *s, const classed *list, size_t from, size_t to)
{
    const size_t first = s->data->classes;
    int status = ASSAY_OK;
    for (size_t i = from, end; i < to && status == ASSAY_OK; i = end) {
        for (end = i + 1; end < to && list[end].o->group == list[i].o->group;)
            end++;
        status = add_class(s, list + i, end - i);
    }
    ASSAY_THEN(status, compare_with_others(s->data->kind + first, s->data->classes - first));
    for (size_t i = from, c = first; i < to && status == ASSAY_OK; c++) {
        const size_t count = (size_t)s->data->kind[c].operations;
        set_goals(s, list + i, count, &s->data->kind[c]);
        i += count;
    }
    return status;
}

static int compare_class_order(const void *a, const void *b)
{
    const assay_trace_class *x = a, *y = b;
    int order = ASSAY_ORDER(x->group, y->group);
    order = order ? order : strcmp(x->operation, y->operation);
    order = order ? order : strcmp(x->dtype, y->dtype);
    order = order ? order : ASSAY_ORDER(x->in, y->in);
    order = order ? order : ASSAY_ORDER(x->out, y->out);
    return order ? order : ASSAY_ORDER(x->first, y->first);
}

/* Sorting last moves the classes; `first` still leads each to its transfers. all_to_all has no sizes, since they
 * differ by rank. */
int trace_find_classes(side *s)
{
    assay_trace_data *data = s->data;
    const size_t all = s->operation.count;
    classed *list = assay_alloc((all + 1) * sizeof *list);
    size_t count = 0;
    data->kind = assay_alloc_zeroed(all + 1, sizeof *data->kind);
    data->transfer = assay_alloc((all + 1) * sizeof *data->transfer);
    s->transfer_goal = assay_alloc_zeroed(all + 1, sizeof *s->transfer_goal);
    int status = list && data->kind && data->transfer && s->transfer_goal ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; i < all && status == ASSAY_OK; i++) {
        const operation *o = &s->operation.list[i];
        if (!o->matched || !o->whole || !o->symmetric)
            continue;
        const call_row *call = side_call(s, o->call);
        const bool sizes = !trace_is_all_to_all(text_of(s, call->operation));
        list[count++] = (classed){.s = s,
                                  .o = o,
                                  .number = (uint32_t)i,
                                  .in = sizes ? call->in : TRACE_NONE,
                                  .out = sizes ? call->out : TRACE_NONE,
                                  .size = data->group[o->group].members};
    }
    if (count > 1)
        qsort(list, count, sizeof *list, compare_classed);
    for (size_t from = 0, to; from < count && status == ASSAY_OK; from = to) {
        for (to = from + 1; to < count && compare_kinds(&list[from], &list[to]) == 0;)
            to++;
        status = add_kind(s, list, from, to);
    }
    if (status == ASSAY_OK && data->classes > 1)
        qsort(data->kind, data->classes, sizeof *data->kind, compare_class_order);
    free(list);
    return status;
}
