/* process_state.h - what belongs to the process as a whole, and foreign code may change under the feet of everything
 * else: the floating-point environment (flush to zero, rounding), the locale, the working directory, the signal mask
 * and the mask of file modes. Results and reports depend on all of them. */
#pragma once

#include <fenv.h>
#include <signal.h>
#include <sys/types.h>

typedef struct assay_process_state {
    fenv_t numbers;
    sigset_t blocked;
    mode_t mask;
    int directory;   /* open; -1: it could not be opened, and is left as it is */
    char locale[64]; /* "": too long to be kept, and left as it is */
} assay_process_state;

/* Takes note of the calling thread's state. Release it with assay_process_state_release(). */
void assay_process_state_save(assay_process_state *state);
/* Takes note of the floating-point environment and the signal mask again, which a program changes by itself. */
void assay_process_state_note(assay_process_state *state);
/* Puts everything back. May be called any number of times. */
void assay_process_state_restore(const assay_process_state *state);
