/* match.c - which kernels of which ranks are one operation.
 *
 * 1. Groups are named by their keys: name and ranks.
 * 2. Each kernel gets a number within its group: Seq where every kernel of the group has one; else its step, and its
 *    place there in order of launches. Sends and receives count for each pair of ranks.
 * 3. Kernels with the same number are an operation. It is matched where all members that have a file have it, and it is
 *    the same thing to all of them.
 * 4. The excess of a member is its own time before the kernel, over the lower median of the members. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "trace/side.h"

/* Of an even number the lower one is taken, so that it is always the figure of some rank. */
int64_t trace_lower_median(int64_t *list, size_t n)
{
    assay_sort_integers(list, n);
    return list[(n - 1) / 2];
}

/* ---- what operations are called ---- */

/* Finds the text behind one of the words at its beginning, an underscore between their parts or not; NULL: none of
 * them. */
static const char *behind_word(const char *text, const char *const *words)
{
    for (; *words; words++) {
        const char *p = text;
        for (const char *w = *words; p && *w; w++) {
            if (*w == '_')
                p += *p == '_';
            else
                p = tolower((unsigned char)*p) == *w ? p + 1 : NULL;
        }
        if (p)
            return p;
    }
    return NULL;
}

/* _?(all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|barrier)\w* in any case */
static bool is_symmetric(const char *name)
{
    static const char *const words[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier", NULL};
    const char *p = behind_word(name + (*name == '_'), words);
    while (p && (isalnum((unsigned char)*p) || *p == '_'))
        p++;
    return p && *p == '\0';
}

bool trace_is_all_to_all(const char *name)
{
    static const char *const words[] = {"all_to_all", NULL};
    return behind_word(name + (*name == '_'), words) != NULL;
}

static const char *text_of(const side *s, uint32_t text)
{
    return assay_trace_text(s->data, text);
}

typedef enum pair_end { PAIR_NONE, PAIR_SEND, PAIR_RECEIVE } pair_end;

static pair_end end_of(const side *s, const kernel_row *k)
{
    const char *name = text_of(s, side_call(s, k->call)->operation);
    if (strcmp(name, "send") == 0)
        return PAIR_SEND;
    return strcmp(name, "recv") == 0 ? PAIR_RECEIVE : PAIR_NONE;
}

/* Tells between which ranks a send or receive is; -1: not said. PyTorch says the other side alone. */
typedef struct pair_ranks {
    int32_t source, destination;
} pair_ranks;

static pair_ranks ranks_of(const side *s, uint32_t kernel)
{
    const kernel_row *k = side_kernel(s, kernel);
    const int32_t own = s->rank.list[s->mark[kernel].rank].rank;
    const pair_end end = end_of(s, k);
    pair_ranks ranks = {k->source, k->destination};
    if (end == PAIR_SEND && ranks.source < 0 && ranks.destination >= 0)
        ranks.source = own;
    if (end == PAIR_RECEIVE && ranks.destination < 0 && ranks.source >= 0)
        ranks.destination = own;
    return ranks;
}

/* ---- groups ---- */

static bool has_rank(const assay_trace_group *group, int32_t rank)
{
    const size_t at = assay_lower_bound(group->member, group->members, sizeof rank, &rank, assay_order_i32);
    return at < group->members && group->member[at] == rank;
}

typedef struct keyed_group {
    assay_trace_group group;
    uint32_t key;
} keyed_group;

static int compare_groups(const void *a, const void *b)
{
    const keyed_group *x = a, *y = b;
    const uint32_t least = x->group.members < y->group.members ? x->group.members : y->group.members;
    for (uint32_t i = 0; i < least; i++)
        if (x->group.member[i] != y->group.member[i])
            return x->group.member[i] < y->group.member[i] ? -1 : 1;
    if (x->group.members != y->group.members)
        return x->group.members < y->group.members ? -1 : 1;
    return assay_natural_order(x->group.name, y->group.name);
}

/* Takes a key apart. The ranks behind the name may lie at any address, hence the copy. */
static int read_group(side *s, uint32_t key, keyed_group *to)
{
    size_t length = 0;
    const char *text = assay_dict_name(s->c->texts, key, &length);
    const size_t name = strnlen(text, length) + 1;
    const size_t members = (length - name) / sizeof(int32_t);
    *to = (keyed_group){.key = key, .group = {.name = text, .description = "", .members = (uint32_t)members}};
    to->group.member = assay_alloc(members * sizeof(int32_t));
    ASSAY_HAVE(to->group.member);
    memcpy(to->group.member, text + name, members * sizeof(int32_t));
    return ASSAY_OK;
}

static int number_groups(side *s, keyed_group *list, size_t count)
{
    assay_trace_data *data = s->data;
    if (count > 1)
        qsort(list, count, sizeof *list, compare_groups);
    data->group = assay_alloc_zeroed(count + 1, sizeof *data->group);
    s->group = assay_alloc_zeroed(count + 1, sizeof *s->group);
    if (!data->group || !s->group)
        return ASSAY_ENOMEM;
    for (size_t g = 0; g < count; g++) {
        data->group[g] = list[g].group;
        /* The members belong to the data from here on. */
        list[g].group.member = NULL;
        s->group[g].key = list[g].key;
        s->group_of[list[g].key] = (uint32_t)g;
    }
    data->groups = count;
    for (size_t g = 0; g < count; g++)
        for (uint32_t m = 0; m < data->group[g].members; m++) {
            const side_rank *rank = side_find_rank(s, data->group[g].member[m]);
            s->group[g].with_file += rank && rank->evaluated;
        }
    return ASSAY_OK;
}

static int find_groups(side *s)
{
    ASSAY_VEC(keyed_group) found = {0};
    const uint32_t texts = assay_dict_count(s->c->texts);
    int status = ASSAY_OK;
    s->group_of = assay_alloc((texts + (size_t)1) * sizeof *s->group_of);
    ASSAY_HAVE(s->group_of);
    for (uint32_t i = 0; i < texts; i++)
        s->group_of[i] = ASSAY_NO_ID;
    for (uint64_t p = 0; p < s->places && status == ASSAY_OK; p++) {
        const uint32_t key = side_kernel(s, s->place[p])->group;
        if (key == ASSAY_NO_ID || s->group_of[key] != ASSAY_NO_ID)
            continue;
        keyed_group *to = ASSAY_VEC_ADD(&found);
        status = to ? read_group(s, key, to) : ASSAY_ENOMEM;
        /* Any number but ASSAY_NO_ID: it only marks the key as seen, number_groups sets the real one. */
        s->group_of[key] = 0;
    }
    ASSAY_THEN(status, number_groups(s, found.list, found.count));
    for (size_t g = 0; g < found.count; g++)
        free(found.list[g].group.member);
    free(found.list);
    for (uint64_t p = s->places; p-- > 0 && status == ASSAY_OK;) { /* that of the first rank is left */
        const kernel_row *k = side_kernel(s, s->place[p]);
        if (k->group != ASSAY_NO_ID)
            s->data->group[s->group_of[k->group]].description = text_of(s, side_call(s, k->call)->description);
    }
    return status;
}

/* ---- numbers ---- */

typedef struct numbered { /* a kernel with what it is numbered by */
    uint32_t group, rank, kernel;
    uint8_t end;    /* pair_end */
    uint8_t lone;   /* a send or receive that does not say between whom */
    int64_t key[3]; /* number, or (step, place), or (pair, step, place) */
    int64_t launch;
} numbered;

/* Compares in the order in which places are counted. */
static int compare_counted(const void *a, const void *b)
{
    const numbered *x = a, *y = b;
    int order = ASSAY_ORDER(x->group, y->group);
    order = order ? order : ASSAY_ORDER(x->rank, y->rank);
    order = order ? order : ASSAY_ORDER(x->end, y->end);
    order = order ? order : ASSAY_ORDER(x->key[0], y->key[0]);
    order = order ? order : ASSAY_ORDER(x->key[1], y->key[1]);
    order = order ? order : ASSAY_ORDER(x->launch, y->launch);
    return order ? order : ASSAY_ORDER(x->kernel, y->kernel);
}

/* Compares in the order in which they are one operation. */
static int compare_numbered(const void *a, const void *b)
{
    const numbered *x = a, *y = b;
    int order = ASSAY_ORDER(x->group, y->group);
    order = order ? order : ASSAY_ORDER(x->end != PAIR_NONE, y->end != PAIR_NONE);
    order = order ? order : ASSAY_ORDER(x->lone, y->lone);
    for (int i = 0; i < 3 && !order; i++)
        order = ASSAY_ORDER(x->key[i], y->key[i]);
    order = order ? order : ASSAY_ORDER(x->rank, y->rank);
    return order ? order : ASSAY_ORDER(x->kernel, y->kernel);
}

/* Tells of each group whether every kernel has Seq, but for sends and receives. */
static bool *find_sequenced(const side *s)
{
    bool *all = assay_alloc((s->data->groups + 1) * sizeof *all);
    for (size_t g = 0; all && g < s->data->groups; g++)
        all[g] = true;
    for (uint64_t p = 0; all && p < s->places; p++) {
        const kernel_row *k = side_kernel(s, s->place[p]);
        if (k->group != ASSAY_NO_ID && k->sequence == TRACE_NONE && end_of(s, k) == PAIR_NONE)
            all[s->group_of[k->group]] = false;
    }
    return all;
}

/* Sequence numbers are used for a whole group or not at all: half of them would match kernels with others' places. */
static void number_kernel(const side *s, const bool *sequenced, uint32_t kernel, numbered *to)
{
    const kernel_row *k = side_kernel(s, kernel);
    const kernel_mark *mark = &s->mark[kernel];
    *to = (numbered){.group = s->group_of[k->group], .rank = mark->rank, .kernel = kernel, .launch = k->launch};
    to->end = (uint8_t)end_of(s, k);
    const pair_ranks pair = ranks_of(s, kernel);
    to->lone = to->end != PAIR_NONE && (pair.source < 0 || pair.destination < 0);
    if (to->lone) {
        /* A lone one shares its number with no other, so it becomes an operation of one member. */
        to->key[0] = kernel;
    } else if (to->end != PAIR_NONE) {
        to->key[0] = (int64_t)pair.source << 32 | pair.destination;
        to->key[1] = mark->step;
    } else if (sequenced[to->group]) {
        to->key[0] = k->sequence;
    } else {
        to->key[0] = 0;
        to->key[1] = mark->step;
    }
}

/* Counts places of those that have no number of their own. The list is in the order of compare_counted. */
static void count_places(const bool *sequenced, numbered *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        numbered *n = &list[i];
        const numbered *last = i > 0 ? &list[i - 1] : NULL;
        if (n->end == PAIR_NONE && sequenced[n->group])
            continue;
        const bool goes_on = last && last->group == n->group && last->rank == n->rank && last->end == n->end &&
                             last->lone == n->lone && last->key[0] == n->key[0] && last->key[1] == n->key[1];
        n->key[2] = goes_on ? last->key[2] + 1 : 0;
    }
}

/* ---- operations ---- */

/* A member's sizes: kernels that share a number are one part. */
typedef struct part {
    int64_t in, out;
} part;

static void add_part(const side *s, part *to, uint32_t kernel)
{
    const call_row *call = side_call(s, side_kernel(s, kernel)->call);
    to->in = call->in == TRACE_NONE ? to->in : trace_add(to->in, call->in);
    to->out = call->out == TRACE_NONE ? to->out : trace_add(to->out, call->out);
}

/* Tells whether two parts are the same thing to both. */
static bool is_alike(const side *s, uint32_t a, const part *x, uint32_t b, const part *y, bool pair)
{
    const call_row *p = side_call(s, side_kernel(s, a)->call), *q = side_call(s, side_kernel(s, b)->call);
    if (p->dtype != q->dtype)
        return false;
    if (pair)
        return (x->in > x->out ? x->in : x->out) == (y->in > y->out ? y->in : y->out);
    return p->operation == q->operation &&
           (trace_is_all_to_all(text_of(s, p->operation)) || (x->in == y->in && x->out == y->out));
}

/* Tells whether there are a send at the source and a receive at the destination. */
static bool is_whole_pair(const side *s, const operation *o)
{
    if (o->members != 2)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        const member *m = &s->member.list[o->first + i];
        const kernel_row *k = side_kernel(s, m->kernel);
        const pair_ranks pair = ranks_of(s, m->kernel);
        if (s->rank.list[m->rank].rank != (end_of(s, k) == PAIR_SEND ? pair.source : pair.destination))
            return false;
    }
    return end_of(s, side_kernel(s, s->member.list[o->first].kernel)) !=
           end_of(s, side_kernel(s, s->member.list[o->first + 1].kernel));
}

/* Members without a file are not waited for: matched among those that have one, whole only with all. */
static bool has_all_members(const side *s, const operation *o)
{
    const assay_trace_group *group = &s->data->group[o->group];
    if (o->pair)
        return is_whole_pair(s, o);
    if (o->members < 2 || o->members != s->group[o->group].with_file)
        return false;
    for (uint32_t i = 0; i < o->members; i++)
        if (!has_rank(group, s->rank.list[s->member.list[o->first + i].rank].rank))
            return false;
    return true;
}

/* Ends an operation, whose members and sizes are known. Its transfer is the shortest of its kernels: the others wait
 * inside of theirs as well. */
static void settle_operation(side *s, operation *o, const part *parts)
{
    const member *m = &s->member.list[o->first];
    assay_trace_data *data = s->data;
    bool alike = true;
    o->step = s->mark[m->kernel].step;
    o->call = side_kernel(s, m->kernel)->call;
    o->transfer = INT64_MAX;
    for (uint32_t i = 0; i < o->members; i++) {
        alike = alike && is_alike(s, m[0].kernel, &parts[0], m[i].kernel, &parts[i], o->pair);
        o->transfer = m[i].end - m[i].begin < o->transfer ? m[i].end - m[i].begin : o->transfer;
    }
    const bool all = has_all_members(s, o);
    o->matched = all && alike;
    o->whole = o->matched && (o->pair || o->members == data->group[o->group].members);
    o->symmetric = !o->pair && is_symmetric(text_of(s, side_call(s, o->call)->operation));
    data->matched += o->matched;
    data->unmatched += !all;
    data->different += all && !alike;
    data->symmetric = data->symmetric || (o->matched && o->symmetric);
}

/* Adds an operation: the kernels [from, to) of the list. */
static int add_operation(side *s, const numbered *list, size_t from, size_t to)
{
    operation *o = ASSAY_VEC_ADD(&s->operation);
    part *parts = assay_alloc_zeroed(to - from, sizeof *parts);
    if (!o || !parts) {
        free(parts);
        return ASSAY_ENOMEM;
    }
    *o = (operation){.group = list[from].group, .first = s->member.count, .pair = list[from].end != PAIR_NONE};
    o->number = o->pair ? list[from].key[2] : list[from].key[0] != 0 ? list[from].key[0] : list[from].key[2];
    for (size_t i = from; i < to; i++) {
        const kernel_row *k = side_kernel(s, list[i].kernel);
        member *m = o->members > 0 ? &s->member.list[s->member.count - 1] : NULL;
        if (!m || m->rank != list[i].rank || (o->pair && list[i].end != list[i - 1].end)) {
            m = ASSAY_VEC_ADD(&s->member);
            if (!m) {
                free(parts);
                return ASSAY_ENOMEM;
            }
            *m = (member){list[i].rank, list[i].kernel, k->begin, k->end};
            o->members++;
        }
        m->begin = k->begin < m->begin ? k->begin : m->begin;
        m->end = k->end > m->end ? k->end : m->end;
        add_part(s, &parts[o->members - 1], list[i].kernel);
        s->mark[list[i].kernel].operation = (uint32_t)(s->operation.count - 1);
    }
    settle_operation(s, o, parts);
    free(parts);
    return ASSAY_OK;
}

static bool is_same_operation(const numbered *a, const numbered *b)
{
    return a->group == b->group && (a->end != PAIR_NONE) == (b->end != PAIR_NONE) && a->lone == b->lone &&
           memcmp(a->key, b->key, sizeof a->key) == 0;
}

static int find_operations(side *s)
{
    numbered *list = assay_alloc((s->places + 1) * sizeof *list);
    bool *sequenced = find_sequenced(s);
    size_t count = 0;
    int status = list && sequenced ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t p = 0; p < s->places && status == ASSAY_OK; p++) {
        const uint32_t kernel = s->place[p];
        if (side_kernel(s, kernel)->group != ASSAY_NO_ID && s->mark[kernel].step != ASSAY_NO_ID)
            number_kernel(s, sequenced, kernel, &list[count++]);
    }
    if (status == ASSAY_OK && count > 0) {
        qsort(list, count, sizeof *list, compare_counted);
        count_places(sequenced, list, count);
        qsort(list, count, sizeof *list, compare_numbered);
    }
    for (size_t from = 0, to; from < count && status == ASSAY_OK; from = to) {
        for (to = from + 1; to < count && is_same_operation(&list[from], &list[to]);)
            to++;
        status = add_operation(s, list, from, to);
    }
    free(list);
    free(sequenced);
    return status;
}

/* ---- excess ---- */

/* Finds own times between the beginnings of a rank's kernels. Time between two files of a rank is nobody's. */
static void find_own_times(side *s)
{
    for (size_t r = 0; r < s->rank.count; r++) {
        const side_rank *rank = &s->rank.list[r];
        for (uint32_t f = 0; f < rank->files && rank->evaluated; f++) {
            const stretch *file = &s->file.list[rank->first + f];
            const uint64_t count = s->c->file.list[file->file].communications;
            for (uint64_t i = 1; i < count; i++) {
                const kernel_row *k = &s->c->kernel.list[file->kernels + i];
                s->mark[file->kernels + i].own = k->own_begin - k[-1].own_begin;
            }
        }
    }
}

/* Tells whether the kernel before each member's was the same thing. Else own times would compare different work. */
static bool has_same_before(const side *s, const operation *o)
{
    const member *m = &s->member.list[o->first];
    const call_row *first = NULL;
    for (uint32_t i = 0; i < o->members; i++) {
        if (s->mark[m[i].kernel].own == TRACE_NONE)
            return false;
        const call_row *before = side_call(s, side_kernel(s, m[i].kernel - 1)->call);
        if (first && (before->description != first->description || before->operation != first->operation))
            return false;
        first = before;
    }
    return true;
}

static int find_excesses(side *s)
{
    int64_t *own = assay_alloc((s->rank.count + 2) * sizeof *own);
    ASSAY_HAVE(own);
    for (size_t i = 0; i < s->operation.count; i++) {
        const operation *o = &s->operation.list[i];
        const member *m = &s->member.list[o->first];
        if (!o->matched || o->pair || !has_same_before(s, o))
            continue;
        for (uint32_t k = 0; k < o->members; k++)
            own[k] = s->mark[m[k].kernel].own;
        const int64_t median = trace_lower_median(own, o->members);
        for (uint32_t k = 0; k < o->members; k++)
            s->mark[m[k].kernel].excess = s->mark[m[k].kernel].own - median;
    }
    free(own);
    return ASSAY_OK;
}

/* Called after place_kernels; needs no memory once operations are found but for the excesses. */
int trace_match(side *s)
{
    int status = find_groups(s);
    ASSAY_THEN(status, find_operations(s));
    if (status != ASSAY_OK)
        return status;
    find_own_times(s);
    return find_excesses(s);
}
