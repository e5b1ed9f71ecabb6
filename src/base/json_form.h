/* json_form.h - JSON objects of few forms, one after the other: the same keys and marks, other values.
 *
 * Machines write such lines. A line of a new form is taken apart by the pull scanner (json_pull.h), and the bytes
 * between its values are kept. A later line that has the same bytes there is compared with them, and its values are cut
 * out; what fits no form goes to the scanner. Both ways give the same members. */
#pragma once

#include "base/json_pull.h"

typedef enum assay_json_kind {
    ASSAY_JSON_TEXT,
    ASSAY_JSON_NUMBER,
    ASSAY_JSON_TRUE,
    ASSAY_JSON_FALSE,
    ASSAY_JSON_NULL,
    ASSAY_JSON_NESTED /* an object or array */
} assay_json_kind;

/* One value. */
typedef struct assay_json_member {
    uint8_t kind;  /* assay_json_kind */
    uint8_t field; /* what the reader calls its key */
    bool negative, plain;
    uint16_t places;
    const char *text; /* a text without its quotes, decoded; a number as it is written */
    size_t length;
    uint64_t digits; /* of a plain number: it is digits / 10^places */
} assay_json_member;

/* What a key means to the reader, a number up to 127; 0: its value does not matter. With ASSAY_JSON_ENTER the members
 * of its object matter. `outer` is the field of the object that has the key, 0 for the outermost. */
enum { ASSAY_JSON_ENTER = 0x80 };
typedef uint8_t assay_json_field_of(uint8_t outer, const char *key, size_t length);

struct assay_json_form;
typedef struct assay_json_forms {
    assay_json_field_of *field_of;
    assay_pull pull;                /* its fault says what is wrong with a text */
    struct assay_json_form *form;   /* known ones; owned */
    unsigned forms, last, replaced; /* last: the one of the text before */
    assay_json_member *member;      /* of the text taken last, in its order; owned */
    size_t members, room;
} assay_json_forms;

/* A zeroed struct with `field_of` is ready. */
void assay_json_forms_release(assay_json_forms *f);
/* Takes one object apart: the members whose keys mean something, valid until the next call and as long as the text. 0,
 * ASSAY_EFORMAT with pull.fault, ASSAY_ENOMEM. */
int assay_json_take(assay_json_forms *f, const char *text, size_t length);

/* A member of kind ASSAY_JSON_NUMBER as the nearest double. */
double assay_json_real(assay_json_forms *f, const assay_json_member *m);
/* As an integer; false: it is none, or does not fit. */
bool assay_json_integer(const assay_json_member *m, int64_t *value);
