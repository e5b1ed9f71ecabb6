/* passed.c - names what the walk passed over and what may have been a log: files that were put aside or whose endings are
 * damaged, files in the place of directories and directories in that of files, directories without a log where others
 * of their series have one, and files that are called as the logs are and are none.
 *
 * A series is what paths have in common but for numbers (assay_path_put_series()). */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/keys.h"
#include "base/path.h"
#include "format/metrics/metrics.h"
#include "format/metrics/one_series.h"

/* The kinds that a file may be of by the name that it had: before it was put aside, or before one byte of its ending
 * was another. */
static uint32_t kinds_once(const char *name)
{
    static const char *const endings[] = {".wandb", ".csv", ".log", ".out", ".txt", ".err", ".db", ".sqlite"};
    static const char event_file[] = "tfevents";
    char was[ASSAY_PATH_ROOM];
    const size_t length = strlen(name), before = assay_path_before_aside(name);
    uint32_t kinds = 0;
    if (length >= sizeof was)
        return 0;
    snprintf(was, sizeof was, "%.*s", (int)(before ? before : length), name);
    if (before > 0)
        kinds = metrics_kinds_named(was);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t size = strlen(endings[i]);
        if (length > size && assay_key_is_off(name + length - size, size, endings[i]))
            kinds |= metrics_kinds_named(endings[i]);
    }
    for (size_t i = 0; i + sizeof event_file - 1 <= length; i++)
        if (assay_key_is_off(name + i, sizeof event_file - 1, event_file))
            kinds |= 1u << METRICS_TB;
    return kinds;
}

/* Directories have no ending, or it is a number's: "run_3", "lr_0.1". */
static bool is_called_as_directory(const char *name)
{
    const char *point = strrchr(name, '.');
    return !point || assay_is_digit(point[1]);
}

static void note_word(void *context, const char *word, size_t length)
{
    static const char *const words[] = {"history", "log", "logs", "metrics", "loss", "losses", "training", "progress"};
    bool *found = context;
    *found = *found || metrics_is_among(words, sizeof words / sizeof *words, word, length);
}

/* "history.json", "training_log.json", "run-a-tag-loss.json": most files that end so are none, and these are looked at where there is no other log. */
static bool is_called_as_document(const char *name)
{
    bool found = false;
    if (assay_path_ends(name, ".json"))
        metrics_words(name, strlen(name), note_word, &found);
    return found || (assay_path_ends(name, ".json") && strstr(name, METRICS_EXPORT_TAG));
}

bool metrics_may_be_passed(const char *name)
{
    return is_called_as_directory(name) || is_called_as_document(name) || kinds_once(name) != 0;
}

bool metrics_may_have_any_name(const char *path)
{
    const char *name = metrics_base(path);
    return *name && (is_called_as_directory(name) || is_called_as_document(name)) && assay_path_before_aside(name) == 0;
}

/* What logs of the place's kind there are, and where. */
typedef struct known {
    metrics_place *place;
    int kind;
    assay_dict *logs, *directories; /* the series of the logs, and of the directories around them */
    assay_dict *above;              /* the paths of what holds such directories */
    assay_buf text;
} known;

/* Adds the series of a path's first bytes, or looks for it. False: without memory, or it is not there. */
static bool series(known *k, assay_dict *dict, const char *path, size_t length, bool add)
{
    char part[ASSAY_PATH_ROOM];
    snprintf(part, sizeof part, "%.*s", (int)length, path);
    assay_buf_clear(&k->text);
    assay_path_put_series(part, &k->text);
    if (assay_buf_status(&k->text) != ASSAY_OK)
        return false;
    return (add ? assay_dict_add(dict, (const char *)k->text.data, k->text.size)
                : assay_dict_find(dict, (const char *)k->text.data, k->text.size)) != ASSAY_NO_ID;
}

static bool add_logs(known *k)
{
    bool memory = true;
    for (size_t i = 0; i < k->place->count && memory; i++) {
        const char *path = k->place->files[i].path;
        size_t above = 0;
        if (k->place->files[i].kind != k->kind)
            continue;
        memory = series(k, k->logs, path, strlen(path), true);
        for (const char *slash = strchr(path, '/'); slash && memory; slash = strchr(slash + 1, '/')) {
            memory = series(k, k->directories, path, (size_t)(slash - path), true) &&
                     assay_dict_add(k->above, above ? path : ".", above ? above : 1) != ASSAY_NO_ID;
            above = (size_t)(slash - path);
        }
    }
    return memory;
}

/* Is the name one that people give to a directory? All in capitals it is one of a note: README, LICENSE, DONE. And known
 * are TensorFlow's list of checkpoints, and W&B's link to the latest run, which is a file where links cannot be kept. */
static bool is_beside(const known *k, const char *path)
{
    static const char *const others[] = {"checkpoint", "latest-run"};
    const char *name = metrics_base(path);
    const size_t above = metrics_directory(path);
    bool small = false;
    for (const char *p = name; *p; p++)
        small = small || islower((unsigned char)*p);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        small = small && strcmp(name, others[i]) != 0;
    return small && !strchr(name, '.') &&
           assay_dict_find(k->above, above ? path : ".", above ? above : 1) != ASSAY_NO_ID;
}

/* Nothing else has such names. */
static bool is_kind_of_name(int kind)
{
    return kind == METRICS_TB || kind == METRICS_WANDB;
}

/* `path` ends in a slash: it is a directory. */
static void name_directory(known *k, const char *path)
{
    const size_t length = strlen(path) - 1;
    char name[ASSAY_PATH_ROOM];
    snprintf(name, sizeof name, "%.*s", (int)length, path);
    if ((metrics_kinds_named(metrics_base(name)) >> k->kind & 1) &&
        (is_kind_of_name(k->kind) || series(k, k->logs, name, length, false)))
        assay_problems_name_directory(&k->place->problems, k->place->store, name);
    else if (series(k, k->directories, name, length, false))
        assay_problems_add(&k->place->problems, ASSAY_PROBLEM_NAME, -1, name, -1,
                           "%s: has no log, as others that are called so have", name);
}

/* Names a file whose name was once a log's of these kinds, where it is one: the first of them has proof, or (`damaged`)
 * cannot tell, as of what is damaged or cannot be read. 0 or ASSAY_ENOMEM. */
static int name_once(metrics_place *p, const char *path, uint32_t kinds, bool damaged)
{
    const metrics_file file = {.path = (char *)path, .kind = -1};
    int is = 0;
    for (int k = 0; k < METRICS_KINDS && is != ASSAY_ENOMEM && is <= 0; k++) {
        assay_error why = {{0}};
        if (!(kinds >> k & 1))
            continue;
        is = metrics_kinds[k]->proven(p->store, &file, &why);
        if (is > 0 || (is < 0 && is != ASSAY_ENOMEM && damaged))
            assay_problems_add(&p->problems, ASSAY_PROBLEM_NAME, -1, path, -1,
                               "%s: not looked at; it may be a log, and is not called as one", path);
    }
    return is == ASSAY_ENOMEM ? is : ASSAY_OK;
}

static int name_file(known *k, const char *path)
{
    metrics_place *p = k->place;
    const uint32_t once = kinds_once(metrics_base(path));
    if (is_called_as_directory(metrics_base(path)) && series(k, k->directories, path, strlen(path), false))
        assay_problems_name_file(&p->problems, p->store, -1, path);
    else if (once >> k->kind & 1)
        return name_once(p, path, once & 1u << k->kind, true);
    else if (is_beside(k, path))
        assay_problems_add(&p->problems, ASSAY_PROBLEM_NAME, -1, path, -1,
                           "%s: not looked at; a file beside directories that have logs", path);
    return ASSAY_OK;
}

/* Names a file that is no log and is called as the others are. An empty one may be a log that was not begun. */
static void name_log(known *k, const metrics_file *file)
{
    assay_problems *problems = &k->place->problems;
    if (file->kind >= 0 || !(file->named >> k->kind & 1) ||
        (!(is_kind_of_name(k->kind) && file->size > 0) && !series(k, k->logs, file->path, strlen(file->path), false)))
        return;
    if (file->size == 0)
        assay_problems_add(problems, ASSAY_PROBLEM_NAME, -1, file->path, -1,
                           "%s: empty, and called as the other logs are", file->path);
    else if (k->kind == METRICS_MEGATRON || k->kind == METRICS_PRINTED) /* often one rank alone prints them */
        assay_problems_add(problems, ASSAY_PROBLEM_NAME, -1, file->path, -1,
                           "%s: has no line with a loss, as another one that is called so has", file->path);
    else
        assay_problems_add(problems, ASSAY_PROBLEM_HEADER, -1, file->path, -1,
                           "%s: called as a log, but %s; what it had is missing from this analysis", file->path,
                           metrics_why_not(k->place->store, file));
}

/* In a place without a log only what proves to be one is named. */
static int name_only_logs(metrics_place *p, char *const *passed, size_t count)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < count && status == ASSAY_OK; i++)
        if (passed[i][strlen(passed[i]) - 1] != '/')
            status = name_once(p, passed[i], kinds_once(metrics_base(passed[i])), false);
    return status;
}

int metrics_name_passed(metrics_place *p, char *const *passed, size_t count)
{
    if (!p->kind)
        return name_only_logs(p, passed, count);
    known k = {.place = p,
               .kind = metrics_kind_number(p->kind->name),
               .logs = assay_dict_new(),
               .directories = assay_dict_new(),
               .above = assay_dict_new(),
               .text = ASSAY_BUF(SIZE_MAX)};
    int status = k.logs && k.directories && k.above && add_logs(&k) ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; i < count && status == ASSAY_OK; i++) {
        if (passed[i][strlen(passed[i]) - 1] == '/')
            name_directory(&k, passed[i]);
        else
            status = name_file(&k, passed[i]);
    }
    for (size_t i = 0; i < p->count && status == ASSAY_OK; i++)
        name_log(&k, &p->files[i]);
    ASSAY_THEN(status, assay_buf_status(&k.text));
    assay_dict_free(k.logs);
    assay_dict_free(k.directories);
    assay_dict_free(k.above);
    assay_buf_release(&k.text);
    return status;
}
