/* text.h - going along a line. Inside joblog only. */
#pragma once

#include <string.h>

#include "base/path.h"
#include "format/joblog/joblog.h"

typedef struct text { /* that is left of a line */
    const char *at;
    size_t left;
} text;

static inline void skip(text *t, size_t bytes)
{
    t->at += bytes;
    t->left -= bytes;
}

static inline bool skip_byte(text *t, char c)
{
    if (t->left == 0 || *t->at != c)
        return false;
    skip(t, 1);
    return true;
}

static inline void skip_blanks(text *t)
{
    while (t->left > 0 && *t->at == ' ')
        skip(t, 1);
}

static inline bool skip_word(text *t, const char *word)
{
    const size_t length = strlen(word);
    if (t->left < length || memcmp(t->at, word, length) != 0)
        return false;
    skip(t, length);
    return true;
}

/* A whole number of `least` to `most` digits. */
static inline bool take_number(text *t, size_t least, size_t most, int64_t *out)
{
    size_t digits = 0;
    int64_t value = 0;
    while (digits < t->left && digits < most && assay_is_digit(t->at[digits]))
        value = 10 * value + (t->at[digits++] - '0');
    if (digits < least || (digits < t->left && assay_is_digit(t->at[digits])))
        return false;
    skip(t, digits);
    *out = value;
    return true;
}

/* Takes a time that stands in front of what is left. *glog: the time is as glog writes it, and a place and ']' follow. */
bool joblog_take_time(text *t, joblog_prefix *out, bool *glog);
