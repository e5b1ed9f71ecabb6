/* error.c - status texts, and a failure as one expression. */
#include <assay/status.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *assay_status_text(int status)
{
    switch (status) {
#define STATUS_CASE(name, number, text)                                                                                \
    case number:                                                                                                       \
        return text;
        ASSAY_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
    default:
        return "unknown status";
    }
}

int assay_fail(assay_error *err, int status, const char *format, ...)
{
    if (!err)
        return status;
    /* Callers put a place in front of an earlier failure by passing err->text as an argument: print beside it. */
    char text[ASSAY_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0)
        snprintf(text, sizeof text, "%s", assay_status_text(status));
    else if ((size_t)length >= sizeof text)
        memcpy(text + sizeof text - 4, "...", 4);
    memcpy(err->text, text, strlen(text) + 1);
    return status;
}
