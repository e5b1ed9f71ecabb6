/* dump.c - msprobe's statistics: step<S>/rank<R>/dump.json, figures of the inputs and outputs of each call. */
#include <stdio.h>
#include <string.h>

#include "base/keys.h"
#include "base/path.h"
#include "container/json_items.h"
#include "format/metrics/printed.h"

enum { TAG_ROOM = 4096 };

typedef struct reader {
    metrics_log *log;
    assay_pull pull;
    int64_t step;
    char tag[TAG_ROOM];
    int status;
    const char *damaged; /* the first key that another one stands in the place of, a constant; NULL: none yet */
} reader;

static const char *const FILE_KEYS[] = {"task", "data", NULL};
enum { KEY_TASK, KEY_DATA };
static const char *const CALL_KEYS[] = {"input_args", "input_kwargs", "output", NULL};
enum { KEY_OUTPUT = 2 };
static const char *const TENSOR_KEYS[] = {"Max", "Min", "Mean", "Norm", "type", NULL};
enum { KEY_TYPE = 4 };

static void note_keys(reader *r, const assay_keys *keys)
{
    r->damaged = r->damaged ? r->damaged : assay_keys_damaged(keys);
}

static bool named(const char *name)
{
    return strcmp(name, "dump.json") == 0;
}

static int proven(assay_store *store, const metrics_file *file, assay_error *err)
{
    enum { BOTH = 1 << KEY_TASK | 1 << KEY_DATA };
    assay_json_items items = {0};
    const char *text = NULL;
    size_t length = 0;
    assay_keys keys = {.known = FILE_KEYS};
    int status = assay_json_items_open(store, file->path, &items, err);
    if (status != ASSAY_OK)
        return status;
    status = assay_json_items_enter(&items, '{', err);
    while (status == 1 && (status = assay_json_items_next(&items, err)) == 1) {
        assay_keys_find_flipped(&keys, (const char *)items.key.data, items.key.size);
        if (keys.seen == BOTH)
            break;
        status = assay_json_items_take(&items, &text, &length, err);
        status = status == ASSAY_OK ? 1 : status;
    }
    assay_json_items_close(&items);
    if (keys.seen == BOTH || (keys.seen && assay_keys_damaged(&keys))) /* damaged: named when it is read */
        return 1;
    return status == ASSAY_EFORMAT ? 0 : status < 0 ? status : 0;
}

static int divide(metrics_place *place, assay_error *err)
{
    (void)err;
    return metrics_divide_whole(place, METRICS_DUMP);
}

/* The number behind a word that begins a part of the path. */
static bool part_number(const char *path, const char *word, int64_t *number)
{
    const size_t length = strlen(word);
    for (const char *p = path; p; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL) {
        const char *end = p + strcspn(p, "/"), *q = p + length;
        if ((size_t)(end - p) > length && memcmp(p, word, length) == 0 && assay_is_digit(*q) &&
            metrics_take_digits(&q, end, number) && q == end)
            return true;
    }
    return false;
}

static bool is_tensor_type(const char *text, size_t length)
{
    static const char *const types[] = {"torch.Tensor", "mindspore.Tensor", "torch.nn.parameter.Parameter",
                                        "numpy.ndarray"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i]) == length && memcmp(types[i], text, length) == 0)
            return true;
    return false;
}

static bool put_value(reader *r, size_t length, bool unwrap, unsigned depth);

/* Puts one more part behind the tag; its new length, TAG_ROOM when it is too long. */
static size_t extend(reader *r, size_t length, const char *part, size_t size)
{
    if (length + size + 1 >= TAG_ROOM)
        return TAG_ROOM - 8;
    if (length > 0)
        r->tag[length++] = '.';
    memcpy(r->tag + length, part, size);
    return length + size;
}

static int put_figure(reader *r, size_t length, const char *name, double value)
{
    char tag[TAG_ROOM + 8];
    memcpy(tag, r->tag, length);
    const int more = snprintf(tag + length, sizeof tag - length, "/%s", name);
    return metrics_put(r->log, tag, length + (size_t)more, ASSAY_MODE_TRAIN, r->step, value);
}

/* The figures of a tensor, or what a plain object holds. The scanner stands at its brace. */
static bool put_object(reader *r, size_t length, unsigned depth)
{
    static const char *const figures[KEY_TYPE] = {"max", "min", "mean", "norm"};
    double value[KEY_TYPE];
    bool has[KEY_TYPE] = {false}, typed = false, tensor = false;
    assay_keys keys = {.known = TENSOR_KEYS};
    assay_pull again = r->pull; /* an object without a type is walked once more */
    for (bool more = assay_pull_open(&r->pull, '{', '}'); more; more = assay_pull_more(&r->pull, '}')) {
        const char *key = NULL, *text = NULL;
        size_t size = 0, text_size = 0;
        if (!assay_pull_key(&r->pull, &key, &size))
            return false;
        const int known = assay_keys_find_flipped(&keys, key, size);
        const char first = assay_pull_peek(&r->pull);
        if (known == KEY_TYPE && first == '"') {
            if (!assay_pull_string(&r->pull, &text, &text_size))
                return false;
            typed = true;
            tensor = is_tensor_type(text, text_size);
            continue;
        }
        metrics_json other = {.pull = &r->pull};
        if (known >= 0 && known < KEY_TYPE && first != '{' && first != '[') {
            const metrics_scalar scalar = metrics_json_scalar(&r->pull, &value[known]);
            has[known] = scalar == METRICS_NUMBER;
            if (scalar == METRICS_DAMAGED)
                return false;
        } else if (!metrics_json_skip(&other)) {
            return false;
        }
    }
    if (r->pull.fault)
        return false;
    note_keys(r, &keys);
    if (typed && !tensor)
        metrics_add(r->log, METRICS_ARGUMENTS);
    for (size_t i = 0; i < KEY_TYPE && tensor && r->status == ASSAY_OK; i++)
        if (has[i])
            r->status = put_figure(r, length, figures[i], value[i]);
    if (typed)
        return true;
    const char *end = r->pull.at;
    r->pull.at = again.at;
    for (bool more = assay_pull_open(&r->pull, '{', '}'); more; more = assay_pull_more(&r->pull, '}')) {
        const char *key = NULL;
        size_t size = 0;
        if (!assay_pull_key(&r->pull, &key, &size) || !put_value(r, extend(r, length, key, size), false, depth + 1))
            return false;
    }
    r->pull.at = end;
    return true;
}

/* `unwrap`: a list of one stands for its element. */
static bool put_value(reader *r, size_t length, bool unwrap, unsigned depth)
{
    const char first = assay_pull_peek(&r->pull);
    if (first == '{' && depth < ASSAY_PULL_DEPTH)
        return put_object(r, length, depth);
    metrics_json other = {.pull = &r->pull};
    if (first != '[' || depth >= ASSAY_PULL_DEPTH)
        return metrics_json_skip(&other);
    const char *from = r->pull.at;
    size_t count = 0;
    if (unwrap) {
        for (bool more = assay_pull_open(&r->pull, '[', ']'); more; more = assay_pull_more(&r->pull, ']'), count++)
            if (!metrics_json_skip(&other))
                return false;
        r->pull.at = from;
    }
    size_t index = 0;
    for (bool more = assay_pull_open(&r->pull, '[', ']'); more; more = assay_pull_more(&r->pull, ']'), index++) {
        char number[24];
        const int size = snprintf(number, sizeof number, "%zu", index);
        const size_t deeper = count == 1 ? length : extend(r, length, number, (size_t)size);
        if (!put_value(r, deeper, false, depth + 1))
            return false;
    }
    return r->pull.fault == NULL;
}

/* The parts of a call: input_args, input_kwargs, output, parameters; or the gradients of its parameters. */
static bool put_call(reader *r, const char *call, size_t call_length)
{
    const bool gradients = memmem(call, call_length, ".parameters_grad", 16) != NULL;
    const size_t length = extend(r, 0, call, call_length);
    assay_keys keys = {.known = CALL_KEYS};
    if (assay_pull_peek(&r->pull) != '{') {
        metrics_json other = {.pull = &r->pull};
        return metrics_json_skip(&other);
    }
    for (bool more = assay_pull_open(&r->pull, '{', '}'); more; more = assay_pull_more(&r->pull, '}')) {
        const char *key = NULL;
        size_t size = 0;
        if (!assay_pull_key(&r->pull, &key, &size))
            return false;
        const int known = assay_keys_find_flipped(&keys, key, size);
        if (known >= 0 && known < KEY_OUTPUT)
            size = 5; /* "input" */
        if (!put_value(r, extend(r, length, key, size), gradients, 1))
            return false;
    }
    note_keys(r, &keys);
    return r->pull.fault == NULL;
}

static int take_calls(reader *r, assay_json_items *items, assay_error *err)
{
    const char *text = NULL;
    size_t length = 0;
    int status = assay_json_items_enter(items, '{', err);
    if (status == 0)
        return assay_fail(err, ASSAY_EFORMAT, "data is no object");
    while (status == 1 && (status = assay_json_items_next(items, err)) == 1) {
        status = assay_json_items_take(items, &text, &length, err);
        if (status != ASSAY_OK)
            return status;
        r->log->at.number++;
        r->log->at.offset = items->next - length;
        assay_pull_start(&r->pull, text, length);
        const bool sound = put_call(r, (const char *)items->key.data, items->key.size) && assay_pull_end(&r->pull);
        if (r->status != ASSAY_OK)
            return r->status;
        if (!sound)
            return assay_fail(err, ASSAY_EFORMAT, "a call is no JSON: %s", r->pull.fault ? r->pull.fault : "it is cut");
        status = 1;
    }
    return status;
}

static int read_file(metrics_log *log, const char *path, int64_t step, assay_error *why)
{
    assay_json_items items = {0};
    const char *text = NULL;
    size_t length = 0;
    reader r = {.log = log, .step = step};
    assay_keys keys = {.known = FILE_KEYS};
    int status = assay_json_items_open(log->store, path, &items, why);
    if (status != ASSAY_OK)
        return status;
    log->at = (metrics_spot){.path = path, .what = "entry"};
    status = assay_json_items_enter(&items, '{', why);
    while (status == 1 && (status = assay_json_items_next(&items, why)) == 1) {
        if (assay_keys_find_flipped(&keys, (const char *)items.key.data, items.key.size) == KEY_DATA)
            status = take_calls(&r, &items, why);
        else
            status = assay_json_items_take(&items, &text, &length, why);
        status = status == ASSAY_OK ? 1 : status;
    }
    note_keys(&r, &keys);
    if (status == ASSAY_OK && r.damaged)
        assay_problems_add(log->problems, ASSAY_PROBLEM_HEADER, step, path, -1,
                           "%s: a key that should be \"%s\" is damaged; what it had is missing from this analysis",
                           path, r.damaged);
    assay_pull_release(&r.pull);
    assay_json_items_close(&items);
    return status;
}

static int read(metrics_log *log, const metrics_place *place, const metrics_run *run, assay_error *err)
{
    int status = ASSAY_OK;
    (void)place;
    for (size_t i = 0; i < run->count && status == ASSAY_OK; i++) {
        const char *path = run->files[i]->path;
        int64_t step = -1, rank = -1;
        char worker[32];
        assay_error why = {{0}};
        if (!part_number(path, "step", &step) ||
            (!part_number(path, "rank", &rank) && !part_number(path, "proc", &rank)) || step < 0 || rank < 0) {
            assay_problems_add(log->problems, ASSAY_PROBLEM_HEADER, -1, path, -1,
                               "%s: no step and rank in its path: it should lie in step<S>/rank<R>", path);
            continue;
        }
        snprintf(worker, sizeof worker, "worker_%lld", (long long)rank);
        status = metrics_set_worker(log, worker);
        ASSAY_THEN(status, read_file(log, path, step, &why));
        if (status == ASSAY_EFORMAT) {
            assay_problems_add(log->problems, ASSAY_PROBLEM_HEADER, step, path, -1, "%s: cannot be read: %s", path,
                               why.text);
            status = ASSAY_OK;
        } else if (status < 0) {
            assay_fail(err, status, "%s", why.text);
        }
    }
    return status;
}

const metrics_kind metrics_dump = {
    .name = "dump", .named = named, .proven = proven, .divide = divide, .read = read, .workers_known = true};
