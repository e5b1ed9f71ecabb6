/* catch_stderr.h - what a test's program writes to standard error. */
#ifndef ASSAY_TESTS_CATCH_STDERR_H
#define ASSAY_TESTS_CATCH_STDERR_H

#include <stdio.h>
#include <unistd.h>

static FILE *caught;
static int saved_stderr;

static inline void catch_stderr(void)
{
    fflush(stderr);
    caught = tmpfile();
    saved_stderr = dup(2);
    dup2(fileno(caught), 2);
}

/* What was written since, in a buffer of the caller's. */
static inline void release_stderr(char *text, size_t room)
{
    fflush(stderr);
    dup2(saved_stderr, 2);
    close(saved_stderr);
    rewind(caught);
    text[fread(text, 1, room - 1, caught)] = '\0';
    fclose(caught);
}

#endif
