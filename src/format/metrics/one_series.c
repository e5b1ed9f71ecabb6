/* one_series.c - see one_series.h. */
#include "format/metrics/one_series.h"

#include <stdio.h>
#include <string.h>

static bool is_called(const metrics_table *t, size_t column, const char *name)
{
    return metrics_is_among(&name, 1, t->column[column], t->length[column]);
}

bool metrics_is_of_times(const metrics_table *t, size_t column)
{
    return is_called(t, column, "timestamp") || is_called(t, column, "wall time") || is_called(t, column, "wall_time");
}

/* Where the metrics of DVCLive begin in a path: behind "plots/metrics/", or "scalars/" as it was before; 0: nowhere. *base gets
 * the length of the directory around that. */
static size_t find_metrics(const char *path, size_t *base)
{
    static const char *const folders[] = {"plots/metrics/", "scalars/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        for (const char *at = strstr(path, folders[i]); at; at = strstr(at + 1, folders[i]))
            if (at == path || at[-1] == '/') {
                *base = at == path ? 0 : (size_t)(at - path) - 1;
                return (size_t)(at - path) + strlen(folders[i]);
            }
    return 0;
}

const char *metrics_export_tag(const char *path, size_t *length)
{
    const char *at = strstr(metrics_base(path), METRICS_EXPORT_TAG);
    const size_t stem = metrics_stem(path), from = at ? (size_t)(at - path) + sizeof METRICS_EXPORT_TAG - 1 : stem;
    *length = from < stem ? stem - from : 0;
    return *length > 0 ? path + from : NULL;
}

/* TensorBoard's pages call them "run-<run>-tag-<tag>.csv". */
static void take_export(const char *path, size_t directory, size_t stem, metrics_one_series *out)
{
    static const char run[] = "run-";
    const char *name = metrics_base(path), *tag = metrics_export_tag(path, &out->tag_length);
    const char *at = tag ? tag - (sizeof METRICS_EXPORT_TAG - 1) : NULL;
    out->tag = tag ? tag : name;
    out->of_run = tag != NULL;
    if (!tag) {
        out->tag_length = stem - (size_t)(name - path);
        return;
    }
    if (strncmp(name, run, sizeof run - 2) == 0) /* older ones have "run_" */
        name += sizeof run - 1;
    const bool whole = at - name == 1 && *name == '.';
    if (whole)
        snprintf(out->run, sizeof out->run, "%.*s", (int)directory, path);
    else
        snprintf(out->run, sizeof out->run, "%.*s%s%.*s", (int)directory, path, directory ? "/" : "", (int)(at - name),
                 name);
}

bool metrics_is_one_series(const metrics_table *t, size_t steps, metrics_one_series *out)
{
    const size_t directory = metrics_directory(t->path), stem = metrics_stem(t->path);
    const char *name = metrics_base(t->path);
    size_t values = 0;
    bool times = false;
    *out = (metrics_one_series){0};
    for (size_t i = 0; i < t->columns; i++) {
        const bool of_times = i != steps && metrics_is_of_times(t, i);
        times = times || of_times;
        if (i == steps || of_times)
            continue;
        out->column = i;
        values++;
    }
    if (steps == SIZE_MAX || values != 1)
        return false;
    snprintf(out->base, sizeof out->base, "%.*s", (int)directory, t->path);
    if (times && is_called(t, out->column, "value")) {
        take_export(t->path, directory, stem, out);
        return true;
    }
    const size_t length = stem - (size_t)(name - t->path);
    if (t->length[out->column] != length || memcmp(t->column[out->column], name, length) != 0)
        return false;
    size_t base = directory;
    const size_t from = find_metrics(t->path, &base);
    out->tag = from ? t->path + from : name;
    out->tag_length = stem - (size_t)(out->tag - t->path);
    out->of_run = true;
    snprintf(out->base, sizeof out->base, "%.*s", (int)base, t->path);
    snprintf(out->run, sizeof out->run, "%.*s", (int)base, t->path);
    return true;
}
