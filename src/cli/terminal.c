/* terminal.c - see terminal.h. */
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "parallel/launcher.h"

enum { LEAST_COLUMNS = 20, USUAL_COLUMNS = 80, MOST_COLUMNS = 1000 };

static unsigned columns_of(int terminal)
{
    struct winsize size = {0};
    const char *said = getenv("COLUMNS");
    long columns = said ? strtol(said, NULL, 10) : 0;
    if (columns <= 0 && ioctl(terminal, TIOCGWINSZ, &size) == 0)
        columns = size.ws_col;
    if (columns <= 0)
        columns = USUAL_COLUMNS;
    return (unsigned)(columns < LEAST_COLUMNS ? LEAST_COLUMNS : columns > MOST_COLUMNS ? MOST_COLUMNS : columns);
}

static unsigned kept_columns; /* 0: no terminal was kept */
static bool has_left;

bool cli_is_terminal(void)
{
    return !has_left && (kept_columns > 0 || (isatty(STDOUT_FILENO) && !assay_launched_rank()));
}

void cli_keep_terminal(void)
{
    kept_columns = columns_of(STDOUT_FILENO);
}

void cli_leave_terminal(void)
{
    has_left = true;
}

static bool says_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *locale = getenv(names[i]);
        if (locale && *locale)
            return strcasestr(locale, "utf-8") || strcasestr(locale, "utf8");
    }
    return false;
}

static bool takes_colours(void)
{
    const char *refused = getenv("NO_COLOR"), *kind = getenv("TERM");
    return !(refused && *refused) && kind && *kind && strcmp(kind, "dumb") != 0;
}

static cli_draw_when colour; /* set while the command line is parsed */

void cli_set_colour(cli_draw_when when)
{
    colour = when;
}

const assay_draw *cli_draw_style(cli_draw_when when, assay_draw *out)
{
    bool terminal = cli_is_terminal(), always = colour == CLI_DRAW_ALWAYS;
    if (when == CLI_DRAW_NEVER || (when == CLI_DRAW_AUTO && !terminal && !always))
        return NULL;
    *out = (assay_draw){kept_columns ? kept_columns : columns_of(STDOUT_FILENO), says_utf8(),
                        always || (colour == CLI_DRAW_AUTO && terminal && takes_colours())};
    return out;
}
