/* hf.c - trainer_state.json of transformers: the newest file has the whole history. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/path.h"
#include "container/json_items.h"
#include "format/metrics/metrics.h"

static const char FILE_NAME[] = "trainer_state.json", CHECKPOINT[] = "checkpoint-";

static bool named(const char *name)
{
    return strcmp(name, FILE_NAME) == 0;
}

/* Finds a member of the file's object. 1: the stream stands at its value. */
static int find_member(assay_json_items *items, const char *key, assay_error *err)
{
    const char *text = NULL;
    size_t length = 0;
    int status = assay_json_items_enter(items, '{', err);
    while (status == 1 && (status = assay_json_items_next(items, err)) == 1) {
        if (strcmp((const char *)items->key.data, key) == 0)
            return 1;
        status = assay_json_items_take(items, &text, &length, err);
        status = status == ASSAY_OK ? 1 : status;
    }
    return status;
}

static int proven(assay_store *store, const metrics_file *file, assay_error *err)
{
    assay_json_items items = {0};
    int status = assay_json_items_open(store, file->path, &items, err);
    if (status != ASSAY_OK)
        return status;
    status = find_member(&items, "log_history", err);
    /* An object that is damaged or cut before its history is named, as any other damage is. */
    const bool object = status == ASSAY_EFORMAT && items.depth > 0;
    assay_json_items_close(&items);
    return status == ASSAY_EFORMAT && !object ? 0 : status;
}

/* The step of a directory `checkpoint-<N>`, -1: it is none. `at` gets where its name begins in the path. */
static int64_t checkpoint_of(const char *path, size_t directory, size_t *at)
{
    size_t from = directory;
    while (from > 0 && path[from - 1] != '/')
        from--;
    *at = from;
    const size_t word = sizeof CHECKPOINT - 1;
    if (directory - from <= word || memcmp(path + from, CHECKPOINT, word) != 0)
        return -1;
    int64_t step = 0;
    for (size_t i = from + word; i < directory; i++) {
        if (!assay_is_digit(path[i]) || step >= METRICS_STEP_END)
            return -1;
        step = 10 * step + (path[i] - '0');
    }
    return step;
}

static int divide(metrics_place *p, assay_error *err)
{
    (void)err;
    for (size_t i = 0; i < p->count; i++) {
        size_t at = 0, directory = metrics_directory(p->files[i].path);
        if (p->files[i].kind != METRICS_HF)
            continue;
        if (checkpoint_of(p->files[i].path, directory, &at) >= 0)
            directory = at > 0 ? at - 1 : 0;
        char *base = assay_copy_bytes_as_text(p->files[i].path, directory);
        metrics_run *run = base ? metrics_place_run_of(p, base, *base ? base : ".", NULL) : NULL;
        if (!run || metrics_run_add_file(run, &p->files[i]) != ASSAY_OK) {
            free(base);
            return ASSAY_ENOMEM;
        }
        free(run->base);
        run->base = base;
    }
    return ASSAY_OK;
}

typedef struct reader {
    metrics_log *log;
    assay_pull pull;
} reader;

/* What an entry is before its values are taken. */
typedef struct entry_look {
    double step;
    bool has_step, closing; /* the log */
    uint64_t losses;        /* keys of losses */
} entry_look;

/* False: the text is no JSON. */
static bool look(reader *r, const char *text, size_t length, entry_look *out)
{
    *out = (entry_look){0};
    assay_pull_start(&r->pull, text, length);
    for (bool more = assay_pull_open(&r->pull, '{', '}'); more; more = assay_pull_more(&r->pull, '}')) {
        const char *key = NULL;
        size_t size = 0;
        if (!assay_pull_key(&r->pull, &key, &size))
            return false;
        const bool is_step = size == 4 && memcmp(key, "step", 4) == 0;
        out->closing = out->closing || (size == 13 && memcmp(key, "train_runtime", 13) == 0);
        out->losses += metrics_is_loss(key, size);
        const char first = assay_pull_peek(&r->pull);
        if (is_step && first != '"' && first != 't' && first != 'f' && first != '{' && first != '[') {
            const metrics_scalar scalar = metrics_json_scalar(&r->pull, &out->step);
            out->has_step = scalar == METRICS_NUMBER;
            if (scalar == METRICS_DAMAGED)
                return false;
            continue;
        }
        metrics_json other = {.pull = &r->pull};
        if (!metrics_json_skip(&other))
            return false;
    }
    return assay_pull_end(&r->pull) && r->pull.fault == NULL;
}

static int put_entry(reader *r, int64_t step, int mode, const char *text, size_t length)
{
    const uint64_t begin = r->log->at.offset;
    assay_pull_start(&r->pull, text, length);
    for (bool more = assay_pull_open(&r->pull, '{', '}'); more; more = assay_pull_more(&r->pull, '}')) {
        const char *key = NULL;
        metrics_json value = {.log = r->log, .mode = mode, .step = step, .pull = &r->pull};
        if (!assay_pull_key(&r->pull, &key, &value.length))
            return ASSAY_EFORMAT;
        const bool is_step = value.length == 4 && memcmp(key, "step", 4) == 0;
        if (value.length <= sizeof value.tag)
            memcpy(value.tag, key, value.length);
        else
            value.length = sizeof value.tag;
        r->log->at.offset = begin + (uint64_t)(r->pull.at - text);
        const bool sound = is_step ? metrics_json_skip(&value) : metrics_json_value(&value);
        if (!sound || value.status != ASSAY_OK)
            return value.status != ASSAY_OK ? value.status : ASSAY_EFORMAT;
    }
    return ASSAY_OK;
}

static int take_entry(reader *r, const char *text, size_t length)
{
    entry_look looked;
    int64_t step = 0;
    if (*text != '{') {
        metrics_unknown(r->log, text, length);
        return ASSAY_OK;
    }
    if (!look(r, text, length, &looked))
        return ASSAY_EFORMAT;
    if (!looked.has_step || !metrics_step_of(looked.step, &step)) {
        metrics_unknown(r->log, text, length);
        metrics_unread(r->log, looked.losses, text, length);
        return ASSAY_OK;
    }
    if (step < 0) {
        metrics_add(r->log, METRICS_BAD_STEPS);
        return ASSAY_OK;
    }
    return put_entry(r, step, looked.closing ? ASSAY_MODE_GLOBAL : 0, text, length);
}

static bool is_setting(const char *key)
{
    static const char *const names[] = {"max_steps",     "num_train_epochs", "train_batch_size",
                                        "logging_steps", "eval_steps",       "save_steps"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], key) == 0)
            return true;
    return false;
}

static int take_member(reader *r, assay_json_items *items, assay_error *err)
{
    const char *key = (const char *)items->key.data, *text = NULL;
    size_t length = 0;
    char name[64];
    int status = ASSAY_OK;
    if (strcmp(key, "log_history") == 0) {
        status = assay_json_items_enter(items, '[', err);
        if (status == 0)
            return assay_fail(err, ASSAY_EFORMAT, "log_history is no list");
        while (status == 1 && (status = assay_json_items_next(items, err)) == 1) {
            status = assay_json_items_take(items, &text, &length, err);
            r->log->at.number++;
            r->log->at.offset = items->next - length;
            ASSAY_THEN(status, take_entry(r, text, length));
            if (status == ASSAY_EFORMAT && r->pull.fault)
                assay_fail(err, status, "an entry of log_history is no JSON: %s", r->pull.fault);
            status = status == ASSAY_OK ? 1 : status;
        }
        return status;
    }
    snprintf(name, sizeof name, "config.%.50s", key);
    const bool setting = is_setting(key);
    status = assay_json_items_take(items, &text, &length, err);
    if (status != ASSAY_OK)
        return status;
    bool sound = true;
    assay_pull_start(&r->pull, text, length);
    if (setting)
        return metrics_json_settings(r->log, name, &r->pull, &sound);
    metrics_json other = {.pull = &r->pull};
    sound = metrics_json_skip(&other) && assay_pull_end(&r->pull);
    return sound ? ASSAY_OK : assay_fail(err, ASSAY_EFORMAT, "\"%.100s\" has no JSON value", key);
}

static int read_file(metrics_log *log, const char *path, assay_error *why)
{
    assay_json_items items = {0};
    reader r = {.log = log};
    int status = assay_json_items_open(log->store, path, &items, why);
    if (status != ASSAY_OK)
        return status;
    log->at = (metrics_spot){.path = path, .what = "entry"};
    status = assay_json_items_enter(&items, '{', why);
    while (status == 1 && (status = assay_json_items_next(&items, why)) == 1) {
        status = take_member(&r, &items, why);
        status = status == ASSAY_OK ? 1 : status;
    }
    assay_pull_release(&r.pull);
    assay_json_items_close(&items);
    return status;
}

/* The files of a run, the newest first: a file that lies in no checkpoint is newer than all of those. */
static int by_age(const void *a, const void *b)
{
    const metrics_file *x = *(const metrics_file *const *)a, *y = *(const metrics_file *const *)b;
    size_t at = 0;
    int64_t older = checkpoint_of(x->path, metrics_directory(x->path), &at);
    int64_t newer = checkpoint_of(y->path, metrics_directory(y->path), &at);
    older = older < 0 ? INT64_MAX : older;
    newer = newer < 0 ? INT64_MAX : newer;
    return older < newer ? 1 : older > newer ? -1 : 0;
}

static int read(metrics_log *log, const metrics_place *place, const metrics_run *run, assay_error *err)
{
    const metrics_file **files = assay_alloc_zeroed(run->count, sizeof(metrics_file *));
    int status = ASSAY_EFORMAT;
    (void)place;
    ASSAY_HAVE(files);
    memcpy(files, run->files, run->count * sizeof *files);
    qsort(files, run->count, sizeof *files, by_age);
    size_t i = 0;
    assay_error why = {{0}};
    for (; i < run->count && status == ASSAY_EFORMAT; i++) {
        status = read_file(log, files[i]->path, &why);
        if (status >= 0)
            continue;
        if (status != ASSAY_EFORMAT)
            assay_fail(err, status, "%s", why.text);
        else
            assay_problems_add(log->problems, ASSAY_PROBLEM_HEADER, -1, files[i]->path, -1, "%s: cannot be read: %s",
                               files[i]->path, why.text);
        metrics_log_forget(log);
        memset(log->counts, 0, sizeof log->counts);
    }
    log->counts[METRICS_OLDER_FILES] += run->count - i;
    if (status == ASSAY_EFORMAT) /* what the newest has before the damage is better than nothing */
        status = read_file(log, files[0]->path, &why);
    free(files);
    return status == ASSAY_EFORMAT ? ASSAY_OK : status;
}

const metrics_kind metrics_hf = {
    .name = "hf", .named = named, .proven = proven, .divide = divide, .read = read, .sure = named};
