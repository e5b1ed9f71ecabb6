/* process_state.c - see process_state.h. */
#include "base/process_state.h"

#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void assay_process_state_note(assay_process_state *state)
{
    fegetenv(&state->numbers);
    pthread_sigmask(SIG_SETMASK, NULL, &state->blocked);
}

/* Called around foreign code (rules, Python), which may change what belongs to the whole process. */
void assay_process_state_save(assay_process_state *state)
{
    const char *locale = setlocale(LC_ALL, NULL);
    assay_process_state_note(state);
    state->mask = umask(0);
    umask(state->mask);
    state->directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Too long to be kept: then the locale is not restored (an empty text). */
    size_t length = locale ? strlen(locale) : sizeof state->locale;
    snprintf(state->locale, sizeof state->locale, "%s", length < sizeof state->locale ? locale : "");
}

void assay_process_state_restore(const assay_process_state *state)
{
    const char *locale = setlocale(LC_ALL, NULL);
    fesetenv(&state->numbers);
    pthread_sigmask(SIG_SETMASK, &state->blocked, NULL);
    umask(state->mask);
    if (state->directory >= 0 && fchdir(state->directory) != 0) {
        /* the directory is still open, so it is there; nothing else can be done */
    }
    /* A foreign rule may have given this thread a locale of its own. */
    uselocale(LC_GLOBAL_LOCALE);
    if (state->locale[0] && locale && strcmp(locale, state->locale) != 0)
        setlocale(LC_ALL, state->locale);
}
