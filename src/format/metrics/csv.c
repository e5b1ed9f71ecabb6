/* csv.c - tables of a row a step: Lightning's and Ultralytics' CSV, and what W&B exports (several runs in one file). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fault.h"
#include "base/hash.h"
#include "base/keys.h"
#include "base/path.h"
#include "format/metrics/one_series.h"
#include "format/metrics/run_column.h"
#include "format/metrics/runs.h"

enum { ROWS_LOOKED_AT = 10, EPISODE_COLUMNS = 3 };

static bool named(const char *name)
{
    return assay_path_ends(name, ".csv") || assay_path_ends(name, ".tsv");
}

/* Most tables are no logs. */
static bool sure(const char *name)
{
    return strcmp(name, "metrics.csv") == 0;
}

/* What else programs call the steps: words of one of these groups, the first that a table has, with others that say which
 * are meant ("time/total_timesteps": behind the last /). */
static const char *const STEP_WORDS[][4] = {{"step", "steps", "timestep", "timesteps"},
                                            {"iteration", "iterations", "iter", "iters"},
                                            {"update", "updates", "nupdates", NULL},
                                            {"epoch", "epochs", NULL, NULL},
                                            {"batch", "batches", NULL, NULL},
                                            {"episode", "episodes", NULL, NULL},
                                            {"round", "rounds", "generation", "generations"}};
enum { STEP_GROUPS = sizeof STEP_WORDS / sizeof *STEP_WORDS };

typedef struct naming {
    const char *const *words;
    size_t count, found, others;
} naming;

static void note_word(void *context, const char *word, size_t length)
{
    static const char *const which[] = {"total", "global", "num",      "n",       "number", "no",
                                        "nr",    "env",    "training", "current", "#"};
    naming *n = context;
    if (metrics_is_among(n->words, n->count, word, length))
        n->found++;
    else if (!metrics_is_among(which, sizeof which / sizeof *which, word, length))
        n->others++;
}

/* Is it a name for steps of the group? Of STEP_GROUPS: are they numbers of rows, as pandas writes them? */
static bool is_step_of_others(const char *name, size_t length, size_t group)
{
    static const char *const rows[] = {"unnamed: 0", ""};
    if (group == STEP_GROUPS)
        return metrics_is_among(rows, sizeof rows / sizeof *rows, name, length);
    const char *slash = memrchr(name, '/', length);
    const size_t from = slash ? (size_t)(slash - name) + 1 : 0;
    naming n = {.words = STEP_WORDS[group]};
    while (n.count < 4 && n.words[n.count])
        n.count++;
    metrics_words(name + from, length - from, note_word, &n);
    return n.found > 0 && n.others == 0;
}

static bool has_loss(const metrics_table *t)
{
    for (size_t i = 0; i < t->columns; i++)
        if (metrics_is_loss(t->column[i], t->length[i]))
            return true;
    return false;
}

static void note_reward(void *context, const char *word, size_t length)
{
    bool *found = context;
    *found = *found || metrics_is_reward_word(word, length);
}

static bool has_reward(const metrics_table *t)
{
    bool found = false;
    for (size_t i = 0; i < t->columns && !found; i++)
        metrics_words(t->column[i], t->length[i], note_reward, &found);
    return found;
}

static const char *const STEP_NAMES[] = {"step",  "global_step", "iteration",         "iter",
                                         "_step", "epoch",       "training_iteration" /* of Ray */};
enum { STEP_NAMES_COUNT = sizeof STEP_NAMES / sizeof *STEP_NAMES };

/* The column of steps; SIZE_MAX: there is none. Other words for it stand in tables of all kinds: there a loss or a
 * reward has to stand beside it, and a loss beside numbers of rows. */
static size_t step_column(const metrics_table *t)
{
    for (size_t n = 0; n < STEP_NAMES_COUNT; n++)
        for (size_t i = 0; i < t->columns; i++)
            if (strcasecmp(t->column[i], STEP_NAMES[n]) == 0 && t->length[i] == strlen(STEP_NAMES[n]))
                return i;
    const bool loss = has_loss(t), figure = loss || has_reward(t);
    for (size_t group = 0; group <= STEP_GROUPS && (group < STEP_GROUPS ? figure : loss); group++)
        for (size_t i = 0; i < t->columns; i++)
            if (is_step_of_others(t->column[i], t->length[i], group))
                return i;
    return SIZE_MAX;
}

/* Where a table has its steps. */
typedef struct step_columns {
    size_t column; /* SIZE_MAX: nowhere */
    size_t epochs; /* the column of epochs beside it, within which steps may count anew; SIZE_MAX: there is none */
} step_columns;

static bool cell_number(const metrics_table *t, size_t column, double *number)
{
    return column < t->csv.count &&
           metrics_number(assay_csv_text(&t->csv, column), t->csv.cells[column].length, number);
}

/* Do the first rows number batches, or the like, within their epochs? 1, 0 or a status. */
static int counts_within(assay_store *store, const metrics_table *t, size_t epochs, size_t column, assay_error *err)
{
    enum { LOOKED_AT = 64 };
    metrics_table again = {0};
    double epoch = 0, number = 0, last_epoch = -1, last = -1;
    unsigned rises = 0, stays = 0;
    int status = metrics_table_open(store, t->path, &again, err);
    if (status != 1)
        return status;
    for (int row = 0; row < LOOKED_AT && (status = assay_csv_next(&again.csv, err)) == 1; row++) {
        if (!cell_number(&again, epochs, &epoch) || !cell_number(&again, column, &number))
            continue;
        rises += epoch == last_epoch && number > last;
        stays += epoch == last_epoch && number <= last;
        last_epoch = epoch;
        last = number;
    }
    metrics_table_close(&again);
    return status < 0 ? status : rises > 0 && stays == 0;
}

/* Of a table with epochs and what is counted within them, the latter is the step. 0 or a status. */
static int find_steps(assay_store *store, const metrics_table *t, step_columns *out, assay_error *err)
{
    enum { STEPS, ITERATIONS, UPDATES, EPOCHS, BATCHES };
    static const size_t finer[] = {STEPS, ITERATIONS, UPDATES, BATCHES};
    *out = (step_columns){step_column(t), SIZE_MAX};
    if (out->column == SIZE_MAX)
        return ASSAY_OK;
    for (size_t i = 0; i < t->columns && out->epochs == SIZE_MAX; i++)
        if (is_step_of_others(t->column[i], t->length[i], EPOCHS))
            out->epochs = i;
    if (out->column != out->epochs)
        return ASSAY_OK;
    out->epochs = SIZE_MAX;
    for (size_t group = 0; group < sizeof finer / sizeof *finer; group++)
        for (size_t i = 0; i < t->columns; i++) {
            const bool is = is_step_of_others(t->column[i], t->length[i], finer[group]);
            const int within = is ? counts_within(store, t, out->column, i, err) : 0;
            if (within < 0)
                return within;
            if (within == 1) {
                *out = (step_columns){i, out->column};
                return ASSAY_OK;
            }
        }
    return ASSAY_OK;
}

/* How far the counting is. */
typedef struct counting {
    double epoch;
    int64_t last, gap, offset;
    bool any;
} counting;

/* The step of a row, whose own number counts anew where the epoch rises and it falls. */
static int64_t count_on(counting *c, const metrics_table *t, const step_columns *s, int64_t own)
{
    double epoch = c->epoch;
    if (s->epochs == SIZE_MAX || !cell_number(t, s->epochs, &epoch))
        return own + c->offset;
    const bool anew = c->any && epoch > c->epoch && own < c->last;
    if (anew && c->offset < METRICS_STEP_END)
        c->offset += own == 0 ? c->last + c->gap : c->last; /* from 0 on: one behind the last */
    else if (epoch < c->epoch)                              /* it began again */
        c->offset = 0;
    c->gap = own > c->last && c->any ? own - c->last : c->gap;
    c->last = own;
    c->epoch = epoch;
    c->any = true;
    return own + c->offset;
}

/* What the first rows of a table without a column of steps hold. */
typedef struct first_rows {
    bool numbers;  /* alone: tables of models or files have names in theirs */
    int losses;    /* values of them */
    size_t counts; /* the first column whose whole numbers rise from row to row, as steps do; SIZE_MAX: none does */
} first_rows;

/* Goes on in *last, the number of the row before (`row` counts them). False: the cell is no number that rises. */
static bool rises(double number, int row, double *last)
{
    int64_t step = 0;
    const bool is = metrics_step_of(number, &step) && step >= 0 && (row == 1 || number > *last);
    *last = number;
    return is;
}

/* Looks at the first columns. 0 or a status. */
static int look_at_rows(metrics_table *t, size_t columns, first_rows *out, assay_error *err)
{
    double number = 0, *last = assay_alloc_zeroed(t->columns, sizeof *last);
    bool *falls = assay_alloc_zeroed(t->columns, sizeof *falls);
    int rows = 0, status = last && falls ? 1 : ASSAY_ENOMEM;
    *out = (first_rows){.numbers = true, .counts = SIZE_MAX};
    while (status == 1 && out->numbers && rows < ROWS_LOOKED_AT && (status = assay_csv_next(&t->csv, err)) == 1) {
        rows++;
        out->numbers = t->csv.count == t->columns && !t->csv.oversized;
        for (size_t i = 0; i < columns && out->numbers; i++) {
            const size_t length = t->csv.cells[i].length;
            out->numbers = length == 0 || metrics_number(assay_csv_text(&t->csv, i), length, &number);
            out->losses += out->numbers && length > 0 && metrics_is_loss(t->column[i], t->length[i]);
            falls[i] = falls[i] || length == 0 || !out->numbers || !rises(number, rows, &last[i]);
        }
    }
    for (size_t i = columns; i-- > 0 && rows > 1 && status >= 0 && out->numbers;)
        out->counts = falls[i] ? out->counts : i;
    free(last);
    free(falls);
    return status < 0 ? status : ASSAY_OK;
}

/* Settings that no training changes while it runs: the rows of such a table are runs, or samples. */
static bool has_setting(const metrics_table *t)
{
    static const char *const settings[] = {"weight_decay", "batch_size", "seed",   "optimizer", "params",
                                           "hidden_size",  "n_layers",   "layers", "trial",     "run"};
    bool found = false;
    for (size_t i = 0; i < t->columns; i++)
        found = found || metrics_is_among(settings, sizeof settings / sizeof *settings, t->column[i], t->length[i]);
    return found;
}

/* Gym's monitors: reward, length and time of each episode, without a number. */
static bool is_of_episodes(const metrics_table *t)
{
    static const char *const names[] = {"r", "l", "t"};
    bool is = t->columns >= EPISODE_COLUMNS;
    for (size_t i = 0; i < EPISODE_COLUMNS && is; i++)
        is = strcmp(t->column[i], names[i]) == 0;
    return is;
}

/* Is a table without a column of steps a course of losses or of episodes, whose rows can be counted? 1, 0 or a status. */
static int is_counted(metrics_table *t, assay_error *err)
{
    first_rows rows;
    const bool episodes = is_of_episodes(t);
    if (!(has_loss(t) || episodes) || has_setting(t) || strcmp(t->column[0], "vpp_stage") == 0)
        return 0;
    ASSAY_TRY(look_at_rows(t, episodes ? EPISODE_COLUMNS : t->columns, &rows, err)); /* wrappers add what they know */
    return rows.numbers && (rows.losses > 1 || episodes);
}

/* The name of a column of steps that the name is but for one byte, in any case; NULL: of none. */
static const char *damaged_step(const char *name, size_t length)
{
    char lower[16];
    if (length > sizeof lower)
        return NULL;
    for (size_t i = 0; i < length; i++)
        lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] | 0x20 : name[i]);
    for (size_t n = 0; n < STEP_NAMES_COUNT; n++)
        if (assay_key_is_off(lower, length, STEP_NAMES[n]))
            return STEP_NAMES[n];
    return NULL;
}

/* Says that the rows of a table are counted, and what looks as if it had the steps. 0 or a status. */
static int name_counted(metrics_log *log, const char *path, assay_error *err)
{
    metrics_table t = {0};
    first_rows rows;
    int status = metrics_table_open(log->store, path, &t, err);
    if (status != 1)
        return status;
    status = look_at_rows(&t, is_of_episodes(&t) ? EPISODE_COLUMNS : t.columns, &rows, err);
    const char *name = status == ASSAY_OK && rows.counts != SIZE_MAX ? t.column[rows.counts] : NULL;
    const char *meant = name ? damaged_step(name, t.length[rows.counts]) : NULL;
    if (status == ASSAY_OK && meant)
        assay_problems_add(log->problems, ASSAY_PROBLEM_HEADER, -1, path, -1,
                           "%s: no column of steps: its rows were counted; \"%.100s\" is \"%s\" but for a byte", path,
                           name, meant);
    else if (status == ASSAY_OK && name)
        assay_problems_add(log->problems, ASSAY_PROBLEM_KEY, -1, path, -1,
                           "%s: no column of steps: its rows were counted; if \"%.100s\" has them, call it step", path,
                           name);
    else if (status == ASSAY_OK)
        assay_problems_add(log->problems, ASSAY_PROBLEM_KEY, -1, path, -1,
                           "%s: no column of steps: its rows were counted", path);
    metrics_table_close(&t);
    return status;
}

static int proven(assay_store *store, const metrics_file *file, assay_error *err)
{
    metrics_table t = {0};
    double number = 0;
    int64_t step = 0;
    int rows = 0, found = 0, status = metrics_table_open(store, file->path, &t, err);
    if (status != 1)
        return status;
    step_columns of = {SIZE_MAX, SIZE_MAX};
    status = find_steps(store, &t, &of, err);
    const size_t column = of.column;
    if (status < 0 || column == SIZE_MAX) {
        status = status < 0 ? status : is_counted(&t, err);
        metrics_table_close(&t);
        return status;
    }
    const bool fits = t.columns > 1 && strcmp(t.column[0], "vpp_stage") != 0;
    while (fits && rows < ROWS_LOOKED_AT && !found && (status = assay_csv_next(&t.csv, err)) == 1) {
        rows++;
        found = t.csv.count > column && !t.csv.oversized &&
                metrics_number(assay_csv_text(&t.csv, column), t.csv.cells[column].length, &number) &&
                metrics_step_of(number, &step);
    }
    metrics_table_close(&t);
    if (status < 0)
        return status;
    return fits && (found || rows == 0);
}

/* Where " - " stands last in a column's name; 0: nowhere, or nothing is before or behind it. */
static size_t find_cut(const char *name, size_t length)
{
    for (size_t i = length; i-- > 1;)
        if (i + 3 < length && memcmp(name + i, " - ", 3) == 0)
            return i;
    return 0;
}

static bool is_extreme(const char *name, size_t length)
{
    return length > 5 && (memcmp(name + length - 5, "__MIN", 5) == 0 || memcmp(name + length - 5, "__MAX", 5) == 0);
}

static bool has_column(const metrics_table *t, const char *name, size_t length, const char *end)
{
    const size_t more = strlen(end);
    for (size_t i = 0; i < t->columns; i++)
        if (t->length[i] == length + more && memcmp(t->column[i], name, length) == 0 &&
            memcmp(t->column[i] + length, end, more) == 0)
            return true;
    return false;
}

/* Did W&B export the table: does each column but the steps' name a run, and stand between its extremes? */
static bool is_export(const metrics_table *t, size_t steps)
{
    size_t main = 0, extremes = 0;
    for (size_t i = 0; i < t->columns; i++) {
        if (i == steps)
            continue;
        if (find_cut(t->column[i], t->length[i]) == 0)
            return false;
        if (is_extreme(t->column[i], t->length[i]))
            extremes++;
        else
            main++;
    }
    if (main == 0 || extremes != 2 * main)
        return false;
    /* Tables are wide: of a few columns each extreme is looked for, of more the count has to do. */
    for (size_t i = 0; i < t->columns && t->columns < 4096; i++)
        if (i != steps && !is_extreme(t->column[i], t->length[i]) &&
            (!has_column(t, t->column[i], t->length[i], "__MIN") ||
             !has_column(t, t->column[i], t->length[i], "__MAX")))
            return false;
    return true;
}

static int divide_export(metrics_place *p, const metrics_table *t, size_t steps, const metrics_file *file)
{
    for (size_t i = 0; i < t->columns; i++) {
        const size_t cut = i == steps ? 0 : find_cut(t->column[i], t->length[i]);
        char *name = cut > 0 ? assay_copy_bytes_as_text(t->column[i], cut) : NULL;
        if (cut == 0)
            continue;
        metrics_run *run = name ? metrics_place_run_of(p, name, name, NULL) : NULL;
        free(name);
        if (!run || ((run->count == 0 || run->files[run->count - 1] != file) && metrics_run_add_file(run, file) != 0))
            return ASSAY_ENOMEM;
    }
    return ASSAY_OK;
}

/* A file of one series: with the others of its run it is one, whatever their headers and steps. */
static int divide_series(metrics_place *p, const metrics_one_series *one, const metrics_file *file)
{
    char key[ASSAY_PATH_ROOM + 16];
    snprintf(key, sizeof key, "series/%s", one->run);
    metrics_run *run = metrics_place_run_of(p, key, *one->run ? one->run : ".", NULL);
    if (!run)
        return ASSAY_ENOMEM;
    run->whole = true;
    if (run->count == 0) {
        free(run->base);
        run->base = assay_copy_text(one->base);
    }
    return run->base ? metrics_run_add_file(run, file) : ASSAY_ENOMEM;
}

/* Its files of one header are parts of a directory's run; of another header they are runs of their own. */
static int divide_table(metrics_place *p, const metrics_table *t, const metrics_file *file)
{
    char key[ASSAY_PATH_ROOM + 32], name[ASSAY_PATH_ROOM];
    uint64_t header = 0;
    const int directory = (int)metrics_directory(file->path);
    for (size_t i = 0; i < t->columns; i++)
        header = header * 31 + assay_hash_bytes(t->column[i], t->length[i]);
    snprintf(name, sizeof name, "%.*s", directory, directory ? file->path : ".");
    if (directory == 0)
        snprintf(name, sizeof name, ".");
    snprintf(key, sizeof key, "%.*s/", directory, file->path);
    uint32_t first = assay_dict_find(p->run_keys, key, strlen(key));
    if (first != ASSAY_NO_ID) { /* the directory has a run: of this header? */
        snprintf(key, sizeof key, "%.*s/%016llx", directory, file->path, (unsigned long long)header);
        metrics_run *own = &p->runs[first];
        if (own->first_row != header)
            snprintf(name, sizeof name, "%.*s", (int)metrics_stem(file->path), file->path);
        else
            snprintf(key, sizeof key, "%.*s/", directory, file->path);
    }
    metrics_run *run = metrics_place_run_of(p, key, name, NULL);
    ASSAY_HAVE(run);
    run->first_row = header;
    if (run->count == 0) {
        free(run->base);
        run->base = assay_copy_bytes_as_text(file->path, (size_t)directory);
    }
    return run->base ? metrics_run_add_file(run, file) : ASSAY_ENOMEM;
}

/* A training and its validation may each have a file: "learn_error.tsv" and "test_error.tsv" of CatBoost, "train.csv" and "val.csv".
 * The mode that the file's name says, and into `rest` its path without that word and the ending; 0: no part of the name is
 * such a word, or several are. */
static int mode_of_name(const char *path, char rest[ASSAY_PATH_ROOM])
{
    const size_t stem = metrics_stem(path), name = (size_t)(metrics_base(path) - path);
    int mode = 0;
    for (size_t at = name, end; at < stem; at = end + 1) {
        end = at + strcspn(path + at, "_-. /");
        end = end < stem ? end : stem;
        const int own = metrics_is_train_word(path + at, end - at)     ? ASSAY_MODE_TRAIN
                        : metrics_is_eval_word(path + at, end - at)    ? ASSAY_MODE_EVAL
                        : metrics_is_predict_word(path + at, end - at) ? ASSAY_MODE_PREDICT
                                                                       : 0;
        if (own && mode)
            return 0;
        if (own && snprintf(rest, ASSAY_PATH_ROOM, "%.*s\n%.*s", (int)at, path, (int)(stem - end), path + end) <
                       ASSAY_PATH_ROOM)
            mode = own;
    }
    return mode;
}

static const char BY_MODE[] = "modes/";
static const uint32_t SEVERAL = 1u << 31;

/* The files of a training and its validation, as the names say: by what is the same in these the modes, a bit each, and SEVERAL
 * where two say the same one ("train_loss.csv", "training_loss.csv"). 0 or ASSAY_ENOMEM. */
static int gather_modes(const metrics_place *p, assay_dict *rests, uint32_t **modes)
{
    char rest[ASSAY_PATH_ROOM];
    *modes = assay_alloc_zeroed(p->count, sizeof **modes);
    ASSAY_HAVE(*modes);
    for (size_t i = 0; i < p->count; i++) {
        const int mode = p->files[i].kind == METRICS_CSV ? mode_of_name(p->files[i].path, rest) : 0;
        const uint32_t number = mode ? assay_dict_add(rests, rest, strlen(rest)) : 0;
        if (number == ASSAY_NO_ID)
            return ASSAY_ENOMEM;
        if (mode)
            (*modes)[number] |= 1u << mode | ((*modes)[number] & 1u << mode ? SEVERAL : 0);
    }
    return ASSAY_OK;
}

/* The run of a file that has the rows of one mode, where other files have those of others, one each; NULL: it is none, or
 * *status says why. */
static metrics_run *run_of_modes(metrics_place *p, const assay_dict *rests, const uint32_t *modes,
                                 const metrics_file *file, int *status)
{
    char rest[ASSAY_PATH_ROOM], key[ASSAY_PATH_ROOM + sizeof BY_MODE], name[ASSAY_PATH_ROOM];
    const uint32_t train = 1u << ASSAY_MODE_TRAIN;
    const int directory = (int)metrics_directory(file->path);
    if (mode_of_name(file->path, rest) == 0)
        return NULL;
    const uint32_t said = modes[assay_dict_find(rests, rest, strlen(rest))];
    if (!(said & train) || said == train || said & SEVERAL)
        return NULL;
    snprintf(key, sizeof key, "%s%s", BY_MODE, rest);
    snprintf(name, sizeof name, "%.*s", directory, directory ? file->path : "");
    metrics_run *run = metrics_place_run_of(p, key, directory ? name : ".", NULL);
    if (run && run->count == 0) {
        free(run->base);
        run->base = assay_copy_text(name);
        run->whole = true;
    }
    *status = run && run->base ? metrics_run_add_file(run, file) : ASSAY_ENOMEM;
    return run;
}

static int divide_files(metrics_place *p, const assay_dict *rests, const uint32_t *modes, assay_error *err)
{
    int status = ASSAY_OK;
    bool exports = false; /* whose columns say which run they are of */
    for (size_t i = 0; i < p->count && status == ASSAY_OK; i++) {
        metrics_table t = {0};
        if (p->files[i].kind != METRICS_CSV || run_of_modes(p, rests, modes, &p->files[i], &status) ||
            status != ASSAY_OK)
            continue;
        status = metrics_table_open(p->store, p->files[i].path, &t, err);
        if (status != 1)
            continue;
        step_columns of;
        status = find_steps(p->store, &t, &of, err);
        const size_t steps = of.column;
        const bool exported = steps != SIZE_MAX && is_export(&t, steps);
        const int rows = status < 0 || exported ? 0 : metrics_divide_rows(p, &t, steps, &p->files[i], err);
        metrics_one_series one;
        status = status < 0 || rows < 0                                 ? (status < 0 ? status : rows)
                 : rows == 1                                            ? ASSAY_OK
                 : exported                                             ? divide_export(p, &t, steps, &p->files[i])
                 : metrics_is_one_series(&t, steps, &one) && one.of_run ? divide_series(p, &one, &p->files[i])
                                                                        : divide_table(p, &t, &p->files[i]);
        exports = exports || exported || rows == 1;
        metrics_table_close(&t);
    }
    return status == ASSAY_OK && !exports ? metrics_split_runs(p, err) : status;
}

static int divide(metrics_place *p, assay_error *err)
{
    assay_dict *rests = assay_dict_new();
    uint32_t *modes = NULL;
    int status = rests ? gather_modes(p, rests, &modes) : ASSAY_ENOMEM;
    ASSAY_THEN(status, divide_files(p, rests, modes, err));
    assay_dict_free(rests);
    free(modes);
    return status;
}

/* What a column is for a run. */
typedef struct column {
    const char *tag;
    size_t length;
    enum { VALUE, OTHER, FOREIGN } role;
} column;

static void take_columns(const metrics_table *t, const metrics_run *run, size_t steps, bool exported, column *columns)
{
    const size_t own = strlen(run->key);
    metrics_one_series one;
    const bool alone = !exported && metrics_is_one_series(t, steps, &one);
    for (size_t i = 0; i < t->columns; i++) {
        columns[i] = (column){t->column[i], t->length[i], VALUE};
        if (alone && i == one.column)
            columns[i] = (column){one.tag, one.tag_length, VALUE};
        else if (alone)
            columns[i].role = OTHER;
        if (!exported)
            continue;
        const size_t cut = find_cut(t->column[i], t->length[i]);
        columns[i].tag += cut + 3;
        columns[i].length -= cut + 3;
        if (cut != own || memcmp(t->column[i], run->key, own) != 0)
            columns[i].role = FOREIGN;
        else if (is_extreme(t->column[i], t->length[i]) || *columns[i].tag == '_')
            columns[i].role = OTHER;
    }
}

/* The column that says of each row what it is of: "split", with cells "train" and "val"; SIZE_MAX: there is none. */
static size_t mode_column(const metrics_table *t)
{
    static const char *const names[] = {"mode", "split", "phase", "stage", "set", "subset"};
    for (size_t i = 0; i < t->columns; i++)
        if (metrics_is_among(names, sizeof names / sizeof *names, t->column[i], t->length[i]))
            return i;
    return SIZE_MAX;
}

/* As such a cell says it; 0: it says nothing but training. */
static int mode_of_row(const metrics_table *t, size_t modes)
{
    const int mode = modes == SIZE_MAX ? ASSAY_MODE_TRAIN
                                       : metrics_mode_of(assay_csv_text(&t->csv, modes), t->csv.cells[modes].length);
    return mode == ASSAY_MODE_TRAIN ? 0 : mode;
}

/* `whole`: that of all rows, as the file's name says; 0: rows and tags say it. */
static int read_rows(metrics_log *log, const metrics_run *run, metrics_table *t, const step_columns *of,
                     const column *columns, int whole, assay_error *err)
{
    const size_t modes = mode_column(t), steps = of->column,
                 runs = metrics_has_rows(run) ? metrics_run_column(t) : SIZE_MAX;
    counting counted = {0};
    int64_t step = 0;
    int status = ASSAY_OK;
    while (status == ASSAY_OK && (status = metrics_table_next(t, steps, log, &step, err)) == 1) {
        status = ASSAY_OK;
        if (!metrics_is_row_of(t, runs, run)) {
            log->counts[METRICS_ROWS]--;
            continue;
        }
        const int mode = whole ? whole : mode_of_row(t, modes);
        step = count_on(&counted, t, of, step);
        for (size_t i = 0; i < t->columns && status == ASSAY_OK; i++) {
            double value = 0;
            const bool own = mode && metrics_mode_of(columns[i].tag, columns[i].length) != ASSAY_MODE_TRAIN;
            if (i == steps || i == runs || columns[i].role == FOREIGN || t->csv.cells[i].length == 0)
                continue;
            if (columns[i].role == OTHER)
                metrics_add(log, METRICS_OTHER_COLUMNS);
            else if (metrics_table_number(t, i, log, &value))
                status = metrics_put(log, columns[i].tag, columns[i].length, own ? 0 : mode, step, value);
        }
    }
    return status;
}

static int read_file(metrics_log *log, const metrics_run *run, const metrics_file *file, assay_error *err)
{
    metrics_table t = {0};
    int status = metrics_table_open(log->store, file->path, &t, err);
    if (status != 1)
        return status;
    step_columns of = {SIZE_MAX, SIZE_MAX};
    status = find_steps(log->store, &t, &of, err);
    const size_t steps = of.column;
    const bool exported = steps != SIZE_MAX && is_export(&t, steps);
    column *columns = assay_alloc_zeroed(t.columns, sizeof *columns);
    status = status < 0 || columns ? status : ASSAY_ENOMEM;
    if (!t.finished)
        metrics_add(log, METRICS_GROWING);
    if (status == ASSAY_OK && steps == SIZE_MAX)
        status = name_counted(log, file->path, err);
    if (status == ASSAY_OK) {
        take_columns(&t, run, steps, exported, columns);
        char rest[ASSAY_PATH_ROOM];
        const bool by_mode = strncmp(run->key, BY_MODE, sizeof BY_MODE - 1) == 0;
        status = read_rows(log, run, &t, &of, columns, by_mode ? mode_of_name(file->path, rest) : 0, err);
    }
    if (status == ASSAY_OK && exported)
        status = metrics_fact(log, "name", run->key, strlen(run->key));
    free(columns);
    metrics_table_close(&t);
    return status;
}

static int read(metrics_log *log, const metrics_place *place, const metrics_run *run, assay_error *err)
{
    (void)place;
    int status = metrics_settings_files(log, run->base);
    for (size_t i = 0; i < run->count && status == ASSAY_OK; i++) {
        log->part = (uint32_t)i;
        status = read_file(log, run, run->files[i], err);
    }
    return status;
}

const metrics_kind metrics_csv = {
    .name = "csv", .named = named, .proven = proven, .divide = divide, .read = read, .sure = sure};
