/* json_writer.h - writes JSON into a buffer as it goes. A stack checks that what is opened is closed, and that members
 * of objects have keys and items of arrays have none.
 *
 * It builds no tree: nothing can be looked up, changed, or put into another order, and keys are not compared with those
 * that stand there already. Numbers and texts have the same bytes on every machine (assay_json_put_text() and
 * assay_json_put_number() in assay/pack.h). Items follow one another as ", "; after assay_jw_line() the next item, or
 * the closing bracket, begins a line:
 *
 *     assay_jw w = assay_jw_over(out);
 *     assay_jw_object(&w, NULL);             {"steps": 3, "names": ["a", "b"],
 *     assay_jw_u64(&w, "steps", 3);            "loss": 0.5}
 *     assay_jw_array(&w, "names");
 *     assay_jw_text(&w, NULL, "a");
 *     assay_jw_text(&w, NULL, "b");
 *     assay_jw_end(&w);
 *     assay_jw_line(&w, 2);
 *     assay_jw_number(&w, "loss", 0.5);
 *     assay_jw_end(&w);
 *
 * `key` is a member's name, escaped where it must be; NULL in an array, and for the one value outside of everything.
 * Mistakes in nesting set the buffer's status to ASSAY_EINTERNAL; failures of the buffer stay in it as always. */
#pragma once

#include <assay/pack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"

enum { ASSAY_JW_DEPTH = 63 }; /* levels that can be open at once */

typedef struct assay_jw {
    assay_buf *out; /* borrowed */
    unsigned depth;
    uint64_t objects; /* bit d: level d is an object (level 0 is outside of everything) */
    uint64_t filled;  /* bit d: level d has an item */
    int line;         /* blanks in front of the next item on a new line; -1: it follows on this one */
    const assay_taker
        *drain; /* gets what is in the buffer where a line begins and much has come together; NULL: nobody */
} assay_jw;

/* A writer that appends one value to the buffer, whatever is in it. There is nothing to release. */
assay_jw assay_jw_over(assay_buf *out);
/* A writer inside of an object that is open already, by printf or by another writer, and has members or (`filled`
 * false) none: it appends members, and is done without closing the object. For texts that are written in parts. */
assay_jw assay_jw_members_of(assay_buf *out, bool filled);
/* True when all that was opened is closed, and one value was written. Sets the buffer's status otherwise. */
bool assay_jw_done(assay_jw *w);

/* Opens an object or an array, and closes the innermost one. */
void assay_jw_object(assay_jw *w, const char *key);
void assay_jw_array(assay_jw *w, const char *key);
void assay_jw_end(assay_jw *w);

/* The next item, or the closing bracket, begins on a new line, behind so many blanks. */
void assay_jw_line(assay_jw *w, unsigned blanks);

/* One value each. A text that is NULL is null; a number that is not finite is a text ("nan", "inf", "-inf"). */
void assay_jw_text(assay_jw *w, const char *key, const char *text);
void assay_jw_text_n(assay_jw *w, const char *key, const char *text, size_t length);
void assay_jw_format(assay_jw *w, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));
void assay_jw_i64(assay_jw *w, const char *key, int64_t value);
void assay_jw_u64(assay_jw *w, const char *key, uint64_t value);
void assay_jw_number(assay_jw *w, const char *key, double value);
void assay_jw_bool(assay_jw *w, const char *key, bool value);
void assay_jw_null(assay_jw *w, const char *key);

/* A number, or null where it is NaN: what is not known. */
void assay_jw_known(assay_jw *w, const char *key, double value);
/* Lists of them. */
void assay_jw_texts(assay_jw *w, const char *key, const char *const *list, size_t count);
void assay_jw_i64s(assay_jw *w, const char *key, const int64_t *list, size_t count);
void assay_jw_numbers(assay_jw *w, const char *key, const double *list, size_t count);

/* One to eight members of the object that is open, each a key and a value of any type that has a call above: an integer,
 * a double, a bool or a text. ASSAY_JW_OBJECT writes a whole object of them. */
#define ASSAY_JW(w, ...)                                                                                               \
    ASSAY_JW_PICK_(__VA_ARGS__, ASSAY_JW_8_, 0, ASSAY_JW_7_, 0, ASSAY_JW_6_, 0, ASSAY_JW_5_, 0, ASSAY_JW_4_, 0,        \
                   ASSAY_JW_3_, 0, ASSAY_JW_2_, 0, ASSAY_JW_1_, 0, 0)                                                  \
    (w, __VA_ARGS__)
#define ASSAY_JW_OBJECT(w, key, ...) (assay_jw_object(w, key), ASSAY_JW(w, __VA_ARGS__), assay_jw_end(w))

#define ASSAY_JW_PICK_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, pick, ...) pick
#define ASSAY_JW_1_(w, key, value)                                                                                     \
    _Generic((value), bool: assay_jw_bool, char *: assay_jw_text, const char *: assay_jw_text, double: assay_jw_number, \
             float: assay_jw_number, signed char: assay_jw_i64, short: assay_jw_i64, int: assay_jw_i64,                 \
             long: assay_jw_i64, long long: assay_jw_i64, default: assay_jw_u64)(w, key, value)
#define ASSAY_JW_2_(w, key, value, ...) (ASSAY_JW_1_(w, key, value), ASSAY_JW_1_(w, __VA_ARGS__))
#define ASSAY_JW_3_(w, key, value, ...) (ASSAY_JW_1_(w, key, value), ASSAY_JW_2_(w, __VA_ARGS__))
#define ASSAY_JW_4_(w, key, value, ...) (ASSAY_JW_1_(w, key, value), ASSAY_JW_3_(w, __VA_ARGS__))
#define ASSAY_JW_5_(w, key, value, ...) (ASSAY_JW_1_(w, key, value), ASSAY_JW_4_(w, __VA_ARGS__))
#define ASSAY_JW_6_(w, key, value, ...) (ASSAY_JW_1_(w, key, value), ASSAY_JW_5_(w, __VA_ARGS__))
#define ASSAY_JW_7_(w, key, value, ...) (ASSAY_JW_1_(w, key, value), ASSAY_JW_6_(w, __VA_ARGS__))
#define ASSAY_JW_8_(w, key, value, ...) (ASSAY_JW_1_(w, key, value), ASSAY_JW_7_(w, __VA_ARGS__))

/* Writes what stands in front of a value, and returns the buffer: the caller appends exactly one value of JSON to it.
 */
assay_buf *assay_jw_value(assay_jw *w, const char *key);
