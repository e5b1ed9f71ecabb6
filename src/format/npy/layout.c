/* layout.c - lists a tree of .npy files: STEP/WORKER/NAME.npy, or STEP/NAME.npy of one worker.
 *
 * 1. Directories of the root whose names have a step are put in order of their steps: a unit's place is its directory.
 * 2. One look at each tells its workers. What lies below no worker's directory is worker_0's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fault.h"
#include "base/search.h"
#include "format/npy/npy.h"
#include "tfrecord/recorded.h"

static const char FIRST[] = "worker_0";

/* Takes one of the words, whatever its case, off the name's start; NULL when none is there. */
static const char *behind_word(const char *name, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncasecmp(name, words[i], strlen(words[i])) == 0)
            return name + strlen(words[i]);
    return NULL;
}

/* Nothing but digits, and at least one, that fit 63 bits. */
static bool read_digits(const char *text, int64_t *out)
{
    int64_t value = 0;
    if (!*text)
        return false;
    for (; *text; text++)
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *text - '0', &value))
            return false;
    *out = value;
    return true;
}

bool assay_npy_step_name(const char *name, int64_t *step)
{
    static const char *const words[] = {"global_step", "globalstep", "steps",      "step", "iteration", "iter",
                                        "update",      "epoch",      "checkpoint", "ckpt", "chkpt"};
    const char *rest = behind_word(name, words, sizeof words / sizeof *words);
    if (rest && (*rest == '-' || *rest == '_' || *rest == '='))
        rest++;
    return read_digits(rest ? rest : name, step);
}

bool assay_npy_worker_name(const char *name)
{
    static const char *const words[] = {"rank", "worker", "proc", "shard"};
    int64_t number = 0;
    const char *rest = behind_word(name, words, sizeof words / sizeof *words);
    if (rest && (*rest == '-' || *rest == '_'))
        rest++;
    return rest && read_digits(rest, &number);
}

bool assay_npy_probe(const assay_names *top)
{
    int64_t step = 0;
    for (size_t i = 0; i < top->count; i++)
        if (assay_npy_step_name(top->name[i], &step))
            return true;
    return false;
}

typedef struct step_place {
    int64_t step;
    const char *name;
} step_place;

static int compare_places(const void *a, const void *b)
{
    const step_place *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return assay_worker_compare(x->name, y->name);
}

static bool ends_with_npy(const char *name)
{
    const size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".npy") == 0;
}

static int add_unit(assay_lister *l, const step_place *place, uint32_t number, const char *worker)
{
    uint32_t id = assay_lister_worker(l, worker, strlen(worker));
    return id == ASSAY_NO_ID ? assay_lister_no_memory(l) : assay_lister_unit(l, place->step, id, number);
}

/* Does the first worker have tensors in this directory, outside of the workers' own? */
static bool has_own(assay_lister *l, const step_place *place, const assay_names *names)
{
    char path[ASSAY_PATH_ROOM];
    for (size_t i = 0; i < names->count; i++) {
        if (ends_with_npy(names->name[i]))
            return true;
        if (assay_npy_worker_name(names->name[i]) ||
            snprintf(path, sizeof path, "%s/%s", place->name, names->name[i]) >= (int)sizeof path)
            continue;
        if (assay_store_exists(l->store, path, NULL) == 0) /* a directory: part of names */
            return true;
    }
    return false;
}

/* Is there a .npy file in the directory, or below it? Other formats have directories of steps and workers, too. */
static bool has_array(const assay_lister *l, const char *directory, int depth)
{
    char path[ASSAY_PATH_ROOM];
    assay_names names = {0};
    bool found = false;
    if (depth > ASSAY_NPY_DEEPEST || assay_store_list(l->store, directory, &names, NULL) != ASSAY_OK)
        return false;
    for (size_t i = 0; i < names.count && !found; i++)
        found = ends_with_npy(names.name[i]);
    for (size_t i = 0; i < names.count && !found; i++)
        found = names.name[i][0] != '.' &&
                snprintf(path, sizeof path, "%s/%s", directory, names.name[i]) < (int)sizeof path &&
                assay_store_exists(l->store, path, NULL) == 0 && has_array(l, path, depth + 1);
    assay_names_release(&names);
    return found;
}

/* The units of a step's directory. What is no directory has none, and is named. */
static int list_step(assay_lister *l, const step_place *place, uint32_t number)
{
    const size_t before = l->catalog->unit_count;
    assay_names names = {0};
    if (assay_store_exists(l->store, place->name, NULL) == 1) {
        assay_problems_name_file(&l->catalog->problems, l->store, place->step, place->name);
        return ASSAY_OK;
    }
    int status = assay_lister_names(l, place->name, &names);
    if (status != 0)
        return status < 0 ? status : ASSAY_OK;
    bool own = has_own(l, place, &names);
    for (size_t i = 0; i < names.count && status == ASSAY_OK; i++) {
        if (!assay_npy_worker_name(names.name[i]))
            continue;
        own = own && strcmp(names.name[i], FIRST) != 0;
        status = add_unit(l, place, number, names.name[i]);
    }
    if (own && status == ASSAY_OK)
        status = add_unit(l, place, number, FIRST);
    if (l->catalog->unit_count == before)
        assay_problems_name_aside(&l->catalog->problems, place->step, &names, place->name, ".npy");
    assay_names_release(&names);
    return status;
}

/* Lists the directories in order; of two of one step that have tensors the second is named and not used. */
static int list_places(assay_lister *l, const step_place *places, size_t count)
{
    assay_catalog *catalog = l->catalog;
    const step_place *used = NULL;
    int status = ASSAY_OK;
    for (size_t i = 0; i < count && status == ASSAY_OK; i++) {
        if (used && used->step == places[i].step) {
            assay_problems_add(&catalog->problems, ASSAY_PROBLEM_DUPLICATE, places[i].step, places[i].name, -1,
                               "%s: step %lld is in %s too; this one is not used", places[i].name,
                               (long long)places[i].step, used->name);
            continue;
        }
        const size_t before = catalog->unit_count;
        const uint64_t problems = catalog->problems.total;
        uint32_t number = assay_lister_place(l, places[i].name, strlen(places[i].name));
        status = number == ASSAY_NO_ID ? assay_lister_no_memory(l) : list_step(l, &places[i], number);
        if (catalog->unit_count > before)
            used = &places[i];
        else if (i + 1 < count && status == ASSAY_OK && problems == catalog->problems.total &&
                 assay_store_exists(l->store, places[i].name, NULL) == 0)
            assay_problems_add(&catalog->problems, ASSAY_PROBLEM_NAME, places[i].step, places[i].name, -1,
                               "%s: has no .npy files", places[i].name); /* the last may be about to get them */
    }
    return status;
}

/* Names the directories beside those of the steps that have arrays: a step whose name was damaged is one of them. */
static void name_others(assay_lister *l)
{
    int64_t step = 0;
    for (size_t i = 0; i < l->top->count; i++) {
        const char *name = l->top->name[i];
        if (name[0] != '.' && strcmp(name, ASSAY_RECORDED_END) != 0 && !assay_npy_step_name(name, &step) &&
            assay_store_exists(l->store, name, NULL) == 0 && has_array(l, name, 0))
            assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_NAME, -1, name, -1,
                               "%s: has .npy files, and no step in its name; it is not read", name);
    }
}

int assay_npy_list(assay_lister *l)
{
    const size_t before = l->catalog->unit_count;
    size_t count = 0;
    step_place *places = assay_alloc_zeroed(l->top->count, sizeof *places);
    if (!places)
        return assay_lister_no_memory(l);
    for (size_t i = 0; i < l->top->count; i++) {
        places[count].name = l->top->name[i];
        count += assay_npy_step_name(l->top->name[i], &places[count].step);
    }
    qsort(places, count, sizeof *places, compare_places);
    bool any = false;
    for (size_t i = 0; i < count && !any; i++)
        any = has_array(l, places[i].name, 0);
    int status = any ? list_places(l, places, count) : ASSAY_OK;
    free(places);
    if (l->catalog->unit_count > before)
        name_others(l);
    return status == ASSAY_OK && l->catalog->unit_count == before ? 1 : status;
}

int assay_npy_conclude(assay_lister *l)
{
    static const char *const known[] = {ASSAY_RECORDED_END, NULL};
    assay_problems_name_damaged(&l->catalog->problems, l->top, "", known);
    assay_lister_end_marker(l, ASSAY_RECORDED_END);
    return ASSAY_OK;
}

/* The root, its directories of steps, and what lies in those: workers come later. */
int assay_npy_places(assay_store *store, assay_place_visit *visit, void *context)
{
    assay_names top = {0};
    int64_t step = 0;
    int status = visit(context, ".");
    if (status != ASSAY_OK || assay_store_list(store, "", &top, NULL) != ASSAY_OK)
        return status;
    for (size_t i = 0; i < top.count && status == ASSAY_OK; i++)
        if (assay_npy_step_name(top.name[i], &step) || strcmp(top.name[i], ASSAY_RECORDED_END) == 0)
            status = visit(context, top.name[i]);
    assay_names_release(&top);
    return status;
}

void assay_npy_remark(assay_catalog *catalog, const assay_unit *unit, const assay_unit *used)
{
    (void)used; /* list() has settled which directory of a step counts */
    assay_problems_add(&catalog->problems, ASSAY_PROBLEM_DUPLICATE, unit->step, "", -1,
                       "step %lld of %s lies in two places", (long long)unit->step, catalog->worker[unit->worker]);
}

static const assay_dict *places_of(const assay_catalog *catalog)
{
    return assay_format_places(&assay_format_npy, catalog);
}

const char *assay_npy_directory(const assay_catalog *catalog, const assay_unit *unit)
{
    const assay_dict *places = places_of(catalog);
    return places && unit->place < assay_dict_count(places) ? assay_dict_name(places, unit->place, NULL) : NULL;
}

/* Places are in order of their steps. */
uint32_t assay_npy_place_of(const assay_catalog *catalog, const assay_unit *unit)
{
    const assay_dict *places = places_of(catalog);
    uint32_t low = 0, count = places ? assay_dict_count(places) : 0;
    int64_t at = 0;
    ASSAY_SEARCH(low, count, assay_npy_step_name(assay_dict_name(places, low, NULL), &at) && at < unit->step);
    bool found = low < count && assay_npy_step_name(assay_dict_name(places, low, NULL), &at) && at == unit->step;
    return found ? low : UINT32_MAX;
}

int assay_npy_index_path(const assay_catalog *catalog, const assay_unit *unit, char *out, size_t room)
{
    const char *directory = assay_npy_directory(catalog, unit);
    return snprintf(out, room, "%s/%s", directory ? directory : "", catalog->worker_key[unit->worker]);
}

int assay_npy_file_path(const assay_catalog *catalog, const assay_part *part, uint32_t file, char *out, size_t room)
{
    (void)file; /* parts list their files */
    return snprintf(out, room, "%lld/%s", (long long)part->step, catalog->worker_key[part->worker]);
}
