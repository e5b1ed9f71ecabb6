/* pickle_stack.c - the stack, the nodes and the memo of the pickle machine.
 *
 * The stack holds numbers of nodes. A mark is kept as the stack's height when it was set: nothing may take from below
 * the last mark. What a container holds is a chain of items, so that it can grow while others do. The memo is a table
 * of pages, which are made when a slot of theirs is filled. */
#include "container/pickle_stack.h"

#include <string.h>

#include "base/fault.h"
#include "base/heap.h"

/* Set once by the command, before ranks read anything; all ranks have the same value, so all refuse the same
 * pickles. */
static size_t memory = SIZE_MAX; /* that a pickle may take: assay_pickle_set_memory() */

/* NODES_MOST: of a pickle of 1 GiB each node takes 16 bytes then. NESTING_MOST: readers walk trees by recursion, and
 * this bounds their stack. */
enum { NODES_MOST = 1 << 26, STREAMED_SLOTS = 1 << 24, STACK_MOST = 1 << 22, NESTING_MOST = 512 };

/* The first thing that is wrong ends the reading. Returns false. */
bool assay_pickle_refuse(assay_pickle_machine *m, const char *what)
{
    if (m->status == ASSAY_OK)
        m->status = assay_fail(m->err, ASSAY_EFORMAT, "offset %llu: %s", (unsigned long long)m->from, what);
    return false;
}

static bool assay_pickle_no_memory(assay_pickle_machine *m)
{
    if (m->status == ASSAY_OK)
        m->status = assay_fail(m->err, ASSAY_ENOMEM, "out of memory for a pickle");
    return false;
}

/* Makes room for one more in an array of `room` elements. */
static bool grow(assay_pickle_machine *m, void **array, size_t count, size_t *room, size_t element)
{
    if (count < *room)
        return true;
    size_t more = *room >= 128 ? 2 * *room : 256;
    /* What is held is estimated from room, not from use: the estimate is the same at any number of ranks. */
    const size_t held = m->size + m->out.node_room * sizeof *m->out.node + m->out.item_room * sizeof *m->out.item +
                        m->stack_room * sizeof *m->stack;
    if (held > memory || (more - *room) * element > memory - held)
        return assay_pickle_refuse(m, "it takes more memory than half of --memory; give more");
    if (m->feed && more * element > m->feed->memory / 2)
        return assay_pickle_refuse(m, "it takes more memory than --memory leaves for it");
    /* `room` grows by doubling; a stream has at most half of its memory in one array, for the old and the new one are
     * there at once. */
    void *grown = assay_heap_grow_large(*array, count * element, more * element);
    if (!grown)
        return assay_pickle_no_memory(m);
    *array = grown;
    *room = more;
    return true;
}

void assay_pickle_set_memory(size_t bytes)
{
    memory = bytes;
}

size_t assay_pickle_memory(void)
{
    return memory;
}

/* As many nodes and items as pickles of their size have, more or less. The memory is not touched before it is used. */
bool assay_pickle_reserve(assay_pickle_machine *m)
{
    enum { OF_NODE = 8, OF_ITEM = 6, MOST = 4 << 20 };
    if (m->feed)
        return true;
    const size_t most = memory / 4 / sizeof *m->out.node < MOST ? memory / 4 / sizeof *m->out.node : MOST;
    const size_t nodes = m->size / OF_NODE < most ? m->size / OF_NODE : most,
                 items = m->size / OF_ITEM < most ? m->size / OF_ITEM : most;
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
    if (m->out.nodes == NODES_MOST || (m->feed && m->made++ == ASSAY_PICKLE_STREAMED))
        return assay_pickle_refuse(m, m->feed ? "the pickle has more than 50 million nodes"
                                              : "the pickle has more than 2^26 nodes");
    if (!grow(m, (void **)&m->out.node, m->out.nodes, &m->out.node_room, sizeof *m->out.node))
        return false;
    m->out.node[m->out.nodes] = node;
    return assay_pickle_push(m, (uint32_t)m->out.nodes++);
}

/* Small integers are shared: pickles of sizes and offsets are full of them. */
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

bool assay_pickle_keep_text(assay_pickle_machine *m, const uint8_t *bytes, size_t size, uint32_t *at)
{
    if (!m->feed) {
        *at = (uint32_t)(bytes - m->in);
        return true;
    }
    while (m->text_room - m->text_size < size) {
        size_t room = m->text_room;
        if (!grow(m, (void **)&m->out.text, m->text_room, &room, 1))
            return false;
        m->text_room = room;
    }
    /* Streamed texts are copied: the window that they lie in moves on. */
    *at = (uint32_t)m->text_size;
    if (size > 0)
        memcpy(m->out.text + m->text_size, bytes, size);
    m->text_size += size;
    m->out.bytes = m->out.text;
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
    /* Somebody outside the item holds a part of it, or the item grew something older: then nothing of it is dropped. */
    m->handed.pinned = m->handed.pinned || holder < m->handed.nodes;
    /* `seen`: nodes below it were handed out, so the feed believes that they are complete. */
    if (m->given && holder < m->handed.seen && holder != m->stack[0])
        return assay_pickle_refuse(m, "what items of its list hold grows behind them");
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
    if (slot >= (uint64_t)ASSAY_PICKLE_PAGE * ASSAY_PICKLE_PAGE || (m->feed && slot >= STREAMED_SLOTS))
        return assay_pickle_refuse(m, m->feed ? "a memo slot beyond 2^24" : "a memo slot beyond 2^26");
    if (m->feed) {
        assay_pickle_handed *h = &m->handed;
        /* More memo slots than there is room to note: the item is kept whole. */
        h->pinned = h->pinned || h->puts == sizeof h->put / sizeof *h->put;
        if (!h->pinned)
            h->put[h->puts++] = slot;
    }
    uint32_t **page = &m->memo[slot / ASSAY_PICKLE_PAGE];
    if (!*page && !(*page = assay_alloc_zeroed(ASSAY_PICKLE_PAGE, sizeof **page)))
        return assay_pickle_no_memory(m);
    /* A slot that is filled again changes what the bytes of known forms mean. */
    if ((*page)[slot % ASSAY_PICKLE_PAGE] != 0)
        assay_pickle_forms_forget(&m->forms);
    else
        m->memoized++;
    (*page)[slot % ASSAY_PICKLE_PAGE] = m->stack[m->height - 1] + 1;
    return true;
}

bool assay_pickle_memo_find(const assay_pickle_machine *m, uint64_t slot, uint32_t *node)
{
    const uint32_t *page =
        slot < (uint64_t)ASSAY_PICKLE_PAGE * ASSAY_PICKLE_PAGE ? m->memo[slot / ASSAY_PICKLE_PAGE] : NULL;
    if (!page || page[slot % ASSAY_PICKLE_PAGE] == 0)
        return false;
    *node = page[slot % ASSAY_PICKLE_PAGE] - 1;
    return true;
}

bool assay_pickle_memo_get(assay_pickle_machine *m, uint64_t slot)
{
    uint32_t node = 0;
    if (!assay_pickle_memo_find(m, slot, &node))
        return assay_pickle_refuse(m, "an unfilled memo slot is asked for");
    return assay_pickle_push(m, node);
}

/* ---- what is handed out ---- */

static uint32_t *slot_at(assay_pickle_machine *m, uint64_t slot)
{
    return &m->memo[slot / ASSAY_PICKLE_PAGE][slot % ASSAY_PICKLE_PAGE];
}

/* Moves a text that the memo has to the end of what stays. */
static void save_text(assay_pickle_machine *m, uint64_t slot, size_t *nodes, size_t *text)
{
    assay_pickle_node node = m->out.node[*slot_at(m, slot) - 1];
    memmove(m->out.text + *text, m->out.text + node.a, node.size);
    node.a = (uint32_t)*text;
    *text += node.size;
    m->out.node[*nodes] = node;
    *slot_at(m, slot) = (uint32_t)++ * nodes;
}

/* Drops what the item made, but for texts in the memo, which later items may name. Anything else in the memo pins
 * it. */
void assay_pickle_drop_item(assay_pickle_machine *m)
{
    assay_pickle_handed *h = &m->handed;
    uint32_t last = 0;
    bool texts = !h->pinned && h->nodes > 0;
    /* save_text() moves texts to the front one after the other; that is safe only in the order in which they lie. */
    for (unsigned i = 0; i < h->puts && texts; i++) { /* texts in the order in which they were made, each in one slot */
        const uint32_t number = *slot_at(m, h->put[i]);
        if (number - 1 < h->nodes)
            continue;
        texts = number > last && m->out.node[number - 1].kind == ASSAY_PICKLE_TEXT;
        last = number;
    }
    if (texts) {
        size_t nodes = h->nodes, text = h->text;
        for (unsigned i = 0; i < h->puts; i++)
            if (*slot_at(m, h->put[i]) - 1 >= h->nodes)
                save_text(m, h->put[i], &nodes, &text);
        m->out.nodes = nodes;
        m->out.items = h->items;
        m->text_size = text;
    }
    h->nodes = h->puts = 0;
    h->pinned = false;
}
