/* catalog.c - lists a trial:
 *
 * 1. One look at the root tells which formats may lie below it; each adds its workers and units. Files of events in
 *    time are listed beside them (events.h).
 * 2. Workers are sorted in natural order, units by (step, worker, format, mode); doubles are taken out.
 * 3. Each format says what else it knows: whether the trial has ended, what is odd about it. */
#include "trial/catalog.h"

#include <assay/timeline.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "base/vec.h"
#include "store/storage.h"
#include "trial/collections.h"
#include "trial/lone.h"
#include "trial/trial_format.h"

/* ---- suggest trial ---- */

/* Trials in the directories below one that is none, for the message about it. */

/* People give a folder of runs, or one folder too high: a look that finds the right one is worth a few listings, not
 * a walk through a file system. */
enum { LISTED_MOST = 64, LEVELS = 4, NAMES_MOST = 4096 };
enum { LISTED_MOST_AFAR = 8, LEVELS_AFAR = 1 }; /* where a listing waits for a server */

typedef struct level {
    char **path; /* [NAMES_MOST] of what may be a directory to look at */
    size_t count;
} level;

static void release(level *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->path[i]);
    free(l->path);
    *l = (level){0};
}

static int by_nature(const void *a, const void *b)
{
    return assay_natural_order(*(char *const *)a, *(char *const *)b);
}

/* Adds what lies in a directory to the next level, as far as that has room. Which of it are directories shows when they
 * are listed. False without memory. */
static bool add_names(level *next, const char *parent, const assay_names *names)
{
    if (!next->path && !(next->path = assay_alloc(NAMES_MOST * sizeof *next->path)))
        return false;
    for (size_t i = 0; i < names->count && next->count < NAMES_MOST; i++) {
        if (names->name[i][0] == '.')
            continue;
        const size_t size = strlen(parent) + strlen(names->name[i]) + 2;
        char *path = assay_alloc(size);
        if (!path)
            return false;
        snprintf(path, size, "%s%s%s", parent, *parent ? "/" : "", names->name[i]);
        next->path[next->count++] = path;
    }
    return true;
}

static bool looks_like_a_trial(const assay_names *names)
{
    for (unsigned i = 0; i < assay_format_count(); i++)
        if (!assay_format_of(i)->deep && assay_format_of(i)->probe(names))
            return true;
    return false;
}

/* Looks for directories whose names are those of a trial in some format, nearest first, and not below such a one.
 * Appends the path of the first in natural order to `path` with a terminator, and returns how many there are; 0, and
 * `path` stays as it is, where none is found. Lists at most 64 directories, four levels deep, and looks at no more
 * than 4096 names of a level; where a listing waits for a server, at most 8 directories of the first level. Called
 * only for a message: it may be slow, but must end. */
static unsigned assay_trials_below(assay_store *store, const assay_names *top, assay_buf *path)
{
    const bool afar = assay_store_listing_waits(store);
    const unsigned listed_most = afar ? LISTED_MOST_AFAR : LISTED_MOST;
    const int levels = afar ? LEVELS_AFAR : LEVELS;
    level now = {0}, next = {0};
    unsigned found = 0, listed = 0;
    bool memory = add_names(&now, "", top);
    for (int depth = 1; depth <= levels && memory && now.count > 0; depth++) {
        qsort(now.path, now.count, sizeof *now.path, by_nature);
        for (size_t i = 0; i < now.count && listed < listed_most && memory; i++) {
            assay_names names = {0};
            /* A file is listed by nobody; exists() is the cheaper question. */
            if (assay_store_exists(store, now.path[i], NULL) == 1) /* a file */
                continue;
            listed++;
            if (assay_store_list(store, now.path[i], &names, NULL) != ASSAY_OK)
                continue;
            /* Deep formats would claim any directory with folders in it. */
            if (!looks_like_a_trial(&names))
                memory = add_names(&next, now.path[i], &names);
            else if (found++ == 0)
                assay_put_bytes(path, now.path[i], strlen(now.path[i]) + 1);
            assay_names_release(&names);
        }
        release(&now);
        now = next;
        next = (level){0};
    }
    release(&now);
    release(&next);
    return found;
}

/* ---- default collections ---- */

/* Patterns of weights, biases, gradients and losses are those of the
 * reference for PyTorch, metrics is its XGBoost one; the others are those of the recording library (docs/hook-parameters.md), but
 * that tensors of optimizers and moving averages are no weights. */

/* Order does not matter here: collections are sorted by name when they are added. */
static const struct {
    const char *name, *pattern;
} defaults[] = {
    {"all", "."},
    {"biases", "^(?!gradient|optimizer/|ema/|state/).*bias"},
    {"ema", "^ema/"},
    {"gradients", "^gradient"},
    {"inputs", "_input_\\d+$|^inputs?(/|$)"},
    {"labels", "^labels?(/|$)"},
    {"losses", "[Ll]oss_(?!input).*output|^loss$"},
    {"metrics", "^[a-zA-Z]+-[a-zA-Z0-9]+$|^metrics?/"},
    {"model", "^(?!gradient|optimizer/|ema/|state/)"},
    {"optimizer_variables", "^optimizer(_variables)?/"},
    {"outputs", "_output_\\d+$|^outputs?(/|$)"},
    {"predictions", "^predictions?(/|$)"},
    {"weights", "^(?!gradient|optimizer/|ema/|state/).*weight"},
};

/* Of logs of metrics, whose tensors are numbers that a program printed: no collection of theirs has elements. Logs
 * have series, not tensors: patterns are those of common loggers, and have to leave out what is called loss but is
 * none (scales, counts, weights). */
static const struct {
    const char *name, *pattern;
} of_logs[] = {
    {"all", "."},
    {"losses", "^metrics/(?!.*(?:[Pp][Pp][Ll]|[Pp]erplexity|vs samples))"
               "(?!(?:.*[/_ .-])?(?:[Bb]est|[Ll]owest|[Mm]in)(?=[/_ .A-Z-]).*(?:[Ll]oss|LOSS))"
               ".*(?:[Ll]oss(?![a-z])|LOSS(?![A-Za-z]))(?![ _-]?(?:[Ss]cale|SCALE))"
               "(?![ _-](?:[Ss]um|[Cc]ount|[Nn]um|[Ss]td|[Ww]eights?|[Cc]oeff?|[Tt]okens?)(?![A-Za-z]))"},
    {"lowprecision",
     "^metrics/.+_[a-z]+_(?:(?:fp8_delayed_scaling|fp8_current_scaling|mxfp8|fp8_block_scaling|nvfp4)_)?"
     "(?:underflows%|overflows%|scale_inv_min|scale_inv_max|mse)(?:_columnwise)?$"},
    {"metrics", "^metrics/"},
    {"norms", "^metrics/.*(?:[Gg]rad(?:ient)?s?[ _-]?[Nn]orm|(?:^|[/_ .])(?:l2|norm)$)"},
};

static int add_of_logs(assay_collections *c)
{
    int status = ASSAY_OK;
    char guarded[256];
    for (size_t i = 0; i < sizeof of_logs / sizeof *of_logs && status == ASSAY_OK; i++)
        status = assay_collections_add_pattern(c, of_logs[i].name, of_logs[i].pattern);
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults && status == ASSAY_OK; i++) {
        snprintf(guarded, sizeof guarded, "^(?!metrics/).*?(?:%s)", defaults[i].pattern);
        status = assay_collections_add_pattern(c, defaults[i].name, guarded);
    }
    return status;
}

int assay_collections_add_defaults(assay_collections *c, bool of_log)
{
    if (of_log)
        return add_of_logs(c);
    int status = ASSAY_OK;
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults && status == ASSAY_OK; i++)
        status = assay_collections_add_pattern(c, defaults[i].name, defaults[i].pattern);
    return status;
}

/* ---- catalog ---- */

static const assay_trial_format *format_of(const assay_unit *unit)
{
    return assay_format_of(unit->format);
}

/* ---- what formats add ---- */

int assay_lister_no_memory(const assay_lister *l)
{
    return assay_fail(l->err, ASSAY_ENOMEM, "%s: out of memory while listing the trial",
                      assay_store_location(l->store));
}

uint32_t assay_lister_worker(assay_lister *l, const char *key, size_t length)
{
    uint32_t id = assay_dict_add(l->workers, key, length);
    /* Units keep workers in 24 bits. */
    return id < 1u << 24 ? id : ASSAY_NO_ID;
}

/* A place says where below the trial a unit lies, in the format's own terms; equal ones get one number. */
uint32_t assay_lister_place(assay_lister *l, const void *bytes, size_t size)
{
    assay_dict **places = &l->catalog->places[l->format];
    if (!*places)
        *places = assay_dict_new();
    return *places ? assay_dict_add(*places, bytes, size) : ASSAY_NO_ID;
}

int assay_lister_unit(assay_lister *l, int64_t step, uint32_t worker, uint32_t place)
{
    return assay_lister_mode_unit(l, step, ASSAY_MODE_NONE, worker, place);
}

int assay_lister_mode_unit(assay_lister *l, int64_t step, int mode, uint32_t worker, uint32_t place)
{
    assay_catalog *catalog = l->catalog;
    if (!assay_vec_reserve(&catalog->units, &l->room, catalog->unit_count + 1, sizeof *catalog->units))
        return assay_lister_no_memory(l);
    /* The bit fields of assay_unit are 24, 4 and 4 bits wide; callers stay below (assay_lister_worker,
     * ASSAY_FORMATS_MOST). */
    catalog->units[catalog->unit_count++] = (assay_unit){
        .step = step, .worker = worker & 0xffffff, .format = l->format & 0xf, .mode = mode & 0xf, .place = place};
    return ASSAY_OK;
}

/* What cannot be listed is named and passed over: the rest of the trial is read. */
int assay_lister_names(assay_lister *l, const char *directory, assay_names *names)
{
    assay_error why = {{0}};
    int status = assay_store_list(l->store, directory, names, &why);
    if (status == ASSAY_OK || status == ASSAY_ENOTFOUND)
        return status == ASSAY_OK ? 0 : 1;
    if (status == ASSAY_ENOMEM)
        return assay_lister_no_memory(l);
    assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_READ, -1, directory, -1,
                       "%s; what lies in it is missing from this analysis", why.text);
    return 1;
}

bool assay_names_have(const assay_names *names, const char *name)
{
    size_t low = 0;
    ASSAY_SEARCH(low, names->count, strcmp(names->name[low], name) < 0);
    return low < names->count && strcmp(names->name[low], name) == 0;
}

void assay_lister_end_marker(assay_lister *l, const char *name)
{
    assay_catalog *catalog = l->catalog;
    assay_error why = {{0}};
    /* Several formats may know the same marker; it is looked at once. */
    if (l->has_marker)
        return;
    l->has_marker = true;
    /* A store may have a directory or a link of that name: only a regular file ends a trial. */
    const int there = assay_store_exists(l->store, name, &why);
    catalog->ended = there == 1;
    if (there < 0)
        assay_problems_add(&catalog->problems, ASSAY_PROBLEM_READ, -1, name, -1, "%s", why.text);
    else if (there == 0 && assay_names_have(l->top, name))
        assay_problems_add(&catalog->problems, ASSAY_PROBLEM_NAME, -1, name, -1,
                           "%s: not a regular file: it does not end the trial; put an empty file in its place", name);
}

/* ---- workers ---- */

typedef struct worker_name {
    char *key, *display;
    uint32_t id;
} worker_name;

static int compare_workers(const void *a, const void *b)
{
    return assay_worker_compare(((const worker_name *)a)->key, ((const worker_name *)b)->key);
}

/* Fills the catalog's names from the sorted ones, which it takes over, and renumbers the units. */
static void place_workers(assay_catalog *catalog, worker_name *sorted, uint32_t count, uint32_t *new_id)
{
    for (uint32_t i = 0; i < count; i++) {
        catalog->worker_key[i] = sorted[i].key;
        catalog->worker[i] = sorted[i].display;
        new_id[sorted[i].id] = i;
    }
    catalog->workers = count;
    for (size_t i = 0; i < catalog->unit_count; i++)
        catalog->units[i].worker = new_id[catalog->units[i].worker] & 0xffffff;
}

static int sort_workers(assay_lister *l)
{
    uint32_t count = assay_dict_count(l->workers), made = 0;
    worker_name *sorted = assay_alloc_zeroed(count, sizeof *sorted);
    uint32_t *new_id = assay_alloc_zeroed(count, sizeof *new_id);
    l->catalog->worker_key = assay_alloc_zeroed(count, sizeof(char *));
    l->catalog->worker = assay_alloc_zeroed(count, sizeof(char *));
    /* From here on all or nothing: what was made is freed again where memory ends. */
    bool have = sorted && new_id && l->catalog->worker_key && l->catalog->worker;
    for (; have && made < count; made++) {
        size_t length = 0;
        const char *name = assay_dict_name(l->workers, made, &length);
        sorted[made] = (worker_name){assay_copy_bytes_as_text(name, length), assay_alloc(length + 1), made};
        have = sorted[made].key && sorted[made].display;
        if (have)
            assay_worker_display_name(name, length, sorted[made].display);
    }
    if (have) {
        if (count)
            qsort(sorted, count, sizeof *sorted, compare_workers);
        place_workers(l->catalog, sorted, count, new_id);
    }
    for (uint32_t i = 0; !have && i < made; i++) {
        free(sorted[i].key);
        free(sorted[i].display);
    }
    /* Names have moved into the catalog where all went well; these are the arrays only. */
    free(sorted);
    free(new_id);
    return have ? ASSAY_OK : assay_lister_no_memory(l);
}

/* ---- units ---- */

/* A unit that is being sorted; `home`: it lies where its format looks for it. Units away from home come from users
 * who moved files: place_of() would not find them. */
typedef struct sort_unit {
    assay_unit unit;
    bool home;
} sort_unit;

static bool is_home(const assay_catalog *catalog, const assay_unit *unit)
{
    return format_of(unit)->place_of(catalog, unit) == unit->place;
}

int assay_unit_compare(const assay_unit *x, const assay_unit *y)
{
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->worker != y->worker)
        return x->worker < y->worker ? -1 : 1;
    if (x->format != y->format)
        return x->format < y->format ? -1 : 1;
    return (x->mode > y->mode) - (x->mode < y->mode);
}

/* Of two units that are otherwise equal, the one at home comes first. */
static int compare_sort_units(const void *a, const void *b)
{
    const sort_unit *x = a, *y = b;
    int order = assay_unit_compare(&x->unit, &y->unit);
    if (order)
        return order;
    if (x->home != y->home)
        return x->home ? -1 : 1;
    return (x->unit.place > y->unit.place) - (x->unit.place < y->unit.place);
}

/* Sorts the units unless they are in order already, as they are in nearly every trial. Formats list in the order of
 * the directory, which mostly is that of steps. */
static int sort_units(assay_lister *l)
{
    assay_catalog *catalog = l->catalog;
    bool sorted = true;
    for (size_t i = 1; i < catalog->unit_count && sorted; i++)
        sorted = assay_unit_compare(&catalog->units[i - 1], &catalog->units[i]) < 0;
    if (sorted)
        return ASSAY_OK;
    sort_unit *list = assay_alloc(catalog->unit_count * sizeof *list);
    if (!list)
        return assay_lister_no_memory(l);
    for (size_t i = 0; i < catalog->unit_count; i++)
        list[i] = (sort_unit){catalog->units[i], is_home(catalog, &catalog->units[i])};
    qsort(list, catalog->unit_count, sizeof *list, compare_sort_units);
    for (size_t i = 0; i < catalog->unit_count; i++)
        catalog->units[i] = list[i].unit;
    free(list);
    return ASSAY_OK;
}

static int add_stray(assay_lister *l, const assay_unit *unit)
{
    assay_catalog *catalog = l->catalog;
    assay_unit *grown = assay_realloc_array(catalog->strays, catalog->stray_count + 1, sizeof *grown);
    if (!grown)
        return assay_lister_no_memory(l);
    catalog->strays = grown;
    catalog->strays[catalog->stray_count++] = *unit;
    return ASSAY_OK;
}

/* Removes doubles, and notes units that do not lie at home. */
static int settle_units(assay_lister *l)
{
    assay_catalog *catalog = l->catalog;
    assay_unit *units = catalog->units;
    size_t kept = 0;
    int status = ASSAY_OK;
    /* Of doubles, the first in order of compare_sort_units() is kept: the one at home. */
    for (size_t i = 0; i < catalog->unit_count && status == ASSAY_OK; i++) {
        const assay_unit unit = units[i];
        const assay_trial_format *format = format_of(&unit);
        if (kept > 0 && assay_unit_compare(&units[kept - 1], &unit) == 0) {
            format->remark(catalog, &unit, &units[kept - 1]);
            continue;
        }
        if (!is_home(catalog, &unit)) {
            format->remark(catalog, &unit, NULL);
            status = add_stray(l, &unit);
        }
        units[kept++] = unit;
    }
    catalog->unit_count = kept;
    return status;
}

/* The position of the unit in a sorted list, or where it belongs. */
static size_t find_unit(const assay_unit *list, size_t count, const assay_unit *unit)
{
    size_t low = 0;
    ASSAY_SEARCH(low, count, assay_unit_compare(&list[low], unit) < 0);
    return low;
}

/* Computes a unit instead of searching for it among all: for look-back, which asks for single earlier steps. */
assay_unit assay_catalog_unit(const assay_catalog *catalog, int64_t step, int mode, uint32_t worker, uint32_t i)
{
    const assay_trial_format *format = assay_format_of(catalog->formats[i]);
    assay_unit unit = {.step = step, .worker = worker & 0xffffff, .format = catalog->formats[i] & 0xf};
    unit.mode = format->by_mode ? mode & 0xf : ASSAY_MODE_NONE;
    /* Strays are few: users moved them, or a writer had a bug. */
    size_t at = find_unit(catalog->strays, catalog->stray_count, &unit);
    if (at < catalog->stray_count && assay_unit_compare(&catalog->strays[at], &unit) == 0)
        return catalog->strays[at];
    unit.place = format->place_of(catalog, &unit);
    return unit;
}

bool assay_catalog_is_unwatched(const assay_catalog *catalog)
{
    /* Files of checkpoints appear whole, by renaming: waiting for more of one makes no sense. */
    bool checkpoints = false, others = false; /* a checkpoint is whole, or of no use */
    for (uint32_t i = 0; i < catalog->format_count; i++)
        checkpoints = checkpoints || assay_format_of(catalog->formats[i])->checkpoints;
    /* a directory that could not be listed may have looked like one of checkpoints, and turn out to be none */
    for (size_t i = 0; i < catalog->unit_count && checkpoints; i++)
        if (assay_format_of(catalog->units[i].format)->checkpoints)
            return true;
        else
            others = true;
    return checkpoints && !others;
}

int assay_unit_path(const assay_catalog *catalog, const assay_unit *unit, char *out, size_t room)
{
    return format_of(unit)->index_path(catalog, unit, out, room);
}

uint32_t assay_catalog_worker(const assay_catalog *catalog, const char *name)
{
    for (uint32_t w = 0; w < catalog->workers; w++)
        if (strcmp(catalog->worker[w], name) == 0)
            return w;
    return ASSAY_NO_ID;
}

/* ---- the whole ---- */

/* What formats say of files that are called like theirs; terminated. */
static bool put_doubts(const assay_lister *l, assay_buf *out)
{
    bool any = false;
    assay_buf_clear(out);
    for (unsigned i = 0; i < assay_format_count() && !any; i++)
        any = assay_format_of(i)->doubts && assay_format_of(i)->doubts(l->store, out);
    assay_put_u8(out, '\0');
    if (!any)
        assay_buf_clear(out);
    return any;
}

/* No format has claimed what is in the root. */
static int fail_unknown(const assay_lister *l)
{
    /* One message for the user's most frequent mistake: the wrong directory. Better causes go first: could not look,
     * one level too high, files that only look like a trial. */
    const char *location = assay_store_location(l->store), *path, *text;
    assay_buf what = ASSAY_BUF(4096), doubts = ASSAY_BUF(4096);
    const bool doubtful = put_doubts(l, &doubts);
    const unsigned below = assay_trials_below(l->store, l->top, &what);
    int status;
    if ((text = assay_problems_unread(&l->catalog->problems)) || assay_store_take_note(l->store, &path, &text)) {
        status = assay_fail(l->err, ASSAY_EIO, "%s: cannot look at all of it: %s", location, text);
    } else if (below > 0 && assay_buf_status(&what) == ASSAY_OK) {
        const char *slash = location[strlen(location) - 1] == '/' ? "" : "/";
        status = assay_fail(l->err, ASSAY_EFORMAT, "%s: not a trial, but %s; give %s%s%s%s%s%s%s", location,
                            below > 1 ? "a folder of trials" : "there is one in it", location, slash,
                            (const char *)what.data, below > 1 ? ", or '" : "", below > 1 ? location : "",
                            below > 1 ? slash : "", below > 1 ? "*' for all of them" : "");
    } else if (doubtful) {
        status = assay_fail(l->err, ASSAY_EFORMAT, "%s: not a trial: %s; give what the training wrote", location,
                            assay_buf_status(&doubts) == ASSAY_OK ? (const char *)doubts.data : "");
    } else if (l->top->count == 0) {
        status =
            assay_fail(l->err, ASSAY_EFORMAT,
                       "%s: not a trial: nothing is in it; give the directory that the training wrote to", location);
    } else {
        for (unsigned i = 0; i < assay_format_count(); i++)
            assay_put_format(&what, "%s%s", i ? ", nor " : "", assay_format_of(i)->what);
        assay_event_formats_describe(&what);
        assay_put_u8(&what, '\0');
        status = assay_fail(l->err, ASSAY_EFORMAT,
                            "%s: not a trial: it has neither %s; give the directory that the training wrote to",
                            location, assay_buf_status(&what) == ASSAY_OK ? (const char *)what.data : "");
    }
    assay_buf_release(&what);
    assay_buf_release(&doubts);
    return status;
}

/* Does the only file of the trial begin as files of tensors do? Opened only for a single file that was given by
 * name. */
static bool is_of_tensors(const assay_lister *l)
{
    char path[ASSAY_PATH_ROOM];
    const char *name = l->top->name[0];
    return !assay_lone_is_named(name, ASSAY_LONE_LOG) && !assay_lone_is_named(name, ASSAY_LONE_TRACE) &&
           assay_store_local_path(l->store, name, path, sizeof path) && assay_lone_begins(path, ASSAY_LONE_TENSORS);
}

/* Once for all trials of the place: thousands of logs in one directory are a trial each. */
static bool is_probed(const assay_lister *l, unsigned number)
{
    return assay_store_ask_root(l->store, ASSAY_ASKS_FORMATS + number, assay_format_of(number)->probe);
}

/* Names of steps may be the job's own, and a checkpoint that is one file may have any name but that of a log, in which
 * numbers are no step: W&B's ids have any letters. */
static bool may_be_checkpoints(const assay_lister *l, unsigned number)
{
    if (assay_store_is_file(l->store) && l->top->count == 1)
        return assay_lone_is_named(l->top->name[0], ASSAY_LONE_TENSORS) || is_of_tensors(l);
    return is_probed(l, number) || assay_trial_options_has_steps(l->catalog->options);
}

/* Lists the trial in every format that it may have. */
static int list_formats(assay_lister *l)
{
    assay_catalog *catalog = l->catalog;
    /* "only" is what the job asks for: logs, checkpoints, or whatever is there. */
    const uint8_t only = catalog->options ? catalog->options->only : ASSAY_TRIAL_ALL;
    bool default_collections = false;
    l->said_by_none = true;
    for (unsigned i = 0; i < assay_format_count(); i++) {
        const assay_trial_format *format = assay_format_of(i);
        if (format->checkpoints ? !may_be_checkpoints(l, i) : !is_probed(l, i))
            continue;
        const bool left_out =
            format->checkpoints ? only == ASSAY_TRIAL_LOG : only == ASSAY_TRIAL_CHECKPOINTS && catalog->unit_count > 0;
        if (left_out)
            continue;
        l->format = (uint8_t)i;
        int status = format->list(l);
        if (status < 0)
            return status;
        if (status == 1)
            continue;
        catalog->formats[catalog->format_count++] = l->format;
        default_collections = default_collections || format->default_collections;
        /* Collections of the trial's own go before the defaults. */
        l->said_by_none = l->said_by_none && format->default_collections;
    }
    if (assay_event_files_list(l->store, l->top, &catalog->events, &catalog->problems) != ASSAY_OK)
        return assay_lister_no_memory(l);
    if (catalog->format_count == 0 && !catalog->events.found)
        return fail_unknown(l);
    const bool of_log = catalog->log.kind != NULL;
    if (default_collections && !l->has_collections &&
        assay_collections_add_defaults(&catalog->collections, of_log) != ASSAY_OK)
        return assay_lister_no_memory(l);
    return ASSAY_OK;
}

static int conclude_formats(assay_lister *l)
{
    assay_catalog *catalog = l->catalog;
    int status = ASSAY_OK;
    for (uint32_t i = 0; i < catalog->format_count && status == ASSAY_OK; i++) {
        l->format = catalog->formats[i];
        status = assay_format_of(l->format)->conclude(l);
    }
    /* Events and logs are data too: a trial of those alone is not empty. */
    const bool says_why = catalog->problems.total > 0 || catalog->events.found || catalog->log.kind; /* a log counts */
    if (catalog->unit_count == 0 && !says_why)
        assay_problems_add(&catalog->problems, ASSAY_PROBLEM_EMPTY, -1, "", -1,
                           "nothing is recorded in it: no step was saved, or nothing has been written yet");
    /* Formats that know how many workers there should be have said so already. */
    if (l->said_by_none && catalog->collections.num_workers == 0)
        catalog->collections.num_workers = catalog->workers;
    if (catalog->format_count == 0)
        catalog->ended = catalog->events.ended;
    uint32_t said = catalog->collections.num_workers;
    /* Workers that wrote nothing are still expected: incomplete steps are told by that. */
    catalog->expected_workers = said > catalog->workers ? said : catalog->workers;
    if (status == ASSAY_OK && catalog->problems.status != ASSAY_OK)
        status = assay_lister_no_memory(l);
    return status;
}

static int list_top(const assay_lister *l, assay_names *top)
{
    assay_error why = {{0}};
    int status = assay_store_list_root(l->store, top, &why);
    if (status == ASSAY_OK)
        return ASSAY_OK;
    return status == ASSAY_ENOMEM ? assay_lister_no_memory(l)
                                  : assay_fail(l->err, status, "%s: cannot list it%s%s", assay_store_location(l->store),
                                               why.text[0] == ':' ? "" : ": ", why.text);
}

/* What lies elsewhere is read as the trial's own; who reads the report is told. */
static void name_link(assay_store *store, assay_problems *problems)
{
    bool several;
    const char *path = assay_store_outside(store, &several);
    if (path)
        assay_problems_add(problems, ASSAY_PROBLEM_LINK, -1, path, -1,
                           "a symbolic link leads out of the trial, and what it leads to is read%s",
                           several ? "; there are more such links" : "");
}

/* Also called by formats of logs, once they know what is there. */
int assay_lister_find_log_kind(const assay_lister *l)
{
    const char *asked = l->catalog->options ? l->catalog->options->log_kind : NULL, *read = l->catalog->log.kind;
    if (!asked || (read && strcmp(read, asked) == 0))
        return ASSAY_OK;
    return assay_fail(l->err, ASSAY_ENOTFOUND,
                      "%s: no log of the kind \"%.60s\" is there, which \"format\" asks for%s%s",
                      assay_store_location(l->store), asked, read ? "; there is one of " : "", read ? read : "");
}

/* By one rank for each trial; the others unpack what it found (engine/source/list.c). Order matters: units name
 * workers by number, so workers are sorted first, and formats conclude over the sorted units. */
int assay_catalog_read(assay_store *store, const assay_trial_options *options, assay_catalog *out, assay_error *err)
{
    assay_catalog catalog = {.options = options};
    assay_names top = {0};
    assay_lister l = {.store = store, .catalog = &catalog, .workers = assay_dict_new(), .top = &top, .err = err};
    assay_problems_init(&catalog.problems);
    int status = l.workers ? list_top(&l, &top) : assay_lister_no_memory(&l);
    ASSAY_THEN(status, list_formats(&l));
    ASSAY_THEN(status, sort_workers(&l));
    ASSAY_THEN(status, sort_units(&l));
    ASSAY_THEN(status, settle_units(&l));
    ASSAY_THEN(status, conclude_formats(&l));
    ASSAY_THEN(status, assay_lister_find_log_kind(&l));
    if (status == ASSAY_OK && assay_store_is_unsummed(store))
        assay_problems_add(&catalog.problems, ASSAY_PROBLEM_UNVERIFIED, -1, "", -1,
                           "packed by an older assay: the tables of the file have no checksums; pack the trial again");
    if (status == ASSAY_OK && assay_store_behind(store) > 0)
        assay_problems_add(&catalog.problems, ASSAY_PROBLEM_BEHIND, -1, "", -1,
                           "%llu bytes stand behind the end of the packed file, which nobody reads",
                           (unsigned long long)assay_store_behind(store));
    if (status == ASSAY_OK)
        name_link(store, &catalog.problems);
    /* Asked at the end, when all listings were made: one that was cut short makes the whole list wrong. */
    ASSAY_THEN(status, assay_store_listed_whole(store, err));
    assay_problems_take_notes(&catalog.problems, store, -1, "what lies there may be missing from this analysis");
    if (status == ASSAY_OK && catalog.problems.status != ASSAY_OK)
        status = assay_lister_no_memory(&l);
    assay_dict_free(l.workers);
    if (status != ASSAY_OK)
        assay_catalog_release(&catalog);
    else
        *out = catalog;
    return status;
}
