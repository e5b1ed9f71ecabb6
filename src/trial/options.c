/* options.c - see options.h. */
#include "trial/options.h"

#include <stdlib.h>
#include <string.h>

#include <assay/tensor.h>

#include "base/fault.h"

/* Shared by reference: a job's trials mostly have the same options. The count is not atomic; options are made and
 * freed by one thread. */
assay_trial_options *assay_trial_options_new(void)
{
    assay_trial_options *options = assay_alloc_zeroed(1, sizeof *options);
    if (!options)
        return NULL;
    options->refs = 1;
    for (int i = 0; i <= ASSAY_VOID_MOST; i++)
        options->void_dtype[i] = -1;
    return options;
}

assay_trial_options *assay_trial_options_share(assay_trial_options *options)
{
    if (options)
        options->refs++;
    return options;
}

void assay_trial_options_release(assay_trial_options *options)
{
    if (!options || --options->refs > 0)
        return;
    for (size_t i = 0; i < options->steps; i++) {
        free(options->pattern[i]);
        assay_regex_free(options->step[i]);
    }
    free(options->pattern);
    free(options->step);
    free(options->topology);
    free(options->log_kind);
    free(options->root);
    free(options->run);
    free(options);
}

/* Puts a copy of the text in the place of what was there. */
static int replace_text(char **text, const char *by)
{
    char *copy = assay_copy_text(by);
    ASSAY_HAVE(copy);
    free(*text);
    *text = copy;
    return ASSAY_OK;
}

int assay_trial_options_set_topology(assay_trial_options *options, const char *topology)
{
    return replace_text(&options->topology, topology);
}

int assay_trial_options_set_log_kind(assay_trial_options *options, const char *kind)
{
    return replace_text(&options->log_kind, kind);
}

int assay_trial_options_set_run(assay_trial_options *options, const char *root, const void *run, size_t size)
{
    char *copy = assay_copy_text(root);
    uint8_t *bytes = size > 0 ? assay_alloc(size) : NULL;
    if (!copy || (size > 0 && !bytes)) {
        free(copy);
        free(bytes);
        return ASSAY_ENOMEM;
    }
    if (size > 0)
        memcpy(bytes, run, size);
    free(options->root);
    free(options->run);
    options->root = copy;
    options->run = bytes;
    options->run_size = size;
    return ASSAY_OK;
}

/* Packing and unpacking copies patterns by compiling them anew, so that the copy shares nothing. */
assay_trial_options *assay_trial_options_copy(const assay_trial_options *options)
{
    assay_trial_options *own = NULL;
    assay_buf bytes = ASSAY_BUF(SIZE_MAX);
    assay_trial_options_pack(options, &bytes);
    assay_cursor in = assay_cursor_over(bytes.data, bytes.size);
    if (assay_buf_status(&bytes) == ASSAY_OK && assay_trial_options_unpack(&in, &own) == ASSAY_OK && !own)
        own = assay_trial_options_new();
    assay_buf_release(&bytes);
    return own;
}

/* ---- steps ---- */

/* The pattern with upper and lower case alike. NULL without memory. */
static char *without_case(const char *pattern)
{
    static const char ALIKE[] = "(?i)";
    const size_t length = strlen(pattern);
    char *text = assay_alloc(sizeof ALIKE + length);
    if (text) {
        memcpy(text, ALIKE, sizeof ALIKE - 1);
        memcpy(text + sizeof ALIKE - 1, pattern, length + 1);
    }
    return text;
}

/* Each array grows on its own: a failure leaves the other larger, which harms nothing, and `steps` counts what both
 * have. */
int assay_trial_options_add_step(assay_trial_options *options, const char *pattern, assay_error *err)
{
    char **patterns = assay_realloc_array(options->pattern, options->steps + 1, sizeof *patterns);
    options->pattern = patterns ? patterns : options->pattern;
    assay_regex **steps = assay_realloc_array(options->step, options->steps + 1, sizeof(assay_regex *));
    options->step = steps ? steps : options->step;
    char *own = assay_copy_text(pattern), *alike = without_case(pattern);
    assay_regex *regex = NULL;
    int status = patterns && steps && own && alike ? assay_regex_new(pattern, &regex, err)
                                                   : assay_fail(err, ASSAY_ENOMEM, "out of memory for a pattern");
    assay_regex_free(regex); /* compiled as it stands, so that a message has its columns */
    regex = NULL;
    ASSAY_THEN(status, assay_regex_new(alike, &regex, err));
    if (status == ASSAY_OK && assay_regex_groups(regex) == 0)
        status = assay_fail(err, ASSAY_EFORMAT,
                            "regular expression \"%.200s\": it has no group: put the number's digits in (), as in "
                            "\"run-([0-9]+)\"",
                            pattern);
    free(alike);
    if (status != ASSAY_OK) {
        free(own);
        assay_regex_free(regex);
        return status;
    }
    options->pattern[options->steps] = own;
    options->step[options->steps++] = regex;
    return ASSAY_OK;
}

/* The number that so many digits make; -1 for anything else, and beyond 63 bits. */
static int64_t number_of(const char *text, size_t length)
{
    int64_t value = 0;
    for (size_t i = 0; i < length; i++)
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, text[i] - '0', &value))
            return -1;
    return length > 0 ? value : -1;
}

/* The last match in a name counts: "epoch3-step120" has its step at the end. A pattern that matches decides, also
 * where its digits make no number. */
bool assay_trial_options_step(const assay_trial_options *options, const char *name, size_t length, int64_t *step)
{
    for (size_t i = 0; i < options->steps; i++) {
        assay_regex_span span[2];
        bool found = false;
        for (size_t at = 0; at <= length && assay_regex_find(options->step[i], name, length, at, span) == 1;) {
            found = true;
            *step = span[1].from == SIZE_MAX ? -1 : number_of(name + span[1].from, span[1].to - span[1].from);
            /* An empty match has to go on by a byte. */
            at = span[0].to > at ? span[0].to : at + 1;
        }
        if (found)
            return *step >= 0;
    }
    return false;
}

/* ---- void ---- */

/* The dtype of numbers that is called so; -1: there is none. */
static int dtype_called(const char *name)
{
/* Dtypes of texts have size 0, and no void element can be one. */
#define DTYPE_NUMBER(dtype, number, size, text)                                                                        \
    if ((size) > 0 && strcmp(name, text) == 0)                                                                         \
        return number;
    ASSAY_DTYPE_LIST(DTYPE_NUMBER)
#undef DTYPE_NUMBER
    return -1;
}

int assay_trial_options_set_void(assay_trial_options *options, const char *descr, const char *dtype, assay_error *err)
{
    const int64_t bytes = descr[0] == 'V' ? number_of(descr + 1, strlen(descr + 1)) : -1;
    if (bytes < 1 || bytes > ASSAY_VOID_MOST)
        return assay_fail(err, ASSAY_EFORMAT, "\"%.40s\" is not a void type of NumPy: expected \"V1\" to \"V%d\"",
                          descr, (int)ASSAY_VOID_MOST);
    const int number = dtype_called(dtype);
    if (number < 0)
        return assay_fail(err, ASSAY_EFORMAT, "there is no dtype \"%.40s\" of numbers", dtype);
    if (assay_dtype_bits(number) != 8 * (size_t)bytes)
        return assay_fail(err, ASSAY_EFORMAT, "an element of %s has %zu bits, but one of %s has %d", dtype,
                          assay_dtype_bits(number), descr, 8 * (int)bytes);
    options->void_dtype[bytes] = number;
    return ASSAY_OK;
}

/* ---- between ranks ---- */

/* NULL packs as a single 0, and comes back as NULL. */
void assay_trial_options_pack(const assay_trial_options *options, assay_buf *out)
{
    assay_put_u8(out, options != NULL);
    if (!options)
        return;
    assay_put_u8(out, options->only);
    assay_put_u64(out, options->steps);
    for (size_t i = 0; i < options->steps; i++)
        assay_put_text(out, options->pattern[i]);
    assay_put_text(out, options->topology);
    assay_put_text(out, options->log_kind);
    assay_put_text(out, options->root);
    assay_put_u64(out, options->run_size);
    assay_put_bytes(out, options->run, options->run_size);
    for (int i = 0; i <= ASSAY_VOID_MOST; i++)
        assay_put_i64(out, options->void_dtype[i]);
}

/* A text that may be there; false without memory. */
static bool take_text(assay_cursor *in, char **out)
{
    size_t length = 0;
    const char *text = assay_get_text(in, &length);
    *out = length > 0 ? assay_copy_bytes_as_text(text, length) : NULL;
    return length == 0 || *out;
}

/* Patterns were compiled on the rank that read the job, so a failure here means damage or no memory. */
int assay_trial_options_unpack(assay_cursor *in, assay_trial_options **out)
{
    *out = NULL;
    if (assay_get_u8(in) == 0)
        return in->failed ? ASSAY_EFORMAT : ASSAY_OK;
    assay_trial_options *options = assay_trial_options_new();
    int status = options ? ASSAY_OK : ASSAY_ENOMEM;
    const uint8_t only = assay_get_u8(in);
    const uint64_t count = assay_get_count(in, 8);
    if (options)
        options->only = only;
    for (uint64_t i = 0; i < count && status == ASSAY_OK; i++) {
        size_t length = 0;
        const char *text = assay_get_text(in, &length);
        char *pattern = assay_copy_bytes_as_text(text, length);
        status = pattern ? assay_trial_options_add_step(options, pattern, NULL) : ASSAY_ENOMEM;
        free(pattern);
    }
    char *root = NULL;
    if (status == ASSAY_OK &&
        (!take_text(in, &options->topology) || !take_text(in, &options->log_kind) || !take_text(in, &root)))
        status = ASSAY_ENOMEM;
    const uint64_t size = status == ASSAY_OK ? assay_get_count(in, 1) : 0;
    const uint8_t *run = assay_get_bytes(in, size);
    if (status == ASSAY_OK && root)
        status = assay_trial_options_set_run(options, root, run, in->failed ? 0 : size);
    free(root);
    for (int i = 0; options && i <= ASSAY_VOID_MOST; i++)
        options->void_dtype[i] = (int)assay_get_i64(in);
    if (status == ASSAY_OK && in->failed)
        status = ASSAY_EFORMAT;
    if (status != ASSAY_OK)
        assay_trial_options_release(options);
    else
        *out = options;
    return status;
}
