/* json.h - JSON that is read whole, as a tree of cJSON: job files, configurations, reports. Only this header includes
 * cJSON's, and none of its parsing is used: the tree is built by the pull scanner (base/json_pull.h), which also reads
 * what would be too large for a tree, such as the index of a trial. Writing is json_writer.h's. */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include <assay/pack.h>
#include <assay/status.h>

enum { ASSAY_JSON_DEPTH = 64 }; /* deeper nesting is refused */

/* Parses exactly one JSON document of `size` bytes (UTF-8, optional byte order mark, no NUL, nothing behind it), nested
 * at most ASSAY_JSON_DEPTH deep, whose numbers are finite doubles. `name` is the file's name for messages, which give
 * line and column (in characters, from 1). The caller frees *out with cJSON_Delete(). ASSAY_EFORMAT or ASSAY_ENOMEM. */
int assay_json_parse(const char *name, const void *text, size_t size, cJSON **out, assay_error *err);

/* As assay_json_parse(), for files that people write: comments (// to the end of the line, and between slash-star and
 * star-slash) may stand wherever white space may, and a comma in front of a closing bracket. Messages give the places
 * of the text as it is. */
int assay_json_parse_commented(const char *name, const void *text, size_t size, cJSON **out, assay_error *err);

/* Checks a document as assay_json_parse() does, and makes nothing of it. ASSAY_EFORMAT. */
int assay_json_check(const char *name, const void *text, size_t size, assay_error *err);

/* The most bytes that the tree of a text may take, without making it. */
uint64_t assay_json_tree_bytes(const void *text, size_t size);

/* Fails (ASSAY_EFORMAT) when `object` is no object, has a key twice or a key that is not in the NULL-terminated list;
 * the message gives `place`, the key, and the keys that are known. */
int assay_json_known_keys(const cJSON *object, const char *place, const char *const *known, assay_error *err);

/* Where something stands in a document that people write, for messages: line and column in characters, from 1. */
typedef struct assay_json_place {
    size_t line, column; /* 0: it is not there */
} assay_json_place;

/* The place of the value at a path of keys and numbers, such as "rules[3].parameters"; with a `member`, of that key in
 * the object there. What of the path is not there is left out, from its end. Comments as in
 * assay_json_parse_commented(). Zeros without memory. */
assay_json_place assay_json_find(const void *text, size_t size, const char *path, const char *member);

/* Gives the object that `out` ends with, and has nothing in front, a last member "crc32c": the CRC-32C of all bytes
 * before that member, in 8 hexadecimal digits. Readers that do not know it pass over it. */
void assay_json_put_sum(assay_buf *out);
/* Says such a member something else than the bytes before it? Not where there is none. */
bool assay_json_is_changed(const void *text, size_t size);
/* What readers say then, behind the file's name. */
#define ASSAY_JSON_CHANGED                                                                                             \
    "its checksum is not that of its bytes: it was changed after it was written, and what it says may be wrong"

/* True when the number is integral and at most 2^53 in magnitude (beyond, cJSON's double may not be the number that was
 * written); *out is set then. */
bool assay_json_i64(const cJSON *item, int64_t *out);
