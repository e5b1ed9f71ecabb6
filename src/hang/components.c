/* components.c - strongly connected components of who waits for whom (Tarjan, without recursion).
 *
 * Nodes are ranks, then stops. A rank points to its stop and to those it waits for in point-to-point operations; a stop
 * points to the ranks that keep it from ending. */
#include "hang/internal.h"

typedef struct search {
    hang_world *w;
    uint32_t nodes, counter, height, depth;
    uint32_t *index, *low, *component; /* index: order of discovery + 1 */
    uint32_t *stack;                   /* of nodes without a component yet */
    uint32_t *path, *edge;             /* the nodes under way, and the next edge of each */
    uint32_t *first_wait;              /* [ranks + 1] */
} search;

/* Finds the edge number k of a node; HANG_NONE: it has no more. */
static uint32_t edge_of(const search *s, uint32_t node, uint32_t k)
{
    const hang_world *w = s->w;
    if (node >= w->ranks) {
        const hang_stop *stop = &w->stop[node - w->ranks];
        const hang_list *lists[] = {&stop->not_called, &stop->before, &stop->unknown};
        for (int i = 0; i < 3; i++) {
            if (k < lists[i]->count)
                return lists[i]->rank[k];
            k -= lists[i]->count;
        }
        return HANG_NONE;
    }
    const hang_front *front = &w->rank[node].front;
    if (front->stop != HANG_NONE && k-- == 0)
        return w->ranks + front->stop;
    const uint32_t wait = s->first_wait[node] + k;
    return wait < s->first_wait[node + 1] ? w->wait.list[wait].to : HANG_NONE;
}

/* `low` and `index` are Tarjan's; a node without a component is on the stack. */
static void enter(search *s, uint32_t node)
{
    s->index[node] = s->low[node] = ++s->counter;
    s->stack[s->height++] = node;
    s->path[s->depth] = node;
    s->edge[s->depth++] = 0;
}

static void leave(search *s, uint32_t node)
{
    s->depth--;
    if (s->depth > 0) {
        const uint32_t above = s->path[s->depth - 1];
        s->low[above] = s->low[node] < s->low[above] ? s->low[node] : s->low[above];
    }
    if (s->low[node] != s->index[node])
        return;
    uint32_t of = HANG_NONE;
    while (of != node) {
        of = s->stack[--s->height];
        s->component[of] = s->w->components;
    }
    s->w->components++;
}

/* No recursion: a chain of ten thousand ranks would take the program's stack. */
static void explore(search *s, uint32_t root)
{
    enter(s, root);
    while (s->depth > 0) {
        const uint32_t node = s->path[s->depth - 1], to = edge_of(s, node, s->edge[s->depth - 1]++);
        if (to == HANG_NONE)
            leave(s, node);
        else if (s->index[to] == 0)
            enter(s, to);
        else if (s->component[to] == HANG_NONE && s->index[to] < s->low[node])
            s->low[node] = s->index[to];
    }
}

/* `leaves`: a component from which somebody outside is waited for; such a one is never a cause. `size` counts ranks
 * alone. */
void hang_find_components(hang_world *w, bool *leaves, uint32_t *size)
{
    search s = {.w = w, .nodes = w->ranks + w->stops};
    uint32_t **lists[] = {&s.index, &s.low, &s.component, &s.stack, &s.path, &s.edge};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        *lists[i] = hang_take(w, s.nodes, sizeof(uint32_t));
    s.first_wait = hang_take(w, w->ranks + (size_t)1, sizeof *s.first_wait);
    if (w->no_memory)
        return;
    for (size_t i = 0; i < w->wait.count; i++) /* in the order of ranks */
        s.first_wait[w->wait.list[i].from + 1] = (uint32_t)i + 1;
    for (uint32_t r = 0; r < w->ranks; r++)
        if (s.first_wait[r + 1] < s.first_wait[r])
            s.first_wait[r + 1] = s.first_wait[r];
    for (uint32_t n = 0; n < s.nodes; n++)
        s.component[n] = HANG_NONE;
    for (uint32_t n = 0; n < s.nodes; n++)
        if (s.index[n] == 0)
            explore(&s, n);
    for (uint32_t n = 0; n < s.nodes; n++) {
        if (n < w->ranks) {
            w->rank[n].component = s.component[n];
            size[s.component[n]]++;
        }
        for (uint32_t k = 0, to; (to = edge_of(&s, n, k)) != HANG_NONE; k++) {
            const bool empty = to >= w->ranks && edge_of(&s, to, 0) == HANG_NONE; /* a stop that all have reached */
            leaves[s.component[n]] = leaves[s.component[n]] || (s.component[to] != s.component[n] && !empty);
        }
    }
}
