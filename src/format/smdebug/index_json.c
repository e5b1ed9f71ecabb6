/* index_json.c - reads the text of an index file.
 *
 * Keys come in any order. Unknown ones are passed over and named, once for all files; one that stands where a known one
 * should is damage. Broken JSON makes the file unusable; a value of the wrong
 * type costs the item that it is in. */
#include "format/smdebug/index_json.h"

#include <assay/rule.h>
#include <assay/tensor.h>

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/json.h"
#include "base/keys.h"

typedef struct reader {
    assay_index_doc *doc;
    const char *file;
    int64_t step;
    assay_problems *problems;
    bool unusable;
} reader;

enum { SEEN_NAME = 1, SEEN_START = 2, SEEN_SIZE = 4, SEEN_SHAPE = 8, BAD = 16 };
enum { SEEN_META = 1, SEEN_TENSORS = 2, SEEN_SHAPES = 4, SEEN_MODE = 1, SEEN_MODE_STEP = 2, SEEN_EVENT = 4 };

static void problem(const reader *r, int64_t at, const char *key, const char *what)
{
    assay_problems_add(r->problems, ASSAY_PROBLEM_INDEX, r->step, r->file, at, "%s: offset %lld: %s: %s", r->file,
                       (long long)at, key, what);
}

/* In the order of the bits above. */
static const char *const document_keys[] = {"meta", "tensor_payload", "shape_payload", NULL};
static const char *const meta_keys[] = {"mode", "mode_step", "event_file_name", NULL};
static const char *const item_keys[] = {"tensorname", "start_idx", "length", "shape", NULL};

/* Settles the account of an object's keys, of which `seen` were met. */
static void name_odd_key(const reader *r, assay_keys *keys, unsigned seen, int64_t at)
{
    if (!keys->odd || r->doc->pull.fault)
        return;
    keys->seen = seen;
    const int shown = (int)(keys->odd_length < 100 ? keys->odd_length : 100);
    const char *lost = assay_keys_damaged(keys);
    if (lost)
        assay_problems_add(r->problems, ASSAY_PROBLEM_INDEX, r->step, r->file, at,
                           "%s: offset %lld: key \"%.*s\" stands where \"%s\" should; what it has is left out", r->file,
                           (long long)at, shown, keys->odd, lost);
    else
        assay_problems_add(r->problems, ASSAY_PROBLEM_KEY, r->step, r->file, at,
                           "index files have a key \"%.*s\", which is not known; what it has is not read", shown,
                           keys->odd);
}

static bool is_key(const char *key, size_t length, const char *word, size_t word_length)
{
    return length == word_length && memcmp(key, word, word_length) == 0;
}
#define IS_KEY(key, length, word) is_key(key, length, word, sizeof(word) - 1)

static int64_t place(const assay_pull *s)
{
    return s->at - s->from;
}

/* A string where one is expected; false when something else was there (passed over) or after a fault. */
static bool want_string(assay_pull *s, const char **text, size_t *length)
{
    if (assay_pull_peek(s) == '"')
        return assay_pull_string(s, text, length);
    assay_pull_skip(s);
    return false;
}

static bool want_integer(assay_pull *s, int64_t *value)
{
    bool fits = false;
    char c = assay_pull_peek(s);
    if (c == '-' || (c >= '0' && c <= '9'))
        return assay_pull_integer(s, value, &fits) && fits;
    assay_pull_skip(s);
    return false;
}

static bool put_dim(reader *r, int64_t dim)
{
    assay_index_doc *doc = r->doc;
    if (doc->dim_count == doc->dim_room) {
        size_t room = doc->dim_room ? 2 * doc->dim_room : 64;
        int64_t *dims = assay_realloc_array(doc->dims, room, sizeof *dims);
        if (!dims) {
            doc->pull.no_memory = true;
            return assay_pull_fault(&doc->pull, doc->pull.at, "out of memory");
        }
        doc->dims = dims;
        doc->dim_room = room;
    }
    doc->dims[doc->dim_count++] = dim;
    return true;
}

/* The list of dimensions; NULL when it is sound, else what is wrong with it. */
static const char *read_shape(reader *r, assay_index_item *item)
{
    assay_pull *s = &r->doc->pull;
    const char *wrong = NULL;
    item->first_dim = (uint32_t)r->doc->dim_count;
    item->dims = 0;
    if (assay_pull_peek(s) != '[') {
        assay_pull_skip(s);
        return "not a list of dimensions";
    }
    for (bool more = assay_pull_open(s, '[', ']'); more; more = assay_pull_more(s, ']')) {
        int64_t dim = 0;
        if (!want_integer(s, &dim) || dim < 0)
            wrong = "a dimension that is not an integer of 0 or more";
        else if (item->dims == ASSAY_MAX_DIMS)
            wrong = "more than 64 dimensions";
        else if (!wrong && put_dim(r, dim))
            item->dims++;
    }
    return wrong;
}

/* Keys of items that are not needed: TensorFlow's own name, and the layout of a piece, which the worker's file of
 * topology/ has, too. */
static bool is_passed_over(const char *key, size_t length)
{
    return IS_KEY(key, length, "originalname") || IS_KEY(key, length, "global_shape") ||
           IS_KEY(key, length, "offset") || IS_KEY(key, length, "replica") || IS_KEY(key, length, "partial");
}

/* Reads the value behind a key of an item; returns the SEEN bit of the key, with BAD when the value is of no use. */
static unsigned read_item_value(reader *r, const char *key, size_t length, assay_index_item *item, assay_keys *keys)
{
    assay_pull *s = &r->doc->pull;
    const char *wrong = NULL, *word = NULL;
    unsigned bit = 0;
    assay_pull_peek(s);
    const int64_t at = place(s);
    if (IS_KEY(key, length, "tensorname")) {
        bit = SEEN_NAME;
        word = "tensorname";
        wrong = want_string(s, &item->name, &length) ? NULL : "not a string";
        item->length = wrong ? 0 : (uint32_t)length;
    } else if (IS_KEY(key, length, "start_idx")) {
        bit = SEEN_START;
        word = "start_idx";
        wrong = want_integer(s, &item->start) ? NULL : "not an integer of 64 bits";
    } else if (IS_KEY(key, length, "length")) {
        bit = SEEN_SIZE;
        word = "length";
        wrong = want_integer(s, &item->size) ? NULL : "not an integer of 64 bits";
    } else if (IS_KEY(key, length, "shape")) {
        bit = SEEN_SHAPE;
        word = "shape";
        wrong = read_shape(r, item);
    } else {
        r->doc->pieces = r->doc->pieces || IS_KEY(key, length, "global_shape");
        if (!is_passed_over(key, length))
            assay_keys_odd(keys, key, length);
        assay_pull_skip(s);
    }
    if (!wrong || s->fault)
        return bit;
    problem(r, at, word, wrong);
    return bit | BAD;
}

/* Makes room for all items of a large text at once: each opens an object. A list that grows leaves its former places
 * behind. */
static void expect_items(reader *r, assay_index_items *items)
{
    enum { LARGE = 1 << 20 };
    const assay_pull *s = &r->doc->pull;
    size_t most = 0;
    if (s->end - s->at < LARGE)
        return;
    for (const char *p = s->at; (p = memchr(p, '{', (size_t)(s->end - p))); p++)
        most++;
    if (most <= items->room)
        return;
    free(items->item);
    items->item = assay_alloc(most * sizeof *items->item);
    items->room = items->item ? most : 0; /* without it, the list grows as it can */
}

static void put_item(reader *r, assay_index_items *items, const assay_index_item *item)
{
    if (items->count == items->room) {
        size_t room = items->room ? 2 * items->room : 64;
        assay_index_item *grown = assay_realloc_array(items->item, room, sizeof *grown);
        if (!grown) {
            r->doc->pull.no_memory = true;
            assay_pull_fault(&r->doc->pull, r->doc->pull.at, "out of memory");
            return;
        }
        items->item = grown;
        items->room = room;
    }
    items->item[items->count++] = *item;
}

static void read_item(reader *r, assay_index_items *items, unsigned needed)
{
    assay_pull *s = &r->doc->pull;
    assay_index_item item = {0};
    assay_keys keys = {.known = item_keys};
    unsigned seen = 0;
    assay_pull_peek(s);
    item.at = (uint32_t)place(s);
    if (assay_pull_peek(s) != '{') {
        if (assay_pull_skip(s))
            problem(r, item.at, needed & SEEN_SHAPE ? "shape_payload" : "tensor_payload",
                    "an item that is not an object");
        return;
    }
    for (bool more = assay_pull_open(s, '{', '}'); more; more = assay_pull_more(s, '}')) {
        const char *key = NULL;
        size_t length = 0;
        if (!assay_pull_key(s, &key, &length))
            return;
        unsigned bit = read_item_value(r, key, length, &item, &keys);
        if (seen & bit & ~(unsigned)BAD) {
            problem(r, item.at, "an item", "it has a key twice");
            seen |= BAD;
        }
        seen |= bit;
    }
    if (s->fault || seen & BAD)
        return;
    /* Of either list an item lacks what the other one has. */
    const unsigned other = ~needed & (SEEN_NAME | SEEN_START | SEEN_SIZE | SEEN_SHAPE);
    if ((seen & needed) == needed) {
        name_odd_key(r, &keys, seen | other, item.at);
        put_item(r, items, &item);
        return;
    }
    problem(r, item.at, "an item",
            !(seen & SEEN_NAME)     ? "it has no tensorname"
            : (needed & SEEN_SHAPE) ? "it has no shape"
            : !(seen & SEEN_START)  ? "it has no start_idx"
                                    : "it has no length");
}

static bool unusable(reader *r, int64_t at, const char *key, const char *what)
{
    r->unusable = true;
    problem(r, at, key, what);
    return false;
}

static int mode_of(const char *text, size_t length)
{
    return IS_KEY(text, length, "TRAIN")     ? ASSAY_MODE_TRAIN
           : IS_KEY(text, length, "EVAL")    ? ASSAY_MODE_EVAL
           : IS_KEY(text, length, "PREDICT") ? ASSAY_MODE_PREDICT
           : IS_KEY(text, length, "GLOBAL")  ? ASSAY_MODE_GLOBAL
                                             : ASSAY_MODE_NONE;
}

static unsigned read_meta_value(reader *r, const char *key, size_t length, assay_keys *keys)
{
    assay_pull *s = &r->doc->pull;
    assay_index_doc *doc = r->doc;
    const char *text = NULL;
    assay_pull_peek(s);
    const int64_t at = place(s);
    if (IS_KEY(key, length, "mode")) {
        doc->mode = want_string(s, &text, &length) ? mode_of(text, length) : ASSAY_MODE_NONE;
        if (doc->mode == ASSAY_MODE_NONE && !s->fault)
            unusable(r, at, "meta.mode", "none of TRAIN, EVAL, PREDICT, GLOBAL; the file is not used");
        return SEEN_MODE;
    }
    if (IS_KEY(key, length, "mode_step")) {
        if ((!want_integer(s, &doc->mode_step) || doc->mode_step < 0) && !s->fault)
            unusable(r, at, "meta.mode_step", "no integer of 0 or more; the file is not used");
        return SEEN_MODE_STEP;
    }
    if (IS_KEY(key, length, "event_file_name")) {
        if (assay_pull_peek(s) == 'n')
            assay_pull_skip(s);
        else if (!want_string(s, &doc->event, &doc->event_length) && !s->fault)
            unusable(r, at, "meta.event_file_name", "not a string; the file is not used");
        return SEEN_EVENT;
    }
    assay_keys_odd(keys, key, length);
    assay_pull_skip(s);
    return 0;
}

static void read_meta(reader *r)
{
    assay_pull *s = &r->doc->pull;
    assay_keys keys = {.known = meta_keys};
    unsigned seen = 0;
    assay_pull_peek(s);
    const int64_t at = place(s);
    for (bool more = assay_pull_open(s, '{', '}'); more; more = assay_pull_more(s, '}')) {
        const char *key = NULL;
        size_t length = 0;
        if (!assay_pull_key(s, &key, &length))
            return;
        unsigned bit = read_meta_value(r, key, length, &keys);
        if (seen & bit)
            unusable(r, at, "meta", "it has a key twice; the file is not used");
        seen |= bit;
    }
    name_odd_key(r, &keys, seen, at);
    if (!s->fault && !(seen & SEEN_MODE))
        unusable(r, at, "meta", "it has no mode; the file is not used");
    if (!s->fault && !(seen & SEEN_MODE_STEP))
        unusable(r, at, "meta", "it has no mode_step; the file is not used");
}

static void read_items(reader *r, assay_index_items *items, const char *key, unsigned needed)
{
    assay_pull *s = &r->doc->pull;
    if (assay_pull_peek(s) != '[') {
        const int64_t at = place(s);
        if (assay_pull_skip(s))
            unusable(r, at, key, "not a list; the file is not used");
        return;
    }
    if (items->count == 0)
        expect_items(r, items);
    for (bool more = assay_pull_open(s, '[', ']'); more; more = assay_pull_more(s, ']'))
        read_item(r, items, needed);
}

static unsigned read_part(reader *r, const char *key, size_t length, assay_keys *keys)
{
    assay_index_doc *doc = r->doc;
    if (IS_KEY(key, length, "meta")) {
        read_meta(r);
        return SEEN_META;
    }
    if (IS_KEY(key, length, "tensor_payload")) {
        read_items(r, &doc->tensors, "tensor_payload", SEEN_NAME | SEEN_START | SEEN_SIZE);
        return SEEN_TENSORS;
    }
    if (IS_KEY(key, length, "shape_payload")) {
        read_items(r, &doc->shapes, "shape_payload", SEEN_NAME | SEEN_SHAPE);
        return SEEN_SHAPES;
    }
    if (!IS_KEY(key, length, "crc32c"))
        assay_keys_odd(keys, key, length);
    assay_pull_skip(&doc->pull);
    return 0;
}

static void read_document(reader *r)
{
    assay_pull *s = &r->doc->pull;
    assay_keys keys = {.known = document_keys};
    unsigned seen = 0;
    for (bool more = assay_pull_open(s, '{', '}'); more; more = assay_pull_more(s, '}')) {
        const char *key = NULL;
        size_t length = 0;
        if (!assay_pull_key(s, &key, &length))
            return;
        unsigned bit = read_part(r, key, length, &keys);
        if (seen & bit)
            unusable(r, place(s), "the document", "it has a key twice; the file is not used");
        seen |= bit;
    }
    if (!assay_pull_end(s))
        return;
    name_odd_key(r, &keys, seen, 0);
    if (!(seen & SEEN_META))
        unusable(r, 0, "the document", "it has no meta; the file is not used");
    else if (!(seen & (SEEN_TENSORS | SEEN_SHAPES)))
        unusable(r, 0, "the document", "it has neither tensor_payload nor shape_payload; the file is not used");
}

int assay_index_json_read(assay_index_doc *doc, const char *file, int64_t step, const void *text, size_t size,
                          assay_problems *problems)
{
    reader r = {doc, file, step, problems, false};
    assay_pull_start(&doc->pull, text, size);
    doc->mode = ASSAY_MODE_NONE;
    doc->mode_step = -1;
    doc->event = NULL;
    doc->event_length = 0;
    doc->pieces = false;
    doc->tensors.count = doc->shapes.count = doc->dim_count = 0;
    if (size > UINT32_MAX)
        assay_pull_fault(&doc->pull, text, "a text of more than 4 GiB");
    if (assay_json_is_changed(text, size))
        problem(&r, 0, "the document", ASSAY_JSON_CHANGED);
    read_document(&r);
    const assay_pull *s = &doc->pull;
    if (s->no_memory)
        return ASSAY_ENOMEM;
    if (s->fault)
        unusable(&r, s->fault_at - s->from, "broken JSON", s->fault);
    return r.unusable;
}

void assay_index_json_release(assay_index_doc *doc)
{
    assay_pull_release(&doc->pull);
    free(doc->tensors.item);
    free(doc->shapes.item);
    free(doc->dims);
    *doc = (assay_index_doc){0};
}
