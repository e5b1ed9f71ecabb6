/* columns.c - see columns.h.
 *
 * How it works. Cells lie between tabs; in a line without one between commas; else between blanks: of names two or more,
 * as names have blanks, too. A table between tabs or commas that has a loss may lack a step. A cell that is no number ("3.21G", "00:12") has no value. A bar of progress may stand behind
 * the last column, which a colon closes then, as Ultralytics prints it. */
#include "format/metrics/columns.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static const char LOSS[] = "_loss";

typedef struct cell {
    const char *text;
    size_t length;
} cell;

/* The next cell from *at on; false at the end. `least` blanks are between two. */
static bool next_cell(const char **at, const char *end, char between, size_t least, cell *out)
{
    const char *p = *at;
    while (p < end && *p == ' ')
        p++;
    if (p == end)
        return false;
    const char *from = p, *stop = p;
    for (size_t blanks = 0; p < end && (between == ' ' || *p != between); p++) {
        blanks = *p == ' ' ? blanks + 1 : 0;
        if (between == ' ' && blanks >= least)
            break;
        stop = *p == ' ' ? stop : p + 1;
    }
    *out = (cell){from, (size_t)(stop - from)};
    *at = p < end && between != ' ' ? p + 1 : p;
    return true;
}

/* Divides a line; how many cells it has, METRICS_COLUMNS_MOST + 1: more than there is room for. */
static size_t divide(const char *line, size_t length, char between, size_t least, cell *cells)
{
    const char *at = line, *end = line + length;
    size_t count = 0;
    while (count <= METRICS_COLUMNS_MOST && next_cell(&at, end, between, least, &cells[count]))
        count++;
    return count;
}

static bool is_name(const cell *c)
{
    bool letters = false;
    for (size_t i = 0; i < c->length; i++) {
        if (strchr(":={}[]|\"'", c->text[i]))
            return false;
        letters = letters || isalpha((unsigned char)c->text[i]);
    }
    return letters && !isdigit((unsigned char)*c->text) && c->length <= METRICS_PAIR_NAME_MOST;
}

/* "train loss", and nothing that a sentence between commas has: a number, or many words. */
static bool is_short_name(const cell *c)
{
    enum { WORDS_MOST = 4 };
    size_t words = 1;
    for (size_t i = 1; i < c->length; i++) {
        const bool begins = c->text[i - 1] == ' ' && c->text[i] != ' ';
        if (begins && isdigit((unsigned char)c->text[i]))
            return false;
        words += begins;
    }
    return words <= WORDS_MOST;
}

/* Ultralytics' tables call losses by what they are of, beside the memory of the GPU: "box", "obj", "cls". */
static bool is_short_loss(const cell *cells, size_t count, const cell *c)
{
    static const char *const losses[] = {"box", "obj", "cls", "dfl", "seg", "pose", "kobj", "total"},
                             *const memories[] = {"gpu_mem"};
    bool memory = false;
    for (size_t i = 0; i < count && i <= METRICS_COLUMNS_MOST; i++)
        memory = memory || metrics_is_among(memories, 1, cells[i].text, cells[i].length);
    return memory && metrics_is_among(losses, sizeof losses / sizeof *losses, c->text, c->length);
}

bool metrics_columns_open(metrics_columns *columns, const char *line, size_t length, metrics_column_test *is_step,
                          metrics_column_test *is_figure)
{
    cell cells[METRICS_COLUMNS_MOST + 1];
    const char between = memchr(line, '\t', length) ? '\t' : memchr(line, ',', length) ? ',' : ' ';
    size_t count = divide(line, length, between, 2, cells), used = 0;
    size_t step = SIZE_MAX;
    bool figure = false, loss = false, names = true;
    if (between == ' ' && count < 2)
        count = divide(line, length, between, 1, cells);
    for (size_t i = 0; i < count && count <= METRICS_COLUMNS_MOST; i++) {
        if (cells[i].length == 1 && *cells[i].text == '#') /* as spaCy calls its steps */
            cells[i] = (cell){"step", 4};
        const metrics_pair pair = {.name = cells[i].text, .length = cells[i].length, .value = 1, .of = -1, .set = true};
        if (!is_name(&cells[i]))
            return false;
        step = step == SIZE_MAX && is_step(&pair) ? i : step;
        figure = figure || is_figure(&pair) || is_short_loss(cells, count, &cells[i]);
        names = names && is_short_name(&cells[i]);
        loss = loss || metrics_is_loss(cells[i].text, cells[i].length);
        used += cells[i].length + sizeof LOSS - 1;
    }
    if ((step == SIZE_MAX && (!loss || !names || between == ' ')) || !figure || count < 2 ||
        count > METRICS_COLUMNS_MOST || used > sizeof columns->text)
        return false;
    columns->count = count;
    columns->between = between;
    columns->step = step;
    columns->last = columns->distance = -1;
    for (size_t i = 0, at = 0; i < count; at += columns->name[i++].length) {
        const size_t more = is_short_loss(cells, count, &cells[i]) ? sizeof LOSS - 1 : 0;
        memcpy(columns->text + at, cells[i].text, cells[i].length);
        memcpy(columns->text + at + cells[i].length, LOSS, more);
        columns->name[i].at = at;
        columns->name[i].length = cells[i].length + more;
    }
    return true;
}

/* Is it the step of a next row? It may be that of the last one, as bars of progress are drawn again. */
static bool goes_on(metrics_columns *columns, double step)
{
    enum { FAR = 10 };
    const double distance = step - columns->last;
    if (step < 0 || (columns->last >= 0 && distance < 0) ||
        (columns->distance > 0 && distance > FAR * columns->distance))
        return false;
    if (columns->last >= 0)
        columns->distance = fmax(columns->distance, distance);
    columns->last = step;
    return true;
}

bool metrics_columns_take(metrics_columns *columns, metrics_pairs *pairs, const char *line, size_t length)
{
    cell cells[METRICS_COLUMNS_MOST + 1];
    size_t numbers = 0;
    double step = -1;
    if (columns->count == 0)
        return false;
    const size_t count = divide(line, length, columns->between, 1, cells);
    if (count < columns->count)
        return false;
    cell *last = &cells[columns->count - 1];
    if (count > columns->count && !(columns->between == ' ' && last->text[last->length - 1] == ':'))
        return false;
    last->length -= last->length > 0 && last->text[last->length - 1] == ':';
    metrics_pairs_clear(pairs);
    for (size_t i = 0; i < columns->count; i++) {
        metrics_pair pair = {
            .name = columns->text + columns->name[i].at, .length = columns->name[i].length, .of = -1, .set = true};
        if (!metrics_pair_number(cells[i].text, cells[i].length, &pair.value, &pair.of))
            continue;
        metrics_pairs_add(pairs, &pair);
        numbers++;
        step = i == columns->step ? pair.value : step;
    }
    if (columns->step == SIZE_MAX) /* nothing but figures: a line of a table, and no other one */
        return numbers == count;
    if (step < 0 || numbers < 2 || 2 * numbers < columns->count)
        return false;
    if (goes_on(columns, step))
        return true;
    columns->count = 0;
    return false;
}
