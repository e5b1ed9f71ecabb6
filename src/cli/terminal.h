/* terminal.h - what standard output can show. */
#pragma once

#include <stdbool.h>

#include "report/text/draw.h"

typedef enum cli_draw_when { CLI_DRAW_AUTO, CLI_DRAW_ALWAYS, CLI_DRAW_NEVER } cli_draw_when;
#define CLI_DRAW_WORDS "auto|always|never"

/* Fills *out and returns it when drawings are wanted, else NULL: with AUTO they are on a terminal. A launcher's ranks
 * never have one: where their output goes is only known to the launcher. The width is COLUMNS, else the terminal's,
 * else 80. Blocks are drawn when LC_ALL, LC_CTYPE or LANG, the first that is set, says UTF-8; colours only on a
 * terminal, and not with NO_COLOR or TERM=dumb, unless cli_set_colour() said otherwise; what is coloured always is
 * drawn as on a terminal. */
const assay_draw *cli_draw_style(cli_draw_when when, assay_draw *out);
/* Is standard output a terminal, or was it one when cli_keep_terminal() was called? */
bool cli_is_terminal(void);
/* For a pager: output is still drawn as on this terminal, as wide as it is now. */
void cli_keep_terminal(void);
/* What is printed goes to a file. */
void cli_leave_terminal(void);
/* What --color says. */
void cli_set_colour(cli_draw_when when);
