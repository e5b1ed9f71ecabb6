/* steps.c - the training step that a line of progress names. */
#include <string.h>
#include <strings.h>

#include "base/path.h"
#include "format/joblog/joblog.h"

/* Words before a number that is a limit and no step. */
static bool is_limit(const char *line, size_t at)
{
    static const char *const words[] = {"max_",  "max ", "num_", "total_", "total ", "warmup_",     "warmup ", "save_",
                                        "eval_", "per_", "per ", "log_",   "every ", "train_iters", "initial_"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t length = strlen(words[i]);
        if (at >= length && strncasecmp(line + at - length, words[i], length) == 0)
            return true;
    }
    return false;
}

static int64_t number_at(const char *line, size_t length, size_t at)
{
    int64_t value = 0;
    size_t digits = 0;
    for (; at < length && digits < 15; at++) {
        if (assay_is_digit(line[at])) {
            value = 10 * value + (line[at] - '0');
            digits++;
        } else if (!(line[at] == ',' && digits > 0 && at + 3 < length && assay_is_digit(line[at + 1]) &&
                     assay_is_digit(line[at + 2]) && assay_is_digit(line[at + 3]))) {
            break;
        }
    }
    return digits > 0 && digits < 13 ? value : -1; /* what is longer is no step */
}

/* The number behind a word that begins there, if it is a step; -1. */
static int64_t behind_word(const char *line, size_t length, size_t at, size_t word)
{
    const bool inside = at > 0 && ((line[at - 1] | 0x20) >= 'a' && (line[at - 1] | 0x20) <= 'z');
    size_t from = at + word;
    while (from < length && from < at + word + 6 && strchr(" :=#'\"[(", line[from]))
        from++;
    size_t end = from;
    while (end < length && assay_is_digit(line[end]))
        end++;
    const bool part = end + 1 < length && line[end] == '.' && assay_is_digit(line[end + 1]); /* of a job of Slurm */
    return !inside && from > at + word && end > from && !part && !is_limit(line, at) ? number_at(line, length, from)
                                                                                     : -1;
}

/* " 12%|#   | 123/1000 [" of tqdm */
static int64_t behind_bar(const char *line, size_t length)
{
    const char *bar = NULL;
    for (size_t at = 1; at + 3 < length; at++)
        if (line[at] == '|' && line[at - 1] != '%')
            bar = line + at;
    if (!bar || !memchr(line, '%', length))
        return -1;
    size_t at = (size_t)(bar - line) + 1;
    while (at < length && line[at] == ' ')
        at++;
    const int64_t step = number_at(line, length, at);
    while (at < length && assay_is_digit(line[at]))
        at++;
    return at < length && line[at] == '/' ? step : -1;
}

int64_t joblog_step_of(const char *line, size_t length)
{
    static const char *const words[] = {"global_step", "step", "iteration", "iter"}; /* the first goes before others */
    enum { WORDS = sizeof words / sizeof *words };
    int64_t step[WORDS] = {-1, -1, -1, -1};
    bool bar = false;
    for (size_t at = 0; at + 1 < length; at++) {
        const char c = line[at] | 0x20, next = line[at + 1] | 0x20;
        bar = bar || line[at] == '|';
        if ((next != 't' || (c != 's' && c != 'i')) && (next != 'l' || c != 'g')) /* most of them */
            continue;
        for (size_t i = 0; i < WORDS; i++) {
            const size_t size = strlen(words[i]);
            if (c == words[i][0] && step[i] < 0 && at + size < length && strncasecmp(line + at, words[i], size) == 0)
                step[i] = behind_word(line, length, at, size);
        }
    }
    for (size_t i = 0; i < WORDS; i++)
        if (step[i] >= 0)
            return step[i];
    return bar ? behind_bar(line, length) : -1;
}
