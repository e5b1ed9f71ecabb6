/* json.c - builds trees by the pull scanner, and answers questions about them.
 *
 * The scanner knows the grammar. What is stricter here is checked string by string and number by number: people write
 * these documents, and a text that is no UTF-8 would come out of assay's reports as another text. Nesting is a stack of
 * bounded depth, so a document cannot exhaust the stack of the process. Comments and commas before a closing bracket are
 * overwritten with blanks in a copy first, which keeps every place in the text. */
#include "base/json.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/json_pull.h"
#include "base/nearest.h"
#include "base/utf8.h"

typedef struct document {
    const char *name;
    /* Messages count lines and columns in `text`, the scanner reads a copy of it without comments: places are the
     * same in both, since a comment becomes as many blanks. */
    const char *text; /* as it was given, for places in messages */
    size_t size;
    assay_error *err;
} document;

/* cJSON's hooks are of the whole process: from the first document on its trees count in injected failures, too. */
static pthread_once_t hooks_once = PTHREAD_ONCE_INIT;

static void set_hooks(void)
{
    cJSON_Hooks hooks = {assay_alloc, free};
    cJSON_InitHooks(&hooks);
}

static document document_of(const char *name, const void *text, size_t size, assay_error *err)
{
    const size_t mark = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    return (document){name, mark ? (const char *)text + mark : text, size - mark, err}; /* text may be NULL */
}

static int no_memory(const document *d)
{
    return assay_fail(d->err, ASSAY_ENOMEM, "%s: out of memory while reading JSON", d->name);
}

static assay_json_place place_of(const document *d, size_t at)
{
    assay_json_place place = {1, 1};
    /* Counting from the begin costs a pass over the text, once for each error: no parser has to keep lines. */
    for (size_t i = 0; i < at && i < d->size; i++) {
        if (d->text[i] == '\n') {
            place.line++;
            place.column = 1;
        } else {
            place.column += ((unsigned char)d->text[i] & 0xc0) != 0x80;
        }
    }
    return place;
}

/* Fails with the place at which something is wrong. */
static int refuse(const document *d, size_t at, const char *what)
{
    const assay_json_place place = place_of(d, at);
    return assay_fail(d->err, ASSAY_EFORMAT, "%s: line %zu, column %zu: %s", d->name, place.line, place.column, what);
}

/* What the scanner found wrong at `at`, with the remedy where the text shows what people meant. */
static int refuse_fault(const document *d, size_t at, const char *fault)
{
    const char *here = d->text + at;
    const size_t left = at < d->size ? d->size - at : 0;
    const bool wants_value = strcmp(fault, "expected a value") == 0 || strcmp(fault, "expected a number") == 0;
    if (left > 0 && strcmp(fault, "a control character within a string") == 0)
        return refuse(d, at, "control character in a string (write it as an escape, or is a quote missing?)");
    if (left > 0 && *here == '\0')
        return refuse(d, at, "NUL byte (is this a text file?)");
    if (left > 1 && here[0] == '/' && (here[1] == '/' || here[1] == '*'))
        return refuse(d, at, "comments are not allowed here");
    if (left > 0 && wants_value && (*here == 'N' || *here == 'I'))
        return refuse(d, at, "expected a value (NaN and Infinity are not JSON)");
    return refuse(d, at, fault);
}

/* ---- comments ---- */

/* The end of the string or comment at `at`; 0: it does not end. */
static size_t end_of_string(const document *d, size_t at)
{
    /* An escaped quote does not end the string; whether the escape is a right one is the scanner's question. */
    for (at++; at < d->size && d->text[at] != '"'; at++)
        at += d->text[at] == '\\';
    return at < d->size ? at + 1 : d->size;
}

static size_t end_of_comment(const document *d, size_t at)
{
    const char *from = d->text + at;
    const size_t left = d->size - at;
    if (from[1] == '/') {
        const char *end = memchr(from, '\n', left);
        return end ? (size_t)(end - d->text) : d->size;
    }
    const char *end = memmem(from + 2, left - 2, "*/", 2);
    return end ? (size_t)(end - d->text) + 2 : 0;
}

/* Overwrites comments, and each comma that stands behind an item and before a closing bracket, with blanks. */
static int blank_comments(const document *d, char *plain)
{
    char before = '['; /* the last mark: behind one of "[{,:" a comma is an error that the scanner finds */
    size_t comma = SIZE_MAX;
    for (size_t at = 0; at < d->size;) {
        const char c = d->text[at];
        size_t end = at + 1;
        if (c == '/' && end < d->size && (d->text[end] == '/' || d->text[end] == '*')) {
            end = end_of_comment(d, at);
            if (end == 0)
                return refuse(d, at, "the comment does not end (*/)");
            for (size_t i = at; i < end; i++)
                plain[i] = plain[i] == '\n' ? '\n' : ' ';
        } else if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
            if (c == '"')
                end = end_of_string(d, at);
            if ((c == ']' || c == '}') && comma != SIZE_MAX)
                plain[comma] = ' ';
            comma = c == ',' && !strchr("[{,:", before) ? at : SIZE_MAX;
            before = c ? c : 'x';
        }
        at = end;
    }
    return ASSAY_OK;
}

/* ---- the tree ---- */

typedef struct level {
    cJSON *items; /* the object or array; NULL: nothing is built */
    char closing;
} level;

/* Invariant: stack[0..depth) are the objects and arrays that are open, each a child of the one before; root owns them
 * all. */
typedef struct builder {
    assay_pull pull;
    level stack[ASSAY_JSON_DEPTH];
    size_t depth;
    cJSON *root;
    bool builds; /* false: the document is only checked */
} builder;

/* A string without NUL, of UTF-8 only: such are the texts of C, and of the reports. */
static bool take_string(assay_pull *s, const char **text, size_t *length)
{
    assay_pull_peek(s);
    const char *from = s->at;
    if (!assay_pull_string(s, text, length))
        return false;
    if (memchr(*text, '\0', *length))
        return assay_pull_fault(s, from, "\\u0000 is not allowed in a string");
    return assay_utf8_is(*text, *length) ||
           assay_pull_fault(s, from, "a string that is not UTF-8, or has half of a surrogate pair");
}

/* A text of its own, for cJSON_Delete() to free. */
static bool set_text(builder *b, char **out, const char *text, size_t length)
{
    *out = assay_copy_bytes_as_text(text, length);
    /* Memory that ran out is no fault of the text: `no_memory` decides between ASSAY_ENOMEM and ASSAY_EFORMAT at the
     * end. */
    b->pull.no_memory = b->pull.no_memory || !*out;
    return *out != NULL;
}

/* Puts an item under the innermost open level; false, and it is gone, without memory. */
static bool add(builder *b, cJSON *item, const char *key, size_t key_length)
{
    if (!item) {
        b->pull.no_memory = true;
        return false;
    }
    if (key && !set_text(b, &item->string, key, key_length)) {
        cJSON_Delete(item);
        return false;
    }
    /* cJSON's objects and arrays are the same lists: an item of an object is one that has a key. */
    if (b->depth == 0)
        b->root = item;
    else
        cJSON_AddItemToArray(b->stack[b->depth - 1].items, item);
    return true;
}

static cJSON *text_item(builder *b, const char *text, size_t length)
{
    cJSON *item = cJSON_CreateNull();
    if (!item)
        return NULL;
    item->type = cJSON_String;
    if (set_text(b, &item->valuestring, text, length))
        return item;
    cJSON_Delete(item);
    return NULL;
}

/* A string, number or word. NULL where nothing is built, after a fault and without memory. */
static cJSON *take_scalar(builder *b)
{
    assay_pull *s = &b->pull;
    const char c = assay_pull_peek(s), *from = s->at, *text = NULL;
    size_t length = 0;
    double number = 0;
    int word = 0;
    if (c == '"') {
        const bool taken = take_string(s, &text, &length);
        return taken && b->builds ? text_item(b, text, length) : NULL;
    }
    if (c == '-' || (c >= '0' && c <= '9')) {
        if (assay_pull_number(s, &number) && isinf(number))
            assay_pull_fault(s, from, "number too large");
        return !s->fault && b->builds ? cJSON_CreateNumber(number) : NULL;
    }
    if (!assay_pull_literal(s, &word) || !b->builds)
        return NULL;
    return word < 0 ? cJSON_CreateNull() : cJSON_CreateBool(word);
}

/* One value under `key`; an object or array that has items becomes the innermost level: *opened. */
static bool take_value(builder *b, const char *key, size_t key_length, bool *opened)
{
    assay_pull *s = &b->pull;
    const char c = assay_pull_peek(s);
    *opened = false;
    if (c != '{' && c != '[') {
        cJSON *item = take_scalar(b);
        return !s->fault && (!b->builds || add(b, item, key, key_length));
    }
    if (b->depth == ASSAY_JSON_DEPTH)
        return assay_pull_fault(s, s->at, "nested too deeply (64 levels are allowed)");
    const level l = {b->builds ? (c == '{' ? cJSON_CreateObject() : cJSON_CreateArray()) : NULL, c == '{' ? '}' : ']'};
    if (b->builds && !add(b, l.items, key, key_length))
        return false;
    *opened = assay_pull_open(s, c, l.closing);
    if (*opened)
        b->stack[b->depth++] = l;
    return !s->fault;
}

/* The whole document, without recursion. */
static bool take_document(builder *b)
{
    assay_pull *s = &b->pull;
    const char *key = NULL;
    size_t length = 0;
    for (;;) {
        bool more = false;
        if (!take_value(b, key, length, &more))
            return false;
        /* Closes as many levels as end here: "]]}" ends three values at once. */
        while (!more && b->depth > 0) {
            more = assay_pull_more(s, b->stack[b->depth - 1].closing);
            b->depth -= !more;
            if (s->fault)
                return false;
        }
        if (b->depth == 0)
            return assay_pull_end(s);
        key = NULL;
        if (b->stack[b->depth - 1].closing == ']')
            continue;
        if (assay_pull_peek(s) != '"' && s->at < s->end)
            return assay_pull_fault(s, s->at, "expected a key in double quotes");
        if (!take_string(s, &key, &length) || !assay_pull_take(s, ':'))
            return false;
    }
}

/* Checks a text that lies as the document's does, and makes a tree of it unless `out` is NULL. */
static int read_plain(const document *d, const char *plain, cJSON **out)
{
    pthread_once(&hooks_once, set_hooks);
    builder b = {.builds = out != NULL};
    /* Untrusted bytes come in here: job files, reports and configurations of others. */
    assay_pull_start(&b.pull, plain, d->size);
    if (assay_pull_peek(&b.pull) == '\0' && b.pull.at == b.pull.end)
        return refuse(d, d->size, "the document is empty");
    const bool taken = take_document(&b) && !b.pull.no_memory;
    int status = ASSAY_OK;
    if (!taken)
        status = b.pull.no_memory ? no_memory(d) : refuse_fault(d, (size_t)(b.pull.fault_at - plain), b.pull.fault);
    assay_pull_release(&b.pull);
    if (taken && out)
        *out = b.root;
    else
        cJSON_Delete(b.root);
    return status;
}

uint64_t assay_json_tree_bytes(const void *text, size_t size)
{
    /* OF_ALLOCATOR: what malloc adds to a block, for the node, its key and its text. */
    enum { OF_ALLOCATOR = 16 };
    const char *at = text;
    uint64_t nodes = 1; /* in front of each but the first stands one of these */
    for (size_t i = 0; i < size; i++)
        nodes += at[i] == ',' || at[i] == '[' || at[i] == '{';
    return size + nodes * (sizeof(cJSON) + 3 * OF_ALLOCATOR);
}

int assay_json_check(const char *name, const void *text, size_t size, assay_error *err)
{
    const document d = document_of(name, text, size, err);
    return read_plain(&d, d.text, NULL);
}

int assay_json_parse(const char *name, const void *text, size_t size, cJSON **out, assay_error *err)
{
    const document d = document_of(name, text, size, err);
    return read_plain(&d, d.text, out);
}

int assay_json_parse_commented(const char *name, const void *text, size_t size, cJSON **out, assay_error *err)
{
    const document d = document_of(name, text, size, err);
    char *plain = assay_alloc(d.size + !d.size);
    if (!plain)
        return no_memory(&d);
    memcpy(plain, d.text, d.size);
    int status = blank_comments(&d, plain);
    ASSAY_THEN(status, read_plain(&d, plain, out));
    free(plain);
    return status;
}

/* ---- places ---- */

/* Goes to the member of the object that begins here: its value is next then, and *from its key. False, and the scanner
 * is somewhere behind, when there is none. */
static bool go_to_member(assay_pull *s, const char *name, size_t length, const char **from)
{
    if (assay_pull_peek(s) != '{' || !assay_pull_open(s, '{', '}'))
        return false;
    do {
        const char *key;
        size_t key_length;
        assay_pull_peek(s);
        *from = s->at;
        if (!assay_pull_key(s, &key, &key_length))
            return false;
        if (key_length == length && memcmp(key, name, length) == 0)
            return true;
    } while (assay_pull_skip(s) && assay_pull_more(s, '}'));
    return false;
}

static bool go_to_item(assay_pull *s, unsigned long number)
{
    if (assay_pull_peek(s) != '[' || !assay_pull_open(s, '[', ']'))
        return false;
    for (; number > 0; number--)
        if (!assay_pull_skip(s) || !assay_pull_more(s, ']'))
            return false;
    assay_pull_peek(s);
    return true;
}

/* Called only to word a message, after the document was parsed: speed is no matter, and what is not there is no
 * error. */
assay_json_place assay_json_find(const void *text, size_t size, const char *path, const char *member)
{
    const document d = document_of("", text, size, NULL);
    char *plain = assay_alloc(d.size + !d.size);
    assay_json_place place = {0, 0};
    if (!plain)
        return place;
    memcpy(plain, d.text, d.size);
    assay_pull s = {0};
    assay_pull_start(&s, plain, d.size);
    bool there = blank_comments(&d, plain) == ASSAY_OK;
    const char *at = plain, *from = plain;
    while (there && *path) {
        char *end = NULL;
        const size_t length = strcspn(path, ".[");
        if (*path == '[')
            there = go_to_item(&s, strtoul(path + 1, &end, 10)) && *end == ']';
        else
            there = length > 0 && go_to_member(&s, path, length, &from);
        path = *path == '[' ? (end ? end + 1 : path + 1) : path + length;
        path += *path == '.';
        at = there ? s.at : at;
    }
    assay_pull_peek(&s);
    at = there ? s.at : at;
    if (there && member && go_to_member(&s, member, strlen(member), &from))
        at = from;
    while (at < plain + d.size && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
        at++;
    place = place_of(&d, (size_t)(at - plain));
    assay_pull_release(&s);
    free(plain);
    return place;
}

/* ---- questions ---- */

static bool is_known(const char *key, const char *const *known)
{
    while (*known && strcmp(*known, key) != 0)
        known++;
    return *known != NULL;
}

static int refuse_key(const char *place, const char *key, const char *const *known, assay_error *err)
{
    char list[320] = "", hint[ASSAY_NEAREST_ROOM];
    size_t used = 0;
    assay_nearest nearest;
    assay_nearest_begin(&nearest, key, strlen(key));
    /* 320: a list of keys has to fit into an assay_error beside the place and the hint. */
    for (const char *const *name = known; *name; name++)
        assay_nearest_offer(&nearest, *name);
    for (; *known; known++) {
        size_t length = strlen(*known);
        if (length + 6 > sizeof list - used) {
            memcpy(list + used, " ...", 5);
            break;
        }
        memcpy(list + used, used ? ", " : "", used ? 2 : 0);
        used += used ? 2 : 0;
        memcpy(list + used, *known, length + 1);
        used += length;
    }
    return assay_fail(err, ASSAY_EFORMAT, "%s: unknown key \"%.60s\"%s; known keys: %s", place, key,
                      assay_nearest_hint(&nearest, hint), list[0] ? list : "(none)");
}

int assay_json_known_keys(const cJSON *object, const char *place, const char *const *known, assay_error *err)
{
    if (!cJSON_IsObject(object))
        return assay_fail(err, ASSAY_EFORMAT, "%s: expected an object in braces", place);
    for (const cJSON *item = object->child; item; item = item->next) {
        if (!is_known(item->string, known))
            return refuse_key(place, item->string, known, err);
        /* Short however long the object is: all keys so far are known ones and differ. */
        for (const cJSON *earlier = object->child; earlier != item; earlier = earlier->next) {
            if (strcmp(earlier->string, item->string) == 0)
                return assay_fail(err, ASSAY_EFORMAT, "%s: the key \"%s\" is there twice", place, item->string);
        }
    }
    return ASSAY_OK;
}

bool assay_json_i64(const cJSON *item, int64_t *out)
{
    if (!cJSON_IsNumber(item))
        return false;
    double value = item->valuedouble;
    if (!(fabs(value) <= 0x1p53) || value != trunc(value))
        return false;
    *out = (int64_t)value;
    return true;
}
