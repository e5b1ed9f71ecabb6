/* walk.c - lists the files of a place in natural order, each once, and finds out which logs they are. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fault.h"
#include "base/search.h"
#include "base/vec.h"
#include "format/metrics/runs.h"

enum { DEEPEST = 16 };

const metrics_kind *const metrics_kinds[METRICS_KINDS] = {
    [METRICS_HF] = &metrics_hf,           [METRICS_WANDB] = &metrics_wandb, [METRICS_MLFLOW] = &metrics_mlflow,
    [METRICS_TB] = &metrics_tb,           [METRICS_CSV] = &metrics_csv,     [METRICS_MONITOR] = &metrics_monitor,
    [METRICS_DUMP] = &metrics_dump,       [METRICS_DLFW] = &metrics_dlfw,   [METRICS_MEGATRON] = &metrics_megatron,
    [METRICS_PRINTED] = &metrics_printout};

int metrics_kind_number(const char *name)
{
    for (int k = 0; k < METRICS_KINDS; k++)
        if (strcmp(metrics_kinds[k]->name, name) == 0)
            return k;
    return -1;
}

/* What a path leads to, as far as links and numbers of the file system matter. */
typedef struct about {
    bool file, directory, link;
    uint64_t device, node, size;
} about;

typedef struct walker {
    metrics_place *place;
    assay_dict *listed;      /* directories, by (device, node) */
    ASSAY_VEC(char *) later; /* directories behind links; owned */
    ASSAY_VEC(char *)
    passed;      /* what may have been a log, or stand for one: files that are not called so, directories
                                 without one, which end in a slash; owned */
    bool search; /* for a run, by its name alone */
    size_t left; /* so many paths more are looked at */
} walker;

/* A run's name that is no path is mostly a path that is missing, and the directory that it would be in may be any: a home,
 * a file system. So many paths are looked at, and all only once there is a log whose runs have names of their own. */
enum { LOOKED_AT_MOST = 1 << 13, NAME_RUNS = 1 << METRICS_WANDB | 1 << METRICS_MLFLOW };

/* What cannot be looked at, such as a link that leads nowhere, is neither; the store notes why, and the note becomes a
 * problem. ASSAY_OK or ASSAY_ENOMEM. */
static int look_at(assay_store *store, const char *path, about *out)
{
    char local[ASSAY_PATH_ROOM];
    struct stat at, to;
    *out = (about){0};
    const int is_file = assay_store_size_of(store, path, &out->size, NULL);
    if (is_file < 0)
        return is_file == ASSAY_ENOMEM ? is_file : ASSAY_OK;
    out->file = is_file == 1;
    /* Of a trial that is one file, only that file has a path; its root is no directory of this machine. */
    if ((assay_store_is_file(store) && !out->file) || !assay_store_local_path(store, path, local, sizeof local)) {
        out->directory = !out->file;
        return ASSAY_OK;
    }
    if (lstat(local, &at) != 0 || stat(local, &to) != 0) {
        assay_error why;
        assay_fail(&why, ASSAY_EIO, "%s: %s", path, strerror(errno));
        assay_store_note(store, path, why.text);
        *out = (about){0};
        return ASSAY_OK;
    }
    out->directory = S_ISDIR(to.st_mode);
    out->link = S_ISLNK(at.st_mode);
    out->device = (uint64_t)to.st_dev;
    out->node = (uint64_t)to.st_ino;
    return ASSAY_OK;
}

/* Notes a directory that is about to be listed. 0; 1: it was listed before; ASSAY_ENOMEM. */
static int note_directory(walker *w, const about *a)
{
    const uint64_t key[2] = {a->device, a->node};
    const uint32_t known = assay_dict_count(w->listed);
    if (a->device == 0 && a->node == 0)
        return ASSAY_OK;
    const uint32_t id = assay_dict_add(w->listed, (const char *)key, sizeof key);
    return id == ASSAY_NO_ID ? ASSAY_ENOMEM : id < known;
}

static int keep_path(walker *w, bool later, const char *path)
{
    char **added = later ? ASSAY_VEC_ADD(&w->later) : ASSAY_VEC_ADD(&w->passed);
    if (added)
        *added = assay_copy_text(path);
    return added && *added ? ASSAY_OK : ASSAY_ENOMEM;
}

/* Text has no zero bytes; its beginning tells. */
static bool is_text(assay_store *store, const char *path)
{
    uint8_t head[4096];
    size_t got = 0;
    assay_store_file *file = NULL;
    const bool read = assay_store_open_file(store, path, &file, NULL) == ASSAY_OK &&
                      assay_store_read_at(file, 0, head, sizeof head, &got, NULL) == ASSAY_OK;
    assay_store_close_file(file);
    const bool marked = got >= 2 && (memcmp(head, "\xff\xfe", 2) == 0 || memcmp(head, "\xfe\xff", 2) == 0); /* UTF-16 */
    const bool gzip = got >= 2 && memcmp(head, "\x1f\x8b", 2) == 0;
    return read && (marked || gzip || !memchr(head, '\0', got));
}

static int list_file(metrics_place *p, const char *path, const about *a, uint32_t named)
{
    metrics_file *file = assay_vec_add(&p->files, &p->count, &p->room, sizeof *file);
    char *copy = file ? assay_copy_text(path) : NULL;
    ASSAY_HAVE(copy);
    *file =
        (metrics_file){.path = copy, .device = a->device, .node = a->node, .size = a->size, .named = named, .kind = -1};
    return ASSAY_OK;
}

/* A file that was given by its name may have any: its content tells. */
static int add_file(walker *w, const char *path, const about *a)
{
    const uint32_t named = metrics_kinds_named(metrics_base(path));
    if (named == 0 && !assay_store_is_file(w->place->store))
        return metrics_may_be_passed(metrics_base(path)) ? keep_path(w, false, path) : ASSAY_OK;
    if (named & NAME_RUNS)
        w->left = SIZE_MAX;
    return list_file(w->place, path, a, named);
}

static int walk(walker *w, const char *directory, int depth);

static int by_nature(const void *a, const void *b)
{
    return assay_worker_compare(*(char *const *)a, *(char *const *)b);
}

/* A directory that the recording library wrote is a trial of its own. */
static bool is_recording(const assay_names *names)
{
    return assay_names_have(names, "collections") && assay_names_have(names, "index");
}

static void name_deep(walker *w, const char *path)
{
    assay_problems_add(&w->place->problems, ASSAY_PROBLEM_READ, -1, path, -1,
                       "%s: more than %d directories deep; what lies in it is missing from this analysis", path,
                       DEEPEST);
}

static int visit(walker *w, const char *path, int depth)
{
    about a;
    if (w->left == 0)
        return ASSAY_OK;
    w->left--;
    if (look_at(w->place->store, path, &a) != ASSAY_OK)
        return ASSAY_ENOMEM;
    if (a.file)
        return add_file(w, path, &a);
    if (!a.directory) { /* a pipe, a socket: it may stand in the place of a log, as an empty directory may */
        char ended[ASSAY_PATH_ROOM];
        const int length = snprintf(ended, sizeof ended, "%s/", path);
        return a.node != 0 && length < (int)sizeof ended ? keep_path(w, false, ended) : ASSAY_OK;
    }
    if (depth >= DEEPEST) {
        name_deep(w, path);
        return ASSAY_OK;
    }
    if (a.link) /* what lies outside of the trial is none of its logs; the catalog names links that lead there */
        return assay_store_leads_out(w->place->store, path) ? ASSAY_OK : keep_path(w, true, path);
    return walk(w, path, depth + 1);
}

static int walk(walker *w, const char *directory, int depth)
{
    char path[ASSAY_PATH_ROOM];
    assay_names names = {0};
    assay_error why = {{0}};
    about own;
    const bool only = assay_store_is_file(w->place->store); /* and no directory around it */
    int status = only ? ASSAY_OK : look_at(w->place->store, *directory ? directory : ".", &own);
    if (status == ASSAY_OK && !only)
        status = note_directory(w, &own);
    if (status != ASSAY_OK)
        return status > 0 ? ASSAY_OK : status;
    status = assay_store_list(w->place->store, directory, &names, &why);
    if (status == ASSAY_ENOTFOUND)
        return ASSAY_OK;
    if (status == ASSAY_EIO) {
        assay_problems_add(&w->place->problems, ASSAY_PROBLEM_READ, -1, directory, -1,
                           "%s; what lies in it is missing from this analysis", why.text);
        return ASSAY_OK;
    }
    if (status != ASSAY_OK)
        return status;
    const size_t before = w->place->count;
    static const char *const known[] = {"trainer_state.json", "dump.json", "meta.yaml", NULL};
    const bool recording = is_recording(&names);
    assay_problems_name_damaged(&w->place->problems, &names, directory, known);
    if (names.count > 1)
        qsort(names.name, names.count, sizeof *names.name, by_nature);
    for (size_t i = 0; i < names.count && status == ASSAY_OK && !recording; i++) {
        const int length = snprintf(path, sizeof path, "%s%s%s", directory, *directory ? "/" : "", names.name[i]);
        if (names.name[i][0] != '.' && length < (int)sizeof path)
            status = visit(w, path, depth);
    }
    if (status == ASSAY_OK && w->place->count == before && snprintf(path, sizeof path, "%s/", directory) > 1)
        status = keep_path(w, false, path);
    assay_names_release(&names);
    return status;
}

/* Directories behind links come last; those that were listed under their own names are not listed again. */
static int walk_later(walker *w)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < w->later.count && status == ASSAY_OK; i++) {
        about a;
        int depth = 1;
        status = look_at(w->place->store, w->later.list[i], &a);
        for (const char *p = w->later.list[i]; *p; p++)
            depth += *p == '/';
        if (status == ASSAY_OK && a.directory && depth < DEEPEST)
            status = walk(w, w->later.list[i], depth);
        else if (a.directory)
            name_deep(w, w->later.list[i]);
    }
    return status;
}

static int by_path(const void *a, const void *b)
{
    return assay_worker_compare(((const metrics_file *)a)->path, ((const metrics_file *)b)->path);
}

static int by_node(const void *a, const void *b)
{
    const metrics_file *x = *(metrics_file *const *)a, *y = *(metrics_file *const *)b;
    int order = ASSAY_ORDER(x->device, y->device);
    order = order ? order : ASSAY_ORDER(x->node, y->node);
    return order ? order : ASSAY_ORDER(x, y); /* as they were found */
}

/* Takes out files that were found before under another name. */
static int drop_doubles(metrics_place *p)
{
    metrics_file **list = assay_alloc_zeroed(p->count, sizeof *list);
    ASSAY_HAVE(list);
    for (size_t i = 0; i < p->count; i++)
        list[i] = &p->files[i];
    if (p->count > 0)
        qsort(list, p->count, sizeof *list, by_node);
    for (size_t i = 1; i < p->count; i++)
        if (list[i]->node != 0 && list[i]->node == list[i - 1]->node && list[i]->device == list[i - 1]->device)
            list[i]->kind = METRICS_KINDS;
    free(list);
    size_t kept = 0;
    for (size_t i = 0; i < p->count; i++) {
        if (p->files[i].kind < METRICS_KINDS)
            p->files[kept++] = p->files[i];
        else
            free(p->files[i].path);
    }
    p->count = kept;
    return ASSAY_OK;
}

/* Asks the kinds whose names fit for the content of a file. 0 or ASSAY_ENOMEM. */
static int prove_named(metrics_place *p, metrics_file *file)
{
    for (int k = 0; k < METRICS_KINDS && file->kind < 0; k++) {
        if (!(file->named >> k & 1))
            continue;
        assay_error why = {{0}};
        const int is = metrics_kinds[k]->proven(p->store, file, &why);
        if (is == ASSAY_ENOMEM)
            return is;
        if (is == ASSAY_EFORMAT) { /* damaged, and named when it is read */
            file->kind = k;
        } else if (is < 0) {
            assay_problems_add(&p->problems, ASSAY_PROBLEM_READ, -1, file->path, -1, "%s", why.text);
            break;
        }
        if (is > 0)
            file->kind = k;
    }
    return ASSAY_OK;
}

/* Has the table of a file a value? A header by itself is any line with a comma in it. 1, 0 or a status. */
static int has_value(const metrics_place *p, const metrics_file *file, assay_error *err)
{
    char none[] = "";
    const metrics_run alone = {.kind = &metrics_csv, .key = none, .base = none, .files = &file, .count = 1};
    return metrics_run_has_value(p, &alone, err);
}

/* Asks all kinds for the content of a file whose name is none of a log's. 0 or ASSAY_ENOMEM. */
static int prove_unnamed(metrics_place *p, metrics_file *file)
{
    const bool text = is_text(p->store, file->path);
    for (int k = 0; k < METRICS_KINDS && file->kind < 0 && file->size > 0; k++) {
        assay_error why = {{0}};
        const bool binary = k == METRICS_TB || k == METRICS_WANDB;
        int is = text != binary ? metrics_kinds[k]->proven(p->store, file, &why) : 0;
        if (is > 0 && k == METRICS_CSV)
            is = has_value(p, file, &why);
        if (is == ASSAY_ENOMEM)
            return is;
        file->kind = is > 0 ? k : -1;
    }
    return ASSAY_OK;
}

static int prove(metrics_place *p)
{
    for (size_t i = 0; i < p->count; i++) {
        metrics_file *file = &p->files[i];
        ASSAY_TRY(file->named ? prove_named(p, file) : prove_unnamed(p, file));
        p->kinds |= file->kind >= 0 ? 1u << file->kind : 0;
        p->counts[METRICS_OTHER_FILES] += file->kind < 0 && strcmp(metrics_base(file->path), "meta.yaml") != 0;
    }
    return ASSAY_OK;
}

/* Takes what proves to be a log out of the files that were passed over for their names: "stdout", "nohup",
 * "train.log.1". 0 or ASSAY_ENOMEM. */
static int prove_passed(walker *w)
{
    metrics_place *p = w->place;
    size_t kept = 0;
    int status = ASSAY_OK;
    for (size_t i = 0; i < w->passed.count; i++) {
        char *path = w->passed.list[i];
        about a = {0};
        bool taken = false;
        if (status == ASSAY_OK && metrics_may_have_any_name(path))
            status = look_at(p->store, path, &a);
        if (status == ASSAY_OK && a.file && (status = list_file(p, path, &a, 0)) == ASSAY_OK) {
            metrics_file *file = &p->files[p->count - 1];
            status = prove_unnamed(p, file);
            taken = file->kind >= 0;
            p->kinds |= taken ? 1u << file->kind : 0;
        }
        if (a.file && !taken && status == ASSAY_OK)
            free(p->files[--p->count].path);
        if (taken)
            free(path);
        else
            w->passed.list[kept++] = path;
    }
    w->passed.count = kept;
    return status;
}

/* Of the kinds that are there, the one that is asked for, or the first; names what may have been a log of it, or of any
 * kind where there is none. */
static int choose(walker *w, int kind)
{
    metrics_place *p = w->place;
    ASSAY_TRY(prove(p));
    if (p->kinds == 0 && w->search) /* a log that goes by any name has no runs with names */
        return ASSAY_OK;
    if (p->kinds == 0 && kind < 0)
        ASSAY_TRY(prove_passed(w));
    if (p->count > 0)
        qsort(p->files, p->count, sizeof *p->files, by_path);
    for (int k = 0; k < METRICS_KINDS && !p->kind; k++)
        if ((p->kinds >> k & 1) && (kind < 0 || kind == k))
            p->kind = metrics_kinds[k];
    return metrics_name_passed(p, w->passed.list, w->passed.count);
}

/* ---- runs ---- */

metrics_run *metrics_place_run(metrics_place *p, const char *name, const char *id)
{
    metrics_run *run = assay_vec_add(&p->runs, &p->run_count, &p->run_room, sizeof *run);
    if (!run)
        return NULL;
    *run = (metrics_run){.kind = p->kind, .name = assay_copy_text(name), .base = assay_copy_text("")};
    run->id = id ? assay_copy_text(id) : NULL;
    return run->name && run->base && (!id || run->id) ? run : NULL;
}

metrics_run *metrics_place_run_of(metrics_place *p, const char *key, const char *name, const char *id)
{
    const uint32_t number = assay_dict_add(p->run_keys, key, strlen(key));
    if (number == ASSAY_NO_ID || number < p->run_count)
        return number == ASSAY_NO_ID ? NULL : &p->runs[number];
    metrics_run *run = metrics_place_run(p, name, id);
    if (run)
        run->key = assay_copy_text(key);
    return run && run->key ? run : NULL;
}

int metrics_run_add_file(metrics_run *run, const metrics_file *file)
{
    const metrics_file **added = assay_vec_add(&run->files, &run->count, &run->room, sizeof *added);
    if (added)
        *added = file;
    return added ? ASSAY_OK : ASSAY_ENOMEM;
}

static int by_name(const void *a, const void *b)
{
    const metrics_run *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order || !x->id || !y->id ? order : strcmp(x->id, y->id);
}

/* Of names that come twice: "name (id)". */
static int tell_apart(metrics_place *p)
{
    for (size_t i = 0, next; i < p->run_count; i = next) {
        for (next = i + 1; next < p->run_count && strcmp(p->runs[i].name, p->runs[next].name) == 0; next++)
            ;
        for (size_t k = i; k < next && next - i > 1; k++) {
            if (!p->runs[k].id)
                continue;
            const size_t room = strlen(p->runs[k].name) + strlen(p->runs[k].id) + sizeof " ()";
            char *longer = assay_alloc(room);
            ASSAY_HAVE(longer);
            snprintf(longer, room, "%s (%s)", p->runs[k].name, p->runs[k].id);
            free(p->runs[k].name);
            p->runs[k].name = longer;
        }
    }
    return ASSAY_OK;
}

static int read_place(assay_store *store, int kind, bool search, metrics_place *out, assay_error *err)
{
    *out = (metrics_place){.store = store};
    assay_problems_init(&out->problems);
    walker w = {
        .place = out, .listed = assay_dict_new(), .search = search, .left = search ? (size_t)LOOKED_AT_MOST : SIZE_MAX};
    out->run_keys = assay_dict_new();
    int status = w.listed && out->run_keys ? walk(&w, "", 0) : ASSAY_ENOMEM;
    ASSAY_THEN(status, walk_later(&w));
    for (size_t i = 0; i < w.later.count; i++)
        free(w.later.list[i]);
    free(w.later.list);
    assay_dict_free(w.listed);
    ASSAY_THEN(status, drop_doubles(out));
    ASSAY_THEN(status, choose(&w, kind));
    for (size_t i = 0; i < w.passed.count; i++)
        free(w.passed.list[i]);
    free(w.passed.list);
    if (status == ASSAY_OK && out->kind)
        status = out->kind->divide(out, err);
    if (status == ASSAY_OK && out->run_count > 0) {
        qsort(out->runs, out->run_count, sizeof *out->runs, by_name);
        status = tell_apart(out);
        qsort(out->runs, out->run_count, sizeof *out->runs, by_name);
    }
    return status == ASSAY_ENOMEM ? assay_fail(err, status, "%s: out of memory", assay_store_location(store)) : status;
}

int metrics_place_read(assay_store *store, int kind, metrics_place *out, assay_error *err)
{
    return read_place(store, kind, false, out, err);
}

int metrics_place_search(assay_store *store, int kind, metrics_place *out, assay_error *err)
{
    return read_place(store, kind, true, out, err);
}

void metrics_place_release(metrics_place *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->files[i].path);
    for (size_t i = 0; i < p->run_count; i++) {
        free(p->runs[i].name);
        free(p->runs[i].id);
        free(p->runs[i].key);
        free(p->runs[i].base);
        free(p->runs[i].experiment);
        free(p->runs[i].experiment_id);
        free(p->runs[i].files);
    }
    assay_log_names_release(&p->silent);
    assay_log_names_release(&p->unstarted);
    assay_dict_free(p->run_keys);
    free(p->files);
    free(p->runs);
    assay_problems_release(&p->problems);
    *p = (metrics_place){0};
}
