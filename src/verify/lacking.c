/* lacking.c - see lacking.h.
 *
 * A framework that writes scheduler.pt into each checkpoint but one was interrupted there, or somebody copied a part of
 * it. Nothing inside tells: no index names such files, and loaders go on without them (the Trainer of Transformers then
 * begins with a new optimizer). Only the checkpoints around it do. */
#include "verify/lacking.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/path.h"
#include "base/vec.h"
#include "report/text/layout.h"
#include "trial/places.h"
#include "trial/trial_format.h"

/* Checkpoints on both sides that are asked; levels of directories below one; files that are named of one; and that are
 * looked for in what is said already. */
enum { AROUND = 4, LEVELS = 3, NAMED_MOST = 4, LOOKED_MOST = 256 };

typedef struct place {
    int64_t step;
    char *path;        /* directory or file; owned */
    bool file;         /* a file: what belongs to it lies beside it, and has its number in the name */
    assay_dict *names; /* files, below the directory, or beside the file; NULL: not listed yet */
} place;

typedef struct looker {
    const assay_trial_files *trial;
    const assay_verify_options *options;
    assay_problems *problems;
    assay_verify_remarks *remarks;
    ASSAY_VEC(place) places; /* by step */
} looker;

/* ---- names ---- */

/* Where the step's number stands in a name, as a whole number with zeros in front or without: its end; NULL: nowhere. */
static const char *find_number(const char *name, int64_t step, const char **end)
{
    for (const char *at = name; *at;) {
        const char *from = at;
        int64_t number = 0;
        while (assay_is_digit(*at) && at - from < 18)
            number = number * 10 + (*at++ - '0');
        if (at > from && number == step && !assay_is_digit(*at)) {
            *end = at;
            return from;
        }
        at += at == from;
    }
    return NULL;
}

/* The name that a file of one step has at another: "optim_0010.pt", "optim_0020.pt". False: the same, or too long. */
static bool rename_to(const char *name, int64_t step, int64_t other, char *out, size_t room)
{
    const char *end = NULL, *from = find_number(name, step, &end);
    if (!from)
        return false;
    const int width = *from == '0' ? (int)(end - from) : 1;
    const int size = snprintf(out, room, "%.*s%0*lld%s", (int)(from - name), name, width, (long long)other, end);
    return size > 0 && (size_t)size < room;
}

/* Has a checkpoint the file that another calls `name`? */
static bool has(const place *p, const char *name, int64_t step)
{
    char room[ASSAY_PATH_ROOM];
    if (!p->file && assay_dict_find(p->names, name, strlen(name)) != ASSAY_NO_ID)
        return true;
    return rename_to(name, step, p->step, room, sizeof room) &&
           assay_dict_find(p->names, room, strlen(room)) != ASSAY_NO_ID;
}

/* The last number in a name, which is the rank's where each rank has a file: its first digit; NULL: none. */
static const char *last_number(const char *name, size_t *digits)
{
    const char *end = name + strlen(name);
    while (end > name && !assay_is_digit(end[-1]))
        end--;
    const char *from = end;
    while (from > name && assay_is_digit(from[-1]))
        from--;
    *digits = (size_t)(end - from);
    return end > from ? from : NULL;
}

/* Is the file one of a set, others of which are there, while nothing else there has its number? A training that goes on
 * with fewer ranks writes no rng_state_7.pth. */
static bool is_of_fewer(const place *p, const char *name)
{
    size_t digits, other;
    const char *number = last_number(name, &digits);
    bool set = false;
    for (uint32_t n = 0; number && n < assay_dict_count(p->names); n++) {
        const char *own = assay_dict_name(p->names, n, NULL);
        const char *at = last_number(own, &other);
        if (!at)
            continue;
        if (other == digits && memcmp(at, number, digits) == 0)
            return false;
        set = set || (at - own == number - name && strncmp(own, name, (size_t)(at - own)) == 0 &&
                      strcmp(at + other, number + digits) == 0);
    }
    return set;
}

/* Beside a checkpoint that is a file lies also what was made of it, samples or figures, and comes later. */
static bool is_of_training(const char *name)
{
    static const char *const words[] = {"optim", "sched", "scaler", "model", "ema", "rng", "state"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i]))
            return true;
    return false;
}

/* Does a file of that name keep what a training resumes from, rather than words about it? */
static bool keeps_state(const char *name)
{
    static const char *const ends[] = {
        ".pt",  ".pth", ".bin",      ".ckpt",         ".safetensors",       ".pkl",
        ".npz", ".npy", ".metadata", "metadata.json", "trainer_state.json", ".index.json"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (assay_path_ends(name, ends[i]))
            return true;
    return false;
}

/* Does a framework always write it, so that one neighbour that has it is proof? */
static bool is_always_there(const char *name)
{
    static const char *const known[] = {"common.pt",    "scheduler.pt",  "scheduler.bin",
                                        "optimizer.pt", "optimizer.bin", "trainer_state.json"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i]) == 0)
            return true;
    return false;
}

/* One of a set that an index counts, "model-00002-of-00003.safetensors", "__3_0.distcp": its reader misses it. */
static bool is_counted(const char *name)
{
    const char *of = strstr(name, "-of-");
    return (of && assay_is_digit(of[4])) || assay_path_ends(name, ".distcp");
}

/* ---- lists ---- */

static int list_below(assay_store *store, const char *directory, size_t skipped, int level, assay_dict *out)
{
    assay_names names = {0};
    int status = ASSAY_OK;
    if (assay_store_list(store, directory, &names, NULL) != ASSAY_OK)
        return ASSAY_OK; /* a listing that fails is a note of the store */
    for (size_t i = 0; i < names.count && status == ASSAY_OK; i++) {
        char *path = assay_path_join(directory, names.name[i]);
        if (!path)
            status = ASSAY_ENOMEM;
        else if (assay_store_exists(store, path, NULL) == 1)
            status =
                assay_dict_add(out, path + skipped, strlen(path + skipped)) == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
        else if (level + 1 < LEVELS)
            status = list_below(store, path, skipped, level + 1, out);
        free(path);
    }
    assay_names_release(&names);
    return status;
}

static int list_beside(assay_store *store, const char *directory, int64_t step, assay_dict *out)
{
    assay_names names = {0};
    const char *end;
    int status = ASSAY_OK;
    if (assay_store_list(store, directory, &names, NULL) != ASSAY_OK)
        return ASSAY_OK;
    for (size_t i = 0; i < names.count && status == ASSAY_OK; i++)
        if (find_number(names.name[i], step, &end))
            status = assay_dict_add(out, names.name[i], strlen(names.name[i])) == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
    assay_names_release(&names);
    return status;
}

static int list_place(const looker *l, place *p)
{
    if (p->names)
        return ASSAY_OK;
    p->names = assay_dict_new();
    if (!p->names)
        return ASSAY_ENOMEM;
    return p->file ? list_beside(l->trial->store, "", p->step, p->names)
                   : list_below(l->trial->store, p->path, strlen(p->path) + 1, 0, p->names);
}

/* The checkpoints that lie in the root, one of each step: in directories, or in files. */
static int add_places(looker *l)
{
    const assay_catalog *catalog = &l->trial->catalog;
    int status = ASSAY_OK;
    for (size_t i = 0; i < catalog->unit_count && status == ASSAY_OK; i++) {
        const assay_unit *unit = &catalog->units[i];
        char *path = NULL;
        if (!assay_format_of(unit->format)->checkpoints || unit->step < 0 ||
            (l->places.count > 0 && l->places.list[l->places.count - 1].step == unit->step))
            continue;
        status = assay_unit_places(l->trial->store, catalog, unit, assay_verify_take_place, &path);
        if (status != ASSAY_OK || !path || strcmp(path, ".") == 0 || strchr(path, '/')) {
            free(path);
            continue;
        }
        place *p = ASSAY_VEC_ADD(&l->places);
        if (!p) {
            free(path);
            return ASSAY_ENOMEM;
        }
        *p = (place){.step = unit->step, .path = path, .file = assay_store_exists(l->trial->store, path, NULL) == 1};
    }
    return status;
}

/* ---- what one lacks ---- */

static bool is_named(const looker *l, int64_t step, const char *name)
{
    for (size_t i = 0; i < l->problems->kept; i++)
        if (l->problems->list[i].step == step && strstr(l->problems->list[i].text, name))
            return true;
    for (size_t i = 0; i < l->trial->problems.kept; i++)
        if (l->trial->problems.list[i].step == step && strstr(l->trial->problems.list[i].text, name))
            return true;
    return false;
}

/* The checkpoints around the i-th, the nearest first; how many. */
static int find_around(const looker *l, size_t i, const place *around[AROUND], size_t *count)
{
    static const int distance[AROUND] = {-1, 1, -2, 2};
    int status = ASSAY_OK;
    *count = 0;
    for (size_t k = 0; k < AROUND && status == ASSAY_OK; k++) {
        const size_t at = i + (size_t)distance[k];
        if ((distance[k] < 0 && i < (size_t)-distance[k]) || at >= l->places.count)
            continue;
        place *p = &l->places.list[at];
        status = p->file == l->places.list[i].file ? list_place(l, p) : ASSAY_OK;
        if (status == ASSAY_OK && p->names)
            around[(*count)++] = p;
    }
    return status;
}

static int say_lacking(const looker *l, const place *p, const char *name, bool lost, size_t count)
{
    char text[2 * ASSAY_PATH_ROOM];
    const char *const which =
        count == 1 ? "which the checkpoint beside it has" : "which the checkpoints around it have";
    if (lost) {
        assay_problems_add(l->problems, ASSAY_PROBLEM_MISSING_SHARD, p->step, p->path, -1, "%s is missing, %s", name,
                           which);
        return ASSAY_OK;
    }
    snprintf(text, sizeof text, "%.400s: has no %.400s, %s", p->path, name, which);
    return assay_verify_remark_add(l->remarks, ASSAY_VERIFY_NOTE, p->step, p->path, text);
}

/* May the file be called otherwise here? Names count more than steps, as "epoch=3-step=300.ckpt" does: one neighbour alone
 * does not tell what stays the same. */
static bool is_named_otherwise(const place *p, const place *beside, const char *name)
{
    if (p->file)
        return !has(p, beside->path, beside->step);
    return name[strcspn(name, "0123456789")] != '\0';
}

/* Has it a file of state that its neighbour has not? Then another version may have written it, and called files otherwise. */
static bool has_its_own(const place *p, const place *beside)
{
    bool own = false;
    for (uint32_t n = 0; n < assay_dict_count(p->names) && !own; n++) {
        const char *name = assay_dict_name(p->names, n, NULL);
        own = keeps_state(name) && !is_counted(name) && !has(beside, name, p->step);
    }
    return own;
}

/* The oldest may have been thinned out since, and one neighbour alone may be the one that has more: a note. */
static int look_at(looker *l, size_t i)
{
    place *p = &l->places.list[i];
    const place *around[AROUND];
    size_t count = 0, said = 0, looked = 0;
    int status = list_place(l, p);
    if (status == ASSAY_OK)
        status = find_around(l, i, around, &count);
    for (uint32_t n = 0; count > 0 && status == ASSAY_OK && said < NAMED_MOST && n < assay_dict_count(around[0]->names);
         n++) {
        const char *name = assay_dict_name(around[0]->names, n, NULL);
        char room[ASSAY_PATH_ROOM];
        bool lacks = !has(p, name, around[0]->step);
        for (size_t k = 1; k < count && lacks; k++)
            lacks = has(around[k], name, around[0]->step);
        const char *own = rename_to(name, around[0]->step, p->step, room, sizeof room) ? room : name;
        if (!lacks || is_counted(name) || (count == 1 && is_named_otherwise(p, around[0], name)) ||
            ++looked > LOOKED_MOST || is_named(l, p->step, own) || strncmp(assay_path_name(own), "assay-seal", 10) == 0)
            continue;
        said++;
        const bool lost = i > 0 && (count > 1 || is_always_there(name)) && keeps_state(name) && !is_of_fewer(p, own) &&
                          (!p->file || is_of_training(name)) && !has_its_own(p, around[0]);
        status = say_lacking(l, p, own, lost, count);
    }
    return status;
}

/* ---- the series ---- */

/* Checkpoints that are gone from between others, which follow each other at one interval on both sides of the hole. One
 * that was kept as the best, long before the newest ones, has no such neighbour. */
static int look_for_holes(const looker *l)
{
    const place *p = l->places.list;
    int64_t interval = INT64_MAX;
    int status = ASSAY_OK;
    for (size_t i = 1; i < l->places.count; i++)
        interval = p[i].step - p[i - 1].step < interval ? p[i].step - p[i - 1].step : interval;
    for (size_t i = 2; i + 1 < l->places.count && status == ASSAY_OK; i++) {
        const int64_t hole = p[i].step - p[i - 1].step;
        char text[2 * ASSAY_PATH_ROOM];
        if (hole == interval || hole % interval != 0 || p[i - 1].step - p[i - 2].step != interval ||
            p[i + 1].step - p[i].step != interval || p[i].step < l->options->from || p[i].step >= l->options->to)
            continue;
        const int64_t gone = hole / interval - 1;
        snprintf(text, sizeof text,
                 "%.400s: %lld checkpoint%s before it %s gone from a series with one every %lld steps", p[i].path,
                 (long long)gone, assay_plural((uint64_t)gone), gone == 1 ? "is" : "are", (long long)interval);
        status = assay_verify_remark_add(l->remarks, ASSAY_VERIFY_NOTE, p[i].step, p[i].path, text);
    }
    return status;
}

/* ---- the file that names the newest ---- */

/* DeepSpeed and Megatron-LM load nothing, and go on, where the file is gone by which they find the newest. */
static int look_for_pointer(const looker *l)
{
    static const struct {
        const char *begin, *file, *who;
    } kinds[] = {{"global_step", "latest", "DeepSpeed"}, {"iter_", "latest_checkpointed_iteration.txt", "Megatron-LM"}};
    const place *last = l->places.count > 0 ? &l->places.list[l->places.count - 1] : NULL;
    char text[512];
    for (size_t i = 0; last && !last->file && i < sizeof kinds / sizeof *kinds; i++) {
        const size_t length = strlen(kinds[i].begin);
        if (strncmp(last->path, kinds[i].begin, length) != 0 || !assay_is_digit(last->path[length]) ||
            last->step < l->options->from || last->step >= l->options->to ||
            assay_store_exists(l->trial->store, kinds[i].file, NULL) != 0)
            continue;
        snprintf(
            text, sizeof text,
            "%s: there is no %s beside it, without which %s finds no checkpoint and begins anew, unless it is told "
            "which one to load",
            last->path, kinds[i].file, kinds[i].who);
        return assay_verify_remark_add(l->remarks, ASSAY_VERIFY_NOTE, last->step, last->path, text);
    }
    return ASSAY_OK;
}

int assay_verify_lacking(const assay_trial_files *trial, const assay_verify_options *options, assay_problems *problems,
                         assay_verify_remarks *remarks)
{
    looker l = {.trial = trial, .options = options, .problems = problems, .remarks = remarks};
    if (assay_store_is_file(trial->store))
        return ASSAY_OK;
    int status = add_places(&l);
    for (size_t i = 0; i < l.places.count && l.places.count > 1 && status == ASSAY_OK; i++)
        if (l.places.list[i].step >= options->from && l.places.list[i].step < options->to)
            status = look_at(&l, i);
    if (status == ASSAY_OK)
        status = look_for_holes(&l);
    if (status == ASSAY_OK)
        status = look_for_pointer(&l);
    for (size_t i = 0; i < l.places.count; i++) {
        free(l.places.list[i].path);
        assay_dict_free(l.places.list[i].names);
    }
    free(l.places.list);
    return status;
}
