/* regex.c - patterns like Python's re.search, by PCRE2. */
#include "base/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

/* What one search may spend before it gives up: a pattern with nested repetition must not stop a job. */
enum { MATCH_LIMIT = 1000000, HEAP_LIMIT_KIB = 16 * 1024 };

struct assay_regex {
    pcre2_general_context *general;
    pcre2_match_context *limits;
    pcre2_code *code;
};

static void *take(size_t size, void *unused)
{
    (void)unused;
    return assay_alloc(size);
}

static void give(void *memory, void *unused)
{
    (void)unused;
    free(memory);
}

/* Python's patterns are text: characters and \w are Unicode's, only "\n" ends a line. Tensor names need not be UTF-8.
 */
static int compile(assay_regex *regex, const char *pattern, assay_error *err)
{
    pcre2_compile_context *context = pcre2_compile_context_create(regex->general);
    if (!context)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory for a regular expression");
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    int code = 0;
    PCRE2_SIZE offset = 0;
    regex->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                                PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C, &code,
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

int assay_regex_new(const char *pattern, assay_regex **out, assay_error *err)
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
    int status = compile(regex, pattern, err);
    if (status != ASSAY_OK) {
        assay_regex_free(regex);
        return status;
    }
    (void)pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE); /* without it the interpreter gives the same answers */
    *out = regex;
    return ASSAY_OK;
}

void assay_regex_free(assay_regex *regex)
{
    if (!regex)
        return;
    pcre2_code_free(regex->code);
    pcre2_match_context_free(regex->limits);
    pcre2_general_context_free(regex->general);
    free(regex);
}

int assay_regex_search(const assay_regex *regex, const char *text, size_t length)
{
    pcre2_match_data *match = pcre2_match_data_create(1, regex->general); /* one a call: searches may run in parallel */
    if (!match)
        return ASSAY_ENOMEM;
    PCRE2_SPTR subject = (PCRE2_SPTR)(text ? text : "");
    int found = pcre2_match(regex->code, subject, length, 0, 0, match, regex->limits);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) /* the interpreter's stack is on the heap */
        found = pcre2_match(regex->code, subject, length, 0, PCRE2_NO_JIT, match, regex->limits);
    pcre2_match_data_free(match);
    if (found >= 0)
        return 1;
    if (found == PCRE2_ERROR_NOMATCH)
        return 0;
    return found == PCRE2_ERROR_NOMEMORY ? ASSAY_ENOMEM : ASSAY_EBUDGET;
}
