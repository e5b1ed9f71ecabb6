/* loading_machine.h - the state of the walk through a pickle: what is known of its stack and its memo (loading.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dict.h"
#include "verify/loading.h"

/* NAME: a module's. MEMBER: what getattr gets from one. BOUND: what an object, or a class made by a call, has.
 * ENCODED: the bytes that _codecs.encode makes of a text, as pickles of protocol 2 have them. */
typedef enum loading_kind {
    LOADING_OTHER,
    LOADING_TEXT,
    LOADING_NAME,
    LOADING_MEMBER,
    LOADING_BOUND,
    LOADING_RESULT,
    LOADING_ENCODED,
    LOADING_TUPLE
} loading_kind;

typedef struct loading_item {
    uint8_t kind;
    bool escaped;  /* TEXT, ENCODED: it stands in a line, and has characters that are written in another way */
    uint32_t at;   /* TEXT, ENCODED: its first byte. NAME, MEMBER: its id among the names */
    uint32_t size; /* TEXT, ENCODED */
} loading_item;

/* What is known of a value on the stack; of a tuple also its first two items. */
typedef struct loading_value {
    loading_item self, held[2];
    uint32_t count; /* TUPLE: items */
} loading_value;

typedef struct loading_slot {
    uint64_t slot; /* + 1; 0: free */
    loading_value value;
} loading_slot;

typedef struct loading_machine {
    const uint8_t *bytes;
    size_t size, at, from; /* of all; next byte; of the opcode under way */
    const char *opcode;
    loading_value *stack;
    size_t height, room;
    size_t *mark;
    size_t marks, mark_room;
    loading_slot *memo; /* slots below `dense` that are not in it have an OTHER */
    size_t memo_room, kept;
    uint64_t memoized, dense; /* slots that are filled, as Python counts them; all below `dense` are */
    assay_dict *names;        /* module, a zero, name */
    assay_loading *out;
    uint64_t base; /* of the bytes in what the caller looks at */
    size_t most;   /* bytes that stack, memo and names may take */
    int depth;     /* of pickles within texts */
    bool sure;     /* it says its protocol, as no text does */
    bool broken;   /* no loader comes further */
    bool cut;      /* the bytes end before it does */
    bool found;    /* a name that is code */
    int status;
} loading_machine;

/* Frees the stack, the memo and the names. */
void loading_release(loading_machine *m);

/* ---- the stack ---- */

/* Put a value on the stack; what is more than `most` sets the machine's status. An empty stack gives a value of no kind, and
 * the machine is broken then. */
void loading_push(loading_machine *m, loading_value v);
void loading_push_kind(loading_machine *m, loading_kind kind); /* a value of that kind, of which no more is known */
loading_value loading_pop(loading_machine *m);                 /* takes the topmost value off the stack */
size_t loading_floor(const loading_machine *m);                /* of what may be popped */
void loading_set_mark(loading_machine *m);
size_t loading_end_mark(loading_machine *m); /* the values above it are [returned, height) */
void loading_memo_put(loading_machine *m, uint64_t slot);
void loading_memo_get(loading_machine *m, uint64_t slot);

/* ---- names and calls ---- */

/* Notes that something was found. `name`: of what. */
void loading_note(loading_machine *m, assay_loading_grade grade, const char *name, bool called);
/* A NAME of two ranges of the bytes, graded; broken where no import finds it. */
loading_value loading_name_of(loading_machine *m, uint64_t at, uint64_t size, uint64_t next, uint64_t more);
/* A value that goes into something else. */
void loading_hand_on(loading_machine *m, const loading_item *item);
/* What a call leaves on the stack. */
loading_value loading_call(loading_machine *m, const loading_value *called, const loading_value *arguments);
/* A change of what stands for a module, a class or a function. */
void loading_change(loading_machine *m, const loading_value *of);

/* As those of loading.h, of pickles within one another. */
int loading_scan(const uint8_t *bytes, size_t size, uint64_t base, int depth, size_t most, assay_loading *out);
int loading_hunt(const uint8_t *bytes, size_t size, uint64_t base, size_t most, assay_loading *out);
