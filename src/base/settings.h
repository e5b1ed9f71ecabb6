/* settings.h - what people may set: one table says the keys of an object or the options of a command, with type, range,
 * default and help. Reading, messages, --help, completion, man pages and the JSON Schemas (docs/schema) follow it.
 *
 * A table ends with {0}. `at` is the offset of the member that gets the value; its type depends on the kind. */
#pragma once

#include <assay/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/nearest.h"

#pragma GCC diagnostic ignored "-Wmissing-field-initializers" /* tables leave out what a setting does not have */

typedef enum assay_setting_kind {
    ASSAY_SETTING_SWITCH,  /* bool; an option without a value */
    ASSAY_SETTING_TEXT,    /* const char *, borrowed; not empty */
    ASSAY_SETTING_COPY,    /* char *, owned: what was there is freed; not empty */
    ASSAY_SETTING_INTEGER, /* assay_setting_integer: any, or not given */
    ASSAY_SETTING_COUNT,   /* an unsigned integer of `size` bytes (0: size_t); no range: from 1 */
    ASSAY_SETTING_SIZE,    /* size_t, bytes, at least `least`: 512M, 2G, powers of 1024 */
    ASSAY_SETTING_REAL,    /* double; no range: 0 or more */
    ASSAY_SETTING_RANGE,   /* assay_setting_range: A:B, A: or :B */
    ASSAY_SETTING_WORD,    /* int or an enumeration: the number of the word among `words` */
    /* Of JSON: the item, borrowed (const cJSON *), NULL where the key is missing. */
    ASSAY_SETTING_TEXTS,  /* a list of at most `most` texts that are not empty */
    ASSAY_SETTING_LIST,   /* a list of at most `most` items */
    ASSAY_SETTING_OBJECT, /* an object in braces */
    ASSAY_SETTING_ITEM,   /* anything: who reads it checks it */
    /* Of command lines: these are the command's to read. */
    ASSAY_SETTING_REPEATED, /* may be given several times */
    ASSAY_SETTING_NAMES     /* likewise, and its value may be left out */
} assay_setting_kind;

typedef struct assay_setting_integer {
    bool given;
    int64_t value;
} assay_setting_integer;

typedef struct assay_setting_range {
    int64_t from, to; /* [from, to) */
} assay_setting_range;

typedef struct assay_setting {
    const char *name; /* the key, or the option without its dashes; NULL ends the table */
    assay_setting_kind kind;
    size_t at;
    const char *value; /* what stands for the value in --help; NULL: the words, or nothing */
    const char *help;  /* one sentence or two */
    const char *words; /* WORD: "never|info" */
    double least, most;
    const char *initial; /* the default as a text; NULL: 0, false or nothing */
    size_t size;
    bool required;
} assay_setting;

/* Where a member lies, and how long it is. */
#define ASSAY_SETTING_AT(type, member) .at = offsetof(type, member), .size = sizeof(((type *)0)->member)

/* The setting of that name (`length` bytes), or NULL. */
const assay_setting *assay_setting_find(const assay_setting *table, const char *name, size_t length);
/* Offers all names of a table to those that may have been meant. */
void assay_settings_offer(const assay_setting *table, assay_nearest *nearest);

/* Sets a member from a text. ASSAY_EPARAM when it is no value of the setting (the member is unchanged), ASSAY_ENOMEM. */
int assay_setting_take(const assay_setting *setting, const char *text, void *member);

/* What a value looks like, for messages: "a whole number from 1 to 10". Returns `room` or a constant. */
enum { ASSAY_SETTING_WANTED = 160 };
const char *assay_setting_wanted(const assay_setting *setting, char room[ASSAY_SETTING_WANTED]);
/* " (did you mean ...?)" where the text is near to one of a setting's words, else "". Returns `hint`. */
const char *assay_setting_hint(const assay_setting *setting, const char *text, char hint[ASSAY_NEAREST_ROOM]);

/* Reads an object of JSON by its table into the struct at `into`: every member gets its value, or its default where the
 * key is missing. `object` NULL: all are missing. ASSAY_EFORMAT for anything but an object, for keys that the table does
 * not have or that are there twice, for missing ones that are required, and for values of another kind or range: the
 * message begins with `place` and names key and cause. ASSAY_ENOMEM. After a failure owned members may be set: they are
 * the caller's to free in any case. */
int assay_settings_read(const assay_setting *table, const char *place, const cJSON *object, void *into,
                        assay_error *err);
