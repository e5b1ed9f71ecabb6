/* utf8.c - well-formed UTF-8, by the table of RFC 3629, section 4. */
#include "base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

size_t assay_utf8_length(const void *bytes, size_t left)
{
    const uint8_t *b = bytes;
    if (left == 0)
        return 0;
    if (b[0] < 0x80)
        return 1;
    /* 0xc0 and 0xc1 would begin a longer form of ASCII; 0xf5 and above is beyond U+10FFFF. */
    if (b[0] < 0xc2 || b[0] > 0xf4)
        return 0;
    size_t length = b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : 4;
    if (length > left)
        return 0;
    /* Second bytes outside these bounds: forms that are longer than needed, surrogates, beyond U+10FFFF. */
    uint8_t low = b[0] == 0xe0 ? 0xa0 : b[0] == 0xf0 ? 0x90 : 0x80;
    uint8_t high = b[0] == 0xed ? 0x9f : b[0] == 0xf4 ? 0x8f : 0xbf;
    if (b[1] < low || b[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++) {
        if (b[i] < 0x80 || b[i] > 0xbf)
            return 0;
    }
    return length;
}

size_t assay_utf8_cut(const char *text, size_t most)
{
    size_t length = strlen(text), at = 0;
    if (length <= most)
        return length;
    for (size_t size; at < most; at += size) {
        size = assay_utf8_length(text + at, length - at);
        size = size ? size : 1;
        if (at + size > most)
            break;
    }
    return at;
}

bool assay_utf8_is(const void *bytes, size_t size)
{
    const uint8_t *text = bytes;
    for (size_t at = 0, length = 0; at < size; at += length) {
        uint64_t eight;
        for (; size - at >= sizeof eight; at += sizeof eight) { /* most texts are ASCII */
            memcpy(&eight, text + at, sizeof eight);
            if (eight & 0x8080808080808080u)
                break;
        }
        length = at == size ? 0 : text[at] < 0x80 ? 1 : assay_utf8_length(text + at, size - at);
        if (length == 0)
            return at == size;
    }
    return true;
}

size_t assay_utf8_next(const void *bytes, size_t left, uint32_t *code)
{
    const uint8_t *b = bytes;
    size_t length = assay_utf8_length(bytes, left);
    if (length == 0) {
        *code = ASSAY_UTF8_BAD;
        return 1;
    }
    *code = length == 1 ? b[0] : b[0] & (0xffU >> (length + 1));
    for (size_t i = 1; i < length; i++)
        *code = *code << 6 | (b[i] & 0x3fU);
    return length;
}

bool assay_utf8_acts(uint32_t code)
{
    /* Control characters, marks that turn the direction of text, line and paragraph separators, and the byte order
     * mark. */
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || (code >= 0x200e && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

size_t assay_utf8_show(const char *text, size_t left, char out[ASSAY_UTF8_SHOWN], size_t *size)
{
    static const char acting[] = "\n\t\r", letter[] = "ntr";
    uint32_t code;
    const size_t length = assay_utf8_next(text, left, &code);
    if (code == ASSAY_UTF8_BAD && length == 1) {
        code = (unsigned char)*text;
    } else if (!assay_utf8_acts(code)) {
        memcpy(out, text, length);
        *size = length;
        return length;
    }
    const char *known = code > 0 && code < 0x80 ? strchr(acting, (int)code) : NULL;
    if (known)
        *size = (size_t)snprintf(out, ASSAY_UTF8_SHOWN, "\\%c", letter[known - acting]);
    else
        *size = (size_t)snprintf(out, ASSAY_UTF8_SHOWN, code < 0x100 ? "\\x%02" PRIx32 : "\\u%04" PRIx32, code);
    return length;
}
