/* leftovers.c - see leftovers.h. */
#include "base/leftovers.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fault.h"

/* As many files and directories as are written at once; one more is not removed after a signal, and stays behind. */
enum { MOST = 16 };

/* A handler may come between any two lines, and several threads write files. */
static _Atomic(char *) noted[MOST];

int assay_leftover_add(const char *path)
{
    char *copy = assay_copy_text(path);
    for (int i = 0; copy && i < MOST; i++) {
        char *none = NULL;
        if (atomic_compare_exchange_strong(&noted[i], &none, copy))
            return i;
    }
    free(copy);
    return -1;
}

void assay_leftover_drop(int number)
{
    if (number >= 0)
        free(atomic_exchange(&noted[number], NULL));
}

void assay_leftovers_remove(void)
{
    /* Nothing here may allocate or free: a signal may have come in the middle of malloc. */
    for (int i = 0; i < MOST; i++) {
        const char *path = atomic_load(&noted[i]);
        /* rmdir removes empty directories only: results that were complete stay. */
        if (path && unlink(path) != 0)
            rmdir(path);
    }
}
