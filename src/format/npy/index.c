/* index.c - the tensors of a step of a worker: the .npy files below its directory, each a tensor, in byte order of
 * their paths. No file is opened for it. */
#include <assay/rule.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "format/npy/npy.h"
#include "trial/shard.h"

typedef enum which { STEP, WORKER, WITHIN } which; /* a step's own directory, a worker's, or one within them */
static const char FIRST[] = "worker_0";

/* A unit while its files are found. */
typedef struct finder {
    assay_store *store;
    const assay_catalog *catalog;
    const assay_unit *unit;
    assay_problems *problems;
    assay_buf paths;       /* terminated, one behind the other; then as they are found */
    assay_buf directories; /* still to be listed: depth, terminated path */
    uint64_t files;
    assay_place_visit *seen; /* is told of every directory; NULL: nobody */
    void *context;
} finder;

static void put_path(assay_buf *out, const char *directory, const char *name)
{
    assay_put_bytes(out, directory, strlen(directory));
    assay_put_u8(out, '/');
    assay_put_bytes(out, name, strlen(name) + 1);
}

static bool is_npy(const char *name)
{
    const size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".npy") == 0 && name[0] != '.';
}

/* Files and directories of one directory. Of a step's own directory those of workers are passed over. */
static int list_one(finder *f, const char *directory, unsigned depth, which what)
{
    assay_names names = {0};
    assay_error why = {{0}};
    ASSAY_TRY(f->seen ? f->seen(f->context, directory) : ASSAY_OK);
    int status = assay_store_list(f->store, directory, &names, &why);
    if (status == ASSAY_ENOMEM)
        return status;
    if (status != ASSAY_OK && !(what == WORKER && status == ASSAY_ENOTFOUND))
        assay_problems_add(f->problems, ASSAY_PROBLEM_READ, f->unit->step, directory, -1,
                           "%s; what lies in it is missing from this analysis", why.text);
    assay_problems_name_aside(f->problems, f->unit->step, &names, directory, ".npy");
    for (size_t i = 0; i < names.count; i++) {
        const char *name = names.name[i];
        if (name[0] == '.' || (what == STEP && assay_npy_worker_name(name)))
            continue;
        if (is_npy(name)) {
            put_path(&f->paths, directory, name);
            f->files++;
        } else { /* a directory, or a file that is no array: see walk() */
            assay_put_u8(&f->directories, (uint8_t)(depth + 1));
            put_path(&f->directories, directory, name);
        }
    }
    assay_names_release(&names);
    return ASSAY_OK;
}

/* Takes the last of the directories that are still to be listed. */
static unsigned take_directory(assay_buf *directories, char path[ASSAY_PATH_ROOM])
{
    size_t at = directories->size - 1;
    while (at > 0 && directories->data[at - 1] != '\0')
        at--;
    snprintf(path, ASSAY_PATH_ROOM, "%s", (const char *)directories->data + at + 1);
    unsigned depth = directories->data[at];
    directories->size = at;
    return depth;
}

/* Names a file that is no array, where the step before or behind has a directory of that name. */
static void name_file(finder *f, const char *path)
{
    static const int beside[] = {-1, 1};
    const assay_dict *places = assay_format_places(&assay_format_npy, f->catalog);
    for (size_t i = 0; places && i < sizeof beside / sizeof *beside; i++) {
        const int64_t other = (int64_t)f->unit->place + beside[i];
        char there[2 * ASSAY_PATH_ROOM];
        assay_names names = {0};
        if (other < 0 || other >= assay_dict_count(places))
            continue;
        snprintf(there, sizeof there, "%s%s", assay_dict_name(places, (uint32_t)other, NULL), strchr(path, '/'));
        if (assay_store_exists(f->store, there, NULL) == 0 &&
            assay_store_list(f->store, there, &names, NULL) == ASSAY_OK && names.count > 0)
            assay_problems_name_file(f->problems, f->store, f->unit->step, path);
        assay_names_release(&names);
    }
}

static int walk(finder *f, const char *directory, which what)
{
    char path[ASSAY_PATH_ROOM];
    int status = list_one(f, directory, 0, what);
    while (status == ASSAY_OK && f->directories.size > 0 && assay_buf_status(&f->directories) == ASSAY_OK) {
        unsigned depth = take_directory(&f->directories, path);
        const int file = assay_store_exists(f->store, path, NULL); /* what cannot be looked at is noted */
        if (file == 1 && !f->seen)
            name_file(f, path);
        if (file != 0)
            continue;
        if (depth <= ASSAY_NPY_DEEPEST)
            status = list_one(f, path, depth, WITHIN);
        else
            assay_problems_add(f->problems, ASSAY_PROBLEM_READ, f->unit->step, path, -1,
                               "%s: more than %d directories deep; what lies in it is missing from this analysis", path,
                               ASSAY_NPY_DEEPEST);
    }
    return status == ASSAY_OK ? assay_buf_status(&f->directories) : status;
}

/* A tensor's name: the path below the worker's directory without its ending, with points between what directories were;
 * but a name that says of itself where it belongs keeps its slashes. Returns its length. */
static size_t tensor_name(const char *path, char *out)
{
    static const char *const kept[] = {"optimizer/", "ema/", "state/", "gradient/"};
    size_t length = strlen(path) - 4;
    bool keep = false;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        keep = keep || strncmp(path, kept[i], strlen(kept[i])) == 0;
    for (size_t i = 0; i < length; i++)
        out[i] = path[i] == '/' && !keep ? '.' : path[i];
    return length;
}

typedef struct target {
    assay_dict *tensors;
    assay_shard *shard;
    assay_index_marks *marks;
} target;

/* Names what is called as an array's file, and is none: a pipe, a device, a directory. */
static void name_odd(const finder *f, const char *path)
{
    assay_names names = {0};
    assay_error why;
    const bool directory = assay_store_list(f->store, path, &names, &why) == ASSAY_OK;
    assay_problems_add(f->problems, ASSAY_PROBLEM_READ, f->unit->step, path, -1, "%s: %s", path,
                       directory ? "a directory, where a file should be; what lies in it is missing from this analysis"
                                 : "not a regular file, or a link that leads nowhere");
    assay_names_release(&names);
}

/* The row of a file; false when it is left out. */
static int add_row(const finder *f, const target *t, const char *path, size_t skip, uint32_t file, assay_part *part)
{
    char name[ASSAY_PATH_ROOM];
    uint64_t size = 0;
    assay_error why = {{0}};
    int status = assay_store_size_of(f->store, path, &size, &why);
    if (status < 0 && status != ASSAY_ENOMEM)
        assay_problems_add(f->problems, ASSAY_PROBLEM_READ, f->unit->step, path, -1, "%s", why.text);
    if (status == 0)
        name_odd(f, path);
    if (status != 1)
        return status == ASSAY_ENOMEM ? status : ASSAY_OK;
    uint32_t tensor = assay_dict_add(t->tensors, name, tensor_name(path + skip, name));
    status = tensor == ASSAY_NO_ID ? ASSAY_ENOMEM : assay_index_marks_set(t->marks, tensor, ASSAY_RAW);
    if (status == 1) {
        assay_problems_add(f->problems, ASSAY_PROBLEM_INDEX, f->unit->step, path, -1,
                           "%s: another file of this step has the same tensor, %s; this one is left out", path,
                           assay_dict_name(t->tensors, tensor, NULL));
        return ASSAY_OK;
    }
    if (status == ASSAY_OK)
        t->shard->entries[part->first + part->count++] =
            (assay_entry){.length = size, .tensor = tensor, .kind = ASSAY_RAW, .file = file & 0xffffff};
    return status;
}

/* Where a tensor's name begins in a path: behind the step's directory, and the worker's if there is one. */
static size_t name_at(const char *path)
{
    char component[64];
    const char *below = strchr(path, '/') + 1, *slash = strchr(below, '/');
    if (!slash || (size_t)(slash - below) >= sizeof component)
        return (size_t)(below - path);
    memcpy(component, below, (size_t)(slash - below));
    component[slash - below] = '\0';
    return (size_t)((assay_npy_worker_name(component) ? slash + 1 : below) - path);
}

/* Makes a part of the paths, which are sorted. */
static int add_part(const finder *f, const target *t, const char *const *paths, uint32_t count)
{
    assay_shard *s = t->shard;
    assay_part part = {.step = f->unit->step,
                       .mode_step = f->unit->step,
                       .worker = f->unit->worker,
                       .format = f->unit->format,
                       .mode = ASSAY_MODE_GLOBAL,
                       .first = (uint32_t)s->entry_count,
                       .first_shape = (uint32_t)s->shape_count};
    assay_file *files = assay_alloc_zeroed(count, sizeof *files);
    int status = files ? assay_shard_reserve(s, 1, count, 0) : ASSAY_ENOMEM;
    assay_index_marks_next(t->marks);
    for (uint32_t i = 0; i < count && status == ASSAY_OK; i++) {
        files[i].name = paths[i];
        status = add_row(f, t, paths[i], name_at(paths[i]), i, &part);
    }
    if (status == ASSAY_OK && !(part.files = assay_files_new(files, count)))
        status = ASSAY_ENOMEM;
    free(files);
    ASSAY_TRY(status);
    s->entry_count += part.count;
    s->parts[s->count++] = part;
    return ASSAY_OK;
}

static int sort_paths(const finder *f, const target *t)
{
    uint32_t count = f->files < ASSAY_FILES_MOST ? (uint32_t)f->files : ASSAY_FILES_MOST - 1;
    const char **paths = assay_alloc((size_t)f->files * sizeof *paths);
    ASSAY_HAVE(paths);
    const char *at = (const char *)f->paths.data;
    for (uint64_t i = 0; i < f->files; i++, at += strlen(at) + 1)
        paths[i] = at;
    qsort(paths, (size_t)f->files, sizeof *paths, assay_order_texts);
    if (count < f->files)
        assay_problems_add(f->problems, ASSAY_PROBLEM_INDEX, f->unit->step, "", -1,
                           "step %lld has %llu files; those behind the first %u are left out", (long long)f->unit->step,
                           (unsigned long long)f->files, count);
    int status = add_part(f, t, paths, count);
    free(paths);
    return status;
}

/* The unit's directories: its worker's, and for the first worker the step's own. Without a target they are only
 * visited. */
static int read_unit(finder *f, const char *step, const char *worker, const target *t)
{
    char path[ASSAY_PATH_ROOM];
    int status = ASSAY_OK;
    assay_buf_clear(&f->paths);
    assay_buf_clear(&f->directories);
    f->files = 0;
    if (strcmp(worker, FIRST) == 0)
        status = walk(f, step, STEP);
    if (status == ASSAY_OK && snprintf(path, sizeof path, "%s/%s", step, worker) < (int)sizeof path)
        status = walk(f, path, WORKER);
    ASSAY_THEN(status, assay_buf_status(&f->paths));
    return status == ASSAY_OK && t && f->files > 0 ? sort_paths(f, t) : status;
}

static int pass_over(void *context, const char *directory)
{
    (void)context;
    (void)directory;
    return ASSAY_OK;
}

/* The files that were found, by their paths below the step's directory; NULL: no memory. */
static assay_dict *names_of(const finder *f)
{
    assay_dict *names = assay_dict_new();
    const char *at = (const char *)f->paths.data;
    for (uint64_t i = 0; i < f->files && names; i++, at += strlen(at) + 1) {
        const char *below = strchr(at, '/') + 1;
        if (assay_dict_add(names, below, strlen(below)) != ASSAY_NO_ID)
            continue;
        assay_dict_free(names);
        names = NULL;
    }
    return names;
}

/* Those of the unit's worker at another step, which names its problems itself. */
static assay_dict *names_at(const finder *f, const char *step)
{
    assay_problems unnamed;
    finder other = {.store = f->store, .catalog = f->catalog, .unit = f->unit, .problems = &unnamed, .seen = pass_over};
    assay_problems_init(&unnamed);
    assay_buf_init(&other.paths, SIZE_MAX);
    assay_buf_init(&other.directories, SIZE_MAX);
    const int status = read_unit(&other, step, f->catalog->worker_key[f->unit->worker], NULL);
    assay_dict *names = status == ASSAY_OK ? names_of(&other) : NULL;
    assay_buf_release(&other.paths);
    assay_buf_release(&other.directories);
    assay_problems_release(&unnamed);
    return names;
}

enum { BESIDE = 4 };

/* The steps beside a unit's, the nearest first; and the arrays of that, and of the first two of them. */
typedef struct neighbours {
    const char *step[BESIDE];
    size_t count;
    assay_dict *own, *one, *other;
} neighbours;

static void find_beside(const finder *f, neighbours *beside)
{
    static const int distance[BESIDE] = {-1, 1, -2, 2};
    const assay_dict *places = assay_format_places(&assay_format_npy, f->catalog);
    for (size_t i = 0; places && i < BESIDE; i++) {
        const int64_t place = (int64_t)f->unit->place + distance[i];
        if (place >= 0 && place < assay_dict_count(places))
            beside->step[beside->count++] = assay_dict_name(places, (uint32_t)place, NULL);
    }
}

/* At how many of the steps behind the first two an array is. */
static size_t times_beyond(const finder *f, const neighbours *beside, const char *name)
{
    char path[2 * ASSAY_PATH_ROOM];
    size_t times = 0;
    for (size_t i = 2; i < beside->count; i++)
        times += snprintf(path, sizeof path, "%s/%s", beside->step[i], name) < (int)sizeof path &&
                 assay_store_exists(f->store, path, NULL) == 1;
    return times;
}

static bool has(const assay_dict *names, const char *name, size_t length)
{
    return assay_dict_find(names, name, length) != ASSAY_NO_ID;
}

/* Has a step, which lacks so many arrays, others that no step beside it has, as many at least as of those that the first two
 * have, and of these fewer than it lacks? Then it is of another kind, as an evaluation between steps of training, and lost
 * nothing. */
static bool is_of_another_kind(const finder *f, const neighbours *beside, uint64_t lacking)
{
    uint64_t shared = 0, apart = 0;
    for (uint32_t n = 0; n < assay_dict_count(beside->own); n++) {
        size_t length;
        const char *name = assay_dict_name(beside->own, n, &length);
        const bool known = has(beside->one, name, length) || has(beside->other, name, length);
        shared += known;
        apart += !known && times_beyond(f, beside, name) == 0;
    }
    return apart > 0 && apart >= shared && shared < lacking;
}

/* How many arrays all steps beside the unit's have, and it has not; *first is the first of their names. */
static uint64_t count_lacking(const finder *f, const neighbours *beside, const char **first)
{
    uint64_t lacking = 0;
    for (uint32_t n = 0; n < assay_dict_count(beside->one); n++) {
        size_t length;
        const char *name = assay_dict_name(beside->one, n, &length);
        if (has(beside->own, name, length) || !has(beside->other, name, length) ||
            times_beyond(f, beside, name) + 2 < beside->count)
            continue;
        lacking++;
        *first = !*first || strcmp(name, *first) < 0 ? name : *first;
    }
    return lacking;
}

/* Names what a step lacks between others, three of which at least are near and all have it. At the first step there are no
 * gradients, the last may be a summary, and what is recorded at every second step is not lost. */
static int name_lacking(finder *f, const char *step)
{
    neighbours beside = {.count = 0};
    const char *first = NULL;
    find_beside(f, &beside);
    const size_t count = beside.count;
    const uint32_t last = count > 0 ? assay_dict_count(assay_format_places(&assay_format_npy, f->catalog)) - 1 : 0;
    if (count < BESIDE - 1 || f->unit->place == 0 || f->unit->place == last)
        return ASSAY_OK;
    beside.own = names_of(f);
    beside.one = names_at(f, beside.step[0]);
    beside.other = names_at(f, beside.step[1]);
    const bool known = beside.own && beside.one && beside.other;
    uint64_t lacking = known ? count_lacking(f, &beside, &first) : 0;
    if (lacking > 0 && is_of_another_kind(f, &beside, lacking))
        lacking = 0;
    if (lacking > 1)
        assay_problems_add(f->problems, ASSAY_PROBLEM_EVENT_MISSING, f->unit->step, step, -1,
                           "%s: has no %s and %llu more, which the %zu steps beside it have", step, first,
                           (unsigned long long)lacking - 1, count);
    else if (lacking == 1)
        assay_problems_add(f->problems, ASSAY_PROBLEM_EVENT_MISSING, f->unit->step, step, -1,
                           "%s: has no %s, which the %zu steps beside it have", step, first, count);
    assay_dict_free(beside.own);
    assay_dict_free(beside.one);
    assay_dict_free(beside.other);
    return known ? ASSAY_OK : ASSAY_ENOMEM; /* a listing that fails is a problem, and no status */
}

int assay_npy_unit_places(assay_store *store, const assay_catalog *catalog, const assay_unit *unit,
                          assay_place_visit *visit, void *context)
{
    assay_problems unnamed;
    finder f = {
        .store = store, .catalog = catalog, .unit = unit, .problems = &unnamed, .seen = visit, .context = context};
    int status = ASSAY_OK;
    assay_problems_init(&unnamed);
    assay_buf_init(&f.paths, SIZE_MAX);
    assay_buf_init(&f.directories, SIZE_MAX);
    const char *directory = assay_npy_directory(catalog, unit);
    if (directory)
        status = read_unit(&f, directory, catalog->worker_key[unit->worker], NULL);
    assay_buf_release(&f.paths);
    assay_buf_release(&f.directories);
    assay_problems_release(&unnamed);
    return status;
}

int assay_npy_index(assay_store *store, const assay_catalog *catalog, const assay_unit *units, size_t count,
                    const assay_index_sink *into)
{
    assay_index_marks marks = {0};
    const target t = {into->tensors, into->shard, &marks};
    finder f = {.store = store, .catalog = catalog, .problems = into->problems};
    int status = ASSAY_OK;
    assay_buf_init(&f.paths, SIZE_MAX);
    assay_buf_init(&f.directories, SIZE_MAX);
    for (size_t i = 0; i < count && status == ASSAY_OK; i++) {
        f.unit = &units[i];
        const char *directory = assay_npy_directory(catalog, &units[i]);
        if (directory)
            status = read_unit(&f, directory, catalog->worker_key[units[i].worker], &t);
        if (directory && status == ASSAY_OK)
            status = name_lacking(&f, directory);
        assay_problems_take_notes(into->problems, store, units[i].step,
                                  "what lies there is missing from this analysis");
    }
    assay_buf_release(&f.paths);
    assay_buf_release(&f.directories);
    assay_index_marks_release(&marks);
    return status;
}
