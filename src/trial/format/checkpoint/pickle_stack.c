/* pickle_stack.c - the stack, the nodes and the memo of the pickle machine.
 *
 * The stack holds numbers of nodes. A mark is kept as the stack's height when it was set: nothing may take from below
 * the last mark. What a container holds is a chain of items, so that it can grow while others do. The memo is a table
 * of pages, which are made when a slot of theirs is filled. */
#include "trial/format/checkpoint/pickle_stack.h"

#include "base/fault.h"
#include "base/heap.h"

enum { NODES_MOST = 1 << 26, STACK_MOST = 1 << 22, NESTING_MOST = 512 };

/* The first thing that is wrong ends the reading. Returns false. */
bool assay_pickle_refuse(assay_pickle_machine *m, const char *what)
{
    if (m->status == ASSAY_OK)
        m->status = assay_fail(m->err, ASSAY_EFORMAT, "offset %zu: %s", m->from, what);
    return false;
}

bool assay_pickle_no_memory(assay_pickle_machine *m)
{
    if (m->status == ASSAY_OK)
        m->status = assay_fail(m->err, ASSAY_ENOMEM, "out of memory for a pickle of %zu bytes", m->size);
    return false;
}

/* Makes room for one more in an array of `room` elements. */
static bool grow(assay_pickle_machine *m, void **array, size_t count, size_t *room, size_t element)
{
    if (count < *room)
        return true;
    size_t more = *room >= 128 ? 2 * *room : 256;
    void *grown = assay_heap_grow_large(*array, count * element, more * element);
    if (!grown)
        return assay_pickle_no_memory(m);
    *array = grown;
    *room = more;
    return true;
}

/* As many nodes and items as pickles of their size have, more or less. The memory is not touched before it is used. */
bool assay_pickle_reserve(assay_pickle_machine *m)
{
    enum { OF_NODE = 8, OF_ITEM = 6, MOST = 4 << 20 };
    const size_t nodes = m->size / OF_NODE < MOST ? m->size / OF_NODE : MOST,
                 items = m->size / OF_ITEM < MOST ? m->size / OF_ITEM : MOST;
    m->out.node = assay_heap_grow_large(NULL, 0, nodes * sizeof *m->out.node);
    m->out.item = assay_heap_grow_large(NULL, 0, items * sizeof *m->out.item);
    if (!m->out.node || !m->out.item)
        return assay_pickle_no_memory(m);
    m->out.node_room = nodes;
    m->out.item_room = items;
    return true;
}

/* ---- nodes and the stack ---- */

bool assay_pickle_push(assay_pickle_machine *m, uint32_t number)
{
    if (m->height == STACK_MOST)
        return assay_pickle_refuse(m, "the stack has more than 2^22 items");
    if (!grow(m, (void **)&m->stack, m->height, &m->stack_room, sizeof *m->stack))
        return false;
    m->stack[m->height++] = number;
    return true;
}

bool assay_pickle_push_new(assay_pickle_machine *m, assay_pickle_node node)
{
    if (m->out.nodes == NODES_MOST)
        return assay_pickle_refuse(m, "the pickle has more than 2^26 nodes");
    if (!grow(m, (void **)&m->out.node, m->out.nodes, &m->out.node_room, sizeof *m->out.node))
        return false;
    m->out.node[m->out.nodes] = node;
    return assay_pickle_push(m, (uint32_t)m->out.nodes++);
}

bool assay_pickle_push_small(assay_pickle_machine *m, uint8_t integer)
{
    if (m->small[integer])
        return assay_pickle_push(m, m->small[integer] - 1);
    m->small[integer] = (uint32_t)m->out.nodes + 1;
    return assay_pickle_push_new(m, (assay_pickle_node){.kind = ASSAY_PICKLE_INT, .integer = integer});
}

bool assay_pickle_push_container(assay_pickle_machine *m, assay_pickle_kind kind)
{
    return assay_pickle_push_new(m, (assay_pickle_node){.kind = (uint8_t)kind,
                                                        .c = ASSAY_PICKLE_NOTHING,
                                                        .first = ASSAY_PICKLE_NOTHING,
                                                        .last = ASSAY_PICKLE_NOTHING});
}

/* The height below which nothing may be taken. */
size_t assay_pickle_floor(const assay_pickle_machine *m)
{
    return m->marks ? m->mark[m->marks - 1] : 0;
}

bool assay_pickle_need(assay_pickle_machine *m, size_t count)
{
    return m->height - assay_pickle_floor(m) >= count
               ? true
               : assay_pickle_refuse(m, "the stack has too few items for this opcode");
}

bool assay_pickle_pop(assay_pickle_machine *m, uint32_t *out)
{
    if (!assay_pickle_need(m, 1))
        return false;
    *out = m->stack[--m->height];
    return true;
}

/* Ends the last mark: the items above it are [*first, height). */
bool assay_pickle_pop_mark(assay_pickle_machine *m, size_t *first)
{
    if (m->marks == 0)
        return assay_pickle_refuse(m, "there is no mark on the stack");
    *first = m->mark[--m->marks];
    return true;
}

/* Notes that one node holds another. */
bool assay_pickle_hold(assay_pickle_machine *m, uint32_t holder, uint32_t held)
{
    const unsigned depth = assay_pickle_node_of(m, held)->depth + 1u;
    if (depth > NESTING_MOST)
        return assay_pickle_refuse(m, "the pickle is nested more than 512 deep");
    if (depth > assay_pickle_node_of(m, holder)->depth)
        assay_pickle_node_of(m, holder)->depth = (uint16_t)depth;
    return true;
}

bool assay_pickle_add_item(assay_pickle_machine *m, uint32_t holder, uint32_t key, uint32_t value)
{
    assay_pickle *p = &m->out;
    if (p->items == NODES_MOST)
        return assay_pickle_refuse(m, "the pickle has more than 2^26 items");
    if ((key != ASSAY_PICKLE_NOTHING && !assay_pickle_hold(m, holder, key)) || !assay_pickle_hold(m, holder, value) ||
        !grow(m, (void **)&p->item, p->items, &p->item_room, sizeof *p->item))
        return false;
    assay_pickle_node *node = assay_pickle_node_of(m, holder);
    const uint32_t number = (uint32_t)p->items++;
    p->item[number] = (assay_pickle_item){key, value, ASSAY_PICKLE_NOTHING};
    if (node->first == ASSAY_PICKLE_NOTHING)
        node->first = number;
    else
        p->item[node->last].next = number;
    node->last = number;
    return true;
}

bool assay_pickle_set_mark(assay_pickle_machine *m)
{
    if (m->marks == STACK_MOST)
        return assay_pickle_refuse(m, "the stack has more than 2^22 marks");
    if (!grow(m, (void **)&m->mark, m->marks, &m->mark_room, sizeof *m->mark))
        return false;
    m->mark[m->marks++] = (uint32_t)m->height;
    return true;
}

/* ---- the memo ---- */

bool assay_pickle_memo_put(assay_pickle_machine *m, uint64_t slot)
{
    if (!assay_pickle_need(m, 1))
        return false;
    if (slot >= (uint64_t)ASSAY_PICKLE_PAGE * ASSAY_PICKLE_PAGE)
        return assay_pickle_refuse(m, "a memo slot beyond 2^26");
    uint32_t **page = &m->memo[slot / ASSAY_PICKLE_PAGE];
    if (!*page && !(*page = assay_alloc_zeroed(ASSAY_PICKLE_PAGE, sizeof **page)))
        return assay_pickle_no_memory(m);
    m->memoized += (*page)[slot % ASSAY_PICKLE_PAGE] == 0;
    (*page)[slot % ASSAY_PICKLE_PAGE] = m->stack[m->height - 1] + 1;
    return true;
}

bool assay_pickle_memo_get(assay_pickle_machine *m, uint64_t slot)
{
    const uint32_t *page =
        slot < (uint64_t)ASSAY_PICKLE_PAGE * ASSAY_PICKLE_PAGE ? m->memo[slot / ASSAY_PICKLE_PAGE] : NULL;
    if (!page || page[slot % ASSAY_PICKLE_PAGE] == 0)
        return assay_pickle_refuse(m, "an unfilled memo slot is asked for");
    return assay_pickle_push(m, page[slot % ASSAY_PICKLE_PAGE] - 1);
}
