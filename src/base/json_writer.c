/* json_writer.c - keeps the commas, the brackets and the nesting of JSON text. */
#include "base/json_writer.h"

#include <assay/status.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

assay_jw assay_jw_over(assay_buf *out)
{
    return (assay_jw){.out = out, .line = -1};
}

assay_jw assay_jw_members_of(assay_buf *out, bool filled)
{
    return (assay_jw){.out = out, .objects = 1, .filled = filled, .line = -1};
}

/* A wrong nesting is a fault of the program; it ends in the buffer's status like all others, and no report is
 * written. */
static void fail(assay_jw *w)
{
    if (w->out->status == ASSAY_OK)
        w->out->status = ASSAY_EINTERNAL;
}

/* Bit d of `objects` and of `filled` belongs to depth d; ASSAY_JW_DEPTH bounds d below 64. */
static uint64_t level(const assay_jw *w)
{
    return UINT64_C(1) << w->depth;
}

bool assay_jw_done(assay_jw *w)
{
    if (w->depth > 0 || !(w->filled || w->objects))
        fail(w);
    return w->out->status == ASSAY_OK;
}

static void begin_line(assay_jw *w)
{
    if (w->line >= 0)
        assay_put_format(w->out, "\n%*s", w->line, "");
    w->line = -1;
}

assay_buf *assay_jw_value(assay_jw *w, const char *key)
{
    const bool in_object = w->objects & level(w), first = !(w->filled & level(w));
    /* A document has one value outside all brackets. */
    const bool second_root = w->depth == 0 && !in_object && !first;
    if (in_object != (key != NULL) || second_root)
        fail(w);
    if (!first)
        assay_put_bytes(w->out, ", ", w->line < 0 ? 2 : 1);
    begin_line(w);
    w->filled |= level(w);
    if (key) {
        assay_json_put_text(w->out, key);
        assay_put_bytes(w->out, ": ", 2);
    }
    return w->out;
}

static void open_level(assay_jw *w, const char *key, bool object)
{
    assay_put_u8(assay_jw_value(w, key), object ? '{' : '[');
    if (w->depth == ASSAY_JW_DEPTH) {
        fail(w);
        return;
    }
    w->depth++;
    w->filled &= ~level(w);
    w->objects = object ? w->objects | level(w) : w->objects & ~level(w);
}

void assay_jw_object(assay_jw *w, const char *key)
{
    open_level(w, key, true);
}

void assay_jw_array(assay_jw *w, const char *key)
{
    open_level(w, key, false);
}

void assay_jw_end(assay_jw *w)
{
    if (w->depth == 0) {
        fail(w);
        return;
    }
    begin_line(w);
    assay_put_u8(w->out, w->objects & level(w) ? '}' : ']');
    w->depth--;
}

void assay_jw_line(assay_jw *w, unsigned blanks)
{
    /* Of a report that is written while it is made, about so much lies in memory. */
    enum { MUCH = 1 << 20 };
    w->line = (int)blanks;
    if (!w->drain || w->out->size < MUCH || w->out->status != ASSAY_OK)
        return;
    w->out->status = w->drain->take(w->drain->context, w->out->data, w->out->size);
    w->out->size = 0;
}

void assay_jw_text(assay_jw *w, const char *key, const char *text)
{
    if (text)
        assay_json_put_text(assay_jw_value(w, key), text);
    else
        assay_jw_null(w, key);
}

void assay_jw_text_n(assay_jw *w, const char *key, const char *text, size_t length)
{
    assay_json_put_text_n(assay_jw_value(w, key), text, length);
}

void assay_jw_format(assay_jw *w, const char *key, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof text)
        fail(w);
    assay_jw_text(w, key, text);
}

void assay_jw_i64(assay_jw *w, const char *key, int64_t value)
{
    assay_put_format(assay_jw_value(w, key), "%" PRId64, value);
}

void assay_jw_u64(assay_jw *w, const char *key, uint64_t value)
{
    assay_put_format(assay_jw_value(w, key), "%" PRIu64, value);
}

void assay_jw_number(assay_jw *w, const char *key, double value)
{
    assay_json_put_number(assay_jw_value(w, key), value);
}

void assay_jw_bool(assay_jw *w, const char *key, bool value)
{
    assay_put_format(assay_jw_value(w, key), "%s", value ? "true" : "false");
}

void assay_jw_null(assay_jw *w, const char *key)
{
    assay_put_format(assay_jw_value(w, key), "null");
}

void assay_jw_known(assay_jw *w, const char *key, double value)
{
    if (isnan(value))
        assay_jw_null(w, key);
    else
        assay_jw_number(w, key, value);
}

void assay_jw_texts(assay_jw *w, const char *key, const char *const *list, size_t count)
{
    assay_jw_array(w, key);
    for (size_t i = 0; i < count; i++)
        assay_jw_text(w, NULL, list[i]);
    assay_jw_end(w);
}

void assay_jw_i64s(assay_jw *w, const char *key, const int64_t *list, size_t count)
{
    assay_jw_array(w, key);
    for (size_t i = 0; i < count; i++)
        assay_jw_i64(w, NULL, list[i]);
    assay_jw_end(w);
}

void assay_jw_numbers(assay_jw *w, const char *key, const double *list, size_t count)
{
    assay_jw_array(w, key);
    for (size_t i = 0; i < count; i++)
        assay_jw_number(w, NULL, list[i]);
    assay_jw_end(w);
}
