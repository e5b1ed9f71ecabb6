/* words.h - text files of formats for tests: lines of words between blanks. */
#ifndef ASSAY_TESTS_FORMATS_WORDS_H
#define ASSAY_TESTS_FORMATS_WORDS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MOST = 64 };

/* Splits a line, which it changes, into its words; returns how many there are, WORDS_MOST at most. */
static inline int split_words(char *line, char *word[WORDS_MOST])
{
    int count = 0;
    for (char *at = line; count < WORDS_MOST;) {
        at += strspn(at, " ");
        if (!*at)
            break;
        word[count++] = at;
        at += strcspn(at, " ");
        if (*at)
            *at++ = '\0';
    }
    return count;
}

/* A whole number that is not negative, up to `end` (0: the end of the text). */
static inline bool read_whole(const char **text, char end, int64_t *out)
{
    char *behind = NULL;
    errno = 0;
    long long value = strtoll(*text, &behind, 10);
    if (behind == *text || errno != 0 || value < 0 || *behind != end)
        return false;
    *out = value;
    *text = end ? behind + 1 : behind;
    return true;
}

/* The mode of that name; 0: none. */
static inline int mode_of(const char *name, size_t length)
{
    static const char *const modes[] = {"", "TRAIN", "EVAL", "PREDICT", "GLOBAL"};
    for (int m = 1; m < 5; m++)
        if (strlen(modes[m]) == length && memcmp(modes[m], name, length) == 0)
            return m;
    return 0;
}

static inline bool is_whole(const char *text, int64_t *out)
{
    return read_whole(&text, '\0', out);
}

#endif
