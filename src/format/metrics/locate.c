/* locate.c - the runs that a location stands for: a place with several, and patterns within it. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fault.h"
#include "base/path.h"
#include "base/vec.h"
#include "format/metrics/locate.h"
#include "format/metrics/runs.h"

enum { NAMED_MOST = 8 };

static bool is_there(const char *path, struct stat *about)
{
    return stat(path, about) == 0;
}

/* The longest beginning that exists: its length, 0: none does but the working directory. */
static size_t existing(const char *location, struct stat *about)
{
    char path[ASSAY_PATH_ROOM];
    size_t length = strlen(location);
    if (length >= sizeof path)
        return 0;
    memcpy(path, location, length + 1);
    while (length > 0 && !is_there(path, about)) {
        while (length > 0 && path[length - 1] != '/')
            length--;
        while (length > 1 && path[length - 1] == '/')
            length--;
        path[length] = '\0';
        if (length == 1 && *path == '/')
            return 0;
    }
    return length;
}

/* Can the directory be a place of logs? One of tensors is not walked for them. ASSAY_ENOMEM. */
static int may_have_logs(assay_store *store)
{
    assay_names top = {0};
    int status = assay_store_list(store, "", &top, NULL);
    if (status != ASSAY_OK)
        return status == ASSAY_ENOMEM ? status : false;
    bool may = !(assay_names_have(&top, "collections") && assay_names_have(&top, "index"));
    for (size_t i = 0; i < top.count && may; i++) {
        assay_names below = {0};
        if (!assay_is_digit(top.name[i][strlen(top.name[i]) - 1]))
            continue;
        status = assay_store_list(store, top.name[i], &below, NULL);
        if (status == ASSAY_ENOMEM)
            break;
        if (status != ASSAY_OK)
            continue;
        for (size_t k = 0; k < below.count && may; k++)
            may = !assay_path_ends(below.name[k], ".npy");
        assay_names_release(&below);
        break; /* one of its steps tells */
    }
    assay_names_release(&top);
    return status == ASSAY_ENOMEM ? status : may;
}

static bool matches(const char *pattern, const char *text)
{
    return text && fnmatch(pattern, text, FNM_PERIOD) == 0;
}

/* Does the pattern, which stands for files then, fit for one of the run's? */
static bool has_such_file(const metrics_run *run, const char *pattern)
{
    for (size_t i = 0; i < run->count; i++)
        if (fnmatch(pattern, run->files[i]->path, FNM_PERIOD | FNM_PATHNAME) == 0)
            return true;
    return false;
}

/* Is the run meant by the pattern: by its name, its id, its path or the last part of that, or a file of it; or by its
 * experiment and one of these? */
static bool is_meant(const metrics_run *run, const char *pattern)
{
    const char *slash = strchr(pattern, '/');
    char first[512];
    if (matches(pattern, run->name) || matches(pattern, run->id) || matches(pattern, run->base) ||
        matches(pattern, metrics_base(run->base)) || has_such_file(run, pattern))
        return true;
    if (!slash || !run->experiment || (size_t)(slash - pattern) >= sizeof first)
        return false;
    snprintf(first, sizeof first, "%.*s", (int)(slash - pattern), pattern);
    return (matches(first, run->experiment) || matches(first, run->experiment_id)) && is_meant(run, slash + 1);
}

/* What is said of the place as a whole goes along with the first run, and is said once. */
static int add_run(const char *root, metrics_place *place, const metrics_run *run, const assay_trial_options *given,
                   assay_trial_runs *out)
{
    assay_buf packed = ASSAY_BUF(SIZE_MAX);
    const char *unread = metrics_place_unread(place);
    if (unread && !out->unread && !(out->unread = assay_copy_text(unread)))
        return ASSAY_ENOMEM;
    metrics_run_pack(place, run, &packed);
    metrics_place_said(place);
    assay_trial_run *added = assay_buf_status(&packed) == ASSAY_OK ? ASSAY_VEC_ADD(out) : NULL;
    if (added) {
        added->name = assay_copy_text(run->name);
        added->path = assay_path_join(root, run->name);
        added->options = assay_trial_options_copy(given);
    }
    int status = added && added->name && added->path && added->options ? ASSAY_OK : ASSAY_ENOMEM;
    ASSAY_THEN(status, assay_trial_options_set_run(added->options, root, packed.data, packed.size));
    assay_buf_release(&packed);
    return status;
}

/* The trainer's checkpoints lie beside its log: the trial is their directory. */
static int add_directory(const char *location, const metrics_run *run, const assay_trial_options *given,
                         assay_trial_runs *out)
{
    char root[2 * ASSAY_PATH_ROOM];
    const char *slash = strrchr(location, '/');
    assay_trial_run *added = ASSAY_VEC_ADD(out);
    ASSAY_HAVE(added);
    snprintf(root, sizeof root, "%s/%s", location, run->base);
    added->name = assay_copy_text(slash && slash[1] ? slash + 1 : location);
    added->path = assay_copy_text(location);
    added->options = assay_trial_options_copy(given);
    if (!added->name || !added->path || !added->options)
        return ASSAY_ENOMEM;
    return assay_trial_options_set_run(added->options, root, NULL, 0);
}

static int no_such_run(const char *root, const char *pattern, metrics_place *place, assay_error *err)
{
    assay_buf text = ASSAY_BUF(4096);
    for (size_t i = 0; i < place->run_count && i < NAMED_MOST; i++)
        assay_put_format(&text, "%s%.60s", i ? ", " : "", place->runs[i].name);
    const char *unread = metrics_place_unread(place);
    const int status =
        assay_fail(err, unread ? ASSAY_EIO : ASSAY_EUSAGE, "%.120s holds no run \"%.80s\"; it holds %.*s%s%s%.200s",
                   root, pattern, (int)text.size, text.size ? (const char *)text.data : "none",
                   place->run_count > NAMED_MOST ? ", ..." : "", unread ? "; " : "", unread ? unread : "");
    assay_buf_release(&text);
    return status;
}

/* Are the runs of the place known by names? Files of printed lines lie in any directory: what lies beside them and is not
 * there is a missing path, not a run that they lack. */
static bool has_names(const metrics_place *place)
{
    return place->kind != &metrics_printout;
}

static int find_in(const char *root, const char *pattern, assay_store *store, const assay_trial_options *given,
                   assay_trial_runs *out, assay_error *err)
{
    metrics_place place;
    const int kind = given && given->log_kind ? metrics_kind_number(given->log_kind) : -1;
    int status = pattern && !strpbrk(pattern, "*?[") ? metrics_place_search(store, kind, &place, err)
                                                     : metrics_place_read(store, kind, &place, err);
    size_t found = 0;
    bool any = false;
    if (status == ASSAY_OK && !pattern && place.kind == &metrics_hf && place.run_count == 1 && *place.runs[0].base) {
        status = add_directory(root, &place.runs[0], given, out);
    } else if (status == ASSAY_OK && place.kind && (pattern || place.run_count > 1)) {
        bool *found_in = assay_alloc_zeroed(place.run_count, sizeof *found_in);
        status = found_in ? ASSAY_OK : ASSAY_ENOMEM;
        for (size_t i = 0; i < place.run_count && status == ASSAY_OK; i++) {
            if (pattern && !is_meant(&place.runs[i], pattern))
                continue;
            any = true;
            const int has = metrics_run_has_value(&place, &place.runs[i], err);
            status = has < 0 ? has : has > 0 ? ASSAY_OK : metrics_place_note_silent(&place, &place.runs[i]);
            found_in[i] = has > 0;
            found += has > 0;
        }
        for (size_t i = 0; i < place.run_count && status == ASSAY_OK; i++)
            if (found_in[i])
                status = add_run(root, &place, &place.runs[i], given, out);
        free(found_in);
        if (status == ASSAY_OK && pattern && !any && has_names(&place))
            status = no_such_run(root, pattern, &place, err);
        if (status == ASSAY_OK && !pattern && found <= 1) /* the place itself is the trial, and says what is empty */
            assay_trial_runs_release(out);
    }
    metrics_place_release(&place);
    return status == ASSAY_ENOMEM ? assay_fail(err, status, "%s: out of memory", root) : status;
}

int metrics_locate(const char *location, const assay_trial_options *given, assay_trial_runs *out, assay_error *err)
{
    struct stat about;
    assay_store *store = NULL;
    char root[ASSAY_PATH_ROOM];
    if (strstr(location, "://") || (given && (given->root || given->run)))
        return ASSAY_OK;
    const size_t length = existing(location, &about);
    if (length == 0 || length >= sizeof root)
        return ASSAY_OK;
    snprintf(root, sizeof root, "%.*s", (int)length, location);
    const char *pattern = location[length] ? location + length + strspn(location + length, "/") : NULL;
    if (pattern && !*pattern)
        pattern = NULL;
    if (!S_ISDIR(about.st_mode) && (!S_ISREG(about.st_mode) || assay_lone_is_named(root, ASSAY_LONE_TENSORS)))
        return ASSAY_OK;
    assay_error why = {{0}};
    int status = assay_store_open(root, &store, &why);
    if (status != ASSAY_OK) /* opening the trial tells every other reason */
        return status == ASSAY_ENOMEM ? assay_fail(err, status, "%s", why.text) : ASSAY_OK;
    const int may = may_have_logs(store);
    if (may < 0)
        status = assay_fail(err, may, "%s: out of memory while listing it", root);
    else if (may)
        status = find_in(root, pattern, store, given, out, err);
    assay_store_close(store);
    return status;
}
