/* npy_head.c - the header of a .npy file: a dictionary in Python's notation, read by a grammar of its own and never
 * evaluated.
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 *
 * Keys come in any order, each once, and there are no others. */
#include "container/npy_head.h"

#include <string.h>

#include <assay/status.h>

typedef struct text {
    const char *from, *at, *end;
    const int *void_dtype;
    assay_error *what;
} text;

/* Messages have no place in them: the caller knows the file, and gets the offset through *at. */
static int wrong(const text *t, const char *what)
{
    return assay_fail(t->what, ASSAY_EFORMAT, "the header is damaged: %s", what);
}

static void skip_space(text *t)
{
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\t' || *t->at == '\n' || *t->at == '\r'))
        t->at++;
}

/* Takes the mark if it comes next. */
static bool take(text *t, char mark)
{
    skip_space(t);
    if (t->at == t->end || *t->at != mark)
        return false;
    t->at++;
    return true;
}

/* A string in single or double quotes, without escapes. NumPy writes no escapes into these texts, so a backslash is
 * damage. */
static int take_string(text *t, const char **string, size_t *length)
{
    skip_space(t);
    if (t->at == t->end || (*t->at != '\'' && *t->at != '"'))
        return wrong(t, "expected a text in quotes");
    const char quote = *t->at++;
    const char *close = memchr(t->at, quote, (size_t)(t->end - t->at));
    if (!close || memchr(t->at, '\\', (size_t)(close - t->at)))
        return wrong(t, close ? "a text with a backslash" : "a text without an end");
    *string = t->at;
    *length = (size_t)(close - t->at);
    t->at = close + 1;
    return ASSAY_OK;
}

static bool take_word(text *t, const char *word)
{
    const size_t length = strlen(word);
    skip_space(t);
    if ((size_t)(t->end - t->at) < length || memcmp(t->at, word, length) != 0)
        return false;
    t->at += length;
    return true;
}

/* A whole number; versions of NumPy for Python 2 put an L behind it. */
static int take_dim(text *t, int64_t *dim)
{
    int64_t value = 0;
    skip_space(t);
    const char *first = t->at;
    for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *t->at - '0', &value))
            return wrong(t, "a dimension is beyond 64 bits");
    if (t->at == first)
        return wrong(t, "expected a whole number in the shape");
    if (t->at < t->end && *t->at == 'L')
        t->at++;
    *dim = value;
    return ASSAY_OK;
}

static int take_shape(text *t, assay_npy_head *out)
{
    if (!take(t, '('))
        return wrong(t, "the shape is not a tuple");
    bool comma = true;
    for (out->dims = 0; !take(t, ')'); out->dims++) {
        if (!comma)
            return wrong(t, "expected a comma or the end of the shape");
        if (out->dims == ASSAY_MAX_DIMS)
            return wrong(t, "more than 64 dimensions");
        ASSAY_TRY(take_dim(t, &out->shape[out->dims]));
        comma = take(t, ',');
    }
    /* "(3)" is a number to Python, "(3,)" a tuple. */
    return out->dims == 1 && !comma ? wrong(t, "the shape is not a tuple") : ASSAY_OK;
}

static int take_order(text *t, assay_npy_head *out)
{
    out->fortran = take_word(t, "True");
    return out->fortran || take_word(t, "False") ? ASSAY_OK : wrong(t, "fortran_order is neither True nor False");
}

static int unsupported(const text *t, const char *descr, size_t length, const char *why)
{
    return assay_fail(t->what, ASSAY_EUNSUPPORTED, "elements of dtype '%.*s' are not read: %s",
                      (int)(length < 40 ? length : 40), descr, why);
}

/* Why a kind of element is not read; NULL for those that are no kind at all. Message of a dtype that is known and not
 * read; the remedy stands in it where there is one. */
static const char *why_not(char kind)
{
    static const struct {
        char kind;
        const char *why;
    } rows[] = {{'O', "they are pickled Python objects; save numbers instead"},
                {'V', "raw bytes of no known meaning; a job can give it: \"void\": {\"V2\": \"bfloat16\"}"},
                {'U', "texts are no numbers"},
                {'S', "texts are no numbers"},
                {'M', "dates are no numbers"},
                {'m', "durations are no numbers"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].kind == kind)
            return rows[i].why;
    return NULL;
}

/* The dtype that the job gives to "V2" and its like; -1: none. */
static int void_dtype(const int *given, const char *name, size_t length)
{
    int bytes = 0;
    if (!given || length < 2 || length > 3 || name[0] != 'V')
        return -1;
    for (size_t i = 1; i < length; i++) {
        if (name[i] < '0' || name[i] > '9')
            return -1;
        bytes = 10 * bytes + name[i] - '0';
    }
    return bytes <= ASSAY_VOID_MOST ? given[bytes] : -1;
}

static int take_descr(text *t, assay_npy_head *out)
{
    static const struct {
        char name[4];
        int dtype;
    } rows[] = {{"f2", ASSAY_FLOAT16},     {"f4", ASSAY_FLOAT32}, {"f8", ASSAY_FLOAT64}, {"c8", ASSAY_COMPLEX64},
                {"c16", ASSAY_COMPLEX128}, {"b1", ASSAY_BOOL},    {"i1", ASSAY_INT8},    {"i2", ASSAY_INT16},
                {"i4", ASSAY_INT32},       {"i8", ASSAY_INT64},   {"u1", ASSAY_UINT8},   {"u2", ASSAY_UINT16},
                {"u4", ASSAY_UINT32},      {"u8", ASSAY_UINT64}};
    const char *descr = NULL;
    size_t length = 0;
    skip_space(t);
    if (t->at < t->end && *t->at == '[')
        return unsupported(t, "[..]", 4, "records of several fields are not a tensor");
    ASSAY_TRY(take_string(t, &descr, &length));
    const char *name = descr;
    size_t left = length;
    /* ">" is most significant byte first, "<" least, "|" has no order, "=" the writer's own, which is taken for
     * little-endian. */
    if (left > 0 && strchr("<>|=", *name)) {
        name++;
        left--;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strlen(rows[i].name) != left || memcmp(rows[i].name, name, left) != 0)
            continue;
        out->dtype = rows[i].dtype;
        out->swapped = *descr == '>' && assay_dtype_size(out->dtype) > 1;
        return ASSAY_OK;
    }
    const int given = void_dtype(t->void_dtype, name, left);
    if (given >= 0) {
        out->dtype = given;
        out->swapped = *descr == '>' && assay_dtype_size(given) > 1;
        return ASSAY_OK;
    }
    const char *why = left > 0 ? why_not(*name) : NULL;
    return unsupported(t, descr, length, why ? why : "assay has no such dtype");
}

/* Asked only of a header that was refused, so it looks for the key alone instead of reading the dictionary. */
bool assay_npy_is_objects(const char *bytes, size_t size)
{
    static const char KEY[] = "'descr'";
    assay_error what;
    for (size_t i = 0; i + sizeof KEY <= size; i++) {
        if (memcmp(bytes + i, KEY, sizeof KEY - 1) != 0)
            continue;
        text t = {bytes, bytes + i + sizeof KEY - 1, bytes + size, NULL, &what};
        const char *descr = NULL;
        size_t length = 0;
        return take(&t, ':') && take_string(&t, &descr, &length) == ASSAY_OK && length > 0 &&
               descr[length > 1 && strchr("<>|=", *descr)] == 'O';
    }
    return false;
}

int assay_npy_head_read(const char *bytes, size_t size, const int *void_dtypes, assay_npy_head *out, size_t *at,
                        assay_error *what)
{
    enum { DESCR = 1, ORDER = 2, SHAPE = 4, ALL = 7 };
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    const char *text_of = size > 0 ? bytes : ""; /* an empty header has no memory */
    text t = {text_of, text_of, text_of + size, void_dtypes, what};
    /* `seen` gets a bit for each of the three keys; a fourth one cannot be set, since k is 3 only together with a
     * failure. */
    unsigned seen = 0;
    bool comma = true;
    int status = take(&t, '{') ? ASSAY_OK : wrong(&t, "it is no dictionary");
    while (status == ASSAY_OK && !take(&t, '}')) {
        const char *key = NULL;
        size_t length = 0;
        unsigned k = 0;
        status = comma ? take_string(&t, &key, &length) : wrong(&t, "expected a comma or the end of the dictionary");
        while (status == ASSAY_OK && k < 3 && (strlen(keys[k]) != length || memcmp(keys[k], key, length) != 0))
            k++;
        if (status == ASSAY_OK && (k == 3 || seen >> k & 1))
            status = wrong(&t, k == 3 ? "an unknown key" : "a key comes twice");
        if (status == ASSAY_OK && !take(&t, ':'))
            status = wrong(&t, "expected a colon");
        seen |= 1u << k;
        ASSAY_THEN(status, 1u << k == DESCR   ? take_descr(&t, out)
                           : 1u << k == ORDER ? take_order(&t, out)
                                              : take_shape(&t, out));
        comma = status == ASSAY_OK && take(&t, ',');
    }
    skip_space(&t);
    if (status == ASSAY_OK && (seen & ALL) != ALL)
        status = wrong(&t, "one of descr, fortran_order and shape is missing");
    if (status == ASSAY_OK && t.at != t.end)
        status = wrong(&t, "something follows the dictionary");
    *at = (size_t)(t.at - t.from);
    return status;
}

bool assay_npy_head_sizes(const assay_npy_head *head, uint64_t *elements, uint64_t *bytes)
{
    uint64_t count = 1;
    bool over = false, empty = false;
    for (int i = 0; i < head->dims; i++) {
        empty = empty || head->shape[i] == 0;
        over = over || __builtin_mul_overflow(count, (uint64_t)head->shape[i], &count);
    }
    *elements = empty ? 0 : count;
    over = __builtin_mul_overflow(*elements, assay_dtype_size(head->dtype), bytes) || (over && !empty);
    return !over && *bytes <= INT64_MAX;
}
