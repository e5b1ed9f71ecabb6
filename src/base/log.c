/* log.c - one line per message, to stderr. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/redact.h"

static struct {
    int rank;
    bool all_ranks, quiet;
} settings;

void assay_log_init(int rank, bool all_ranks, bool quiet)
{
    settings.rank = rank;
    settings.all_ranks = all_ranks;
    settings.quiet = quiet;
}

__attribute__((format(printf, 2, 0))) static void say(const char *kind, const char *format, va_list args)
{
    if (settings.rank != 0 && !settings.all_ranks)
        return;
    char line[4096], rank[32] = "";
    if (settings.all_ranks)
        snprintf(rank, sizeof rank, "rank %d: ", settings.rank);
    int head = snprintf(line, sizeof line, "assay: %s%s", rank, kind);
    int body = vsnprintf(line + head, sizeof line - (size_t)head, format, args);
    if (head < 0 || body < 0)
        return;
    assay_redact_text(line);
    size_t length = strlen(line);
    if (length == sizeof line - 1) /* cut: keep room for the newline */
        memcpy(line + --length - 3, "...", 3);
    /* Names from foreign files end up in messages: no line breaks and no terminal control codes. */
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
            line[i] = line[i] == '\n' || line[i] == '\t' ? ' ' : '?';
    }
    line[length++] = '\n';
    fwrite(line, 1, length, stderr); /* in one call, so that lines of several ranks do not mix */
}

void assay_log_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!settings.quiet)
        say("", format, args);
    va_end(args);
}

void assay_log_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!settings.quiet)
        say("warning: ", format, args);
    va_end(args);
}

void assay_log_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("error: ", format, args);
    va_end(args);
}
