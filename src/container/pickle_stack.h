/* pickle_stack.h - what the opcodes of a pickle work on. Inside pickle.c and pickle_stack.c only.
 *
 * All calls return false once something is wrong, and leave it in the machine. */
#pragma once

#include "container/pickle_form.h"

enum {
    ASSAY_PICKLE_PAGE = 1 << 13,     /* slots a page, and pages: 2^26 slots */
    ASSAY_PICKLE_STREAMED = 50000000 /* nodes of a pickle that is streamed */
};

/* The list that is handed out while it is read (assay_pickle_feed). Its items stand on the stack from `height` on. */
typedef struct assay_pickle_handed {
    uint32_t list; /* its node; ASSAY_PICKLE_NOTHING: there is none yet */
    size_t height, marks;
    bool left;                 /* items were left on the stack: the rest waits for APPENDS, to keep the order */
    bool pinned;               /* what an item holds is held elsewhere too */
    size_t nodes, items, text; /* in use when the map under way began; nodes 0: none is under way */
    uint64_t put[64];          /* slots that were filled since then */
    unsigned puts;
    size_t seen;    /* nodes that items which were handed out may hold */
    uint64_t begin; /* offset of the item under way, behind its EMPTY_DICT */
    uint64_t made;  /* nodes when it began */
} assay_pickle_handed;

typedef struct assay_pickle_machine {
    assay_pickle out;
    const uint8_t *in;
    size_t size, at;               /* bytes of `in`; the next one */
    uint64_t base, from;           /* offsets in the pickle: of `in`; of the opcode under way */
    const assay_pickle_feed *feed; /* NULL: all of the pickle is in `in` */
    size_t text_size, text_room;
    uint64_t made; /* nodes ever */
    assay_pickle_handed handed;
    bool given; /* an item was handed out */
    assay_pickle_forms forms;
    uint32_t *stack, *mark;
    size_t height, stack_room, marks, mark_room;
    uint32_t *memo[ASSAY_PICKLE_PAGE]; /* pages of slots: a node's number + 1; NULL: none is filled */
    uint32_t memoized;                 /* slots that are filled */
    uint32_t small[256];               /* by a small integer: its node's number + 1; 0: it has none yet */
    assay_error *err;
    int status;
} assay_pickle_machine;

/* Ends the reading: what is wrong, at the opcode under way. The first call counts. Returns false. */
bool assay_pickle_refuse(assay_pickle_machine *m, const char *what);

/* Keeps bytes that stand in `in` as long as the nodes: their offset in out.bytes, in *at. */
bool assay_pickle_keep_text(assay_pickle_machine *m, const uint8_t *bytes, size_t size, uint32_t *at);
/* Drops what the item under way made, unless it is pinned; the texts that the memo has stay. */
void assay_pickle_drop_item(assay_pickle_machine *m);

/* Makes room for the nodes of a pickle of this size; both arrays grow beyond that as they can. */
bool assay_pickle_reserve(assay_pickle_machine *m);

static inline assay_pickle_node *assay_pickle_node_of(assay_pickle_machine *m, uint32_t number)
{
    return &m->out.node[number];
}

/* Puts a node on the stack: one that is there, a new one, a new container without items. */
bool assay_pickle_push(assay_pickle_machine *m, uint32_t number);
bool assay_pickle_push_new(assay_pickle_machine *m, assay_pickle_node node);
/* Puts an integer of 0 to 255 there; all that are equal are one node. */
bool assay_pickle_push_small(assay_pickle_machine *m, uint8_t integer);
bool assay_pickle_push_container(assay_pickle_machine *m, assay_pickle_kind kind);
/* The height below which nothing may be taken. */
size_t assay_pickle_floor(const assay_pickle_machine *m);
/* Are there so many items to be taken? */
bool assay_pickle_need(assay_pickle_machine *m, size_t count);
/* Takes the topmost item. */
bool assay_pickle_pop(assay_pickle_machine *m, uint32_t *out);
/* Sets a mark; ends the last one: the items above it are [*first, height). */
bool assay_pickle_set_mark(assay_pickle_machine *m);
bool assay_pickle_pop_mark(assay_pickle_machine *m, size_t *first);
/* Notes that one node holds another. */
bool assay_pickle_hold(assay_pickle_machine *m, uint32_t holder, uint32_t held);
/* Adds an item to a container; `key` is ASSAY_PICKLE_NOTHING but for pairs. */
bool assay_pickle_add_item(assay_pickle_machine *m, uint32_t holder, uint32_t key, uint32_t value);
/* Keeps the topmost item in a slot; puts a slot's on the stack. */
bool assay_pickle_memo_put(assay_pickle_machine *m, uint64_t slot);
bool assay_pickle_memo_get(assay_pickle_machine *m, uint64_t slot);
/* The node in a slot; false: none. */
bool assay_pickle_memo_find(const assay_pickle_machine *m, uint64_t slot, uint32_t *node);
