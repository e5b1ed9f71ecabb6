/* log.c - one line per message, to stderr. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/activity.h"
#include "base/redact.h"
#include "base/utf8.h"

/* Set by main before threads start; read by all. */
static struct {
    int rank;
    bool all_ranks, quiet;
} settings;

void assay_log_all_ranks(bool all)
{
    settings.all_ranks = all;
}

void assay_log_init(int rank)
{
    settings.rank = rank;
    settings.quiet = false;
}

void assay_log_quiet(void)
{
    settings.quiet = true;
    assay_activity_show(false);
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
    if (strlen(line) == sizeof line - 1)
        memcpy(line + sizeof line - 4, "...", 4);
    /* Secrets in messages, such as credentials in a URL, are masked before anything is shown. */
    assay_redact_text(line);
    char shown[sizeof line + ASSAY_UTF8_SHOWN + sizeof "...\n"];
    const size_t length = strlen(line);
    size_t at = 0, put = 0;
    while (at < length && put < sizeof line) { /* names from foreign files end up in messages */
        size_t size = 1, took = 1;
        if (line[at] == '\n' || line[at] == '\t')
            shown[put] = ' ';
        else
            took = assay_utf8_show(line + at, length - at, shown + put, &size);
        at += took;
        put += size;
    }
    put += (size_t)snprintf(shown + put, sizeof shown - put, at < length ? "...\n" : "\n");
    assay_activity_hold(true);
    fwrite(shown, 1, put, stderr); /* in one call, so that lines of several ranks do not mix */
    assay_activity_hold(false);
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
