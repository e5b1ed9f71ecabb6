/* keys.h - the account of the keys of an object in a foreign text: which known ones it had, and what else.
 *
 * A reader passes over keys that it does not know: later versions write more. But a key that is damaged is one of
 * those, too, and what it had is lost without a word. So an unknown key that is near to a known one which the object
 * lacks counts as that one, damaged. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What was found of keys that were met before, for the objects of a long text. Zeroed at first. */
typedef struct assay_key_slot {
    const char *const *known; /* NULL: empty */
    char key[30];
    uint8_t length;
    int found;
    uint32_t near;
} assay_key_slot;
enum { ASSAY_KEY_SLOT_BITS = 8 };
typedef struct assay_key_memory {
    assay_key_slot slot[1 << ASSAY_KEY_SLOT_BITS];
} assay_key_memory;

typedef struct assay_keys {
    const char *const *known; /* ends with NULL; at most 32, optional ones included; borrowed */
    assay_key_memory *memory; /* of assay_keys_find_flipped(); NULL: none. Borrowed */
    uint32_t seen;            /* a bit for each known key that was met */
    uint32_t twice;           /* a bit for each that was met again: the first one counts, or none */
    uint32_t near;            /* a bit for each that an unknown key is near to */
    const char *odd;          /* the first unknown key, or the first of those that are near; NULL: none. Borrowed */
    size_t odd_length;
} assay_keys;

/* Notes an unknown key, which has to stay where it is. The caller sets `seen`, or lets assay_keys_find() do so. */
void assay_keys_odd(assay_keys *keys, const char *key, size_t length);
/* The number of the key among the known ones, which then was seen, once more if it was before, or -1: then it is noted. */
int assay_keys_find(assay_keys *keys, const char *key, size_t length);
/* The same for texts whose writers add keys of many names: an unknown key is near only when it differs in one bit, and
 * `odd` stays as it is. A key that was met before may be another known one by one flipped bit: then that is near. */
int assay_keys_find_flipped(assay_keys *keys, const char *key, size_t length);
/* Is it the known key but for one byte? For texts whose writers add keys of many names: nearness would say too much. */
bool assay_key_is_off(const char *key, size_t length, const char *known);
/* At the end of the object: the known key that an unknown one stands in the place of; NULL: none does. */
const char *assay_keys_damaged(const assay_keys *keys);
