/* lacking.c - see lacking.h.
 *
 * A framework that writes scheduler.pt into each checkpoint but one was interrupted there, or somebody copied a part of
 * it. Nothing inside tells: no index names such files, and loaders go on without them (the Trainer of Transformers then
 * begins with a new optimizer). Only the checkpoints around it do. */
#include "verify/lacking.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fault.h"
#include "base/json_pull.h"
#include "base/path.h"
#include "base/vec.h"
#include "container/suffixes.h"
#include "verify/framework.h"
#include "report/text/layout.h"

enum {
    AROUND = 4,       /* checkpoints that one is held against, half of them on each side */
    LEVELS = 3,       /* of directories, the checkpoint's own included; what is deeper counts as one name */
    LOOKED_MOST = 256 /* names of one that are looked for in what is said already */
};

typedef struct checkpoint {
    int64_t step;
    const char *path; /* directory or file, of `size` bytes: a file of ranks lies in what is the checkpoint's */
    size_t size;
    bool recorded;              /* no checkpoint: the last step may be a summary of the training */
    bool file;                  /* what belongs to it lies beside it, and has its number in the name */
    bool listed, unknown;       /* unknown: it could not be listed, which the storage's notes say */
    assay_dict *names;          /* files, below the directory, or beside the file */
    assay_dict *sets, *numbers; /* of names: without their last number, and these numbers; see is_of_fewer() */
} checkpoint;

typedef struct looker {
    const assay_trial_files *trial;
    const assay_verify_options *options;
    assay_problems *problems;
    assay_verify_remarks *remarks;
    assay_verify_places places;
    ASSAY_VEC(checkpoint) all; /* by step */
} looker;

/* What one lacks of a kind: the first name, and how many. */
typedef struct lack {
    char first[ASSAY_PATH_ROOM];
    size_t count;
} lack;

/* ---- names ---- */

/* Where the step's number begins in a name, as a whole number with zeros in front or without, and its end; NULL: nowhere. */
static const char *find_number(const char *name, size_t size, int64_t step, const char **end)
{
    for (const char *at = name; at < name + size;) {
        const char *from = at;
        int64_t number = 0;
        while (at < name + size && assay_is_digit(*at) && at - from < 18)
            number = number * 10 + (*at++ - '0');
        if (at > from && number == step && (at == name + size || !assay_is_digit(*at))) {
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
    const char *end = NULL, *from = find_number(name, strlen(name), step, &end);
    if (!from)
        return false;
    const int width = *from == '0' ? (int)(end - from) : 1;
    const int size = snprintf(out, room, "%.*s%0*lld%s", (int)(from - name), name, width, (long long)other, end);
    return size > 0 && (size_t)size < room;
}

/* Has a checkpoint the file that another calls `name`? */
static bool has(const checkpoint *p, const char *name, int64_t step)
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

static int add(assay_dict *names, const char *name, size_t length)
{
    return assay_dict_add(names, name, length) == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
}

/* A name without its last number; false where it has none, or is too long. */
static bool set_of(const char *name, char room[ASSAY_PATH_ROOM])
{
    size_t digits;
    const char *number = last_number(name, &digits);
    if (!number)
        return false;
    const int size = snprintf(room, ASSAY_PATH_ROOM, "%.*s#%s", (int)(number - name), name, number + digits);
    return size < ASSAY_PATH_ROOM;
}

/* Is the file one of a set, others of which are there, while nothing else there has its number? A training that goes on
 * with fewer ranks writes no rng_state_7.pth. */
static bool is_of_fewer(const checkpoint *p, const char *name)
{
    char set[ASSAY_PATH_ROOM];
    size_t digits;
    const char *number = last_number(name, &digits);
    return number && set_of(name, set) && assay_dict_find(p->sets, set, strlen(set)) != ASSAY_NO_ID &&
           assay_dict_find(p->numbers, number, digits) == ASSAY_NO_ID;
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
    return assay_suffix_kinds(name) & ASSAY_SUFFIX_STATE;
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

/* Has a file that keeps state nothing in it? It counts as one that is missing. */
static bool is_empty(assay_store *store, const char *path)
{
    uint64_t size = 0;
    return keeps_state(assay_path_name(path)) && assay_store_size_of(store, path, &size, NULL) == 1 && size == 0;
}

/* A name that is listed is there, be it what it may. */
static int list_below(assay_store *store, const char *directory, size_t skipped, int level, assay_dict *out,
                      bool *listed)
{
    assay_names names = {0};
    int status = ASSAY_OK;
    *listed = assay_store_list(store, directory, &names, NULL) == ASSAY_OK;
    for (size_t i = 0; *listed && i < names.count && status == ASSAY_OK; i++) {
        char *path = assay_path_join(directory, names.name[i]);
        bool below = false;
        if (path && level + 1 < LEVELS && assay_store_exists(store, path, NULL) != 1)
            status = list_below(store, path, skipped, level + 1, out, &below);
        if (status == ASSAY_OK && !below && !(path && is_empty(store, path)))
            status = path ? add(out, path + skipped, strlen(path + skipped)) : ASSAY_ENOMEM;
        free(path);
    }
    assay_names_release(&names);
    return status;
}

static int list_beside(assay_store *store, const checkpoint *p, bool *listed)
{
    const char *end, *slash = strrchr(p->path, '/');
    char *directory = assay_copy_bytes_as_text(p->path, slash ? (size_t)(slash - p->path) : 0);
    assay_names names = {0};
    int status = directory ? ASSAY_OK : ASSAY_ENOMEM;
    *listed = directory && assay_store_list(store, directory, &names, NULL) == ASSAY_OK;
    for (size_t i = 0; *listed && i < names.count && status == ASSAY_OK; i++)
        if (find_number(names.name[i], strlen(names.name[i]), p->step, &end))
            status = add(p->names, names.name[i], strlen(names.name[i]));
    assay_names_release(&names);
    free(directory);
    return status;
}

static int list_names(const looker *l, checkpoint *p)
{
    char set[ASSAY_PATH_ROOM];
    bool listed = true;
    if (p->listed)
        return ASSAY_OK;
    p->listed = true;
    p->names = assay_dict_new();
    p->sets = assay_dict_new();
    p->numbers = assay_dict_new();
    char *directory = assay_copy_bytes_as_text(p->path, p->size);
    int status = p->names && p->sets && p->numbers && directory ? ASSAY_OK : ASSAY_ENOMEM;
    ASSAY_THEN(status, p->file ? list_beside(l->trial->store, p, &listed)
                               : list_below(l->trial->store, directory, p->size + 1, 0, p->names, &listed));
    p->unknown = !listed;
    for (uint32_t n = 0; status == ASSAY_OK && n < assay_dict_count(p->names); n++) {
        size_t digits;
        const char *name = assay_dict_name(p->names, n, NULL), *number = last_number(name, &digits);
        if (number && set_of(name, set))
            status = add(p->sets, set, strlen(set));
        if (number && status == ASSAY_OK)
            status = add(p->numbers, number, digits);
    }
    free(directory);
    return status;
}

/* Of step_100/rank_0 the checkpoint is step_100, not the rank's part. */
static size_t own_size(const char *path, int64_t step)
{
    const char *end;
    const size_t first = strcspn(path, "/");
    return find_number(path, first, step, &end) ? first : strlen(path);
}

static int add_checkpoints(looker *l)
{
    int status = assay_verify_list_places(l->trial, &l->places);
    for (size_t i = 0; i < l->places.count && status == ASSAY_OK; i++) {
        const assay_verify_place *place = &l->places.list[i];
        if (place->step < 0 || strcmp(place->path, ".") == 0)
            continue;
        checkpoint *p = ASSAY_VEC_ADD(&l->all);
        ASSAY_HAVE(p);
        const size_t size = own_size(place->path, place->step);
        *p = (checkpoint){.step = place->step, .path = place->path, .size = size, .recorded = place->recorded};
        p->file = !place->path[size] && assay_store_exists(l->trial->store, place->path, NULL) == 1;
    }
    return status;
}

/* ---- what one lacks ---- */

/* Does a loss tell of the file? A note that another lies there under nearly the name does not. */
static bool is_in(const assay_problems *problems, int64_t step, const char *name)
{
    for (size_t i = 0; i < problems->kept; i++)
        if (problems->list[i].step == step && assay_problem_is_loss(problems->list[i].kind) &&
            strstr(problems->list[i].text, name))
            return true;
    return false;
}

static bool is_named(const looker *l, int64_t step, const char *name)
{
    return is_in(l->problems, step, name) || is_in(&l->trial->problems, step, name);
}

/* The checkpoints around the i-th, the nearest first; how many. */
static int find_around(const looker *l, size_t i, const checkpoint *around[AROUND], size_t *count)
{
    static const int distance[AROUND] = {-1, 1, -2, 2};
    int status = ASSAY_OK;
    *count = 0;
    for (size_t k = 0; k < AROUND && status == ASSAY_OK; k++) {
        const size_t at = i + (size_t)distance[k];
        if ((distance[k] < 0 && i < (size_t)-distance[k]) || at >= l->all.count ||
            l->all.list[at].file != l->all.list[i].file)
            continue;
        status = list_names(l, &l->all.list[at]);
        if (!l->all.list[at].unknown)
            around[(*count)++] = &l->all.list[at];
    }
    return status;
}

static void put_more(size_t count, char out[40])
{
    out[0] = '\0';
    if (count > 1)
        snprintf(out, 40, " and %zu more", count - 1);
}

static int say_lacking(const looker *l, const checkpoint *p, const lack *lost, const lack *other, size_t count)
{
    const char *const which =
        count == 1 ? "which the checkpoint beside it has" : "which the checkpoints around it have";
    char text[2 * ASSAY_PATH_ROOM], path[ASSAY_PATH_ROOM], more[40];
    snprintf(path, sizeof path, "%.*s", (int)p->size, p->path);
    put_more(lost->count, more);
    snprintf(text, sizeof text, "%s/%s", path, lost->first);
    const bool there = !p->file && lost->count == 1 && assay_store_exists(l->trial->store, text, NULL) == 1;
    if (lost->count > 0)
        assay_problems_add(l->problems, ASSAY_PROBLEM_MISSING_SHARD, p->step, path, -1, "%s%s %s %s, %s", lost->first,
                           more, lost->count > 1 ? "are" : "is", there ? "empty" : "missing", which);
    if (other->count == 0)
        return ASSAY_OK;
    put_more(other->count, more);
    snprintf(text, sizeof text, "%.400s: has no %.400s%s, %s", path, other->first, more, which);
    return assay_verify_remark_add(l->remarks, ASSAY_VERIFY_NOTE, p->step, path, text);
}

/* May the file be called otherwise here? Names count more than steps, as "epoch=3-step=300.ckpt" does: one neighbour alone
 * does not tell what stays the same. */
static bool is_named_otherwise(const checkpoint *p, const checkpoint *beside, const char *name)
{
    if (p->file)
        return !has(p, assay_path_name(beside->path), beside->step);
    return name[strcspn(name, "0123456789")] != '\0';
}

/* Is it a name that the other one has and this one has not, but for a point in front, capitals, or letters of another alphabet? Of many
 * names only a point is looked for. */
static bool was_another(const checkpoint *p, const checkpoint *beside, const char *name)
{
    enum { NAMES_MOST = 1000 };
    const char *plain = assay_path_name(name);
    char known[ASSAY_PATH_ROOM];
    bool foreign = false, was = false;
    if (*plain == '.' &&
        snprintf(known, sizeof known, "%.*s%s", (int)(plain - name), name, plain + 1) < (int)sizeof known &&
        has(beside, known, p->step) && !has(p, known, p->step))
        return true;
    for (const char *at = name; *at; at++)
        foreign = foreign || (unsigned char)*at >= 0x80;
    const uint32_t count = assay_dict_count(beside->names);
    for (uint32_t i = 0; count <= NAMES_MOST && i < count && !was; i++) {
        const char *other = assay_dict_name(beside->names, i, NULL);
        was = (foreign || strcasecmp(name, other) == 0) && assay_path_looks_like(name, other) &&
              !has(p, other, beside->step);
    }
    return was;
}

/* Has it a file of state that its neighbour has not? Then another version may have written it, and called files otherwise. */
static bool has_its_own(const checkpoint *p, const checkpoint *beside)
{
    bool own = false;
    for (uint32_t n = 0; n < assay_dict_count(p->names) && !own; n++) {
        const char *name = assay_dict_name(p->names, n, NULL);
        own = keeps_state(name) && !is_counted(name) && !has(beside, name, p->step) && !was_another(p, beside, name) &&
              !(p->file && strcmp(name, assay_path_name(p->path)) == 0); /* the checkpoint */
    }
    return own;
}

/* Do all others have a file of the first, and this one not? */
static bool is_lacking(const checkpoint *p, const checkpoint *const *around, size_t count, const char *name)
{
    const int64_t step = around[0]->step;
    bool lacks = !has(p, name, step) && !is_counted(name) && strncmp(assay_path_name(name), "assay-seal", 10) != 0;
    for (size_t k = 1; k < count && lacks; k++)
        lacks = has(around[k], name, step);
    return lacks && !(count == 1 && is_named_otherwise(p, around[0], name));
}

/* The oldest may have been thinned out since, and one neighbour alone may be the one that has more: a note. */
static int look_at(looker *l, size_t i)
{
    checkpoint *p = &l->all.list[i];
    const checkpoint *around[AROUND];
    size_t count = 0, looked = 0;
    lack lost = {.count = 0}, other = {.count = 0};
    int status = list_names(l, p);
    ASSAY_THEN(status, find_around(l, i, around, &count));
    if (status != ASSAY_OK || count == 0 || p->unknown)
        return status;
    const bool may_be_lost = i > 0 && !p->recorded && !has_its_own(p, around[0]);
    for (uint32_t n = 0; n < assay_dict_count(around[0]->names); n++) {
        const char *name = assay_dict_name(around[0]->names, n, NULL);
        char room[ASSAY_PATH_ROOM];
        if (!is_lacking(p, around, count, name))
            continue;
        const char *own = rename_to(name, around[0]->step, p->step, room, sizeof room) ? room : name;
        if (looked++ < LOOKED_MOST && is_named(l, p->step, own))
            continue;
        lack *to = may_be_lost && (count > 1 || is_always_there(name)) && keeps_state(name) && !is_of_fewer(p, own) &&
                           (!p->file || is_of_training(name))
                       ? &lost
                       : &other;
        if (to->count++ == 0)
            snprintf(to->first, sizeof to->first, "%s", own);
    }
    return say_lacking(l, p, &lost, &other, count);
}

/* ---- the series ---- */

/* Checkpoints that are gone from between others, which follow each other at one interval on both sides of the hole. One
 * that was kept as the best, long before the newest ones, has no such neighbour. */
static int look_for_holes(const looker *l)
{
    const checkpoint *p = l->all.list;
    int64_t interval = INT64_MAX;
    int status = ASSAY_OK;
    for (size_t i = 1; i < l->all.count; i++)
        interval = p[i].step - p[i - 1].step < interval ? p[i].step - p[i - 1].step : interval;
    for (size_t i = 2; i + 1 < l->all.count && status == ASSAY_OK; i++) {
        const int64_t hole = p[i].step - p[i - 1].step;
        char text[2 * ASSAY_PATH_ROOM];
        if (hole == interval || hole % interval != 0 || p[i - 1].step - p[i - 2].step != interval ||
            p[i + 1].step - p[i].step != interval || p[i].step < l->options->from || p[i].step >= l->options->to)
            continue;
        const int64_t gone = hole / interval - 1;
        snprintf(text, sizeof text, "%.*s: %lld checkpoint%s before it %s gone from a series with one every %lld steps",
                 (int)p[i].size, p[i].path, (long long)gone, assay_plural((uint64_t)gone), gone == 1 ? "is" : "are",
                 (long long)interval);
        status = assay_verify_remark_add(l->remarks, ASSAY_VERIFY_NOTE, p[i].step, p[i].path, text);
    }
    return status;
}

/* ---- the file that names the newest ---- */

/* The file may name an older checkpoint than the newest: what is damaged there is what is loaded. */
static int look_at_pointer(const looker *l, const checkpoint *last, const char *file, const char *who,
                           assay_framework of)
{
    char *pick = assay_framework_pick(of, l->trial), text[2 * ASSAY_PATH_ROOM];
    int status = ASSAY_OK;
    for (size_t i = l->all.count - 1; i-- > 0 && pick && status == ASSAY_OK;) {
        const checkpoint *p = &l->all.list[i];
        if (strlen(pick) != p->size || strncmp(pick, p->path, p->size) != 0)
            continue;
        snprintf(text, sizeof text, "%s: it names %s, and %s resumes from that, not from %.*s", file, pick, who,
                 (int)last->size, last->path);
        status = assay_verify_remark_add(l->remarks, ASSAY_VERIFY_NOTE, last->step, file, text);
    }
    free(pick);
    return status;
}

/* DeepSpeed and Megatron-LM load nothing, and go on, where the file is gone by which they find the newest. */
static int look_for_pointer(const looker *l)
{
    static const struct {
        const char *begin, *file, *who;
        assay_framework of;
    } kinds[] = {{"global_step", "latest", "DeepSpeed", ASSAY_FRAMEWORK_DEEPSPEED},
                 {"iter_", "latest_checkpointed_iteration.txt", "Megatron-LM", ASSAY_FRAMEWORK_MEGATRON}};
    const checkpoint *last = l->all.count > 0 ? &l->all.list[l->all.count - 1] : NULL;
    char text[512];
    for (size_t i = 0; last && !last->file && i < sizeof kinds / sizeof *kinds; i++) {
        const size_t length = strlen(kinds[i].begin);
        if (strncmp(last->path, kinds[i].begin, length) != 0 || !assay_is_digit(last->path[length]) ||
            last->step < l->options->from || last->step >= l->options->to)
            continue;
        if (assay_store_exists(l->trial->store, kinds[i].file, NULL) != 0) {
            ASSAY_TRY(look_at_pointer(l, last, kinds[i].file, kinds[i].who, kinds[i].of));
            continue;
        }
        snprintf(
            text, sizeof text,
            "%s: there is no %s beside it, without which %s finds no checkpoint and begins anew, unless it is told "
            "which one to load",
            last->path, kinds[i].file, kinds[i].who);
        return assay_verify_remark_add(l->remarks, ASSAY_VERIFY_NOTE, last->step, last->path, text);
    }
    return ASSAY_OK;
}

/* ---- the best one ---- */

/* What trainer_state.json calls the best checkpoint: the last part of its path; NULL: none, or it cannot be read. */
static char *best_of(assay_store *store, const checkpoint *p)
{
    enum { STATE_MOST = 64 << 20 };
    static const char KEY[] = "best_model_checkpoint";
    char path[ASSAY_PATH_ROOM];
    char *best = NULL;
    assay_buf text = ASSAY_BUF(STATE_MOST);
    assay_pull json = {.loose = true};
    snprintf(path, sizeof path, "%.*s/trainer_state.json", (int)p->size, p->path);
    if (assay_store_exists(store, path, NULL) == 1 &&
        assay_store_read(store, path, STATE_MOST, &text, NULL) == ASSAY_OK) {
        assay_pull_start(&json, (const char *)text.data, text.size);
        for (bool more = assay_pull_open(&json, '{', '}'); more && !best; more = assay_pull_more(&json, '}')) {
            const char *key = NULL, *value = NULL;
            size_t length = 0, size = 0;
            if (!assay_pull_key(&json, &key, &length))
                break;
            if (length != sizeof KEY - 1 || memcmp(key, KEY, length) != 0 || assay_pull_peek(&json) != '"') {
                assay_pull_skip(&json);
                continue;
            }
            if (!assay_pull_string(&json, &value, &size))
                break;
            while (size > 0 && (value[size - 1] == '/' || value[size - 1] == '\\'))
                size--;
            size_t from = size;
            while (from > 0 && value[from - 1] != '/' && value[from - 1] != '\\')
                from--;
            best = assay_copy_bytes_as_text(value + from, size - from);
        }
    }
    assay_pull_release(&json);
    assay_buf_release(&text);
    return best;
}

/* The Trainer keeps the best checkpoint however few it keeps, and loads it at the end, or goes on in silence with the last.
 * Older checkpoints name what was the best then, and is gone since. */
static int look_for_best(const looker *l)
{
    const checkpoint *last = l->all.count > 0 ? &l->all.list[l->all.count - 1] : NULL;
    assay_names names = {0};
    char text[2 * ASSAY_PATH_ROOM];
    if (!last || last->file || memchr(last->path, '/', last->size) || last->step < l->options->from ||
        last->step >= l->options->to)
        return ASSAY_OK;
    char *best = best_of(l->trial->store, last);
    bool there = !best || strncmp(best, "checkpoint-", 11) != 0 ||
                 assay_store_list(l->trial->store, "", &names, NULL) != ASSAY_OK;
    for (size_t i = 0; i < names.count && !there; i++)
        there = strcmp(names.name[i], best) == 0;
    int status = ASSAY_OK;
    if (!there) {
        snprintf(text, sizeof text,
                 "%.*s/trainer_state.json: it names %.200s as the best checkpoint, which is not there: a training that "
                 "loads the best one at its end goes on with the last",
                 (int)last->size, last->path, best);
        status = assay_verify_remark_add(l->remarks, ASSAY_VERIFY_NOTE, last->step, last->path, text);
    }
    assay_names_release(&names);
    free(best);
    return status;
}

static void forget_names(checkpoint *p)
{
    assay_dict_free(p->names);
    assay_dict_free(p->sets);
    assay_dict_free(p->numbers);
    p->names = p->sets = p->numbers = NULL;
}

/* Names the seals of files that are gone, once: who deletes a checkpoint may leave its seal. */
static int name_orphans(const assay_trial_files *trial, assay_verify_remarks *remarks)
{
    static const char END[] = ".assay-seal.json";
    assay_names names = {0};
    const char *first = NULL;
    size_t count = 0;
    int status = ASSAY_OK;
    if (assay_store_list_root(trial->store, &names, NULL) != ASSAY_OK)
        return ASSAY_OK; /* who lists the trial says so */
    for (size_t i = 0; i < names.count; i++) {
        char file[ASSAY_PATH_ROOM];
        if (!assay_path_ends(names.name[i], END))
            continue;
        snprintf(file, sizeof file, "%.*s", (int)(strlen(names.name[i]) + 1 - sizeof END), names.name[i]);
        if (assay_store_exists(trial->store, file, NULL) == 0)
            first = count++ == 0 ? names.name[i] : first;
    }
    if (count > 0) {
        char text[ASSAY_PATH_ROOM + 128];
        snprintf(text, sizeof text, "%s: it is the seal of a file that is gone (%zu such seal%s)", first, count,
                 assay_plural(count));
        status = assay_verify_remark_add(remarks, ASSAY_VERIFY_NOTE, -1, first, text);
    }
    assay_names_release(&names);
    return status;
}

int assay_verify_lacking(const assay_trial_files *trial, const assay_verify_options *options, assay_problems *problems,
                         assay_verify_remarks *remarks)
{
    looker l = {.trial = trial, .options = options, .problems = problems, .remarks = remarks};
    if (assay_store_is_file(trial->store))
        return ASSAY_OK;
    int status = add_checkpoints(&l);
    for (size_t i = 0; i < l.all.count && l.all.count > 1 && status == ASSAY_OK; i++)
        if (l.all.list[i].step >= options->from && l.all.list[i].step < options->to) {
            status = look_at(&l, i);
            if (i >= AROUND / 2) /* none that is still to come is held against it */
                forget_names(&l.all.list[i - AROUND / 2]);
        }
    ASSAY_THEN(status, look_for_holes(&l));
    ASSAY_THEN(status, look_for_pointer(&l));
    ASSAY_THEN(status, look_for_best(&l));
    ASSAY_THEN(status, name_orphans(trial, remarks));
    for (size_t i = 0; i < l.all.count; i++)
        forget_names(&l.all.list[i]);
    free(l.all.list);
    assay_verify_places_release(&l.places);
    return status;
}
