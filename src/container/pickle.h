/* pickle.h - reads a pickle into a tree of nodes.
 *
 * A pickle is a program for a stack machine that may import modules and call functions. This machine does neither: a
 * function is a node with two names, a call is a node with a function and its arguments, and nobody carries it out.
 * Nodes may be shared, and may hold themselves. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/status.h>

typedef enum assay_pickle_kind {
    ASSAY_PICKLE_NONE,
    ASSAY_PICKLE_BOOL,
    ASSAY_PICKLE_INT,
    ASSAY_PICKLE_HUGE, /* an integer of more than 64 bits */
    ASSAY_PICKLE_FLOAT,
    ASSAY_PICKLE_TEXT,
    ASSAY_PICKLE_BYTES,
    ASSAY_PICKLE_LIST,
    ASSAY_PICKLE_TUPLE,
    ASSAY_PICKLE_SET,
    ASSAY_PICKLE_DICT,
    ASSAY_PICKLE_GLOBAL,    /* a function or class: module and name */
    ASSAY_PICKLE_CALL,      /* of a node with a tuple of arguments */
    ASSAY_PICKLE_OBJECT,    /* of a class with a tuple of arguments */
    ASSAY_PICKLE_PERSISTENT /* something outside the pickle, told by a node */
} assay_pickle_kind;

enum { ASSAY_PICKLE_NOTHING = UINT32_MAX }; /* no node, no item */

typedef struct assay_pickle_node {
    uint8_t kind;
    uint16_t depth; /* 0 without children */
    uint32_t a, b, c;
    union {
        int64_t integer; /* BOOL, INT */
        double number;   /* FLOAT */
        uint64_t size; /* TEXT, BYTES: bytes at offset `a`. GLOBAL: of the name, at offset `c` (module: b bytes at a) */
        struct {
            uint32_t first, last; /* items: of LIST, TUPLE, SET; pairs of DICT, CALL, OBJECT */
        };
    };
} assay_pickle_node; /* CALL, OBJECT: a what is called, b its arguments. PERSISTENT: a. DICT, CALL, OBJECT: c state */

typedef struct assay_pickle_item {
    uint32_t key, value; /* nodes; key only of pairs */
    uint32_t next;
} assay_pickle_item;

typedef struct assay_pickle {
    const uint8_t *bytes; /* that texts point into: the caller's record, needed as long as the nodes, or `text` */
    size_t size;
    uint8_t *text; /* owned: the texts of a pickle that was streamed; NULL */
    assay_pickle_node *node;
    size_t nodes, node_room;
    assay_pickle_item *item;
    size_t items, item_room;
    uint32_t root;
    size_t end; /* of the pickle in its bytes: behind its STOP */
} assay_pickle;

/* Reads a pickle of `size` bytes, at most 1 GiB. ASSAY_EFORMAT: the message names the opcode and its offset.
 * ASSAY_ENOMEM. Release `out`, which is empty after a failure, with assay_pickle_release(). */
int assay_pickle_read(const void *bytes, size_t size, assay_pickle *out, assay_error *err);
void assay_pickle_release(assay_pickle *p);
/* How many bytes a pickle, its nodes and items may take together; without it, what the format's ceilings allow. Set once, by
 * the command, to a part of --memory: the same pickles are refused at any number of ranks. */
void assay_pickle_set_memory(size_t bytes);
size_t assay_pickle_memory(void);

/* One of the numbers in which items of one form differ. */
typedef struct assay_pickle_number {
    uint8_t kind; /* ASSAY_PICKLE_INT, _FLOAT, _NONE */
    int64_t integer;
} assay_pickle_number;

/* A pickle of any length that comes piece by piece, and holds nothing but data: no bytes, no sets, no integer beyond 64
 * bits; STOP is the last byte. The root is a dict; the items of one list in it are handed out as they are read,
 * in order, and what they held is dropped unless the memo has it, so that memory does not grow with the list. */
typedef struct assay_pickle_feed {
    void *context;
    size_t memory; /* bytes that nodes and texts may take */
    /* Drops `used` bytes of the window, and makes it hold `least` more, or all that is left. 0, or an error. */
    int (*more)(void *context, size_t used, size_t least, const uint8_t **window, size_t *size, assay_error *err);
    const char *key; /* of the list */
    /* The list begins, or another one under the same key: what came before does not count. */
    void (*begin)(void *context);
    /* One item: any node, valid during the call. False ends the reading with ASSAY_EFORMAT; the context knows why.
     * `form` is NULL, or *form the name of its form, counted from 0: items of that form go to again() from now on,
     * unless the context sets it to ASSAY_PICKLE_NOTHING. nested: how many whole numbers of its lists may differ. */
    bool (*item)(void *context, const assay_pickle *p, uint32_t node, uint32_t *form, unsigned nested);
    /* NULL: all items go through item(). An item as the one of that form was, but for the values under the keys
     * `numbers` where that one had a number, None included, and for all whole numbers in the lists under the keys
     * `lists`, where there are at most 16. number[i] is that of numbers[i]; those of the lists follow in their order,
     * none below 0. At most 16 numbers and 16 lists. */
    bool (*again)(void *context, uint32_t form, const assay_pickle_number *number);
    const char *const *numbers, *const *lists;
    unsigned number_count, list_count;
} assay_pickle_feed;
/* Reads such a pickle into `out`, in which the list that was handed out is empty. *handed is false where the root has no
 * such list. Errors as assay_pickle_read(), what feed->more() returned, and ASSAY_EFORMAT where feed->memory is not
 * enough. */
int assay_pickle_stream(const assay_pickle_feed *feed, assay_pickle *out, bool *handed, assay_error *err);

/* Is the node a text, or the name of a function or class, of these bytes? A function's is "module name". */
bool assay_pickle_is_text(const assay_pickle *p, uint32_t node, const char *text);
bool assay_pickle_is_global(const assay_pickle *p, uint32_t node, const char *module, const char *name);
/* The value under a text in the pairs of a dict, call or object; the last one counts. ASSAY_PICKLE_NOTHING. */
uint32_t assay_pickle_get(const assay_pickle *p, uint32_t node, const char *key);
/* The i-th item of a list or tuple, or ASSAY_PICKLE_NOTHING. O(i). */
uint32_t assay_pickle_at(const assay_pickle *p, uint32_t node, size_t i);
