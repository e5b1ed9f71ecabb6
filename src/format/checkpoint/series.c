/* series.c - lists a series of checkpoints: directories and files of the root whose names have a step, or the root
 * itself as its only one.
 *
 * A unit's place is its step and the name of its directory or file. Nothing but names is looked at here; whether a file
 * is what its name says is found when it is read. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/path.h"
#include "base/search.h"
#include "format/checkpoint/aside.h"
#include "format/checkpoint/checkpoint.h"
#include "format/checkpoint/deepspeed.h"
#include "format/checkpoint/files.h"
#include "format/checkpoint/needed.h"
#include "format/checkpoint/said_step.h"

/* ---- companions ---- */

/* Files of what optimizers and schedulers saved, which lie beside the model's: "optimizer_500.pt".
 * Inside this folder only. */

typedef struct assay_companion {
    int64_t step;
    const char *name; /* borrowed */
} assay_companion;

typedef struct assay_companions {
    assay_companion *list; /* sorted by (step, name) */
    size_t count;
} assay_companions;

static int compare(const void *a, const void *b)
{
    const assay_companion *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return assay_worker_compare(x->name, y->name);
}

/* Those among the names; usually there are none. 0 or ASSAY_ENOMEM; release either way. */
static int assay_companions_list(const assay_trial_options *options, const assay_names *names, assay_companions *out)
{
    *out = (assay_companions){.list = assay_alloc((names->count + 1) * sizeof *out->list)};
    ASSAY_HAVE(out->list);
    for (size_t i = 0; i < names->count; i++) {
        assay_companion one = {.name = names->name[i]};
        if (assay_ckpt_goes_beside(options, one.name, &one.step))
            out->list[out->count++] = one;
    }
    qsort(out->list, out->count, sizeof *out->list, compare);
    return ASSAY_OK;
}

static void assay_companions_release(assay_companions *of)
{
    free(of->list);
    *of = (assay_companions){0};
}

/* The first of a step or a later one; `count` when there is none. O(log n). */
static size_t assay_companions_find(const assay_companions *of, int64_t step)
{
    size_t low = 0;
    ASSAY_SEARCH(low, of->count, of->list[low].step < step);
    return low;
}

/* ---- series ---- */

static const char FIRST[] = "worker_0";
enum { UNFINISHED = 2, BARE = 3, OTHER = 4 }; /* of add_directory() */

typedef struct entry { /* of the root */
    int64_t step;
    const char *name;
    const assay_companions *beside; /* of all files; NULL: none */
    bool file;
    bool unfinished, bare, other, misnamed; /* found when it was listed */
    bool lost;                              /* bare, and called as those that have tensors (mark_bare) */
} entry;

bool assay_checkpoint_probe(const assay_names *top)
{
    int64_t step = 0;
    for (size_t i = 0; i < top->count; i++) {
        const char *name = top->name[i];
        if (strcmp(name, "collections") == 0 || strcmp(name, "index") == 0)
            return false;
        if (assay_ckpt_kind_of(name) != ASSAY_CKPT_KINDS || assay_ckpt_is_dcp(name) || assay_ckpt_is_shard_map(name) ||
            assay_ckpt_is_rank_directory(name) || assay_ckpt_step(NULL, name, &step))
            return true;
    }
    return false;
}

/* Has it the model, so that files of other roles go with it? */
static bool takes_companions(const entry *e)
{
    return e->file && e->beside && assay_ckpt_role_of(e->name) == ASSAY_CKPT_MODEL;
}

/* Is it a file of what the optimizer or a scheduler saved with the model in the file `e`? */
static bool goes_with(const assay_lister *l, const entry *e, const char *name)
{
    int64_t step = 0;
    return takes_companions(e) && assay_ckpt_goes_beside(l->catalog->options, name, &step) && step == e->step &&
           assay_store_exists(l->store, name, NULL) == 1;
}

/* Appends the names of the files that go with a file, each behind a NUL. */
static void put_beside(const assay_lister *l, const entry *e, assay_buf *out)
{
    const assay_companions *all = e->beside;
    if (!takes_companions(e))
        return;
    for (size_t i = assay_companions_find(all, e->step); i < all->count && all->list[i].step == e->step; i++) {
        if (assay_store_exists(l->store, all->list[i].name, NULL) != 1)
            continue;
        assay_put_u8(out, '\0');
        assay_put_bytes(out, all->list[i].name, strlen(all->list[i].name));
    }
}

/* The place of a unit: 8 bytes of the step, then the name; of a file the names of those that go with it behind that. */
static uint32_t add_place(assay_lister *l, const entry *e)
{
    assay_buf bytes = ASSAY_BUF(SIZE_MAX);
    assay_put_i64(&bytes, e->step);
    assay_put_bytes(&bytes, e->name, strlen(e->name));
    put_beside(l, e, &bytes);
    uint32_t place = assay_buf_status(&bytes) == ASSAY_OK ? assay_lister_place(l, bytes.data, bytes.size) : ASSAY_NO_ID;
    assay_buf_release(&bytes);
    return place;
}

const char *assay_checkpoint_place(const assay_dict *places, uint32_t place, int64_t *step)
{
    size_t size = 0;
    if (!places || place >= assay_dict_count(places))
        return NULL;
    const char *bytes = assay_dict_name(places, place, &size);
    assay_cursor in = assay_cursor_over(bytes, size);
    *step = assay_get_i64(&in);
    return in.failed ? NULL : bytes + 8;
}

const char *assay_checkpoint_beside(const assay_dict *places, uint32_t place, const char *before)
{
    size_t size = 0;
    const char *bytes = assay_dict_name(places, place, &size), *next = before + strlen(before) + 1;
    return next < bytes + size ? next : NULL;
}

static int add_unit(assay_lister *l, const entry *e, uint32_t place, const char *worker, size_t length)
{
    const uint32_t id = assay_lister_worker(l, worker, length);
    return id == ASSAY_NO_ID ? assay_lister_no_memory(l) : assay_lister_unit(l, e->step, id, place);
}

/* What the names in a directory say. */
typedef struct survey {
    bool any;        /* there is something to be read */
    bool unfinished; /* a distributed checkpoint without its metadata: that is written last */
    bool deepspeed;
    size_t rank_directories, rank_files;
} survey;

static survey survey_names(const char *path, const assay_names *names)
{
    survey s = {0};
    bool metadata = false, dcp = false;
    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->name[i];
        s.rank_directories += assay_ckpt_is_rank_directory(name);
        s.rank_files += assay_ckpt_is_rank_file(name);
        s.deepspeed = s.deepspeed || assay_deepspeed_is_mark(name);
        const assay_ckpt_kind kind = assay_ckpt_kind_of(name);
        s.any = s.any || (kind != ASSAY_CKPT_KINDS && (kind != ASSAY_CKPT_NPY_FILE || *path == '\0')) ||
                assay_ckpt_is_shard_map(name);
        metadata = metadata || assay_ckpt_is_dcp_metadata(name);
        dcp = dcp || assay_ckpt_is_dcp(name);
    }
    s.unfinished = dcp && !metadata;
    s.any = s.any || dcp;
    return s;
}

/* Is there something to be read in a directory below? */
static bool survey_below(const assay_lister *l, const char *path, const assay_names *names)
{
    bool any = false;
    for (size_t i = 0; i < names->count && !any; i++) {
        char below[ASSAY_PATH_ROOM];
        assay_names inside = {0};
        if (assay_ckpt_is_unfinished(names->name[i]) || assay_ckpt_stem(names->name[i]) < strlen(names->name[i]) ||
            snprintf(below, sizeof below, "%s%s%s", path, *path ? "/" : "", names->name[i]) >= (int)sizeof below ||
            assay_store_exists(l->store, below, NULL) != 0 ||
            assay_store_list(l->store, below, &inside, NULL) != ASSAY_OK)
            continue;
        any = survey_names(below, &inside).any;
        assay_names_release(&inside);
    }
    return any;
}

/* Of several tensor-parallel ranks each is a worker; *alone when there is only one. */
static int add_deepspeed(assay_lister *l, const entry *e, uint32_t place, const assay_names *names, bool *alone)
{
    assay_dict *models = assay_deepspeed_models(names);
    int status = models ? ASSAY_OK : assay_lister_no_memory(l);
    *alone = models && assay_dict_count(models) == 1;
    for (uint32_t i = 0; models && i < assay_dict_count(models) && status == ASSAY_OK && !*alone; i++) {
        char worker[NAME_MAX + 1];
        const int length =
            snprintf(worker, sizeof worker, "%s%s", ASSAY_DEEPSPEED_WORKER, assay_dict_name(models, i, NULL));
        status = add_unit(l, e, place, worker, length < (int)sizeof worker ? (size_t)length : sizeof worker - 1);
    }
    assay_dict_free(models);
    return status;
}

/* Is it the directory or file of a rank, where there are several? */
static bool is_rank(const survey *s, const char *name)
{
    return s->rank_directories > 0 ? assay_ckpt_is_rank_directory(name)
                                   : s->rank_files >= 2 && assay_ckpt_is_rank_file(name);
}

/* Is it a directory with tensors? */
static bool has_tensors(const assay_lister *l, const char *path)
{
    assay_names inside = {0};
    if (assay_store_exists(l->store, path, NULL) != 0 || assay_store_list(l->store, path, &inside, NULL) != ASSAY_OK)
        return false;
    const bool any = survey_names(path, &inside).any;
    assay_names_release(&inside);
    return any;
}

static void name_misnamed(assay_lister *l, int64_t step, const char *directory, const char *name)
{
    char path[ASSAY_PATH_ROOM];
    if (snprintf(path, sizeof path, "%s%s%s", directory, *directory ? "/" : "", name) < (int)sizeof path)
        assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_NAME, step, path, -1,
                           "%s is not read: its name is that of a file of tensors, but for a letter or its end", path);
}

/* Names the tensors that lie beside those of the ranks: nobody says whose they are. */
static void name_beside(assay_lister *l, const entry *e, const assay_names *names, const survey *s)
{
    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->name[i];
        const assay_ckpt_kind kind = assay_ckpt_kind_of(name);
        char path[ASSAY_PATH_ROOM];
        int64_t step = 0;
        if (assay_ckpt_is_misnamed(names, name))
            name_misnamed(l, e->step, e->name, name);
        if (is_rank(s, name) || kind == ASSAY_CKPT_NPY_FILE || assay_ckpt_is_unfinished(name) ||
            (*e->name == '\0' && assay_ckpt_step(l->catalog->options, name, &step)) ||
            snprintf(path, sizeof path, "%s%s%s", e->name, *e->name ? "/" : "", name) >= (int)sizeof path ||
            (kind == ASSAY_CKPT_KINDS && !has_tensors(l, path)))
            continue;
        assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_SET_ASIDE, e->step, path, -1,
                           "%s is not read: the ranks have %s of their own beside it", path,
                           s->rank_directories > 0 ? "directories" : "files");
    }
}

/* A unit for each worker. */
static int add_workers(assay_lister *l, const entry *e, const assay_names *names, const survey *s)
{
    const uint32_t place = add_place(l, e);
    int status = place == ASSAY_NO_ID ? assay_lister_no_memory(l) : ASSAY_OK;
    bool alone = true;
    if (status == ASSAY_OK && s->deepspeed)
        status = add_deepspeed(l, e, place, names, &alone);
    for (size_t i = 0; i < names->count && status == ASSAY_OK && !s->deepspeed; i++) {
        const char *name = names->name[i];
        if (!is_rank(s, name))
            continue;
        alone = false;
        status = add_unit(l, e, place, name, s->rank_directories > 0 ? strlen(name) : assay_ckpt_stem(name));
    }
    if (!alone && !s->deepspeed)
        name_beside(l, e, names, s);
    return alone && status == ASSAY_OK ? add_unit(l, e, place, FIRST, sizeof FIRST - 1) : status;
}

/* Is there nothing in a directory, or only what is written before the tensors? */
static bool is_bare(const assay_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->name[i] + assay_ckpt_stem(names->name[i]), ".json") != 0)
            return false;
    return true;
}

/* Adds the units of a directory. OTHER: it is no checkpoint; BARE: it may become one; UNFINISHED: one that was not
 * written to its end; 1: it could not be listed. */
static int add_directory(assay_lister *l, entry *e, const char *path)
{
    assay_names names = {0};
    int status = assay_lister_names(l, path, &names);
    if (status != 0)
        return status;
    const survey s = survey_names(path, &names);
    if (s.unfinished)
        status = UNFINISHED;
    else if (s.any || assay_store_is_file(l->store) || survey_below(l, path, &names))
        status = add_workers(l, e, &names, &s);
    else
        status = is_bare(&names) ? BARE : OTHER;
    for (size_t i = 0; i < names.count && (status == BARE || status == OTHER); i++)
        e->misnamed = e->misnamed || assay_ckpt_is_misnamed(&names, names.name[i]);
    assay_names_release(&names);
    return status;
}

static int add_entry(assay_lister *l, entry *e)
{
    if (!e->file)
        return add_directory(l, e, e->name);
    const uint32_t place = add_place(l, e);
    return place == ASSAY_NO_ID ? assay_lister_no_memory(l) : add_unit(l, e, place, FIRST, sizeof FIRST - 1);
}

/* ---- the root ---- */

static int compare_entries(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->file != y->file)
        return x->file ? 1 : -1;
    const assay_ckpt_role own = assay_ckpt_role_of(x->name), other = assay_ckpt_role_of(y->name);
    if (x->file && own != other)
        return own < other ? -1 : 1;
    return assay_worker_compare(x->name, y->name);
}

/* The last part of the location, for the number of a checkpoint that is given by itself; -1: it has none. */
static int64_t named_step(const assay_lister *l)
{
    const char *location = assay_store_location(l->store);
    size_t end = strlen(location), from;
    char name[256];
    int64_t step = 0;
    while (end > 0 && location[end - 1] == '/')
        end--;
    for (from = end; from > 0 && location[from - 1] != '/';)
        from--;
    if (end - from >= sizeof name)
        return -1;
    memcpy(name, location + from, end - from);
    name[end - from] = '\0';
    return assay_ckpt_step(l->catalog->options, name, &step) ? step : -1;
}

/* The step of a checkpoint that is given by itself: by its name, else as its files say. */
static int64_t own_step(const assay_lister *l)
{
    int64_t step = named_step(l);
    if (step < 0)
        step = assay_ckpt_torch_step(l->store, l->top);
    if (step < 0)
        step = assay_ckpt_trainer_step(l->store);
    return step < 0 ? 0 : step;
}

/* Is the file one of the series, under a name of its own: last.ckpt? */
static bool is_known(const assay_lister *l, const char *name)
{
    assay_store_stamp own = {0}, other = {0};
    int64_t step = 0;
    if (assay_store_stamp_of(l->store, name, &own, NULL) != 1 || own.node == 0)
        return false;
    for (size_t i = 0; i < l->top->count; i++)
        if (assay_ckpt_step(l->catalog->options, l->top->name[i], &step) &&
            assay_store_stamp_of(l->store, l->top->name[i], &other, NULL) == 1 && other.node == own.node)
            return true;
    return false;
}

enum { BELOW_MOST = 4, LISTED_MOST = 256 }; /* directories of a stray one that are looked into, how deep and how many */

/* Are checkpoints among the names in a directory, by their own names and by what is in them, or in one below? "backup/checkpoint-300". */
static bool has_checkpoints(const assay_lister *l, const char *path, const assay_names *names, int depth,
                            size_t *listed)
{
    bool any = false;
    for (size_t i = 0; i < names->count && !any && *listed < LISTED_MOST; i++) {
        char below[ASSAY_PATH_ROOM];
        int64_t step = 0;
        assay_names inside = {0};
        if (snprintf(below, sizeof below, "%s/%s", path, names->name[i]) >= (int)sizeof below ||
            assay_store_exists(l->store, below, NULL) != 0 ||
            assay_store_list(l->store, below, &inside, NULL) != ASSAY_OK)
            continue;
        ++*listed;
        any = assay_ckpt_step(l->catalog->options, names->name[i], &step) && survey_names(below, &inside).any;
        any = any || (depth < BELOW_MOST && has_checkpoints(l, below, &inside, depth + 1, listed));
        assay_names_release(&inside);
    }
    return any;
}

/* Names what lies beside the entries of a series and is none of them by its name alone: directories with tensors and no
 * step, and files whose ending is one of tensor files but for a byte. */
static void name_strays(assay_lister *l)
{
    int64_t step = 0;
    for (size_t i = 0; i < l->top->count; i++) {
        const char *name = l->top->name[i];
        const bool has_step = assay_ckpt_step(l->catalog->options, name, &step);
        assay_names inside = {0};
        if (assay_ckpt_is_misnamed(l->top, name))
            name_misnamed(l, has_step ? step : -1, "", name);
        if (name[0] == '.' || has_step || assay_ckpt_is_unfinished(name) ||
            assay_store_exists(l->store, name, NULL) != 0 ||
            assay_store_list(l->store, name, &inside, NULL) != ASSAY_OK)
            continue;
        const survey s = survey_names(name, &inside);
        const bool own = s.any || s.deepspeed || s.rank_directories > 0;
        size_t listed = 0;
        if (!own && has_checkpoints(l, name, &inside, 1, &listed))
            assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_NAME, -1, name, -1,
                               "%s: checkpoints lie in it; they are not read: give the directory by itself", name);
        else if (own && !is_known(l, name))
            assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_NAME, -1, name, -1,
                               "%s: has tensors, and no step in its name; it is not read: give the directory by itself",
                               name);
        assay_names_release(&inside);
    }
}

/* A root that is a checkpoint beside others is the last of them if it says so, as trainers write one at the end. */
static int add_root(assay_lister *l, int64_t newest)
{
    const char *first = NULL;
    size_t count = 0;
    int64_t step = 0;
    for (size_t i = 0; i < l->top->count; i++) {
        const char *name = l->top->name[i];
        if (assay_ckpt_is_unfinished(name) || assay_ckpt_step(l->catalog->options, name, &step) ||
            assay_ckpt_role_of(name) != ASSAY_CKPT_MODEL ||
            (!assay_ckpt_is_shard_map(name) && assay_ckpt_kind_of(name) == ASSAY_CKPT_KINDS) ||
            assay_store_exists(l->store, name, NULL) != 1 || is_known(l, name))
            continue;
        first = !first || assay_worker_compare(name, first) < 0 ? name : first;
        count++;
    }
    if (count == 0) {
        name_strays(l);
        return ASSAY_OK;
    }
    entry own = {.step = assay_ckpt_trainer_step(l->store), .name = ""};
    if (own.step > newest)
        return add_directory(l, &own, "");
    name_strays(l);
    char others[48] = "";
    if (count > 1)
        snprintf(others, sizeof others, " and %zu more file%s", count - 1, assay_plural(count - 1));
    assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_NAME, -1, first, -1,
                       "%s%s %s beside the series, without a step in the name or one after %lld in trainer_state.json: "
                       "not read; give the file by itself",
                       first, others, count > 1 ? "lie" : "lies", (long long)newest);
    return ASSAY_OK;
}

/* Has the storage met this file or directory under another name? Links to the newest checkpoint are common. */
static bool is_alias(const assay_lister *l, const char *name, assay_dict *met)
{
    assay_store_stamp stamp = {0};
    if (assay_store_stamp_of(l->store, name, &stamp, NULL) != 1 || stamp.node == 0)
        return false;
    const uint32_t before = assay_dict_count(met);
    return assay_dict_add(met, (const char *)&stamp.node, sizeof stamp.node) < before;
}

static void name_twice(assay_lister *l, const entry *used, const entry *e)
{
    assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_DUPLICATE, e->step, e->name, -1,
                       "%s: step %lld is in %s too; this one is not used", e->name, (long long)e->step, used->name);
}

/* Adds the entries, which are in order; of two of one step the first that is a checkpoint counts. */
static int add_entries(assay_lister *l, entry *entries, size_t count)
{
    const entry *used = NULL;
    assay_dict *met = assay_dict_new();
    int status = met ? ASSAY_OK : assay_lister_no_memory(l);
    for (size_t i = 0; i < count && status >= 0; i++) {
        if (is_alias(l, entries[i].name, met))
            continue;
        if (used && used->step == entries[i].step) {
            if (!goes_with(l, used, entries[i].name))
                name_twice(l, used, &entries[i]);
            continue;
        }
        status = add_entry(l, &entries[i]);
        entries[i].unfinished = status == UNFINISHED;
        entries[i].bare = status == BARE;
        entries[i].other = status == OTHER;
        if (status == ASSAY_OK)
            used = &entries[i];
    }
    assay_dict_free(met);
    return status < 0 ? status : ASSAY_OK;
}

/* What a writer has begun and not finished. It is lost only when a later checkpoint shows that nobody will. */
static void name_unfinished(assay_lister *l, int64_t step, const char *name, int64_t newest, const char *why)
{
    assay_problems_add(&l->catalog->problems, step >= newest ? ASSAY_PROBLEM_UNFINISHED : ASSAY_PROBLEM_ABANDONED, step,
                       name, -1, "%s was not written to its end: %s; it is not evaluated", name, why);
}

/* Is it a directory without tensors whose name is that of a file, as others of the series have it? */
static bool stands_in(const entry *e, const entry *entries, size_t count)
{
    const char *ending = e->name + assay_ckpt_stem(e->name);
    if (e->file || !(e->bare || e->other) || assay_ckpt_kind_of(e->name) == ASSAY_CKPT_KINDS)
        return false;
    for (size_t i = 0; i < count; i++)
        if (entries[i].file && strcmp(entries[i].name + assay_ckpt_stem(entries[i].name), ending) == 0)
            return true;
    return false;
}

/* A directory whose name is, but for the number, that of checkpoints of the series, and which has no tensors, is one that
 * lost them, or never was written to its end. */
static int mark_bare(assay_lister *l, entry *entries, size_t count)
{
    assay_dict *forms = assay_dict_new();
    assay_buf form = ASSAY_BUF(SIZE_MAX);
    bool memory = forms != NULL;
    for (int other = 0; other < 2; other++)
        for (size_t i = 0; i < count && memory; i++) {
            entry *e = &entries[i];
            if (e->file || e->unfinished || (e->bare || e->other) != (other == 1))
                continue;
            assay_buf_clear(&form);
            assay_path_put_series(e->name, &form);
            if (other == 0)
                memory = assay_dict_add(forms, (const char *)form.data, form.size) != ASSAY_NO_ID;
            else
                e->lost = assay_dict_find(forms, (const char *)form.data, form.size) != ASSAY_NO_ID;
            e->bare = e->bare || e->lost;
        }
    memory = memory && assay_buf_status(&form) == ASSAY_OK;
    assay_dict_free(forms);
    assay_buf_release(&form);
    return memory ? ASSAY_OK : assay_lister_no_memory(l);
}

/* Names the files whose names are those of directories of the series but for the number: each had a step, or had one
 * copied to its place. */
static int name_files(assay_lister *l, const entry *entries, size_t count)
{
    assay_dict *forms = assay_dict_new();
    assay_buf form = ASSAY_BUF(SIZE_MAX);
    bool memory = forms != NULL;
    for (size_t i = 0; i < count && memory; i++) {
        assay_buf_clear(&form);
        assay_path_put_series(entries[i].name, &form);
        if (!entries[i].file && !entries[i].other)
            memory = assay_dict_add(forms, (const char *)form.data, form.size) != ASSAY_NO_ID;
    }
    for (size_t i = 0; i < l->top->count && memory && assay_dict_count(forms) > 0; i++) {
        const char *name = l->top->name[i];
        int64_t step = 0;
        assay_buf_clear(&form);
        assay_path_put_series(name, &form);
        if (assay_ckpt_kind_of(name) == ASSAY_CKPT_KINDS && !assay_ckpt_is_unfinished(name) &&
            assay_ckpt_step(l->catalog->options, name, &step) &&
            assay_dict_find(forms, (const char *)form.data, form.size) != ASSAY_NO_ID)
            assay_problems_name_file(&l->catalog->problems, l->store, step, name);
    }
    memory = memory && assay_buf_status(&form) == ASSAY_OK;
    assay_dict_free(forms);
    assay_buf_release(&form);
    return memory ? ASSAY_OK : assay_lister_no_memory(l);
}

/* Names what a directory without tensors has of files that are misnamed. */
static void name_misnamed_in(assay_lister *l, const entry *e)
{
    assay_names names = {0};
    if (assay_store_list(l->store, e->name, &names, NULL) != ASSAY_OK)
        return;
    for (size_t i = 0; i < names.count; i++)
        if (assay_ckpt_is_misnamed(&names, names.name[i]))
            name_misnamed(l, e->step, e->name, names.name[i]);
    assay_names_release(&names);
}

static void name_all_unfinished(assay_lister *l, const entry *entries, size_t count, int64_t newest)
{
    for (size_t i = 0; i < l->top->count; i++) {
        const char *name = l->top->name[i];
        int64_t step = 0;
        if ((name[0] != '.' || assay_ckpt_is_copied(name)) && assay_ckpt_is_unfinished(name) &&
            assay_ckpt_step(l->catalog->options, name, &step))
            name_unfinished(l, step, name, newest, "its name says so");
    }
    for (size_t i = 0; i < count && newest >= 0; i++)
        if (entries[i].misnamed)
            name_misnamed_in(l, &entries[i]);
    for (size_t i = 0; i < count; i++)
        if (stands_in(&entries[i], entries, count))
            assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_READ, entries[i].step, entries[i].name, -1,
                               "%s: a directory, where a file should be; what it had is missing from this analysis",
                               entries[i].name);
        else if (entries[i].unfinished)
            name_unfinished(l, entries[i].step, entries[i].name, newest, "its .metadata is missing");
        else if (entries[i].bare && newest >= 0 && (entries[i].step > newest || entries[i].lost))
            name_unfinished(l, entries[i].step, entries[i].name, newest, "it holds no file of tensors");
        else if (entries[i].bare && newest >= 0)
            assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_NAME, entries[i].step, entries[i].name, -1,
                               "%s: holds no file of tensors", entries[i].name);
}

/* Names what optimizers and schedulers saved at steps beyond the newest: the model's file is not written yet, or lost. */
static void name_alone(assay_lister *l, const assay_companions *beside, int64_t newest)
{
    for (size_t i = assay_companions_find(beside, newest + 1); i < beside->count; i++)
        if (assay_store_exists(l->store, beside->list[i].name, NULL) == 1)
            name_unfinished(l, beside->list[i].step, beside->list[i].name, newest,
                            "the model's file of its step is missing");
}

static size_t list_entries(const assay_lister *l, const assay_companions *beside, entry *out)
{
    size_t count = 0;
    for (size_t i = 0; i < l->top->count; i++) {
        const char *name = l->top->name[i];
        entry e = {.name = name, .beside = beside};
        if (assay_ckpt_is_unfinished(name) || assay_deepspeed_name_of(name).kind != ASSAY_DEEPSPEED_NONE ||
            !assay_ckpt_step(l->catalog->options, name, &e.step))
            continue;
        e.file = assay_store_exists(l->store, name, NULL) == 1;
        if (!e.file || assay_ckpt_kind_of(name) != ASSAY_CKPT_KINDS)
            out[count++] = e;
    }
    return count;
}

/* Takes the directories out whose names are those of others of the series with something behind, and names them, and files
 * and directories that have such a name behind a point. */
static int set_aside(assay_lister *l, entry *entries, size_t *count)
{
    static const char *const of_rsync[] = {".rsync-partial", ".~tmp~"};
    assay_dict *forms = assay_dict_new();
    assay_buf form = ASSAY_BUF(SIZE_MAX);
    bool memory = forms != NULL;
    size_t kept = 0;
    for (size_t i = 0; i < *count && memory; i++) {
        assay_buf_clear(&form);
        assay_path_put_series(entries[i].name, &form);
        memory = assay_dict_add(forms, (const char *)form.data, form.size) != ASSAY_NO_ID;
    }
    for (size_t i = 0; i < *count && memory; i++) {
        const entry *e = &entries[i];
        if (e->file || !assay_ckpt_is_put_aside(l->catalog->options, e->name, forms, &form))
            entries[kept++] = *e;
        else
            assay_problems_add(
                &l->catalog->problems, ASSAY_PROBLEM_NAME, e->step, e->name, -1,
                "%s is not read: its name is that of another checkpoint of the series, but for its beginning or end",
                e->name);
    }
    for (size_t i = 0; i < l->top->count && memory && assay_dict_count(forms) > 0; i++) {
        const char *name = l->top->name[i];
        int64_t step = 0;
        for (size_t k = 0; k < sizeof of_rsync / sizeof *of_rsync; k++)
            if (strcmp(name, of_rsync[k]) == 0 && assay_store_exists(l->store, name, NULL) == 0)
                assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_NAME, -1, name, -1,
                                   "%s is not read: rsync keeps there what it has not copied to its end", name);
        if (name[0] != '.' || !assay_ckpt_step(l->catalog->options, name + 1, &step))
            continue;
        const bool directory = assay_store_exists(l->store, name, NULL) == 0;
        if (assay_ckpt_is_of_series(l->catalog->options, name + 1, forms, &form))
            assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_NAME, step, name, -1,
                               "%s is not read: its name begins with a point", name);
        else if (directory && assay_ckpt_is_put_aside(l->catalog->options, name + 1, forms, &form))
            assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_NAME, step, name, -1,
                               "%s is not read: a program that copies a checkpoint calls it so until it is done", name);
    }
    *count = kept;
    memory = memory && assay_buf_status(&form) == ASSAY_OK;
    assay_dict_free(forms);
    assay_buf_release(&form);
    return memory ? ASSAY_OK : assay_lister_no_memory(l);
}

int assay_checkpoint_list(assay_lister *l)
{
    const size_t before = l->catalog->unit_count;
    const uint64_t problems = l->catalog->problems.total;
    entry *entries = assay_alloc_zeroed(l->top->count + 1, sizeof *entries);
    assay_companions beside = {0};
    if (!entries || assay_companions_list(l->catalog->options, l->top, &beside) != ASSAY_OK) {
        free(entries);
        return assay_lister_no_memory(l);
    }
    size_t count = list_entries(l, &beside, entries);
    int status = set_aside(l, entries, &count);
    qsort(entries, count, sizeof *entries, compare_entries);
    ASSAY_THEN(status, add_entries(l, entries, count));
    int64_t newest = -1;
    if (status == ASSAY_OK && l->catalog->unit_count > before) {
        newest = l->catalog->units[l->catalog->unit_count - 1].step;
        status = add_root(l, newest);
    }
    if (status == ASSAY_OK && l->catalog->unit_count == 0) {
        entry own = {.step = own_step(l), .name = ""};
        status = add_directory(l, &own, "");
    }
    if (status >= 0)
        status = mark_bare(l, entries, count) == ASSAY_OK ? status : ASSAY_ENOMEM;
    if (status >= 0)
        name_all_unfinished(l, entries, count, newest);
    if (status >= 0 && newest >= 0 && newest < INT64_MAX)
        name_alone(l, &beside, newest);
    if (status >= 0 && l->catalog->unit_count > before && name_files(l, entries, count) != ASSAY_OK)
        status = ASSAY_ENOMEM;
    if (status >= 0 && l->catalog->unit_count > before)
        assay_ckpt_name_latest(l->store, l->top, &l->catalog->problems);
    free(entries);
    assay_companions_release(&beside);
    if (status < 0 || l->catalog->unit_count > before)
        return status < 0 ? status : ASSAY_OK;
    if (l->catalog->problems.total == problems)
        return 1;
    assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_EMPTY, -1, "", -1,
                       "there is no checkpoint that could be read to its end");
    return ASSAY_OK;
}

int assay_checkpoint_conclude(assay_lister *l)
{
    assay_catalog *catalog = l->catalog;
    catalog->ended = true; /* nobody watches checkpoints: what is there is evaluated */
    if (!l->has_collections)
        catalog->collections.num_workers = catalog->workers;
    return ASSAY_OK;
}

void assay_checkpoint_remark(assay_catalog *catalog, const assay_unit *unit, const assay_unit *used)
{
    (void)used; /* list() has settled which entry of a step counts */
    assay_problems_add(&catalog->problems, ASSAY_PROBLEM_DUPLICATE, unit->step, "", -1,
                       "step %lld of %s lies in two places", (long long)unit->step, catalog->worker[unit->worker]);
}
