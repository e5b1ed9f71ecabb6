/* steps.c - the training step that a line of progress names. */
#include <string.h>
#include <strings.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

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

int64_t joblog_number_at(const char *line, size_t length, size_t at)
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

/* The number behind a word that begins there, if it is a step; -1. *digits: where it stands. */
static int64_t behind_word(const char *line, size_t length, size_t at, size_t word, size_t *digits)
{
    const bool inside = at > 0 && ((line[at - 1] | 0x20) >= 'a' && (line[at - 1] | 0x20) <= 'z');
    size_t from = at + word;
    while (from < length && from < at + word + 6 && strchr(" :=#'\"[(", line[from]))
        from++;
    size_t end = from;
    while (end < length && assay_is_digit(line[end]))
        end++;
    *digits = from;
    const bool part = end + 1 < length && line[end] == '.' && assay_is_digit(line[end + 1]); /* of a job of Slurm */
    const bool code =
        from >= at + word + 2 && memmem(line + at + word, from - at - word, "==", 2); /* "if step == 2:" */
    return !inside && from > at + word && end > from && !part && !code && !is_limit(line, at)
               ? joblog_number_at(line, length, from)
               : -1;
}

/* " 12%|#   | 123/1000 [" of tqdm */
static int64_t behind_bar(const char *line, size_t length, size_t *digits)
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
    *digits = at;
    const int64_t step = joblog_number_at(line, length, at);
    while (at < length && assay_is_digit(line[at]))
        at++;
    return at < length && line[at] == '/' ? step : -1;
}

/* Words that stand before a step; the first goes before others. */
static const struct {
    const char *text;
    size_t size;
} WORD[] = {{"global_step", 11}, {"step", 4}, {"iteration", 9}, {"iter", 4}};
enum { WORDS = sizeof WORD / sizeof *WORD };

/* May one of them begin with these two bytes? */
static bool may_begin(char first, char second)
{
    const char c = first | 0x20, next = second | 0x20;
    return (next == 't' && (c == 's' || c == 'i')) || (next == 'l' && c == 'g');
}

/* Where one of them may begin, at byte `at` of a line or behind it; the last byte where none does. *bar: a '|' lies before. */
static size_t next_word(const char *line, size_t length, size_t at, bool *bar)
{
#ifdef __SSE2__
    const __m128i small = _mm_set1_epi8(0x20);
    for (; at + 17 <= length; at += 16) {
        const __m128i part = _mm_loadu_si128((const __m128i *)(const void *)(line + at)), c = _mm_or_si128(part, small),
                      next = _mm_or_si128(_mm_loadu_si128((const __m128i *)(const void *)(line + at + 1)), small),
                      s_or_i =
                          _mm_or_si128(_mm_cmpeq_epi8(c, _mm_set1_epi8('s')), _mm_cmpeq_epi8(c, _mm_set1_epi8('i'))),
                      with_t = _mm_and_si128(s_or_i, _mm_cmpeq_epi8(next, _mm_set1_epi8('t'))),
                      with_l = _mm_and_si128(_mm_cmpeq_epi8(c, _mm_set1_epi8('g')),
                                             _mm_cmpeq_epi8(next, _mm_set1_epi8('l')));
        const unsigned begins = (unsigned)_mm_movemask_epi8(_mm_or_si128(with_t, with_l));
        *bar = *bar || _mm_movemask_epi8(_mm_cmpeq_epi8(part, _mm_set1_epi8('|'))) != 0;
        if (begins)
            return at + (size_t)__builtin_ctz(begins);
    }
#endif
    for (; at + 1 < length && !may_begin(line[at], line[at + 1]); at++)
        *bar = *bar || line[at] == '|';
    return at;
}

/* "[batch=12/100]:" of Composer, which counts so from the beginning on; behind "[epoch=2]" it counts anew. */
static int64_t of_batch(const char *line, size_t length, size_t *digits)
{
    static const char word[] = "[batch=";
    size_t at = 0;
    while (at < length && line[at] == ' ')
        at++;
    if (length - at < sizeof word || memcmp(line + at, word, sizeof word - 1) != 0)
        return -1;
    at += sizeof word - 1;
    *digits = at;
    while (at < length && assay_is_digit(line[at]))
        at++;
    return at < length && line[at] == '/' ? joblog_number_at(line, length, *digits) : -1;
}

int64_t joblog_step_at(const char *line, size_t length, size_t *digits)
{
    const int64_t batch = length > 0 && (line[0] == '[' || line[0] == ' ') ? of_batch(line, length, digits) : -1;
    if (batch >= 0)
        return batch;
    int64_t step[WORDS] = {-1, -1, -1, -1};
    size_t from[WORDS];
    bool bar = false;
    for (size_t at = next_word(line, length, 0, &bar); at + 1 < length; at = next_word(line, length, at + 1, &bar))
        for (size_t i = 0; i < WORDS; i++)
            if ((line[at] | 0x20) == WORD[i].text[0] && step[i] < 0 && at + WORD[i].size < length &&
                strncasecmp(line + at, WORD[i].text, WORD[i].size) == 0)
                step[i] = behind_word(line, length, at, WORD[i].size, &from[i]);
    for (size_t i = 0; i < WORDS; i++)
        if (step[i] >= 0) {
            *digits = from[i];
            return step[i];
        }
    return bar ? behind_bar(line, length, digits) : -1;
}

int64_t joblog_step_of(const char *line, size_t length)
{
    size_t digits;
    return joblog_step_at(line, length, &digits);
}
