/* window.c - a file of any length, of which a window is in memory. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "format/traces/traces.h"

static const uint64_t TEXT_MOST = (uint64_t)8 << 30;
enum { WINDOW = 2 << 20 };

int assay_trace_window_open(assay_trace_window *w, assay_store *store, const char *path, assay_error *err)
{
    *w = (assay_trace_window){.room = WINDOW, .most = TEXT_MOST};
    w->text = assay_alloc(w->room);
    if (!w->text)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", path);
    return assay_unpacked_open(store, path, &w->bytes, err);
}

void assay_trace_window_release(assay_trace_window *w)
{
    assay_unpacked_close(w->bytes);
    free(w->text);
    *w = (assay_trace_window){0};
}

static bool fail(assay_trace_window *w, int status)
{
    w->status = status;
    w->ended = true;
    return false;
}

bool assay_trace_window_fill(assay_trace_window *w, size_t wanted)
{
    if (w->size - w->at >= wanted || w->ended)
        return w->status == ASSAY_OK;
    memmove(w->text, w->text + w->at, w->size - w->at);
    w->size -= w->at;
    w->at = 0;
    if (wanted > w->room) {
        char *grown = assay_realloc_array(w->text, wanted, 1);
        if (!grown)
            return fail(w, ASSAY_ENOMEM);
        w->text = grown;
        w->room = wanted;
    }
    while (w->size < w->room && !w->ended) {
        size_t got = 0;
        if (assay_unpacked_bytes(w->bytes) >= w->most) {
            assay_fail(&w->why, ASSAY_EFORMAT, "it unpacks to more than 8 GiB");
            return fail(w, ASSAY_EFORMAT);
        }
        const int status = assay_unpacked_read(w->bytes, w->text + w->size, w->room - w->size, &got, &w->why);
        w->size += got;
        if (status != ASSAY_OK)
            return fail(w, status);
        w->ended = got == 0;
    }
    return true;
}

char assay_trace_window_peek(assay_trace_window *w)
{
    for (;;) {
        while (w->at < w->size) {
            const char c = w->text[w->at];
            if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
                return c;
            w->at++;
        }
        if (w->ended || !assay_trace_window_fill(w, 1) || w->at == w->size)
            return '\0';
    }
}

/* Passes over a string, whose opening quote was taken. */
static bool skip_string(assay_trace_window *w, const char **fault)
{
    for (;;) {
        const char *end = w->text + w->size, *p = assay_pull_plain_end(w->text + w->at, end);
        w->at = (size_t)(p - w->text);
        if (p < end && *p == '"') {
            w->at++;
            return true;
        }
        if (p < end && *p != '\\') {
            *fault = "a control character within a string";
            return false;
        }
        assay_trace_window_fill(w, 2);
        if (w->size - w->at < 2) {
            *fault = "the text ends within a string";
            return false;
        }
        w->at += w->text[w->at] == '\\' ? 2 : 0;
    }
}

/* Passes over a number or a word. */
static bool skip_word(assay_trace_window *w, const char **fault)
{
    const size_t from = w->at;
    while (w->at < w->size &&
           (strchr("+-.", w->text[w->at]) ? w->text[w->at] != '\0'
                                          : ((w->text[w->at] | 0x20) >= 'a' && (w->text[w->at] | 0x20) <= 'z') ||
                                                (w->text[w->at] >= '0' && w->text[w->at] <= '9')))
        w->at++;
    *fault = "expected a value";
    return w->at > from;
}

bool assay_trace_window_skip(assay_trace_window *w, const char **fault)
{
    enum { WORD_MOST = 4096 };
    char closing[ASSAY_PULL_DEPTH];
    size_t depth = 0;
    bool value = true; /* a value is due, or a key; else a comma or a closing bracket */
    for (;;) {
        const char c = assay_trace_window_peek(w);
        if (c == '\0') {
            *fault = "the text ends too early";
            return false;
        }
        assay_trace_window_fill(w, WORD_MOST);
        if (c == '{' || c == '[') {
            if (depth == ASSAY_PULL_DEPTH) {
                *fault = "nested deeper than 64 levels";
                return false;
            }
            closing[depth++] = c == '{' ? '}' : ']';
            w->at++;
            value = true;
        } else if (depth > 0 && c == closing[depth - 1]) {
            depth--;
            w->at++;
            value = false;
        } else if (depth > 0 && (c == ',' || c == ':') && !value) {
            w->at++;
            value = true;
        } else if (c == '"' && value) {
            w->at++;
            value = false;
            if (!skip_string(w, fault))
                return false;
        } else if (!value || !skip_word(w, fault)) {
            *fault = "expected , or a closing bracket";
            return false;
        } else {
            value = false;
        }
        if (depth == 0)
            return true;
    }
}
