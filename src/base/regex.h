/* regex.h - the only place that uses PCRE2: Python-style `re.search`, unanchored and case-sensitive. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/pack.h>
#include <assay/status.h>

typedef struct assay_regex assay_regex;

/* Compiles a pattern (with JIT where the machine has it). ASSAY_EFORMAT with PCRE2's text and the column, ASSAY_ENOMEM.
 * Free with assay_regex_free(). */
int assay_regex_new(const char *pattern, assay_regex **out, assay_error *err);
void assay_regex_free(assay_regex *regex);
/* Likewise, but each byte is a character, and \w and the like are those of ASCII: several times as quick. It becomes machine code
 * once it was searched with a few times; one thread at a time may search with it. */
int assay_regex_new_of_bytes(const char *pattern, assay_regex **out, assay_error *err);
/* As assay_regex_new(), but a pattern that is in use already is not compiled again: trials mostly have the same. By one thread of a
 * program alone, as freeing what it gave. */
int assay_regex_share(const char *pattern, assay_regex **out, assay_error *err);

/* 1 when the pattern occurs anywhere in the text (bytes that need not be UTF-8), 0 when not, negative when matching
 * gave up (backtracking limit): that text counts as no match, and the caller names it. Thread-safe. */
int assay_regex_search(const assay_regex *regex, const char *text, size_t length);

/* About the bytes that a compiled pattern takes, the same on every machine. */
size_t assay_regex_bytes(const assay_regex *regex);

/* The number of the group (?<name>...); -1: there is none. */
int assay_regex_group_number(const assay_regex *regex, const char *name);
/* How many groups the pattern has. */
unsigned assay_regex_groups(const assay_regex *regex);

/* What a search found: bytes [from, to) of the text; from is SIZE_MAX for a group that took no part. */
typedef struct assay_regex_span {
    size_t from, to;
} assay_regex_span;

/* Room for so many spans, for many searches by one thread. NULL without memory; free with assay_regex_room_free(), which
 * accepts NULL. */
typedef struct assay_regex_room assay_regex_room;
assay_regex_room *assay_regex_room_new(size_t spans);
void assay_regex_room_free(assay_regex_room *room);
/* As assay_regex_search(); span[0] gets the first match, span[1] its group 1 and so on, up to those there is room for. */
int assay_regex_spans(const assay_regex *regex, assay_regex_room *room, const char *text, size_t length,
                      assay_regex_span *span);

/* As assay_regex_search(), from byte `at` of the text on; what stands before it is there to be looked back at.
 * span[0] gets the whole match, span[1] group 1 (which took no part where the pattern has none). */
int assay_regex_find(const assay_regex *regex, const char *text, size_t length, size_t at, assay_regex_span span[2]);

/* Appends the text with every match replaced: \1 to \9 (or $1 to $9) in `replacement` stand for groups, \0 for the
 * whole match. 1; 0 when the pattern does not occur: nothing is appended; ASSAY_EBUDGET when matching gave up,
 * ASSAY_ENOMEM: what was appended is to be dropped. */
int assay_regex_replace(const assay_regex *regex, const char *text, size_t length, const char *replacement,
                        assay_buf *out);

/* Where a group of the first match lies: [*from, *end). 1; 0 when the pattern does not occur, or the group has no part
 * in it; negative as assay_regex_search(). */
int assay_regex_group(const assay_regex *regex, const char *text, size_t length, uint32_t group, size_t *from,
                      size_t *end);
