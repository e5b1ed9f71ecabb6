/* scene.c - who, where and when of each event. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "why/combine.h"

enum { DAY = 86400, RANKS_MOST = 1 << 20 };

/* ---- times ---- */

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* When a year begins, in seconds since 1970. */
static double begin_of(int64_t year)
{
    const int64_t y = year - 1, days = 365 * y + y / 4 - y / 100 + y / 400 - 719162;
    return (double)days * DAY;
}

static int64_t year_of(double time)
{
    int64_t year = 1970 + (int64_t)(time / (365.2425 * DAY));
    while (begin_of(year) > time)
        year--;
    while (begin_of(year + 1) <= time)
        year++;
    return year;
}

/* A time of the year 2000 in another one. */
static double in_year(double time, int64_t year)
{
    double within = time - begin_of(2000);
    if (!is_leap(year) && within >= 60.0 * DAY) /* behind the 29th of February */
        within -= DAY;
    return begin_of(year) + within;
}

double why_normal_time(const why_scene *s, double time, uint8_t timed)
{
    double best = NAN;
    if (timed == ASSAY_LOG_UNTIMED)
        return NAN;
    if (timed == ASSAY_LOG_DATED || isnan(s->reference))
        return time;
    if (timed == ASSAY_LOG_YEARLESS) {
        const int64_t year = year_of(s->reference);
        for (int64_t y = year - 1; y <= year + 1; y++) {
            const double there = in_year(time, y);
            if (isnan(best) || fabs(there - s->reference) < fabs(best - s->reference))
                best = there;
        }
        return best;
    }
    const double day = floor(s->reference / DAY) * DAY;
    for (int d = -1; d <= 1; d++) {
        const double there = day + d * DAY + time;
        if (isnan(best) || fabs(there - s->reference) < fabs(best - s->reference))
            best = there;
    }
    return best;
}

/* The later of a time and of those that a rank said last, and with its last step, if they are of that kind. */
static double later_of(double best, const assay_log_rank *row, int timed)
{
    if (row->timed == timed && !(row->last_time <= best))
        best = row->last_time;
    return row->step_timed == timed && !(row->step_time <= best) ? row->step_time : best;
}

/* The latest time with a date; without one the latest without a year. */
static double find_reference(const assay_why *why)
{
    double best = NAN;
    for (int timed = ASSAY_LOG_DATED; timed >= ASSAY_LOG_YEARLESS && isnan(best); timed--)
        for (size_t f = 0; f < why->file.count; f++) {
            const assay_log_file *file = &why->file.list[f];
            for (size_t r = 0; r < file->rank.count; r++)
                best = later_of(best, &file->rank.list[r], timed);
            for (size_t e = 0; e < file->event.count; e++)
                if (file->event.list[e].timed == timed && !(file->event.list[e].time <= best))
                    best = file->event.list[e].time;
        }
    return best;
}

/* ---- ranks and nodes ---- */

/* Is there more than one node, as far as anything says? */
static bool has_nodes(const assay_why *why)
{
    const char *one = NULL;
    if (why->facts.nodes > 0)
        return why->facts.nodes > 1;
    for (size_t f = 0; f < why->file.count; f++) {
        const char *node = why_place_node(&why->places.list.list[why->file.list[f].file]);
        if (node[0] && one && strcmp(one, node) != 0)
            return true;
        one = node[0] ? node : one;
        for (size_t e = 0; e < why->file.list[f].event.count; e++) {
            node = why->file.list[f].event.list[e].node;
            if (node[0] && one && strcmp(one, node) != 0)
                return true;
            one = node[0] ? node : one;
        }
    }
    return false;
}

static int64_t rank_of_local(const assay_why *why, bool several, const char *node, int64_t local)
{
    const why_facts *f = &why->facts;
    const char *name = f->node;
    if (local < 0 || !several)
        return local;
    if (!f->first || !f->block || !node)
        return -1;
    for (size_t n = 0; n < f->nodes; n++, name += strlen(name) + 1)
        if (strcmp(name, node) == 0)
            return f->first[n] + local < f->first[n + 1] ? f->first[n] + local : -1;
    return -1;
}

/* Nodes that lines name beside ranks. */
typedef struct seat_list {
    const char **node; /* by rank */
    size_t count;
} seat_list;

static void seat(seat_list *s, int64_t rank, const char *node)
{
    if (rank >= 0 && rank < (int64_t)s->count && node && node[0] && !s->node[rank])
        s->node[rank] = node;
}

/* "0-3,5" */
static void seat_list_of(seat_list *s, const char *list, const char *node)
{
    long long first = 0, last = 0;
    for (int used = 0; sscanf(list, "%lld%n", &first, &used) == 1; list += *list == ',') {
        list += used;
        last = *list == '-' && sscanf(list, "-%lld%n", &last, &used) == 1 ? last : first;
        list += *list == '-' ? used : 0;
        for (long long r = first; r <= last && r < (long long)s->count; r++)
            seat(s, r, node);
    }
}

/* Do both name one node? "n0123", "n0123.cluster". */
static bool is_same_node(const char *a, const char *b)
{
    const size_t x = strcspn(a, "."), y = strcspn(b, ".");
    return x == y && memcmp(a, b, x) == 0;
}

/* Slurm deals out tasks; those of a launcher that was a task itself are others. And its default holds where no line says
 * otherwise. */
static void check_blocks(assay_why *why, const seat_list *s)
{
    why_facts *f = &why->facts;
    if (f->first && f->nodes > 1 && f->first[f->nodes] < (int64_t)s->count)
        f->block = false;
    for (size_t r = 0; r < s->count && f->assumed && f->block; r++) {
        const char *node = s->node[r] ? why_node_of(f, (int64_t)r) : NULL;
        f->block = !node || is_same_node(node, s->node[r]);
    }
}

static void take_seats(assay_why *why, seat_list *s)
{
    for (size_t f = 0; f < why->file.count; f++) {
        const why_place *place = &why->places.list.list[why->file.list[f].file];
        seat(s, place->rank, place->node);
        for (size_t k = 0; k < why->file.list[f].rank.count; k++)
            seat(s, why_rank_of_row(place, &why->file.list[f].rank.list[k]), place->node);
        for (size_t k = 0; k < why->file.list[f].event.count; k++) {
            const assay_log_event *e = &why->file.list[f].event.list[k];
            if (e->scope != ASSAY_LOG_NODE && !e->ranks[0])
                seat(s, e->rank, e->node);
            else if (e->scope == ASSAY_LOG_JOB) /* "srun: error: n002: tasks 16-23: Exited with exit code 1" */
                seat_list_of(s, e->ranks, e->node);
        }
    }
    check_blocks(why, s);
    for (size_t r = 0; r < s->count; r++)
        seat(s, (int64_t)r, why_node_of(&why->facts, (int64_t)r));
}

/* How many ranks there are: one more than the highest that anything names. */
static size_t count_ranks(assay_why *why)
{
    int64_t highest = why->facts.tasks - 1;
    for (size_t f = 0; f < why->file.count; f++) {
        const assay_log_file *file = &why->file.list[f];
        const why_place *place = &why->places.list.list[file->file];
        highest = place->rank > highest ? place->rank : highest;
        highest = place->local_rank > highest ? place->local_rank : highest;
        for (size_t r = 0; r < file->rank.count; r++) {
            const int64_t rank = why_rank_of_row(place, &file->rank.list[r]);
            highest = rank > highest ? rank : highest;
        }
        for (size_t e = 0; e < file->event.count; e++) {
            highest = file->event.list[e].rank > highest ? file->event.list[e].rank : highest;
            highest = file->event.list[e].of_ranks - 1 > highest ? file->event.list[e].of_ranks - 1 : highest;
        }
    }
    if (why->facts.first && why->facts.first[why->facts.nodes] - 1 > highest)
        highest = why->facts.first[why->facts.nodes] - 1;
    return highest < 0 ? 0 : highest < RANKS_MOST ? (size_t)highest + 1 : RANKS_MOST;
}

/* The last time in an output; NaN. */
static double latest_of(const why_scene *s, const assay_log_file *file)
{
    double latest = NAN;
    for (size_t r = 0; r < file->rank.count; r++) {
        const double last = why_normal_time(s, file->rank.list[r].last_time, file->rank.list[r].timed);
        latest = !isnan(last) && !(last <= latest) ? last : latest;
    }
    return latest;
}

ASSAY_ORDER_BY(by_clock, why_clock, rank)

/* The clock that an event's time is of; NULL where no traces or dumps speak of it. */
static const why_clock *clock_of(const assay_why *why, const seat_list *seats, int64_t rank, const char *node)
{
    const why_clock wanted = {.rank = rank}, *clock = NULL;
    if (why->clock.count > 0 && rank >= 0)
        clock = bsearch(&wanted, why->clock.list, why->clock.count, sizeof wanted, by_clock);
    for (size_t i = 0; i < why->clock.count && !clock && node; i++) {
        const int64_t other = why->clock.list[i].rank;
        if (other < (int64_t)seats->count && seats->node[other] && strcmp(seats->node[other], node) == 0)
            clock = &why->clock.list[i];
    }
    return clock;
}

const why_clock *why_furthest_clock(const assay_why *why)
{
    const why_clock *best = NULL;
    for (size_t i = 0; i < why->clock.count; i++)
        if (fabs(why->clock.list[i].ahead) > (best ? fabs(best->ahead) : 1))
            best = &why->clock.list[i];
    return best;
}

/* The only rank on a node; -1: there are several, or none is known. */
static int64_t only_rank_on(const seat_list *seats, const char *node)
{
    int64_t only = -1;
    for (size_t r = 0; r < seats->count; r++)
        if (seats->node[r] && strcmp(seats->node[r], node) == 0) {
            if (only >= 0)
                return -1;
            only = (int64_t)r;
        }
    return only;
}

/* May a launcher's output speak of that rank? It is one of those whose lines it has, where these say whose they are. */
static bool has_row(const assay_log_file *file, int64_t rank)
{
    bool any = false, found = false;
    for (size_t r = 0; r < file->rank.count && !found; r++) {
        any = any || file->rank.list[r].rank >= 0;
        found = file->rank.list[r].rank == rank;
    }
    return found || !any;
}

static void place_item(const why_scene *s, const seat_list *seats, bool several, double latest, why_item *i)
{
    const assay_log_event *e = i->event;
    const why_place *place = &s->why->places.list.list[e->file];
    const bool others = e->scope == ASSAY_LOG_JOB;
    const char *node = e->node[0] ? e->node : others ? NULL : place->node;
    int64_t rank = e->rank;
    if (rank < 0 && !others)
        rank = place->rank;
    if (rank < 0 && !others)
        rank = rank_of_local(s->why, several, node, e->local_rank >= 0 ? e->local_rank : place->local_rank);
    if (rank < 0 && !others && place->base >= 0 && (e->local_rank >= 0 || place->local_rank >= 0))
        rank = place->base + (e->local_rank >= 0 ? e->local_rank : place->local_rank);
    if (rank < 0 && others && e->local_rank >= 0 && has_row(&s->why->file.list[i->file], e->local_rank))
        rank = rank_of_local(s->why, several, node, e->local_rank);
    const bool whole = why_is_external(e->ending) && e->ending != ASSAY_ENDING_node_failure; /* it is of the job */
    if (rank < 0 && others && node && e->role != ASSAY_LOG_NOISE && !whole)
        rank = only_rank_on(seats, node);
    if (!node && rank >= 0 && rank < (int64_t)seats->count)
        node = seats->node[rank];
    if (!node && !others && s->why->facts.nodes == 1)
        node = s->why->facts.node;
    i->rank = e->scope == ASSAY_LOG_NODE ? -1 : rank;
    i->node = node;
    const why_clock *clock = others ? NULL : clock_of(s->why, seats, rank, node);
    const double ahead = clock ? clock->ahead : 0;
    i->aligned = clock != NULL;
    i->from = why_normal_time(s, e->time, e->timed) - ahead;
    i->to = i->from;
    latest -= ahead;
    if (e->near) { /* not before the end of what is known of its file */
        const assay_log_file *file = &s->why->file.list[i->file];
        if (latest > i->to)
            i->to = latest;
        if ((file->rank.count == 1 || place->rank >= 0) && i->to == i->from)
            i->to = NAN; /* nothing with a time stands behind it */
    }
}

/* A root cause says when its rank failed: the lines of that rank that lie before get that time. */
static void take_root_causes(why_scene *s)
{
    for (size_t k = 0; k < s->item.count; k++) {
        const why_item *root = &s->item.list[k];
        const bool first = root->event->signature == ASSAY_SIGNATURE_ROOT_CAUSE;
        if ((!first && root->event->signature != ASSAY_SIGNATURE_LISTED) || root->old)
            continue;
        const why_group *group = &s->by_rank.group.list[root->group];
        for (size_t n = group->first; n < group->first + group->count; n++) {
            why_item *i = &s->item.list[s->by_rank.member[n].item];
            if (i == root || i->event->scope != ASSAY_LOG_RANK)
                continue;
            i->named = i->named || first;
            if (!isnan(root->from) &&
                (isnan(i->from) || (i->event->near && i->from <= root->from && !(i->to < root->from)))) {
                i->from = isnan(i->from) ? root->from - WHY_CLOCKS : i->from;
                i->to = root->from;
            }
        }
    }
}

bool why_scene_make(why_scene *s)
{
    assay_why *why = s->why;
    int64_t attempt = -1;
    if (!why_name_writers(why))
        return false;
    const bool several = has_nodes(why);
    s->reference = find_reference(why);
    s->last_step_time = NAN;
    why->last_step = -1;
    s->ranks = count_ranks(why);
    why->ranks_seen = s->ranks;
    for (size_t f = 0; f < why->file.count; f++) {
        const int64_t own = why->places.list.list[why->file.list[f].file].attempt;
        attempt = own > attempt ? own : attempt;
        for (size_t r = 0; r < why->file.list[f].rank.count; r++) {
            const assay_log_rank *row = &why->file.list[f].rank.list[r];
            const double time = why_normal_time(s, row->step_time, row->step_timed);
            why->last_step = row->last_step > why->last_step ? row->last_step : why->last_step;
            if (row->last_step >= 0 && !(time <= s->last_step_time) && !isnan(time))
                s->last_step_time = time;
        }
    }
    seat_list seats = {assay_alloc_zeroed(s->ranks + 1, sizeof *seats.node), s->ranks};
    bool made = seats.node != NULL;
    if (made)
        take_seats(why, &seats);
    for (size_t f = 0; f < why->file.count && made; f++) {
        const double latest = latest_of(s, &why->file.list[f]);
        for (size_t e = 0; e < why->file.list[f].event.count && made; e++) {
            const int64_t own = why->places.list.list[why->file.list[f].file].attempt;
            why_item *i = ASSAY_VEC_ADD(&s->item);
            made = i != NULL;
            if (!made)
                break;
            *i = (why_item){.event = &why->file.list[f].event.list[e], .file = f, .old = own >= 0 && own < attempt};
            place_item(s, &seats, several, latest, i);
        }
    }
    made = made && why_ranks_make(s);
    if (made)
        take_root_causes(s);
    free(seats.node);
    return made;
}

void why_scene_release(why_scene *s)
{
    free(s->item.list);
    why_ranks_release(&s->by_rank);
    why_progress_release(&s->progress);
}
