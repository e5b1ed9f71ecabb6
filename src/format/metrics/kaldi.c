/* kaldi.c - see kaldi.h. Objectives are what is maximised: none of them is called a loss. */
#include "format/metrics/kaldi.h"

#include <stdio.h>
#include <string.h>

#include "format/metrics/printed.h"

/* Goes behind a text that stands at *at or later; false: it does not. */
static bool pass(const char **at, const char *end, const char *text)
{
    const char *found = memmem(*at, (size_t)(end - *at), text, strlen(text));
    if (found)
        *at = found + strlen(text);
    return found != NULL;
}

/* Goes to the first of the minibatches: "' for minibatches 0-9", "' using 10 minibatches in  minibatch range 0-9". */
static bool pass_range(const char **at, const char *end)
{
    return pass(at, end, "' for minibatches ") || (pass(at, end, "' using ") && pass(at, end, " minibatch range "));
}

bool metrics_kaldi_take(metrics_pairs *pairs, const char *line, size_t length)
{
    static const char of[] = "objective function of ";
    const char *at = line, *end = line + length;
    int64_t first = 0, last = 0;
    if (length < 4 || memcmp(line, "LOG ", 4) != 0 || !pass(&at, end, " Average objective function for '"))
        return false;
    const char *output = at, *close = memchr(at, '\'', (size_t)(end - at));
    if (!close || (size_t)(close - output) > METRICS_PAIR_NAME_MOST - sizeof of || !pass_range(&at, end) ||
        !metrics_take_digits(&at, end, &first) || at == end || *at++ != '-' || !metrics_take_digits(&at, end, &last) ||
        last < first || first < 0 || !pass(&at, end, " is "))
        return false;
    const char *value = at, *over = at;
    if (!pass(&over, end, " over "))
        return false;
    const char *stop = over - strlen(" over ");
    while (pass(&at, stop, " = "))
        value = at;
    metrics_pair step = {.name = "iteration", .length = 9, .value = (double)last, .of = -1, .set = true};
    metrics_pair figure = {.of = -1, .set = true};
    if (!metrics_number(value, (size_t)(stop - value), &figure.value))
        return false;
    metrics_pairs_clear(pairs);
    figure.name = pairs->texts;
    figure.length = (size_t)snprintf(pairs->texts, sizeof pairs->texts, "%s%.*s", of, (int)(close - output), output);
    pairs->used = figure.length;
    metrics_pairs_add(pairs, &step);
    metrics_pairs_add(pairs, &figure);
    return true;
}
