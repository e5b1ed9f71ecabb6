/* json_items.c - see json_items.h. */
#include "container/json_items.h"

#include <string.h>

int assay_json_items_open(assay_store *store, const char *path, assay_json_items *out, assay_error *err)
{
    assay_json_items items = {0};
    ASSAY_TRY(assay_stream_open(store, path, &items.stream, err));
    assay_buf_init(&items.key, ASSAY_JSON_ITEM_MOST);
    *out = items;
    return ASSAY_OK;
}

void assay_json_items_close(assay_json_items *items)
{
    assay_stream_close(&items->stream);
    assay_buf_release(&items->key);
}

static int wrong(assay_json_items *s, const char *what, assay_error *err)
{
    s->fault = what;
    return assay_fail(err, ASSAY_EFORMAT, "offset %llu: %s", (unsigned long long)s->next, what);
}

/* The next byte that is no white space; '\0' at the end of the file. The outer loop runs once a block of white space,
 * which may be as long as the file. */
static int peek(assay_json_items *s, char *out, assay_error *err)
{
    for (;;) {
        const uint8_t *bytes = NULL;
        size_t have = 0;
        ASSAY_TRY(assay_stream_look(&s->stream, s->next, 1, &bytes, &have, err));
        size_t i = 0;
        while (i < have && (bytes[i] == ' ' || bytes[i] == '\n' || bytes[i] == '\t' || bytes[i] == '\r'))
            i++;
        s->next += i;
        *out = i < have ? (char)bytes[i] : '\0';
        if (i < have || have == 0)
            return ASSAY_OK;
        if (s->next > ASSAY_JSON_TEXT_MOST)
            return wrong(s, "the text has more than 1 GiB", err);
    }
}

/* Behind the outermost value only white space may stand. */
static int expect_end(assay_json_items *s, assay_error *err)
{
    const uint8_t *bytes = NULL;
    size_t have = 0;
    char found = '\0';
    ASSAY_TRY(peek(s, &found, err));
    ASSAY_TRY(assay_stream_look(&s->stream, s->next, 1, &bytes, &have, err)); /* a zero byte is no end */
    return have > 0 ? wrong(s, "something stands behind its end", err) : ASSAY_OK;
}

static int expect(assay_json_items *s, char mark, const char *what, assay_error *err)
{
    char found = '\0';
    ASSAY_TRY(peek(s, &found, err));
    if (found != mark)
        return wrong(s, found == '\0' ? "the text ends too early" : what, err);
    s->next++;
    return ASSAY_OK;
}

int assay_json_items_enter(assay_json_items *s, char bracket, assay_error *err)
{
    char found = '\0';
    ASSAY_TRY(peek(s, &found, err));
    /* sizeof s->close bounds how deep objects are entered; readers enter two or three. */
    if (found != bracket || s->depth == sizeof s->close)
        return found == '\0' ? wrong(s, "the text ends too early", err) : 0;
    s->next++;
    s->close[s->depth++] = bracket == '{' ? '}' : ']';
    s->first = true;
    return 1;
}

/* Where the value ends that begins at `bytes`: 0 when it does not within `have`. */
static size_t value_end(const uint8_t *bytes, size_t have, size_t *depth_most)
{
    /* Brackets are matched, nothing else is checked: the caller parses the value, with all that a scanner finds. */
    char close[ASSAY_PULL_DEPTH + 1];
    size_t depth = 0, i = 0;
    while (i < have) {
        const uint8_t c = bytes[i++];
        if (c == '"') {
            while (i < have && bytes[i] != '"')
                i += bytes[i] == '\\' ? 2 : 1;
            if (i >= have)
                return 0;
            i++;
        } else if (c == '{' || c == '[') {
            if (depth == ASSAY_PULL_DEPTH) {
                *depth_most = depth + 1;
                return 0;
            }
            close[depth++] = c == '{' ? '}' : ']';
            continue;
        } else if (c == '}' || c == ']') {
            if (depth == 0 || close[depth - 1] != (char)c)
                return i - 1;
            depth--;
        } else if (depth == 0) { /* a number or a word: up to what cannot belong to it */
            while (i < have && !memchr(",]} \n\t\r", bytes[i], 7))
                i++;
            /* A number at the end of the window may go on: its end is known only where a byte follows. */
            return i < have ? i : 0;
        } else {
            continue;
        }
        if (depth == 0)
            return i;
    }
    return 0;
}

int assay_json_items_take(assay_json_items *s, const char **text, size_t *length, assay_error *err)
{
    char found = '\0';
    int status = peek(s, &found, err);
    /* The stretch doubles until the value ends in it: linear in all. */
    for (size_t least = 4096; status == ASSAY_OK; least *= 2) {
        const uint8_t *bytes = NULL;
        size_t have = 0, depth = 0;
        ASSAY_TRY(status = assay_stream_look(&s->stream, s->next, least, &bytes, &have, err));
        const size_t look = have < least ? have : least, end = value_end(bytes, look, &depth);
        if (depth > ASSAY_PULL_DEPTH)
            return wrong(s, "values are nested more than 64 deep", err);
        if (end > 0) {
            *text = (const char *)bytes;
            *length = end;
            s->next += end;
            return s->next > ASSAY_JSON_TEXT_MOST ? wrong(s, "the text has more than 1 GiB", err) : ASSAY_OK;
        }
        if (look < least)
            return wrong(s, "the text ends too early", err);
        if (least >= ASSAY_JSON_ITEM_MOST)
            return wrong(s, "a value has more than 64 MiB", err);
    }
    return status;
}

int assay_json_items_next(assay_json_items *s, assay_error *err)
{
    char found = '\0';
    const char *key = NULL;
    size_t length = 0;
    int status = peek(s, &found, err);
    ASSAY_TRY(status);
    const char close = s->close[s->depth - 1];
    if (found == close) {
        s->next++;
        s->depth--;
        s->first = false;
        return s->depth == 0 ? expect_end(s, err) : 0;
    }
    if (!s->first)
        status = expect(s, ',', "expected a comma", err);
    s->first = false;
    if (status != ASSAY_OK || close == ']')
        return status == ASSAY_OK ? 1 : status;
    status = peek(s, &found, err);
    if (status == ASSAY_OK && found != '"')
        return wrong(s, found == '\0' ? "the text ends too early" : "expected a key", err);
    ASSAY_THEN(status, assay_json_items_take(s, &key, &length, err));
    ASSAY_TRY(status);
    assay_buf_clear(&s->key);
    /* Quotes are cut off, escapes stay: keys that readers look for have none. */
    assay_put_bytes(&s->key, key + 1, length - 2);
    assay_put_u8(&s->key, '\0');
    s->key.size--;
    if (assay_buf_status(&s->key) != ASSAY_OK)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory for a key");
    status = expect(s, ':', "expected a colon", err);
    return status == ASSAY_OK ? 1 : status;
}
