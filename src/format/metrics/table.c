/* table.c - see table.h. */
#include "format/metrics/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

void metrics_table_close(metrics_table *t)
{
    for (size_t i = 0; i < t->columns && t->column; i++)
        free(t->column[i]);
    free(t->column);
    free(t->length);
    assay_csv_close(&t->csv);
    *t = (metrics_table){0};
}

/* Is the row a remark above the header, as Gym's monitors write one: "#{"t_start": 1616.5, "env_id": "CartPole"}"? */
static bool is_remark(const assay_csv *csv)
{
    const char *text = csv->count > 0 && !csv->oversized ? assay_csv_text(csv, 0) : "";
    const size_t length = *text ? csv->cells[0].length : 0;
    size_t next = 1;
    while (next < length && text[next] == ' ')
        next++;
    return length > 1 && *text == '#' &&
           ((next < length && text[next] == '{') ||
            (csv->count == 1 && !memchr(text, ';', length) && !memchr(text, '\t', length)));
}

static int next_header(assay_csv *csv, assay_error *err)
{
    int status = assay_csv_next(csv, err);
    while (status == 1 && is_remark(csv))
        status = assay_csv_next(csv, err);
    return status;
}

/* Opens a file and reads its first row that is no remark. Where that is one cell, tables of other programs divide it by ; or tabs. */
static int open_rows(assay_store *store, const char *path, assay_csv *csv, assay_error *err)
{
    ASSAY_TRY(assay_csv_open(store, path, csv, err));
    int status = next_header(csv, err);
    const char *text = status == 1 && csv->count == 1 ? assay_csv_text(csv, 0) : "";
    const size_t length = *text ? csv->cells[0].length : 0;
    const uint8_t delimiter = memchr(text, ';', length) ? ';' : memchr(text, '\t', length) ? '\t' : ',';
    if (delimiter != ',' && !csv->oversized) {
        assay_csv_close(csv);
        *csv = (assay_csv){0};
        ASSAY_TRY(assay_csv_open(store, path, csv, err));
        csv->delimiter = delimiter;
        status = next_header(csv, err);
    }
    return status;
}

/* Numbers alone in a file that is called after a loss ("loss.csv"): one of them a row, or a step and one. How many names it
 * needs, 0: none, it has its own. */
static size_t names_needed(const assay_csv *csv, const char *path)
{
    const char *name = metrics_base(path);
    double number = 0;
    int64_t step = 0;
    if (csv->count > 2 || csv->oversized || !metrics_is_loss(name, metrics_stem(path) - (size_t)(name - path)))
        return 0;
    for (size_t i = csv->count; i-- > 0;) /* the first cell last: it may be a step */
        if (!metrics_number(assay_csv_text(csv, i), csv->cells[i].length, &number))
            return 0;
    return csv->count == 1 || (metrics_step_of(number, &step) && step >= 0) ? csv->count : 0;
}

/* Calls the columns so, and goes back to the first row. 1 or a status. */
static int name_columns(assay_store *store, metrics_table *t, size_t names, assay_error *err)
{
    const uint8_t delimiter = t->csv.delimiter;
    const char *name = metrics_base(t->path);
    assay_csv_close(&t->csv);
    t->csv = (assay_csv){0};
    ASSAY_TRY(assay_csv_open(store, t->path, &t->csv, err));
    t->csv.delimiter = delimiter;
    t->finished = true;
    for (size_t i = 0; i < names; i++) {
        free(t->column[i]);
        t->column[i] = i + 1 < names ? assay_copy_text("step")
                                     : assay_copy_bytes_as_text(name, metrics_stem(t->path) - (size_t)(name - t->path));
        if (!t->column[i])
            return ASSAY_ENOMEM;
        t->length[i] = strlen(t->column[i]);
    }
    return 1;
}

int metrics_table_open(assay_store *store, const char *path, metrics_table *out, assay_error *err)
{
    metrics_table t = {.path = path};
    int status = open_rows(store, path, &t.csv, err);
    if (status != 1 || t.csv.oversized) {
        metrics_table_close(&t);
        return status < 0 && status != ASSAY_EFORMAT ? status : 0;
    }
    t.finished = t.csv.finished;
    const size_t names = names_needed(&t.csv, path);
    t.column = assay_alloc_zeroed(t.csv.count, sizeof *t.column);
    t.length = assay_alloc_zeroed(t.csv.count, sizeof *t.length);
    t.columns = t.csv.count;
    for (size_t i = 0; i < t.columns && t.column && t.length; i++) {
        t.length[i] = t.csv.cells[i].length;
        t.column[i] = assay_copy_bytes_as_text(assay_csv_text(&t.csv, i), t.length[i]);
        if (!t.column[i])
            status = ASSAY_ENOMEM;
    }
    if (status == 1 && names > 0 && t.column && t.length)
        status = name_columns(store, &t, names, err);
    if (status == ASSAY_EIO || status == ASSAY_ENOTFOUND) {
        metrics_table_close(&t);
        return status;
    }
    if (status != 1 || !t.column || !t.length) {
        metrics_table_close(&t);
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory for its header", path);
    }
    *out = t;
    return 1;
}

size_t metrics_table_find(const metrics_table *t, const char *name)
{
    for (size_t i = 0; i < t->columns; i++)
        if (strcmp(t->column[i], name) == 0)
            return i;
    return SIZE_MAX;
}

int metrics_table_next(metrics_table *t, size_t step_column, metrics_log *log, int64_t *step, assay_error *err)
{
    for (;;) {
        double number = 0;
        assay_error why = {{0}};
        const int status = assay_csv_next(&t->csv, &why);
        if (status == ASSAY_EFORMAT) { /* packed, and damaged here */
            if (log)
                assay_problems_add(log->problems, ASSAY_PROBLEM_RECORD, -1, t->path, -1, "%s: %s", t->path, why.text);
            return 0;
        }
        if (status != 1)
            return status < 0 ? assay_fail(err, status, "%s", why.text) : status;
        if (log)
            metrics_name_hole(log, t->path, 0, (const char *)t->csv.text.data, t->csv.text.size);
        if (!t->csv.finished) { /* the last line, which is not written to its end */
            if (log)
                metrics_add(log, METRICS_GROWING);
            return 0;
        }
        const bool counted = step_column == SIZE_MAX;
        const bool whole = t->csv.count == t->columns && !t->csv.oversized &&
                           (counted || (metrics_number(assay_csv_text(&t->csv, step_column),
                                                       t->csv.cells[step_column].length, &number) &&
                                        metrics_step_of(number, step)));
        if (counted)
            *step = t->counted++;
        if (whole && *step >= 0) {
            if (log) {
                log->at = (metrics_spot){.path = t->path, .line = t->csv.line};
                metrics_add(log, METRICS_ROWS);
            }
            if (log && counted)
                metrics_add(log, METRICS_STEPS_BY_ORDER);
            return 1;
        }
        if (log)
            metrics_add(log, whole ? METRICS_BAD_STEPS : METRICS_BAD_ROWS);
    }
}

/* "0,5", as tables have it whose cells a comma does not divide. */
static bool number_with_comma(const char *text, size_t length, double *value)
{
    char plain[64];
    const char *comma = memchr(text, ',', length);
    if (!comma || length > sizeof plain || memchr(text, '.', length))
        return false;
    memcpy(plain, text, length);
    plain[comma - text] = '.';
    return metrics_number(plain, length, value);
}

bool metrics_table_number(const metrics_table *t, size_t column, metrics_log *log, double *value)
{
    const size_t length = t->csv.cells[column].length;
    if (length == 0)
        return false;
    if (metrics_number(assay_csv_text(&t->csv, column), length, value) ||
        (t->csv.delimiter != ',' && number_with_comma(assay_csv_text(&t->csv, column), length, value)))
        return true;
    const bool zeros = memchr(assay_csv_text(&t->csv, column), '\0', length) != NULL; /* as a disk leaves them */
    metrics_add(log, zeros ? METRICS_BAD_ROWS : METRICS_TEXTS);
    return false;
}
