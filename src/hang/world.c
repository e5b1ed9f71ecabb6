/* world.c - ranks, groups, members and signatures out of the rows of all dumps. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fault.h"
#include <assay/timeline.h> /* assay_sort_integers() */

#include "base/search.h"
#include "hang/internal.h"

void *hang_take(hang_world *w, size_t count, size_t size)
{
    void *taken = assay_arena_take_zeroed(w->arena, count ? count : 1, size);
    w->no_memory = w->no_memory || !taken;
    return taken;
}

static uint32_t text_id(hang_world *w, const assay_buf *text)
{
    const uint32_t id = assay_buf_status(text) == ASSAY_OK
                            ? assay_dict_add(w->texts, text->size ? (const char *)text->data : "", text->size)
                            : ASSAY_NO_ID;
    w->no_memory = w->no_memory || id == ASSAY_NO_ID;
    return id;
}

/* ---- files of an earlier attempt ---- */

/* The time before which a file is left over; INT64_MIN: none is. */
static int64_t oldest_time(hang_world *w, const assay_flight_row *row, size_t rows, double max_age)
{
    int64_t *time = hang_take(w, rows, sizeof *time);
    size_t count = 0;
    for (size_t i = 0; i < rows && time; i++)
        if (row[i].newest != INT64_MIN)
            time[count++] = row[i].newest;
    if (count == 0)
        return INT64_MIN;
    qsort(time, count, sizeof *time, assay_order_i64);
    const double limit = (double)time[count / 2] - max_age * 1e9;
    return limit <= -9.2e18 ? INT64_MIN : (int64_t)limit;
}

/* ---- signatures ---- */

static bool is_one_of(const char *name, const char *const *words)
{
    while (*words && strcasecmp(name, *words) != 0)
        words++;
    return *words != NULL;
}

static bool begins(const char *name, const char *word)
{
    return strncasecmp(name, word, strlen(word)) == 0;
}

static bool only_word_characters(const char *text)
{
    while (isalnum((unsigned char)*text) || *text == '_')
        text++;
    return *text == '\0';
}

/* No member can have finished it before all have called it. */
static bool is_symmetric(const char *name)
{
    static const char *const words[] = {"allreduce",          "all_reduce",           "allreduce_barrier",
                                        "all_reduce_barrier", "allreduce_coalesced",  "barrier",
                                        "_all_gather_base",   "_reduce_scatter_base", NULL};
    for (const char *p = name; *p; p++)
        if ((*p == 'v' || *p == 'V') && p[1] == '_')
            return false;
    const size_t length = strlen(name);
    if (length >= 2 && strcasecmp(name + length - 2, "_v") == 0)
        return false;
    return is_one_of(name, words) ||
           (only_word_characters(name) &&
            (begins(name, "allgather") || begins(name, "all_gather") || begins(name, "reduce_scatter")));
}

static bool is_all_to_all(const char *name)
{
    return begins(name, "all_to_all") || begins(name, "alltoall");
}

static bool is_sized(const char *name)
{
    static const char *const words[] = {"all_gather_v", "reduce_scatter_v", "gather", "scatter", NULL};
    return !is_all_to_all(name) && !is_one_of(name, words);
}

static int64_t add_saturated(int64_t a, int64_t b)
{
    int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Writes the numbers of elements, and adds them up; -1 where one is not known. */
static int64_t put_elements(const int64_t *size, uint32_t count, assay_buf *out)
{
    int64_t total = 0;
    for (uint32_t i = 0; i < count;) {
        const int64_t dimensions = size[i++];
        int64_t elements = dimensions < 0 ? -1 : 1;
        bool none = false;
        for (int64_t k = 0; k < dimensions && i < count; k++, i++) {
            none = none || size[i] == 0;
            if (__builtin_mul_overflow(elements, size[i], &elements))
                elements = INT64_MAX;
        }
        elements = none ? 0 : elements;
        assay_put_i64(out, elements);
        total = elements < 0 || total < 0 ? -1 : add_saturated(total, elements);
    }
    return total;
}

/* The types of both lists in byte order, each once, with commas. */
static void put_types(hang_world *w, const assay_flight_part *part, assay_buf *out)
{
    const char *lists[2] = {part->input_types ? part->input_types : "", part->output_types ? part->output_types : ""};
    const size_t length = strlen(lists[0]) + strlen(lists[1]) + 2;
    char *text = hang_take(w, length, 1);
    const char **word = hang_take(w, length, sizeof *word);
    size_t count = 0;
    if (!text || !word)
        return;
    for (int side = 0; side < 2; side++) {
        const size_t size = strlen(lists[side]);
        memcpy(text, lists[side], size + 1);
        char *save = NULL;
        for (char *p = strtok_r(text, ",", &save); p; p = strtok_r(NULL, ",", &save))
            word[count++] = p;
        text += size + 1;
    }
    qsort(word, count, sizeof *word, assay_order_texts);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(word[i], word[i - 1]) != 0)
            assay_put_format(out, "%s%s", i ? "," : "", word[i]);
}

/* What is compared of a signature, as numbers; `key` gets all of it. */
static void weigh(hang_world *w, const assay_flight_signature *of, hang_signature *s, assay_buf *key)
{
    assay_buf text, sizes;
    assay_buf_init(&text, SIZE_MAX);
    assay_buf_init(&sizes, SIZE_MAX);
    const char *name = of->name ? of->name : "";
    *s = (hang_signature){.of = of,
                          .symmetric = is_symmetric(name),
                          .all_to_all = of->parts > 0,
                          .sized = true,
                          .compared = of->parts > 0};
    for (uint32_t i = 0; i < of->parts; i++)
        assay_put_format(&text, "%s\n", of->part[i].name ? of->part[i].name : "");
    s->names = text_id(w, &text);
    assay_buf_clear(&text);
    for (uint32_t i = 0; i < of->parts; i++) {
        const assay_flight_part *part = &of->part[i];
        const uint32_t inputs = part->inputs < part->size_count ? part->inputs : part->size_count;
        const char *called = part->name ? part->name : "";
        put_types(w, part, &text);
        assay_put_u8(&text, '\n');
        s->all_to_all = s->all_to_all && is_all_to_all(called);
        const size_t before = sizes.size;
        const int64_t put_in = put_elements(part->sizes, inputs, &sizes);
        assay_put_u8(&sizes, '|');
        const int64_t got = put_elements(part->sizes + inputs, part->size_count - inputs, &sizes);
        assay_put_u8(&sizes, '\n');
        assay_put_bytes(key, sizes.data + before, sizes.size - before);
        if (!is_sized(called))
            sizes.size = before;
        s->put_in = put_in < 0 || s->put_in < 0 ? -1 : add_saturated(s->put_in, put_in);
        s->got = got < 0 || s->got < 0 ? -1 : add_saturated(s->got, got);
    }
    s->types = text_id(w, &text);
    s->sizes = text_id(w, &sizes);
    assay_put_format(key, "%u %u %s", s->names, s->types, name);
    for (uint32_t i = 0; i < of->parts; i++) /* sizes in other dimensions are kept apart: a report shows them */
        for (uint32_t k = 0; k < of->part[i].size_count; k++)
            assay_put_i64(key, of->part[i].sizes[k]);
    assay_buf_release(&text);
    assay_buf_release(&sizes);
}

/* A signature is kept once for all ranks, so that two calls are alike where their numbers are. */
static void intern_signatures(hang_world *w)
{
    size_t total = 0;
    assay_dict *seen = assay_dict_new();
    assay_buf key = ASSAY_BUF(SIZE_MAX);
    for (uint32_t r = 0; r < w->ranks; r++)
        total += w->rank[r].row ? w->rank[r].row->signatures : 0;
    w->signature = hang_take(w, total, sizeof *w->signature);
    w->no_memory = w->no_memory || !seen;
    for (uint32_t r = 0; r < w->ranks && !w->no_memory; r++) {
        hang_rank *rank = &w->rank[r];
        if (!rank->row)
            continue;
        rank->signature = hang_take(w, rank->row->signatures, sizeof *rank->signature);
        for (uint32_t i = 0; i < rank->row->signatures && !w->no_memory; i++) {
            hang_signature s;
            assay_buf_clear(&key);
            weigh(w, &rank->row->signature[i], &s, &key);
            const uint32_t id = assay_buf_status(&key) == ASSAY_OK
                                    ? assay_dict_add(seen, (const char *)key.data, key.size)
                                    : ASSAY_NO_ID;
            w->no_memory = w->no_memory || id == ASSAY_NO_ID;
            if (id == w->signatures)
                w->signature[w->signatures++] = s;
            rank->signature[i] = id;
        }
    }
    assay_buf_release(&key);
    assay_dict_free(seen);
}

/* ---- groups and ranks ---- */

typedef struct building {
    hang_world *w;
    assay_dict *keys;
    const char ***called;             /* by row that counts, then its group: its name on the lowest rank */
    uint32_t **group_of;              /* by row that counts, then its group: the world's */
    const assay_flight_group **first; /* by the world's group: the lowest rank's */
    ASSAY_VEC(int64_t) numbers;
} building;

static size_t member_count(const assay_flight_group *g)
{
    size_t count = 0;
    for (uint32_t i = 0; i < g->runs; i++)
        count += g->run[i].count;
    return count;
}

static int64_t nth_of_run(const assay_flight_run *run, uint32_t i)
{
    return (int64_t)run->first + (int64_t)run->stride * i;
}

static void put_runs(const assay_flight_group *g, assay_buf *key)
{
    for (uint32_t n = 0; n < g->runs; n++) {
        assay_put_u32(key, g->run[n].first);
        assay_put_u32(key, g->run[n].stride);
        assay_put_u32(key, g->run[n].count);
    }
}

/* Groups of one description and the same ranks, over all files. */
typedef struct alike {
    uint32_t files, each, names; /* that have one; groups in each of them, 0: not equally many; different names */
    size_t first;                /* row: the lowest rank's */
    uint32_t first_group;        /* in it */
    size_t row;                  /* under way, + 1 */
    uint32_t in_row;
    bool proven; /* a group works that some member does not have by that name */
} alike;

typedef struct alike_groups {
    ASSAY_VEC(alike) list;
    assay_dict *keys, *names;                /* names: class and name */
    ASSAY_VEC(uint32_t) used;                /* by name: files that have it */
    uint32_t **class_of, **name_of, **place; /* by row and group; place: within its class there */
    assay_buf key;
} alike_groups;

static bool has_ended_one(const assay_flight_group *g)
{
    bool ended = g->has_status && g->status_completed > 0;
    for (uint32_t i = 0; i < g->items && !ended; i++)
        ended = g->item[i].state == ASSAY_FLIGHT_COMPLETED;
    return ended;
}

/* Sorts the groups of a file into classes. */
static bool note_alike(alike_groups *a, hang_world *w, const assay_flight_row *row, size_t i)
{
    a->class_of[i] = hang_take(w, row->groups, sizeof **a->class_of);
    a->name_of[i] = hang_take(w, row->groups, sizeof **a->name_of);
    a->place[i] = hang_take(w, row->groups, sizeof **a->place);
    for (uint32_t k = 0; k < row->groups && !w->no_memory; k++) {
        const assay_flight_group *g = &row->group[k];
        assay_buf_clear(&a->key);
        assay_put_text(&a->key, g->description);
        put_runs(g, &a->key);
        const uint32_t class = assay_dict_add(a->keys, (const char *)a->key.data, a->key.size);
        assay_buf_clear(&a->key);
        assay_put_u32(&a->key, class);
        assay_put_text(&a->key, g->name);
        const uint32_t name = assay_dict_add(a->names, (const char *)a->key.data, a->key.size);
        const bool known = assay_buf_status(&a->key) == ASSAY_OK && class != ASSAY_NO_ID && name != ASSAY_NO_ID;
        alike *to = !known || class < a->list.count ? NULL : ASSAY_VEC_ADD(&a->list);
        uint32_t *used = !known || name < a->used.count ? NULL : ASSAY_VEC_ADD(&a->used);
        if (!known || class >= a->list.count || name >= a->used.count)
            return false;
        if (to)
            *to = (alike){.first = i, .first_group = k};
        alike *c = &a->list.list[class];
        c->in_row = c->row == i + 1 ? c->in_row : 0;
        c->row = i + 1;
        a->place[i][k] = c->in_row++;
        c->names += used != NULL;
        a->used.list[name]++;
        a->class_of[i][k] = class;
        a->name_of[i][k] = name;
    }
    for (uint32_t k = 0; k < row->groups && !w->no_memory; k++) {
        alike *c = &a->list.list[a->class_of[i][k]];
        if (a->place[i][k] == 0)
            c->each = c->files++ == 0 || c->each == c->in_row ? c->in_row : 0;
    }
    return true;
}

/* What the first file with the class calls its n-th group there; groups of a row are in order of their names. */
static const char *first_name(const alike_groups *a, assay_flight_row *const *row, uint32_t class, uint32_t n)
{
    const alike *c = &a->list.list[class];
    for (uint32_t k = c->first_group; k < row[c->first]->groups; k++)
        if (a->class_of[c->first][k] == class && a->place[c->first][k] == n)
            return row[c->first]->group[k].name;
    return "";
}

/* Programs may count their groups, so that ranks have other names for the same one. A group that works is known to all
 * its members: where one has none of that name, and all have equally many of that description and these ranks, they are
 * the same in the order of their names. */
static void name_alike(building *b, assay_flight_row *const *row, size_t rows)
{
    hang_world *w = b->w;
    alike_groups a = {.keys = assay_dict_new(), .names = assay_dict_new()};
    a.class_of = hang_take(w, rows, sizeof *a.class_of);
    a.name_of = hang_take(w, rows, sizeof *a.name_of);
    a.place = hang_take(w, rows, sizeof *a.place);
    b->called = hang_take(w, rows, sizeof *b->called);
    assay_buf_init(&a.key, SIZE_MAX);
    w->no_memory = w->no_memory || !a.keys || !a.names;
    for (size_t i = 0; i < rows && !w->no_memory; i++)
        w->no_memory = !note_alike(&a, w, row[i], i) || w->no_memory;
    for (size_t i = 0; i < rows && !w->no_memory; i++)
        for (uint32_t k = 0; k < row[i]->groups; k++) {
            alike *c = &a.list.list[a.class_of[i][k]];
            c->proven = c->proven || (c->each > 0 && c->names > c->each && a.used.list[a.name_of[i][k]] < c->files &&
                                      has_ended_one(&row[i]->group[k]));
        }
    for (size_t i = 0; i < rows && !w->no_memory; i++) {
        b->called[i] = hang_take(w, row[i]->groups, sizeof **b->called);
        for (uint32_t k = 0; k < row[i]->groups && !w->no_memory; k++) {
            const uint32_t class = a.class_of[i][k];
            const char *name = row[i]->group[k].name;
            b->called[i][k] = a.list.list[class].proven ? first_name(&a, row, class, a.place[i][k]) : name;
        }
    }
    assay_dict_free(a.keys);
    assay_dict_free(a.names);
    assay_buf_release(&a.key);
    free(a.list.list);
    free(a.used.list);
}

/* Groups of different dumps are one where name and ranks are the same: what a rank calls it is no more than a
 * number of its own. */
static void find_groups(building *b, assay_flight_row *const *row, size_t rows)
{
    hang_world *w = b->w;
    assay_buf key;
    size_t total = 0;
    assay_buf_init(&key, SIZE_MAX);
    for (size_t i = 0; i < rows; i++)
        total += row[i]->groups;
    b->group_of = hang_take(w, rows, sizeof *b->group_of);
    b->first = hang_take(w, total, sizeof *b->first);
    for (size_t i = 0; i < rows && !w->no_memory; i++) {
        b->group_of[i] = hang_take(w, row[i]->groups, sizeof **b->group_of);
        for (uint32_t k = 0; k < row[i]->groups && !w->no_memory; k++) {
            const assay_flight_group *g = &row[i]->group[k];
            assay_buf_clear(&key);
            assay_put_text(&key, b->called[i][k]);
            put_runs(g, &key);
            const uint32_t id = assay_buf_status(&key) == ASSAY_OK
                                    ? assay_dict_add(b->keys, (const char *)key.data, key.size)
                                    : ASSAY_NO_ID;
            w->no_memory = w->no_memory || id == ASSAY_NO_ID;
            if (id == w->groups)
                b->first[w->groups++] = g;
            b->group_of[i][k] = id;
        }
    }
    assay_buf_release(&key);
}

static int compare_groups(const void *a, const void *b)
{
    const assay_flight_group *x = *(const assay_flight_group *const *)a, *y = *(const assay_flight_group *const *)b;
    const int order = assay_natural_order(x->name, y->name);
    return order || !x->run || !y->run ? order : ASSAY_ORDER(x->run[0].first, y->run[0].first);
}

/* Numbers the groups in natural order of their names. */
static void order_groups(building *b, assay_flight_row *const *row, size_t rows)
{
    hang_world *w = b->w;
    uint32_t *number = hang_take(w, w->groups, sizeof *number);
    assay_dict *seen = assay_dict_new();
    w->no_memory = w->no_memory || !seen;
    for (uint32_t g = 0; g < w->groups && !w->no_memory; g++)
        w->no_memory = assay_dict_add(seen, (const char *)&b->first[g], sizeof *b->first) != g;
    if (!w->no_memory)
        qsort(b->first, w->groups, sizeof *b->first, compare_groups);
    for (uint32_t g = 0; g < w->groups && !w->no_memory; g++)
        number[assay_dict_find(seen, (const char *)&b->first[g], sizeof *b->first)] = g;
    for (size_t i = 0; i < rows && !w->no_memory; i++)
        for (uint32_t k = 0; k < row[i]->groups; k++)
            b->group_of[i][k] = number[b->group_of[i][k]];
    assay_dict_free(seen);
}

static bool add_number(building *b, int64_t number)
{
    int64_t *to = ASSAY_VEC_ADD(&b->numbers);
    b->w->no_memory = b->w->no_memory || !to;
    if (to)
        *to = number;
    return to != NULL;
}

/* The ranks of the world: of all rows and groups. */
static void find_ranks(building *b, const assay_flight_row *all, size_t rows)
{
    hang_world *w = b->w;
    for (size_t i = 0; i < rows; i++)
        if (!add_number(b, all[i].rank))
            return;
    for (uint32_t g = 0; g < w->groups; g++)
        for (uint32_t n = 0; n < b->first[g]->runs; n++)
            for (uint32_t i = 0; i < b->first[g]->run[n].count; i++)
                if (!add_number(b, nth_of_run(&b->first[g]->run[n], i)))
                    return;
    assay_sort_integers(b->numbers.list, b->numbers.count);
    w->rank = hang_take(w, b->numbers.count, sizeof *w->rank);
    for (size_t i = 0; i < b->numbers.count && w->rank; i++)
        if (i == 0 || b->numbers.list[i] != b->numbers.list[i - 1])
            w->rank[w->ranks++] = (hang_rank){.number = b->numbers.list[i],
                                              .front = {.member = HANG_NONE, .stop = HANG_NONE},
                                              .device_member = HANG_NONE,
                                              .finished_by = -1};
}

static uint32_t rank_of(const hang_world *w, int64_t number)
{
    uint32_t low = 0;
    ASSAY_SEARCH(low, w->ranks, w->rank[low].number < number);
    return low < w->ranks && w->rank[low].number == number ? low : HANG_NONE;
}

hang_member *hang_member_of(const hang_world *w, uint32_t group, uint32_t rank)
{
    const hang_group *g = &w->group[group];
    uint32_t low = g->member;
    ASSAY_SEARCH(low, g->member + g->members, w->member[low].rank < rank);
    return low < g->member + g->members && w->member[low].rank == rank ? &w->member[low] : NULL;
}

/* Members by group first; then, by counting, the memberships of each rank in the order of groups. */
static void put_members(building *b)
{
    hang_world *w = b->w;
    size_t total = 0;
    for (uint32_t g = 0; g < w->groups; g++)
        total += member_count(b->first[g]);
    w->group = hang_take(w, w->groups, sizeof *w->group);
    w->member = hang_take(w, total, sizeof *w->member);
    w->membership = hang_take(w, total, sizeof *w->membership);
    if (w->no_memory)
        return;
    for (uint32_t g = 0; g < w->groups; g++) {
        hang_group *to = &w->group[g];
        *to = (hang_group){.name = b->first[g]->name, .description = b->first[g]->description, .member = w->members};
        for (uint32_t n = 0; n < b->first[g]->runs; n++)
            for (uint32_t i = 0; i < b->first[g]->run[n].count; i++) {
                const uint32_t rank = rank_of(w, nth_of_run(&b->first[g]->run[n], i));
                w->member[w->members++] =
                    (hang_member){.rank = rank, .group = g, .enqueued = -1, .done = -1, .first = HANG_NO_NUMBER};
                w->rank[rank].memberships++;
            }
        to->members = w->members - to->member;
    }
    uint32_t at = 0;
    for (uint32_t r = 0; r < w->ranks; r++) {
        w->rank[r].membership = at;
        at += w->rank[r].memberships;
        w->rank[r].memberships = 0;
    }
    for (uint32_t m = 0; m < w->members; m++) {
        hang_rank *rank = &w->rank[w->member[m].rank];
        w->membership[rank->membership + rank->memberships++] = m;
    }
}

ASSAY_ORDER_BY(compare_names, hang_name, number, order)

/* What the numbers of a group are called: as the lowest rank does whose region is not open. */
static void name_numbers(hang_world *w, hang_group *g)
{
    size_t total = 0;
    uint32_t count = 0;
    for (uint32_t m = g->member; m < g->member + g->members; m++)
        total += w->member[m].of ? w->member[m].of->items : 0;
    hang_name *list = hang_take(w, total, sizeof *list);
    if (!list)
        return;
    for (uint32_t m = g->member; m < g->member + g->members; m++)
        for (uint32_t i = 0; w->member[m].of && i < w->member[m].of->items; i++) {
            const assay_flight_item *item = &w->member[m].of->item[i];
            list[count] = (hang_name){item->number, w->rank[w->member[m].rank].signature[item->signature],
                                      count + (item->open ? UINT64_C(1) << 32 : 0)};
            count++;
        }
    qsort(list, count, sizeof *list, compare_names);
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || list[i].number != list[i - 1].number)
            list[g->names++] = list[i];
    g->named = list;
}

const hang_signature *hang_name_of(const hang_world *w, uint32_t group, int64_t number)
{
    const hang_group *g = &w->group[group];
    uint32_t low = 0;
    ASSAY_SEARCH(low, g->names, g->named[low].number < number);
    return low < g->names && g->named[low].number == number ? &w->signature[g->named[low].signature] : NULL;
}

const assay_flight_item *hang_item(const hang_member *m, int64_t number)
{
    uint32_t low = 0, high = m->of ? m->of->items : 0;
    const uint32_t count = high;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (m->of->item[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && m->of->item[low].number == number ? &m->of->item[low] : NULL;
}

/* Gives members what their rows say, and groups what they do on any rank. */
static void join_rows(building *b, assay_flight_row *const *row, size_t rows)
{
    hang_world *w = b->w;
    for (size_t i = 0; i < rows; i++) {
        const uint32_t rank = rank_of(w, row[i]->rank);
        w->rank[rank].row = row[i];
        w->rank[rank].known = HANG_KNOWN;
        for (uint32_t k = 0; k < row[i]->groups; k++) {
            hang_member *m = hang_member_of(w, b->group_of[i][k], rank);
            hang_group *g = &w->group[b->group_of[i][k]];
            assay_flight_group *of = &row[i]->group[k];
            if (m)
                m->of = of;
            g->collectives = g->collectives || of->collectives;
            g->any_p2p = g->any_p2p || of->any_p2p;
            g->batches = g->batches || of->batches;
        }
    }
}

void hang_build(hang_world *w, assay_flight_row *row, size_t rows, double max_age)
{
    building b = {.w = w, .keys = assay_dict_new()};
    assay_flight_row **counts = hang_take(w, rows, sizeof *counts);
    int64_t *left_over = hang_take(w, rows, sizeof *left_over);
    size_t count = 0;
    const int64_t oldest = oldest_time(w, row, rows, max_age);
    w->no_memory = w->no_memory || !b.keys;
    for (size_t i = 0; i < rows && !w->no_memory; i++) {
        if (row[i].newest != INT64_MIN && row[i].newest < oldest)
            left_over[w->left_over.count++] = row[i].rank;
        else
            counts[count++] = &row[i];
    }
    w->left_over.rank = left_over;
    if (!w->no_memory)
        name_alike(&b, counts, count);
    if (!w->no_memory)
        find_groups(&b, counts, count);
    if (!w->no_memory)
        order_groups(&b, counts, count);
    if (!w->no_memory)
        find_ranks(&b, row, rows);
    if (!w->no_memory)
        put_members(&b);
    if (!w->no_memory) {
        join_rows(&b, counts, count);
        intern_signatures(w);
    }
    for (uint32_t g = 0; g < w->groups && !w->no_memory; g++)
        name_numbers(w, &w->group[g]);
    assay_dict_free(b.keys);
    free(b.numbers.list);
}
