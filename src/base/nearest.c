/* nearest.c - see nearest.h. The distance is the optimal string alignment distance: Levenshtein's with swaps of
 * neighbours. */
#include "base/nearest.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static char folded(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return (char)(c == '-' ? '_' : c);
}

static uint8_t least(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

/* Of texts of at most ASSAY_NEAREST_MOST bytes. Three rows suffice: a swap of neighbours looks two rows back. */
static size_t distance_of(const char *a, size_t a_size, const char *b, size_t b_size)
{
    /* uint8_t holds every distance: texts have at most ASSAY_NEAREST_MOST bytes. */
    uint8_t rows[3][ASSAY_NEAREST_MOST + 1];
    uint8_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t k = 0; k <= b_size; k++)
        last[k] = (uint8_t)k;
    for (size_t i = 0; i < a_size; i++) {
        row[0] = (uint8_t)(i + 1);
        for (size_t k = 0; k < b_size; k++) {
            bool same = folded(a[i]) == folded(b[k]);
            row[k + 1] = least((uint8_t)(last[k] + !same), (uint8_t)(1 + least(last[k + 1], row[k])));
            if (i > 0 && k > 0 && folded(a[i]) == folded(b[k - 1]) && folded(a[i - 1]) == folded(b[k]))
                row[k + 1] = least(row[k + 1], (uint8_t)(before[k - 1] + 1));
        }
        uint8_t *unused = before;
        before = last;
        last = row;
        row = unused;
    }
    return last[b_size];
}

static bool is_short_for(const assay_nearest *nearest, const char *name)
{
    /* Two letters at least have to be given: one letter begins too many names. */
    enum { LEAST = 2 };
    size_t i = 0;
    while (i < nearest->length && folded(nearest->word[i]) == folded(name[i]))
        i++;
    return i >= LEAST && i == nearest->length;
}

void assay_nearest_begin(assay_nearest *nearest, const char *word, size_t length)
{
    *nearest = (assay_nearest){.word = word, .length = length};
}

void assay_nearest_offer(assay_nearest *nearest, const char *name)
{
    /* A third of the letters may be wrong; beyond that a hint would guess. */
    size_t length = strlen(name), most = (nearest->length + 2) / 3;
    if (nearest->length > ASSAY_NEAREST_MOST || length > ASSAY_NEAREST_MOST || length == 0)
        return;
    const bool is_short = is_short_for(nearest, name);
    /* An abbreviation is as near as one wrong letter: people leave the end out. */
    const size_t distance = distance_of(nearest->word, nearest->length, name, length), rank = is_short ? 1 : distance;
    if (rank > most || rank >= length || (nearest->best && rank >= nearest->rank))
        return;
    nearest->best = name;
    nearest->distance = distance;
    nearest->rank = rank;
}

const char *assay_nearest_hint(const assay_nearest *nearest, char room[ASSAY_NEAREST_ROOM])
{
    room[0] = '\0';
    if (nearest->best)
        snprintf(room, ASSAY_NEAREST_ROOM, " (did you mean \"%s\"?)", nearest->best);
    return room;
}
