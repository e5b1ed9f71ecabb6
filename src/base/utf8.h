/* utf8.h - the one decoder of UTF-8's grammar (RFC 3629). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed character at `bytes`, of which `left` may be read: 1 to 4, or 0 when it is none (overlong,
 * surrogate, beyond U+10FFFF, cut short). A NUL byte is a character of 1. */
size_t assay_utf8_length(const void *bytes, size_t left);

/* The same for a reader that goes on over bad bytes: *code gets the character, or U+FFFD for a byte that belongs to
 * none, which then is 1 long. `left` is not 0. */
enum { ASSAY_UTF8_BAD = 0xfffd };
size_t assay_utf8_next(const void *bytes, size_t left, uint32_t *code);

/* Bytes of a text that are kept where `most` are: whole characters of it. */
size_t assay_utf8_cut(const char *text, size_t most);

/* Is all of it well-formed? */
bool assay_utf8_is(const void *bytes, size_t size);

/* True for characters that act on a terminal or on the order of a line instead of standing in it. */
bool assay_utf8_acts(uint32_t code);

/* What is printed of strangers' texts: the character at `text`, or \n, \x1b, \u202e, \xff for one that acts and for a
 * byte that belongs to none. Writes *size bytes to `out`, without a terminator; returns the bytes it stands for. */
enum { ASSAY_UTF8_SHOWN = 11 };
size_t assay_utf8_show(const char *text, size_t left, char out[ASSAY_UTF8_SHOWN], size_t *size);
