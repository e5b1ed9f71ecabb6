/* printed.c - see printed.h. */
#include "format/metrics/printed.h"

#include <stdio.h>
#include <string.h>

#include "base/path.h"

/* The name that the file had before gzip. */
static void unpacked_name(const char *name, char room[ASSAY_PATH_ROOM])
{
    snprintf(room, ASSAY_PATH_ROOM, "%.*s", (int)(strlen(name) - (assay_path_ends(name, ".gz") ? 3 : 0)), name);
}

bool metrics_is_printed_name(const char *packed)
{
    char name[ASSAY_PATH_ROOM];
    unpacked_name(packed, name);
    return assay_path_ends(name, ".log") || assay_path_ends(name, ".out") || assay_path_ends(name, ".txt") ||
           assay_path_ends(name, ".err");
}

bool metrics_is_row_name(const char *packed)
{
    char name[ASSAY_PATH_ROOM];
    unpacked_name(packed, name);
    return assay_path_ends(name, ".jsonl") || assay_path_ends(name, ".log.json") || strcmp(name, "metrics.json") == 0 ||
           strcmp(name, "scalars.json") == 0 || strcmp(name, "result.json") == 0;
}

int metrics_has_line(assay_store *store, const char *path, metrics_line_test *test, assay_error *err)
{
    assay_lines *lines = NULL;
    const char *line = NULL;
    size_t length = 0;
    int status = assay_lines_open(store, path, &lines, err);
    if (status != ASSAY_OK)
        return status;
    bool found = false;
    while (!found && (status = assay_lines_next(lines, &line, &length, err)) == 1)
        found = line && test(line, length);
    assay_lines_close(lines);
    return found ? 1 : status == ASSAY_EFORMAT ? 0 : status;
}

int metrics_divide_whole(metrics_place *p, int kind)
{
    for (size_t i = 0; i < p->count; i++) {
        if (p->files[i].kind != kind)
            continue;
        metrics_run *run = metrics_place_run_of(p, ".", ".", NULL);
        if (!run || metrics_run_add_file(run, &p->files[i]) != ASSAY_OK)
            return ASSAY_ENOMEM;
    }
    return ASSAY_OK;
}

bool metrics_is_ranked(const metrics_run *run, metrics_rank_of *rank_of)
{
    bool ranked = false;
    for (size_t i = 0; i < run->count && !ranked; i++)
        ranked = rank_of(run->files[i]) >= 0;
    return ranked;
}

void metrics_name_unranked(metrics_log *log, const char *path, const char *lacks)
{
    assay_problems_add(log->problems, ASSAY_PROBLEM_NAME, -1, path, -1,
                       "%s: not looked at; it has no %s, as the other logs have", path, lacks);
}

int metrics_read_lines(metrics_log *log, const char *path, metrics_line_take *take, void *context, assay_error *err)
{
    assay_lines *lines = NULL;
    const char *line = NULL;
    size_t length = 0;
    assay_error why = {{0}};
    int status = assay_lines_open(log->store, path, &lines, err), more = 0;
    while (status == ASSAY_OK && (more = assay_lines_next(lines, &line, &length, &why)) == 1) {
        log->at = (metrics_spot){.path = path, .line = assay_lines_number(lines)};
        if (line)
            metrics_name_hole(log, path, log->at.line, line, length);
        if (!assay_lines_is_ended(lines)) {
            metrics_add(log, METRICS_GROWING);
            /* what a bar of progress wrote over itself is whole, before its line ends */
            const char *over = line ? memrchr(line, '\r', length) : NULL;
            if (!over)
                continue;
            length = (size_t)(over - line);
        }
        metrics_add(log, METRICS_LINES);
        const int taken = line ? take(context, line, length) : 1;
        if (taken == 1)
            metrics_unknown(log, line ? line : "", line ? length : 0);
        status = taken == 1 ? ASSAY_OK : taken;
    }
    if (status == ASSAY_OK && more == ASSAY_EFORMAT)
        assay_problems_add(log->problems, ASSAY_PROBLEM_RECORD, -1, path, -1, "%s", why.text);
    else if (status == ASSAY_OK && more < 0)
        status = assay_fail(err, more, "%s", why.text);
    assay_lines_close(lines);
    return status;
}

bool metrics_take_digits(const char **at, const char *end, int64_t *step)
{
    const char *p = *at;
    int64_t value = 0;
    while (p < end && *p == ' ')
        p++;
    const char *first = p;
    for (; p < end && assay_is_digit(*p); p++)
        value = value < 0 || value >= METRICS_STEP_END ? -1 : 10 * value + (*p - '0');
    *step = value < 0 || value >= METRICS_STEP_END ? -1 : value;
    *at = p;
    return p > first;
}

void metrics_trim(const char **text, size_t *length)
{
    while (*length > 0 && (**text == ' ' || **text == '\t')) {
        (*text)++;
        (*length)--;
    }
    while (*length > 0 && ((*text)[*length - 1] == ' ' || (*text)[*length - 1] == '\t' || (*text)[*length - 1] == '\r'))
        (*length)--;
}

void metrics_strip_colours(assay_buf *plain, const char **line, size_t *length)
{
    const char *end = *line + *length;
    if (!memchr(*line, '\x1b', *length))
        return;
    assay_buf_clear(plain);
    for (const char *p = *line; p < end; p++) {
        if (*p != '\x1b' || p + 1 >= end || p[1] != '[') {
            assay_put_u8(plain, (uint8_t)*p);
            continue;
        }
        for (p += 2; p < end && !(*p >= '@' && *p <= '~'); p++)
            ;
    }
    *line = plain->size ? (const char *)plain->data : "";
    *length = plain->size;
}
