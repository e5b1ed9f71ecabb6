/* mlflow_db.c - the one place that meets SQLite: MLflow's databases, read only.
 *
 * The bytes are a stranger's. Nothing but plain tables is read, by statements that an authorizer allows: no views, no
 * virtual tables, no extensions, no attached files; and what they may cost is bounded. Nothing is written beside the
 * store: with a log of changes beside it, both are copied first. */
#include <sqlite3.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/file.h"
#include "format/metrics/mlflow.h"

enum {
    PAGE_HEAD = 100, /* bytes of the head of a database */
    COUNTER_AT = 24, /* in it: the counter of changes */
    TRIES = 3,
    VALUE_MOST = 16 << 20,
    PROGRESS = 1 << 20 /* steps of SQLite's machine between two looks at the budget */
};

typedef struct database {
    sqlite3 *handle;
    char *place, *copy; /* where it lies, and the directory of a copy (NULL: none); owned */
    uint64_t device, node, size, log_size, budget, used;
    uint8_t counter[4];
} database;

/* The last one stays open: ten thousand runs of one database are read from it. Ranks have one thread that lists. */
static database kept;

static void remove_copy(const char *directory)
{
    static const char *const ends[] = {"", "-wal", "-journal", "-shm"};
    char path[ASSAY_PATH_ROOM];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(path, sizeof path, "%s/copy.db%s", directory, ends[i]);
        unlink(path);
    }
    rmdir(directory);
}

static void close_kept(void)
{
    sqlite3_close_v2(kept.handle);
    if (kept.copy)
        remove_copy(kept.copy);
    free(kept.copy);
    free(kept.place);
    kept = (database){0};
}

static void close_at_exit(void)
{
    static bool asked;
    if (!asked)
        atexit(close_kept);
    asked = true;
}

/* What tells whether the files changed. */
static bool take_stamp(const char *path, database *out)
{
    struct stat about, log;
    char beside[ASSAY_PATH_ROOM];
    if (stat(path, &about) != 0)
        return false;
    out->device = (uint64_t)about.st_dev;
    out->node = (uint64_t)about.st_ino;
    out->size = (uint64_t)about.st_size;
    snprintf(beside, sizeof beside, "%s-wal", path);
    out->log_size = stat(beside, &log) == 0 ? (uint64_t)log.st_size : 0;
    snprintf(beside, sizeof beside, "%s-journal", path);
    out->log_size += stat(beside, &log) == 0 ? (uint64_t)log.st_size : 0;
    const int number = assay_file_open(path, NULL);
    const bool whole = number >= 0 && pread(number, out->counter, 4, COUNTER_AT) == 4;
    if (number >= 0)
        close(number);
    return whole;
}

static bool is_same(const database *a, const database *b)
{
    return a->device == b->device && a->node == b->node && a->size == b->size && a->log_size == b->log_size &&
           memcmp(a->counter, b->counter, sizeof a->counter) == 0;
}

static int copy_file(const char *from, const char *to)
{
    uint8_t *block = assay_alloc(1 << 20);
    const int in = assay_file_open(from, NULL);
    const int out = in >= 0 && block ? open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    ssize_t got = 0;
    bool good = out >= 0;
    while (good && (got = read(in, block, 1 << 20)) > 0)
        good = write(out, block, (size_t)got) == got;
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    free(block);
    return good && got == 0 ? ASSAY_OK : in < 0 ? ASSAY_ENOTFOUND : ASSAY_EIO;
}

/* Copies the database and what stands beside it; the directory is the caller's to remove. */
static int make_copy(const char *path, char **directory, assay_error *err)
{
    static const char *const ends[] = {"", "-wal", "-journal"};
    const char *temporary = getenv("TMPDIR");
    char from[ASSAY_PATH_ROOM], to[ASSAY_PATH_ROOM], made[ASSAY_PATH_ROOM];
    snprintf(made, sizeof made, "%.3000s/assay-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(made))
        return assay_fail(err, ASSAY_EIO, "%s: cannot make a directory for a copy in %.300s (TMPDIR)", path, made);
    *directory = assay_copy_text(made);
    for (size_t i = 0; i < sizeof ends / sizeof *ends && *directory; i++) {
        snprintf(from, sizeof from, "%.3000s%s", path, ends[i]);
        snprintf(to, sizeof to, "%.3000s/copy.db%s", made, ends[i]);
        const int status = copy_file(from, to);
        if (status != ASSAY_OK && !(status == ASSAY_ENOTFOUND && i > 0))
            return assay_fail(err, ASSAY_EIO, "%s: cannot copy it to %.300s (TMPDIR)", from, made);
    }
    return *directory ? ASSAY_OK : ASSAY_ENOMEM;
}

static int spend(void *context)
{
    database *d = context;
    d->used++;
    return d->used > d->budget;
}

/* Lets statements read columns, and nothing else. */
static int authorize(void *context, int action, const char *a, const char *b, const char *c, const char *d)
{
    (void)context;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return action == SQLITE_SELECT || action == SQLITE_READ ? SQLITE_OK : SQLITE_DENY;
}

static int open_handle(const char *path, bool copied, database *d, assay_error *err)
{
    char name[3 * ASSAY_PATH_ROOM];
    size_t used = (size_t)snprintf(name, sizeof name, "file:");
    for (const char *p = path; *p && used + 4 < sizeof name - 64; p++) {
        if (*p == '?' || *p == '#' || *p == '%' || (unsigned char)*p < 0x21)
            used += (size_t)snprintf(name + used, 4, "%%%02X", (unsigned char)*p);
        else
            name[used++] = *p;
    }
    snprintf(name + used, sizeof name - used, copied ? "?mode=rw" : "?mode=ro&immutable=1");
    const int flags = SQLITE_OPEN_URI | (copied ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
    const int rc = sqlite3_open_v2(name, &d->handle, flags, NULL);
    if (rc != SQLITE_OK)
        return assay_fail(err, rc == SQLITE_NOMEM ? ASSAY_ENOMEM : ASSAY_EFORMAT, "%s: SQLite cannot open it: %s", path,
                          d->handle ? sqlite3_errmsg(d->handle) : sqlite3_errstr(rc));
    sqlite3_db_config(d->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(d->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(d->handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    sqlite3_db_config(d->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(d->handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_limit(d->handle, SQLITE_LIMIT_LENGTH, VALUE_MOST);
    sqlite3_limit(d->handle, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_set_authorizer(d->handle, authorize, NULL);
    d->budget = (d->size + d->log_size) / 1024 + 10000; /* a thousand steps a byte: more than any sound table takes */
    sqlite3_progress_handler(d->handle, PROGRESS, spend, d);
    return ASSAY_OK;
}

/* Opens a database, or takes the one that is open. */
static int open_database(assay_store *store, const char *file, database **out, assay_error *err)
{
    char path[ASSAY_PATH_ROOM];
    database now = {0};
    *out = &kept;
    if (!assay_store_local_path(store, file, path, sizeof path))
        return assay_fail(err, ASSAY_EUNSUPPORTED, "%s: databases are read where they lie in a directory", file);
    if (!take_stamp(path, &now))
        return assay_fail(err, ASSAY_EIO, "%s: cannot be read", file);
    if (kept.handle && strcmp(kept.place, path) == 0 && is_same(&kept, &now)) {
        kept.used = 0;
        return ASSAY_OK;
    }
    close_kept();
    int status = ASSAY_EIO;
    for (int i = 0; i < TRIES; i++) {
        database after = {0};
        char *copy = NULL;
        if (!take_stamp(path, &now))
            return assay_fail(err, ASSAY_EIO, "%s: cannot be read", file);
        const bool copied = now.log_size > 0;
        status = copied ? make_copy(path, &copy, err) : ASSAY_OK;
        if (status == ASSAY_OK && take_stamp(path, &after) && is_same(&now, &after)) {
            char inside[ASSAY_PATH_ROOM];
            snprintf(inside, sizeof inside, "%.4000s/copy.db", copy ? copy : "");
            kept = now;
            kept.copy = copy;
            kept.place = assay_copy_text(path);
            status = kept.place ? open_handle(copied ? inside : path, copied, &kept, err) : ASSAY_ENOMEM;
            if (status != ASSAY_OK)
                close_kept();
            else
                close_at_exit();
            return status;
        }
        if (copy)
            remove_copy(copy);
        free(copy);
        if (status != ASSAY_OK)
            return status;
    }
    return assay_fail(err, ASSAY_EIO, "%s: busy: it changed while it was read, three times", file);
}

/* ---- statements ---- */

static int wrong(database *d, const char *file, assay_error *err)
{
    const int code = sqlite3_errcode(d->handle);
    if (code == SQLITE_NOMEM)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", file);
    return assay_fail(err, ASSAY_EFORMAT, "%s: SQLite cannot read it: %s", file,
                      code == SQLITE_INTERRUPT ? "it takes far more work than its bytes" : sqlite3_errmsg(d->handle));
}

static int prepare(database *d, const char *file, const char *text, sqlite3_stmt **out, assay_error *err)
{
    return sqlite3_prepare_v2(d->handle, text, -1, out, NULL) == SQLITE_OK ? ASSAY_OK : wrong(d, file, err);
}

/* The next row: 1; 0 at the end; a status. */
static int next_row(database *d, const char *file, sqlite3_stmt *statement, assay_error *err)
{
    const int rc = sqlite3_step(statement);
    return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : wrong(d, file, err);
}

/* Is there a plain table of that name? 1, 0 or a status. */
static int has_table(database *d, const char *file, const char *name, assay_error *err)
{
    sqlite3_stmt *s = NULL;
    int status = prepare(d, file, "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?1", &s, err);
    if (status != ASSAY_OK)
        return status;
    sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    status = next_row(d, file, s, err);
    const char *sql = status == 1 ? (const char *)sqlite3_column_text(s, 0) : NULL;
    if (status == 1 && (!sql || sqlite3_strnicmp(sql, "CREATE VIRTUAL", 14) == 0))
        status = 0;
    sqlite3_finalize(s);
    return status;
}

/* The name of a column where the table has it, else what stands for it. */
static const char *column(database *d, const char *table, const char *name, const char *otherwise)
{
    return sqlite3_table_column_metadata(d->handle, NULL, table, name, NULL, NULL, NULL, NULL, NULL) == SQLITE_OK
               ? name
               : otherwise;
}

int mlflow_db_proven(assay_store *store, const metrics_file *file, assay_error *err)
{
    static const char head[16] = "SQLite format 3", *const tables[] = {"runs", "metrics", "experiments"};
    assay_store_file *open_file = NULL;
    char found[PAGE_HEAD];
    size_t got = 0;
    database *d = NULL;
    assay_error why = {{0}};
    int status = assay_store_open_file(store, file->path, &open_file, err);
    if (status != ASSAY_OK)
        return status;
    status = assay_store_read_at(open_file, 0, found, sizeof found, &got, err);
    assay_store_close_file(open_file);
    if (status != ASSAY_OK || got < sizeof found || memcmp(found, head, sizeof head) != 0)
        return status == ASSAY_OK ? 0 : status;
    status = open_database(store, file->path, &d, &why);
    int there = 1;
    for (size_t i = 0; i < sizeof tables / sizeof *tables && status == ASSAY_OK && there == 1; i++)
        there = has_table(d, file->path, tables[i], &why);
    if (status != ASSAY_OK || there < 0) /* what SQLite cannot read is damage */
        return assay_fail(err, status == ASSAY_OK ? there : status, "%s", why.text);
    return there;
}

static const char *text_at(sqlite3_stmt *s, int i)
{
    const char *text = (const char *)sqlite3_column_text(s, i);
    return text ? text : "";
}

static int add_run(metrics_place *p, const metrics_file *file, sqlite3_stmt *s)
{
    const char *id = text_at(s, 0), *name = text_at(s, 1);
    if (strcmp(text_at(s, 2), "deleted") == 0 || strcmp(text_at(s, 4), "deleted") == 0) {
        p->counts[METRICS_DELETED_RUNS]++;
        return ASSAY_OK;
    }
    if (assay_dict_find(p->run_keys, id, strlen(id)) != ASSAY_NO_ID) {
        p->counts[METRICS_RUN_TWICE]++;
        return ASSAY_OK;
    }
    metrics_run *run = metrics_place_run_of(p, id, *name ? name : id, id);
    if (!run || metrics_run_add_file(run, file) != ASSAY_OK)
        return ASSAY_ENOMEM;
    run->experiment = assay_copy_text(*text_at(s, 3) ? text_at(s, 3) : text_at(s, 5));
    run->experiment_id = assay_copy_text(text_at(s, 5));
    return run->experiment && run->experiment_id ? ASSAY_OK : ASSAY_ENOMEM;
}

/* Between which rows the values of each run lie, so that reading a run does not read those of all others. */
static int find_rows(metrics_place *p, database *d, const char *file, assay_error *err)
{
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(d->handle, "SELECT rowid, run_uuid FROM metrics", -1, &s, NULL) != SQLITE_OK)
        return ASSAY_OK; /* a table without such numbers: all of it is looked at for each run */
    int status = 0;
    while ((status = next_row(d, file, s, err)) == 1) {
        const char *id = text_at(s, 1);
        const uint32_t number = assay_dict_find(p->run_keys, id, strlen(id));
        const uint64_t row = (uint64_t)sqlite3_column_int64(s, 0);
        if (number == ASSAY_NO_ID)
            continue;
        metrics_run *run = &p->runs[number];
        run->first_row = run->last_row == 0 || row < run->first_row ? row : run->first_row;
        run->last_row = row > run->last_row ? row : run->last_row;
    }
    sqlite3_finalize(s);
    return status;
}

/* Names what stands behind the last page that the head counts, or is missing before it, of a database that keeps its count. SQLite
 * itself reads what is left of a page as if the rest had never been written. */
static void name_end(metrics_place *p, const metrics_file *file)
{
    enum { PAGE_SIZE_AT = 16, CHANGES_AT = 24, PAGES_AT = 28, VALID_AT = 92 };
    uint8_t head[PAGE_HEAD];
    /* Where the head cannot be read, opening the file as a database tells why. */
    if (assay_store_read_head(p->store, file->path, head, sizeof head) < sizeof head)
        return;
    if (memcmp(head + CHANGES_AT, head + VALID_AT, 4) != 0)
        return;
    const uint64_t page = (uint64_t)head[PAGE_SIZE_AT] << 8 | head[PAGE_SIZE_AT + 1];
    uint64_t pages = 0;
    for (int i = 0; i < 4; i++)
        pages = pages << 8 | head[PAGES_AT + i];
    const uint64_t end = pages * (page == 1 ? 65536 : page);
    if (pages > 0 && file->size > end)
        assay_problems_add(&p->problems, ASSAY_PROBLEM_BEHIND, -1, file->path, (int64_t)end,
                           "%s: %llu bytes stand behind its last page, which SQLite does not read", file->path,
                           (unsigned long long)(file->size - end));
    if (pages > 0 && file->size < end)
        assay_problems_add(&p->problems, ASSAY_PROBLEM_SHORT, -1, file->path, (int64_t)file->size,
                           "%s: the file ends early: %llu bytes of its last pages are missing, and rows with them",
                           file->path, (unsigned long long)(end - file->size));
}

int mlflow_db_divide(metrics_place *p, const metrics_file *file, assay_error *err)
{
    database *d = NULL;
    sqlite3_stmt *s = NULL;
    char text[1024];
    assay_error why = {{0}};
    name_end(p, file);
    int status = open_database(p->store, file->path, &d, &why);
    if (status == ASSAY_OK) {
        snprintf(text, sizeof text,
                 "SELECT r.run_uuid, r.%s, r.%s, e.name, e.%s, r.experiment_id FROM runs r "
                 "LEFT JOIN experiments e ON e.experiment_id = r.experiment_id",
                 column(d, "runs", "name", "run_uuid"), column(d, "runs", "lifecycle_stage", "run_uuid"),
                 column(d, "experiments", "lifecycle_stage", "name"));
        status = prepare(d, file->path, text, &s, &why);
    }
    while (status == ASSAY_OK && (status = next_row(d, file->path, s, &why)) == 1)
        status = add_run(p, file, s);
    sqlite3_finalize(s);
    ASSAY_THEN(status, find_rows(p, d, file->path, &why));
    if (status == ASSAY_EFORMAT || status == ASSAY_EIO) {
        assay_problems_add(&p->problems, ASSAY_PROBLEM_HEADER, -1, file->path, -1, "%s", why.text);
        status = ASSAY_OK;
    }
    return status < 0 ? assay_fail(err, status, "%s", why.text) : ASSAY_OK;
}

/* ---- a run ---- */

/* The values of a run by key. */
typedef struct keys {
    assay_dict *names;
    mlflow_values *list;
    size_t count, room;
} keys;

static int take_row(metrics_log *log, keys *k, sqlite3_stmt *s, size_t order)
{
    const char *key = text_at(s, 0);
    const size_t length = (size_t)sqlite3_column_bytes(s, 0);
    const bool is_nan = sqlite3_column_int(s, 4) != 0;
    const int type = sqlite3_column_type(s, 1);
    const uint32_t number = assay_dict_add(k->names, key, length);
    if (number == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    if (number == k->count) {
        ASSAY_HAVE(assay_vec_add(&k->list, &k->count, &k->room, sizeof *k->list));
        log->counts[METRICS_SYSTEM_METRICS] += mlflow_is_system(key, length);
    }
    if (mlflow_is_system(key, length))
        return ASSAY_OK;
    double value = sqlite3_column_double(s, 1);
    if (type == SQLITE_TEXT && !is_nan && !metrics_number(text_at(s, 1), (size_t)sqlite3_column_bytes(s, 1), &value)) {
        metrics_add(log, METRICS_TEXTS);
        return ASSAY_OK;
    }
    if ((type == SQLITE_NULL || type == SQLITE_BLOB) && !is_nan) {
        metrics_add(log, METRICS_OTHER_VALUES);
        return ASSAY_OK;
    }
    mlflow_values *values = &k->list[number];
    mlflow_value *added = assay_vec_add(&values->list, &values->count, &values->room, sizeof *added);
    ASSAY_HAVE(added);
    const int64_t step = sqlite3_column_int64(s, 3);
    *added = (mlflow_value){.time = sqlite3_column_int64(s, 2),
                            .step = step < 0 || step >= METRICS_STEP_END ? -1 : step,
                            .value = is_nan ? (double)__builtin_nan("") : mlflow_number(value),
                            .order = order};
    return ASSAY_OK;
}

static int read_values(metrics_log *log, database *d, const metrics_run *run, keys *k, assay_error *err)
{
    const char *file = run->files[0]->path;
    sqlite3_stmt *s = NULL;
    char text[512];
    const bool rows = run->last_row > 0;
    snprintf(text, sizeof text, "SELECT key, value, timestamp, %s, %s FROM metrics WHERE %srun_uuid = ?1%s",
             column(d, "metrics", "step", "0"), column(d, "metrics", "is_nan", "0"),
             rows ? "rowid BETWEEN ?2 AND ?3 AND +" : "", rows ? " ORDER BY rowid" : "");
    int status = prepare(d, file, text, &s, err);
    if (status != ASSAY_OK)
        return status;
    sqlite3_bind_text(s, 1, run->id, -1, SQLITE_STATIC);
    if (rows) {
        sqlite3_bind_int64(s, 2, (int64_t)run->first_row);
        sqlite3_bind_int64(s, 3, (int64_t)run->last_row);
    }
    for (size_t order = 0; (status = next_row(d, file, s, err)) == 1; order++)
        if ((status = take_row(log, k, s, order)) != ASSAY_OK)
            break;
    sqlite3_finalize(s);
    log->at = (metrics_spot){.path = file, .what = "metrics"};
    for (size_t i = 0; i < k->count && status == ASSAY_OK; i++) {
        size_t length = 0;
        const char *key = assay_dict_name(k->names, (uint32_t)i, &length);
        status = mlflow_put(log, key, length, &k->list[i]);
    }
    return status;
}

/* Parameters or tags. */
static int read_pairs(metrics_log *log, database *d, const metrics_run *run, bool tags, assay_error *err)
{
    const char *file = run->files[0]->path, *table = tags ? "tags" : "params";
    sqlite3_stmt *s = NULL;
    char text[128];
    int status = has_table(d, file, table, err);
    if (status != 1)
        return status;
    snprintf(text, sizeof text, "SELECT key, value FROM %s WHERE run_uuid = ?1", table);
    status = prepare(d, file, text, &s, err);
    if (status != ASSAY_OK)
        return status;
    sqlite3_bind_text(s, 1, run->id, -1, SQLITE_STATIC);
    while ((status = next_row(d, file, s, err)) == 1) {
        const char *value = text_at(s, 1);
        status = tags ? mlflow_tag(log, text_at(s, 0), value, strlen(value))
                      : mlflow_param(log, text_at(s, 0), value, strlen(value));
        if (status != ASSAY_OK)
            break;
    }
    sqlite3_finalize(s);
    return status;
}

static int read_facts(metrics_log *log, database *d, const metrics_run *run, assay_error *err)
{
    const char *file = run->files[0]->path;
    sqlite3_stmt *s = NULL;
    char text[512];
    snprintf(text, sizeof text, "SELECT %s, %s, %s, %s, %s FROM runs WHERE run_uuid = ?1",
             column(d, "runs", "name", "NULL"), column(d, "runs", "status", "NULL"),
             column(d, "runs", "user_id", "NULL"), column(d, "runs", "start_time", "0"),
             column(d, "runs", "end_time", "0"));
    int status = prepare(d, file, text, &s, err);
    if (status != ASSAY_OK)
        return status;
    sqlite3_bind_text(s, 1, run->id, -1, SQLITE_STATIC);
    status = next_row(d, file, s, err);
    if (status == 1) {
        const mlflow_facts facts = {.name = *text_at(s, 0) ? text_at(s, 0) : run->name,
                                    .id = run->id,
                                    .experiment = run->experiment,
                                    .status = text_at(s, 1),
                                    .user = text_at(s, 2),
                                    .started = sqlite3_column_int64(s, 3),
                                    .ended = sqlite3_column_int64(s, 4)};
        status = mlflow_put_facts(log, &facts);
    }
    sqlite3_finalize(s);
    return status;
}

int mlflow_db_read(metrics_log *log, const metrics_run *run, assay_error *err)
{
    database *d = NULL;
    keys k = {.names = assay_dict_new()};
    assay_error why = {{0}};
    int status = k.names ? open_database(log->store, run->files[0]->path, &d, &why) : ASSAY_ENOMEM;
    ASSAY_THEN(status, read_values(log, d, run, &k, &why));
    for (size_t i = 0; i < k.count; i++)
        free(k.list[i].list);
    free(k.list);
    assay_dict_free(k.names);
    ASSAY_THEN(status, read_pairs(log, d, run, false, &why));
    ASSAY_THEN(status, read_pairs(log, d, run, true, &why));
    ASSAY_THEN(status, read_facts(log, d, run, &why));
    if (status == ASSAY_EFORMAT || status == ASSAY_EIO) {
        assay_problems_add(log->problems, ASSAY_PROBLEM_RECORD, -1, run->files[0]->path, -1, "%s", why.text);
        return ASSAY_OK;
    }
    return status < 0 ? assay_fail(err, status, "%s", why.text) : status;
}
