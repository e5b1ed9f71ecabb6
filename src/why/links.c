/* links.c - the chain: events that are one, whom they speak of, and in which order they stand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "why/combine.h"

bool why_add_rank(why_link *link, int64_t rank)
{
    int64_t *added = rank < 0 ? NULL : ASSAY_VEC_ADD(&link->rank);
    if (added)
        *added = rank;
    return rank < 0 || added;
}

bool why_add_node(why_link *link, const char *node)
{
    char **added = !node || !node[0] ? NULL : ASSAY_VEC_ADD(&link->node);
    if (added)
        *added = (char *)node;
    return !node || !node[0] || added;
}

/* "0-3,5" */
static bool add_ranks(why_link *link, const char *list)
{
    bool made = true;
    while (*list && made) {
        char *end = NULL;
        const long long first = strtoll(list, &end, 10);
        long long last = first;
        if (end == list)
            break;
        if (*end == '-')
            last = strtoll(end + 1, &end, 10);
        for (long long r = first; r <= last && r - first < 1 << 20 && made; r++)
            made = why_add_rank(link, r);
        list = *end == ',' ? end + 1 : end;
        if (*end != ',')
            break;
    }
    return made;
}

bool why_add_item(why_link *link, const why_item *i)
{
    link->count += i->event->count;
    if (link->event == NULL)
        link->event = i->event;
    if (isnan(link->time) || i->from < link->time)
        link->time = isnan(i->from) ? link->time : i->from;
    const bool ranks = i->event->ranks[0] ? add_ranks(link, i->event->ranks) : why_add_rank(link, i->rank);
    const bool all = i->event->scope == ASSAY_LOG_JOB && why_is_external(i->event->ending) &&
                     i->event->ending != ASSAY_ENDING_node_failure; /* who said it is not whom it is about */
    return ranks && (all || why_add_node(link, i->node));
}

void why_make_unique(why_link *link)
{
    size_t kept = 0;
    if (link->rank.count > 1)
        qsort(link->rank.list, link->rank.count, sizeof *link->rank.list, assay_order_i64);
    for (size_t i = 0; i < link->rank.count; i++)
        if (kept == 0 || link->rank.list[kept - 1] != link->rank.list[i])
            link->rank.list[kept++] = link->rank.list[i];
    link->rank.count = kept;
    kept = 0;
    if (link->node.count > 1)
        qsort(link->node.list, link->node.count, sizeof *link->node.list, assay_order_texts);
    for (size_t i = 0; i < link->node.count; i++)
        if (kept == 0 || strcmp(link->node.list[kept - 1], link->node.list[i]) != 0)
            link->node.list[kept++] = link->node.list[i];
    link->node.count = kept;
}

/* Of a node or a job the ranks that the launcher says were killed, else those that lie on the node. */
static bool add_ranks_of_node(why_scene *s, why_link *link)
{
    const assay_ending ending = link->event->ending;
    const bool by_kill = ending == ASSAY_ENDING_host_memory;
    bool made = true;
    if (link->rank.count > 0 || link->event->scope == ASSAY_LOG_RANK || why_is_external(ending))
        return true;
    for (size_t k = 0; k < s->item.count && made; k++) {
        const why_item *i = &s->item.list[k];
        const bool there = link->node.count == 0 || (i->node && strcmp(i->node, link->node.list[0]) == 0);
        const bool killed = i->event->ending == ASSAY_ENDING_signal &&
                            (i->event->code == 9 || i->event->code == -9 || i->event->code == 137 ||
                             strstr(i->event->text, "signal 9") || strstr(i->event->text, "Killed") ||
                             strstr(i->event->text, "SIGKILL"));
        const bool reader = by_kill && i->event->ending == ASSAY_ENDING_worker_killed && i->rank >= 0 && i->node;
        const bool same = by_kill && i->event->ending == ending && (i->rank >= 0 || i->event->ranks[0]);
        const bool hurt = !by_kill && i->rank >= 0 && i->level <= WHY_LEVEL_PROGRAM &&
                          i->event->scope == ASSAY_LOG_RANK && i->event->role != ASSAY_LOG_NOISE &&
                          (i->event->ending == ASSAY_ENDING_gpu_fault || i->event->ending == ASSAY_ENDING_gpu_code) &&
                          !i->survived;
        if (there && (same || reader || (by_kill && killed) || hurt))
            made = i->event->ranks[0] ? add_ranks(link, i->event->ranks) : why_add_rank(link, i->rank);
    }
    why_make_unique(link);
    const why_facts *f = &s->why->facts;
    if (made && link->rank.count == 0 && f->first && f->block && link->node.count == 1) {
        const char *name = f->node;
        for (size_t n = 0; n < f->nodes; n++, name += strlen(name) + 1)
            for (int64_t r = f->first[n]; strcmp(name, link->node.list[0]) == 0 && r < f->first[n + 1] && made; r++)
                made = why_add_rank(link, r);
    }
    const bool none = link->rank.count == 0 && link->node.count == 1;
    for (size_t k = 0; made && none && k < s->why->file.count; k++) {
        const assay_log_file *file = &s->why->file.list[k]; /* outputs that are called by the node, or the pod */
        const bool its = strcmp(why_place_node(&s->why->places.list.list[file->file]), link->node.list[0]) == 0;
        for (size_t r = 0; its && made && r < file->rank.count; r++)
            made = file->rank.list[r].rank < 0 || why_add_rank(link, file->rank.list[r].rank);
    }
    why_make_unique(link);
    return made;
}

/* How well an event says who failed by itself. */
int why_how_well_named(const why_item *i)
{
    const assay_log_event *e = i->event;
    if (e->signature == ASSAY_SIGNATURE_ROOT_CAUSE)
        return 3;
    if (e->signature == ASSAY_SIGNATURE_LISTED)
        return 2;
    const bool told = e->ending == ASSAY_ENDING_launcher ||
                      (e->ending == ASSAY_ENDING_signal && e->role != ASSAY_LOG_CONSEQUENCE && !i->late);
    const bool who = i->rank >= 0 || e->ranks[0];
    return told && who && e->code != 0 ? 2 : who;
}

/* Whose line it is that no rank stands in front of: the only one of which the launcher says that it failed by itself. */
static bool add_named_rank(const why_scene *s, why_link *link)
{
    why_link root = {.time = NAN}, others = {.time = NAN};
    bool made = true;
    const bool process = link->event->ending == ASSAY_ENDING_crash || link->event->ending == ASSAY_ENDING_signal;
    if (link->rank.count > 0 || link->count > 1 || (link->event->scope != ASSAY_LOG_RANK && !process))
        return true;
    for (size_t k = 0; k < s->item.count && made; k++) {
        const why_item *i = &s->item.list[k];
        if (i->survived || i->old || i->event->role == ASSAY_LOG_NOISE)
            continue;
        if (i->event->signature == ASSAY_SIGNATURE_ROOT_CAUSE)
            made = why_add_item(&root, i);
        else if (why_how_well_named(i) == 2)
            made = why_add_item(&others, i);
    }
    why_make_unique(&root);
    why_make_unique(&others);
    const why_link *named = root.rank.count > 0 ? &root : &others;
    const bool elsewhere = link->node.count > 0 && named->node.count == 1 && /* it is not the one that is told of */
                           strcmp(link->node.list[0], named->node.list[0]) != 0;
    if (made && named->rank.count == 1 && !elsewhere) {
        link->derived = true;
        made = why_add_rank(link, named->rank.list[0]) &&
               (link->node.count > 0 || named->node.count != 1 || why_add_node(link, named->node.list[0]));
    }
    free(root.rank.list);
    free(root.node.list);
    free(others.rank.list);
    free(others.node.list);
    return made;
}

why_link *why_new_link(assay_why *why)
{
    why_link *link = ASSAY_VEC_ADD(&why->chain);
    if (link)
        link->time = NAN;
    return link;
}

/* Do so many ranks have the same that it is everybody's? Then those count as well that had it a little later. */
static bool is_widespread(const why_scene *s, const why_item *cause)
{
    size_t alike = 0;
    for (size_t k = 0; k < s->item.count; k++)
        alike += s->item.list[k].first && why_is_alike(&s->item.list[k], cause);
    return s->ranks > 2 && alike * 2 > s->ranks;
}

/* Does it say the same as one shortly before it, and more? */
static bool says_more(const assay_log_event *e, const assay_log_event *before)
{
    const size_t length = strlen(before->text);
    return e->file == before->file && e->line > before->line && e->chained && e->in_traceback &&
           strlen(e->text) > length && strncmp(e->text, before->text, length) == 0;
}

bool why_add_cause(why_scene *s, why_item *cause)
{
    why_link *link = why_new_link(s->why);
    bool made = link && why_add_item(link, cause);
    const bool wide = is_widespread(s, cause);
    cause->told = true;
    for (size_t k = 0; k < s->item.count && made; k++) {
        why_item *i = &s->item.list[k];
        if (i == cause || !(i->first || (wide && i->candidate)) || !why_is_alike(i, cause) ||
            (cause->event->scope != ASSAY_LOG_RANK && !(cause->event->ranks[0] && i->event->ranks[0]) && i->node &&
             cause->node && strcmp(i->node, cause->node) != 0))
            continue;
        const bool exact = !isnan(i->from) && !isnan(cause->from) && !i->event->near && !cause->event->near;
        if (exact && i->from > cause->from + (wide ? WHY_GOES_ON : WHY_CLOCKS))
            continue;
        made = why_add_item(link, i);
        i->told = true;
    }
    for (size_t k = 0; k < s->item.count && made; k++) { /* the same, told of later, or by who stood by */
        why_item *i = &s->item.list[k];
        if (!i->told && !i->survived && why_is_alike(i, cause) && i->rank == cause->rank) {
            i->told = true;
            if (says_more(i->event, link->event))
                link->event = i->event; /* "Caught FileNotFoundError in DataLoader worker", and then which file */
        }
    }
    if (made) {
        why_make_unique(link);
        made = add_ranks_of_node(s, link) && add_named_rank(s, link);
        why_make_unique(link);
        if (link->node.count == 0)
            for (size_t r = 0; r < link->rank.count && made && r < 64; r++)
                made = why_add_node(link, why_node_of(&s->why->facts, link->rank.list[r]));
        why_make_unique(link);
    }
    return made;
}

typedef struct group { /* items of one consequence */
    uint32_t signature;
    size_t link;
} group;

static int by_time(const void *a, const void *b)
{
    const why_link *x = a, *y = b;
    int order =
        isnan(x->time) || isnan(y->time) ? ASSAY_ORDER(isnan(x->time), isnan(y->time)) : ASSAY_ORDER(x->time, y->time);
    order = order ? order : ASSAY_ORDER(x->event->near, y->event->near); /* those of a line before them are later */
    order = order ? order : ASSAY_ORDER(why_level_of(x->event->ending), why_level_of(y->event->ending));
    order = order ? order : ASSAY_ORDER(x->event->file, y->event->file);
    return order ? order : ASSAY_ORDER(x->event->line, y->event->line);
}

/* What follows: equal things of many ranks are one. */
bool why_add_consequences(why_scene *s)
{
    ASSAY_VEC(group) groups = {0};
    const size_t from = s->why->chain.count;
    bool made = true;
    for (size_t k = 0; k < s->item.count && made; k++) {
        why_item *i = &s->item.list[k];
        size_t g = 0;
        if (i->told || i->survived || i->old || i->event->role == ASSAY_LOG_NOISE)
            continue;
        while (g < groups.count && groups.list[g].signature != i->event->signature)
            g++;
        if (g == groups.count) {
            group *added = ASSAY_VEC_ADD(&groups);
            made = added && why_new_link(s->why);
            if (made)
                *added = (group){i->event->signature, s->why->chain.count - 1};
        }
        made = made && why_add_item(&s->why->chain.list[groups.list[g].link], i);
    }
    for (size_t l = from; l < s->why->chain.count; l++)
        why_make_unique(&s->why->chain.list[l]);
    if (s->why->chain.count - from > 1)
        qsort(s->why->chain.list + from, s->why->chain.count - from, sizeof *s->why->chain.list, by_time);
    free(groups.list);
    return made;
}

bool why_add_silent(why_scene *s)
{
    why_link *cause = s->why->chain.count > 0 && s->why->has_cause ? &s->why->chain.list[0] : NULL;
    if (!cause || cause->event->scope != ASSAY_LOG_RANK || cause->rank.count > 0 || cause->count > 1)
        return true;
    for (size_t l = 1; l < s->why->chain.count; l++) {
        const why_link *link = &s->why->chain.list[l];
        const bool waited = link->event->ending == ASSAY_ENDING_collective_timeout;
        if (!waited || link->rank.count + 1 != s->ranks || s->ranks < 3)
            continue;
        size_t silent = 0;
        while (silent < link->rank.count && link->rank.list[silent] == (int64_t)silent)
            silent++;
        if (silent + 1 == s->ranks) /* whether there was one more is not known */
            return true;
        cause->derived = true;
        return why_add_rank(cause, (int64_t)silent) &&
               why_add_text(&s->why->reason, "all other ranks say that they waited, and rank %zu does not", silent);
    }
    return true;
}
