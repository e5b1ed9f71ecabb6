/* pager.h - prints by way of a pager, as git does: for listings that may be longer than a screen. */
#pragma once

/* Where standard output is a terminal, it goes through the program that ASSAY_PAGER, PAGER, or nobody (then less, if there is
 * one) names; "" and "cat" are none. less gets LESS=FRX unless LESS is set: it ends by itself where a screen is enough.
 * What cannot be started is done without. Call it before anything is printed; one process calls it. */
void cli_pager_start(void);
/* Waits until the pager is quit. A pager that is quit early is no failure. */
void cli_pager_end(void);
