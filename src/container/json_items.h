/* json_items.h - the members of a JSON object in a file, one after the other, as a stream: of a large object in a large
 * file one member or element at a time is in memory. */
#pragma once

#include <assay/pack.h>

#include "base/json_pull.h"
#include "container/stream.h"

enum { ASSAY_JSON_ITEM_MOST = 64 << 20 };
#define ASSAY_JSON_TEXT_MOST ((uint64_t)1 << 30)

typedef struct assay_json_items {
    assay_stream stream;
    uint64_t next;
    char close[4]; /* brackets of what was entered, the innermost last */
    unsigned depth;
    bool first;        /* nothing of the innermost was taken so far */
    assay_buf key;     /* of the member at which the stream stands, terminated, as it stands in the file */
    const char *fault; /* what is wrong, a constant; NULL: nothing */
} assay_json_items;

/* Opens a file in front of its first value. Errors as assay_stream_open(). */
int assay_json_items_open(assay_store *store, const char *path, assay_json_items *out, assay_error *err);
/* Closes the file. */
void assay_json_items_close(assay_json_items *items);

/* Enters an object or a list, whichever bracket is given, that stands where the stream is. 1; 0: another kind of value
 * stands there. Negative: ASSAY_EFORMAT (fault says what), ASSAY_EIO, ASSAY_ENOMEM. */
int assay_json_items_enter(assay_json_items *items, char bracket, assay_error *err);
/* The next member of the object that was entered last, with its key, or element of the list. 1; 0: it has ended, and
 * the stream stands behind it; negative as above, also where something but white space stands behind the outermost. */
int assay_json_items_next(assay_json_items *items, assay_error *err);
/* Takes the value that stands there as a text, valid until the next call. Its brackets and quotes match; what is within
 * was not looked at. 0 or negative as above. */
int assay_json_items_take(assay_json_items *items, const char **text, size_t *length, assay_error *err);
