/* json_pull.h - a strict pull scanner over JSON bytes, for files that trials hold: there may be a million of them, or a
 * million names in one, and building a tree would cost several times the read.
 *
 * The first thing that is wrong is kept in `fault` and every later call fails. RFC 8259, but strings may hold bytes
 * that are no UTF-8 (tensor names do), and a surrogate without its pair is taken as three bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ASSAY_PULL_DEPTH = 64 }; /* deeper nesting is refused */

typedef struct assay_pull {
    const char *from, *at, *end;
    char *decoded; /* strings with escapes; room for as many bytes as the text has; owned, kept over texts */
    size_t decoded_size, decoded_room;
    const char *fault; /* what is wrong, a constant; NULL: nothing yet */
    const char *fault_at;
    bool no_memory;
    bool loose; /* set by the caller: NaN, Infinity and -Infinity are taken for null, as Python writes them, and a
                   backslash before any character for that character, as paths of Windows have it */
} assay_pull;

/* Starts on another text; what was decoded before is forgotten. */
void assay_pull_start(assay_pull *s, const void *text, size_t size);
/* Frees what was decoded; the text is the caller's. */
void assay_pull_release(assay_pull *s);
/* The next character that is no white space, '\0' at the end or after a fault. */
static inline char assay_pull_peek(assay_pull *s)
{
    const char *p = s->at;
    while (p < s->end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
        p++;
    s->at = p;
    return p < s->end ? *p : '\0';
}
/* Takes one punctuation mark behind white space, if any. False, and a fault that names it, when it is not there. */
bool assay_pull_take_behind(assay_pull *s, char mark);
/* The same; most marks stand where the text is. */
static inline bool assay_pull_take(assay_pull *s, char mark)
{
    if (s->at < s->end && *s->at == mark) {
        s->at++;
        return true;
    }
    return assay_pull_take_behind(s, mark);
}
/* After an item: true when a comma was taken and another item follows, false at the closing mark (taken) or a fault. */
static inline bool assay_pull_more(assay_pull *s, char closing)
{
    if (assay_pull_peek(s) == ',') {
        s->at++;
        return true;
    }
    assay_pull_take(s, closing);
    return false;
}
/* Opens an object or array: true when it has items. */
static inline bool assay_pull_open(assay_pull *s, char opening, char closing)
{
    if (!assay_pull_take(s, opening))
        return false;
    if (assay_pull_peek(s) != closing)
        return s->fault == NULL;
    s->at++;
    return false;
}
/* A string, pointing into the text or into what was decoded; valid until the next start. */
bool assay_pull_string(assay_pull *s, const char **text, size_t *length);
/* A key and its colon. */
bool assay_pull_key(assay_pull *s, const char **text, size_t *length);
/* A whole number of 0 or more in at most 18 digits, with nothing else of a number behind them. False, and nothing
 * taken: assay_pull_integer() has to look. */
static inline bool assay_pull_digits(assay_pull *s, int64_t *value)
{
    assay_pull_peek(s);
    const char *p = s->at, *most = s->end - p > 18 ? p + 18 : s->end;
    int64_t number = 0;
    for (; p < most && *p >= '0' && *p <= '9'; p++)
        number = 10 * number + (*p - '0');
    if (p == s->at || p == most || *p == '.' || *p == 'e' || *p == 'E' || (*s->at == '0' && p - s->at > 1))
        return false;
    *value = number;
    s->at = p;
    return true;
}
/* A number. *fits is false when it is well-formed and no int64 (1e3 and 1.0 are). */
bool assay_pull_integer(assay_pull *s, int64_t *value, bool *fits);
/* A number as the nearest double (half to even); infinite when it is too large for one. */
bool assay_pull_number(assay_pull *s, double *value);
/* The double nearest to digits / 10^places (half to even). */
enum { ASSAY_DECIMAL_PLACES = 18 /* at most */ };
double assay_decimal(uint64_t digits, unsigned places);
/* true, false or null: 1, 0 or -1 in *value. */
bool assay_pull_literal(assay_pull *s, int *value);
/* Passes over any value, without recursion. */
bool assay_pull_skip(assay_pull *s);
/* True when nothing but white space is left. */
bool assay_pull_end(assay_pull *s);
/* Sets the fault unless there is one. Returns false. */
bool assay_pull_fault(assay_pull *s, const char *at, const char *what);

/* The first byte at or after `p` that is a quote, a backslash or a control character; `end`: there is none. */
static inline const char *assay_pull_plain_end(const char *p, const char *end)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    for (; end - p >= 8; p += 8) {
        uint64_t x;
        memcpy(&x, p, sizeof x);
        const uint64_t quote = x ^ ones * '"', slash = x ^ ones * '\\';
        const uint64_t found =
            (((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((x - ones * 0x20) & ~x)) & highs;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        if (found) /* its lowest bit is true, those above may come from borrowing */
            return p + __builtin_ctzll(found) / 8;
#else
        if (found)
            break;
#endif
    }
    while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20)
        p++;
    return p;
}
