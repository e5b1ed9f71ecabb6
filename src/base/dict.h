/* dict.h - a dictionary of byte strings with dense ids. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/pack.h>
#include <assay/status.h>

enum { ASSAY_NO_ID = UINT32_MAX };

/* Strings by id in the order of first insertion; linear memory, hashed. Names may hold any byte. */
typedef struct assay_dict assay_dict;
assay_dict *assay_dict_new(void);
void assay_dict_free(assay_dict *d);
/* Makes room for so many names of so many bytes in an empty dictionary at once. 0 or ASSAY_ENOMEM. */
int assay_dict_reserve(assay_dict *d, size_t names, size_t bytes);
/* Takes over the names of `from` with their ids, and leaves it empty. False where there are names already: nothing is
 * changed. */
bool assay_dict_take(assay_dict *d, assay_dict *from);
/* The id of the name, added when new; ASSAY_NO_ID without memory. */
uint32_t assay_dict_add(assay_dict *d, const char *name, size_t length);
/* Puts a name behind the others without a look whether it is there: its id, or ASSAY_NO_ID without memory. Nothing may
 * be added or looked for until assay_dict_settle(), which is quicker for many names than to add each. *again gets the
 * first that is the name of an id before it, then only the names may still be read; ASSAY_NO_ID: all differ. False
 * without memory. */
uint32_t assay_dict_append(assay_dict *d, const char *name, size_t length);
bool assay_dict_settle(assay_dict *d, uint32_t *again);
/* The id, or ASSAY_NO_ID. */
uint32_t assay_dict_find(const assay_dict *d, const char *name, size_t length);
/* Has the memory fetched that a name will soon be looked for in: in a large dictionary that takes longer than the look.
 */
void assay_dict_expect(const assay_dict *d, const char *name, size_t length);
uint32_t assay_dict_count(const assay_dict *d);
size_t assay_dict_bytes(const assay_dict *d); /* of all names, terminators included */
/* All names in some order, each with its terminator: assay_dict_bytes() bytes, valid until the next add. */
const char *assay_dict_text(const assay_dict *d);
/* Terminated; valid until the next add. */
const char *assay_dict_name(const assay_dict *d, uint32_t id, size_t *length);
/* Renumbers all names into byte order. new_id[old id] tells what became of each (room for count ids, may be NULL). */
int assay_dict_sort(assay_dict *d, uint32_t *new_id);
/* Appends the count and the names in order. */
void assay_dict_pack(const assay_dict *d, assay_buf *out);
