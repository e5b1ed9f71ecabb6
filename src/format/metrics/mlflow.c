/* mlflow.c - MLflow's stores: directories of files, a line a value; and databases (mlflow_db.c). */
#include "format/metrics/mlflow.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/keys.h"
#include "base/path.h"
#include "base/search.h"
#include "format/metrics/printed.h"

enum { META_MOST = 1 << 20, TEXT_MOST = 1 << 20, DEEPEST = 16, TEXT = 512 };

static const char META[] = "meta.yaml";

static bool is_db(const char *name)
{
    return assay_path_ends(name, ".db") || assay_path_ends(name, ".sqlite") || assay_path_ends(name, ".sqlite3");
}

static bool named(const char *name)
{
    return strcmp(name, META) == 0 || is_db(name);
}

/* Others keep databases, too. */
static bool sure(const char *name)
{
    return strcmp(name, "mlflow.db") == 0;
}

/* ---- what both stores share ---- */

bool mlflow_is_system(const char *key, size_t length)
{
    return length > 7 && memcmp(key, "system/", 7) == 0;
}

double mlflow_number(double value)
{
    return value >= DBL_MAX ? INFINITY : value <= -DBL_MAX ? -INFINITY : value;
}

ASSAY_ORDER_BY(by_time, mlflow_value, time, order)

int mlflow_put(metrics_log *log, const char *key, size_t length, mlflow_values *values)
{
    bool without_step = values->count > 1, times_differ = false;
    int status = ASSAY_OK;
    if (values->count > 0)
        qsort(values->list, values->count, sizeof *values->list, by_time);
    for (size_t i = 0; i < values->count; i++) {
        without_step = without_step && values->list[i].step == 0;
        times_differ = times_differ || values->list[i].time != values->list[0].time;
    }
    without_step = without_step && times_differ;
    log->counts[METRICS_STEPS_BY_ORDER] += without_step;
    for (size_t i = 0; i < values->count && status == ASSAY_OK; i++) {
        const mlflow_value *v = &values->list[i];
        log->at.line = log->at.what ? 0 : v->order;
        status = metrics_put(log, key, length, 0, without_step ? (int64_t)i : v->step, v->value);
    }
    values->count = 0;
    return status;
}

int mlflow_param(metrics_log *log, const char *key, const char *value, size_t length)
{
    char name[TEXT + 16];
    snprintf(name, sizeof name, "config.%.*s", TEXT, key);
    return metrics_fact(log, name, value, length);
}

int mlflow_tag(metrics_log *log, const char *key, const char *value, size_t length)
{
    static const char *const known[][2] = {{"mlflow.user", "user"},
                                           {"mlflow.source.name", "command"},
                                           {"mlflow.source.git.commit", "commit"},
                                           {"mlflow.source.git.branch", "branch"}};
    char name[TEXT + 16];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i][0], key) == 0)
            return metrics_fact(log, known[i][1], value, length);
    if (strncmp(key, "mlflow.", 7) == 0)
        return ASSAY_OK;
    snprintf(name, sizeof name, "tags.%.*s", TEXT, key);
    return metrics_fact(log, name, value, length);
}

int mlflow_put_facts(metrics_log *log, const mlflow_facts *f)
{
    const char *const texts[][2] = {
        {"name", f->name}, {"run_id", f->id}, {"experiment", f->experiment}, {"status", f->status}, {"user", f->user}};
    int status = ASSAY_OK;
    for (size_t i = 0; i < sizeof texts / sizeof *texts && status == ASSAY_OK; i++)
        if (texts[i][1] && *texts[i][1])
            status = metrics_fact(log, texts[i][0], texts[i][1], strlen(texts[i][1]));
    ASSAY_THEN(status, metrics_fact_time(log, "started", f->started / 1000));
    ASSAY_THEN(status, metrics_fact_time(log, "ended", f->ended / 1000));
    log->running = f->status && strcmp(f->status, "RUNNING") == 0;
    log->ended = f->status && !log->running && strcmp(f->status, "SCHEDULED") != 0;
    return status;
}

/* ---- files ---- */

static const char *const META_KEYS[] = {"run_id",  "run_uuid",        "run_name", "name",       "experiment_id",
                                        "user_id", "lifecycle_stage", "status",   "start_time", "end_time",
                                        NULL};
enum { RUN_ID, RUN_UUID, RUN_NAME, NAME, EXPERIMENT_ID, USER_ID, LIFECYCLE_STAGE, STATUS, START_TIME, END_TIME };

enum { FINISHED = 3 }; /* of a run's states; FAILED and KILLED are behind it */

typedef struct meta { /* of a run or an experiment */
    char run[TEXT], run_name[TEXT], name[TEXT], experiment[TEXT], user[TEXT];
    bool deleted, hole,
        torn; /* hole: it has zero bytes, which nobody writes into YAML; torn: its last line has no end */
    int status;
    int64_t started, ended;
    assay_keys keys;
} meta;

/* Is it that of a run whose id is not known, since the key is damaged? */
static bool lacks_id(const meta *m)
{
    const char *key = assay_keys_damaged(&m->keys);
    return !*m->run && (key == META_KEYS[RUN_ID] || key == META_KEYS[RUN_UUID]);
}

static void name_zeros(assay_problems *problems, assay_problem_kind kind, const char *path)
{
    assay_problems_add(
        problems, kind, -1, path, -1,
        "%s: has zero bytes, which MLflow does not write; what stood there is missing from this analysis", path);
}

/* Names a damaged key, of an experiment once. */
static void name_damaged(const meta *m, assay_problems *problems, const char *path)
{
    const char *key = assay_keys_damaged(&m->keys);
    if (key)
        assay_problems_add(problems, lacks_id(m) ? ASSAY_PROBLEM_HEADER : ASSAY_PROBLEM_KEY, -1, path, -1,
                           "%s: a key that should be \"%s\" is damaged; what it had is missing from this analysis",
                           path, key);
}

static int take_meta(void *context, const char *key, const char *value)
{
    meta *m = context;
    double number = 0;
    const bool is_number = metrics_number(value, strlen(value), &number) && fabs(number) < 1e18;
    switch (assay_keys_find_flipped(&m->keys, key, strlen(key))) {
    case RUN_ID:
        snprintf(m->run, TEXT, "%s", value);
        break;
    case RUN_UUID:
        if (!*m->run)
            snprintf(m->run, TEXT, "%s", value);
        break;
    case RUN_NAME:
        snprintf(m->run_name, TEXT, "%s", value);
        break;
    case NAME:
        snprintf(m->name, TEXT, "%s", value);
        break;
    case EXPERIMENT_ID:
        snprintf(m->experiment, TEXT, "%s", value);
        break;
    case USER_ID:
        snprintf(m->user, TEXT, "%s", value);
        break;
    case LIFECYCLE_STAGE:
        m->deleted = strcmp(value, "deleted") == 0;
        break;
    case STATUS:
        m->status = is_number && number >= 1 && number <= 5 ? (int)number : 0;
        break;
    case START_TIME:
        m->started = is_number ? (int64_t)number : 0;
        break;
    case END_TIME:
        m->ended = is_number ? (int64_t)number : 0;
        break;
    default:
        break;
    }
    return ASSAY_OK;
}

/* Reads a meta.yaml. 1; 0: there is none, or one that is too large; a status. */
static int read_meta(assay_store *store, const char *path, meta *out, assay_error *err)
{
    assay_buf text = ASSAY_BUF(META_MOST);
    *out = (meta){.keys = {.known = META_KEYS}};
    int status = assay_store_read(store, path, META_MOST, &text, err);
    if (status == ASSAY_OK)
        metrics_yaml((const char *)text.data, text.size, take_meta, out);
    out->hole = status == ASSAY_OK && text.size > 0 && memchr(text.data, '\0', text.size);
    out->torn = status == ASSAY_OK && text.size > 0 && text.data[text.size - 1] != '\n';
    assay_buf_release(&text);
    return status == ASSAY_OK ? 1 : status == ASSAY_ENOTFOUND || status == ASSAY_EBUDGET ? 0 : status;
}

static int proven(assay_store *store, const metrics_file *file, assay_error *err)
{
    meta m;
    if (is_db(file->path))
        return mlflow_db_proven(store, file, err);
    const int status = read_meta(store, file->path, &m, err);
    const bool lost = m.hole && strcmp(metrics_base(file->path), META) == 0; /* of others zero bytes say nothing */
    return status == 1 ? *m.run != '\0' || lacks_id(&m) || lost : status;
}

/* A small text file below a run's directory. */
static int read_text(assay_store *store, const char *directory, const char *name, assay_buf *out)
{
    char path[ASSAY_PATH_ROOM];
    if (snprintf(path, sizeof path, "%s%s%s", directory, *directory ? "/" : "", name) >= (int)sizeof path)
        return ASSAY_ENOTFOUND;
    const int status = assay_store_read(store, path, TEXT_MOST, out, NULL);
    while (status == ASSAY_OK && out->size > 0 &&
           (out->data[out->size - 1] == '\n' || out->data[out->size - 1] == '\r'))
        out->size--;
    return status;
}

/* "models/NAME/version-3/meta.yaml": a version of a registered model names the run that it comes from, and is none. */
static bool is_registered(const char *path)
{
    static const char version[] = "version-", models[] = "models";
    char above[ASSAY_PATH_ROOM];
    snprintf(above, sizeof above, "%.*s", (int)metrics_directory(path), path);
    if (strncmp(metrics_base(above), version, sizeof version - 1) != 0)
        return false;
    above[metrics_directory(above)] = '\0';
    above[metrics_directory(above)] = '\0';
    return strcmp(metrics_base(above), models) == 0;
}

static int divide_files(metrics_place *p, const metrics_file *file, assay_error *err)
{
    meta own, experiment;
    char parent[ASSAY_PATH_ROOM], key[ASSAY_PATH_ROOM];
    const size_t directory = metrics_directory(file->path);
    if (is_registered(file->path))
        return ASSAY_OK;
    int status = read_meta(p->store, file->path, &own, err);
    if (status != 1)
        return status;
    snprintf(key, sizeof key, "%.*s", (int)directory, file->path);
    const size_t above = metrics_directory(key);
    snprintf(parent, sizeof parent, "%.*s%s%s", (int)above, key, above ? "/" : "", META);
    status = directory > 0 ? read_meta(p->store, parent, &experiment, err) : 0;
    if (status < 0)
        return status;
    if (status == 0)
        experiment = (meta){0};
    if (own.hole) /* an experiment's is a file of its own here */
        name_zeros(&p->problems, ASSAY_PROBLEM_HEADER, file->path);
    if (own.torn)
        assay_problems_add(&p->problems, ASSAY_PROBLEM_HEADER, -1, file->path, -1,
                           "%s: it ends within a line; what stood behind it, as the run's state, is not known",
                           file->path);
    name_damaged(&own, &p->problems, file->path);
    name_damaged(&experiment, &p->problems, parent);
    if (lacks_id(&own) || !*own.run)
        return ASSAY_OK;
    if (status == 1 && strcmp(metrics_base(key), own.run) != 0) /* in an experiment MLflow calls it by its id */
        assay_problems_add(&p->problems, ASSAY_PROBLEM_NAME, -1, file->path, -1,
                           "%s: run_id is %.64s, and the directory has another name: the run may lie in the place of "
                           "another one",
                           file->path, own.run);
    if (own.deleted || experiment.deleted) {
        p->counts[METRICS_DELETED_RUNS]++;
        return ASSAY_OK;
    }
    if (assay_dict_find(p->run_keys, own.run, strlen(own.run)) != ASSAY_NO_ID) {
        p->counts[METRICS_RUN_TWICE]++;
        return ASSAY_OK;
    }
    if (!*own.run_name) {
        assay_buf text = ASSAY_BUF(TEXT_MOST);
        if (read_text(p->store, key, "tags/mlflow.runName", &text) == ASSAY_OK)
            snprintf(own.run_name, TEXT, "%.*s", (int)text.size, text.size ? (const char *)text.data : "");
        assay_buf_release(&text);
    }
    metrics_run *run = metrics_place_run_of(p, own.run, *own.run_name ? own.run_name : own.run, own.run);
    if (!run || metrics_run_add_file(run, file) != ASSAY_OK)
        return ASSAY_ENOMEM;
    const char *id = *own.experiment ? own.experiment : metrics_base(above ? parent : "");
    free(run->base);
    run->base = assay_copy_text(key);
    run->experiment = assay_copy_text(*experiment.name ? experiment.name : id);
    run->experiment_id = assay_copy_text(*experiment.experiment ? experiment.experiment : id);
    return run->base && run->experiment && run->experiment_id ? ASSAY_OK : ASSAY_ENOMEM;
}

static int divide(metrics_place *p, assay_error *err)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < p->count && status == ASSAY_OK; i++)
        if (p->files[i].kind == METRICS_MLFLOW)
            status =
                is_db(p->files[i].path) ? mlflow_db_divide(p, &p->files[i], err) : divide_files(p, &p->files[i], err);
    return status;
}

/* ---- a run's files ---- */

typedef struct reader {
    metrics_log *log;
    mlflow_values values;
    const char *key; /* of the file: its path below the directory */
    bool system;
    bool over; /* the run has ended */
    assay_error *err;
} reader;

/* The next part between blanks; its length, 0: there is none. */
static size_t next_field(const char **at, const char *end, const char **field)
{
    while (*at < end && (**at == ' ' || **at == '\t' || **at == '\r'))
        (*at)++;
    *field = *at;
    while (*at < end && **at != ' ' && **at != '\t' && **at != '\r')
        (*at)++;
    return (size_t)(*at - *field);
}

/* A whole number with a sign; false: it is none. Beyond what a step can be it is -1. */
static bool whole(const char *text, size_t length, int64_t *value)
{
    const char *end = text + length, *p = text + (length > 0 && *text == '-');
    const bool negative = p > text;
    return p < end && assay_is_digit(*p) && metrics_take_digits(&p, end, value) && p == end &&
           (negative ? (*value = *value == 0 ? 0 : -1, true) : true);
}

static int take_line(void *context, const char *line, size_t length)
{
    reader *r = context;
    const char *at = line, *end = line + length, *field[6] = {NULL};
    size_t size[6] = {0}, count = 0;
    mlflow_value v = {.order = r->log->at.line};
    double time = 0;
    while (count < 6 && (size[count] = next_field(&at, end, &field[count])) > 0)
        count++;
    if (r->system)
        return ASSAY_OK;
    if ((count != 2 && count != 3 && count != 5) || !metrics_number(field[0], size[0], &time) || fabs(time) > 1e18 ||
        !metrics_number(field[1], size[1], &v.value) || (count > 2 && !whole(field[2], size[2], &v.step)))
        return 1;
    v.time = (int64_t)time;
    v.value = mlflow_number(v.value);
    mlflow_value *added = assay_vec_add(&r->values.list, &r->values.count, &r->values.room, sizeof *added);
    ASSAY_HAVE(added);
    *added = v;
    return ASSAY_OK;
}

static int take_metric(reader *r, const char *path)
{
    r->system = mlflow_is_system(r->key, strlen(r->key));
    r->log->counts[METRICS_SYSTEM_METRICS] += r->system;
    r->log->file_count++;
    const uint64_t lines = r->log->counts[METRICS_LINES], growing = r->log->counts[METRICS_GROWING];
    int status = metrics_read_lines(r->log, path, take_line, r, r->err);
    const bool has_lines = lines != r->log->counts[METRICS_LINES], cut = growing != r->log->counts[METRICS_GROWING];
    if (status == ASSAY_OK && !has_lines && !cut)
        assay_problems_add(r->log->problems, ASSAY_PROBLEM_HEADER, -1, path, -1,
                           "%s: empty; MLflow leaves no such files", path);
    /* Single lines are counted, as those of any log. But a series that is gone is seen by nobody. */
    else if (status == ASSAY_OK && !r->system && r->values.count == 0 && (has_lines || r->over))
        assay_problems_add(r->log->problems, ASSAY_PROBLEM_RECORD, -1, path, -1,
                           "%s: no line of it is a time, a value and a step; the metric is missing", path);
    return status == ASSAY_OK ? mlflow_put(r->log, r->key, strlen(r->key), &r->values) : status;
}

static int take_small(reader *r, const char *path, bool tag)
{
    assay_buf text = ASSAY_BUF(TEXT_MOST);
    int status = read_text(r->log->store, "", path, &text);
    if (status == ASSAY_OK) {
        const char *value = text.size ? (const char *)text.data : "";
        if (text.size > 0 && memchr(value, '\0', text.size))
            name_zeros(r->log->problems, ASSAY_PROBLEM_FACTS, path);
        status = tag ? mlflow_tag(r->log, r->key, value, text.size) : mlflow_param(r->log, r->key, value, text.size);
    } else if (status != ASSAY_ENOMEM) {
        assay_problems_add(r->log->problems, ASSAY_PROBLEM_FACTS, -1, path, -1, "%s: cannot be read", path);
        status = ASSAY_OK;
    }
    assay_buf_release(&text);
    return status;
}

typedef enum what { METRIC, PARAM, TAG } what;

/* Every file below a directory, whose path below it is the key. */
static int walk(reader *r, const char *directory, size_t skip, what kind, int depth)
{
    assay_names names = {0};
    char path[ASSAY_PATH_ROOM];
    int status = assay_store_list(r->log->store, directory, &names, NULL);
    if (status != ASSAY_OK && status != ASSAY_ENOMEM && depth > 0)
        assay_problems_name_directory(r->log->problems, r->log->store, directory);
    if (status != ASSAY_OK)
        return status == ASSAY_ENOMEM ? status : ASSAY_OK;
    if (names.count == 0 && depth > 0)
        assay_problems_add(r->log->problems, ASSAY_PROBLEM_UNSEEN, -1, directory, -1,
                           "%s: an empty directory; MLflow leaves none", directory);
    for (size_t i = 0; i < names.count && status == ASSAY_OK; i++) {
        if (snprintf(path, sizeof path, "%s/%s", directory, names.name[i]) >= (int)sizeof path)
            continue;
        r->key = path + skip;
        if (assay_store_exists(r->log->store, path, NULL) == 1)
            status = kind == METRIC ? take_metric(r, path) : take_small(r, path, kind == TAG);
        else if (depth < DEEPEST)
            status = walk(r, path, skip, kind, depth + 1);
        else
            assay_problems_add(r->log->problems, ASSAY_PROBLEM_READ, -1, path, -1,
                               "%s: more than %d directories deep; what lies in it is missing from this analysis", path,
                               DEEPEST);
    }
    assay_names_release(&names);
    return status;
}

static int read(metrics_log *log, const metrics_place *place, const metrics_run *run, assay_error *err)
{
    static const char *const directories[] = {"metrics", "params", "tags", NULL};
    static const char *const states[] = {NULL, "RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED"};
    meta own;
    (void)place;
    if (is_db(run->files[0]->path))
        return mlflow_db_read(log, run, err);
    int status = read_meta(log->store, run->files[0]->path, &own, err);
    if (status != 1)
        return status;
    reader r = {.log = log, .err = err, .over = own.status >= FINISHED};
    assay_names names = {0};
    status = assay_store_list(log->store, run->base, &names, NULL);
    if (status == ASSAY_OK)
        assay_problems_name_damaged(log->problems, &names, run->base, directories);
    assay_names_release(&names);
    status = status == ASSAY_ENOMEM ? status : ASSAY_OK;
    for (int k = METRIC; k <= TAG && status == ASSAY_OK; k++) {
        char path[ASSAY_PATH_ROOM];
        snprintf(path, sizeof path, "%s%s%s", run->base, *run->base ? "/" : "", directories[k]);
        assay_problems_name_file(log->problems, log->store, -1, path);
        status = walk(&r, path, strlen(path) + 1, (what)k, 0);
    }
    free(r.values.list);
    const mlflow_facts facts = {.name = own.run_name,
                                .id = own.run,
                                .experiment = run->experiment,
                                .status = states[own.status],
                                .user = own.user,
                                .started = own.started,
                                .ended = own.ended};
    return status == ASSAY_OK ? mlflow_put_facts(log, &facts) : status;
}

const metrics_kind metrics_mlflow = {
    .name = "mlflow", .named = named, .proven = proven, .divide = divide, .read = read, .sure = sure};
