/* pickle_form.h - items of a list that come again and differ in a few numbers. Inside pickle*.c only.
 *
 * Machines write the same map again and again, and name its keys and texts by memo slots. The first one of a form goes
 * through the machine; its bytes are kept, with holes for the numbers that may differ. A later one that has the same
 * bytes between its holes means the same, as long as no filled slot is filled again: then all forms are forgotten. What
 * fits no form goes through the machine. */
#pragma once

#include "base/dict.h"
#include "base/vec.h"
#include "container/pickle.h"

struct assay_pickle_machine;

enum {
    ASSAY_PICKLE_FORM_MOST = 4096, /* bytes of an item */
    ASSAY_PICKLE_FORM_HOLES = 32,
    ASSAY_PICKLE_FORM_NESTED = 16, /* of these, within lists */
    ASSAY_PICKLE_FORM_NEXT = 4
};

typedef struct assay_pickle_hole {
    uint16_t before; /* bytes from the hole before, or the item's beginning */
    uint8_t number;  /* of feed->numbers, then those within lists in turn */
} assay_pickle_hole;

typedef struct assay_pickle_form {
    size_t at;           /* of its bytes in assay_pickle_forms.bytes, holes left out */
    uint32_t name, made; /* what feed->item() was told; nodes that the machine made of it */
    uint16_t size, most; /* bytes without holes; with the longest numbers in them */
    uint8_t holes, nested;
    uint32_t absent; /* bits: those of feed->numbers that it has none of */
    assay_pickle_hole hole[ASSAY_PICKLE_FORM_HOLES];
    uint32_t next[ASSAY_PICKLE_FORM_NEXT]; /* forms that followed it, the latest first */
} assay_pickle_form;

typedef struct assay_pickle_forms {
    ASSAY_VEC(assay_pickle_form) form;
    ASSAY_VEC(uint8_t) bytes;
    uint32_t named; /* names given so far */
    uint32_t last;  /* the form of the item before; ASSAY_PICKLE_NOTHING */
} assay_pickle_forms;

/* Frees what they hold; forgets them, and keeps the room for others. */
void assay_pickle_forms_release(assay_pickle_forms *f);
void assay_pickle_forms_forget(assay_pickle_forms *f);
/* Learns the form of an item, of which the machine made so many nodes: its bytes behind EMPTY_DICT. NULL: it has none
 * that can come again. */
const assay_pickle_form *assay_pickle_forms_learn(struct assay_pickle_machine *m, const uint8_t *bytes, size_t size,
                                                  uint32_t made);
/* Forgets the form that was learned last. */
void assay_pickle_forms_drop(assay_pickle_forms *f, const assay_pickle_form *form);
/* Is the item that begins at `bytes`, of which `size` are there, of a known form? Its length, and its numbers; 0: no. */
size_t assay_pickle_forms_match(struct assay_pickle_machine *m, const uint8_t *bytes, size_t size,
                                assay_pickle_number *number, const assay_pickle_form **form);
