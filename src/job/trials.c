/* trials.c - the trials of a job: from its file, from the command line, and from patterns. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fault.h"
#include "job/job_internal.h"
#include "s3/s3.h"
#include "trial/storage/storage.h"

/* Where two spellings of a location are certainly the same: "./runs//a/" and "file://runs/a" are "runs/a". The caller
 * frees it. */
static char *plain_path(const char *path)
{
    const char *scheme = strstr(path, "://");
    if (job_is_in_s3(path)) { /* where "a//b" is another place than "a/b" */
        size_t length = strlen(path);
        return assay_copy_bytes_as_text(path, length - (path[length - 1] == '/' && path[length - 2] != '/'));
    }
    if (strncmp(path, "file://", 7) == 0) {
        path += 7;
        scheme = NULL;
    }
    char *plain = assay_alloc(strlen(path) + 2);
    if (!plain)
        return NULL;
    size_t used = 0;
    if (scheme) {
        used = (size_t)(scheme - path) + 3;
        memcpy(plain, path, used);
        path += used;
    } else if (*path == '/') {
        plain[used++] = '/';
    }
    size_t root = used;
    while (*path) {
        size_t part = strcspn(path, "/");
        if (part > 0 && !(part == 1 && *path == '.')) {
            if (used > root)
                plain[used++] = '/';
            memcpy(plain + used, path, part);
            used += part;
        }
        path += part + (path[part] == '/');
    }
    if (used == 0)
        plain[used++] = '.';
    plain[used] = '\0';
    return plain;
}

static const char *last_part(const char *plain)
{
    const char *slash = strrchr(plain, '/');
    return slash && slash[1] ? slash + 1 : plain;
}

char *assay_job_trial_name(const char *path)
{
    char *plain = plain_path(path), *name = plain ? assay_copy_text(last_part(plain)) : NULL;
    size_t length = name ? strlen(name) : 0;
    if (length > 3 && strcmp(name + length - 3, ".h5") == 0) /* a packed trial is called as its directory was */
        name[length - 3] = '\0';
    free(plain);
    return name;
}

static const char *trial_name_at(const void *list, size_t i)
{
    return ((const assay_job_trial *)list)[i].name;
}

/* The number of the trial with the same location, or trial_count; SIZE_MAX without memory. */
static size_t find_location(const assay_job *job, const char *plain)
{
    for (size_t i = 0; i < job->trial_count; i++) {
        char *other = plain_path(job->trials[i].path);
        if (!other)
            return SIZE_MAX;
        bool same = strcmp(plain, other) == 0;
        free(other);
        if (same)
            return i;
    }
    return job->trial_count;
}

/* Appends a trial; room for it is there. `name` is NULL when none was given; of `options` the trial gets a share. */
static int add_trial(const job_reader *r, const char *place, int status, assay_job *job, const char *path,
                     const char *name, assay_trial_options *options)
{
    const bool remote = job_is_in_s3(path) || assay_s3_place_is_foreign(path);
    const int keys = remote ? assay_s3_place_refuse_keys(path, r->err) : ASSAY_OK;
    if (keys != ASSAY_OK)
        return keys;
    char *plain = plain_path(path);
    if (!plain)
        return job_no_memory(r);
    const job_names names = {job->trials, job->trial_count, trial_name_at};
    size_t twin = find_location(job, plain);
    bool named_twice = name && job_name_taken(&names, name);
    if (twin < job->trial_count || named_twice) {
        free(plain);
        return assay_fail(r->err, status, "%s: %s: the trial %s \"%.200s\" is listed twice", r->file, place,
                          named_twice ? "name" : "path", named_twice ? name : path);
    }
    assay_job_trial *trial = &job->trials[job->trial_count];
    trial->path = twin == SIZE_MAX ? NULL : assay_copy_text(path);
    trial->named = name != NULL;
    trial->name = name ? assay_copy_text(name) : job_name_free(&names, last_part(plain));
    free(plain);
    if (trial->path && trial->name) {
        trial->options = assay_trial_options_share(options);
        job->trial_count++;
        return ASSAY_OK;
    }
    free(trial->path);
    free(trial->name);
    return job_no_memory(r);
}

void job_release_trials(assay_job *job)
{
    for (size_t i = 0; i < job->trial_count; i++) {
        free(job->trials[i].path);
        free(job->trials[i].name);
        assay_trial_options_release(job->trials[i].options);
    }
    free(job->trials);
    job->trials = NULL;
    job->trial_count = 0;
}

static int read_trial(const job_reader *r, size_t i, const cJSON *item, assay_job *job)
{
    static const char *const keys[] = {"path", "name", "steps", "void", "topology", NULL};
    char place[ASSAY_JOB_PLACE];
    const char *path = NULL, *name = NULL;
    snprintf(place, sizeof place, "trials[%zu]", i);
    if (cJSON_IsString(item)) {
        if (item->valuestring[0] == '\0')
            return job_fail(r, place, "the path is empty");
        return add_trial(r, place, ASSAY_EJOB, job, item->valuestring, NULL, NULL);
    }
    if (!cJSON_IsObject(item))
        return job_fail(r, place, "expected a path, or an object with \"path\" and \"name\"");
    int status = job_known_keys(r, place, item, keys);
    if (status == ASSAY_OK)
        status = job_text(r, place, item, "path", &path);
    if (status == ASSAY_OK)
        status = job_text(r, place, item, "name", &name);
    if (status == ASSAY_OK && !path)
        status = job_fail(r, place, "\"path\" is missing");
    if (status == ASSAY_OK)
        status = add_trial(r, place, ASSAY_EJOB, job, path, name, NULL);
    return status == ASSAY_OK ? job_read_trial_options(r, place, item, &job->trials[job->trial_count - 1]) : status;
}

int job_read_trials(const job_reader *r, const cJSON *list, assay_job *job)
{
    if (!list)
        return ASSAY_OK;
    if (!cJSON_IsArray(list))
        return job_fail(r, "trials", "expected a list of paths or objects");
    if (cJSON_GetArraySize(list) > ASSAY_JOB_TRIALS)
        return job_fail(r, "trials", "more than %d trials", ASSAY_JOB_TRIALS);
    job->trials = assay_alloc_zeroed((size_t)cJSON_GetArraySize(list), sizeof *job->trials);
    if (!job->trials)
        return job_no_memory(r);
    int status = ASSAY_OK;
    size_t i = 0;
    for (const cJSON *item = list->child; item && status == ASSAY_OK; item = item->next)
        status = read_trial(r, i++, item, job);
    return status;
}

/* "NAME=PATH": what stands before the first '=' is a name unless it has a '/' in it ("runs/lr=0.1" is a path). */
static int split_trial(const job_reader *r, const char *text, char **name, const char **path)
{
    size_t head = strcspn(text, "=/");
    *name = NULL;
    *path = text;
    if (text[head] != '=' || head == 0)
        return ASSAY_OK;
    *path = text + head + 1;
    *name = assay_copy_bytes_as_text(text, head);
    return *name ? ASSAY_OK : job_no_memory(r);
}

/* What the job says of how the trial at a path is to be read; NULL: nothing. */
static assay_trial_options *options_for(const assay_job *job, const char *path)
{
    char *plain = plain_path(path);
    const size_t number = plain ? find_location(job, plain) : job->trial_count;
    free(plain);
    return number < job->trial_count ? job->trials[number].options : NULL;
}

int assay_job_set_trials(assay_job *job, const char *const *paths, size_t count, assay_error *err)
{
    const job_reader r = {"the command line", err};
    if (count > ASSAY_JOB_TRIALS)
        return assay_fail(err, ASSAY_EUSAGE, "the command line: more than %d trials", ASSAY_JOB_TRIALS);
    assay_job fresh = {.trials = assay_alloc_zeroed(count, sizeof *fresh.trials)};
    int status = fresh.trials ? ASSAY_OK : job_no_memory(&r);
    for (size_t i = 0; i < count && status == ASSAY_OK; i++) {
        char *name = NULL;
        const char *path = NULL;
        status = split_trial(&r, paths[i], &name, &path);
        if (status == ASSAY_OK && path[0] == '\0')
            status = assay_fail(err, ASSAY_EUSAGE, "the command line: %.200s: the path is empty", paths[i]);
        if (status == ASSAY_OK)
            status = add_trial(&r, paths[i], ASSAY_EUSAGE, &fresh, path, name, options_for(job, path));
        free(name);
    }
    if (status != ASSAY_OK) {
        job_release_trials(&fresh);
        return status;
    }
    job_release_trials(job);
    job->trials = fresh.trials;
    job->trial_count = fresh.trial_count;
    return ASSAY_OK;
}

/* ---- patterns ---- */

static bool is_pattern(const char *path)
{
    struct stat there;
    return strpbrk(path, "*?[") && (job_is_in_s3(path) || (!strstr(path, "://") && lstat(path, &there) != 0));
}

/* What a trial can be: a directory, a file that ends in .h5, or a checkpoint. */
static bool may_be_trial(const char *path)
{
    struct stat there;
    size_t length = strlen(path);
    if (stat(path, &there) != 0)
        return false;
    return S_ISDIR(there.st_mode) ||
           (S_ISREG(there.st_mode) &&
            ((length > 3 && strcmp(path + length - 3, ".h5") == 0) || assay_is_tensor_file(path)));
}

/* Does one of the job's trials lie at this path? */
static bool has_location(const assay_job *job, const char *path)
{
    char *plain = plain_path(path);
    bool there = plain && find_location(job, plain) < job->trial_count;
    free(plain);
    return there;
}

static int put_trial(const job_reader *r, assay_job *to, const char *path, const char *name,
                     assay_trial_options *options)
{
    if (to->trial_count == ASSAY_JOB_TRIALS)
        return job_fail(r, "trials", "more than %d trials", ASSAY_JOB_TRIALS);
    return add_trial(r, "trials", ASSAY_EJOB, to, path, name, options);
}

/* The places that a pattern finds in the file system. */
static int glob_files(const job_reader *r, const char *pattern, job_places *out)
{
    glob_t matches;
    int rc = glob(pattern, 0, NULL, &matches), status = rc == GLOB_NOSPACE ? job_no_memory(r) : ASSAY_OK;
    for (size_t i = 0; rc == 0 && status == ASSAY_OK && i < matches.gl_pathc; i++)
        if (may_be_trial(matches.gl_pathv[i]))
            status = job_places_add(r, out, matches.gl_pathv[i]);
    if (rc == 0)
        globfree(&matches);
    return status;
}

/* What the pattern of one of the job's trials finds, but for what the job has anyway. */
static int expand(const job_reader *r, const assay_job *job, const assay_job_trial *trial, assay_job *to)
{
    const char *name = trial->named ? trial->name : NULL;
    const bool in_s3 = job_is_in_s3(trial->path);
    job_places places = {NULL, 0, 0};
    int status = in_s3 ? job_glob_s3(r, trial->path, &places) : glob_files(r, trial->path, &places);
    if (status == ASSAY_OK && places.count == 0)
        status = job_fail(r, "trials", "the pattern \"%.200s\" matches no %s", trial->path,
                          in_s3 ? "prefix that ends with a '/'" : "directory and no .h5 file");
    else if (status == ASSAY_OK && places.count > 1 && name)
        status =
            job_fail(r, "trials", "the pattern \"%.200s\" matches %zu trials, which cannot all be called \"%.100s\"",
                     trial->path, places.count, name);
    for (size_t i = 0; status == ASSAY_OK && i < places.count; i++)
        if (!has_location(job, places.place[i]) && !has_location(to, places.place[i]))
            status = put_trial(r, to, places.place[i], name, trial->options);
    job_places_release(&places);
    return status;
}

int assay_job_expand_trials(assay_job *job, assay_error *err)
{
    const job_reader r = {job->file ? job->file : "the job", err};
    assay_job all = {.trials = assay_alloc_zeroed(ASSAY_JOB_TRIALS, sizeof *all.trials)};
    int status = all.trials ? ASSAY_OK : job_no_memory(&r);
    bool any = false;
    for (size_t i = 0; status == ASSAY_OK && i < job->trial_count; i++) {
        const assay_job_trial *trial = &job->trials[i];
        bool pattern = is_pattern(trial->path);
        any = any || pattern;
        status = pattern ? expand(&r, job, trial, &all)
                         : put_trial(&r, &all, trial->path, trial->named ? trial->name : NULL, trial->options);
    }
    if (status != ASSAY_OK || !any) {
        job_release_trials(&all);
        return status;
    }
    job_release_trials(job);
    job->trials = all.trials;
    job->trial_count = all.trial_count;
    return ASSAY_OK;
}

void assay_job_pack_trials(const assay_job *job, assay_buf *out)
{
    assay_put_u64(out, job->trial_count);
    for (size_t i = 0; i < job->trial_count; i++) {
        assay_put_text(out, job->trials[i].path);
        assay_put_text(out, job->trials[i].name);
        assay_trial_options_pack(job->trials[i].options, out);
    }
}

static char *take_text(assay_cursor *in)
{
    size_t length = 0;
    const char *text = assay_get_text(in, &length);
    return assay_copy_bytes_as_text(text, length);
}

int assay_job_unpack_trials(assay_job *job, assay_cursor *in, assay_error *err)
{
    const job_reader r = {job->file ? job->file : "the job", err};
    uint64_t count = assay_get_count(in, 8);
    assay_job fresh = {.trials = assay_alloc_zeroed(count, sizeof *fresh.trials)};
    bool made = fresh.trials != NULL;
    for (uint64_t i = 0; made && i < count; i++) {
        assay_job_trial *trial = &fresh.trials[fresh.trial_count++];
        trial->path = take_text(in);
        trial->name = take_text(in);
        made = trial->path && trial->name && assay_trial_options_unpack(in, &trial->options) != ASSAY_ENOMEM;
    }
    if (!made || in->failed) {
        job_release_trials(&fresh);
        return made ? assay_fail(err, ASSAY_EINTERNAL, "the list of trials was damaged on its way between ranks")
                    : job_no_memory(&r);
    }
    job_release_trials(job);
    job->trials = fresh.trials;
    job->trial_count = fresh.trial_count;
    return ASSAY_OK;
}

int assay_job_set_topology(assay_job *job, const char *topology, assay_error *err)
{
    for (size_t i = 0; topology && i < job->trial_count; i++) {
        assay_trial_options *own = NULL; /* trials of one pattern share theirs */
        assay_buf bytes;
        assay_buf_init(&bytes, SIZE_MAX);
        assay_trial_options_pack(job->trials[i].options, &bytes);
        assay_cursor in = assay_cursor_over(bytes.data, bytes.size);
        int status = assay_buf_status(&bytes) == ASSAY_OK ? assay_trial_options_unpack(&in, &own) : ASSAY_ENOMEM;
        assay_buf_release(&bytes);
        if (status == ASSAY_OK && !own && !(own = assay_trial_options_new()))
            status = ASSAY_ENOMEM;
        if (status == ASSAY_OK)
            status = assay_trial_options_set_topology(own, topology);
        if (status != ASSAY_OK) {
            assay_trial_options_release(own);
            return assay_fail(err, ASSAY_ENOMEM, "out of memory");
        }
        assay_trial_options_release(job->trials[i].options);
        job->trials[i].options = own;
    }
    return ASSAY_OK;
}

int assay_job_set_baseline(assay_job *job, const char *name, assay_error *err)
{
    const char *wanted = name ? name : job->baseline_name;
    job->baseline = 0;
    if (!wanted)
        return ASSAY_OK;
    while (job->baseline < job->trial_count && strcmp(job->trials[job->baseline].name, wanted) != 0)
        job->baseline++;
    if (job->baseline < job->trial_count)
        return ASSAY_OK;
    job->baseline = 0;
    return assay_fail(err, ASSAY_EUSAGE,
                      "%s: the baseline \"%.200s\" is none of the trials' names, the first of which is \"%.200s\"",
                      name ? "--baseline" : job->file, wanted, job->trial_count ? job->trials[0].name : "");
}
