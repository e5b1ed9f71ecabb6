/* tb_runs.c - which event files are one run: those of a directory, and directories that belong to another one.
 *
 * A directory named after a mode belongs to its parent (Keras, Estimator); one that the same process wrote, or that is
 * called after a time, to its nearest ancestor that has event files (add_scalars, add_hparams). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <assay/timeline.h> /* assay_natural_order() */

#include "base/fault.h"
#include "base/path.h"
#include "format/metrics/tb.h"

enum { TIME_DIGITS = 9 };

/* Does a part of a path name a worker: rank_3, worker-3, gpu3? */
static bool worker_number(const char *part, size_t length, unsigned long *number)
{
    static const char *const words[] = {"rank", "worker", "process", "proc", "gpu", "device"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t at = strlen(words[i]);
        if (length <= at || strncasecmp(part, words[i], at) != 0)
            continue;
        at += part[at] == '_' || part[at] == '-';
        if (at == length || length - at > 9)
            continue;
        *number = 0;
        while (at < length && assay_is_digit(part[at]))
            *number = 10 * *number + (unsigned long)(part[at++] - '0');
        if (at == length)
            return true;
    }
    return false;
}

bool metrics_tb_split(const char *path, metrics_tb_place *out)
{
    const size_t directory = metrics_directory(path);
    size_t used = 0;
    unsigned long number = 0;
    if (directory >= sizeof out->directory)
        return false;
    for (size_t at = 0; at < directory;) {
        size_t end = at;
        while (end < directory && path[end] != '/')
            end++;
        unsigned long own = 0;
        if (worker_number(path + at, end - at, &own)) {
            number = own;
        } else {
            if (used > 0)
                out->directory[used++] = '/';
            memcpy(out->directory + used, path + at, end - at);
            used += end - at;
        }
        at = end + 1;
    }
    out->directory[used] = '\0';
    snprintf(out->worker, sizeof out->worker, "worker_%lu", number);
    return true;
}

typedef struct directories {
    assay_dict *names;     /* directories that have event files */
    assay_dict *processes; /* "<directory>\n<host>.<pid>" */
    assay_dict *children;  /* "<parent>\n" and "t" or "e": has such a directory with event files */
} directories;

static bool is_mode_word(const char *name, size_t length)
{
    return metrics_is_eval_word(name, length) || metrics_is_predict_word(name, length);
}

static bool is_time(const char *name, size_t length)
{
    size_t digits = 0, at = 0;
    while (at < length && assay_is_digit(name[at]))
        at++;
    digits = at;
    if (at < length && name[at] == '.') {
        at++;
        while (at < length && assay_is_digit(name[at]))
            at++;
    }
    return digits >= TIME_DIGITS && at == length;
}

/* `<host>.<pid>` in `...tfevents.<time>.<host>.<pid>.<n>[.<more>]`; its length, 0: the name has none. */
static size_t process_of(const char *name, const char **out)
{
    const char *p = strstr(name, "tfevents.");
    if (!p || !(p = strchr(p + strlen("tfevents."), '.')))
        return 0;
    const char *from = ++p, *end = from + strlen(from), *last = NULL, *before = NULL;
    /* The last two parts of digits alone, one behind the other, are pid and n. */
    for (const char *q = from; q < end;) {
        const char *dot = q + strcspn(q, ".");
        bool digits = dot > q;
        for (const char *d = q; d < dot; d++)
            digits = digits && assay_is_digit(*d);
        if (digits) {
            if (last && last + strcspn(last, ".") + 1 == q)
                before = last;
            last = q;
        }
        q = dot + (*dot == '.');
    }
    if (!before || before == from)
        return 0;
    *out = from;
    return (size_t)(before + strcspn(before, ".") - from);
}

static bool has(const assay_dict *dict, const char *a, size_t a_length, const char *b, size_t b_length)
{
    char key[2 * ASSAY_PATH_ROOM];
    if (a_length + b_length + 1 > sizeof key)
        return false;
    memcpy(key, a, a_length);
    key[a_length] = '\n';
    memcpy(key + a_length + 1, b, b_length);
    return assay_dict_find(dict, key, a_length + 1 + b_length) != ASSAY_NO_ID;
}

static int note(assay_dict *dict, const char *a, size_t a_length, const char *b, size_t b_length)
{
    char key[2 * ASSAY_PATH_ROOM];
    if (a_length + b_length + 1 > sizeof key)
        return ASSAY_OK;
    memcpy(key, a, a_length);
    key[a_length] = '\n';
    memcpy(key + a_length + 1, b, b_length);
    return assay_dict_add(dict, key, a_length + 1 + b_length) == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
}

static int gather(const metrics_place *p, directories *d)
{
    for (size_t i = 0; i < p->count; i++) {
        metrics_tb_place at;
        const char *process = NULL;
        if (p->files[i].kind != METRICS_TB || !metrics_tb_split(p->files[i].path, &at))
            continue;
        const size_t length = strlen(at.directory), parent = metrics_directory(at.directory);
        const char *own = metrics_base(at.directory);
        const size_t pid = process_of(metrics_base(p->files[i].path), &process);
        int status = assay_dict_add(d->names, at.directory, length) == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
        if (status == ASSAY_OK && pid > 0)
            status = note(d->processes, at.directory, length, process, pid);
        if (status == ASSAY_OK && length > 0 && metrics_is_train_word(own, strlen(own)))
            status = note(d->children, at.directory, parent, "t", 1);
        if (status == ASSAY_OK && length > 0 && is_mode_word(own, strlen(own)))
            status = note(d->children, at.directory, parent, "e", 1);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

/* Does the directory share a process with an ancestor? The index has its processes as "<directory>\n<process>". */
static bool shares_process(const metrics_place *p, const directories *d, const char *directory, size_t length,
                           size_t ancestor, size_t file)
{
    for (; file < p->count; file++) { /* its files lie one behind the other */
        metrics_tb_place at;
        const char *process = NULL;
        if (!metrics_tb_split(p->files[file].path, &at) || strlen(at.directory) != length ||
            memcmp(at.directory, directory, length) != 0)
            break;
        const size_t pid =
            p->files[file].kind == METRICS_TB ? process_of(metrics_base(p->files[file].path), &process) : 0;
        if (pid > 0 && has(d->processes, directory, ancestor, process, pid))
            return true;
    }
    return false;
}

/* The directory that one belongs to; `length` of it, SIZE_MAX: it is a run itself. */
static size_t owner_of(const metrics_place *p, const directories *d, const char *directory, size_t length, size_t file)
{
    if (length == 0)
        return SIZE_MAX;
    size_t own = length;
    while (own > 0 && directory[own - 1] != '/')
        own--;
    const size_t parent = own > 0 ? own - 1 : 0, name = length - own;
    const bool train = metrics_is_train_word(directory + own, name), mode = is_mode_word(directory + own, name);
    if ((train || mode) &&
        (assay_dict_find(d->names, directory, parent) != ASSAY_NO_ID ||
         (has(d->children, directory, parent, "t", 1) && has(d->children, directory, parent, "e", 1))))
        return parent;
    size_t ancestor = parent;
    while (assay_dict_find(d->names, directory, ancestor) == ASSAY_NO_ID) {
        if (ancestor == 0)
            return SIZE_MAX;
        while (ancestor > 0 && directory[ancestor - 1] != '/')
            ancestor--;
        ancestor -= ancestor > 0;
    }
    if (is_time(directory + own, name) || shares_process(p, d, directory, length, ancestor, file))
        return ancestor;
    return SIZE_MAX;
}

/* By the time in their names, whatever directories they lie in: where a trainer starts again, that drops what its evaluator
 * wrote before and nothing that it wrote later. */
static int by_time(const void *a, const void *b)
{
    const metrics_file *x = *(const metrics_file *const *)a, *y = *(const metrics_file *const *)b;
    const int order = assay_natural_order(metrics_base(x->path), metrics_base(y->path));
    return order ? order : assay_natural_order(x->path, y->path);
}

int metrics_tb_divide(metrics_place *p, assay_error *err)
{
    directories d = {assay_dict_new(), assay_dict_new(), assay_dict_new()};
    int status = d.names && d.processes && d.children ? gather(p, &d) : ASSAY_ENOMEM;
    (void)err;
    size_t first = 0; /* of the directory under way */
    char before[ASSAY_PATH_ROOM] = "";
    size_t owner = SIZE_MAX;
    for (size_t i = 0; i < p->count && status == ASSAY_OK; i++) {
        metrics_tb_place at;
        if (p->files[i].kind != METRICS_TB || !metrics_tb_split(p->files[i].path, &at))
            continue;
        if (i == first || owner == SIZE_MAX || strcmp(before, at.directory) != 0) {
            first = i;
            snprintf(before, sizeof before, "%s", at.directory);
            owner = strlen(at.directory);
            size_t further = owner;
            while (further != SIZE_MAX) {
                owner = further;
                further = owner_of(p, &d, at.directory, owner, owner == strlen(at.directory) ? i : p->count);
            }
        }
        char *base = assay_copy_bytes_as_text(at.directory, owner);
        metrics_run *run = base ? metrics_place_run_of(p, base, *base ? base : ".", NULL) : NULL;
        status = run ? metrics_run_add_file(run, &p->files[i]) : ASSAY_ENOMEM;
        if (status != ASSAY_OK) {
            free(base);
            break;
        }
        free(run->base);
        run->base = base;
    }
    for (size_t i = 0; i < p->run_count; i++)
        if (p->runs[i].count > 1)
            qsort(p->runs[i].files, p->runs[i].count, sizeof(metrics_file *), by_time);
    assay_dict_free(d.names);
    assay_dict_free(d.processes);
    assay_dict_free(d.children);
    return status;
}
