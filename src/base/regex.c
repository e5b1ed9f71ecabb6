/* regex.c - patterns like Python's re.search, by PCRE2. */
#include "base/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/hash.h"

/* What one search may spend before it gives up: a pattern with nested repetition must not stop a job. Both limits end
 * in ASSAY_EBUDGET, never in a wrong answer. */
enum { MATCH_LIMIT = 1000000, HEAP_LIMIT_KIB = 16 * 1024 };

struct assay_regex {
    pcre2_general_context *general;
    pcre2_match_context *limits;
    pcre2_code *code;
    bool direct; /* compiled to machine code, and of bytes: it needs no check of the text before it */
    /* Left of a pattern of bytes until it is compiled to machine code, which takes as long as many searches; 0: it was. */
    unsigned searches;
    /* of a shared one: */
    char *pattern; /* owned; NULL: it is not shared */
    size_t users;
    assay_regex *next;
};

/* Those that are shared, by a hash of their patterns. Chains by hash, not locked: patterns are shared and freed by
 * one thread, when rules are set up and taken down. */
static assay_regex *shared[4096];

static void *take(size_t size, void *unused)
{
    return assay_alloc(size);
}

static void give(void *memory, void *unused)
{
    free(memory);
}

/* Python's patterns are text: characters and \w are Unicode's, only "\n" ends a line. Tensor names need not be UTF-8.
 */
enum { AS_TEXT = PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF };

/* Searches of a pattern of bytes before it is compiled to machine code: of a large set most are asked less often. */
enum { INTERPRETED = 8 };

/* Of one of bytes, which one thread at a time searches with: of hundreds most are hardly ever asked. */
static void count_search(const assay_regex *regex)
{
    assay_regex *own = (assay_regex *)regex;
    if (own->searches > 0 && --own->searches == 0)
        own->direct = pcre2_jit_compile(own->code, PCRE2_JIT_COMPLETE) == 0;
}

static int compile(assay_regex *regex, const char *pattern, uint32_t options, assay_error *err)
{
    pcre2_compile_context *context = pcre2_compile_context_create(regex->general);
    if (!context)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory for a regular expression");
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    int code = 0;
    PCRE2_SIZE offset = 0;
    regex->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, options | PCRE2_NEVER_BACKSLASH_C, &code,
                                &offset, context);
    pcre2_compile_context_free(context);
    if (regex->code)
        return ASSAY_OK;
    if (code == PCRE2_ERROR_HEAP_FAILED)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory for a regular expression");
    PCRE2_UCHAR text[160] = "";
    pcre2_get_error_message(code, text, sizeof text);
    return assay_fail(err, ASSAY_EFORMAT, "regular expression \"%.200s\": %s at column %zu", pattern,
                      (const char *)text, (size_t)offset + 1);
}

static int make(const char *pattern, uint32_t options, assay_regex **out, assay_error *err)
{
    assay_regex *regex = assay_alloc_zeroed(1, sizeof *regex);
    if (!regex)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory for a regular expression");
    regex->general = pcre2_general_context_create(take, give, NULL);
    regex->limits = regex->general ? pcre2_match_context_create(regex->general) : NULL;
    if (!regex->limits) {
        assay_regex_free(regex);
        return assay_fail(err, ASSAY_ENOMEM, "out of memory for a regular expression");
    }
    pcre2_set_match_limit(regex->limits, MATCH_LIMIT);
    pcre2_set_heap_limit(regex->limits, HEAP_LIMIT_KIB);
    int status = compile(regex, pattern, options, err);
    if (status != ASSAY_OK) {
        assay_regex_free(regex);
        return status;
    }
    if (options == 0)
        regex->searches = INTERPRETED;
    else
        (void)pcre2_jit_compile(regex->code,
                                PCRE2_JIT_COMPLETE); /* without it the interpreter gives the same answers */
    *out = regex;
    return ASSAY_OK;
}

int assay_regex_new(const char *pattern, assay_regex **out, assay_error *err)
{
    return make(pattern, AS_TEXT, out, err);
}

int assay_regex_new_of_bytes(const char *pattern, assay_regex **out, assay_error *err)
{
    return make(pattern, 0, out, err);
}

static assay_regex **chain_of(const char *pattern)
{
    return &shared[assay_hash_bytes(pattern, strlen(pattern)) % (sizeof shared / sizeof *shared)];
}

int assay_regex_share(const char *pattern, assay_regex **out, assay_error *err)
{
    assay_regex **chain = chain_of(pattern);
    for (assay_regex *r = *chain; r; r = r->next)
        if (strcmp(r->pattern, pattern) == 0) {
            r->users++;
            *out = r;
            return ASSAY_OK;
        }
    int status = assay_regex_new(pattern, out, err);
    char *own = status == ASSAY_OK ? assay_copy_text(pattern) : NULL;
    /* A pattern that is in the table has a copy of its own text: its caller's may be freed. */
    if (status == ASSAY_OK && !own) {
        assay_regex_free(*out);
        *out = NULL;
        return assay_fail(err, ASSAY_ENOMEM, "out of memory for a regular expression");
    }
    if (status == ASSAY_OK) {
        (*out)->pattern = own;
        (*out)->users = 1;
        (*out)->next = *chain;
        *chain = *out;
    }
    return status;
}

void assay_regex_free(assay_regex *regex)
{
    if (!regex || (regex->pattern && --regex->users > 0))
        return;
    if (regex->pattern) {
        assay_regex **at = chain_of(regex->pattern);
        while (*at != regex)
            at = &(*at)->next;
        *at = regex->next;
        free(regex->pattern);
    }
    pcre2_code_free(regex->code);
    pcre2_match_context_free(regex->limits);
    pcre2_general_context_free(regex->general);
    free(regex);
}

size_t assay_regex_bytes(const assay_regex *regex)
{
    /* Estimates: PCRE2 tells the size of its own code only. */
    enum { CONTEXTS = 1024, COMPILED = 8 /* a byte of PCRE2's code, as machine code */ };
    size_t size = 0;
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_SIZE, &size);
    return CONTEXTS + COMPILED * size;
}

/* 1, 0, or why matching gave up. */
static int match_first(const assay_regex *regex, const char *text, size_t length, pcre2_match_data *match)
{
    PCRE2_SPTR subject = (PCRE2_SPTR)(text ? text : "");
    int found = regex->direct ? pcre2_jit_match(regex->code, subject, length, 0, 0, match, regex->limits)
                              : pcre2_match(regex->code, subject, length, 0, 0, match, regex->limits);
    /* Machine code has a small stack of its own; deep recursion fails there first. */
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) /* the interpreter's stack is on the heap */
        found = pcre2_match(regex->code, subject, length, 0, PCRE2_NO_JIT, match, regex->limits);
    if (found >= 0)
        return 1;
    if (found == PCRE2_ERROR_NOMATCH)
        return 0;
    return found == PCRE2_ERROR_NOMEMORY ? ASSAY_ENOMEM : ASSAY_EBUDGET;
}

int assay_regex_search(const assay_regex *regex, const char *text, size_t length)
{
    pcre2_match_data *match = pcre2_match_data_create(1, regex->general); /* one a call: searches may run in parallel */
    ASSAY_HAVE(match);
    const int found = match_first(regex, text, length, match);
    pcre2_match_data_free(match);
    return found;
}

assay_regex_room *assay_regex_room_new(size_t spans)
{
    pcre2_general_context *general = pcre2_general_context_create(take, give, NULL);
    pcre2_match_data *match = general ? pcre2_match_data_create((uint32_t)spans, general) : NULL;
    pcre2_general_context_free(general);
    return (assay_regex_room *)match;
}

void assay_regex_room_free(assay_regex_room *room)
{
    pcre2_match_data_free((pcre2_match_data *)room);
}

int assay_regex_spans(const assay_regex *regex, assay_regex_room *room, const char *text, size_t length,
                      assay_regex_span *span)
{
    pcre2_match_data *match = (pcre2_match_data *)room;
    count_search(regex);
    const int found = match_first(regex, text, length, match);
    const PCRE2_SIZE *vector = pcre2_get_ovector_pointer(match);
    const size_t spans = pcre2_get_ovector_count(match), groups = assay_regex_groups(regex) + 1;
    for (size_t i = 0; found == 1 && i < spans; i++)
        span[i] = i < groups && vector[2 * i] != PCRE2_UNSET && vector[2 * i + 1] >= vector[2 * i]
                      ? (assay_regex_span){vector[2 * i], vector[2 * i + 1]}
                      : (assay_regex_span){SIZE_MAX, SIZE_MAX};
    return found;
}

int assay_regex_group_number(const assay_regex *regex, const char *name)
{
    const int number = pcre2_substring_number_from_name(regex->code, (PCRE2_SPTR)name);
    return number > 0 ? number : -1;
}

unsigned assay_regex_groups(const assay_regex *regex)
{
    uint32_t count = 0;
    return pcre2_pattern_info(regex->code, PCRE2_INFO_CAPTURECOUNT, &count) == 0 ? count : 0;
}

int assay_regex_find(const assay_regex *regex, const char *text, size_t length, size_t at, assay_regex_span span[2])
{
    pcre2_match_data *match = pcre2_match_data_create_from_pattern(regex->code, regex->general);
    ASSAY_HAVE(match);
    const int found =
        pcre2_match(regex->code, (PCRE2_SPTR)(text ? text : ""), length, at, PCRE2_NO_JIT, match, regex->limits);
    const PCRE2_SIZE *vector = pcre2_get_ovector_pointer(match);
    for (uint32_t i = 0; i < 2; i++)
        span[i] = found >= 0 && i < pcre2_get_ovector_count(match) && vector[2 * i] != PCRE2_UNSET
                      ? (assay_regex_span){vector[2 * i], vector[2 * i + 1]}
                      : (assay_regex_span){SIZE_MAX, SIZE_MAX};
    pcre2_match_data_free(match);
    if (found >= 0)
        return 1;
    return found == PCRE2_ERROR_NOMATCH ? 0 : found == PCRE2_ERROR_NOMEMORY ? ASSAY_ENOMEM : ASSAY_EBUDGET;
}

/* Appends a replacement: \1 to \9 and $1 to $9 stand for groups, \\ and $$ for themselves. */
static void put_replacement(const char *replacement, const char *text, const PCRE2_SIZE *vector, uint32_t groups,
                            assay_buf *out)
{
    for (const char *at = replacement; *at; at++) {
        const bool escape = *at == '\\' || *at == '$';
        if (escape && at[1] >= '0' && at[1] <= '9') {
            const uint32_t group = (uint32_t)(*++at - '0');
            if (group < groups && vector[2 * (size_t)group] != PCRE2_UNSET)
                assay_put_bytes(out, text + vector[2 * (size_t)group],
                                vector[2 * (size_t)group + 1] - vector[2 * (size_t)group]);
        } else {
            at += escape && at[1] == *at;
            assay_put_u8(out, (uint8_t)*at);
        }
    }
}

int assay_regex_replace(const assay_regex *regex, const char *text, size_t length, const char *replacement,
                        assay_buf *out)
{
    pcre2_match_data *match = pcre2_match_data_create_from_pattern(regex->code, regex->general);
    ASSAY_HAVE(match);
    size_t at = 0, copied = 0;
    int found = 0, replaced = 0;
    count_search(regex);
    while (at <= length &&
           (found = pcre2_match(regex->code, (PCRE2_SPTR)text, length, at, 0, match, regex->limits)) >= 0) {
        /* Python's re.sub is the model: an empty match right behind another one is not replaced. */
        const PCRE2_SIZE *vector = pcre2_get_ovector_pointer(match);
        if (vector[1] < vector[0])
            break; /* \K in a look-ahead: nothing that could be replaced */
        if (replaced && vector[1] == vector[0] && vector[0] == copied) { /* behind "(.*)" nothing is left of the text */
            at = vector[1] + 1;
            continue;
        }
        assay_put_bytes(out, text + copied, vector[0] - copied);
        put_replacement(replacement, text, vector, pcre2_get_ovector_count(match), out);
        copied = vector[1];
        at = vector[1] > vector[0] ? vector[1] : vector[1] + 1;
        replaced = 1;
    }
    pcre2_match_data_free(match);
    if (replaced && copied < length)
        assay_put_bytes(out, text + copied, length - copied);
    if (found == PCRE2_ERROR_NOMEMORY || assay_buf_status(out) == ASSAY_ENOMEM)
        return ASSAY_ENOMEM;
    return found < 0 && found != PCRE2_ERROR_NOMATCH ? ASSAY_EBUDGET : replaced;
}

int assay_regex_group(const assay_regex *regex, const char *text, size_t length, uint32_t group, size_t *from,
                      size_t *end)
{
    pcre2_match_data *match = pcre2_match_data_create_from_pattern(regex->code, regex->general);
    ASSAY_HAVE(match);
    int status = match_first(regex, text, length, match);
    if (status == 1) {
        const PCRE2_SIZE *vector = pcre2_get_ovector_pointer(match) + 2 * (size_t)group;
        status = group < pcre2_get_ovector_count(match) && vector[0] != PCRE2_UNSET && vector[1] >= vector[0];
        if (status == 1) {
            *from = vector[0];
            *end = vector[1];
        }
    }
    pcre2_match_data_free(match);
    return status;
}
