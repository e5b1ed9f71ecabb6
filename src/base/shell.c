/* shell.c - words of commands that people paste. */
#include <assay/pack.h>

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

/* Nothing in it means anything to a shell, wherever the word stands. */
static bool is_safe(const char *text)
{
    /* Everything else is quoted, also what only some shells take as special, such as "~" and "=". */
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,@%+-";
    return *text && text[strspn(text, safe)] == '\0';
}

/* Every character can be shown as it is. */
static bool is_plain(const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        uint32_t code;
        size_t bytes = assay_utf8_next(text + at, length - at, &code);
        if ((code == ASSAY_UTF8_BAD && bytes == 1) || assay_utf8_acts(code))
            return false;
        at += bytes;
    }
    return true;
}

static void put_quoted(assay_buf *out, const char *text)
{
    assay_put_u8(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            assay_put_bytes(out, "'\\''", 4);
        else
            assay_put_bytes(out, text, 1);
    }
    assay_put_u8(out, '\'');
}

/* As what printf makes of it: all but letters and digits in octal. Control characters would act on the terminal
 * before the shell reads them, and a pasted line end would run half a command. */
static void put_octal(assay_buf *out, const char *text)
{
    assay_put_format(out, "\"$(printf %%b '");
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        bool alike = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
        assay_put_format(out, alike ? "%c" : "\\0%03o", byte);
    }
    assay_put_format(out, "')\"");
}

void assay_put_shell_word(assay_buf *buf, const char *text)
{
    if (is_safe(text))
        assay_put_bytes(buf, text, strlen(text));
    else if (is_plain(text, strlen(text)))
        put_quoted(buf, text);
    else
        put_octal(buf, text);
}
