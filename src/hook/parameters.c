/* parameters.c - the parameters of hooks and collections, given as text. */
#include "hook/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "base/settings.h"
#include "base/vec.h"

enum {
    MAX_LISTED = 1 << 20,
    MIN_MEMORY = 1 << 16, /* bytes of the queue */
    METRICS_LEAST = 10,   /* milliseconds between two samples; 0: none are taken */
    METRICS_MOST = 3600000
};

typedef struct setting {
    hook_config *config;
    hook_collection *collection; /* NULL: the hook */
    const char *key, *value;
    assay_error *err;
} setting;

#define AT(member) ASSAY_SETTING_AT(hook_config, member)
/* Parameters of the hook alone; docs/hook-parameters.md explains them. */
static const assay_setting hook_settings[] = {
    {.name = "save_all", .kind = ASSAY_SETTING_SWITCH, AT(save_all)},
    {.name = "dry_run", .kind = ASSAY_SETTING_SWITCH, AT(dry_run)},
    {.name = "export_tensorboard", .kind = ASSAY_SETTING_SWITCH, AT(export_tensorboard)},
    {.name = "sample_variance", .kind = ASSAY_SETTING_SWITCH, AT(sample_variance)},
    {.name = "durable", .kind = ASSAY_SETTING_SWITCH, AT(durable)},
    {.name = "run_facts", .kind = ASSAY_SETTING_SWITCH, AT(run_facts)},
    {.name = "timeline", .kind = ASSAY_SETTING_SWITCH, AT(timeline)},
    {.name = "include_workers", .kind = ASSAY_SETTING_WORD, AT(all_workers), .words = "one|all"},
    {.name = "checksum", .kind = ASSAY_SETTING_WORD, AT(true_checksum), .words = "constant|crc32c"},
    {.name = "queue_policy", .kind = ASSAY_SETTING_WORD, AT(drop), .words = "block|drop"},
    {.name = "existing", .kind = ASSAY_SETTING_WORD, AT(go_on), .words = "refuse|continue"},
    {.name = "queue_memory", .kind = ASSAY_SETTING_COUNT, AT(memory), .least = MIN_MEMORY, .most = 0x1p62},
    {.name = "stall_seconds", .kind = ASSAY_SETTING_COUNT, AT(stall), .least = 1, .most = 0x1p62},
    {.name = "end_marker", .kind = ASSAY_SETTING_WORD, AT(end), .words = "auto|now|never"},
    {.name = "worker", .kind = ASSAY_SETTING_COPY, AT(worker)},
    {.name = "system_metrics_interval", .kind = ASSAY_SETTING_COUNT, AT(metrics_interval), .most = METRICS_MOST},
    {.name = "node", .kind = ASSAY_SETTING_COPY, AT(node)},
    {.name = "tensorboard_dir", .kind = ASSAY_SETTING_COPY, AT(tensorboard)},
    {.name = "out_dir", .kind = ASSAY_SETTING_COPY, AT(directory)},
    {0}};
#undef AT

static int bad(const setting *s, const char *expected)
{
    return assay_fail(s->err, ASSAY_EPARAM, "%s%s%s = \"%s\": expected %s", s->collection ? s->collection->name : "",
                      s->collection ? ": " : "", s->key, s->value, expected);
}

/* Moves *text over one number with blanks around it. */
static bool take_int(const char **text, int64_t *out)
{
    char *end;
    errno = 0;
    long long value = strtoll(*text, &end, 10);
    if (end == *text || errno)
        return false;
    while (isspace((unsigned char)*end))
        end++;
    *text = end;
    *out = value;
    return true;
}

static int parse_int(const setting *s, int64_t least, const char *expected, int64_t *out)
{
    const char *text = s->value;
    int64_t value;
    if (!take_int(&text, &value) || *text || value < least)
        return bad(s, expected);
    *out = value;
    return ASSAY_OK;
}

/* The spellings the reference accepts. */
static int parse_bool(const setting *s, bool *out)
{
    bool yes = strcmp(s->value, "true") == 0 || strcmp(s->value, "True") == 0;
    if (!yes && strcmp(s->value, "false") != 0 && strcmp(s->value, "False") != 0)
        return bad(s, "true or false");
    *out = yes;
    return ASSAY_OK;
}

static int parse_list(const setting *s, hook_steps *steps)
{
    int64_t *list = NULL;
    size_t count = 0, room = 0;
    const char *text = s->value;
    while (isspace((unsigned char)*text))
        text++;
    for (bool more = *text != '\0'; more;) {
        if (!assay_vec_reserve(&list, &room, count + 1, sizeof *list)) {
            free(list);
            return assay_fail(s->err, ASSAY_ENOMEM, "%s: out of memory", s->key);
        }
        if (count == MAX_LISTED || !take_int(&text, &list[count]) || (*text && *text != ',')) {
            free(list);
            return bad(s, "step numbers separated by commas");
        }
        count++;
        more = *text == ',';
        text += more;
    }
    if (count)
        qsort(list, count, sizeof *list, assay_order_i64);
    free(steps->list);
    steps->list = list;
    steps->listed = count;
    steps->has_list = true;
    return ASSAY_OK;
}

/* save_interval, save_steps, start_step, end_step, each optionally behind a mode's name. 1 when the key is none of
 * them. */
static int set_steps(const setting *s)
{
    static const char *const modes[HOOK_MODES] = {"train.", "eval.", "predict.", "global."};
    const char *key = s->key;
    int mode = HOOK_ALL_MODES;
    for (int m = 0; m < HOOK_MODES; m++) {
        if (strncmp(key, modes[m], strlen(modes[m])) == 0) {
            mode = m;
            key += strlen(modes[m]);
            break;
        }
    }
    hook_steps *steps = s->collection ? &s->collection->steps[mode] : &s->config->steps[mode];
    if (strcmp(key, "save_interval") == 0) {
        int rc = parse_int(s, 1, "a number of steps from 1", &steps->interval);
        steps->has_interval |= rc == ASSAY_OK;
        return rc;
    }
    if (strcmp(key, "start_step") == 0) {
        int rc = parse_int(s, 0, "a step from 0", &steps->start);
        steps->has_start |= rc == ASSAY_OK;
        return rc;
    }
    if (strcmp(key, "end_step") == 0) {
        bool none = strcmp(s->value, "None") == 0 || strcmp(s->value, "null") == 0 || !*s->value;
        int rc = none ? ASSAY_OK : parse_int(s, 0, "a step from 0, or None", &steps->end);
        if (none)
            steps->end = -1;
        steps->has_end |= rc == ASSAY_OK;
        return rc;
    }
    return strcmp(key, "save_steps") == 0 ? parse_list(s, steps) : 1;
}

/* What is kept of a tensor: raw, statistics or digest. */
static int parse_form(const setting *s, hook_form *out)
{
    static const assay_setting form = {.name = "record", .kind = ASSAY_SETTING_WORD, .words = "raw|statistics|digest"};
    char hint[ASSAY_NEAREST_ROOM];
    int number = 0;
    if (assay_setting_take(&form, s->value, &number) != ASSAY_OK)
        return assay_fail(s->err, ASSAY_EPARAM, "%s%s%s = \"%s\"%s: expected raw, statistics or digest",
                          s->collection ? s->collection->name : "", s->collection ? ": " : "", s->key, s->value,
                          assay_setting_hint(&form, s->value, hint));
    *out = (hook_form)number;
    return ASSAY_OK;
}

/* reductions, save_raw_tensor, save_shape, record. 1 when the key is none of them. */
static int set_reductions(const setting *s)
{
    hook_reductions *r = s->collection ? &s->collection->reductions : &s->config->reductions;
    int rc = 1;
    if (strcmp(s->key, "reductions") == 0) {
        hook_reductions parsed = *r;
        assay_error why = {""};
        rc = hook_reductions_parse(s->value, &parsed, &why);
        if (rc < 0)
            return bad(s, why.text);
        *r = parsed;
    } else if (strcmp(s->key, "save_raw_tensor") == 0) {
        rc = parse_bool(s, &r->raw);
        r->raw_given |= rc == ASSAY_OK;
    } else if (strcmp(s->key, "save_shape") == 0) {
        rc = parse_bool(s, &r->shape);
    } else if (strcmp(s->key, "record") == 0) {
        rc = parse_form(s, &r->form);
    }
    r->given |= rc == ASSAY_OK;
    return rc;
}

/* Splits at commas as the reference does, so a pattern given here cannot hold one. */
static int set_patterns(const setting *s)
{
    const char *collection = s->collection ? s->collection->name : "default";
    int rc = ASSAY_OK;
    for (const char *at = s->value; rc == ASSAY_OK;) {
        size_t length = strcspn(at, ",");
        const char *from = at, *to = at + length;
        while (from < to && isspace((unsigned char)*from))
            from++;
        while (to > from && isspace((unsigned char)to[-1]))
            to--;
        char *pattern = assay_copy_bytes_as_text(from, (size_t)(to - from));
        if (!pattern)
            return assay_fail(s->err, ASSAY_ENOMEM, "%s: out of memory", s->key);
        if (*pattern)
            rc = hook_config_add_pattern(s->config, collection, pattern, s->err);
        free(pattern);
        if (!at[length])
            break;
        at += length + 1;
    }
    return rc;
}

/* Milliseconds from METRICS_LEAST on, or 0. */
static bool is_interval(const char *value)
{
    const long long interval = strtoll(value, NULL, 10);
    return interval == 0 || interval >= METRICS_LEAST;
}

/* A worker is part of file names. A TensorFlow device has slashes, which are not kept. */
static bool is_worker(const char *value)
{
    return strlen(value) <= 200 && *value != '.' && (*value == '/' || !strpbrk(value, "/\\\""));
}

/* Writes a TensorFlow device with _ for / and - for : in its place. */
static int plain_worker(char *worker)
{
    for (char *c = worker[0] == '/' ? worker : NULL; c && *c; c++) {
        if (*c == '/')
            *c = '_';
        else if (*c == ':')
            *c = '-';
    }
    return ASSAY_OK;
}

/* Parameters of the hook alone. 1 when the key is none of them. */
static int set_hook(const setting *s)
{
    char wanted[ASSAY_SETTING_WANTED];
    const assay_setting *found = assay_setting_find(hook_settings, s->key, strlen(s->key));
    int rc = ASSAY_EPARAM;
    if (!found)
        return 1;
    const bool interval = found->at == offsetof(hook_config, metrics_interval);
    if (found->at == offsetof(hook_config, worker) && !is_worker(s->value))
        return bad(s, "at most 200 characters without / and quotes");
    if (!interval || is_interval(s->value))
        rc = assay_setting_take(found, s->value, (char *)s->config + found->at);
    if (rc == ASSAY_ENOMEM)
        return assay_fail(s->err, ASSAY_ENOMEM, "%s: out of memory", s->key);
    if (rc == ASSAY_OK)
        return found->at == offsetof(hook_config, worker) ? plain_worker(s->config->worker) : rc;
    return bad(s, interval ? "0, or milliseconds from 10 to 3600000" : assay_setting_wanted(found, wanted));
}

static void offer_parameters(assay_nearest *nearest, bool of_collection)
{
    static const char *const both[] = {"save_interval",   "start_step", "end_step", "save_steps",   "reductions",
                                       "save_raw_tensor", "save_shape", "record",   "include_regex"};
    for (size_t i = 0; i < sizeof both / sizeof *both; i++)
        assay_nearest_offer(nearest, both[i]);
    if (of_collection)
        assay_nearest_offer(nearest, "save_histogram");
    else
        assay_settings_offer(hook_settings, nearest);
}

/* "trian.save_interval" is compared part by part. */
static int no_such_key(const setting *s)
{
    static const char *const modes[] = {"train", "eval", "predict", "global"};
    char hint[ASSAY_NEAREST_ROOM];
    assay_nearest nearest;
    const char *dot = strchr(s->key, '.');
    if (dot) {
        bool known = false;
        assay_nearest_begin(&nearest, s->key, (size_t)(dot - s->key));
        for (int m = 0; m < HOOK_MODES; m++) {
            known |= strlen(modes[m]) == nearest.length && strncmp(modes[m], s->key, nearest.length) == 0;
            assay_nearest_offer(&nearest, modes[m]);
        }
        if (!known)
            return assay_fail(s->err, ASSAY_ENOTFOUND, "%s: there is no mode \"%.*s\"%s: train, eval, predict, global",
                              s->key, (int)(dot - s->key), s->key, assay_nearest_hint(&nearest, hint));
    }
    const char *key = dot ? dot + 1 : s->key;
    assay_nearest_begin(&nearest, key, strlen(key));
    offer_parameters(&nearest, s->collection != NULL);
    return assay_fail(s->err, ASSAY_ENOTFOUND,
                      "%s%s%s%s: there is no such parameter of a %s (docs/hook-parameters.md lists them)",
                      s->collection ? s->collection->name : "", s->collection ? ": " : "", s->key,
                      assay_nearest_hint(&nearest, hint), s->collection ? "collection" : "hook");
}

int hook_config_set(hook_config *config, const char *collection, const char *key, const char *value, assay_error *err)
{
    int index = collection ? hook_config_find(config, collection) : -1;
    if (collection && index < 0)
        return assay_fail(err, ASSAY_ENOTFOUND, "collection \"%s\" is not declared", collection);
    setting s = {config, collection ? &config->collections[index] : NULL, key, value, err};
    int rc = set_steps(&s);
    if (rc == 1)
        rc = set_reductions(&s);
    if (rc == 1 && strcmp(key, "include_regex") == 0)
        rc = set_patterns(&s);
    if (rc == 1 && s.collection && strcmp(key, "save_histogram") == 0)
        rc = parse_bool(&s, &s.collection->histogram);
    if (rc == 1 && !s.collection)
        rc = set_hook(&s);
    return rc == 1 ? no_such_key(&s) : rc;
}

static const char *const ops[HOOK_OPS] = {"min", "max", "mean", "std", "variance", "sum", "prod", "l1", "l2"};

const char *hook_reduction_name(int code, bool *absolute)
{
    *absolute = code >= HOOK_OPS;
    return ops[code % HOOK_OPS];
}

static bool is_norm(int code)
{
    return code % HOOK_OPS >= HOOK_L1;
}

/* "abs_l1_norm", "l1", "mean", ...: its code, or -1. */
static int parse_code(const char *name, size_t length)
{
    int absolute = length > 4 && strncmp(name, "abs_", 4) == 0 ? HOOK_OPS : 0;
    name += absolute ? 4 : 0;
    length -= absolute ? 4 : 0;
    bool norm = length > 5 && strncmp(name + length - 5, "_norm", 5) == 0;
    length -= norm ? 5 : 0;
    for (int op = 0; op < HOOK_OPS; op++) {
        if (strlen(ops[op]) == length && strncmp(ops[op], name, length) == 0)
            return norm && !is_norm(op) ? -1 : op + absolute;
    }
    return -1;
}

/* The reference writes plain reductions, then norms, then the two of absolute values. */
static int group(int code)
{
    return 2 * (code >= HOOK_OPS) + is_norm(code);
}

int hook_reductions_parse(const char *text, hook_reductions *out, assay_error *err)
{
    uint8_t seen[HOOK_REDUCTIONS], codes[HOOK_REDUCTIONS];
    size_t count = 0, n = 0;
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, ",");
        const char *from = at, *to = at + length;
        at += length + (at[length] == ',');
        while (from < to && isspace((unsigned char)*from))
            from++;
        while (to > from && isspace((unsigned char)to[-1]))
            to--;
        if (from == to)
            continue;
        int code = parse_code(from, (size_t)(to - from));
        if (code < 0)
            return assay_fail(err, ASSAY_EPARAM,
                              "min, max, mean, std, variance, sum, prod, l1_norm, l2_norm, plain or with abs_ before, "
                              "separated by commas (the reference computes no median)");
        if (!memchr(seen, code, count))
            seen[count++] = (uint8_t)code;
    }
    for (int g = 0; g < 4; g++) {
        for (size_t i = 0; i < count; i++) {
            if (group(seen[i]) == g)
                codes[n++] = seen[i];
        }
    }
    memcpy(out->codes, codes, n);
    out->count = n;
    return ASSAY_OK;
}

void hook_reductions_put(assay_buf *out, const hook_reductions *reductions)
{
    for (size_t i = 0; i < reductions->count; i++) {
        bool absolute;
        const char *name = hook_reduction_name(reductions->codes[i], &absolute);
        assay_put_format(out, "%s%s%s%s", i ? "," : "", absolute ? "abs_" : "", name,
                         is_norm(reductions->codes[i]) ? "_norm" : "");
    }
}
