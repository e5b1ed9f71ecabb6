/* monitor.c - msprobe's monitor: CSV files of figures a module, a row a step, in a directory a rank. */
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "format/metrics/printed.h"
#include "format/metrics/table.h"

static bool named(const char *name)
{
    return assay_path_ends(name, ".csv");
}

static int proven(assay_store *store, const metrics_file *file, assay_error *err)
{
    metrics_table t = {0};
    int status = metrics_table_open(store, file->path, &t, err);
    if (status != 1)
        return status;
    const bool is = strcmp(t.column[0], "vpp_stage") == 0 && metrics_table_find(&t, "step") != SIZE_MAX;
    metrics_table_close(&t);
    return is;
}

static int divide(metrics_place *p, assay_error *err)
{
    (void)err;
    return metrics_divide_whole(p, METRICS_MONITOR);
}

/* The last number behind a word in the directories of its path: "rank_3", "Dec03_21-34-40-rank3-ab12"; -1: there is none. */
static int64_t rank_in(const metrics_file *file)
{
    const char *path = file->path;
    const size_t length = metrics_directory(path);
    long long rank = -1;
    for (size_t i = 0; i + 4 < length; i++) {
        const size_t at = i + 4 + (path[i + 4] == '_');
        if (memcmp(path + i, "rank", 4) == 0 && at < length && assay_is_digit(path[at]))
            sscanf(path + at, "%9lld", &rank);
    }
    return rank;
}

/* The part of the file's name before its steps: `_step<a>-<b>.csv`, `_<a>-<b>.csv`. */
static size_t what_of(const char *name)
{
    size_t i = strlen(name) - strlen(".csv");
    const size_t whole = i;
    while (i > 0 && assay_is_digit(name[i - 1]))
        i--;
    if (i == 0 || i == whole || name[i - 1] != '-')
        return whole;
    const size_t dash = --i;
    while (i > 0 && assay_is_digit(name[i - 1]))
        i--;
    if (i == dash)
        return whole;
    i -= i >= 4 && memcmp(name + i - 4, "step", 4) == 0 ? 4 : 0;
    return i > 0 && name[i - 1] == '_' ? i - 1 : whole;
}

typedef struct columns {
    size_t step, module, name, scope, micro;
} columns;

/* Puts together what stands before the figure in a tag; its length, 0: too long. */
static size_t row_tag(const metrics_table *t, const columns *c, const char *what, size_t what_length, char *out,
                      size_t room)
{
    double vpp = 0, micro = 0;
    const char *scope = c->scope == SIZE_MAX ? "" : assay_csv_text(&t->csv, c->scope);
    const size_t scope_length = c->scope == SIZE_MAX ? 0 : t->csv.cells[c->scope].length;
    const size_t name = c->module == SIZE_MAX ? c->name : c->module;
    int length = snprintf(out, room, "%.*s/", (int)what_length, what);
    if (metrics_number(assay_csv_text(&t->csv, 0), t->csv.cells[0].length, &vpp) && vpp != 0 && vpp != -1)
        length += snprintf(out + length, room - (size_t)length, "vpp%.0f/", vpp);
    if ((size_t)length + t->csv.cells[name].length + scope_length + 64 > room)
        return 0;
    length += snprintf(out + length, room - (size_t)length, "%.*s/", (int)t->csv.cells[name].length,
                       assay_csv_text(&t->csv, name));
    if (c->scope != SIZE_MAX)
        length += snprintf(out + length, room - (size_t)length, "%.*s/", (int)scope_length, scope);
    const bool reduced = scope_length == 7 && memcmp(scope, "reduced", 7) == 0;
    if (c->micro != SIZE_MAX && !reduced &&
        metrics_number(assay_csv_text(&t->csv, c->micro), t->csv.cells[c->micro].length, &micro))
        length += snprintf(out + length, room - (size_t)length, "micro%.0f/", micro);
    return (size_t)length;
}

static bool is_figure(const metrics_table *t, const columns *c, size_t i)
{
    return i != 0 && i != c->step && i != c->module && i != c->name && i != c->scope && i != c->micro &&
           strcmp(t->column[i], "dtype") != 0 && strcmp(t->column[i], "shape") != 0;
}

static int read_rows(metrics_log *log, metrics_table *t, const columns *c, const char *what, assay_error *err)
{
    char tag[4096];
    int64_t step = 0;
    int status = ASSAY_OK;
    const size_t what_length = what_of(what);
    while (status == ASSAY_OK && (status = metrics_table_next(t, c->step, log, &step, err)) == 1) {
        const size_t length = row_tag(t, c, what, what_length, tag, sizeof tag);
        status = ASSAY_OK;
        for (size_t i = 0; i < t->columns && status == ASSAY_OK; i++) {
            double value = 0;
            if (!is_figure(t, c, i) || !metrics_table_number(t, i, log, &value))
                continue;
            const bool fits = length > 0 && length + t->length[i] <= sizeof tag;
            if (fits)
                memcpy(tag + length, t->column[i], t->length[i]);
            status = metrics_put(log, tag, fits ? length + t->length[i] : METRICS_TAG_MOST + 1, ASSAY_MODE_TRAIN, step,
                                 value);
        }
    }
    return status;
}

static int read(metrics_log *log, const metrics_place *place, const metrics_run *run, assay_error *err)
{
    const bool ranked = metrics_is_ranked(run, rank_in);
    (void)place;
    int status = ASSAY_OK;
    for (size_t i = 0; i < run->count && status == ASSAY_OK; i++) {
        char worker[32];
        metrics_table t = {0};
        const int64_t rank = rank_in(run->files[i]);
        if (ranked && rank < 0) {
            metrics_name_unranked(log, run->files[i]->path, "rank in its path");
            continue;
        }
        snprintf(worker, sizeof worker, "worker_%lld", (long long)(rank < 0 ? 0 : rank));
        status = metrics_set_worker(log, worker);
        if (status == ASSAY_OK && (status = metrics_table_open(log->store, run->files[i]->path, &t, err)) != 1)
            continue;
        if (status != 1)
            return status;
        const columns c = {metrics_table_find(&t, "step"), metrics_table_find(&t, "module_name"),
                           metrics_table_find(&t, "name"), metrics_table_find(&t, "scope"),
                           metrics_table_find(&t, "micro_step")};
        if (!t.finished)
            metrics_add(log, METRICS_GROWING);
        status = ASSAY_OK;
        if (c.step == SIZE_MAX || (c.module == SIZE_MAX && c.name == SIZE_MAX))
            assay_problems_add(log->problems, ASSAY_PROBLEM_HEADER, -1, run->files[i]->path, 0,
                               "%s: its header lacks step, or module_name and name; what it had is missing from this "
                               "analysis",
                               run->files[i]->path);
        else
            status = read_rows(log, &t, &c, metrics_base(run->files[i]->path), err);
        metrics_table_close(&t);
    }
    return status;
}

const metrics_kind metrics_monitor = {
    .name = "monitor", .named = named, .proven = proven, .divide = divide, .read = read, .workers_known = true};
