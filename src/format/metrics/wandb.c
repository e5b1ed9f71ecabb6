/* wandb.c - Weights & Biases' `.wandb` files: protobuf records in a LevelDB log. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/path.h"
#include "base/vec.h"
#include "container/leveldb.h"
#include "format/metrics/metrics.h"
#include "tfrecord/wire.h"

/* ":W&B", a magic number, version 0. */
static const uint8_t HEAD[ASSAY_LEVELDB_HEAD] = {':', 'W', '&', 'B', 0xe1, 0xbe, 0};
/* Numbers of the fields of a record. */
enum { HISTORY = 2, SUMMARY = 3, CONFIG = 5, METRIC = 12, RUN = 17, EXIT = 18 };
enum { LOOKED_AT = 64 /* records in which a run's name is looked for */, KEY_ROOM = 2048, AXES_MOST = 4096 };

static bool named(const char *name)
{
    return assay_path_ends(name, ".wandb");
}

static int proven(assay_store *store, const metrics_file *file, assay_error *err)
{
    assay_store_file *open = NULL;
    uint8_t head[ASSAY_LEVELDB_HEAD];
    size_t got = 0;
    int status = assay_store_open_file(store, file->path, &open, err);
    if (status != ASSAY_OK)
        return status;
    status = assay_store_read_at(open, 0, head, sizeof head, &got, err);
    assay_store_close_file(open);
    if (status != ASSAY_OK)
        return status;
    return got == 0 || (got == sizeof head && memcmp(head, HEAD, sizeof head) == 0);
}

/* ---- protobuf, in memory ---- */

static assay_wire wire_over(assay_view *view, const uint8_t *bytes, size_t size)
{
    *view = (assay_view){.path = "record", .limit = size, .window = bytes, .window_size = size};
    return (assay_wire){view, "Record", 0, size};
}

static const char *text_of(const assay_wire *w, const assay_wire_field *f, size_t *length)
{
    *length = (size_t)(f->end - f->at);
    return (const char *)w->view->window + f->at;
}

/* The first field of that number with bytes. */
static bool find_bytes(const assay_wire *message, uint32_t number, assay_wire_field *out)
{
    assay_wire w = *message;
    while (assay_wire_next(&w, out, NULL) == 1)
        if (out->number == number && out->type == ASSAY_WIRE_BYTES)
            return true;
    return false;
}

static bool find_number(const assay_wire *message, uint32_t number, int64_t *out)
{
    assay_wire w = *message;
    assay_wire_field f;
    while (assay_wire_next(&w, &f, NULL) == 1)
        if (f.number == number && f.type == ASSAY_WIRE_VARINT) {
            *out = (int64_t)f.value;
            return true;
        }
    return false;
}

static bool is_sound(const assay_wire *message)
{
    assay_wire w = *message;
    assay_wire_field f;
    int more = 1;
    while (more == 1)
        more = assay_wire_next(&w, &f, NULL);
    return more == 0;
}

/* An item of a row, a summary or a config: its key, joined by points, and its value's text. */
typedef struct item {
    char key[KEY_ROOM];
    size_t key_length;
    bool too_long;
    const char *json;
    size_t length;
} item;

static bool take_item(const assay_wire *message, item *out)
{
    assay_wire w = *message;
    assay_wire_field f;
    int more = 1;
    bool nested = false;
    out->key_length = out->length = 0;
    out->json = NULL;
    out->too_long = false;
    while ((more = assay_wire_next(&w, &f, NULL)) == 1) {
        size_t length = 0;
        if (f.type != ASSAY_WIRE_BYTES)
            continue;
        const char *text = text_of(&w, &f, &length);
        if (f.number == 16) {
            out->json = text;
            out->length = length;
        }
        if ((f.number != 1 && f.number != 2) || (f.number == 1 && length == 0))
            continue;
        if (f.number == 1 || out->key_length == 0 || !nested)
            out->key_length = 0;
        const size_t dot = out->key_length > 0;
        if (out->key_length + dot + length > sizeof out->key) {
            out->too_long = true;
            continue;
        }
        if (dot)
            out->key[out->key_length] = '.';
        memcpy(out->key + out->key_length + dot, text, length);
        out->key_length += dot + length;
        nested = f.number == 2;
    }
    return more == 0;
}

static bool key_is(const item *i, const char *key)
{
    return strlen(key) == i->key_length && memcmp(i->key, key, i->key_length) == 0;
}

/* ---- a run while it is read ---- */

/* Tags that begin so have another one as their step. */
typedef struct axis {
    char *beginning, *step;
} axis;

/* Values by key, the last of each: JSON texts, NULL for those that were removed. */
typedef struct settings {
    assay_dict *keys;
    char **list; /* by the key's number */
    size_t count, room;
} settings;

typedef struct reader {
    metrics_log *log;
    assay_pull pull;
    item item;
    settings steps; /* the tags that others have as their step, by the names of those */
    ASSAY_VEC(axis) axes;
    settings config, summary;
    int64_t last_step;
    bool any_row;
    const char *axis; /* that was looked for last in the row, and what came of it */
    bool has_own;
    int64_t own;
} reader;

static void release_settings(settings *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->list[i]);
    free(s->list);
    assay_dict_free(s->keys);
}

static void release(reader *r)
{
    for (size_t i = 0; i < r->axes.count; i++) {
        free(r->axes.list[i].beginning);
        free(r->axes.list[i].step);
    }
    free(r->axes.list);
    release_settings(&r->steps);
    release_settings(&r->config);
    release_settings(&r->summary);
    assay_pull_release(&r->pull);
}

static const char *step_of_tag(const reader *r, const char *tag, size_t length)
{
    const uint32_t number = assay_dict_find(r->steps.keys, tag, length);
    if (number != ASSAY_NO_ID)
        return r->steps.list[number];
    for (size_t i = 0; i < r->axes.count; i++) {
        const size_t known = strlen(r->axes.list[i].beginning);
        if (known <= length && memcmp(r->axes.list[i].beginning, tag, known) == 0)
            return r->axes.list[i].step;
    }
    return NULL;
}

/* Keeps a text by its key, instead of the one before. */
static int keep(settings *s, const char *key, size_t key_length, const char *text, size_t length)
{
    char *copy = assay_copy_bytes_as_text(text, length);
    const uint32_t number = copy ? assay_dict_add(s->keys, key, key_length) : ASSAY_NO_ID;
    char **place = number == ASSAY_NO_ID ? NULL
                   : number < s->count   ? &s->list[number]
                                         : assay_vec_add(&s->list, &s->count, &s->room, sizeof *s->list);
    if (!place) {
        free(copy);
        return ASSAY_ENOMEM;
    }
    free(*place);
    *place = copy;
    return ASSAY_OK;
}

static int take_metric(reader *r, const assay_wire *message)
{
    assay_wire_field name, glob, step;
    size_t length = 0;
    const bool has_name = find_bytes(message, 1, &name) && name.end > name.at;
    const bool has_glob = find_bytes(message, 2, &glob) && glob.end > glob.at;
    if (!find_bytes(message, 4, &step) || step.end == step.at || (!has_name && !has_glob))
        return ASSAY_OK;
    const char *text = text_of(message, has_name ? &name : &glob, &length);
    size_t step_length = 0;
    const char *step_text = text_of(message, &step, &step_length);
    if (!has_name && text[length - 1] != '*')
        return ASSAY_OK;
    if (r->axes.count + r->steps.count >= AXES_MOST) {
        metrics_unknown(r->log, text, length);
        return ASSAY_OK;
    }
    if (has_name)
        return keep(&r->steps, text, length, step_text, step_length);
    axis *added = ASSAY_VEC_ADD(&r->axes);
    ASSAY_HAVE(added);
    *added = (axis){assay_copy_bytes_as_text(text, length - 1), assay_copy_bytes_as_text(step_text, step_length)};
    return added->beginning && added->step ? ASSAY_OK : ASSAY_ENOMEM;
}

/* The item of a row whose key it is; its value as a whole number. */
static bool whole_in_row(reader *r, const assay_wire *row, const char *key, bool *number, int64_t *step)
{
    assay_wire w = *row;
    assay_wire_field f;
    *number = false;
    while (assay_wire_next(&w, &f, NULL) == 1) {
        double value = 0;
        if (f.number != 1 || f.type != ASSAY_WIRE_BYTES)
            continue;
        const assay_wire inner = assay_wire_into(&w, &f, "HistoryItem");
        if (!take_item(&inner, &r->item) || !r->item.json || !key_is(&r->item, key))
            continue;
        assay_pull_start(&r->pull, r->item.json, r->item.length);
        *number = metrics_json_scalar(&r->pull, &value) == METRICS_NUMBER;
        return *number && metrics_step_of(value, step);
    }
    return false;
}

static int put_value(reader *r, const item *i, int mode, int64_t step)
{
    metrics_json value = {.log = r->log, .mode = mode, .step = step, .typed = true, .pull = &r->pull};
    value.length = i->too_long ? sizeof value.tag : i->key_length;
    memcpy(value.tag, i->key, i->key_length);
    assay_pull_start(&r->pull, i->json, i->length);
    if (!metrics_json_sound(&r->pull)) {
        metrics_unknown(r->log, i->json, i->length);
        return ASSAY_OK;
    }
    assay_pull_start(&r->pull, i->json, i->length);
    metrics_json_value(&value);
    return value.status;
}

static bool is_internal(const item *i)
{
    return key_is(i, "_step") || key_is(i, "_runtime") || key_is(i, "_timestamp");
}

static int take_history(reader *r, const assay_wire *row)
{
    assay_wire_field num;
    bool number = false;
    int64_t step = 0;
    int status = ASSAY_OK;
    metrics_add(r->log, METRICS_ROWS);
    bool known = whole_in_row(r, row, "_step", &number, &step);
    if (!known && !number && find_bytes(row, 2, &num)) {
        const assay_wire inner = assay_wire_into(row, &num, "HistoryStep");
        known = true;
        step = 0; /* protobuf leaves 0 out */
        find_number(&inner, 1, &step);
    }
    if (!known) {
        metrics_unknown(r->log, "a row without a step", 20);
        return ASSAY_OK;
    }
    r->last_step = step > r->last_step || !r->any_row ? step : r->last_step;
    r->any_row = true;
    r->axis = NULL;
    assay_wire w = *row;
    assay_wire_field f;
    while (status == ASSAY_OK && assay_wire_next(&w, &f, NULL) == 1) {
        if (f.number != 1 || f.type != ASSAY_WIRE_BYTES)
            continue;
        const assay_wire inner = assay_wire_into(&w, &f, "HistoryItem");
        item *i = &r->item;
        if (!take_item(&inner, i) || !i->json || is_internal(i))
            continue;
        int64_t own = step;
        const char *own_axis = step_of_tag(r, i->key, i->key_length);
        if (own_axis && (!r->axis || strcmp(own_axis, r->axis) != 0)) {
            item kept = *i; /* looking for the step reads other items */
            r->axis = own_axis;
            r->has_own = whole_in_row(r, row, own_axis, &number, &r->own);
            *i = kept;
        }
        if (own_axis && r->has_own)
            own = r->own;
        status = put_value(r, i, 0, own);
    }
    return status;
}

static void drop(settings *s, const item *i)
{
    const uint32_t number = assay_dict_find(s->keys, i->key, i->key_length);
    if (number != ASSAY_NO_ID) {
        free(s->list[number]);
        s->list[number] = NULL;
    }
}

/* Updates and removals of a config or a summary, in their order. */
static int take_updates(reader *r, const assay_wire *message, settings *list)
{
    assay_wire w = *message;
    assay_wire_field f;
    int status = ASSAY_OK;
    while (status == ASSAY_OK && assay_wire_next(&w, &f, NULL) == 1) {
        if ((f.number != 1 && f.number != 2) || f.type != ASSAY_WIRE_BYTES)
            continue;
        const assay_wire inner = assay_wire_into(&w, &f, "Item");
        if (!take_item(&inner, &r->item) || r->item.too_long)
            continue;
        if (f.number == 2)
            drop(list, &r->item);
        else if (r->item.json)
            status = keep(list, r->item.key, r->item.key_length, r->item.json, r->item.length);
    }
    return status;
}

static int put_text(reader *r, const assay_wire *message, uint32_t number, const char *fact)
{
    assay_wire_field f;
    size_t length = 0;
    if (!find_bytes(message, number, &f) || f.end == f.at)
        return ASSAY_OK;
    const char *text = text_of(message, &f, &length);
    return metrics_fact(r->log, fact, text, length);
}

static int take_run(reader *r, const assay_wire *message)
{
    static const struct {
        uint32_t number;
        const char *fact;
    } texts[] = {{1, "run_id"}, {3, "experiment"}, {6, "group"}, {7, "job_type"}, {8, "name"}, {13, "host"}};
    assay_wire_field f;
    int status = ASSAY_OK;
    for (size_t i = 0; i < sizeof texts / sizeof *texts && status == ASSAY_OK; i++)
        status = put_text(r, message, texts[i].number, texts[i].fact);
    if (status == ASSAY_OK && find_bytes(message, 4, &f)) {
        const assay_wire inner = assay_wire_into(message, &f, "ConfigRecord");
        status = take_updates(r, &inner, &r->config);
    }
    if (status == ASSAY_OK && find_bytes(message, 5, &f)) {
        const assay_wire inner = assay_wire_into(message, &f, "SummaryRecord");
        status = take_updates(r, &inner, &r->summary);
    }
    if (status == ASSAY_OK && find_bytes(message, 17, &f)) {
        const assay_wire inner = assay_wire_into(message, &f, "Timestamp");
        int64_t seconds = 0;
        if (find_number(&inner, 1, &seconds))
            status = metrics_fact_time(r->log, "started", seconds);
    }
    if (status == ASSAY_OK && find_bytes(message, 21, &f)) {
        const assay_wire inner = assay_wire_into(message, &f, "GitRepoRecord");
        status = put_text(r, &inner, 2, "commit");
    }
    return status;
}

static int take_exit(reader *r, const assay_wire *message)
{
    int64_t code = 0;
    char text[24];
    find_number(message, 1, &code);
    snprintf(text, sizeof text, "%d", (int)(int32_t)code);
    r->log->ended = true;
    return metrics_fact(r->log, "exit_code", text, strlen(text));
}

static int take_record(reader *r, const uint8_t *bytes, size_t size)
{
    assay_view view;
    assay_wire record = wire_over(&view, bytes, size);
    assay_wire_field f;
    int status = ASSAY_OK;
    metrics_add(r->log, METRICS_RECORDS);
    if (!is_sound(&record)) {
        metrics_unknown(r->log, "a record that is no protobuf message", 36);
        return ASSAY_OK;
    }
    while (status == ASSAY_OK && assay_wire_next(&record, &f, NULL) == 1) {
        if (f.type != ASSAY_WIRE_BYTES)
            continue;
        const assay_wire message = assay_wire_into(&record, &f, "Record");
        const bool used = f.number == HISTORY || f.number == SUMMARY || f.number == CONFIG || f.number == METRIC ||
                          f.number == RUN || f.number == EXIT;
        if (used && !is_sound(&message)) {
            metrics_unknown(r->log, "a record that is no protobuf message", 36);
            continue;
        }
        if (f.number == HISTORY)
            status = take_history(r, &message);
        else if (f.number == SUMMARY)
            status = take_updates(r, &message, &r->summary);
        else if (f.number == CONFIG)
            status = take_updates(r, &message, &r->config);
        else if (f.number == METRIC)
            status = take_metric(r, &message);
        else if (f.number == RUN)
            status = take_run(r, &message);
        else if (f.number == EXIT)
            status = take_exit(r, &message);
    }
    return status;
}

static int read_file(reader *r, const char *path, assay_error *err)
{
    assay_leveldb log = {0};
    assay_leveldb_kind kind = ASSAY_LEVELDB_RECORD;
    int status = assay_leveldb_open(r->log->store, path, &log, err);
    if (status != ASSAY_OK)
        return status;
    r->log->at = (metrics_spot){.path = path, .what = "record"};
    while (status == ASSAY_OK && kind != ASSAY_LEVELDB_END && kind != ASSAY_LEVELDB_UNFINISHED) {
        status = assay_leveldb_next(&log, &kind, err);
        if (status != ASSAY_OK)
            break;
        r->log->at.number++;
        if (kind == ASSAY_LEVELDB_RECORD)
            status = take_record(r, log.record, log.size);
        else if (kind == ASSAY_LEVELDB_DAMAGED)
            assay_problems_add(r->log->problems, ASSAY_PROBLEM_RECORD, -1, path, (int64_t)log.at,
                               "%s: chunk at %llu is damaged, the block is left out", path, (unsigned long long)log.at);
        else if (kind == ASSAY_LEVELDB_TOO_LARGE)
            assay_problems_add(r->log->problems, ASSAY_PROBLEM_RECORD, -1, path, (int64_t)log.at,
                               "%s: the record that ends in the chunk at %llu has more than 64 MiB, and is left out",
                               path, (unsigned long long)log.at);
        else if (kind == ASSAY_LEVELDB_UNFINISHED)
            metrics_add(r->log, METRICS_GROWING);
    }
    assay_leveldb_close(&log);
    return status;
}

/* ---- runs ---- */

/* The id in a file's name: run-<id>.wandb. */
static char *id_of(const char *path)
{
    const char *name = metrics_base(path);
    const size_t from = strncmp(name, "run-", 4) == 0 ? 4 : 0, length = metrics_stem(name);
    return assay_copy_bytes_as_text(name + (length > from ? from : 0), length - (length > from ? from : 0));
}

/* The name that people read, which a record near the file's beginning has. */
static int display_name(assay_store *store, const char *path, char **name, assay_error *err)
{
    assay_leveldb log = {0};
    assay_leveldb_kind kind = ASSAY_LEVELDB_RECORD;
    int status = assay_leveldb_open(store, path, &log, err);
    for (int i = 0; status == ASSAY_OK && i < LOOKED_AT && !*name; i++) {
        status = assay_leveldb_next(&log, &kind, err);
        if (status != ASSAY_OK || kind == ASSAY_LEVELDB_END || kind == ASSAY_LEVELDB_UNFINISHED)
            break;
        assay_view view;
        assay_wire_field f, text;
        const assay_wire record = wire_over(&view, log.record, kind == ASSAY_LEVELDB_RECORD ? log.size : 0);
        if (kind != ASSAY_LEVELDB_RECORD || !find_bytes(&record, RUN, &f))
            continue;
        const assay_wire run = assay_wire_into(&record, &f, "RunRecord");
        size_t length = 0;
        if (!find_bytes(&run, 8, &text) || text.end == text.at)
            break;
        const char *bytes = text_of(&run, &text, &length);
        *name = assay_copy_bytes_as_text(bytes, length);
        status = *name ? ASSAY_OK : ASSAY_ENOMEM;
    }
    assay_leveldb_close(&log);
    return status;
}

static int divide(metrics_place *p, assay_error *err)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < p->count && status == ASSAY_OK; i++) {
        if (p->files[i].kind != METRICS_WANDB)
            continue;
        char *id = id_of(p->files[i].path), *name = NULL;
        metrics_run *run = id ? metrics_place_run_of(p, id, id, id) : NULL;
        status = run ? metrics_run_add_file(run, &p->files[i]) : ASSAY_ENOMEM;
        if (status == ASSAY_OK && p->files[i].size > 0)
            status = display_name(p->store, p->files[i].path, &name, err);
        if (name) {
            free(run->name);
            run->name = name;
        }
        free(id);
    }
    return status;
}

/* Keys without a history become values of the whole run. */
static int put_summary(reader *r)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < r->summary.count && status == ASSAY_OK; i++) {
        item known = {.json = r->summary.list[i]};
        const char *key = assay_dict_name(r->summary.keys, (uint32_t)i, &known.key_length);
        if (!known.json)
            continue;
        known.length = strlen(known.json);
        memcpy(known.key, key, known.key_length);
        if (key_is(&known, "_wandb") || is_internal(&known) || strncmp(key, "_wandb.", 7) == 0)
            continue;
        metrics_json value = {.log = r->log,
                              .mode = ASSAY_MODE_GLOBAL,
                              .step = r->any_row ? r->last_step : 0,
                              .typed = true,
                              .summary = true,
                              .pull = &r->pull};
        value.length = known.key_length;
        memcpy(value.tag, known.key, known.key_length);
        assay_pull_start(&r->pull, known.json, known.length);
        const bool sound = metrics_json_sound(&r->pull);
        assay_pull_start(&r->pull, known.json, known.length);
        if (sound)
            metrics_json_value(&value);
        else
            metrics_unknown(r->log, known.json, known.length);
        status = value.status;
    }
    return status;
}

static int put_config(reader *r)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < r->config.count && status == ASSAY_OK; i++) {
        const char *json = r->config.list[i], *key = assay_dict_name(r->config.keys, (uint32_t)i, NULL);
        char name[KEY_ROOM + 8];
        if (!json || strcmp(key, "_wandb") == 0 || strncmp(key, "_wandb.", 7) == 0)
            continue;
        snprintf(name, sizeof name, "config.%s", key);
        assay_pull_start(&r->pull, json, strlen(json));
        bool sound = metrics_json_sound(&r->pull);
        assay_pull_start(&r->pull, json, strlen(json));
        if (sound && strlen(name) < METRICS_TAG_MOST)
            status = metrics_json_settings(r->log, name, &r->pull, &sound);
        if (!sound)
            metrics_unknown(r->log, json, strlen(json));
    }
    return status;
}

static int read(metrics_log *log, const metrics_place *place, const metrics_run *run, assay_error *err)
{
    reader *r = assay_alloc_zeroed(1, sizeof *r);
    int status = r ? ASSAY_OK : ASSAY_ENOMEM;
    (void)place;
    if (r) {
        r->log = log;
        r->config.keys = assay_dict_new();
        r->summary.keys = assay_dict_new();
        r->steps.keys = assay_dict_new();
        status = r->config.keys && r->summary.keys && r->steps.keys ? ASSAY_OK : ASSAY_ENOMEM;
    }
    for (size_t i = 0; i < run->count && status == ASSAY_OK; i++) {
        log->part = (uint32_t)i;
        if (run->files[i]->size == 0)
            metrics_add(log, METRICS_EMPTY_FILES);
        else
            status = read_file(r, run->files[i]->path, err);
    }
    ASSAY_THEN(status, put_summary(r));
    ASSAY_THEN(status, put_config(r));
    if (r)
        release(r);
    free(r);
    return status;
}

const metrics_kind metrics_wandb = {
    .name = "wandb", .named = named, .proven = proven, .divide = divide, .read = read, .sure = named};
